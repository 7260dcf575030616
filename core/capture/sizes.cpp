#include "core/capture/sizes.h"

#include <algorithm>

#include "core/capture/trace/python.h"

namespace vitrine::capture {

std::vector<SizeHistory::Change> SizeHistory::note(const std::string& path,
                                                   const std::vector<int64_t>& sizes) {
  Seen& seen = seen_[path];
  if (seen.sizes.size() != sizes.size()) seen = {sizes, std::vector<Change>(sizes.size())};
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (seen.sizes[i] == sizes[i]) continue;
    if (!seen.changes[i].changed) seen.changes[i] = {true, seen.sizes[i]};
    seen.sizes[i] = sizes[i];
  }
  return seen.changes;
}

namespace {

Owned attribute(PyObject* o, const char* name) {
  Owned found(PyObject_GetAttrString(o, name));
  if (!found) PyErr_Clear();
  return found;
}

int64_t int_attribute(PyObject* o, const char* name, int64_t otherwise) {
  Owned found = attribute(o, name);
  if (!found || !PyLong_Check(found.get())) return otherwise;
  const int64_t n = PyLong_AsLongLong(found.get());
  if (n == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return otherwise;
  }
  return n;
}

// Calls f(item) for each member of the set at own[name].
template <class F>
void each_member(PyObject* own, const char* name, F&& f) {
  PyObject* set = PyDict_GetItemString(own, name);
  Owned items(set && PyAnySet_Check(set) ? PySequence_List(set) : nullptr);
  PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) f(PyList_GET_ITEM(items.get(), i));
}

}  // namespace

std::vector<SizeMark> size_marks(PyObject* tensor, size_t dims) {
  std::vector<SizeMark> out(dims);
  Owned own(PyObject_GenericGetDict(tensor, nullptr));
  PyErr_Clear();
  if (!own || PyDict_GET_SIZE(own.get()) == 0) return out;
  auto at = [&](PyObject* index) -> SizeMark* {
    const int64_t d = PyLong_Check(index) ? PyLong_AsLongLong(index) : -1;
    PyErr_Clear();
    return d >= 0 && static_cast<size_t>(d) < dims ? &out[static_cast<size_t>(d)] : nullptr;
  };
  for (const char* name :
       {"_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices", "_dynamo_unbacked_indices"})
    each_member(own.get(), name, [&](PyObject* index) {
      if (SizeMark* mark = at(index)) mark->dynamic = true;
    });
  each_member(own.get(), "_dynamo_static_indices", [&](PyObject* index) {
    if (SizeMark* mark = at(index)) mark->fixed = true;
  });
  each_member(own.get(), "_dynamo_dynamic_range", [&](PyObject* range) {
    Owned dim = attribute(range, "dim");
    SizeMark* mark = dim ? at(dim.get()) : nullptr;
    if (!mark) return;
    mark->range.lo = int_attribute(range, "min", mark->range.lo);
    mark->range.hi = int_attribute(range, "max", mark->range.hi);
  });
  return out;
}

int32_t Symbolic::number_of(const ir::Sym& value) {
  for (size_t i = 0; i < integers.size(); ++i)
    if (integers[i].same(value)) return static_cast<int32_t>(i);
  integers.push_back(value);
  return static_cast<int32_t>(integers.size()) - 1;
}

void Symbolic::find_use() {
  for (Input& input : inputs)
    input.in_graph = input.is_tensor || std::any_of(in_calls.begin(), in_calls.end(), [&](int32_t number) {
                       return table.depends_on(integers[static_cast<size_t>(number)], input.symbols[0]);
                     });
}

Symbolic::~Symbolic() {
  for (Question& q : questions) Py_XDECREF(q.answer);
}

}  // namespace vitrine::capture
