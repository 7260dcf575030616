// Iterators: made here, or found on the frame's stack; all are walked symbolically.
#include "core/base/words.h"
#include "core/capture/interpreter/commit/iterated.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

namespace {

int64_t live_entries(const Value* dict) {
  int64_t n = 0;
  for (const auto& entry : dict->dict->entries) n += entry.first != nullptr;
  return n;
}

// The deque behind an iterator; nullptr for every other iterator.
const Value* iterated_deque(const IteratorState& s) {
  const bool walks = s.kind == IteratorKind::Sequence || s.kind == IteratorKind::Reversed;
  const Value* over = walks && !s.children.empty() ? s.children[0] : nullptr;
  while (over && over->forward) over = over->forward;
  return over && over->cls == torch_names().deque ? over : nullptr;
}

}  // namespace

Value* iterated_dict(const IteratorState& s) {
  if (s.children.empty()) return nullptr;
  Value* over = s.children[0];
  while (over->forward) over = over->forward;
  if (s.kind == IteratorKind::Sequence && over->kind == Kind::Tuple && over->owner) {
    over = over->owner;
    while (over->forward) over = over->forward;
  }
  return over->kind == Kind::Dict && (s.kind == IteratorKind::Keys || s.kind == IteratorKind::DictValues ||
                                      s.kind == IteratorKind::Entries || s.kind == IteratorKind::Sequence)
             ? over
             : nullptr;
}

Value* Tracer::new_iterator(IteratorKind kind, Values children) {
  Value* v = make(Kind::Iterator);
  v->iterator = std::make_unique<IteratorState>();
  v->iterator->kind = kind;
  v->iterator->children = std::move(children);
  if (Value* dict = iterated_dict(*v->iterator)) {
    v->iterator->stop = live_entries(dict);
    v->iterator->walked = dict->dict->keys_changed;
  }
  if (const Value* deque = iterated_deque(*v->iterator))
    v->iterator->stop = static_cast<int64_t>(deque->version);
  return v;
}

Value* Tracer::walk_set(Value* set, Value* in_order) {
  Value* v = new_iterator(IteratorKind::Sequence, {in_order});
  v->iterator->set = set;
  v->iterator->walked = set->version;
  v->iterator->stop = static_cast<int64_t>(set->items.size());
  return v;
}

// What a class's own __iter__ gives is the iterator itself, very often the object: it is not asked again.
Value* Tracer::made_iterator(Value* of, PyObject* method) {
  Value* made = look(call_special(of, method, {}));
  if (made->kind == Kind::Iterator || made->kind == Kind::Generator) return iter(made);
  if (made->kind == Kind::Object && (python_method(type_of(made), "__next__") || made->cls->tp_iternext))
    return made;
  raise(PyExc_TypeError,
        "iter() returned non-iterator of type '" + std::string(type_of(made)->tp_name) + "'");
}

