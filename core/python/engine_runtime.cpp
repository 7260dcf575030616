// Plans as functions of vitrine._engine, for tests: a graph in its text form is compiled, run and looked at.
#include <Python.h>

#include <memory>
#include <optional>

#include "core/ir/parse.h"
#include "core/pipeline/pipeline.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/python/plan_capsule.h"
#include "core/runtime/compile.h"
#include "core/runtime/kernel_stage.h"
#include "core/runtime/plan.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

using PlanPtr = std::shared_ptr<runtime::Plan>;

PyObject* raise(const Error& error) {
  return PyErr_Format(PyExc_RuntimeError, "%s%s%s", error.what.c_str(), error.hint.empty() ? "" : ": ",
                      error.hint.c_str());
}

PlanPtr* plan_of(PyObject* capsule) {
  HeldPlan* held = held_plan(capsule);
  return held ? &held->plan : nullptr;
}

PyObject* capsule(PlanPtr plan) {
  return plan_capsule(std::move(plan), nullptr);
}

// Nothing: a Python error is set.
std::optional<std::vector<std::string>> pass_names(PyObject* list) {
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); ++i) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (!name) return {};
    out.emplace_back(name);
    if (const std::string wrong = pipeline::cannot_disable(name); !wrong.empty()) {
      PyErr_SetString(PyExc_ValueError, wrong.c_str());
      return {};
    }
  }
  return out;
}

// plan_compile(text, fuse, cache_dir, kernel_compiler, session, products, lanes, disabled) -> plan. The
// graph's inputs, in its order, are the plan's. session: path of a session file to record the compilation in;
// "" = none. disabled: names of passes that are switched off.
PyObject* plan_compile(PyObject*, PyObject* args) {
  if (!fits_pytorch()) return nullptr;
  const char *text = nullptr, *cache_dir = "", *compiler = "", *session = "", *products = "measured";
  int fuse = 1, lanes = 0;
  PyObject* disabled = nullptr;
  if (!PyArg_ParseTuple(args, "s|pssssiO!", &text, &fuse, &cache_dir, &compiler, &session, &products, &lanes,
                        &PyList_Type, &disabled))
    return nullptr;
  try {
    auto passes = pass_names(disabled);
    if (!passes) return nullptr;
    auto graph = ir::parse(text);
    if (!graph) return raise(graph.error());
    runtime::CompileOptions options;
    options.fuse = fuse != 0;
    options.cache_dir = cache_dir;
    options.edited = engine().config.edited;
    options.bisect = engine().config.bisect;
    options.faults = engine().config.faults;
    options.watched = true;
    options.disabled_passes = std::move(*passes);
    options.kernel_compiler = compiler;
    options.products = products;
    options.lanes = lanes;
    options.kept = engine().kept;
    std::unique_ptr<session::Writer> writer;
    std::unique_ptr<ir::Recorder> recorder;
    if (*session) {
      auto created = session::Writer::create(session);
      if (!created) return raise(created.error());
      writer = created.take();
      recorder = std::make_unique<ir::Recorder>(*writer, writer->next(Kind::Compilation), 0);
    }
    auto plan = runtime::compile(graph.value(), options, recorder.get());
    if (writer) writer->finish("finished");
    if (!plan) return raise(plan.error());
    return plan_capsule(plan.take(), graph.value());
  } catch (const std::exception& e) {
    return PyErr_Format(PyExc_RuntimeError, "%s", e.what());
  }
}

// A graph whose sizes are symbolic, compiled once; plans of it are made for any sizes.
struct SymbolicProgram {
  ir::SymbolTable symbols;
  std::shared_ptr<runtime::SizedPlans> plans;
};
constexpr const char* kSymbolicName = "vitrine.symbolic_program";

SymbolicProgram* symbolic_of(PyObject* capsule) {
  return static_cast<SymbolicProgram*>(PyCapsule_GetPointer(capsule, kSymbolicName));
}

