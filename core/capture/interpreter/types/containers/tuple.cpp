// tuple, torch.Size, named tuples, and other classes that derive from tuple.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/enter.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// torch.Size.numel()
Value* tuple_numel(Tracer& t, Value* self, const Arguments&) {
  Value* product = t.integer(1);
  for (Value* d : self->items()) product = binary(t, "mul", product, d);
  return product;
}

const MethodTable& tuple_methods() {
  static const MethodTable table = {
      {"index", index_method},
      {"count", count_method},
      {"__init__", [](Tracer& t, Value*, const Arguments&) { return t.none(); }},
      {"__len__", len_method},
      {"__iter__", iter_method},
      {"numel", tuple_numel},
  };
  return table;
}

// One that hangs on a guarded class cannot change; every other sequence may have another length next time.
void enter_tuple(Tracer& t, Value* v) {
  become(v, ValueKind::Tuple);
  if (!v->pinned) return enter_items(t, v);
  v->items() = items_before(t, v);
  v->sized = true;
}

Recipe recipe_of_tuple(Tracer&, RecipeMaker& make, Value* v) {
  Recipe plain = make.sequence(Recipe::Kind::Tuple, v->items());
  if (v->cls == &PyTuple_Type) return plain;
  PyObject* cls = reinterpret_cast<PyObject*>(v->cls);
  std::vector<Recipe> arguments;
  if (v->cls == torch_names().size || real_of(v)) {  // torch.Size, torch.return_types.*
    arguments.push_back(std::move(plain));
    return make.call(cls, std::move(arguments));
  }
  static PyObject* tuple_new = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__");
  arguments.push_back(make.constant(cls));
  arguments.push_back(std::move(plain));
  Recipe r = make.call(tuple_new, std::move(arguments));
  if (!v->attrs.empty()) {
    r = make.shared(v, std::move(r));
    make.attributes(v, r);
  }
  return r;
}

PyObject* constant_tuple(Tracer& t, Value* v) {
  if (v->cls != &PyTuple_Type && v->cls != torch_names().size) return nullptr;
  const PyRef list = constant_items(t, v);
  PyRef tuple(list ? PyList_AsTuple(list.get()) : nullptr);
  if (!tuple || v->cls == &PyTuple_Type) return tuple.release();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->cls), tuple.get());
}

}  // namespace

Method method_of_tuple(const std::string& name) {
  return method_in<tuple_methods>(name);
}

Value* get_tuple_item(Tracer& t, Value* v, Value* key) {
  key = t.look(key);
  guard_length(t, v);
  return is_slice(key) ? get_slice(t, v, key) : get_at(t, v, key, "tuple index out of range");
}

void set_tuple_item(Tracer& t, Value*, Value*, Value*) {
  t.raise(PyExc_TypeError, "'tuple' object does not support item assignment", true);
}

std::string describe_tuple(Tracer&, Value* v) {
  return std::string(v->cls->tp_name) + " of " + std::to_string(v->items().size());
}

PyObject* tuple_to_torch(Tracer& t, Value* v) {
  PyRef plain(PyList_AsTuple(items_to_torch(t, v).get()));
  if (v->cls == &PyTuple_Type) return plain.release();
  PyObject* cls = reinterpret_cast<PyObject*>(v->cls);
  PyObject* made = PyObject_HasAttrString(cls, "_fields") ? PyObject_CallObject(cls, plain.get())
                                                          : PyObject_CallOneArg(cls, plain.get());
  if (!made) t.raise_python();
  return made;
}

const TypeOps tuple_type = container_ops({
    .name = "tuple",
    .describe = describe_tuple,
    .constant = constant_tuple,
    .method = method_of_tuple,
    .only_reads = reads_only,
    .binary = binary_of_sequences,
    .compare = compare_sequences,
    .equal = equal_sequences,
    .length = length_of_items,
    .contains = contains_item,
    .get_item = get_tuple_item,
    .set_item = set_tuple_item,
    .iter = iter_items,
    .enter = enter_tuple,
    .to_torch = tuple_to_torch,
    .recipe = recipe_of_tuple,
});

}  // namespace vitrine::capture
