// Bytecode, the hook and the frame loop as functions of vitrine._engine: for tests and for people who look
// inside.
#include <Python.h>

#include "core/base/result.h"
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/driver.h"
#include "core/capture/exit_fuzzer.h"
#include "core/capture/hook.h"
#include "core/python/parts.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

bool is_code(PyObject* object) {
  if (PyCode_Check(object)) return true;
  PyErr_Format(PyExc_TypeError, "a code object is needed, not %.100s", Py_TYPE(object)->tp_name);
  return false;
}

// instructions(code) -> [(name, pc, at, next_pc, arg, aux, flag, target, handler, line, column), ...]
PyObject* instructions(PyObject*, PyObject* code) {
  if (!is_code(code)) return nullptr;
  const capture::Bytecode bytecode(code);
  PyObject* out = PyList_New(0);
  if (!out) return nullptr;
  for (const capture::Instruction& in : bytecode.instructions()) {
    const capture::Position position = bytecode.position(in);
    PyObject* row = Py_BuildValue("(siiiiiOiiii)", capture::op_name(in.op).data(), in.pc, in.at, in.next_pc,
                                  in.arg, in.aux, in.flag ? Py_True : Py_False, in.target, in.handler,
                                  position.line, position.column);
    if (!row || PyList_Append(out, row) != 0) {
      Py_XDECREF(row);
      Py_DECREF(out);
      return nullptr;
    }
    Py_DECREF(row);
  }
  return out;
}

// skip_code(code): its frames are never captured.
PyObject* skip_code(PyObject*, PyObject* code) {
  if (!is_code(code)) return nullptr;
  capture::entry_of(code).skip = true;
  Py_RETURN_NONE;
}

// call_paused(function, *args, **kwargs): a call in whose extent nothing is captured.
PyObject* call_paused(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count < 1) return PyErr_Format(PyExc_TypeError, "call_paused() needs a function");
  capture::PauseCapture pause;
  return PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(count - 1), names);
}

// switch_capture_off(off) -> what it was, in this thread
PyObject* switch_capture_off(PyObject*, PyObject* off) {
  const int wanted = PyObject_IsTrue(off);
  return wanted < 0 ? nullptr : PyBool_FromLong(capture::switch_capture_off(wanted != 0));
}

// hook_state() -> (installed, active, capturing)
PyObject* hook_state(PyObject*, PyObject*) {
  const capture::HookState state = capture::hook_state();
  return Py_BuildValue("(OiO)", state.installed ? Py_True : Py_False, state.active,
                       state.capturing ? Py_True : Py_False);
}

// Result and exception of a call, as a new tuple's two first entries: (value, None) or (None, exception).
PyObject* outcome_of(PyObject* value, PyObject* more) {
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  if (!value) {
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback) PyException_SetTraceback(error, traceback);
  }
  PyObject* out = Py_BuildValue("(OON)", value ? value : Py_None, error ? error : Py_None, more);
  Py_XDECREF(value);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  return out;
}

// fuzz(function, seed, gap) -> (value, exception, counts): calls it with exits at random instructions.
PyObject* fuzz(PyObject*, PyObject* args) {
  PyObject* function;
  unsigned long long seed;
  int gap;
  if (!PyArg_ParseTuple(args, "OKi", &function, &seed, &gap)) return nullptr;
  if (gap < 1) return PyErr_Format(PyExc_ValueError, "gap must be at least 1");
  capture::ExitFuzzer fuzzer(seed, gap);
  PyObject* value;
  {
    capture::ActiveCapture active(fuzzer);
    value = PyObject_CallNoArgs(function);
  }
  const auto& n = fuzzer.counts();
  return outcome_of(value, Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "frames", n.frames, "instructions",
                                         n.instructions, "forced", n.forced, "unknown", n.unknown, "throws",
                                         n.throws, "returns", n.returns));
}

// A segment store that asks a Python function: store(code, pc, locals, stack) -> None: nothing here | "eager"
// | "ran" | ("ran", pc, {slot: value}, stack): committed | ("return", value) | ...: an InternalError. What
// the function raises is raised at pc.
class PythonStore final : public capture::SegmentStore {
 public:
  explicit PythonStore(PyObject* function) : function_(function) {}
  capture::SegmentOutcome at(capture::Frame& frame) override {
    PyObject* answer = ask(frame);
    if (!answer) return capture::SegmentOutcome::raised();
    VITRINE_CHECK(answer != Py_Ellipsis, "the function asked for it");
    const capture::SegmentOutcome outcome = read(frame, answer);
    Py_DECREF(answer);
    return outcome;
  }

