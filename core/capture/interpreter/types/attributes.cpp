// Attribute reads, with Python's own rules: data descriptors, the instance's dict, the class, __getattr__.
// Reads see what the segment wrote before.
#include <algorithm>

#include "core/base/once.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

bool is_data_descriptor(PyObject* descriptor) {
  return Py_TYPE(descriptor)->tp_descr_set != nullptr;
}

bool is_native_method(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

// What these wrappers make of a function stays a function of its class.
bool binds_as_method(PyTypeObject* type) {
  return type == torch_names().disabled_function || type == torch_names().compiled_function ||
         type == torch_names().lru_cache_wrapper;
}

Value* find_written(Value* v, const std::string& name, bool* found) {
  for (const auto& [key, value] : v->attrs)
    if (key == name) {
      *found = true;
      return value;
    }
  *found = false;
  return nullptr;
}

}  // namespace

PyObject* Tracer::python_method(PyTypeObject* type, const char* name) {
  asked_.insert(name);
  PyObject* found = lookup(type, name);
  if (!found) return nullptr;
  if (PyFunction_Check(found)) {
    pin_type(type);
    return found;
  }
  if (found == Py_None && std::string_view(name) != "__hash__")
    stop("exception", std::string(type->tp_name) + "." + name + " is None");
  if (found == Py_None || is_native_method(found) || PyCFunction_Check(found)) return nullptr;
  if (Py_TYPE(found) == &PyClassMethodDescr_Type || PyStaticMethod_Type.tp_name == Py_TYPE(found)->tp_name)
    return nullptr;
  stop("unsupported_value", std::string(type->tp_name) + "." + name + " is a " + Py_TYPE(found)->tp_name);
}

Value* Tracer::call_special(Value* v, PyObject* function, Values arguments) {
  Arguments all;
  all.positional = {v};
  all.positional.insert(all.positional.end(), arguments.begin(), arguments.end());
  return call(pinned(function), std::move(all));
}

bool may_have_methods(const Value* v) {
  switch (v->kind) {
    case Kind::Object:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
      return v->cls != nullptr;
    default:
      return false;
  }
}

Value* Tracer::own_method(Value* v, const char* name, Values arguments) {
  v = look(v);
  PyObject* method = may_have_methods(v) ? python_method(type_of(v), name) : nullptr;
  return method ? call_special(v, method, std::move(arguments)) : nullptr;
}

Value* Tracer::load_attr(Value* v, const std::string& name) {
  attribute_error_.exception = nullptr;
  if (Value* found = get_attr(v, name)) return found;
  if (attribute_error_.exception) throw RaiseSignal(attribute_error_);
  v = look(v);
  // As CPython says it of objects; modules, classes and slots have other words.
  PyTypeObject* type = v->kind == Kind::Constant ? Py_TYPE(v->obj)
                       : v->kind == Kind::Super  ? nullptr
                                                 : type_of(v);
  const bool plain = type && !lookup(type, name) && type != &PyModule_Type &&
                     !PyType_IsSubtype(type, &PyType_Type) && !PyType_IsSubtype(type, &PyModule_Type);
  if (!plain) raise(PyExc_AttributeError, describe(v) + " has no attribute '" + name + "'");
  raise(PyExc_AttributeError, "'" + std::string(type->tp_name) + "' object has no attribute '" + name + "'",
        true);
}

// It is there, and is not captured.
[[noreturn]] static void stop_at_attribute(const char* of, const std::string& name) {
  stop("unsupported_value", "attribute " + name + " of " + of);
}

