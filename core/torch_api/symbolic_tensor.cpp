#include "core/torch_api/symbolic_tensor.h"

#include <algorithm>
#include <numeric>

#include "core/base/once.h"
#include "core/torch_api/api.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/sym_node.h"

namespace vitrine::torch_api {

namespace {

PyObject* overload(const char* name) {
  const Result<OpCall> found = find_op(name);
  if (!found) throw InternalError("PyTorch lacks " + std::string(name));
  return found.value().overload;
}

PyRef needed(PyObject* made, const char* what) {
  if (!made)
    throw InternalError(std::string(what) + " of sizes that are expressions: " + take_python_error());
  return PyRef::steal(made);
}

uint64_t& keys_of(PyObject* tensor) {
  return static_cast<uint64_t*>(impl_of(handle_of(tensor)))[api().layout.keys_word];
}

// The keys of a tensor on the meta device.
uint64_t meta_keys() {
  static constinit Once<uint64_t> kept;
  return kept.get([] {
    const PyRef plain = PyRef::steal(wrap(meta_like_type(ir::TensorType::contiguous(ir::DType::f32, {2}))));
    return dispatch_keys(handle_of(plain.get()));
  });
}

// What the tensor holds is nobody's to touch, as of any fake tensor.
void guard(PyObject* tensor) {
  auto* storage = static_cast<unsigned char*>(storage_of(handle_of(tensor)));
  const int flag = api().layout.data_guard_offset;
  storage[flag] = 1;
  storage[flag - 2] = 1;
}

ir::Dims dims_of(PyObject* tuple) {
  ir::Dims out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const auto value = sym_of(PyTuple_GET_ITEM(tuple, i));
    VITRINE_CHECK(value.has_value(), "a size that is no expression of this recording");
    out.push_back(*value);
  }
  return out;
}

}  // namespace

std::optional<ir::Dims> dense_strides(const ir::TensorType& type) {
  std::vector<size_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto stride = [&](size_t d) { return type.strides[d].hint(); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return stride(a) != stride(b) ? stride(a) < stride(b) : a > b;
  });
  ir::Dims out = type.strides;
  ir::Sym next = 1;
  for (size_t d : order) {
    if (next.hint() != stride(d)) return {};
    out[d] = next;
    next *= type.sizes[d];
  }
  return out;
}

ir::Dims strides_by_sizes(const ir::TensorType& type) {
  return dense_strides(type).value_or(type.strides);
}

// A part of memory of its own, which ends with its last element.
static PyRef behind_an_offset(const ir::TensorType& type) {
  ir::Sym extent = type.offset + 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) extent += (type.sizes[d] - 1) * type.strides[d];
  ir::TensorType all = ir::TensorType::contiguous(type.dtype, {extent});
  all.device = type.device;
  const PyRef memory = symbolic_tensor(all);
  return symbolic_view(memory.get(), type);
}

PyRef symbolic_tensor(const ir::TensorType& type) {
  if (type.offset.symbolic() || type.offset.hint() != 0) return behind_an_offset(type);
  VITRINE_CHECK(api().layout.keys_word >= 0 && api().layout.device_offset >= 0,
                "tensors of expressions need the layout of PyTorch's");
  const PyRef sizes = needed(sym_tuple(type.sizes), "sizes"),
              strides = needed(sym_tuple(type.strides), "strides");
  const PyRef kwargs = needed(PyDict_New(), "a tensor");
  const PyRef dtype =
      needed(PyObject_GetAttrString(api().torch, ir::dtype_torch_name(type.dtype).data()), "a type");
  const PyRef device = needed(PyUnicode_FromString("meta"), "a device");
  const PyRef args = needed(PyTuple_Pack(2, sizes.get(), strides.get()), "a tensor");
  if (PyDict_SetItemString(kwargs.get(), "dtype", dtype.get()) < 0 ||
      PyDict_SetItemString(kwargs.get(), "device", device.get()) < 0)
    throw InternalError(take_python_error());
  PyRef out =
      needed(PyObject_Call(overload("aten.empty_strided.default"), args.get(), kwargs.get()), "a tensor");
  place_on(handle_of(out.get()), type.device);
  guard(out.get());
  return out;
}

// What the operator gives for a tensor on the meta device.
template <class... Rest>
static PyRef on_meta(PyObject* op, PyObject* base, Rest... rest) {
  const uint64_t keys = keys_of(base);
  keys_of(base) = meta_keys();
  PyObject* made = PyObject_CallFunctionObjArgs(op, base, rest..., nullptr);
  keys_of(base) = keys;
  return needed(made, "a view");
}

// By aten.as_strided or aten.as_strided_.
static PyRef strided(const char* op, PyObject* base, const ir::TensorType& type) {
  const PyRef sizes = needed(sym_tuple(type.sizes), "sizes"),
              strides = needed(sym_tuple(type.strides), "strides"),
              offset = needed(sym_int(type.offset), "an offset");
  return on_meta(overload(op), base, sizes.get(), strides.get(), offset.get());
}

PyRef symbolic_view(PyObject* base, const ir::TensorType& type) {
  PyRef out = strided("aten.as_strided.default", base, type);
  keys_of(out.get()) = keys_of(base);
  return out;
}

PyRef symbolic_view_by(PyObject* op, PyObject* base) {
  PyRef out = on_meta(op, base);
  keys_of(out.get()) = keys_of(base);
  return out;
}

void symbolic_reshape(PyObject* tensor, const ir::TensorType& type) {
  strided("aten.as_strided_.default", tensor, type);
}

ir::TensorType symbolic_type(PyObject* tensor) {
  const PyRef sizes = needed(PyObject_GetAttrString(tensor, "shape"), "sizes"),
              strides = needed(PyObject_CallMethod(tensor, "stride", nullptr), "strides"),
              offset = needed(PyObject_CallMethod(tensor, "storage_offset", nullptr), "an offset");
  TensorView v;
  const Handle handle = handle_of(tensor);
  const Symbols& s = api().symbols;
  if (s.get_dtype(handle, &v.scalar_type) || s.get_device_type(handle, &v.device_type) ||
      s.get_device_index(handle, &v.device_index))
    throw InternalError(last_torch_error());
  const auto at = sym_of(offset.get());
  VITRINE_CHECK(at.has_value(), "an offset that is no expression of this recording");
  return {ir::dtype_from_scalar_type(v.scalar_type), dims_of(sizes.get()), dims_of(strides.get()), *at,
          device_of(v)};
}

}  // namespace vitrine::torch_api
