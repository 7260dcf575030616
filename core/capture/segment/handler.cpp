// Which frames are offered to a store.
#include <cstring>

#include "core/capture/driver.h"
#include "core/capture/segment/code_rows.h"
#include "core/capture/segment/store.h"

namespace vitrine::capture {

namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return !start.empty() && text.compare(0, start.size(), start) == 0;
}

// Folders whose functions are not worth a capture of their own; they are still inlined where a trace meets
// them.
struct Folders {
  std::string vitrine = folder_of(Name::vitrine), torch = folder_of(Name::torch),
              library = folder_of(Name::os), numpy = folder_of(Name::numpy);
};

bool is_library_code(const std::string& path) {
  static const Folders* folders = new Folders;
  for (const char* part : {"/site-packages/sympy/", "/site-packages/mpmath/"})  // algebra, not tensors
    if (path.find(part) != std::string::npos) return true;
  if (path.empty() || path[0] == '<')
    return starts_with(path, "<frozen") || starts_with(path, "<__array_function__");
  if (starts_with(path, folders->vitrine) || starts_with(path, folders->numpy)) return true;
  if (starts_with(path, folders->torch)) {
    const std::string modules = folders->torch + "nn/modules/";
    return !starts_with(path, modules) || path == modules + "module.py";
  }
  return starts_with(path, folders->library) && path.find("-packages/") == std::string::npos;
}

}  // namespace

// Written by dataclasses for each class: a few lines that move arguments into attributes, or compare them.
static bool is_of_dataclass(PyCodeObject* code) {
  return text_of(code->co_filename) == "<string>" &&
         starts_with(text_of(code->co_qualname), "__create_fn__.");
}

bool CaptureHandler::wants(PyObject* object) {
  auto* code = reinterpret_cast<PyCodeObject*>(object);
  return !is_library_code(text_of(code->co_filename)) && !is_of_dataclass(code);
}

void CaptureHandler::always_capture(PyObject* code) {
  CodeEntry& entry = entry_of(code);
  entry.chosen = true;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  if (reinterpret_cast<PyCodeObject*>(code)->co_flags & kSuspends) return;
  entry.judged_by = kPolicy;
  entry.wanted = true;
}

PyObject* CaptureHandler::run(_ts* thread, _PyInterpreterFrame* frame) noexcept {
  return drive(thread, frame, store_);
}

}  // namespace vitrine::capture
