// Questions about PyTorch's state and about tensors, answered at capture. The state itself is guarded
// (GlobalState).
#include <string_view>

#include "core/base/once.h"
#include "core/base/words.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/default_devices.h"
#include "core/capture/interpreter/library/differentiation.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/torch_queries.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/speculated_branches.h"
#include "core/capture/interpreter/symbolic/symbolic_literals.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/default_device.h"

namespace vitrine::capture {

static Value* state_call(Tracer& t, const char* path, const Arguments& arguments);

namespace {

using T = Tracer;
using A = Arguments;

Value* no(T& t, const A&) {
  return t.boolean(false);
}

Value* no_modes(T& t, const A&) {
  return t.integer(0);
}
// PyTorch's own modules take other ways when they are compiled: without the padded rows' zeros, without the
// hooks that must run after an error. Eager's way is what a compiled program is measured by.
Value* asked_by_the_program(T& t, const A&) {
  const bool own = globals_of_torch(t.frame().globals, "nn.modules");
  const bool yes = !own && t.answers_is_compiling();
  t.asked_is_compiling |= yes;
  return t.boolean(yes);
}
// Attention on a GPU with a mask that repeats a number along its rows, as programs make one when they are
// told that they are compiled. PyTorch's fused kernels read rows of neighbours; its plain one, which it would
// take instead, drops out other elements than eager's, which has no mask there. It is written out before.
Value* attention(T& t, const A& a) {
  constexpr size_t kMask = 3;
  static constinit Once<PyObject*> kept_function;
  PyObject* const function =
      kept_function.get([] { return find_object("torch._C._nn.scaled_dot_product_attention"); });
  A given = a;
  Value** mask = given.positional.size() > kMask ? &given.positional[kMask] : nullptr;
  for (auto& [name, value] : given.keyword)
    if (name == "attn_mask") mask = &value;
  Value* tensor = mask ? t.look(*mask) : nullptr;
  if (tensor && tensor->is(ValueKind::Tensor)) {
    const torch_api::TensorView v = torch_api::view(torch_api::handle_of(tensor->obj));
    const int64_t last = v.ndim - 1;
    if (v.device_type == torch_api::kCudaDevice && last >= 0 && v.sizes[last] > 1 && v.strides[last] == 0)
      *mask = tensor_method(t, tensor, "contiguous", nullptr, {});
  }
  return torch_call(t, "torch._C._nn.scaled_dot_product_attention", function, given);
}
Value* nothing(T& t, const A&) {
  return t.none();
}

bool names(PyCodeObject* code, const char* wanted) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_names, i), wanted) == 0) return true;
  return false;
}

// Whether it would be asked instead: its class has a __torch_function__ that is not PyTorch's own.
bool overrides(T& t, Value* v) {
  static constinit Once<PyObject*> kept_disabled;
  PyObject* const disabled =
      kept_disabled.get([] { return find_object("torch._C._disabled_torch_function_impl"); });
  PyTypeObject* type = type_of(t, v);  // a tensor of another class ends the segment
  if (type == torch_names().tensor || type == torch_names().parameter) return false;
  pin_type(t, type);
  PyRef function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__torch_function__"));
  if (!function) PyErr_Clear();
  return function && function.get() != disabled;
}

// has_torch_function(...): true of objects that are no plain tensors, and where there is a default device.
// Functions that would then hand themselves to handle_torch_function get the same call back from it; modules
// choose another way.
template <bool many>
Value* has_function(T& t, const A& a) {
  for (Value* given : a.positional)
    for (Value* v : many ? unpack(t, given) : Values{given})
      if (overrides(t, v))
        stop("unsupported_value", with_article(describe(t, v)) + " has a __torch_function__ of its own");
  const bool on =
      in_default_device(t) || torch_api::global_state().default_device != torch_api::kNoDefaultDevice;
  return t.boolean(on && !names(t.frame().code, "handle_torch_function"));
}

