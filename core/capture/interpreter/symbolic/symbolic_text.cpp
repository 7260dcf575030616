// f"{count} tokens" of a tensor's number: a check's message, which nobody reads unless the check fails. It is
// known to be a str; whoever looks at it ends the segment. One that leaves is written behind the graph.
#include "core/capture/interpreter/symbolic/symbolic_text.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/replaced.h"

namespace vitrine::capture {
namespace {

// What the element type's items are in Python, for a format that would be an error. New reference.
PyObject* some_item(ir::DType dtype) {
  if (dtype == ir::DType::b1) return Py_NewRef(Py_False);
  if (ir::is_complex(dtype)) return PyComplex_FromDoubles(0, 0);
  return ir::is_float(dtype) ? PyFloat_FromDouble(0) : PyLong_FromLong(0);
}

// Whether every number of the type can be written so. A character's number has a range.
bool can_write(ir::DType dtype, const std::string& form) {
  if (form.ends_with('c')) return false;
  PyRef item(some_item(dtype)), wanted(PyUnicode_FromString(form.c_str()));
  PyRef text(item && wanted ? PyObject_Format(item.get(), wanted.get()) : nullptr);
  PyErr_Clear();
  return static_cast<bool>(text);
}

}  // namespace

// v: what is written; items of the result: the number as it is now, and the format.
Value* symbolic_text(Tracer& t, Value* v, Value* spec) {
  if (resolve(v)->is(ValueKind::Text)) return spec ? nullptr : resolve(v);
  v = t.look(v);
  if (!v->is(ValueKind::Tensor) || v->cls != torch_names().tensor) return nullptr;
  const ir::TensorType type = torch_api::type_of(v->obj);
  if (!type.sizes.empty() || torch_api::requires_grad(v->obj)) return nullptr;
  if (torch_api::is_replaced_in_tensor("__format__")) return nullptr;
  Value* form = t.text(spec ? str_of(t, spec, false) : "");
  if (type.dtype == ir::DType::other || !can_write(type.dtype, str_of(t, form, false))) return nullptr;
  Value* open = t.make(ValueKind::Text);
  open->cls = &PyUnicode_Type;
  open->items() = {tensor_method(t, v, "clone", nullptr, {}), form};
  return open;
}

Value* joined_text(Tracer& t, const Values& parts) {
  bool open = false;
  for (Value* part : parts) open = open || resolve(part)->is(ValueKind::Text);
  if (open) {
    Value* whole = t.make(ValueKind::Text);
    whole->cls = &PyUnicode_Type;
    whole->items() = parts;
    return whole;
  }
  std::string whole;
  for (Value* part : parts) whole += str_of(t, part, false);
  return t.text(whole);
}

}  // namespace vitrine::capture
