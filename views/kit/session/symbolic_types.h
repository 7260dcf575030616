// Sizes of a compilation as its symbols: what a recompilation made of "f32[4,128]" is "f32[4,s0]". The
// recorded types are of one call; a size is a symbol's when the input's source says so, or when from one
// compilation to another it changed as one symbol, or the product of two, did.
#pragma once

#include <QStringList>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::kit {

struct SessionData;

class SymbolicTypes {
 public:
  SymbolicTypes(const SessionData& data, Id before, Id after);
  // The type, or space, that `now` is, given what it was before. Numbers that nothing explains stay.
  std::string text(const std::string& before, const std::string& now) const;
  // Of an input of the graph by its source, "L['x']".
  std::string input(const std::string& source, const std::string& now) const;

 private:
  friend class SizesOf;
  struct Symbol {
    std::string name, source;
    int64_t before = 0, now = 0;  // before: 0 = not known
  };
  std::optional<std::string> explain(int64_t before, int64_t now) const;
  std::optional<std::string> explain_sum(int64_t before, int64_t now) const;
  std::vector<Symbol> symbols_;
};

// By node of a graph: the types in which a size is a symbol's, "f32[s0,64]", as far as that is certain from
// the earlier compilations of the same place.
using NodeTypes = std::unordered_map<Id, std::string>;
NodeTypes symbolicTypes(const SessionData& data, Id graph);

// The type of a node as people read it, where `symbolic` are those of its graph.
QString typeText(const SessionData& data, const session::NodeRow& node, const NodeTypes& symbolic);

// "s0 = 96: L['x'].size(1), changed: it was 128" for each symbol that the node's type names.
QStringList symbolsOf(const SessionData& data, const session::NodeRow& node, const NodeTypes& symbolic);

}  // namespace vitrine::kit
