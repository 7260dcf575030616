// What decides how a program is made of a graph: the processors that run it, and what was asked for.
#pragma once

#include <set>

#include "core/base/opt_bisect.h"
#include "core/codegen/cuda/gpu.h"
#include "core/codegen/products.h"
#include "core/codegen/schedule/edited_text.h"
#include "core/codegen/schedule/fault.h"
#include "core/codegen/schedule/program.h"
#include "core/codegen/schedule/size_memory.h"
#include "core/fusion/loops.h"
#include "core/ir/graph.h"

namespace vitrine::codegen {

struct CodegenOptions {
  int lanes = 16;  // f32 values of a vector: 16 for AVX-512, 8 for AVX2
  ProductOptions products;
  bool fuse = true;                 // false: every operator through PyTorch
  std::set<ir::NodeId> by_pytorch;  // operators that run through PyTorch because their kernel has no code
  // A kernel that touches at least so many bytes writes past the cache; 0 = none does. What it writes would
  // not stay in the cache anyway, and a store of a whole line need not read the line first.
  int64_t stream_bytes = 0;
  bool own_results = false;  // a result takes no other value's memory: a CUDA Graph writes it anywhere
  // On a CPU too, what is large is allocated when it is written and goes back after its last use, as eager's
  // does: a training step's activations make room for its gradients.
  bool gives_back = false;
  cuda::Gpu gpu;  // that runs the kernels of its tensors
  fusion::RngLayout draws;
  bool ordered = false;                       // nothing is left to the order in which threads run
  std::shared_ptr<SizeMemory> sizes;          // null: all sizes are numbers of the kernels' texts
  std::shared_ptr<const EditedTexts> edited;  // may be null
  std::shared_ptr<OptBisect> bisect;          // may be null
  std::shared_ptr<const Faults> faults;       // may be null
};

}  // namespace vitrine::codegen
