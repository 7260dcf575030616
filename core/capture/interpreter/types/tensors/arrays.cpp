// NumPy's arrays. One is an object of vitrine._polyfills.arrays, whose methods are interpreted as any others,
// over a tensor: what NumPy's functions make of it is written there with PyTorch's. A real array enters as a
// tensor over its memory, and what leaves the segment is a real one.
#include <algorithm>

#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_queries.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static Value* make_array(Tracer& t, Value* tensor, bool scalar);

namespace {

// "arrays.Array": of vitrine's modules; nullptr: there is no NumPy.
PyObject* in_arrays(const std::string& path) {
  return torch_names().numpy_ufunc ? find_object("vitrine._polyfills." + path) : nullptr;
}

PyObject* array_class() {
  static constinit Once<PyObject*> kept_cls;
  PyObject* const cls = kept_cls.get([] { return in_arrays("arrays.Array"); });
  return cls;
}
PyObject* scalar_class() {
  static constinit Once<PyObject*> kept_cls;
  PyObject* const cls = kept_cls.get([] { return in_arrays("arrays.Scalar"); });
  return cls;
}

bool holds_array(Tracer& t, Value* v) {
  v = resolve(v);
  if (array_kind(t, v) != ArrayKind::None) return true;
  if (v->is(ValueKind::Lazy) && !PyTuple_CheckExact(v->obj) && !PyList_CheckExact(v->obj)) return false;
  v = t.look(v);
  return (v->is(ValueKind::Tuple) || v->is(ValueKind::List)) &&
         std::any_of(v->items().begin(), v->items().end(), [&](Value* item) { return holds_array(t, item); });
}

// Keys of the tables there are functions of NumPy.
PyObject* found_in(PyObject* table, PyObject* function) {
  PyObject* found = table ? PyDict_GetItemWithError(table, function) : nullptr;
  PyErr_Clear();  // it cannot be hashed
  return found;
}

template <const char* const& Name>
Value* folded(Tracer& t, const Arguments& a) {
  return fold_call(t, in_arrays(std::string("array_types.") + Name), a);
}
constexpr const char *kTorchType = "torch_type", *kNumpyType = "numpy_type", *kLoopTypes = "loop_types",
                     *kNumberType = "type_of_number", *kPlain = "plain", *kResultType = "result_type",
                     *kTypeOfBoth = "type_of_both";

constexpr BuiltinRow kRows[] = {
    {"vitrine._polyfills.array_words.refuse",
     [](Tracer& t, const Arguments& a) -> Value* {
       stop("foreign_call", str_of(t, need(t, a, 0), false), "Use torch's function of that name.");
     }},
    {"vitrine._polyfills.array_words.make",
     [](Tracer& t, const Arguments& a) { return make_array(t, need(t, a, 0), truth(t, need(t, a, 1))); }},
    {"vitrine._polyfills.array_words.is_array",
     [](Tracer& t, const Arguments& a) {
       return t.boolean(array_kind(t, need(t, a, 0)) != ArrayKind::None);
     }},
    {"vitrine._polyfills.array_words.known",
     [](Tracer& t, const Arguments& a) { return literal(t, in_arrays("array_types.made_for_real"), a); }},
    {"vitrine._polyfills.array_types.torch_type", folded<kTorchType>},
    {"vitrine._polyfills.array_types.numpy_type", folded<kNumpyType>},
    {"vitrine._polyfills.array_types.loop_types", folded<kLoopTypes>},
    {"vitrine._polyfills.array_types.type_of_number", folded<kNumberType>},
    {"vitrine._polyfills.array_types.plain", folded<kPlain>},
    {"vitrine._polyfills.array_types.result_type", folded<kResultType>},
    {"vitrine._polyfills.array_types.type_of_both", folded<kTypeOfBoth>},
};

}  // namespace

std::span<const BuiltinRow> array_builtins() {
  return kRows;
}

ArrayKind array_kind(Tracer& t, Value* v) {
  v = resolve(v);
  if (v->is(ValueKind::Lazy) && v->obj && Py_TYPE(v->obj) == torch_names().numpy_array) v = t.look(v);
  if (!v->is(ValueKind::Object) || !v->cls) return ArrayKind::None;
  const auto* cls = reinterpret_cast<PyObject*>(v->cls);
  return cls == array_class()    ? ArrayKind::Array
         : cls == scalar_class() ? ArrayKind::Scalar
                                 : ArrayKind::None;
}

