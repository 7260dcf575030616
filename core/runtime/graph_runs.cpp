#include "core/runtime/graph_runs.h"

#include <algorithm>
#include <unordered_map>

#include "core/torch_api/library/library.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_api;

namespace {

constexpr int kMostRecordings = 4;  // weights that move more often are not worth it
constexpr int kMostMisfits = 3;     // then the recording is of no use any more

// Whether no two of its elements share memory, as those of an expanded tensor do.
bool has_own_elements(_object* tensor) {
  const ir::TensorType type = bridge::type_of(tensor);
  for (size_t d = 0; d < type.sizes.size(); ++d)
    if (type.sizes[d] > 1 && type.strides[d] == 0) return false;
  return true;
}

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
                                  const Launch& launch, const Numbers& numbers) {
  just_recorded_ = false;
  if (!off_.empty()) return Outcome::not_served;
  const std::vector<void*> now = addresses(inputs, n);
  changes_.resize(n);
  if (!graph_) {
    const bool settled = calls_ + 1 >= roles_.calls_before;  // what came before may have had other memory
    for (size_t i = 0; i < n; ++i)
      changes_[i] = changes_[i] || (settled && now[i] != last_[i] && !roles_.our_inputs[i]);
    last_ = now;
    if (calls_++ < roles_.calls_before) return Outcome::not_served;
    if (!record(inputs, n, launch)) return Outcome::not_served;
    just_recorded_ = true;
  }
  void* stream = bridge::current_stream(device_);
  if (stream != stream_) return Outcome::not_served;
  if (!fits(now)) return Outcome::not_served;
  if (!nothing_is_lent() && !copies_from_now_on(inputs, n, launch)) return Outcome::not_served;
  return replay(inputs, now, outputs, numbers) ? Outcome::served : Outcome::failed;
}

GraphFacts GraphRuns::facts() const {
  GraphFacts f;
  f.state = !off_.empty() ? "none" : graph_ ? "recorded" : "watching";
  f.reason = off_;
  if (!graph_) return f;
  for (size_t i = 0; i < copies_.size(); ++i)
    ++(copies_[i] ? f.inputs_copied : roles_.our_inputs[i] ? f.inputs_followed : f.inputs_in_place);
  for (size_t i = 0; i < results_.size(); ++i)
    if (bridge::is_tensor(results_[i]))
      ++(roles_.our_results[i] ? f.results_followed : roles_.lent[i] ? f.results_lent : f.results_copied);
  f.bytes_copied = bytes_copied_;
  return f;
}

// A weight that has moved for good makes the recording useless; the next one copies it.
bool GraphRuns::fits(const std::vector<void*>& now) {
  auto moved = [&](size_t i) { return !copies_[i] && !roles_.our_inputs[i] && now[i] != last_[i]; };
  bool same = true;
  for (size_t i = 0; i < now.size(); ++i) same = same && !moved(i);
  misfits_ = same ? 0 : misfits_ + 1;
  if (misfits_ < kMostMisfits) return same;
  for (size_t i = 0; i < now.size(); ++i) changes_[i] = changes_[i] || moved(i);
  misfits_ = 0;
  drop();
  last_ = now;
  return false;
}

bool GraphRuns::nothing_is_lent() const {
  for (size_t i = 0; i < results_.size(); ++i)
    if (roles_.lent[i] && bridge::is_tensor(results_[i]) &&
        !bridge::owns_storage_alone(bridge::handle_of(results_[i])))
      return false;
  return true;
}

// Somebody keeps what was lent: it is his, and later calls need memory of their own. False: the call has to
// be run as always.
bool GraphRuns::copies_from_now_on(_object* const* inputs, size_t n, const Launch& launch) {
  if (!roles_.may_copy_lent) return false;
  roles_.lent.assign(roles_.lent.size(), false);
  drop();
  return just_recorded_ = record(inputs, n, launch);
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
  for (size_t i = 0; i < n; ++i)
    if (changes_[i] && roles_.written[i]) {
      give_up("an input that it writes to, and that a library reads or writes, moves");
      return false;
    }
  copies_.assign(n, nullptr);
  launches_ = {};
  bytes_copied_ = 0;
  std::vector<_object*> given(n);
  stream_ = bridge::current_stream(device_);
  bool ok = make_copies(inputs, given);
  auto graph = ok ? bridge::CudaGraph::begin() : nullptr;
  if (graph) {
    ok = launch(given.data(), results_, &launches_);
    bridge::PendingError error;  // of the launch, if it failed: it says more than what end() says then
    ok = graph->end(!ok) && ok;
    if (ok) graph_ = std::move(graph);
    if (!error.text().empty()) error.restore();
  }
  if (graph_) {
    if (!launches_.complete() || !graph_->executable()) {  // a driver or a PyTorch that does not help
      roles_.our_inputs.assign(roles_.our_inputs.size(), false);
      roles_.our_results.assign(roles_.our_results.size(), false);
      drop();
      return false;
    }
    if (!nothing_is_lent()) roles_.lent.assign(roles_.lent.size(), false);  // it cannot be known here
    for (size_t i = 0; i < results_.size(); ++i)
      if (bridge::is_tensor(results_[i]) && !roles_.our_results[i] && !roles_.lent[i])
        bytes_copied_ += bridge::type_of(results_[i]).bytes();
    return true;
  }
  bridge::PendingError error;
  give_up("PyTorch could not record it: " + error.text());
  return false;
}

