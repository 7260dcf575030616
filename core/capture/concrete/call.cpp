// Calls, function objects, imports.
#include "core/capture/concrete/handlers.h"
#include "core/capture/cpython/call_layout.h"

namespace vitrine::capture::handlers {
namespace {

// A borrowed entry of the frame's builtins; nullptr with or without an error set.
PyObject* builtin(Machine& m, const char* text) {
  PyObject* builtins = m.frame.builtins();
  PyObject* name = PyDict_CheckExact(builtins) ? PyUnicode_InternFromString(text) : nullptr;
  if (!name) return nullptr;
  PyObject* value = PyDict_GetItemWithError(builtins, name);
  Py_DECREF(name);
  return value;
}

StepResult called(Machine& m, int operands, PyObject* result) {
  const StepResult step = m.replace(operands, result);
  return step == StepResult::Next ? m.poll() : step;
}

// sys.modules["package.name"]: a submodule that is being imported in a circle. New reference or nullptr.
PyObject* submodule(PyObject* package, PyObject* name) {
  PyObject* package_name = PyObject_GetAttrString(package, "__name__");
  if (!package_name || !PyUnicode_Check(package_name)) {
    Py_XDECREF(package_name);
    return nullptr;
  }
  PyObject* full = PyUnicode_FromFormat("%U.%U", package_name, name);
  PyObject* module = full ? PyImport_GetModule(full) : nullptr;
  Py_XDECREF(full);
  Py_DECREF(package_name);
  return module;
}

}  // namespace

// What the two entries at `base` and the `count` arguments behind them give; see call_layout.h.
static PyObject* call_at(Machine& m, int base, int count, PyObject* names) {
  PyObject *lower = m.frame.stack(base), *upper = m.frame.stack(base + 1);
  const bool method = lower && upper;
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  const auto positional = static_cast<size_t>(count + (method ? 1 : 0) - keywords);
  PyObject* const* arguments = m.frame.stack_span(method ? base + 1 : base + 2);
  return PyObject_Vectorcall(callable_of(lower, upper), arguments,
                             positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

StepResult call(Machine& m, const Instruction& in) {
  PyObject* names = in.aux < 0 ? nullptr : m.code.constant(in.aux);
  return called(m, in.arg + 2, call_at(m, m.frame.depth() - in.arg - 2, in.arg, names));
}

StepResult call_kw(Machine& m, const Instruction& in) {
  return called(m, in.arg + 3, call_at(m, m.frame.depth() - in.arg - 3, in.arg, m.peek(1)));
}

// On the stack: a callable with its NULL, iterable of arguments, and with the flag a dict of keywords.
StepResult call_ex(Machine& m, const Instruction& in) {
  PyObject* keywords = in.flag ? m.peek(1) : nullptr;
  const int at = in.flag ? 2 : 1;
  PyObject* arguments = m.peek(at);
  if (keywords && !PyDict_CheckExact(keywords)) return StepResult::Exit;
  if (!PyTuple_CheckExact(arguments)) {
    if (!Py_TYPE(arguments)->tp_iter && !PySequence_Check(arguments)) return StepResult::Exit;
    PyObject* tuple = PySequence_Tuple(arguments);
    if (!tuple) return m.done(at + 2, -1);
    m.frame.set_stack(m.frame.depth() - at, tuple);
    arguments = tuple;
  }
  PyObject* callable = callable_of(m.peek(at + 2), m.peek(at + 1));
  return called(m, at + 2, PyObject_Call(callable, arguments, keywords));
}

StepResult make_function(Machine& m, const Instruction& in) {
  auto* function = reinterpret_cast<PyFunctionObject*>(PyFunction_New(m.peek(1), m.frame.globals()));
  if (!function) return StepResult::Threw;
  m.drop(1);
  struct Part {
    int bit;
    PyObject** slot;
  };
  const Part parts[] = {{8, &function->func_closure},
                        {4, &function->func_annotations},
                        {2, &function->func_kwdefaults},
                        {1, &function->func_defaults}};
  for (const Part& part : parts)
    if (in.arg & part.bit) Py_XSETREF(*part.slot, m.frame.pop());
  return m.replace(0, reinterpret_cast<PyObject*>(function));
}

// On the stack: the value, a function that this code has just made.
StepResult set_function_attribute(Machine& m, const Instruction& in) {
  PyObject* made = m.frame.pop();
  auto* function = reinterpret_cast<PyFunctionObject*>(made);
  PyObject** slot = in.arg == 8   ? &function->func_closure
                    : in.arg == 4 ? &function->func_annotations
                    : in.arg == 2 ? &function->func_kwdefaults
                                  : &function->func_defaults;
  Py_XSETREF(*slot, m.frame.pop());
  return m.replace(0, made);
}

StepResult load_build_class(Machine& m, const Instruction&) {
  PyObject* build = builtin(m, "__build_class__");
  if (!build) return PyErr_Occurred() ? StepResult::Threw : StepResult::Exit;
  return m.replace(0, Py_NewRef(build));
}

StepResult load_assertion_error(Machine& m, const Instruction&) {
  return m.replace(0, Py_NewRef(PyExc_AssertionError));
}

// On the stack: level, names wanted (a tuple or None).
StepResult import_name(Machine& m, const Instruction& in) {
  PyObject* import = builtin(m, "__import__");
  if (!import) return PyErr_Occurred() ? StepResult::Threw : StepResult::Exit;
  return m.replace(2, PyObject_CallFunctionObjArgs(import, m.code.name(in.arg), m.frame.globals(), Py_None,
                                                   m.peek(1), m.peek(2), nullptr));
}

StepResult import_from(Machine& m, const Instruction& in) {
  PyObject* module = m.peek(1);
  PyObject* name = m.code.name(in.arg);
  PyObject* value = PyObject_GetAttr(module, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return m.replace(0, value);
  PyErr_Clear();
  value = submodule(module, name);
  if (value) return m.replace(0, value);
  PyErr_Clear();
  return StepResult::Exit;  // CPython words the error
}

}  // namespace vitrine::capture::handlers
