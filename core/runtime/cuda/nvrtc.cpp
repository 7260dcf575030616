#include "core/runtime/cuda/nvrtc.h"

#include <dlfcn.h>

#include <cctype>
#include <regex>

namespace vitrine::runtime::cuda {

using NvrtcProgram = void*;

// X(member, exported name); the types below, as in nvrtc.h: every result is 0 for success.
#define VITRINE_NVRTC(X)                     \
  X(create, "nvrtcCreateProgram")            \
  X(compile, "nvrtcCompileProgram")          \
  X(destroy, "nvrtcDestroyProgram")          \
  X(log_size, "nvrtcGetProgramLogSize")      \
  X(log, "nvrtcGetProgramLog")               \
  X(cubin_size, "nvrtcGetCUBINSize")         \
  X(cubin, "nvrtcGetCUBIN")                  \
  X(ptx_size, "nvrtcGetPTXSize")             \
  X(ptx, "nvrtcGetPTX")                      \
  X(arch_count, "nvrtcGetNumSupportedArchs") \
  X(archs, "nvrtcGetSupportedArchs")         \
  X(version, "nvrtcVersion")

struct Nvrtc::Functions {
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(NvrtcProgram, int, const char* const*) = nullptr;
  int (*destroy)(NvrtcProgram*) = nullptr;
  int (*log_size)(NvrtcProgram, size_t*) = nullptr;
  int (*log)(NvrtcProgram, char*) = nullptr;
  int (*cubin_size)(NvrtcProgram, size_t*) = nullptr;
  int (*cubin)(NvrtcProgram, char*) = nullptr;
  int (*ptx_size)(NvrtcProgram, size_t*) = nullptr;
  int (*ptx)(NvrtcProgram, char*) = nullptr;
  int (*arch_count)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
  int (*version)(int*, int*) = nullptr;
};

namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// NVRTC opens its builtins by name: loaded beforehand, they are found wherever they are.
void preload_builtins(const std::string& library) {
  const size_t slash = library.rfind('/');
  if (slash == std::string::npos) return;
  for (const char* version : {"13.0", "13.1", "13.2", "12.9", "12.8"})
    dlopen((library.substr(0, slash) + "/libnvrtc-builtins.so." + version).c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

void* open_library(const std::string& library) {
  if (!library.empty()) {
    preload_builtins(library);
    return dlopen(library.c_str(), RTLD_LAZY);
  }
  for (const char* name : kNames)
    if (void* open = dlopen(name, RTLD_LAZY)) return open;
  return nullptr;
}

int number_before(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? std::stoi(found[1]) : 0;
}

// ptxas's report stands between the warnings of the front end.
void sort_log(const std::string& log, Compiled& out) {
  for (size_t from = 0; from < log.size();) {
    const size_t end = std::min(log.find('\n', from), log.size());
    const std::string line = log.substr(from, end - from);
    const bool reports =
        line.find("ptxas info") != std::string::npos || line.find("bytes stack frame") != std::string::npos;
    if (line.find_first_not_of(" \0\n") != std::string::npos) (reports ? out.report : out.log) += line + "\n";
    from = end + 1;
  }
}

}  // namespace

Report read_report(const std::string& text) {
  return {number_before(text, "Used ([0-9]+) registers"), number_before(text, "([0-9]+) bytes smem"),
          number_before(text, "([0-9]+) bytes spill stores")};
}

Result<const Nvrtc*> Nvrtc::find(const std::string& library) {
  static const auto kFound = [&]() -> Result<Nvrtc> {
    void* open = open_library(library);
    if (!open)
      return Error{
          "NVRTC, CUDA's run-time compiler, was not found" + (library.empty() ? "" : " at " + library),
          "Install CUDA, or the Python package nvidia-cuda-nvrtc."};
    static Functions f;
    bool all = true;
    auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(open, name));
      all = all && function;
    };
#define X(member, name) look_up(f.member, name);
    VITRINE_NVRTC(X)
#undef X
    if (!all)
      return Error{"this NVRTC lacks functions that are needed", "Use the NVRTC of CUDA 12 or later."};
    Nvrtc made;
    made.f_ = &f;
    int major = 0, minor = 0;
    f.version(&major, &minor);
    made.version_ = std::to_string(major) + "." + std::to_string(minor);
    return made;
  }();
  if (!kFound) return kFound.error();
  return &kFound.value();
}

std::string Nvrtc::refuses(const std::string& arch) const {
  int count = 0;
  f_->arch_count(&count);
  std::vector<int> known(static_cast<size_t>(std::max(0, count)));
  if (count > 0) f_->archs(known.data());
  std::string all;
  for (int number : known) {
    // "sm_90a": the architecture's own instructions besides.
    const std::string name = "sm_" + std::to_string(number);
    if (arch == name || (arch.starts_with(name) && arch.size() == name.size() + 1)) return "";
    all += (all.empty() ? "" : ", ") + name;
  }
  return "NVRTC " + version_ + " does not know the architecture " + arch + "; it knows " + all;
}

std::string function_name(const std::string& kernel_name) {
  constexpr size_t kMost = 80;
  std::string out = "vitrine_" + kernel_name.substr(0, kMost);
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

Result<Compiled> Nvrtc::compile(const std::string& source, const std::string& function,
                                const std::string& arch, bool with_lines) const {
  NvrtcProgram program = nullptr;
  if (f_->create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr))
    return Error{"NVRTC did not take the kernel's text", ""};
  const std::string target = "--gpu-architecture=" + arch;
  const std::string name = "--define-macro=vitrine_kernel=" + function;
  std::vector<const char*> options = {target.c_str(), name.c_str(), "--std=c++17", "--ptxas-options=-v"};
  if (with_lines) options.push_back("--generate-line-info");
  const int failed = f_->compile(program, static_cast<int>(options.size()), options.data());
  auto text = [&](auto size_of, auto read) {
    size_t size = 0;
    if (size_of(program, &size) || size == 0) return std::string();
    std::string out(size, '\0');
    read(program, out.data());
    return out;
  };
  Compiled out;
  std::string log = text(f_->log_size, f_->log);
  if (!failed) {
    out.cubin = text(f_->cubin_size, f_->cubin);
    out.ptx = text(f_->ptx_size, f_->ptx);
    while (!out.ptx.empty() && out.ptx.back() == '\0') out.ptx.pop_back();
  }
  f_->destroy(&program);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  if (failed || out.cubin.empty()) return Error{log.empty() ? "NVRTC failed without a reason" : log, ""};
  sort_log(log, out);
  return out;
}

}  // namespace vitrine::runtime::cuda
