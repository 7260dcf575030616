// A graph that needs gradients as a callable: a node of PyTorch's autograd whose forward and backward are
// compiled plans (vitrine._autograd.training).
#pragma once

#include <memory>
#include <string>

#include "core/autograd/joint_at_sizes.h"
#include "core/capture/objects/owned.h"
#include "core/capture/segment/engine.h"
#include "core/capture/segment/instance.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

// Where a region comes from: whose session and profile its backward graphs are told to.
struct RegionPlace {
  Engine& engine;
  std::string name;       // what errors call it
  BackwardOrigin origin;  // empty: nothing was recorded
  // The plan of a backward graph, where one that serves all sizes has been compiled; may be empty.
  SizedBackward backward = {};
  // A region of the same graph for other sizes, which keeps nothing of it alive; made if it is empty. May be
  // null: there are no others.
  PyRef* like = nullptr;
};

// `forward` is the plan of the forward half; the backward graph is compiled when a gradient is first asked
// for. Null: a Python error is set.
PyRef make_region(std::shared_ptr<torch_api::JointAtSizes> joint, std::shared_ptr<runtime::Plan> forward,
                  runtime::CompileOptions options, RegionPlace place);

// Whether the forward plan of a region's last call came to its end: what it writes to inputs is written.
bool forward_ran(PyObject* region);

// The CUDA Graphs of a region's forward plan and of its backward plans that are recorded; `forward`: the
// compilation.
std::vector<std::pair<Id, runtime::GraphFacts>> region_graphs(PyObject* region, Id forward);

}  // namespace vitrine::capture
