// Keys of dicts and elements of sets: how a value is hashed, and what it is equal to.
#include <algorithm>

#include "core/base/once.h"
#include "core/base/words.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// What id() gave of something that stays where it is, say.
static bool may_be_address(PyObject* number) {
  constexpr long long kLowest = 1 << 16;
  const long long n = PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : 0;
  if (n == -1) PyErr_Clear();
  return n >= kLowest;
}

PyObject* Tracer::key_object(Value* key) {
  key = look(key);
  switch (key->kind) {
    case Kind::Constant:
      for (const OwnKey& known : own_keys_)  // which may be equal to it
        if (PyObject_Hash(key->obj) == known.hash ||
            (may_be_address(key->obj) && is_kept_as(known.value, "Identity")))
          stop("unsupported_value", "a dict key with the hash of a " + describe(known.value));
      PyErr_Clear();
      return key->obj;
    case Kind::Tuple: {
      // A named tuple is equal to the plain one.
      pin_type(key->cls);
      const bool named = key->cls != &PyTuple_Type && !key->owner &&
                         key->cls->tp_hash == PyTuple_Type.tp_hash &&
                         key->cls->tp_richcompare == PyTuple_Type.tp_richcompare;
      PyObject* tree = constant_tree(named ? tuple(unpack(key)) : key);
      if (!tree) stop("unsupported_value", "a dict key that is not a constant");
      return keep(tree);
    }
    case Kind::Object: {
      // Hashed by identity: the real object stands for itself.
      if (type_of(key)->tp_hash == PyBaseObject_Type.tp_hash) {
        if (key->obj && key->source && !key->pinned)
          guard_weakly(key->source, key->obj, "is the same object");
        if (key->obj) return key->obj;
        if (!key->twin)
          key->twin = Owned(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
        return key->twin.get();
      }
      return own_key(key);
    }
    case Kind::Tensor: {
      // Hashed by identity, too: a tensor made here is its fake tensor.
      static constinit Once<PyObject*> kept_hash;
      PyObject* const hash = kept_hash.get([] { return find_object("torch.Tensor.__hash__"); });
      PyObject* own = PyDict_GetItemString(class_dict(torch_names().tensor), "__hash__");
      pin_type(key->cls);
      if (own == hash && key->cls->tp_hash == torch_names().tensor->tp_hash) {
        if (key->source) guard_weakly(key->source, key->real, "is the same tensor");
        return key->real ? key->real : key->obj;
      }
      [[fallthrough]];
    }
    default:
      stop("unsupported_value", with_article(describe(key)) + " as a dict key");
  }
}

// What hash() gives of an object whose __hash__() gives this int.
Py_hash_t hash_told(PyObject* number) {
  const Py_ssize_t n = PyLong_AsSsize_t(number);
  if (n != -1) return n;
  const bool too_large = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  return too_large ? PyObject_Hash(number) : -2;
}

// An object whose class says how it is hashed and what it is equal to: equal ones share a fake tensor.
PyObject* Tracer::own_key(Value* key) {
  PyObject* method = key->obj ? nullptr : python_method(type_of(key), "__hash__");
  if (!method) stop("unsupported_value", with_article(key->cls->tp_name) + " as a dict key");
  struct Pure {
    int64_t& since;
    const int64_t before;
    ~Pure() { since = before; }
  } pure{pure_since_, pure_since_};
  if (pure_since_ < 0) pure_since_ = static_cast<int64_t>(values_.size());
  PyObject* number = const_object(call_special(key, method, {}));
  if (!number || !PyLong_CheckExact(number)) stop("unsupported_value", "a hash that is no constant");
  const Py_hash_t hash = hash_told(number);
  for (const OwnKey& known : own_keys_)
    if (known.hash == hash && known.value == key) return known.fake_tensor;
  PyObject* fake_tensor = nullptr;
  for (size_t i = 0; i < own_keys_.size() && !fake_tensor; ++i)
    if (own_keys_[i].hash == hash && truth(compare(Py_EQ, own_keys_[i].value, key)))
      fake_tensor = own_keys_[i].fake_tensor;
  if (!fake_tensor) fake_tensor = keep(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  own_keys_.push_back({key, hash, fake_tensor});
  return fake_tensor;
}

// Such a fake tensor is not found among keys that are there for real.
void Tracer::check_own_keys(Value* dict, Value* key) {
  Values keys;
  for (const auto& [each, value] : dict->dict->entries) keys.push_back(each);
  check_own_keys(dict->obj != nullptr, keys, key);
}

void Tracer::check_own_keys(bool from_before, const Values& keys, Value* key) {
  key = look(key);
  if (key->kind != Kind::Object || key->cls->tp_hash == PyBaseObject_Type.tp_hash) return;
  const auto mine = std::find_if(own_keys_.rbegin(), own_keys_.rend(),
                                 [&](const OwnKey& known) { return known.value == key; });
  bool refused = from_before;
  for (Value* k : keys) {
    k = k ? resolve(k) : nullptr;
    if (!k || k->kind != Kind::Constant) continue;
    refused = refused || mine == own_keys_.rend() || PyObject_Hash(k->obj) == mine->hash ||
              (may_be_address(k->obj) && is_kept_as(key, "Identity")) ||
              (Py_TYPE(k->obj)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  }
  if (refused) stop("unsupported_value", with_article(key->cls->tp_name) + " as a dict key");
}

// Equal as a set or a dict sees it; a tensor is equal to itself alone.
bool Tracer::same_key(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (torch_api::is_tensor(a) || torch_api::is_tensor(b)) return false;
  const int yes = PyObject_RichCompareBool(a, b, Py_EQ);
  if (yes < 0) raise_python();
  return yes;
}

}  // namespace vitrine::capture
