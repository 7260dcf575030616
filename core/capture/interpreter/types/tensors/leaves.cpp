// Tensors as autograd and modules know them: whether one requires grad, parameters made in the segment, and
// attributes of a tensor's own. In the graph all are plain tensors; the segment makes of its results what the
// program has (recipes.cpp).
#include <algorithm>

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/backward.h"
#include "core/capture/interpreter/library/differentiation.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/optimizers.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// PyTorch's own checks are made by the fake tensor. An input is told when the segment is over.
Value* set_requires_grad(Tracer& t, Value* tensor, bool on) {
  if (torch_api::requires_grad(tensor->obj) == on) return tensor;
  PyRef name(PyUnicode_InternFromString("requires_grad_"));
  PyObject* method = _PyType_Lookup(torch_names().tensor_base, name.get());
  torch_call(t, "Tensor.requires_grad_", method, {{tensor, t.boolean(on)}, {}});
  if (real_of(tensor) && tensor->source) write_attr(t, tensor, "requires_grad", t.boolean(on));
  return tensor;
}

// torch.nn.Parameter(data, requires_grad): the same memory under a leaf of its own.
Value* new_parameter(Tracer& t, const Arguments& a) {
  const TorchNames& torch = torch_names();
  const size_t n = a.positional.size();
  Value* data = n > 0 ? a.positional[0] : a.find("data");
  Value* wanted = n > 1 ? a.positional[1] : a.find("requires_grad");
  const size_t known = (data != nullptr) + (wanted != nullptr);
  if (known != n + a.keyword.size()) t.raise(PyExc_TypeError, "Parameter() is given other arguments");
  if (!data || is_none(t, data))
    data = torch_call(t, "torch.empty", find_object("torch.empty"), {{t.integer(0)}, {}});
  data = t.look(data);
  if (!data->is(ValueKind::Tensor) || (data->cls != torch.tensor && data->cls != torch.parameter))
    stop("unsupported_value", "a parameter is made of a " + describe(t, data));
  const bool wants = !wanted || truth(t, wanted);
  const ir::DType dtype = torch_api::type_of(data->obj).dtype;
  if (wants && !ir::is_float(dtype) && !ir::is_complex(dtype))
    stop("exception", "a parameter of integers is to require grad");
  Value* v = t.look(tensor_method(t, data, "detach", nullptr, {}));
  v->cls = torch.parameter;
  return set_requires_grad(t, v, wants);
}

namespace {

uint64_t writes_to(PyObject* fake_tensor) {
  PyRef count(PyObject_GetAttrString(fake_tensor, "_version"));
  if (!count) PyErr_Clear();
  return count ? PyLong_AsUnsignedLongLong(count.get()) : 0;
}

}  // namespace

// A tensor of its own in the same memory, outside autograd's sight: what is written to it is not counted.
Value* data_of(Tracer& t, Value* v) {
  if (inference_mode(t) || (is_tensor(v) && t.lowering().is_inference(v->obj)))
    stop("unsupported_operator", ".data is read in inference mode");
  if (real_of(v) && v->source &&
      std::find(t.modes.unversioned.begin(), t.modes.unversioned.end(), v) == t.modes.unversioned.end())
    t.modes.unversioned.push_back(v);
  return torch_call(t, "Tensor.data", find_object("vitrine._polyfills.library.data_of"), {{v}, {}});
}

// The fake tensors have counted as PyTorch counts.
std::vector<Effect> version_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  for (Value* v : t.modes.unversioned) {
    if (!t.lowering().is_written(v->obj)) continue;
    const Source* before = t.sources().make(SourceKind::Attr, v->source, -1, "_version");
    Value* counted = t.lazy(PyRef(PyObject_GetAttrString(real_of(v), "_version")).get(), before);
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object("vitrine._polyfills.library.set_version"), {});
    e.value.children.push_back(make.make(v));
    e.value.children.push_back(make.make(counted));
    e.value.children.push_back(make.make(t.integer(static_cast<int64_t>(writes_to(v->obj)))));
    out.push_back(std::move(e));
  }
  return out;
}

// The tensor stays the same object to Python and to autograd, and takes over the other's memory.
static void set_data(Tracer& t, Value* v, Value* value) {
  value = t.look(value);
  if (value == t.look(v)) return;  // what Module.to() does with a parameter that is as it should be
  const bool fits = value->is(ValueKind::Tensor) &&
                    torch_api::type_of(value->obj).dtype == torch_api::type_of(v->obj).dtype &&
                    torch_api::type_of(value->obj).sizes == torch_api::type_of(v->obj).sizes;
  if (!fits || dynamic(t) || inference_mode(t) || t.lowering().is_inference(v->obj))
    stop("custom_setter", "a tensor's .data is set to a " + describe(t, value));
  const auto memory = [](Value* one) { return torch_api::storage_id(torch_api::handle_of(one->obj)); };
  if (memory(value) == memory(v) && torch_api::type_of(value->obj) == torch_api::type_of(v->obj)) return;
  torch_call(t, std::string(torch_api::Lowering::kSetData),
             find_object("vitrine._polyfills.library.set_data"), {{v, value}, {}});
  if (real_of(v) && v->source) write_attr(t, v, "data", value);
}

// What a tensor that requires no grad has none of; and a leaf, as long as it stays one.
Value* autograd_fact(Tracer& t, Value* v, const std::string& name) {
  check_not_differentiated(t, "a tensor's autograd graph");
  const bool wants = torch_api::requires_grad(v->obj);
  const bool leaf = torch_api::is_leaf(real_of(v) ? real_of(v) : v->obj) && torch_api::is_leaf(v->obj);
  if (!leaf && (real_of(v) || name == "grad_fn"))
    stop("unsupported_operator", "a tensor's " + name + " is read: it is autograd's own graph");
  if (wants && real_of(v) && v->source) guard_leaf(t, name, v);
  return name == "is_leaf" ? t.boolean(leaf) : t.none();
}

void set_tensor_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  if (name == "grad") return write_grad(t, v, value);
  if (name == "data") return set_data(t, v, value);
  if (name == "requires_grad") return void(set_requires_grad(t, v, truth(t, value)));
  PyRef key(PyUnicode_InternFromString(name.c_str()));
  PyObject* descriptor = _PyType_Lookup(v->cls, key.get());
  if (descriptor && Py_TYPE(descriptor)->tp_descr_set)
    stop("custom_setter", "attribute " + name + " of a tensor is set");
  write_attr(t, v, name, value);
}

}  // namespace vitrine::capture
