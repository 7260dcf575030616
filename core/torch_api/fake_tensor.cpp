#include "core/torch_api/fake_tensor.h"

#include <sys/mman.h>

#include <cstring>

#include "core/base/once.h"
#include "core/torch_api/api.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// Every fake tensor points into one reserved range that nobody may touch: should some code get past PyTorch's
// own check, it stops at once instead of computing with rubbish.
void* reserved_range() {
  static void* const range = [] {
    for (size_t size : {size_t{1} << 40, size_t{1} << 34, size_t{4096}}) {
      void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at != MAP_FAILED) return at;
    }
    throw InternalError("no address range for fake tensors");
  }();
  return range;
}

Handle guarded(const ir::Dims& sizes, const ir::Dims& strides, int64_t offset, ir::DType dtype,
               ir::Device device) {
  const int scalar_type = ir::dtype_to_scalar_type(dtype);
  VITRINE_CHECK(scalar_type >= 0, "a fake tensor of an unknown element type");
  void* out = nullptr;
  if (api().symbols.from_blob(reserved_range(), static_cast<int64_t>(sizes.size()),
                              ir::NumberArray(sizes).data(), ir::NumberArray(strides).data(), offset,
                              scalar_type, 0, -1, &out))
    throw InternalError("making a fake tensor failed: " + last_torch_error());
  auto* storage = static_cast<unsigned char*>(storage_of(out));
  const int guard = api().layout.data_guard_offset;
  storage[guard] = 1;      // every access raises
  storage[guard - 2] = 1;  // writes look at the first flag
  if (device.is_cuda()) place_on(out, device);
  return out;
}

Handle allocate(const ir::TensorType& type, int32_t device_type, int32_t index = -1) {
  void* out = nullptr;
  if (api().symbols.empty_strided(static_cast<int64_t>(type.sizes.size()), ir::NumberArray(type.sizes).data(),
                                  ir::NumberArray(type.strides).data(), ir::dtype_to_scalar_type(type.dtype),
                                  device_type, index, &out))
    throw InternalError("allocating a tensor failed: " + last_torch_error());
  return out;
}

}  // namespace

ir::Sym extent(const ir::TensorType& type) {
  ir::Sym last = 0;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    if (type.sizes[i] == 0) return 0;
    last += (type.sizes[i] - 1) * type.strides[i];
  }
  return last + 1;
}

void place_on(Handle tensor, ir::Device device) {
  const ObjectLayout& layout = api().layout;
  VITRINE_CHECK(layout.device_offset >= 0 && layout.keys_word >= 0 && api().cuda_keys,
                "a fake tensor for a GPU tensor");
  auto* impl = static_cast<unsigned char*>(impl_of(tensor));
  auto* storage = static_cast<unsigned char*>(storage_of(tensor));
  for (unsigned char* at : {impl + layout.device_offset, storage + layout.storage_device_offset}) {
    at[0] = device.is_cuda() ? kCudaDevice : 0;
    at[1] = device.is_cuda() ? static_cast<unsigned char>(device.index) : 0xff;
  }
  const uint64_t keys = dispatch_keys(tensor);
  const bool inference = keys == api().inference_keys || keys == api().cuda_inference_keys;
  const uint64_t cpu = inference ? api().inference_keys : api().plain_keys;
  const uint64_t cuda = inference ? api().cuda_inference_keys : api().cuda_keys;
  reinterpret_cast<uint64_t*>(impl)[layout.keys_word] = device.is_cuda() ? cuda : cpu;
}

Handle fake_tensor(const ir::TensorType& type) {
  return guarded(type.sizes, type.strides, type.offset, type.dtype, type.device);
}

Handle fake_storage(ir::DType dtype, int64_t bytes, ir::Device device) {
  const int64_t size = ir::dtype_bytes(dtype);
  return guarded({(bytes + size - 1) / size}, {1}, 0, dtype, device);
}

Handle zeros_like_type(const ir::TensorType& type) {
  ir::TensorType flat = ir::TensorType::contiguous(type.dtype, {extent(type)});
  Handle memory = nullptr;
  if (type.device.is_cuda()) {
    memory = allocate(flat, kCudaDevice, type.device.index);
    if (api().symbols.zero && api().symbols.zero(memory)) throw InternalError(last_torch_error());
  } else {
    memory = allocate(flat, 0);
    if (flat.sizes[0] > 0) std::memset(data(memory), 0, static_cast<size_t>(flat.bytes()));
  }
  ir::TensorType at_start = type;
  at_start.offset = 0;
  Handle out = as_strided(memory, at_start);
  release(memory);
  return out;
}

Handle meta_like_type(const ir::TensorType& type) {
  constexpr int32_t kMeta = 14;  // c10::DeviceType::Meta
  return allocate(type, kMeta);
}

bool is_missing_memory(const std::string& error) {
  return error.find("data pointer of Storage") != std::string::npos ||
         error.find("data pointer of Tensor") != std::string::npos;
}

bool gpu_is_here() {
  static constinit Once<bool> here;
  return here.get([] {
    const PyRef yes = call(Name::cuda_is_available);
    PyErr_Clear();
    return yes.get() == Py_True;
  });
}

}  // namespace vitrine::torch_api
