// What lets a check skip most of its walk: dicts, objects and classes that have not changed since all guards
// held. CPython gives a dict a number that no other state of any dict ever has, and a class a version tag;
// while these are the same, what is read from them is the same objects, and what was asked of them is
// answered as then. Each thing to compare is reached from one compared before, so nothing is looked at that
// may be gone.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/capture/guards/lifeline.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/guards/watched_dicts.h"
#include "core/capture/objects/owned.h"
#include "core/torch_api/tensor_fields.h"

namespace vitrine::capture {

// One word of memory that must be as it was: the version of a dict, the class of an object, the dict of its
// attributes.
struct WatchedWord {
  const void* at = nullptr;
  uint64_t expected = 0;

  bool holds() const {
    uint64_t now;
    std::memcpy(&now, at, sizeof now);
    return now == expected;
  }
};

// A class must have this version tag.
struct WatchedType {
  PyTypeObject* type = nullptr;
  unsigned version = 0;
  bool holds() const;
};

// All that must be as it was, and of each the node of the guard tree that it belongs to. Words are in the
// order in which they may be read; a class lives as long as the fast path.
struct WatchedState {
  std::vector<WatchedWord> words;
  std::vector<int32_t> word_nodes;
  std::vector<WatchedType> types;
  std::vector<int32_t> type_nodes;
  std::unordered_set<PyTypeObject*> classes;                               // whose addresses are among these
  std::unique_ptr<WatchedDicts> dicts = std::make_unique<WatchedDicts>();  // are known by their addresses
};

// The names of an nn.Module's dicts of hooks, and the dicts of those for all modules.
std::span<const PyRef> hook_names();
std::span<const PyRef> global_hooks();

// Collects what must be watched so that reading a step, or asking a question, gives the same again. Each
// function returns false, and adds nothing, where that cannot be had. `base` is known to be the same object.
class Watches {
 public:
  explicit Watches(WatchedState& all) : all_(all) {}

  bool object(PyObject* base, int32_t node);
  bool dict(PyObject* base, int32_t node);
  bool type(PyTypeObject* base, int32_t node);
  // The containers of an nn.Module: all of them, or up to that which has the name.
  bool members(PyObject* base, PyObject* name, int32_t node);
  bool step(const SourceStep& step, PyObject* base, int32_t node);
  bool attribute(PyObject* base, PyObject* name, int32_t node);  // whether it is there, and what it is
  bool hooks(PyObject* module, int32_t node);

 private:
  bool own_dict(PyObject* base, PyObject* name, int32_t node);
  void content(PyObject* dict, int32_t node);
  void word(const void* at, uint64_t expected, int32_t node);
  WatchedState& all_;
  std::unordered_set<const void*> objects_, dicts_, types_;
};

// A condition on a tensor, and its fields as they were; fields: -1 where these do not tell all.
struct WatchedTensor {
  int32_t node, condition, fields;
  bool is_same;  // the object that it was
  bool heeds_marks;
};

// The program of a shortened check, in the order of the tree's nodes.
struct GuardFastPath {
  struct Op {
    enum class Kind : uint8_t {
      Read,
      Anchor,
      Watch,
      Condition
    };  // Anchor: read, and it must be the same object
    Kind kind;
    int32_t first, last;  // a node; words; a condition
  };
  bool ready = false;
  bool has_values = false;  // the tree's values are these, but for those that are read
  std::vector<Op> ops;
  WatchedState watched;
  std::vector<WatchedTensor> tensors;           // asked late, all of them at each check
  std::vector<torch_api::TensorFields> fields;  // each once
  torch_api::TensorFieldReader reader;
  std::vector<int32_t> apart;      // conditions on what tensors share: asked last, of tensors that match
  std::vector<PyObject*> values;   // by node; never looked at before they are known to be alive
  std::unique_ptr<Lifeline> kept;  // what the addresses are of, but for what the segment itself holds
  std::vector<uint8_t> misses;     // by node: how often it was what had changed
  int32_t built = 0, walks = 0;    // walks since it was built last
};

}  // namespace vitrine::capture
