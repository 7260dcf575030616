// Objects that are known by their class: PyTorch's and vitrine's wrappers of functions, getters of module
// operator, weak references, generators of random numbers, matches of regular expressions.
#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/library/flex_attention.h"
#include "core/capture/interpreter/library/rng.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

void guard_identity(Tracer& t, Value* v) {
  t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + describe(t, v));
}

// --- what vitrine.compile and vitrine.disable give
PyRef wrapped_by(Tracer& t, Value* v) {
  if (v->source) guard_identity(t, v);
  PyRef wrapped(PyObject_GetAttrString(v->obj, "__wrapped__"));
  if (!wrapped) t.raise_python();
  return wrapped;
}

// What is compiled on its own elsewhere is captured with the rest here. It never changes what it wraps.
Value* call_compiled(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  if (v->source && !v->pinned) return call(t, load_attr(t, v, "__wrapped__"), std::move(a));
  const PyRef wrapped = wrapped_by(t, v);
  return call(t, t.pinned(wrapped.get()), std::move(a));
}

Value* call_disabled(Tracer& t, Value* v, Arguments) {
  type_of(t, v);
  const PyRef wrapped = wrapped_by(t, v);
  PyRef reason(PyObject_GetAttrString(v->obj, "reason"));
  PyErr_Clear();
  stop("disabled", "function " + name_of_callable(wrapped.get()) + " is marked vitrine.disable" +
                       (text_of(reason.get()).empty() ? "" : ": " + text_of(reason.get())));
}

// --- operators of PyTorch that are objects
Value* call_flex_attention(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  return flex_attention(t, a);
}

Value* call_custom_op(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  guard_identity(t, v);
  return torch_call(t, "torch.ops.custom", v->obj, a);
}

// A function made from Python's text, which torch.jit keeps beside it.
Value* call_script(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  if (!v->obj || !v->source) return call_object(t, v, std::move(a));
  PyRef text(PyObject_GetAttrString(v->obj, "_torchdynamo_inline"));
  PyErr_Clear();
  if (!text || !PyFunction_Check(text.get())) stop("foreign_call", "call of a " + describe(t, v));
  guard_identity(t, v);
  return call(t, t.pinned(text.get()), std::move(a));
}

// --- weakref.ref
Value* call_reference(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  if (!a.positional.empty() || !a.keyword.empty()) t.raise(PyExc_TypeError, "a reference takes no arguments");
  return v->obj ? weak_target(t, v) : target_of(t, v);
}

// Made again by its class, of the first thing that it holds.
Recipe recipe_by_class(Tracer&, RecipeMaker& make, Value* v) {
  Recipe r = make.call(reinterpret_cast<PyObject*>(v->cls), {});
  r.children.push_back(make.make(v->items()[0]));
  return r;
}

Recipe recipe_of_handle(Tracer&, RecipeMaker&, Value*) {
  stop("unsupported_value", "a hook's handle leaves the segment");
}

// --- itemgetter, attrgetter, methodcaller
// One from before this point, made anew in Python: it never changes and tells what it was made with.
Value* call_getter(Tracer& t, Value* v, Arguments a) {
  type_of(t, v);
  if (!v->obj || !v->source) return call_object(t, v, std::move(a));
  guard_identity(t, v);
  PyRef reduced(PyObject_CallMethod(v->obj, "__reduce__", nullptr));
  if (!reduced) t.raise_python();
  Value* parts = t.pinned(PyTuple_GET_ITEM(reduced.get(), 1));
  Value* getter = call(t, t.pinned(PyTuple_GET_ITEM(reduced.get(), 0)), spread(t, parts, nullptr));
  return call(t, getter, std::move(a));
}

// --- random.Random
Value* random_method(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  if (name == "random") return draw(t, self, name, a);
  if (name == "getrandbits")
    stop("side_effect", "an int is drawn at random, which the program itself looks at",
         "Draw it outside the compiled function, or as a tensor: torch.randint.");
  return nullptr;
}

// --- re.Match
Value* get_group(Tracer& t, Value* v, Value* key) {
  return v->obj ? call_method(t, v, "group", {{key}, {}}) : get_object_item(t, v, key);
}

constexpr TypeOps called(const char* name, Value* (*call)(Tracer& t, Value* v, Arguments a)) {
  TypeOps ops = object_ops(name);
  ops.call = call;
  return ops;
}

}  // namespace

const TypeOps object_type = object_ops("object");
const TypeOps compiled_function_type = called("what vitrine.compile gives", call_compiled);
const TypeOps disabled_function_type = called("what vitrine.disable gives", call_disabled);
const TypeOps flex_attention_type = called("flex_attention", call_flex_attention);
const TypeOps custom_op_type = called("a custom operator", call_custom_op);
const TypeOps script_function_type = called("torch.jit.ScriptFunction", call_script);
const TypeOps getter_type = called("itemgetter, attrgetter, methodcaller", call_getter);
const TypeOps weak_reference_type = [] {
  TypeOps ops = called("weakref.ref", call_reference);
  ops.recipe = recipe_by_class;
  return ops;
}();
const TypeOps inference_context_type = [] {
  TypeOps ops = object_ops("torch.inference_mode");
  ops.recipe = recipe_by_class;
  return ops;
}();
const TypeOps removable_handle_type = [] {
  TypeOps ops = object_ops("RemovableHandle");
  ops.recipe = recipe_of_handle;
  return ops;
}();
const TypeOps random_type = [] {
  TypeOps ops = object_ops("random.Random");
  ops.call_method = random_method;
  return ops;
}();
const TypeOps match_type = [] {
  TypeOps ops = object_ops("re.Match");
  ops.get_item = get_group;
  return ops;
}();

}  // namespace vitrine::capture