Value* Tracer::iter(Value* v) {
  v = look(v);
  switch (v->kind) {
    case Kind::Iterator:
      return v;
    case Kind::Generator:
      return new_iterator(IteratorKind::Generator, {v});
    case Kind::Tensor: {
      if (int_of(tensor_method(v, "dim", nullptr, {}), "dim") == 0)
        raise(PyExc_TypeError, "iteration over a 0-d tensor");
      return iter(tensor_method(v, "unbind", nullptr, {{integer(0)}, {}}));
    }
    default:
      break;
  }
  if (v->cls && v->kind != Kind::Constant && v->kind != Kind::Slice)
    if (PyObject* method = python_method(type_of(v), "__iter__")) return made_iterator(v, method);
  switch (v->kind) {
    case Kind::Tuple:
    case Kind::List:
      guard_length(v);
      return new_iterator(IteratorKind::Sequence, {v});
    case Kind::Dict:
      dict_entries(v);
      return new_iterator(IteratorKind::Keys, {v});
    case Kind::Set:
      // The order of a set depends on its history, not only on its contents: of one that existed before, what
      // it gives is looked at item by item.
      if (v->items.size() > 1 && v->source && !v->mutated && PyAnySet_CheckExact(v->obj))
        return walk_set(v, set_in_order(v));
      if (v->items.size() > 1) {
        Value* in_order = v->source ? nullptr : set_made_here(v);
        if (!in_order) stop("unsupported_value", "iteration over a set: its order is not fixed");
        return walk_set(v, in_order);
      }
      return walk_set(v, tuple(v->items));
    case Kind::Constant: {
      if (PyRange_Check(v->obj) || PyUnicode_Check(v->obj) || PyBytes_Check(v->obj) || PyTuple_Check(v->obj))
        return new_iterator(IteratorKind::Range, {v});
      // A constant of the code is this very object; of another one only the contents are guarded, not the
      // order.
      if (PyFrozenSet_CheckExact(v->obj) && (!v->source || PySet_GET_SIZE(v->obj) <= 1)) {
        Owned items(PySequence_List(v->obj));
        if (!items) raise_python();
        return iter(fold(items.release()));
      }
      if (PyType_Check(v->obj) &&
          PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(v->obj), torch_names().enum_base)) {
        pin_type(reinterpret_cast<PyTypeObject*>(v->obj));
        Owned members(PySequence_List(v->obj));
        if (!members) raise_python();
        return iter(fold(members.release()));
      }
      if (!Py_TYPE(v->obj)->tp_iter)
        raise(PyExc_TypeError, "'" + std::string(Py_TYPE(v->obj)->tp_name) + "' object is not iterable");
      stop("unsupported_value", "iteration over " + describe(v));
    }
    case Kind::Object: {
      if (!v->cls->tp_iter && python_method(v->cls, "__getitem__"))
        return iter(call(pinned(find_object("vitrine._polyfills.standard_library.items_of")), {{v}, {}}));
      if (!v->cls->tp_iter) raise(PyExc_TypeError, describe(v) + " is not iterable");
      if (v->obj && v->cls->tp_iter == PyObject_SelfIter) return v;
      [[fallthrough]];
    }
    default:
      stop("unsupported_value", "iteration over " + describe(v));
  }
}

namespace {

// The next entry of a dict at or after `index`; -1 = none.
int64_t next_entry(Value* dict, int64_t index) {
  const auto& entries = dict->dict->entries;
  for (auto i = static_cast<size_t>(index); i < entries.size(); ++i)
    if (entries[i].first) return static_cast<int64_t>(i);
  return -1;
}

}  // namespace

namespace {

// What is asked of other iterators meanwhile, a real one that wraps them asks again when it is advanced.
struct Covered {
  int& depth;
  bool on;
  Covered(int& d, bool o) : depth(d), on(o) { depth += on; }
  ~Covered() { depth -= on; }
};

}  // namespace

