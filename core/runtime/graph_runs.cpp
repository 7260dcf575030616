#include "core/runtime/graph_runs.h"

#include <unordered_map>

#include "core/torch_bridge/library.h"
#include "core/torch_bridge/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_bridge;

namespace {

constexpr int kCallsBefore = 2;     // libraries choose their kernels and take their memory in these
constexpr int kMostRecordings = 4;  // weights that move more often are not worth it

}  // namespace

GraphRuns::~GraphRuns() {
  drop();
}

void GraphRuns::drop() {
  for (_object* o : copied_) bridge::drop(o);
  for (_object* o : results_) bridge::drop(o);
  copied_.clear();
  results_.clear();
  copies_.clear();
  graph_.reset();
}

void GraphRuns::give_up(const std::string& why) {
  drop();
  off_ = why;
}

std::vector<void*> GraphRuns::addresses(_object* const* inputs, size_t n) const {
  std::vector<void*> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = bridge::data(bridge::handle_of(inputs[i]));
  return out;
}

GraphRuns::Outcome GraphRuns::run(_object* const* inputs, size_t n, std::vector<_object*>& outputs,
                                  const Launch& launch) {
  if (!off_.empty()) return Outcome::not_served;
  const std::vector<void*> now = addresses(inputs, n);
  changes_.resize(n);
  if (!graph_) {
    for (size_t i = 0; i < n; ++i) changes_[i] = changes_[i] || (calls_ > 0 && now[i] != last_[i]);
    last_ = now;
    if (calls_++ < kCallsBefore) return Outcome::not_served;
    if (!record(inputs, n, launch)) return Outcome::not_served;
  }
  void* stream = bridge::current_stream(device_);
  if (stream != stream_) return Outcome::not_served;
  if (!fits(now)) return Outcome::not_served;
  return replay(inputs, outputs) ? Outcome::served : Outcome::failed;
}

// A weight that has moved makes the recording useless; the next one copies it.
bool GraphRuns::fits(const std::vector<void*>& now) {
  bool same = true;
  for (size_t i = 0; i < now.size(); ++i) {
    if (copies_[i] || now[i] == last_[i]) continue;
    changes_[i] = true;
    same = false;
  }
  if (same) return true;
  drop();
  last_ = now;
  return false;
}

bool GraphRuns::make_copies(_object* const* inputs, std::vector<_object*>& given) {
  for (size_t i = 0; i < given.size(); ++i) {
    given[i] = inputs[i];
    if (!changes_[i]) continue;
    bridge::Handle copy = bridge::clone(bridge::handle_of(inputs[i]));
    _object* object = copy ? bridge::wrap(copy) : nullptr;
    if (!object) return false;
    copied_.push_back(object);
    given[i] = object;
    copies_[i] = bridge::handle_of(object);
    bytes_copied_ += bridge::type_of(copies_[i]).bytes();
  }
  return true;
}

bool GraphRuns::record(_object* const* inputs, size_t n, const Launch& launch) {
  if (++recordings_ > kMostRecordings) {
    give_up("its weights move too often");
    return false;
  }
  copies_.assign(n, nullptr);
  bytes_copied_ = 0;
  std::vector<_object*> given(n);
  stream_ = bridge::current_stream(device_);
  bool ok = make_copies(inputs, given);
  auto graph = ok ? bridge::CudaGraph::begin() : nullptr;
  if (graph) {
    ok = launch(given.data(), results_);
    bridge::PendingError error;  // of the launch, if it failed: it says more than what end() says then
    ok = graph->end() && ok;
    if (ok) graph_ = std::move(graph);
    if (!error.text().empty()) error.restore();
  }
  if (graph_) {
    for (_object* r : results_)
      if (bridge::is_tensor(r)) bytes_copied_ += bridge::type_of(r).bytes();
    return true;
  }
  bridge::PendingError error;
  give_up("PyTorch could not record it: " + error.text());
  return false;
}

bool GraphRuns::replay(_object* const* inputs, std::vector<_object*>& outputs) {
  for (size_t i = 0; i < copies_.size(); ++i)
    if (copies_[i] && !bridge::copy_into(copies_[i], bridge::handle_of(inputs[i]))) return false;
  if (!graph_->replay()) return false;
  const size_t before = outputs.size();
  std::unordered_map<_object*, _object*> given;  // a tensor returned twice is one tensor
  for (_object* result : results_) {
    _object* out = result;
    if (auto known = given.find(result); known != given.end()) {
      out = known->second;
      bridge::retain(out);
    } else if (!bridge::is_tensor(result)) {
      bridge::retain(out);
    } else {
      bridge::Handle copy = bridge::clone(bridge::handle_of(result));
      out = copy ? bridge::wrap(copy) : nullptr;
    }
    if (!out) {
      for (size_t k = before; k < outputs.size(); ++k) bridge::drop(outputs[k]);
      outputs.resize(before);
      return false;
    }
    given.emplace(result, out);
    outputs.push_back(out);
  }
  return true;
}

}  // namespace vitrine::runtime
