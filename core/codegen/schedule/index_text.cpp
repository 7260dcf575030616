#include "core/codegen/schedule/index_text.h"

#include <algorithm>

namespace vitrine::codegen {

std::string IndexText::term(const std::string& variable, const ir::Sym& stride) const {
  if (stride.same(0)) return "";
  return " + " + variable + (stride.same(1) ? "" : " * " + number_(stride));
}

std::string IndexText::row(const ir::Dims& strides, const ir::Sym& offset) const {
  std::string out;
  for (size_t k = 0; k < s_.rows; ++k) out += term(s_.rows == 1 ? "r" : "i" + std::to_string(k), strides[k]);
  return offset.same(0) ? out : out + " + " + offset_(offset);
}

std::string IndexText::column(const ir::Dims& strides, bool last_too) const {
  std::string out;
  for (size_t k = s_.rows; k < s_.dims.size(); ++k) {
    const bool last = k + 1 == s_.dims.size();
    if (!last || last_too) out += term(last ? "c" : "c" + std::to_string(k - s_.rows), strides[k]);
  }
  return out;
}

std::string IndexText::sum(const ir::Dims& strides, const ir::Sym& offset, const std::string& more) const {
  const std::string text = trimmed(row(strides, offset) + column(strides) + more);
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

ir::Sym argument_bytes(const fusion::LoopProgram& program, const Schedule& schedule,
                       const Argument& argument) {
  const ir::Sym all =
      program.graph->node(argument.root.node).outputs[static_cast<size_t>(argument.root.output)].bytes();
  ir::Sym touched = 0;  // elements of a part that is read, or where indices say, once each
  for (const Load& l : schedule.loads) {
    if (l.argument < 0 || &schedule.arguments[static_cast<size_t>(l.argument)] != &argument) continue;
    ir::Sym each = l.gathered.empty() ? ir::Sym(1)
                   : l.per_row        ? schedule.row_count()
                                      : schedule.row_count() * schedule.columns();
    for (size_t d = 0; l.gathered.empty() && d < schedule.dims.size(); ++d)
      if (!l.strides[d].same(0)) each *= schedule.dims[d];
    touched += each * ir::dtype_bytes(l.dtype);
  }
  if (touched.hint() < 1) touched = 1;
  return argument.written || all.hint() <= touched.hint() ? all : touched;
}

}  // namespace vitrine::codegen
