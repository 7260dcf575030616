#include "core/recording/known_masks.h"

#include "core/passes/attention/known_mask.h"
#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {

// The parameters of attention that a mask goes with.
enum AttentionParameter : Py_ssize_t { kQuery = 0, kKey = 1, kMask = 3, kDropout = 4, kCausal = 5 };
constexpr const char* kNames[] = {"query",     "key",       "value", "attn_mask",
                                  "dropout_p", "is_causal", "scale", "enable_gqa"};

PyObject* given(PyObject* args, PyObject* kwargs, AttentionParameter which) {
  if (PyTuple_GET_SIZE(args) > which) return PyTuple_GET_ITEM(args, which);
  return kwargs ? PyDict_GetItemString(kwargs, kNames[which]) : nullptr;
}

// A draw on a GPU is each kernel's own.
bool may_draw(PyObject* dropout, const ir::Device& device) {
  if (!dropout || device.is_cpu()) return false;
  const double p = PyFloat_AsDouble(dropout);
  PyErr_Clear();
  return p != 0;
}

passes::KnownMask known(Recording& recording, PyObject* args, PyObject* kwargs) {
  using passes::KnownMask;
  PyObject *query = given(args, kwargs, kQuery), *key = given(args, kwargs, kKey),
           *mask = given(args, kwargs, kMask), *causal = given(args, kwargs, kCausal);
  if (!query || !key || !mask || !is_tensor(query) || !is_tensor(key) || !is_tensor(mask) ||
      (causal && causal != Py_False) || requires_grad(mask))
    return KnownMask::unknown;
  const int q = recording.find(query), k = recording.find(key), m = recording.find(mask);
  if (q < 0 || k < 0 || m < 0 || recording.storage_of_tensor(m).input) return KnownMask::unknown;
  const ir::TensorType& type = recording.at(q).type;
  if (may_draw(given(args, kwargs, kDropout), type.device)) return KnownMask::unknown;
  passes::IndexValues values([&](ir::NodeId id) { return recording.node(id); },
                             [&](ir::NodeId id) { return recording.may_be_written(id); });
  return passes::known_mask(values, recording.at(m).aten, type, recording.at(k).type);
}

}  // namespace

AttentionCall without_known_mask(Recording& recording, PyObject* args, PyObject* kwargs) {
  const passes::KnownMask mask = known(recording, args, kwargs);
  if (mask == passes::KnownMask::unknown)
    return {PyRef::borrow(args), kwargs ? PyRef::borrow(kwargs) : PyRef()};
  AttentionCall out{PyRef::steal(PyTuple_GetSlice(args, 0, kMask)),
                    PyRef::steal(kwargs ? PyDict_Copy(kwargs) : PyDict_New())};
  PyObject* kw = out.kwargs.get();
  for (Py_ssize_t i = kMask; i < PyTuple_GET_SIZE(args); ++i)
    PyDict_SetItemString(kw, kNames[i], PyTuple_GET_ITEM(args, i));
  PyDict_SetItemString(kw, "attn_mask", Py_None);
  if (mask == passes::KnownMask::causal) PyDict_SetItemString(kw, "is_causal", Py_True);
  return out;
}

}  // namespace vitrine::torch_api