// Memory for the results, but for those that are lent: new references, null for the others. Taken before
// anything runs, so that a call without memory has changed nothing. Our own kernels write there at once.
bool GraphRuns::fresh_results(std::vector<_object*>& fresh) {
  places_.assign(results_.size(), nullptr);
  for (size_t i = 0; i < results_.size(); ++i) {
    _object* made = nullptr;
    const bool again = std::find(results_.begin(), results_.begin() + static_cast<int64_t>(i), results_[i]) !=
                       results_.begin() + static_cast<int64_t>(i);
    if (bridge::is_tensor(results_[i]) && !roles_.lent[i] && !again && has_own_elements(results_[i])) {
      bridge::Handle tensor = bridge::empty_strided(bridge::type_of(results_[i]));
      made = tensor ? bridge::wrap(tensor) : nullptr;
      if (!made) return false;
      if (roles_.our_results[i]) places_[i] = bridge::data(bridge::handle_of(made));
    }
    fresh.push_back(made);
  }
  return true;
}

// What the caller gets for a recorded result: its fresh memory, with a copy if others wrote it, or its own. A
// new reference.
_object* GraphRuns::handed_out(size_t result, _object* fresh) {
  _object* recorded = results_[result];
  if (fresh && !roles_.our_results[result] &&
      !bridge::copy_into(bridge::handle_of(fresh), bridge::handle_of(recorded)))
    return nullptr;
  if (fresh || !bridge::is_tensor(recorded)) {
    bridge::retain(fresh ? fresh : recorded);
    return fresh ? fresh : recorded;
  }
  const bridge::Handle tensor = bridge::handle_of(recorded);
  bridge::Handle copy =
      roles_.lent[result] ? bridge::as_strided(tensor, bridge::type_of(tensor)) : bridge::clone(tensor);
  return copy ? bridge::wrap(copy) : nullptr;
}

// The launches get this call's tensors and random numbers.
bool GraphRuns::draw_and_point(const std::vector<void*>& now, const std::vector<void*>& numbers) {
  bridge::CudaGenerator::State draws;
  if (roles_.generator && !roles_.generator->take(roles_.advance, draws)) return false;
  if (launches_.size() == 0) return true;
  const std::string failed = launches_.point_at(graph_->executable(), now, places_, numbers, draws);
  if (failed.empty()) return true;
  if (roles_.generator) roles_.generator->set_offset(draws.offset);
  bridge::set_python_error("a recorded kernel could not be changed: " + failed);
  return false;
}

// Fresh results are there; everything after the numbers cannot fail but with the GPU.
bool GraphRuns::launch_recorded(_object* const* inputs, const std::vector<void*>& now,
                                const Numbers& numbers) {
  std::vector<void*> known;
  if (!numbers(inputs, known)) return false;
  if (!draw_and_point(now, known)) return false;
  if (!graph_->replay()) return false;
  for (size_t i : roles_.counted) bridge::bump_version(bridge::handle_of(inputs[i]));
  if (!just_recorded_)
    for (size_t i : roles_.counted_by_pytorch) bridge::bump_version(bridge::handle_of(inputs[i]));
  return true;
}

bool GraphRuns::replay(_object* const* inputs, const std::vector<void*>& now, std::vector<_object*>& outputs,
                       const Numbers& numbers) {
  for (size_t i = 0; i < copies_.size(); ++i)
    if (copies_[i] && !bridge::copy_into(copies_[i], bridge::handle_of(inputs[i]))) return false;
  std::vector<_object*> fresh;
  bool ok = fresh_results(fresh) && launch_recorded(inputs, now, numbers);
  const size_t before = outputs.size();
  std::unordered_map<_object*, _object*> given;  // a tensor returned twice is one tensor
  for (size_t i = 0; ok && i < results_.size(); ++i) {
    auto known = given.find(results_[i]);
    _object* out = known == given.end() ? handed_out(i, fresh[i]) : known->second;
    if (known != given.end()) bridge::retain(out);
    ok = out != nullptr;
    if (!ok) break;
    given.emplace(results_[i], out);
    outputs.push_back(out);
  }
  for (_object* o : fresh) bridge::drop(o);
  if (ok) return true;
  for (size_t k = before; k < outputs.size(); ++k) bridge::drop(outputs[k]);
  outputs.resize(before);
  return false;
}

}  // namespace vitrine::runtime
