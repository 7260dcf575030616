// Methods of native types: those of the type's row, those of object; on constants the rest is done for real.
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/machine/builtin_calls.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Classes, modules and caches are never asked for real.
bool may_be_asked(const Value* self) {
  return !self->is(ValueKind::Constant) || (Py_TYPE(self->obj) != torch_names().lru_cache_wrapper &&
                                            !PyType_Check(self->obj) && !PyModule_Check(self->obj));
}

// The arguments as real objects; false: one is no constant.
bool as_objects(Tracer& t, const Arguments& a, PyObject* positional, PyObject* keyword) {
  bool constant = true;
  for (size_t i = 0; constant && i < a.positional.size(); ++i) {
    Value* v = t.look(a.positional[i]);
    if (v->is(ValueKind::Iterator) || v->is(ValueKind::Generator)) v = t.list(unpack(t, v));
    PyObject* o = constant_tree(t, v);
    constant = o && !PyFunction_Check(o);  // one that it would call is the program's own
    if (o) PyTuple_SET_ITEM(positional, static_cast<Py_ssize_t>(i), o);
  }
  for (const auto& [key, value] : a.keyword) {
    PyRef o(constant ? constant_tree(t, value) : nullptr);
    constant = constant && o && !PyFunction_Check(o.get());
    if (o) PyDict_SetItemString(keyword, key.c_str(), o.get());
  }
  PyErr_Clear();
  return constant;
}

// s.isdisjoint(it) and s.issuperset(it) take of an iterator up to the item that decides: the rest stays in
// it.
Value* decided_by_an_item(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  const bool disjoint = name == "isdisjoint";
  if ((!disjoint && name != "issuperset") || a.positional.size() != 1) return nullptr;
  Value* items = t.look(a.positional[0]);
  if (!items->is(ValueKind::Iterator) && !items->is(ValueKind::Generator)) return nullptr;
  const PyTypeObject* type = type_of(t, self);
  if (type != &PySet_Type && type != &PyFrozenSet_Type && type != &PyDictKeys_Type)
    stop("unsupported_builtin", name + "() of " + describe(t, self) + " and of an iterator");
  for (size_t n = 1; Value* item = next(t, items); ++n) {
    if (contains(t, self, item) == disjoint) return t.boolean(false);
    if (n > kEndless) stop("limit", "an iterator without end", "Bound it, with itertools.islice() or zip().");
  }
  return t.boolean(true);
}

// Everything that only reads constants. A compiled regular expression is one, and a match.
Value* call_for_real(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  if (Value* decided = decided_by_an_item(t, self, name, a)) return decided;
  const TypeOps& type = ops_of(self);
  const bool pattern = is_regular_expression(self);
  PyRef target(pattern ? Py_NewRef(known_object(t, self)) : constant_tree(t, self));
  PyErr_Clear();
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()))), keyword(PyDict_New());
  const bool constant = target && may_be_asked(self) && as_objects(t, a, positional.get(), keyword.get());
  if (Value* result = !constant && type.method_of_values ? type.method_of_values(t, self, name, a) : nullptr)
    return result;
  if (!constant || !(pattern || (type.only_reads && type.only_reads(name))))
    stop("unsupported_builtin", "method " + name + " of " + describe(t, self));
  PyRef method(PyObject_GetAttrString(target.get(), name.c_str()));
  if (!method) t.raise_python();
  PyRef result(PyObject_Call(method.get(), positional.get(), keyword.get()));
  if (result && is_of_regular_expressions(result.get())) return t.pinned(result.get());
  return t.fold(result.release());
}

}  // namespace

Value* call_method(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  self = t.look(self);
  if (name == "__new__") return new_object(t, a);
  const TypeOps& type = ops_of(self);
  if (type.method) {
    check_accepted(t, lookup(type_of(t, self), name), a.positional.size() + 1, a);
    if (const Method method = type.method(name)) return method(t, self, a);
  }
  if (Value* result = type.call_method ? type.call_method(t, self, name, a) : nullptr) return result;
  if (!self->is(ValueKind::Constant) || name == "__init__")
    if (const Method method = method_of_object(name)) return method(t, self, a);
  return call_for_real(t, self, name, a);
}

}  // namespace vitrine::capture
