#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/value_questions.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

PyObject* object_setattr() {
  static PyObject* function =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  return function;
}

// How deep objects may lie in each other: recipes are made, copied, run and freed level by level, each on the
// stack, which is a thread's own and may be small.
constexpr int deepest = 1000;

// The recipe of an object is spelled out wherever it is met: lists of twice the same list, n deep, take 2^n.
constexpr int64_t kMostMade = 1'000'000;

}  // namespace

PyObject* native_base(PyTypeObject* cls) {
  const TorchNames& torch = torch_names();
  for (PyTypeObject* base :
       {torch.ordered_dict, torch.default_dict, &PyDict_Type, &PyDictProxy_Type, &PyList_Type, &PyTuple_Type})
    if (PyType_IsSubtype(cls, base)) return reinterpret_cast<PyObject*>(base);
  return reinterpret_cast<PyObject*>(&PyBaseObject_Type);
}

void check_leaves_as_key(const Value* key) {
  if (is_kept_as(key, "Identity")) return;
  if (key->is(ValueKind::Object) && !key->obj && key->cls->tp_hash != PyBaseObject_Type.tp_hash)
    stop("unsupported_value", with_article(key->cls->tp_name) + " made here leaves the segment as a key");
}

bool is_kept_as(const Value* v, const char* name) {
  return v->is(ValueKind::Object) && !v->obj && std::string_view(v->cls->tp_name) == name &&
         reinterpret_cast<PyObject*>(v->cls) ==
             find_object(std::string("vitrine._polyfills.made_inside.") + name);
}

Recipe copy_recipe(const Recipe& r) {
  Recipe out = r;
  Py_XINCREF(out.object);
  for (size_t i = 0; i < out.children.size(); ++i) out.children[i] = copy_recipe(r.children[i]);
  return out;
}

Recipe advanced(Recipe over, int64_t index) {
  Recipe out;
  out.kind = Recipe::Kind::Iterator;
  out.index = static_cast<int32_t>(index);
  out.children.push_back(std::move(over));
  return out;
}

Recipe RecipeMaker::constant(PyObject* borrowed) const {
  Recipe r;
  r.kind = Recipe::Kind::Constant;
  Py_INCREF(borrowed);
  r.object = borrowed;
  return r;
}

Recipe RecipeMaker::call(PyObject* callable, std::vector<Recipe> arguments) const {
  Recipe r;
  r.kind = Recipe::Kind::Call;
  r.children.push_back(constant(callable));
  for (Recipe& a : arguments) r.children.push_back(std::move(a));
  return r;
}

Recipe RecipeMaker::made_by(const std::string& path, const Values& arguments) {
  Recipe r = call(find_object(path), {});
  for (Value* a : arguments) r.children.push_back(make(a));
  return r;
}

Recipe RecipeMaker::source(const Source* s) {
  if (s->kind == SourceKind::Constant) return constant(s->key);
  Recipe r;
  r.kind = Recipe::Kind::Source;
  r.source = s;
  return r;
}

Recipe RecipeMaker::integer(const ir::Sym& sym) {
  Recipe r;
  r.kind = Recipe::Kind::Integer;
  r.index = t_.sizes.symbolic->number_of(sym);
  return r;
}

Recipe RecipeMaker::graph_result(const Value* tensor) {
  Recipe r;
  r.kind = Recipe::Kind::Graph;
  auto at = std::find(results_.begin(), results_.end(), tensor->obj);
  r.index = static_cast<int32_t>(at - results_.begin());
  if (at == results_.end()) results_.push_back(tensor->obj);
  return r;
}

Recipe RecipeMaker::sequence(Recipe::Kind kind, const Values& items) {
  Recipe r;
  r.kind = kind;
  for (Value* item : items) r.children.push_back(make(item));
  return r;
}

Recipe RecipeMaker::shared(Value* v, Recipe recipe) {
  if (v->shared < 0) v->shared = next_shared_++;
  recipe.shared = v->shared;
  return recipe;
}

Recipe RecipeMaker::make(Value* v) {
  if (!v) return {};
  if (++made_ > kMostMade)
    stop("limit", "objects that hold the same ones again and again leave the segment",
         "Give each object once, outside of the others.");
  v = resolve(v);
  if (v->source) return source(v->source);
  if (const TypeOps& type = ops_of(v); type.by_value) return type.recipe(t_, *this, v);
  // Met before: the same object again. Its recipe is spelled out each time, the number makes it one.
  if (!open_.insert(v).second) stop("unsupported_value", "an object that contains itself leaves the segment");
  if (++depth_ > deepest)
    stop("unsupported_value", "objects that lie too deep in each other leave the segment");
  Recipe r = made(v);
  --depth_;
  open_.erase(v);
  return shared(v, std::move(r));
}

Recipe RecipeMaker::made(Value* v) {
  if (v->is(ValueKind::Iterator)) return iterator(v);
  const TypeOps& type = ops_of(v);
  if (!type.recipe) stop("unsupported_value", with_article(describe(t_, v)) + " leaves the segment");
  return type.recipe(t_, *this, v);
}

Recipe RecipeMaker::iterator(Value* v) {
  const TypeOps& type = ops_of(v);
  const IteratorState& s = v->iterator();
  if (s.done) return type.exhausted(t_, *this, v);
  const Value* walked = s.children.empty() ? nullptr : resolve(s.children[0]);
  if (walked && walked->cls == torch_names().deque && walked->mutated)  // which it would find changed
    stop("unsupported_value", "an iterator over a deque that changed leaves the segment");
  // It is filled once all objects are made: an iterator that has given something would find it empty.
  if (walked && walked->is(ValueKind::List) && !walked->source && walked->cls != &PyList_Type &&
      (s.index > 0 || s.kind == IteratorKind::Reversed))
    stop("unsupported_value",
         "an iterator over " + with_article(walked->cls->tp_name) + " leaves the segment");
  if (Value* dict = iterated_dict(s)) {
    if (dict->dict().keys_changed != s.walked)
      stop("unsupported_value", "an iterator over a dict that changed leaves the segment");
    // Attributes are set, or taken, once the iterator is there.
    if (owner_of(dict) && dict->source && (dict->mutated || resolve(owner_of(dict))->mutated))
      stop("unsupported_value", "an iterator over the __dict__ of what changed leaves the segment");
  }
  if (!type.recipe) stop("unsupported_value", "an iterator leaves the segment");
  return type.recipe(t_, *this, v);
}

void RecipeMaker::attributes(Value* v, const Recipe& target) {
  for (const auto& [name, value] : v->attrs)
    if (value) set_attribute(target, name, make(value));
}

void RecipeMaker::set_attribute(const Recipe& target, const std::string& name, Recipe value) {
  PyRef key(PyUnicode_FromString(name.c_str()));
  Recipe set = call(object_setattr(), {});
  set.children.push_back(copy_recipe(target));
  set.children.push_back(constant(key.get()));
  set.children.push_back(std::move(value));
  do_afterwards(std::move(set));
}

void RecipeMaker::do_afterwards(Recipe call) {
  Effect e;
  e.kind = Effect::Kind::Call;
  e.value = std::move(call);
  effects_.push_back(std::move(e));
}

}  // namespace vitrine::capture
