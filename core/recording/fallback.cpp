#include "core/recording/fallback.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>

#include "core/ops/unlisted.h"
#include "core/recording/replay.h"
#include "core/torch_api/api.h"
#include "core/torch_api/errors_aside.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// Running on zeros costs what the operator costs: above this, meta kernels are asked.
constexpr int64_t kZerosLimit = int64_t{32} << 20;  // bytes, all arguments

// Of what rejects zeros meta kernels are asked. For any other such operator the error passes for the user's,
// the graph ends there, and eager runs it as it should. Only PyTorch's own kernels: another's may have
// effects, or shapes that depend on data.
bool takes_zeros(const Overload& op) {
  return op.aten && !ops::unlisted::rejects_zeros(op.name);
}

using MakeTensor = std::function<PyRef(const ir::TensorType&)>;

// A copy of the value with every tensor replaced, in order.
PyRef replace(PyObject* value, const std::vector<const ir::TensorType*>& types, size_t& next,
              const MakeTensor& make) {
  if (is_tensor(value)) return make(*types.at(next++));
  if (PyTuple_Check(value) || PyList_Check(value)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    PyRef out = PyRef::steal(PyList_New(n));
    for (Py_ssize_t i = 0; out && i < n; ++i)
      PyList_SET_ITEM(out.get(), i, replace(PySequence_Fast_GET_ITEM(value, i), types, next, make).release());
    return out;
  }
  return PyRef::borrow(value);
}

struct FakeCall {
  PyRef args, kwargs;
  std::vector<PyRef> tensors;                                        // all that were made
  std::vector<std::pair<PyObject*, const ir::TensorType*>> written;  // of these
};

FakeCall build(const Overload& op, const std::vector<FallbackArg>& args, bool meta) {
  FakeCall call{PyRef::steal(PyList_New(0)), PyRef::steal(PyDict_New()), {}, {}};
  const MakeTensor make = [&](const ir::TensorType& t) {
    call.tensors.push_back(PyRef::steal(wrap(meta ? meta_like_type(t) : zeros_like_type(t))));
    return call.tensors.back();
  };
  for (size_t i = 0; i < op.params.size(); ++i) {
    const OverloadParam& p = op.params[i];
    size_t next = 0;
    const size_t made = call.tensors.size();
    PyRef value = replace(args[i].object, args[i].tensors, next, make);
    if (meta && p.name == "device") value = PyRef::steal(PyUnicode_FromString("meta"));
    for (size_t t = 0; p.written && t < args[i].tensors.size(); ++t)
      call.written.emplace_back(call.tensors[made + t].get(), args[i].tensors[t]);
    if (p.keyword_only)
      PyDict_SetItem(call.kwargs.get(), p.py_name, value.get());
    else
      PyList_Append(call.args.get(), value.get());
  }
  call.args = PyRef::steal(PyList_AsTuple(call.args.get()));
  return call;
}

FallbackResult run(const Overload& op, const FakeCall& call) {
  FallbackResult out;
  out.value = PyRef::steal(PyObject_Call(op.object, call.args.get(), call.kwargs.get()));
  if (!out.value) return out;
  for (const auto& [tensor, type] : call.written) out.resized |= type_of(tensor).sizes != type->sizes;
  if (op.writes) return out;
  std::vector<int> path;
  each_leaf(out.value.get(), path, [&](PyObject* result, const std::vector<int>&) {
    for (const PyRef& t : call.tensors)
      out.aliased |= storage_id(handle_of(t.get())) == storage_id(handle_of(result));
  });
  return out;
}

FallbackResult with_zeros(const Overload& op, const std::vector<FallbackArg>& args, ir::Device device) {
  const ErrorsAside errors;
  const FakeCall fake = build(op, args, false);
  if (!op.random) return run(op, fake);
  // The user's random numbers stay where they were.
  const bool cuda = device.is_cuda();
  const PyRef state = call(cuda ? Name::cuda_get_rng_state : Name::get_rng_state);
  FallbackResult out = run(op, fake);
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (state) call(cuda ? Name::cuda_set_rng_state : Name::set_rng_state, "O", state.get());
  PyErr_Restore(type, value, trace);
  return out;
}

// Where the call computes: as its `device` argument says, else with its tensors.
ir::Device device_of_call(const Overload& op, const std::vector<FallbackArg>& args) {
  ir::Device out;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].name == "device" && args[i].object != Py_None) {
      PyRef text = PyRef::steal(PyObject_Str(args[i].object));
      const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
      return ir::device_from_text(utf8 ? utf8 : "").value_or(ir::Device{});
    }
    for (const ir::TensorType* t : args[i].tensors)
      if (out.is_cpu()) out = t->device;
  }
  return out;
}

}  // namespace

FallbackResult run_for_types(const Overload& op, const std::vector<FallbackArg>& args) {
  int64_t bytes = 0, tensors = 0;
  for (const FallbackArg& a : args)
    for (const ir::TensorType* t : a.tensors) bytes += extent(*t) * ir::dtype_bytes(t->dtype), ++tensors;
  // An error is the user's: meta kernels accept some calls that eager does not, so they are no second
  // opinion.
  const ir::Device device = device_of_call(op, args);
  const bool can_run = device.is_cpu() || gpu_is_here();
  if (takes_zeros(op) && tensors > 0 && bytes <= kZerosLimit && can_run) return with_zeros(op, args, device);
  FallbackResult out = run(op, build(op, args, true));
  out.device = device;
  return out;
}

bool take_together(const Overload& op, const std::vector<FallbackArg>& args) {
  if (!gpu_is_here()) return true;
  std::deque<ir::TensorType> small;
  std::vector<FallbackArg> tried = args;
  for (FallbackArg& a : tried)
    for (const ir::TensorType*& t : a.tensors) {
      small.push_back(ir::TensorType::contiguous(t->dtype, ir::Dims(t->sizes.size(), 1)));
      small.back().device = t->device;
      t = &small.back();
    }
  return with_zeros(op, tried, device_of_call(op, args)).value.get();
}

}  // namespace vitrine::torch_api