Value* Tracer::next(Value* v, Value** returned) {
  v = look(v);
  const bool repeatable = v->kind == Kind::Iterator && v->iterator->kind != IteratorKind::Map &&
                          v->iterator->kind != IteratorKind::Filter;
  if (covered_ > 0 && !repeatable)
    stop("unsupported_value",
         "iteration over an enumerate() of a " + describe(v) + " from before this point");
  if (v->kind == Kind::Object) {
    PyObject* method = python_method(type_of(v), "__next__");
    if (!method && v->obj && PyGen_CheckExact(v->obj))
      stop("generator", "iteration over a generator from before this point");
    if (!method && v->cls->tp_iternext)
      stop("unsupported_value", "iteration over a " + describe(v) + " from before this point");
    if (!method) raise(PyExc_TypeError, describe(v) + " is not an iterator");
    try {
      return call_special(v, method, {});
    } catch (const RaiseSignal& signal) {
      if (signal.exception && signal.exception->cls == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) {
        if (returned && !signal.exception->items.empty()) *returned = signal.exception->items[0];
        return nullptr;
      }
      throw;
    }
  }
  if (v->kind == Kind::Generator) return resume(v, none(), returned);
  if (v->kind != Kind::Iterator) raise(PyExc_TypeError, describe(v) + " is not an iterator");
  IteratorState& s = *v->iterator;
  if (s.done) return nullptr;
  Value* first = s.children.empty() ? nullptr : resolve(s.children[0]);
  const auto finish = [&]() -> Value* {
    s.done = true;
    return nullptr;
  };
  if (const Value* dict = v->source ? nullptr : iterated_dict(s);
      dict && dict->dict->keys_changed != s.walked) {
    // Where an iterator over a dict of the same length goes on is up to the dict's table.
    if (dict->cls != &PyDict_Type || live_entries(dict) == s.stop)
      stop("unsupported_value", "the keys of a dict change under an iterator");
    raise(PyExc_RuntimeError, "dictionary changed size during iteration");
  }
  if (s.set && s.set->version != s.walked) {
    if (static_cast<int64_t>(s.set->items.size()) != s.stop)
      raise(PyExc_RuntimeError, "Set changed size during iteration", true);
    stop("unsupported_value", "a set changes under an iterator, and keeps its size");
  }
  if (const Value* deque = iterated_deque(s); deque && static_cast<int64_t>(deque->version) != s.stop)
    stop("exception", "a deque changes under an iterator");
  switch (s.kind) {
    case IteratorKind::Sequence: {
      if (s.index >= static_cast<int64_t>(first->items.size())) {
        if (v->source) {
          count_step(v);
          guard(GuardKind::Length, first->source, nullptr, s.index, "", nullptr, "nothing left");
        }
        return finish();
      }
      Value* item = first->items[static_cast<size_t>(s.index++)];
      if (v->source) {
        count_step(v);
        guard(GuardKind::LengthAtLeast, first->source, nullptr, s.index, "", nullptr,
              "at least " + std::to_string(s.index) + " left");
      }
      return item;
    }
    case IteratorKind::Keys:
    case IteratorKind::DictValues:
    case IteratorKind::Entries: {
      const int64_t at = next_entry(first, s.index);
      if (at < 0) return finish();
      s.index = at + 1;
      const auto& entry = first->dict->entries[static_cast<size_t>(at)];
      if (s.kind == IteratorKind::Keys) return entry.first;
      return s.kind == IteratorKind::DictValues ? entry.second : tuple({entry.first, entry.second});
    }
    case IteratorKind::Range: {
      if (s.index >= PyObject_Size(first->obj)) return finish();
      Owned at(PyLong_FromLongLong(s.index++));
      return fold(PyObject_GetItem(first->obj, at.get()));
    }
    case IteratorKind::Reversed: {
      if (s.index <= 0 || s.index > static_cast<int64_t>(first->items.size())) return finish();
      return first->items[static_cast<size_t>(--s.index)];
    }
    case IteratorKind::Enumerate: {
      if (v->source) count_step(v);
      const Covered covered(covered_, v->source != nullptr);
      Value* item = next(first);
      if (!item) return finish();
      return tuple({integer(s.index++), item});
    }
    case IteratorKind::Zip: {
      Values items;
      for (size_t i = 0; i < s.children.size(); ++i) {
        Value* item = next(s.children[i]);
        if (!item) {
          const auto differs = [&](size_t which, const char* how) {
            raise(PyExc_ValueError,
                  "zip() argument " + std::to_string(which + 1) + how + (which == 1 ? " " : "s 1-") +
                      std::to_string(which),
                  true);
          };
          if (s.strict && i > 0) differs(i, " is shorter than argument");
          if (s.strict)
            for (size_t j = 1; j < s.children.size(); ++j)
              if (next(s.children[j])) differs(j, " is longer than argument");
          return finish();
        }
        items.push_back(item);
      }
      if (s.children.empty()) return finish();
      return tuple(std::move(items));
    }
    case IteratorKind::Map: {
      Values items;
      for (Value* child : s.children) {
        Value* item = next(child);
        if (!item) return finish();
        items.push_back(item);
      }
      return call(s.function, {std::move(items), {}});
    }
    case IteratorKind::Filter:
      while (Value* item = next(first)) {
        const bool keep_it = is_none(s.function) ? truth(item) : truth(call(s.function, {{item}, {}}));
        if (keep_it) return item;
      }
      return finish();
    case IteratorKind::Chain: {
      if (v->source) count_step(v);
      const Covered covered(covered_, v->source != nullptr);
      while (true) {
        if (!s.inner) {
          Value* following = nullptr;
          if (v->source)  // an iterator over what is left
            following = next(first);
          else if (s.index < static_cast<int64_t>(s.children.size()))
            following = s.children[static_cast<size_t>(s.index++)];
          if (!following) return finish();
          s.inner = iter(following);
        }
        if (Value* item = next(s.inner)) return item;
        s.inner = nullptr;
      }
    }
    case IteratorKind::Count: {
      if (v->source) count_step(v);
      Value* now = s.children[0];
      s.children[0] = binary("add", now, s.children[1]);
      return now;
    }
    case IteratorKind::Repeat:
      if (s.index == 0) return finish();
      if (v->source) count_step(v);
      if (s.index > 0) --s.index;
      return first;
    case IteratorKind::Islice: {
      if (s.stop >= 0 && s.index >= s.stop) return finish();
      if (v->source) count_step(v);
      const Covered covered(covered_, v->source != nullptr);
      while (s.passed < s.index) {
        if (!next(first)) return finish();
        ++s.passed;
      }
      Value* item = next(first);
      if (!item) return finish();
      ++s.passed;
      s.index += s.step;
      return item;
    }
    case IteratorKind::Generator:
      return resume(first, none(), returned);
    case IteratorKind::Callable: {
      Value* item = call(s.function, {});
      if (truth(compare(Py_EQ, item, first))) return finish();
      return item;
    }
  }
  return nullptr;
}

