// Calls that become nodes: torch functions, tensor methods, operators on tensors.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/words.h"
#include "core/capture/interpreter/commit/aliasing.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/recurrent.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"
#include "core/recording/symbolic_int.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/replaced.h"

namespace vitrine::capture {

static void note_updates(Tracer& t);

namespace {

// Modules whose functions are nodes of the captured graph; everything above them is inlined.
const std::unordered_set<std::string>& leaf_modules() {
  static const std::unordered_set<std::string> modules = {
      "torch",
      "torch._C",
      "torch._C._nn",
      "torch._C._special",
      "torch._C._linalg",
      "torch._C._fft",
      "torch._C._sparse",
      "torch._C._nested",
      "torch.functional",
      "torch.nn.functional",
      "torch.special",
      "torch.linalg",
      "torch.fft",
      "torch._VF",
      "torch._tensor",
      "torch._C._VariableFunctions",
  };
  return modules;
}

// Functions of those modules that are ordinary Python, or that answer about the process and not about
// tensors.
const std::unordered_set<std::string>& inlined_functions() {
  static const std::unordered_set<std::string> names = {
      "torch.typename",
      "torch.is_tensor",
      "torch._assert",
      "torch._check",
      "torch._check_with",
      "torch._check_value",
      "torch._check_index",
      "torch._check_type",
      "torch._check_is_size",
      "torch._check_not_implemented",
      "torch.get_default_device",
      "torch.is_storage",
      "torch.use_deterministic_algorithms",
      "torch.set_default_dtype",
      "torch.set_default_device",
      "torch.compile",
      "torch.cond",
      "torch.vmap",
      "torch.set_default_tensor_type",
      "torch.set_deterministic_debug_mode",
      "torch.set_float32_matmul_precision",
      "torch.are_deterministic_algorithms_enabled",
      "torch.get_float32_matmul_precision",
      "torch._check_tensor_all",
      "torch._check_tensor_all_with",
      "torch.while_loop",
      "torch.sym_int",
  };
  return names;
}

std::string attr_text(PyObject* o, const char* name) {
  PyRef value(PyObject_GetAttrString(o, name));
  if (!value) PyErr_Clear();
  return text_of(value.get());
}

bool begins(const std::string& s, const char* prefix) {
  return s.rfind(prefix, 0) == 0;
}

// How a builtin of torch is written by people: torch.nn.functional where it is found there, else torch.
std::string written_name(PyObject* callable, const std::string& module, const std::string& name) {
  if (begins(module, "torch._C._nn")) {
    PyObject* alias = find_object("torch.nn.functional." + name);
    return (alias == callable ? "torch.nn.functional." : "torch._C._nn.") + name;
  }
  if (begins(module, "torch._C._linalg"))
    return "torch.linalg." + name.substr(begins(name, "linalg_") ? 7 : 0);
  if (begins(module, "torch._C._special"))
    return "torch.special." + name.substr(begins(name, "special_") ? 8 : 0);
  if (begins(module, "torch._C._fft")) return "torch.fft." + name.substr(begins(name, "fft_") ? 4 : 0);
  if (module == "torch.nn.functional" || module == "torch.functional" || begins(module, "torch.special") ||
      begins(module, "torch.linalg"))
    return (module == "torch.functional" ? "torch" : module) + "." + name;
  if (module == "torch._tensor") return "Tensor." + name;
  return "torch." + name;
}

// functools.wraps gives a program's own function the name of one of PyTorch's. One of PyTorch's that calls
// what the program has put in the place of another one is a function as any other.
bool is_of_torch(PyObject* function) {
  if (!globals_of_torch(PyFunction_GET_GLOBALS(function)) && !torch_api::is_own_function(function))
    return false;
  return !torch_api::may_call_replaced(function);
}

}  // namespace

bool is_torch_leaf(PyObject* callable, std::string* name) {
  const TorchNames& torch = torch_names();
  if (Py_TYPE(callable) == torch.op_overload || Py_TYPE(callable) == torch.op_packet) {
    PyRef text(PyObject_Str(callable));
    *name = "torch.ops." + text_of(text.get());
    return true;
  }
  if (!PyCFunction_Check(callable) && !PyFunction_Check(callable)) return false;
  if (PyFunction_Check(callable) && !is_of_torch(callable)) return false;
  std::string module = attr_text(callable, "__module__");
  const std::string own = attr_text(callable, "__name__");
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (module.empty() && self) {
      const std::string owner =
          PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self)->tp_name : Py_TYPE(self)->tp_name;
      if (owner.find("_VariableFunctions") == std::string::npos) return false;
      module = "torch._C._VariableFunctions";
    }
    // torch._C itself holds many functions about state; only those also offered by torch are tensor
    // functions.
    if (module == "torch._C" || module == "torch") {
      if (!self || PyModule_Check(self)) {
        const std::string owner = self ? attr_text(self, "__name__") : "";
        if (owner == "torch._C" || owner == "torch") return false;
      }
    }
  }
  if (!leaf_modules().count(module)) return false;
  *name = written_name(callable, module, own);
  return !inlined_functions().count(*name) && !inlined_functions().count(module + "." + own);
}

