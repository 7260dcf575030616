// Makes the values that a segment leaves behind: recipes turned into objects, and effects replayed, after the
// graph has run.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/capture/objects/owned.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

class Frame;

// What recipes start from. Values made for recipes with the same `shared` number are one object.
struct Ingredients {
  std::span<PyObject* const> graph;  // results of the graph, borrowed
  std::span<const PyRef> sources;    // what the frame held before the segment ran; may be empty slots
  std::span<const PyRef> integers;   // by number (Symbolic::integers)
  std::vector<PyRef> shared;         // filled on the way
};

// The sources that a trace's recipes read, each once, in the order of their ordinals; writes the ordinal into
// Recipe::index of every Source recipe.
class RecipeSources {
 public:
  void add(Recipe& recipe);
  int32_t add(const Source* source);
  const std::vector<const Source*>& all() const { return all_; }

 private:
  std::vector<const Source*> all_;
  std::unordered_map<const Source*, int32_t> ordinals_;
};

// `out` becomes a new reference, or stays empty for Recipe::Kind::Null. false: a Python error is set.
bool make_value(const Recipe& recipe, Ingredients& from, PyRef& out);

// Whether it makes an iterator. One over a container that an effect changes is right only when it is made
// afterwards.
bool makes_iterator(const Recipe& recipe);

// An effect with its operands made: nothing but the change itself is left to do.
struct ReadyEffect {
  const Effect* effect = nullptr;
  PyRef target, key, value;
};
bool make_ready(const Effect& effect, Ingredients& from, ReadyEffect& out);
// Carries it out. false: a Python error is set.
bool apply(const ReadyEffect& ready, const Frame& frame, Ingredients& from);

}  // namespace vitrine::capture
