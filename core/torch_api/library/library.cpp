#include "core/torch_api/library/library.h"

#include <Python.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/once.h"
#include "core/torch_api/library/list_call.h"
#include "core/torch_api/library/lt_call.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

using H = void*;
using AtenStatus = int32_t;  // 0 = success

// One row a symbol: member, type, exported name. A missing symbol is a null pointer, and switches off what
// needs it.
#define VITRINE_LIBRARY_SYMBOLS(X)                                                                          \
  X(create_from_blob,                                                                                       \
    AtenStatus (*)(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, H*), \
    "aoti_torch_create_tensor_from_blob")                                                                   \
  X(clone_strided, AtenStatus (*)(H, H*), "aoti_torch_clone_preserve_strides")                              \
  X(zero, AtenStatus (*)(H), "aoti_torch_zero_")                                                            \
  X(copy, AtenStatus (*)(H, H, int32_t), "aoti_torch_copy_")                                                \
  X(what, const char* (*)(), "torch_exception_get_what_without_backtrace")                                  \
  X(grad_is_on, bool (*)(), "aoti_torch_grad_mode_is_enabled")                                              \
  X(grad_set, void (*)(bool), "aoti_torch_grad_mode_set_enabled")                                           \
  X(autocast_is_on, bool (*)(int8_t), "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE")            \
  X(autocast_set, void (*)(int8_t, bool), "_ZN2at8autocast20set_autocast_enabledEN3c1010DeviceTypeEb")      \
  X(context, void* (*)(), "_ZN2at13globalContextEv")                                                        \
  X(cudnn_enabled, bool (*)(const void*), "_ZNK2at7Context16userEnabledCuDNNEv")                            \
  X(cudnn_deterministic, bool (*)(const void*), "_ZNK2at7Context18deterministicCuDNNEv")                    \
  X(deterministic, bool (*)(const void*), "_ZNK2at7Context23deterministicAlgorithmsEv")                     \
  X(mm_out, AtenStatus (*)(H, H, H), "aoti_torch_cpu_mm_out")                                               \
  X(bmm_out, AtenStatus (*)(H, H, H), "aoti_torch_cpu_bmm_out")                                             \
  X(addmm_out, AtenStatus (*)(H, H, H, H, double, double), "aoti_torch_cpu_addmm_out")                      \
  X(baddbmm_out, AtenStatus (*)(H, H, H, H, double, double), "aoti_torch_cpu_baddbmm_out")                  \
  X(convolution,                                                                                            \
    AtenStatus (*)(H, H, H*, const int64_t*, int64_t, const int64_t*, int64_t, const int64_t*, int64_t,     \
                   int32_t, const int64_t*, int64_t, int64_t, H*),                                          \
    "aoti_torch_cpu_convolution")                                                                           \
  X(cuda_mm_out, AtenStatus (*)(H, H, H), "aoti_torch_cuda_mm_out")                                         \
  X(cuda_bmm_out, AtenStatus (*)(H, H, H), "aoti_torch_cuda_bmm_out")                                       \
  X(cuda_addmm_out, AtenStatus (*)(H, H, H, H, double, double), "aoti_torch_cuda_addmm_out")                \
  X(cuda_baddbmm_out, AtenStatus (*)(H, H, H, H, double, double), "aoti_torch_cuda_baddbmm_out")            \
  X(cuda_convolution,                                                                                       \
    AtenStatus (*)(H, H, H*, const int64_t*, int64_t, const int64_t*, int64_t, const int64_t*, int64_t,     \
                   int32_t, const int64_t*, int64_t, int64_t, H*),                                          \
    "aoti_torch_cuda_convolution")                                                                          \
  X(attention, AtenStatus (*)(H, H, H, double, int32_t, H*, double*, H*, H*),                               \
    "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu")

struct LibrarySymbols {
#define X(member, type, name) std::add_pointer_t<std::remove_pointer_t<type>> member = nullptr;
  VITRINE_LIBRARY_SYMBOLS(X)
#undef X
};

const LibrarySymbols& library_symbols() {
  static const LibrarySymbols found = [] {
    LibrarySymbols s;
    // libtorch_cuda.so knows the symbols of libtorch_cpu.so too, for it needs it.
    void* lib = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (!lib) lib = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    void* from = lib ? lib : RTLD_DEFAULT;
#define X(member, type, name) s.member = reinterpret_cast<type>(dlsym(from, name));
    VITRINE_LIBRARY_SYMBOLS(X)
#undef X
    return s;
  }();
  return found;
}

