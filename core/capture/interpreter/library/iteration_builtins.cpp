// Python's builtins that walk through iterables, or make iterators of them.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/generators.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/value_questions.h"

#include <algorithm>

#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

Value* builtin_sum(Tracer& t, const Arguments& a) {
  Value* total = need(t, a, 1, "start", t.integer(0));
  if (const Value* start = t.look(total); start->is(ValueKind::Constant) && PyUnicode_Check(start->obj))
    t.raise(PyExc_TypeError, "sum() can't sum strings [use ''.join(seq) instead]", true);
  Value* iterator = iter(t, need(t, a, 0));
  while (Value* item = next(t, iterator)) total = binary(t, "add", total, item);
  return total;
}

// The elements of an iterable whose order does not matter to the caller: a set's may be in any.
Values in_any_order(Tracer& t, const Arguments& a) {
  Value* v = t.look(need(t, a, 0));
  return v->is(ValueKind::Set) && (v->cls == &PySet_Type || v->cls == &PyFrozenSet_Type) ? v->items()
                                                                                         : listed(t, v);
}

// What is walked through once: each item is used before the next is asked for.
Value* walk_of(Tracer& t, Value* v) {
  v = t.look(v);
  return v->is(ValueKind::Set) && (v->cls == &PySet_Type || v->cls == &PyFrozenSet_Type)
             ? iter(t, t.tuple(v->items()))
             : iter(t, v);
}

Value* extreme(Tracer& t, const Arguments& a, int op, const char* name) {
  const bool by_key = a.find("key") && !is_none(t, a.find("key"));  // among equals the first is taken
  if (a.positional.size() > 1 && a.find("default"))
    t.raise(PyExc_TypeError,
            "Cannot specify a default for " + std::string(name) + "() with multiple positional arguments",
            true);
  Value* iterator = a.positional.size() != 1 ? iter(t, t.tuple(a.positional))
                    : by_key                 ? iter(t, a.positional[0])
                                             : walk_of(t, a.positional[0]);
  Value *best = nullptr, *best_rank = nullptr;
  while (Value* item = next(t, iterator)) {
    Value* rank = by_key ? call(t, a.find("key"), {{item}, {}}) : item;
    if (best && !truth(t, compare(t, op, rank, best_rank))) continue;
    best = item;
    best_rank = rank;
  }
  if (best) return best;
  if (Value* otherwise = a.find("default")) return otherwise;
  t.raise(PyExc_ValueError, std::string(name) + "() arg is an empty sequence");
}

Value* any_or_all(Tracer& t, const Arguments& a, bool all) {
  Value* iterator = iter(t, need(t, a, 0));
  while (Value* item = next(t, iterator))
    if (truth(t, item) != all) return t.boolean(!all);
  return t.boolean(all);
}

using Ranked = std::vector<std::pair<Value*, Value*>>;

// How many at the beginning are in order, once those that fall are turned round. CPython 3.13 lets equal ones
// stand among them.
template <class Less>
size_t first_run(Ranked& ranked, const Less& less) {
  const auto turn = [&](size_t first, size_t last) {
    std::reverse(ranked.begin() + static_cast<long>(first), ranked.begin() + static_cast<long>(last));
  };
  const size_t all = ranked.size();
  const auto rising = [&](size_t run) {
    while (run < all && !less(ranked[run], ranked[run - 1])) ++run;
    return run;
  };
  if (PY_VERSION_HEX < 0x030D0000) {
    const bool falls = less(ranked[1], ranked[0]);
    if (!falls) return rising(2);
    size_t run = 2;
    while (run < all && less(ranked[run], ranked[run - 1])) ++run;
    turn(0, run);
    return run;
  }
  size_t run = rising(1);
  if (run == all || (run > 1 && less(ranked[0], ranked[run - 1]))) return run;
  turn(0, run);  // all of them are equal
  size_t equal = 0;
  for (++run; run < all; ++run) {
    if (less(ranked[run], ranked[run - 1])) {
      if (equal > 0) turn(run - equal - 1, run);
      equal = 0;
    } else if (less(ranked[run - 1], ranked[run])) {
      break;
    } else {
      ++equal;
    }
  }
  if (equal > 0) turn(run - equal - 1, run);
  turn(0, run);
  return rising(run);
}

// Comparisons may be the program's own: they are those that CPython makes, in its order. What is in order at
// the beginning is found; everything else is put in its place by halving.
void sort_as_python(Tracer& t, Ranked& ranked) {
  const auto less = [&t](const auto& a, const auto& b) {
    return truth(t, compare(t, Py_LT, a.first, b.first));
  };
  constexpr size_t kOneRun = 64;  // CPython sorts more than that in several runs
  const bool own = std::any_of(ranked.begin(), ranked.end(), [](const auto& each) {
    return !resolve(each.first)->is(ValueKind::Constant);
  });
  if (own && ranked.size() >= kOneRun) stop("unsupported_builtin", "sorted() of many objects");
  if (ranked.size() < 2) return;
  for (size_t i = first_run(ranked, less); i < ranked.size(); ++i) {
    size_t left = 0, right = i;
    while (left < right) {
      const size_t middle = left + (right - left) / 2;
      if (less(ranked[i], ranked[middle]))
        right = middle;
      else
        left = middle + 1;
    }
    std::rotate(ranked.begin() + static_cast<long>(left), ranked.begin() + static_cast<long>(i),
                ranked.begin() + static_cast<long>(i) + 1);
  }
}

