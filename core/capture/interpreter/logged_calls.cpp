#include "core/capture/interpreter/logged_calls.h"

#include <algorithm>

#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// A set of torch._dynamo.config, where the program has loaded it; nullptr: there is none, or it is empty.
PyRef set_of(const char* name) {
  PyObject* config = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._dynamo.config");
  PyRef set(config ? PyObject_GetAttrString(config, name) : nullptr);
  PyErr_Clear();
  return set && PyAnySet_Check(set.get()) && PySet_GET_SIZE(set.get()) > 0 ? std::move(set) : PyRef();
}

bool holds(const PyRef& set, PyObject* function) {
  const bool found = set && PySet_Contains(set.get(), function) == 1;
  PyErr_Clear();
  return found;
}

// What is the same when the graph has run, but for a tensor that is written to meanwhile.
bool may_wait(Tracer& t, Value* v) {
  v = t.look(v);
  return v->is(ValueKind::Constant) || v->is(ValueKind::Tensor);
}

}  // namespace

Value* call_behind(Tracer& t, PyObject* function, const Arguments& arguments) {
  LoggedCalls& logged = t.effects.logged;
  if (!std::exchange(logged.asked, true)) {
    logged.ignored = set_of("ignore_logging_functions");
    logged.behind = set_of("reorderable_logging_functions");
  }
  if (holds(logged.ignored, function)) return t.none();
  if (!holds(logged.behind, function)) return nullptr;
  if (t.pure.since >= 0 || t.pure.differentiated || t.pure.cached_since >= 0) return nullptr;
  const auto waits = [&](Value* v) { return may_wait(t, v); };
  if (!std::ranges::all_of(arguments.positional, waits)) return nullptr;
  for (const auto& [name, value] : arguments.keyword)
    if (!waits(value)) return nullptr;
  logged.calls.emplace_back(t.keep(Py_NewRef(function)), arguments);
  return t.none();
}

std::vector<Effect> logged_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  for (const auto& [function, arguments] : t.effects.logged.calls) {
    Recipe keyword{Recipe::Kind::Dict};
    for (const auto& [name, value] : arguments.keyword) {
      keyword.children.push_back(make.constant(PyRef(PyUnicode_FromString(name.c_str())).get()));
      keyword.children.push_back(make.make(value));
    }
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object("vitrine._polyfills.library.call_again"), {});
    e.value.children.push_back(make.constant(function));
    e.value.children.push_back(make.sequence(Recipe::Kind::Tuple, arguments.positional));
    e.value.children.push_back(std::move(keyword));
    out.push_back(std::move(e));
  }
  return out;
}

}  // namespace vitrine::capture