Values Tracer::rest_of(Value* iterator) {
  Values items;
  for_rest_of(iterator, [&](Value* item) { items.push_back(item); });
  return items;
}

// iter(v), for all that it gives: like CPython, it asks how much that will be.
Value* Tracer::begin_listing(Value* v) {
  v = look(v);
  Value* iterator = iter(v);
  PyTypeObject* type = may_have_methods(v) ? type_of(v) : nullptr;
  for (const char* name : {"__len__", "__length_hint__"})
    if (PyObject* method = type ? python_method(type, name) : nullptr) {
      checked_length(v, method);
      break;
    }
  return iterator;
}

// What list(v) holds.
Values Tracer::listed(Value* v) {
  v = look(v);
  const bool native = v->kind == Kind::Tuple || v->kind == Kind::List;
  return native && !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE) ? unpack(v) : rest_of(begin_listing(v));
}

void Tracer::extend_list(Value* list, Value* by) {
  guard_length(list);
  by = look(by);
  if (by->kind != Kind::Iterator && by->kind != Kind::Generator && by->kind != Kind::Object) {
    const Values more = listed(by);
    touch(list);
    list->items.insert(list->items.end(), more.begin(), more.end());
    return;
  }
  Value* iterator = begin_listing(by);
  touch(list);
  for_rest_of(iterator, [&](Value* item) {
    touch(list);
    list->items.push_back(item);
  });
}

Values Tracer::unpack(Value* v) {
  v = look(v);
  const bool native = v->kind == Kind::Tuple || v->kind == Kind::List;
  if (native && !python_method(v->cls, "__iter__")) {
    guard_length(v);
    return v->items;
  }
  return rest_of(iter(v));
}

}  // namespace vitrine::capture
