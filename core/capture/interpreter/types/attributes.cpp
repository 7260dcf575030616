// Attribute reads, with Python's own rules: data descriptors, the instance's dict, the class, __getattr__.
// Reads see what the segment wrote before.
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static Value* thread_local_get(Tracer& t, Value* v, const std::string& name, PyObject* descriptor,
                               bool fallback);
static Value* module_member(Tracer& t, Value* v, const std::string& name);

bool is_data_descriptor(PyObject* descriptor) {
  return Py_TYPE(descriptor)->tp_descr_set != nullptr;
}

bool is_native_method(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

Value* find_written(const Value* v, const std::string& name, bool* found) {
  for (const auto& [key, value] : v->attrs)
    if (key == name) {
      *found = true;
      return value;
    }
  *found = false;
  return nullptr;
}

PyObject* python_method(Tracer& t, PyTypeObject* type, const char* name) {
  t.guards.ask(name);
  PyObject* found = lookup(type, name);
  if (!found) return nullptr;
  if (PyFunction_Check(found)) {
    pin_type(t, type);
    return found;
  }
  if (found == Py_None && std::string_view(name) != "__hash__")
    stop("exception", std::string(type->tp_name) + "." + name + " is None");
  if (found == Py_None || is_native_method(found) || PyCFunction_Check(found)) return nullptr;
  if (Py_TYPE(found) == &PyClassMethodDescr_Type || PyStaticMethod_Type.tp_name == Py_TYPE(found)->tp_name)
    return nullptr;
  stop("unsupported_value", std::string(type->tp_name) + "." + name + " is a " + Py_TYPE(found)->tp_name);
}

Value* call_special(Tracer& t, Value* v, PyObject* function, Values arguments) {
  Arguments all;
  all.positional = {v};
  all.positional.insert(all.positional.end(), arguments.begin(), arguments.end());
  return call(t, t.pinned(function), std::move(all));
}

bool may_have_methods(const Value* v) {
  switch (v->kind()) {
    case ValueKind::Object:
    case ValueKind::Tuple:
    case ValueKind::List:
    case ValueKind::Dict:
    case ValueKind::Set:
      return v->cls != nullptr;
    default:
      return false;
  }
}

Value* own_method(Tracer& t, Value* v, const char* name, Values arguments) {
  v = t.look(v);
  PyObject* method = may_have_methods(v) ? python_method(t, type_of(t, v), name) : nullptr;
  return method ? call_special(t, v, method, std::move(arguments)) : nullptr;
}

Value* load_attr(Tracer& t, Value* v, const std::string& name) {
  t.frames.attribute_error.exception = nullptr;
  if (Value* found = get_attr(t, v, name)) return found;
  if (t.frames.attribute_error.exception) throw RaiseSignal(t.frames.attribute_error);
  v = t.look(v);
  // As CPython says it of objects; modules, classes and slots have other words.
  PyTypeObject* type = v->is(ValueKind::Constant) ? Py_TYPE(v->obj)
                       : v->is(ValueKind::Super)  ? nullptr
                                                  : type_of(t, v);
  const bool plain = type && !lookup(type, name) && type != &PyModule_Type &&
                     !PyType_IsSubtype(type, &PyType_Type) && !PyType_IsSubtype(type, &PyModule_Type);
  if (!plain) t.raise(PyExc_AttributeError, describe(t, v) + " has no attribute '" + name + "'");
  t.raise(PyExc_AttributeError, "'" + std::string(type->tp_name) + "' object has no attribute '" + name + "'",
          true);
}

void stop_at_attribute(const char* of, const std::string& name) {
  stop("unsupported_value", "attribute " + name + " of " + of);
}

Value* get_attr(Tracer& t, Value* v, const std::string& name) {
  t.guards.ask(name);
  if (Value* method = method_of_symbolic_list(t, v, name)) return method;
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (!type.attr) stop("unsupported_value", "attribute of nothing");
  return type.attr(t, v, name);
}

// What was made of the real __dict__ of an object that existed before, on whatever way it was reached.
Value* known_own_dict(Tracer& t, Value* v) {
  if (!v->obj) return nullptr;
  PyRef own(held_attributes(v->obj));
  PyErr_Clear();
  const auto found = own ? t.values.by_object.find(own.get()) : t.values.by_object.end();
  return found == t.values.by_object.end() ? nullptr : resolve(found->second);
}

// One of the two, an object and its __dict__, changes: the other must not be told apart from it.
void check_own_dict(Tracer& t, Value* v) {
  if (v->is(ValueKind::Object)) {
    if (Value* dict = known_own_dict(t, v); dict && owner_of(dict) != v)
      stop("unsupported_value", "an object changes whose __dict__ was reached another way");
  } else if (v->is(ValueKind::Dict) && v->source && !owner_of(v)) {
    for (const auto& [object, other] : t.values.by_object)
      if (other->is(ValueKind::Object) && other->obj && known_own_dict(t, other) == v)
        stop("unsupported_value", "the __dict__ of an object changes");
  }
}

namespace {
// Other keys are compared by code of their own.
bool has_text_keys_only(PyObject* dict) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
    if (!PyUnicode_CheckExact(key)) return false;
  return true;
}
}  // namespace

