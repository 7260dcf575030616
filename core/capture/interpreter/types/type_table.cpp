// Which row is whose: by the kind of the value, of some kinds by its class.
#include <algorithm>
#include <unordered_map>

#include "core/capture/interpreter/types/type_rows.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr TypeOps null_type = {.name = "NULL"};
constexpr TypeOps lazy_type = {
    .name = "what nobody has looked at",
    .describe = [](Tracer&, Value* v) { return v->source ? v->source->text() : "?"; },
};

struct IteratorRow {
  IteratorKind kind;
  const TypeOps* ops;
};
constexpr IteratorRow kIterators[] = {
    {IteratorKind::Sequence, &sequence_iterator_type},
    {IteratorKind::Keys, &keys_iterator_type},
    {IteratorKind::Entries, &entries_iterator_type},
    {IteratorKind::DictValues, &values_iterator_type},
    {IteratorKind::Range, &constant_iterator_type},
    {IteratorKind::Reversed, &reversed_type},
    {IteratorKind::Enumerate, &enumerate_type},
    {IteratorKind::Zip, &zip_type},
    {IteratorKind::Map, &map_type},
    {IteratorKind::Filter, &filter_type},
    {IteratorKind::Chain, &chain_type},
    {IteratorKind::Count, &count_type},
    {IteratorKind::Repeat, &repeat_type},
    {IteratorKind::Islice, &islice_type},
    {IteratorKind::Generator, &generator_iterator_type},
    {IteratorKind::Callable, &callable_iterator_type},
};

const TypeOps& of_iterator(const Value* v) {
  return *kIterators[static_cast<size_t>(v->iterator().kind)].ops;
}

const TypeOps& of_list(const Value* v) {
  return v->cls == torch_names().deque ? deque_type : list_type;
}

const TypeOps& of_tuple(const Value* v) {
  return owner_of(v) ? dict_view_type : tuple_type;
}

const TypeOps& of_dict(const Value* v) {
  return v->cls == &PyDictProxy_Type ? mapping_proxy_type : dict_type;
}

const TypeOps& of_constant(const Value* v) {
  PyTypeObject* type = Py_TYPE(v->obj);
  if (type == &PyUnicode_Type) return str_type;
  if (type == &PyFunction_Type) return real_function_type;
  if (PyType_Check(v->obj)) return class_type;
  if (PyModule_Check(v->obj)) return module_type;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) return native_method_type;
  if (PyCFunction_Check(v->obj)) return native_function_type;
  if (type == &PyRange_Type) return range_type;
  return type == &PyFrozenSet_Type ? frozen_set_type : constant_type;
}

// Exactly of these classes.
const std::unordered_map<PyTypeObject*, const TypeOps*>& known_classes() {
  const TorchNames& torch = torch_names();
  static const std::unordered_map<PyTypeObject*, const TypeOps*> rows = {
      {torch.partial, &partial_type},
      {torch.compiled_function, &compiled_function_type},
      {torch.disabled_function, &disabled_function_type},
      {torch.flex_attention, &flex_attention_type},
      {torch.custom_op, &custom_op_type},
      {torch.script_function, &script_function_type},
      {torch.item_getter, &getter_type},
      {torch.attribute_getter, &getter_type},
      {torch.method_caller, &getter_type},
      {&_PyWeakref_RefType, &weak_reference_type},
      {torch.inference_context, &inference_context_type},
      {torch.removable_handle, &removable_handle_type},
      {reinterpret_cast<PyTypeObject*>(find_object("random.Random")), &random_type},
      {torch.expression_match, &match_type},
  };
  return rows;
}

const TypeOps& of_object(const Value* v) {
  if (!v->cls) return object_type;
  if (v->cls->tp_flags & Py_TPFLAGS_BASE_EXC_SUBCLASS) return exception_type;
  const auto& known = known_classes();
  const auto found = known.find(v->cls);
  return found == known.end() ? object_type : *found->second;
}

struct KindRow {
  ValueKind kind;
  const TypeOps* ops;                            // of all values of the kind
  const TypeOps& (*of)(const Value*) = nullptr;  // or of each
};
constexpr KindRow kKinds[] = {
    {ValueKind::Null, &null_type},
    {ValueKind::Lazy, &lazy_type},
    {ValueKind::Symbol, &symbol_type},
    {ValueKind::Float, &float_type},
    {ValueKind::Text, &text_type},
    {ValueKind::Constant, nullptr, of_constant},
    {ValueKind::Tensor, &tensor_type},
    {ValueKind::Tuple, nullptr, of_tuple},
    {ValueKind::List, nullptr, of_list},
    {ValueKind::Dict, nullptr, of_dict},
    {ValueKind::Set, &set_type},
    {ValueKind::Slice, &slice_type},
    {ValueKind::Iterator, nullptr, of_iterator},
    {ValueKind::Function, &function_type},
    {ValueKind::Cell, &cell_type},
    {ValueKind::Method, &method_type},
    {ValueKind::Object, nullptr, of_object},
    {ValueKind::Super, &super_type},
    {ValueKind::Generator, &generator_type},
};

// A row stands at the place that its kind has.
template <class Row, size_t N>
constexpr bool in_order(const Row (&rows)[N]) {
  for (size_t i = 0; i < N; ++i)
    if (static_cast<size_t>(rows[i].kind) != i) return false;
  return true;
}
static_assert(in_order(kKinds) && std::size(kKinds) == static_cast<size_t>(ValueKind::Generator) + 1);
static_assert(in_order(kIterators) &&
              std::size(kIterators) == static_cast<size_t>(IteratorKind::Callable) + 1);

}  // namespace

const TypeOps& ops_of(const Value* v) {
  const KindRow& row = kKinds[static_cast<size_t>(v->kind())];
  return row.ops ? *row.ops : row.of(v);
}

}  // namespace vitrine::capture
