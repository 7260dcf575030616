// The frames that are interpreted: the live one (outermost), calls inlined into it, generators; and how far
// the outermost one has come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/state/value.h"

namespace vitrine::capture {

// One Python frame being interpreted: the live one (outermost) or an inlined call.
struct VirtualFrame {
  PyCodeObject* code = nullptr;
  const Bytecode* bytecode = nullptr;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
  const Source* globals_owner = nullptr;  // nullptr: the outermost frame's function
  Values locals, stack;
  int position = 0;           // index of the next instruction
  Value* keywords = nullptr;  // pending KW_NAMES
  Values closure;             // copied by COPY_FREE_VARS
  VirtualFrame* caller = nullptr;
  bool running = false;      // generators: resumed right now
  int64_t began = 0;         // generators: instructions of the outermost frame before the first resumption
  bool gave_locals = false;  // locals() was called
  int32_t step = -1;         // number of the instruction that runs now, when steps are recorded
  std::string module;        // "encoder.layer.0": the nn.Module whose forward this is
};

using BytecodeCache = std::unordered_map<PyCodeObject*, std::unique_ptr<Bytecode>>;

class FrameState {
 public:
  FrameState(Frame& outermost, int64_t end, BytecodeCache& cache)
      : live(outermost), bytecodes(cache), stop_at(end) {}
  ~FrameState();
  FrameState(const FrameState&) = delete;
  FrameState& operator=(const FrameState&) = delete;

  // The code is one of the trace.
  const Bytecode* bytecode_of(PyCodeObject* code);
  std::vector<PyObject*> take_codes() { return std::exchange(codes_, {}); }
  // Where the segment may end at the latest: before the instruction whose exception the outermost frame is
  // handling now (its traceback and the exception state are CPython's to make), -1 = anywhere.
  // And before it gave the outermost frame's locals: whatever runs for real afterwards may ask for them, too.
  int64_t latest_end() const {
    return locals_since < 0 || (handling_since >= 0 && handling_since < locals_since) ? handling_since
                                                                                      : locals_since;
  }
  // Where the trace ends, if it goes no further: so many instructions before what was reached.
  int64_t end(int64_t before = 0) const { return ends_by >= 0 ? ends_by : executed - before; }
  void end_before_locals() {
    if (current == &root) locals_since = executed;
  }

  Frame& live;
  BytecodeCache& bytecodes;
  int64_t stop_at;           // how many instructions of the outermost frame to interpret; -1: all
  int64_t executed = 0;      // those that it has completed
  int64_t instructions = 0;  // of all frames
  // How many instructions of the outermost frame the trace may have at most; -1: what was found does not
  // say.
  int64_t ends_by = -1;
  int64_t handling_since = -1, locals_since = -1;
  int handlers = 0;  // entered (PUSH_EXC_INFO) and not left (POP_EXCEPT) since then
  VirtualFrame root;
  VirtualFrame* current = nullptr;
  int depth = 0;
  int nesting = 0;  // of walks through what objects hold
  Value* result = nullptr;
  RaiseSignal attribute_error;  // what a __getattr__ raised that gave no value
  Values initial_locals, initial_stack;
  std::vector<std::shared_ptr<VirtualFrame>> inlined;  // calls that run
  Values generators;                                   // made in the segment

 private:
  std::unordered_set<PyCodeObject*> seen_codes_;
  std::vector<PyObject*> codes_;  // the same, kept alive
};

// How deep a walk through what objects hold has gone: one that contains itself has no end.
class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) {
    constexpr int kDeepest = 500;
    if (depth_ >= kDeepest)
      stop("limit", "an object that holds others very deep, or itself", "Pass the inner object by itself.");
    ++depth_;
  }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;

 private:
  int& depth_;
};

}  // namespace vitrine::capture
