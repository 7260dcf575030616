// A value that Python gives once, under the GIL.
#pragma once

#include <memory>

namespace vitrine {

// In place of a static that is initialised in a function: making the value runs Python, which may let another
// thread in, and that would wait for the static's guard and keep the GIL. So there is no guard: two threads
// may both make it, and the first one's stays. Never destroyed: Python ends before static objects do.
template <class T>
class Once {
 public:
  template <class Make>
  const T& get(Make make) {
    if (value_) return *value_;
    auto made = std::make_unique<T>(make());
    if (!value_) value_ = made.release();
    return *value_;
  }

 private:
  T* value_ = nullptr;
};

}  // namespace vitrine
