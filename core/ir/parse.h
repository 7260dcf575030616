// Reads the text form of graphs back. What it accepts is what core/ir/print.h writes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::ir {

// Ids are handed out in order of the text; the origin's rule of a node that has none is "text", so that a
// parsed graph passes the verifier. Errors name line and column. symbols: sizes and numbers may be
// expressions over its symbols, f32[s0,8*s0+1].
Result<GraphPtr> parse(std::string_view text, std::shared_ptr<NodeIds> ids = nullptr,
                       SymbolTable* symbols = nullptr);
// Several graphs, one after the other; each with its own ids.
Result<std::vector<GraphPtr>> parse_all(std::string_view text);

// One constant argument: "1e-05", "[1, 2]", "None".
Result<Arg> parse_constant(std::string_view text);

}  // namespace vitrine::ir
