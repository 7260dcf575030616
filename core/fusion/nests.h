// Loop nests of operators that move elements: an element of the result is one of an operand, read at another
// place, in a part of the nest only, or where an index says. One row an operator; data_movement.cpp has those
// whose places follow from sizes and numbers alone, borders.cpp the paddings among them that repeat what is
// within, gathers.cpp those that read an index tensor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

// A nest over all dims of the result, also those of size 1, or over dims of its own with their store.
struct Nest {
  ir::Dims dims;
  std::vector<Operand> operands;
  ExprPtr expr;                        // over the operands
  ir::DType compute = ir::DType::f32;  // the type that operands are converted to
  std::optional<ir::Dims> store;       // strides of the result over dims; else the result's own
};

// What a row has at hand: the node's arguments in schema order and the places of its operands.
class NestWriter {
 public:
  NestWriter(const LoopProgram& program, const ir::Node& node, std::vector<ir::Arg> args);

  Nest nest;
  const ir::TensorType& out() const { return node_.type(); }
  const ir::Arg& arg(size_t i) const { return args_[i]; }
  ir::Ref value(size_t i) const { return args_[i].as<ir::Ref>(); }
  const ir::TensorType& type(ir::Ref value) const { return program_.placement(value).type; }
  int64_t integer(size_t i, int64_t if_none = 0) const;
  ir::Sym size(size_t i, const ir::Sym& if_none = 0) const;
  ir::Dims integers(size_t i) const;
  // A dim counted from the end or not; nullopt: there is none such among `rank`.
  static std::optional<size_t> dim(int64_t d, size_t rank);

  // The value's own place, over its own sizes.
  Access place(ir::Ref value) const;
  // Adds an operand; its $.
  ExprPtr read(ir::Ref value, Access at);
  // An index tensor at `strides` of the nest; its $.
  int index_at(ir::Ref index, ir::Dims strides);
  ExprPtr number(const ir::Dims& strides, const ir::Sym& offset);  // offset + sum of stride * index
  ExprPtr inside(std::vector<Range> ranges);                       // a truth
  // The part low <= index of dim `d` < high.
  Range range(size_t d, const ir::Sym& low, const ir::Sym& high) const;
  // A constant of the result's type; nullptr: the argument is none.
  ExprPtr constant(const ir::Arg& arg) const;
  static ExprPtr choose(ExprPtr condition, ExprPtr yes, ExprPtr no);

 private:
  const LoopProgram& program_;
  const ir::Node& node_;
  std::vector<ir::Arg> args_;
};

// For what is not covered: false, and why.
inline bool no(std::string& why, const char* reason) {
  why = reason;
  return false;
}

// Fills writer.nest; false: this use is not covered, `why` says what of it.
struct NestRow {
  std::string_view op;
  bool (*write)(NestWriter& writer, std::string& why);
};
extern const std::vector<NestRow> kMoves, kBorders, kGathers;

bool is_moving(const ir::Node& node);  // it has a row
// nullopt: not this use of it; `why` says what of it. Every type has lanes, and the result has elements.
std::optional<Nest> moving_nest(const LoopProgram& program, const ir::Node& node, std::string& why);

}  // namespace vitrine::fusion
