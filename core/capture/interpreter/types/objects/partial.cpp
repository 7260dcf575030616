// functools.partial: a function with arguments. One made here holds the function, a tuple, and a dict.
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

Value* new_partial(Tracer& t, const Arguments& a) {
  PyTypeObject* cls = torch_names().partial;
  if (a.positional.empty()) t.raise(PyExc_TypeError, "partial() needs a function");
  Value* v = t.make(ValueKind::Object);
  v->cls = cls;
  Value* function = t.look(a.positional[0]);
  Values rest(a.positional.begin() + 1, a.positional.end());
  Value* keywords = new_dict(t);
  if (function->is(ValueKind::Object) && function->cls == cls) {  // a partial of a partial is one
    const Values before = unpack(t, load_attr(t, function, "args"));
    rest.insert(rest.begin(), before.begin(), before.end());
    dict_update(t, keywords, load_attr(t, function, "keywords"));
    function = load_attr(t, function, "func");
  }
  for (const auto& [key, value] : a.keyword) dict_set(t, keywords, t.text(key), value);
  keywords->mutated = false;
  v->items() = {function, t.tuple(std::move(rest)), keywords};
  return v;
}

Value* part_of_partial(const Value* self, const std::string& name) {
  if (self->obj || self->cls != torch_names().partial || self->items().size() != 3) return nullptr;
  for (size_t i = 0; i < 3; ++i)
    if (constexpr std::string_view kParts[] = {"func", "args", "keywords"}; name == kParts[i])
      return self->items()[i];
  return nullptr;
}

namespace {

Value* call_partial(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  const auto part = [&](size_t i, const char* name) {
    return v->obj ? load_attr(t, v, name) : v->items()[i];
  };
  Value *function = part(0, "func"), *first = part(1, "args"), *keywords = part(2, "keywords");
  Arguments all = spread(t, first, keywords);
  all.positional.insert(all.positional.end(), a.positional.begin(), a.positional.end());
  for (auto& [key, value] : a.keyword) {
    bool replaced = false;
    for (auto& [other, old] : all.keyword)
      if (other == key) {
        old = value;
        replaced = true;
      }
    if (!replaced) all.keyword.emplace_back(key, value);
  }
  return call(t, function, std::move(all));
}

Recipe recipe_of_partial(Tracer&, RecipeMaker& make, Value* v) {
  const bool first = v->shared < 0;
  if (!v->attrs.empty())
    stop("unsupported_value", "a partial() with attributes of its own leaves the segment");
  return make.shared(v, make.made_by("vitrine._polyfills.library.partial_of", first ? v->items() : Values{}));
}

}  // namespace

const TypeOps partial_type = [] {
  TypeOps ops = object_ops("functools.partial");
  ops.call = call_partial;
  ops.recipe = recipe_of_partial;
  return ops;
}();

}  // namespace vitrine::capture
