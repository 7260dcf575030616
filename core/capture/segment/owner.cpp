#include "core/capture/segment/owner.h"

#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

PyObject* Owner::first_argument(const Frame& frame) {
  if (reinterpret_cast<const PyCodeObject*>(frame.code())->co_argcount == 0) return nullptr;
  PyObject* first = frame.local(0);
  return first && PyCell_Check(first) ? PyCell_GET(first) : first;
}

Owner Owner::of(const Frame& frame) {
  Owner out;
  PyObject* object = first_argument(frame);
  if (!object || !torch_names().is_module(Py_TYPE(object))) return out;
  out.reference_ = PyRef(PyWeakref_NewRef(object, nullptr));
  if (out.reference_) out.object_ = object;
  PyErr_Clear();  // a class without weak references
  return out;
}

bool Owner::counts_for(const Frame& frame) const {
  if (!object_ || PyWeakref_GET_OBJECT(reference_.get()) == Py_None) return true;
  return object_ == first_argument(frame);
}

}  // namespace vitrine::capture
