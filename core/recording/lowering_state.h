// What a Lowering is made of: for the files that are it, and for core/autograd, which goes on where it ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/recording/dispatch.h"
#include "core/recording/lowering.h"
#include "core/torch_api/api.h"
#include "core/torch_api/attention_choice.h"
#include "core/torch_api/autocast.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"
#include "core/torch_api/warning_watch.h"

namespace vitrine::torch_api {

// A function that stays one operator. list: the argument that must be a list or a tuple, for it to be this
// overload; -1: there is one only.
struct PreservedComposite {
  Name function;
  const char *op, *kernel;
  int list = -1;
  bool recurrent = false;  // autocast reaches the operators it is made of, and these may draw
};
// The row of a callable, or nullptr.
const PreservedComposite* preserved_composite(PyObject* callable);

// A function of PyTorch's of packed sequences (data_composites.cpp): it reads how many go on at each step.
struct DataComposite {
  Name function;
  const char* op;
  Py_ssize_t arguments;  // that a call has
  Py_ssize_t lengths;    // its tensor of numbers of sequences, by step
};

// The dispatch mode stack, by PyTorch's own functions.
class ModeGuard {
 public:
  explicit ModeGuard(PyObject* mode) {
    pushed_ = PyRef::steal(PyObject_CallOneArg(kept(Name::push_dispatch_mode), mode));
  }
  ~ModeGuard() {
    if (!pushed_) return;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyRef popped = PyRef::steal(PyObject_CallOneArg(kept(Name::pop_dispatch_mode), Py_None));
    if (!popped) PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
  ModeGuard(const ModeGuard&) = delete;
  bool active() const { return static_cast<bool>(pushed_); }

 private:
  PyRef pushed_;
};

// Composite operators that PyTorch has in Python, too, run as these in the scope.
class PythonComposites {
 public:
  explicit PythonComposites(bool on) {
    PyObject* type = on ? kept(Name::python_dispatcher) : nullptr;
    if (type) scope_ = PyRef::steal(PyObject_CallNoArgs(type));
    if (scope_ && !PyRef::steal(PyObject_CallMethod(scope_.get(), "__enter__", nullptr))) scope_ = PyRef();
    if (on && !scope_) PyErr_Clear();
  }
  ~PythonComposites() {
    if (!scope_) return;
    PendingError error;
    const PyRef left =
        PyRef::steal(PyObject_CallMethod(scope_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    PyErr_Clear();
    error.restore();
  }
  PythonComposites(const PythonComposites&) = delete;

 private:
  PyRef scope_;
};

struct Lowering::State {
  Recording recording;
  DispatchState dispatch{recording, std::nullopt, PyRef()};
  PyRef mode;
  bool grad_mode;
  AutocastState autocast = autocast_state();
  AttentionChoice attention = attention_choice();
  std::string architecture;  // of a GPU that is compiled for
  bool python_composites =
      false;                  // of the call at hand: composite operators run as PyTorch has them in Python
  bool for_any_size = false;  // Lowering::for_any_size
  bool autocast_changed = false;  // at any time: PyTorch's cache of casts may hold fake tensors

  State() : mode(PyRef::steal(new_mode(&dispatch))), grad_mode(api().symbols.grad_enabled()) {
    if (!mode) throw InternalError("no recording mode: " + take_python_error());
  }

  // What Lowering::call() is given.
  struct Asked {
    const std::string& name;
    PyObject *callable, *args, *kwargs;
    const ir::Origin& origin;
  };
  // Runs and records it. warned: receives a list of the warnings that it gave; then nothing was recorded.
  Outcome attempt(const Asked& asked, WarningWatch::Once once, PyRef& warned);
  // What attempt() does, but for undoing it.
  bool record(const Asked& asked, WarningWatch::Once once, PyRef& warned, const Recording::Mark& mark,
              Outcome& outcome);
  PyRef run_in_modes(PyObject* callable, const Asked& asked, WarningWatch::Once once, PyRef& warned);
  struct Modes {
    bool grad;
    AutocastState autocast;
    AttentionChoice attention;
    bool operator==(const Modes&) const = default;
  };
  Modes modes() const { return {grad_mode, autocast, attention}; }
  PyRef run(PyObject* callable, PyObject* args, PyObject* kwargs);
  // symbolic_recurrent.cpp
  bool is_recurrence_of_expressions(const PreservedComposite* whole, PyObject* args);
  PyRef recurrence_of_expressions(const PreservedComposite& whole, const Asked& asked,
                                  WarningWatch::Once once, PyRef& warned);
  const DataComposite* data_composite(PyObject* callable, PyObject* args, PyObject* kwargs);
  PyRef by_stand_ins(const DataComposite& whole, const Asked& asked);
  bool for_absent_gpu() const;
  void copy_requires_grad(int index, PyObject* real);
  int leaf_slot(PyObject* tensor);
  void add_captured(const std::string& name, PyObject* callable, PyObject* args, PyObject* kwargs,
                    const ir::Origin& origin, PyObject* result, Outcome& outcome, bool state_changed,
                    size_t aten_before);
  std::string why_apart(const PreservedComposite& whole, PyObject* args,
                        const std::vector<PyObject*>& results, const Recording::Mark& mark);
  void collapse(const PreservedComposite& whole, PyObject* args, PyObject* kwargs, PyObject* result,
                const Recording::Mark& mark);
  void note_grad(PyObject* args);
  void refuse_inference_inputs(const std::string& name, PyObject* args, PyObject* result);
  void failed(const std::string& name, Outcome& outcome);
};

}  // namespace vitrine::torch_api
