// Python.h and a reference that releases itself. Every use needs the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>

namespace vitrine::capture {

// An owned reference; nullptr = none.
class Owned {
 public:
  Owned() = default;
  explicit Owned(PyObject* steals) : p_(steals) {}
  Owned(Owned&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      Py_XDECREF(p_);
      p_ = std::exchange(other.p_, nullptr);
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// UTF-8 text of a str; "" (error cleared) for anything else.
inline std::string text_of(PyObject* o) {
  if (!o || !PyUnicode_Check(o)) return "";
  const char* text = PyUnicode_AsUTF8(o);
  if (!text) PyErr_Clear();
  return text ? text : "";
}
// repr(o), or its type's name when repr fails; cut to `limit` bytes.
inline std::string repr_of(PyObject* o, size_t limit = 120) {
  Owned r(PyObject_Repr(o));
  if (!r) PyErr_Clear();
  std::string s = r ? text_of(r.get()) : std::string(Py_TYPE(o)->tp_name);
  if (s.size() > limit) s = s.substr(0, limit - 3) + "...";
  return s;
}

}  // namespace vitrine::capture
