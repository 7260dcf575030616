// The symbolic stack and locals after one step of a capture, rebuilt by replaying the recorded effects.
//
// An effect says either what the instruction did, {"pop": n, "push": [{"kind","text","type","source"}...],
// "store": {name: value}} with the top of the stack last, or only how the stack stood before it,
// {"stack": depth, "top": text}. From the latter the change is derived: depths before this instruction and
// before the next one of the same frame, and how many values the operation takes.
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "views/kit/painting/theme.h"
#include "views/kit/session/session_data.h"

namespace vitrine::views {

struct StackValue {
  QString text, type, source,
      kind;     // kind: tensor | module | function | constant | null ...; "" = not recorded
  Id from = 0;  // the node it is, else the instruction that put it there
  kit::NodeFamily family = kit::NodeFamily::None;
};

struct FrameAt {
  Id code = 0, instruction = 0;
};

struct StackState {
  bool known = false;
  int before = 0, after = 0;                           // depths of the frame's stack
  std::vector<StackValue> put, taken, below;           // the top first
  std::vector<std::pair<QString, StackValue>> locals;  // of the innermost frame, in order of first use
  std::vector<FrameAt> frames;                         // innermost first
};

// index: of the step in its compilation. The work is proportional to it.
StackState stack_after(const kit::SessionData& data, Id compilation, int index);

}  // namespace vitrine::views
