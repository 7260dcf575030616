// The two callables that Vitrine hands to programs: CompiledFunction runs what it wraps with capture on,
// DisabledFunction with capture off. Both bind as methods, carry a __dict__ (name, documentation) and keep
// the original as __wrapped__.
#include <Python.h>
#include <structmember.h>

#include <cstddef>

#include "core/capture/segment/store.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/torch_api/border.h"
#include "core/torch_api/python_names.h"

namespace vitrine::python {
namespace {

struct Callable {
  PyObject_HEAD PyObject* wrapped;
  PyObject* settings;  // dict as given; DisabledFunction: nullptr
  PyObject* reason;    // DisabledFunction only: the user's words, or None
  PyObject *dict, *weakrefs;
  vectorcallfunc vectorcall;
  bool recursive;                    // DisabledFunction only
  bool forced;                       // CompiledFunction only: a stance has chosen its backend
  capture::CaptureHandler* handler;  // owned; CompiledFunction only
  int64_t number;                    // the how many-th that was made; CompiledFunction only
};

Callable* as_callable(PyObject* o) {
  return reinterpret_cast<Callable*>(o);
}

// While it lives, a call that is observed runs. The GIL guards the count; a call on another thread meanwhile
// is told of too.
class Observing {
 public:
  explicit Observing(bool on) : on_(on) { engine().observing += on_; }
  ~Observing() { engine().observing -= on_; }
  Observing(const Observing&) = delete;

 private:
  const bool on_;
};

// While it lives, a call is under way inside of which nobody is told of others.
class TellsOfCall {
 public:
  explicit TellsOfCall(const Callable& callable) : on_(engine().before_call.get()) {
    if (!on_ || engine().calls_under_way++) return;
    const capture::PyRef asked = engine().before_call;  // it may leave itself
    const capture::PyRef said(
        PyObject_CallFunction(asked.get(), "L", static_cast<long long>(callable.number)));
    failed_ = !said;
  }
  ~TellsOfCall() { engine().calls_under_way -= on_; }
  TellsOfCall(const TellsOfCall&) = delete;
  bool failed() const { return failed_; }

