// A graph that needs gradients as a callable: a node of PyTorch's autograd whose forward and backward are
// compiled plans (vitrine._training).
#pragma once

#include <memory>
#include <string>

#include "core/capture/segment/owned.h"
#include "core/runtime/compile.h"
#include "core/torch_bridge/joint.h"

namespace vitrine::capture {

// `forward` is the plan of the forward half; the backward graph is compiled when a gradient is first asked
// for. `name`: what errors call it. Null: a Python error is set.
Owned make_region(std::shared_ptr<const torch_bridge::Joint> joint, std::shared_ptr<runtime::Plan> forward,
                  runtime::CompileOptions options, const std::string& name);

}  // namespace vitrine::capture
