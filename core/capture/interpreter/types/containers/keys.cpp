// Keys of dicts and elements of sets: how a value is hashed, and what it is equal to.
#include <algorithm>

#include "core/base/once.h"
#include "core/base/words.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static PyObject* own_key(Tracer& t, Value* key);

// What id() gave of something that stays where it is, say.
static bool may_be_address(PyObject* number) {
  constexpr long long kLowest = 1 << 16;
  const long long n = PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : 0;
  if (n == -1) PyErr_Clear();
  return n >= kLowest;
}

PyObject* key_object(Tracer& t, Value* key) {
  key = t.look(key);
  switch (key->kind()) {
    case ValueKind::Constant:
      for (const ValueStore::OwnKey& known : t.values.own_keys)  // which may be equal to it
        if (PyObject_Hash(key->obj) == known.hash ||
            (may_be_address(key->obj) && is_kept_as(known.value, "Identity")))
          stop("unsupported_value", "a dict key with the hash of a " + describe(t, known.value));
      PyErr_Clear();
      return key->obj;
    case ValueKind::Tuple: {
      // A named tuple is equal to the plain one.
      pin_type(t, key->cls);
      const bool named = key->cls != &PyTuple_Type && !owner_of(key) &&
                         key->cls->tp_hash == PyTuple_Type.tp_hash &&
                         key->cls->tp_richcompare == PyTuple_Type.tp_richcompare;
      PyObject* tree = constant_tree(t, named ? t.tuple(unpack(t, key)) : key);
      if (!tree) stop("unsupported_value", "a dict key that is not a constant");
      return t.keep(tree);
    }
    case ValueKind::Object: {
      // Hashed by identity: the real object stands for itself.
      if (type_of(t, key)->tp_hash == PyBaseObject_Type.tp_hash) {
        if (key->obj && key->source && !key->pinned)
          guard_weakly(t, key->source, key->obj, "is the same object");
        if (key->obj) return key->obj;
        if (!key->as<ObjectValue>().stand_in)
          key->as<ObjectValue>().stand_in =
              PyRef(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
        return key->as<ObjectValue>().stand_in.get();
      }
      return own_key(t, key);
    }
    case ValueKind::Tensor: {
      // Hashed by identity, too: a tensor made here is its fake tensor.
      static constinit Once<PyObject*> kept_hash;
      PyObject* const hash = kept_hash.get([] { return find_object("torch.Tensor.__hash__"); });
      PyObject* own = PyDict_GetItemString(class_dict(torch_names().tensor), "__hash__");
      pin_type(t, key->cls);
      if (own == hash && key->cls->tp_hash == torch_names().tensor->tp_hash) {
        if (key->source) guard_weakly(t, key->source, real_of(key), "is the same tensor");
        return real_of(key) ? real_of(key) : key->obj;
      }
      [[fallthrough]];
    }
    default:
      stop("unsupported_value", with_article(describe(t, key)) + " as a dict key");
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
PyObject* own_key(Tracer& t, Value* key) {
  PyObject* method = key->obj ? nullptr : python_method(t, type_of(t, key), "__hash__");
  if (!method) stop("unsupported_value", with_article(key->cls->tp_name) + " as a dict key");
  struct Pure {
    int64_t& since;
    const int64_t before;
    ~Pure() { since = before; }
  } pure{t.pure.since, t.pure.since};
  if (t.pure.since < 0) t.pure.since = t.values.count();
  PyObject* number = const_object(t, call_special(t, key, method, {}));
  if (!number || !PyLong_CheckExact(number)) stop("unsupported_value", "a hash that is no constant");
  const Py_hash_t hash = hash_told(number);
  for (const ValueStore::OwnKey& known : t.values.own_keys)
    if (known.hash == hash && known.value == key) return known.fake_tensor;
  PyObject* fake_tensor = nullptr;
  for (size_t i = 0; i < t.values.own_keys.size() && !fake_tensor; ++i)
    if (t.values.own_keys[i].hash == hash && truth(t, compare(t, Py_EQ, t.values.own_keys[i].value, key)))
      fake_tensor = t.values.own_keys[i].fake_tensor;
  if (!fake_tensor)
    fake_tensor = t.keep(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  t.values.own_keys.push_back({key, hash, fake_tensor});
  return fake_tensor;
}

// Such a fake tensor is not found among keys that are there for real.
void check_own_keys(Tracer& t, Value* dict, Value* key) {
  Values keys;
  for (const auto& [each, value] : dict->dict().entries) keys.push_back(each);
  check_own_keys(t, dict->obj != nullptr, keys, key);
}

void check_own_keys(Tracer& t, bool from_before, const Values& keys, Value* key) {
  key = t.look(key);
  if (!key->is(ValueKind::Object) || key->cls->tp_hash == PyBaseObject_Type.tp_hash) return;
  const auto mine = std::find_if(t.values.own_keys.rbegin(), t.values.own_keys.rend(),
                                 [&](const ValueStore::OwnKey& known) { return known.value == key; });
  bool refused = from_before;
  for (Value* k : keys) {
    k = k ? resolve(k) : nullptr;
    if (!k || !k->is(ValueKind::Constant)) continue;
    refused = refused || mine == t.values.own_keys.rend() || PyObject_Hash(k->obj) == mine->hash ||
              (may_be_address(k->obj) && is_kept_as(key, "Identity")) ||
              (Py_TYPE(k->obj)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  }
  if (refused) stop("unsupported_value", with_article(key->cls->tp_name) + " as a dict key");
}

// Equal as a set or a dict sees it; a tensor is equal to itself alone.
bool same_key(Tracer& t, PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (torch_api::is_tensor(a) || torch_api::is_tensor(b)) return false;
  const int yes = PyObject_RichCompareBool(a, b, Py_EQ);
  if (yes < 0) t.raise_python();
  return yes;
}

}  // namespace vitrine::capture
