// Methods of builtin types, done on the shadow. One table a kind; what is not there is folded on constants or
// ends the segment.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

using Method = Value* (*)(Tracer& t, Value* self, const Arguments& a);
using Table = std::unordered_map<std::string, Method>;

Value* argument(Tracer& t, const Arguments& a, size_t i, const char* name = "", Value* otherwise = nullptr) {
  if (i < a.positional.size()) return a.positional[i];
  if (Value* v = *name ? a.find(name) : nullptr) return v;
  if (!otherwise) t.raise(PyExc_TypeError, "a method misses an argument");
  return otherwise;
}

Value* view(Tracer& t, Value* dict, PyTypeObject* cls) {
  Values items;
  for (auto [key, value] : t.dict_entries(dict))
    items.push_back(cls == &PyDictKeys_Type     ? key
                    : cls == &PyDictValues_Type ? value
                                                : t.tuple({key, value}));
  Value* v = t.sequence(Kind::Tuple, std::move(items), cls);
  v->owner = dict;
  v->version = dict->version;
  return v;
}

Value* dict_pop(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  Value* found = t.dict_get(self, key);
  if (!found) {
    if (a.positional.size() > 1) return a.positional[1];
    t.raise(PyExc_KeyError, t.describe(key));
  }
  t.dict_remove(self, key);
  return found;
}

Value* dict_update_method(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty()) t.dict_update(self, a.positional[0]);
  for (auto& [key, value] : a.keyword) t.dict_set(self, t.text(key), value);
  return t.none();
}

Value* dict_init(Tracer& t, Value* self, const Arguments& a) {
  if (!PyType_IsSubtype(self->cls, torch_names().default_dict) || a.positional.empty())
    return dict_update_method(t, self, a);
  if (self->obj) stop("side_effect", "__init__() of a defaultdict that exists already");
  self->attrs.emplace_back("default_factory", a.positional[0]);
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin());
  return dict_update_method(t, self, rest);
}

Value* dict_copy(Tracer& t, Value* self, const Arguments&) {
  if (PyType_IsSubtype(self->cls, torch_names().default_dict))
    stop("unsupported_builtin", "copy() of " + t.describe(self));
  Value* copy =
      t.new_dict(PyType_IsSubtype(self->cls, torch_names().ordered_dict) ? self->cls : &PyDict_Type);
  t.dict_update(copy, self);
  return copy;
}

Value* dict_move_to_end(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  Value* value = t.dict_get(self, key);
  if (!value) t.raise(PyExc_KeyError, t.describe(key));
  if (!t.truth(argument(t, a, 1, "last", t.boolean(true))))
    stop("unsupported_builtin", "move_to_end(last=False)");
  t.dict_remove(self, key);
  t.dict_set(self, key, value);
  return t.none();
}

Value* dict_popitem(Tracer& t, Value* self, const Arguments& a) {
  auto entries = t.dict_entries(self);
  if (entries.empty()) t.raise(PyExc_KeyError, "dictionary is empty");
  const bool given = !a.positional.empty() || !a.keyword.empty();
  if (given && self->cls != torch_names().ordered_dict) stop("unsupported_builtin", "popitem(last=...)");
  const bool last = !given || t.truth(argument(t, a, 0, "last"));
  auto [key, value] = last ? entries.back() : entries.front();
  t.dict_remove(self, key);
  return t.tuple({key, value});
}

Value* dict_setdefault(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  if (Value* found = t.dict_get(self, key)) return found;
  Value* value = argument(t, a, 1, "default", t.none());
  t.dict_set(self, key, value);
  return value;
}

