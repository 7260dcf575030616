// Objects of threading.local: what their attributes are depends on the thread that asks.
#pragma once

#include <Python.h>

namespace vitrine::capture {

// Attributes are read and written as threading.local itself does it, without a method of a subclass.
bool is_thread_local(PyTypeObject* type);

// The running thread's attributes of such an object, borrowed. nullptr without an error where the thread has
// not asked for one yet and the first question would run an __init__ of the user's own.
PyObject* thread_attributes(PyObject* object);

// What an object holds by name: the thread's attributes of a threading.local, the __dict__ of any other. A
// new reference, or nullptr with an error.
PyObject* held_attributes(PyObject* object);

}  // namespace vitrine::capture
