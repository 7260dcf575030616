#include "core/torch_bridge/lowering.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/base/once.h"
#include "core/ops/node.h"
#include "core/torch_bridge/api.h"
#include "core/torch_bridge/convert.h"
#include "core/torch_bridge/known_masks.h"
#include "core/torch_bridge/lowering_state.h"
#include "core/torch_bridge/remade_views.h"
#include "core/torch_bridge/stand_in.h"
#include "core/torch_bridge/warning_watch.h"

namespace vitrine::torch_bridge {

namespace {

// Torch-level functions that stay one ATen operator where PyTorch would decompose them. They run as usual,
// for types, checks and autograd; then their ATen nodes are replaced by one, unless PyTorch chose `kernel`,
// its own fused form, which is whole already and needs no choice at run time.
constexpr Whole kWhole[] = {
    {"torch._C._nn", "scaled_dot_product_attention", "aten.scaled_dot_product_attention.default",
     "aten._scaled_dot_product_flash_attention_for_cpu.default"},
};

// The row of a callable, or nullptr.
const Whole* whole_of(PyObject* callable) {
  using Callables = std::array<PyObject*, std::size(kWhole)>;
  static constinit Once<Callables> kept;
  const Callables& callables = kept.get([] {
    Callables out{};
    for (size_t i = 0; i < out.size(); ++i) {
      Py module = Py::steal(PyImport_ImportModule(kWhole[i].module));
      out[i] = module ? PyObject_GetAttrString(module.get(), kWhole[i].function) : nullptr;
      PyErr_Clear();
    }
    return out;
  });
  for (size_t i = 0; i < callables.size(); ++i)
    if (callables[i] == callable) return &kWhole[i];
  return nullptr;
}

// The traced program's grad mode is its own: switching it off inside must not leak into the process.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool& traced) : traced_(traced), real_(api().symbols.grad_enabled()) {
    api().symbols.grad_set_enabled(traced);
  }
  ~GradModeGuard() {
    traced_ = api().symbols.grad_enabled();
    api().symbols.grad_set_enabled(real_);
  }
  GradModeGuard(const GradModeGuard&) = delete;

 private:
  bool& traced_;
  const bool real_;
};

// The same for autocast, and for the ways of computing attention.
template <class Kind, Kind (*now)(), void (*set)(const Kind&)>
class StateGuard {
 public:
  explicit StateGuard(Kind& traced) : traced_(traced), real_(now()) {
    if (traced_ != real_) set(traced_);
  }
  ~StateGuard() {
    traced_ = now();
    if (traced_ != real_) set(real_);
  }
  StateGuard(const StateGuard&) = delete;

 private:
  Kind& traced_;
  const Kind real_;
};
using AutocastGuard = StateGuard<AutocastState, autocast_state, set_autocast_state>;
using AttentionGuard = StateGuard<AttentionChoice, attention_choice, set_attention_choice>;

// A tensor made in the recording that gets other sizes itself, while views of it are there: what they view is
// it, which is no view. Made again behind the graph it would be one.
void refuse_turned(Recording& recording, const std::string& name, PyObject* args) {
  static const std::unordered_set<std::string> kTurning = {
      "Tensor.t_",         "Tensor.transpose_", "Tensor.swapaxes_",  "Tensor.swapdims_",
      "Tensor.unsqueeze_", "Tensor.squeeze_",   "Tensor.as_strided_"};
  if (!kTurning.contains(name) || PyTuple_GET_SIZE(args) == 0) return;
  const int index = recording.find(PyTuple_GET_ITEM(args, 0));
  if (index >= 0 && recording.storage_of_tensor(index).tensors.size() > 1)
    stop("unsupported_operator", name + " of a tensor that others share memory with");
}

// Memory that is not a tensor's: its content may change between calls, unseen by any guard.
void refuse_arrays(PyObject* value) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      refuse_arrays(PySequence_Fast_GET_ITEM(value, i));
    return;
  }
  const std::string_view type = Py_TYPE(value)->tp_name;
  if (type == "numpy.ndarray" || type == "array.array" || PyByteArray_Check(value) ||
      PyMemoryView_Check(value))
    stop("unsupported_value", "a " + std::string(type) + " is read",
         "Make it a tensor outside the compiled function.");
}

