#include "core/torch_api/bridge.h"

#include <Python.h>
#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/base/large_memory.h"
#include "core/torch_api/api.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"
#include "core/torch_api/replaced.h"

namespace vitrine::torch_api {

namespace {

Api& mutable_api() {
  static Api api;
  return api;
}

void check(int code, const char* what) {
  if (code != 0) throw InternalError(std::string(what) + " failed: " + last_torch_error());
}

constexpr const char* kOtherPyTorch =
    "Use a PyTorch version that vitrine supports; models run as eager does until then.";

Status find_objects(Api& api) {
  if (!find(Name::torch))
    return Error{"PyTorch could not be imported: " + take_python_error(), "Check the Python environment."};
  if (const PyRef version = find(Name::torch_version)) {
    const PyRef text(PyObject_Str(version.get()));
    if (const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr) api.facts.torch_version = utf8;
  }
  PyErr_Clear();
  std::string missing;
  for (const std::string& name : missing_python_names()) missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    return Error{"PyTorch " + api.facts.torch_version + " or this Python lacks " + missing, kOtherPyTorch};
  api.torch = kept(Name::torch);
  api.tensor_type = kept(Name::Tensor);
  api.parameter_type = kept(Name::Parameter);
  api.ops = kept(Name::ops);
  api.dispatch_keys = kept(Name::dispatch_keys);
  api.forward_ad_globals = PyModule_GetDict(kept(Name::forward_ad));
  api.s_requires_grad = PyUnicode_InternFromString("requires_grad");
  api.s_current_level = PyUnicode_InternFromString("_current_level");
  return {};
}

// torch.autograd.graph.saved_tensors_hooks must show in the stack that the exported function returns.
bool find_saved_hooks(Api& api) {
  PyRef scope = PyRef::steal(PyDict_New());
  PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef made =
      PyRef::steal(PyRun_String("from torch.autograd.graph import saved_tensors_hooks\nh = "
                                "saved_tensors_hooks(lambda x: x, lambda x: x)",
                                Py_file_input, scope.get(), scope.get()));
  PyObject* hooks = made ? PyDict_GetItemString(scope.get(), "h") : nullptr;
  if (!hooks) return false;
  // A std::deque: equal begin and end positions (words 2 and 6 of libstdc++'s) when it is empty.
  auto equal = [&] {
    void** words = api.symbols.saved_hooks();
    return words[2] == words[6];
  };
  const bool before = equal();
  if (!PyRef::steal(PyObject_CallMethod(hooks, "__enter__", nullptr))) return false;
  const bool inside = equal();
  if (!PyRef::steal(PyObject_CallMethod(hooks, "__exit__", "OOO", Py_None, Py_None, Py_None))) return false;
  if (!before || inside || !equal()) return false;
  api.saved_hooks_begin = 2;
  api.saved_hooks_end = 6;
  return true;
}

bool find_plain_keys(Api& api) {
  PyRef scope = PyRef::steal(PyDict_New());
  PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef made =
      PyRef::steal(PyRun_String("import torch\n"
                                "with torch.inference_mode(False): plain = torch.empty(1, device='cpu')\n"
                                "with torch.inference_mode(): inference = torch.empty(1, device='cpu')\n",
                                Py_file_input, scope.get(), scope.get()));
  if (!made) return false;
  api.plain_keys = dispatch_keys(handle_of(PyDict_GetItemString(scope.get(), "plain")));
  api.inference_keys = dispatch_keys(handle_of(PyDict_GetItemString(scope.get(), "inference")));
  return api.plain_keys != 0 && api.inference_keys != 0;
}

// A CUDA tensor's keys differ from a CPU tensor's by what PyTorch names after the device.
bool find_cuda_keys(Api& api) {
  PyRef scope = PyRef::steal(PyDict_New());
  PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef made =
      PyRef::steal(PyRun_String("from torch._C import DispatchKey as K, DispatchKeySet as S\n"
                                "cpu = S(K.CPU).raw_repr() | S(K.AutocastCPU).raw_repr()\n"
                                "cuda = S(K.CUDA).raw_repr() | S(K.AutocastCUDA).raw_repr()\n",
                                Py_file_input, scope.get(), scope.get()));
  if (!made) return false;
  auto word = [&](const char* key) {
    return PyLong_AsUnsignedLongLongMask(PyDict_GetItemString(scope.get(), key));
  };
  const uint64_t cpu = word("cpu"), cuda = word("cuda");
  if (!cpu || !cuda || (api.plain_keys & cpu) != cpu) return false;
  api.cuda_keys = (api.plain_keys & ~cpu) | cuda;
  api.cuda_inference_keys = (api.inference_keys & ~cpu) | cuda;
  return true;
}

// One chunk, which the caller's thread does: more would start PyTorch's threads, and a process that is forked
// later would wait for those that it does not have.
void test_parallel(Api& api) {
  struct Sum {
    int64_t parts[64] = {};
  } sum;
  auto add = [](int64_t begin, int64_t end, void* context) {
    auto* out = static_cast<Sum*>(context);
    for (int64_t i = begin; i < end; ++i) out->parts[i] = i;
  };
  uint32_t threads = 0;
  bool ok = api.symbols.parallel_for && api.symbols.get_num_threads &&
            !api.symbols.get_num_threads(&threads) && threads > 0 &&
            !api.symbols.parallel_for(0, 64, 64, add, &sum);
  for (int64_t i = 0; i < 64; ++i) ok = ok && sum.parts[i] == i;
  if (!ok) api.symbols.parallel_for = nullptr;
  api.facts.self_tests.emplace_back("parallel loop", ok ? "ok" : "not found: kernels run on one thread");
}

ir::Dims dims(const int64_t* values, int64_t n) {
  return ir::Dims(values, values + n);
}

}  // namespace

const Api& api() {
  return mutable_api();
}

std::string last_torch_error() {
  const char* text = api().symbols.error_text ? api().symbols.error_text() : nullptr;
  return text ? text : "PyTorch reported an error";
}

Status find_pytorch() {
  Api& api = mutable_api();
  if (api.torch) return {};
  api.facts = {};
  if (Status error = find_objects(api)) return error;
  Result<Symbols> symbols = load_symbols();
  if (!symbols) {
    api.torch = nullptr;
    return symbols.error();
  }
  api.symbols = symbols.take();
  keep_own_functions();
  return {};
}

namespace {

Status probe(std::span<const SelfTest> of_calls) {
  Api& api = mutable_api();
  if (api.facts.ready) return {};
  LayoutReport report = find_layout(api.symbols);
  api.layout = report.layout;
  api.facts.self_tests = std::move(report.tests);
  const bool hooks = find_saved_hooks(api);
  const bool keys = report.ready && find_plain_keys(api);
  const bool cuda = keys && report.layout.device_offset >= 0 && find_cuda_keys(api);
  if (!cuda) api.cuda_keys = api.cuda_inference_keys = 0;
  std::string error = take_python_error();
  api.facts.self_tests.emplace_back("fake tensors for CUDA",
                                    cuda ? "ok" : "not found: CUDA tensors run eagerly");
  api.facts.self_tests.emplace_back("saved tensor hooks", hooks ? "ok" : "not found " + error);
  test_parallel(api);
  if (report.ready)
    for (const SelfTest& test : of_calls) api.facts.self_tests.emplace_back(test.name, test.run());
  api.facts.ready = report.ready && hooks && keys;
  if (api.facts.ready) return {};
  std::string failed;
  for (const auto& [name, result] : api.facts.self_tests)
    if (result != "ok") failed += (failed.empty() ? "" : "; ") + name + ": " + result;
  return Error{"PyTorch " + api.facts.torch_version + " differs from what vitrine knows (" + failed + ")",
               kOtherPyTorch};
}

}  // namespace

Status init(std::span<const SelfTest> of_calls) {
  if (facts().ready) return {};
  if (Status error = find_pytorch()) return error;
  static std::mutex one_at_a_time;
  Status out;
  PyThreadState* const caller = PyEval_SaveThread();
  {
    const std::lock_guard lock(one_at_a_time);
    std::thread([&] {
      const PyGILState_STATE gil = PyGILState_Ensure();
      out = probe(of_calls);
      PyGILState_Release(gil);
    }).join();
  }
  PyEval_RestoreThread(caller);
  return out;
}

const Facts& facts() {
  return api().facts;
}

bool is_plain_tensor(PyObject* o) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  return type == api().tensor_type || type == api().parameter_type;
}

