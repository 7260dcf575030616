// What a value is, for those who need less than the whole of it: its type, a number, None, a text.
#include "core/capture/interpreter/value_questions.h"
#include "core/base/words.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/signals.h"
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
  Owned dict(PyDict_New());
  for (Py_ssize_t i = 0; of_keys && dict && i < PyList_GET_SIZE(list); ++i)
    if (PyDict_SetItem(dict.get(), PyList_GET_ITEM(list, i), Py_None) < 0) return nullptr;
  if (!dict || (!of_keys && PyDict_MergeFromSeq2(dict.get(), list, 1) < 0)) return nullptr;
  return PyObject_CallMethod(dict.get(), of_keys ? "keys" : "items", nullptr);
}

}  // namespace

PyTypeObject* type_of(Tracer& t, Value* v) {
  v = resolve(v);
  if (v->kind == Kind::Symbol || v->kind == Kind::Float || v->kind == Kind::Text) return v->cls;
  if (v->kind == Kind::Lazy && v->obj && (is_plain_constant(v->obj) || is_identity_constant(v->obj))) {
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
  switch (v->kind) {
    case Kind::Function:
      return &PyFunction_Type;
    case Kind::Method:
      return v->cls ? v->cls : &PyMethod_Type;
    case Kind::Cell:
      return &PyCell_Type;
    case Kind::Slice:
      return &PySlice_Type;
    case Kind::Object:
      guard_type(t, v);
      return v->cls;
    case Kind::Generator:
      return &PyGen_Type;
    case Kind::Iterator:
      if (PyTypeObject* cls = v->cls ? v->cls : ops_of(v).cls) return cls;
      stop("unsupported_value", "the type of an iterator");
    default:
      return v->cls;
  }
}

PyObject* const_object(Tracer& t, Value* v) {
  v = t.look(v);
  return v->kind == Kind::Constant ? v->obj : nullptr;
}

int64_t int_of(Tracer& t, Value* v, const char* what) {
  if (t.look(v)->kind == Kind::Tensor)
    if (Value* known = known_number(t, t.look(v), "__index__")) v = known;
  if (Value* own = own_method(t, v, "__index__")) v = own;
  PyObject* o = const_object(t, v);
  if (!o) {
    if (resolve(v)->kind == Kind::Tensor) stop("scalar_read", std::string("a tensor used as ") + what);
    stop("unsupported_value", std::string("not an integer constant: ") + what);
  }
  if (!PyIndex_Check(o)) t.raise(PyExc_TypeError, std::string(what) + " must be an integer");
  Owned number(PyNumber_Index(o));
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
  if (v->kind == Kind::Symbol || v->kind == Kind::Float || v->kind == Kind::Text) return false;
  if (v->kind == Kind::Lazy && v->obj && v->source &&
      torch_api::is_tensor(v->obj)) {  // nor does it become an input
    guard_type(t, v);
    return false;
  }
  if (v->kind == Kind::Lazy && v->obj != Py_None && !is_plain_constant(v->obj)) {
    if (!made_anew(t, v)) v = t.look(v);
    type_of(t, v);
    return false;
  }
  // Not None is less than a value: a number that is only compared with None keeps its value open.
  if (v->kind == Kind::Lazy && v->obj != Py_None) {
    type_of(t, v);
    return false;
  }
  return const_object(t, v) == Py_None;
}

PyObject* constant_tree(Tracer& t, Value* v) {
  const Nested nested(t.frames.nesting);
  v = t.look(v);
  switch (v->kind) {
    case Kind::Constant:
      Py_INCREF(v->obj);
      return v->obj;
    case Kind::Slice:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Set:
      break;
    case Kind::Dict: {
      if (v->cls != &PyDict_Type) return nullptr;
      Owned dict(PyDict_New());
      for (auto [key, value] : dict_entries(t, v)) {
        Owned k(constant_tree(t, key)), o(constant_tree(t, value));
        if (!k || !o || PyDict_SetItem(dict.get(), k.get(), o.get()) < 0) return nullptr;
      }
      return dict.release();
    }
    default:
      return nullptr;
  }
  const bool view = v->kind == Kind::Tuple && v->owner && v->cls != &PyDictValues_Type;
  const bool builtin = view || v->kind == Kind::Slice || v->cls == &PyTuple_Type || v->cls == &PyList_Type ||
                       v->cls == &PySet_Type || v->cls == torch_names().size;
  if (!builtin || (v->kind == Kind::Set && v->cls != &PySet_Type)) return nullptr;
  guard_length(t, v);
  Owned list(PyList_New(0));
  for (Value* item : v->items) {
    Owned o(constant_tree(t, item));
    if (!o || PyList_Append(list.get(), o.get()) < 0) return nullptr;
  }
  if (view) return view_of_dict(v->cls == &PyDictKeys_Type, list.get());
  if (v->kind == Kind::List) return list.release();
  if (v->kind == Kind::Set) return real_set(t, v, list.get());
  if (v->kind == Kind::Slice)
    return PySlice_New(PyList_GET_ITEM(list.get(), 0), PyList_GET_ITEM(list.get(), 1),
                       PyList_GET_ITEM(list.get(), 2));
  Owned tuple(PyList_AsTuple(list.get()));
  if (v->cls == &PyTuple_Type) return tuple.release();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->cls), tuple.get());
}

std::string describe(Tracer& t, Value* v) {
  v = resolve(v);
  switch (v->kind) {
    case Kind::Null:
      return "NULL";
    case Kind::Lazy:
      return v->source ? v->source->text() : "?";
    case Kind::Symbol:
      return t.sizes.symbolic->table.text(v->sym);
    case Kind::Float:
      if (!v->items.empty()) return size_float_text(t, v);
      return v->source ? v->source->text() : "a computed float";
    case Kind::Text:
      return "text of a tensor";
    case Kind::Constant:
      return PyModule_Check(v->obj) || PyType_Check(v->obj) || PyCallable_Check(v->obj)
                 ? constant_source(t, v->obj)->text()
                 : repr_of(v->obj, 60);
    case Kind::Tensor:
      return torch_api::type_of(v->obj).text();
    case Kind::Tuple:
      return std::string(v->cls->tp_name) + " of " + std::to_string(v->items.size());
    case Kind::List:
      if (v->open) return "list";
      return "list of " + std::to_string(v->items.size());
    case Kind::Dict:
      return v->cls->tp_name;
    case Kind::Set:
      return "set of " + std::to_string(v->items.size());
    case Kind::Slice:
      return "slice";
    case Kind::Iterator:
      return "iterator";
    case Kind::Function:
      return text_of(v->function->code->co_qualname);
    case Kind::Cell:
      return "cell";
    case Kind::Method:
      return describe(t, v->items[0]);
    case Kind::Object:
      return std::string(v->cls->tp_name) + " object";
    case Kind::Super:
      return "super()";
    case Kind::Generator:
      return "generator";
  }
  return "?";
}

}  // namespace vitrine::capture
