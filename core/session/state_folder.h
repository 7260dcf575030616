// What Vitrine remembers of this user between runs, apart from caches: $XDG_STATE_HOME/vitrine.
#pragma once

#include <unistd.h>

namespace vitrine::session {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return value_ >= 0; }
  int get() const { return value_; }

 private:
  int value_;
};

enum class Absent { Stays, IsMade };

// A folder in it, that only this user can look into. None where it is not there or cannot be made, or where
// somebody else could put things into it or one of its parents.
Descriptor state_folder(const char* name, Absent absent);

}  // namespace vitrine::session
