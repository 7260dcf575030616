// slice: start, stop and step.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/objects/class_dict.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

Value* slice_attr(Tracer& t, Value* v, const std::string& name) {
  if (name == "start") return v->items()[0];
  if (name == "stop") return v->items()[1];
  if (name == "step") return v->items()[2];
  PyObject* found = lookup(&PySlice_Type, name);
  if (found && is_native_method(found)) return bind_descriptor(t, found, v, &PySlice_Type, name);
  if (name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(&PySlice_Type));
  if (found) stop_at_attribute("a slice", name);
  return nullptr;
}

void enter_slice(Tracer& t, Value* v) {
  auto* slice = reinterpret_cast<PySliceObject*>(v->obj);
  become(v, ValueKind::Slice);
  v->sized = true;  // always three parts
  v->items() = {t.lazy(slice->start, t.sources().attr(v->source, "start")),
                t.lazy(slice->stop, t.sources().attr(v->source, "stop")),
                t.lazy(slice->step, t.sources().attr(v->source, "step"))};
}

PyObject* slice_to_torch(Tracer& t, Value* v) {
  const auto bound = [&](Value* at) {
    Value* read = peek(t, at)->is(ValueKind::Tensor) ? read_number(t, t.look(at), "__index__") : nullptr;
    return to_python(t, read ? read : at);
  };
  PyRef a(bound(v->items()[0])), b(bound(v->items()[1])), c(bound(v->items()[2]));
  for (PyObject* each : {a.get(), b.get(), c.get()})
    if (torch_api::is_tensor(each))
      stop("scalar_read", "a tensor is used as a slice bound",
           "Use a mask of fixed size instead of the slice.");
  return PySlice_New(a.get(), b.get(), c.get());
}

Recipe recipe_of_slice(Tracer&, RecipeMaker& make, Value* v) {
  return make.sequence(Recipe::Kind::Slice, v->items());
}

PyObject* constant_slice(Tracer& t, Value* v) {
  const PyRef list = constant_items(t, v);
  if (!list) return nullptr;
  const auto part = [&](Py_ssize_t i) { return PyList_GET_ITEM(list.get(), i); };
  return PySlice_New(part(0), part(1), part(2));
}

}  // namespace

const TypeOps slice_type = {
    .name = "slice",
    .cls = &PySlice_Type,
    .constant = constant_slice,
    .attr = slice_attr,
    .only_reads = reads_only,
    .enter = enter_slice,
    .to_torch = slice_to_torch,
    .recipe = recipe_of_slice,
};

}  // namespace vitrine::capture
