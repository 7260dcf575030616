// How interpretation of an instruction stops early: the segment must end before it, or the program raises.
#pragma once

#include <memory>
#include <string>

#include "core/capture/trace/trace.h"
#include "core/torch_api/op_call.h"

namespace vitrine::capture {

class Value;

// The instruction of the outermost frame must run for real.
struct BreakSignal {
  BreakInfo info;
};

// The graph has a backward pass, and what leaves the segment needs autograd nevertheless.
struct AutogradSignal {
  std::string why;
};

// A graph that must run through PyTorch would have written before a check that may fail.
struct WrittenSignal {};

// The traced program raises `exception` (an Object made in the segment, or a Constant class).
struct RaiseSignal {
  Value* exception = nullptr;
  std::string text;
};

// The user interrupted what PyTorch's or the program's Python was doing for the capture. It ends the call.
struct InterruptSignal {
  std::shared_ptr<torch_api::PendingError> error;
};

// kind: a row of break_kinds.h; the row's hint is used when `hint` is empty.
[[noreturn]] void stop(const char* kind, const std::string& reason, const std::string& hint = "");

}  // namespace vitrine::capture
