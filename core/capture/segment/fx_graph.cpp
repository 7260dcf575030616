#include "core/capture/segment/fx_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/result.h"
#include "core/ops/node.h"
#include "core/recording/replay.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

namespace {

using torch_api::PyRef;
using torch_api::ReplayCall;
using torch_api::ReplayProgram;

PyObject* ints(const std::vector<int>& values) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; out && i < values.size(); ++i)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyLong_FromLong(values[i]));
  return out;
}

PyObject* dims(const ir::Dims& values) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; out && i < values.size(); ++i)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i].hint()));
  return out;
}

// [(dtype name, sizes, strides, device)] of a node's outputs.
PyRef types_of(const ir::Node& node) {
  PyRef list(PyList_New(0));
  for (const ir::TensorType& t : node.outputs) {
    PyRef row(Py_BuildValue("(sNNs)", std::string(ir::dtype_torch_name(t.dtype)).c_str(), dims(t.sizes),
                            dims(t.strides), t.device.text().c_str()));
    if (!list || !row || PyList_Append(list.get(), row.get()) != 0) return {};
  }
  return list;
}

// What a call of the captured graph does, as its operators say.
struct CallEffects {
  std::set<int> written;                         // inputs of the graph, by position
  std::set<ir::NodeId> operators, reads, makes;  // the latter: memory, by the node that made it
  bool repeats = false;  // the same call gives the same again, and nobody can tell the results apart
};

// By node: in whose memory its results may lie, by the node that made that.
class MemoryOfNodes {
 public:
  const std::set<ir::NodeId>& of(ir::NodeId node) {
    const auto [own, fresh] = of_.try_emplace(node);
    if (fresh) own->second.insert(node);
    return own->second;
  }
  void follow(const ir::Node& node) {
    std::set<ir::NodeId> found;
    for (ir::Ref r : ops::aliased(node)) found.insert(of(r.node).begin(), of(r.node).end());
    if (!found.empty()) of_[node.id] = std::move(found);
  }

 private:
  std::map<ir::NodeId, std::set<ir::NodeId>> of_;
};

std::map<ir::NodeId, CallEffects> call_effects(const ir::Graph& aten) {
  const std::vector<const ir::Node*> inputs = aten.inputs();
  std::map<ir::NodeId, int> place;
  for (const ir::Node* input : inputs) place.emplace(input->id, static_cast<int>(place.size()));
  MemoryOfNodes memory;
  std::map<ir::NodeId, CallEffects> out;
  std::set<ir::NodeId> written, leaves, returned, draws;
  for (const ir::Node& node : aten.nodes()) {
    memory.follow(node);
    for (ir::NodeId from : node.origin.from) {
      if (memory.of(node.id).contains(node.id)) out[from].makes.insert(node.id);
      out[from].operators.insert(node.id);
      ir::each_ref(node, [&](ir::Ref r) { out[from].reads.merge(std::set(memory.of(r.node))); });
      if (ops::is_random(node)) draws.insert(from);
    }
    for (ir::Ref r : ops::written(node)) {
      const std::set<ir::NodeId>& here = memory.of(r.node);
      written.insert(here.begin(), here.end());
      for (ir::NodeId made : here)
        if (const auto input = place.find(made); input != place.end())
          for (ir::NodeId from : node.origin.from) out[from].written.insert(input->second);
    }
  }
  // Inputs may share memory.
  if (std::ranges::any_of(inputs, [&](const ir::Node* input) { return written.contains(input->id); }))
    for (const ir::Node* input : inputs) written.insert(input->id);
  for (const ir::Arg& result : aten.results())
    ir::each_ref(result, [&](ir::Ref r) {
      leaves.merge(std::set(memory.of(r.node)));
      returned.insert(r.node);
    });
  const auto apart = [](const std::set<ir::NodeId>& a, const std::set<ir::NodeId>& b) {
    return std::ranges::none_of(a, [&](ir::NodeId m) { return b.contains(m); });
  };
  for (auto& [call, effects] : out)
    effects.repeats = !draws.contains(call) && apart(effects.reads, written) &&
                      apart(effects.makes, written) && apart(effects.makes, leaves) &&
                      apart(effects.operators, returned);
  return out;
}

