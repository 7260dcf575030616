#include <Python.h>

#include <iterator>

#include "core/torch_api/default_device.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

constexpr const char* kKinds[] = {"cpu", "cuda", "meta"};
// Device numbers that a kind has room for; the first stands for "without a number".
constexpr int32_t kIndices = 256;

// device.type and device.index as one number.
int32_t number_of(PyObject* device) {
  PyRef type = PyRef::steal(PyObject_GetAttrString(device, "type"));
  PyRef index = PyRef::steal(PyObject_GetAttrString(device, "index"));
  if (!type || !index) return kForeignMode;
  const long place = index.get() == Py_None ? 0 : PyLong_AsLong(index.get()) + 1;
  for (size_t kind = 0; kind < std::size(kKinds) && place >= 0 && place < kIndices; ++kind)
    if (PyUnicode_CompareWithASCIIString(type.get(), kKinds[kind]) == 0)
      return 1 + static_cast<int32_t>(kind) * kIndices + static_cast<int32_t>(place);
  return kForeignMode;
}

int32_t only_mode() {
  const PyRef at = find_loaded(Name::function_stack_at), context = find_loaded(Name::DeviceContext);
  PyRef mode = PyRef::steal(at && context ? PyObject_CallFunction(at.get(), "i", 0) : nullptr);
  if (!mode || reinterpret_cast<PyObject*>(Py_TYPE(mode.get())) != context.get()) return kForeignMode;
  PyRef device = PyRef::steal(PyObject_GetAttrString(mode.get(), "device"));
  return device ? number_of(device.get()) : kForeignMode;
}

}  // namespace

int32_t default_device(const Symbols& s) {
  const int64_t modes = s.function_modes();
  if (modes == 0) return kNoDefaultDevice;
  const int32_t number = modes == 1 ? only_mode() : kForeignMode;
  PyErr_Clear();
  return number;
}

std::string default_device_text(int32_t number) {
  if (number == kNoDefaultDevice) return "none";
  if (number == kForeignMode) return "a foreign function mode";
  const int32_t kind = (number - 1) / kIndices, place = (number - 1) % kIndices;
  return kKinds[kind] + (place == 0 ? "" : ":" + std::to_string(place - 1));
}

}  // namespace vitrine::torch_api
