// What capture did in one compilation, as rows: every instruction of the frame's code with what it caused,
// and under a call the instructions of the frames that were inlined into it.
#pragma once

#include <QString>
#include <vector>

#include "views/kit/painting/theme.h"
#include "views/kit/session/session_data.h"

namespace vitrine::views {

// The one thing said of an instruction at its right: the break, else what it inlined, else its node, else its
// guards.
struct Caused {
  enum class What { Nothing, Node, Guard, Break };
  What what = What::Nothing;
  Id id = 0;
  QString text;
  kit::NodeFamily family = kit::NodeFamily::None;
};

struct TraceRow {
  Id instruction = 0;
  int first = -1, last = -1;  // steps of the compilation by index; -1: never interpreted
  int level = 0;              // 0: the frame itself
  bool line_start = false;    // first instruction of its source line
  Caused caused;
  std::vector<TraceRow> inlined;
  int inlined_steps = 0;  // in all depths below
  QString inlined_name;   // function that was inlined
  int step_count = 0;     // how often it was interpreted
};

// The frame's code in order of its instructions; inlined frames in the order in which they were interpreted.
// Empty when the compilation or its code is unknown.
std::vector<TraceRow> trace_rows(const kit::SessionData& data, Id compilation);

// Index of a step in its compilation; the last one for 0 (the end of the capture), -1 when there are none.
int step_index(const kit::SessionData& data, Id compilation, Id step);
// What the step made: a node, guard or break, else its instruction.
Id entity_of(const kit::SessionData& data, const session::StepRow& step);

}  // namespace vitrine::views
