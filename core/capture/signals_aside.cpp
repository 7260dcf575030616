#include "core/capture/signals_aside.h"

#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/objects/owned.h"
#include "core/torch_api/op_call.h"

namespace vitrine::capture {
namespace {

volatile std::sig_atomic_t came[NSIG];
std::vector<std::pair<int, struct sigaction>> replaced;  // what stood there before, by signal
bool active = false;                                     // one is alive, in the main thread
std::unique_ptr<torch_api::PendingError> error;          // of a handler

void note(int number) {
  came[number] = 1;
}

// call(number, handler) for each signal whose handler is a Python callable.
template <class Call>
void each_handler(Call call) {
  const PyRef get = torch_api::find(torch_api::Name::getsignal);
  for (int number = 1; get && number < NSIG; ++number) {
    const PyRef handler(PyObject_CallFunction(get.get(), "i", number));
    PyErr_Clear();
    if (handler && PyCallable_Check(handler.get())) call(number, handler.get());
  }
  PyErr_Clear();
}

// Runs the handlers of what has come; keeps the first error that one raises.
void run_handlers() {
  if (PyErr_CheckSignals() == 0) return;
  auto raised = std::make_unique<torch_api::PendingError>();
  if (!error) error = std::move(raised);
}

// What comes until Vitrine's own handlers stand is Python's to handle: so twice. An error that is set stays.
void set_aside() {
  const ErrorAside aside;
  run_handlers();
  each_handler([](int number, PyObject*) {
    struct sigaction before{};
    if (sigaction(number, nullptr, &before) != 0) return;
    struct sigaction ours = before;
    ours.sa_flags &= ~SA_SIGINFO;
    ours.sa_handler = note;
    came[number] = 0;
    if (sigaction(number, &ours, nullptr) == 0) replaced.emplace_back(number, before);
  });
  run_handlers();
}

void put_back() {
  for (const auto& [number, before] : replaced) sigaction(number, &before, nullptr);
  for (const auto& [number, before] : replaced)
    if (came[number]) PyErr_SetInterruptEx(number);
  replaced.clear();
}

// The code that a handler runs first, where that is plain to see; nullptr otherwise.
PyRef code_of(PyObject* handler) {
  if (PyMethod_Check(handler)) handler = PyMethod_GET_FUNCTION(handler);
  PyRef call = PyFunction_Check(handler)
                   ? share(handler)
                   : PyRef(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(handler)), "__call__"));
  PyRef code(call ? PyObject_GetAttrString(call.get(), "__code__") : nullptr);
  PyErr_Clear();
  return code;
}

// Whether the program raises it itself, by a `raise` where the traceback ends; Python's handler of Ctrl-C has
// no frame of its own.
bool is_raised_there(PyTracebackObject* trace) {
  if (!trace) return false;
  while (trace->tb_next) trace = trace->tb_next;
  const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(trace->tb_frame)));
  const Instruction* at = bytecode_of(code.get()).find(trace->tb_lasti);
  return at && at->op == Op::Raise;
}

}  // namespace

SignalsAside::SignalsAside() {
  if (active || !is_main_thread()) return;
  active = outermost_ = true;
  set_aside();
}

SignalsAside::~SignalsAside() {
  if (!outermost_) return;
  active = false;
  {
    const ErrorAside aside;
    put_back();
  }
  if (error) error->restore();
  error.reset();
}

bool SignalsAside::raised() const {
  return outermost_ && error;
}

bool SignalsAside::handle() {
  if (!active || error || !is_main_thread()) return active && error;
  put_back();
  set_aside();
  return static_cast<bool>(error);
}

bool is_of_signal() {
  if (!PyErr_Occurred()) return false;
  const bool interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  bool found = interrupt && !is_raised_there(reinterpret_cast<PyTracebackObject*>(trace));
  std::vector<PyRef> codes;
  if (trace && !found) each_handler([&](int, PyObject* handler) { codes.push_back(code_of(handler)); });
  for (auto* at = reinterpret_cast<PyTracebackObject*>(trace); at && !found; at = at->tb_next) {
    const PyRef running(reinterpret_cast<PyObject*>(PyFrame_GetCode(at->tb_frame)));
    for (const PyRef& code : codes) found = found || (code && code.get() == running.get());
  }
  PyErr_Restore(type, value, trace);
  return found;
}

bool raise_soon() {
  auto taken = std::make_unique<torch_api::PendingError>();
  const auto raise = [](void* given) {
    const std::unique_ptr<torch_api::PendingError> kept(static_cast<torch_api::PendingError*>(given));
    kept->restore();
    return -1;
  };
  if (Py_AddPendingCall(raise, taken.get()) == 0) return static_cast<void>(taken.release()), true;
  taken->restore();
  return false;
}

}  // namespace vitrine::capture