// Whose operators PyTorch chooses where a GPU is, by it and its libraries, and their names in _absent_gpu.py.
constexpr std::pair<std::string_view, const char*> kChosenOnGpu[] = {
    {"torch._C._nn.scaled_dot_product_attention", "scaled_dot_product_attention"},
    {"torch.lstm", "lstm"},
    {"torch.gru", "gru"},
    {"torch.rnn_tanh", "rnn_tanh"},
    {"torch.rnn_relu", "rnn_relu"},
    {"torch.ctc_loss", "ctc_loss"}};

// The function as it runs where a GPU of this architecture is (core/python/vitrine/_absent_gpu.py).
Py chosen_for(const std::string& architecture, const std::string& name, PyObject* callable) {
  const auto* row = std::find_if(std::begin(kChosenOnGpu), std::end(kChosenOnGpu),
                                 [&](const auto& r) { return r.first == name; });
  if (row == std::end(kChosenOnGpu)) return Py::borrow(callable);
  Py module = Py::steal(PyImport_ImportModule("vitrine._absent_gpu"));
  Py made = Py::steal(
      module ? PyObject_CallMethod(module.get(), "function_for", "ss", architecture.c_str(), row->second)
             : nullptr);
  if (!made) stop("unsupported_operator", name + ": " + take_python_error());
  if (made.get() == Py_None)
    stop("unsupported_operator", name + ": which operators compute it PyTorch chooses where the GPU is",
         "Record it on a machine with that GPU.");
  return made;
}
bool has_attention(Recording& recording, const Recording::Mark& mark) {
  const auto& nodes = recording.aten_nodes();
  return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(mark.aten), nodes.end(), ops::is_attention);
}

// The tensors into which a call is told to write its results, and their versions.
using Outs = std::vector<std::pair<PyObject*, std::optional<uint32_t>>>;
Outs outs_of(PyObject* kwargs) {
  Outs out;
  std::vector<int> path;
  PyObject* given = kwargs ? PyDict_GetItemString(kwargs, "out") : nullptr;
  if (given)
    each_leaf(given, path,
              [&](PyObject* t, const std::vector<int>&) { out.emplace_back(t, version(handle_of(t))); });
  return out;
}
// Some of PyTorch's composite operators write elsewhere under a dispatch mode.
void refuse_unwritten(const std::string& name, const Outs& outs) {
  for (const auto& [tensor, before] : outs)
    if (before && version(handle_of(tensor)) == before && type_of(tensor).numel() > 0)
      stop("unsupported_operator", name + " leaves its out= as it was when it is recorded");
}

std::string why_not_input(PyObject* tensor) {
  if (!is_tensor(tensor)) return "not a tensor";
  if (!is_plain_tensor(tensor)) return std::string("a tensor of class ") + Py_TYPE(tensor)->tp_name;
  Handle handle = handle_of(tensor);
  const uint64_t keys = dispatch_keys(handle);
  const uint64_t known[] = {api().plain_keys, api().inference_keys, api().cuda_keys,
                            api().cuda_inference_keys};
  if (std::find(std::begin(known), std::end(known), keys) == std::end(known)) {
    Py text = Py::steal(PyObject_CallOneArg(api().dispatch_keys, tensor));
    Py shown = Py::steal(text ? PyObject_Str(text.get()) : nullptr);
    const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    PyErr_Clear();
    return std::string("a tensor that is not a plain CPU or CUDA tensor (") + (utf8 ? utf8 : "") + ")";
  }
  const View v = view(handle);
  if (v.device_type != 0 && v.device_type != kCudaDevice)
    return "a tensor on another device than the CPU or a GPU";
  if (ir::dtype_from_scalar_type(v.scalar_type) == ir::DType::other) return "an unsupported element type";
  return "";
}

}  // namespace

