// What the values and arguments of a kernel are called in its text: the words that a reader knows them by.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace vitrine::codegen {

// The last word of where an input comes from ("weight" of "L['self'].fc.weight"); an operator's short name.
// Always an identifier, and never one of the generated text's own.
std::string base_name(const ir::Node& node);

// Each name once: a second "relu" is "relu_1".
class UniqueNames {
 public:
  std::string unique(const std::string& wanted);
  void reserve(std::string_view word) { ++used_[std::string(word)]; }

 private:
  std::map<std::string, int> used_;
};

}  // namespace vitrine::codegen
