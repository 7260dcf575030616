// What follows from weights alone where these are constant between calls (ProductOptions::holds_weights): a
// kernel computes it once, and its memory is kept. A model of autocast casts its weights so.
#include <algorithm>
#include <climits>

#include "core/codegen/program_builder.h"
#include "core/ops/node.h"

namespace vitrine::codegen {

using ir::Ref;

namespace {

// Later than any unit, but not as late as what leaves the call.
constexpr int kLasts = INT_MAX - 1;

}  // namespace

// Memory for each size would be kept where sizes change, so there they are computed in each call.
bool ProgramBuilder::is_of_weights(const Schedule& schedule) {
  if (!options_.products.holds_weights || options_.sizes) return false;
  if (schedule.launches() != 1 || schedule.gathers() || schedule.draws() >= 0) return false;
  const auto lasts = [&](const Argument& a) {
    return held_.contains(a.root) || ops::is_weight(node(a.root));
  };
  const auto stays = [&](const Argument& a) {
    const auto last = last_unit_.find(a.root);
    return last != last_unit_.end() && last->second != INT_MAX && !keeps_own_.contains(a.root) &&
           !destinations_.contains(a.root);
  };
  bool reads = false;
  for (const Argument& a : schedule.arguments) {
    if (!type(a.root).device.is_cpu() || !(a.written ? stays(a) : lasts(a))) return false;
    reads |= !a.written;
  }
  if (!only_reads_) only_reads_ = ops::only_reads(*loops_.graph);
  return reads && *only_reads_;
}

// Nobody takes the place of what these make.
void ProgramBuilder::hold(const Schedule& schedule) {
  for (const Argument& a : schedule.arguments) {
    if (!a.written) continue;
    held_.insert(a.root);
    last_unit_[a.root] = kLasts;
  }
}

// A call moves and computes nothing of it.
void ProgramBuilder::name_kept(Kernel& kernel) {
  kernel.name += "_kept";
  kernel.bytes = kernel.flops = 0;
}

}  // namespace vitrine::codegen
