#include "core/recording/lowering.h"

#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/recording/absent_gpu.h"
#include "core/recording/lowering_guards.h"
#include "core/recording/lowering_state.h"
#include "core/recording/view_program.h"
#include "core/torch_api/api.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

namespace {

std::string why_not_input(PyObject* tensor) {
  if (!is_tensor(tensor)) return "not a tensor";
  if (!is_plain_tensor(tensor)) return std::string("a tensor of class ") + Py_TYPE(tensor)->tp_name;
  Handle handle = handle_of(tensor);
  if (!api().has_plain_keys(dispatch_keys(handle))) {
    PyRef text = PyRef::steal(PyObject_CallOneArg(api().dispatch_keys, tensor));
    PyRef shown = PyRef::steal(text ? PyObject_Str(text.get()) : nullptr);
    const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    PyErr_Clear();
    return std::string("a tensor that is not a plain CPU or CUDA tensor (") + (utf8 ? utf8 : "") + ")";
  }
  const TensorView v = view(handle);
  if (v.device_type != 0 && v.device_type != kCudaDevice)
    return "a tensor on another device than the CPU or a GPU";
  const ir::DType dtype = ir::dtype_from_scalar_type(v.scalar_type);
  if (dtype == ir::DType::other || dtype == ir::DType::u64) return "an unsupported element type";
  return "";
}

// Inference tensors are no views of anything.
bool tells_of_views(Recording& r, const std::vector<PyObject*>& results) {
  return !api().symbols.inference_enabled() && std::none_of(results.begin(), results.end(), [&](PyObject* t) {
    return r.storage_of_tensor(r.find(t)).inference;
  });
}

}  // namespace

// A real tensor that autograd computed is not a leaf: neither may its fake tensor be (writing to it is
// allowed). Its fake tensor becomes the answer to a clone of a leaf, which autograd then adopts.
void Lowering::State::copy_requires_grad(int index, PyObject* real) {
  if (!requires_grad(real)) return;
  PyObject* tensor = recording.at(index).object.get();
  if (is_leaf(real)) {
    PyRef done = PyRef::steal(PyObject_CallMethod(tensor, "requires_grad_", nullptr));
    if (!done) PyErr_Clear();
    return;
  }
  const ir::TensorType& type = recording.at(index).type;
  PyRef leaf = ir::has_expression(type) ? symbolic_tensor(type) : PyRef::steal(wrap(fake_tensor(type)));
  bool grad = true;
  GradModeGuard grad_guard(grad);
  PyRef ready = PyRef::steal(leaf ? PyObject_CallMethod(leaf.get(), "requires_grad_", nullptr) : nullptr);
  dispatch.answer = PyRef::borrow(tensor);
  {
    ModeGuard guard(mode.get());
    PyRef done = PyRef::steal(ready ? PyObject_CallMethod(leaf.get(), "clone", nullptr) : nullptr);
  }
  dispatch.answer = PyRef();
  PyErr_Clear();
}

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

Result<PyObject*> Lowering::entered(PyObject* tensor, ir::NodeKind kind, const std::string& source,
                                    const ir::TensorType* as) {
  Recording& r = state_->recording;
  if (const int known = r.known_input(tensor); known >= 0) return PyRef(r.at(known).object).release();
  const std::string why = why_not_input(tensor);
  if (!why.empty()) return Error{why + " cannot enter a graph", "The code that uses it runs as eager does."};
  try {
    const int index = r.input(tensor, kind, source, as);
    state_->copy_requires_grad(index, tensor);
    return PyRef(r.at(index).object).release();
  } catch (const Stop& reason) {
    return Error{reason.why.reason, reason.why.hint};
  }
}

Result<PyObject*> Lowering::input(PyObject* tensor, ir::NodeKind kind, const std::string& source) {
  return entered(tensor, kind, source, nullptr);
}

Result<PyObject*> Lowering::symbolic_input(PyObject* tensor, ir::NodeKind kind, const std::string& source,
                                           const ir::TensorType& as) {
  for (const ir::Sym& size : as.sizes)
    if (size.symbolic()) state_->recording.symbols = size.expr()->table;
  return entered(tensor, kind, source, &as);
}

void Lowering::name_input(PyObject* traced, ir::NodeKind kind, const std::string& source) {
  Recording& r = state_->recording;
  if (const int index = r.find_exact(traced); index >= 0) r.name_input(index, kind, source);
}

void Lowering::take_symbols(ir::SymbolTable& table) {
  state_->recording.symbols = &table;
}

void Lowering::for_any_size() {
  state_->for_any_size = true;
}

Result<PyObject*> Lowering::constant(PyObject* tensor) {
  Recording& r = state_->recording;
  if (const int known = r.known_input(tensor); known >= 0) return PyRef(r.at(known).object).release();
  const std::string why = why_not_input(tensor);
  if (!why.empty()) return Error{why + " cannot enter a graph", ""};
  try {
    return PyRef(r.at(r.constant(tensor)).object).release();
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

size_t Lowering::note_question(PyObject* callable, PyObject* args) {
  ReplayProgram& program = state_->recording.program();
  ReplayQuestion question;
  question.before_call = program.calls.size();
  question.callable = PyRef::borrow(callable);
  question.args = make_template(args, [&](PyObject* t) { return state_->leaf_slot(t); });
  program.questions.push_back(std::move(question));
  return program.questions.size() - 1;
}

void Lowering::allow_stand_ins() {
  state_->recording.stands_in = true;
}

int64_t Lowering::stand_in() {
  return state_->recording.stand_in();
}

size_t Lowering::note_question_of_data(PyObject* callable, PyObject* args) {
  const size_t at = note_question(callable, args);
  state_->recording.program().questions[at].of_data = true;
  return at;
}

size_t Lowering::note_question_of_value(PyObject* callable, PyObject* traced) {
  PyRef args = PyRef::steal(PyTuple_Pack(1, traced));
  const size_t at = note_question(callable, args.get());
  state_->recording.program().questions[at].of_value = true;
  return at;
}

bool Lowering::can_follow(const std::vector<PyObject*>& results) const {
  Recording& r = state_->recording;
  return tells_of_views(r, results) && view_replay(r, results, true);
}

Lowering::Graphs Lowering::finish(const std::vector<PyObject*>& results, Views how) {
  Recording& r = state_->recording;
  for (PyObject* t : results)
    if (requires_grad(t) && !is_made_leaf(t)) r.effects.needs_grad = true;
  if (how != Views::given && tells_of_views(r, results)) {
    const auto views = view_replay(r, results, how == Views::followed);
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

ir::NodeId Lowering::last_captured() const {
  const auto& nodes = state_->recording.captured_nodes();
  return nodes.empty() ? -1 : nodes.back().id;
}

Lowering::Effects Lowering::effects() const {
  return state_->recording.effects;
}

}  // namespace vitrine::torch_api
