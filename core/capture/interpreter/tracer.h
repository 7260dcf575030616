// The symbolic interpreter of one segment: what it holds, part by part, and what everything is made with.
// What a Python program does is free functions over it, declared next to the file that defines them. A
// function that cannot go on throws BreakSignal (the segment ends before the outermost frame's current
// instruction) or RaiseSignal.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/capture/interpreter/state/arguments.h"
#include "core/capture/interpreter/state/film_state.h"
#include "core/capture/interpreter/state/frame_state.h"
#include "core/capture/interpreter/state/graph_state.h"
#include "core/capture/interpreter/state/guard_set.h"
#include "core/capture/interpreter/state/mode_state.h"
#include "core/capture/interpreter/state/pure_calls.h"
#include "core/capture/interpreter/state/side_effects.h"
#include "core/capture/interpreter/state/size_state.h"
#include "core/capture/interpreter/state/value_store.h"

namespace vitrine::capture {

class Tracer {
 public:
  // stop_at: how many instructions of the outermost frame to interpret; -1 = as many as possible.
  Tracer(Frame& frame, const TraceOptions& options, int64_t stop_at, BytecodeCache& bytecodes);
  ~Tracer();
  // Interprets. true: it reached RETURN (value in frames.result) or stop_at; false: broke() says why.
  bool run();
  const BreakInfo& broke() const { return broke_; }
  // Ends where the interpretation stands, for this reason: with its place and its kind's advice.
  const BreakInfo& broke_for(const BreakInfo& info) { return break_at(info), broke_; }
  bool answers_is_compiling() const { return !options.as_eager; }
  bool returned() const { return frames.result != nullptr; }
  bool for_absent_gpu() const { return options.as_if.has_value(); }  // --target, where there is none
  // The trace so far, ending here. Throws BreakSignal when a value cannot be rebuilt.
  std::unique_ptr<Trace> finish(bool returned);
  // No progress: the trace says only why, and under which guards that holds.
  std::unique_ptr<Trace> give_up(BreakInfo why);

  // values.cpp: making values
  PyObject* keep(PyObject* owned);
  Value* make(ValueKind kind);
  Value* constant(PyObject* borrowed);
  Value* fold(PyObject* owned);  // result of a C API call; raises what it raised
  Value* none() { return constant(Py_None); }
  Value* boolean(bool b) { return constant(b ? Py_True : Py_False); }
  Value* integer(int64_t n);
  Value* text(const std::string& s);
  Value* sequence(ValueKind kind, Values items, PyTypeObject* cls = nullptr);
  Value* tuple(Values items) { return sequence(ValueKind::Tuple, std::move(items)); }
  Value* list(Values items) { return sequence(ValueKind::List, std::move(items)); }
  Value* lazy(PyObject* borrowed, const Source* source, bool pinned = false);
  Value* pinned(PyObject* borrowed);  // an object whose identity needs no guard
  Value* look(Value* v);              // inspects: guards, and gives the one value of that object

  void guard(GuardKind kind, const Source* source, PyObject* object = nullptr, int64_t number = 0,
             const std::string& name = "", const Source* other = nullptr, const std::string& expected = "");
  // worded: CPython's exception says exactly this, and has it as its argument.
  [[noreturn]] void raise(PyObject* type, const std::string& text, bool worded = false);
  [[noreturn]] void raise_python();  // the Python error that is set

  VirtualFrame& frame() { return *frames.current; }
  SourcePool& sources() { return *values.sources; }
  torch_api::Lowering& lowering() { return *graph.lowering; }
  ir::Origin origin();

  const TraceOptions options;
  FrameState frames;
  ValueStore values;
  GuardSet guards;
  SideEffects effects;
  PureCalls pure;
  ModeState modes;
  GraphState graph;
  SizeState sizes;
  FilmState film;
  bool asked_is_compiling = false;     // the program asked, and took its way for compilers
  bool broke_in_higher_order = false;  // in an operator that takes functions, which PyTorch would compile

 private:
  void break_at(const BreakInfo& info);

  BreakInfo broke_;
};

}  // namespace vitrine::capture
