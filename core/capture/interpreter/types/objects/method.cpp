// Bound methods: a function, and what it is called on.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

Value* method_attr(Tracer& t, Value* v, const std::string& name) {
  if (name == "__func__") return v->items()[0];
  if (name == "__self__") return v->items()[1];
  if (name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(type_of(t, v)));
  if (name != "__doc__" && lookup(type_of(t, v), name)) stop_at_attribute("a method", name);
  return get_attr(t, v->items()[0], name);
}

Value* call_bound(Tracer& t, Value* v, Arguments a) {
  Value* function = t.look(v->items()[0]);
  a.positional.insert(a.positional.begin(), v->items()[1]);
  return call(t, function, std::move(a));
}

Recipe recipe_of_method(Tracer& t, RecipeMaker& make, Value* v) {
  const Value* f = t.look(v->items()[0]);
  const bool of_array = array_kind(t, v->items()[1]) != ArrayKind::None;  // the real one has NumPy's own
  if (f->is(ValueKind::Constant) && of_array) {
    PyRef name(PyObject_GetAttrString(f->obj, "__name__"));
    if (!name) t.raise_python();
    Recipe r = make.made_by("builtins.getattr", {v->items()[1]});
    r.children.push_back(make.constant(name.get()));
    return r;
  }
  if (f->is(ValueKind::Constant) && !PyFunction_Check(f->obj)) {
    Recipe r = make.made_by("vitrine._polyfills.library.bound", {});
    r.children.push_back(make.constant(f->obj));
    r.children.push_back(make.make(v->items()[1]));
    return r;
  }
  return make.sequence(Recipe::Kind::BoundMethod, v->items());
}

}  // namespace

const TypeOps method_type = {
    .name = "method",
    .cls = &PyMethod_Type,
    .describe = [](Tracer& t, Value* v) { return describe(t, v->items()[0]); },
    .attr = method_attr,
    .call = call_bound,
    .recipe = recipe_of_method,
};

}  // namespace vitrine::capture
