// Which operator of one graph is which of another, where both have several of a kind.
#pragma once

#include <string>
#include <vector>

#include "core/session/compare/compared_session.h"

namespace vitrine::session {

// what: module and operator, "fc aten.add.Tensor".
struct KeyedNode {
  std::string what, type;
};

// "fc aten.add.Tensor #0" of each node of both sides: counterparts have the same. Those of one kind are
// matched by their types in their order; where none has the type of another, by their order alone.
struct AlignedKeys {
  std::vector<std::string> before, after;
};
AlignedKeys aligned_keys(const std::vector<KeyedNode>& before, const std::vector<KeyedNode>& after);

// `after`, whose nodes have the keys of their counterparts in `before`.
ComparedProgram aligned_to(const ComparedProgram& before, const ComparedProgram& after);

}  // namespace vitrine::session
