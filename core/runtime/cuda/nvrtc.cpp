#include "core/runtime/cuda/nvrtc.h"

#include <dlfcn.h>

#include <regex>

namespace vitrine::runtime::cuda {

using Program = void*;

// X(member, exported name); the types below, as in nvrtc.h: every result is 0 for success.
#define VITRINE_NVRTC(X)                \
  X(create, "nvrtcCreateProgram")       \
  X(compile, "nvrtcCompileProgram")     \
  X(destroy, "nvrtcDestroyProgram")     \
  X(log_size, "nvrtcGetProgramLogSize") \
  X(log, "nvrtcGetProgramLog")          \
  X(cubin_size, "nvrtcGetCUBINSize")    \
  X(cubin, "nvrtcGetCUBIN")             \
  X(ptx_size, "nvrtcGetPTXSize")        \
  X(ptx, "nvrtcGetPTX")                 \
  X(version, "nvrtcVersion")

struct Nvrtc::Functions {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
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

// "ptxas info : Used 48 registers, used 1 barriers, 32 bytes smem"; "8 bytes spill stores"
void read_report(const std::string& log, Compiled& out) {
  out.registers = number_before(log, "Used ([0-9]+) registers");
  out.shared_bytes = number_before(log, "([0-9]+) bytes smem");
  out.spill_bytes = number_before(log, "([0-9]+) bytes spill stores");
  for (size_t from = 0; from < log.size();) {
    const size_t end = std::min(log.find('\n', from), log.size());
    const std::string line = log.substr(from, end - from);
    if (line.find("ptxas info") == std::string::npos && line.find("bytes stack frame") == std::string::npos &&
        line.find_first_not_of(" \0\n") != std::string::npos)
      out.log += line + "\n";
    from = end + 1;
  }
}

}  // namespace

Result<const Nvrtc*> Nvrtc::find(const std::string& library) {
  static const auto kFound = [&]() -> Result<Nvrtc> {
    void* open = open_library(library);
    if (!open)
      return Error{"NVRTC, CUDA's run-time compiler, was not found",
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

Result<Compiled> Nvrtc::compile(const std::string& source, const std::string& arch) const {
  Program program = nullptr;
  if (f_->create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr))
    return Error{"NVRTC did not take the kernel's text", ""};
  const std::string target = "--gpu-architecture=" + arch;
  const char* options[] = {target.c_str(), "--std=c++17", "--generate-line-info", "--ptxas-options=-v"};
  const int failed = f_->compile(program, static_cast<int>(std::size(options)), options);
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
  read_report(log, out);
  return out;
}

}  // namespace vitrine::runtime::cuda
