// How a load of a schedule is written in C++ over vectors: from memory at once or lane by lane, in part of
// the lanes, at an index, or the place itself.
#pragma once

#include "core/codegen/cpp/expr_text.h"
#include "core/codegen/schedule/index_text.h"

namespace vitrine::codegen::cpp {

class LoadText {
 public:
  // name: of a source, and its lane.
  LoadText(const Schedule& schedule, const IndexText& index, std::function<Typed(const OperandSource&)> name)
      : s_(schedule), index_(index), name_(std::move(name)) {}

  // The value of a load that is done once a row.
  std::string once(const Load& load) const;
  // Where a row of a full load begins: "in_x + r * 768".
  std::string row_pointer(const Load& load) const;
  // A full load; `from` is its row's pointer, `part` which lanes there are ("all", "n").
  std::string full(const Load& load, const std::string& from, const std::string& part) const;

 private:
  std::string pointer(const Load& load) const;
  std::string bound(const ir::Sym& limit, const fusion::Range& range) const;
  std::string condition(const fusion::Range& range) const;
  std::string conditions(const Load& load) const;
  std::string lanes(const fusion::Range& range) const;
  std::pair<std::string, std::string> bounds(const Load& load, const std::string& part) const;
  std::string gathered(const Load& load) const;
  std::string gathered_lanes(const Load& load, const std::string& part) const;

  const Schedule& s_;
  const IndexText& index_;
  std::function<Typed(const OperandSource&)> name_;
};

}  // namespace vitrine::codegen::cpp
