#include "core/recording/recording.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/each_integer.h"
#include "core/torch_api/api.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

void stop(std::string kind, std::string reason, std::string hint) {
  throw Stop{{std::move(kind), std::move(reason), std::move(hint)}};
}

namespace {
int look_up(const std::unordered_map<const void*, int>& map, const void* key) {
  auto it = map.find(key);
  return it == map.end() ? -1 : it->second;
}
PyRef int_tuple(const ir::Dims& dims) {
  PyRef out = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
  return out;
}

// "L['self'].fc.weight" -> "fc_weight", "L['x']" -> "x": what a reader of the graph calls the input.
std::string name_of(const std::string& source, ir::NodeKind kind) {
  std::string out;
  for (char c : source) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  for (const char* prefix : {"L_", "G_", "self_"})
    if (out.starts_with(prefix)) out.erase(0, std::string_view(prefix).size());
  if (out.empty()) return kind == ir::NodeKind::constant ? "constant" : "input";
  if (!std::isdigit(static_cast<unsigned char>(out[0]))) return out;
  return (kind == ir::NodeKind::parameter ? "p_" : kind == ir::NodeKind::buffer ? "b_" : "input_") + out;
}

PyRef wrapped(Handle owned) {
  PyRef out = PyRef::steal(wrap(owned));
  if (!out) throw InternalError("wrapping a tensor failed: " + take_python_error());
  return out;
}
}  // namespace

int Recording::find_exact(PyObject* tensor) const {
  return look_up(by_impl_, impl_of(handle_of(tensor)));
}

int Recording::find(PyObject* tensor) {
  const int exact = find_exact(tensor);
  return exact >= 0 ? exact : find_alias(tensor);
}

// PyTorch makes new tensor objects of a storage without asking the dispatcher (views under autograd, .data).
// A value of the same storage with the same geometry is the same value; any other geometry is as_strided.
int Recording::find_alias(PyObject* tensor) {
  Handle handle = handle_of(tensor);
  const int storage = look_up(by_storage_, storage_of(handle));
  if (storage < 0) return -1;
  const ir::TensorType type = type_now(tensor);
  const uint64_t keys = dispatch_keys(handle);
  const std::vector<int> known = storages_[static_cast<size_t>(storage)].tensors;
  for (auto it = known.rbegin(); it != known.rend(); ++it) {
    if (!at(*it).type.same(type) || dispatch_keys(handle_of(at(*it).object.get())) != keys) continue;
    const int index = add(PyRef::borrow(tensor), type);
    at(index).captured = at(*it).captured;
    at(index).aten = at(*it).aten;
    at(index).slot = at(*it).slot;
    return index;
  }
  for (auto it = known.rbegin(); it != known.rend(); ++it) {
    if (at(*it).type.dtype != type.dtype || ir::is_complex(type.dtype)) continue;
    ir::Node node;
    node.op = "aten.as_strided.default";
    node.args = {ir::Arg(at(*it).aten), ir::Arg::ints(type.sizes), ir::Arg::ints(type.strides),
                 ir::Arg(type.offset)};
    node.outputs = {type};
    node.id = next_id();
    const int index = add(PyRef::borrow(tensor), type);
    at(index).aten = {node.id, 0};
    if (requires_grad(tensor)) follow(node.id, {true});
    add_aten(std::move(node));
    return index;
  }
  stop("unsupported_operator", "a tensor shares memory in a way that the graph cannot say");
}

ir::TensorType Recording::type_now(PyObject* fake) const {
  return symbols ? symbolic_type(fake) : type_of(fake);
}

bool Recording::is_of_a_factory(int index) const {
  const ir::NodeId made_by = at(index).aten.node;
  if (aten_.empty() || aten_.back().id != made_by || aten_.back().origin.from != std::vector{call_id_})
    return false;
  bool reads = false;
  ir::each_ref(aten_.back(), [&](ir::Ref) { reads = true; });
  return !reads && storages_[static_cast<size_t>(at(index).storage)].first.get() == at(index).object.get();
}

