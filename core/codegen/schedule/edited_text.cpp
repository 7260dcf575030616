#include "core/codegen/schedule/edited_text.h"

#include <algorithm>
#include <sstream>

namespace vitrine::codegen {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(std::move(line));
  return out;
}

}  // namespace

void use_edited_text(Kernel& kernel, const EditedTexts& edited) {
  const auto found = edited.find(kernel.text);
  if (found == edited.end()) return;
  const std::vector<std::string> before = lines_of(kernel.text), after = lines_of(found->second);
  const size_t least = std::min(before.size(), after.size());
  size_t same_above = 0, same_below = 0;
  while (same_above < least && before[same_above] == after[same_above]) ++same_above;
  while (same_below < least - same_above &&
         before[before.size() - 1 - same_below] == after[after.size() - 1 - same_below])
    ++same_below;
  const auto above = static_cast<int32_t>(same_above);
  const auto below =
      static_cast<int32_t>(before.size() - same_below);  // lines from the next one on are the same
  const auto moved = static_cast<int32_t>(after.size()) - static_cast<int32_t>(before.size());
  std::erase_if(kernel.lines, [&](const LineOrigin& o) { return o.line > above && o.end_line <= below; });
  for (LineOrigin& origin : kernel.lines) {
    if (origin.end_line > below)
      origin.end_line += moved;
    else
      origin.end_line = std::min(origin.end_line, below + moved);
    if (origin.line > below) origin.line += moved;
  }
  kernel.text = found->second;
  kernel.edited = true;
  kernel.scalar = nullptr;  // what it computed without a compiler may not be what the text says now
}

}  // namespace vitrine::codegen
