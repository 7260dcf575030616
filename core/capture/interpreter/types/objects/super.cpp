// super(): the attributes of an object, found behind one of its classes.
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"

namespace vitrine::capture {
namespace {

Value* super_attr(Tracer& t, Value* v, const std::string& name) {
  if (v->items().empty()) stop("exception", "attribute " + name + " of a traceback");
  PyObject* after = const_object(t, v->items()[0]);
  Value* self = t.look(v->items()[1]);
  // A class answers for itself, and as an object of its metaclass.
  const bool through_class =
      self->is(ValueKind::Constant) && PyType_Check(self->obj) && after && PyType_Check(after) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->obj), reinterpret_cast<PyTypeObject*>(after));
  PyTypeObject* type = through_class ? reinterpret_cast<PyTypeObject*>(self->obj) : type_of(t, self);
  pin_type(t, type);
  PyObject* mro = type->tp_mro;
  bool past = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    PyObject* base = PyTuple_GET_ITEM(mro, i);
    if (past) {
      PyObject* found = PyDict_GetItemString(class_dict(reinterpret_cast<PyTypeObject*>(base)), name.c_str());
      if (found) return bind_descriptor(t, found, through_class ? nullptr : self, type, name);
    }
    past = past || base == after;
  }
  if (name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(&PySuper_Type));
  return nullptr;
}

}  // namespace

const TypeOps super_type = {
    .name = "super",
    .cls = &PySuper_Type,
    .describe = [](Tracer&, Value*) { return std::string("super()"); },
    .attr = super_attr,
};

}  // namespace vitrine::capture
