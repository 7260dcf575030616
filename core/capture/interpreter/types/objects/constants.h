// What all constants have in common: values that are the same in every call, so that what is asked of them is
// asked of the real object.
#pragma once

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

Value* constant_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b);
Value* constant_unary(Tracer& t, const std::string& op, Value* v);
Value* constant_compare(Tracer& t, int op, Value* a, Value* b);
std::optional<bool> equal_constants(Tracer& t, Value* a, Value* b);
bool truth_of_constant(Tracer& t, Value* v, const char* where);
int64_t length_of_constant(Tracer& t, Value* v);
bool constant_contains(Tracer& t, Value* v, Value* item);
Value* get_constant_item(Tracer& t, Value* v, Value* key);
Value* iter_constant(Tracer& t, Value* v);
Value* iter_by_place(Tracer& t, Value* v);  // a range, a str: v[0], v[1] ...
Value* constant_attr(Tracer& t, Value* v, const std::string& name);
void set_constant_attr(Tracer& t, Value* v, const std::string& name, Value* value);
Value* call_constant(Tracer& t, Value* v, Arguments a);  // native_functions.cpp
std::string describe_constant(Tracer& t, Value* v);
PyObject* constant_itself(Tracer& t, Value* v);
PyObject* constant_to_torch(Tracer& t, Value* v);
Recipe recipe_of_constant(Tracer& t, RecipeMaker& make, Value* v);

// A row to which a kind of constants adds what it has of its own.
constexpr TypeOps constant_ops(const char* name) {
  return {
      .name = name,
      .describe = describe_constant,
      .constant = constant_itself,
      .attr = constant_attr,
      .set_attr = set_constant_attr,
      .only_reads = reads_only,
      .call = call_constant,
      .binary = constant_binary,
      .unary = constant_unary,
      .compare = constant_compare,
      .equal = equal_constants,
      .truth = truth_of_constant,
      .length = length_of_constant,
      .contains = constant_contains,
      .get_item = get_constant_item,
      .iter = iter_constant,
      .to_torch = constant_to_torch,
      .recipe = recipe_of_constant,
      .by_value = true,
  };
}

}  // namespace vitrine::capture
