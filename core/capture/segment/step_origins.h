// What each interpreted instruction of a trace made, and the expression of the user's that it belongs to.
#pragma once

#include <vector>

#include "core/capture/segment/code_rows.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// A place in the user's own code, or the one that stands for it. 0: none.
struct UserPlace {
  Id span = 0, instruction = 0;
};

class StepOrigins {
 public:
  // `codes` must outlive it. Needs the GIL: the Python stack at this moment is part of the answer.
  StepOrigins(const Trace& trace, CodeRows& codes);

  const std::vector<ir::NodeId>& nodes(size_t step) const { return nodes_[step]; }
  int32_t first_guard(size_t step) const { return guards_[step]; }  // -1: none
  // The innermost expression of a file of the user's that was being evaluated at a step: of a frame that was
  // inlined or of the captured one. Where these are all of others, that of a package other than PyTorch (a
  // model's), else that of whoever called it.
  UserPlace user_place(size_t step) const;
  // The step's event, as the session names it.
  const char* event(size_t step) const;

 private:
  const Trace& trace_;
  CodeRows& codes_;
  std::vector<std::vector<ir::NodeId>> nodes_;  // by step
  std::vector<int32_t> guards_;
  std::vector<int32_t> callers_;  // by step: the step of the frame around it, or -1
  UserPlace outside_;             // the nearest user's frame on the Python stack
};

}  // namespace vitrine::capture