const Table& dict_methods() {
  static const Table table = {
      {"get",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         Value* found = t.dict_get(s, argument(t, a, 0));
         return found ? found : argument(t, a, 1, "default", t.none());
       }},
      {"keys", [](Tracer& t, Value* s, const Arguments&) { return view(t, s, &PyDictKeys_Type); }},
      {"values", [](Tracer& t, Value* s, const Arguments&) { return view(t, s, &PyDictValues_Type); }},
      {"items", [](Tracer& t, Value* s, const Arguments&) { return view(t, s, &PyDictItems_Type); }},
      {"pop", dict_pop},
      {"popitem", dict_popitem},
      {"setdefault", dict_setdefault},
      {"update", dict_update_method},
      {"copy", dict_copy},
      {"move_to_end", dict_move_to_end},
      {"clear",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         t.dict_entries(s);
         t.dict_clear(s);
         return t.none();
       }},
      {"__init__", dict_init},
      {"__getitem__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         Value* found = t.dict_get(s, argument(t, a, 0));
         if (!found) t.raise(PyExc_KeyError, t.describe(argument(t, a, 0)));
         return found;
       }},
      {"__setitem__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.dict_set(s, argument(t, a, 0), argument(t, a, 1));
         return t.none();
       }},
      {"__delitem__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         if (!t.dict_remove(s, argument(t, a, 0))) t.raise(PyExc_KeyError, t.describe(argument(t, a, 0)));
         return t.none();
       }},
      {"__contains__",
       [](Tracer& t, Value* s, const Arguments& a) {
         return t.boolean(t.dict_get(s, argument(t, a, 0)) != nullptr);
       }},
      {"__len__", [](Tracer& t, Value* s, const Arguments&) { return t.integer(t.length(s)); }},
      {"__iter__",
       [](Tracer& t, Value* s, const Arguments&) {
         t.dict_entries(s);
         return t.new_iterator(IteratorKind::Keys, {s});
       }},
  };
  return table;
}

size_t place_of(Tracer& t, Value* self, Value* item) {
  t.guard_length(self);
  for (size_t i = 0; i < self->items.size(); ++i)
    if (t.same_or_equal(self->items[i], item)) return i;
  return self->items.size();
}

Value* list_pop(Tracer& t, Value* self, const Arguments& a) {
  t.guard_length(self);
  const auto n = static_cast<int64_t>(self->items.size());
  int64_t i = a.positional.empty() ? n - 1 : t.int_of(a.positional[0], "a list index");
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, "pop index out of range");
  t.touch(self);
  Value* item = self->items[static_cast<size_t>(i)];
  self->items.erase(self->items.begin() + i);
  return item;
}

Value* list_insert(Tracer& t, Value* self, const Arguments& a) {
  t.guard_length(self);
  const auto n = static_cast<int64_t>(self->items.size());
  int64_t i = t.int_of(argument(t, a, 0), "a list index");
  if (i < 0) i = std::max<int64_t>(0, i + n);
  i = std::min(i, n);
  t.touch(self);
  self->items.insert(self->items.begin() + i, argument(t, a, 1));
  return t.none();
}

Value* list_extend(Tracer& t, Value* self, const Arguments& a) {
  if (a.positional.size() != 1 || !a.keyword.empty()) stop("exception", "arguments of extend()");
  t.extend_list(self, a.positional[0]);
  return t.none();
}

Value* list_remove(Tracer& t, Value* self, const Arguments& a) {
  const size_t i = place_of(t, self, argument(t, a, 0));
  if (i == self->items.size()) t.raise(PyExc_ValueError, "list.remove(x): x not in list");
  t.touch(self);
  self->items.erase(self->items.begin() + static_cast<long>(i));
  return t.none();
}

Value* index_method(Tracer& t, Value* self, const Arguments& a) {
  Value* item = argument(t, a, 0);
  t.guard_length(self);
  const auto n = static_cast<int64_t>(self->items.size());
  const auto bound = [&](size_t i, int64_t otherwise) {
    if (i >= a.positional.size()) return otherwise;
    const int64_t given = t.int_of(a.positional[i], "a list index");
    return std::clamp<int64_t>(given < 0 ? given + n : given, 0, n);
  };
  for (int64_t i = bound(1, 0), end = bound(2, n); i < end; ++i)
    if (t.same_or_equal(self->items[static_cast<size_t>(i)], item)) return t.integer(i);
  t.raise(PyExc_ValueError, self->kind == Kind::Tuple ? "tuple.index(x): x not in tuple"
                                                      : t.describe(item) + " is not in list");
}

