// `with torch.device(...)` in the traced program. PyTorch keeps the device as a function mode, which gives
// the functions that make tensors their `device`. Here they get it when they are called, so that the
// recording says it and no mode has to be on while it runs. What begins in the segment and is open at its end
// is entered for real then; the next one has it as the process's own.
#include "core/capture/interpreter/library/default_devices.h"
#include "core/base/once.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/default_device.h"
#include "core/torch_api/python_names.h"

namespace vitrine::capture {
namespace {

bool is_function(PyObject* o) {
  return PyCFunction_Check(o) || PyFunction_Check(o);
}

// Those that the mode gives a device. PyTorch imports that module when it enters a device for the first time.
bool makes_tensors(Tracer& t, PyObject* function) {
  static constinit Once<PyObject*> kept_makers;
  PyObject* const makers =
      kept_makers.get([] { return torch_api::call(torch_api::Name::device_constructors).release(); });
  if (!makers) t.raise_python();
  const int found = PySet_Contains(makers, function);
  if (found < 0) t.raise_python();
  return found == 1;
}

// The array functions of NumPy's that are written with PyTorch's: those know no default device.
bool is_our_own(const VirtualFrame& frame) {
  PyObject* module = PyDict_GetItemString(frame.globals, "__name__");
  return module && text_of(module).starts_with("vitrine.");
}

}  // namespace

bool in_default_device(const Tracer& t) {
  return !t.modes.default_devices.empty();
}

// What `with` keeps of it, and what it gives: the method that ends it, and the device.
std::pair<Value*, Value*> enter_default_device(Tracer& t, Value* device) {
  if (t.pure.since >= 0 || t.pure.differentiated)
    stop("context_manager", "with " + describe(t, device) + " in what PyTorch runs again");
  // A mode is told a method's name, and calls what stands there now: a replacement comes to itself once more.
  if (torch_api::global_state().replaced != 0)
    stop("context_manager", "with " + describe(t, device) + " while a function of PyTorch's is replaced");
  Value* leave = t.pinned(t.keep(PyObject_GetAttrString(device->obj, "__exit__")));
  t.modes.default_devices.push_back(device->obj);
  return {leave, device};
}

// device.__exit__(...): whatever was entered last ends. nullptr: another function.
Value* leave_default_device(Tracer& t, PyObject* function) {
  PyObject* self = PyCFunction_Check(function) ? PyCFunction_GET_SELF(function) : nullptr;
  if (!self || Py_TYPE(self) != torch_names().device || t.modes.default_devices.empty() ||
      std::string_view(reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name) != "__exit__")
    return nullptr;
  t.modes.default_devices.pop_back();
  return t.none();
}

void give_default_device(Tracer& t, PyObject* function, Arguments& a) {
  if (t.modes.default_devices.empty() || !is_function(function) || is_our_own(t.frame())) return;
  static constinit Once<PyObject*> kept_question;
  if (function == kept_question.get([] { return find_object("torch.get_default_device"); }))
    stop("context_manager", "torch.get_default_device() under a device of the program's");
  if (!makes_tensors(t, function)) return;
  if (t.pure.since >= 0 || t.pure.differentiated)
    stop("context_manager", "a tensor is made under a default device in what PyTorch runs again");
  Value* device = t.constant(t.modes.default_devices.back());
  for (auto& [name, value] : a.keyword)
    if (name == "device") {
      if (is_none(t, value)) value = device;
      return;
    }
  a.keyword.emplace_back("device", device);
}

// A function of PyTorch's that is written in Python is recorded as one call. The mode is off inside of one
// that hands itself to it; in any other one it is on, and what that makes would have to get the device.
void check_under_default_device(Tracer& t, PyObject* function) {
  if (t.modes.default_devices.empty() || !PyFunction_Check(function)) return;
  PyObject* names = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "handle_torch_function") == 0) return;
  // The recording runs it under the process's own default device.
  PyRef type(PyObject_GetAttrString(t.modes.default_devices.back(), "type"));
  const int32_t own = torch_api::global_state().default_device;
  const bool own_is_cpu =
      own == torch_api::kNoDefaultDevice || torch_api::default_device_text(own).starts_with("cpu");
  if (text_of(type.get()) != "cpu" || !own_is_cpu)
    stop("context_manager", "a function of PyTorch's that may make tensors runs under a default device");
}

std::vector<Effect> default_device_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  for (PyObject* device : t.modes.default_devices) {
    out.emplace_back();
    out.back().kind = Effect::Kind::Call;
    out.back().value = make.call(t.keep(PyObject_GetAttrString(device, "__enter__")), {});
  }
  return out;
}

}  // namespace vitrine::capture
