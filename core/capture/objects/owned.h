// Additions to the self-releasing reference of core/capture/objects/python.h.
#pragma once

#include "core/capture/objects/python.h"

namespace vitrine::capture {

// A further reference to a borrowed object; nullptr stays nullptr.
inline Owned share(PyObject* o) {
  Py_XINCREF(o);
  return Owned(o);
}

// Sets a pending Python error aside, and puts it back at the end of the scope. What happens in between is
// dropped.
class ErrorAside {
 public:
  ErrorAside() { PyErr_Fetch(&type_, &value_, &trace_); }
  ~ErrorAside() { PyErr_Restore(type_, value_, trace_); }
  ErrorAside(const ErrorAside&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

}  // namespace vitrine::capture