// A real tensor that autograd computed is not a leaf: neither may its stand-in be (writing to it is allowed).
// Its stand-in becomes the answer to a clone of a leaf, which autograd then adopts.
void Lowering::State::copy_requires_grad(int index, PyObject* real) {
  if (!requires_grad(real)) return;
  PyObject* tensor = recording.at(index).object.get();
  if (is_leaf(real)) {
    Py done = Py::steal(PyObject_CallMethod(tensor, "requires_grad_", nullptr));
    if (!done) PyErr_Clear();
    return;
  }
  Py leaf = Py::steal(wrap(stand_in(recording.at(index).type)));
  bool grad = true;
  GradModeGuard grad_guard(grad);
  Py ready = Py::steal(leaf ? PyObject_CallMethod(leaf.get(), "requires_grad_", nullptr) : nullptr);
  dispatch.answer = Py::borrow(tensor);
  {
    ModeGuard guard(mode.get());
    Py done = Py::steal(ready ? PyObject_CallMethod(leaf.get(), "clone", nullptr) : nullptr);
  }
  dispatch.answer = Py();
  PyErr_Clear();
}

namespace {

// PyTorch asks for a guard of the current device, and for CUDA to be set up, even where no GPU is touched.
// Where there is none, meta's guard, which does nothing, stands in (for the one that a PyTorch built with
// CUDA has, too: it asks the driver, which is not there), and the set-up is said to be done.
void pretend_cuda_is_ready() {
  static constinit Once<bool> done;
  done.get([] {
    if (gpu_is_here()) return true;
    constexpr size_t kMeta = 14;  // c10::DeviceType::Meta
    if (void** guards = api().symbols.guard_impls) guards[kCudaDevice] = guards[kMeta];
    Py scope = Py::steal(PyDict_New());
    PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
    Py ran =
        Py::steal(PyRun_String("import torch\n"
                               "real, torch.cuda._lazy_init = torch.cuda._lazy_init, lambda: None\n"
                               "try:\n"
                               "    torch.empty(0, device='cuda')\n"
                               "except Exception:\n"
                               "    pass\n"
                               "finally:\n"
                               "    torch.cuda._lazy_init = real\n",
                               Py_file_input, scope.get(), scope.get()));
    PyErr_Clear();
    return static_cast<bool>(ran);
  });
}

}  // namespace

Lowering::Lowering(std::optional<ir::Device> as_if, std::string architecture)
    : state_(std::make_unique<State>()) {
  state_->architecture = std::move(architecture);
  if (as_if) pretend_cuda_is_ready();
  state_->recording.as_if(as_if);
}
Lowering::~Lowering() {
  if (state_->autocast_changed) clear_autocast_cache();
}

AutocastState Lowering::autocast() const {
  return state_->autocast;
}

AttentionChoice Lowering::attention() const {
  return state_->attention;
}

PyObject* Lowering::state_call(const std::string& name, PyObject* callable, PyObject* args,
                               const ir::Origin& origin) {
  State& s = *state_;
  const AutocastState before = s.autocast;
  const AttentionChoice attention_before = s.attention;
  Py result;
  {
    AutocastGuard guard(s.autocast);
    AttentionGuard attention(s.attention);
    result = Py::steal(PyObject_CallObject(callable, args));
  }
  if (!result) return nullptr;
  AutocastState changed = before;
  changed.nesting = s.autocast.nesting;
  const bool clears = name == "torch.clear_autocast_cache";
  s.autocast_changed = s.autocast_changed || s.autocast != before;
  if (changed != s.autocast || s.attention != attention_before || clears) {
    s.recording.begin_call(origin);
    Outcome outcome;
    s.add_captured(name, callable, args, nullptr, origin, Py_None, outcome, true,
                   s.recording.aten_nodes().size());
  }
  return result.release();
}

Result<PyObject*> Lowering::input(PyObject* tensor, ir::NodeKind kind, const std::string& source) {
  Recording& r = state_->recording;
  if (const int known = r.known_input(tensor); known >= 0) return Py(r.at(known).object).release();
  const std::string why = why_not_input(tensor);
  if (!why.empty()) return Error{why + " cannot enter a graph", "The code that uses it runs as eager does."};
  try {
    const int index = r.input(tensor, kind, source);
    state_->copy_requires_grad(index, tensor);
    return Py(r.at(index).object).release();
  } catch (const Stop& reason) {
    return Error{reason.why.reason, reason.why.hint};
  }
}

Result<PyObject*> Lowering::constant(PyObject* tensor) {
  Recording& r = state_->recording;
  if (const int known = r.known_input(tensor); known >= 0) return Py(r.at(known).object).release();
  const std::string why = why_not_input(tensor);
  if (!why.empty()) return Error{why + " cannot enter a graph", ""};
  try {
    return Py(r.at(r.constant(tensor)).object).release();
  } catch (const Stop& reason) {
    return Error{reason.why.reason, reason.why.hint};
  }
}