namespace {

// A call that gives numbers may give others for other sizes.
bool only_tensors(PyObject* o) {
  if (torch_api::is_tensor(o) || o == Py_None) return true;
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (!only_tensors(PySequence_Fast_GET_ITEM(o, i))) return false;
  return true;
}

// Whether a value may be another one for other sizes.
bool follows_sizes(PyObject* o) {
  if (torch_api::is_tensor(o) || torch_api::symbolic_number(o) >= 0) return true;
  if (PyDict_Check(o)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
      if (follows_sizes(key) || follows_sizes(value)) return true;
    return false;
  }
  if (PySlice_Check(o)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(o);
    return follows_sizes(slice->start) || follows_sizes(slice->stop) || follows_sizes(slice->step);
  }
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (follows_sizes(PySequence_Fast_GET_ITEM(o, i))) return true;
  return false;
}

}  // namespace

bool has_tensor(Tracer& t, Value* v) {
  const Nested nested(t.frames.nesting);
  v = resolve(v);
  if (v->is(ValueKind::Lazy)) {
    if (torch_api::is_tensor(v->obj)) return true;
    if (!PyTuple_Check(v->obj) && !PyList_Check(v->obj)) return false;
    v = t.look(v);
  }
  if (v->is(ValueKind::Tensor)) return true;
  for (Value* item : v->items_if_any())
    if (item && has_tensor(t, item)) return true;
  return false;
}

PyObject* to_python(Tracer& t, Value* v) {
  const Nested nested(t.frames.nesting);
  v = peek(t, v);
  const TypeOps& type = ops_of(v);
  if (!type.to_torch) stop("unsupported_value", with_article(describe(t, v)) + " is given to PyTorch");
  return type.to_torch(t, v);
}

Value* from_python(Tracer& t, PyObject* o) {
  if (torch_api::is_tensor(o)) {
    if (auto found = t.values.by_tensor.find(o); found != t.values.by_tensor.end()) return found->second;
    if (!t.lowering().is_traced(o))
      stop("unsupported_operator", "the call made a tensor outside the recording");
    Value* v = t.make(ValueKind::Tensor);
    Py_INCREF(o);
    v->obj = t.keep(o);
    v->cls = Py_TYPE(o);
    t.values.by_tensor[o] = v;
    mark_view_of_normal(t, v);
    return v;
  }
  if (const int32_t number = torch_api::symbolic_number(o); number >= 0)  // handed through
    return symbol_value(t, t.sizes.symbolic->integers[static_cast<size_t>(number)]);
  if (PyTuple_Check(o) || PyList_Check(o)) {
    if (Py_TYPE(o) == torch_names().size) {
      Py_INCREF(o);
      return t.fold(o);
    }
    const bool is_tuple = PyTuple_Check(o);
    Values items;
    for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i)
      items.push_back(from_python(t, is_tuple ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i)));
    Value* v = t.sequence(is_tuple ? ValueKind::Tuple : ValueKind::List, std::move(items), Py_TYPE(o));
    if (Py_TYPE(o) != &PyTuple_Type && Py_TYPE(o) != &PyList_Type) {
      Py_INCREF(o);
      v->as<TupleValue>().real = t.keep(o);  // torch.return_types.*: answers its field names
    }
    return v;
  }
  if (PyDict_CheckExact(o)) {
    Value* dict = new_dict(t);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &key, &value))
      dict_set(t, dict, t.fold(Py_NewRef(key)), from_python(t, value));
    return dict;
  }
  Py_INCREF(o);
  return t.fold(o);
}