void Recording::take_over(int index, PyObject* object) {
  by_impl_.erase(impl_of(handle_of(at(index).object.get())));
  by_impl_[impl_of(handle_of(object))] = index;
  at(index).object = PyRef::borrow(object);
}

int Recording::storage_index(const void* id, PyObject* first) {
  const int known = look_up(by_storage_, id);
  if (known >= 0) return known;
  TracedStorage storage;
  storage.id = id;
  storage.first = PyRef::borrow(first);
  storage.inference = inference_mode;
  storages_.push_back(std::move(storage));
  const int index = static_cast<int>(storages_.size()) - 1;
  by_storage_.emplace(id, index);
  return index;
}

int Recording::add(PyRef tensor, ir::TensorType type) {
  Handle handle = handle_of(tensor.get());
  const int index = static_cast<int>(tensors_.size());
  const int storage = storage_index(storage_of(handle), tensor.get());
  storages_[static_cast<size_t>(storage)].tensors.push_back(index);
  by_impl_[impl_of(handle)] = index;
  TracedTensor traced;
  traced.object = std::move(tensor);
  traced.type = std::move(type);
  traced.storage = storage;
  tensors_.push_back(std::move(traced));
  return index;
}

int Recording::fresh(const ir::TensorType& type) {
  return add(ir::has_expression(type) ? symbolic_tensor(type) : wrapped(fake_tensor(type)), type);
}

void Recording::set_aten(int index, ir::Ref ref) {
  undo_.push_back({index, at(index).aten, at(index).type});
  at(index).aten = ref;
}

void Recording::set_type(int index, ir::TensorType type) {
  undo_.push_back({index, at(index).aten, at(index).type});
  at(index).type = std::move(type);
}

void Recording::undo_last() {
  const Undo& last = undo_.back();
  TracedTensor& t = at(last.tensor);
  t.aten = last.aten;
  if (t.type.same(last.type)) return;
  t.type = last.type;
  Result<OpCall> restride = find_op("aten.as_strided_.default");
  VITRINE_CHECK(restride.ok(), "PyTorch lacks as_strided_");
  PyRef sizes = int_tuple(t.type.sizes), strides = int_tuple(t.type.strides),
        offset = PyRef::steal(PyLong_FromLongLong(t.type.offset));
  PyRef done = PyRef::steal(PyObject_CallFunctionObjArgs(restride.value().overload, t.object.get(),
                                                         sizes.get(), strides.get(), offset.get(), nullptr));
  if (!done) throw InternalError("restoring a fake tensor failed: " + take_python_error());
}

void Recording::mark_written(int index) {
  TracedStorage& storage = storage_of_tensor(index);
  if (storage.constant && storage.constant_copy < 0)
    stop("unsupported_value", "a tensor constant is written to", "Clone it before writing to it.");
  if (storage.conjugated || storage.read_conjugated)
    stop("unsupported_operator", "a tensor that is conjugated when it is read, or its memory, is written to");
  if (storage.in_parts)
    stop("unsupported_value", "an input of changing sizes is written to, whose memory another one has, too");
  if (storage.input) effects.writes_inputs = true;
  if (storage.input && !api().symbols.grad_enabled() && storage_requires_grad(index)) ++effects.updates;
  ++storage.writes;
  if (storage.written) return;
  storage.written = true;
  written_.push_back(at(index).storage);
}

void Recording::note_conjugated(int index, int of) {
  storage_of_tensor(index).conjugated = true;
  storage_of_tensor(of).read_conjugated = true;
}

void Recording::share_data(int index, int other) {
  TracedTensor& t = at(index);
  std::erase(storages_[static_cast<size_t>(t.storage)].tensors, index);
  t.storage = at(other).storage;
  t.type = at(other).type;
  t.aten = at(other).aten;
  storages_[static_cast<size_t>(t.storage)].tensors.push_back(index);
  effects.sets_data = true;
}

