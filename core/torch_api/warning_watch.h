// Sees the warnings that Python and PyTorch give in this thread while it lives, whatever the program's
// filters say; none of them reaches the program, and none counts as given there ("once a place",
// TORCH_WARN_ONCE). The GIL must be held.
#pragma once

#include <cstdint>

#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

class WarningWatch {
 public:
  enum class Once : uint8_t { Again, AsEver };  // Again: what PyTorch says once a process is seen each time

  // callable: what is about to be called; what its own module has warned of before is seen, too.
  WarningWatch(PyObject* callable, Once once);
  ~WarningWatch();  // keeps a pending Python error
  WarningWatch(const WarningWatch&) = delete;

  bool seen() const { return messages_ && PyList_GET_SIZE(messages_.get()) > 0; }
  // The warnings seen, a list of warnings.WarningMessage.
  PyObject* messages() const { return messages_.get(); }

 private:
  // A module's memory of what it has warned of, put aside.
  struct Registry {
    PyRef globals, before;  // before: null where there was none
  };
  void put_aside(Registry& registry, PyObject* globals);
  static void put_back(Registry& registry);

  PyRef messages_;
  Registry here_, there_;
  WarningWatch* outer_ = nullptr;
};

// Of such a list: "UserWarning: what the first one says".
std::string text_of_warning(PyObject* messages);
// Gives them to the program, as warnings of where they were given. Filters that make errors of them are not
// heeded.
void give_warnings(PyObject* messages);
// Whether some filter of the program makes an error of warnings.
bool a_filter_raises();

}  // namespace vitrine::torch_api