// symbolic_compile(text, hints, cache_dir, products) -> program. hints: of the symbols s0, s1, ..., which the
// graph's text names. products: as in CompileOptions.
PyObject* symbolic_compile(PyObject*, PyObject* args) {
  if (!fits_pytorch()) return nullptr;
  const char *text = nullptr, *cache_dir = "", *products = "library";
  PyObject* hints = nullptr;
  if (!PyArg_ParseTuple(args, "sO!|ss", &text, &PyList_Type, &hints, &cache_dir, &products)) return nullptr;
  auto made = std::make_unique<SymbolicProgram>();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hints); ++i)
    made->symbols.size("s" + std::to_string(i), PyLong_AsLongLong(PyList_GET_ITEM(hints, i)));
  auto graph = ir::parse(text, nullptr, &made->symbols);
  if (!graph) return raise(graph.error());
  runtime::CompileOptions options;
  options.cache_dir = cache_dir;
  options.products = products;
  options.kept = engine().kept;
  std::vector<runtime::Problem> problems;
  made->plans = runtime::compile_sized(graph.value(), made->symbols, options, {}, problems);
  if (!made->plans) return raise({problems.empty() ? "it cannot be compiled" : problems.back().text, "", ""});
  return PyCapsule_New(made.release(), kSymbolicName, [](PyObject* c) { delete symbolic_of(c); });
}

// symbolic_plan(program, values) -> plan, or None where the guards forbid the values.
PyObject* symbolic_plan(PyObject*, PyObject* args) {
  PyObject *program = nullptr, *list = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &program, &PyList_Type, &list)) return nullptr;
  SymbolicProgram* from = symbolic_of(program);
  if (!from) return nullptr;
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    values.push_back(PyLong_AsLongLong(PyList_GET_ITEM(list, i)));
  PlanPtr plan = from->plans->at(values);
  if (!plan) Py_RETURN_NONE;
  return capsule(std::move(plan));
}

