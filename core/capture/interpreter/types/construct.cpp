// cls(...): objects made in the segment. They live only in the shadow until the segment ends.
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Instances of this class hold nothing but attributes, and a list, dict or tuple if they derive from one.
bool is_plain_class(PyTypeObject* type) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (base->tp_flags & Py_TPFLAGS_HEAPTYPE) {
      // functools.partial and its like: classes written in C that are made as Python's are.
      PyObject* maker = PyDict_GetItemString(class_dict(base), "__new__");
      if (lookup(base, "__del__") || (maker && PyCFunction_Check(maker))) return false;
      continue;
    }
    if (base == &PyBaseObject_Type || base == &PyDict_Type || base == &PyList_Type || base == &PyTuple_Type ||
        base == torch_names().ordered_dict || base == torch_names().default_dict ||
        PyType_IsSubtype(base, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
      continue;
    return false;
  }
  return true;
}

}  // namespace

Value* construct(Tracer& t, PyTypeObject* cls, Arguments a) {
  const TorchNames& torch = torch_names();
  PyObject* object = reinterpret_cast<PyObject*>(cls);
  pin_type(t, cls);
  if (cls == torch.partial) return new_partial(t, a);
  if (cls == &PyMethod_Type && a.positional.size() == 2 && a.keyword.empty()) {
    Value* v = t.make(ValueKind::Method);
    v->items() = a.positional;
    v->cls = cls;
    return v;
  }
  if (cls == &_PyWeakref_RefType && a.positional.size() == 1 && a.keyword.empty())
    return weak_reference(t, a.positional[0]);
  if (cls == torch.parameter) return new_parameter(t, a);
  if (cls == torch.deque) return new_deque(t, a);
  if (cls->tp_base == &PyTuple_Type && std::string_view(cls->tp_name).starts_with("torch.return_types.") &&
      a.positional.size() == 1 && a.keyword.empty()) {  // a pytree of torch.max's result makes another
    PyRef items(to_python(t, t.tuple(unpack(t, a.positional[0]))));
    PyRef made(items ? PyObject_CallOneArg(object, items.get()) : nullptr);
    if (!made) t.raise_python();
    return from_python(t, made.get());
  }
  if (PyType_IsSubtype(cls, torch.enum_base)) {
    PyRef key(a.positional.size() == 1 && a.keyword.empty() ? constant_tree(t, a.positional[0]) : nullptr);
    if (!key) stop("unsupported_value", "an enumeration made from a value that is no constant");
    return t.fold(PyObject_CallOneArg(object, key.get()));
  }
  PyObject* meta_call = lookup(Py_TYPE(cls), "__call__");
  if (meta_call && PyFunction_Check(meta_call)) {
    Arguments all = a;
    all.positional.insert(all.positional.begin(), t.pinned(object));
    return call(t, t.pinned(meta_call), std::move(all));
  }
  if (meta_call && PyType_Check(meta_call))
    return call(t, t.pinned(meta_call), std::move(a));  // typing.TypedDict's: dict
  if (meta_call && Py_TYPE(meta_call) != &PyWrapperDescr_Type)
    stop("unsupported_value",
         std::string("a class whose metaclass's __call__ is a ") + Py_TYPE(meta_call)->tp_name);
  return construct_plain(t, cls, std::move(a));
}

// What type.__call__ does: __new__, then __init__.
Value* construct_plain(Tracer& t, PyTypeObject* cls, Arguments a) {
  PyObject* object = reinterpret_cast<PyObject*>(cls);
  if (!is_plain_class(cls)) {
    const bool foreign = std::string(cls->tp_name).find("torch") == std::string::npos;
    stop(foreign ? "foreign_call" : "unsupported_value",
         std::string("an object of class ") + cls->tp_name + " is made");
  }
  PyObject* maker = lookup(cls, "__new__");
  Value* v = nullptr;
  if (maker && Py_TYPE(maker) == &PyStaticMethod_Type) {
    PyRef inner(PyObject_GetAttrString(maker, "__func__"));
    if (inner && PyFunction_Check(inner.get())) {
      Arguments all = a;
      all.positional.insert(all.positional.begin(), t.pinned(object));
      v = t.look(call(t, t.pinned(inner.get()), std::move(all)));
      const bool mine = v->cls && !v->is(ValueKind::Constant) && PyType_IsSubtype(v->cls, cls);
      if (!mine) return v;
    }
  }
  if (maker && !v && Py_TYPE(maker) != &PyStaticMethod_Type && !PyCFunction_Check(maker))
    stop("unsupported_value", std::string(cls->tp_name) + ".__new__ is a " + Py_TYPE(maker)->tp_name);
  if (!v && !a.keyword.empty() && cls->tp_new == PyBaseObject_Type.tp_new &&
      cls->tp_init == PyBaseObject_Type.tp_init)
    t.raise(PyExc_TypeError, std::string(cls->tp_name) + "() takes no arguments", true);
  if (!v && !a.keyword.empty() && PyType_IsSubtype(cls, &PyTuple_Type))
    stop("exception", std::string("keywords of ") + cls->tp_name);
  if (!v)
    v = t.look(call_method(t, t.pinned(object), "__new__",
                           {[&] {
                              Values p = {t.pinned(object)};
                              p.insert(p.end(), a.positional.begin(), a.positional.end());
                              return p;
                            }(),
                            {}}));
  // Of the class of what was made, which may be one derived from it.
  PyTypeObject* made = v->cls && PyType_IsSubtype(v->cls, cls) ? v->cls : cls;
  PyObject* init = lookup(made, "__init__");
  if (init && !PyFunction_Check(init) && Py_TYPE(init) != &PyWrapperDescr_Type)
    stop("unsupported_value", std::string(made->tp_name) + ".__init__ is a " + Py_TYPE(init)->tp_name);
  if (made != cls) pin_type(t, made);
  if (init && PyFunction_Check(init)) {
    Arguments all = a;
    all.positional.insert(all.positional.begin(), v);
    if (!is_none(t, call(t, t.pinned(init), std::move(all))))
      t.raise(PyExc_TypeError, "__init__() should return None");
    return v;
  }
  call_method(t, v, "__init__", a);
  return v;
}

}  // namespace vitrine::capture
