// The symbolic interpreter as a function of vitrine._engine, for tests: what it makes of one call.
#include <Python.h>

#include <map>
#include <string>

#include "core/base/result.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/driver.h"
#include "core/capture/hook.h"
#include "core/capture/segment_store.h"
#include "core/capture/trace/trace.h"
#include "core/ir/print.h"
#include "core/python/parts.h"
#include "core/torch_api/border.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::python {
namespace {

using torch_api::PyRef;

void put(PyObject* dict, const char* key, PyObject* steals) {
  if (!steals) PyErr_Clear();
  if (steals) PyDict_SetItemString(dict, key, steals);
  Py_XDECREF(steals);
}

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* python_break(const capture::BreakInfo& info) {
  PyObject* stack = PyList_New(0);
  for (const auto& [place, line] : info.stack) PyList_Append(stack, PyRef::steal(text(place)).get());
  return Py_BuildValue("{s:N,s:N,s:N,s:N}", "kind", text(info.kind), "reason", text(info.reason), "hint",
                       text(info.hint), "stack", stack);
}

PyObject* python_guards(const capture::Trace& trace) {
  PyObject* list = PyList_New(0);
  for (const capture::Guard& guard : trace.guards) {
    const std::string kind(capture::guard_kind_name(guard.kind));
    PyRef row =
        PyRef::steal(Py_BuildValue("(NNNN)", text(kind), text(guard.source ? guard.source->text() : ""),
                                   text(guard.name), text(guard.expected)));
    PyList_Append(list, row.get());
  }
  return list;
}

// The graph's results for the tensors seen at capture.
PyObject* replayed(const capture::Trace& trace) {
  if (!trace.graphs.captured) Py_RETURN_NONE;
  std::map<const capture::Source*, PyObject*> seen;
  for (const capture::Guard& guard : trace.guards)
    if (guard.kind == capture::GuardKind::TensorMatch) seen[guard.source] = guard.object;
  std::vector<PyObject*> inputs, outputs;
  for (const capture::Source* source : trace.inputs) inputs.push_back(seen.at(source));
  for (size_t i = 0; inputs.size() < trace.graphs.captured->inputs().size(); ++i)
    inputs.push_back(trace.graphs.constants.at(i));
  if (!torch_api::Replayer(trace.graphs).run(inputs, outputs)) return nullptr;
  PyObject* list = PyList_New(0);
  for (PyObject* output : outputs) {
    PyList_Append(list, output);
    Py_DECREF(output);
  }
  return list;
}

PyObject* python_trace(const capture::Trace& trace) {
  PyObject* out = PyDict_New();
  constexpr const char* kEnds[] = {"return", "break", "nothing"};
  put(out, "end", text(kEnds[static_cast<int>(trace.end)]));
  put(out, "end_pc", PyLong_FromLong(trace.end_pc));
  put(out, "broke", trace.broke ? python_break(*trace.broke) : Py_NewRef(Py_None));
  put(out, "guards", python_guards(trace));
  put(out, "captured", text(trace.graphs.captured ? ir::print(*trace.graphs.captured) : ""));
  put(out, "aten", text(trace.graphs.aten ? ir::print(*trace.graphs.aten) : ""));
  put(out, "effects", PyLong_FromSize_t(trace.effects.size()));
  put(out, "changed_locals", PyLong_FromSize_t(trace.locals.size()));
  put(out, "stack", PyLong_FromSize_t(trace.stack.size()));
  put(out, "needs_grad", PyBool_FromLong(trace.needs_grad));
  put(out, "steps", PyLong_FromSize_t(trace.steps.size()));
  PyObject* retries = PyList_New(0);
  for (const std::string_view name : trace.retries)
    PyList_Append(retries, PyRef::steal(text(std::string(name))).get());
  put(out, "retries", retries);
  PyObject* outputs = replayed(trace);
  if (!outputs) put(out, "replay_error", text(torch_api::take_python_error()));
  put(out, "outputs", outputs ? outputs : Py_NewRef(Py_None));
  PyObject* inputs = PyList_New(0);
  for (const capture::Source* source : trace.inputs)
    PyList_Append(inputs, PyRef::steal(text(source->text())).get());
  put(out, "inputs", inputs);
  return out;
}

// Traces at the first position asked about; the frame then runs as eager.
class TracingStore final : public capture::SegmentStore {
 public:
  explicit TracingStore(bool record) : record_(record) {}
  capture::SegmentOutcome at(capture::Frame& frame) override {
    if (description_) return capture::SegmentOutcome::eager();
    capture::TraceOptions options;
    options.record_steps = record_;
    try {
      description_ = PyRef::steal(python_trace(*capture::trace(frame, options)));
    } catch (const InternalError& error) {
      description_ = PyRef::steal(Py_BuildValue("{s:s,s:s}", "end", "error", "what", error.what()));
    }
    return capture::SegmentOutcome::eager();
  }
  PyObject* take() { return description_ ? description_.release() : Py_NewRef(Py_None); }

 private:
  bool record_;
  PyRef description_;
};

class TracingHandler final : public capture::FrameHandler {
 public:
  TracingHandler(TracingStore& store, PyObject* code)
      : FrameHandler(capture::next_policy()), store_(store), code_(code) {}
  bool wants(PyObject* code) override { return code == code_; }
  PyObject* run(PyThreadState* thread, _PyInterpreterFrame* frame) noexcept override {
    return capture::drive(thread, frame, store_, {1});
  }

 private:
  TracingStore& store_;
  PyObject* code_;
};

// trace_call(function, args, kwargs, record) -> (description of the trace at its start, what it returned)
PyObject* trace_call(PyObject*, PyObject* args) {
  if (!fits_pytorch()) return nullptr;
  PyObject *function, *positional, *keyword;
  int record = 0;
  if (!PyArg_ParseTuple(args, "OO!O!|p", &function, &PyTuple_Type, &positional, &PyDict_Type, &keyword,
                        &record))
    return nullptr;
  PyRef plain = PyRef::steal(PyObject_GetAttrString(function, "__func__"));
  if (!plain) {
    PyErr_Clear();
    plain = PyRef::steal(Py_NewRef(function));
  }
  if (!PyFunction_Check(plain.get())) return PyErr_Format(PyExc_TypeError, "a Python function is needed");
  TracingStore store(record != 0);
  TracingHandler handler(store, PyFunction_GET_CODE(plain.get()));
  PyRef value;
  {
    capture::ActiveCapture active(handler);
    value = PyRef::steal(PyObject_Call(function, positional, keyword));
  }
  if (!value) {
    // What the program raises is its own business: the trace is what is asked for.
    PyErr_Clear();
    value = PyRef::steal(Py_NewRef(Py_None));
  }
  return Py_BuildValue("(NN)", store.take(), value.release());
}

PyMethodDef kMethods[] = {
    {"trace_call", torch_api::border<trace_call>, METH_VARARGS,
     "Call a function and tell what the symbolic interpreter made of it from its start."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_trace(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