bool Lowering::is_traced(PyObject* o) const {
  return is_tensor(o) && state_->recording.find_exact(o) >= 0;
}

void Lowering::set_inference_mode(bool on) {
  state_->recording.inference_mode = on;
}

bool Lowering::is_inference(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index >= 0 && state_->recording.storage_of_tensor(index).inference;
}

ir::Ref Lowering::captured_ref(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  VITRINE_CHECK(index >= 0, "a tensor of another recording");
  return state_->recording.at(index).captured;
}

bool Lowering::is_written(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index >= 0 && state_->recording.storage_of_tensor(index).written;
}

int64_t Lowering::times_written(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index >= 0 ? state_->recording.storage_of_tensor(index).writes : 0;
}

bool Lowering::is_conjugated(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index >= 0 && state_->recording.storage_of_tensor(index).conjugated;
}

bool Lowering::is_made_leaf(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index >= 0 && state_->recording.is_made_leaf(index);
}

PyObject* Lowering::known_value(PyObject* traced) const {
  const int index = state_->recording.find_exact(traced);
  return index < 0 ? nullptr : state_->recording.known_value(index).release();
}

int Lowering::State::leaf_slot(PyObject* tensor) {
  if (!is_plain_tensor(tensor))
    stop("unsupported_value", std::string("a tensor of class ") + Py_TYPE(tensor)->tp_name + " is made");
  const int index = recording.find(tensor);
  if (index < 0) stop("unsupported_value", "a tensor that is not part of the traced program");
  const int slot = recording.at(index).slot;
  if (slot < 0) stop("unsupported_value", "a tensor that no recorded call returned");
  return slot;
}

void Lowering::State::add_captured(const std::string& name, PyObject* callable, PyObject* args,
                                   PyObject* kwargs, const ir::Origin& origin, PyObject* result,
                                   Outcome& outcome, bool state_changed, size_t aten_before) {
  ReplayCall call;
  auto slot = [&](PyObject* t) { return leaf_slot(t); };
  call.args = make_template(args, slot);
  if (kwargs) call.kwargs = make_template(kwargs, slot);
  ir::Node node;
  node.id = recording.call_id();
  node.op = name;
  node.origin = origin;
  auto ref = [&](PyObject* t) -> std::optional<ir::Arg> {
    return ir::Arg(recording.at(recording.find(t)).captured);
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    node.args.push_back(display_arg(PyTuple_GET_ITEM(args, i), ref));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);)
    node.kwargs.emplace_back(PyUnicode_AsUTF8(key), display_arg(value, ref));

  std::vector<std::pair<int, std::vector<int>>> leaves;
  std::vector<int> path;
  each_leaf(result, path, [&](PyObject* t, const std::vector<int>& where) {
    const int index = recording.find(t);
    if (index < 0) stop("unsupported_value", name + " returns a tensor that is not part of the program");
    leaves.emplace_back(index, where);
  });
  if (leaves.empty() && !state_changed && recording.aten_nodes().size() == aten_before) return;
  if (leaves.empty()) note_grad(args);
  if (grad_mode)
    for (PyObject* given : {args, kwargs})
      if (given)
        each_leaf(given, path, [&](PyObject* t, const std::vector<int>&) {
          if (requires_grad(t)) recording.effects.asks_autograd = true;
        });
  for (const auto& [index, where] : leaves) {
    TracedTensor& t = recording.at(index);
    t.captured = {node.id, static_cast<int32_t>(node.outputs.size())};
    call.known.push_back(t.slot);
    t.slot = recording.program().slots++;
    node.outputs.push_back(t.type);
    call.outputs.emplace_back(where, t.slot);
    if (recording.is_made_leaf(index)) {
      recording.effects.makes_leaf = true;
      continue;
    }
    // With gradients off, what is an input's own memory requires grad as before.
    const bool as_before = recording.storage_of_tensor(index).input || requires_grad_by_base(t.object.get());
    if (requires_grad(t.object.get()) && (grad_mode || !as_before)) recording.effects.needs_grad = true;
  }
  call.callable = Py::borrow(callable);
  recording.captured_nodes().push_back(std::move(node));
  recording.program().calls.push_back(std::move(call));
  outcome.captured_nodes = 1;
}

