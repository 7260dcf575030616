// functools.lru_cache: what the cache has kept is given again, as eager does, and the hit is counted when the
// segment has run. What it does not hold is computed here, and once more for real behind the segment, so that
// the cache holds it and has counted as eager's.
#include <algorithm>

#include "core/base/once.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static void note_cached_call(Tracer& t, Value* function, const Arguments& arguments, Values objects);

namespace {

// Told apart by identity, and what it does is guarded where it is called.
bool is_code(PyObject* o) {
  return PyModule_Check(o) || PyType_Check(o) || PyCallable_Check(o);
}

// The parts of a cached function, as CPython's garbage collector sees them (3.11 to 3.13): key, result and
// class of each entry of a limited cache, then the cache itself, the function, the mark between positional
// and keyword arguments, two classes, and the function's own __dict__.
struct Cache {
  PyRef parts;
  PyObject* entries =
      nullptr;  // dict: key -> result, or an entry of a limited cache; nullptr: not as expected
  PyObject* mark = nullptr;
  PyTypeObject* entry = nullptr;
  int64_t limit = -1;  // how many it holds at most; -1 = any number
};

Cache cache_of(PyObject* function) {
  Cache c;
  static constinit Once<PyObject*> kept_referents;
  PyObject* const referents = kept_referents.get([] { return find_object("gc.get_referents"); });
  c.parts = PyRef(PyObject_CallOneArg(referents, function));
  PyRef parameters(PyObject_CallMethod(function, "cache_parameters", nullptr));
  PyErr_Clear();
  const Py_ssize_t n = c.parts ? PyList_GET_SIZE(c.parts.get()) : 0;
  if (n < 6 || !parameters || !PyDict_Check(parameters.get())) return c;
  const auto part = [&](Py_ssize_t from_end) { return PyList_GET_ITEM(c.parts.get(), n - from_end); };
  PyObject* typed = PyDict_GetItemString(parameters.get(), "typed");
  PyObject* limit = PyDict_GetItemString(parameters.get(), "maxsize");
  const bool as_expected = PyDict_CheckExact(part(6)) && PyCallable_Check(part(5)) &&
                           Py_TYPE(part(4)) == &PyBaseObject_Type && PyType_Check(part(3)) &&
                           PyType_Check(part(2)) && PyDict_CheckExact(part(1));
  if (!as_expected || typed != Py_False || !limit) return c;
  if (limit != Py_None) c.limit = PyLong_AsLongLong(limit);
  c.mark = part(4);
  c.entry = reinterpret_cast<PyTypeObject*>(part(3));
  c.entries = part(6);
  return c;
}

// lru_cache(typed=True).
bool tells_types_apart(PyObject* function) {
  PyRef parameters(PyObject_CallMethod(function, "cache_parameters", nullptr));
  PyErr_Clear();
  return parameters && PyDict_Check(parameters.get()) &&
         PyDict_GetItemString(parameters.get(), "typed") == Py_True;
}

// What functools makes of the arguments: the only one if it is a text or an int, else the tuple of all.
PyObject* cache_key(const Cache& c, const Values& objects, const Arguments& a) {
  const size_t n = a.positional.size();
  if (n == 1 && a.keyword.empty() &&
      (PyUnicode_CheckExact(objects[0]->obj) || PyLong_CheckExact(objects[0]->obj)))
    return Py_NewRef(objects[0]->obj);
  PyRef list(PyList_New(0));
  for (size_t i = 0; i < objects.size(); ++i) {
    if (i == n) PyList_Append(list.get(), c.mark);
    if (i >= n) {
      PyRef name(PyUnicode_FromString(a.keyword[i - n].first.c_str()));
      PyList_Append(list.get(), name.get());
    }
    PyList_Append(list.get(), objects[i]->obj);
  }
  return PyList_AsTuple(list.get());
}

// Borrowed from the cache; nullptr: not found.
PyObject* result_of(const Cache& c, PyObject* entry) {
  if (Py_TYPE(entry) != c.entry) return entry;
  PyObject *key, *value, *stored = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(c.entries, &at, &key, &value);)
    if (value == entry) stored = key;
  for (Py_ssize_t i = 0; i + 6 < PyList_GET_SIZE(c.parts.get()); ++i)
    if (PyList_GET_ITEM(c.parts.get(), i) == stored &&
        PyList_GET_ITEM(c.parts.get(), i + 2) == reinterpret_cast<PyObject*>(c.entry))
      return PyList_GET_ITEM(c.parts.get(), i + 1);
  return nullptr;
}

