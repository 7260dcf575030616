#include "core/torch_api/library/cublaslt.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace vitrine::torch_api {

namespace {

using CublasStatus = int;  // cublasStatus_t: 0 = success

// X(member, type, exported name), as in cublasLt.h; descriptors are opaque pointers.
#define VITRINE_LT(X)                                                                                        \
  X(version, size_t (*)(), "cublasLtGetVersion")                                                             \
  X(status_text, const char* (*)(CublasStatus), "cublasLtGetStatusString")                                   \
  X(create, CublasStatus (*)(void**), "cublasLtCreate")                                                      \
  X(operation_create, CublasStatus (*)(void**, int, int), "cublasLtMatmulDescCreate")                        \
  X(operation_destroy, CublasStatus (*)(void*), "cublasLtMatmulDescDestroy")                                 \
  X(operation_set, CublasStatus (*)(void*, int, const void*, size_t), "cublasLtMatmulDescSetAttribute")      \
  X(layout_create, CublasStatus (*)(void**, int, uint64_t, uint64_t, int64_t), "cublasLtMatrixLayoutCreate") \
  X(layout_destroy, CublasStatus (*)(void*), "cublasLtMatrixLayoutDestroy")                                  \
  X(layout_set, CublasStatus (*)(void*, int, const void*, size_t), "cublasLtMatrixLayoutSetAttribute")       \
  X(preference_create, CublasStatus (*)(void**), "cublasLtMatmulPreferenceCreate")                           \
  X(preference_destroy, CublasStatus (*)(void*), "cublasLtMatmulPreferenceDestroy")                          \
  X(preference_set, CublasStatus (*)(void*, int, const void*, size_t),                                       \
    "cublasLtMatmulPreferenceSetAttribute")                                                                  \
  X(heuristic, CublasStatus (*)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*),          \
    "cublasLtMatmulAlgoGetHeuristic")                                                                        \
  X(check, CublasStatus (*)(void*, void*, void*, void*, void*, void*, const void*, void*),                   \
    "cublasLtMatmulAlgoCheck")                                                                               \
  X(matmul,                                                                                                  \
    CublasStatus (*)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,         \
                     const void*, void*, void*, void*, const void*, void*, size_t, void*),                   \
    "cublasLtMatmul")

struct Lt {
#define X(member, type, name) std::add_pointer_t<std::remove_pointer_t<type>> member = nullptr;
  VITRINE_LT(X)
#undef X
};

// nullptr: PyTorch has loaded none, or one without these functions.
const Lt* lt() {
  static const Lt* const kFound = []() -> const Lt* {
    void* open = nullptr;
    for (const char* name : {"libcublasLt.so.14", "libcublasLt.so.13", "libcublasLt.so.12"})
      if (!open) open = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (!open) return nullptr;
    static Lt found;
    bool all = true;
    auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(open, name));
      all = all && function;
    };
#define X(member, type, name) look_up(found.member, name);
    VITRINE_LT(X)
#undef X
    return all ? &found : nullptr;
  }();
  return kFound;
}

// Words of cublasLt.h, library_types.h and cublas_api.h.
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;  // of an operation
constexpr int kBatchCount = 5, kBatchOffset = 6;                                  // of a layout
constexpr int kWorkspaceLimit = 1, kReductions = 3, kAlignment = 5;  // of a preference; A, B, C, D
constexpr uint32_t kReduceInPlace = 1, kReduceInComputeType = 2;
constexpr int kComputeF32 = 68, kComputeTf32 = 77;

int data_type(ir::DType dtype) {
  return dtype == ir::DType::f16 ? 2 : dtype == ir::DType::bf16 ? 14 : 0;
}
int epilogue_word(LtEpilogue epilogue) {
  switch (epilogue) {
    case LtEpilogue::bias:
      return 4;
    case LtEpilogue::relu_bias:
      return 6;
    case LtEpilogue::gelu_bias:
      return 36;
    case LtEpilogue::none:
      break;
  }
  return 1;
}

std::string words(CublasStatus code) {
  return std::string("cuBLASLt: ") + lt()->status_text(code);
}

// The few functions of the driver by which a GPU becomes the current one.
struct Contexts {
  CublasStatus (*retain)(void**, int) = nullptr;
  CublasStatus (*current)(void**) = nullptr;
  CublasStatus (*set)(void*) = nullptr;
};
const Contexts* contexts() {
  static const Contexts* const kFound = []() -> const Contexts* {
    void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (!driver) return nullptr;
    static Contexts found;
    found.retain = reinterpret_cast<decltype(found.retain)>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
    found.current = reinterpret_cast<decltype(found.current)>(dlsym(driver, "cuCtxGetCurrent"));
    found.set = reinterpret_cast<decltype(found.set)>(dlsym(driver, "cuCtxSetCurrent"));
    return found.retain && found.current && found.set ? &found : nullptr;
  }();
  return kFound;
}