namespace {

// PyTorch asks whether quantiles are in [0, 1] only where there is data. Elsewhere it shows when the sorted
// elements are indexed, unless there is but one.
bool unseen_quantiles(const std::string& name, PyObject* positional, PyObject* keyword) {
  if (!name.ends_with("quantile") || PyTuple_GET_SIZE(positional) == 0) return false;
  PyObject* q = PyTuple_GET_SIZE(positional) > 1 ? PyTuple_GET_ITEM(positional, 1) : nullptr;
  if (!q && keyword) q = PyDict_GetItemString(keyword, "q");
  PyObject* of = PyTuple_GET_ITEM(positional, 0);
  if (!q || !torch_api::is_tensor(q) || !torch_api::is_tensor(of)) return false;
  const ir::Dims sizes = torch_api::type_of(of).sizes;
  return sizes.empty() || std::find(sizes.begin(), sizes.end(), 1) != sizes.end();
}

}  // namespace

// Sizes of a new tensor may be given as tensors, which PyTorch reads. Where a run may read them, they are
// ints.
static Arguments with_read_sizes(Tracer& t, const std::string& name, const Arguments& a) {
  static const std::unordered_set<std::string> makes = {
      "torch.zeros", "torch.ones",       "torch.empty",     "torch.rand",
      "torch.randn", "Tensor.new_zeros", "Tensor.new_ones", "Tensor.new_empty"};
  Arguments out = a;
  if (!makes.contains(name)) return out;
  const auto is_int = [&](Value* v) {
    v = peek(t, v);
    return v->is(ValueKind::Symbol) || (v->is(ValueKind::Constant) && PyLong_CheckExact(v->obj));
  };
  const size_t first = name.starts_with("Tensor.") ? 1 : 0;
  if (a.positional.size() <= first || !is_int(a.positional[first])) return out;
  for (size_t i = first; i < out.positional.size(); ++i) {
    Value* v = peek(t, out.positional[i]);  // a look would make a size a constant
    if (!v->is(ValueKind::Tensor)) continue;
    const ir::TensorType type = torch_api::type_of(v->obj);
    if (!type.sizes.empty() || !ir::is_integer(type.dtype) || type.dtype == ir::DType::b1) continue;
    if (Value* number = read_number(t, v, "__index__")) out.positional[i] = number;
  }
  return out;
}

// Of one graph: a loop without end becomes a break before it has used up the memory.
constexpr int64_t kMostCalls = 50'000;

Value* torch_call(Tracer& t, const std::string& name, PyObject* callable, const Arguments& given) {
  if (Value* of_array = tensor_of_array(t, name, given)) return of_array;
  const Arguments a = with_read_sizes(t, name, given);
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  for (size_t i = 0; i < a.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), to_python(t, a.positional[i]));
  PyRef keyword;
  if (!a.keyword.empty()) keyword = PyRef(PyDict_New());
  for (const auto& [key, value] : a.keyword) {
    PyRef o(to_python(t, value));
    PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
  }
  if ((name == "torch.is_conj" || name == "torch.resolve_conj") &&
      std::any_of(a.positional.begin(), a.positional.end(), [&](Value* v) {
        return t.look(v)->is(ValueKind::Tensor) && t.lowering().is_conjugated(t.look(v)->obj);
      }))
    stop("unsupported_operator", name + "() of a tensor that is conjugated when it is read");
  if (name == "Tensor.detach_" || name == "torch.detach_")
    for (Value* v : a.positional)
      if (real_of(t.look(v))) stop("unsupported_operator", name + "() of an input, which may be a view");
  // They are chosen where nothing overrides PyTorch's functions, as a run among fake tensors does.
  if (t.pure.since >= 0 && t.graph.checkpoint.number < 0 &&
      (name == "torch._native_multi_head_attention" || name == "torch._transformer_encoder_layer_fwd"))
    stop("unsupported_operator", name + " in a function that PyTorch transforms");
  if (unseen_quantiles(name, positional.get(), keyword.get()))
    stop("scalar_read", name + " asks whether its quantiles are in [0, 1]");
  if (++t.graph.torch_calls > kMostCalls)
    stop("limit", "more than " + std::to_string(kMostCalls) + " calls of PyTorch in one graph",
         "Compile the body of the loop instead of the loop.");
  if (t.sizes.last_stand_in) let_parts_fit(name, positional.get());
  auto outcome = t.lowering().call(name, callable, positional.get(), keyword.get(), t.origin());
  if (outcome.unsupported)
    stop(outcome.unsupported->kind.c_str(), outcome.unsupported->reason, outcome.unsupported->hint);
  if (outcome.raised || !outcome.value) {
    if (dynamic(t)) fix_all_sizes(t);  // the error may be another one for others, or none
    t.raise_python();
  }
  PyRef value(outcome.value);
  // A plain bool that is no question about dtype, layout or shape may be one about the elements, which are
  // not there.
  const bool about_type =
      name.find("is_") != std::string::npos && name.find("is_nonzero") == std::string::npos;
  if (PyBool_Check(value.get()) && !about_type) stop("scalar_read", name + " gives a bool");
  refuse_long_recurrence(t, name, a, outcome.operators);
  check_storages(t);
  note_updates(t);
  forget_sizes(t, keyword && PyDict_GetItemString(keyword.get(), "out") ? "out_" : name);
  const bool may_differ = follows_sizes(positional.get()) || (keyword && follows_sizes(keyword.get()));
  if (dynamic(t) && may_differ && !only_tensors(value.get())) {
    PyObject* o = value.get();
    const bool plain = PyBool_Check(o) || PyLong_CheckExact(o) || Py_TYPE(o) == torch_names().dtype;
    if (keyword || !plain) fix_all_sizes(t);
    t.lowering().note_question(callable, positional.get());  // strides may be any, too
    t.sizes.symbolic->questions.push_back({-1, Py_NewRef(value.get())});
  }
  return from_python(t, value.get());
}

