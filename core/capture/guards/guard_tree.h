// The guards of one segment, compiled: every source is one node below the source it is read from, so that a
// shared prefix (L['self'].encoder.layer[0]) is walked once a check. A check stops at the first guard that
// does not hold; the next check asks that guard first. Checking runs none of the user's code, so what is read
// may be borrowed until something else runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/capture/guards/apart_check.h"
#include "core/capture/guards/class_snapshot.h"
#include "core/capture/guards/guard_fast_path.h"
#include "core/capture/guards/lifeline.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/trace/trace.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// The first guard that did not hold, in words: "L['x'].size(1)", "128", "96".
struct GuardFailure {
  int32_t guard = -1;  // index in the trace's guards; -1: a value that the segment needs is not there
  std::string source, expected, actual;
  std::string hint = {};     // what to do about it; "": what recompilation_hint says
  bool is_relation = false;  // `expected` begins with its own sign: "< 0.5"
  bool other_type = false;   // a value of another type than the one expected
  std::string condition() const { return source + (is_relation ? " " : " == ") + expected; }
  std::string text() const { return condition() + ", got " + actual; }
};

struct GuardCount {
  int64_t checks = 0, fails = 0;
};

class GuardTree {
 public:
  // Compiles `guards`; TensorMatch takes what the tensors look like now, so the frame must still be where
  // capture began. `wanted`: further sources that the segment reads. Errors: a guard cannot be compiled, or
  // does not hold at this very moment (`what` names it): such a segment would never be entered.
  // asked: the names that the trace asked objects for.
  // lifeline: outlives the tree; it holds what the guards compare with.
  Status build(const std::vector<Guard>& guards, const std::vector<const Source*>& wanted, const Frame& frame,
               const torch_api::GlobalState& state, Lifeline& lifeline, AskedNames asked = {});

  // Whether all guards hold. After true, value() is valid until anything else runs.
  bool check(const Frame& frame, const torch_api::GlobalState& state);
  // nullptr: an empty slot. `node` as node_of() gave it.
  PyObject* value(int32_t node) const { return values_[node]; }
  // What the last check made to look at it goes; value() of that is not valid any more.
  void drop_temporaries() { temporaries_.clear(); }
  int32_t node_of(const Source* source) const;

  // What each guard costs, in ns, by index in the trace's guards: reading its source and comparing. All must
  // hold; empty otherwise.
  std::vector<double> measure(const Frame& frame, const torch_api::GlobalState& state);

  // The guard that made the last check() fail, evaluated again.
  GuardFailure explain(const Frame& frame, const torch_api::GlobalState& state);

  // Of a tree whose lifeline is over: the guard that asked for what has ended.
  GuardFailure ending() const;

  // After a check that passed: what the inputs with symbols are now, in order: of a tensor its sizes, then
  // its strides; of an int itself. Those of ints that the graph does not use are apart. false: an int does
  // not fit.
  bool read_sizes(const std::vector<Symbolic::Input>& inputs, std::vector<int64_t>& key,
                  std::vector<int64_t>& apart) const;

  size_t size() const { return conditions_.size(); }
  // Checks that the fast path has answered, and those that went through all conditions.
  int64_t fast_checks() const { return fast_checks_; }
  int64_t walks() const { return walks_; }
  bool counting = false;  // whether check() counts a guard's checks; failures are always counted
  const std::vector<GuardCount>& counts() const { return counts_; }  // by index in the trace's guards

 private:
  struct Node {
    SourceStep step;
    int32_t parent = -1;
    int32_t first = 0, last = 0;  // its conditions
    bool optional = false;        // an empty slot is a value like any other
    const Source* source = nullptr;
  };
  struct TensorExpected {
    PyTypeObject* type = nullptr;
    uint64_t keys = 0;
    int32_t scalar_type = 0, device_type = 0, device_index = 0;
    int32_t ndim = 0;
    uint32_t dims = 0;  // sizes, then strides, in dims_
    bool requires_grad = false;
    bool heeds_marks = false;
  };
  struct Condition {
    GuardKind kind = GuardKind::Identity;
    int32_t guard = -1, node = -1, other = -1, tensor = -1;
    PyObject* object = nullptr;   // of the lifeline
    std::vector<PyObject*> keys;  // DictKeys, instead of the object
    std::unique_ptr<ApartCheck> apart;
    PyRef name;
    int64_t number = 0;
    std::string expected;
    std::unique_ptr<ClassSnapshot> snapshot;  // TypeVersion
  };

  int32_t add_source(const Source* source);
  int32_t frame_node();
  Status add_guard(const Guard& guard, int32_t index, const Frame& frame);
  static constexpr int64_t kAny = -1;  // in dims_
  Status expect_tensor(Condition& condition, PyObject* now, const Guard& guard);
  void sort_conditions();
  bool check_node(int32_t node, const Frame& frame);
  bool check_hint(const Frame& frame, const torch_api::GlobalState& state);
  bool holds(Condition& condition);
  bool compares(const Condition& c, PyObject* left) const;
  bool class_serves(Condition& condition, PyTypeObject* type);
  // guard_fast_path.cpp
  enum class Shortened : uint8_t { Holds, Fails, Unknown };
  Shortened check_shortened(const Frame& frame);
  bool check_tensors();
  Shortened missed(int32_t node);
  void build_fast_path();
  bool anchored(PyObject* o, int32_t node, Watches& watches);
  void keep_for_shortcut(PyObject* o);
  using FieldRows = std::map<torch_api::TensorFields, int32_t>;
  int32_t fields_of(const Condition& condition, FieldRows& rows);
  bool has_any_dim(const TensorExpected& expected) const;
  bool is_matched_tensor(int32_t node) const;
  bool stays(const Condition& condition, const std::vector<bool>& same, Watches& watches) const;
  bool tensor_matches(const TensorExpected& expected, PyObject* o) const;
  bool heeds_marks(const TensorExpected& expected, PyObject* o) const;
  bool fail(int32_t node, int32_t condition);
  GuardFailure explain_tensor(const Condition& condition, PyObject* o) const;
  GuardFailure explain_apart(const Condition& condition) const;
  // false: the condition is of another kind.
  bool explain_presence(const Condition& condition, GuardFailure& failure) const;
  bool explain_extent(const Condition& condition, PyObject* o, GuardFailure& failure) const;
  GuardFailure explain_condition(const Condition& condition, PyObject* o) const;

  std::vector<Node> nodes_;
  std::vector<Condition> conditions_;
  std::vector<TensorExpected> tensors_;
  std::vector<int64_t> dims_;
  std::vector<PyObject*> values_;  // by node, of the check in progress
  std::vector<uint8_t> made_;      // by node: the value was made while it was read (Temporaries)
  GuardFastPath fast_path_;
  int64_t fast_checks_ = 0, walks_ = 0;
  Temporaries temporaries_;
  std::vector<GuardCount> counts_;
  AskedNames asked_;
  Lifeline* lifeline_ = nullptr;
  std::unordered_map<const Source*, int32_t> node_by_source_;
  torch_api::GlobalState state_;
  int32_t state_guard_ = -1, frame_node_ = -1;
  PyObject* globals_ = nullptr;                       // of the frame being checked
  int32_t failed_node_ = -1, failed_condition_ = -1;  // of the last failing check
};

}  // namespace vitrine::capture