// Walks a replay program with the values of vitrine._fx.GraphBuilder in its slots. asks: the program's
// questions are asked in the graph, too.
class FxWalk {
 public:
  FxWalk(const torch_api::Lowering::Graphs& graphs, const BackendSizes& sizes, PyObject* builder,
         bool asks = false, const BreakInfo* broke = nullptr)
      : program_(*graphs.replay),
        broke_(broke),
        captured_(*graphs.captured),
        sizes_(sizes),
        asks_(asks),
        builder_(builder),
        slots_(static_cast<size_t>(program_.slots)) {
    if (asks_) effects_ = call_effects(*graphs.aten);
    filled_ = [this](int number) {
      const Symbolic& symbolic = *sizes_.symbolic;
      const ir::Sym& value = symbolic.integers.at(static_cast<size_t>(number));
      return PyObject_CallMethod(builder_, "integer", "s", symbolic.table.text(value).c_str());
    };
  }

  // false: a Python error is set.
  bool run(const std::vector<PyRef>& examples) {
    for (int32_t number : sizes_.symbols)
      if (!symbol(number)) return false;
    for (int32_t number : sizes_.fixed)
      if (!fixed(number)) return false;
    if (!inputs(examples)) return false;
    size_t next = 0;
    for (const ir::Node& node : captured_.nodes())
      if (node.kind == ir::NodeKind::op && (!ask(next) || !call(node, program_.calls.at(next++))))
        return false;
    if (!ask(next)) return false;
    if (!ends() || !guards()) return false;
    PyRef values(PyList_New(0));
    for (int slot : program_.result_slots)
      if (!values || PyList_Append(values.get(), at(slot).get()) != 0) return false;
    return static_cast<bool>(PyRef(PyObject_CallMethod(builder_, "output", "O", values.get())));
  }

 private:
  PyRef& at(int slot) { return slots_[static_cast<size_t>(slot)]; }

  // Why the graph ends, if the function does not end there.
  bool ends() {
    if (!broke_) return true;
    PyRef places(PyList_New(0));
    for (const auto& [text, line] : broke_->stack) {
      const PyRef place(PyUnicode_FromString(text.c_str()));
      if (!places || !place || PyList_Append(places.get(), place.get()) != 0) return false;
    }
    const std::string reason = broke_->reason + " [" + broke_->kind + "]";
    return static_cast<bool>(
        PyRef(PyObject_CallMethod(builder_, "ends", "sO", reason.c_str(), places.get())));
  }

  bool symbol(int32_t number) {
    const ir::Symbol& s = sizes_.symbolic->table.symbols()[static_cast<size_t>(number)];
    return static_cast<bool>(
        PyRef(PyObject_CallMethod(builder_, "symbol", "ssLO", s.name.c_str(), s.source.c_str(),
                                  static_cast<long long>(s.hint), s.range.lo >= 2 ? Py_True : Py_False)));
  }

  bool fixed(int32_t number) {
    const ir::Symbol& s = sizes_.symbolic->table.symbols()[static_cast<size_t>(number)];
    return static_cast<bool>(
        PyRef(PyObject_CallMethod(builder_, "fixed", "sL", s.name.c_str(), static_cast<long long>(s.hint))));
  }

