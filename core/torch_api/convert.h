// Python values as arguments of a graph's node.
#pragma once

#include <functional>
#include <optional>

#include "core/ir/graph.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

// Called for every tensor inside a value; nullopt: it has no place in the graph.
using TensorArg = std::function<std::optional<ir::Arg>(PyObject* tensor)>;

// None, numbers, text, dtypes, devices, layouts, memory formats, tuples and lists of these. nullopt: a value
// that a graph cannot say (a generator, an object).
std::optional<ir::Arg> to_arg(PyObject* value, const TensorArg& tensor);
std::optional<ir::Arg> constant_arg(PyObject* value);

// A complex number is a word of such an argument: the number, a new reference; nullptr without an error:
// another word.
PyObject* complex_of(const std::string& word);

// For people: like to_arg, but slices become (slice, start, stop, step), dicts lists of pairs, and anything
// else its type's name.
ir::Arg display_arg(PyObject* value, const TensorArg& tensor);

}  // namespace vitrine::torch_api
