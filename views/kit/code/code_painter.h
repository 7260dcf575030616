// Paints the rows of a CodePane. See code_pane.h.
#pragma once

#include <QPainter>
#include <functional>
#include <optional>

#include "views/kit/code/code_pane.h"

namespace vitrine::kit {

class CodePainter {
 public:
  CodePainter(QPainter& painter, const CodePane& pane);
  void paint();

 private:
  // A run of lines under one span, as a rectangle: from the least indent to the longest line.
  QRectF blockOf(const CodeSpan& span) const;
  // The spans in order, those that fill neighbouring lines and have one key as one: a block, not a stripe a
  // line. Spans without a key are left out.
  std::vector<CodeSpan> merged(const std::function<std::optional<int>(const CodeSpan&)>& key) const;
  bool fillsLines(const CodeSpan& span) const;
  int letterOf(const CodeSpan& span) const;  // -1 also while linked colours are off
  QRectF rowRect(int row) const;
  void fills();
  void rows();
  void text(int row, const QRectF& box);
  void foldBox(int row, const QRectF& box);
  void gutter(int row, const QRectF& box);
  void share(const CodeShare& share, const QRectF& box);
  void remarks(int row, const QRectF& box);
  void outlines();

  QPainter& p_;
  const CodePane& pane_;
  const Theme& t_;
  const int first_, last_;  // visible rows
  const double left_;       // x of column 0 after scrolling
  QFont font_;
};

}  // namespace vitrine::kit