Value* Tracer::get_attr(Value* v, const std::string& name) {
  asked_.insert(name);
  if (Value* method = method_of_symbolic_list(v, name)) return method;
  v = look(v);
  switch (v->kind) {
    case Kind::Tensor:
      return tensor_attr(v, name);
    case Kind::Super:
      return super_attr(v, name);
    case Kind::Function:
      return function_attr(v, name);
    case Kind::Method: {
      if (name == "__func__") return v->items[0];
      if (name == "__self__") return v->items[1];
      if (name == "__class__") return pinned(reinterpret_cast<PyObject*>(type_of(v)));
      if (name != "__doc__" && lookup(type_of(v), name)) stop_at_attribute("a method", name);
      return get_attr(v->items[0], name);
    }
    case Kind::Slice:
      if (name == "start") return v->items[0];
      if (name == "stop") return v->items[1];
      if (name == "step") return v->items[2];
      if (PyObject* method = lookup(&PySlice_Type, name); method && is_native_method(method))
        return bind_descriptor(method, v, &PySlice_Type, name);
      if (name == "__class__") return pinned(reinterpret_cast<PyObject*>(&PySlice_Type));
      if (lookup(&PySlice_Type, name)) stop_at_attribute("a slice", name);
      return nullptr;
    case Kind::Cell:
      if (name == "cell_contents") return cell_get(v);
      if (name == "__class__") return pinned(reinterpret_cast<PyObject*>(&PyCell_Type));
      if (lookup(&PyCell_Type, name)) stop_at_attribute("a cell", name);
      return nullptr;
    case Kind::Constant:
      break;
    case Kind::Generator:
    case Kind::Iterator: {
      Value* generator = generator_of(v);
      PyObject* method = generator ? lookup(&PyGen_Type, name) : nullptr;
      if (method && is_native_method(method)) return bind_descriptor(method, generator, &PyGen_Type, name);
      stop("generator", "attribute " + name + " of an iterator");
    }
    case Kind::Null:
    case Kind::Lazy:
      stop("unsupported_value", "attribute of nothing");
    default: {
      PyTypeObject* type = type_of(v);
      PyObject* getter = lookup(type, "__getattribute__");
      if (!getter || !PyFunction_Check(getter)) return generic_get(v, name, true);
      pin_type(type);
      if (!lookup(type, "__getattr__")) return call_special(v, getter, {text(name)});
      try {
        return call_special(v, getter, {text(name)});
      } catch (const RaiseSignal& signal) {
        auto* error = reinterpret_cast<PyTypeObject*>(PyExc_AttributeError);
        if (!signal.exception || !PyType_IsSubtype(signal.exception->cls, error)) throw;
        return ask_getattr(v, name);
      }
    }
  }
  PyObject* o = v->obj;
  if (PyModule_Check(o)) return module_attr(v, name);
  if (PyType_Check(o)) return class_attr(reinterpret_cast<PyTypeObject*>(o), name);
  if (PyFunction_Check(o)) return function_attr(v, name);
  // Immutable objects: methods stay symbolic, everything else is read now.
  PyObject* descriptor = lookup(Py_TYPE(o), name);
  if (descriptor && (is_native_method(descriptor) || PyFunction_Check(descriptor) ||
                     Py_TYPE(descriptor) == &PyProperty_Type || Py_TYPE(descriptor) == &PyClassMethod_Type ||
                     Py_TYPE(descriptor) == &PyStaticMethod_Type))
    if (!(Py_TYPE(descriptor) == &PyProperty_Type && Py_TYPE(o) == torch_names().device))
      return bind_descriptor(descriptor, v, Py_TYPE(o), name);
  Owned value(PyObject_GetAttrString(o, name.c_str()));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) raise_python();
    PyErr_Clear();
    return nullptr;
  }
  // A member of an enumeration answers through descriptors of its class; what it answers is as fixed as
  // itself.
  if (v->source && !PyObject_TypeCheck(o, torch_names().enum_base))
    return lazy(value.get(), sources_->attr(v->source, name), true);
  return pinned(value.get());
}

