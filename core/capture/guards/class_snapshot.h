// What a class and its bases held when it was pinned by a guard. CPython gives a class a new version with any
// change of it or of a base: a counter that the class keeps, a method added by a library. A change that the
// trace cannot have noticed is taken note of, and the guard holds on: all of what changed is plain data,
// before and after, under names that neither the code traced nor the tracer has asked for.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/capture/objects/owned.h"

struct _typeobject;

namespace vitrine::capture {

using AskedNames = std::unordered_set<std::string>;

class ClassSnapshot {
 public:
  // Of the class as it is now; it has a valid version.
  explicit ClassSnapshot(_typeobject* type);
  // Whether the class is as it was but for what nobody asked for; then this is a snapshot of it as it is now.
  // Runs none of the user's code.
  bool still_serves(const AskedNames& asked);

 private:
  struct Base {
    Owned type, members;  // a copy of its dict
    unsigned version;
  };
  static Base taken(_typeobject* base);
  static bool unnoticed(const Base& base, const AskedNames& asked);

  _typeobject* type_;
  Owned mro_;
  std::vector<Base> bases_;  // written in Python; others cannot change
};

// The names of attributes and the words that a code object has, in whatever it holds.
void add_names(_object* code, AskedNames& to);

}  // namespace vitrine::capture
