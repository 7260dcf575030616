// Programs that leave the process: vitrine.export writes them as packages (core/package).
#include <Python.h>

#include <future>

#include "core/capture/hook.h"
#include "core/capture/objects/owned.h"
#include "core/codegen/packed_program.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/runtime/cuda/driver.h"
#include "core/runtime/cuda/nvrtc.h"
#include "core/runtime/kernels/host_cpu.h"
#include "core/runtime/kernels/kernel_service.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

using capture::PyRef;

PyRef bytes_of(const std::string& text) {
  return PyRef(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

template <class List, class F>
PyRef list_of(const List& items, F&& made) {
  PyRef list(PyList_New(0));
  for (const auto& item : items) {
    const PyRef one = made(item);
    if (!list || !one || PyList_Append(list.get(), one.get()) != 0) return PyRef();
  }
  return list;
}

// A package makes its symbols first: expressions name them by their numbers among the atoms.
bool begins_with_symbols(const ir::SymbolTable& table) {
  const size_t count = table.symbols().size();
  for (size_t i = 0; i < count; ++i)
    if (i >= table.atoms().size() || table.atoms()[i].op != ir::SymOp::Symbol || table.atoms()[i].symbol != i)
      return false;
  return true;
}

Result<std::string> packed(const capture::HandedOut& out) {
  if (!out.table) return codegen::packed(out.program);
  if (!begins_with_symbols(*out.table))
    return Error{"its sizes are known only behind expressions of them", "", ""};
  return codegen::packed(out.program, out.table, {out.table->symbols().size(), 0});
}

PyRef input_rows(const capture::HandedOut& out) {
  size_t i = 0;
  return list_of(out.graph.inputs(), [&](const ir::Node* node) {
    const PyRef sizes = list_of(node->type().sizes, [](const ir::Sym& size) {
      return PyRef(PyUnicode_FromString(ir::text(size).c_str()));
    });
    PyObject* tensor = i < out.inputs.size() ? out.inputs[i] : Py_None;
    ++i;
    return PyRef(Py_BuildValue("(sOO)", node->name.c_str(), tensor, sizes.get()));
  });
}

// What of a program a package cannot do, and what it needs besides its kernels.
struct Needs {
  std::vector<std::string> calls, written;
  bool random = false;
  int gpu = -1;
};

Needs needs_of(const codegen::Program& program) {
  Needs out;
  for (const codegen::Step& step : program.steps) {
    if (step.kind == codegen::Step::Kind::library || step.kind == codegen::Step::Kind::opaque)
      out.calls.push_back(step.node.op);
    out.random = out.random || step.random;
    if (step.writes_input) out.written.push_back(step.label);
  }
  for (const codegen::Kernel& kernel : program.kernels) out.random = out.random || kernel.draws >= 0;
  for (const codegen::Buffer& buffer : program.buffers)
    if (buffer.type.device.is_cuda()) out.gpu = buffer.type.device.index;
  return out;
}

PyRef facts_of(const capture::HandedOut& out) {
  const auto plan = packed(out);
  const Needs needs = needs_of(out.program);
  const auto text = [](const std::string& t) { return PyRef(PyUnicode_FromString(t.c_str())); };
  const PyRef kernels = list_of(out.program.kernels, [](const codegen::Kernel& kernel) {
    return PyRef(
        Py_BuildValue("(ssi)", kernel.label.c_str(), kernel.text.c_str(), kernel.grid.blocks.hint() > 0));
  });
  const PyRef symbols =
      list_of(out.table ? std::vector(out.table->symbols().begin(), out.table->symbols().end())
                        : std::vector<ir::Symbol>(),
              [](const ir::Symbol& s) {
                return PyRef(Py_BuildValue("(sLLLs)", s.name.c_str(), static_cast<long long>(s.range.lo),
                                           static_cast<long long>(s.range.hi), static_cast<long long>(s.hint),
                                           s.source.c_str()));
              });
  const PyRef results = list_of(out.program.results,
                                [](const ir::Arg& arg) { return PyRef(PyBool_FromLong(arg.is<ir::Ref>())); });
  const PyRef inputs = input_rows(out), calls = list_of(needs.calls, text),
              written = list_of(needs.written, text);
  const PyRef bytes = plan ? bytes_of(plan.value()) : PyRef(Py_NewRef(Py_None));
  if (!kernels || !symbols || !results || !inputs || !calls || !written || !bytes) return PyRef();
  const std::string why = plan ? out.why_fixed : plan.error().what;
  return PyRef(Py_BuildValue("{sO,sO,sO,sO,sO,sO,sO,sN,si,ss,ss}", "plan", bytes.get(), "kernels",
                             kernels.get(), "symbols", symbols.get(), "inputs", inputs.get(), "results",
                             results.get(), "calls", calls.get(), "written", written.get(), "random",
                             PyBool_FromLong(needs.random), "gpu", needs.gpu, "cpu",
                             runtime::host_lanes() == 16 ? "x86-64-v4" : "x86-64-v3", "why", why.c_str()));
}

// take_programs(callable or None): called with the facts of each program that is compiled from now on for
// calls without gradients.
PyObject* take_programs(PyObject*, PyObject* callable) {
  capture::Config& config = engine().config;
  config.taker = nullptr;
  if (callable == Py_None) Py_RETURN_NONE;
  Py_INCREF(callable);
  const std::shared_ptr<PyObject> held(callable, [](PyObject* o) { Py_DECREF(o); });
  config.taker = std::make_shared<const capture::ProgramTaker>([held](const capture::HandedOut& out) {
    const capture::PauseCapture off;
    const PyRef facts = facts_of(out);
    const PyRef done(facts ? PyObject_CallOneArg(held.get(), facts.get()) : nullptr);
    if (!done) PyErr_WriteUnraisable(held.get());
  });
  Py_RETURN_NONE;
}

// machine_code(texts, cpu) -> [bytes]: kernels of C++ as shared objects for a processor that LLVM knows.
PyObject* machine_code(PyObject*, PyObject* args) {
  PyObject* texts = nullptr;
  const char* cpu = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", &PyList_Type, &texts, &cpu)) return nullptr;
  const std::string program = runtime::find_kernel_compiler("");
  if (program.empty()) return PyErr_Format(PyExc_RuntimeError, "vitrine-cc, the kernel compiler, is missing");
  std::vector<runtime::KernelService::Ticket> tickets;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(texts); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(texts, i));
    if (!text) return nullptr;
    tickets.push_back(
        runtime::shared_kernel_service(program).submit({0, "K" + std::to_string(i), text, "", cpu, false}));
  }
  PyRef out(PyList_New(0));
  for (runtime::KernelService::Ticket& ticket : tickets) {
    runtime::KernelAnswer answer;
    Py_BEGIN_ALLOW_THREADS;
    answer = ticket.answer.get();
    Py_END_ALLOW_THREADS;
    if (answer.kind != runtime::KernelAnswer::Kind::compiled)
      return PyErr_Format(PyExc_RuntimeError, "a kernel could not be compiled for %s: %s", cpu,
                          answer.error.c_str());
    const PyRef object = bytes_of(answer.response.object);
    if (!out || !object || PyList_Append(out.get(), object.get()) != 0) return nullptr;
  }
  return out.release();
}

