// What the package's Python files and tests ask of CUDA's libraries: NVRTC, the limits of GPUs, CUPTI. None
// of them needs a GPU to be asked.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "core/python/parts.h"
#include "core/runtime/cuda/nvrtc.h"
#include "core/runtime/cuda/occupancy.h"
#include "core/torch_api/border.h"
#include "profiler/cupti/cupti.h"
#include "profiler/events/activity.h"

namespace vitrine::python {
namespace {

PyObject* pair(const Error& error) {
  return Py_BuildValue("(ss)", error.what.c_str(), error.hint.c_str());
}

PyObject* raise(const Error& error) {
  return PyErr_Format(PyExc_RuntimeError, "%s%s%s", error.what.c_str(), error.hint.empty() ? "" : ": ",
                      error.hint.c_str());
}

// cuda_target_problem(arch, nvrtc) -> None, or (what, hint): why no kernel can be compiled for it.
PyObject* cuda_target_problem(PyObject*, PyObject* args) {
  const char *arch = nullptr, *library = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &arch, &library)) return nullptr;
  auto nvrtc = runtime::cuda::Nvrtc::find(library);
  if (!nvrtc) return pair(nvrtc.error());
  const std::string refused = nvrtc.value()->refuses(arch);
  if (refused.empty()) Py_RETURN_NONE;
  return pair(Error{refused, "Name the GPU's architecture, such as sm_90 for an H100 or H200."});
}

// cuda_compile(source, arch, nvrtc) -> (cubin, ptx, log, {registers, shared_bytes, spill_bytes})
PyObject* cuda_compile(PyObject*, PyObject* args) {
  const char *source = nullptr, *arch = nullptr, *library = "";
  if (!PyArg_ParseTuple(args, "sss", &source, &arch, &library)) return nullptr;
  auto nvrtc = runtime::cuda::Nvrtc::find(library);
  if (!nvrtc) return raise(nvrtc.error());
  Result<runtime::cuda::Compiled> compiled = Error{};
  Py_BEGIN_ALLOW_THREADS;
  compiled = nvrtc.value()->compile(source, "vitrine_kernel", arch, true);
  Py_END_ALLOW_THREADS;
  if (!compiled) return raise(compiled.error());
  const runtime::cuda::Compiled& c = compiled.value();
  const runtime::cuda::Report report = runtime::cuda::read_report(c.report);
  return Py_BuildValue("(y#ss{s:i,s:i,s:i})", c.cubin.data(), static_cast<Py_ssize_t>(c.cubin.size()),
                       c.ptx.c_str(), c.log.c_str(), "registers", report.registers, "shared_bytes",
                       report.shared_bytes, "spill_bytes", report.spill_bytes);
}

// cuda_occupancy(arch, threads, registers, shared_bytes) -> (part, blocks, limited by), or None
PyObject* cuda_occupancy(PyObject*, PyObject* args) {
  const char* arch = nullptr;
  int threads = 0, registers = 0;
  long long shared = 0;
  if (!PyArg_ParseTuple(args, "siiL", &arch, &threads, &registers, &shared)) return nullptr;
  auto found = runtime::cuda::theoretical_occupancy(arch, threads, registers, shared);
  if (!found) Py_RETURN_NONE;
  return Py_BuildValue("(dis)", found->part(), found->blocks, found->limit.c_str());
}

// gpu_recording_start(library, others_idle) -> None, or (what, hint)
PyObject* gpu_recording_start(PyObject*, PyObject* args) {
  const char* path = "";
  int others_idle = 0;
  if (!PyArg_ParseTuple(args, "s|p", &path, &others_idle)) return nullptr;
  Status failed;
  Py_BEGIN_ALLOW_THREADS;
  failed = profiler::start_recording(path, others_idle != 0);
  Py_END_ALLOW_THREADS;
  if (failed) return pair(*failed);
  Py_RETURN_NONE;
}

// gpu_recording_stop() -> (log, records that were lost)
PyObject* gpu_recording_stop(PyObject*, PyObject*) {
  std::string log;
  int64_t dropped = 0;
  Py_BEGIN_ALLOW_THREADS;
  log = profiler::stop_recording(&dropped);
  Py_END_ALLOW_THREADS;
  return Py_BuildValue("(y#L)", log.data(), static_cast<Py_ssize_t>(log.size()),
                       static_cast<long long>(dropped));
}

PyObject* activity_row(const profiler::Activity& a) {
  const std::string kind(kind_name(a.kind));
  PyObject* name = PyUnicode_DecodeUTF8(a.name.data(), static_cast<Py_ssize_t>(a.name.size()), "replace");
  if (!name) return nullptr;
  return Py_BuildValue("{s:s,s:N,s:L,s:L,s:I,s:I,s:I,s:I,s:K,s:L,s:L,s:i,s:i,s:i}", "kind", kind.c_str(),
                       "name", name, "start", static_cast<long long>(a.start_ns), "end",
                       static_cast<long long>(a.end_ns), "device", a.device, "stream", a.stream, "thread",
                       a.thread, "correlation", a.correlation, "graph_node",
                       static_cast<unsigned long long>(a.graph_node), "bytes",
                       static_cast<long long>(a.bytes), "blocks", static_cast<long long>(a.blocks), "threads",
                       a.threads, "registers", a.registers, "shared_bytes", a.shared_bytes);
}

// gpu_activities(log) -> [{kind, name, start, end, ...}, ...] by start
PyObject* gpu_activities(PyObject*, PyObject* args) {
  const char* log = nullptr;
  Py_ssize_t bytes = 0;
  if (!PyArg_ParseTuple(args, "y#", &log, &bytes)) return nullptr;
  PyObject* out = PyList_New(0);
  for (const profiler::Activity& a : profiler::activities_of({log, static_cast<size_t>(bytes)})) {
    PyObject* row = activity_row(a);
    if (!out || !row || PyList_Append(out, row) != 0) Py_CLEAR(out);
    Py_XDECREF(row);
  }
  return out;
}

PyMethodDef kMethods[] = {
    {"cuda_target_problem", torch_api::border<cuda_target_problem>, METH_VARARGS,
     "Why NVRTC does not compile for a GPU, or None."},
    {"cuda_compile", torch_api::border<cuda_compile>, METH_VARARGS,
     "A kernel's CUDA C++ to machine code, through NVRTC."},
    {"cuda_occupancy", torch_api::border<cuda_occupancy>, METH_VARARGS,
     "Theoretical occupancy of a kernel on a GPU."},
    {"gpu_recording_start", torch_api::border<gpu_recording_start>, METH_VARARGS,
     "Begins to record through CUPTI; None, or (what, hint)."},
    {"gpu_recording_stop", torch_api::border<gpu_recording_stop>, METH_NOARGS,
     "Ends it: (log, lost records)."},
    {"gpu_activities", torch_api::border<gpu_activities>, METH_VARARGS, "What a log tells, by start."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_cuda(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