Value* instance_get(Tracer& t, Value* v, const std::string& name) {
  bool found = false;
  Value* written = find_written(v, name, &found);
  if (found) return written;
  if (!v->obj && v->cls == torch_names().removable_handle)
    stop("unsupported_value", "a hook is removed where it was registered");
  if (!v->obj) return nullptr;
  if (Value* dict = t.effects.mutated.empty() ? nullptr : known_own_dict(t, v);
      dict && dict->mutated && !owner_of(dict))
    stop("unsupported_value", "an object whose __dict__ was changed");
  check_cached_read(t, v->source && !v->pinned ? Py_None : nullptr);
  PyRef dict(held_attributes(v->obj));
  if (!dict) {
    PyErr_Clear();
    return nullptr;
  }
  if (!has_text_keys_only(dict.get()))
    stop("unsupported_value", "an object with attributes whose names are no text");
  PyObject* value = PyDict_GetItemString(dict.get(), name.c_str());
  if (!value) return nullptr;
  Value* made = t.lazy(value, t.sources().make(SourceKind::InstanceDict, v->source, -1, name));
  return made;
}

// Attributes of some native classes are not what lies in the object's dict. A threading.local's are the
// thread's, which a first question might have to make.
void check_plain_attributes(Tracer& t, Value* v, const char* method) {
  PyTypeObject* type = type_of(t, v);
  if (v->obj && is_thread_local(type)) {
    if (!thread_attributes(v->obj))
      stop("unsupported_value", std::string("the first use of a ") + type->tp_name + " in a thread");
    return;
  }
  PyObject* found = lookup(type, method);
  if (!found || Py_TYPE(found) != &PyWrapperDescr_Type) return;
  void* native = reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped;
  if (native != reinterpret_cast<void*>(PyObject_GenericGetAttr) &&
      native != reinterpret_cast<void*>(PyObject_GenericSetAttr))
    stop("unsupported_value", std::string("attributes of a ") + type->tp_name + " are its class's own");
}

Value* generic_get(Tracer& t, Value* v, const std::string& name, bool fallback) {
  t.guards.ask(name);
  PyTypeObject* type = type_of(t, v);
  pin_type(t, type);
  PyObject* descriptor = lookup(type, name);
  check_plain_attributes(t, v, "__getattribute__");
  if (v->obj && is_thread_local(type)) return thread_local_get(t, v, name, descriptor, fallback);
  if (descriptor && is_data_descriptor(descriptor) && Py_TYPE(descriptor)->tp_descr_get) {
    Value* value = bind_descriptor(t, descriptor, v, type, name);
    if (value) return value;
  } else {
    if (Value* own = instance_get(t, v, name)) return own;
    const bool has_dict = type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    if (v->source && v->obj && has_dict && (descriptor || fallback)) {
      bool written = false;
      find_written(v, name, &written);
      if (!written && !(fallback && !descriptor && torch_names().is_module(type)))
        t.guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
    }
    if (descriptor) return bind_descriptor(t, descriptor, v, type, name);
  }
  return fallback ? ask_getattr(t, v, name) : nullptr;
}