  // By dim of an input: the name of its symbol, or None.
  PyRef names_of(const Symbolic::Input* input, size_t dims) const {
    PyRef out(PyTuple_New(static_cast<Py_ssize_t>(dims)));
    for (size_t d = 0; out && d < dims; ++d) {
      const int32_t symbol = input ? input->symbols.at(d) : -1;
      const auto& symbols = sizes_.symbolic->table.symbols();
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(d),
                       symbol < 0 ? Py_NewRef(Py_None)
                                  : PyUnicode_FromString(symbols[static_cast<size_t>(symbol)].name.c_str()));
    }
    return out;
  }

  PyObject* placeholder(const ir::Node& node, size_t i, PyObject* tensor) {
    const Symbolic::Input* input = sizes_.inputs.at(i);
    const PyRef names = names_of(input, node.type().sizes.size());
    return names ? PyObject_CallMethod(builder_, "placeholder", "ssOOO", node.name.c_str(),
                                       node.source.c_str(), tensor, names.get(), input ? Py_True : Py_False)
                 : nullptr;
  }

  bool inputs(const std::vector<PyRef>& examples) {
    size_t i = 0;
    for (const ir::Node* node : captured_.inputs()) {
      PyRef value = PyRef::steal(i < examples.size()
                                     ? placeholder(*node, i, examples[i].get())
                                     : PyObject_CallMethod(builder_, "constant", "ssO", node->name.c_str(),
                                                           node->source.c_str(),
                                                           program_.constants.at(i - examples.size()).get()));
      if (!value) return false;
      at(program_.input_slots.at(i++)) = std::move(value);
    }
    return true;
  }

  // The questions before a call. What was known when the program was recorded may follow from a size that
  // stood in for one of data.
  bool ask(size_t call) {
    if (!asks_) return true;
    for (; asked_ < program_.questions.size() && program_.questions[asked_].before_call <= call; ++asked_) {
      const torch_api::ReplayQuestion& question = program_.questions[asked_];
      if (!ask(question, sizes_.symbolic->questions.at(asked_))) return false;
    }
    return true;
  }
  bool ask(const torch_api::ReplayQuestion& question, const Symbolic::Question& known) {
    PyRef args = PyRef::steal(torch_api::fill(question.args, slots_, &filled_));
    PyRef names(PyList_New(0));
    for (int32_t i = 0; i < known.symbols(); ++i) {
      const ir::Symbol& symbol = sizes_.symbolic->table.symbols()[static_cast<size_t>(known.symbol + i)];
      const PyRef name(PyUnicode_FromString(symbol.name.c_str()));
      if (!names || !name || PyList_Append(names.get(), name.get()) != 0) return false;
    }
    return args && names &&
           PyRef(PyObject_CallMethod(builder_, "ask", "OOOOO", question.callable.get(), args.get(),
                                     names.get(), known.length < 0 ? Py_False : Py_True,
                                     known.answer ? known.answer : Py_None));
  }

  // What the trace has concluded from sizes: a program that writes is to know before it does.
  bool guards() {
    if (!asks_) return true;
    const ir::SymbolTable& table = sizes_.symbolic->table;
    for (const ir::SymGuard& concluded : table.guards())
      if (!guard(table.text(concluded))) return false;
    for (const Symbolic::Question& q : sizes_.symbolic->questions)
      for (int32_t i = 0; i < q.symbols(); ++i)
        if (!ranges(q.symbol + i)) return false;
    return true;
  }
  // What a question gives may be the value of a symbol that is at least 2. What has a bound is never below 0.
  bool ranges(int32_t symbol) {
    const ir::Symbol& given = sizes_.symbolic->table.symbols()[static_cast<size_t>(symbol)];
    const auto& [lo, hi] = given.range;
    if (lo > 0 && !guard(given.name + " >= " + std::to_string(lo))) return false;
    return hi == ir::SymRange{}.hi || guard(given.name + " <= " + std::to_string(hi));
  }
  bool guard(const std::string& text) {
    return static_cast<bool>(PyRef(PyObject_CallMethod(builder_, "guard", "s", text.c_str())));
  }

  // What the call that comes does, and whether it gives sizes of data.
  bool tell_effects(const ir::Node& node) {
    if (!asks_) return true;
    const auto& origins = sizes_.symbolic->origins;
    const auto is_its = [&](const Symbolic::Origin& origin) { return origin.node == node.id; };
    const bool gives_sizes = std::any_of(origins.begin(), origins.end(), is_its);
    const CallEffects& effects = effects_[node.id];
    PyRef places(PyList_New(0));
    for (const int place : effects.written) {
      const PyRef number(PyLong_FromLong(place));
      if (!places || !number || PyList_Append(places.get(), number.get()) != 0) return false;
    }
    return static_cast<bool>(
        PyRef(PyObject_CallMethod(builder_, "effects", "OOO", places.get(), gives_sizes ? Py_True : Py_False,
                                  effects.repeats ? Py_True : Py_False)));
  }

  bool call(const ir::Node& node, const ReplayCall& call) {
    if (!tell_effects(node)) return false;
    PyRef args = PyRef::steal(torch_api::fill(call.args, slots_, &filled_));
    PyRef kwargs;
    if (args && (call.kwargs.object || call.kwargs.has_slot()))
      kwargs = PyRef::steal(torch_api::fill(call.kwargs, slots_, &filled_));
    if (PyErr_Occurred()) return false;
    PyRef paths(PyList_New(0)), types = types_of(node);
    for (const auto& [path, slot] : call.outputs) {
      PyRef item(ints(path));
      if (!paths || !item || PyList_Append(paths.get(), item.get()) != 0) return false;
    }
    if (!types) return false;
    PyRef place(Py_BuildValue("(si)", node.origin.file.c_str(), node.origin.line));
    PyRef values(PyObject_CallMethod(builder_, "call", "ssOOOOOO", node.op.c_str(), node.name.c_str(),
                                     call.callable.get(), args.get(), kwargs ? kwargs.get() : Py_None,
                                     paths.get(), types.get(), place.get()));
    if (!values) return false;
    for (size_t i = 0; i < call.outputs.size(); ++i)
      at(call.outputs[i].second) = PyRef::borrow(PyList_GetItem(values.get(), static_cast<Py_ssize_t>(i)));
    return true;
  }

  const ReplayProgram& program_;
  const BreakInfo* broke_;
  const ir::Graph& captured_;
  const BackendSizes& sizes_;
  const bool asks_;
  size_t asked_ = 0;  // questions
  PyObject* builder_;
  std::vector<PyRef> slots_;
  torch_api::Integers filled_;
  std::map<ir::NodeId, CallEffects> effects_;  // where it asks
};

