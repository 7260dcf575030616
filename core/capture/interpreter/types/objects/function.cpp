// Functions written in Python: those that existed before, and those that the segment makes.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/constants.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/class_dict.h"
#include "core/torch_api/python_names.h"

namespace vitrine::capture {
namespace {

// What a function made here was given besides what every function has.
Value* own_attributes(Tracer& t, Value* function) {
  static constexpr const char* kOfTheFunctionItself[] = {"__name__",       "__qualname__", "__module__",
                                                         "__doc__",        "__defaults__", "__kwdefaults__",
                                                         "__annotations__"};
  Value* dict = new_dict(t);
  for (const auto& [key, value] : function->attrs) {
    const bool own = std::none_of(std::begin(kOfTheFunctionItself), std::end(kOfTheFunctionItself),
                                  [&](const char* n) { return key == n; });
    if (value && own) dict_set(t, dict, t.text(key), value);
  }
  dict->mutated = false;
  dict->as<DictValue>().owner = function;
  return dict;
}

// Names and values by turns, until somebody asks.
Value* annotations_of(Tracer& t, FunctionState& f) {
  if (!f.annotations) f.annotations = new_dict(t);
  if (!t.look(f.annotations)->is(ValueKind::Tuple)) return f.annotations;
  const Values pairs = unpack(t, f.annotations);
  f.annotations = new_dict(t);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) dict_set(t, f.annotations, pairs[i], pairs[i + 1]);
  return f.annotations;
}

Value* module_of(Tracer& t, const FunctionState& f) {
  PyObject* module = PyDict_GetItemString(f.globals, "__name__");
  return module ? t.constant(module) : t.none();
}

Value* doc_of(Tracer& t, const FunctionState& f) {
  PyObject* first = PyTuple_GET_SIZE(f.code->co_consts) ? PyTuple_GET_ITEM(f.code->co_consts, 0) : Py_None;
  return t.constant(PyUnicode_Check(first) ? first : Py_None);
}

// Of one that the segment made.
Value* function_attr(Tracer& t, Value* v, const std::string& name) {
  bool found = false;
  Value* written = find_written(v, name, &found);
  if (found) return written;
  FunctionState& f = v->function();
  if (name == "__code__") return t.constant(reinterpret_cast<PyObject*>(f.code));
  if (name == "__name__") return t.constant(f.code->co_name);
  if (name == "__qualname__") return t.constant(f.code->co_qualname);
  if (name == "__defaults__") return f.defaults ? f.defaults : t.none();
  if (name == "__kwdefaults__") return f.kwdefaults ? f.kwdefaults : t.none();
  if (name == "__annotations__") return annotations_of(t, f);
  if (name == "__module__") return module_of(t, f);
  if (name == "__doc__") return doc_of(t, f);
  if (name == "__dict__") return own_attributes(t, v);
  if (name == "__globals__" || name == "__closure__" || name == "__get__")
    stop("unsupported_value", name + " of a function made here");
  return nullptr;
}

// Of one that existed before.
Value* attr_of_real_function(Tracer& t, Value* v, const std::string& name) {
  bool found = false;
  Value* written = find_written(v, name, &found);
  if (found) return written;
  const Source* base = v->source ? v->source : constant_source(t, v->obj);
  if (name == "__dict__") {
    Value* holder = t.make(ValueKind::Object);
    holder->obj = v->obj;
    holder->cls = Py_TYPE(v->obj);
    holder->source = base;
    return instance_dict(t, holder);
  }
  if (name == "__get__") return bind_descriptor(t, lookup(&PyFunction_Type, name), v, &PyFunction_Type, name);
  if (name == "__globals__" || name == "__call__" || name == "__builtins__")
    stop("unsupported_value", name + " of a function");
  PyRef value(PyObject_GetAttrString(v->obj, name.c_str()));
  if (!value) {
    PyErr_Clear();
    t.guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
    return nullptr;
  }
  if (name == "__code__") {
    t.guard(GuardKind::FunctionCode, base, value.get(), 0, "", nullptr, "code is unchanged");
    return t.constant(value.get());
  }
  return t.lazy(value.get(), t.sources().attr(base, name));
}

void set_function_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  FunctionState& f = v->function();
  if (is_read_only(lookup(&PyFunction_Type, name)))
    stop("exception", name + " of a function, which is read-only, is set");
  if (name == "__code__") stop("custom_setter", "__code__ of a function is set");
  if (name == "__annotations__") return void(f.annotations = value);
  if (name == "__defaults__") return void(f.defaults = is_none(t, value) ? nullptr : value);
  if (name == "__kwdefaults__") return void(f.kwdefaults = is_none(t, value) ? nullptr : value);
  write_attr(t, v, name, value);
}

// function.__get__(object): a method.
Value* real_function_method(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  if (name != "__get__") return nullptr;
  if (is_none(t, argument(t, a, 0))) return self;
  Value* m = t.make(ValueKind::Method);
  m->items() = {self, argument(t, a, 0)};
  m->cls = &PyMethod_Type;
  return m;
}

Value* call_made_function(Tracer& t, Value* v, Arguments a) {
  return call_function(t, v, std::move(a));
}

Value* call_real_function(Tracer& t, Value* v, Arguments a) {
  Value* known_result = call_known_function(t, v->obj, a);
  return known_result ? known_result : call_function(t, v, std::move(a));
}

PyObject* transform_globals() {
  PyObject* const module = torch_api::kept(torch_api::Name::transforms);
  return module ? PyModule_GetDict(module) : nullptr;
}

Recipe recipe_of_function(Tracer& t, RecipeMaker& make, Value* v) {
  FunctionState& f = v->function();
  if (text_of(f.code->co_qualname) == "pull.<locals>.vjp_function" && f.globals == transform_globals())
    stop("unsupported_value", "the function that torch.func.vjp gives leaves the segment");
  const auto or_none = [&](Value* part) { return part ? make.make(part) : make.constant(Py_None); };
  Recipe r;
  r.kind = Recipe::Kind::Function;
  r.children.push_back(make.constant(reinterpret_cast<PyObject*>(f.code)));
  r.children.push_back(make.constant(f.globals));
  r.children.push_back(make.constant(f.code->co_qualname));
  r.children.push_back(or_none(f.defaults));
  r.children.push_back(or_none(f.kwdefaults));
  r.children.push_back(f.closure.empty() ? make.constant(Py_None)
                                         : make.sequence(Recipe::Kind::Tuple, f.closure));
  r.children.push_back(or_none(f.annotations ? get_attr(t, v, "__annotations__") : nullptr));
  if (!v->attrs.empty()) {
    const bool first = v->shared < 0;
    r = make.shared(v, std::move(r));
    if (first) make.attributes(v, r);
  }
  return r;
}

}  // namespace

const TypeOps function_type = {
    .name = "function",
    .cls = &PyFunction_Type,
    .describe = [](Tracer&, Value* v) { return text_of(v->function().code->co_qualname); },
    .attr = function_attr,
    .set_attr = set_function_attr,
    .call = call_made_function,
    .recipe = recipe_of_function,
};
const TypeOps real_function_type = [] {
  TypeOps ops = constant_ops("function");
  ops.attr = attr_of_real_function;
  ops.call_method = real_function_method;
  ops.call = call_real_function;
  return ops;
}();

}  // namespace vitrine::capture
