#include "core/capture/guards/finalizers.h"

#include <algorithm>

#include "core/capture/guards/lifeline.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/marks.h"
#include "core/capture/objects/values.h"

namespace vitrine::capture {
namespace {

// Once torch.compile was used in the process, it notes every module that is made in weak dicts of its own,
// which nothing else reads.
bool is_note_of_dynamo(PyObject* callback) {
  if (!PyFunction_Check(callback)) return false;
  return globals_of_torch(PyFunction_GET_GLOBALS(callback), "_dynamo");
}

// A generator that has begun and not ended is closed: its `finally` runs.
bool waits(PyObject* generator) {
  PyRef suspended(PyObject_GetAttrString(generator, "gi_suspended"));
  PyErr_Clear();
  return suspended.get() == Py_True;
}

bool runs_at_death(PyObject* o, int depth);

// What a container holds may die with it.
bool holds_finalizer(PyObject* container, int depth) {
  constexpr int kDeep = 3;
  constexpr Py_ssize_t kLooked = 1000;
  if (depth >= kDeep) return false;
  const bool is_list = PyList_Check(container);
  const Py_ssize_t size = is_list ? PyList_GET_SIZE(container) : PyTuple_GET_SIZE(container);
  for (Py_ssize_t i = 0; i < std::min(size, kLooked); ++i)
    if (runs_at_death(is_list ? PyList_GET_ITEM(container, i) : PyTuple_GET_ITEM(container, i), depth + 1))
      return true;
  return false;
}

bool holds_finalizer(PyRef items) {
  PyErr_Clear();
  return items && holds_finalizer(items.get(), 0);
}

// Something runs when this object dies.
bool runs_at_death(PyObject* o, int depth) {
  if (PyGen_CheckExact(o)) return waits(o);
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) return holds_finalizer(o, depth);
  static PyObject* name = PyUnicode_InternFromString("__del__");
  PyTypeObject* type = Py_TYPE(o);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, name)) return true;
  if (!PyType_SUPPORTS_WEAKREFS(type) || PyType_Check(o)) return false;
  auto* reference = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(o));
  for (; reference; reference = reference->wr_next)
    if (PyObject* callback = reference->wr_callback;
        callback && !is_note_of_dynamo(callback) && !Lifeline::is_told_by(callback))
      return true;
  return false;
}

}  // namespace

bool has_finalizer(PyObject* o) {
  return runs_at_death(o, 0);
}

bool has_finalizer_inside(PyObject* container) {
  if (PyList_Check(container) || PyTuple_Check(container)) return holds_finalizer(container, 0);
  if (PyAnySet_CheckExact(container) || is_deque(container))
    return holds_finalizer(PyRef(PySequence_List(container)));
  if (PyDict_Check(container))
    return holds_finalizer(PyRef(PyDict_Keys(container))) || holds_finalizer(PyRef(PyDict_Values(container)));
  PyObject* held = PyCell_Check(container) ? PyCell_GET(container) : nullptr;
  return held && has_finalizer(held);
}

bool has_finalizer_under(PyObject* object, PyObject* name) {
  PyObject* dict = instance_dict(object);
  if (PyObject* held = dict ? dict_value(dict, name) : nullptr) return has_finalizer(held);
  PyObject* member = _PyType_Lookup(Py_TYPE(object), name);
  if (!member || Py_TYPE(member) != &PyMemberDescr_Type) return false;
  const PyRef held(
      Py_TYPE(member)->tp_descr_get(member, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  PyErr_Clear();
  return held && has_finalizer(held.get());
}

}  // namespace vitrine::capture
