// Reads the same text for the same characters, row by row.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/shared_text.h"

namespace vitrine {

// In which order the texts of a column came: mostly they come so again, as a graph's do in each of its
// snapshots.
struct TextOrder {
  uint32_t last = UINT32_MAX;
  std::vector<uint32_t> next;  // by text the one that came behind it
};

// Gives the same text for the same characters: of what is read row by row. A text is first looked for where
// it came before, then in a table of its own: a million look-ups are most of what reading a large session
// takes.
class OrderedTexts {
 public:
  // added: it was not known before. The reference holds until the next call.
  const SharedText& of(std::string_view text, bool& added, TextOrder& order) {
    added = false;
    uint32_t at = order.last < order.next.size() ? order.next[order.last] : UINT32_MAX;
    if (at >= texts_.size() || texts_[at] != text) at = find(text, added);
    if (order.last != UINT32_MAX) {
      if (order.next.size() <= order.last) order.next.resize(texts_.size(), UINT32_MAX);
      order.next[order.last] = at;
    }
    order.last = at;
    return texts_[at];
  }

 private:
  uint32_t find(std::string_view text, bool& added) {
    if (2 * (texts_.size() + 1) > slots_.size()) grow();
    const size_t hash = std::hash<std::string_view>()(text);
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot]; slot = (slot + 1) & (slots_.size() - 1))
      if (const uint32_t at = slots_[slot] - 1; hashes_[at] == hash && texts_[at] == text) return at;
    added = true;
    texts_.emplace_back(text);
    hashes_.push_back(hash);
    slots_[slot] = static_cast<uint32_t>(texts_.size());
    return slots_[slot] - 1;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), 0);
    for (size_t i = 0; i < texts_.size(); ++i) {
      size_t slot = hashes_[i] & (slots_.size() - 1);
      while (slots_[slot]) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<SharedText> texts_;
  std::vector<size_t> hashes_;   // of the texts
  std::vector<uint32_t> slots_;  // a power of two of them; the text's number and 1, 0 is free
};

}  // namespace vitrine