// torch._check_tensor_all_with(error, cond, message): the graph has the check, and a call in which it fails
// is eager's from its begin on.
Value* check_all(T& t, const A& a) {
  Value* holds = t.look(need(t, a, 1, "cond"));
  if (!holds->is(ValueKind::Tensor)) stop("exception", "a check of something that is no tensor");
  const ir::TensorType type = torch_api::type_of(holds->obj);
  if (type.dtype != ir::DType::b1 || !may_check(t, type))
    stop("scalar_read", "a check reads the value of a tensor (" + describe(t, holds) + ")");
  check(t, t.look(tensor_method(t, holds, "all", nullptr, {})), nullptr);
  return t.none();
}

Value* itself(T& t, const A& a) {
  return need(t, a, 0);
}

Value* is_tensor(T& t, const A& a) {
  const PyTypeObject* type = type_of(t, need(t, a, 0, "obj"));
  if (type == &PyFloat_Type || type == &PyLong_Type) return t.boolean(false);  // whatever number it is
  return t.boolean(t.look(need(t, a, 0))->is(ValueKind::Tensor));
}

Value* set_grad(T& t, const A& a) {
  change_grad_mode(t, truth(t, need(t, a, 0, "mode")));
  return t.none();
}

// torch.Size(iterable of numbers)
Value* size(T& t, const A& a) {
  return t.sequence(ValueKind::Tuple, a.positional.empty() ? Values{} : unpack(t, a.positional[0]),
                    torch_names().size);
}

// vitrine.mark_static(tensor) in a compiled program: what it does to these sizes.
Value* fix_sizes(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "tensor"));
  Value* index = need(t, a, 1, "index", t.none());
  if (!v->is(ValueKind::Tensor))
    stop("disabled", "mark_static of something that is no tensor",
         "Give it a tensor, before the compiled function.");
  if (is_none(t, index)) return settle(t, tensor_attr(t, v, "shape")), t.none();
  for (Value* d : t.look(index)->is(ValueKind::Constant) ? Values{index} : unpack(t, index))
    settle(t, tensor_method(t, v, "size", nullptr, Arguments{{d}, {}}));
  return t.none();
}

// On a tensor: the method; on a number: the function itself.
template <const char* const& Name>
Value* metadata(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "input"));
  if (v->is(ValueKind::Tensor)) return tensor_method(t, v, Name, nullptr, {});
  return fold_call(t, find_object(std::string("torch.") + Name), a);
}
constexpr const char* kFloating = "is_floating_point";
constexpr const char* kComplex = "is_complex";
constexpr const char* kNumel = "numel";

// torch._has_compatible_shallow_copy_type(self, from), which Module.to() asks of each parameter: a question
// of dispatch keys, and fake tensors have those of what they stand for.
Value* shares_type(T& t, const A& a) {
  static constinit Once<PyObject*> kept_function;
  PyObject* const function =
      kept_function.get([] { return find_object("torch._has_compatible_shallow_copy_type"); });
  const Value *to = t.look(need(t, a, 0, "self")), *from = t.look(need(t, a, 1, "from"));
  if (!to->is(ValueKind::Tensor) || !from->is(ValueKind::Tensor)) return fold_call(t, function, a);
  return t.fold(PyObject_CallFunctionObjArgs(function, to->obj, from->obj, nullptr));
}

// A tensor written out in the program: its value is fixed, each evaluation gives a new tensor.
Value* tensor_literal(T& t, const A& a) {
  if (Value* open = tensor_of_symbolic_numbers(t, a)) return open;
  return literal(t, find_object("torch.tensor"), a);
}

