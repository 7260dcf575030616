// Sizes of the buffers that a compilation's instances have, from the row of `instance`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::session {

// By ordinal of `sized_buffer`; what is no number ends it.
inline std::vector<int64_t> buffer_bytes(const InstanceRow& row) {
  std::vector<int64_t> out;
  const std::string& text = row.buffer_bytes;
  for (size_t at = 0; at < text.size();) {
    int64_t value = 0;
    size_t digits = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 18; ++at, ++digits)
      value = 10 * value + (text[at] - '0');
    if (!digits || (at < text.size() && text[at] != ',')) break;
    out.push_back(value);
    ++at;
  }
  return out;
}

// How an instance was made, in words.
inline std::string how_words(const InstanceRow& row) {
  if (row.how == "instantiated") return "numbers put into the program of expressions";
  if (row.how == "evaluated") return "numbers put into the graph, then compiled";
  if (row.how == "recorded") return "recorded and compiled again";
  if (row.how == "compiled") return "compiled for these sizes";
  return row.how;
}

}  // namespace vitrine::session
