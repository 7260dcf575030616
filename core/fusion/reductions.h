// Reductions over any dimensions, written as statements: a mean is a sum and a division, a variance two
// passes over what is reduced.
#pragma once

#include <optional>
#include <string>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

bool is_reduction(const ir::Node& node);

struct Reduction {
  std::vector<bool> over;  // by dim of the argument: it is reduced
  ir::Sym count = 1;       // elements that become one
  std::vector<Statement> body;
};
// nullopt: nothing is reduced, or it is not generated; `why` says which.
std::optional<Reduction> reduction_of(const ir::Node& node, const ir::TensorType& in, std::string& why);

}  // namespace vitrine::fusion
