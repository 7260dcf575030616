#include "core/capture/trace.h"

#include "core/capture/trace/python.h"

namespace vitrine::capture {
namespace {

void release(Recipe& recipe) {
  Py_CLEAR(recipe.object);
  for (Recipe& child : recipe.children) release(child);
}

}  // namespace

Trace::~Trace() {
  for (Guard& guard : guards) Py_XDECREF(guard.object);
  release(result);
  for (auto& [slot, recipe] : locals) release(recipe);
  for (Recipe& recipe : stack) release(recipe);
  for (Effect& effect : effects) {
    release(effect.target);
    release(effect.key);
    release(effect.value);
  }
  for (PyObject* code : codes) Py_DECREF(code);
}

}  // namespace vitrine::capture
