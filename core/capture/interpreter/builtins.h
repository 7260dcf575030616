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
std::span<const BuiltinRow> number_builtins();     // number_builtins.cpp: int, round, pow ...
std::span<const BuiltinRow> class_builtins();      // class_builtins.cpp: type, isinstance, id, hash ...
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

std::string name_of_callable(PyObject* o);  // calls.cpp: its __qualname__

}  // namespace vitrine::capture
