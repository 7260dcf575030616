// The text of a kernel while it is written: lines, their indentation, and which node each line computes.
#pragma once

#include <string>

#include "core/codegen/schedule/program.h"

namespace vitrine::codegen {

class KernelText {
 protected:
  void line(const std::string& text, ir::NodeId node = -1);
  void open(const std::string& text);
  void close(const std::string& text = "}");
  // `head` before everything; from then on lines are counted in the whole text.
  void put_before(const std::string& head);
  // Where the lines of nodes end, now that the text is as it stays.
  void measure_lines();

  Kernel kernel_;
  std::string text_;
  int32_t lines_ = 0, indent_ = 0;
};

}  // namespace vitrine::codegen
