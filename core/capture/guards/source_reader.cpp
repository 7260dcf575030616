#include "core/capture/guards/source_reader.h"

#include "core/base/once.h"
#include "core/capture/marks.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/iterator_state.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/objects/torch_names.h"
#include "core/capture/objects/values.h"

namespace vitrine::capture {

namespace {

PyObject* intern(const char* text) {
  return PyUnicode_InternFromString(text);
}

// Names that are looked up again and again; made once, never freed.
struct InternedNames {
  PyObject* getattr = intern("__getattr__");
  PyObject* func = intern("__func__");
  PyObject* containers[3] = {intern("_parameters"), intern("_buffers"), intern("_modules")};
};
const InternedNames& names() {
  static const InternedNames all;
  return all;
}

PyObject* lookup(PyObject* dict, PyObject* key, Py_hash_t hash) {
  PyObject* value = _PyDict_GetItem_KnownHash(dict, key, hash);
  if (!value && PyErr_Occurred()) PyErr_Clear();
  return value;
}

Py_hash_t hash_of(PyObject* name) {
  Py_hash_t hash = PyObject_Hash(name);
  if (hash == -1) PyErr_Clear();
  return hash;
}

PyObject* keep_new(PyObject* made, Temporaries& keep) {
  if (!made) {
    PyErr_Clear();
    return nullptr;
  }
  keep.push_back(PyRef(made));
  return made;
}

// Descriptors whose getter is CPython's or an extension's C code.
bool is_c_descriptor(PyObject* d) {
  PyTypeObject* t = Py_TYPE(d);
  return t == &PyGetSetDescr_Type || t == &PyMemberDescr_Type;
}

bool binds_in_c(PyObject* d) {
  PyTypeObject* t = Py_TYPE(d);
  return t == &PyMethodDescr_Type || t == &PyWrapperDescr_Type || t == &PyClassMethodDescr_Type ||
         t == &PyStaticMethod_Type;
}

bool is_plain_classmethod(PyObject* d) {
  if (Py_TYPE(d) != &PyClassMethod_Type) return false;
  PyRef func = PyRef(PyObject_GetAttr(d, names().func));
  if (!func) PyErr_Clear();
  return func && PyFunction_Check(func.get());
}

// The plain rules give what the type's own lookup gives, or a part of what a class written in Python makes of
// it: capture interprets such a class's __getattribute__ and __getattr__, and asks by the plain rules itself.
bool looks_up_plainly(PyTypeObject* type, PyTypeObject* standard) {
  return type->tp_getattro == standard->tp_getattro || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

// The __getattr__ of torch.nn.Module, by which parameters, buffers and submodules are found.
bool finds_module_members(PyTypeObject* type) {
  PyObject* f = _PyType_Lookup(type, names().getattr);
  if (!f || !PyFunction_Check(f)) return false;
  return f == torch_names().module_getattr && globals_of_torch(PyFunction_GET_GLOBALS(f), "nn.modules");
}

PyObject* module_member(PyObject* dict, PyObject* name, Py_hash_t hash) {
  for (PyObject* container : names().containers) {
    PyObject* members = lookup(dict, container, hash_of(container));
    if (!members || !PyDict_Check(members)) continue;
    if (PyObject* found = lookup(members, name, hash)) return found;
  }
  return nullptr;
}

PyObject* bind_descriptor(PyObject* descriptor, PyObject* base, PyTypeObject* type, Temporaries& keep) {
  descrgetfunc get = Py_TYPE(descriptor)->tp_descr_get;
  if (!get) return descriptor;
  if (PyFunction_Check(descriptor)) {
    if (!base) return descriptor;
    return keep_new(PyMethod_New(descriptor, base), keep);
  }
  if (!base && Py_TYPE(descriptor) == &PyProperty_Type) return descriptor;
  if (binds_in_c(descriptor) || is_plain_classmethod(descriptor) || (!base && is_c_descriptor(descriptor)))
    return keep_new(get(descriptor, base, reinterpret_cast<PyObject*>(type)), keep);
  return nullptr;  // a user's descriptor
}

PyObject* class_attribute(PyTypeObject* base, PyObject* name, Temporaries& keep) {
  PyTypeObject* meta = Py_TYPE(base);
  if (!looks_up_plainly(meta, &PyType_Type)) return nullptr;
  PyObject* on_meta = _PyType_Lookup(meta, name);
  if (on_meta && Py_TYPE(on_meta)->tp_descr_get && Py_TYPE(on_meta)->tp_descr_set) {
    if (!is_c_descriptor(on_meta)) return nullptr;
    return keep_new(Py_TYPE(on_meta)->tp_descr_get(on_meta, reinterpret_cast<PyObject*>(base),
                                                   reinterpret_cast<PyObject*>(meta)),
                    keep);
  }
  if (PyObject* found = _PyType_Lookup(base, name)) return bind_descriptor(found, nullptr, base, keep);
  return on_meta ? bind_descriptor(on_meta, reinterpret_cast<PyObject*>(base), meta, keep) : nullptr;
}

PyObject* object_attribute(PyObject* base, PyObject* name, Temporaries& keep) {
  PyTypeObject* type = Py_TYPE(base);
  if (!looks_up_plainly(type, &PyBaseObject_Type)) return nullptr;
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type && Py_TYPE(on_type)->tp_descr_get && Py_TYPE(on_type)->tp_descr_set) {
    if (!is_c_descriptor(on_type)) return nullptr;
    return keep_new(Py_TYPE(on_type)->tp_descr_get(on_type, base, reinterpret_cast<PyObject*>(type)), keep);
  }
  Py_hash_t hash = hash_of(name);
  PyObject* dict = instance_dict(base);
  if (dict)
    if (PyObject* own = lookup(dict, name, hash)) return own;
  if (on_type) return bind_descriptor(on_type, base, type, keep);
  return dict && finds_module_members(type) ? module_member(dict, name, hash) : nullptr;
}

// Of the container itself: capture interprets a __getitem__ that a class defines over it.
PyObject* item(const SourceStep& step, PyObject* base, Temporaries& keep) {
  if (PyDict_Check(base)) return lookup(base, step.key, step.hash);
  if (!step.integer_key) return nullptr;
  Py_ssize_t i = step.index;
  if (PyList_Check(base)) {
    Py_ssize_t n = PyList_GET_SIZE(base);
    if (i < 0) i += n;
    return i >= 0 && i < n ? PyList_GET_ITEM(base, i) : nullptr;
  }
  if (PyTuple_Check(base)) {
    Py_ssize_t n = PyTuple_GET_SIZE(base);
    if (i < 0) i += n;
    return i >= 0 && i < n ? PyTuple_GET_ITEM(base, i) : nullptr;
  }
  if (PyRange_Check(base) || is_deque(base)) return keep_new(PySequence_GetItem(base, i), keep);
  return nullptr;
}

// A tensor that is gone has left no dict that had it as a key, but another one may lie where it lay.
PyObject* item_of(const SourceStep& step, PyObject* base) {
  PyObject* key = PyWeakref_GET_OBJECT(step.key);
  return key != Py_None && PyDict_Check(base) ? lookup(base, key, step.hash) : nullptr;
}

PyObject* own_member(const SourceStep& step, PyObject* base) {
  if (PyModule_Check(base)) return lookup(PyModule_GetDict(base), step.key, step.hash);
  if (PyType_Check(base)) {
    PyObject* dict = class_dict(reinterpret_cast<PyTypeObject*>(base));
    return dict ? lookup(dict, step.key, step.hash) : nullptr;
  }
  PyObject* dict = instance_dict(base);
  if (!dict) return nullptr;
  if (PyObject* own = lookup(dict, step.key, step.hash)) return own;
  return finds_module_members(Py_TYPE(base)) ? module_member(dict, step.key, step.hash) : nullptr;
}

PyObject* nth_key(PyObject* base, int32_t index, Temporaries& keep) {
  if (!PyDict_Check(base) || index < 0) return nullptr;
  if (PyODict_Check(base)) {  // keeps an order of its own
    PyObject* all = keep_new(own_keys(base), keep);
    return all && index < PyList_GET_SIZE(all) ? PyList_GET_ITEM(all, index) : nullptr;
  }
  PyObject* key = nullptr;
  Py_ssize_t at = 0;
  for (int32_t i = 0; i <= index; ++i)
    if (!PyDict_Next(base, &at, &key, nullptr)) return nullptr;
  return key;
}

PyObject* tuple_item(PyObject* tuple, int32_t index) {
  return tuple && PyTuple_Check(tuple) && index >= 0 && index < PyTuple_GET_SIZE(tuple)
             ? PyTuple_GET_ITEM(tuple, index)
             : nullptr;
}

PyObject* globals_of(PyObject* base) {
  if (PyFunction_Check(base)) return PyFunction_GET_GLOBALS(base);
  if (PyMethod_Check(base)) return globals_of(PyMethod_GET_FUNCTION(base));
  if (PyModule_Check(base)) return PyModule_GetDict(base);
  return nullptr;
}

PyObject* tensor_over(PyObject* array, Temporaries& keep) {
  PyObject* const behind = kept(Name::tensor_behind);
  PyObject* tensor = keep_new(behind ? PyObject_CallOneArg(behind, array) : nullptr, keep);
  return tensor == Py_None ? nullptr : tensor;
}

// What a function of Python's own gives for numbers. A new reference; nullptr: it raises.
PyObject* derive(PyObject* part, PyObject* base) {
  if (part == Py_Ellipsis) return Py_NewRef(base);
  if (!PyTuple_Check(part)) return Py_NewRef(part);
  const Py_ssize_t n = PyTuple_GET_SIZE(part) - 1;
  PyRef given(PyTuple_New(n));
  for (Py_ssize_t i = 0; given && i < n; ++i) {
    PyObject* one = derive(PyTuple_GET_ITEM(part, i + 1), base);
    if (!one) return nullptr;
    PyTuple_SET_ITEM(given.get(), i, one);
  }
  return given ? PyObject_CallObject(PyTuple_GET_ITEM(part, 0), given.get()) : nullptr;
}

PyObject* in_dict(PyObject* dict, const SourceStep& step) {
  return dict && PyDict_Check(dict) ? lookup(dict, step.key, step.hash) : nullptr;
}

}  // namespace

PyObject* instance_dict(PyObject* object) {
  if (is_thread_local(Py_TYPE(object))) return thread_attributes(object);
  PyObject** at = _PyObject_GetDictPtr(object);
  return at && *at && PyDict_Check(*at) ? *at : nullptr;
}

PyObject* proxied_dict(PyObject* proxy) {
  if (Py_TYPE(proxy) != &PyDictProxy_Type) return nullptr;
  PyObject* behind = nullptr;
  const auto visit = [](PyObject* referent, void* to) {
    *static_cast<PyObject**>(to) = referent;
    return 0;
  };
  PyDictProxy_Type.tp_traverse(proxy, visit, &behind);
  return behind && (PyDict_CheckExact(behind) || PyODict_CheckExact(behind)) ? behind : nullptr;
}

PyObject* dict_value(PyObject* dict, PyObject* key) {
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (!value && PyErr_Occurred()) PyErr_Clear();
  return value;
}

PyObject* read_attribute(PyObject* base, PyObject* name, Temporaries& keep) {
  if (PyType_Check(base)) return class_attribute(reinterpret_cast<PyTypeObject*>(base), name, keep);
  if (PyModule_Check(base)) {
    if (!looks_up_plainly(Py_TYPE(base), &PyModule_Type)) return nullptr;
    if (PyObject* found = lookup(PyModule_GetDict(base), name, hash_of(name))) return found;
    return nullptr;
  }
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) return instance_dict(base);
  return object_attribute(base, name, keep);
}

