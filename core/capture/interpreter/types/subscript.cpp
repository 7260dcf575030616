// v[key], v[key] = x, del v[key], and f-strings.
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/library/flex_attention.h"
#include "core/capture/interpreter/symbolic/symbolic_text.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {

// A method in Python of its class; nullptr: there is none.
static PyObject* own_method_of(Tracer& t, Value* v, const char* name) {
  return v->cls && !v->is(ValueKind::Constant) ? python_method(t, type_of(t, v), name) : nullptr;
}

Value* get_item(Tracer& t, Value* v, Value* key) {
  v = t.look(v);
  if (Value* read = v->is(ValueKind::Tensor) && t.pure.at_places ? get_item_at_places(t, v, key) : nullptr)
    return read;
  if (!v->is(ValueKind::Tensor))
    if (PyObject* method = own_method_of(t, v, "__getitem__")) return call_special(t, v, method, {key});
  return get_held_item(t, v, key);
}

Value* get_held_item(Tracer& t, Value* v, Value* key) {
  const TypeOps& type = ops_of(v);
  if (!type.get_item) stop("unsupported_value", "subscript of " + describe(t, v));
  return type.get_item(t, v, key);
}

void set_item(Tracer& t, Value* v, Value* key, Value* value) {
  v = t.look(v);
  if (!v->is(ValueKind::Tensor))
    if (PyObject* method = own_method_of(t, v, "__setitem__")) {
      call_special(t, v, method, {key, value});
      return;
    }
  const TypeOps& type = ops_of(v);
  if (!type.set_item) stop("custom_setter", "item assignment on " + describe(t, v));
  type.set_item(t, v, key, value);
}

void del_item(Tracer& t, Value* v, Value* key) {
  v = t.look(v);
  if (PyObject* method = own_method_of(t, v, "__delitem__")) {
    call_special(t, v, method, {key});
    return;
  }
  const TypeOps& type = ops_of(v);
  if (!type.del_item) stop("custom_setter", "item deletion on " + describe(t, v));
  type.del_item(t, v, key);
}

// A real exception like one that was made here, to ask it for its text. nullptr: its arguments are no
// constants, or its class is the user's and may word it otherwise.
static PyObject* exception_tree(Tracer& t, Value* v) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  const bool builtin = !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!builtin && (v->cls->tp_str != base->tp_str || v->cls->tp_repr != base->tp_repr)) return nullptr;
  PyRef arguments(constant_tree(t, t.tuple(v->items())));
  if (!arguments) return nullptr;
  PyObject* cls = builtin ? reinterpret_cast<PyObject*>(v->cls) : PyExc_Exception;
  return PyObject_Call(cls, arguments.get(), nullptr);
}

// Text of a value whose str() or repr() reads nothing but constants.
// What __str__, __repr__ or __format__ gives.
static Value* checked_text(Tracer& t, Value* v, PyObject* method, Values arguments) {
  Value* told = call_special(t, v, method, std::move(arguments));
  if (!PyType_IsSubtype(type_of(t, told), &PyUnicode_Type))
    stop("exception", "text of a " + describe(t, v) + " is " + describe(t, told));
  return told;
}

std::string str_of(Tracer& t, Value* v, bool repr) {
  v = t.look(v);
  if (v->is(ValueKind::Tensor)) stop("side_effect", kTensorInText);
  if (v->is(ValueKind::Object) && !repr) {
    if (PyObject* method = python_method(t, type_of(t, v), "__str__"))
      return str_of(t, checked_text(t, v, method, {}), false);
  }
  if (v->is(ValueKind::Object))
    if (PyObject* method = python_method(t, type_of(t, v), "__repr__"))
      return str_of(t, checked_text(t, v, method, {}), false);
  PyRef tree(is_worded(v) ? exception_tree(t, v) : constant_tree(t, v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "text of a " + describe(t, v));
  check_order_known(t);
  PyRef text(repr ? PyObject_Repr(tree.get()) : PyObject_Str(tree.get()));
  if (!text) t.raise_python();
  if (!PyUnicode_AsUTF8(text.get())) {
    PyErr_Clear();
    stop("unsupported_value", "text that is no UTF-8");
  }
  return text_of(text.get());
}

Value* converted(Tracer& t, Value* v, int conversion) {
  v = t.look(v);
  if (conversion == 0) return v;
  if (conversion != 3) return t.text(str_of(t, v, conversion == 2));
  PyRef tree(constant_tree(t, v));
  if (!tree) stop("unsupported_value", "ascii() of a " + describe(t, v));
  return t.fold(PyObject_ASCII(tree.get()));
}

Value* format(Tracer& t, Value* v, Value* spec, int conversion) {
  if (conversion == 0)
    if (Value* open = symbolic_text(t, v, spec)) return open;
  v = converted(t, v, conversion);
  std::string form = spec ? str_of(t, spec, false) : "";
  if (may_have_methods(v))
    if (PyObject* method = python_method(t, type_of(t, v), "__format__"))
      return checked_text(t, v, method, {t.text(form)});
  if (form.empty()) {
    if (v->is(ValueKind::Constant) && PyUnicode_CheckExact(v->obj)) return v;
    if (!v->is(ValueKind::Constant)) return t.text(str_of(t, v, false));
  }
  PyRef tree(constant_tree(t, v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "format of a " + describe(t, v));
  PyRef form_object(PyUnicode_FromStringAndSize(form.data(), static_cast<Py_ssize_t>(form.size())));
  return t.fold(PyObject_Format(tree.get(), form_object.get()));
}

}  // namespace vitrine::capture
