#include "core/torch_api/cuda/cuda_graph.h"

#include <Python.h>

#include <optional>

#include "core/torch_api/op_call.h"
#include "core/torch_api/warning_watch.h"

namespace vitrine::torch_api {

std::unique_ptr<CudaGraph> CudaGraph::begin() {
  std::unique_ptr<CudaGraph> out(new CudaGraph);
  out->torch_cuda_ = PyImport_ImportModule("torch.cuda");
  if (!out->torch_cuda_) return nullptr;
  out->stream_before_ = PyObject_CallMethod(out->torch_cuda_, "current_stream", nullptr);
  // keep_graph: its launches are changed by their place in the graph, which has to outlive instantiation.
  out->graph_ = PyObject_CallMethod(out->torch_cuda_, "CUDAGraph", "O", Py_True);
  if (!out->graph_ && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    out->graph_ = PyObject_CallMethod(out->torch_cuda_, "CUDAGraph", nullptr);
  }
  if (!out->stream_before_ || !out->graph_) return nullptr;
  // graph(cuda_graph, pool=None, stream=None, capture_error_mode="global"). Other threads may go on
  // allocating.
  out->recording_ =
      PyObject_CallMethod(out->torch_cuda_, "graph", "OOOs", out->graph_, Py_None, Py_None, "thread_local");
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
  PyObject* set = PyObject_CallMethod(torch_cuda_, "set_stream", "O", stream_before_);
  if (!set) PyErr_Clear();
  Py_XDECREF(set);
  forget_recording();
  error.restore();
  return false;
}

// After a recording that a call broke (one that waits for the GPU), PyTorch's generators still take all that
// is drawn for recorded, and refuse to draw. An empty recording that goes well ends that.
void CudaGraph::forget_recording() {
  const WarningWatch quiet(Py_None, WarningWatch::Once::AsEver);  // that it is empty
  PyObject* graph = PyObject_CallMethod(torch_cuda_, "CUDAGraph", nullptr);
  PyObject* recording =
      graph ? PyObject_CallMethod(torch_cuda_, "graph", "OOOs", graph, Py_None, Py_None, "thread_local")
            : nullptr;
  PyObject* entered = recording ? PyObject_CallMethod(recording, "__enter__", nullptr) : nullptr;
  PyObject* left =
      entered ? PyObject_CallMethod(recording, "__exit__", "OOO", Py_None, Py_None, Py_None) : nullptr;
  if (!left) PyErr_Clear();
  for (PyObject* o : {left, entered, recording, graph}) Py_XDECREF(o);
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
  for (PyObject* o : {recording_, graph_, stream_before_, torch_cuda_}) Py_XDECREF(o);
}

}  // namespace vitrine::torch_api
