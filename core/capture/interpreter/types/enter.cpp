// Containers that existed before the segment: what becomes of one when it is looked at.
#include "core/capture/interpreter/types/enter.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/type_rows.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static const TypeOps& type_of_real(PyObject* o) {
  if (PySlice_Check(o)) return slice_type;
  if (PyRange_Check(o)) return range_type;
  if (PyDict_Check(o)) return dict_type;
  if (PyAnySet_Check(o)) return set_type;
  if (PyTuple_Check(o)) return tuple_type;
  return PyList_Check(o) ? list_type : deque_type;
}

void materialise_container(Tracer& t, Value* v) {
  guard_type(t, v);
  type_of_real(v->obj).enter(t, v);
}

// What stands in a tuple, list or deque from before this point.
Values items_before(Tracer& t, Value* v) {
  PyObject* o = v->obj;
  const bool is_tuple = PyTuple_Check(o);
  // Not by the class's own way to go through it.
  const PyRef items(is_tuple          ? PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o))
                    : PyList_Check(o) ? PyList_GetSlice(o, 0, PyList_GET_SIZE(o))
                                      : PySequence_List(o));
  if (!items) t.raise_python();
  Values found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyRef key(PyLong_FromSsize_t(i));
    found.push_back(t.lazy(PySequence_Fast_GET_ITEM(items.get(), i),
                           t.sources().make(SourceKind::Item, v->source, -1, std::to_string(i), key.get()),
                           is_tuple && v->pinned));
  }
  return found;
}

}  // namespace vitrine::capture