// gpu_code(texts, device) -> (architecture, [bytes]): kernels of CUDA C++ for a GPU of this machine.
PyObject* gpu_code(PyObject*, PyObject* args) {
  PyObject* texts = nullptr;
  int device = 0;
  if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &texts, &device)) return nullptr;
  auto nvrtc = runtime::cuda::Nvrtc::find(engine().config.nvrtc);
  auto arch = runtime::cuda::architecture(device);
  if (!nvrtc || !arch)
    return PyErr_Format(PyExc_RuntimeError, "%s", (nvrtc ? arch.error() : nvrtc.error()).what.c_str());
  PyRef out(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(texts); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(texts, i));
    if (!text) return nullptr;
    auto compiled = nvrtc.value()->compile(text, "vitrine_kernel", arch.value(), false);
    if (!compiled) return PyErr_Format(PyExc_RuntimeError, "%s", compiled.error().what.c_str());
    const PyRef cubin = bytes_of(compiled.value().cubin);
    if (!out || !cubin || PyList_Append(out.get(), cubin.get()) != 0) return nullptr;
  }
  return Py_BuildValue("(sN)", arch.value().c_str(), out.release());
}

PyMethodDef kMethods[] = {
    {"take_programs", torch_api::border<take_programs>, METH_O,
     "Who is given each program that is compiled; None: nobody."},
    {"machine_code", torch_api::border<machine_code>, METH_VARARGS,
     "Kernels of C++ as shared objects for a processor."},
    {"gpu_code", torch_api::border<gpu_code>, METH_VARARGS, "Kernels of CUDA C++ for a GPU of this machine."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_export(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
