// What capture has made for real so that a first step is the same program as every later one: the state of an
// optimizer, as its own code makes it. It stays where the segment runs; otherwise it is taken back.
#pragma once

#include <utility>
#include <vector>

#include "core/capture/objects/owned.h"

namespace vitrine::capture {

// Objects of vitrine._polyfills.optimizers.Prepared. The GIL must be held.
class PreparedStates {
 public:
  PreparedStates() = default;
  PreparedStates(PreparedStates&& other) noexcept : all_(std::exchange(other.all_, {})) {}
  PreparedStates& operator=(PreparedStates&& other) noexcept {
    std::swap(all_, other.all_);
    return *this;
  }
  ~PreparedStates() { take_back(); }

  void add(PyRef prepared) { all_.push_back(std::move(prepared)); }
  void keep() { all_.clear(); }
  // What somebody has used meanwhile stays.
  void take_back() {
    if (all_.empty()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (const PyRef& one : std::exchange(all_, {})) {
      const PyRef done(PyObject_CallMethod(one.get(), "take_back", nullptr));
      if (!done) PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
  }

 private:
  std::vector<PyRef> all_;
};

}  // namespace vitrine::capture
