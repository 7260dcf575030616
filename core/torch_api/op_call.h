// One call of an operator through its Python overload, with everything but its tensors converted beforehand.
// The GIL must be held everywhere here. Objects are PyObject*.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

struct _object;

namespace vitrine::torch_api {

void retain(_object* o);  // nullptr is allowed
void drop(_object* o);    // nullptr is allowed

// The constant as PyTorch takes it: Word "torch.channels_last" -> that object, other words and text -> str,
// DType -> torch.float32, lists -> list. New reference. Errors: a Ref inside, an unknown word.
Result<_object*> to_python(const ir::Arg& arg);

void set_python_error(const std::string& text);  // RuntimeError
void set_index_error(const std::string& text);   // IndexError

// Takes the pending Python error away for a scope, in which Python may run.
class PendingError {
 public:
  PendingError();
  ~PendingError();  // drops it, unless it was restored
  PendingError(const PendingError&) = delete;
  PendingError& operator=(const PendingError&) = delete;
  std::string text() const;  // "Type: text"; "" when none was pending
  void restore();

 private:
  _object *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

class PreparedOp {
 public:
  // slot_of: where in `values` a Ref's tensor will stand. Errors: no such operator, an argument that has no
  // Python form.
  static Result<std::unique_ptr<PreparedOp>> make(const ir::Node& node,
                                                  const std::function<int32_t(ir::Ref)>& slot_of);
  // Puts in the numbers of a node that differs in nothing else. Errors: it does, and this is not to be called
  // any more.
  Status renumber(const ir::Node& node);
  // A copy with them.
  Result<std::unique_ptr<PreparedOp>> with_numbers(const ir::Node& node) const;
  ~PreparedOp();
  PreparedOp(const PreparedOp&) = delete;
  PreparedOp& operator=(const PreparedOp&) = delete;

  // values: borrowed tensors by slot. true: new references to the tensors it returned, nested lists
  // flattened, nullptr where it returned None. false: a Python error is set.
  bool call(_object* const* values, std::vector<_object*>& outputs) const;

  const std::vector<int32_t>& reads() const { return reads_; }      // slots of tensor arguments
  const std::vector<int32_t>& mutates() const { return mutates_; }  // slots that its schema says it writes
  // Slots that it writes though its schema says nothing, and without counting the write (ops::counted).
  const std::vector<int32_t>& quiet() const { return quiet_; }
  const std::vector<int32_t>& aliases() const { return aliases_; }  // slots that what it returns may share
  bool random() const { return random_; }                           // draws from the default generator

 private:
  struct Item {  // exactly one: a constant, a tensor slot, or a list with slots inside
    _object* constant = nullptr;
    int32_t slot = -1;
    std::vector<Item> list;
  };
  PreparedOp() = default;
  Status convert(const ir::Arg& arg, const std::function<int32_t(ir::Ref)>& slot_of, Item& item);
  static Item copy(const Item& from);
  static Status renumber(Item& item, const ir::Arg& arg);
  void read_schema(_object* overload, const ir::Node& node);
  static _object* build(const Item& item, _object* const* values);
  static void each_slot(const Item& item, std::vector<int32_t>& slots);
  static void release(Item& item);

  _object* callable_ = nullptr;
  _object* keyword_names_ = nullptr;  // tuple of str, or nullptr
  std::vector<Item> items_;           // positional, then keywords
  size_t positional_ = 0;
  std::vector<int32_t> reads_, mutates_, quiet_, aliases_;
  bool random_ = false;
};

}  // namespace vitrine::torch_api