Value* count_method(Tracer& t, Value* self, const Arguments& a) {
  int64_t n = 0;
  t.guard_length(self);
  for (Value* item : self->items) n += t.same_or_equal(item, argument(t, a, 0));
  return t.integer(n);
}

Value* list_sort(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty()) t.raise(PyExc_TypeError, "sort() takes no positional arguments");
  Arguments all = a;
  all.positional = {self};
  // Meanwhile the list is empty for whoever looks.
  t.guard_length(self);
  t.touch(self);
  all.positional = {t.list(std::exchange(self->items, {}))};
  const uint64_t version = self->version;
  bool known = false;
  try {
    self->items = t.call_builtin(find_object("builtins.sorted"), all, &known)->items;
  } catch (const RaiseSignal&) {
    stop("exception", "sort() is left by an exception");
  }
  if (self->version != version) t.raise(PyExc_ValueError, "list modified during sort", true);
  return t.none();
}

Value* extend_deque(Tracer& t, Value* self, Value* by, bool at_the_end) {
  if (t.look(by) == self) by = t.tuple(self->items);
  t.for_rest_of(t.iter(by), [&](Value* item) {
    t.touch(self);
    self->items.insert(at_the_end ? self->items.end() : self->items.begin(), item);
    t.limit_deque(self, at_the_end);
  });
  return t.none();
}

Value* get_item_method(Tracer& t, Value* self, const Arguments& a) {
  return t.get_held_item(self, argument(t, a, 0));
}

const Table& list_methods() {
  static const Table table = {
      {"append",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.guard_length(s);
         t.touch(s);
         s->items.push_back(argument(t, a, 0));
         return t.none();
       }},
      {"extend", list_extend},
      {"insert", list_insert},
      {"pop", list_pop},
      {"remove", list_remove},
      {"sort", list_sort},
      {"index", index_method},
      {"count", count_method},
      {"copy",
       [](Tracer& t, Value* s, const Arguments&) {
         t.guard_length(s);
         return t.list(s->items);
       }},
      {"clear",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         t.touch(s);
         s->items.clear();
         return t.none();
       }},
      {"reverse",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         t.touch(s);
         s->items = Values(s->items.rbegin(), s->items.rend());
         return t.none();
       }},
      {"__init__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         if (a.positional.size() > 1 || !a.keyword.empty())
           stop("exception", "list.__init__() with other arguments");
         const Values given = a.positional.empty() ? Values{} : t.unpack(a.positional[0]);
         t.guard_length(s);
         t.touch(s);
         s->items = given;
         return t.none();
       }},
      {"__len__", [](Tracer& t, Value* s, const Arguments&) { return t.integer(t.length(s)); }},
      {"__iter__",
       [](Tracer& t, Value* s, const Arguments&) {
         t.guard_length(s);
         return t.new_iterator(IteratorKind::Sequence, {s});
       }},
  };
  return table;
}

Value* deque_copy(Tracer& t, Value* self, const Arguments&) {
  t.guard_length(self);
  Value* copy = t.sequence(Kind::List, self->items, torch_names().deque);
  copy->limit = self->limit;
  return copy;
}

// Says otherwise than a list what it does not find.
template <Method of_list>
Value* found_in_deque(Tracer& t, Value* self, const Arguments& a) {
  if (a.positional.size() != 1 || place_of(t, self, a.positional[0]) == self->items.size())
    stop("exception", "a deque does not hold what is looked for");
  return of_list(t, self, a);
}