bool is_tensor(PyObject* o) {
  return is_plain_tensor(o) ||
         PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(api().tensor_type)) != 0;
}

Handle handle_of(PyObject* tensor) {
  return reinterpret_cast<void**>(tensor) + api().layout.handle_word;
}

PyObject* wrap(Handle owned) {
  const Symbols& s = api().symbols;
  PyObject* out = nullptr;
  try {
    out = s.wrap_move ? s.wrap_move(owned) : s.wrap_copy(owned);
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  s.delete_tensor(owned);
  return out;
}

namespace {

// Whether the fields of a tensor are what PyTorch's functions tell: no class answers in Python or by others.
bool tells_by_fields(const void* impl) {
  const Api& a = api();
  if (a.layout.dims_word < 0 || a.layout.dtype_offset < 0 || a.layout.device_offset < 0 ||
      a.layout.keys_word < 0 || a.layout.data_word < 0 || a.layout.offset_word < 0 || a.layout.numel_word < 0)
    return false;
  return a.has_plain_keys(field_at<uint64_t>(impl, 8 * a.layout.keys_word));
}

TensorView view_by_calls(Handle t) {
  const Symbols& s = api().symbols;
  TensorView v;
  int64_t *sizes = nullptr, *strides = nullptr;
  const int failed = s.get_dim(t, &v.ndim) | s.get_sizes(t, &sizes) | s.get_strides(t, &strides) |
                     s.get_storage_offset(t, &v.storage_offset) | s.get_dtype(t, &v.scalar_type) |
                     s.get_device_type(t, &v.device_type) | s.get_device_index(t, &v.device_index);
  check(failed, "reading a tensor's metadata");
  v.sizes = sizes;
  v.strides = strides;
  return v;
}

// nullptr: to be asked for. PyTorch may copy a storage before it gives an address, or refuse: three flags say
// so. An empty tensor has none.
char* data_by_fields(const void* impl) {
  const ObjectLayout& l = api().layout;
  const void* storage = word_at(impl, l.storage_word);
  if (!storage || field_at<int64_t>(impl, 8 * l.numel_word) == 0) return nullptr;
  for (int flag = l.data_guard_offset - 2; flag <= l.data_guard_offset; ++flag)
    if (field_at<char>(storage, flag) != 0) return nullptr;
  auto* begin = static_cast<char*>(word_at(storage, l.data_word));
  const int64_t offset = field_at<int64_t>(impl, 8 * l.offset_word);
  if (!begin || offset == 0) return begin;
  const ir::DType type = ir::dtype_from_scalar_type(field_at<uint16_t>(impl, l.dtype_offset));
  return type == ir::DType::other ? nullptr : begin + offset * ir::dtype_bytes(type);
}

}  // namespace

TensorView view(Handle t) {
  const void* impl = impl_of(t);
  const ObjectLayout& l = api().layout;
  if (!tells_by_fields(impl)) return view_by_calls(t);
  const auto* dims = static_cast<const int64_t*>(impl) + l.dims_word;
  if (dims[0] > ObjectLayout::kInlineDims) return view_by_calls(t);
  return {dims[0],
          dims + 1,
          dims + 1 + ObjectLayout::kInlineDims,
          field_at<int64_t>(impl, 8 * l.offset_word),
          field_at<uint16_t>(impl, l.dtype_offset),
          field_at<int8_t>(impl, l.device_offset),
          field_at<int8_t>(impl, l.device_offset + 1)};
}

void* data(Handle t) {
  if (const void* impl = impl_of(t); tells_by_fields(impl))
    if (char* found = data_by_fields(impl)) return found;
  void* out = nullptr;
  check(api().symbols.get_data_ptr(t, &out), "reading a tensor's address");
  return out;
}

uint64_t dispatch_keys(Handle t) {
  const ObjectLayout& layout = api().layout;
  if (layout.keys_word >= 0) return reinterpret_cast<uint64_t>(word_at(impl_of(t), layout.keys_word));
  void* copy = nullptr;
  check(api().symbols.new_handle(t, &copy), "copying a tensor handle");
  PyRef tensor = PyRef::steal(wrap(copy));
  PyRef keys = PyRef::steal(tensor ? PyObject_CallOneArg(api().dispatch_keys, tensor.get()) : nullptr);
  PyRef raw = PyRef::steal(keys ? PyObject_CallMethod(keys.get(), "raw_repr", nullptr) : nullptr);
  const uint64_t out = raw ? PyLong_AsUnsignedLongLongMask(raw.get()) : 0;
  PyErr_Clear();
  return out;
}

bool requires_grad(PyObject* tensor) {
  const ObjectLayout& layout = api().layout;
  if (layout.autograd_word >= 0) {
    auto* meta = static_cast<char*>(word_at(impl_of(handle_of(tensor)), layout.autograd_word));
    if (!meta) return false;
    if (meta[layout.requires_offset] != 0 || word_at(meta, layout.grad_fn_word) != nullptr) return true;
    if (!meta[layout.is_view_offset]) return false;
  }
  PyRef value = PyRef::steal(PyObject_GetAttr(tensor, api().s_requires_grad));
  PyErr_Clear();
  return value.get() == Py_True;
}

PyObject* number_tensor(double value) {
  Handle made = empty_strided(ir::TensorType::contiguous(ir::DType::f64, {}));
  *static_cast<double*>(data(made)) = value;
  return wrap(made);
}

NoGradScope::NoGradScope() : before_(api().symbols.grad_enabled()) {
  api().symbols.grad_set_enabled(false);
}

NoGradScope::~NoGradScope() {
  api().symbols.grad_set_enabled(before_);
}

namespace {

PyObject* below_autograd() {
  PyRef guard = call(Name::below_autograd);
  if (!guard) throw InternalError("no guard below autograd: " + take_python_error());
  return guard.release();
}

}  // namespace

GradModeAlone::GradModeAlone() : below_(below_autograd()), before_(api().symbols.grad_enabled()) {
  api().symbols.grad_set_enabled(true);
}

GradModeAlone::~GradModeAlone() {
  api().symbols.grad_set_enabled(before_);
  PendingError error;
  Py_DECREF(below_);
  error.restore();
}

bool is_leaf(PyObject* tensor) {
  const ObjectLayout& layout = api().layout;
  if (layout.autograd_word >= 0) {
    auto* meta = static_cast<char*>(word_at(impl_of(handle_of(tensor)), layout.autograd_word));
    if (!meta) return true;
    if (word_at(meta, layout.grad_fn_word) != nullptr) return false;
    if (!meta[layout.is_view_offset]) return true;  // a view's grad_fn may be made when it is asked for
  }
  static PyObject* const name = PyUnicode_InternFromString("is_leaf");
  PyRef value = PyRef::steal(PyObject_GetAttr(tensor, name));
  PyErr_Clear();
  return value.get() == Py_True;
}

// nullptr: an inference tensor has none.
static uint32_t* version_of(Handle t) {
  const ObjectLayout& layout = api().layout;
  auto* counter = static_cast<char*>(word_at(impl_of(t), layout.version_word));
  return counter ? reinterpret_cast<uint32_t*>(counter + layout.version_offset) : nullptr;
}

std::optional<uint32_t> version(Handle t) {
  const uint32_t* at = api().layout.version_word < 0 ? nullptr : version_of(t);
  if (!at) return std::nullopt;
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

bool bump_version(Handle t) {
  if (api().layout.version_word < 0) return false;
  if (uint32_t* version = version_of(t)) __atomic_fetch_add(version, 1, __ATOMIC_RELAXED);
  return true;
}

void set_version(Handle t, int32_t version) {
  if (api().layout.version_word < 0) return;
  if (uint32_t* at = version_of(t)) __atomic_store_n(at, static_cast<uint32_t>(version), __ATOMIC_RELAXED);
}

bool owns_storage_alone(Handle t) {
  const ObjectLayout& layout = api().layout;
  if (layout.owners_word < 0) return false;
  auto* counts = static_cast<uint64_t*>(storage_of(t)) + layout.owners_word;
  return __atomic_load_n(counts, __ATOMIC_ACQUIRE) == layout.sole_owner;
}

const void* storage_id(Handle t) {
  return storage_of(t);
}

ir::Device device_of(const TensorView& v) {
  if (v.device_type != kCudaDevice) return {};
  return {ir::Device::Type::cuda, static_cast<int8_t>(std::max(v.device_index, 0))};
}

ir::TensorType type_of(Handle t) {
  const TensorView v = view(t);
  return {ir::dtype_from_scalar_type(v.scalar_type), dims(v.sizes, v.ndim), dims(v.strides, v.ndim),
          v.storage_offset, device_of(v)};
}

ir::TensorType type_of(PyObject* tensor) {
  return type_of(handle_of(tensor));
}

Handle empty_strided(const ir::TensorType& type) {
  VITRINE_CHECK(type.offset == 0, "a new tensor starts at its storage's first element");
  void* out = nullptr;
  check(api().symbols.empty_strided(
            static_cast<int64_t>(type.sizes.size()), ir::NumberArray(type.sizes).data(),
            ir::NumberArray(type.strides).data(), ir::dtype_to_scalar_type(type.dtype),
            type.device.is_cuda() ? kCudaDevice : 0, type.device.is_cuda() ? type.device.index : -1, &out),
        "allocating a tensor");
  if (type.device.is_cpu() && type.bytes() >= kLargeMemory)
    want_large_pages(data(out), static_cast<size_t>(extent(type) * ir::dtype_bytes(type.dtype)));
  return out;
}

Handle as_strided(Handle base, const ir::TensorType& type) {
  int64_t offset = 0;
  check(api().symbols.get_storage_offset(base, &offset), "reading a tensor's offset");
  void* out = nullptr;
  check(api().symbols.reinterpret_tensor(base, static_cast<int64_t>(type.sizes.size()),
                                         ir::NumberArray(type.sizes).data(),
                                         ir::NumberArray(type.strides).data(), type.offset - offset, &out),
        "making a view");
  return out;
}

void* current_stream(int gpu) {
  using Ask = int (*)(int32_t, void**);
  static const Ask ask = [] {
    void* cuda = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    auto own = cuda ? reinterpret_cast<Ask>(dlsym(cuda, "aoti_torch_get_current_cuda_stream")) : nullptr;
    return own ? own : api().symbols.current_stream;
  }();
  void* stream = nullptr;
  if (ask && ask(gpu, &stream)) return nullptr;
  return stream;
}

void release(Handle owned) {
  api().symbols.delete_tensor(owned);
}

Result<OpCall> find_op(const std::string& qualified) {
  // PyTorch's own overloads live as long as the process. One of a library may be defined anew at any time,
  // which frees what stood under the name: it is looked up each time.
  static std::unordered_map<std::string, PyObject*> cache;
  if (auto it = cache.find(qualified); it != cache.end()) return OpCall{it->second};
  PyRef at = PyRef::borrow(api().ops);
  size_t begin = 0;
  while (at && begin <= qualified.size()) {
    const size_t end = std::min(qualified.find('.', begin), qualified.size());
    at = PyRef::steal(PyObject_GetAttrString(at.get(), qualified.substr(begin, end - begin).c_str()));
    begin = end + 1;
  }
  if (!at) {
    PyErr_Clear();
    return Error{"PyTorch has no operator " + qualified, ""};
  }
  if (qualified.rfind("aten.", 0) == 0 || qualified.rfind("prims.", 0) == 0)
    cache.emplace(qualified, at.get());
  return OpCall{at.release()};
}

void parallel_for(int64_t n, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* context) {
  if (n <= 0) return;
  if (!api().symbols.parallel_for) return fn(0, n, context);
  check(api().symbols.parallel_for(0, n, grain, fn, context), "a parallel loop");
}

int num_threads() {
  uint32_t n = 1;
  if (!api().symbols.parallel_for || api().symbols.get_num_threads(&n)) return 1;
  return static_cast<int>(n);
}

}  // namespace vitrine::torch_api