bool done(AtenStatus code) {
  if (code == 0) return true;
  const char* what = library_symbols().what ? library_symbols().what() : nullptr;
  set_python_error(what && *what ? what : "a PyTorch kernel failed, and this PyTorch does not tell why");
  return false;
}

Handle missing(const char* name) {
  set_python_error(std::string("this PyTorch does not export ") + name);
  return nullptr;
}

using Ints = std::vector<int64_t>;

std::optional<Ints> ints(const ir::Arg& arg) {
  if (!arg.is<std::vector<ir::Arg>>()) return {};
  Ints out;
  for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) {
    if (!a.is<int64_t>()) return {};
    out.push_back(a.as<int64_t>());
  }
  return out;
}

// mm and bmm: out = a @ b.
class LibraryProduct : public LibraryCall {
 public:
  using Fn = AtenStatus (*)(H, H, H);
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of, Fn fn) {
    if (!fn || node.args.size() != 2 || !node.kwargs.empty()) return nullptr;
    auto call = std::make_unique<LibraryProduct>();
    call->fn_ = fn;
    for (const ir::Arg& a : node.args) {
      if (!a.is<ir::Ref>()) return nullptr;
      call->reads_.push_back(slot_of(a.as<ir::Ref>()));
    }
    return call;
  }
  bool call(const Handle* values, Handle* outs) const override {
    return done(fn_(outs[0], values[reads_[0]], values[reads_[1]]));
  }

 private:
  Fn fn_ = nullptr;
};

// addmm and baddbmm: out = beta * self + alpha * (a @ b).
class AddProduct : public LibraryCall {
 public:
  using Fn = AtenStatus (*)(H, H, H, H, double, double);
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of, Fn fn) {
    // beta and alpha arrive as doubles, which PyTorch refuses for integers.
    if (!fn || node.args.size() != 3 || !ir::is_float(node.type().dtype)) return nullptr;
    auto call = std::make_unique<AddProduct>();
    call->fn_ = fn;
    for (const ir::Arg& a : node.args) {
      if (!a.is<ir::Ref>()) return nullptr;
      call->reads_.push_back(slot_of(a.as<ir::Ref>()));
    }
    for (const auto& [key, arg] : node.kwargs) {
      auto value = number_of(arg);
      if (!value || (key != "beta" && key != "alpha")) return nullptr;
      (key == "beta" ? call->beta_ : call->alpha_) = *value;
    }
    return call;
  }
  bool call(const Handle* values, Handle* outs) const override {
    return done(fn_(outs[0], values[reads_[0]], values[reads_[1]], values[reads_[2]], beta_, alpha_));
  }

 private:
  Fn fn_ = nullptr;
  double beta_ = 1, alpha_ = 1;
};

// convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups)
class Convolution : public LibraryCall {
 public:
  using Fn = decltype(LibrarySymbols::convolution);
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of, Fn fn) {
    const auto& a = node.args;
    if (!fn || a.size() != 9 || !node.kwargs.empty()) return nullptr;
    if (!a[0].is<ir::Ref>() || !a[1].is<ir::Ref>() || !(a[2].is_none() || a[2].is<ir::Ref>())) return nullptr;
    auto stride = ints(a[3]), padding = ints(a[4]), dilation = ints(a[5]), output_padding = ints(a[7]);
    if (!stride || !padding || !dilation || !output_padding || !a[6].is<bool>() || !a[8].is<int64_t>())
      return nullptr;
    auto call = std::make_unique<Convolution>();
    call->fn_ = fn;
    call->into_out_ = false;
    for (int i = 0; i < 3; ++i)
      if (a[static_cast<size_t>(i)].is<ir::Ref>())
        call->reads_.push_back(slot_of(a[static_cast<size_t>(i)].as<ir::Ref>()));
    call->lists_ = {*stride, *padding, *dilation, *output_padding};
    call->transposed_ = a[6].as<bool>();
    call->groups_ = a[8].as<int64_t>();
    return call;
  }
  bool call(const Handle* values, Handle* outs) const override {
    H bias = reads_.size() > 2 ? values[reads_[2]] : nullptr;
    const auto& [stride, padding, dilation, output_padding] = lists_;
    auto count = [](const Ints& v) { return static_cast<int64_t>(v.size()); };
    return done(fn_(values[reads_[0]], values[reads_[1]], bias ? &bias : nullptr, stride.data(),
                    count(stride), padding.data(), count(padding), dilation.data(), count(dilation),
                    transposed_, output_padding.data(), count(output_padding), groups_, &outs[0]));
  }

 private:
  Fn fn_ = nullptr;
  std::array<Ints, 4> lists_;
  bool transposed_ = false;
  int64_t groups_ = 1;
};

