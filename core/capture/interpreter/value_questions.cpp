// What a value is, for those who need less than the whole of it: its type, a number, None, a text.
#include "core/capture/interpreter/value_questions.h"
#include "core/base/words.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// A view of a new dict with these keys, or these items. New reference; nullptr: a Python error is set.
PyObject* view_of_dict(bool of_keys, PyObject* list) {
  PyRef dict(PyDict_New());
  for (Py_ssize_t i = 0; of_keys && dict && i < PyList_GET_SIZE(list); ++i)
    if (PyDict_SetItem(dict.get(), PyList_GET_ITEM(list, i), Py_None) < 0) return nullptr;
  if (!dict || (!of_keys && PyDict_MergeFromSeq2(dict.get(), list, 1) < 0)) return nullptr;
  return PyObject_CallMethod(dict.get(), of_keys ? "keys" : "items", nullptr);
}

}  // namespace

PyTypeObject* type_of(Tracer& t, Value* v) {
  v = resolve(v);
  if (v->is(ValueKind::Symbol) || v->is(ValueKind::Float) || v->is(ValueKind::Text)) return v->cls;
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
  switch (v->kind()) {
    case ValueKind::Function:
      return &PyFunction_Type;
    case ValueKind::Method:
      return v->cls ? v->cls : &PyMethod_Type;
    case ValueKind::Cell:
      return &PyCell_Type;
    case ValueKind::Slice:
      return &PySlice_Type;
    case ValueKind::Object:
      guard_type(t, v);
      return v->cls;
    case ValueKind::Generator:
      return &PyGen_Type;
    case ValueKind::Iterator:
      if (PyTypeObject* cls = v->cls ? v->cls : ops_of(v).cls) return cls;
      stop("unsupported_value", "the type of an iterator");
    case ValueKind::Super:
      return v->cls ? v->cls : &PySuper_Type;
    default:
      if (!v->cls) stop("unsupported_value", "the type of " + describe(t, v));
      return v->cls;
  }
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
  if (v->is(ValueKind::Symbol) || v->is(ValueKind::Float) || v->is(ValueKind::Text)) return false;
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
  switch (v->kind()) {
    case ValueKind::Constant:
      Py_INCREF(v->obj);
      return v->obj;
    case ValueKind::Slice:
    case ValueKind::Tuple:
    case ValueKind::List:
    case ValueKind::Set:
      break;
    case ValueKind::Dict: {
      if (v->cls != &PyDict_Type) return nullptr;
      PyRef dict(PyDict_New());
      for (auto [key, value] : dict_entries(t, v)) {
        PyRef k(constant_tree(t, key)), o(constant_tree(t, value));
        if (!k || !o || PyDict_SetItem(dict.get(), k.get(), o.get()) < 0) return nullptr;
      }
      return dict.release();
    }
    default:
      return nullptr;
  }
  const bool view = v->is(ValueKind::Tuple) && owner_of(v) && v->cls != &PyDictValues_Type;
  const bool builtin = view || v->is(ValueKind::Slice) || v->cls == &PyTuple_Type || v->cls == &PyList_Type ||
                       v->cls == &PySet_Type || v->cls == torch_names().size;
  if (!builtin || (v->is(ValueKind::Set) && v->cls != &PySet_Type)) return nullptr;
  guard_length(t, v);
  PyRef list(PyList_New(0));
  for (Value* item : v->items()) {
    PyRef o(constant_tree(t, item));
    if (!o || PyList_Append(list.get(), o.get()) < 0) return nullptr;
  }
  if (view) return view_of_dict(v->cls == &PyDictKeys_Type, list.get());
  if (v->is(ValueKind::List)) return list.release();
  if (v->is(ValueKind::Set)) return real_set(t, v, list.get());
  if (v->is(ValueKind::Slice))
    return PySlice_New(PyList_GET_ITEM(list.get(), 0), PyList_GET_ITEM(list.get(), 1),
                       PyList_GET_ITEM(list.get(), 2));
  PyRef tuple(PyList_AsTuple(list.get()));
  if (v->cls == &PyTuple_Type) return tuple.release();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->cls), tuple.get());
}

std::string describe(Tracer& t, Value* v) {
  v = resolve(v);
  switch (v->kind()) {
    case ValueKind::Null:
      return "NULL";
    case ValueKind::Lazy:
      return v->source ? v->source->text() : "?";
    case ValueKind::Symbol:
      return t.sizes.symbolic->table.text(v->as<SymbolValue>().sym);
    case ValueKind::Float:
      if (!v->items().empty()) return size_float_text(t, v);
      return v->source ? v->source->text() : "a computed float";
    case ValueKind::Text:
      return "text of a tensor";
    case ValueKind::Constant:
      return PyModule_Check(v->obj) || PyType_Check(v->obj) || PyCallable_Check(v->obj)
                 ? constant_source(t, v->obj)->text()
                 : repr_of(v->obj, 60);
    case ValueKind::Tensor:
      return torch_api::type_of(v->obj).text();
    case ValueKind::Tuple:
      return std::string(v->cls->tp_name) + " of " + std::to_string(v->items().size());
    case ValueKind::List:
      if (is_open(v)) return "list";
      return "list of " + std::to_string(v->items().size());
    case ValueKind::Dict:
      return v->cls->tp_name;
    case ValueKind::Set:
      return "set of " + std::to_string(v->items().size());
    case ValueKind::Slice:
      return "slice";
    case ValueKind::Iterator:
      return "iterator";
    case ValueKind::Function:
      return text_of(v->function().code->co_qualname);
    case ValueKind::Cell:
      return "cell";
    case ValueKind::Method:
      return describe(t, v->items()[0]);
    case ValueKind::Object:
      return std::string(v->cls->tp_name) + " object";
    case ValueKind::Super:
      return "super()";
    case ValueKind::Generator:
      return "generator";
  }
  return "?";
}

}  // namespace vitrine::capture
