#include "core/capture/interpreter/commit/recipes.h"

#include <algorithm>

#include "core/base/once.h"
#include "core/base/words.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/iterated.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

PyObject* object_new() {
  static PyObject* function =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
  return function;
}
PyObject* object_setattr() {
  static PyObject* function =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  return function;
}

// The builtin class whose layout `cls` has: its methods write past every override.
PyObject* native_base(PyTypeObject* cls) {
  const TorchNames& torch = torch_names();
  for (PyTypeObject* base :
       {torch.ordered_dict, torch.default_dict, &PyDict_Type, &PyDictProxy_Type, &PyList_Type, &PyTuple_Type})
    if (PyType_IsSubtype(cls, base)) return reinterpret_cast<PyObject*>(base);
  return reinterpret_cast<PyObject*>(&PyBaseObject_Type);
}

// How deep objects may lie in each other: recipes are made, copied, run and freed level by level, each on the
// stack, which is a thread's own and may be small.
constexpr int deepest = 1000;

// The recipe of an object is spelled out wherever it is met: lists of twice the same list, n deep, take 2^n.
constexpr int64_t kMostMade = 1'000'000;

// Its hash would be asked for before it has its attributes.
void check_key(Value* key) {
  if (is_kept_as(key, "Identity")) return;
  if (key->kind == Kind::Object && !key->obj && key->cls->tp_hash != PyBaseObject_Type.tp_hash)
    stop("unsupported_value", with_article(key->cls->tp_name) + " made here leaves the segment as a key");
}

}  // namespace

bool is_kept_as(const Value* v, const char* name) {
  return v->kind == Kind::Object && !v->obj && std::string_view(v->cls->tp_name) == name &&
         reinterpret_cast<PyObject*>(v->cls) ==
             find_object(std::string("vitrine._polyfills.made_inside.") + name);
}