// torch.Tensor and its like of one dtype. Of numbers: a tensor of these sizes that nobody has written to. Of
// a sequence: what torch.tensor makes of it.
template <const char* const& Path>
Value* by_old_constructor(T& t, const A& a) {
  const PyRef like(PyObject_CallNoArgs(find_object(Path)));
  if (!like) t.raise_python();
  A rest{a.positional, {}};
  for (const char* name : {"dtype", "device"})
    rest.keyword.emplace_back(name, t.fold(PyObject_GetAttrString(like.get(), name)));
  if (rest.positional.empty()) rest.positional = {t.integer(0)};
  const auto is_size = [&](Value* v) {
    PyObject* o = symbolic(t, v) ? nullptr : const_object(t, v);
    return symbolic(t, v) || (o && PyLong_CheckExact(o));
  };
  const Value* first = t.look(rest.positional[0]);
  const bool sequence = first->is(ValueKind::List) || first->is(ValueKind::Tuple);
  const bool sizes = sequence ? first->cls == torch_names().size
                              : std::all_of(rest.positional.begin(), rest.positional.end(), is_size);
  const bool known = sequence ? rest.positional.size() == 1 : sizes;
  if (!known || !a.keyword.empty())
    stop("unsupported_value", std::string(Path) + " is made of something else than sizes or a list");
  if (sizes) return torch_call(t, "torch.empty", find_object("torch.empty"), rest);
  return tensor_literal(t, rest);
}
#define VITRINE_OLD_CONSTRUCTORS(X) \
  X(Tensor)                         \
  X(FloatTensor)                    \
  X(DoubleTensor)                   \
  X(HalfTensor)                     \
  X(BFloat16Tensor) X(ByteTensor) X(CharTensor) X(ShortTensor) X(IntTensor) X(LongTensor) X(BoolTensor)
#define X(name) constexpr const char* k_##name = "torch." #name;
VITRINE_OLD_CONSTRUCTORS(X)
#undef X

// Of a known number of classes it is a scatter, which refuses what is no class; else it looks for the
// largest.
Value* one_hot(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "tensor"));
  Value* classes = need(t, a, 1, "num_classes", t.integer(-1));
  bool known = v->is(ValueKind::Tensor) && torch_api::type_of(v->obj).dtype == ir::DType::i64;
  if (Value* size = known ? symbolic(t, classes) : nullptr)
    known = truth(t, compare(t, Py_GT, classes = size, t.integer(0)));
  else
    known = known && t.look(classes)->is(ValueKind::Constant) && PyLong_CheckExact(t.look(classes)->obj) &&
            int_of(t, classes, "a number of classes") > 0;
  if (!known)
    return torch_call(t, "torch.nn.functional.one_hot", find_object("torch.nn.functional.one_hot"), a);
  return call(t, t.pinned(find_object("vitrine._polyfills.library.one_hot")), {{v, classes}, {}});
}

// PyTorch has a kernel for what is not differentiated on the CPU, whose result is no view of another one.
template <const char* Name>
Value* max_pool1d(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0, "input"));
  Value* indices = t.look(need(t, a, 6, "return_indices", t.boolean(false)));
  const bool alone = v->is(ValueKind::Tensor) && torch_api::type_of(v->obj).device.is_cpu() &&
                     indices->is(ValueKind::Constant) && indices->obj == Py_False;
  if (!alone || (grad_mode(t) && torch_api::requires_grad(v->obj)))
    return torch_call(t, Name, find_object(Name), a);
  return call(t, t.pinned(find_object("vitrine._polyfills.library.max_pool1d")), a);
}
constexpr char kMaxPool1d[] = "torch.max_pool1d", kMaxPool1dFunction[] = "torch.nn.functional.max_pool1d";

// A tensor stays that tensor; anything else makes one.
template <bool array>
Value* as_tensor(T& t, const A& a) {
  const char* name = array ? "torch.asarray" : "torch.as_tensor";
  if (Value* of_array = tensor_of_array(t, name, a)) return of_array;
  for (Value* v : a.positional)
    if (has_tensor(t, v)) return torch_call(t, name, find_object(name), a);
  if (Value* open = array ? nullptr : tensor_of_symbolic_numbers(t, a)) return open;
  return literal(t, find_object(name), a);
}

// A compiler's settings that say nothing of what is computed.
bool is_known_setting(T& t, const std::string& name, Value* value) {
  PyObject* o = const_object(t, value);
  if (!o) return false;
  if (name == "dynamic" || name == "fullgraph") return o == Py_None || PyBool_Check(o);
  if (name == "mode") return o == Py_None || text_of(o) == "default" || text_of(o) == "reduce-overhead";
  return name == "backend" && (text_of(o) == "inductor" || text_of(o) == "vitrine" || text_of(o) == "eager");
}

