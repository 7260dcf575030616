// Tensors: operators, comparison, items and the way out. Their attributes and methods: tensor_members.cpp.
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/torch_queries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/types/tensors/leaves.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// A complex number beside a tensor of one or more dimensions and a floating or complex type: a 0-d tensor
// does the same there, and has a place in a graph. nullptr: other values.
Value* complex_beside(Tracer& t, Value* number, Value* tensor) {
  if (!number->is(ValueKind::Constant) || !PyComplex_CheckExact(number->obj) ||
      !tensor->is(ValueKind::Tensor))
    return nullptr;
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (type.sizes.empty() || !(ir::is_float(type.dtype) || ir::is_complex(type.dtype))) return nullptr;
  return literal(t, find_object("torch.tensor"),
                 {{number}, {{"dtype", t.pinned(find_object("torch.complex128"))}}});
}

Value* tensor_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  // A number to PyTorch, whatever operators its class has.
  if (b->is(ValueKind::Object) &&
      (PyType_IsSubtype(b->cls, &PyLong_Type) || PyType_IsSubtype(b->cls, &PyFloat_Type)))
    stop("unsupported_value", op.name + " of a tensor and a " + describe(t, b));
  if (a->is(ValueKind::Object) || b->is(ValueKind::Object)) return nullptr;
  if (Value* number = complex_beside(t, b, a)) b = number;
  if (Value* number = complex_beside(t, a, b)) a = number;
  // x += y on something that is no tensor makes a new value, as Python does.
  const std::string name = op.in_place && !a->is(ValueKind::Tensor) ? op.row.name : op.name;
  return torch_call(t, "operator." + name, torch_names().operator_function(name), {{a, b}, {}});
}

Value* tensor_compare(Tracer& t, int op, Value* a, Value* b) {
  Value* other = a->is(ValueKind::Tensor) ? b : a;
  const bool number =
      other->is(ValueKind::Tensor) || other->is(ValueKind::Symbol) ||
      (other->is(ValueKind::Constant) && PyNumber_Check(other->obj) && !PyType_Check(other->obj));
  const std::string name = name_of_comparison(op);
  if (number) return torch_call(t, "operator." + name, torch_names().operator_function(name), {{a, b}, {}});
  // Tensor.__eq__ gives up on None, text, lists: identity is left.
  if (other->is(ValueKind::Constant) && (op == Py_EQ || op == Py_NE)) return t.boolean(op == Py_NE);
  stop("unsupported_value", "comparison of a tensor with " + describe(t, other));
}

bool truth_of_tensor(Tracer& t, Value* v, const char* where) {
  if (Value* known = known_number(t, v, "__bool__")) return known->obj == Py_True;
  stop(where, std::string(where) == std::string("data_dependent_branch")
                  ? "the branch depends on the value of a tensor (" + describe(t, v) + ")"
                  : "the value of a tensor is read (" + describe(t, v) + ")");
}

int64_t length_of_tensor(Tracer& t, Value* v) {
  return int_of(t, tensor_method(t, v, "__len__", nullptr, {}), "len()");
}

bool tensor_contains(Tracer&, Value*, Value*) {
  stop("data_dependent_branch", "`in` a tensor reads its elements",
       "Use (a == b).any() as a tensor, in torch.where.");
}

Value* get_tensor_item(Tracer& t, Value* v, Value* key) {
  return torch_call(t, "operator.getitem", torch_names().operator_function("getitem"),
                    {{v, indices_of_arrays(t, key)}, {}});
}

void set_tensor_item(Tracer& t, Value* v, Value* key, Value* value) {
  torch_call(t, "operator.setitem", torch_names().operator_function("setitem"),
             {{v, indices_of_arrays(t, key), value}, {}});
}

Value* iter_tensor(Tracer& t, Value* v) {
  if (int_of(t, tensor_method(t, v, "dim", nullptr, {}), "dim") == 0)
    t.raise(PyExc_TypeError, "iteration over a 0-d tensor");
  return iter(t, tensor_method(t, v, "unbind", nullptr, {{t.integer(0)}, {}}));
}

Value* call_tensor(Tracer& t, Value*, Arguments) {
  t.raise(PyExc_TypeError, "'Tensor' object is not callable");
}

PyObject* fake_tensor_of(Tracer& t, Value* v) {
  check_view_of_normal(t, v);
  return Py_NewRef(v->obj);
}

// What the graph gives is a plain tensor, and no leaf that requires grad: it becomes what the program has.
Recipe as_the_program_has_it(Tracer& t, RecipeMaker& make, Value* v, Recipe r) {
  const TorchNames& torch = torch_names();
  if (v->cls == torch.parameter) {
    std::vector<Recipe> arguments;
    arguments.push_back(std::move(r));
    r = make.call(find_object("vitrine._polyfills.library.as_parameter"), std::move(arguments));
  }
  const bool leaf = t.lowering().is_made_leaf(v->obj);
  if (leaf && t.lowering().is_inference(v->obj))
    stop("unsupported_value", "a leaf made in inference mode leaves the segment");
  if (v->attrs.empty() && v->cls != torch.parameter && !leaf) return r;
  const bool first = v->shared < 0;
  r = make.shared(v, std::move(r));
  if (!first) return r;
  if (leaf) make.set_attribute(r, "requires_grad", make.constant(Py_True));
  make.attributes(v, r);
  return r;
}

Recipe recipe_of_tensor(Tracer& t, RecipeMaker& make, Value* v) {
  if (t.lowering().is_conjugated(v->obj))
    stop("unsupported_value", "a tensor that is conjugated when it is read leaves the segment",
         "Give what Tensor.conj_physical() makes.");
  return as_the_program_has_it(t, make, v, inference_result(t, v, make.graph_result(v), make));
}

Value* tensor_unary(Tracer& t, const std::string& op, Value* v) {
  return torch_call(t, "operator." + op, torch_names().operator_function(op), {{v}, {}});
}

}  // namespace

const TypeOps tensor_type = {
    .name = "torch.Tensor",
    .precedence = kBeforeClasses + 1,  // beside a number that may change, too
    .describe = [](Tracer&, Value* v) { return torch_api::type_of(v->obj).text(); },
    .attr = [](Tracer& t, Value* v, const std::string& name) { return tensor_attr(t, v, name); },
    .set_attr = [](Tracer& t, Value* v, const std::string& name,
                   Value* value) { set_tensor_attr(t, v, name, value); },
    .call = call_tensor,
    .binary = tensor_binary,
    .unary = tensor_unary,
    .compare = tensor_compare,
    .truth = truth_of_tensor,
    .length = length_of_tensor,
    .contains = tensor_contains,
    .get_item = get_tensor_item,
    .set_item = set_tensor_item,
    .iter = iter_tensor,
    .iter_first = true,
    .to_torch = fake_tensor_of,
    .recipe = recipe_of_tensor,
    .by_value = true,
};

}  // namespace vitrine::capture
