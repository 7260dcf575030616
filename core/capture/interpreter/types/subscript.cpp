// v[key], v[key] = x, del v[key], and f-strings.
#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

// A method in Python of its class; nullptr: there is none.
static PyObject* own_method_of(Tracer& t, Value* v, const char* name) {
  return v->cls && v->kind != Kind::Constant ? t.python_method(t.type_of(v), name) : nullptr;
}

Value* Tracer::get_item(Value* v, Value* key) {
  v = look(v);
  if (Value* read = v->kind == Kind::Tensor && at_places_ ? get_item_at_places(v, key) : nullptr) return read;
  if (v->kind != Kind::Tensor)
    if (PyObject* method = own_method_of(*this, v, "__getitem__")) return call_special(v, method, {key});
  return get_held_item(v, key);
}

Value* Tracer::get_held_item(Value* v, Value* key) {
  const TypeOps& type = ops_of(v);
  if (!type.get_item) stop("unsupported_value", "subscript of " + describe(v));
  return type.get_item(*this, v, key);
}

void Tracer::set_item(Value* v, Value* key, Value* value) {
  v = look(v);
  if (v->kind != Kind::Tensor)
    if (PyObject* method = own_method_of(*this, v, "__setitem__")) {
      call_special(v, method, {key, value});
      return;
    }
  const TypeOps& type = ops_of(v);
  if (!type.set_item) stop("custom_setter", "item assignment on " + describe(v));
  type.set_item(*this, v, key, value);
}

void Tracer::del_item(Value* v, Value* key) {
  v = look(v);
  if (PyObject* method = own_method_of(*this, v, "__delitem__")) {
    call_special(v, method, {key});
    return;
  }
  const TypeOps& type = ops_of(v);
  if (!type.del_item) stop("custom_setter", "item deletion on " + describe(v));
  type.del_item(*this, v, key);
}

// A real exception like one that was made here, to ask it for its text. nullptr: its arguments are no
// constants, or its class is the user's and may word it otherwise.
static PyObject* exception_tree(Tracer& t, Value* v) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  const bool builtin = !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!builtin && (v->cls->tp_str != base->tp_str || v->cls->tp_repr != base->tp_repr)) return nullptr;
  Owned arguments(t.constant_tree(t.tuple(v->items)));
  if (!arguments) return nullptr;
  PyObject* cls = builtin ? reinterpret_cast<PyObject*>(v->cls) : PyExc_Exception;
  return PyObject_Call(cls, arguments.get(), nullptr);
}

// Text of a value whose str() or repr() reads nothing but constants.
// What __str__, __repr__ or __format__ gives.
Value* Tracer::checked_text(Value* v, PyObject* method, Values arguments) {
  Value* told = call_special(v, method, std::move(arguments));
  if (!PyType_IsSubtype(type_of(told), &PyUnicode_Type))
    stop("exception", "text of a " + describe(v) + " is " + describe(told));
  return told;
}

std::string Tracer::str_of(Value* v, bool repr) {
  v = look(v);
  if (v->kind == Kind::Tensor) stop("side_effect", kTensorInText);
  if (v->kind == Kind::Object && !repr) {
    if (PyObject* method = python_method(type_of(v), "__str__"))
      return str_of(checked_text(v, method, {}), false);
  }
  if (v->kind == Kind::Object)
    if (PyObject* method = python_method(type_of(v), "__repr__"))
      return str_of(checked_text(v, method, {}), false);
  Owned tree(v->worded ? exception_tree(*this, v) : constant_tree(v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "text of a " + describe(v));
  check_order_known();
  Owned text(repr ? PyObject_Repr(tree.get()) : PyObject_Str(tree.get()));
  if (!text) raise_python();
  if (!PyUnicode_AsUTF8(text.get())) {
    PyErr_Clear();
    stop("unsupported_value", "text that is no UTF-8");
  }
  return text_of(text.get());
}

Value* Tracer::format(Value* v, Value* spec, int conversion) {
  if (conversion == 0)
    if (Value* open = symbolic_text(v, spec)) return open;
  v = look(v);
  if (conversion == 3) {
    Owned tree(constant_tree(v));
    if (!tree) stop("unsupported_value", "ascii() of a " + describe(v));
    v = fold(PyObject_ASCII(tree.get()));
  } else if (conversion != 0) {
    v = text(str_of(v, conversion == 2));
  }
  std::string form = spec ? str_of(spec, false) : "";
  if (may_have_methods(v))
    if (PyObject* method = python_method(type_of(v), "__format__"))
      return checked_text(v, method, {text(form)});
  if (form.empty()) {
    if (v->kind == Kind::Constant && PyUnicode_CheckExact(v->obj)) return v;
    if (v->kind != Kind::Constant) return text(str_of(v, false));
  }
  Owned tree(constant_tree(v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "format of a " + describe(v));
  Owned form_object(PyUnicode_FromStringAndSize(form.data(), static_cast<Py_ssize_t>(form.size())));
  return fold(PyObject_Format(tree.get(), form_object.get()));
}

}  // namespace vitrine::capture