// torch.compile and vitrine.compile in a program that is compiled: what they give is captured where it is
// called.
template <const char* const& Path>
Value* compile_inside(T& t, const A& a) {
  Value* model = need(t, a, 0, "model", t.none());
  Value* how = new_dict(t);
  for (const auto& [name, value] : a.keyword) {
    if (name == "model") continue;
    if (!is_known_setting(t, name, value))
      stop("unsupported_builtin", std::string(Path) + "() inside, with " + name,
           "Compile it outside the compiled function.");
    dict_set(t, how, t.text(name), value);
  }
  Value* seen = resolve(model);
  seen = made_anew(t, seen) ? seen : t.look(model);
  PyObject* o = seen->obj;
  const bool known = is_none(t, model) || seen->is(ValueKind::Function) || seen->is(ValueKind::Method) ||
                     (o && PyFunction_Check(o)) ||
                     (seen->is(ValueKind::Object) && torch_names().is_module(type_of(t, seen)));
  PyObject* make = find_object("vitrine._polyfills.made_inside.compiled");
  if (!known || !make || a.positional.size() > 1)
    stop("unsupported_builtin", std::string(Path) + "() of " + describe(t, model),
         "Compile it outside the compiled function.");
  how->mutated = false;
  return call(t, t.pinned(make), {{t.pinned(find_object(Path)), model, how}, {}});
}
constexpr const char* kCompile = "torch.compile";
constexpr const char* kOurCompile = "vitrine.compile";

Value* promote(T& t, const A& a) {
  return fold_call(t, find_object("torch.promote_types"), a);
}

template <const char* const& Path>
Value* for_real(T& t, const A& a) {
  return fold_call(t, find_object(Path), a);
}
// Autocast and the ways of computing attention, as the program has them by now: questions, and what
// torch.autocast and sdpa_kernel do on entering and leaving.
template <const char* const& Path>
Value* state(T& t, const A& a) {
  return state_call(t, Path, a);
}
#define VITRINE_STATE(X)                                          \
  X(ac_on, "torch.is_autocast_enabled")                           \
  X(ac_cpu_on, "torch.is_autocast_cpu_enabled")                   \
  X(ac_any_on, "torch._C._is_any_autocast_enabled")               \
  X(ac_dtype, "torch.get_autocast_dtype")                         \
  X(ac_cache, "torch.is_autocast_cache_enabled")                  \
  X(ac_set, "torch.set_autocast_enabled")                         \
  X(ac_set_dtype, "torch.set_autocast_dtype")                     \
  X(ac_set_cache, "torch.set_autocast_cache_enabled")             \
  X(ac_enter, "torch.autocast_increment_nesting")                 \
  X(ac_leave, "torch.autocast_decrement_nesting")                 \
  X(ac_clear, "torch.clear_autocast_cache")                       \
  X(sdp_cudnn, "torch._C._get_cudnn_sdp_enabled")                 \
  X(sdp_flash, "torch._C._get_flash_sdp_enabled")                 \
  X(sdp_mem_efficient, "torch._C._get_mem_efficient_sdp_enabled") \
  X(sdp_math, "torch._C._get_math_sdp_enabled")                   \
  X(sdp_overrideable, "torch._C._get_overrideable_sdp_enabled")   \
  X(sdp_set_cudnn, "torch._C._set_sdp_use_cudnn")                 \
  X(sdp_set_flash, "torch._C._set_sdp_use_flash")                 \
  X(sdp_set_mem_efficient, "torch._C._set_sdp_use_mem_efficient") \
  X(sdp_set_math, "torch._C._set_sdp_use_math")                   \
  X(sdp_set_overrideable, "torch._C._set_sdp_use_overrideable")
#define X(name, path) constexpr const char* k_##name = path;
VITRINE_STATE(X)
#undef X