Value* make_array(Tracer& t, Value* tensor, bool scalar) {
  Value* v = t.make(ValueKind::Object);
  v->cls = reinterpret_cast<PyTypeObject*>(scalar ? scalar_class() : array_class());
  v->attrs = {{"tensor", t.look(tensor)}, {"scalar", t.boolean(scalar)}};
  v->typed = true;
  return v;
}

// false: no array, or none that PyTorch can have the memory of.
bool enter_array(Tracer& t, Value* v) {
  if (Py_TYPE(v->obj) != torch_names().numpy_array || !v->source) return false;
  static constinit Once<PyObject*> kept_behind;
  PyObject* const behind = kept_behind.get([] { return in_arrays("array_types.tensor_behind"); });
  PyRef tensor(PyObject_CallOneArg(behind, v->obj));
  if (!tensor) PyErr_Clear();
  if (!tensor || tensor.get() == Py_None) return false;
  guard_type(t, v);
  become(v, ValueKind::Object);
  v->cls = reinterpret_cast<PyTypeObject*>(array_class());
  Value* over = t.lazy(tensor.get(), t.sources().make(SourceKind::TensorOver, v->source, -1, ""));
  v->attrs = {{"tensor", over}, {"scalar", t.boolean(false)}};
  t.graph.has_arrays = true;
  return true;
}

// Written to under another name, unseen by the graph.
void check_arrays_unwritten(Tracer& t) {
  if (t.graph.has_arrays && t.lowering().effects().writes_inputs)
    stop("unsupported_value", "tensors are written to that NumPy's arrays may share memory with");
}

// One of NumPy's functions that is given an array, or makes one. nullptr: neither, or an unknown one.
Value* call_on_arrays(Tracer& t, PyObject* function, const Arguments& a) {
  static constinit Once<PyObject*> kept_functions, kept_makers;
  PyObject* const functions = kept_functions.get([] { return in_arrays("array_functions.FUNCTIONS"); });
  PyObject* const makers = kept_makers.get([] { return in_arrays("arrays.MAKERS"); });
  PyObject* ours = found_in(makers, function);
  if (PyObject* of_arrays = ours ? nullptr : found_in(functions, function)) {
    const auto holds = [&](Value* v) { return holds_array(t, v); };
    if (std::any_of(a.positional.begin(), a.positional.end(), holds)) ours = of_arrays;
  }
  return ours ? call(t, t.pinned(ours), a) : nullptr;
}

// One of PyTorch's that makes a tensor of an array. nullptr: it is another, or is given none.
Value* tensor_of_array(Tracer& t, const std::string& name, const Arguments& a) {
  if (a.positional.empty() || array_kind(t, a.positional[0]) == ArrayKind::None) return nullptr;
  static constinit Once<PyObject*> kept_tensors;
  PyObject* const tensors = kept_tensors.get([] { return in_arrays("arrays.TENSORS"); });
  PyObject* ours = PyDict_GetItemString(tensors, name.c_str());
  return ours ? call(t, t.pinned(ours), a) : nullptr;
}

Value* array_of_tensor(Tracer& t, Value* tensor, Arguments a) {
  static constinit Once<PyObject*> kept_function;
  PyObject* const function = kept_function.get([] { return in_arrays("arrays.of_tensor"); });
  a.positional.insert(a.positional.begin(), tensor);
  return call(t, t.pinned(function), std::move(a));
}

Recipe recipe_of_array(RecipeMaker& make, Value* v) {
  Recipe r = make.call(find_object("vitrine._polyfills.array_types.leave"), {});
  for (const auto& [name, value] : v->attrs) r.children.push_back(make.make(value));
  return r;
}

Value* indices_of_arrays(Tracer& t, Value* key) {
  const auto behind = [&](Value* v, bool alone) {
    if (array_kind(t, v) != ArrayKind::Array) return v;
    Value* tensor = t.look(t.look(v)->attrs[0].second);
    const ir::TensorType type = torch_api::type_of(tensor->obj);
    const bool places = type.dtype == ir::DType::i64 || type.dtype == ir::DType::b1;
    return places && !type.sizes.empty() && (!alone || type.sizes.size() == 1) ? tensor : v;
  };
  key = resolve(key);
  if (!key->is(ValueKind::Tuple) && !(key->is(ValueKind::Lazy) && PyTuple_CheckExact(key->obj)))
    return behind(key, true);
  key = t.look(key);
  if (!key->is(ValueKind::Tuple)) return key;
  guard_length(t, key);
  Values items = key->items();
  bool changed = false;
  for (Value*& item : items) {
    Value* found = behind(item, false);
    changed = changed || found != item;
    item = found;
  }
  return changed ? t.sequence(ValueKind::Tuple, std::move(items)) : key;
}

}  // namespace vitrine::capture
