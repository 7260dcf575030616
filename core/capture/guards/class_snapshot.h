// What a class and its bases held when it was pinned by a guard, without keeping any of it alive. CPython
// gives a class a new version with any change of it or of a base: a counter that the class keeps, a method
// added by a library. A change that the trace cannot have noticed is taken note of, and the guard holds on:
// all of what changed is plain data, before and after, under names that neither the code traced nor the
// tracer has asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/capture/guards/lifeline.h"
#include "core/capture/objects/owned.h"

struct _typeobject;

namespace vitrine::capture {

using AskedNames = std::unordered_set<std::string>;

class ClassSnapshot {
 public:
  // Of the class as it is now; it has a valid version. lifeline: outlives it, and says when an address means
  // nothing any more; then still_serves() is not to be asked.
  ClassSnapshot(_typeobject* type, const AskedNames& asked, Lifeline& lifeline);
  // Whether the class is as it was but for what nobody asked for; then this is a snapshot of it as it is now.
  // Runs none of the user's code.
  bool still_serves(const AskedNames& asked);

 private:
  // What lies under a name: the object, or what tells it from others of its type.
  struct Member {
    enum class Kind : uint8_t {
      Object,      // parts[0]
      Property,    // its getter, setter and deleter
      Wrapped,     // a classmethod or staticmethod of parts[0]
      Descriptor,  // of the class parts[0], with the name parts[1]
      Unasked,     // plain data under a name that nobody asked for
      Unknown,     // equal to nothing
    };
    Kind kind = Kind::Unknown;
    bool plain = false;
    _typeobject* type = nullptr;  // static
    std::array<_object*, 3> parts = {};
  };
  struct Base {
    _typeobject* type;
    std::vector<Member> members;
    PyRef places;  // dict: name -> where its member stands; null: it could not be made
    unsigned version;
  };
  Base taken(_typeobject* base, const AskedNames& asked);
  // stays: of a class that lives as long as its module, whose members may be kept alive.
  Member member(_object* name, _object* value, const AskedNames& asked, bool stays);
  static Member parts_of(_object* value);
  static bool same(const Member& member, _object* value);
  static bool unnoticed(const Base& base, const AskedNames& asked);
  bool has_same_bases() const;

  _typeobject* type_;
  Lifeline& lifeline_;                 // of the classes
  std::unique_ptr<Lifeline> members_;  // of what they hold: what ends was taken out of them
  std::vector<_object*> mro_;
  std::vector<Base> bases_;  // written in Python; others cannot change
};

// The names of attributes and the words that a code object has, in whatever it holds.
void add_names(_object* code, AskedNames& to);

}  // namespace vitrine::capture
