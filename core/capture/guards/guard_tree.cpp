#include "core/capture/guards/guard_tree.h"

#include <algorithm>
#include <chrono>

#include "core/base/clock.h"
#include "core/capture/objects/values.h"

namespace vitrine::capture {

using torch_api::GlobalState;

constexpr int32_t kLongestWait = 1000;  // walks until the fast_path is built again

int32_t GuardTree::add_source(const Source* source) {
  if (auto it = node_by_source_.find(source); it != node_by_source_.end()) return it->second;
  int32_t parent = source->base ? add_source(source->base) : -1;
  Node node;
  node.step = prepare_step(*source);
  node.parent = parent;
  node.source = source;
  nodes_.push_back(std::move(node));
  int32_t index = static_cast<int32_t>(nodes_.size()) - 1;
  node_by_source_.emplace(source, index);
  return index;
}

// A node for what is asked of the frame itself; its value is not looked at.
int32_t GuardTree::frame_node() {
  if (frame_node_ >= 0) return frame_node_;
  Node node;
  node.step.key = Py_None;
  nodes_.push_back(std::move(node));
  return frame_node_ = static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t GuardTree::node_of(const Source* source) const {
  auto it = node_by_source_.find(source);
  return it == node_by_source_.end() ? -1 : it->second;
}

Status GuardTree::build(const std::vector<Guard>& guards, const std::vector<const Source*>& wanted,
                        const Frame& frame, const GlobalState& state, Lifeline& lifeline, AskedNames asked) {
  state_ = state;
  lifeline_ = &lifeline;
  asked_ = std::move(asked);
  counts_.resize(guards.size());
  for (size_t i = 0; i < guards.size(); ++i)
    if (Status error = add_guard(guards[i], static_cast<int32_t>(i), frame)) return error;
  for (const Source* source : wanted) {
    bool known = node_by_source_.contains(source);
    Node& node = nodes_[add_source(source)];
    // A pass-through slot may be empty; a slot under guard may not.
    if (!known && (source->kind == SourceKind::Local || source->kind == SourceKind::Stack))
      node.optional = true;
  }
  for (Node& node : nodes_)  // a slot that something is read from may not be empty either
    if (node.parent >= 0) nodes_[node.parent].optional = false;
  sort_conditions();
  values_.resize(nodes_.size());
  made_.resize(nodes_.size());
  if (!check(frame, state))
    return Error{"A guard does not hold where it was made: " + explain(frame, state).text(), "", ""};
  return {};
}

// Conditions in the order of the last node they need, so that a node's own stand together.
void GuardTree::sort_conditions() {
  for (Condition& c : conditions_) {
    if (c.other <= c.node) continue;
    std::swap(c.node, c.other);  // the other relations are symmetric
    if (c.kind == GuardKind::Compares)
      c.number = 2 * swapped_comparison(static_cast<int>(c.number / 2)) + c.number % 2;
  }
  std::stable_sort(conditions_.begin(), conditions_.end(),
                   [](const Condition& a, const Condition& b) { return a.node < b.node; });
  for (size_t i = 0; i < conditions_.size(); ++i) {
    Node& node = nodes_[conditions_[i].node];
    if (node.last == 0) node.first = static_cast<int32_t>(i);
    node.last = static_cast<int32_t>(i) + 1;
  }
}

Status GuardTree::add_guard(const Guard& guard, int32_t index, const Frame& frame) {
  if (guard.kind == GuardKind::GlobalState) {
    state_guard_ = index;
    return {};
  }
  if (!guard.source && guard.kind != GuardKind::NotInGlobals)
    return Error{"A guard without a source", "", guard.expected};
  Condition c;
  c.kind = guard.kind;
  c.guard = index;
  c.node = guard.source ? add_source(guard.source) : frame_node();
  if (guard.kind == GuardKind::Bound && guard.number == 0) nodes_[c.node].optional = true;
  if (guard.other) c.other = add_source(guard.other);
  if (guard.kind == GuardKind::Apart) {
    std::vector<int32_t> members;
    for (const Source* member : guard.members) members.push_back(add_source(member));
    c.node = *std::max_element(members.begin(), members.end());
    c.apart = std::make_unique<ApartCheck>(std::move(members), guard.number, guard.name == "storage");
  }
  c.number = guard.number;
  c.expected = guard.expected;
  if (guard.kind == GuardKind::TypeVersion)
    c.snapshot =
        std::make_unique<ClassSnapshot>(reinterpret_cast<PyTypeObject*>(guard.object), asked_, *lifeline_);
  if (!guard.name.empty()) c.name = PyRef(PyUnicode_InternFromString(guard.name.c_str()));
  if (guard.kind == GuardKind::TensorMatch) {
    Temporaries keep;
    PyObject* now = guard.object ? guard.object : read_source(*guard.source, frame, keep);
    if (!now) return Error{"A tensor cannot be read again: " + guard.source->text(), "", ""};
    if (Status error = expect_tensor(c, now, guard)) return error;
  } else if (guard.kind == GuardKind::WeakIdentity) {
    c.object = lifeline_->hold_weakly(PyWeakref_GET_OBJECT(guard.object));
  } else if (guard.kind == GuardKind::DictKeys) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guard.object); ++i)
      c.keys.push_back(lifeline_->hold(PyTuple_GET_ITEM(guard.object, i)));
  } else {
    c.object = lifeline_->hold(guard.object);
  }
  const bool relation = c.kind == GuardKind::DifferentObject || c.kind == GuardKind::SameObject;
  if (c.kind != GuardKind::Compares && relation != (c.other >= 0))
    return Error{"A guard on two sources has one", "", guard.source->text()};
  conditions_.push_back(std::move(c));
  return {};
}

