// Functions of the standard library: operator, itertools, functools, collections, copy, dataclasses.
#include <functional>
#include <unordered_map>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/builtins.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/optimizers.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/rng.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

using T = Tracer;
using A = Arguments;

template <class F>
Value* two(T& t, const A& a, F f) {
  return f(need(t, a, 0), need(t, a, 1));
}

// clang-format off
#define VITRINE_BINARY(X) \
  X(add) X(sub) X(mul) X(truediv) X(floordiv) X(mod) X(pow) X(matmul) X(lshift) X(rshift) X(and_) \
  X(or_) X(xor) X(iadd) X(isub) X(imul) X(itruediv) X(ifloordiv) X(imod) X(ipow) X(imatmul) X(ilshift) \
  X(irshift) X(iand) X(ior) X(ixor)
// clang-format on
#define VITRINE_COMPARE(X) X(lt, Py_LT) X(le, Py_LE) X(eq, Py_EQ) X(ne, Py_NE) X(gt, Py_GT) X(ge, Py_GE)

// operator.concat and iconcat: of sequences alone.
template <bool in_place>
Value* concatenated(T& t, const A& a) {
  Value* first = t.look(need(t, a, 0));
  if (!first->is(ValueKind::List) && !first->is(ValueKind::Tuple))
    stop("unsupported_builtin", "operator.concat() of " + describe(t, first));
  return binary(t, in_place ? "iadd" : "add", first, need(t, a, 1));
}

Value* chain(T& t, const A& a) {
  return new_iterator(t, IteratorKind::Chain, a.positional);
}

Value* chain_from_iterable(T& t, const A& a) {
  return new_iterator(t, IteratorKind::Chain, unpack(t, need(t, a, 0)));
}

Value* islice(T& t, const A& a) {
  Value* v = new_iterator(t, IteratorKind::Islice, {iter(t, need(t, a, 0))});
  const auto number = [&](Value* x, int64_t otherwise) {
    return is_none(t, x) ? otherwise : int_of(t, x, "a bound");
  };
  if (a.positional.size() == 2) {
    v->iterator().stop = number(a.positional[1], -1);
  } else {
    v->iterator().index = number(need(t, a, 1), 0);
    v->iterator().stop = number(need(t, a, 2), -1);
    if (a.positional.size() > 3) v->iterator().step = number(a.positional[3], 1);
  }
  return v;
}

Value* repeat(T& t, const A& a) {
  Value* v = new_iterator(t, IteratorKind::Repeat, {need(t, a, 0)});
  Value* times = need(t, a, 1, "times", t.none());
  v->iterator().index = is_none(t, times) ? -1 : std::max<int64_t>(0, int_of(t, times, "a count"));
  return v;
}

Value* product(T& t, const A& a) {
  std::vector<Values> pools;
  for (Value* v : a.positional) pools.push_back(listed(t, v));
  const int64_t times = int_of(t, need(t, a, a.positional.size(), "repeat", t.integer(1)), "a count");
  std::vector<Values> all;
  for (int64_t i = 0; i < times; ++i) all.insert(all.end(), pools.begin(), pools.end());
  std::vector<Values> rows = {{}};
  for (const Values& pool : all) {
    std::vector<Values> longer;
    if (!pool.empty() && rows.size() > kEndless / pool.size())
      stop("limit", "itertools.product() gives very many",
           "Use torch.cartesian_prod(), or loop over ranges.");
    for (const Values& row : rows)
      for (Value* item : pool) {
        longer.push_back(row);
        longer.back().push_back(item);
      }
    rows = std::move(longer);
  }
  Values out;
  for (Values& row : rows) out.push_back(t.tuple(std::move(row)));
  return iter(t, t.tuple(std::move(out)));
}

Value* reduce(T& t, const A& a) {
  Values items = unpack(t, need(t, a, 1));
  size_t i = 0;
  Value* value = a.positional.size() > 2 ? a.positional[2] : nullptr;
  if (!value) {
    if (items.empty()) t.raise(PyExc_TypeError, "reduce() of empty iterable with no initial value");
    value = items[i++];
  }
  for (; i < items.size(); ++i) value = call(t, a.positional[0], {{value, items[i]}, {}});
  return value;
}

