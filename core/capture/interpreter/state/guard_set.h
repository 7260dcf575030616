// The guards of a trace, in the order they were found; each once.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/capture/objects/python.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

class GuardSet {
 public:
  GuardSet() = default;
  ~GuardSet();
  GuardSet(const GuardSet&) = delete;
  GuardSet& operator=(const GuardSet&) = delete;

  // false: there is a guard with this key already.
  bool is_new(const std::string& key) { return keys_.insert(key).second; }
  void add(Guard guard) { all_.push_back(std::move(guard)); }
  Guard& last() { return all_.back(); }
  // Whether one of them asks for this attribute of what is there, or for anything in it.
  bool ask_about(const Source* owner, const std::string& attribute) const;
  // Without those that say of a slot that it holds a value where another asks for that value.
  std::vector<Guard> take();

  // false: that this class does not change is guarded already.
  bool pin(PyTypeObject* type) { return pinned_types_.insert(type).second; }

  void ask(const std::string& attribute) { asked_.insert(attribute); }
  std::unordered_set<std::string> take_asked() { return std::move(asked_); }

 private:
  std::vector<Guard> all_;
  std::unordered_set<std::string> keys_;
  std::unordered_set<PyTypeObject*> pinned_types_;
  std::unordered_set<std::string> asked_;  // names of attributes
};

}  // namespace vitrine::capture