// Eager calls it now, too: what it does can be noticed.
[[noreturn]] void stop_uncached(const char* what) {
  stop("unsupported_value", std::string("a call that its function's cache does not hold, and that ") + what,
       "From the next call with these arguments on, the cache answers without a break.");
}

// What has no hash is refused by the cache, and what is equal to what was given before (1 and True) is not
// computed anew: both are left to the cache itself.
void check_cache_keys(const std::vector<CacheHit>& before, Value* function, size_t positional,
                      const Values& objects) {
  for (Value* v : objects)
    if (v->is(ValueKind::Constant) && PyObject_Hash(v->obj) == -1) {
      PyErr_Clear();
      stop("exception", "a cached function is given what has no hash");
    }
  for (const CacheHit& hit : before) {
    if (hit.function != function->obj || hit.positional != positional || hit.objects.size() != objects.size())
      continue;
    bool equal = true, same = true;
    for (size_t i = 0; i < objects.size() && equal; ++i) {
      PyObject *then = hit.objects[i]->obj, *now = objects[i]->obj;
      equal = PyObject_RichCompareBool(then, now, Py_EQ) == 1;
      same = same && (then == now || repr_of(then, 1000) == repr_of(now, 1000));
    }
    PyErr_Clear();
    if (equal && !same) stop_uncached("was called with equal arguments before");
  }
}

}  // namespace

// The arguments as the cache compares them; empty objects: something that it is not known to hold.
static bool cache_arguments(Tracer& t, const Arguments& a, Values* objects) {
  Values given = a.positional;
  for (const auto& [key, value] : a.keyword) given.push_back(value);
  for (Value* v : given) {
    v = t.look(v);
    if (v->is(ValueKind::Object) && v->obj && v->source && v->cls->tp_hash == PyBaseObject_Type.tp_hash) {
      objects->push_back(v);
      continue;
    }
    PyObject* tree = constant_tree(t, v);
    PyErr_Clear();
    if (!tree) return false;
    const PyRef hold(tree);
    objects->push_back(t.constant(tree));
  }
  return true;
}

// nullptr: the cache does not hold it, or cannot be read.
static Value* cached_result(Tracer& t, Value* function, const Arguments& a) {
  Values objects;
  if (!cache_arguments(t, a, &objects)) return nullptr;
  const Cache cache = cache_of(function->obj);
  if (!cache.entries) return nullptr;
  PyObject* key = t.keep(cache_key(cache, objects, a));
  PyObject* entry = PyDict_GetItemWithError(cache.entries, key);
  PyErr_Clear();
  if (!entry) {
    t.pure.not_cached.emplace_back(PyRef(Py_NewRef(cache.entries)), PyRef(Py_NewRef(key)));
    return nullptr;
  }
  // A full cache uses its entries again for other keys.
  if (cache.limit >= 0 && PyDict_GET_SIZE(cache.entries) >= cache.limit) return nullptr;
  PyObject* result = result_of(cache, entry);
  if (!result) return nullptr;
  for (Value* v : objects)
    if (v->is(ValueKind::Object) && !v->pinned)
      t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + describe(t, v));
  const Source* held =
      t.sources().make(SourceKind::Constant, nullptr, -1, describe(t, function) + ".cache", cache.entries);
  if (cache.limit >= 0)
    t.guard(GuardKind::LengthBelow, held, nullptr, cache.limit, "", nullptr,
            "less than " + std::to_string(cache.limit));
  t.guard(GuardKind::Identity, t.sources().make(SourceKind::Item, held, -1, repr_of(key, 60), key), entry, 0,
          "", nullptr, "is still kept");
  note_cached_call(t, function, a, std::move(objects));
  return t.pinned(result);
}