// Throws where the text is none of sizes, which is our error.
ir::Sym parsed(ir::SymbolTable& table, PyObject* text) {
  Result<ir::Sym> value = table.parse(text_of(text));
  VITRINE_CHECK(value.ok(), "a backend's guard: " + value.error().what);
  return value.take();
}

// Asked of the symbols as the backend has asked it: the answer becomes a guard.
void add_guard(ir::SymbolTable& table, std::string_view relation, PyObject* left, PyObject* right) {
  if (relation == "fix")
    (void)static_cast<int64_t>(parsed(table, left));
  else if (relation == "<=")
    (void)(parsed(table, left) <= parsed(table, right));
  else
    (void)(parsed(table, left) == parsed(table, right));
}

// Where a number leaves 64 bits on the way, every symbol is fixed.
void add_guards(ir::SymbolTable& table, const BackendSizes& sizes, PyObject* guards) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(guards); ++i) {
    PyObject* row = PyList_GET_ITEM(guards, i);
    const std::string relation = text_of(PyTuple_GET_ITEM(row, 0));
    try {
      add_guard(table, relation, PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 2));
    } catch (const InternalError&) {
      for (int32_t symbol : sizes.symbols) (void)static_cast<int64_t>(table.symbol(symbol));
    }
  }
}

std::vector<std::vector<ir::Sym>> strides_of(ir::SymbolTable& table, PyObject* rows) {
  std::vector<std::vector<ir::Sym>> out(static_cast<size_t>(PyList_GET_SIZE(rows)));
  for (size_t i = 0; i < out.size(); ++i) {
    PyObject* row = PyList_GET_ITEM(rows, static_cast<Py_ssize_t>(i));
    for (Py_ssize_t d = 0; row != Py_None && d < PyList_GET_SIZE(row); ++d)
      out[i].push_back(parsed(table, PyList_GET_ITEM(row, d)));
  }
  return out;
}

}  // namespace

BackendSizes backend_sizes(const Trace& trace) {
  BackendSizes out;
  out.symbolic = trace.symbolic.get();
  out.inputs.resize(trace.inputs.size());
  if (!trace.symbolic) return out;
  const Symbolic& symbolic = *trace.symbolic;
  std::set<int32_t> used;
  for (size_t i = 0; i < trace.inputs.size(); ++i)
    for (const Symbolic::Input& input : symbolic.inputs)
      if (input.is_tensor && input.source == trace.inputs[i]) {
        out.inputs[i] = &input;
        used.insert(input.symbols.begin(), input.symbols.end());
      }
  used.erase(-1);
  for (int32_t number : symbolic.in_calls)
    for (size_t s = 0; s < symbolic.table.symbols().size(); ++s)
      if (symbolic.table.depends_on(symbolic.integers[static_cast<size_t>(number)], static_cast<int32_t>(s)))
        used.insert(static_cast<int32_t>(s));
  if (trace.stands_in) {  // guards may be of any input; what questions define is none
    for (const Symbolic::Input& input : symbolic.inputs)
      used.insert(input.symbols.begin(), input.symbols.end());
    used.erase(-1);
    for (const Symbolic::Question& q : symbolic.questions)
      for (int32_t i = 0; i < q.symbols(); ++i) used.erase(q.symbol + i);
  }
  for (int32_t symbol : used) {
    const ir::SymRange range = symbolic.table.symbol_range(symbol);
    (range.lo == range.hi ? out.fixed : out.symbols).push_back(symbol);
  }
  return out;
}