// What a deque has besides; of what a list has, it lacks sort().
const Table& deque_methods() {
  static const Table table = {
      {"append",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.touch(s);
         s->items.push_back(argument(t, a, 0));
         t.limit_deque(s, true);
         return t.none();
       }},
      {"appendleft",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.touch(s);
         s->items.insert(s->items.begin(), argument(t, a, 0));
         t.limit_deque(s, false);
         return t.none();
       }},
      {"extend",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         return extend_deque(t, s, argument(t, a, 0), true);
       }},
      {"insert",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.guard_length(s);
         if (s->limit >= 0 && static_cast<int64_t>(s->items.size()) >= s->limit)
           t.raise(PyExc_IndexError, "deque already at its maximum size", true);
         return list_insert(t, s, a);
       }},
      {"extendleft",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         return extend_deque(t, s, argument(t, a, 0), false);
       }},
      {"popleft",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         if (s->items.empty()) t.raise(PyExc_IndexError, "pop from an empty deque", true);
         t.touch(s);
         Value* item = s->items.front();
         s->items.erase(s->items.begin());
         return item;
       }},
      {"pop",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         if (s->items.empty()) t.raise(PyExc_IndexError, "pop from an empty deque", true);
         t.touch(s);
         Value* item = s->items.back();
         s->items.pop_back();
         return item;
       }},
      {"rotate",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         const auto n = static_cast<int64_t>(s->items.size());
         const int64_t by = t.int_of(argument(t, a, 0, "", t.integer(1)), "how far to rotate");
         t.touch(s);
         if (n > 0) std::rotate(s->items.begin(), s->items.end() - ((by % n + n) % n), s->items.end());
         return t.none();
       }},
      {"sort", [](Tracer&, Value*, const Arguments&) -> Value* { stop("exception", "a deque is sorted"); }},
      {"__init__",
       [](Tracer&, Value*, const Arguments&) -> Value* {
         stop("unsupported_builtin", "__init__() of a deque that exists already");
       }},
      {"remove", found_in_deque<list_remove>},
      {"index", found_in_deque<index_method>},
      {"copy", deque_copy},
      {"__copy__", deque_copy},
  };
  return table;
}

const Table& tuple_methods() {
  static const Table table = {
      {"index", index_method},
      {"count", count_method},
      {"__init__", [](Tracer& t, Value*, const Arguments&) { return t.none(); }},
      {"__len__", [](Tracer& t, Value* s, const Arguments&) { return t.integer(t.length(s)); }},
      {"__iter__",
       [](Tracer& t, Value* s, const Arguments&) {
         t.guard_length(s);
         return t.new_iterator(IteratorKind::Sequence, {s});
       }},
      {"numel",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         Value* product = t.integer(1);
         for (Value* d : s->items) product = t.binary("mul", product, d);
         return product;
       }},
  };
  return table;
}

Value* set_add(Tracer& t, Value* self, const Arguments& a) {
  t.set_insert(self, argument(t, a, 0));
  return t.none();
}

Value* set_update(Tracer& t, Value* self, const Arguments& a) {
  for (Value* more : a.positional) t.set_insert_all(self, more);
  return t.none();
}

Value* union_of_sets(Tracer& t, Value* self, const Values& others) {
  Value* made = t.sequence(Kind::Set, {});
  t.set_insert_all(made, self);
  for (Value* each : others) t.set_insert_all(made, each);
  return made;
}

Value* set_discard(Tracer& t, Value* self, const Arguments& a) {
  t.take_from_set(self, t.key_object(argument(t, a, 0)));
  return t.none();
}

// What x.difference_update(y, ...) and its like do is what x -= set(y) does. Of an intersection with what is
// no set the order is another one.
constexpr const char *kSub = "isub", *kAnd = "iand", *kXor = "ixor";
template <const char* const& Operator>
Value* set_changed(Tracer& t, Value* self, const Arguments& a) {
  if (self->cls != &PySet_Type) stop("unsupported_builtin", "a set's class of its own is changed by others");
  for (Value* other : a.positional) {
    other = t.look(other);
    if (other->kind != Kind::Set) {
      if (Operator == kAnd) stop("unsupported_value", "the intersection of a set and of what is none");
      other = t.call(t.pinned(reinterpret_cast<PyObject*>(&PySet_Type)), {{other}, {}});
    }
    t.binary(Operator, self, other);
  }
  return t.none();
}

