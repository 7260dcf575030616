// The checked call of a segment: its compiled graph beside the captured graph replayed through PyTorch, on
// the same inputs. Where the two differ, eager's results are used, and a file is written that shows it again.
#pragma once

#include <string>
#include <vector>

#include "core/capture/objects/owned.h"
#include "core/capture/trace/trace.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

// What a checked call needs to know, and what it found: text is "" when both agree.
struct Check {
  std::string cache_dir;  // where reproducers go
  std::string text, reproducer;
  bool compared = false;
};

// New references that are dropped at the end of the scope.
struct Results {
  std::vector<PyObject*> all;
  ~Results() {
    for (PyObject* o : all) Py_XDECREF(o);
  }
};

// PyTorch's generators, put back when a graph has to run a second time.
class RandomState {
 public:
  explicit RandomState(bool wanted);
  void restore();

 private:
  PyRef states_;
};

struct CheckedCall {
  runtime::Plan& plan;
  const torch_api::Replayer& replayer;
  const Trace& trace;
  const torch_api::ViewProgram* views;                // may be null
  std::vector<PyObject*> plan_inputs, replay_inputs;  // borrowed
};

enum class Checked {
  Ran,        // `results` are the compiled ones, or eager's where they differ
  Raised,     // eager raised after it had written to inputs: the Python error is set
  Failed,     // eager raises: nothing was written, no error is set
  Impossible  // the inputs cannot be copied: nothing has run
};

Checked run_checked(const CheckedCall& call, std::vector<PyObject*>& results, Check& check);

}  // namespace vitrine::capture