Status GuardTree::expect_tensor(Condition& condition, PyObject* now, const Guard& guard) {
  if (!torch_api::is_tensor(now)) return Error{"A tensor guard on " + describe(now), "", ""};
  torch_api::Handle handle = torch_api::handle_of(now);
  torch_api::TensorView view = torch_api::view(handle);
  TensorExpected t;
  t.type = Py_TYPE(now);
  t.keys = torch_api::dispatch_keys(handle);
  t.scalar_type = view.scalar_type;
  t.device_type = view.device_type;
  t.device_index = view.device_index;
  t.ndim = static_cast<int32_t>(view.ndim);
  t.requires_grad = torch_api::requires_grad(now);
  t.dims = static_cast<uint32_t>(dims_.size());
  dims_.insert(dims_.end(), view.sizes, view.sizes + view.ndim);
  dims_.insert(dims_.end(), view.strides, view.strides + view.ndim);
  for (size_t d = 0; d < guard.free_sizes.size(); ++d) {
    if (guard.free_sizes[d]) dims_[t.dims + d] = kAny;
    dims_[t.dims + guard.free_sizes.size() + d] = kAny;
  }
  t.heeds_marks = guard.heeds_marks;
  condition.tensor = static_cast<int32_t>(tensors_.size());
  lifeline_->hold(reinterpret_cast<PyObject*>(t.type));
  tensors_.push_back(t);
  return {};
}

bool GuardTree::read_sizes(const std::vector<Symbolic::Input>& inputs, std::vector<int64_t>& key,
                           std::vector<int64_t>& apart) const {
  key.clear();
  apart.clear();
  for (const Symbolic::Input& input : inputs) {
    PyObject* o = values_[node_by_source_.at(input.source)];
    if (input.is_tensor) {
      const torch_api::TensorView view = torch_api::view(torch_api::handle_of(o));
      key.insert(key.end(), view.sizes, view.sizes + view.ndim);
      key.insert(key.end(), view.strides, view.strides + view.ndim);
      continue;
    }
    int overflow = 0;
    (input.in_graph ? key : apart).push_back(PyLong_AsLongLongAndOverflow(o, &overflow));
    if (overflow) return false;
  }
  return true;
}

bool GuardTree::fail(int32_t node, int32_t condition) {
  failed_node_ = node;
  failed_condition_ = condition;
  int32_t guard = condition >= 0 ? conditions_[condition].guard : node < 0 ? state_guard_ : -1;
  if (guard >= 0) ++counts_[guard].fails;
  return false;
}

