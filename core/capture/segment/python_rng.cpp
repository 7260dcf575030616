#include "core/capture/segment/python_rng.h"

#include <algorithm>

namespace vitrine::capture {

bool PythonDraws::make(std::span<PyRef> sources, const std::vector<int32_t>& drawn) {
  for (const int32_t i : drawn)
    if (!draw(sources[static_cast<size_t>(i)])) {
      PyErr_Clear();
      take_back();
      return false;
    }
  return true;
}

// source: a tuple of a bound method and its arguments.
bool PythonDraws::draw(PyRef& source) {
  PyObject* method = PyTuple_GET_ITEM(source.get(), 0);
  PyRef generator(PyObject_GetAttrString(method, "__self__"));
  if (!generator) return false;
  const auto known = [&](const auto& each) { return each.first.get() == generator.get(); };
  if (std::none_of(before_.begin(), before_.end(), known)) {
    PyRef state(PyObject_CallMethod(generator.get(), "getstate", nullptr));
    if (!state) return false;
    before_.emplace_back(std::move(generator), std::move(state));
  }
  const PyRef arguments(PyTuple_GetSlice(source.get(), 1, PyTuple_GET_SIZE(source.get())));
  PyRef number(arguments ? PyObject_CallObject(method, arguments.get()) : nullptr);
  if (!number || !PyFloat_CheckExact(number.get())) return false;
  source = std::move(number);
  return true;
}

void PythonDraws::take_back() {
  ErrorAside aside;
  for (const auto& [generator, state] : before_) {
    PyRef done(PyObject_CallMethod(generator.get(), "setstate", "(O)", state.get()));
    if (!done) PyErr_Clear();
  }
  before_.clear();
}

}  // namespace vitrine::capture
