// The builtins and library functions that the interpreter answers itself: rows of path and handler, in tables
// by topic.
#pragma once

#include <span>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

using BuiltinHandler = Value* (*)(Tracer& t, const Arguments& a);
struct BuiltinRow {
  const char* path;  // "builtins.len", "torch.is_tensor"
  BuiltinHandler handler;
};

std::span<const BuiltinRow> python_builtins();     // builtins.cpp
std::span<const BuiltinRow> iteration_builtins();  // iteration_builtins.cpp: zip, sorted, max ...
std::span<const BuiltinRow>
library_builtins();                            // library.cpp: operator, itertools, functools, math, copy ...
std::span<const BuiltinRow> torch_builtins();  // torch_queries.cpp
std::span<const BuiltinRow> numpy_builtins();  // numpy_values.cpp
std::span<const BuiltinRow> array_builtins();  // arrays.cpp
std::span<const BuiltinRow> optimizer_builtins();  // optimizers.cpp
std::span<const BuiltinRow> autograd_builtins();   // backward.cpp
std::span<const BuiltinRow> mode_builtins();       // inference_mode.cpp
std::span<const BuiltinRow> warning_builtins();    // warning_filters.cpp

std::span<const BuiltinRow> pure_builtins();       // pure_functions.cpp
std::span<const BuiltinRow> transform_builtins();  // differentiation.cpp
std::span<const BuiltinRow> choice_builtins();     // choices.cpp

// The i-th positional or the named argument; raises TypeError when both are missing and there is no default.
inline Value* need(Tracer& t, const Arguments& a, size_t i, const char* name = "",
                   Value* otherwise = nullptr) {
  if (i < a.positional.size()) return a.positional[i];
  if (Value* v = *name ? a.find(name) : nullptr) return v;
  if (!otherwise) t.raise(PyExc_TypeError, std::string("missing argument ") + name);
  return otherwise;
}

// builtins.cpp. v.name as getattr() with a default asks for it: nullptr where Python says AttributeError.
Value* attribute_if_any(Tracer& t, Value* v, const std::string& name);
std::string name_of_callable(PyObject* o);  // calls.cpp: its __qualname__
bool is_protocol(PyObject* cls);            // protocols.cpp
bool is_of_protocol(Tracer& t, Value* v, PyObject* protocol);
Value* locals_of_frame(Tracer& t);  // frame_locals.cpp
// known_functions.cpp. What is known of such a function goes by the object.
bool is_known_function(PyObject* function);
// nullptr: a function like any other.
Value* call_known_function(Tracer& t, PyObject* function, const Arguments& a);
// The same of the outermost frame, which has just begun: what it returns.
Value* run_known_frame(Tracer& t, const Frame& frame);

// checkpoints.cpp: torch.utils.checkpoint.checkpoint; nullptr: a function like any other.
Value* checkpoint_function(Tracer& t, PyObject* function, const Arguments& a);

// padded_sequences.cpp: nn.TransformerEncoder.forward, _detect_is_causal_mask; nullptr: as any other.
Value* encoder_forward(Tracer& t, PyObject* function, const Arguments& a);
Value* detected_as_causal(Tracer& t, PyObject* function, const Arguments& a);

// weak_references.cpp: weakref.ref(target), and what it gives when it is called.
Value* weak_reference(Tracer& t, Value* target);
bool is_weak_reference(const Value* v);  // one made here
Value* target_of(Tracer& t, const Value* reference);

// float_functions.cpp: a function of PyTorch that is given a symbolic float and keeps it so; nullptr: it is
// given none, or fixes it.
Value* call_with_symbolic_float(Tracer& t, const std::string& name, const Arguments& a);
Value* method_with_symbolic_float(Tracer& t, Value* self, const std::string& name, const Arguments& a);

// symbolic_literals.cpp: torch.tensor of numbers some of which are open; nullptr: of none that is, or of
// others.
Value* tensor_of_symbolic_numbers(Tracer& t, const Arguments& a);

// pure_functions.cpp. nullptr: no function known to be pure.
Value* call_pure_function(Tracer& t, PyObject* callable, const Arguments& a);
bool is_of_regular_expressions(PyObject* o);  // a re.Pattern or a re.Match
bool is_regular_expression(const Value* v);   // such an object
// Calls `callable` for real on constant arguments; ends the segment when one is not constant.
Value* fold_call(Tracer& t, PyObject* callable, const Arguments& a);

}  // namespace vitrine::capture
