#include "core/capture/interpreter/types/objects/constants.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/numbers/numpy_values.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"

#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

Value* constant_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (!a->is(ValueKind::Constant) || !b->is(ValueKind::Constant)) return nullptr;
  if (Value* result = numpy_operator(t, op.row.name, a->obj, b->obj)) return result;
  return t.fold(
      PyObject_CallFunctionObjArgs(torch_names().operator_function(op.row.name), a->obj, b->obj, nullptr));
}

Value* constant_unary(Tracer& t, const std::string& op, Value* v) {
  if (Value* result = numpy_operator(t, op, v->obj, nullptr)) return result;
  return t.fold(PyObject_CallOneArg(torch_names().operator_function(op), v->obj));
}

Value* constant_compare(Tracer& t, int op, Value* a, Value* b) {
  if (!a->is(ValueKind::Constant) || !b->is(ValueKind::Constant)) return nullptr;
  return t.fold(PyObject_RichCompare(a->obj, b->obj, op));
}

std::optional<bool> equal_constants(Tracer& t, Value* a, Value* b) {
  if (!a->is(ValueKind::Constant) || !b->is(ValueKind::Constant)) return std::nullopt;
  PyRef result(PyObject_RichCompare(a->obj, b->obj, Py_EQ));
  if (!result) t.raise_python();
  const int yes = PyObject_IsTrue(result.get());
  if (yes < 0) t.raise_python();
  return yes != 0;
}

bool truth_of_constant(Tracer& t, Value* v, const char*) {
  const int yes = PyObject_IsTrue(v->obj);
  if (yes < 0) t.raise_python();
  return yes;
}

int64_t length_of_constant(Tracer& t, Value* v) {
  const Py_ssize_t n = PyObject_Size(v->obj);
  if (n < 0) t.raise_python();
  return n;
}

bool constant_contains(Tracer& t, Value* v, Value* item) {
  PyRef key(constant_tree(t, item));
  PyErr_Clear();
  if (!key) stop("unsupported_value", "`in` with " + describe(t, item));
  const int yes = PySequence_Contains(v->obj, key.get());
  if (yes < 0) t.raise_python();
  return yes;
}

Value* get_constant_item(Tracer& t, Value* v, Value* key) {
  PyRef k(constant_tree(t, key));
  PyErr_Clear();
  if (!k) stop("unsupported_value", "subscript of " + describe(t, v) + " by " + describe(t, key));
  return t.fold(PyObject_GetItem(v->obj, k.get()));
}

Value* iter_by_place(Tracer& t, Value* v) {
  return new_iterator(t, IteratorKind::Range, {v});
}

Value* iter_constant(Tracer& t, Value* v) {
  if (PyUnicode_Check(v->obj) || PyBytes_Check(v->obj) || PyTuple_Check(v->obj)) return iter_by_place(t, v);
  if (!Py_TYPE(v->obj)->tp_iter)
    t.raise(PyExc_TypeError, "'" + std::string(Py_TYPE(v->obj)->tp_name) + "' object is not iterable");
  stop("unsupported_value", "iteration over " + describe(t, v));
}

std::string describe_constant(Tracer& t, Value* v) {
  return PyModule_Check(v->obj) || PyType_Check(v->obj) || PyCallable_Check(v->obj)
             ? constant_source(t, v->obj)->text()
             : repr_of(v->obj, 60);
}

PyObject* constant_itself(Tracer&, Value* v) {
  return Py_NewRef(v->obj);
}

PyObject* constant_to_torch(Tracer&, Value* v) {
  return without_numpy(Py_NewRef(v->obj));
}

Recipe recipe_of_constant(Tracer&, RecipeMaker& make, Value* v) {
  return make.constant(v->obj);
}

// Methods stay symbolic, everything else is read now.
Value* constant_attr(Tracer& t, Value* v, const std::string& name) {
  PyObject* o = v->obj;
  PyObject* descriptor = lookup(Py_TYPE(o), name);
  if (descriptor && (is_native_method(descriptor) || PyFunction_Check(descriptor) ||
                     Py_TYPE(descriptor) == &PyProperty_Type || Py_TYPE(descriptor) == &PyClassMethod_Type ||
                     Py_TYPE(descriptor) == &PyStaticMethod_Type))
    if (!(Py_TYPE(descriptor) == &PyProperty_Type && Py_TYPE(o) == torch_names().device))
      return bind_descriptor(t, descriptor, v, Py_TYPE(o), name);
  PyRef value(PyObject_GetAttrString(o, name.c_str()));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) t.raise_python();
    PyErr_Clear();
    return nullptr;
  }
  // A member of an enumeration answers through descriptors of its class; what it answers is as fixed as
  // itself.
  if (v->source && !PyObject_TypeCheck(o, torch_names().enum_base))
    return t.lazy(value.get(), t.sources().attr(v->source, name), true);
  return t.pinned(value.get());
}

void set_constant_attr(Tracer& t, Value* v, const std::string& name, Value*) {
  stop("custom_setter", "attribute " + name + " of " + describe(t, v) + " is set");
}

const TypeOps constant_type = constant_ops("a number, None, an enumeration's member ...");

}  // namespace vitrine::capture