// What operators ask for while they run, so that it would have to be set around single steps of a graph.
template <const char* const& Path>
Value* refuse_setting(T&, const A&) {
  stop("side_effect", std::string(Path) + "() changes how operators run",
       "Set it outside the compiled function.");
}
#define VITRINE_SETTINGS(X)                                     \
  X(s_dtype, "torch._C._set_default_dtype")                     \
  X(s_precision, "torch._C._set_float32_matmul_precision")      \
  X(s_deterministic, "torch._C._set_deterministic_algorithms")  \
  X(s_cudnn, "torch._C._set_cudnn_enabled")                     \
  X(s_cudnn_benchmark, "torch._C._set_cudnn_benchmark")         \
  X(s_cudnn_deterministic, "torch._C._set_cudnn_deterministic") \
  X(s_cudnn_tf32, "torch._C._set_cudnn_allow_tf32")             \
  X(s_cublas_tf32, "torch._C._set_cublas_allow_tf32")           \
  X(s_mkldnn, "torch._C._set_mkldnn_enabled")                   \
  X(s_threads, "torch.set_num_threads")
#define X(name, path) constexpr const char* k_##name = path;
VITRINE_SETTINGS(X)
#undef X

#define VITRINE_ASKED(X)                                         \
  X(backend_name, "torch._C._get_privateuse1_backend_name")      \
  X(autocast_available, "torch.amp.is_autocast_available")       \
  X(autocast_available_c, "torch._C._is_autocast_available")     \
  X(default_dtype, "torch.get_default_dtype")                    \
  X(deterministic, "torch.are_deterministic_algorithms_enabled") \
  X(precision, "torch._C._get_float32_matmul_precision")         \
  X(cuda, "torch.cuda.is_available")                             \
  X(cuda_count, "torch.cuda.device_count")                       \
  X(distributed, "torch.distributed.is_available")               \
  X(finfo, "torch.finfo")                                        \
  X(iinfo, "torch.iinfo")                                        \
  X(device, "torch.device")                                      \
  X(can_cast, "torch.can_cast")                                  \
  X(broadcast_shapes, "torch.broadcast_shapes")                  \
  X(default_device, "torch.get_default_device")                  \
  X(anomaly, "torch.is_anomaly_enabled")
#define X(name, path) constexpr const char* k_##name = path;
VITRINE_ASKED(X)
#undef X

constexpr BuiltinRow kRows[] = {
#define X(name, path) {path, for_real<k_##name>},
    VITRINE_ASKED(X)
#undef X
#define X(name, path) {path, refuse_setting<k_##name>},
        VITRINE_SETTINGS(X)
#undef X
#define X(name, path) {path, state<k_##name>},
            VITRINE_STATE(X)
#undef X
#define X(name) {k_##name, by_old_constructor<k_##name>},
                VITRINE_OLD_CONSTRUCTORS(X)
#undef X
                    {"torch._C._is_torch_function_mode_enabled", no},
    {"torch.is_tensor", is_tensor},
    {kCompile, compile_inside<kCompile>},
    {kOurCompile, compile_inside<kOurCompile>},
    {"torch._check_tensor_all_with", check_all},
    {"torch.is_grad_enabled",
     [](T& t, const A&) {
       check_not_differentiated(t, "torch.is_grad_enabled()");
       return t.boolean(grad_mode(t));
     }},
    {"torch._C._set_grad_enabled", set_grad},
    {"torch.is_inference", [](T& t, const A& a) { return is_inference(t, need(t, a, 0, "input")); }},
    {"torch.is_floating_point", metadata<kFloating>},
    {"torch.is_complex", metadata<kComplex>},
    {"torch.numel", metadata<kNumel>},
    {"torch._has_compatible_shallow_copy_type", shares_type},
    {"torch.Size", size},
    {"vitrine._sizes.mark_static", fix_sizes},
    {"torch.tensor", tensor_literal},
    {"torch.nn.functional.one_hot", one_hot},
    {kMaxPool1d, max_pool1d<kMaxPool1d>},
    {kMaxPool1dFunction, max_pool1d<kMaxPool1dFunction>},
    {"torch.as_tensor", as_tensor<false>},
    {"torch.asarray", as_tensor<true>},
    {"torch.promote_types", promote},
    {"torch._C._nn.scaled_dot_product_attention", attention},
    // What a compiled program is told about itself.
    {"torch.compiler.is_compiling", asked_by_the_program},
    {"torch.compiler.is_dynamo_compiling", asked_by_the_program},
    {"torch._utils.is_compiling", asked_by_the_program},
    {"torch._dynamo.external_utils.is_compiling", asked_by_the_program},
    {"torch.compiler.is_exporting", no},
    {"torch.jit.is_scripting", no},
    {"torch._jit_internal.is_scripting", no},
    {"torch.jit.is_tracing", no},
    {"torch._C._get_tracing_state", nothing},
    {"torch._C._get_dispatch_mode", nothing},
    {"torch._C._len_torch_dispatch_stack", no_modes},  // under a mode of the program's nothing is captured
    {"torch._C._is_tracing", no},
    {"torch.onnx.is_in_onnx_export", no},
    {"torch.cuda.is_current_stream_capturing", no},
    {"torch._C._are_functorch_transforms_active", no},
    {"torch._C._functorch.unwrap_if_dead", itself},  // no functorch level is alive, and none has died here
    {"torch.overrides.has_torch_function", has_function<true>},
    {"torch._C._has_torch_function", has_function<true>},
    {"torch._C._has_torch_function_unary", has_function<false>},
    {"torch._C._has_torch_function_variadic", has_function<false>},
    {"torch.overrides.has_torch_function_unary", has_function<false>},
    {"torch.overrides.has_torch_function_variadic", has_function<false>},
    {"torch._C._log_api_usage_once", nothing},
};

}  // namespace

