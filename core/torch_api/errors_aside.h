// What PyTorch's C interface throws is reported by a code. Versions before 2.12 have no call that tells the
// text, but write it to stderr as an error of their log, with all of its C++ frames.
#pragma once

namespace vitrine::torch_api {

// While one lives, PyTorch's log leaves errors out, of all threads: who called sees to the failure, which
// eager tells of when it runs the call again. The GIL must be held when it is made and when it goes.
class ErrorsAside {
 public:
  ErrorsAside();
  ~ErrorsAside();
  ErrorsAside(const ErrorsAside&) = delete;
  ErrorsAside& operator=(const ErrorsAside&) = delete;
};

}  // namespace vitrine::torch_api