// The context that PyTorch has on a GPU, held as long as the process lives. nullptr: there is no such GPU.
void* context_of(int device) {
  static std::map<int, void*> known;  // under the GIL
  auto [at, fresh] = known.try_emplace(device, nullptr);
  if (fresh && contexts() && contexts()->retain(&at->second, device)) at->second = nullptr;
  return at->second;
}

// A GPU is current meanwhile: PyTorch's may be another.
class CurrentGpu {
 public:
  explicit CurrentGpu(int device) : context_(context_of(device)) {
    if (!context_ || contexts()->current(&before_)) context_ = before_;
    if (before_ != context_) contexts()->set(context_);
  }
  ~CurrentGpu() {
    if (before_ != context_) contexts()->set(before_);
  }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  void *context_, *before_ = nullptr;
};

// One a GPU, which is current, for the life of the process.
void* handle_on(int device) {
  static std::map<int, void*> handles;  // under the GIL
  auto [at, fresh] = handles.try_emplace(device, nullptr);
  if (fresh && context_of(device) && lt()->create(&at->second)) at->second = nullptr;
  return at->second;
}

// Columns innermost for cuBLASLt, which counts in columns: a matrix whose rows are apart is the transpose of
// one whose columns are.
CublasStatus make_layout(void** layout, ir::DType dtype, int64_t rows, int64_t columns, const LtMatrix& at,
                         int64_t batch) {
  if (!at.columns) std::swap(rows, columns);
  if (CublasStatus failed = lt()->layout_create(layout, data_type(dtype), static_cast<uint64_t>(rows),
                                                static_cast<uint64_t>(columns), at.lead))
    return failed;
  if (batch == 1) return 0;
  const auto count = static_cast<int32_t>(batch);
  if (CublasStatus failed = lt()->layout_set(*layout, kBatchCount, &count, sizeof count)) return failed;
  return lt()->layout_set(*layout, kBatchOffset, &at.batch, sizeof at.batch);
}

}  // namespace

std::optional<LtMatrix> lt_matrix(const ir::TensorType& type) {
  const size_t rank = type.sizes.size();
  if (rank < 2) return {};
  const int64_t rows = type.sizes[rank - 2], columns = type.sizes[rank - 1];
  const int64_t row = type.strides[rank - 2], column = type.strides[rank - 1];
  LtMatrix out;
  out.batch = rank > 2 ? type.strides[rank - 3] : ir::Sym(0);
  if ((column == 1 || columns == 1) && (row >= std::max<int64_t>(1, columns) || rows == 1)) {
    out.lead = std::max(row, columns);
    return out;
  }
  if ((row == 1 || rows == 1) && (column >= std::max<int64_t>(1, rows) || columns == 1)) {
    out.columns = true;
    out.lead = std::max(column, rows);
    return out;
  }
  return {};
}

// Row by row, out = a b is column by column out' = b' a': b stands on the left.
int LtProduct::describe(const LtProblem& p) {
  const int compute = p.dtype == ir::DType::f32 && p.tf32 ? kComputeTf32 : kComputeF32;
  CublasStatus failed = lt()->operation_create(&operation_, compute, data_type(ir::DType::f32));
  const int32_t left = p.b.columns, right = p.a.columns, epilogue = epilogue_word(p.epilogue);
  auto set = [&](int attribute, const auto& value) {
    if (!failed) failed = lt()->operation_set(operation_, attribute, &value, sizeof value);
  };
  set(kTransposeA, left);
  set(kTransposeB, right);
  set(kEpilogue, epilogue);
  biased_ = p.epilogue != LtEpilogue::none;
  if (!failed) failed = make_layout(&left_, p.dtype, p.k, p.n, p.b, p.batch);
  if (!failed) failed = make_layout(&right_, p.dtype, p.m, p.k, p.a, p.batch);
  if (!failed) failed = make_layout(&out_, p.dtype, p.m, p.n, p.out, p.batch);
  if (!failed) failed = make_layout(&added_, p.dtype, p.m, p.n, p.adds ? p.c : p.out, p.batch);
  return failed;
}

// Partial sums are added as f32, whatever the output's type: at least as exact as PyTorch's own under any
// setting.
Status LtProduct::ask(const LtProblem& p, int wanted, int64_t workspace) {
  void* preference = nullptr;
  CublasStatus failed = lt()->preference_create(&preference);
  auto set = [&](int attribute, const auto& value) {
    if (!failed) failed = lt()->preference_set(preference, attribute, &value, sizeof value);
  };
  set(kWorkspaceLimit, static_cast<uint64_t>(workspace));
  set(kReductions,
      p.dtype == ir::DType::f32 ? kReduceInPlace | kReduceInComputeType : uint32_t{kReduceInComputeType});
  for (int operand = 0; operand < 4; ++operand) set(kAlignment + operand, static_cast<uint32_t>(p.alignment));
  results_.resize(static_cast<size_t>(wanted));
  int found = 0;
  if (!failed)
    failed = lt()->heuristic(handle_, operation_, left_, right_, added_, out_, preference, wanted,
                             results_.data(), &found);
  if (preference) lt()->preference_destroy(preference);
  results_.resize(static_cast<size_t>(failed ? 0 : found));
  std::erase_if(results_, [](const Heuristic& h) { return h.state != 0; });
  if (failed) return Error{words(failed)};
  if (results_.empty()) return Error{"cuBLASLt has no algorithm for this product"};
  return {};
}

