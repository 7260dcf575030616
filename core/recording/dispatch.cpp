#include "core/recording/dispatch.h"

#include <utility>

#include "core/base/once.h"
#include "core/ir/each_integer.h"
#include "core/recording/lowering_state.h"
#include "core/recording/operator_call.h"
#include "core/torch_api/api.h"
#include "core/torch_api/border.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

namespace {

struct Mode {
  PyObject_HEAD DispatchState* state;
};

// What only computes with a conjugated tensor may have it in memory of its own. A backward pass does no more
// than that. Elsewhere the recording sees to it that nobody can tell.
PyRef conjugated(DispatchState& state, PyObject* args, PyObject* kwargs) {
  const Result<OpCall> physical = find_op("aten.conj_physical.default");
  const Overload* op = physical ? overload_of(physical.value().overload) : nullptr;
  if (!op) throw Raised{};
  Recording& r = state.recording;
  const int of = state.in_backward ? -1 : r.find(PyTuple_GET_ITEM(args, 0));
  if (of >= 0 && r.at(of).type.numel() != extent(r.at(of).type))
    stop("unsupported_operator", "aten._conj.default of a tensor with gaps");
  PyRef out = OperatorCall(r, *op, args, kwargs).run();
  if (of >= 0) r.note_conjugated(r.find(out.get()), of);
  return out;
}

// Autograd's keys take composite operators apart on their way here, except in inference mode, where nothing
// stands before this mode: there the operator's own kernel does, under the mode again.
PyObject* taken_apart(PyObject* mode, const Overload& op, PyObject* args, PyObject* kwargs) {
  const ModeGuard again(mode);
  return again.active() ? PyObject_Call(op.composite, args, kwargs) : nullptr;
}

// Whether it is no operator but a question of PyTorch's own code, which 2.11 brings here: how large a tensor
// is.
bool asks_for_numbers(PyObject* func) {
  const PendingError error;
  const PyRef name = PyRef::steal(PyObject_CallMethod(func, "name", nullptr));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  constexpr std::string_view kQuestions[] = {"aten::size", "aten::stride", "aten::numel",
                                             "aten::storage_offset", "aten::is_contiguous"};
  const bool asks = text && std::ranges::find(kQuestions, text) != std::end(kQuestions);
  PyErr_Clear();
  return asks;
}

PyObject* answer(PyObject* mode, PyObject* func, PyObject* args, PyObject* kwargs) {
  DispatchState& state = *reinterpret_cast<Mode*>(mode)->state;
  if (state.answer) return std::exchange(state.answer, PyRef()).release();
  if (state.stopped) return PyErr_Format(PyExc_RuntimeError, "%s", state.stopped->reason.c_str());
  try {
    const Overload* op = overload_of(func);
    if (!op && state.recording.symbols && asks_for_numbers(func))
      PyErr_SetString(PyExc_RuntimeError, "numbers are asked of a tensor with symbolic sizes/strides");
    if (!op) return nullptr;
    if (op->composite && api().symbols.inference_enabled()) return taken_apart(mode, *op, args, kwargs);
    if (op->name == "aten._conj.default") return conjugated(state, args, kwargs).release();
    return OperatorCall(state.recording, *op, args, kwargs).run().release();
  } catch (const Raised&) {
    return nullptr;
  } catch (const Stop& reason) {
    state.stopped = reason.why;
  } catch (const std::exception& error) {
    state.stopped = Unsupported{"unsupported_operator", error.what(), ""};
  }
  PyErr_SetString(PyExc_RuntimeError, state.stopped->reason.c_str());
  return nullptr;
}

// __torch_dispatch__(func, types, args=(), kwargs=None)
PyObject* torch_dispatch(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count < 2)
    return PyErr_Format(PyExc_TypeError, "__torch_dispatch__ takes an operator and its arguments");
  PyObject* positional = count > 2 ? args[2] : nullptr;
  PyObject* kwargs = count > 3 && args[3] != Py_None ? args[3] : nullptr;
  PyRef empty = positional ? PyRef() : PyRef::steal(PyTuple_New(0));
  return answer(self, args[0], positional ? positional : empty.get(), kwargs);
}

PyMethodDef kModeMethods[] = {
    {"__torch_dispatch__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(border<torch_dispatch>)),
     METH_FASTCALL, "Records one operator."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* mode_type() {
  static constinit Once<PyTypeObject*> kept;
  return kept.get([] {
    static PyType_Slot slots[] = {{Py_tp_methods, kModeMethods}, {0, nullptr}};
    static PyType_Spec spec = {"vitrine._engine.RecordingMode", sizeof(Mode), 0, Py_TPFLAGS_DEFAULT, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  });
}

}  // namespace

PyObject* new_mode(DispatchState* state) {
  PyTypeObject* type = mode_type();
  auto* mode = type ? reinterpret_cast<Mode*>(type->tp_alloc(type, 0)) : nullptr;
  if (mode) mode->state = state;
  return reinterpret_cast<PyObject*>(mode);
}

}  // namespace vitrine::torch_api
