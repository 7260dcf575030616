// Places as text: sums of a kernel's loop variables, which are called r (or i0, i1, ... where the rows have
// several dims) and c (before it c0, c1, ...) in the text for either kind of processor.
#pragma once

#include <functional>
#include <string>

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen {

class IndexText {
 public:
  // number: how a size is written; offset: where a tensor is read from, where that is another way.
  IndexText(const Schedule& schedule, std::function<std::string(const ir::Sym&)> number,
            std::function<std::string(const ir::Sym&)> offset = {})
      : s_(schedule), number_(std::move(number)), offset_(offset ? std::move(offset) : number_) {}

  // " + r * 768" or " + i0 * 98304 + i1 * 64", then the offset.
  std::string row(const ir::Dims& strides, const ir::Sym& offset) const;
  // " + c", " + c * 64", " + c0 * 49 + c".
  std::string column(const ir::Dims& strides, bool last_too = true) const;
  std::string term(const std::string& variable, const ir::Sym& stride) const;
  // All of it as an operand: "c", "(r * 768 + c)", "0". `more` is added: " + k".
  std::string sum(const ir::Dims& strides, const ir::Sym& offset, const std::string& more = "") const;
  // A sum without its leading sign: "0" if there is none.
  static std::string trimmed(const std::string& sum) { return sum.empty() ? "0" : sum.substr(3); }
  std::string number(const ir::Sym& n) const { return number_(n); }
  std::string offset(const ir::Sym& n) const { return offset_(n); }

 private:
  const Schedule& s_;
  std::function<std::string(const ir::Sym&)> number_, offset_;
};

// Bytes of the argument that a call moves: all of it, or what it is gathered from at most.
ir::Sym argument_bytes(const fusion::LoopProgram& program, const Schedule& schedule,
                       const Argument& argument);

}  // namespace vitrine::codegen
