// What the files of iterators share.
#pragma once

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

// It has nothing left, now and whenever it is asked again.
inline Value* exhaust(Value* iterator) {
  iterator->iterator().done = true;
  return nullptr;
}

// What it walks, or the first of what it walks; nullptr: nothing.
inline Value* walked_by(Tracer& t, const Value* iterator) {
  const Values& children = iterator->iterator().children;
  return children.empty() ? nullptr : resolve(children[0]);
}

// What is asked of other iterators meanwhile, a real one that wraps them asks again when it is advanced.
class Covered {
 public:
  Covered(Tracer& t, const Value* wrapper) : depth_(t.effects.covered), on_(wrapper->source != nullptr) {
    depth_ += on_;
  }
  ~Covered() { depth_ -= on_; }
  Covered(const Covered&) = delete;

 private:
  int& depth_;
  bool on_;
};

// over_containers.cpp
// An iterator over the elements of a set, in this order.
Value* walk_set(Tracer& t, Value* set, Value* in_order);
// A list or a tuple of nothing, as what it walked, whose iterator is as exhausted.
Recipe exhausted_sequence(Tracer& t, RecipeMaker& make, Value* iterator);

// Calls this function of Python's library with an empty tuple behind the other arguments.
Recipe of_nothing(RecipeMaker& make, const char* path, std::initializer_list<Recipe> before = {});

// generator.cpp
Value* iterator_attr(Tracer& t, Value* v, const std::string& name);
Value* iterator_method(Tracer& t, Value* self, const std::string& name, const Arguments& a);
void advance_iterator(Tracer& t, RecipeMaker& make, Value* v, std::vector<Effect>& out);

// A row with what all iterators have.
constexpr TypeOps iterator_ops(TypeOps own) {
  own.describe = [](Tracer&, Value*) { return std::string("iterator"); };
  own.attr = iterator_attr;
  own.call_method = iterator_method;
  own.contains = contains_by_asking;
  own.iter = [](Tracer&, Value* v) { return v; };
  own.iter_first = true;
  own.effect = advance_iterator;
  return own;
}

// real_iterators.cpp: what an iterator's __reduce__ tells behind its arguments.
Values state_of(Tracer& t, Value* v, PyObject* reduced);

}  // namespace vitrine::capture
