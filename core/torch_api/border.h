// Between Python and those functions of ours that it calls. What they throw must not pass through CPython's
// own C frames, which would leave the thread's state pointing to what is gone: at the border it becomes a
// Python error.
#pragma once

#include <Python.h>

#include <exception>
#include <new>

namespace vitrine::torch_api {

// A Python error that is set already says more.
inline void set_thrown(const char* what) {
  if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "vitrine: %s", what);
}

template <auto function>
struct Border;

template <class... A, PyObject* (*function)(A...)>
struct Border<function> {
  static PyObject* call(A... arguments) {
    try {
      return function(arguments...);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      set_thrown(error.what());
    } catch (...) {
      set_thrown("an unknown error");
    }
    return nullptr;
  }
};

// The function as Python may call it.
template <auto function>
inline constexpr auto border = &Border<function>::call;

}  // namespace vitrine::torch_api
