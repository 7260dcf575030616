// Cells: variables that a function shares with those within it.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/objects/class_dict.h"

namespace vitrine::capture {
namespace {

Value* cell_attr(Tracer& t, Value* v, const std::string& name) {
  if (name == "cell_contents") return cell_get(t, v);
  if (name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(&PyCell_Type));
  if (lookup(&PyCell_Type, name)) stop_at_attribute("a cell", name);
  return nullptr;
}

void cell_effect(Tracer&, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  Effect e;
  e.target = make.make(v);
  e.kind = Effect::Kind::SetCell;
  e.value = make.make(v->items()[0]);
  out.push_back(std::move(e));
}

Recipe recipe_of_cell(Tracer&, RecipeMaker& make, Value* v) {
  return make.sequence(Recipe::Kind::Cell, {v->items().empty() ? nullptr : v->items()[0]});
}

}  // namespace

const TypeOps cell_type = {
    .name = "cell",
    .cls = &PyCell_Type,
    .attr = cell_attr,
    .effect = cell_effect,
    .recipe = recipe_of_cell,
};

}  // namespace vitrine::capture