std::span<const BuiltinRow> torch_builtins() {
  return kRows;
}

// Of autocast, of attention
Value* state_call(Tracer& t, const char* path, const Arguments& a) {
  PyRef arguments(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  for (size_t i = 0; i < a.positional.size(); ++i)
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), to_python(t, a.positional[i]));
  if (!a.keyword.empty()) stop("unsupported_builtin", std::string("keywords of ") + path);
  PyObject* result = t.lowering().state_call(path, find_object(path), arguments.get(), t.origin());
  if (!result) t.raise_python();
  return t.fold(result);
}

// A real tensor made from constants now, and a copy of it for every run.
Value* literal(Tracer& t, PyObject* maker, const Arguments& a) {
  if (Value* of_array = tensor_of_array(t, "torch.tensor", a)) return of_array;
  for (Value* v : a.positional)
    if (has_tensor(t, v)) return torch_call(t, "torch.tensor", maker, a);
  for (Value* v : a.positional) settle(t, v);
  // The type of one of NumPy's numbers is the tensor's.
  const auto as_it_is = [&](Value* v) {
    PyObject* o = constant_tree(t, v);
    PyErr_Clear();
    return o ? o : to_python(t, v);
  };
  for (const auto& [key, value] : a.keyword) settle(t, value);
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  for (size_t i = 0; i < a.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), as_it_is(a.positional[i]));
  PyRef keyword(PyDict_New());
  for (const auto& [key, value] : a.keyword) {
    PyRef o(as_it_is(value));
    PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
  }
  // Of a GPU that is not here: what is made on the CPU is taken to be there, as every tensor is.
  if (t.options.as_if && PyDict_GetItemString(keyword.get(), "device"))
    PyDict_DelItemString(keyword.get(), "device");
  PyObject* wanted = PyDict_GetItemString(keyword.get(), "requires_grad");
  const bool leaf = wanted && PyObject_IsTrue(wanted) == 1;
  if (leaf) PyDict_SetItemString(keyword.get(), "requires_grad", Py_False);
  PyRef made(PyObject_Call(maker, positional.get(), keyword.get()));
  if (!made) t.raise_python();
  auto traced = t.lowering().constant(made.get());
  if (!traced) stop("unsupported_operator", traced.error().what, traced.error().hint);
  Value* v = t.make(ValueKind::Tensor);
  v->obj = t.keep(traced.take());
  v->cls = torch_names().tensor;
  t.values.by_tensor[v->obj] = v;
  Value* copy = tensor_method(t, v, "clone", nullptr, {});
  return leaf ? set_requires_grad(t, copy, true) : copy;
}

}  // namespace vitrine::capture
