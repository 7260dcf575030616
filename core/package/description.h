// What a package is, as plain words and numbers: for whoever looks at one and never runs it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace vitrine::package {

// A kernel of ours, or a call of PyTorch: one a step.
struct DescribedKernel {
  std::string label, name, kind;       // "K2", "add_gelu", generated | library | opaque
  std::string family, language, text;  // text: "" of a call
  int64_t bytes = 0, flops = 0;        // of a call at the sizes of the example
  int64_t code_bytes = 0;              // machine code in the package
};

struct DescribedStep {
  std::string kind, text, arguments;  // kernel | library | opaque | view; "K2 add_gelu"; "buf6, fc.bias"
  int32_t kernel = -1;                // of Description::kernels; -1: a view
};

struct DescribedBuffer {
  std::string name, kind, type;  // kind: input | parameter | temporary | output | view
  int64_t bytes = 0, first = -1, last = -1, offset = -1;
  int32_t reuses = -1;
};

struct DescribedSize {
  std::string name, source;  // "s0", "L['x'].size(0)"
  int64_t hint = 0, lo = 0, hi = 0;
};

struct Description {
  std::vector<std::pair<std::string, std::string>> takes, gives;  // name, "f32[8, 64]"
  std::vector<DescribedSize> sizes;
  std::vector<std::pair<std::string, std::string>> asks;  // "s0 <= 64", who asks
  std::vector<DescribedKernel> kernels;
  std::vector<DescribedStep> steps;
  std::vector<DescribedBuffer> buffers;
  int64_t generated = 0, calls = 0;  // kernels of ours in the file; steps that call PyTorch
  int64_t weights = 0, weight_bytes = 0, arena_bytes = 0;
  std::string cpu, gpu, made_by;

  // "x86-64-v3", "sm_90": what the kernels are for.
  const std::string& target() const { return gpu.empty() ? cpu : gpu; }
};

class Package;
Description describe(const Package& package);
// Errors: the file is no package, as Package::open says it.
Result<Description> describe(const std::string& path);

}  // namespace vitrine::package
