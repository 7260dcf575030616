// Additions to the owned reference of core/torch_api/python_ref.h.
#pragma once

#include "core/capture/objects/python.h"

namespace vitrine::capture {

// A further reference to a borrowed object; nullptr stays nullptr.
inline PyRef share(PyObject* o) {
  return PyRef::borrow(o);
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
