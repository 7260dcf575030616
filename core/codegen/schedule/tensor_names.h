// What the values and arguments of a kernel are called in its text: the words that a reader knows them by.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::codegen {

// The last word of where an input comes from ("weight" of "L['self'].fc.weight"); an operator's short name.
// Always an identifier, and never one of the generated text's own.
std::string base_name(const ir::Node& node);

// Each name once: a second "relu" is "relu_1".
class UniqueNames {
 public:
  std::string unique(const std::string& wanted);
  // Words that no name may be. They outlive this: a kernel has few names, and there are hundreds of words.
  void reserve(std::span<const std::string_view> words) { reserved_.push_back(words); }

 private:
  std::map<std::string, int> used_;
  std::vector<std::span<const std::string_view>> reserved_;
};

}  // namespace vitrine::codegen