 private:
  const bool on_;
  bool failed_ = false;
};

PyObject* call_compiled(PyObject* self, PyObject* const* args, size_t n, PyObject* names) {
  Callable* c = as_callable(self);
  const TellsOfCall told(*c);
  if (told.failed()) return nullptr;
  const capture::Stance stance = engine().controls.stance();
  if (PyErr_Occurred()) return nullptr;  // a signal's handler raised
  if (stance == capture::Stance::Eager || engine().eager) {
    const capture::PauseCapture off;
    return PyObject_Vectorcall(c->wrapped, args, n, names);
  }
  if (stance == capture::Stance::ForcedBackend && !c->forced) {
    const capture::PyRef other = torch_api::call(torch_api::Name::forced, "O", self);
    return other ? PyObject_Vectorcall(other.get(), args, n, names) : nullptr;
  }
  // vitrine.explain is told of all that it runs, whoever had it compiled.
  PyObject* observer = c->handler->settings().observer.get();
  const bool explains = observer && PyList_Check(observer);   // a function only logs
  if (engine().observing && c->handler->settings().pieces) {  // whose graph was told of
    const capture::PauseCapture off;
    return PyObject_Vectorcall(c->wrapped, args, n, names);
  }
  if (engine().observing && !explains) return PyObject_Vectorcall(c->wrapped, args, n, names);
  Observing observing(explains);
  capture::ActiveCapture on(*c->handler);
  return PyObject_Vectorcall(c->wrapped, args, n, names);
}

PyObject* call_disabled(PyObject* self, PyObject* const* args, size_t n, PyObject* names) {
  if (!as_callable(self)->recursive) {
    const capture::UncapturedCallees inner;
    return PyObject_Vectorcall(as_callable(self)->wrapped, args, n, names);
  }
  const capture::PauseCapture off;
  return PyObject_Vectorcall(as_callable(self)->wrapped, args, n, names);
}

PyObject* make(PyTypeObject* type, PyObject* wrapped, vectorcallfunc call) {
  if (!PyCallable_Check(wrapped)) return PyErr_Format(PyExc_TypeError, "%R is not callable", wrapped);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  as_callable(self)->wrapped = Py_NewRef(wrapped);
  as_callable(self)->vectorcall = call;
  return self;
}

// The code that a call of `callable` runs first, where that is plain to see; borrowed, or nullptr.
PyObject* code_of(PyObject* callable) {
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  return PyFunction_Check(callable) ? PyFunction_GET_CODE(callable) : nullptr;
}

PyObject* new_compiled(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *wrapped = nullptr, *settings = nullptr;
  if (!PyArg_ParseTuple(args, "OO!:CompiledFunction", &wrapped, &PyDict_Type, &settings)) return nullptr;
  if (!fits_pytorch()) return nullptr;
  capture::CallSettingsPtr call = settings_from(settings);
  PyObject* self = call ? make(type, wrapped, torch_api::border<call_compiled>) : nullptr;
  if (!self) return nullptr;
  as_callable(self)->settings = Py_NewRef(settings);
  as_callable(self)->number = ++engine().callables;
  as_callable(self)->forced = PyDict_GetItemString(settings, "forced") != nullptr;
  as_callable(self)->handler = new capture::CaptureHandler(engine(), std::move(call));
  if (PyObject* code = code_of(wrapped)) capture::CaptureHandler::always_capture(code);
  return self;
}

PyObject* new_disabled(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *wrapped = nullptr, *reason = Py_None;
  int recursive = 1;
  if (!PyArg_ParseTuple(args, "O|pO:DisabledFunction", &wrapped, &recursive, &reason)) return nullptr;
  PyObject* self = make(type, wrapped, torch_api::border<call_disabled>);
  if (!self) return nullptr;
  as_callable(self)->recursive = recursive != 0;
  as_callable(self)->reason = Py_NewRef(reason);
  return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_callable(self)->wrapped);
  Py_VISIT(as_callable(self)->settings);
  Py_VISIT(as_callable(self)->reason);
  Py_VISIT(as_callable(self)->dict);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_callable(self)->wrapped);
  Py_CLEAR(as_callable(self)->settings);
  Py_CLEAR(as_callable(self)->reason);
  Py_CLEAR(as_callable(self)->dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (as_callable(self)->weakrefs) PyObject_ClearWeakRefs(self);
  clear(self);
  delete as_callable(self)->handler;
  Py_TYPE(self)->tp_free(self);
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<%s of %R>", Py_TYPE(self)->tp_name, as_callable(self)->wrapped);
}

PyObject* reduce(PyObject* self, PyObject*) {
  return torch_api::call(torch_api::Name::reduce_callable, "O", self).release();
}

// A plain function is copied by deepcopy as itself, and so is what wraps one.
PyObject* deepcopy(PyObject* self, PyObject*) {
  return Py_NewRef(self);
}

// What inspect asks of a function, for whether it is a coroutine's or a generator's; of a module, what
// torch.export asks of its forward.
PyObject* of_wrapped(PyObject* self, void* name) {
  PyObject* wrapped = as_callable(self)->wrapped;
  const char* const asked = static_cast<const char*>(name);
  PyObject* found = PyObject_GetAttrString(wrapped, asked);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const capture::PyRef forward(PyObject_GetAttrString(wrapped, "forward"));
  found = forward ? PyObject_GetAttrString(forward.get(), asked) : nullptr;
  PyErr_Clear();
  if (!found) return PyErr_Restore(type, value, trace), nullptr;
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return found;
}

// What wraps a function, or a method, is one to inspect, as what torch.compile returns is.
PyObject* class_of(PyObject* self, void*) {
  return Py_NewRef(code_of(as_callable(self)->wrapped) ? &PyFunction_Type : Py_TYPE(self));
}

char kCode[] = "__code__", kDefaults[] = "__defaults__", kKeywordDefaults[] = "__kwdefaults__",
     kGlobals[] = "__globals__", kClosure[] = "__closure__";

PyMemberDef kMembers[] = {
    {"__wrapped__", T_OBJECT, offsetof(Callable, wrapped), READONLY, "The original callable."},
    {"settings", T_OBJECT, offsetof(Callable, settings), READONLY, "How it was asked to be compiled."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMemberDef kDisabledMembers[] = {
    {"__wrapped__", T_OBJECT, offsetof(Callable, wrapped), READONLY, "The original callable."},
    {"reason", T_OBJECT, offsetof(Callable, reason), READONLY,
     "Why it is not captured, in the user's words."},
    {"recursive", T_BOOL, offsetof(Callable, recursive), READONLY, "Whether what it calls is not captured."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {kCode, of_wrapped, nullptr, nullptr, kCode},
    {kDefaults, of_wrapped, nullptr, nullptr, kDefaults},
    {kKeywordDefaults, of_wrapped, nullptr, nullptr, kKeywordDefaults},
    {kGlobals, of_wrapped, nullptr, nullptr, kGlobals},
    {kClosure, of_wrapped, nullptr, nullptr, kClosure},
    {"__class__", class_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethods[] = {
    {"__reduce__", torch_api::border<reduce>, METH_NOARGS, nullptr},
    {"__deepcopy__", torch_api::border<deepcopy>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject make_type(const char* name, const char* doc, newfunc create, PyMemberDef* members) {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = name;
  t.tp_doc = doc;
  t.tp_basicsize = sizeof(Callable);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  t.tp_vectorcall_offset = offsetof(Callable, vectorcall);
  t.tp_dictoffset = offsetof(Callable, dict);
  t.tp_weaklistoffset = offsetof(Callable, weakrefs);
  t.tp_call = PyVectorcall_Call;
  t.tp_new = create;
  t.tp_dealloc = dealloc;
  t.tp_traverse = traverse;
  t.tp_clear = clear;
  t.tp_descr_get = bind;
  t.tp_repr = represent;
  t.tp_members = members;
  t.tp_getset = kGetSet;
  t.tp_methods = kMethods;
  return t;
}

PyTypeObject compiled_type = make_type("vitrine._engine.CompiledFunction", "A callable that runs compiled.",
                                       torch_api::border<new_compiled>, kMembers);
PyTypeObject disabled_type =
    make_type("vitrine._engine.DisabledFunction", "A callable that is never captured.",
              torch_api::border<new_disabled>, kDisabledMembers);

}  // namespace

void add_callables(PyObject* module) {
  for (PyTypeObject* type : {&compiled_type, &disabled_type})
    if (PyModule_AddType(module, type) < 0) return;
}

}  // namespace vitrine::python
