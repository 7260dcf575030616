// Making values.
#include "core/capture/interpreter/values.h"
#include "core/base/words.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

void stop(const char* kind, const std::string& reason, const std::string& hint) {
  BreakSignal signal;
  signal.info.kind = kind;
  signal.info.reason = reason;
  signal.info.hint = hint;
  throw signal;
}

PyObject* Tracer::keep(PyObject* owned) {
  return values.keep(owned);
}

Value* Tracer::make(ValueKind kind) {
  return values.make(kind);
}

Value* Tracer::constant(PyObject* borrowed) {
  Value* v = make(ValueKind::Constant);
  Py_INCREF(borrowed);
  v->obj = keep(borrowed);
  v->cls = Py_TYPE(borrowed);
  v->pinned = v->identified = v->typed = true;
  return v;
}

Value* Tracer::fold(PyObject* owned) {
  if (!owned) raise_python();
  PyRef hold(owned);
  if (PyUnicode_Check(owned) || PyBytes_Check(owned) || PySequence_Check(owned)) check_order_known(*this);
  if (is_constant_object(owned) || PySlice_Check(owned) || PyRange_Check(owned)) {
    Value* v = constant(owned);
    return v;
  }
  const bool is_size = Py_TYPE(owned) == torch_names().size;
  if (PyTuple_CheckExact(owned) || PyList_CheckExact(owned) || is_size) {
    const bool is_tuple = !PyList_CheckExact(owned);
    Values items;
    for (Py_ssize_t i = 0; i < Py_SIZE(owned); ++i) {
      PyObject* item = is_tuple ? PyTuple_GET_ITEM(owned, i) : PyList_GET_ITEM(owned, i);
      Py_INCREF(item);
      items.push_back(fold(item));
    }
    return sequence(is_tuple ? ValueKind::Tuple : ValueKind::List, std::move(items), Py_TYPE(owned));
  }
  if (PyDict_CheckExact(owned)) {
    Value* dict = new_dict(*this);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(owned, &at, &key, &value)) {
      Py_INCREF(key);
      Py_INCREF(value);
      Value* k = fold(key);
      dict_set(*this, dict, k, fold(value));
    }
    return dict;
  }
  if (PySet_Check(owned)) {
    Value* set = make(ValueKind::Set);
    set->cls = Py_TYPE(owned);
    PyRef iterator(PyObject_GetIter(owned));
    while (PyObject* item = PyIter_Next(iterator.get())) set->items().push_back(fold(item));
    set->as<SetValue>().changes_version = ~uint64_t{0};
    if (effects.sets_in_order && PySet_CheckExact(owned) && Py_REFCNT(owned) == 1)
      set->as<SetValue>().twin = PyRef(hold.release());
    return set;
  }
  stop("unsupported_value", with_article(Py_TYPE(owned)->tp_name) + " made by a builtin");
}

Value* Tracer::integer(int64_t n) {
  PyRef o(PyLong_FromLongLong(n));
  return constant(o.get());
}

Value* Tracer::text(const std::string& s) {
  PyRef o(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
  if (!o) raise_python();
  PyObject* interned = o.release();
  PyUnicode_InternInPlace(&interned);
  PyRef hold(interned);
  return constant(interned);
}

Value* Tracer::sequence(ValueKind kind, Values items, PyTypeObject* cls) {
  Value* v = make(kind);
  v->items() = std::move(items);
  v->cls = cls                        ? cls
           : kind == ValueKind::Tuple ? &PyTuple_Type
           : kind == ValueKind::List  ? &PyList_Type
           : kind == ValueKind::Set   ? &PySet_Type
                                      : nullptr;
  v->typed = v->sized = true;
  return v;
}

// Names of objects and globals: a program may ask whether they are there, or fail where they are not, and
// make no use of their value.
static bool may_be_absent(SourceKind kind) {
  return kind == SourceKind::InstanceDict || kind == SourceKind::Attr || kind == SourceKind::Global ||
         kind == SourceKind::GlobalOf;
}

Value* Tracer::lazy(PyObject* borrowed, const Source* source, bool pinned) {
  Value* v = make(ValueKind::Lazy);
  Py_INCREF(borrowed);
  v->obj = keep(borrowed);
  v->cls = Py_TYPE(borrowed);
  v->source = source;
  v->pinned = pinned;
  if (source && !pinned && may_be_absent(source->kind))
    guard(GuardKind::Bound, source, nullptr, 1, "", nullptr, "is there");
  return v;
}

const Source* constant_source(Tracer& t, PyObject* object) {
  std::string name;
  if (PyModule_Check(object)) {
    const char* text = PyModule_GetName(object);
    if (!text) PyErr_Clear();
    name = text ? text : "module";
  } else {
    PyRef qualname(PyObject_GetAttrString(object, "__qualname__"));
    if (!qualname) PyErr_Clear();
    name = qualname ? text_of(qualname.get()) : std::string(Py_TYPE(object)->tp_name) + " object";
  }
  return t.sources().make(SourceKind::Constant, nullptr, -1, name, object);
}

Value* Tracer::pinned(PyObject* borrowed) {
  return lazy(borrowed, constant_source(*this, borrowed), true);
}

}  // namespace vitrine::capture
