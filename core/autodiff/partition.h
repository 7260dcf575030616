// Divides a joint graph into forward and backward: which values forward hands over, and which backward
// computes again from these. A minimum cut: a value that is kept costs its bytes, one that is computed again
// nothing. What eager keeps anyway (inputs, results) is free; inputs and results that eager does not keep
// stay out, so that writing to them between forward and backward is no error here either.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/autodiff/pins.h"
#include "core/ir/graph.h"

namespace vitrine::autodiff {

// A joint graph: `leading` inputs and constants, `tangents` gradients of results, `forward` operators of the
// program, then those of its derivative. Its results are `results` of the program, then the gradients.
struct JointGraph {
  ir::GraphPtr graph;
  size_t leading = 0, tangents = 0, forward = 0, results = 0;
};

// A value of the joint graph that backward reads.
struct Crossing {
  // viewed: an input of which views only are read. Autograd keeps such views, so that a parameter whose
  // memory is replaced between forward and backward is still read where it was; one that is read itself is
  // not.
  enum class Kind : uint8_t { input, viewed, result, saved, recomputed } kind;
  ir::Ref value;
  int64_t bytes = 0;  // 0 where its memory is an input's or a result's
  int index = -1;  // input, viewed: of the leading inputs; result: of the results; saved: among those saved
  ir::NodeId here = -1;  // the node of the backward graph that stands for it
  std::string reason;    // one sentence
  // viewed: sizes of the view that forward's operators read, which is what autograd keeps.
  ir::Dims viewed_sizes = {};
};
const char* crossing_name(Crossing::Kind kind);

struct Partition {
  // forward: the leading inputs; its results are the program's, then those with Kind::saved.
  // backward: everything that is handed over, in order, then the tangents; its results are the gradients.
  ir::GraphPtr forward, backward;
  std::vector<Crossing> crossings;           // handed over, in order; then those computed again
  int64_t saved_bytes = 0, eager_bytes = 0;  // kept beside inputs and results, here and where all is kept
  std::vector<std::string>
      refused;  // pins that were not obeyed: "relu as recomputed: it draws random numbers"
  size_t handed_over() const;
};

// Throws InternalError for a graph that is not a joint graph. A value that is pinned as computed again reads
// its operands in backward: writing to an input in between is then an error, as behind
// torch.utils.checkpoint.
Partition partition(const JointGraph& joint, const std::shared_ptr<ir::NodeIds>& ids, const Pins& pins = {});

}  // namespace vitrine::autodiff
