// Walks a source step by step on a live frame without ever running the user's code: no property, no
// __getattr__, no __eq__ of a user's class. What cannot be read that way counts as absent, and then a guard
// fails, which is always safe.
#pragma once

#include <vector>

#include "core/capture/cpython/frame.h"
#include "core/capture/objects/owned.h"
#include "core/capture/trace/source.h"

namespace vitrine::capture {

// Objects made while reading (bound methods, values of C-level getters); they must outlive the values read.
using Temporaries = std::vector<PyRef>;

// One source with its key prepared: interned name or key object, and its hash. The source's own key belongs
// to whoever has the source.
struct SourceStep {
  SourceKind kind = SourceKind::Constant;
  int32_t index = -1;
  bool integer_key = false;  // Item: `index` is the position when the base is a list or a tuple
  PyObject* key = nullptr;
  PyRef name;  // the key, where it was made of the source's name
  Py_hash_t hash = -1;
};
SourceStep prepare_step(const Source& source);

// Borrowed, alive as long as what it was read from (or `keep`); nullptr = absent. Never leaves a Python error
// set.
PyObject* read_step(const SourceStep& step, PyObject* base, const Frame& frame, Temporaries& keep);
PyObject* read_source(const Source& source, const Frame& frame, Temporaries& keep);

// base.name by the rules of plain objects, classes, modules and nn.Modules; nullptr = absent or not readable.
PyObject* read_attribute(PyObject* base, PyObject* interned_name, Temporaries& keep);
// Whether the name is found on the object itself or its type, without fetching it.
bool has_attribute(PyObject* base, PyObject* interned_name);
// The object's own attributes (borrowed), or nullptr.
PyObject* instance_dict(PyObject* object);
// The dict that a mappingproxy shows (borrowed), or nullptr where it is another mapping.
PyObject* proxied_dict(PyObject* proxy);
// dict[key], borrowed, nullptr = absent; no error is left set.
PyObject* dict_value(PyObject* dict, PyObject* key);

}  // namespace vitrine::capture