PyRef Recording::inputs_by_object() const {
  PyRef dict = PyRef::steal(PyDict_New());
  for (const auto& [real, index] : real_inputs_)
    if (!dict || PyDict_SetItem(dict.get(), real, at(index).object.get()) < 0)
      throw InternalError("no table of inputs: " + take_python_error());
  return dict;
}

int Recording::known_input(PyObject* real) const {
  auto it = real_inputs_.find(real);
  return it == real_inputs_.end() ? -1 : it->second;
}

// Where two inputs share memory, which part of it each has depends on the sizes. Each has memory of its own
// here, which nobody can tell while it is only read.
PyRef Recording::symbolic_on_storage(PyObject* real, const ir::TensorType& type) {
  const void* real_storage = storage_of(handle_of(real));
  if (type.offset.symbolic())
    stop("unsupported_value", "an input of changing sizes is a part of another tensor's memory");
  PyRef tensor = symbolic_tensor(type);
  const int storage = storage_index(storage_of(handle_of(tensor.get())), tensor.get());
  const auto [first, is_new] = real_storages_.emplace(real_storage, storage);
  if (!is_new)
    storages_[static_cast<size_t>(storage)].in_parts =
        storages_[static_cast<size_t>(first->second)].in_parts = true;
  real_alive_.push_back(PyRef::borrow(real));
  return tensor;
}

// A traced tensor of `type` on the fake tensor of the real tensor's storage.
int Recording::add_on_storage(PyObject* real, const ir::TensorType& type) {
  if (ir::has_expression(type)) return add(symbolic_on_storage(real, type), type);
  Handle handle = handle_of(real);
  const void* real_storage = storage_of(handle);
  int storage = look_up(real_storages_, real_storage);
  if (storage < 0) {
    int64_t bytes = 0;
    if (api().symbols.get_storage_size(handle, &bytes)) throw InternalError(last_torch_error());
    // A view of a resized storage may reach beyond what it holds now; PyTorch itself would refuse to read it.
    bytes = std::max<int64_t>(bytes, (extent(type) + type.offset) * ir::dtype_bytes(type.dtype));
    PyRef base = wrapped(fake_storage(type.dtype, bytes, type.device));
    storage = storage_index(storage_of(handle_of(base.get())), base.get());
    real_storages_.emplace(real_storage, storage);
  }
  real_alive_.push_back(PyRef::borrow(real));
  PyRef base = storages_[static_cast<size_t>(storage)].first;
  if (symbols && ir::has_expression(type_now(base.get())))
    stop("unsupported_value", "an input is a part of the memory of one whose sizes change");
  if (type_now(base.get()).dtype != type.dtype) {
    PyRef dtype = PyRef::steal(PyObject_GetAttrString(real, "dtype"));
    Result<OpCall> view = find_op("aten.view.dtype");
    if (view && dtype)
      base =
          PyRef::steal(PyObject_CallFunctionObjArgs(view.value().overload, base.get(), dtype.get(), nullptr));
    if (!base)
      stop("unsupported_value", "two inputs of different types share memory: " + take_python_error());
  }
  PyRef tensor = wrapped(as_strided(handle_of(base.get()), type));
  return add(std::move(tensor), type);
}

ir::Ref Recording::add_input_node(ir::NodeKind kind, const std::string& source, const ir::TensorType& type,
                                  std::vector<ir::Node>& to) {
  ir::Node node;
  node.id = next_id();
  node.kind = kind;
  node.name = input_name(source, kind);
  node.source = source;
  node.outputs = {type};
  to.push_back(std::move(node));
  return {to.back().id, 0};
}

std::string Recording::input_name(const std::string& source, ir::NodeKind kind) {
  std::string name = name_of(source, kind);
  if (const int seen = input_names_[name]++) name += "_" + std::to_string(seen);
  return name;
}

ir::TensorType Recording::type_here(PyObject* real) const {
  ir::TensorType type = type_of(real);
  if (as_if_) type.device = *as_if_;
  return type;
}

