// What an operator of PyTorch's takes, as a package says it: one line an operator, written where Python has
// the schema. "aten.topk.default aten::topk - 2 self:T k:i dim:i=-1 largest:b=1 sorted:b=1" has the name in
// the program, the dispatcher's name and overload, the number of tensors that it returns, and the parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::package {

struct TorchParameter {
  std::string name;
  char kind = 'T';        // T tensor, i integer or an enumeration, f float, b bool, s text
  bool optional = false;  // "?i"
  bool list = false;      // "*i"
  size_t repeats = 0;     // "*i2": one number stands for two
  std::optional<ir::Arg> fallback;
};

struct TorchSchema {
  std::string name, overload;
  size_t returns = 0;
  std::vector<TorchParameter> parameters;
};

// Errors: no line is of the operator, or it is none.
Result<TorchSchema> torch_schema(const std::vector<std::string>& lines, const std::string& op);
// The node's arguments by parameter. Errors: one is missing, or not known.
Result<std::vector<ir::Arg>> bound(const TorchSchema& schema, const ir::Node& node);

}  // namespace vitrine::package