Recipe copy_recipe(const Recipe& r) {
  Recipe out = r;
  Py_XINCREF(out.object);
  for (size_t i = 0; i < out.children.size(); ++i) out.children[i] = copy_recipe(r.children[i]);
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

Recipe RecipeMaker::source(const Source* s) {
  if (s->kind == SourceKind::Constant) return constant(s->key);
  Recipe r;
  r.kind = Recipe::Kind::Source;
  r.source = s;
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
  v = t_.resolve(v);
  if (v->source) return source(v->source);
  if (v->kind == Kind::Symbol) {
    Recipe r;
    r.kind = Recipe::Kind::Integer;
    r.index = t_.symbolic_->number_of(v->sym);
    return r;
  }
  if (v->kind == Kind::Float && !v->items.empty()) return sequence(Recipe::Kind::Call, v->items);
  if (v->kind == Kind::Float && !v->tensor) return source(t_.derived_source(v->roots[0], v->parts));
  if (v->kind == Kind::Float) {
    Recipe r = call(reinterpret_cast<PyObject*>(&PyFloat_Type), {});
    r.children.push_back(make(v->tensor));
    return r;
  }
  if (v->kind == Kind::Text) return text(v);
  if (v->kind == Kind::Constant) return constant(v->obj);
  if (v->kind == Kind::Tensor) {
    if (t_.lowering().is_conjugated(v->obj))
      stop("unsupported_value", "a tensor that is conjugated when it is read leaves the segment",
           "Give what Tensor.conj_physical() makes.");
    Recipe r;
    r.kind = Recipe::Kind::Graph;
    auto at = std::find(results_.begin(), results_.end(), v->obj);
    r.index = static_cast<int32_t>(at - results_.begin());
    if (at == results_.end()) results_.push_back(v->obj);
    return tensor_made(v, t_.inference_result(v, std::move(r), *this));
  }
  // Met before: the same object again. Its recipe is spelled out each time, the number makes it one.
  if (!open_.insert(v).second) stop("unsupported_value", "an object that contains itself leaves the segment");
  if (++depth_ > deepest)
    stop("unsupported_value", "objects that lie too deep in each other leave the segment");
  Recipe r;
  switch (v->kind) {
    case Kind::Tuple:
      r = tuple(v);
      break;
    case Kind::List:
      r = v->cls == &PyList_Type          ? sequence(Recipe::Kind::List, v->items)
          : v->cls == torch_names().deque ? deque(v)
                                          : list_of_class(v);
      break;
    case Kind::Set:
      for (Value* item : v->items) check_key(t_.resolve(item));
      r = sequence(Recipe::Kind::Set, v->items);
      if (v->items.size() < 2 || v->cls != &PySet_Type) break;
      if (std::any_of(v->items.begin(), v->items.end(), is_made_here)) break;
      if (Owned changes = Owned(t_.how_set_was_made(v))) {
        r = call(find_object("vitrine._polyfills.library.set_of"), {});
        r.children.push_back(constant(changes.get()));
        break;
      }
      stop("unsupported_value", "a set whose order is not known leaves the segment");
    case Kind::Slice:
      r = sequence(Recipe::Kind::Slice, v->items);
      break;
    case Kind::Dict:
      r = dict(v);
      break;
    case Kind::Cell:
      r = sequence(Recipe::Kind::Cell, {v->items.empty() ? nullptr : v->items[0]});
      break;
    case Kind::Function:
      r = function(v);
      break;
    case Kind::Iterator:
      r = iterator(v);
      break;
    case Kind::Object:
      r = object(v);
      break;
    case Kind::Method: {
      Value* f = t_.look(v->items[0]);
      const bool of_array = t_.array_kind(v->items[1]) != ArrayKind::None;  // the real one has NumPy's own
      if (f->kind == Kind::Constant && of_array) {
        Owned name(PyObject_GetAttrString(f->obj, "__name__"));
        if (!name) t_.raise_python();
        r = call(find_object("builtins.getattr"), {});
        r.children.push_back(make(v->items[1]));
        r.children.push_back(constant(name.get()));
      } else if (f->kind == Kind::Constant && !PyFunction_Check(f->obj)) {
        r = call(find_object("vitrine._polyfills.library.bound"), {});
        r.children.push_back(constant(f->obj));
        r.children.push_back(make(v->items[1]));
      } else {
        r = sequence(Recipe::Kind::BoundMethod, v->items);
      }
      break;
    }
    default:
      stop("unsupported_value", with_article(t_.describe(v)) + " leaves the segment");
  }
  --depth_;
  open_.erase(v);
  return shared(v, std::move(r));
}

// What the graph gives is a plain tensor, and no leaf that requires grad: it becomes what the program has.
Recipe RecipeMaker::tensor_made(Value* v, Recipe r) {
  const TorchNames& torch = torch_names();
  if (v->cls == torch.parameter) {
    std::vector<Recipe> arguments;
    arguments.push_back(std::move(r));
    r = call(find_object("vitrine._polyfills.library.as_parameter"), std::move(arguments));
  }
  const bool leaf = t_.lowering().is_made_leaf(v->obj);
  if (leaf && t_.lowering().is_inference(v->obj))
    stop("unsupported_value", "a leaf made in inference mode leaves the segment");
  if (v->attrs.empty() && v->cls != torch.parameter && !leaf) return r;
  const bool first = v->shared < 0;
  r = shared(v, std::move(r));
  if (!first) return r;
  if (leaf) set_attribute(r, "requires_grad", constant(Py_True));
  attributes(v, r);
  return r;
}

Recipe RecipeMaker::tuple(Value* v) {
  if (v->owner) {  // a view
    const char* name = v->cls == &PyDictKeys_Type     ? "keys"
                       : v->cls == &PyDictValues_Type ? "values"
                                                      : "items";
    const bool proxy = t_.resolve(v->owner)->cls == &PyDictProxy_Type;
    PyTypeObject* cls = proxy ? &PyDictProxy_Type : &PyDict_Type;
    Owned method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(cls), name));
    Recipe r = call(method.get(), {});
    r.children.push_back(make(v->owner));
    return r;
  }
  Recipe plain = sequence(Recipe::Kind::Tuple, v->items);
  if (v->cls == &PyTuple_Type) return plain;
  PyObject* cls = reinterpret_cast<PyObject*>(v->cls);
  std::vector<Recipe> arguments;
  if (v->cls == torch_names().size || v->real) {  // torch.Size, torch.return_types.*
    arguments.push_back(std::move(plain));
    return call(cls, std::move(arguments));
  }
  static PyObject* tuple_new = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__");
  arguments.push_back(constant(cls));
  arguments.push_back(std::move(plain));
  Recipe r = call(tuple_new, std::move(arguments));
  if (!v->attrs.empty()) {
    r = shared(v, std::move(r));
    attributes(v, r);
  }
  return r;
}

void RecipeMaker::attributes(Value* v, const Recipe& target) {
  for (const auto& [name, value] : v->attrs)
    if (value) set_attribute(target, name, make(value));
}

