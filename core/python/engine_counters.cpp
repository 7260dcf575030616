// A GPU's own counters and samples of its instructions, for vitrine/_tools/counters.py. A refusal is (what,
// hint); every other answer is no tuple.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cmath>
#include <memory>
#include <string>

#include "core/python/parts.h"
#include "core/torch_api/border.h"
#include "profiler/analysis/metrics.h"
#include "profiler/cupti/counters.h"
#include "profiler/cupti/library.h"
#include "profiler/cupti/sampling.h"

namespace vitrine::python {
namespace {

using profiler::CounterSession;
using profiler::SamplingSession;

PyObject* pair(const Error& error) {
  return Py_BuildValue("(ss)", error.what.c_str(), error.hint.c_str());
}

template <class T>
void close_session(PyObject* capsule) {
  delete static_cast<T*>(PyCapsule_GetPointer(capsule, nullptr));
}
template <class T>
PyObject* held(Result<std::unique_ptr<T>> opened) {
  if (!opened) return pair(opened.error());
  return PyCapsule_New(opened.take().release(), nullptr, close_session<T>);
}
template <class T>
T* session_of(PyObject* capsule) {
  return static_cast<T*>(PyCapsule_GetPointer(capsule, nullptr));
}

// counters_open(library, device, most, by_caller) -> a session; it ends when nobody holds it
PyObject* counters_open(PyObject*, PyObject* args) {
  const char* library = nullptr;
  int device = 0, by_caller = 0;
  Py_ssize_t most = 0;
  if (!PyArg_ParseTuple(args, "sinp", &library, &device, &most, &by_caller)) return nullptr;
  Result<std::unique_ptr<CounterSession>> opened = Error{};
  Py_BEGIN_ALLOW_THREADS;
  opened = CounterSession::open(library, device, static_cast<size_t>(most),
                                by_caller ? profiler::ReplayMode::by_caller : profiler::ReplayMode::by_cupti);
  Py_END_ALLOW_THREADS;
  return held(std::move(opened));
}

// counters_begin(session) -> passes that will be needed
PyObject* counters_begin(PyObject*, PyObject* capsule) {
  auto* session = session_of<CounterSession>(capsule);
  if (!session) return nullptr;
  Status failed;
  Py_BEGIN_ALLOW_THREADS;
  failed = session->begin_pass();
  Py_END_ALLOW_THREADS;
  return failed ? pair(*failed) : PyLong_FromSize_t(session->passes());
}

// counters_end(session) -> whether that was the last pass
PyObject* counters_end(PyObject*, PyObject* capsule) {
  auto* session = session_of<CounterSession>(capsule);
  if (!session) return nullptr;
  Result<bool> last = false;
  Py_BEGIN_ALLOW_THREADS;
  last = session->end_pass();
  Py_END_ALLOW_THREADS;
  return last ? PyBool_FromLong(last.value()) : pair(last.error());
}

PyObject* row_of(const std::vector<double>& values) {
  PyObject* row = PyDict_New();
  for (size_t i = 0; row && i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    PyObject* value = PyFloat_FromDouble(values[i]);
    if (!value || PyDict_SetItemString(row, std::string(profiler::kMetrics[i].key).c_str(), value) != 0)
      Py_CLEAR(row);
    Py_XDECREF(value);
  }
  return row;
}

// counters_read(session) -> {kernels: [{metric: value}, ...] in the order of the launches, passes, dropped}
PyObject* counters_read(PyObject*, PyObject* capsule) {
  auto* session = session_of<CounterSession>(capsule);
  if (!session) return nullptr;
  Result<profiler::Counted> counted = Error{};
  Py_BEGIN_ALLOW_THREADS;
  counted = session->read();
  Py_END_ALLOW_THREADS;
  if (!counted) return pair(counted.error());
  const profiler::Counted& c = counted.value();
  PyObject* kernels = PyList_New(0);
  for (const std::vector<double>& values : c.kernels) {
    PyObject* row = kernels ? row_of(values) : nullptr;
    if (!row || PyList_Append(kernels, row) != 0) Py_CLEAR(kernels);
    Py_XDECREF(row);
  }
  return kernels
             ? Py_BuildValue("{s:N,s:n,s:n}", "kernels", kernels, "passes", static_cast<Py_ssize_t>(c.passes),
                             "dropped", static_cast<Py_ssize_t>(c.dropped))
             : nullptr;
}

// sampling_open(library, period) -> a session: an instruction every 2^period cycles
PyObject* sampling_open(PyObject*, PyObject* args) {
  const char* library = nullptr;
  unsigned period = 0;
  if (!PyArg_ParseTuple(args, "sI", &library, &period)) return nullptr;
  Result<std::unique_ptr<SamplingSession>> opened = Error{};
  Py_BEGIN_ALLOW_THREADS;
  opened = SamplingSession::open(library, period);
  Py_END_ALLOW_THREADS;
  return held(std::move(opened));
}

// sampling_start(session) -> None
PyObject* sampling_start(PyObject*, PyObject* capsule) {
  auto* session = session_of<SamplingSession>(capsule);
  if (!session) return nullptr;
  Status failed;
  Py_BEGIN_ALLOW_THREADS;
  failed = session->start();
  Py_END_ALLOW_THREADS;
  if (failed) return pair(*failed);
  Py_RETURN_NONE;
}

// sampling_stop(session) -> {rows: [(function, cubin, correlation, offset, reason, samples), ...], total,
// dropped}
PyObject* sampling_stop(PyObject*, PyObject* capsule) {
  auto* session = session_of<SamplingSession>(capsule);
  if (!session) return nullptr;
  Result<profiler::Samples> samples = Error{};
  Py_BEGIN_ALLOW_THREADS;
  samples = session->stop();
  Py_END_ALLOW_THREADS;
  if (!samples) return pair(samples.error());
  PyObject* rows = PyList_New(0);
  for (const profiler::StallSample& s : samples.value().rows) {
    PyObject* row =
        Py_BuildValue("(sKILsL)", s.function.c_str(), static_cast<unsigned long long>(s.cubin), s.correlation,
                      static_cast<long long>(s.offset), s.reason.c_str(), static_cast<long long>(s.samples));
    if (!rows || !row || PyList_Append(rows, row) != 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  return rows ? Py_BuildValue("{s:N,s:L,s:L,s:L}", "rows", rows, "total",
                              static_cast<long long>(samples.value().total), "dropped",
                              static_cast<long long>(samples.value().dropped), "unknown",
                              static_cast<long long>(samples.value().unknown))
              : nullptr;
}

// gpu_profiler_reset(library): CUPTI learns of this process anew
PyObject* profiler_reset(PyObject*, PyObject* args) {
  const char* library = nullptr;
  if (!PyArg_ParseTuple(args, "s", &library)) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  profiler::forget_process(library);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"gpu_profiler_reset", torch_api::border<profiler_reset>, METH_VARARGS,
     "CUPTI learns of this process anew."},
    {"gpu_counters_open", torch_api::border<counters_open>, METH_VARARGS,
     "Prepares to read the GPU's counters."},
    {"gpu_counters_begin", torch_api::border<counters_begin>, METH_O, "Begins a pass."},
    {"gpu_counters_end", torch_api::border<counters_end>, METH_O, "Ends it: whether it was the last."},
    {"gpu_counters_read", torch_api::border<counters_read>, METH_O, "What was counted of each kernel."},
    {"gpu_sampling_open", torch_api::border<sampling_open>, METH_VARARGS,
     "Prepares to sample the GPU's instructions."},
    {"gpu_sampling_start", torch_api::border<sampling_start>, METH_O, "Begins to sample."},
    {"gpu_sampling_stop", torch_api::border<sampling_stop>, METH_O, "Ends, and gives the samples."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_counters(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
