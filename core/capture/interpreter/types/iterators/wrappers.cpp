// Iterators that builtins make of others: enumerate, zip, map, filter, and iter(function, sentinel).
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {
namespace {

// --- enumerate
Value* next_enumerated(Tracer& t, Value* v, Value**) {
  if (v->source) count_step(t, v);
  const Covered covered(t, v);
  Value* item = next(t, walked_by(t, v));
  if (!item) return exhaust(v);
  return t.tuple({t.integer(v->iterator().index++), item});
}

Recipe recipe_of_enumerate(Tracer& t, RecipeMaker& make, Value* v) {
  return make.made_by("builtins.enumerate", {v->iterator().children[0], t.integer(v->iterator().index)});
}

Recipe exhausted_enumerate(Tracer&, RecipeMaker& make, Value*) {
  return of_nothing(make, "builtins.enumerate");
}

void restore_enumerate(Tracer& t, Value* v, PyObject*, Values parts) {
  v->iterator().index = int_of(t, parts[1], "the position of an enumerate()");
  parts.resize(1);
  v->iterator().children = std::move(parts);
}

// --- zip
// The first iterators have given an item, the one at `which` none; or with strict=True the other way round.
Value* end_of_zip(Tracer& t, Value* v, size_t which) {
  const IteratorState& s = v->iterator();
  const auto differs = [&](size_t at, const char* how) {
    t.raise(PyExc_ValueError,
            "zip() argument " + std::to_string(at + 1) + how + (at == 1 ? " " : "s 1-") + std::to_string(at),
            true);
  };
  if (s.strict && which > 0) differs(which, " is shorter than argument");
  if (s.strict)
    for (size_t j = 1; j < s.children.size(); ++j)
      if (next(t, s.children[j])) differs(j, " is longer than argument");
  return exhaust(v);
}

Value* next_zipped(Tracer& t, Value* v, Value**) {
  const IteratorState& s = v->iterator();
  Values items;
  for (size_t i = 0; i < s.children.size(); ++i) {
    Value* item = next(t, s.children[i]);
    if (!item) return end_of_zip(t, v, i);
    items.push_back(item);
  }
  return s.children.empty() ? exhaust(v) : t.tuple(std::move(items));
}

Recipe recipe_of_zip(Tracer&, RecipeMaker& make, Value* v) {
  if (v->iterator().strict) stop("unsupported_value", "an iterator leaves the segment");
  return make.made_by("builtins.zip", v->iterator().children);
}

Recipe exhausted_zip(Tracer&, RecipeMaker& make, Value*) {
  return of_nothing(make, "builtins.zip");
}

void restore_zip(Tracer& t, Value* v, PyObject* reduced, Values parts) {
  PyObject* state = PyTuple_GET_SIZE(reduced) > 2 ? PyTuple_GET_ITEM(reduced, 2) : Py_None;
  v->iterator().strict = truth(t, t.lazy(state, t.sources().make(SourceKind::IterState, v->source, 2, "")));
  v->iterator().children = std::move(parts);
}

// --- map and filter
Value* next_mapped(Tracer& t, Value* v, Value**) {
  Values items;
  for (Value* child : v->iterator().children) {
    Value* item = next(t, child);
    if (!item) return exhaust(v);
    items.push_back(item);
  }
  return call(t, v->iterator().function, {std::move(items), {}});
}

Value* next_filtered(Tracer& t, Value* v, Value**) {
  Value *function = v->iterator().function, *from = walked_by(t, v);
  while (Value* item = next(t, from)) {
    const bool keep_it = is_none(t, function) ? truth(t, item) : truth(t, call(t, function, {{item}, {}}));
    if (keep_it) return item;
  }
  return exhaust(v);
}

Recipe with_function(RecipeMaker& make, const char* path, const Value* v) {
  Values arguments = v->iterator().children;
  arguments.insert(arguments.begin(), v->iterator().function);
  return make.made_by(path, arguments);
}

Recipe recipe_of_map(Tracer&, RecipeMaker& make, Value* v) {
  return with_function(make, "builtins.map", v);
}
Recipe recipe_of_filter(Tracer&, RecipeMaker& make, Value* v) {
  return with_function(make, "builtins.filter", v);
}
Recipe exhausted_map(Tracer&, RecipeMaker& make, Value* v) {
  return of_nothing(make, "builtins.map", {make.make(v->iterator().function)});
}
Recipe exhausted_filter(Tracer&, RecipeMaker& make, Value* v) {
  return of_nothing(make, "builtins.filter", {make.make(v->iterator().function)});
}

void restore_with_function(Tracer&, Value* v, PyObject*, Values parts) {
  v->iterator().function = parts[0];
  parts.erase(parts.begin());
  v->iterator().children = std::move(parts);
}

// --- iter(function, sentinel)
Value* next_called(Tracer& t, Value* v, Value**) {
  Value* sentinel = walked_by(t, v);
  Value* item = call(t, v->iterator().function, {});
  if (truth(t, compare(t, Py_EQ, item, sentinel))) return exhaust(v);
  return item;
}

}  // namespace

const TypeOps enumerate_type = iterator_ops({
    .name = "enumerate",
    .cls = &PyEnum_Type,
    .next = next_enumerated,
    .recipe = recipe_of_enumerate,
    .exhausted = exhausted_enumerate,
    .repeatable = true,
    .restore = restore_enumerate,
});
const TypeOps zip_type = iterator_ops({
    .name = "zip",
    .cls = &PyZip_Type,
    .next = next_zipped,
    .recipe = recipe_of_zip,
    .exhausted = exhausted_zip,
    .repeatable = true,
    .restore = restore_zip,
});
const TypeOps map_type = iterator_ops({
    .name = "map",
    .cls = &PyMap_Type,
    .next = next_mapped,
    .recipe = recipe_of_map,
    .exhausted = exhausted_map,
    .restore = restore_with_function,
});
const TypeOps filter_type = iterator_ops({
    .name = "filter",
    .cls = &PyFilter_Type,
    .next = next_filtered,
    .recipe = recipe_of_filter,
    .exhausted = exhausted_filter,
    .restore = restore_with_function,
});
const TypeOps callable_iterator_type = iterator_ops({
    .name = "callable_iterator",
    .next = next_called,
    .exhausted = exhausted_sequence,
    .repeatable = true,
});

}  // namespace vitrine::capture
