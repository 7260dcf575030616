// torch.tensor([f, 1 - f]), torch.tensor([n]): numbers that may be others in the next call are stacked, each
// as the tensor that stands for it; those that are written out are fixed.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbolic_literals.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr size_t kMostNumbers = 64;

bool is_sequence(const Value* v) {
  return (v->is(ValueKind::List) || v->is(ValueKind::Tuple)) &&
         (v->cls == &PyList_Type || v->cls == &PyTuple_Type);
}

// What the numbers have in common.
struct Numbers {
  size_t count = 0;
  bool open = false, floats = false;
};

// false: not in rows of equal length, or not numbers alone.
bool survey(Tracer& t, Value* v, Numbers& out, std::vector<size_t>& shape, size_t depth) {
  v = resolve(v);
  if (is_sequence(v)) {
    if (depth == shape.size() && out.count == 0) shape.push_back(v->items().size());
    if (depth >= shape.size() || shape[depth] != v->items().size() || v->items().empty()) return false;
    return std::all_of(v->items().begin(), v->items().end(),
                       [&](Value* each) { return survey(t, each, out, shape, depth + 1); });
  }
  if (depth != shape.size() || ++out.count > kMostNumbers) return false;
  if (symbolic_float(t, v)) return out.open = out.floats = true;
  if (symbolic(t, v)) return out.open = true;
  const Value* known = resolve(v);
  if (!known->is(ValueKind::Constant) && !known->is(ValueKind::Lazy)) return false;
  const bool is_float = known->obj && PyFloat_CheckExact(known->obj);
  out.floats = out.floats || is_float;
  return is_float || (known->obj && PyLong_CheckExact(known->obj));
}

// like: dtype, and perhaps device, as torch.full takes them.
Value* stacked(Tracer& t, Value* v, const Arguments& like) {
  v = resolve(v);
  if (is_sequence(v)) {
    Values parts;
    for (Value* each : v->items()) parts.push_back(stacked(t, each, like));
    return torch_call(t, "torch.stack", find_object("torch.stack"), {{t.list(parts)}, {}});
  }
  if (Value* open = symbolic_float(t, v))
    return tensor_method(t, open->as<FloatValue>().tensor, "to", nullptr, {{like.find("dtype")}, {}});
  Value* number = symbolic(t, v);
  return torch_call(t, "torch.full", find_object("torch.full"),
                    {{t.tuple({}), number ? number : t.look(v)}, like.keyword});
}

bool is_cpu(Tracer& t, Value* device) {
  PyObject* o = const_object(t, t.look(device));
  const PyRef text(o ? PyObject_Str(o) : nullptr);
  PyErr_Clear();
  return text_of(text.get()) == "cpu";
}

bool is_floating(PyObject* dtype) {
  const PyRef answer(dtype ? PyObject_GetAttrString(dtype, "is_floating_point") : nullptr);
  PyErr_Clear();
  return answer.get() == Py_True;
}

}  // namespace

Value* tensor_of_symbolic_numbers(Tracer& t, const Arguments& a) {
  if (a.positional.size() != 1 || has_tensor(t, a.positional[0])) return nullptr;
  Value *data = a.positional[0], *dtype = a.find("dtype"), *device = a.find("device");
  const size_t known = (dtype ? 1 : 0) + (device ? 1 : 0);
  if (a.keyword.size() > known) return nullptr;
  if (dtype && is_none(t, dtype)) dtype = nullptr;
  Numbers numbers;
  std::vector<size_t> shape;
  if (!survey(t, data, numbers, shape, 0) || !numbers.open) return nullptr;
  if (dtype && numbers.floats && !is_floating(const_object(t, t.look(dtype)))) return nullptr;
  if (device && numbers.floats && !is_cpu(t, device)) return nullptr;
  if (!dtype && numbers.floats)
    dtype = t.fold(PyObject_CallNoArgs(find_object("torch.get_default_dtype")));
  else if (!dtype)
    dtype = t.pinned(find_object("torch.int64"));
  Arguments like{{}, {{"dtype", dtype}}};
  if (device) like.keyword.emplace_back("device", device);
  return stacked(t, data, like);
}

}  // namespace vitrine::capture