void RecipeMaker::set_attribute(const Recipe& target, const std::string& name, Recipe value) {
  Owned key(PyUnicode_FromString(name.c_str()));
  Effect e;
  e.kind = Effect::Kind::Call;
  e.value = call(object_setattr(), {});
  e.value.children.push_back(copy_recipe(target));
  e.value.children.push_back(constant(key.get()));
  e.value.children.push_back(std::move(value));
  effects_.push_back(std::move(e));
}

Recipe RecipeMaker::object(Value* v) {
  const TorchNames& torch = torch_names();
  if (v->cls == torch.partial) {
    const bool first = v->shared < 0;
    if (!v->attrs.empty())
      stop("unsupported_value", "a partial() with attributes of its own leaves the segment");
    Recipe r = call(find_object("vitrine._polyfills.library.partial_of"), {});
    if (first)
      for (Value* part : v->items) r.children.push_back(make(part));
    return shared(v, std::move(r));
  }
  if (v->cls == torch.inference_context) {
    Recipe r = call(reinterpret_cast<PyObject*>(v->cls), {});
    r.children.push_back(make(v->items[0]));
    return r;
  }
  if (is_weak_reference(v)) {
    Recipe r = call(reinterpret_cast<PyObject*>(v->cls), {});
    r.children.push_back(make(v->items[0]));
    return r;
  }
  for (const auto& [name, maker] :
       {std::pair{"Identity", "builtins.id"},
        std::pair{"Compiled", "vitrine._polyfills.made_inside.compiled_for_real"}}) {
    if (!is_kept_as(v, name)) continue;
    Recipe r = call(find_object(maker), {});
    for (const auto& [attribute, value] : v->attrs) r.children.push_back(make(value));
    return r;
  }
  if (t_.array_kind(v) != ArrayKind::None) {
    Recipe r = call(find_object("vitrine._polyfills.array_types.leave"), {});
    for (const auto& [name, value] : v->attrs) r.children.push_back(make(value));
    return r;
  }
  if (v->cls == torch.removable_handle) stop("unsupported_value", "a hook's handle leaves the segment");
  if (PyType_IsSubtype(v->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    stop("unsupported_value", "an exception made here leaves the segment");
  const bool first = v->shared < 0;
  std::vector<Recipe> arguments;
  arguments.push_back(constant(reinterpret_cast<PyObject*>(v->cls)));
  Recipe r = shared(v, call(object_new(), std::move(arguments)));
  if (first) {
    open_.erase(v);  // its attributes may lead back to it: they are set afterwards
    attributes(v, r);
    open_.insert(v);
  }
  return r;
}

Recipe RecipeMaker::dict(Value* v) {
  if (!v->owner)
    for (auto [key, value] : t_.dict_entries(v)) check_key(t_.resolve(key));
  if (v->owner) {  // the object's own, not one like it
    static PyObject* getter =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__");
    static PyObject* name = PyUnicode_InternFromString("__dict__");
    Recipe r = call(getter, {});
    r.children.push_back(make(v->owner));
    r.children.push_back(constant(name));
    return r;
  }
  if (v->cls == &PyDict_Type) {
    Recipe r;
    r.kind = Recipe::Kind::Dict;
    for (auto [key, value] : t_.dict_entries(v)) {
      r.children.push_back(make(key));
      r.children.push_back(make(value));
    }
    return r;
  }
  if (!PyType_IsSubtype(v->cls, &PyDict_Type))
    stop("unsupported_value", with_article(t_.describe(v)) + " leaves the segment");
  const bool first = v->shared < 0;
  PyObject* base = native_base(v->cls);
  Owned maker(PyObject_GetAttrString(base, "__new__")), setter(PyObject_GetAttrString(base, "__setitem__"));
  std::vector<Recipe> arguments;
  arguments.push_back(constant(reinterpret_cast<PyObject*>(v->cls)));
  Recipe r = shared(v, call(maker.get(), std::move(arguments)));
  if (!first) return r;
  open_.erase(v);
  for (auto [key, value] : t_.dict_entries(v)) {
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = call(setter.get(), {});
    e.value.children.push_back(copy_recipe(r));
    e.value.children.push_back(make(key));
    e.value.children.push_back(make(value));
    effects_.push_back(std::move(e));
  }
  attributes(v, r);
  open_.insert(v);
  return r;
}

Recipe RecipeMaker::deque(Value* v) {
  std::vector<Recipe> items;
  items.push_back(sequence(Recipe::Kind::List, v->items));
  if (v->limit >= 0) items.push_back(constant(Owned(PyLong_FromLongLong(v->limit)).get()));
  return call(reinterpret_cast<PyObject*>(v->cls), std::move(items));
}

// An object of a class derived from list: made empty, then filled past every override.
Recipe RecipeMaker::list_of_class(Value* v) {
  const bool first = v->shared < 0;
  auto* base = reinterpret_cast<PyObject*>(&PyList_Type);
  Owned maker(PyObject_GetAttrString(base, "__new__")), adder(PyObject_GetAttrString(base, "append"));
  std::vector<Recipe> arguments;
  arguments.push_back(constant(reinterpret_cast<PyObject*>(v->cls)));
  Recipe r = shared(v, call(maker.get(), std::move(arguments)));
  if (!first) return r;
  open_.erase(v);
  for (Value* item : v->items) {
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = call(adder.get(), {});
    e.value.children.push_back(copy_recipe(r));
    e.value.children.push_back(make(item));
    effects_.push_back(std::move(e));
  }
  attributes(v, r);
  open_.insert(v);
  return r;
}

// Of vitrine._polyfills.transforms.
static PyObject* transform_globals() {
  static constinit Once<PyObject*> kept_module;
  PyObject* const module =
      kept_module.get([] { return PyImport_ImportModule("vitrine._polyfills.transforms"); });
  return module ? PyModule_GetDict(module) : nullptr;
}

Recipe RecipeMaker::function(Value* v) {
  FunctionState& f = *v->function;
  if (text_of(f.code->co_qualname) == "pull.<locals>.vjp_function" && f.globals == transform_globals())
    stop("unsupported_value", "the function that torch.func.vjp gives leaves the segment");
  Recipe r;
  r.kind = Recipe::Kind::Function;
  r.children.push_back(constant(reinterpret_cast<PyObject*>(f.code)));
  r.children.push_back(constant(f.globals));
  r.children.push_back(constant(f.code->co_qualname));
  r.children.push_back(f.defaults ? make(f.defaults) : constant(Py_None));
  r.children.push_back(f.kwdefaults ? make(f.kwdefaults) : constant(Py_None));
  r.children.push_back(f.closure.empty() ? constant(Py_None) : sequence(Recipe::Kind::Tuple, f.closure));
  r.children.push_back(f.annotations ? make(t_.get_attr(v, "__annotations__")) : constant(Py_None));
  if (!v->attrs.empty()) {
    const bool first = v->shared < 0;
    r = shared(v, std::move(r));
    if (first) attributes(v, r);
  }
  return r;
}

namespace {

Recipe advanced(Recipe over, int64_t index) {
  Recipe out;
  out.kind = Recipe::Kind::Iterator;
  out.index = static_cast<int32_t>(index);
  out.children.push_back(std::move(over));
  return out;
}

const char* view_of_dict(IteratorKind kind) {
  return kind == IteratorKind::Keys ? "keys" : kind == IteratorKind::DictValues ? "values" : "items";
}

}  // namespace

// One that has nothing left: what it walked over may get more elements, and it will not see them.
Recipe RecipeMaker::exhausted(const IteratorState& s) {
  const auto of_nothing = [&](const char* path, std::initializer_list<Recipe> before = {}) {
    Recipe c = call(find_object(path), before);
    c.children.push_back(sequence(Recipe::Kind::Tuple, {}));
    return c;
  };
  const auto of_a_dict = [&](const char* view) {
    Owned method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), view));
    Recipe c = call(method.get(), {});
    c.children.push_back(call(reinterpret_cast<PyObject*>(&PyDict_Type), {}));
    return advanced(std::move(c), 0);
  };
  const Owned zero(PyLong_FromLong(0));
  const Value* walked = s.children.empty() ? nullptr : t_.resolve(s.children[0]);
  const bool of_a_list = walked && walked->kind == Kind::List;
  switch (s.kind) {
    case IteratorKind::Reversed:
      return of_a_list ? call(find_object("builtins.reversed"), {sequence(Recipe::Kind::List, {})})
                       : of_nothing("builtins.reversed");
    case IteratorKind::Enumerate:
      return of_nothing("builtins.enumerate");
    case IteratorKind::Zip:
      return of_nothing("builtins.zip");
    case IteratorKind::Map:
      return of_nothing("builtins.map", {make(s.function)});
    case IteratorKind::Filter:
      return of_nothing("builtins.filter", {make(s.function)});
    case IteratorKind::Chain:
      return of_nothing("itertools.chain");
    case IteratorKind::Repeat:
      return call(find_object("itertools.repeat"), {constant(Py_None), constant(zero.get())});
    case IteratorKind::Islice: {
      Recipe c = of_nothing("itertools.islice");
      c.children.push_back(constant(zero.get()));
      return c;
    }
    case IteratorKind::Keys:
    case IteratorKind::DictValues:
    case IteratorKind::Entries:
      return of_a_dict(view_of_dict(s.kind));
    case IteratorKind::Range:
      if (PyRange_Check(walked->obj))
        return advanced(call(reinterpret_cast<PyObject*>(&PyRange_Type), {constant(zero.get())}), 0);
      return advanced(call(reinterpret_cast<PyObject*>(Py_TYPE(walked->obj)), {}), 0);
    default:
      if (s.set) return advanced(sequence(Recipe::Kind::Set, {}), 0);
      if (walked && walked->cls == &PyDictValues_Type) return of_a_dict("values");
      if (walked && walked->cls == &PyDictItems_Type) return of_a_dict("items");
      return advanced(sequence(of_a_list ? Recipe::Kind::List : Recipe::Kind::Tuple, {}), 0);
  }
}