// What type.name gives when read through an instance (self) or, self == nullptr, through the class.
Value* Tracer::bind_descriptor(PyObject* d, Value* self, PyTypeObject* type, const std::string& name) {
  const auto method = [&](PyObject* function, Value* bound) {
    Value* m = make(Kind::Method);
    m->items = {pinned(function), bound};
    m->cls =
        PyFunction_Check(function) || binds_as_method(Py_TYPE(function)) ? &PyMethod_Type : &PyCFunction_Type;
    return m;
  };
  PyTypeObject* kind = Py_TYPE(d);
  Value* cls = pinned(reinterpret_cast<PyObject*>(type));
  if (kind == &PyStaticMethod_Type || kind == &PyClassMethod_Type) {
    Owned inner(PyObject_GetAttrString(d, "__func__"));
    if (kind == &PyClassMethod_Type && !PyFunction_Check(inner.get()) && Py_TYPE(inner.get())->tp_descr_get &&
        !binds_as_method(Py_TYPE(inner.get())))
      stop("unsupported_value", std::string("a class method made of a ") + Py_TYPE(inner.get())->tp_name);
    return kind == &PyStaticMethod_Type ? pinned(inner.get()) : method(inner.get(), cls);
  }
  if (kind == &PyClassMethodDescr_Type) {
    // The descriptor that was found, not what the class itself answers: super() has passed over that.
    Owned bound(kind->tp_descr_get(d, nullptr, reinterpret_cast<PyObject*>(type)));
    if (!bound) raise_python();
    return pinned(bound.get());
  }
  if (!self) {
    if (PyFunction_Check(d) || is_native_method(d) || kind == &PyProperty_Type || !kind->tp_descr_get ||
        binds_as_method(kind))
      return pinned(d);
    if (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) return pinned(d);
  } else {
    if (PyFunction_Check(d) || is_native_method(d) || binds_as_method(kind)) return method(d, self);
    if (kind == &PyProperty_Type || PyType_IsSubtype(kind, &PyProperty_Type)) {
      Owned getter(PyObject_GetAttrString(d, "fget"));
      if (!getter || getter.get() == Py_None) raise(PyExc_AttributeError, "unreadable attribute " + name);
      return call(pinned(getter.get()), {{self}, {}});
    }
    // "_collections._tuplegetter" before CPython 3.12
    if (std::string_view(kind->tp_name).ends_with("collections._tuplegetter") && self->kind == Kind::Tuple) {
      Owned reduced(PyObject_CallMethod(d, "__reduce__", nullptr));
      if (!reduced) raise_python();
      const auto i = PyLong_AsSize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0));
      guard_length(self);
      if (i >= self->items.size()) raise(PyExc_IndexError, "tuple index out of range");
      return self->items[i];
    }
    if (kind == &PyMemberDescr_Type && self->kind == Kind::Tuple && self->real) {
      Owned field(PyObject_GetAttrString(self->real, name.c_str()));  // torch.return_types.*
      if (!field) raise_python();
      return from_python(field.get());
    }
    if (kind == &PyMemberDescr_Type && name == "__dict__") return instance_dict(self);
    if (Value* of_chain = chain_attr(self, name)) return of_chain;
    if (kind == &PyMemberDescr_Type) {
      bool found = false;
      Value* written = find_written(self, name, &found);
      if (found) return written;
      auto* stop_iteration = reinterpret_cast<PyTypeObject*>(PyExc_StopIteration);
      if (self->worded && self->cls == stop_iteration && name == "value")
        return self->items.empty() ? none() : self->items[0];
      if (!self->obj && PyType_IsSubtype(self->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) &&
          !(reinterpret_cast<PyDescrObject*>(d)->d_type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        stop("unsupported_value", "attribute " + name + " of a " + describe(self));
      if (!self->obj && self->cls == torch_names().partial && self->items.size() == 3)
        for (size_t i = 0; i < 3; ++i)
          if (constexpr std::string_view kParts[] = {"func", "args", "keywords"}; name == kParts[i])
            return self->items[i];
      if (!self->obj) return nullptr;
      Owned value(PyObject_GenericGetAttr(self->obj, reinterpret_cast<PyDescrObject*>(d)->d_name));
      if (!value) {
        PyErr_Clear();
        guard(GuardKind::HasAttr, self->source, nullptr, 0, name, nullptr, "has no " + name);
        return nullptr;
      }
      const bool fixed = self->pinned && type == torch_names().signature;
      return lazy(value.get(), sources_->attr(self->source, name), fixed);
    }
    if (kind == &PyGetSetDescr_Type) {
      if (name == "__dict__") return instance_dict(self);
      if (name == "__class__" && !binds_as_method(type_of(self))) return cls;
      if (name == "args" && self->worded) return tuple(self->items);
      if (name == "maxlen" && self->kind == Kind::List)
        return self->limit < 0 ? none() : integer(self->limit);
      stop("unsupported_value", "attribute " + name + " of a " + describe(self));
    }
    if (!kind->tp_descr_get) return pinned(d);
  }
  static constinit Once<PyObject*> kept_property;
  PyObject* const cached_property =
      kept_property.get([] { return find_object("functools.cached_property"); });
  if (reinterpret_cast<PyObject*>(kind) == cached_property) {
    if (!self) return pinned(d);
    Owned named(PyObject_GetAttrString(d, "attrname"));
    const bool kept_as_named = named && PyUnicode_Check(named.get()) && text_of(named.get()) == name;
    if (!kept_as_named || self->kind != Kind::Object)  // which CPython has words for
      stop("exception", "a cached_property that cannot be kept under its name");
    Owned function(PyObject_GetAttrString(d, "func"));
    if (!function) raise_python();
    Value* value = call(pinned(function.get()), {{self}, {}});
    write_attr(self, name, value);
    return value;
  }
  if (kind == torch_names().compiled_function || kind == torch_names().disabled_function)
    return self ? method(d, self) : pinned(d);
  if (PyObject* getter = python_method(kind, "__get__"))
    return call_special(pinned(d), getter, {self ? self : none(), cls});
  stop("unsupported_value", std::string("descriptor ") + kind->tp_name + " for " + name);
}

