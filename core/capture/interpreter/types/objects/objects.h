// What the files of objects share.
#pragma once

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

// object.cpp: what an object's class offers; rows of objects that are known by their class begin with these.
Value* object_attr(Tracer& t, Value* v, const std::string& name);
void set_object_attr(Tracer& t, Value* v, const std::string& name, Value* value);
Value* call_object(Tracer& t, Value* v, Arguments a);
Value* object_unary(Tracer& t, const std::string& op, Value* v);
bool truth_of_object(Tracer& t, Value* v, const char* where);
int64_t length_of_object(Tracer& t, Value* v);
Value* get_object_item(Tracer& t, Value* v, Value* key);
Value* iter_object(Tracer& t, Value* v);
Value* next_of_object(Tracer& t, Value* v, Value** returned);
std::string describe_object(Tracer& t, Value* v);
PyObject* object_to_torch(Tracer& t, Value* v);
Recipe recipe_of_object(Tracer& t, RecipeMaker& make, Value* v);

constexpr TypeOps object_ops(const char* name) {
  return {
      .name = name,
      .guard_class = guard_type,
      .describe = describe_object,
      .attr = object_attr,
      .set_attr = set_object_attr,
      .call = call_object,
      .unary = object_unary,
      .truth = truth_of_object,
      .length = length_of_object,
      .contains = contains_by_asking,
      .get_item = get_object_item,
      .iter = iter_object,
      .next = next_of_object,
      .to_torch = object_to_torch,
      .recipe = recipe_of_object,
  };
}

// A row with what containers have of their classes, which may be the program's.
constexpr TypeOps container_ops(TypeOps own) {
  own.attr = object_attr;
  own.set_attr = set_object_attr;
  own.call = call_object;
  own.truth = truth_of_container;
  return own;
}

// The first of its classes that is not written in Python.
PyTypeObject* native_class(PyTypeObject* type);

// exception.cpp
bool is_plain_exception(PyTypeObject* type);  // made of any arguments, and holds nothing else
void init_exception(Tracer& t, Value* self, const Arguments& a);
// A slot of an exception made here, which does not tell them all; nullptr: no such exception, or slot.
Value* member_of_exception(Tracer& t, const Value* self, PyObject* member, const std::string& name);

// partial.cpp
Value* part_of_partial(const Value* self,
                       const std::string& name);  // nullptr: no partial made here, or no part

}  // namespace vitrine::capture
