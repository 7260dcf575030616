// The iterators of itertools that are no polyfill: chain, count, repeat, islice.
#include <algorithm>

#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// --- chain
// What comes after the iterable that is at its turn; nullptr: nothing.
Value* following(Tracer& t, Value* v) {
  IteratorState& s = v->iterator();
  if (v->source) return next(t, walked_by(t, v));  // an iterator over what is left
  return s.index < static_cast<int64_t>(s.children.size()) ? s.children[static_cast<size_t>(s.index++)]
                                                           : nullptr;
}

Value* next_in_chain(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  if (v->source) count_step(t, v);
  const Covered covered(t, v);
  while (true) {
    if (!s.inner) {
      Value* iterable = following(t, v);
      if (!iterable) return exhaust(v);
      s.inner = iter(t, iterable);
    }
    if (Value* item = next(t, s.inner)) return item;
    s.inner = nullptr;
  }
}

Recipe recipe_of_chain(Tracer&, RecipeMaker& make, Value* v) {
  const IteratorState& s = v->iterator();
  Values rest(s.children.begin() + s.index, s.children.end());
  if (s.inner) rest.insert(rest.begin(), s.inner);
  return make.made_by("itertools.chain", rest);
}

Recipe exhausted_chain(Tracer&, RecipeMaker& make, Value*) {
  return of_nothing(make, "itertools.chain");
}

// (iterables that follow, the one that is at its turn)
void restore_chain(Tracer& t, Value* v, PyObject* reduced, Values) {
  IteratorState& s = v->iterator();
  s.children = state_of(t, v, reduced);
  if (s.children.empty())
    s.done = true;
  else if (s.children.size() > 1)
    s.inner = iter(t, s.children[1]);
}

// --- count
Value* next_count(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  if (v->source) count_step(t, v);
  Value* now = s.children[0];
  s.children[0] = binary(t, "add", now, s.children[1]);
  return now;
}

Recipe recipe_of_count(Tracer&, RecipeMaker& make, Value* v) {
  return make.made_by("itertools.count", v->iterator().children);
}

// (now,) or (now, step)
void restore_count(Tracer& t, Value* v, PyObject*, Values parts) {
  if (parts.size() == 1) parts.push_back(t.integer(1));
  v->iterator().children = std::move(parts);
}

// --- repeat
Value* next_repeated(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  if (s.index == 0) return exhaust(v);
  if (v->source) count_step(t, v);
  if (s.index > 0) --s.index;
  return walked_by(t, v);
}

Recipe recipe_of_repeat(Tracer& t, RecipeMaker& make, Value* v) {
  const IteratorState& s = v->iterator();
  return s.index < 0 ? make.made_by("itertools.repeat", {s.children[0]})
                     : make.made_by("itertools.repeat", {s.children[0], t.integer(s.index)});
}

Recipe exhausted_repeat(Tracer&, RecipeMaker& make, Value*) {
  const PyRef zero(PyLong_FromLong(0));
  return make.call(find_object("itertools.repeat"), {make.constant(Py_None), make.constant(zero.get())});
}

// (object,) or (object, how often)
void restore_repeat(Tracer& t, Value* v, PyObject*, Values parts) {
  v->iterator().index = parts.size() > 1 ? int_of(t, parts[1], "what a repeat() has left") : -1;
  parts.resize(1);
  v->iterator().children = std::move(parts);
}

// --- islice
Value* next_in_slice(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  if (s.stop >= 0 && s.index >= s.stop) return exhaust(v);
  if (v->source) count_step(t, v);
  const Covered covered(t, v);
  Value* from = walked_by(t, v);
  while (s.passed < s.index) {
    if (!next(t, from)) return exhaust(v);
    ++s.passed;
  }
  Value* item = next(t, from);
  if (!item) return exhaust(v);
  ++s.passed;
  s.index += s.step;
  return item;
}

Recipe recipe_of_islice(Tracer& t, RecipeMaker& make, Value* v) {
  const IteratorState& s = v->iterator();
  Value* end = s.stop < 0 ? t.none() : t.integer(std::max(s.stop, s.index) - s.passed);
  return make.made_by("itertools.islice",
                      {s.children[0], t.integer(s.index - s.passed), end, t.integer(s.step)});
}

Recipe exhausted_islice(Tracer&, RecipeMaker& make, Value*) {
  const PyRef zero(PyLong_FromLong(0));
  Recipe c = of_nothing(make, "itertools.islice");
  c.children.push_back(make.constant(zero.get()));
  return c;
}

// (iterator, next, stop, step), how many it has taken
void restore_islice(Tracer& t, Value* v, PyObject* reduced, Values parts) {
  IteratorState& s = v->iterator();
  if (parts.size() != 4) {
    s.done = true;
  } else {
    s.index = int_of(t, parts[1], "the position of an islice()");
    s.stop = is_none(t, parts[2]) ? -1 : int_of(t, parts[2], "the end of an islice()");
    s.step = int_of(t, parts[3], "the step of an islice()");
    const Values taken = state_of(t, v, reduced);
    s.passed = int_of(t, taken.at(0), "the position of an islice()");
    parts.resize(1);
  }
  s.children = std::move(parts);
}

}  // namespace

const TypeOps chain_type = iterator_ops({
    .name = "itertools.chain",
    .next = next_in_chain,
    .recipe = recipe_of_chain,
    .exhausted = exhausted_chain,
    .repeatable = true,
    .restore = restore_chain,
});
const TypeOps count_type = iterator_ops({
    .name = "itertools.count",
    .next = next_count,
    .recipe = recipe_of_count,
    .exhausted = exhausted_sequence,
    .repeatable = true,
    .restore = restore_count,
});
const TypeOps repeat_type = iterator_ops({
    .name = "itertools.repeat",
    .next = next_repeated,
    .recipe = recipe_of_repeat,
    .exhausted = exhausted_repeat,
    .repeatable = true,
    .restore = restore_repeat,
});
const TypeOps islice_type = iterator_ops({
    .name = "itertools.islice",
    .next = next_in_slice,
    .recipe = recipe_of_islice,
    .exhausted = exhausted_islice,
    .repeatable = true,
    .restore = restore_islice,
});

}  // namespace vitrine::capture