Value* set_remove(Tracer& t, Value* self, const Arguments& a) {
  if (!t.take_from_set(self, t.key_object(argument(t, a, 0))))
    stop("exception", "a set does not hold what is removed");
  return t.none();
}

// Which of several is the first is not known.
Value* set_pop(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty() || self->items.size() != 1)
    stop("unsupported_builtin", "pop() of a set of several");
  return t.take_from_set(self, t.key_object(self->items[0]));
}

const Table& set_methods() {
  static const Table table = {
      {"add", set_add},
      {"update", set_update},
      {"discard", set_discard},
      {"remove", set_remove},
      {"pop", set_pop},
      {"clear",
       [](Tracer& t, Value* s, const Arguments&) {
         t.set_clear(s);
         return t.none();
       }},
      {"difference_update", set_changed<kSub>},
      {"intersection_update", set_changed<kAnd>},
      {"symmetric_difference_update", set_changed<kXor>},
      {"__init__",
       [](Tracer&, Value*, const Arguments&) -> Value* {
         stop("unsupported_builtin", "__init__() of a set that exists already");
       }},
      {"__contains__",
       [](Tracer& t, Value* s, const Arguments& a) { return t.boolean(t.contains(s, argument(t, a, 0))); }},
      {"__len__", [](Tracer& t, Value* s, const Arguments&) { return t.integer(t.length(s)); }},
  };
  return table;
}

// The first of its classes that is not written in Python.
PyTypeObject* native_class(PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_base) type = type->tp_base;
  return type;
}

// Exceptions that are made of any arguments, and hold nothing else.
bool is_plain_exception(PyTypeObject* type) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  const PyTypeObject* native = native_class(type);
  const bool plain = native->tp_new == base->tp_new && native->tp_init == base->tp_init;
  const auto is = [&](PyObject* other) { return native == reinterpret_cast<PyTypeObject*>(other); };
  return plain || is(PyExc_StopIteration) || is(PyExc_SystemExit) || is(PyExc_ImportError) ||
         is(PyExc_ModuleNotFoundError) || is(PyExc_AttributeError) || is(PyExc_NameError) ||
         is(PyExc_UnboundLocalError);
}

// What object.__init__ says where nobody takes the arguments.
void check_object_init(Tracer& t, PyTypeObject* cls, const Arguments& a) {
  if (a.positional.empty() && a.keyword.empty()) return;
  const bool own_init = cls->tp_init != PyBaseObject_Type.tp_init;
  if (!own_init && cls->tp_new != PyBaseObject_Type.tp_new) return;
  t.raise(PyExc_TypeError,
          (own_init ? "object" : std::string(cls->tp_name)) +
              ".__init__() takes exactly one argument (the instance to initialize)",
          true);
}

// What object itself offers.
const Table& object_methods() {
  static const Table table = {
      {"__init__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         if (s->cls && PyType_IsSubtype(s->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException))) {
           if (s->obj) stop("side_effect", "__init__() of an exception that exists already");
           if (!a.keyword.empty()) stop("exception", "keywords of __init__() of a " + t.describe(s));
           s->items = a.positional;
           s->worded = true;
         } else if (s->cls && native_class(s->cls)->tp_init != PyBaseObject_Type.tp_init) {
           stop("unsupported_builtin", "__init__() of a " + t.describe(s));
         } else if (s->cls) {
           check_object_init(t, s->cls, a);
         }
         return t.none();
       }},
      {"__setattr__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.generic_set(s, t.str_of(argument(t, a, 0), false), argument(t, a, 1));
         return t.none();
       }},
      {"__delattr__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         t.generic_del(s, t.str_of(argument(t, a, 0), false));
         return t.none();
       }},
      {"__getattribute__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         const std::string name = t.str_of(argument(t, a, 0), false);
         Value* found = t.generic_get(s, name, false);
         if (!found) t.raise(PyExc_AttributeError, t.describe(s) + " has no attribute '" + name + "'");
         return found;
       }},
      {"__init_subclass__", [](Tracer& t, Value*, const Arguments&) { return t.none(); }},
      {"__eq__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         if (t.type_of(s) && t.type_of(s)->tp_richcompare != PyBaseObject_Type.tp_richcompare)
           stop("unsupported_builtin", "__eq__ of a " + t.describe(s));
         return t.same(s, argument(t, a, 0)) ? t.boolean(true) : t.constant(Py_NotImplemented);
       }},
      {"__getitem__", get_item_method},
  };
  return table;
}

