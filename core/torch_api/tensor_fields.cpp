#include "core/torch_api/tensor_fields.h"

#include "core/torch_api/api.h"

namespace vitrine::torch_api {

TensorFieldReader::TensorFieldReader() {
  const ObjectLayout& l = api().layout;
  known_ = l.handle_word >= 0 && l.keys_word >= 0 && l.dims_word >= 0 && l.dtype_offset >= 0 &&
           l.device_offset >= 0 && l.autograd_word >= 0;
  handle_ = 8 * l.handle_word;
  keys_ = 8 * l.keys_word;
  dims_ = 8 * l.dims_word;
  dtype_ = l.dtype_offset;
  device_ = l.device_offset;
  autograd_ = 8 * l.autograd_word;
  wanted_ = l.requires_offset;
  grad_fn_ = 8 * l.grad_fn_word;
  is_view_ = l.is_view_offset;
}

// As requires_grad() of bridge.h. Unknown: it depends on the tensor that this one views.
inline TensorFieldReader::Grad TensorFieldReader::requires_grad(const char* impl) const {
  const char* meta = field_at<const char*>(impl, autograd_);
  if (!meta) return Grad::No;
  if (meta[wanted_] != 0 || field_at<void*>(meta, grad_fn_)) return Grad::Yes;
  return meta[is_view_] ? Grad::Unknown : Grad::No;
}

// Element type; the device's type and index, and that there is one.
inline uint64_t TensorFieldReader::kind(const char* impl) const {
  return field_at<uint16_t>(impl, dtype_) | static_cast<uint64_t>(field_at<uint16_t>(impl, device_)) << 16 |
         static_cast<uint64_t>(field_at<uint8_t>(impl, device_ + 2)) << 32;
}

bool TensorFieldReader::equal(const TensorFields& fields, PyObject* tensor) const {
  if (Py_TYPE(tensor) != fields.type) return false;
  const char* impl = field_at<const char*>(tensor, handle_);
  if (field_at<uint64_t>(impl, keys_) != fields.keys || kind(impl) != fields.kind) return false;
  const auto* dims = reinterpret_cast<const int64_t*>(impl + dims_);
  int64_t differ = dims[0] ^ fields.dims[0];
  for (int i = 1; i < TensorFields::kDims; ++i) differ |= dims[i] ^ fields.dims[i];
  if (differ != 0) return false;
  return requires_grad(impl) == (fields.requires_grad ? Grad::Yes : Grad::No);
}

// A tensor of a class of its own, or with other keys, may answer in Python what its sizes are.
bool TensorFieldReader::read(PyObject* tensor, TensorFields& fields) const {
  if (!known_ || !is_plain_tensor(tensor)) return false;
  const char* impl = field_at<const char*>(tensor, handle_);
  fields.type = Py_TYPE(tensor);
  fields.keys = field_at<uint64_t>(impl, keys_);
  if (!api().has_plain_keys(fields.keys)) return false;
  fields.kind = kind(impl);
  std::memcpy(fields.dims, impl + dims_, sizeof fields.dims);
  if (fields.dims[0] > ObjectLayout::kInlineDims) return false;
  const Grad grad = requires_grad(impl);
  fields.requires_grad = grad == Grad::Yes;
  return grad != Grad::Unknown;
}

}  // namespace vitrine::torch_api
