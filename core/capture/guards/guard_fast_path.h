// What lets a check skip most of its walk: dicts, objects and classes that have not changed since all guards
// held. CPython gives a dict a number that no other state of any dict ever has, and a class a version tag;
// while these are the same, what is read from them is the same objects, and what was asked of them is
// answered as then. Each thing to compare is reached from one compared before, so nothing is looked at that
// may be gone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/capture/guards/lifeline.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/objects/owned.h"

namespace vitrine::capture {

// One thing that must be as it was.
struct Watch {
  enum class Kind : uint8_t {
    Object,  // `object` is of `type`, and the dict of its attributes is `dict`, with this version
    Dict,    // `dict` has this version
    Type,    // `type` has this version tag
  };
  Kind kind = Kind::Dict;
  int32_t node = -1;  // of the guard tree: whom it belongs to
  PyObject* object = nullptr;
  PyTypeObject* type = nullptr;
  PyObject** slot = nullptr;  // where the object keeps its dict
  PyObject* dict = nullptr;
  uint64_t version = 0;

  bool holds() const;
};

// The names of an nn.Module's dicts of hooks, and the dicts of those for all modules.
std::span<const PyRef> hook_names();
std::span<const PyRef> global_hooks();

// Collects what must be watched so that reading a step, or asking a question, gives the same again. Each
// function returns false, and adds nothing, where that cannot be had. `base` is known to be the same object.
class Watches {
 public:
  explicit Watches(std::vector<Watch>& all) : all_(all) {}

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
  std::vector<Watch>& all_;
  std::unordered_set<const void*> objects_, dicts_, types_;
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
    int32_t first, last;  // a node; watches; a condition
  };
  bool ready = false;
  std::vector<Op> ops;
  std::vector<Watch> watches;
  std::vector<int32_t> tensors;    // conditions on tensors: asked late, all of them at each check
  std::vector<int32_t> apart;      // conditions on what tensors share: asked last, of tensors that match
  std::vector<PyObject*> values;   // by node; never looked at before they are known to be alive
  std::unique_ptr<Lifeline> kept;  // what the addresses are of, but for what the segment itself holds
  std::vector<uint8_t> misses;     // by node: how often it was what had changed
  int32_t built = 0, walks = 0;    // walks since it was built last
};

}  // namespace vitrine::capture
