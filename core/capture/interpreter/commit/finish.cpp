// The end of a trace: recipes for locals, stack and result, effects on what existed before, the graphs.
#include <algorithm>
#include <utility>

#include "core/autograd/joint.h"
#include "core/capture/cpython/liveness.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/aliasing.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/default_devices.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/warning_filters.h"
#include "core/capture/interpreter/logged_calls.h"
#include "core/capture/interpreter/machine/film.h"
#include "core/capture/interpreter/machine/generators.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/objects/torch_names.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// The attribute holds again what it held when the segment began.
bool is_original(Tracer& t, Value* owner, const std::string& name, Value* value) {
  value = resolve(value);
  const Source* s = value->source;
  return s && s->base == owner->source && s->name == name &&
         (s->kind == SourceKind::InstanceDict || s->kind == SourceKind::Attr);
}

bool has_native_setter(PyTypeObject* type) {
  return type->tp_setattro == PyObject_GenericSetAttr || is_thread_local(type);
}

// It holds something by this name in one of its slots.
bool has_slot(PyObject* object, PyObject* name) {
  PyObject* member = _PyType_Lookup(Py_TYPE(object), name);
  if (!member || Py_TYPE(member) != &PyMemberDescr_Type) return false;
  PyRef held(Py_TYPE(member)->tp_descr_get(member, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  PyErr_Clear();
  return static_cast<bool>(held);
}

void attribute_effects(Tracer& t, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  PyRef own(held_attributes(v->obj));
  PyErr_Clear();
  static PyObject* set =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  static PyObject* del =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__delattr__");
  for (const auto& [name, value] : v->attrs) {
    if (value && is_original(t, v, name, value)) continue;
    PyRef key(PyUnicode_InternFromString(name.c_str()));
    if (!value && !(own && PyDict_Contains(own.get(), key.get()) == 1) && !has_slot(v->obj, key.get()))
      continue;
    Effect e;
    if (has_native_setter(v->cls)) {
      e.kind = value ? Effect::Kind::SetAttr : Effect::Kind::DelAttr;
      e.name = name;
      e.target = make.make(v);
      if (value) e.value = make.make(value);
    } else {
      e.kind = Effect::Kind::Call;
      e.value = make.call(value ? set : del, {});
      e.value.children.push_back(make.make(v));
      e.value.children.push_back(make.constant(key.get()));
      if (value) e.value.children.push_back(make.make(value));
    }
    e.frees_first = is_freed_first(v) && name == "grad";
    out.push_back(std::move(e));
  }
}

// A cell that the frame itself has just made: nothing else had it when the segment began.
bool is_cell_of_frame(Tracer& t, const Value* v) {
  if (!v->is(ValueKind::Cell) || !v->source || v->source->kind != SourceKind::Local) return false;
  const Bytecode& bytecode = *t.frames.bytecode_of(reinterpret_cast<PyCodeObject*>(t.frames.live.code()));
  const auto begin = bytecode.instructions().begin(), at = begin + bytecode.index_of(t.frames.live.pc());
  const auto makes_it = [&](const Instruction& in) {
    return in.op == Op::MakeCell && in.arg == v->source->index;
  };
  const auto is_prologue = [](const Instruction& in) {
    return in.op == Op::MakeCell || in.op == Op::CopyFreeVars || in.op == Op::Resume || in.op == Op::Nop;
  };
  return std::any_of(begin, at, makes_it) && std::all_of(begin, at, is_prologue);
}

bool mentions(const Recipe& recipe, const Source* source) {
  for (const Source* s = recipe.source; s; s = s->base)
    if (s == source) return true;
  return std::any_of(recipe.children.begin(), recipe.children.end(),
                     [&](const Recipe& child) { return mentions(child, source); });
}

bool mentions(const std::vector<Effect>& effects, const Source* source) {
  return std::any_of(effects.begin(), effects.end(), [&](const Effect& e) {
    return mentions(e.target, source) || mentions(e.key, source) || mentions(e.value, source);
  });
}

// Marks the graph's results that come into an object.
void hold(const Recipe& recipe, std::vector<bool>& results) {
  if (recipe.kind == Recipe::Kind::Graph) results.at(static_cast<size_t>(recipe.index)) = true;
  for (const Recipe& child : recipe.children) hold(child, results);
}

}  // namespace

// A recurrent layer alone on a CPU is one operator of a library's with its own derivative. A region of
// several results around it costs more than its own node.
static bool is_recurrent_layer_alone(Tracer& t) {
  torch_api::Recording& recording = t.lowering().state().recording;
  const auto is_layer = [](const ir::Node& n) { return n.op == "aten.mkldnn_rnn_layer.default"; };
  const auto may_stand_beside = [](const ir::Node& n) {
    return n.op == "torch.lstm" || n.op == "torch.zeros";
  };
  return std::ranges::any_of(recording.aten_nodes(), is_layer) &&
         std::ranges::all_of(recording.captured_nodes(), may_stand_beside);
}

// Containers that were changed must not be, in another call, the same as others that this trace told apart.
static void find_joint(Tracer& t, const std::vector<PyObject*>& results, Trace& trace) {
  trace.gradients = t.options.gradients;
  if (t.sizes.last_stand_in) {
    trace.no_joint = "sizes depend on data";
    return;
  }
  if (!t.modes.grad_at_start) {
    trace.no_joint = "the graph begins where gradients are off";
    return;
  }
  if (t.options.differentiated_again) {
    trace.no_joint =
        "its gradients are differentiated again (create_graph=True), or asked for a tensor made in it";
    return;
  }
  if (is_recurrent_layer_alone(t)) {
    trace.no_joint = "a recurrent layer alone has PyTorch's own node";
    return;
  }
  auto joint = torch_api::make_joint(*t.graph.lowering, results, t.options.gradients);
  if (joint)
    trace.joint = joint.take();
  else
    trace.no_joint = joint.error().what;
}

// What the segment leaves in locals that the frame never reads again is there for debuggers alone.
static void find_consumed(Tracer& t, const std::vector<PyObject*>& results, Trace& trace) {
  std::vector<bool> in_use(results.size(), false);
  hold(trace.result, in_use);
  for (const Recipe& r : trace.stack) hold(r, in_use);
  for (const Recipe& r : trace.computed) hold(r, in_use);
  for (const Effect& e : trace.effects)
    for (const Recipe* r : {&e.target, &e.key, &e.value}) hold(*r, in_use);
  for (const auto& [slot, r] : trace.locals)
    if (may_be_read(*t.frames.root.bytecode, trace.end_pc, slot)) hold(r, in_use);
  auto consumed = torch_api::find_consumed(*t.graph.lowering, results, in_use);
  if (!consumed) throw AutogradSignal{consumed.error().what};
  trace.consumed = consumed.take();
  trace.differentiates = true;
  trace.needs_grad = false;
}

// Whose business the graph's results are: autograd's, by a joint graph or by PyTorch itself, or nobody's.
// Also detach() of an input that requires grad is autograd's, when nothing that was made requires grad; but
// where there is no joint graph, such a view is made again behind a graph that needs none.
static void find_gradients(Tracer& t, const std::vector<PyObject*>& results, Trace& trace) {
  using Views = torch_api::Lowering::Views;
  const bool gives =
      trace.graph_effects.needs_grad || std::any_of(results.begin(), results.end(), [&](PyObject* o) {
        return torch_api::requires_grad(o) && !t.lowering().is_made_leaf(o);
      });
  trace.needs_grad = gives || trace.graph_effects.asks_autograd;
  if (t.graph.differentiates)
    find_consumed(t, results, trace);
  else if (trace.needs_grad)
    find_joint(t, results, trace);
  if (!trace.needs_grad) {
    trace.views = Views::apart;
  } else if (!gives && !trace.joint && !t.options.differentiated_again && t.lowering().can_follow(results)) {
    trace.views = Views::followed;
    trace.needs_grad = false;
    trace.no_joint.clear();
  }
}

// The calls that bring the process to where the segment leaves autocast.
static std::vector<Effect> autocast_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  const torch_api::AutocastState from = t.modes.autocast_at_start, to = t.lowering().autocast();
  const auto add = [&](const char* path, std::initializer_list<PyObject*> arguments) {
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object(path), {});
    for (PyObject* a : arguments) e.value.children.push_back(make.constant(a));
    out.push_back(std::move(e));
  };
  const auto truth = [](bool b) { return b ? Py_True : Py_False; };
  const auto dtype = [](int8_t number) {
    return find_object(std::string("torch.") +
                       std::string(ir::dtype_torch_name(ir::dtype_from_scalar_type(number))));
  };
  PyRef cpu(PyUnicode_FromString("cpu")), cuda(PyUnicode_FromString("cuda"));
  if (from.cpu != to.cpu) add("torch.set_autocast_enabled", {cpu.get(), truth(to.cpu)});
  if (from.cuda != to.cuda) add("torch.set_autocast_enabled", {cuda.get(), truth(to.cuda)});
  if (from.cpu_dtype != to.cpu_dtype) add("torch.set_autocast_dtype", {cpu.get(), dtype(to.cpu_dtype)});
  if (from.cuda_dtype != to.cuda_dtype) add("torch.set_autocast_dtype", {cuda.get(), dtype(to.cuda_dtype)});
  if (from.cache != to.cache) add("torch.set_autocast_cache_enabled", {truth(to.cache)});
  for (int n = from.nesting; n < to.nesting; ++n) add("torch.autocast_increment_nesting", {});
  for (int n = from.nesting; n > to.nesting; --n) add("torch.autocast_decrement_nesting", {});
  if (from.nesting > 0 && to.nesting == 0) add("torch.clear_autocast_cache", {});
  return out;
}

