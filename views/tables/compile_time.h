// What compiling took, as a tree: run, frame, compilation, stage, pass or kernel. What is part of something
// takes none of the time that its neighbours take; what ran side by side says so.
#pragma once

#include "views/tables/table_view.h"

namespace vitrine::views {

struct CompilePart {
  Id id = 0;
  QString name, count, note;
  const char* icon = "";
  double ns = 0;        // on the clock
  double work = 0;      // above 0: of what its parts took together, or it took itself, beside others
  int64_t workers = 0;  // how many of its parts ran at once, 0: not known or one
  bool open = false;    // at first, in a tree
  std::vector<CompilePart> parts;
};

CompilePart compile_time(const TableScope& scope);

}  // namespace vitrine::views
