// What PyTorch's C interface throws is reported by a code. Versions before 2.12 have no call that tells the
// text, but write it to stderr, with all of its C++ frames.
#pragma once

#include <string>

namespace vitrine::torch_bridge {

// While one lives, such texts of its thread are kept instead of written: who called sees to the failure.
class ErrorsAside {
 public:
  ErrorsAside();
  ~ErrorsAside();
  ErrorsAside(const ErrorsAside&) = delete;
  ErrorsAside& operator=(const ErrorsAside&) = delete;
};

// First line of what was kept last on this thread, and forgets it; "": nothing was.
std::string take_error_aside();

}  // namespace vitrine::torch_bridge
