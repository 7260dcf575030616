// Numbers and texts that may be others in the next call: ints that sizes give, floats, and texts that hold
// numbers of tensors. How they are computed stands in symbolic/. Known ones are constants
// (objects/constants.cpp).
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
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

Value* symbol_unary(Tracer& t, const std::string& op, Value* v) {
  const ir::Sym& sym = v->as<SymbolValue>().sym;
  if (op == "neg") return symbol_value(t, -sym);
  return op == "invert" ? symbol_value(t, -sym - ir::Sym(1)) : nullptr;
}

std::string describe_symbol(Tracer& t, Value* v) {
  return t.sizes.symbolic->table.text(v->as<SymbolValue>().sym);
}

std::string describe_float(Tracer& t, Value* v) {
  if (!v->items().empty()) return size_float_text(t, v);
  return v->source ? v->source->text() : "a computed float";
}

}  // namespace

const TypeOps symbol_type = {
    .name = "int",
    .precedence = kBeforeClasses,
    .symbolic = true,
    .describe = describe_symbol,
    .binary = symbol_binary,
    .unary = symbol_unary,
    .compare = [](Tracer& t, int op, Value* a, Value* b) { return symbolic_compare(t, op, a, b); },
    .to_torch = [](Tracer& t, Value* v) { return symbol_object(t, v); },
    .recipe = recipe_of_symbol,
    .by_value = true,
};
const TypeOps float_type = {
    .name = "float",
    .symbolic = true,
    .describe = describe_float,
    .recipe = recipe_of_float,
    .by_value = true,
};
const TypeOps text_type = {
    .name = "str",
    .symbolic = true,
    .describe = [](Tracer&, Value*) { return std::string("text of a tensor"); },
    .recipe = recipe_of_text,
    .by_value = true,
};

}  // namespace vitrine::capture
