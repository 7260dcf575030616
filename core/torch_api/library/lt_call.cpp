#include "core/torch_api/library/lt_call.h"

#include <dlfcn.h>

#include <algorithm>
#include <optional>

#include "core/torch_api/api.h"
#include "core/torch_api/library/cublaslt.h"
#include "core/torch_api/op_call.h"

namespace vitrine::torch_api {

namespace {

constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;  // bytes; as much as PyTorch gives on large GPUs
constexpr int kMostAlgorithms = 8;
constexpr size_t kMostPrepared = 8;  // ways that tensors may lie, which are looked through at each call

// torch.backends.cuda.matmul.allow_tf32, asked at each call as eager does. nullopt: it cannot be asked here.
std::optional<bool> tf32_allowed() {
  using Ask = bool (*)(const void*);
  static const Ask kAsk = [] {
    void* lib = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    return lib ? reinterpret_cast<Ask>(dlsym(lib, "_ZNK2at7Context15allowTF32CuBLASEv")) : nullptr;
  }();
  if (!kAsk) return {};
  return kAsk(api().symbols.context());
}

struct Form {
  std::string_view op;
  bool adds, activates;
};
constexpr Form kForms[] = {
    {"aten.mm.default", false, false},
    {"aten.bmm.default", false, false},
    {"aten.addmm.default", true, false},
    {"aten.baddbmm.default", true, false},
    {"aten._addmm_activation.default", true, true},
};

// Bytes that every address is a multiple of, up to 256.
int common_alignment(std::initializer_list<const void*> addresses) {
  uintptr_t all = 256;
  for (const void* a : addresses) all |= reinterpret_cast<uintptr_t>(a);
  return static_cast<int>(all & (~all + 1));
}

class LtCall : public LibraryCall {
 public:
  LtCall(const Form& form, size_t algorithm, std::unique_ptr<LibraryCall> otherwise)
      : form_(form), algorithm_(algorithm), otherwise_(std::move(otherwise)) {}

  bool take(const ir::Node& node, const SlotOf& slot_of) {
    if (node.args.size() != (form_.adds ? 3U : 2U)) return false;
    for (const ir::Arg& a : node.args) {
      if (!a.is<ir::Ref>()) return false;
      reads_.push_back(slot_of(a.as<ir::Ref>()));
    }
    for (const auto& [key, arg] : node.kwargs) {
      if (key == "use_gelu" && arg.is<bool>())
        gelu_ = arg.as<bool>();
      else if ((key == "beta" || key == "alpha") && number_of(arg))
        (key == "beta" ? beta_ : alpha_) = *number_of(arg);
      else
        return false;
    }
    return true;
  }

  bool for_any_size() const override { return algorithm_ == kAnyProblem; }
  bool call(const Handle* values, Handle* outs) const override {
    Prepared* prepared = find(values, outs[0]);
    if (!prepared->product) {
      if (otherwise_) return otherwise_->call(values, outs);
      set_python_error(prepared->why);
      return false;
    }
    return run(*prepared, values, outs[0]);
  }

 private:
  // What was made for tensors that lie so.
  struct Prepared {
    std::vector<int64_t> numbers;
    std::unique_ptr<LtProduct> product;  // nullptr: `why`
    std::string why;
    bool biased = false, adds = false;
  };

  Handle a(const Handle* values) const { return values[reads_[form_.adds ? 1 : 0]]; }
  Handle b(const Handle* values) const { return values[reads_[form_.adds ? 2 : 1]]; }
  Handle added(const Handle* values) const { return form_.adds ? values[reads_[0]] : nullptr; }

  Prepared* find(const Handle* values, Handle out) const {
    numbers_.clear();
    auto put = [&](Handle t) {
      const TensorView v = view(t);
      numbers_.push_back(v.scalar_type);
      numbers_.push_back(v.ndim);
      numbers_.insert(numbers_.end(), v.sizes, v.sizes + v.ndim);
      numbers_.insert(numbers_.end(), v.strides, v.strides + v.ndim);
    };
    put(a(values)), put(b(values)), put(out);
    if (form_.adds) put(added(values));
    const void* third = form_.adds ? data(added(values)) : nullptr;
    const int alignment = common_alignment({data(a(values)), data(b(values)), data(out), third});
    const bool wide = view(out).scalar_type == ir::dtype_to_scalar_type(ir::DType::f32);
    const std::optional<bool> tf32 = wide ? tf32_allowed() : false;
    numbers_.push_back(alignment);
    numbers_.push_back(tf32 ? *tf32 : -1);
    for (Prepared& p : prepared_)
      if (p.numbers == numbers_) return &p;
    Prepared fresh;
    fresh.numbers = numbers_;
    prepare(fresh, values, out, alignment, tf32);
    if (prepared_.size() >= kMostPrepared) prepared_.erase(prepared_.begin());
    prepared_.push_back(std::move(fresh));
    return &prepared_.back();
  }