bool has_attribute(PyObject* base, PyObject* name) {
  if (PyType_Check(base)) {
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(base), name) || _PyType_Lookup(Py_TYPE(base), name);
  }
  if (PyObject* found = _PyType_Lookup(Py_TYPE(base), name)) {
    if (Py_TYPE(found) != &PyMemberDescr_Type) return true;
    PyRef slot(Py_TYPE(found)->tp_descr_get(found, base, reinterpret_cast<PyObject*>(Py_TYPE(base))));
    if (!slot) PyErr_Clear();
    return static_cast<bool>(slot);
  }
  PyObject* dict = PyModule_Check(base) ? PyModule_GetDict(base) : instance_dict(base);
  if (!dict) return false;
  Py_hash_t hash = hash_of(name);
  return lookup(dict, name, hash) ||
         (finds_module_members(Py_TYPE(base)) && module_member(dict, name, hash) != nullptr);
}

SourceStep prepare_step(const Source& source) {
  SourceStep step;
  step.kind = source.kind;
  step.index = source.index;
  if (!source.key && !source.name.empty()) step.name = PyRef(PyUnicode_InternFromString(source.name.c_str()));
  step.key = source.key ? source.key : step.name.get();
  if (source.kind == SourceKind::Item && step.key && PyLong_CheckExact(step.key)) {
    int overflow = 0;
    long value = PyLong_AsLongAndOverflow(step.key, &overflow);
    step.integer_key = !overflow && value >= INT32_MIN && value <= INT32_MAX;
    step.index = static_cast<int32_t>(value);
  } else if (source.kind == SourceKind::Item && !source.key) {
    step.integer_key = source.index >= 0;
    step.name = PyRef(PyLong_FromLong(source.index));
    step.key = step.name.get();
  }
  if (step.key && source.kind != SourceKind::Constant) step.hash = hash_of(step.key);
  return step;
}

