// What lists, tuples and deques have in common.
#pragma once

#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

struct SliceRange {
  Py_ssize_t start, stop, step, count;
};
bool is_slice(const Value* key);
SliceRange slice_range(Tracer& t, Value* key, size_t size);  // of a sequence of this size

int64_t length_of_items(Tracer& t, Value* v);
bool contains_item(Tracer& t, Value* v, Value* item);
Value* iter_items(Tracer& t, Value* v);
Value* get_slice(Tracer& t, Value* v, Value* key);
Value* get_at(Tracer& t, Value* v, Value* key, const char* out_of_range);
// Nothing of operators that neither side knows.
Value* binary_of_sequences(Tracer& t, const BinaryOperation& op, Value* a, Value* b);
Value* compare_sequences(Tracer& t, int op, Value* a, Value* b);
std::optional<bool> equal_sequences(Tracer& t, Value* a, Value* b);

void enter_items(Tracer& t, Value* v);      // their length is guarded
PyRef items_to_torch(Tracer& t, Value* v);  // a list
PyRef constant_items(Tracer& t, Value* v);  // a list of constant_tree() of each; nothing where one has none

// Where it stands; the length: nowhere.
size_t place_of(Tracer& t, Value* self, Value* item);
Value* index_method(Tracer& t, Value* self, const Arguments& a);
Value* count_method(Tracer& t, Value* self, const Arguments& a);
Value* iter_method(Tracer& t, Value* self, const Arguments& a);

// list.cpp
Value* list_insert(Tracer& t, Value* self, const Arguments& a);
Value* list_remove(Tracer& t, Value* self, const Arguments& a);
Method method_of_list(const std::string& name);
void set_list_item(Tracer& t, Value* v, Value* key, Value* value);
void del_list_item(Tracer& t, Value* v, Value* key);

std::string describe_list(Tracer& t, Value* v);
PyObject* list_to_torch(Tracer& t, Value* v);
void list_effect(Tracer& t, RecipeMaker& make, Value* v, std::vector<Effect>& out);

// tuple.cpp
std::string describe_tuple(Tracer& t, Value* v);
PyObject* tuple_to_torch(Tracer& t, Value* v);
Method method_of_tuple(const std::string& name);
Value* get_tuple_item(Tracer& t, Value* v, Value* key);
void set_tuple_item(Tracer& t, Value* v, Value* key, Value* value);

}  // namespace vitrine::capture
