// What a value is, for those who need less than the whole of it: its type, a number, None, a text.
#include "core/capture/interpreter/value_questions.h"
#include "core/base/words.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
PyTypeObject* type_of(Tracer& t, Value* v) {
  v = resolve(v);
  if (ops_of(v).symbolic) return v->cls;
  if (v->is(ValueKind::Lazy) && v->obj && (is_plain_constant(v->obj) || is_identity_constant(v->obj))) {
    // The type of a number is enough for isinstance(): its value stays open.
    if (!v->typed && !v->pinned && v->source && (!is_identity_constant(v->obj) || made_anew(t, v))) {
      v->typed = true;
      t.guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->obj)), 0, "", nullptr,
              with_article(Py_TYPE(v->obj)->tp_name));
      return Py_TYPE(v->obj);
    }
    if (v->typed) return Py_TYPE(v->obj);
  }
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (type.guard_class) type.guard_class(t, v);
  if (PyTypeObject* cls = v->cls ? v->cls : type.cls) return cls;
  stop("unsupported_value", "the type of " + with_article(describe(t, v)));
}

PyObject* const_object(Tracer& t, Value* v) {
  v = t.look(v);
  return v->is(ValueKind::Constant) ? v->obj : nullptr;
}

int64_t int_of(Tracer& t, Value* v, const char* what) {
  if (t.look(v)->is(ValueKind::Tensor))
    if (Value* known = known_number(t, t.look(v), "__index__")) v = known;
  if (Value* own = own_method(t, v, "__index__")) v = own;
  PyObject* o = const_object(t, v);
  if (!o) {
    if (resolve(v)->is(ValueKind::Tensor)) stop("scalar_read", std::string("a tensor used as ") + what);
    stop("unsupported_value", std::string("not an integer constant: ") + what);
  }
  if (!PyIndex_Check(o)) t.raise(PyExc_TypeError, std::string(what) + " must be an integer");
  PyRef number(PyNumber_Index(o));
  if (!number) t.raise_python();
  const int64_t n = PyLong_AsLongLong(number.get());
  if (n == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    stop("exception", std::string("a number too large for ") + what);
  }
  return n;
}

bool is_none(Tracer& t, Value* v) {
  v = resolve(v);
  if (ops_of(v).symbolic) return false;
  if (v->is(ValueKind::Lazy) && v->obj && v->source &&
      torch_api::is_tensor(v->obj)) {  // nor does it become an input
    guard_type(t, v);
    return false;
  }
  if (v->is(ValueKind::Lazy) && v->obj != Py_None && !is_plain_constant(v->obj)) {
    if (!made_anew(t, v)) v = t.look(v);
    type_of(t, v);
    return false;
  }
  // Not None is less than a value: a number that is only compared with None keeps its value open.
  if (v->is(ValueKind::Lazy) && v->obj != Py_None) {
    type_of(t, v);
    return false;
  }
  return const_object(t, v) == Py_None;
}

PyObject* constant_tree(Tracer& t, Value* v) {
  const Nested nested(t.frames.nesting);
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  return type.constant ? type.constant(t, v) : nullptr;
}

std::string describe(Tracer& t, Value* v) {
  v = resolve(v);
  const TypeOps& type = ops_of(v);
  return type.describe ? type.describe(t, v) : type.name;
}

}  // namespace vitrine::capture
