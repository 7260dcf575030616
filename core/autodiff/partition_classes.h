// What each node of a joint graph is to its division.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/autodiff/partition.h"
#include "core/autodiff/rng_replay.h"

namespace vitrine::autodiff {

class PartitionClasses {
 public:
  explicit PartitionClasses(const JointGraph& joint, const Pins& pins = {});

  const ir::Graph& graph() const { return *joint_.graph; }
  const JointGraph& joint() const { return joint_; }
  bool is_leading(ir::NodeId n) const { return at(n) < joint_.leading; }
  bool is_tangent(ir::NodeId n) const { return at(n) >= joint_.leading && at(n) < first_forward(); }
  bool is_forward(ir::NodeId n) const { return at(n) >= first_forward() && at(n) < first_backward(); }
  // A node of the backward part that the gradients need.
  bool is_backward(ir::NodeId n) const { return at(n) >= first_backward() && live_[at(n)]; }
  // ... and that cannot move: it depends on a tangent, or may not be done twice or elsewhere.
  bool is_bound(ir::NodeId n) const { return is_backward(n) && bound_[at(n)]; }
  // One output or a view, cheap, a part of whichever loop reads it; nobody writes its memory or its
  // operands'.
  bool is_cheap(ir::NodeId n) const { return cheap_[at(n)]; }
  bool is_view(ir::NodeId n) const { return view_[at(n)]; }
  // Computed again by backward, whatever that costs, and not kept: what torch.utils.checkpoint says of it.
  bool is_dropped(ir::NodeId n) const { return dropped_[at(n)]; }
  // What leaves a checkpoint for those that need it later: kept, however cheap it would be to repeat.
  bool leaves_checkpoint(ir::NodeId n) const { return leaves_[at(n)]; }
  bool has_checkpoints() const { return has_checkpoints_; }
  // Whether a person has said what is to become of it; one that is to be computed again is dropped as well.
  bool pinned(ir::NodeId n) const { return pinned_[at(n)]; }
  bool has_pins() const { return pins_.size() > refused_.size(); }
  const std::vector<std::string>& refused() const { return refused_; }  // pins that cannot be obeyed, and why
  // What its checkpoint draws, if backward draws it again; nullptr for whatever else.
  const CheckpointDraws* draws_of(const ir::Node& n) const;
  bool is_view_of_input(ir::Ref ref) const;
  ir::Ref viewed(ir::Ref ref) const;  // what a value of the forward part is a view of, or the value itself
  bool is_fusible(ir::NodeId n) const { return fusible_[at(n)]; }
  const std::vector<ir::NodeId>& users(ir::NodeId n) const { return users_[at(n)]; }
  int result_of(ir::Ref ref) const;  // its index among the program's results, or -1
  bool is_gradient(ir::Ref ref) const;
  const ir::TensorType& type(ir::Ref ref) const {
    return graph().node(ref.node).outputs.at(static_cast<size_t>(ref.output));
  }
  std::string why_kept(ir::NodeId n) const;

 private:
  size_t at(ir::NodeId n) const { return graph().position(n); }
  size_t first_forward() const { return joint_.leading + joint_.tangents; }
  size_t first_backward() const { return first_forward() + joint_.forward; }
  void find_kinds();
  void find_live();
  void find_bound();
  void find_dropped();
  void find_pinned();
  std::string why_not(Pin pin, const ir::Node& node) const;
  std::vector<bool> find_memory_of_one();
  bool is_needed_outside(ir::NodeId n) const;

  const JointGraph& joint_;
  const Pins pins_;
  std::vector<std::string> refused_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> live_, bound_, cheap_, view_, fusible_, written_, dropped_, leaves_, pinned_;
  std::vector<size_t> memory_;  // by position: the first node of those that may share its memory
  std::map<int32_t, CheckpointDraws> draws_;  // by checkpoint
  bool has_checkpoints_ = false;
};

std::string pin_text(const std::string& name, Pin pin);  // "gelu as recomputed"

}  // namespace vitrine::autodiff
