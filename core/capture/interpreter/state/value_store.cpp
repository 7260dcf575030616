#include "core/capture/interpreter/state/value_store.h"

#include <algorithm>

namespace vitrine::capture {

ValueStore::~ValueStore() {
  made_.clear();
  for (PyObject* o : alive_) Py_DECREF(o);
}

Value* ValueStore::make(ValueKind kind) {
  made_.push_back(std::make_unique<Value>());
  become(made_.back().get(), kind);
  return made_.back().get();
}

bool ValueStore::made_since(int64_t count, const Value* v) const {
  return std::any_of(made_.begin() + count, made_.end(),
                     [&](const std::unique_ptr<Value>& each) { return each.get() == v; });
}

PyObject* ValueStore::keep(PyObject* owned) {
  if (owned) alive_.push_back(owned);
  return owned;
}

}  // namespace vitrine::capture