int Recording::input(PyObject* real, ir::NodeKind kind, const std::string& source, const ir::TensorType* as) {
  const ir::TensorType type = as ? *as : type_here(real);
  const int index = add_on_storage(real, type);
  const ir::Ref ref = add_input_node(kind, source, type, inputs_);
  TracedTensor& traced = at(index);
  traced.captured = traced.aten = ref;
  traced.entry = ref.node;
  traced.slot = program_->slots++;
  // Real inputs stand before the constants, whatever came first.
  const auto constants = static_cast<std::ptrdiff_t>(constant_tensors_.size());
  program_->input_slots.insert(program_->input_slots.end() - constants, traced.slot);
  storage_of_tensor(index).input = true;
  const uint64_t keys = dispatch_keys(handle_of(real));
  storage_of_tensor(index).inference = keys == api().inference_keys || keys == api().cuda_inference_keys;
  real_inputs_.emplace(real, index);
  return index;
}

void Recording::name_input(int index, ir::NodeKind kind, const std::string& source) {
  const int64_t found = input_index_.find(inputs_, at(index).entry);
  if (found < 0) return;
  ir::Node& node = inputs_[static_cast<size_t>(found)];
  if (node.kind != ir::NodeKind::placeholder) return;
  if (!ir::has_expression(node.outputs.at(0))) node.kind = kind;
  node.source = source;
  node.name = input_name(source, kind);
}

int Recording::constant(PyObject* real) {
  const ir::TensorType type = type_here(real);
  const int index = add_on_storage(real, type);
  const ir::Ref ref = add_input_node(ir::NodeKind::constant, "", type, constants_);
  TracedTensor& traced = at(index);
  traced.captured = traced.aten = ref;
  traced.slot = program_->slots++;
  constant_tensors_.push_back(PyRef::borrow(real));
  program_->input_slots.push_back(traced.slot);
  storage_of_tensor(index).constant = PyRef::borrow(real);
  real_inputs_.emplace(real, index);
  return index;
}

int Recording::constant_made_inside(PyObject* real) {
  const ir::TensorType type = type_here(real);
  const ir::Ref made = add_input_node(ir::NodeKind::constant, "", type, inner_constants_);
  inner_constant_tensors_.push_back(PyRef::borrow(real));
  const int index = fresh(type);
  ir::Node copy;
  copy.op = "aten.clone.default";
  copy.args = {ir::Arg(made)};
  copy.outputs = {type};
  copy.id = next_id();
  at(index).aten = {copy.id, 0};
  TracedStorage& storage = storage_of_tensor(index);
  storage.constant = PyRef::borrow(real);
  storage.constant_copy = copy.id;
  add_aten(std::move(copy));
  return index;
}

const ir::Node* Recording::node(ir::NodeId id) {
  if (const int64_t at = aten_index_.find(aten_, id); at >= 0) return &aten_[static_cast<size_t>(at)];
  if (const int64_t at = input_index_.find(inputs_, id); at >= 0) return &inputs_[static_cast<size_t>(at)];
  if (const int64_t at = constant_index_.find(constants_, id); at >= 0)
    return &constants_[static_cast<size_t>(at)];
  const int64_t at = inner_constant_index_.find(inner_constants_, id);
  return at < 0 ? nullptr : &inner_constants_[static_cast<size_t>(at)];
}

bool Recording::may_be_written(ir::NodeId id) {
  return written_memory_.contains(aten_, id);
}

PyRef Recording::known_value(int index) {
  const TracedStorage& storage = storage_of_tensor(index);
  if (storage.written || storage.input) return PyRef();
  if (!storage.constant) return computed_value(index);
  return wrapped(as_strided(handle_of(storage.constant.get()), at(index).type));
}

void Recording::begin_call(const ir::Origin& origin) {
  call_id_ = next_id();
  aten_origin_ = origin;
  aten_origin_.from = {call_id_};
}

void Recording::add_aten(ir::Node node) {
  node.origin = aten_origin_;
  aten_.push_back(std::move(node));
}

void Recording::cut_aten(size_t size) {
  aten_.resize(size);
  aten_index_.cut(size);
  written_roots_.cut(size);
  written_memory_.cut(size);
  found_places_.cut(size);
}