// _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout_p, is_causal, attn_mask?, scale?) -> out,
// logsumexp
class LibraryAttention : public LibraryCall {
 public:
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of) {
    const auto& a = node.args;
    if (!library_symbols().attention || a.size() < 3 || a.size() > 5) return nullptr;
    auto call = std::make_unique<LibraryAttention>();
    call->into_out_ = false;
    call->outs_ = 2;
    for (size_t i = 0; i < 3; ++i) {
      if (!a[i].is<ir::Ref>()) return nullptr;
      call->reads_.push_back(slot_of(a[i].as<ir::Ref>()));
    }
    if (a.size() > 3) {
      auto p = number_of(a[3]);
      if (!p) return nullptr;
      call->dropout_ = *p;
    }
    if (a.size() > 4 && !a[4].is<bool>()) return nullptr;
    call->causal_ = a.size() > 4 && a[4].as<bool>();
    for (const auto& [key, arg] : node.kwargs) {
      if (key == "attn_mask" && arg.is<ir::Ref>())
        call->reads_.push_back(slot_of(arg.as<ir::Ref>()));
      else if (key == "scale" && number_of(arg))
        call->scale_ = number_of(arg);
      else if ((key != "attn_mask" && key != "scale") || !arg.is_none())
        return nullptr;
    }
    return call;
  }
  bool call(const Handle* values, Handle* outs) const override {
    H mask = reads_.size() > 3 ? values[reads_[3]] : nullptr;
    double scale = scale_.value_or(0);
    return done(library_symbols().attention(values[reads_[0]], values[reads_[1]], values[reads_[2]], dropout_,
                                            causal_, mask ? &mask : nullptr, scale_ ? &scale : nullptr,
                                            &outs[0], &outs[1]));
  }

 private:
  double dropout_ = 0;
  bool causal_ = false;
  std::optional<double> scale_;
};

using On = ir::Device::Type;
struct LibraryRow {
  std::string_view op;
  On device;
  std::unique_ptr<LibraryCall> (*make)(const ir::Node&, const LibraryCall::SlotOf&);
};
#define VITRINE_CALL(device, op, Kind, symbol) \
  {"aten." op, On::device, [](auto& n, auto& s) { return Kind::make(n, s, library_symbols().symbol); }}
// One row an operator and device that runs through the C interface.
constexpr std::array<LibraryRow, 12> kRows = {{
    VITRINE_CALL(cpu, "mm.default", LibraryProduct, mm_out),
    VITRINE_CALL(cpu, "bmm.default", LibraryProduct, bmm_out),
    VITRINE_CALL(cpu, "addmm.default", AddProduct, addmm_out),
    VITRINE_CALL(cpu, "baddbmm.default", AddProduct, baddbmm_out),
    VITRINE_CALL(cpu, "convolution.default", Convolution, convolution),
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", On::cpu,
     [](auto& n, auto& s) { return LibraryAttention::make(n, s); }},
    VITRINE_CALL(cuda, "mm.default", LibraryProduct, cuda_mm_out),
    VITRINE_CALL(cuda, "bmm.default", LibraryProduct, cuda_bmm_out),
    VITRINE_CALL(cuda, "addmm.default", AddProduct, cuda_addmm_out),
    VITRINE_CALL(cuda, "baddbmm.default", AddProduct, cuda_baddbmm_out),
    VITRINE_CALL(cuda, "convolution.default", Convolution, cuda_convolution),
    {"aten._addmm_activation.default", On::cuda,
     [](auto& n, auto& s) { return make_lt_call(n, s, 0, nullptr); }},
}};
#undef VITRINE_CALL

}  // namespace

std::optional<double> number_of(const ir::Arg& arg) {
  if (arg.is<int64_t>()) return static_cast<double>(arg.as<int64_t>());
  if (arg.is<double>()) return arg.as<double>();
  return {};
}