// The same of the ways of computing attention.
static std::vector<Effect> attention_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  const torch_api::AttentionChoice from = t.modes.attention_at_start, to = t.lowering().attention();
  const auto add = [&](const char* path, bool was, bool is) {
    if (was == is) return;
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object(path), {});
    e.value.children.push_back(make.constant(is ? Py_True : Py_False));
    out.push_back(std::move(e));
  };
  add("torch._C._set_sdp_use_cudnn", from.cudnn, to.cudnn);
  add("torch._C._set_sdp_use_flash", from.flash, to.flash);
  add("torch._C._set_sdp_use_mem_efficient", from.mem_efficient, to.mem_efficient);
  add("torch._C._set_sdp_use_math", from.math, to.math);
  add("torch._C._set_sdp_use_overrideable", from.overrideable, to.overrideable);
  return out;
}

// What the frame holds where the segment ends.
static void finish_frame(Tracer& t, bool returned, RecipeMaker& make, Trace& trace) {
  if (returned) {
    trace.end = Trace::End::Return;
    trace.result = make.make(t.frames.result);
    return;
  }
  trace.end = Trace::End::Break;
  trace.end_pc = t.frames.root.bytecode->instructions()[static_cast<size_t>(t.frames.root.position)].pc;
  for (size_t i = 0; i < t.frames.root.locals.size(); ++i)
    if (t.frames.root.locals[i] != t.frames.initial_locals[i])
      trace.locals.emplace_back(static_cast<int32_t>(i), make.make(t.frames.root.locals[i]));
  for (Value* v : t.frames.root.stack) trace.stack.push_back(make.make(v));
}