BackendCode compile_by_backend(PyObject* backend, const Trace& trace, const BackendSizes& sizes,
                               const std::vector<PyRef>& example_inputs) {
  const PyRef builder = call(Name::GraphBuilder);
  const BreakInfo* broke = trace.broke ? &*trace.broke : nullptr;
  if (!builder || !FxWalk(trace.graphs, sizes, builder.get(), false, broke).run(example_inputs)) return {};
  PyRef made(PyObject_CallMethod(builder.get(), "compile", "O", backend));
  PyObject *callable = nullptr, *guards = nullptr, *strides = nullptr;
  if (!made ||
      !PyArg_ParseTuple(made.get(), "OO!O!", &callable, &PyList_Type, &guards, &PyList_Type, &strides))
    return {};
  BackendCode code;
  if (sizes.symbolic) {
    ir::SymbolTable& table = trace.symbolic->table;
    const ir::SymPlace place(table, "the backend");
    add_guards(table, sizes, guards);
    code.strides = strides_of(table, strides);
  }
  code.callable = share(callable);
  return code;
}

PyRef compile_in_pieces(const Trace& trace, const BackendSizes& sizes, PyObject* settings) {
  const PyRef builder = call(Name::PiecesBuilder);
  const std::vector<PyRef> none(trace.inputs.size(), share(Py_None));
  if (!builder || !FxWalk(trace.graphs, sizes, builder.get(), true).run(none)) return {};
  const std::string name =
      trace.codes.empty() ? "" : text_of(reinterpret_cast<PyCodeObject*>(trace.codes.front())->co_qualname);
  return PyRef(PyObject_CallMethod(builder.get(), "compile_pieces", "sO", name.c_str(), settings));
}

bool run_in_pieces(PyObject* pieces, const std::vector<PyObject*>& inputs, const Symbolic& symbolic,
                   size_t expected, std::vector<int64_t>& values, std::vector<PyObject*>& results) {
  const PyRef returned(PyObject_Vectorcall(pieces, inputs.data(), inputs.size(), nullptr));
  if (!returned) return false;
  VITRINE_CHECK(PyTuple_Check(returned.get()), "the pieces of a graph return a tuple");
  size_t at = expected;
  for (const Symbolic::Question& q : symbolic.questions)
    for (int32_t i = 0; i < q.symbols(); ++i) {
      PyObject* value = PyTuple_GetItem(returned.get(), static_cast<Py_ssize_t>(at++));
      values.at(static_cast<size_t>(q.symbol + i)) = value ? PyLong_AsLongLong(value) : -1;
      if (PyErr_Occurred()) return false;
    }
  for (size_t i = 0; i < expected; ++i) {
    PyObject* item = PyTuple_GetItem(returned.get(), static_cast<Py_ssize_t>(i));
    VITRINE_CHECK(item && torch_api::is_tensor(item), "the pieces of a graph return tensors");
    results.push_back(Py_NewRef(item));
  }
  return true;
}

bool run_by_backend(PyObject* compiled, const std::vector<PyObject*>& inputs, size_t expected,
                    std::vector<PyObject*>& results) {
  PyRef returned(PyObject_Vectorcall(compiled, inputs.data(), inputs.size(), nullptr));
  if (!returned) return false;
  if (expected == 1 && torch_api::is_tensor(returned.get())) {
    results.push_back(returned.release());
    return true;
  }
  if (!PyTuple_Check(returned.get()) && !PyList_Check(returned.get())) {
    PyErr_Format(PyExc_TypeError, "a backend's callable returns a tuple or list of tensors, not a %s",
                 Py_TYPE(returned.get())->tp_name);
    return false;
  }
  const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(returned.get()));
  if (n != expected) {
    PyErr_Format(PyExc_TypeError, "a backend's callable returned %zu values, the graph has %zu", n, expected);
    return false;
  }
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(returned.get(), static_cast<Py_ssize_t>(i));
    if (!torch_api::is_tensor(item)) {
      PyErr_Format(PyExc_TypeError, "a backend's callable returned a %s where the graph has a tensor",
                   Py_TYPE(item)->tp_name);
      return false;
    }
    Py_INCREF(item);
    results.push_back(item);
  }
  return true;
}

}  // namespace vitrine::capture