// The GPU is current.
Result<std::unique_ptr<LtProduct>> LtProduct::described(const LtProblem& problem) {
  std::unique_ptr<LtProduct> made(new LtProduct);
  made->device_ = problem.device;
  made->handle_ = handle_on(problem.device);
  if (!made->handle_) return Error{"cuBLASLt could not be started on this GPU"};
  if (const CublasStatus failed = made->describe(problem)) return Error{words(failed)};
  return made;
}

Result<std::unique_ptr<LtProduct>> LtProduct::make(const LtProblem& problem, int wanted, int64_t workspace) {
  if (!lt()) return Error{"PyTorch has loaded no cuBLASLt"};
  const CurrentGpu current(problem.device);
  auto made = described(problem);
  if (!made) return made;
  if (Status failed = made.value()->ask(problem, wanted, workspace)) return *failed;
  return made;
}

namespace {

// Sizes within a fifth of each other have one number.
int64_t about(int64_t size) {
  if (size <= 16) return size;
  const int octave = 63 - std::countl_zero(static_cast<uint64_t>(size));
  return 64 + 4 * octave + ((size >> (octave - 2)) & 3);
}
// What kernels ask of a step, as they do of an address: the power of two that divides it, up to 16.
int64_t divisor(int64_t step) {
  return std::min<int64_t>(16, step & -step);
}

// Problems that are likely to have one algorithm.
std::vector<int64_t> kind_of(const LtProblem& p) {
  std::vector<int64_t> out{static_cast<int64_t>(p.dtype),
                           p.tf32,
                           p.alignment,
                           p.device,
                           static_cast<int64_t>(p.epilogue),
                           p.adds,
                           p.a.columns,
                           p.b.columns,
                           p.c.columns};
  for (const int64_t size : {p.m, p.n, p.k}) out.push_back(about(size));
  for (const LtMatrix* at : {&p.a, &p.b, &p.c, &p.out})
    out.push_back(divisor(at->lead)), out.push_back(divisor(at->batch));
  out.push_back(about(p.batch));
  return out;
}

}  // namespace

bool LtProduct::computes(const Heuristic& known, int64_t workspace) {
  Heuristic found = known;
  const CublasStatus failed =
      lt()->check(handle_, operation_, left_, right_, added_, out_, known.algorithm, &found);
  if (failed || found.state != 0 || found.workspace > static_cast<size_t>(workspace)) return false;
  std::copy(std::begin(known.algorithm), std::end(known.algorithm), std::begin(found.algorithm));
  results_ = {found};
  return true;
}

Result<std::unique_ptr<LtProduct>> LtProduct::make_for_any_size(const LtProblem& problem, int64_t workspace) {
  constexpr size_t kMostKinds = 4096;
  static std::map<std::vector<int64_t>, Heuristic> known;  // under the GIL
  if (!lt()) return Error{"PyTorch has loaded no cuBLASLt"};
  const CurrentGpu current(problem.device);
  auto made = described(problem);
  if (!made) return made;
  const std::vector<int64_t> kind = kind_of(problem);
  const auto at = known.find(kind);
  if (at != known.end() && made.value()->computes(at->second, workspace)) return made;
  if (Status failed = made.value()->ask(problem, 1, workspace)) return *failed;
  if (known.size() >= kMostKinds) known.clear();
  known.insert_or_assign(kind, made.value()->results_.front());
  return made;
}

LtProduct::~LtProduct() {
  for (void* layout : {left_, right_, added_, out_})
    if (layout) lt()->layout_destroy(layout);
  if (operation_) lt()->operation_destroy(operation_);
}

int64_t LtProduct::workspace(size_t algorithm) const {
  return static_cast<int64_t>(results_.at(algorithm).workspace);
}

std::string LtProduct::run(size_t algorithm, const Arguments& with, void* stream) {
  const Heuristic& how = results_.at(algorithm);
  const CurrentGpu current(device_);
  if (biased_)
    if (CublasStatus failed = lt()->operation_set(operation_, kBiasPointer, &with.bias, sizeof with.bias))
      return words(failed);
  const CublasStatus failed = lt()->matmul(handle_, operation_, &with.alpha, with.b, left_, with.a, right_,
                                           &with.beta, with.c ? with.c : with.out, added_, with.out, out_,
                                           how.algorithm, with.workspace, how.workspace, stream);
  return failed ? words(failed) : "";
}

int64_t lt_version() {
  return lt() ? static_cast<int64_t>(lt()->version()) : 0;
}

}  // namespace vitrine::torch_api
