// How many generated kernels were compiled or read from the cache. Those of equal layers have one text, which
// is compiled once, and what only computes scalars is not compiled.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "core/session/rows.h"

namespace vitrine::session {

struct BuiltKernels {
  int64_t compiled = 0, cached = 0;
};

template <class Rows>
BuiltKernels built_of(const Rows& kernels) {
  BuiltKernels out;
  std::set<std::pair<Id, int64_t>> met;
  for (const KernelRow& kernel : kernels) {
    if (kernel.kind != "generated" || (!kernel.cached && !kernel.compile_ns)) continue;
    const int64_t text = kernel.source.row;
    if (!text || met.insert({kernel.compilation, text}).second) ++(kernel.cached ? out.cached : out.compiled);
  }
  return out;
}

}  // namespace vitrine::session
