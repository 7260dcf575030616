// The module whose method a frame runs. Modules of one class share their methods' code, and with it the
// places where compiled code begins, but each has attributes of its own: what was compiled for one is tried
// first when it is called again, and does not count against the limit of another.
#pragma once

#include "core/capture/cpython/frame.h"
#include "core/capture/objects/owned.h"

namespace vitrine::capture {

class Owner {
 public:
  Owner() = default;  // nobody's: a function, or a method of something else
  // Needs the GIL. The frame's first argument, if it is an nn.Module.
  static Owner of(const Frame& frame);
  // Whether the frame's first argument is the object that it was; of an object that is gone another may have
  // the address.
  bool called_by(const Frame& frame) const { return object_ && object_ == first_argument(frame); }
  // Whether a case that was compiled for it might be one of this frame's: not if its module lives on and is
  // another one.
  bool counts_for(const Frame& frame) const;

 private:
  static PyObject* first_argument(const Frame& frame);  // borrowed, or nullptr
  PyObject* object_ = nullptr;                          // its address alone
  PyRef reference_;                                     // weak
};

}  // namespace vitrine::capture
