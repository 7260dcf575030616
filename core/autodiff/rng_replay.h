// Random numbers of torch.utils.checkpoint: nothing of them is kept. Backward draws them again, from the
// state that the CPU's generator had at the checkpoint's first draw, and leaves the generator as it found it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/autodiff/partition.h"

namespace vitrine::autodiff {

// () -> the CPU generator's state; (state) -> the state that was in place of it.
inline constexpr const char* kGeneratorState = "vitrine.generator_state.default";
inline constexpr const char* kSwapGeneratorState = "vitrine.swap_generator_state.default";

// What one checkpoint draws.
struct CheckpointDraws {
  ir::NodeId state = -1;          // the generator's, in front of the first
  std::vector<ir::NodeId> nodes;  // in the program's order
};

// The graph with a node that reads the generator's state, of type `state`, in front of the first draw of each
// checkpoint that can be drawn again: on the CPU, by operators of PyTorch's own. (A call that is given a
// generator is no part of a graph.)
JointGraph with_generator_states(JointGraph joint, const ir::TensorType& state,
                                 const std::shared_ptr<ir::NodeIds>& ids);

// By the checkpoint's number: those with such a node.
std::map<int32_t, CheckpointDraws> find_draws(const JointGraph& joint);

}  // namespace vitrine::autodiff
