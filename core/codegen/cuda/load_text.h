// How a load of a schedule is written in CUDA C++: a run of neighbours at once or element by element, in part
// of the nest, at an index, or the place itself.
#pragma once

#include "core/codegen/cuda/expr_text.h"
#include "core/codegen/schedule/index_text.h"

namespace vitrine::codegen::cuda {

class LoadText {
 public:
  // vector: neighbours of a run. name: of a source, and its lane.
  // shifted: see Shape.
  LoadText(const Schedule& schedule, const IndexText& index, int vector, bool shifted,
           std::function<Typed(const OperandSource&)> name)
      : s_(schedule), index_(index), vector_(vector), shifted_(shifted), name_(std::move(name)) {}

  // Whether a run of neighbours lies together, and begins at a multiple of its length.
  bool together(const ir::Dims& strides, const ir::Sym& offset) const;
  bool together(const Load& load) const;
  // Whether a whole run is within the load's ranges, or none of it.
  bool at_once(const Load& load) const;
  // Where the row begins of a full load that is gathered by what is known of the row: "i64 at_x = ...;".
  std::string row_begin(const Load& load) const;
  // Of a drawn load: the numbers of a run whose elements PyTorch's kernel counts one after the other; of one
  // element.
  bool drawn_together(const Load& load) const { return together(load.strides, load.offset); }
  std::string drawn(const Load& load, bool run) const;
  // The address of the load's first element, after its pointer: " + r * 768 + c".
  std::string place(const Load& load) const;
  // Whether the place (element k of a run where `element`) is within the ranges.
  std::string inside(const Load& load, bool element) const;
  // One element; of a load once a row if `row`.
  std::string element(const Load& load, bool row) const;

 private:
  std::string pointer(const Load& load) const;
  std::string gathered(const Load& load) const;
  std::string every_gather(const Load& load) const;

  const Schedule& s_;
  const IndexText& index_;
  int vector_;
  bool shifted_;
  std::function<Typed(const OperandSource&)> name_;
};

}  // namespace vitrine::codegen::cuda