bool GuardTree::check_node(int32_t index, const Frame& frame) {
  const Node& node = nodes_[index];
  PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
  const size_t made = temporaries_.size();
  PyObject* value = read_step(node.step, base, frame, temporaries_);
  if (lifeline_->is_over()) return fail(index, -1);  // reading may run the garbage collector
  values_[index] = value;
  made_[index] = temporaries_.size() != made;
  if (!value) return node.optional || fail(index, -1);
  for (int32_t i = node.first; i < node.last; ++i) {
    if (counting) ++counts_[conditions_[i].guard].checks;
    if (!holds(conditions_[i])) return fail(index, i);
  }
  return true;
}

// Asks the guard that failed last: among several segments of one place it is what tells them apart.
bool GuardTree::check_hint(const Frame& frame, const GlobalState& state) {
  if (failed_condition_ < 0) return true;
  Condition& c = conditions_[failed_condition_];
  if (c.other >= 0 || c.apart) return true;
  int32_t path[16];
  int depth = 0;
  for (int32_t n = c.node; n >= 0; n = nodes_[n].parent) {
    if (depth == 16) return true;
    path[depth++] = n;
  }
  fast_path_.has_values = false;
  while (depth-- > 0) {
    const Node& node = nodes_[path[depth]];
    PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
    values_[path[depth]] = read_step(node.step, base, frame, temporaries_);
    if (!values_[path[depth]] || lifeline_->is_over()) return true;  // the full check finds out
    // PyTorch warns of the .grad of what is no leaf.
    for (int32_t i = node.first; i < node.last; ++i)
      if (conditions_[i].kind == GuardKind::PlainLeaf && !holds(conditions_[i])) return fail(path[depth], i);
  }
  if (counting) ++counts_[c.guard].checks;
  return holds(c) || fail(c.node, failed_condition_);
}

bool GuardTree::check(const Frame& frame, const GlobalState& state) {
  temporaries_.clear();
  globals_ = frame.globals();
  if (lifeline_->is_over()) return false;
  if (counting && state_guard_ >= 0) ++counts_[state_guard_].checks;
  if (!(state == state_)) return fail(-1, -1);
  if (!check_hint(frame, state)) return false;
  if (fast_path_.ready && !counting) {
    const Shortened found = check_shortened(frame);
    if (found != Shortened::Unknown) return ++fast_checks_, found == Shortened::Holds;
    temporaries_.clear();
  }
  ++walks_;
  fast_path_.has_values = false;
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i)
    if (!check_node(i, frame)) return false;
  // The more often something has changed, the longer it waits.
  if (!counting && ++fast_path_.walks > std::min(fast_path_.built * fast_path_.built, kLongestWait))
    build_fast_path();
  return !lifeline_->is_over();
}

namespace {

// ns of one call of f: the faster of two batches.
template <class F>
double time_of(F&& f) {
  constexpr int kRepeats = 16;
  double best = 0;
  for (int batch = 0; batch < 2; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kRepeats; ++i) f();
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    if (batch == 0 || took.count() < best) best = took.count();
  }
  return best / kRepeats;
}

}  // namespace

std::vector<double> GuardTree::measure(const Frame& frame, const GlobalState& state) {
  if (!check(frame, state)) return {};
  std::vector<double> out(counts_.size());
  volatile bool sink = false;  // what is timed must not be optimised away
  if (state_guard_ >= 0) out[state_guard_] = time_of([&] { sink = torch_api::global_state() == state_; });
  Temporaries scratch;
  double path = 0;  // of sources without a condition of their own, which the next one pays for
  for (const Node& node : nodes_) {
    PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
    if (node.parent >= 0 && !base) continue;
    path += time_of([&] { sink = read_step(node.step, base, frame, scratch) != nullptr; });
    scratch.clear();
    for (int32_t i = node.first; i < node.last; ++i) {
      out[conditions_[i].guard] += path + time_of([&] { sink = holds(conditions_[i]); });
      path = 0;
    }
  }
  return out;
}

}  // namespace vitrine::capture
