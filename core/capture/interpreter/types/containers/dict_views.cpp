// Views of dicts: a tuple of what stands in the dict, its owner, renewed where the dict has changed. Keys
// compare as sets do.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/dicts.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {
namespace {

bool is_view(const Value* v) {
  return v->is(ValueKind::Tuple) && owner_of(v);
}

bool is_keys(const Value* v) {
  return is_view(v) && v->cls == &PyDictKeys_Type;
}

std::optional<bool> equal_views(Tracer& t, Value* a, Value* b) {
  if (!((is_keys(a) || a->is(ValueKind::Set)) && (is_keys(b) || b->is(ValueKind::Set))))
    stop("unsupported_value", "comparison of " + describe(t, a) + " with " + describe(t, b));
  if (length(t, a) != length(t, b)) return false;
  for (Value* item : a->items())
    if (is_keys(b) ? !dict_get(t, owner_of(b), item) : !contains(t, b, item)) return false;
  return true;
}

Recipe recipe_of_view(Tracer& t, RecipeMaker& make, Value* v) {
  const char* name = v->cls == &PyDictKeys_Type ? "keys" : v->cls == &PyDictValues_Type ? "values" : "items";
  // What dict itself gives of an ordered one goes by another order.
  PyTypeObject* const owner = resolve(owner_of(v))->cls;
  PyTypeObject* cls = owner == &PyDictProxy_Type               ? &PyDictProxy_Type
                      : PyType_IsSubtype(owner, &PyODict_Type) ? &PyODict_Type
                                                               : &PyDict_Type;
  PyRef method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(cls), name));
  Recipe r = make.call(method.get(), {});
  r.children.push_back(make.make(owner_of(v)));
  return r;
}

// A view of a new dict with these keys, or these items.
PyObject* constant_view(Tracer& t, Value* v) {
  if (v->cls == &PyDictValues_Type) return nullptr;
  const bool of_keys = v->cls == &PyDictKeys_Type;
  const PyRef list = constant_items(t, v);
  PyRef dict(list ? PyDict_New() : nullptr);
  for (Py_ssize_t i = 0; of_keys && dict && i < PyList_GET_SIZE(list.get()); ++i)
    if (PyDict_SetItem(dict.get(), PyList_GET_ITEM(list.get(), i), Py_None) < 0) return nullptr;
  if (!dict || (!of_keys && PyDict_MergeFromSeq2(dict.get(), list.get(), 1) < 0)) return nullptr;
  return PyObject_CallMethod(dict.get(), of_keys ? "keys" : "items", nullptr);
}

}  // namespace

Values items_of_view(Tracer& t, Value* dict, PyTypeObject* cls) {
  Values items;
  for (auto [key, value] : dict_entries(t, dict))
    items.push_back(cls == &PyDictKeys_Type     ? key
                    : cls == &PyDictValues_Type ? value
                                                : t.tuple({key, value}));
  return items;
}

Value* new_dict_view(Tracer& t, Value* dict, PyTypeObject* cls) {
  Value* v = t.sequence(ValueKind::Tuple, items_of_view(t, dict, cls), cls);
  v->as<TupleValue>().owner = dict;
  v->version = dict->version;
  return v;
}

const TypeOps dict_view_type = container_ops({
    .name = "dict_keys, dict_values, dict_items",
    .precedence = 1,  // beside a tuple, too
    .describe = describe_tuple,
    .constant = constant_view,
    .method = method_of_tuple,
    .only_reads = reads_only,
    .equal = equal_views,
    .length = length_of_items,
    .contains = contains_item,
    .get_item = get_tuple_item,
    .set_item = set_tuple_item,
    .iter = iter_items,
    .to_torch = tuple_to_torch,
    .recipe = recipe_of_view,
});

}  // namespace vitrine::capture
