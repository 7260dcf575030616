#include "core/capture/trace/trace.h"

#include "core/base/once.h"
#include "core/capture/objects/python.h"

namespace vitrine::capture {
namespace {

void release(Recipe& recipe) {
  Py_CLEAR(recipe.object);
  for (Recipe& child : recipe.children) release(child);
}

}  // namespace

int64_t abc_registrations() {
  PyObject* const count = kept(Name::abc_get_cache_token);
  PyRef number(count ? PyObject_CallNoArgs(count) : nullptr);
  const int64_t n = number ? PyLong_AsLongLong(number.get()) : -1;
  PyErr_Clear();
  return n;
}

std::string_view guard_kind_name(GuardKind kind) {
  switch (kind) {
#define X(name)         \
  case GuardKind::name: \
    return #name;
    // clang-format off
    X(TensorMatch) X(ConstEquals) X(Compares) X(Bound) X(Identity) X(WeakIdentity) X(TypeIs) X(Length) X(LengthAtLeast) X(LengthBelow) X(DictKeys)
    X(DictContains) X(SetEquals) X(HasAttr) X(InstanceHas) X(TypeVersion) X(AbcRegistry) X(NotInGlobals)
    X(FunctionCode) X(PlainLeaf) X(NoFinalizer) X(NoHooks) X(IterPosition) X(DifferentObject) X(Apart) X(SameObject) X(GlobalState)
// clang-format on
#undef X
  }
  return "?";
}

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
