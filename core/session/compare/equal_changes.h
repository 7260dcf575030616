// Changes that are the same in every layer, as one: forty-eight equal layers differ in one way, not in
// forty-eight.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/session/compare/difference.h"

namespace vitrine::session {

// A text without the numbers that tell one layer from another, and these numbers in their order. Sizes, types
// and values are no such numbers. "K7 add, L['self'].layers.3.fc" has 7 and 3.
class LayerText {
 public:
  explicit LayerText(std::string_view text);
  const std::string& pattern() const { return pattern_; }
  bool of_layer() const { return of_layer_; }  // one of them is a part of a module's path
  // Of texts of one pattern: "K7…40 add, L['self'].layers.0…11.fc".
  static std::string merged(const std::vector<LayerText>& texts);

 private:
  std::string pattern_;
  std::vector<long> numbers_;
  bool of_layer_ = false;
};

struct EqualChanges {
  SessionChange change;         // with ranges in the place of numbers; its times are sums
  std::vector<size_t> changes;  // their places in the difference, in order; one or more
  bool layers = false;          // of one module that is there several times
  std::string times() const;    // "×12 layers: ", "×3: ", "" of one
};

// In the order of what they cost together, within a kind.
std::vector<EqualChanges> equal_changes(const SessionDifference& difference);

// "gelu ×12 (layers.0…11 aten.gelu.default)" of the entries of a list that differ in such numbers alone.
std::vector<std::string> equal_entries(const std::vector<std::string>& entries);

}  // namespace vitrine::session
