// The one owner of a reference to a Python object. The GIL must be held wherever one is copied or destroyed.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>

namespace vitrine::torch_api {

// nullptr = none.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* steals) : o_(steals) {}
  static PyRef steal(PyObject* o) { return PyRef(o); }
  static PyRef borrow(PyObject* o) {
    Py_XINCREF(o);
    return PyRef(o);
  }
  PyRef(const PyRef& other) : o_(other.o_) { Py_XINCREF(o_); }
  PyRef(PyRef&& other) noexcept : o_(std::exchange(other.o_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(o_, other.o_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(o_); }
  PyObject* get() const { return o_; }
  PyObject* release() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_ != nullptr; }

 private:
  PyObject* o_ = nullptr;
};

// The pending Python exception as "Type: text"; clears it. "" if there is none.
inline std::string take_python_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (!type) return "";
  PyErr_NormalizeException(&type, &value, &trace);
  std::string text = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  PyRef shown = PyRef::steal(value ? PyObject_Str(value) : nullptr);
  const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
  if (utf8) text += std::string(": ") + utf8;
  PyErr_Clear();
  Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
  return text;
}

}  // namespace vitrine::torch_api