 private:
  PyObject* ask(const capture::Frame& frame) {
    PyObject* locals = PyList_New(0);
    for (int i = 0; i < frame.local_count(); ++i)
      PyList_Append(locals, frame.local(i) ? frame.local(i) : Py_None);
    PyObject* stack = PyList_New(0);
    for (int i = 0; i < frame.depth(); ++i) PyList_Append(stack, frame.stack(i) ? frame.stack(i) : Py_None);
    return PyObject_CallFunction(function_, "OiNN", frame.code(), frame.pc(), locals, stack);
  }

  static capture::SegmentOutcome read(capture::Frame& frame, PyObject* answer) {
    if (answer == Py_None) return capture::SegmentOutcome::none();
    if (PyUnicode_Check(answer))
      return PyUnicode_CompareWithASCIIString(answer, "ran") == 0 ? capture::SegmentOutcome::ran()
                                                                  : capture::SegmentOutcome::eager();
    if (PyTuple_GET_SIZE(answer) == 2)
      return capture::SegmentOutcome::returned(Py_NewRef(PyTuple_GET_ITEM(answer, 1)));
    return commit(frame, answer);
  }

  static capture::SegmentOutcome commit(capture::Frame& frame, PyObject* answer) {
    PyObject *slot, *value;
    for (Py_ssize_t at = 0; PyDict_Next(PyTuple_GET_ITEM(answer, 2), &at, &slot, &value);)
      frame.set_local(static_cast<int>(PyLong_AsLong(slot)), Py_NewRef(value));
    PyObject* stack = PyTuple_GET_ITEM(answer, 3);
    frame.truncate(0);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(stack); ++i) frame.push(Py_NewRef(PyList_GET_ITEM(stack, i)));
    frame.set_pc(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(answer, 1))));
    return capture::SegmentOutcome::ran();
  }

  PyObject* function_;
};

// Nothing is compiled and nothing will be: what an uninteresting frame costs.
class EmptyStore final : public capture::SegmentStore {
 public:
  capture::SegmentOutcome at(capture::Frame&) override { return capture::SegmentOutcome::eager(); }
};

// Runs the frames of the code objects in `wanted` (a set, a function of the code, or None: every function)
// through the frame loop.
class LoopHandler final : public capture::FrameHandler {
 public:
  LoopHandler(capture::SegmentStore& store, PyObject* wanted, int patience)
      : FrameHandler(capture::next_policy()), store_(store), wanted_(wanted), options_{patience} {}
  bool wants(PyObject* code) override {
    if (wanted_ == Py_None) return true;
    if (PyAnySet_Check(wanted_)) return PySet_Contains(wanted_, code) == 1;
    PyObject* verdict = PyObject_CallOneArg(wanted_, code);
    const bool yes = verdict == Py_True;
    if (!verdict) PyErr_Clear();
    Py_XDECREF(verdict);
    return yes;
  }
  PyObject* run(PyThreadState* thread, _PyInterpreterFrame* frame) noexcept override {
    return capture::drive(thread, frame, store_, options_);
  }

 private:
  capture::SegmentStore& store_;
  PyObject* wanted_;
  capture::DriverOptions options_;
};

// drive(function, wanted, store, patience) -> value of function(), its frames run by the frame loop. store:
// None, or a function as PythonStore says.
PyObject* drive(PyObject*, PyObject* args) {
  PyObject *function, *wanted, *answers;
  int patience;
  if (!PyArg_ParseTuple(args, "OOOi", &function, &wanted, &answers, &patience)) return nullptr;
  PythonStore asking(answers);
  EmptyStore empty;
  capture::SegmentStore& store = answers == Py_None ? static_cast<capture::SegmentStore&>(empty) : asking;
  LoopHandler handler(store, wanted, patience);
  capture::ActiveCapture active(handler);
  return PyObject_CallNoArgs(function);
}

PyMethodDef kMethods[] = {
    {"instructions", torch_api::border<instructions>, METH_O,
     "The instructions of a code object, as both interpreters see them."},
    {"skip_code", torch_api::border<skip_code>, METH_O, "Never capture frames of this code object."},
    {"call_paused", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_paused)),
     METH_FASTCALL | METH_KEYWORDS, "Call a function with capture off."},
    {"switch_capture_off", torch_api::border<switch_capture_off>, METH_O,
     "Turn capture off or on in this thread."},
    {"hook_state", torch_api::border<hook_state>, METH_NOARGS, "(installed, active, capturing)"},
    {"fuzz", torch_api::border<fuzz>, METH_VARARGS,
     "Call a function, leaving its frames at random instructions."},
    {"drive", torch_api::border<drive>, METH_VARARGS,
     "Call a function with a segment store written in Python."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_frames(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
