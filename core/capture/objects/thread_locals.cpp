#include "core/capture/objects/thread_locals.h"

#include "core/base/once.h"
#include "core/capture/objects/python.h"

namespace vitrine::capture {
namespace {

PyTypeObject* find_local() {
  PyObject* found = kept(Name::thread_local_class);
  return found && PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(found) : nullptr;
}

// CPython keeps a thread's attributes in the thread's dict, under a name made of the object's address.
bool was_asked_here(PyObject* object) {
  PyObject* of_thread = PyThreadState_GetDict();
  PyRef name(of_thread ? PyUnicode_FromFormat("thread.local.%p", object) : nullptr);
  const bool found = name && PyDict_Contains(of_thread, name.get()) == 1;
  PyErr_Clear();
  return found;
}

}  // namespace

bool is_thread_local(PyTypeObject* type) {
  if (type->tp_getattro == PyObject_GenericGetAttr) return false;
  static constinit Once<PyTypeObject*> kept_local;
  PyTypeObject* const local = kept_local.get(find_local);
  return local && type->tp_getattro == local->tp_getattro && type->tp_setattro == local->tp_setattro;
}

PyObject* thread_attributes(PyObject* object) {
  if (Py_TYPE(object)->tp_init != PyBaseObject_Type.tp_init && !was_asked_here(object)) return nullptr;
  PyRef found(PyObject_GetAttrString(object, "__dict__"));
  PyErr_Clear();
  return found && PyDict_Check(found.get()) ? found.get() : nullptr;  // the thread keeps it
}

PyObject* held_attributes(PyObject* object) {
  if (!is_thread_local(Py_TYPE(object))) return PyObject_GenericGetDict(object, nullptr);
  PyObject* found = thread_attributes(object);
  if (!found) PyErr_SetString(PyExc_AttributeError, "this thread has no attributes of the object yet");
  Py_XINCREF(found);
  return found;
}

}  // namespace vitrine::capture