// Eager raises when autograd would save an inference tensor for a backward pass.
void Lowering::State::refuse_inference_inputs(const std::string& name, PyObject* args, PyObject* result) {
  if (!grad_mode || api().symbols.inference_enabled()) return;
  std::vector<int> path;
  bool followed = false;
  each_leaf(result, path,
            [&](PyObject* t, const std::vector<int>&) { followed = followed || requires_grad(t); });
  if (!followed) return;
  each_leaf(args, path, [&](PyObject* t, const std::vector<int>&) {
    const int index = recording.find(t);
    if (index >= 0 && recording.storage_of_tensor(index).inference)
      stop("exception", name + " takes part in a backward pass and is given an inference tensor",
           "Clone the tensor outside inference mode, or use torch.no_grad.");
  });
}

// A call that returns no tensor may have made one of its arguments require grad (x[0] = w).
void Lowering::State::note_grad(PyObject* args) {
  std::vector<int> path;
  each_leaf(args, path, [&](PyObject* t, const std::vector<int>&) {
    if (grad_mode && requires_grad(t)) recording.effects.needs_grad = true;
  });
}

namespace {

// PyTorch's fused attention on a GPU reads a mask by rows of neighbours. One that repeats a number along a
// row is written out before, else attention would run operator by operator.
void write_out_mask(Recording& recording, ir::Node& attention, const ir::TensorType& mask) {
  constexpr size_t kMask = 3;
  if (!mask.device.is_cuda() || mask.sizes.empty()) return;
  if (mask.sizes.back() == 1 || mask.strides.back() == 1) return;
  ir::Node copy;
  copy.op = "aten.clone.default";
  copy.id = recording.next_id();
  copy.args = {attention.args[kMask]};
  copy.kwargs.emplace_back("memory_format", ir::Arg(ir::Word{"torch.contiguous_format"}));
  ir::TensorType written = ir::TensorType::contiguous(mask.dtype, mask.sizes);
  written.device = mask.device;
  copy.outputs = {written};
  attention.args[kMask] = ir::Arg(ir::Ref{copy.id, 0});
  recording.add_aten(std::move(copy));
}

}  // namespace

// Replaces the ATen nodes of a call by the operator that the call is.
void Lowering::State::collapse(const Whole& whole, PyObject* args, PyObject* kwargs, PyObject* result,
                               const Recording::Mark& mark) {
  if (!is_tensor(result)) return;
  for (size_t i = mark.aten; i < recording.aten_nodes().size(); ++i)
    if (recording.aten_nodes()[i].op == whole.kernel) return;
  Result<OpCall> found = find_op(whole.op);
  const Overload* op = found ? overload_of(found.value().overload) : nullptr;
  if (!op) return PyErr_Clear();
  ir::Node node;
  node.op = whole.op;
  node.id = recording.next_id();
  auto ref = [&](PyObject* t) -> std::optional<ir::Arg> {
    return ir::Arg(recording.at(recording.find(t)).aten);
  };
  std::optional<ir::TensorType> mask;
  for (size_t i = 0; i < op->params.size(); ++i) {
    const OverloadParam& p = op->params[i];
    PyObject* value =
        static_cast<Py_ssize_t>(i) < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, i) : nullptr;
    if (!value && kwargs) value = PyDict_GetItemWithError(kwargs, p.py_name);
    std::optional<ir::Arg> arg = value ? to_arg(value, ref) : std::optional(p.default_arg);
    if (!arg) return;  // stays decomposed
    if (p.name == "attn_mask" && value && is_tensor(value)) mask = recording.at(recording.find(value)).type;
    if (!p.keyword_only)
      node.args.push_back(std::move(*arg));
    else if (!arg->is_none())
      node.kwargs.emplace_back(p.name, std::move(*arg));
  }
  const int index = recording.find(result);
  node.outputs = {recording.at(index).type};
  recording.aten_nodes().resize(mark.aten);
  recording.forget_since(mark, index);
  if (mask) write_out_mask(recording, node, *mask);
  recording.set_aten(index, {node.id, 0});
  recording.add_aten(std::move(node));
}