Recording::Mark Recording::mark() const {
  return {tensors_.size(), storages_.size(),        captured_.size(), aten_.size(), undo_.size(),
          written_.size(), inner_constants_.size(), ids_->next,       effects};
}

void Recording::undo(const Mark& mark) {
  while (undo_.size() > mark.undo) {
    if (static_cast<size_t>(undo_.back().tensor) < mark.tensors) undo_last();
    undo_.pop_back();
  }
  while (written_.size() > mark.written) {
    storages_[static_cast<size_t>(written_.back())].written = false;
    written_.pop_back();
  }
  while (tensors_.size() > mark.tensors) {
    const TracedTensor& last = tensors_.back();
    by_impl_.erase(impl_of(handle_of(last.object.get())));
    std::erase(storages_[static_cast<size_t>(last.storage)].tensors, static_cast<int>(tensors_.size()) - 1);
    tensors_.pop_back();
  }
  while (storages_.size() > mark.storages) {
    by_storage_.erase(storages_.back().id);
    storages_.pop_back();
  }
  captured_.resize(mark.captured);
  cut_aten(mark.aten);
  inner_constants_.resize(mark.constants);
  inner_constant_index_.cut(mark.constants);
  inner_constant_tensors_.resize(mark.constants);
  followed_.erase(followed_.lower_bound(mark.next_id), followed_.end());
  ids_->next = mark.next_id;
  effects = mark.effects;
}

bool Recording::share_memory(const std::vector<int>& some, const std::vector<int>& others) const {
  return std::any_of(some.begin(), some.end(), [&](int a) {
    return std::any_of(others.begin(), others.end(), [&](int b) {
      return tensors_.at(static_cast<size_t>(a)).storage == tensors_.at(static_cast<size_t>(b)).storage;
    });
  });
}

void Recording::forget_since(const Mark& mark, const std::vector<int>& keep) {
  const auto kept = [&](int t) { return std::find(keep.begin(), keep.end(), t) != keep.end(); };
  for (size_t i = mark.tensors; i < tensors_.size(); ++i) {
    if (kept(static_cast<int>(i))) continue;
    std::erase(storages_[static_cast<size_t>(tensors_[i].storage)].tensors, static_cast<int>(i));
    by_impl_.erase(impl_of(handle_of(tensors_[i].object.get())));
  }
}

// A constant made inside a call is copied because the program may write to it or hand it out; when neither
// happened, the constant itself will do.
std::unordered_map<ir::NodeId, ir::Ref> Recording::needless_copies(const std::vector<PyObject*>& results) {
  std::unordered_set<int> handed_out;
  for (PyObject* r : results) handed_out.insert(at(find(r)).storage);
  std::unordered_set<ir::NodeId> needless;
  for (size_t i = 0; i < storages_.size(); ++i) {
    const TracedStorage& s = storages_[i];
    if (s.constant_copy < 0 || s.written || handed_out.contains(static_cast<int>(i))) continue;
    needless.insert(s.constant_copy);
  }
  std::unordered_map<ir::NodeId, ir::Ref> out;
  if (needless.empty()) return out;
  for (const ir::Node& node : aten_)
    if (needless.contains(node.id)) out.emplace(node.id, node.args[0].as<ir::Ref>());
  return out;
}

