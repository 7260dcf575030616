// Dicts whose changes CPython tells (PyDict_Watch, 3.12 and later), so that a check need not look at each of
// them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace vitrine::capture {

// Needs the GIL, in all that it does.
class WatchedDicts {
 public:
  WatchedDicts() = default;
  ~WatchedDicts();
  WatchedDicts(const WatchedDicts&) = delete;
  WatchedDicts& operator=(const WatchedDicts&) = delete;

  // From now on; `node` is what changed() then tells. false: CPython does not tell of it.
  bool add(PyObject* dict, int32_t node);
  // The node of a dict that has changed or gone since it was added; -1: none has.
  int32_t changed() const { return changed_; }

 private:
  friend class DictRegistry;
  std::vector<PyObject*> dicts_;  // that were added; some may be gone
  int32_t changed_ = -1;
};

}  // namespace vitrine::capture
