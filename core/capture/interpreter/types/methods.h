// What the files of types share of native methods.
#pragma once

#include <array>

#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/type_rows.h"

namespace vitrine::capture {

// The i-th positional or the named argument; raises TypeError when both are missing and there is no default.
inline Value* argument(Tracer& t, const Arguments& a, size_t i, const char* name = "",
                       Value* otherwise = nullptr) {
  if (i < a.positional.size()) return a.positional[i];
  if (Value* v = *name ? a.find(name) : nullptr) return v;
  if (!otherwise) t.raise(PyExc_TypeError, "a method misses an argument");
  return otherwise;
}

template <const MethodTable& (*table)()>
Method method_in(const std::string& name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

inline Value* len_method(Tracer& t, Value* self, const Arguments&) {
  return t.integer(length(t, self));
}

inline bool reads_only(const std::string&) {
  return true;
}

// iterators/over_containers.cpp: stops, or raises, where what it walks has changed since the walk began.
void check_unchanged(Tracer& t, const Value* iterator);
// Walks it until the item is found.
bool contains_by_asking(Tracer& t, Value* v, Value* item);
// What its class's __bool__ or __len__ says; -1: it has neither.
int checked_truth(Tracer& t, Value* v);
bool truth_of_container(Tracer& t, Value* v, const char* where);

// operators.cpp: the rows of both operands, the one that is asked first before the other.
std::array<const TypeOps*, 2> asked_in_order(const Value* a, const Value* b);
// comparisons.cpp: "lt" of Py_LT.
const char* name_of_comparison(int op);

// attributes.cpp
bool is_native_method(PyObject* o);
bool is_data_descriptor(PyObject* descriptor);
bool is_read_only(PyObject* descriptor);  // setters.cpp
// What the segment wrote; found: whether it did. nullptr with found: it was deleted.
Value* find_written(const Value* v, const std::string& name, bool* found);
// It is there, and is not captured.
[[noreturn]] void stop_at_attribute(const char* of, const std::string& name);

// objects/object.cpp: what object itself offers.
Method method_of_object(const std::string& name);
Value* new_object(Tracer& t, const Arguments& a);
Value* new_partial(Tracer& t, const Arguments& a);  // objects/partial.cpp: partial(...)
Value* new_deque(Tracer& t, const Arguments& a);    // containers/deque.cpp: deque(...)
// tensors/arrays.cpp: of an array or a number of NumPy's that was made of a tensor.
Recipe recipe_of_array(RecipeMaker& make, Value* v);

// of a builtin type
Value* call_method(Tracer& t, Value* self, const std::string& name, const Arguments& arguments);

}  // namespace vitrine::capture