Lowering::Graphs Recording::finish(const std::vector<PyObject*>& results,
                                   const std::vector<ir::Ref>& aten_results) {
  const auto copies = needless_copies(results);
  auto renamed = [&](ir::Ref r) {
    auto it = copies.find(r.node);
    return ir::Arg(it == copies.end() ? r : it->second);
  };
  std::erase_if(aten_, [&](const ir::Node& n) { return copies.contains(n.id); });
  std::unordered_set<ir::NodeId> used;
  for (ir::Node& n : aten_) {
    for (ir::Arg& a : n.args) a = ir::map_refs(a, renamed);
    for (auto& [key, a] : n.kwargs) a = ir::map_refs(a, renamed);
    ir::each_ref(n, [&](ir::Ref ref) { used.insert(ref.node); });
  }
  ir::Builder captured("captured", ids_), aten("aten", ids_);
  for (const ir::Node& n : inputs_) captured.add(n), aten.add(n);
  for (const ir::Node& n : constants_) captured.add(n), aten.add(n);
  program_->result_slots.clear();
  program_->constants = constant_tensors_;
  for (size_t i = 0; i < inner_constants_.size(); ++i) {
    if (!used.contains(inner_constants_[i].id)) continue;  // its value was read at capture
    aten.add(inner_constants_[i]);
    program_->constants.push_back(inner_constant_tensors_[i]);
  }
  for (const ir::Node& n : captured_) captured.add(n);
  for (const ir::Node& n : aten_) aten.add(n);
  std::vector<ir::Arg> captured_results, computed;
  for (PyObject* r : results) {
    const TracedTensor& t = at(find(r));
    VITRINE_CHECK(t.slot >= 0, "a result that no call returned");
    captured_results.emplace_back(t.captured);
    program_->result_slots.push_back(t.slot);
  }
  for (ir::Ref r : aten_results) computed.push_back(renamed(r));
  Lowering::Graphs graphs;
  for (const PyRef& c : program_->constants) graphs.constants.push_back(c.get());
  graphs.captured = captured.finish(std::move(captured_results));
  graphs.aten = aten.finish(std::move(computed));
  graphs.replay = program_;
  return graphs;
}

std::string Recording::why_autograd_changed() const {
  for (const auto& [real, index] : real_inputs_) {
    const TracedTensor& t = at(index);
    const bool wants = requires_grad(t.object.get());
    // A leaf may be told to require grad, or not to: whoever records tells the real one, too.
    if (wants != requires_grad(real) && !is_leaf(t.object.get()))
      return "an input that starts to require grad";
    if (!wants || !storages_[static_cast<size_t>(t.storage)].written) continue;
    if (!is_leaf(real) || !is_leaf(t.object.get())) return "an input that is written to";
  }
  return "";
}

std::string Recording::why_write_differentiable() const {
  for (int storage : written_)
    for (int tensor : storages_[static_cast<size_t>(storage)].tensors)
      if (storages_[static_cast<size_t>(storage)].input && requires_grad(at(tensor).object.get()))
        return "an input that requires grad is written to";
  return "";
}

bool requires_grad_by_base(PyObject* tensor) {
  PyRef base = PyRef::steal(PyObject_GetAttrString(tensor, "_base"));
  if (!base) PyErr_Clear();
  return base && base.get() != Py_None && requires_grad(base.get());
}

bool Recording::is_made_leaf(int index) const {
  const TracedTensor& t = at(index);
  PyObject* tensor = t.object.get();
  return t.entry < 0 && requires_grad(tensor) && is_leaf(tensor) && !requires_grad_by_base(tensor);
}

bool Recording::storage_requires_grad(int index) const {
  const TracedStorage& storage = storages_[static_cast<size_t>(at(index).storage)];
  return std::any_of(storage.tensors.begin(), storage.tensors.end(),
                     [&](int t) { return requires_grad(at(t).object.get()); });
}

bool Recording::leading(std::vector<ir::Node>& nodes, std::vector<PyRef>& constants,
                        std::vector<PyObject*>& inputs) const {
  for (const auto* from : {&inputs_, &constants_, &inner_constants_})
    nodes.insert(nodes.end(), from->begin(), from->end());
  for (const auto* from : {&constant_tensors_, &inner_constant_tensors_})
    constants.insert(constants.end(), from->begin(), from->end());
  std::unordered_map<ir::NodeId, PyObject*> fake_tensors;
  for (const auto& [real, index] : real_inputs_) {
    const TracedTensor& t = at(index);
    if (requires_grad(real) != requires_grad(t.object.get())) return false;
    fake_tensors[t.entry] = t.object.get();
  }
  for (const ir::Node& n : inputs_) inputs.push_back(fake_tensors.at(n.id));
  return true;
}

}  // namespace vitrine::torch_api