// An attribute that the thread lacks is guarded where another thread's first question cannot bring it.
Value* thread_local_get(Tracer& t, Value* v, const std::string& name, PyObject* descriptor, bool fallback) {
  PyTypeObject* type = type_of(t, v);
  if (name == "__dict__") return instance_dict(t, v);
  if (descriptor && is_data_descriptor(descriptor))
    if (Value* value = bind_descriptor(t, descriptor, v, type, name)) return value;
  if (Value* own = instance_get(t, v, name)) return own;
  bool written = false;
  find_written(v, name, &written);
  if (!written && (descriptor || fallback)) {
    if (!v->source || type->tp_init != PyBaseObject_Type.tp_init)
      stop("unsupported_value", std::string("a ") + type->tp_name + " has no own " + name);
    t.guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
  }
  return descriptor ? bind_descriptor(t, descriptor, v, type, name) : nullptr;
}

// What __getattr__ gives for a name that was not found.
Value* ask_getattr(Tracer& t, Value* v, const std::string& name) {
  PyTypeObject* type = type_of(t, v);
  PyObject* getter = lookup(type, "__getattr__");
  if (!getter) return nullptr;
  if (getter == torch_names().module_getattr) return module_member(t, v, name);
  if (!PyFunction_Check(getter)) stop("unsupported_value", std::string(type->tp_name) + ".__getattr__");
  auto* error = reinterpret_cast<PyTypeObject*>(PyExc_AttributeError);
  try {
    return call_special(t, v, getter, {t.text(name)});
  } catch (const RaiseSignal& signal) {
    if (!signal.exception || !PyType_IsSubtype(signal.exception->cls, error)) throw;
    t.frames.attribute_error = signal;
    return nullptr;
  }
}

// nn.Module.__getattr__: parameters, buffers, modules.
Value* module_member(Tracer& t, Value* v, const std::string& name) {
  for (const char* group : {"_parameters", "_buffers", "_modules"}) {
    Value* members = instance_get(t, v, group);
    if (!members) continue;
    members = t.look(members);
    if (!members->is(ValueKind::Dict)) stop("unsupported_value", std::string(group) + " is not a dict");
    // A name is in one group only (PyTorch refuses another), so that no absence needs a guard.
    if (!members->dict().complete && members->obj && !PyDict_GetItemString(members->obj, name.c_str()))
      continue;
    if (Value* found = dict_get(t, members, name.c_str())) return found;
  }
  if (!v->source) return nullptr;
  bool written = false;
  find_written(v, name, &written);
  if (!written) t.guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
  for (const char* group : {"_parameters", "_buffers", "_modules"})
    if (Value* members = instance_get(t, v, group)) dict_get(t, members, name.c_str());
  return nullptr;
}

Value* instance_dict(Tracer& t, Value* v) {
  if (v->own_dict) return v->own_dict;
  if (Value* known = known_own_dict(t, v)) {
    if (owner_of(known) && owner_of(known)->obj == v->obj) return v->own_dict = known;
    stop("unsupported_value", "a __dict__ that was reached another way");
  }
  Value* dict = new_dict(t);
  if (v->obj) {
    PyRef own(held_attributes(v->obj));
    if (!own) t.raise_python();
    PyObject *key, *value;
    Py_ssize_t at = 0;
    PyRef keys(PySequence_Tuple(own.get()));
    dict->source = t.sources().attr(v->source, "__dict__");
    dict->obj = own.get();
    Py_INCREF(own.get());
    t.values.by_object[t.keep(own.get())] = dict;
    t.guard(GuardKind::DictKeys, dict->source, keys.get(), 0, "", nullptr, "keys " + repr_of(keys.get()));
    while (PyDict_Next(own.get(), &at, &key, &value)) {
      if (!PyUnicode_Check(key)) stop("unsupported_value", "an attribute whose name is not text");
      if (Value* entry = instance_get(t, v, text_of(key))) dict_put(t, dict, key, t.constant(key), entry);
    }
  }
  for (const auto& [key, value] : v->attrs)
    if (value) {
      PyObject* descriptor = lookup(v->cls, key);
      if (descriptor && Py_TYPE(descriptor) == &PyMemberDescr_Type) continue;  // a slot
      Value* as_key = t.text(key);
      dict_put(t, dict, as_key->obj, as_key, value);
    }
  dict->as<DictValue>().owner = v;
  return v->own_dict = dict;
}

}  // namespace vitrine::capture