// Behind each call
void note_updates(Tracer& t) {
  const auto now = t.lowering().effects();
  if (now.last_stand_in != t.sizes.last_stand_in) note_stand_ins(t, now.last_stand_in);
  if (now.updates != t.graph.updates)
    t.graph.gradients_begin = -1;
  else if (now.updates > 0 && now.differentiable != t.graph.differentiable && t.graph.gradients_begin < 0)
    t.graph.gradients_begin = t.frames.executed;
  t.graph.updates = now.updates;
  t.graph.differentiable = now.differentiable;
}

namespace {

struct InputName {
  ir::NodeKind kind = ir::NodeKind::placeholder;
  std::string path;
};

InputName name_by_source(const Source* source) {
  InputName name{.path = source->path()};
  for (const Source* s = source; s; s = s->base) {
    if (s->kind != SourceKind::InstanceDict) continue;
    if (s->name == "_parameters") name.kind = ir::NodeKind::parameter;
    if (s->name == "_buffers") name.kind = ir::NodeKind::buffer;
    break;
  }
  return name;
}

// A parameter is called by its way through the modules, also where an optimizer or a list gave it first. So
// is its gradient.
InputName name_of_input(Tracer& t, const Source* source, PyObject* real) {
  InputName name = name_by_source(source);
  if (name.kind != ir::NodeKind::placeholder) return name;
  if (PyType_IsSubtype(Py_TYPE(real), torch_names().parameter)) {
    const std::string& path = t.graph.module_paths.of(real, t.frames.live);
    if (path.empty()) return name;
    t.graph.known_as[source] = path;
    return {ir::NodeKind::parameter, path};
  }
  if (source->kind == SourceKind::Attr && source->base)
    if (const auto found = t.graph.known_as.find(source->base); found != t.graph.known_as.end())
      name.path = found->second + "." + source->name;
  return name;
}

}  // namespace

void name_by_module(Tracer& t, const Value* first, const Source* source) {
  if (!source || !first->is(ValueKind::Tensor) || !first->source) return;
  const InputName name = name_by_source(source);
  if (name.kind != ir::NodeKind::placeholder) t.lowering().name_input(first->obj, name.kind, name.path);
}

Value* enter_tensor(Tracer& t, Value* v) {
  PyObject* real = v->obj;
  const auto [kind, path] = name_of_input(t, v->source, real);
  check_storage_of(t, v);
  auto entered = t.lowering().input(real, kind, path);
  if (!entered) stop("unsupported_value", entered.error().what, entered.error().hint);
  become(v, ValueKind::Tensor);
  v->as<TensorValue>().real = real;
  v->obj = t.keep(entered.take());
  v->cls = Py_TYPE(real);
  t.values.by_tensor[v->obj] = v;
  t.graph.inputs.push_back(v->source);
  note_memory(t, v);
  t.guard(GuardKind::TensorMatch, v->source, real, 0, "", nullptr, torch_api::type_of(real).text());
  open_sizes(t, v, real, kind);
  check_storages(t);
  return v;
}

}  // namespace vitrine::capture
