// Values back to recipes: how the segment rebuilds, after the graph has run, what the frame and changed
// objects hold.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

class RecipeMaker {
 public:
  explicit RecipeMaker(Tracer& tracer) : t_(tracer) {}
  Recipe make(Value* v);
  Recipe constant(PyObject* borrowed) const;
  Recipe call(PyObject* callable, std::vector<Recipe> arguments) const;
  Recipe shared(Value* v, Recipe recipe);  // the same object wherever v is met
  // Contents of objects made in the segment, in the order the objects were met.
  std::vector<Effect> take_effects() { return std::move(effects_); }
  const std::vector<PyObject*>& results() const { return results_; }  // fake tensors, by graph result

 private:
  Recipe sequence(Recipe::Kind kind, const Values& items);
  Recipe object(Value* v);
  Recipe dict(Value* v);
  Recipe deque(Value* v);
  Recipe list_of_class(Value* v);
  Recipe tuple(Value* v);
  Recipe text(Value* v);
  Recipe tensor_made(Value* v, Recipe graph_result);
  Recipe function(Value* v);
  Recipe iterator(Value* v);
  Recipe exhausted(const IteratorState& s);
  Recipe source(const Source* s);
  void attributes(Value* v, const Recipe& target);
  void set_attribute(const Recipe& target, const std::string& name, Recipe value);

  Tracer& t_;
  int32_t next_shared_ = 0;
  std::unordered_set<Value*> open_;
  int64_t made_ = 0;
  int depth_ = 0;  // of the value that is being made, in others
  std::vector<PyObject*> results_;
  std::vector<Effect> effects_;
};

// A value that capture keeps as an object of this class of vitrine._polyfills.made_inside.
bool is_kept_as(const Value* v, const char* name);

Recipe copy_recipe(const Recipe& recipe);

}  // namespace vitrine::capture
