// Steps of a unit that computes the same over many tensors: one launch for all members, or a few where a
// GPU's arguments end.
#include <algorithm>

#include "core/codegen/cpp/emit_horizontal.h"
#include "core/codegen/cpp/words.h"
#include "core/codegen/cuda/emit_horizontal.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/program_builder.h"
#include "core/codegen/schedule/horizontal.h"
#include "core/codegen/schedule/scalar_code.h"

namespace vitrine::codegen {

using ir::Ref;

namespace {

std::string letter(size_t launch) {
  std::string out;
  for (; launch > 0; launch = (launch - 1) / 26)
    out.insert(out.begin(), static_cast<char>('a' + (launch - 1) % 26));
  return out;
}

}  // namespace

// Buffers of one member's arguments. What it writes to an input at once must not be read by another.
void ProgramBuilder::horizontal_buffers(int u, const std::vector<Schedule>& all, size_t member, Step& step) {
  const Schedule& own = all[member];
  auto shared = [&](const Argument& written) {
    auto it = destinations_.find(written.root);
    if (it == destinations_.end()) return false;
    for (size_t other = 0; other < all.size(); ++other)
      for (const Argument& a : all[other].arguments)
        if (other != member && a.root == it->second.input) return true;
    return false;
  };
  for (const Argument& a : own.arguments) {
    const int32_t given = a.written && !shared(a) ? destination(u, own, a) : -1;
    step.writes_input |= given >= 0;
    const int32_t b = given >= 0 ? given : a.written ? new_buffer(a.root) : buffer_for(a.root);
    step.buffers.push_back(b);
    if (a.written) step.outs.push_back(b);
  }
}

void ProgramBuilder::add_horizontal(int u) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  std::vector<const fusion::Group*> groups = {&unit.group};
  for (const fusion::Group& g : unit.horizontal) groups.push_back(&g);
  const bool gpu = type(unit.group.members[0].stores[0].root).device.is_cuda();
  Keeping keeping;
  keeping.reserved = horizontal_words(gpu ? cuda::reserved_words() : cpp::reserved_words());
  std::vector<Schedule> all;
  for (const fusion::Group* g : groups)
    if (std::vector<Ref> wanted = stored(*g); !wanted.empty())
      all.push_back(make_schedule(loops_, *g, wanted, keeping));
  for (const Schedule& s : all)
    VITRINE_CHECK(walks_in_order(s) && congruent(all.front(), s), "kernels that are alike fell apart");
  if (all.empty()) return;
  const size_t most = gpu ? cuda::most_horizontal(all.front()) : all.size();
  const cpp::Target cpu{all.front().columns().same(1) ? 1 : options_.lanes, 0, nullptr};
  for (size_t from = 0, launch = 0; from < all.size(); from += most, ++launch) {
    Step step;
    step.kind = Step::Kind::kernel;
    step.may_fail = false;
    const size_t end = std::min(from + most, all.size());
    std::vector<Schedule> members;
    step.of_weights = true;
    for (size_t m = from; m < end; ++m) step.of_weights = step.of_weights && is_of_weights(all[m]);
    for (size_t m = from; m < end; ++m) {
      if (step.of_weights) hold(all[m]);
      horizontal_buffers(u, all, m, step);
      members.push_back(all[m]);
    }
    Kernel kernel =
        gpu ? cuda::emit_horizontal(loops_, unit, members) : cpp::emit_horizontal(loops_, unit, members, cpu);
    if (!gpu) kernel.scalar = scalar_code(members);
    step.label = kernel.label = unit.label + letter(launch);
    step.kernel = static_cast<int32_t>(program_.kernels.size());
    step.numbers = kernel.numbers;
    if (step.of_weights) name_kept(kernel);
    program_.kernels.push_back(std::move(kernel));
    add_step(std::move(step), u);
  }
}

}  // namespace vitrine::codegen
