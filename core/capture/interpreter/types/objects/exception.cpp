// Exceptions that the program makes. What they say of others: machine/exception_chain.cpp.
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {

bool is_plain_exception(PyTypeObject* type) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  const PyTypeObject* native = native_class(type);
  const bool plain = native->tp_new == base->tp_new && native->tp_init == base->tp_init;
  const auto is = [&](PyObject* other) { return native == reinterpret_cast<PyTypeObject*>(other); };
  return plain || is(PyExc_StopIteration) || is(PyExc_SystemExit) || is(PyExc_ImportError) ||
         is(PyExc_ModuleNotFoundError) || is(PyExc_AttributeError) || is(PyExc_NameError) ||
         is(PyExc_UnboundLocalError);
}

void init_exception(Tracer& t, Value* self, const Arguments& a) {
  if (self->obj) stop("side_effect", "__init__() of an exception that exists already");
  if (!a.keyword.empty()) stop("exception", "keywords of __init__() of a " + describe(t, self));
  self->items() = a.positional;
  self->as<ObjectValue>().worded = true;
}

Value* member_of_exception(Tracer& t, const Value* self, PyObject* member, const std::string& name) {
  auto* stop_iteration = reinterpret_cast<PyTypeObject*>(PyExc_StopIteration);
  if (is_worded(self) && self->cls == stop_iteration && name == "value")
    return self->items().empty() ? t.none() : self->items()[0];
  if (!self->obj && PyType_IsSubtype(self->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) &&
      !(reinterpret_cast<PyDescrObject*>(member)->d_type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    stop("unsupported_value", "attribute " + name + " of a " + std::string(self->cls->tp_name) + " object");
  return nullptr;
}

namespace {

void set_exception_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  // One made here has no traceback that anything could look at.
  if (is_worded(v) && name == "__traceback__" &&
      (is_none(t, value) || type_of(t, value) == &PyTraceBack_Type))
    return;
  set_object_attr(t, v, name, value);
}

Recipe recipe_of_exception(Tracer&, RecipeMaker&, Value*) {
  stop("unsupported_value", "an exception made here leaves the segment");
}

}  // namespace

const TypeOps exception_type = [] {
  TypeOps ops = object_ops("BaseException");
  ops.set_attr = set_exception_attr;
  ops.recipe = recipe_of_exception;
  return ops;
}();

}  // namespace vitrine::capture
