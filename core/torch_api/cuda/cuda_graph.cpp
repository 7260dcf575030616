#include "core/torch_api/cuda/cuda_graph.h"

#include <Python.h>

#include <optional>

#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"
#include "core/torch_api/warning_watch.h"

namespace vitrine::torch_api {

std::unique_ptr<CudaGraph> CudaGraph::begin() {
  std::unique_ptr<CudaGraph> out(new CudaGraph);
  out->stream_before_ = call(Name::cuda_current_stream).release();
  // keep_graph: its launches are changed by their place in the graph, which has to outlive instantiation.
  out->graph_ = call(Name::CUDAGraph, "O", Py_True).release();
  if (!out->graph_ && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    out->graph_ = call(Name::CUDAGraph).release();
  }
  if (!out->stream_before_ || !out->graph_) return nullptr;
  // graph(cuda_graph, pool=None, stream=None, capture_error_mode="global"). Other threads may go on
  // allocating.
  out->recording_ = call(Name::cuda_graph, "OOOs", out->graph_, Py_None, Py_None, "thread_local").release();
  PyObject* entered = out->recording_ ? PyObject_CallMethod(out->recording_, "__enter__", nullptr) : nullptr;
  if (!entered) return nullptr;
  Py_DECREF(entered);
  return out;
}

bool CudaGraph::end(bool failed) {
  std::optional<WarningWatch> quiet;
  if (failed) quiet.emplace(Py_None, WarningWatch::Once::AsEver);
  PyObject* left = PyObject_CallMethod(recording_, "__exit__", "OOO", Py_None, Py_None, Py_None);
  Py_XDECREF(left);
  if (left) return show_executable();
  // PyTorch leaves its own stream only after a recording that went well.
  PendingError error;
  if (!call(Name::cuda_set_stream, "O", stream_before_)) PyErr_Clear();
  forget_recording();
  error.restore();
  return false;
}

// After a recording that a call broke (one that waits for the GPU), PyTorch's generators still take all that
// is drawn for recorded, and refuse to draw. An empty recording that goes well ends that.
void CudaGraph::forget_recording() {
  const WarningWatch quiet(Py_None, WarningWatch::Once::AsEver);  // that it is empty
  const PyRef graph = call(Name::CUDAGraph);
  const PyRef recording =
      graph ? call(Name::cuda_graph, "OOOs", graph.get(), Py_None, Py_None, "thread_local") : PyRef();
  const PyRef entered(recording ? PyObject_CallMethod(recording.get(), "__enter__", nullptr) : nullptr);
  const PyRef left(
      entered ? PyObject_CallMethod(recording.get(), "__exit__", "OOO", Py_None, Py_None, Py_None) : nullptr);
  if (!left) PyErr_Clear();
}

bool CudaGraph::show_executable() {
  if (!PyObject_HasAttrString(graph_, "raw_cuda_graph_exec")) return true;
  PyObject* done = PyObject_CallMethod(graph_, "instantiate", nullptr);
  PyObject* address = done ? PyObject_CallMethod(graph_, "raw_cuda_graph_exec", nullptr) : nullptr;
  if (address) executable_ = PyLong_AsVoidPtr(address);
  Py_XDECREF(done);
  Py_XDECREF(address);
  return address && !PyErr_Occurred();
}

bool CudaGraph::replay() {
  PyObject* done = PyObject_CallMethod(graph_, "replay", nullptr);
  Py_XDECREF(done);
  return done != nullptr;
}

CudaGraph::~CudaGraph() {
  for (PyObject* o : {recording_, graph_, stream_before_}) Py_XDECREF(o);
}

}  // namespace vitrine::torch_api
