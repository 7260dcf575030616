// Every value of a trace, what keeps the objects behind them alive, and how a value is found by its object.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/capture/interpreter/state/value.h"

namespace vitrine::capture {

class ValueStore {
 public:
  ValueStore() = default;
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  Value* make(ValueKind kind);
  // How many there are: what is made from now on is made_since() it.
  int64_t count() const { return static_cast<int64_t>(made_.size()); }
  bool made_since(int64_t count, const Value* v) const;
  PyObject* keep(PyObject* owned);  // as long as the trace is made; gives it back

  // An object that was a key, hashed and compared by methods of its own.
  struct OwnKey {
    Value* value;
    Py_hash_t hash;
    PyObject* fake_tensor;
  };
  std::shared_ptr<SourcePool> sources = std::make_shared<SourcePool>();
  std::unordered_map<PyObject*, Value*> by_object;  // real objects with identity, once inspected
  std::unordered_map<PyObject*, Value*> by_tensor;  // fake tensors
  std::vector<OwnKey> own_keys;

 private:
  std::vector<std::unique_ptr<Value>> made_;
  std::vector<PyObject*> alive_;
};

}  // namespace vitrine::capture
