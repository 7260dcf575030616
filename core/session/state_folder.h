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

// A folder in it, made with its parents as needed, that only this user can look into. None where it cannot be
// made, or where somebody else could put things into it or one of its parents.
Descriptor state_folder(const char* name);

}  // namespace vitrine::session
