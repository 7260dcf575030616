// Where PyTorch leaves gelu to oneDNN, whose kernels give NaN for infinity on some machines, and infinity for
// half the largest number, gelu is written out so that it does as well. One pass a type: which of them run is
// asked of the library. Examples: tests/golden/passes/library_gelu_f32.txt, library_gelu_bf16.txt,
// library_gelu_f16.txt.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "core/ir/graph.h"

namespace vitrine::passes {

struct LibraryGelu {
  std::string_view pass;
  ir::DType dtype;
};
inline constexpr std::array<LibraryGelu, 3> kLibraryGelus = {{{"library_gelu_f32", ir::DType::f32},
                                                              {"library_gelu_bf16", ir::DType::bf16},
                                                              {"library_gelu_f16", ir::DType::f16}}};

// Whether the graph holds a gelu of this type that the library may compute.
bool asks_library_gelu(const ir::Graph& graph, ir::DType dtype);

ir::GraphPtr library_gelu_f32(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
ir::GraphPtr library_gelu_bf16(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);
ir::GraphPtr library_gelu_f16(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