Recipe RecipeMaker::iterator(Value* v) {
  IteratorState& s = *v->iterator;
  Recipe r;
  const auto library = [&](const std::string& path, const Values& arguments) {
    Recipe c = call(find_object(path), {});
    for (Value* a : arguments) c.children.push_back(make(a));
    return c;
  };
  const auto builtin = [&](const char* name, const Values& arguments) {
    return library(std::string("builtins.") + name, arguments);
  };
  if (s.done) return exhausted(s);
  const Value* walked = s.children.empty() ? nullptr : t_.resolve(s.children[0]);
  if (walked && walked->cls == torch_names().deque && walked->mutated)  // which it would find changed
    stop("unsupported_value", "an iterator over a deque that changed leaves the segment");
  if (const Value* dict = iterated_dict(s); dict && dict->dict->keys_changed != s.walked)
    stop("unsupported_value", "an iterator over a dict that changed leaves the segment");
  switch (s.kind) {
    case IteratorKind::Sequence:
      if (s.set && s.set->version != s.walked)
        stop("unsupported_value", "an iterator over a set that changed leaves the segment");
      return advanced(make(s.set ? s.set : s.children[0]), s.index);
    case IteratorKind::Range:
      return advanced(make(s.children[0]), s.index);
    case IteratorKind::Reversed: {
      const auto n = static_cast<int64_t>(t_.resolve(s.children[0])->items.size());
      return advanced(builtin("reversed", {s.children[0]}), n - s.index);
    }
    case IteratorKind::Enumerate:
      return builtin("enumerate", {s.children[0], t_.integer(s.index)});
    case IteratorKind::Zip:
      if (s.strict) break;
      return builtin("zip", s.children);
    case IteratorKind::Map:
    case IteratorKind::Filter: {
      Values arguments = s.children;
      arguments.insert(arguments.begin(), s.function);
      return builtin(s.kind == IteratorKind::Map ? "map" : "filter", arguments);
    }
    case IteratorKind::Chain: {
      Values rest(s.children.begin() + s.index, s.children.end());
      if (s.inner) rest.insert(rest.begin(), s.inner);
      return library("itertools.chain", rest);
    }
    case IteratorKind::Count:
      return library("itertools.count", s.children);
    case IteratorKind::Repeat:
      return s.index < 0 ? library("itertools.repeat", {s.children[0]})
                         : library("itertools.repeat", {s.children[0], t_.integer(s.index)});
    case IteratorKind::Islice: {
      Value* stop = s.stop < 0 ? t_.none() : t_.integer(std::max(s.stop, s.index) - s.passed);
      return library("itertools.islice",
                     {s.children[0], t_.integer(s.index - s.passed), stop, t_.integer(s.step)});
    }
    case IteratorKind::Keys:
    case IteratorKind::DictValues:
    case IteratorKind::Entries: {
      int64_t taken = 0;
      Value* dict = t_.resolve(s.children[0]);
      for (int64_t i = 0; i < s.index; ++i)
        taken += dict->dict->entries[static_cast<size_t>(i)].first != nullptr;
      Owned method(PyObject_GetAttrString(native_base(dict->cls), view_of_dict(s.kind)));
      Recipe c = call(method.get(), {});
      c.children.push_back(make(dict));
      return advanced(std::move(c), taken);
    }
    default:
      break;
  }
  stop("unsupported_value", "an iterator leaves the segment");
}

}  // namespace vitrine::capture
