// Reductions over the last dimensions, written as statements: a mean is a sum and a division, a variance two
// passes over the row.
#pragma once

#include <optional>
#include <string>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

bool is_reduction(const ir::Node& node);

struct RowReduction {
  size_t reduced_dims = 0;  // so many last dims of the argument
  int64_t columns = 1;      // elements of a row
  std::vector<Statement> body;
};
// nullopt: not over the last dims, or not worth generating; `why` says which.
std::optional<RowReduction> row_reduction(const ir::Node& node, const ir::TensorType& in, std::string& why);

}  // namespace vitrine::fusion
