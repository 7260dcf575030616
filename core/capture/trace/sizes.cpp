#include "core/capture/trace/sizes.h"

#include <algorithm>

#include "core/capture/objects/python.h"

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

// Whether each stride is larger than the others, or as large, where the other's is.
bool same_order(std::span<const int64_t> a, std::span<const int64_t> b) {
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a.size(); ++j)
      if ((a[i] <= a[j]) != (b[i] <= b[j])) return false;
  return true;
}

}  // namespace

bool SizeHistory::note_pitch(const std::string& path, std::span<const int64_t> sizes,
                             std::span<const int64_t> strides) {
  Placed& placed = placed_[path];
  if (std::ranges::equal(placed.sizes, sizes) && placed.strides.size() == strides.size() &&
      !std::ranges::equal(placed.strides, strides))
    placed.changed = placed.changed || same_order(placed.strides, strides);
  placed.sizes.assign(sizes.begin(), sizes.end());
  placed.strides.assign(strides.begin(), strides.end());
  return placed.changed;
}

namespace {

PyRef attribute(PyObject* o, const char* name) {
  PyRef found(PyObject_GetAttrString(o, name));
  if (!found) PyErr_Clear();
  return found;
}

int64_t int_or(const PyRef& o, int64_t otherwise) {
  if (!o || !PyLong_Check(o.get())) return otherwise;
  const int64_t n = PyLong_AsLongLong(o.get());
  if (n != -1 || !PyErr_Occurred()) return n;
  PyErr_Clear();
  return otherwise;
}

// Calls f(item) for each member of the set at own[name].
template <class F>
void each_member(PyObject* own, const char* name, F&& f) {
  PyObject* set = PyDict_GetItemString(own, name);
  PyRef items(set && PyAnySet_Check(set) ? PySequence_List(set) : nullptr);
  PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) f(PyList_GET_ITEM(items.get(), i));
}

// Calls f(key, value) for each entry of the dict at own[name].
template <class F>
void each_entry(PyObject* own, const char* name, F&& f) {
  PyObject* dict = PyDict_GetItemString(own, name);
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; dict && PyDict_Check(dict) && PyDict_Next(dict, &at, &key, &value);) f(key, value);
}

// None: no bound.
void narrow(ir::SymRange& range, const PyRef& lo, const PyRef& hi) {
  range.lo = std::max(range.lo, int_or(lo, range.lo));
  range.hi = std::min(range.hi, int_or(hi, range.hi));
}

struct MarkRow {
  const char* name;  // of the attribute: the set of the marked dims
  bool fixed, enforced;
};
constexpr MarkRow kMarks[] = {
    {"_dynamo_dynamic_indices", false, true},          // mark_dynamic
    {"_dynamo_weak_dynamic_indices", false, false},    // maybe_mark_dynamic
    {"_dynamo_unbacked_indices", false, false},        // mark_unbacked
    {"_dynamo_strict_unbacked_indices", false, true},  // mark_unbacked(strict=True)
    {"_dynamo_static_indices", true, false},           // mark_static
};

}  // namespace

bool has_marks(PyObject* tensor) {
  PyObject** own = _PyObject_GetDictPtr(tensor);
  if (!own || !*own || PyDict_GET_SIZE(*own) == 0) return false;
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](const MarkRow& row) { return PyDict_GetItemString(*own, row.name) != nullptr; });
}

std::vector<SizeMark> size_marks(PyObject* tensor, size_t dims) {
  std::vector<SizeMark> out(dims);
  if (!has_marks(tensor)) return out;
  PyObject* own = *_PyObject_GetDictPtr(tensor);
  auto at = [&](PyObject* index) -> SizeMark* {
    const int64_t d = PyLong_Check(index) ? PyLong_AsLongLong(index) : -1;
    PyErr_Clear();
    return d >= 0 && static_cast<size_t>(d) < dims ? &out[static_cast<size_t>(d)] : nullptr;
  };
  for (const MarkRow& row : kMarks)
    each_member(own, row.name, [&](PyObject* index) {
      SizeMark* mark = at(index);
      if (!mark) return;
      (row.fixed ? mark->fixed : mark->dynamic) = true;
      mark->enforced = mark->enforced || row.enforced;
    });
  each_member(own, "_dynamo_dynamic_range", [&](PyObject* range) {
    PyRef dim = attribute(range, "dim");
    if (SizeMark* mark = dim ? at(dim.get()) : nullptr)
      narrow(mark->range, attribute(range, "min"), attribute(range, "max"));
  });
  each_entry(own, "_dynamo_unbacked_bounds", [&](PyObject* dim, PyObject* bounds) {
    SizeMark* mark = at(dim);
    if (!mark || !PyTuple_Check(bounds) || PyTuple_GET_SIZE(bounds) != 2) return;
    narrow(mark->range, PyRef(Py_NewRef(PyTuple_GET_ITEM(bounds, 0))),
           PyRef(Py_NewRef(PyTuple_GET_ITEM(bounds, 1))));
  });
  each_entry(own, "_dynamo_shape_ids", [&](PyObject* dim, PyObject* id) {
    if (SizeMark* mark = PyUnicode_Check(id) ? at(dim) : nullptr) mark->group = text_of(id);
  });
  for (SizeMark& mark : out)  // as in PyTorch
    if (mark.dynamic) mark.fixed = false;
  return out;
}

bool marks_are_heeded(PyObject* tensor, std::span<const int64_t> sizes,
                      const std::function<bool(size_t)>& open) {
  if (!has_marks(tensor)) return true;
  const std::vector<SizeMark> marks = size_marks(tensor, sizes.size());
  for (size_t d = 0; d < marks.size(); ++d) {
    if (marks[d].contradicts(sizes[d])) return false;
    if (marks[d].dynamic && sizes[d] >= 2 && !open(d)) return false;
    if (marks[d].fixed && open(d)) return false;
  }
  return true;
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

std::optional<MarkError> Symbolic::broken_mark() const {
  for (size_t i = 0; i < origins.size(); ++i) {
    const SizeMark& mark = origins[i].mark;
    const ir::Symbol& symbol = table.symbols()[i];
    if (!mark.enforced) continue;
    if (!symbol.specialised_by.empty())
      return MarkError{
          symbol.source,
          "You marked " + symbol.source + " as dynamic but your code specialized it to be a constant (" +
              std::to_string(symbol.hint) + "). Either remove mark_dynamic or use maybe_mark_dynamic.",
          symbol.specialised_by};
    if (mark.range == ir::SymRange{}) continue;
    if (const ir::SymGuard* guard = table.narrowing(static_cast<int32_t>(i)))
      return MarkError{symbol.source,
                       "Not all values of " + symbol.source + " in the specified range " +
                           ir::range_text(mark.range) + " satisfy the generated guard " + table.text(*guard) +
                           " (" + symbol.name + " is " + symbol.source + ")",
                       guard->place};
  }
  return {};
}

Symbolic::~Symbolic() {
  for (Question& q : questions) Py_XDECREF(q.answer);
}

}  // namespace vitrine::capture