// Instances whose copy is: the same class, the same attributes. `hook`: __copy__ or __deepcopy__.
bool copies_by_attributes(T& t, Value* v, const char* hook) {
  if (!v->is(ValueKind::Object) || v->cls == torch_names().partial) return false;
  PyTypeObject* type = type_of(t, v);
  for (const char* name : {hook, "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__",
                           "__getnewargs__", "__getnewargs_ex__", "__new__"})
    if (python_method(t, type, name)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (base != &PyBaseObject_Type && !(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
    if (PyDict_GetItemString(class_dict(base), "__slots__")) return false;
  }
  return true;
}

Value* bare_instance(T& t, Value* like) {
  Value* made = t.make(ValueKind::Object);
  made->cls = like->cls;
  made->typed = true;
  return made;
}

// What the module copy asks an instance for. A class that answers in Python (__getattribute__, __getattr__)
// is asked, too, and eager copies where it gives anything else than object has.
void ask_for_copying(T& t, Value* v, std::initializer_list<const char*> names) {
  PyTypeObject* type = type_of(t, v);
  if (!python_method(t, type, "__getattribute__") && !python_method(t, type, "__getattr__")) return;
  for (const char* name : names) {
    Value* given = attribute_if_any(t, v, name);
    if (given) given = t.look(given);
    PyObject* plain = lookup(&PyBaseObject_Type, name);
    const bool as_object = plain ? given && given->is(ValueKind::Method) && given->items()[0]->obj == plain &&
                                       given->items()[1] == v
                                 : !given;
    if (!as_object) stop("unsupported_builtin", std::string("a copy by a class's own ") + name);
  }
}

// The steps of object.__reduce_ex__ and of what copy makes of it. `attributes` are asked for with the copy's
// own still to come, as a __getattr__ sees it.
Value* copy_object(T& t, Value* v, Value* copy, const std::function<Value*(Value*)>& part) {
  ask_for_copying(t, v, {"__reduce__", "__getstate__"});
  std::vector<std::pair<std::string, Value*>> attributes;
  for (auto [key, value] : dict_entries(t, instance_dict(t, v)))
    attributes.emplace_back(str_of(t, key, false), part(value));
  if (attributes.empty()) return copy;
  ask_for_copying(t, copy, {"__setstate__"});
  if (python_method(t, type_of(t, v), "__getattribute__") &&
      t.look(load_attr(t, copy, "__dict__")) != t.look(instance_dict(t, copy)))
    stop("unsupported_builtin", "a copy by a class's own __dict__");
  copy->attrs.insert(copy->attrs.end(), attributes.begin(), attributes.end());
  return copy;
}

Value* shallow_copy(T& t, const A& a) {
  Value* v = t.look(need(t, a, 0));
  if (v->is(ValueKind::Constant)) return v;
  if (v->is(ValueKind::List) && v->cls == &PyList_Type) return t.list(unpack(t, v));
  if (v->is(ValueKind::Dict) && v->cls == &PyDict_Type) return call_method(t, v, "copy", {});
  if (v->is(ValueKind::Tuple) && v->cls == &PyTuple_Type) return v;
  if (v->is(ValueKind::Object))
    if (PyObject* own = python_method(t, type_of(t, v), "__copy__")) return call_special(t, v, own, {});
  if (copies_by_attributes(t, v, "__copy__"))
    return copy_object(t, v, bare_instance(t, v), [](Value* value) { return value; });
  stop("unsupported_builtin", "copy.copy() of " + describe(t, v));
}

// A copy of a tensor has the same strides in memory of its own. What it does not show is not copied: of
// tensors with more to them (a gradient, attributes, a place in a larger memory, autograd's graph) eager's
// own copy is taken.
Value* deep_tensor(T& t, Value* v, const std::unordered_map<Value*, Value*>& memo) {
  const ir::TensorType type = torch_api::type_of(v->obj);
  const bool plain = v->cls == torch_names().tensor && v->attrs.empty() &&
                     !torch_api::requires_grad(v->obj) && !inference_mode(t) &&
                     !t.lowering().is_inference(v->obj);
  const auto memory = [](const Value* of) { return torch_api::storage_id(torch_api::handle_of(of->obj)); };
  for (const auto& [other, copy] : memo)
    if (other->is(ValueKind::Tensor) && memory(other) == memory(v))
      stop("unsupported_builtin", "copy.deepcopy() of tensors that share memory");
  PyRef own(real_of(v) ? PyObject_GenericGetDict(real_of(v), nullptr) : nullptr);
  PyErr_Clear();
  const bool bare = !own || PyDict_GET_SIZE(own.get()) == 0;
  if (!plain || !bare || !type.is_contiguous() || type.offset != 0 || !is_none(t, read_grad(t, v)))
    stop("unsupported_builtin", "copy.deepcopy() of " + describe(t, v));
  if (real_of(v) && v->source) {
    const PyRef nothing(PyTuple_New(0));
    t.guard(GuardKind::DictKeys, t.sources().attr(v->source, "__dict__"), nothing.get(), 0, "", nullptr,
            "has no attributes of its own");
  }
  return tensor_method(t, v, "clone", nullptr, {});
}

Value* deep(T& t, Value* v, std::unordered_map<Value*, Value*>& memo) {
  v = t.look(v);
  if (v->is(ValueKind::Constant) || v->is(ValueKind::Function)) return v;
  if (auto found = memo.find(v); found != memo.end()) return found->second;
  if (v->is(ValueKind::Tensor)) {
    Value* copy = deep_tensor(t, v, memo);
    return memo[v] = copy;
  }
  if (v->is(ValueKind::List) && v->cls == &PyList_Type) {
    Value* copy = memo[v] = t.list({});
    for (Value* item : unpack(t, v)) copy->items().push_back(deep(t, item, memo));
    return copy;
  }
  if (v->is(ValueKind::Dict) && v->cls == &PyDict_Type) {
    Value* copy = memo[v] = new_dict(t);
    for (auto [key, value] : dict_entries(t, v)) dict_set(t, copy, key, deep(t, value, memo));
    return copy;
  }
  if (v->is(ValueKind::Set) && v->cls == &PySet_Type) {
    Value* items = t.list({});
    for (Value* item : unpack(t, v)) items->items().push_back(deep(t, item, memo));
    return memo[v] = call(t, t.pinned(reinterpret_cast<PyObject*>(&PySet_Type)), {{items}, {}});
  }
  if (v->is(ValueKind::Tuple) && v->cls == &PyTuple_Type) {
    Values items;
    bool changed = false;
    for (Value* item : unpack(t, v)) {
      items.push_back(deep(t, item, memo));
      changed = changed || items.back() != t.look(item);
    }
    return changed ? t.tuple(std::move(items)) : v;
  }
  if (copies_by_attributes(t, v, "__deepcopy__")) {
    ask_for_copying(t, v, {"__deepcopy__", "__reduce_ex__"});
    Value* copy = memo[v] = bare_instance(t, v);
    return copy_object(t, v, copy, [&](Value* value) { return deep(t, value, memo); });
  }
  stop("unsupported_builtin", "copy.deepcopy() of " + describe(t, v));
}

Value* deep_copy(T& t, const A& a) {
  if (a.positional.size() != 1 || !a.keyword.empty())
    stop("unsupported_builtin", "copy.deepcopy() with a memo");
  std::unordered_map<Value*, Value*> memo;
  return deep(t, a.positional[0], memo);
}

// The function of vitrine._polyfills.standard_library that does the same, in Python.
Value* in_python(T& t, const A& a, const char* name) {
  PyObject* function = find_object(std::string("vitrine._polyfills.standard_library.") + name);
  if (!function) stop("unsupported_builtin", std::string("call of ") + name);
  return call(t, t.pinned(function), a);
}

// clang-format off
#define VITRINE_IN_PYTHON(X) \
  X("itertools", accumulate) X("itertools", starmap) X("itertools", pairwise) X("itertools", zip_longest) \
  X("itertools", takewhile) X("itertools", dropwhile) X("itertools", filterfalse) X("itertools", compress) \
  X("itertools", cycle) X("itertools", permutations) X("itertools", combinations) \
  X("itertools", combinations_with_replacement) X("itertools", groupby) X("itertools", tee) X("heapq", heapify) X("heapq", heappush) X("heapq", heappop) \
  X("heapq", heapreplace) X("heapq", heappushpop) X("operator", itemgetter) X("operator", attrgetter) X("operator", methodcaller) \
  X("functools", cmp_to_key)
// clang-format on

// Left without an exception, it calls what was registered; with one it looks at the interpreter's own state.
Value* exit_stack_exit(T& t, const A& a) {
  if (a.positional.size() == 4 && a.keyword.empty() && is_none(t, a.positional[1]))
    return in_python(t, {{a.positional[0]}, {}}, "leave_exit_stack");
  return call_function(t, t.look(t.pinned(find_object("contextlib.ExitStack.__exit__"))), a);
}

Value* namespace_of(T& t, const A& a) {
  if (!a.positional.empty()) stop("unsupported_builtin", "types.SimpleNamespace() of a mapping");
  Value* v = t.make(ValueKind::Object);
  v->cls = reinterpret_cast<PyTypeObject*>(find_object("types.SimpleNamespace"));
  v->typed = true;
  for (const auto& [name, value] : a.keyword) write_attr(t, v, name, value);
  return v;
}

Value* cast(T& t, const A& a) {
  return need(t, a, 1);
}

// logging.Manager.getLogger(manager, name) of a logger that is there: it stays.
Value* known_logger(T& t, const A& a) {
  Value* manager = t.look(need(t, a, 0));
  PyObject* name = const_object(t, need(t, a, 1, "name"));
  if (!manager->obj || !name || !PyUnicode_Check(name)) stop("unsupported_builtin", "logging.getLogger()");
  if (manager->source && !manager->pinned)
    t.guard(GuardKind::Identity, manager->source, manager->obj, 0, "", nullptr, "is " + describe(t, manager));
  PyRef loggers(PyObject_GetAttrString(manager->obj, "loggerDict"));
  PyObject* logger = loggers && PyDict_Check(loggers.get()) ? PyDict_GetItem(loggers.get(), name) : nullptr;
  PyObject* of = find_object("logging.Logger");
  PyErr_Clear();
  if (!logger || PyObject_IsInstance(logger, of) != 1) stop("side_effect", "a logger is made");
  const Source* held = t.sources().make(SourceKind::Constant, nullptr, -1, "loggers", loggers.get());
  t.keep(loggers.release());
  t.guard(GuardKind::Identity, t.sources().make(SourceKind::Item, held, -1, text_of(name), name), logger, 0,
          "", nullptr, "is the same logger");
  return t.pinned(logger);
}

// Answers by class alone; the class does not change (it is watched).
Value* on_class(T& t, const A& a, const char* function) {
  Value* v = t.look(need(t, a, 0));
  PyObject* cls = v->is(ValueKind::Constant) && PyType_Check(v->obj)
                      ? v->obj
                      : reinterpret_cast<PyObject*>(type_of(t, v));
  pin_type(t, reinterpret_cast<PyTypeObject*>(cls));
  PyRef result(PyObject_CallOneArg(find_object(function), cls));
  if (!result) t.raise_python();
  if (result.get() == Py_True || result.get() == Py_False) return t.boolean(result.get() == Py_True);
  Values items;
  PyRef list(PySequence_List(result.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    items.push_back(t.pinned(PyList_GET_ITEM(list.get(), i)));
  return t.tuple(std::move(items));
}

// A function made here whose defaults are constants, without its closure. New reference; nullptr: it is none.
PyObject* made_for_real(T& t, Value* f) {
  const FunctionState state = function_state(t, f);
  PyRef defaults(state.defaults ? constant_tree(t, state.defaults) : nullptr);
  PyRef keywords(state.kwdefaults ? constant_tree(t, state.kwdefaults) : nullptr);
  PyRef annotations(state.annotations ? constant_tree(t, get_attr(t, f, "__annotations__")) : nullptr);
  PyErr_Clear();
  if ((state.defaults && !defaults) || (state.kwdefaults && !keywords) || (state.annotations && !annotations))
    return nullptr;
  PyRef made(PyFunction_New(reinterpret_cast<PyObject*>(state.code), state.globals));
  if (!made) t.raise_python();
  if (defaults && PyFunction_SetDefaults(made.get(), defaults.get()) < 0) t.raise_python();
  if (keywords && PyFunction_SetKwDefaults(made.get(), keywords.get()) < 0) t.raise_python();
  if (annotations && PyFunction_SetAnnotations(made.get(), annotations.get()) < 0) t.raise_python();
  return made.release();
}

// The signature of a function follows from its code and defaults.
Value* signature(T& t, const A& a) {
  Value* f = t.look(need(t, a, 0));
  Value* self = nullptr;
  if (f->is(ValueKind::Method)) {
    self = t.look(f->items()[1]);
    f = t.look(f->items()[0]);
  }
  PyRef made(f->is(ValueKind::Function) && f->attrs.empty() ? made_for_real(t, f) : nullptr);
  PyObject* o = made ? made.get() : const_object(t, f);
  if (!o || !PyFunction_Check(o) || a.positional.size() != 1 || !a.keyword.empty())
    stop("unsupported_builtin", "inspect.signature() of " + describe(t, f));
  for (Value* at = made ? nullptr : f; at;) {
    get_attr(t, at, "__code__");
    Value* wrapped = get_attr(t, at, "__wrapped__");
    at = wrapped ? t.look(wrapped) : nullptr;
    if (at && (!const_object(t, at) || !PyFunction_Check(at->obj)))
      stop("unsupported_builtin", "inspect.signature() of a wrapper of " + describe(t, at));
  }
  PyRef bound;
  if (self) bound = PyRef(PyMethod_New(o, Py_None));
  PyRef result(PyObject_CallOneArg(find_object("inspect.signature"), bound ? bound.get() : o));
  if (!result) t.raise_python();
  return t.pinned(result.get());
}

// A read-only view of a dict that nothing else changes.
Value* mapping_proxy(T& t, const A& a) {
  Value* dict = new_dict(t, &PyDictProxy_Type);
  dict_update(t, dict, need(t, a, 0));
  return dict;
}

// What is installed does not change while a program runs.
Value* find_spec(T& t, const A& a) {
  PyRef name(a.positional.size() == 1 && a.keyword.empty() ? constant_tree(t, a.positional[0]) : nullptr);
  if (!name) stop("unsupported_builtin", "importlib.util.find_spec() of a name that is no constant");
  PyRef spec(PyObject_CallOneArg(find_object("importlib.util.find_spec"), name.get()));
  if (!spec) t.raise_python();
  return t.pinned(spec.get());
}

// math.prod(iterable, start=1): a product of sizes stays one of symbols.
Value* product_of_numbers(Tracer& t, const Arguments& a) {
  Value* result = need(t, a, 1, "start", t.integer(1));
  for (Value* item : unpack(t, need(t, a, 0))) result = binary(t, "mul", result, item);
  return result;
}

// random.random is a method written in C, bound to the generator that all of the module's functions share.
Value* random_number(T& t, const A& a) {
  return draw(t, t.pinned(find_object("random._inst")), "random", a);
}

// By when the graph runs, another time has come.
Value* read_clock(T&, const A&) {
  stop("side_effect", "the clock is read", "Measure around the compiled function, or look at its timeline.");
}
#define VITRINE_CLOCKS(X) \
  X(time)                 \
  X(time_ns)              \
  X(perf_counter)         \
  X(perf_counter_ns) X(monotonic) X(monotonic_ns) X(process_time) X(process_time_ns) X(thread_time)

constexpr BuiltinRow kRows[] = {
#define X(name) {"time." #name, read_clock},
    VITRINE_CLOCKS(X)
#undef X
        {"random.random", random_number},
    {"math.prod", product_of_numbers},
#define X(name) \
  {"operator." #name, [](T& t, const A& a) { return binary(t, #name, need(t, a, 0), need(t, a, 1)); }},
    VITRINE_BINARY(X)
#undef X
#define X(name, op) \
  {"operator." #name, [](T& t, const A& a) { return compare(t, op, need(t, a, 0), need(t, a, 1)); }},
        VITRINE_COMPARE(X)
#undef X
            {"operator.neg", [](T& t, const A& a) { return unary(t, "neg", need(t, a, 0)); }},
    {"operator.pos", [](T& t, const A& a) { return unary(t, "pos", need(t, a, 0)); }},
    {"operator.invert", [](T& t, const A& a) { return unary(t, "invert", need(t, a, 0)); }},
    {"operator.not_", [](T& t, const A& a) { return t.boolean(!truth(t, need(t, a, 0))); }},
    {"operator.truth", [](T& t, const A& a) { return t.boolean(truth(t, need(t, a, 0))); }},
    {"operator.getitem", [](T& t, const A& a) { return get_item(t, need(t, a, 0), need(t, a, 1)); }},
    {"operator.setitem",
     [](T& t, const A& a) {
       set_item(t, need(t, a, 0), need(t, a, 1), need(t, a, 2));
       return t.none();
     }},
    {"operator.delitem",
     [](T& t, const A& a) {
       del_item(t, need(t, a, 0), need(t, a, 1));
       return t.none();
     }},
    {"operator.concat", concatenated<false>},
    {"operator.iconcat", concatenated<true>},
    {"operator.contains",
     [](T& t, const A& a) { return t.boolean(contains(t, need(t, a, 0), need(t, a, 1))); }},
    {"operator.is_", [](T& t, const A& a) { return t.boolean(same(t, need(t, a, 0), need(t, a, 1))); }},
    {"operator.is_not", [](T& t, const A& a) { return t.boolean(!same(t, need(t, a, 0), need(t, a, 1))); }},
    {"operator.index", [](T& t, const A& a) { return t.integer(int_of(t, need(t, a, 0), "an index")); }},
#define X(module, name) {module "." #name, [](T& t, const A& a) { return in_python(t, a, #name); }},
    VITRINE_IN_PYTHON(X)
#undef X
        {"collections._count_elements", [](T& t, const A& a) { return in_python(t, a, "count_elements"); }},
    {"itertools.chain", chain},
    {"itertools.chain.from_iterable", chain_from_iterable},
    {"itertools.islice", islice},
    {"itertools.repeat", repeat},
    {"itertools.product", product},
    {"itertools.count",
     [](T& t, const A& a) {
       return new_iterator(t, IteratorKind::Count,
                           {need(t, a, 0, "start", t.integer(0)), need(t, a, 1, "step", t.integer(1))});
     }},
    {"inspect.signature", signature},
    {"importlib.util.find_spec", find_spec},
    {"importlib.metadata.version",
     [](T& t, const A& a) { return fold_call(t, find_object("importlib.metadata.version"), a); }},
    {"types.MappingProxyType", mapping_proxy},
    {"types.SimpleNamespace", namespace_of},
    {"functools.reduce", reduce},
    {"contextlib.ExitStack.__exit__", exit_stack_exit},
    {"logging.Manager.getLogger", known_logger},
    {"logging.Logger.isEnabledFor", [](T& t, const A& a) { return in_python(t, a, "is_enabled_for"); }},
    {"logging.Logger._log", [](T&, const A&) -> Value* { stop("side_effect", "a message is logged"); }},
    {"copy.copy", shallow_copy},
    {"copy.deepcopy", deep_copy},
    {"typing.cast", cast},
    {"dataclasses.is_dataclass", [](T& t, const A& a) { return on_class(t, a, "dataclasses.is_dataclass"); }},
    {"dataclasses.fields", [](T& t, const A& a) { return on_class(t, a, "dataclasses.fields"); }},
};

}  // namespace

std::span<const BuiltinRow> library_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
