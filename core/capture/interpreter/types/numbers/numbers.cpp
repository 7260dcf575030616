// Numbers and texts that may be others in the next call: ints that sizes give, floats, and texts that hold
// numbers of tensors. How they are computed stands in symbolic/. Known ones are constants
// (objects/constants.cpp).
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/type_rows.h"

namespace vitrine::capture {
namespace {

Value* symbol_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  return symbolic_binary(t, op.row.name, a, b);
}

Recipe recipe_of_symbol(Tracer&, RecipeMaker& make, Value* v) {
  return make.integer(v->as<SymbolValue>().sym);
}

Recipe recipe_of_float(Tracer& t, RecipeMaker& make, Value* v) {
  if (!v->items().empty()) return make.sequence(Recipe::Kind::Call, v->items());
  if (!v->as<FloatValue>().tensor)
    return make.source(derived_source(t, v->as<FloatValue>().roots[0], v->as<FloatValue>().parts));
  Recipe r = make.call(reinterpret_cast<PyObject*>(&PyFloat_Type), {});
  r.children.push_back(make.make(v->as<FloatValue>().tensor));
  return r;
}

// Written once the numbers are there, behind the graph.
Recipe recipe_of_text(Tracer& t, RecipeMaker& make, Value* v) {
  Recipe r;
  if (resolve(v->items().at(0))->is(ValueKind::Tensor)) {
    r = make.made_by("builtins.format", v->items());
  } else {
    r = make.made_by("vitrine._polyfills.library.joined", {});
    r.children.push_back(make.sequence(Recipe::Kind::Tuple, v->items()));
  }
  return make.shared(v, std::move(r));
}

}  // namespace

const TypeOps symbol_type = {
    .name = "int",
    .precedence = kBeforeClasses,
    .binary = symbol_binary,
    .compare = [](Tracer& t, int op, Value* a, Value* b) { return symbolic_compare(t, op, a, b); },
    .to_torch = [](Tracer& t, Value* v) { return symbol_object(t, v); },
    .recipe = recipe_of_symbol,
    .by_value = true,
};
const TypeOps float_type = {
    .name = "float",
    .recipe = recipe_of_float,
    .by_value = true,
};
const TypeOps text_type = {
    .name = "str",
    .recipe = recipe_of_text,
    .by_value = true,
};

}  // namespace vitrine::capture
