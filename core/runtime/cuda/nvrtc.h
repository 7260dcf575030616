// CUDA C++ to machine code, through NVRTC, which is opened at run time: no GPU is needed, and no CUDA
// headers.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::runtime::cuda {

struct Compiled {
  std::string cubin, ptx;
  std::string log;     // warnings of the front end
  std::string report;  // what ptxas says of the kernel: read_report()
};

struct Report {
  int registers = 0, shared_bytes = 0, spill_bytes = 0;
};
// "Used 48 registers, used 1 barriers, 32 bytes smem", "8 bytes spill stores"
Report read_report(const std::string& text);

// What a kernel is called on a GPU, so that profilers tell one from another: "vitrine_add_relu" of
// "add_relu".
std::string function_name(const std::string& kernel_name);

class Nvrtc {
 public:
  // library: a path to libnvrtc, or "" to look beside what is loaded and where the loader looks. Found once a
  // process. Errors: it is nowhere, or lacks a function.
  static Result<const Nvrtc*> find(const std::string& library);

  // arch: "sm_90". function: what vitrine_kernel is called in the machine code. with_lines: the machine code
  // tells the lines it comes from, as PTX does too. Errors: what the compiler says, by line of `source`. Any
  // thread; no GIL.
  Result<Compiled> compile(const std::string& source, const std::string& function, const std::string& arch,
                           bool with_lines) const;
  // "" or why nothing can be compiled for that architecture: what this NVRTC knows.
  std::string refuses(const std::string& arch) const;
  const std::string& version() const { return version_; }  // "13.0"

 private:
  struct Functions;
  const Functions* f_ = nullptr;
  std::string version_;
};

}  // namespace vitrine::runtime::cuda