Value* builtin_sorted(Tracer& t, const Arguments& a) {
  Values items = in_any_order(t, a);
  Value *key = a.find("key"), *reverse = a.find("reverse");
  const bool down = reverse && truth(t, reverse);
  Ranked ranked;
  for (Value* item : items)
    ranked.emplace_back(key && !is_none(t, key) ? call(t, key, {{item}, {}}) : item, item);
  for (auto& [rank, item] : ranked)
    if (is_tensor(t.look(rank)))
      stop("data_dependent_branch", "sorted() compares tensors", "Stack them and use torch.sort().");
  if (down) std::reverse(ranked.begin(), ranked.end());
  sort_as_python(t, ranked);
  if (down) std::reverse(ranked.begin(), ranked.end());
  Values out;
  for (auto& [rank, item] : ranked) out.push_back(item);
  // Equal ranks stay in the order in which they came, which a set does not tell.
  const bool from_set = t.look(need(t, a, 0))->is(ValueKind::Set);
  for (size_t i = 1; from_set && i < ranked.size(); ++i)
    if (truth(t, compare(t, Py_EQ, ranked[i - 1].first, ranked[i].first)))
      stop("unsupported_value", "a set is sorted by a key that is not unique");
  return t.list(std::move(out));
}

Value* builtin_iter(Tracer& t, const Arguments& a) {
  if (!a.keyword.empty()) t.raise(PyExc_TypeError, "iter() takes no keyword arguments", true);
  if (a.positional.size() == 1) return iter(t, a.positional[0]);
  Value* v = new_iterator(t, IteratorKind::Callable, {need(t, a, 1)});
  v->iterator().function = a.positional[0];
  return v;
}

Value* builtin_next(Tracer& t, const Arguments& a) {
  if (!a.keyword.empty()) t.raise(PyExc_TypeError, "next() takes no keyword arguments", true);
  Value* from = t.look(need(t, a, 0));
  Value* item = nullptr;
  Value* returned = nullptr;
  if (Value* generator = generator_of(from))
    item = resume(t, generator, t.none(), &returned);
  else
    item = next(t, from);
  if (item) return item;
  if (a.positional.size() > 1) return a.positional[1];
  raise_stop_iteration(t, returned);
}

Value* with_function(Tracer& t, const Arguments& a, IteratorKind kind) {
  if (a.positional.size() < 2) t.raise(PyExc_TypeError, "a function and an iterable are needed");
  Values children;
  for (size_t i = 1; i < a.positional.size(); ++i) children.push_back(iter(t, a.positional[i]));
  Value* v = new_iterator(t, kind, std::move(children));
  v->iterator().function = a.positional[0];
  return v;
}

Value* builtin_zip(Tracer& t, const Arguments& a) {
  Values children;
  for (Value* v : a.positional) children.push_back(iter(t, v));
  Value* zip = new_iterator(t, IteratorKind::Zip, std::move(children));
  if (Value* strict = a.find("strict")) zip->iterator().strict = truth(t, strict);
  return zip;
}

Value* builtin_enumerate(Tracer& t, const Arguments& a) {
  Value* v = new_iterator(t, IteratorKind::Enumerate, {iter(t, need(t, a, 0))});
  v->iterator().index = int_of(t, need(t, a, 1, "start", t.integer(0)), "a start");
  return v;
}

Value* builtin_reversed(Tracer& t, const Arguments& a) {
  Value* v = t.look(need(t, a, 0));
  if (Value* own = own_method(t, v, "__reversed__")) return own;
  // A sequence written in Python (nn.ModuleList): its __getitem__ is asked from the end, step by step.
  if (v->is(ValueKind::Object) && python_method(t, type_of(t, v), "__len__"))
    if (PyObject* item = python_method(t, type_of(t, v), "__getitem__")) {
      const int64_t n = length(t, v);
      PyRef backwards(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "LLL",
                                            static_cast<long long>(n - 1), -1LL, -1LL));
      if (!backwards) t.raise_python();
      Value* method = t.make(ValueKind::Method);
      method->items() = {t.pinned(item), v};
      method->cls = &PyMethod_Type;
      Value* steps = new_iterator(t, IteratorKind::Map, {iter(t, t.constant(backwards.get()))});
      steps->iterator().function = method;
      return steps;
    }
  if (v->is(ValueKind::Constant) || v->is(ValueKind::Dict)) v = t.tuple(unpack(t, v));
  const bool asks_class = v->is(ValueKind::Tuple) && (python_method(t, type_of(t, v), "__getitem__") ||
                                                      python_method(t, type_of(t, v), "__len__"));
  if ((!v->is(ValueKind::Tuple) && !v->is(ValueKind::List)) || asks_class)
    stop("unsupported_builtin", "reversed() of " + describe(t, v));
  Value* r = new_iterator(t, IteratorKind::Reversed, {v});
  r->iterator().index = length(t, v);
  return r;
}

constexpr BuiltinRow kRows[] = {
    {"builtins.enumerate", builtin_enumerate},
    {"builtins.zip", builtin_zip},
    {"builtins.map", [](Tracer& t, const Arguments& a) { return with_function(t, a, IteratorKind::Map); }},
    {"builtins.filter",
     [](Tracer& t, const Arguments& a) { return with_function(t, a, IteratorKind::Filter); }},
    {"builtins.reversed", builtin_reversed},
    {"builtins.sum", builtin_sum},
    {"builtins.min", [](Tracer& t, const Arguments& a) { return extreme(t, a, Py_LT, "min"); }},
    {"builtins.max", [](Tracer& t, const Arguments& a) { return extreme(t, a, Py_GT, "max"); }},
    {"builtins.any", [](Tracer& t, const Arguments& a) { return any_or_all(t, a, false); }},
    {"builtins.all", [](Tracer& t, const Arguments& a) { return any_or_all(t, a, true); }},
    {"builtins.sorted", builtin_sorted},
    {"builtins.iter", builtin_iter},
    {"builtins.next", builtin_next},
};

}  // namespace

std::span<const BuiltinRow> iteration_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
