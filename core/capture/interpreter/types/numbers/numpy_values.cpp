// NumPy's numbers: what NumPy's functions give for constants is a constant again. Arrays: arrays.cpp.
#include "core/capture/interpreter/types/numbers/numpy_values.h"
#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Done when the segment is compiled, so without the warning that NumPy would give each time.
Value* fold_quietly(Tracer& t, PyObject* callable, PyObject* positional, PyObject* keyword) {
  static constinit Once<PyObject*> kept_caller;
  PyObject* const caller =
      kept_caller.get([] { return find_object("vitrine._polyfills.library.without_numpy_warnings"); });
  PyRef result(PyObject_CallFunctionObjArgs(caller, callable, positional, keyword, nullptr));
  if (!result && PyErr_ExceptionMatches(PyExc_FloatingPointError)) {
    PyErr_Clear();
    stop("unsupported_builtin", "NumPy warns about the result of " + describe(t, t.pinned(callable)));
  }
  if (!result) t.raise_python();
  return t.fold(result.release());
}

Value* fold_call_of_numpy(Tracer& t, PyObject* callable, const Arguments& a) {
  if (Value* of_arrays = call_on_arrays(t, callable, a)) return of_arrays;
  const std::string name = "numpy." + describe(t, t.pinned(callable));
  const auto argument = [&](Value* v) {
    PyObject* o = constant_tree(t, v);
    PyErr_Clear();
    if (!o && has_tensor(t, v))
      stop("foreign_call", name + "() of a tensor", "Use torch's function of that name.");
    if (!o) stop("foreign_call", name + "() of a " + describe(t, v));
    return o;
  };
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()))), keyword(PyDict_New());
  for (size_t i = 0; i < a.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), argument(a.positional[i]));
  for (const auto& [key, value] : a.keyword) {
    PyRef o(argument(value));
    PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
  }
  return fold_quietly(t, callable, positional.get(), keyword.get());
}

bool is_number_type(PyTypeObject* type) {
  const TorchNames& torch = torch_names();
  return torch.numpy_number && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         (type == torch.numpy_bool || PyType_IsSubtype(type, torch.numpy_number));
}

// clang-format off
#define VITRINE_NUMPY(X) \
  X(prod) X(sum) X(mean) X(std) X(var) X(median) X(max) X(min) X(amax) X(amin) X(argmax) X(argmin) X(any) X(all) \
  X(round) X(around) X(clip) X(ndim) X(size) X(interp) X(isclose) X(allclose) X(array_equal) X(dot)
// clang-format on

constexpr BuiltinRow kRows[] = {
#define X(name)    \
  {"numpy." #name, \
   [](Tracer& t, const Arguments& a) { return fold_call_of_numpy(t, find_object("numpy." #name), a); }},
    VITRINE_NUMPY(X)
#undef X
};

}  // namespace

std::span<const BuiltinRow> numpy_builtins() {
  return kRows;
}

bool is_numpy_number(PyObject* o) {
  return is_number_type(Py_TYPE(o));
}

bool is_numpy_function(PyObject* o) {
  return Py_TYPE(o) == torch_names().numpy_ufunc || Py_TYPE(o) == torch_names().numpy_dispatcher;
}

Value* call_numpy(Tracer& t, PyObject* callable, const Arguments& a) {
  if (Value* of_arrays = call_on_arrays(t, callable, a)) return of_arrays;
  const bool makes_number =
      PyType_Check(callable) && is_number_type(reinterpret_cast<PyTypeObject*>(callable));
  if (!makes_number && Py_TYPE(callable) != torch_names().numpy_ufunc) return nullptr;
  return fold_call_of_numpy(t, callable, a);
}

Value* numpy_operator(Tracer& t, const std::string& name, PyObject* a, PyObject* b) {
  if (!is_numpy_number(a) && !(b && is_numpy_number(b))) return nullptr;
  PyRef positional(b ? PyTuple_Pack(2, a, b) : PyTuple_Pack(1, a)), keyword(PyDict_New());
  return fold_quietly(t, torch_names().operator_function(name), positional.get(), keyword.get());
}

// As PyTorch reads it: a number without NumPy's type. What makes a tensor of values looks at that type.
PyObject* without_numpy(PyObject* owned) {
  if (!is_numpy_number(owned)) return owned;
  PyRef hold(owned);
  if (Py_TYPE(owned) ==
      torch_names().numpy_bool)  // not what True does: an int64 tensor becomes a float32 one
    stop("unsupported_value", "one of NumPy's bools meets a tensor");
  return PyObject_CallMethod(owned, "item", nullptr);
}

}  // namespace vitrine::capture
