// Values back to recipes: how the segment rebuilds, after the graph has run, what the frame and changed
// objects hold. Each type's row says how its own are made, with what stands here.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

class RecipeMaker {
 public:
  explicit RecipeMaker(Tracer& tracer) : t_(tracer) {}
  Recipe make(Value* v);
  Recipe constant(PyObject* borrowed) const;
  Recipe source(const Source* s);
  Recipe integer(const ir::Sym& sym);  // of sizes that the next call may have otherwise
  Recipe sequence(Recipe::Kind kind, const Values& items);
  Recipe call(PyObject* callable, std::vector<Recipe> arguments) const;
  Recipe made_by(const std::string& path, const Values& arguments);  // calls what the path leads to
  Recipe graph_result(const Value* tensor);
  Recipe shared(Value* v, Recipe recipe);  // the same object wherever v is met
  // An object of v's class, made by maker(class) and filled afterwards: what it holds may lead back to it.
  template <class Fill>
  Recipe made_empty(Value* v, PyObject* maker, Fill fill) {
    const bool first = v->shared < 0;
    Recipe r = shared(v, call(maker, {constant(reinterpret_cast<PyObject*>(v->cls))}));
    if (!first) return r;
    open_.erase(v);
    fill(r);
    open_.insert(v);
    return r;
  }
  void do_afterwards(Recipe call);  // once all objects are made
  void attributes(Value* v, const Recipe& target);
  void set_attribute(const Recipe& target, const std::string& name, Recipe value);
  // Contents of objects made in the segment, in the order the objects were met.
  std::vector<Effect> take_effects() { return std::move(effects_); }
  const std::vector<PyObject*>& results() const { return results_; }  // fake tensors, by graph result

 private:
  Recipe made(Value* v);
  Recipe iterator(Value* v);

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

// Stops at a key of a dict or an element of a set that would be hashed before it has its attributes.
void check_leaves_as_key(const Value* key);

// The builtin class whose layout `cls` has: its methods write past every override.
PyObject* native_base(PyTypeObject* cls);

Recipe copy_recipe(const Recipe& recipe);
Recipe advanced(Recipe over, int64_t index);  // an iterator over it that has given so many items

}  // namespace vitrine::capture