namespace {

// What a function, a method or a cell holds.
PyObject* part_of_callable(const SourceStep& step, PyObject* base) {
  switch (step.kind) {
    case SourceKind::Cell:
      return PyCell_Check(base) ? PyCell_GET(base) : nullptr;
    case SourceKind::Closure:
      return PyFunction_Check(base) ? tuple_item(PyFunction_GET_CLOSURE(base), step.index) : nullptr;
    case SourceKind::Default:
      return PyFunction_Check(base) ? tuple_item(PyFunction_GET_DEFAULTS(base), step.index) : nullptr;
    case SourceKind::KwDefault:
      return PyFunction_Check(base) ? in_dict(PyFunction_GET_KW_DEFAULTS(base), step) : nullptr;
    case SourceKind::BoundSelf:
      if (PyMethod_Check(base)) return PyMethod_GET_SELF(base);
      return PyCFunction_Check(base) ? PyCFunction_GET_SELF(base) : nullptr;
    case SourceKind::BoundFunc:
      return PyMethod_Check(base) ? PyMethod_GET_FUNCTION(base) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

PyObject* read_step(const SourceStep& step, PyObject* base, const Frame& frame, Temporaries& keep) {
  switch (step.kind) {
    case SourceKind::Local:
      return step.index < frame.local_count() ? frame.local(step.index) : nullptr;
    case SourceKind::Stack:
      return step.index < frame.depth() ? frame.stack(step.index) : nullptr;
    case SourceKind::Global:
      return in_dict(frame.globals(), step);
    case SourceKind::Builtin:
      return in_dict(frame.builtins(), step);
    case SourceKind::Drawn:     // how to draw it: who runs the segment does
    case SourceKind::Computed:  // likewise
    case SourceKind::Constant:
      return step.key;
    default:
      break;
  }
  if (!base) return nullptr;
  switch (step.kind) {
    case SourceKind::GlobalOf:
      return in_dict(globals_of(base), step);
    case SourceKind::Attr:
      return read_attribute(base, step.key, keep);
    case SourceKind::InstanceDict:
      return own_member(step, base);
    case SourceKind::Item:
      return item(step, base, keep);
    case SourceKind::ItemOf:
      return item_of(step, base);
    case SourceKind::Type:
      return reinterpret_cast<PyObject*>(Py_TYPE(base));
    case SourceKind::TensorOver:
      return tensor_over(base, keep);
    case SourceKind::WeakTarget:
      return PyWeakref_CheckRefExact(base) ? PyWeakref_GET_OBJECT(base) : nullptr;
    case SourceKind::Proxied:
      return proxied_dict(base);
    case SourceKind::DictKey:
      return nth_key(base, step.index, keep);
    case SourceKind::IterRest:
      return keep_new(iterator_rest(base), keep);
    case SourceKind::IterState:
      return keep_new(iterator_state(base, step.index), keep);
    case SourceKind::Derived:
      return PyFloat_CheckExact(base) ? keep_new(derive(step.key, base), keep) : nullptr;
    default:
      return part_of_callable(step, base);
  }
}

PyObject* read_source(const Source& source, const Frame& frame, Temporaries& keep) {
  PyObject* base = source.base ? read_source(*source.base, frame, keep) : nullptr;
  if (source.base && !base) return nullptr;
  return read_step(prepare_step(source), base, frame, keep);
}

}  // namespace vitrine::capture