static std::vector<Effect> global_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  for (const GlobalWrite& write : t.effects.global_writes) {
    Effect e;
    e.kind = Effect::Kind::SetGlobal;
    e.name = write.name;
    if (write.owner) {
      Value holder;
      holder.source = write.owner;
      e.target = make.make(&holder);
    }
    e.value = make.make(t.effects.globals[write.key]);
    out.push_back(std::move(e));
  }
  return out;
}

// What changes for real behind the graph. Objects made here are filled before anything that existed before
// points to them.
static void finish_effects(Tracer& t, bool returned, RecipeMaker& make, Trace& trace) {
  std::vector<Effect> effects;
  Values own_cells;
  for (size_t i = 0; i < t.effects.mutated.size(); ++i) {
    Value* v = t.effects.mutated[i];
    if (returned && is_cell_of_frame(t, v)) {
      own_cells.push_back(v);
      continue;
    }
    check_let_go(t, v);
    if (const auto effect = ops_of(v).effect) effect(t, make, v, effects);
    if (!v->attrs.empty() && v->obj) attribute_effects(t, make, v, effects);
  }
  const auto add = [](std::vector<Effect> more, std::vector<Effect>& to) {
    for (Effect& e : more) to.push_back(std::move(e));
  };
  add(global_effects(t, make), effects);
  add(version_effects(t, make), effects);
  add(grad_mode_effects(t, make), effects);
  add(autocast_effects(t, make), effects);
  add(attention_effects(t, make), effects);
  add(default_device_effects(t, make), effects);
  add(warning_filter_effects(t, make), effects);
  add(cache_effects(t, make), effects);
  add(logged_effects(t, make), effects);
  trace.effects = make.take_effects();
  // The frame goes, and its cells with it, unless something that stays has one.
  for (bool found = true; std::exchange(found, false);)
    for (Value*& cell : own_cells) {
      if (!cell || !(mentions(trace.result, cell->source) || mentions(trace.effects, cell->source) ||
                     mentions(effects, cell->source)))
        continue;
      const TypeOps& type = ops_of(cell);
      type.effect(t, make, std::exchange(cell, nullptr), effects);
      add(make.take_effects(), trace.effects);
      found = true;
    }
  add(std::move(effects), trace.effects);
}