// PyTorch adds a row to a half product by cuBLASLt, and asks it for an algorithm at each call. The first that
// it names is asked for once.
static bool asks_at_each_call(const ir::Node& node) {
  const ir::DType dtype = node.type().dtype;
  return node.op == "aten.addmm.default" && node.type().device.is_cuda() &&
         (dtype == ir::DType::f16 || dtype == ir::DType::bf16);
}

std::unique_ptr<LibraryCall> LibraryCall::make(const ir::Node& node, const SlotOf& slot_of, int algorithm) {
  if (node.outputs.empty()) return nullptr;
  for (const LibraryRow& row : kRows) {
    if (row.op != node.op || row.device != node.type().device.type) continue;
    const size_t which =
        algorithm == kForAnySize ? kAnyProblem : static_cast<size_t>(std::max(algorithm, 1) - 1);
    if (algorithm != 0 || asks_at_each_call(node))
      if (auto call = make_lt_call(node, slot_of, which, row.make(node, slot_of))) return call;
    return row.make(node, slot_of);
  }
  return make_list_call(node, slot_of);
}

Handle from_blob(void* data, const ir::TensorType& type) {
  if (!library_symbols().create_from_blob) return missing("aoti_torch_create_tensor_from_blob");
  Handle out = nullptr;
  const int32_t device = type.device.is_cuda() ? kCudaDevice : 0;
  bool ok = done(library_symbols().create_from_blob(
      data, static_cast<int64_t>(type.sizes.size()), ir::NumberArray(type.sizes).data(),
      ir::NumberArray(type.strides).data(), 0, ir::dtype_to_scalar_type(type.dtype), device,
      type.device.index, &out));
  return ok ? out : nullptr;
}

Handle clone(Handle t) {
  if (!library_symbols().clone_strided) return missing("aoti_torch_clone_preserve_strides");
  Handle out = nullptr;
  return done(library_symbols().clone_strided(t, &out)) ? out : nullptr;
}

bool copy_into(Handle dst, Handle src) {
  if (!library_symbols().copy) return missing("aoti_torch_copy_");
  return done(library_symbols().copy(dst, src, 0));
}

bool zero(Handle t) {
  if (!library_symbols().zero) return missing("aoti_torch_zero_");
  return done(library_symbols().zero(t));
}

bool grad_enabled() {
  return library_symbols().grad_is_on && library_symbols().grad_is_on();
}
void set_grad_enabled(bool on) {
  if (library_symbols().grad_set) library_symbols().grad_set(on);
}
bool autocast_enabled(ir::Device::Type device) {
  return library_symbols().autocast_is_on && library_symbols().autocast_is_on(static_cast<int8_t>(device));
}
void set_autocast_enabled(ir::Device::Type device, bool on) {
  if (library_symbols().autocast_set) library_symbols().autocast_set(static_cast<int8_t>(device), on);
}

bool cudnn_is_free() {
  const LibrarySymbols& s = library_symbols();
  if (!s.context || !s.cudnn_enabled || !s.cudnn_deterministic || !s.deterministic) return false;
  const void* context = s.context();
  return s.cudnn_enabled(context) && !s.cudnn_deterministic(context) && !s.deterministic(context);
}

bool deterministic_algorithms() {
  const LibrarySymbols& s = library_symbols();
  return s.context && s.deterministic && s.deterministic(s.context());
}

bool gelu_loses_infinity(ir::DType dtype) {
  const std::string name(ir::dtype_torch_name(dtype));
  const bool out = call(Name::loses_infinity, "s", name.c_str()).get() == Py_True;
  PyErr_Clear();
  return out;
}

bool cudnn_allows_tf32() {
  const bool out = find(Name::cudnn_allow_tf32).get() == Py_True;
  PyErr_Clear();  // settings of PyTorch's older and newer interface contradict each other
  return out;
}

_object* generator_state() {
  const PyRef generator = find(Name::default_generator);
  return generator ? PyObject_CallMethod(generator.get(), "get_state", nullptr) : nullptr;
}

bool set_generator_state(_object* state) {
  const PyRef generator = find(Name::default_generator);
  const PyRef none(generator ? PyObject_CallMethod(generator.get(), "set_state", "O", state) : nullptr);
  return static_cast<bool>(none);
}

}  // namespace vitrine::torch_api
