// Calls that become nodes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

inline bool is_tensor(Value* v) {
  return v->is(ValueKind::Tensor);
}
bool has_tensor(Tracer& t, Value* v);  // deep
Value* torch_call(Tracer& t, const std::string& name, PyObject* callable, const Arguments& arguments);
// new reference: fake tensors in place of tensors; breaks on what torch cannot take
PyObject* to_python(Tracer& t, Value* v);
Value* from_python(Tracer& t, PyObject* o);  // result of a torch call
bool is_torch_leaf(PyObject* callable, std::string* name);
Value* enter_tensor(Tracer& t, Value* v);  // a real tensor becomes a graph input
// A module has the input, too: it is called by that way from now on, unless another module came first.
void name_by_module(Tracer& t, const Value* first, const Source* source);

}  // namespace vitrine::capture
