// What the machine can do, and what part of it a kernel reaches: the same numbers and words for the command
// line and the window.
//
// A ceiling is measured, and a machine that did other work meanwhile was slower than it can be. A kernel that
// is faster than a ceiling shows that it was measured too low, and stands for it from then on; unless its
// data lie in the last-level cache, which is faster than memory: then it says nothing of memory, and is told
// to be in cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::session {

// One kernel's launch, or all of them together.
struct Worked {
  Id kernel = 0;
  double bytes = 0, flops = 0, ns = 0;  // ns 0: not measured
  double bytes_at_once = 0;             // of one launch, which the cache holds or not
  std::string type;                     // of what it multiplies, "f32"
};

// The type of what a kernel multiplies. Our own make products in float32; a library call does in the type of
// what it gives, which its node tells: "f16[8,64]cuda:0".
std::string product_type(const KernelRow& kernel, const std::string& node_type);

struct Roof {
  double measured = 0, rate = 0;  // a second; rate: with what kernels reached; 0 = not measured
  Id raised_by = 0;               // the fastest kernel above it
};

enum class InCache { No, Partly, Yes };

class Roofs {
 public:
  Roofs() = default;
  Roofs(const std::vector<CeilingRow>& ceilings, const std::vector<Worked>& kernels);

  const Roof& copy() const { return copy_; }
  Roof product(const std::string& type) const;
  InCache in_cache(const Worked& work) const;
  // Of the bytes a second of a copy; 0: not known.
  double of_copy(const Worked& work) const;
  double of_product(const Worked& work) const;
  // Of the time that it takes at least; 0: not known, as where memory would bound it and the data are in
  // cache, whose rate is not measured.
  double of_roof(const Worked& work) const;
  // "62 %", "62 %, in cache", "in cache" where a copy does not bound it; "–" where nothing is known.
  std::string copy_words(const Worked& work) const;
  // "in cache", "partly in cache", "".
  static std::string cache_words(InCache where);
  // Of every ceiling that a kernel exceeded, with its label: "copy was measured too low: K2 reaches 1.3× of
  // it and stands for it."
  std::string too_low(const std::map<Id, std::string>& labels) const;

 private:
  Roof copy_;
  std::map<std::string, Roof> products_;
  double cache_ = 0;  // bytes; 0 = not known
};

// "64 MiB; the best of 2 measurements", "64 MiB; kept from 2026-11-24, AMD EPYC, 2 threads": beside its rate.
std::string ceiling_words(const CeilingRow& row);

}  // namespace vitrine::session