// warning_once and its like: there is nothing to compute, and the message comes behind the segment.
static bool only_logs(Value* function, const Values& objects) {
  if (objects.empty() || !objects[0]->is(ValueKind::Object)) return false;
  const PyRef only(PyObject_CallFunctionObjArgs(find_object("vitrine._polyfills.library.only_logs"),
                                                function->obj, objects[0]->obj, nullptr));
  PyErr_Clear();
  return only.get() == Py_True;
}

// Behind the segment it is called. What a cached function calls, it calls itself then.
void note_cached_call(Tracer& t, Value* function, const Arguments& a, Values objects) {
  if (t.pure.cached_since < 0)
    t.pure.cache_hits.push_back({function->obj, a.positional.size(), std::move(objects), a});
}

// A hit counts, and makes its entry the youngest; a miss makes one.
std::vector<Effect> cache_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  for (const CacheHit& hit : t.pure.cache_hits) {
    PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(hit.positional))), keyword(PyDict_New());
    for (size_t i = 0; i < hit.objects.size(); ++i) {
      PyObject* o = hit.objects[i]->obj;
      if (i < hit.positional)
        PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(o));
      else
        PyDict_SetItemString(keyword.get(), hit.arguments.keyword[i - hit.positional].first.c_str(), o);
    }
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object("vitrine._polyfills.library.call_again"), {});
    for (PyObject* o : {hit.function, positional.get(), keyword.get()})
      e.value.children.push_back(make.constant(o));
    out.push_back(std::move(e));
  }
  return out;
}

// The next call finds it in the cache: then the segment need not end here.
void guard_not_cached(Tracer& t, const NotCached& keys) {
  for (const auto& [entries, key] : keys)
    t.guard(GuardKind::DictContains, constant_source(t, entries.get()), key.get(), 0, "", nullptr,
            "has not kept " + repr_of(key.get(), 40));
}

// The cache only saves time when the function depends on nothing but its arguments, changes nothing and gives
// a constant; anything else shows what the cache has kept.
Value* call_cached(Tracer& t, Value* function, Arguments a) {
  const size_t known = t.pure.not_cached.size();
  if (tells_types_apart(function->obj)) stop_uncached("tells arguments apart by their class");
  if (Value* kept = cached_result(t, function, a)) return kept;
  Values objects;
  if (!cache_arguments(t, a, &objects) && t.pure.cached_since < 0)
    stop("unsupported_value", "a cached function is given what was made here");
  check_cache_keys(t.pure.cache_hits, function, a.positional.size(), objects);
  if (t.pure.cached_since < 0 && only_logs(function, objects)) {
    for (Value* v : objects)
      if (v->is(ValueKind::Object) && !v->pinned)
        t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + describe(t, v));
    note_cached_call(t, function, a, std::move(objects));
    t.pure.not_cached.resize(known);
    return t.none();
  }
  Value* result = nullptr;
  {
    struct Since {
      int64_t& at;
      int64_t before;
      ~Since() { at = before; }
    } since{t.pure.cached_since, t.pure.cached_since};
    if (t.pure.cached_since < 0) t.pure.cached_since = t.values.count();
    result = t.look(call(t, load_attr(t, function, "__wrapped__"), a));
  }
  if (!result->is(ValueKind::Constant)) stop_uncached("returns an object");
  note_cached_call(t, function, a, std::move(objects));
  t.pure.not_cached.resize(known);  // nothing ended here
  return result;
}

void check_cached_read(Tracer& t, PyObject* o) {
  if (t.pure.cached_since >= 0 && o && !is_code(o)) stop_uncached("reads what may change");
}

void check_cached_write(Tracer& t, Value* v) {
  const int64_t since = t.pure.cached_since >= 0 ? t.pure.cached_since : t.pure.since;
  if (since < 0) return;
  if (v && !v->source && t.values.made_since(since, v)) return;
  if (t.pure.cached_since >= 0) stop_uncached("changes what it did not make");
  if (v && lend(t, v)) return;
  stop("unsupported_value", "a mapped function changes what it did not make");
}

}  // namespace vitrine::capture