// What was made of the real __dict__ of an object that existed before, on whatever way it was reached.
Value* Tracer::known_own_dict(Value* v) {
  if (!v->obj) return nullptr;
  Owned own(held_attributes(v->obj));
  PyErr_Clear();
  const auto found = own ? by_object_.find(own.get()) : by_object_.end();
  return found == by_object_.end() ? nullptr : resolve(found->second);
}

// One of the two, an object and its __dict__, changes: the other must not be told apart from it.
void Tracer::check_own_dict(Value* v) {
  if (v->kind == Kind::Object) {
    if (Value* dict = known_own_dict(v); dict && dict->owner != v)
      stop("unsupported_value", "an object changes whose __dict__ was reached another way");
  } else if (v->kind == Kind::Dict && v->source && !v->owner) {
    for (const auto& [object, other] : by_object_)
      if (other->kind == Kind::Object && other->obj && known_own_dict(other) == v)
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

Value* Tracer::instance_get(Value* v, const std::string& name) {
  bool found = false;
  Value* written = find_written(v, name, &found);
  if (found) return written;
  if (!v->obj && v->cls == torch_names().removable_handle)
    stop("unsupported_value", "a hook is removed where it was registered");
  if (!v->obj) return nullptr;
  if (Value* dict = mutated_.empty() ? nullptr : known_own_dict(v); dict && dict->mutated && !dict->owner)
    stop("unsupported_value", "an object whose __dict__ was changed");
  check_cached_read(v->source && !v->pinned ? Py_None : nullptr);
  Owned dict(held_attributes(v->obj));
  if (!dict) {
    PyErr_Clear();
    return nullptr;
  }
  if (!has_text_keys_only(dict.get()))
    stop("unsupported_value", "an object with attributes whose names are no text");
  PyObject* value = PyDict_GetItemString(dict.get(), name.c_str());
  if (!value) return nullptr;
  Value* made = lazy(value, sources_->make(SourceKind::InstanceDict, v->source, -1, name));
  return made;
}

// Attributes of some native classes are not what lies in the object's dict. A threading.local's are the
// thread's, which a first question might have to make.
void Tracer::check_plain_attributes(Value* v, const char* method) {
  PyTypeObject* type = type_of(v);
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

Value* Tracer::generic_get(Value* v, const std::string& name, bool fallback) {
  asked_.insert(name);
  PyTypeObject* type = type_of(v);
  pin_type(type);
  PyObject* descriptor = lookup(type, name);
  check_plain_attributes(v, "__getattribute__");
  if (v->obj && is_thread_local(type)) return thread_local_get(v, name, descriptor, fallback);
  if (descriptor && is_data_descriptor(descriptor) && Py_TYPE(descriptor)->tp_descr_get) {
    Value* value = bind_descriptor(descriptor, v, type, name);
    if (value) return value;
  } else {
    if (Value* own = instance_get(v, name)) return own;
    const bool has_dict = type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    if (v->source && v->obj && has_dict && (descriptor || fallback)) {
      bool written = false;
      find_written(v, name, &written);
      if (!written && !(fallback && !descriptor && torch_names().is_module(type)))
        guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
    }
    if (descriptor) return bind_descriptor(descriptor, v, type, name);
  }
  return fallback ? ask_getattr(v, name) : nullptr;
}

// An attribute that the thread lacks is guarded where another thread's first question cannot bring it.
Value* Tracer::thread_local_get(Value* v, const std::string& name, PyObject* descriptor, bool fallback) {
  PyTypeObject* type = type_of(v);
  if (name == "__dict__") return instance_dict(v);
  if (descriptor && is_data_descriptor(descriptor))
    if (Value* value = bind_descriptor(descriptor, v, type, name)) return value;
  if (Value* own = instance_get(v, name)) return own;
  bool written = false;
  find_written(v, name, &written);
  if (!written && (descriptor || fallback)) {
    if (!v->source || type->tp_init != PyBaseObject_Type.tp_init)
      stop("unsupported_value", std::string("a ") + type->tp_name + " has no own " + name);
    guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
  }
  return descriptor ? bind_descriptor(descriptor, v, type, name) : nullptr;
}

// What __getattr__ gives for a name that was not found.
Value* Tracer::ask_getattr(Value* v, const std::string& name) {
  PyTypeObject* type = type_of(v);
  PyObject* getter = lookup(type, "__getattr__");
  if (!getter) return nullptr;
  if (getter == torch_names().module_getattr) return module_member(v, name);
  if (!PyFunction_Check(getter)) stop("unsupported_value", std::string(type->tp_name) + ".__getattr__");
  auto* error = reinterpret_cast<PyTypeObject*>(PyExc_AttributeError);
  try {
    return call_special(v, getter, {text(name)});
  } catch (const RaiseSignal& signal) {
    if (!signal.exception || !PyType_IsSubtype(signal.exception->cls, error)) throw;
    attribute_error_ = signal;
    return nullptr;
  }
}

// nn.Module.__getattr__: parameters, buffers, modules.
Value* Tracer::module_member(Value* v, const std::string& name) {
  for (const char* group : {"_parameters", "_buffers", "_modules"}) {
    Value* members = instance_get(v, group);
    if (!members) continue;
    members = look(members);
    if (members->kind != Kind::Dict) stop("unsupported_value", std::string(group) + " is not a dict");
    // A name is in one group only (PyTorch refuses another), so that no absence needs a guard.
    if (!members->dict->complete && members->obj && !PyDict_GetItemString(members->obj, name.c_str()))
      continue;
    if (Value* found = dict_get(members, name.c_str())) return found;
  }
  if (!v->source) return nullptr;
  bool written = false;
  find_written(v, name, &written);
  if (!written) guard(GuardKind::InstanceHas, v->source, nullptr, 0, name, nullptr, "has no own " + name);
  for (const char* group : {"_parameters", "_buffers", "_modules"})
    if (Value* members = instance_get(v, group)) dict_get(members, name.c_str());
  return nullptr;
}

Value* Tracer::instance_dict(Value* v) {
  if (v->own_dict) return v->own_dict;
  if (Value* known = known_own_dict(v)) {
    if (known->owner && known->owner->obj == v->obj) return v->own_dict = known;
    stop("unsupported_value", "a __dict__ that was reached another way");
  }
  Value* dict = new_dict();
  if (v->obj) {
    Owned own(held_attributes(v->obj));
    if (!own) raise_python();
    PyObject *key, *value;
    Py_ssize_t at = 0;
    Owned keys(PySequence_Tuple(own.get()));
    dict->source = sources_->attr(v->source, "__dict__");
    dict->obj = own.get();
    Py_INCREF(own.get());
    by_object_[keep(own.get())] = dict;
    guard(GuardKind::DictKeys, dict->source, keys.get(), 0, "", nullptr, "keys " + repr_of(keys.get()));
    while (PyDict_Next(own.get(), &at, &key, &value)) {
      if (!PyUnicode_Check(key)) stop("unsupported_value", "an attribute whose name is not text");
      if (Value* entry = instance_get(v, text_of(key))) dict_put(dict, key, constant(key), entry);
    }
  }
  for (const auto& [key, value] : v->attrs)
    if (value) {
      PyObject* descriptor = lookup(v->cls, key);
      if (descriptor && Py_TYPE(descriptor) == &PyMemberDescr_Type) continue;  // a slot
      Value* as_key = text(key);
      dict_put(dict, as_key->obj, as_key, value);
    }
  dict->owner = v;
  return v->own_dict = dict;
}

Value* Tracer::class_attr(PyTypeObject* type, const std::string& name) {
  pin_type(type);
  PyObject* object = reinterpret_cast<PyObject*>(type);
  PyTypeObject* meta = Py_TYPE(type);
  PyObject* on_meta = lookup(meta, name);
  PyObject* found = lookup(type, name);
  if (PyType_IsSubtype(type, torch_names().enum_base) && name[0] != '_') {
    Owned member(PyObject_GetAttrString(object, name.c_str()));
    if (!member) {
      PyErr_Clear();
      return nullptr;
    }
    if (Py_TYPE(member.get()) == type) return pinned(member.get());
  }
  if (on_meta && is_data_descriptor(on_meta) && Py_TYPE(on_meta)->tp_descr_get) {
    if (Py_TYPE(on_meta) == &PyGetSetDescr_Type || Py_TYPE(on_meta) == &PyMemberDescr_Type) {
      if (name == "__dict__") stop("unsupported_value", "the __dict__ of a class");
      if (name == "__class__") return pinned(reinterpret_cast<PyObject*>(meta));
      Owned value(PyObject_GetAttrString(object, name.c_str()));
      if (!value) {
        PyErr_Clear();
        return nullptr;
      }
      return pinned(value.get());
    }
    return bind_descriptor(on_meta, pinned(object), meta, name);
  }
  if (found) return bind_descriptor(found, nullptr, type, name);
  if (on_meta) return bind_descriptor(on_meta, pinned(object), meta, name);
  if (lookup(meta, "__getattr__"))
    stop("unsupported_value", std::string("attributes of class ") + type->tp_name);
  return nullptr;
}

Value* Tracer::module_attr(Value* v, const std::string& name) {
  PyObject* dict = PyModule_GetDict(v->obj);
  if (python_method(Py_TYPE(v->obj), "__getattribute__"))
    stop("unsupported_value", "a module whose class has a __getattribute__ of its own");
  if (PyTypeObject* type = Py_TYPE(v->obj); type != &PyModule_Type)  // torch.backends.cudnn.enabled
    if (PyObject* descriptor = lookup(type, name); descriptor && is_data_descriptor(descriptor) &&
                                                   (Py_TYPE(descriptor)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
      pin_type(type);
      return bind_descriptor(descriptor, v, type, name);
    }
  if (Value* written = written_global(dict, name)) return written;
  PyObject* value = PyDict_GetItemString(dict, name.c_str());
  const Source* base = v->source ? v->source : constant_source(v->obj);
  if (value) return lazy(value, sources_->attr(base, name));
  const TorchNames& torch = torch_names();
  if (Py_TYPE(v->obj) == torch.op_namespace || Py_TYPE(v->obj) == torch.ops || name == "__class__") {
    Owned made(PyObject_GetAttrString(v->obj, name.c_str()));
    if (made) return pinned(made.get());
    PyErr_Clear();
    return nullptr;
  }
  if (name == "__dict__") stop("unsupported_value", "the __dict__ of a module");
  if (name == "__getattribute__") {
    Value* method = make(Kind::Method);
    method->items = {pinned(lookup(&PyModule_Type, name)), v};
    method->cls = &_PyMethodWrapper_Type;
    return method;
  }
  if (PyTypeObject* cls = Py_TYPE(v->obj); cls != &PyModule_Type) {
    PyObject* found = lookup(cls, name);
    if (found && PyFunction_Check(found)) {  // torch.backends.mkldnn.is_available
      pin_type(cls);
      guard(GuardKind::InstanceHas, base, nullptr, 0, name, nullptr, "has no own " + name);
      return bind_descriptor(found, v, cls, name);
    }
    PyObject* getter = found ? nullptr : python_method(cls, "__getattr__");
    if (!getter) stop("unsupported_value", "a lazy attribute of module " + describe(v));
    guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
    return call(pinned(getter), Arguments{{v, text(name)}, {}});
  }
  if (PyDict_GetItemString(dict, "__getattr__"))
    stop("unsupported_value", "a lazy attribute of module " + describe(v));
  guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
  return nullptr;
}

// What a function made here was given besides what every function has.
Value* Tracer::own_attributes(Value* function) {
  static constexpr const char* kOfTheFunctionItself[] = {"__name__",       "__qualname__", "__module__",
                                                         "__doc__",        "__defaults__", "__kwdefaults__",
                                                         "__annotations__"};
  Value* dict = new_dict();
  for (const auto& [key, value] : function->attrs) {
    const bool own = std::none_of(std::begin(kOfTheFunctionItself), std::end(kOfTheFunctionItself),
                                  [&](const char* n) { return key == n; });
    if (value && own) dict_set(dict, text(key), value);
  }
  dict->mutated = false;
  dict->owner = function;
  return dict;
}

Value* Tracer::function_attr(Value* v, const std::string& name) {
  bool found = false;
  Value* written = find_written(v, name, &found);
  if (found) return written;
  if (v->kind == Kind::Function) {
    FunctionState& f = *v->function;
    if (name == "__code__") return constant(reinterpret_cast<PyObject*>(f.code));
    if (name == "__name__") return constant(f.code->co_name);
    if (name == "__qualname__") return constant(f.code->co_qualname);
    if (name == "__defaults__") return f.defaults ? f.defaults : none();
    if (name == "__kwdefaults__") return f.kwdefaults ? f.kwdefaults : none();
    if (name == "__annotations__") {
      if (!f.annotations) f.annotations = new_dict();
      if (look(f.annotations)->kind == Kind::Tuple) {  // name, value, name, value ... until somebody asks
        const Values pairs = unpack(f.annotations);
        f.annotations = new_dict();
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) dict_set(f.annotations, pairs[i], pairs[i + 1]);
      }
      return f.annotations;
    }
    if (name == "__module__") {
      PyObject* module = PyDict_GetItemString(f.globals, "__name__");
      return module ? constant(module) : none();
    }
    if (name == "__doc__") {
      PyObject* first =
          PyTuple_GET_SIZE(f.code->co_consts) ? PyTuple_GET_ITEM(f.code->co_consts, 0) : Py_None;
      return constant(PyUnicode_Check(first) ? first : Py_None);
    }
    if (name == "__dict__") return own_attributes(v);
    if (name == "__globals__" || name == "__closure__" || name == "__get__")
      stop("unsupported_value", name + " of a function made here");
    return nullptr;
  }
  const Source* base = v->source ? v->source : constant_source(v->obj);
  if (name == "__dict__") {
    Value* holder = make(Kind::Object);
    holder->obj = v->obj;
    holder->cls = Py_TYPE(v->obj);
    holder->source = base;
    return instance_dict(holder);
  }
  if (name == "__get__") return bind_descriptor(lookup(&PyFunction_Type, name), v, &PyFunction_Type, name);
  if (name == "__globals__" || name == "__call__" || name == "__builtins__")
    stop("unsupported_value", name + " of a function");
  Owned value(PyObject_GetAttrString(v->obj, name.c_str()));
  if (!value) {
    PyErr_Clear();
    guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
    return nullptr;
  }
  if (name == "__code__") {
    guard(GuardKind::FunctionCode, base, value.get(), 0, "", nullptr, "code is unchanged");
    return constant(value.get());
  }
  return lazy(value.get(), sources_->attr(base, name));
}

Value* Tracer::super_attr(Value* v, const std::string& name) {
  if (v->items.empty()) stop("exception", "attribute " + name + " of a traceback");
  PyObject* after = const_object(v->items[0]);
  Value* self = look(v->items[1]);
  // A class answers for itself, and as an object of its metaclass.
  const bool through_class =
      self->kind == Kind::Constant && PyType_Check(self->obj) && after && PyType_Check(after) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->obj), reinterpret_cast<PyTypeObject*>(after));
  PyTypeObject* type = through_class ? reinterpret_cast<PyTypeObject*>(self->obj) : type_of(self);
  pin_type(type);
  PyObject* mro = type->tp_mro;
  bool past = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(mro, i);
    if (past) {
      PyObject* found = PyDict_GetItemString(class_dict(reinterpret_cast<PyTypeObject*>(base)), name.c_str());
      if (found) return bind_descriptor(found, through_class ? nullptr : self, type, name);
    }
    past = past || base == after;
  }
  if (name == "__class__") return pinned(reinterpret_cast<PyObject*>(&PySuper_Type));
  return nullptr;
}

}  // namespace vitrine::capture
