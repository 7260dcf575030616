// torch.compiler.assume_constant_result, torch.compiler.allow_in_graph, torch._dynamo.nonstrict_trace.
#include "core/capture/interpreter/machine/marked_calls.h"

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

Value* constant_result(Tracer& t, PyObject* function, const Arguments& a) {
  const auto real = [&](Value* v) {
    v = t.look(v);
    if (PyRef known(constant_tree(t, v)); known) return known;
    if (has_tensor(t, v) || !v->obj || v->mutated)
      stop("unsupported_value", name_of_callable(function) +
                                    " is marked torch.compiler.assume_constant_result, and is given a " +
                                    describe(t, v));
    return PyRef(Py_NewRef(v->obj));
  };
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()))), keyword(PyDict_New());
  for (size_t i = 0; i < a.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), real(a.positional[i]).release());
  for (const auto& [key, value] : a.keyword)
    PyDict_SetItemString(keyword.get(), key.c_str(), real(value).get());
  PyRef result(PyObject_Call(function, positional.get(), keyword.get()));
  if (!result) t.raise_python();
  return t.pinned(result.get());
}

namespace {

// Objects from before the segment, as they are: a marked function is trusted not to depend on what changes
// in them. What the segment has changed in one is not in it yet.
PyRef objects_as_they_are(Tracer& t, const std::string& name, Value* objects) {
  PyRef list(PyList_New(0));
  for (Value* v : t.look(objects)->items()) {
    v = t.look(v);
    if (!v->obj || (!v->source && !v->is(ValueKind::Constant)) || v->mutated)
      stop("unsupported_value",
           name + " is given a " + describe(t, v) + " that the compiled function makes or changes");
    if (v->source && !v->pinned && !v->is(ValueKind::Constant))
      guard_weakly(t, v->source, v->obj, "is " + describe(t, v));
    if (PyList_Append(list.get(), v->obj) < 0) t.raise_python();
  }
  return list;
}

// A graph is given the leaves of the trees that the function takes and gives. Both are taken apart and built
// by being interpreted, which guards what is read.
Value* nonstrict_call(Tracer& t, const std::string& name, PyObject* function, const Arguments& a) {
  const auto polyfill = [&](const char* of) {
    return t.pinned(find_object(std::string("vitrine._polyfills.nonstrict.") + of));
  };
  Value* keyword = new_dict(t);
  for (const auto& [key, value] : a.keyword) dict_set(t, keyword, t.text(key), value);
  const Values given =
      t.look(call(t, polyfill("flattened"), {{t.tuple(a.positional), keyword}, {}}))->items();
  PyRef parts(constant_tree(t, given[1]));
  if (!parts)
    stop("unsupported_value", name + " is given a tree whose structure holds more than constants",
         "Have its flatten function of torch.utils._pytree give tensors and numbers as children.");
  PyRef objects = objects_as_they_are(t, name, given[2]);
  PyRef flat(PyObject_CallFunctionObjArgs(find_object("vitrine._polyfills.nonstrict.flat_call"), function,
                                          parts.get(), objects.get(), nullptr));
  if (!flat) t.raise_python();
  Value* found = torch_call(t, name, flat.get(), {t.look(given[0])->items(), {}});
  for (Value* leaf : found->items())
    if (leaf->is(ValueKind::Object))
      stop("unsupported_value", name + " gives a " + describe(t, leaf),
           "Register its class with torch.utils._pytree.");
  PyRef structure(PyObject_GetAttrString(flat.get(), "result"));
  if (!structure) t.raise_python();
  return call(t, polyfill("unflattened"), {{found, t.pinned(structure.get())}, {}});
}

}  // namespace

Value* allowed_call(Tracer& t, PyObject* function, const Arguments& a) {
  const std::string name = name_of_callable(function);
  return is_nonstrict(function) ? nonstrict_call(t, name, function, a) : torch_call(t, name, function, a);
}

}  // namespace vitrine::capture