// What object.__new__ says where nobody takes the arguments.
void check_object_new(Tracer& t, PyTypeObject* cls, const Arguments& a) {
  if (a.positional.size() + a.keyword.size() < 2) return;
  if (cls->tp_new != PyBaseObject_Type.tp_new)
    t.raise(PyExc_TypeError, "object.__new__() takes exactly one argument (the type to instantiate)", true);
  if (cls->tp_init == PyBaseObject_Type.tp_init)
    t.raise(PyExc_TypeError, std::string(cls->tp_name) + "() takes no arguments", true);
}

Value* new_object(Tracer& t, const Arguments& a) {
  PyObject* o = a.positional.empty() ? nullptr : t.const_object(a.positional[0]);
  if (!o || !PyType_Check(o)) stop("unsupported_value", "__new__ of something that is no class");
  auto* cls = reinterpret_cast<PyTypeObject*>(o);
  t.pin_type(cls);
  if (PyType_IsSubtype(cls, &PyDict_Type)) return t.new_dict(cls);
  if (PyType_IsSubtype(cls, &PyList_Type)) return t.sequence(Kind::List, {}, cls);
  if (PyType_IsSubtype(cls, &PyTuple_Type))
    return t.sequence(Kind::Tuple, a.positional.size() > 1 ? t.listed(a.positional[1]) : Values{}, cls);
  if (!(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) && cls != &PyBaseObject_Type &&
      !PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    stop("unsupported_builtin", std::string("an object of class ") + cls->tp_name + " is made");
  if (native_class(cls) == &PyBaseObject_Type) check_object_new(t, cls, a);
  if (PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_OSError)))
    stop("exception", "an OSError may become one of its subclasses");
  if (PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) && !is_plain_exception(cls))
    stop("exception", std::string("a ") + cls->tp_name + " is made");
  if (cls->tp_flags & Py_TPFLAGS_IS_ABSTRACT) {
    const Owned nothing(PyTuple_New(0)), made(PyBaseObject_Type.tp_new(cls, nothing.get(), nullptr));
    t.raise_python();  // which methods it lacks
  }
  Value* v = t.make(Kind::Object);
  v->cls = cls;
  v->typed = true;
  return v;
}

}  // namespace