// The graph, and whose business its results are.
static void finish_graph(Tracer& t, RecipeMaker& make, Trace& trace) {
  for (Value* v : t.sizes.computed) trace.computed.push_back(make.make(v));
  guard_aliases(t);
  trace.graph_effects = t.lowering().effects();
  check_arrays_unwritten(t);
  if (trace.graph_effects.writes_inputs) guard_storages(t);
  const std::vector<PyObject*> results = make.results();
  find_gradients(t, results, trace);
  if (t.graph.behind_writes && trace.needs_grad && !trace.joint) throw WrittenSignal{};
  trace.speculates = t.graph.speculated;
  trace.graphs = t.lowering().finish(results, trace.views);
  trace.graph_effects = t.lowering().effects();
  const auto& nodes = trace.graphs.captured->nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](const ir::Node& n) { return n.kind == ir::NodeKind::op; }))
    trace.graphs = {};
  if (!trace.graphs.captured && !t.sizes.symbolic->questions.empty()) fix_all_sizes(t);
}

std::unique_ptr<Trace> Tracer::finish(bool returned) {
  auto trace = std::make_unique<Trace>();
  RecipeMaker make(*this);
  frames.current = &frames.root;
  check_generators(*this);
  finish_frame(*this, returned, make, *trace);
  finish_effects(*this, returned, make, *trace);
  finish_graph(*this, make, *trace);
  sizes.symbolic->find_use();
  if (dynamic(*this)) trace->symbolic = sizes.symbolic;
  if (sizes.last_stand_in) show_stand_ins(*this, *trace);
  trace->sources = values.sources;
  trace->inputs = graph.inputs;
  trace->prepared = std::move(effects.prepared);
  trace->guards = guards.take();
  trace->steps = finish_film(*this, trace->graphs.captured.get(), trace->guards);
  trace->codes = frames.take_codes();
  trace->asked = guards.take_asked();
  return trace;
}

std::unique_ptr<Trace> Tracer::give_up(BreakInfo why) {
  auto trace = std::make_unique<Trace>();
  trace->end = Trace::End::Nothing;
  trace->end_pc = frames.live.pc();
  trace->broke = std::move(why);
  frames.current = &frames.root;
  trace->fills_caches = !pure.not_cached.empty();
  guard_not_cached(*this, pure.not_cached);
  if (!sizes.symbolic->questions.empty()) fix_all_sizes(*this);
  sizes.symbolic->find_use();
  if (dynamic(*this)) trace->symbolic = sizes.symbolic;
  trace->sources = values.sources;
  trace->guards = guards.take();
  trace->steps = finish_film(*this, nullptr, trace->guards);
  if (!trace->steps.empty())
    trace->steps.back().event = "break", trace->steps.back().text = trace->broke->reason;
  trace->codes = frames.take_codes();
  trace->asked = guards.take_asked();
  return trace;
}

}  // namespace vitrine::capture