  void prepare(Prepared& fresh, const Handle* values, Handle out, int alignment,
               std::optional<bool> tf32) const {
    fresh.why = "cuBLASLt does not take a product of such matrices";
    const ir::TensorType a_type = type_of(a(values)), b_type = type_of(b(values)), type = type_of(out);
    const bool known =
        type.dtype == ir::DType::f16 || type.dtype == ir::DType::bf16 || type.dtype == ir::DType::f32;
    if (!known || !tf32 || a_type.dtype != type.dtype || b_type.dtype != type.dtype) return;
    if (type.numel() == 0 || a_type.numel() == 0) return;
    const auto left = lt_matrix(a_type), right = lt_matrix(b_type), result = lt_matrix(type);
    if (!left || !right || !result || result->columns) return;
    LtProblem problem;
    const size_t rank = type.sizes.size();
    problem.m = type.sizes[rank - 2], problem.n = type.sizes[rank - 1], problem.k = a_type.sizes[rank - 1];
    problem.batch = rank > 2 ? type.sizes[0] : ir::Sym(1);
    problem.a = *left, problem.b = *right, problem.out = *result;
    problem.dtype = type.dtype, problem.tf32 = *tf32, problem.alignment = alignment;
    problem.device = type.device.index;
    if (form_.adds && beta_ != 0 && !take_added(problem, type_of(added(values)), type)) return;
    if (form_.activates && problem.epilogue != LtEpilogue::bias) return;
    if (form_.activates) problem.epilogue = gelu_ ? LtEpilogue::gelu_bias : LtEpilogue::relu_bias;
    fresh.biased = problem.epilogue != LtEpilogue::none;
    fresh.adds = problem.adds;
    auto made = algorithm_ == kAnyProblem ? LtProduct::make_for_any_size(problem, kWorkspaceBytes)
                                          : LtProduct::make(problem, kMostAlgorithms, kWorkspaceBytes);
    if (made)
      fresh.product = made.take();
    else
      fresh.why = made.error().what;
  }

  // A bias of one row is cuBLASLt's epilogue; a whole matrix is added as it is.
  bool take_added(LtProblem& problem, const ir::TensorType& type, const ir::TensorType& out) const {
    if (type.dtype != out.dtype) return false;
    if (type.sizes.size() == 1) {
      problem.epilogue = LtEpilogue::bias;
      return beta_ == 1 && problem.batch == 1 && type.sizes[0] == problem.n &&
             (problem.n == 1 || type.strides[0] == 1);
    }
    const auto at = lt_matrix(type);
    if (type.sizes != out.sizes || !at || at->columns) return false;
    problem.adds = true;
    problem.c = *at;
    return true;
  }

  bool run(Prepared& prepared, const Handle* values, Handle out) const {
    const size_t algorithm = std::min(algorithm_, prepared.product->algorithms() - 1);
    LtProduct::Arguments with;
    with.a = data(a(values)), with.b = data(b(values)), with.out = data(out);
    with.alpha = static_cast<float>(alpha_);
    if (prepared.biased) with.bias = data(added(values));
    if (prepared.adds) with.c = data(added(values)), with.beta = static_cast<float>(beta_);
    const TensorView v = view(out);
    Handle workspace = nullptr;
    if (const int64_t bytes = prepared.product->workspace(algorithm)) {
      ir::TensorType type = ir::TensorType::contiguous(ir::DType::u8, {bytes});
      type.device = device_of(v);
      if (!(workspace = empty_strided(type))) return false;
      with.workspace = data(workspace);
    }
    const std::string failed = prepared.product->run(algorithm, with, current_stream(v.device_index));
    // PyTorch's allocator gives it to nobody before the stream has come so far.
    if (workspace) release(workspace);
    if (!failed.empty()) set_python_error(failed);
    return failed.empty();
  }

  const Form& form_;
  const size_t algorithm_;
  const std::unique_ptr<LibraryCall> otherwise_;
  double alpha_ = 1, beta_ = 1;
  bool gelu_ = false;
  // Under the GIL.
  mutable std::vector<int64_t> numbers_;
  mutable std::vector<Prepared> prepared_;
};

}  // namespace

std::unique_ptr<LibraryCall> make_lt_call(const ir::Node& node, const LibraryCall::SlotOf& slot_of,
                                          size_t algorithm, std::unique_ptr<LibraryCall> otherwise) {
  const Symbols& symbols = api().symbols;
  if (!lt_version() || symbols.deterministic(symbols.context())) return nullptr;
  for (const Form& form : kForms) {
    if (form.op != node.op) continue;
    auto call = std::make_unique<LtCall>(form, algorithm, std::move(otherwise));
    if (call->take(node, slot_of)) return call;
  }
  return nullptr;
}

}  // namespace vitrine::torch_api
