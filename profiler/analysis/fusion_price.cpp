#include "profiler/analysis/fusion_price.h"

#include <algorithm>
#include <string_view>

namespace vitrine::profiler {

namespace {

// By a part of the reason: what changes the verdict.
struct Remedy {
  std::string_view reason, change;
};
constexpr Remedy kRemedies[] = {
    {"takes no epilogue",
     "options={\"products\": \"generated\"}: a product of ours takes it, where it is offered"},
    {"takes no prologue", "nothing in the program: no product or library call computes its operands"},
    {"must run between them", "let what runs between them fuse with both, or run before them"},
    {"a write to a tensor stands between them",
     "leave out the write in place, or move it before or behind both"},
    {"it writes to its argument", "use the operator that returns a new tensor"},
    {"generation is switched off", "leave out options={\"fuse\": False}"},
    {"its kernel could not be compiled", "mend the problem that the session's messages tell of"},
    {"deterministic algorithms are asked for", "torch.use_deterministic_algorithms(False)"},
    {"elements of this type are not generated", "use float32, float64, bfloat16 or float16"},
    {"different devices", "move the tensors to one device"},
    {"PyTorch's own kernel is used", "write it with simpler operators"},
    {"different iteration spaces", "give both results the same shape, or broadcast the smaller one"},
    {"the reductions run over different rows", "reduce both over the same dimensions of the same shape"},
    {"they reduce different dimensions", "reduce both over the same dimensions"},
    {"at other places than it computes",
     "read the value where it is computed: without a transpose, slice or gather between"},
    {"rows of a length that changes", "mark the size static (vitrine.mark_static)"},
    {"the kernel would be too long", "break the chain with fewer operators between two results"},
    {"would read too many tensors", "join small tensors before, as by torch.stack"},
};

}  // namespace

FusionRates fusion_rates(const std::vector<CeilingRow>& ceilings, const std::vector<LaunchRow>& launches) {
  FusionRates out;
  for (const CeilingRow& row : ceilings)
    if (row.kind == "copy") out.copy = std::max(out.copy, row.rate);
  for (const LaunchRow& row : launches)
    if (row.median_ns > 0 && (out.launch_ns == 0 || row.median_ns < out.launch_ns))
      out.launch_ns = row.median_ns;
  return out;
}

double estimated_ns(const DecisionRow& decision, const FusionRates& rates) {
  if (decision.est_ns != 0) return decision.est_ns;
  if (rates.copy <= 0) return 0;
  const double moved = static_cast<double>(decision.bytes_saved) * 1e9 / rates.copy;
  return -(moved + static_cast<double>(decision.launches_saved) * rates.launch_ns);
}

std::string what_would_change(const DecisionRow& decision) {
  if (decision.verdict == "fused") return "";
  for (const Remedy& remedy : kRemedies)
    if (decision.reason.find(remedy.reason) != std::string::npos) return std::string(remedy.change);
  return "";
}

}  // namespace vitrine::profiler
