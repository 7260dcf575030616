// isinstance() with a protocol that may be asked at run time: what has its members is one of its instances.
#include "core/capture/interpreter/types/protocols.h"
#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

bool is_true(PyObject* of, const char* name) {
  PyRef value(PyObject_GetAttrString(of, name));
  PyErr_Clear();
  return value.get() == Py_True;
}

// Its value is computed by code of the program.
bool is_computed(PyTypeObject* type, const std::string& name) {
  PyObject* found = lookup(type, name);
  if (!found) {
    PyObject* fallback = lookup(type, "__getattr__");
    return fallback && fallback != torch_names().module_getattr;
  }
  PyTypeObject* kind = Py_TYPE(found);
  return kind->tp_descr_get && !PyFunction_Check(found) && kind != &PyMethodDescr_Type &&
         kind != &PyWrapperDescr_Type && kind != &PyStaticMethod_Type && kind != &PyClassMethod_Type &&
         kind != &PyMemberDescr_Type;
}

// Whether the member is there, and not None where the protocol's is callable.
bool has_member(Tracer& t, Value* v, PyObject* protocol, const std::string& name) {
  PyObject* wanted = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(protocol),
                                    PyRef(PyUnicode_FromString(name.c_str())).get());
  if (is_computed(type_of(t, v), name))
    stop("unsupported_builtin",
         "isinstance() with a protocol of a " + describe(t, v) + ", which computes " + name);
  const bool is_method = wanted && PyCallable_Check(wanted);
  try {
    Value* found = get_attr(t, v, name);
    return found && !(is_method && is_none(t, found));
  } catch (const RaiseSignal& signal) {
    if (!signal.exception || signal.exception->cls != reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))
      throw;
    return false;
  }
}

}  // namespace

bool is_protocol(PyObject* cls) {
  return PyDict_GetItemString(class_dict(reinterpret_cast<PyTypeObject*>(cls)), "_is_protocol") == Py_True;
}

// The real object is asked, too, where there is one.
bool is_of_protocol(Tracer& t, Value* v, PyObject* protocol) {
  static constinit Once<PyObject*> kept_members_of;
  PyObject* const members_of = kept_members_of.get([] { return find_object("typing._get_protocol_attrs"); });
  PyRef members(members_of && is_true(protocol, "_is_runtime_protocol")
                    ? PyObject_CallOneArg(members_of, protocol)
                    : nullptr);
  PyErr_Clear();
  v = t.look(v);
  const bool changed = v->mutated || !v->attrs.empty();
  if (!members || !v->is(ValueKind::Object) || (!v->obj && lookup(v->cls, "__getattr__")) ||
      (v->obj && changed))
    stop("unsupported_builtin", "isinstance() of a " + describe(t, v) + " with a protocol");
  pin_type(t, reinterpret_cast<PyTypeObject*>(protocol));
  t.guard(GuardKind::AbcRegistry, constant_source(t, protocol), protocol, abc_registrations(), "", nullptr,
          "no class was registered");
  bool all = true;
  PyRef names(PySequence_List(members.get()));
  for (Py_ssize_t i = 0; names && all && i < PyList_GET_SIZE(names.get()); ++i)
    all = has_member(t, v, protocol, text_of(PyList_GET_ITEM(names.get(), i)));
  const int really = v->obj ? PyObject_IsInstance(v->obj, protocol) : all;
  if (really < 0 || really != static_cast<int>(all) || (!all && !v->obj)) {
    PyErr_Clear();
    stop("unsupported_builtin", "isinstance() of a " + describe(t, v) + " with a protocol");
  }
  return all;
}

}  // namespace vitrine::capture
