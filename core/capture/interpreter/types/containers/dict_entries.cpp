// Entries of dicts: shadow contents, loaded from the real object on demand.
#include <algorithm>

#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static std::string own_name(Tracer& t, Value* owner, PyObject* key);

Value* new_dict(Tracer& t, PyTypeObject* cls) {
  Value* v = t.make(ValueKind::Dict);
  v->cls = cls ? cls : &PyDict_Type;
  v->typed = v->sized = true;
  v->dict().index = PyRef(PyDict_New());
  return v;
}

namespace {

// Position of a key in the entries; -1 = absent.
Py_ssize_t position(DictState& dict, PyObject* key) {
  PyObject* at = PyDict_GetItemWithError(dict.index.get(), key);
  if (!at) return -1;
  return PyLong_AsSsize_t(at);
}

void put_entry(DictState& dict, PyObject* key, Value* k, Value* value) {
  PyRef at(PyLong_FromSize_t(dict.entries.size()));
  PyDict_SetItem(dict.index.get(), key, at.get());
  dict.entries.emplace_back(k, value);
}

}  // namespace

// How a key is written in tables: a tensor by the way that leads to it.
static std::string key_text(PyObject* key, const Value* value, size_t most) {
  for (Py_ssize_t i = 0; PyTuple_Check(key) && i < PyTuple_GET_SIZE(key); ++i)
    if (torch_api::is_tensor(PyTuple_GET_ITEM(key, i)))
      return std::to_string(PyTuple_GET_SIZE(key)) + ", some of them tensors";
  return torch_api::is_tensor(key) ? value && value->source ? value->source->path() : "a tensor"
                                   : repr_of(key, most);
}

// The globals of a module, as vars(module) or f.__globals__ gives them: names reach them, too.
static bool is_globals(const Value* dict) {
  return dict->is(ValueKind::Dict) && dict->obj && PyDict_CheckExact(dict->obj) &&
         PyDict_GetItemString(dict->obj, "__builtins__");
}

Value* dict_get(Tracer& t, Value* v, Value* key) {
  v = t.look(v);
  if (!t.effects.global_writes.empty() && is_globals(v))
    stop("side_effect", "changed globals are read through their dict");
  PyObject* k = key_object(t, key);
  check_own_keys(t, v, key);
  DictState& dict = v->dict();
  const Py_ssize_t at = position(dict, k);
  if (PyErr_Occurred()) t.raise_python();
  if (at >= 0) return dict.entries[static_cast<size_t>(at)].second;
  if (dict.complete) return nullptr;
  const bool is_tensor = torch_api::is_tensor(k);
  if (is_tensor && !t.look(key)->source) return nullptr;  // it did not exist before
  PyObject* found = PyDict_GetItemWithError(v->obj, k);
  if (PyErr_Occurred()) t.raise_python();
  // What was compiled for an optimizer's state keeps no parameter.
  PyObject* kept_key = is_tensor ? t.keep(PyWeakref_NewRef(k, nullptr)) : k;
  if (!kept_key) t.raise_python();
  t.guard(GuardKind::DictContains, v->source, kept_key, (found ? 1 : 0) + (is_tensor ? kWeakKey : 0), "",
          nullptr, (found ? "has " : "has no ") + key_text(k, t.look(key), 40));
  if (!found) return nullptr;
  Value* value = t.lazy(found, t.sources().make(is_tensor ? SourceKind::ItemOf : SourceKind::Item, v->source,
                                                -1, key_text(k, t.look(key), 60), kept_key));
  put_entry(dict, k, torch_api::is_tensor(k) ? t.look(key) : t.constant(k), value);
  return value;
}

// A key of a dict that existed before: an object among them is the one that other names give, too.
static Value* dict_key(Tracer& t, Value* dict, PyObject* key, int32_t place) {
  if (is_constant_object(key) || PyTuple_Check(key) || !dict->source) return t.constant(key);
  return t.lazy(key, t.sources().make(SourceKind::DictKey, dict->source, place, ""));
}

void dict_complete(Tracer& t, Value* v) {
  DictState& dict = v->dict();
  if (dict.complete) return;
  DictState full;
  full.index = PyRef(PyDict_New());
  PyObject *key, *value;
  Py_ssize_t at = 0;
  PyRef keys(PyTuple_New(PyDict_GET_SIZE(v->obj)));
  PyRef ordered(own_keys(v->obj));
  if (!ordered) t.raise_python();
  (void)at;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ordered.get()); ++i) {
    key = PyList_GET_ITEM(ordered.get(), i);
    if (torch_api::is_tensor(key))
      stop("unsupported_value", "a dict from before this point has tensors as keys");
    if (hashes_by_user_code(key))
      stop("unsupported_value", std::string("a dict from before this point has a ") + Py_TYPE(key)->tp_name +
                                    " as a key, which says how it is hashed");
    Py_INCREF(key);
    PyTuple_SET_ITEM(keys.get(), i, key);
    const Py_ssize_t known = position(dict, key);
    value = PyDict_GetItemWithError(v->obj, key);
    if (!value) stop("unsupported_value", "a dict that cannot be read");
    Value* k = dict_key(t, v, key, static_cast<int32_t>(i));
    Value* entry =
        known >= 0
            ? dict.entries[static_cast<size_t>(known)].second
            : t.lazy(value, t.sources().make(SourceKind::Item, v->source, -1, key_text(key, k, 60), key));
    put_entry(full, key, k, entry);
  }
  t.guard(GuardKind::DictKeys, v->source, keys.get(), 0, "", nullptr,
          "keys " + key_text(keys.get(), nullptr, 200));
  v->dict() = std::move(full);
}

