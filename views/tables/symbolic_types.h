// Sizes of a compilation as its symbols: what a recompilation made of "f32[4,128]" is "f32[4,s0]". The
// recorded types are of one call; a size is a symbol's when the input's source says so, or when from one
// compilation to the next it changed as one symbol alone did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/kit/session_data.h"

namespace vitrine::views {

class SymbolicTypes {
 public:
  SymbolicTypes(const kit::SessionData& data, Id before, Id after);
  // The type, or space, that `now` is, given what it was before. Numbers that nothing explains stay.
  std::string text(const std::string& before, const std::string& now) const;
  // Of an input of the graph by its source, "L['x']".
  std::string input(const std::string& source, const std::string& now) const;

 private:
  struct Symbol {
    std::string name, source;
    int64_t before = 0, now = 0;  // before: 0 = not known
  };
  std::optional<std::string> explain(int64_t before, int64_t now) const;
  std::vector<Symbol> symbols_;
};

}  // namespace vitrine::views