// The call raised: because of us, because data was wanted, or because the user's program does.
void Lowering::State::failed(const std::string& name, Outcome& outcome) {
  if (dispatch.stopped) {
    PyErr_Clear();
    outcome.unsupported = std::exchange(dispatch.stopped, std::nullopt);
    return;
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  Py shown = Py::steal(value ? PyObject_Str(value) : nullptr);
  const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
  const bool data = utf8 && is_missing_memory(utf8);
  const bool no_kernel = type == PyExc_NotImplementedError && recording.as_if() && !gpu_is_here();
  PyErr_Restore(type, value, trace);
  if (no_kernel) {
    PyErr_Clear();
    outcome.unsupported = Unsupported{"unsupported_operator",
                                      name + " can be recorded only where the GPU is, for PyTorch's kernel",
                                      "Record it on a machine with that GPU."};
    return;
  }
  if (!data) {
    outcome.raised = true;
    return;
  }
  PyErr_Clear();
  outcome.unsupported =
      Unsupported{"scalar_read", name + " reads a tensor's data",
                  "Keep the value as a tensor; its data exists only when the program runs."};
}

// What a call warns of is given when it runs, under the filters of then: it has no place in a graph. What
// PyTorch says once a process may have been said: then the call is silent from now on. Whether it has shows
// in calling again, which says it; so it is said to the program, unless a filter would make an error of it,
// which must come where the call stands.
Lowering::Outcome Lowering::call(const std::string& name, PyObject* callable, PyObject* args,
                                 PyObject* kwargs, const ir::Origin& origin) {
  Py warned, silent;
  const State::Asked asked{name, callable, args, kwargs, origin};
  Outcome outcome = state_->attempt(asked, WarningWatch::Once::Again, warned);
  const bool only_warns = warned && outcome.unsupported && outcome.unsupported->kind == "warning";
  if (!only_warns || a_filter_raises()) return outcome;
  warned = Py();
  outcome = state_->attempt(asked, WarningWatch::Once::AsEver, warned);
  if (!warned) return outcome;
  outcome = state_->attempt(asked, WarningWatch::Once::AsEver, silent);
  if (!silent) give_warnings(warned.get());
  return outcome;
}

// What runs code of the program (torch.vmap) finds real tensors in it, in globals and modules: those that
// entered the recording are replaced where PyTorch is given them, above autograd and all transforms.
Py Lowering::State::run(PyObject* callable, PyObject* args, PyObject* kwargs) {
  PyObject* dict =
      PyFunction_Check(callable) ? reinterpret_cast<PyFunctionObject*>(callable)->func_dict : nullptr;
  if (!dict || !PyDict_GetItemString(dict, "runs_program"))
    return Py::steal(PyObject_Call(callable, args, kwargs));
  Py module = Py::steal(PyImport_ImportModule("vitrine._transforms"));
  Py inputs = recording.inputs_by_object();
  return Py::steal(module ? PyObject_CallMethod(module.get(), "among_stand_ins", "OOOO", inputs.get(),
                                                callable, args, kwargs ? kwargs : Py_None)
                          : nullptr);
}

bool Lowering::State::for_absent_gpu() const {
  return recording.as_if() && !gpu_is_here();
}

Lowering::Outcome Lowering::State::attempt(const Asked& asked, WarningWatch::Once once, Py& warned) {
  Outcome outcome;
  const Recording::Mark mark = recording.mark();
  const bool grad_before = grad_mode;
  const AutocastState autocast_before = autocast;
  const AttentionChoice attention_before = attention;
  const auto& [name, callable, args, kwargs, origin] = asked;
  dispatch.stopped.reset();
  Py result;
  try {
    recording.begin_call(origin);
    auto known = [&](PyObject* t) { return leaf_slot(t); };
    (void)make_template(args, known);
    refuse_arrays(args);
    refuse_turned(recording, name, args);
    if (kwargs) (void)make_template(kwargs, known);
    const Outs outs = outs_of(kwargs);
    const Whole* whole = whole_of(callable);
    const AttentionCall attention_call =
        whole ? without_known_mask(recording, args, kwargs) : AttentionCall{};
    PyObject *run_args = whole ? attention_call.args.get() : args,
             *run_kwargs = whole ? attention_call.kwargs.get() : kwargs;
    const Py run_callable =
        for_absent_gpu() ? chosen_for(architecture, name, callable) : Py::borrow(callable);
    {
      GradModeGuard grad(grad_mode);
      AutocastGuard casts(autocast);
      AttentionGuard ways(attention);
      ModeGuard guard(mode.get());
      const WarningWatch watch(callable, once);
      if (guard.active()) result = run(run_callable.get(), run_args, run_kwargs);
      if (watch.seen()) warned = Py::borrow(watch.messages());
    }
    if (result && warned && !dispatch.stopped)
      stop("warning", name + " warns: " + text_of_warning(warned.get()));
    if (result && !dispatch.stopped) {
      refuse_inference_inputs(name, args, result.get());
      refuse_unwritten(name, outs);
      // What autograd has taken note of must stay in the graph for its backward.
      if (whole && !(is_tensor(result.get()) && requires_grad(result.get())))
        collapse(*whole, run_args, run_kwargs, result.get(), mark);
      else if (whole && for_absent_gpu() && !has_attention(recording, mark))
        recording.effects.chosen_on_gpu = whole->function;
      if (name == kSetData)
        recording.share_data(recording.find(PyTuple_GET_ITEM(args, 0)),
                             recording.find(PyTuple_GET_ITEM(args, 1)));
      const bool state_changed = grad_before != grad_mode || autocast_before != autocast ||
                                 attention_before != attention || name == "torch.clear_autocast_cache";
      add_captured(name, callable, args, kwargs, origin, result.get(), outcome, state_changed, mark.aten);
      if (outcome.captured_nodes == 0) recording.undo_ids(mark);
      outcome.value = result.release();
      return outcome;
    }
    failed(name, outcome);
  } catch (const Stop& reason) {
    PyErr_Clear();
    outcome.unsupported = reason.why;
  }
  recording.undo(mark);
  grad_mode = grad_before;
  autocast = autocast_before;
  attention = attention_before;
  return outcome;
}

size_t Lowering::note_question(PyObject* callable, PyObject* args) {
  ReplayProgram& program = state_->recording.program();
  ReplayQuestion question;
  question.before_call = program.calls.size();
  question.callable = Py::borrow(callable);
  question.args = make_template(args, [&](PyObject* t) { return state_->leaf_slot(t); });
  program.questions.push_back(std::move(question));
  return program.questions.size() - 1;
}

size_t Lowering::note_question_of_value(PyObject* callable, PyObject* traced) {
  Py args = Py::steal(PyTuple_Pack(1, traced));
  const size_t at = note_question(callable, args.get());
  state_->recording.program().questions[at].of_value = true;
  return at;
}

namespace {

// Inference tensors are no views of anything.
bool tells_of_views(Recording& r, const std::vector<PyObject*>& results) {
  return !api().symbols.inference_enabled() && std::none_of(results.begin(), results.end(), [&](PyObject* t) {
    return r.storage_of_tensor(r.find(t)).inference;
  });
}

}  // namespace

Lowering::Graphs Lowering::finish(const std::vector<PyObject*>& results, bool views_apart) {
  Recording& r = state_->recording;
  for (PyObject* t : results)
    if (requires_grad(t) && !is_made_leaf(t)) r.effects.needs_grad = true;
  if (views_apart && tells_of_views(r, results)) {
    const auto views = remade_views(r, results, false);
    if (views && !views.value().as_they_are) {
      Graphs graphs = r.finish(results, views.value().region_refs);
      std::vector<ir::Node> leading;
      for (const ir::Node* n : graphs.aten->inputs()) leading.push_back(*n);
      auto program = ViewProgram::make(views.value(), leading);
      if (!program) throw InternalError("a view cannot be made again: " + program.error().what);
      graphs.views = program.take();
      graphs.versions = views.value().versions;
      return graphs;
    }
  }
  std::vector<ir::Ref> all;
  std::vector<int32_t> versions;
  for (PyObject* t : results) {
    all.push_back(r.at(r.find(t)).aten);
    versions.push_back(seen_version(r, t));
  }
  Graphs graphs = r.finish(results, all);
  graphs.versions = std::move(versions);
  return graphs;
}

bool Lowering::is_empty() const {
  return state_->recording.captured_nodes().empty() && state_->recording.aten_nodes().empty();
}

Lowering::Effects Lowering::effects() const {
  return state_->recording.effects;
}

}  // namespace vitrine::torch_bridge