std::vector<std::pair<Value*, Value*>> dict_entries(Tracer& t, Value* v) {
  v = t.look(v);
  dict_complete(t, v);
  std::vector<std::pair<Value*, Value*>> live;
  for (const auto& entry : v->dict().entries)
    if (entry.first) live.push_back(entry);
  return live;
}

void touch(Tracer& t, Value* v) {
  if (is_globals(v)) stop("side_effect", "globals are changed through their dict");
  check_cached_write(t, v);
  if (v->is(ValueKind::Dict) && v->dict().shown)
    stop("unsupported_value", "a dict is changed that a mappingproxy from before this point shows");
  ++v->version;
  if (v->mutated) return;
  if (v->obj) check_own_dict(t, v);
  note_change(t, v);
  v->mutated = true;
  if (v->is(ValueKind::Dict)) dict_complete(t, v);
  if ((v->is(ValueKind::List) && !is_open(v)) || v->is(ValueKind::Set)) guard_length(t, v);
  if (v->source && !(v->is(ValueKind::Dict) && owner_of(v))) t.effects.mutated.push_back(v);
}

void dict_set(Tracer& t, Value* v, Value* key, Value* value) {
  v = t.look(v);
  PyObject* k = key_object(t, key);
  check_own_keys(t, v, key);
  touch(t, v);
  if (owner_of(v) && owner_of(v)->is(ValueKind::Function))
    set_attr(t, owner_of(v), text_of(k), value);
  else if (owner_of(v))
    return write_attr(t, owner_of(v), own_name(t, owner_of(v), k), value);
  dict_put(t, v, k, t.look(key), value);
}

void dict_put(Tracer& t, Value* v, PyObject* k, Value* key, Value* value) {
  DictState& dict = v->dict();
  const Py_ssize_t at = position(dict, k);
  if (PyErr_Occurred()) t.raise_python();
  if (at >= 0)
    dict.entries[static_cast<size_t>(at)].second = value;
  else
    put_entry(dict, k, key, value), ++dict.keys_changed;
}

// The attribute that an entry of an object's __dict__ is. What the class keeps elsewhere, or sets by a method
// of its own, would not be reached by that name.
std::string own_name(Tracer& t, Value* owner, PyObject* key) {
  if (!PyUnicode_Check(key)) stop("custom_setter", "an entry of a __dict__ is no name");
  PyTypeObject* type = type_of(t, owner);
  pin_type(t, type);
  if (PyObject* found = _PyType_Lookup(type, key); found && Py_TYPE(found)->tp_descr_set)
    stop("custom_setter", "an entry of a __dict__ has the name of a descriptor: " + text_of(key));
  return text_of(key);
}

// Keeps an object's __dict__ in step with a written (nullptr: deleted) attribute.
void enter_own(Tracer& t, Value* v, const std::string& name, Value* value) {
  PyRef key(PyUnicode_InternFromString(name.c_str()));
  if (PyObject* slot = _PyType_Lookup(type_of(t, v), key.get()); slot && Py_TYPE(slot) == &PyMemberDescr_Type)
    return;
  touch(t, v->own_dict);
  if (value) return dict_put(t, v->own_dict, key.get(), t.text(name), value);
  DictState& dict = v->own_dict->dict();
  if (const Py_ssize_t at = position(dict, key.get()); at >= 0) {
    dict.entries[static_cast<size_t>(at)].first = nullptr;
    PyDict_DelItem(dict.index.get(), key.get());
    ++dict.keys_changed;
  }
}

bool dict_remove(Tracer& t, Value* v, Value* key) {
  v = t.look(v);
  if (!dict_get(t, v, key)) return false;
  PyObject* k = key_object(t, key);
  if (owner_of(v) && owner_of(v)->is(ValueKind::Function))
    stop("custom_setter", "an attribute of a function is removed");
  if (owner_of(v)) {
    write_attr(t, owner_of(v), own_name(t, owner_of(v), k), nullptr);
    return true;
  }
  touch(t, v);
  DictState& dict = v->dict();
  dict.entries[static_cast<size_t>(position(dict, k))].first = nullptr;
  PyDict_DelItem(dict.index.get(), k);
  ++dict.keys_changed;
  return true;
}

void dict_clear(Tracer& t, Value* v) {
  if (owner_of(v)) stop("custom_setter", "a __dict__ is emptied");
  touch(t, v);
  // Entries without a value: nothing of what was there before is left, and the effect on it says so.
  const auto before = static_cast<size_t>(v->obj && PyDict_Check(v->obj) ? PyDict_GET_SIZE(v->obj) : 0);
  v->dict().entries.assign(before, {nullptr, nullptr});
  PyDict_Clear(v->dict().index.get());
  ++v->dict().keys_changed;
}

void dict_update(Tracer& t, Value* v, Value* other) {
  other = t.look(other);
  // As CPython: a dict's own entries, unless its class has another way to go through them.
  const bool own_way = other->is(ValueKind::Dict) && python_method(t, type_of(t, other), "__iter__");
  if (other->is(ValueKind::Dict) && !own_way) {
    for (auto [key, value] : dict_entries(t, other)) dict_set(t, v, key, value);
    return;
  }
  if (other->is(ValueKind::Object) || own_way) {  // any mapping: what keys() gives, item by item
    if (Value* keys = get_attr(t, other, "keys")) {
      for (Value* key : unpack(t, call(t, keys, {}))) dict_set(t, v, key, get_item(t, other, key));
      return;
    }
  }
  for (Value* pair : unpack(t, other)) {
    Values two = unpack(t, pair);
    if (two.size() != 2) t.raise(PyExc_ValueError, "dictionary update sequence element has a wrong length");
    dict_set(t, v, two[0], two[1]);
  }
}

}  // namespace vitrine::capture