Value* Tracer::call_method(Value* self, const std::string& name, const Arguments& a) {
  self = look(self);
  if (name == "__new__") return new_object(*this, a);
  const Table* table = self->kind == Kind::Dict    ? &dict_methods()
                       : self->kind == Kind::List  ? &list_methods()
                       : self->kind == Kind::Tuple ? &tuple_methods()
                       : self->kind == Kind::Set   ? &set_methods()
                                                   : nullptr;
  if (table) check_accepted(lookup(type_of(self), name), a.positional.size() + 1, a);
  if (self->kind == Kind::List && self->cls == torch_names().deque)
    if (auto found = deque_methods().find(name); found != deque_methods().end())
      return found->second(*this, self, a);
  if (table)
    if (auto found = table->find(name); found != table->end()) return found->second(*this, self, a);
  if (self->kind == Kind::Generator)
    if (Value* result = generator_method(self, name, a)) return result;
  if (self->kind == Kind::Iterator || self->kind == Kind::Generator) {
    if (name == "__iter__") return self;
    if (name == "__next__") {
      Value* item = next(self);
      if (!item) raise(PyExc_StopIteration, "");
      return item;
    }
    stop("generator", name + "() of an iterator");
  }
  if (self->kind != Kind::Constant || name == "__init__")
    if (auto found = object_methods().find(name); found != object_methods().end())
      return found->second(*this, self, a);
  if (name == "__getattribute__" && self->kind == Kind::Constant && PyModule_Check(self->obj))
    return load_attr(self, str_of(argument(*this, a, 0), false));
  if (name == "__get__" && self->kind == Kind::Constant && PyFunction_Check(self->obj)) {
    if (is_none(argument(*this, a, 0))) return self;
    Value* m = make(Kind::Method);
    m->items = {self, argument(*this, a, 0)};
    m->cls = &PyMethod_Type;
    return m;
  }
  static constinit Once<PyObject*> kept_random;
  auto* const random =
      reinterpret_cast<PyTypeObject*>(kept_random.get([] { return find_object("random.Random"); }));
  if (self->kind == Kind::Object && self->cls == random) {
    if (name == "random") return draw(self, name, a);
    if (name == "getrandbits")
      stop("side_effect", "an int is drawn at random, which the program itself looks at",
           "Draw it outside the compiled function, or as a tensor: torch.randint.");
  }
  // Everything that only reads constants: done for real. A compiled regular expression is one, and a match.
  const bool pattern = is_regular_expression(self);
  Owned target(pattern ? Py_NewRef(known_object(self)) : constant_tree(self));
  PyErr_Clear();
  Owned positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  bool constant = static_cast<bool>(target) &&
                  (self->kind != Kind::Constant || Py_TYPE(self->obj) != torch_names().lru_cache_wrapper) &&
                  (self->kind != Kind::Constant || !PyType_Check(self->obj)) &&
                  (self->kind != Kind::Constant || !PyModule_Check(self->obj));
  for (size_t i = 0; constant && i < a.positional.size(); ++i) {
    Value* v = look(a.positional[i]);
    if (v->kind == Kind::Iterator || v->kind == Kind::Generator) v = list(unpack(v));
    PyObject* o = constant_tree(v);
    constant = o && !PyFunction_Check(o);  // one that it would call is the program's own
    if (o) PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), o);
  }
  Owned keyword(PyDict_New());
  for (const auto& [key, value] : a.keyword) {
    Owned o(constant ? constant_tree(value) : nullptr);
    constant = constant && o && !PyFunction_Check(o.get());
    if (o) PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
  }
  PyErr_Clear();
  const bool changes = !pattern && self->kind != Kind::Constant && self->kind != Kind::Tuple &&
                       self->kind != Kind::Set && self->kind != Kind::Slice;
  const bool pure_set =
      self->kind == Kind::Set &&
      (name == "union" || name == "intersection" || name == "difference" || name == "issubset" ||
       name == "issuperset" || name == "isdisjoint" || name == "copy" || name == "symmetric_difference");
  if (!constant && name == "union" && self->cls == &PySet_Type && a.keyword.empty())
    return union_of_sets(*this, self, a.positional);
  if (!constant && self->kind == Kind::Constant && PyUnicode_CheckExact(self->obj) && name == "format")
    return format_text(self->obj, a);
  if (!constant || changes || (self->kind == Kind::Set && !pure_set))
    stop("unsupported_builtin", "method " + name + " of " + describe(self));
  Owned method(PyObject_GetAttrString(target.get(), name.c_str()));
  if (!method) raise_python();
  Owned result(PyObject_Call(method.get(), positional.get(), keyword.get()));
  if (result && is_of_regular_expressions(result.get())) return pinned(result.get());
  return fold(result.release());
}

}  // namespace vitrine::capture
