// Tensors as autograd and modules know them: whether one requires grad, parameters made in the segment, and
// attributes of a tensor's own. In the graph all are plain tensors; the segment makes of its results what the
// program has (recipes.cpp).
#include <algorithm>

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// PyTorch's own checks are made by the fake tensor. An input is told when the segment is over.
Value* Tracer::set_requires_grad(Value* tensor, bool on) {
  if (torch_api::requires_grad(tensor->obj) == on) return tensor;
  Owned name(PyUnicode_InternFromString("requires_grad_"));
  PyObject* method = _PyType_Lookup(torch_names().tensor_base, name.get());
  torch_call("Tensor.requires_grad_", method, {{tensor, boolean(on)}, {}});
  if (tensor->real && tensor->source) write_attr(tensor, "requires_grad", boolean(on));
  return tensor;
}

// torch.nn.Parameter(data, requires_grad): the same memory under a leaf of its own.
Value* Tracer::new_parameter(const Arguments& a) {
  const TorchNames& torch = torch_names();
  const size_t n = a.positional.size();
  Value* data = n > 0 ? a.positional[0] : a.find("data");
  Value* wanted = n > 1 ? a.positional[1] : a.find("requires_grad");
  const size_t known = (data != nullptr) + (wanted != nullptr);
  if (known != n + a.keyword.size()) raise(PyExc_TypeError, "Parameter() is given other arguments");
  if (!data || is_none(data))
    data = torch_call("torch.empty", find_object("torch.empty"), {{integer(0)}, {}});
  data = look(data);
  if (data->kind != Kind::Tensor || (data->cls != torch.tensor && data->cls != torch.parameter))
    stop("unsupported_value", "a parameter is made of a " + describe(data));
  const bool wants = !wanted || truth(wanted);
  const ir::DType dtype = torch_api::type_of(data->obj).dtype;
  if (wants && !ir::is_float(dtype) && !ir::is_complex(dtype))
    stop("exception", "a parameter of integers is to require grad");
  Value* v = look(tensor_method(data, "detach", nullptr, {}));
  v->cls = torch.parameter;
  return set_requires_grad(v, wants);
}

namespace {

uint64_t writes_to(PyObject* fake_tensor) {
  Owned count(PyObject_GetAttrString(fake_tensor, "_version"));
  if (!count) PyErr_Clear();
  return count ? PyLong_AsUnsignedLongLong(count.get()) : 0;
}

}  // namespace

// A tensor of its own in the same memory, outside autograd's sight: what is written to it is not counted.
Value* Tracer::data_of(Value* v) {
  if (inference_mode() || (is_tensor(v) && lowering_->is_inference(v->obj)))
    stop("unsupported_operator", ".data is read in inference mode");
  if (v->real && v->source && std::find(unversioned_.begin(), unversioned_.end(), v) == unversioned_.end())
    unversioned_.push_back(v);
  return torch_call("Tensor.data", find_object("vitrine._polyfills.library.data_of"), {{v}, {}});
}

// The fake tensors have counted as PyTorch counts.
std::vector<Effect> Tracer::version_effects(RecipeMaker& make) {
  std::vector<Effect> out;
  for (Value* v : unversioned_) {
    if (!lowering_->is_written(v->obj)) continue;
    const Source* before = sources_->make(SourceKind::Attr, v->source, -1, "_version");
    Value* counted = lazy(Owned(PyObject_GetAttrString(v->real, "_version")).get(), before);
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(find_object("vitrine._polyfills.library.set_version"), {});
    e.value.children.push_back(make.make(v));
    e.value.children.push_back(make.make(counted));
    e.value.children.push_back(make.make(integer(static_cast<int64_t>(writes_to(v->obj)))));
    out.push_back(std::move(e));
  }
  return out;
}

// The tensor stays the same object to Python and to autograd, and takes over the other's memory.
void Tracer::set_data(Value* v, Value* value) {
  value = look(value);
  if (value == look(v)) return;  // what Module.to() does with a parameter that is as it should be
  const bool fits = value->kind == Kind::Tensor &&
                    torch_api::type_of(value->obj).dtype == torch_api::type_of(v->obj).dtype &&
                    torch_api::type_of(value->obj).sizes == torch_api::type_of(v->obj).sizes;
  if (!fits || dynamic() || inference_mode() || lowering_->is_inference(v->obj))
    stop("custom_setter", "a tensor's .data is set to a " + describe(value));
  const auto memory = [](Value* t) { return torch_api::storage_id(torch_api::handle_of(t->obj)); };
  if (memory(value) == memory(v) && torch_api::type_of(value->obj) == torch_api::type_of(v->obj)) return;
  torch_call(std::string(torch_api::Lowering::kSetData), find_object("vitrine._polyfills.library.set_data"),
             {{v, value}, {}});
  if (v->real && v->source) write_attr(v, "data", value);
}

// What a tensor that requires no grad has none of; and a leaf, as long as it stays one.
Value* Tracer::autograd_fact(Value* v, const std::string& name) {
  check_not_differentiated("a tensor's autograd graph");
  const bool wants = torch_api::requires_grad(v->obj);
  const bool leaf = torch_api::is_leaf(v->real ? v->real : v->obj) && torch_api::is_leaf(v->obj);
  if (!leaf && (v->real || name == "grad_fn"))
    stop("unsupported_operator", "a tensor's " + name + " is read: it is autograd's own graph");
  if (wants && v->real && v->source) guard_leaf(name, v);
  return name == "is_leaf" ? boolean(leaf) : none();
}

void Tracer::set_tensor_attr(Value* v, const std::string& name, Value* value) {
  if (name == "grad") return write_grad(v, value);
  if (name == "data") return set_data(v, value);
  if (name == "requires_grad") return void(set_requires_grad(v, truth(value)));
  Owned key(PyUnicode_InternFromString(name.c_str()));
  PyObject* descriptor = _PyType_Lookup(v->cls, key.get());
  if (descriptor && Py_TYPE(descriptor)->tp_descr_set)
    stop("custom_setter", "attribute " + name + " of a tensor is set");
  write_attr(v, name, value);
}

}  // namespace vitrine::capture
