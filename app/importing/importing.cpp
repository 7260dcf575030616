#include "app/importing/importing.h"

#include <array>

#include "app/importing/session_builder.h"
#include "core/base/result.h"

namespace vitrine::importing {

namespace {

struct Format {
  const char *tool, *lacks;
  bool (*is)(const std::string&);
  Status (*read)(const std::string&, SessionBuilder&);
};

constexpr std::array<Format, 5> kFormats = {{
    {"A structured log of torch.compile (TORCH_TRACE)",
     "It has graphs, generated code, guards, breaks, recompilations and compile times as they were logged. "
     "It has no bytecode, no fusion "
     "decisions, no memory plan, no machine code, and no measured calls of eager or compiled code.",
     is_torch_trace, import_torch_trace},
    {"A debug folder of torch.compile (TORCH_COMPILE_DEBUG)",
     "It has Inductor's graphs and generated code. It has no guards, breaks, recompilations, times or "
     "measured calls.",
     is_compile_debug, import_compile_debug},
    {"A trace of PyTorch's profiler",
     "It has a timeline. It has no graphs, guards, kernels' texts or comparison with eager.", is_chrome_trace,
     import_chrome_trace},
    {"An export of Nsight Systems",
     "It has a timeline. It has no graphs, guards, kernels' texts or comparison with eager.", is_nsys,
     import_nsys},
    {"A package of vitrine.export",
     "It has the kernels' texts, the launch plan and the memory plan. It has no graphs, guards, machine code "
     "as text or measured calls.",
     is_package, import_package},
}};

const Format* format_of(const std::string& path) {
  for (const Format& format : kFormats)
    if (format.is(path)) return &format;
  return nullptr;
}

}  // namespace

bool can_import(const std::string& path) {
  return format_of(path) != nullptr;
}

Status import_into(const std::string& path, const std::string& session) {
  const Format* format = format_of(path);
  if (!format)
    return Error{"It is nothing that can be imported.",
                 "A Chrome trace of torch.profiler (.json, .json.gz), a TORCH_TRACE folder or log, a "
                 "torch_compile_debug folder, "
                 "`nsys export --type sqlite`, or a package (.vpkg).",
                 path};
  auto made = session::Writer::create(session);
  if (!made) return made.error();
  SessionBuilder builder(made.take(), path, format->tool);
  Status bad;
  try {
    bad = format->read(path, builder);
    if (!bad && builder.empty())
      bad = Error{"There is nothing in it that can be shown.", "Was it recorded to its end?", path};
    if (!bad) builder.finish(format->lacks);
  } catch (const InternalError& error) {  // the disk is full, say
    bad = Error{error.what(), "Make room, or write it elsewhere.", session};
  }
  if (bad) session::remove_session(session);
  return bad;
}

}  // namespace vitrine::importing