// symbolic_guards(program) -> [(guard, who asked)]
PyObject* symbolic_guards(PyObject*, PyObject* program) {
  SymbolicProgram* from = symbolic_of(program);
  if (!from) return nullptr;
  PyObject* list = PyList_New(0);
  for (const ir::SymGuard& guard : from->symbols.guards()) {
    PyObject* row = Py_BuildValue("(ss)", from->symbols.text(guard).c_str(), guard.place.c_str());
    if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject* problem_list(const std::vector<runtime::Problem>& problems) {
  PyObject* list = PyList_New(0);
  for (const runtime::Problem& p : problems) {
    PyObject* row = Py_BuildValue("(ss)", p.text.c_str(), p.reproducer.c_str());
    if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

// One kernel over the graph's inputs and the buffer of its one result: the program that plan_kernel() runs.
codegen::Program kernel_program(const ir::Graph& graph, const char* source, int64_t work, int64_t grain) {
  codegen::Program program;
  codegen::Step step;
  step.kind = codegen::Step::Kind::kernel;
  step.kernel = 0;
  step.label = "K0";
  auto add = [&](const ir::Node& node, codegen::Buffer::Kind kind, int32_t input) {
    auto index = static_cast<int32_t>(program.buffers.size());
    codegen::Buffer buffer;
    buffer.name = node.name;
    buffer.kind = kind;
    buffer.type = node.type();
    buffer.value = {node.id, 0};
    buffer.input = input;
    program.buffers.push_back(std::move(buffer));
    program.value_buffer.emplace_back(ir::Ref{node.id, 0}, index);
    step.buffers.push_back(index);
    return index;
  };
  for (const ir::Node* node : graph.inputs())
    program.input_buffer.push_back(
        add(*node, codegen::Buffer::Kind::input, static_cast<int32_t>(program.input_buffer.size())));
  program.results = graph.results();
  const ir::Node& result = graph.node(program.results.at(0).as<ir::Ref>().node);
  step.outs.push_back(add(result, codegen::Buffer::Kind::output, -1));
  codegen::Kernel kernel;
  kernel.label = "K0";
  kernel.name = "test";
  kernel.text = source;
  kernel.work = work;
  kernel.grain = grain;
  program.kernels.push_back(std::move(kernel));
  program.steps.push_back(std::move(step));
  return program;
}

// plan_kernel(text, source, work, grain, cache_dir, kernel_compiler) -> (plan or None, problems, cached)
PyObject* plan_kernel(PyObject*, PyObject* args) {
  if (!fits_pytorch()) return nullptr;
  const char *text = nullptr, *source = nullptr, *cache_dir = "", *compiler = "";
  long long work = 1, grain = 1;
  if (!PyArg_ParseTuple(args, "ssLL|ss", &text, &source, &work, &grain, &cache_dir, &compiler))
    return nullptr;
  try {
    auto graph = ir::parse(text);
    if (!graph) return raise(graph.error());
    codegen::Program program = kernel_program(*graph.value(), source, work, grain);
    runtime::CompileOptions options;
    options.cache_dir = cache_dir;
    options.kernel_compiler = compiler;
    runtime::KernelStage stage = runtime::compile_kernels(program.kernels, options, false, {});
    PyObject* problems = problem_list(stage.problems);
    if (!stage.ok()) return Py_BuildValue("(ONO)", Py_None, problems, Py_False);
    auto plan = runtime::ProgramPlan::make(std::move(program), {stage.kernels[0].loaded}, {}, options);
    if (!plan) return raise(plan.error());
    return Py_BuildValue("(NNO)", capsule(plan.take()), problems,
                         stage.kernels[0].cached ? Py_True : Py_False);
  } catch (const std::exception& e) {
    return PyErr_Format(PyExc_RuntimeError, "%s", e.what());
  }
}

// plan_run(plan, inputs) -> outputs, as lists.
PyObject* plan_run(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *inputs = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  std::vector<PyObject*> outputs;
  auto* items = reinterpret_cast<PyListObject*>(inputs)->ob_item;
  if (!(*plan)->run(items, static_cast<size_t>(PyList_GET_SIZE(inputs)), outputs)) return nullptr;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(outputs.size()));
  for (size_t i = 0; list && i < outputs.size(); ++i)
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), outputs[i]);
  return list;
}

// plan_times(plan, inputs) -> [(launch, start, end)] in ns of one run.
PyObject* plan_times(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *inputs = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  std::vector<PyObject*> outputs;
  std::vector<runtime::LaunchTime> times;
  auto* items = reinterpret_cast<PyListObject*>(inputs)->ob_item;
  if (!(*plan)->run(items, static_cast<size_t>(PyList_GET_SIZE(inputs)), outputs, &times)) return nullptr;
  for (PyObject* o : outputs) Py_DECREF(o);
  PyObject* list = PyList_New(0);
  for (const runtime::LaunchTime& t : times) {
    PyObject* row = Py_BuildValue("(iLL)", t.launch, static_cast<long long>(t.start_ns),
                                  static_cast<long long>(t.end_ns));
    if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject* plan_facts(PyObject*, PyObject* capsule) {
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  return Py_BuildValue("{s:i,s:i,s:i,s:N}", "launches", (*plan)->launches(), "kernels",
                       (*plan)->generated_kernels(), "python_calls", (*plan)->python_calls(), "problems",
                       problem_list((*plan)->problems()));
}

PyMethodDef kMethods[] = {
    {"plan_compile", torch_api::border<plan_compile>, METH_VARARGS, "Compiles a graph given as text."},
    {"plan_kernel", torch_api::border<plan_kernel>, METH_VARARGS, "A plan of one kernel given as C++ text."},
    {"symbolic_compile", torch_api::border<symbolic_compile>, METH_VARARGS,
     "Compiles a graph whose sizes are symbolic, given as text."},
    {"symbolic_plan", torch_api::border<symbolic_plan>, METH_VARARGS, "A plan of it for some sizes."},
    {"symbolic_guards", torch_api::border<symbolic_guards>, METH_O, "What it asks of its symbols."},
    {"plan_run", torch_api::border<plan_run>, METH_VARARGS, "Runs a plan on a list of tensors."},
    {"plan_times", torch_api::border<plan_times>, METH_VARARGS,
     "Runs a plan and gives the time of each launch."},
    {"plan_facts", torch_api::border<plan_facts>, METH_O,
     "Launches, generated kernels and Python calls of a plan."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_runtime(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
