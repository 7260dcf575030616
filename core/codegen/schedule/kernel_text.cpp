#include "core/codegen/schedule/kernel_text.h"

#include <algorithm>

namespace vitrine::codegen {

void KernelText::line(const std::string& text, ir::NodeId node) {
  text_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
  ++lines_;
  if (node >= 0)
    kernel_.lines.push_back(
        {lines_, lines_, indent_ * 2, indent_ * 2 + static_cast<int32_t>(text.size()), node});
}

void KernelText::open(const std::string& text) {
  line(text);
  ++indent_;
}

void KernelText::close(const std::string& text) {
  --indent_;
  line(text);
}

void KernelText::put_before(const std::string& head) {
  const auto more = static_cast<int32_t>(std::count(head.begin(), head.end(), '\n'));
  for (LineOrigin& o : kernel_.lines) {
    o.line += more;
    o.end_line += more;
  }
  kernel_.text = head + text_;
}

void KernelText::measure_lines() {
  std::vector<int32_t> lengths;
  for (size_t at = 0, end; at < kernel_.text.size(); at = end + 1) {
    end = std::min(kernel_.text.find('\n', at), kernel_.text.size());
    lengths.push_back(static_cast<int32_t>(end - at));
  }
  for (LineOrigin& o : kernel_.lines) o.end_col = lengths.at(static_cast<size_t>(o.line) - 1);
}

}  // namespace vitrine::codegen
