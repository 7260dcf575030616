// Calls: Python functions are inlined, torch functions recorded, builtins looked up in their table, classes
// constructed here.
#include "core/capture/interpreter/machine/calls.h"
#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/default_devices.h"
#include "core/capture/interpreter/library/float_functions.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/logged_calls.h"
#include "core/capture/interpreter/machine/builtin_calls.h"
#include "core/capture/interpreter/machine/film.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/machine/marked_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/numbers/numpy_values.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/marks.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static Value* inline_code(Tracer& t, PyCodeObject* code, PyObject* globals, const Source* globals_owner,
                          Values bound, Values closure, const std::string& module = "");
static Values bind_arguments(Tracer& t, PyCodeObject* code, const std::string& name, Value* defaults,
                             Value* kwdefaults, const Arguments& arguments);

namespace {

constexpr int kMaxDepth = 150;

// The user, or a helper of ours, asked that this function runs as it is.
void stop_at_disabled(PyObject* function) {
  PyObject* dict = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  if (dict && PyDict_GetItemString(dict, "__vitrine_disabled__"))
    stop("disabled", "function " + name_of_callable(function) + " is marked to run as it is");
  if (dict && PyDict_GetItemString(dict, "_dynamo_forbidden")) {
    if (globals_of_torch(PyFunction_GET_GLOBALS(function)))
      stop("disabled", "PyTorch forbids " + name_of_callable(function) + " inside of compiled functions");
    PyErr_Format(PyExc_AssertionError, "Attempt to trace forbidden callable %R", function);
    throw InterruptSignal{std::make_shared<torch_api::PendingError>()};
  }
  const bool early = behind_early_disable(function);
  if (!early && mark_of(function) == Mark::None) return;
  const std::string reason = text_of(reason_of_mark(function));
  stop("disabled", "function " + name_of_callable(function) +
                       (early ? " is marked torch._disable_dynamo" : " is marked torch.compiler.disable") +
                       (reason.empty() ? "" : ": " + reason));
}

}  // namespace

PyObject* wrapped_for_dynamo(PyObject* function) {
  if (PyObject* inner = behind_early_disable(function))
    return PyFunction_Check(inner) && globals_of_torch(PyFunction_GET_GLOBALS(inner)) ? inner : nullptr;
  return mark_of(function) == Mark::None ? behind_wrapper(function) : nullptr;
}

PyObject* find_unwrapped(const std::string& path) {
  PyObject* found = find_object(path);
  PyObject* inner = found && PyFunction_Check(found) ? wrapped_for_dynamo(found) : nullptr;
  return inner ? inner : found;
}

std::string name_of_callable(PyObject* o) {
  PyRef name(PyObject_GetAttrString(o, "__qualname__"));
  if (!name) PyErr_Clear();
  return name ? text_of(name.get()) : std::string(Py_TYPE(o)->tp_name) + " object";
}

// torch._dynamo.graph_break() and whatever the program has given to torch._dynamo.disallow_in_graph.
static void stop_at_disallowed(Tracer& t, PyObject* function, const Arguments& a) {
  if (!is_disallowed(function)) return;
  const std::string name = name_of_callable(function);
  if (PyFunction_Check(function) && globals_of_torch(PyFunction_GET_GLOBALS(function), "_dynamo")) {
    // Optimizers ask PyTorch's compiler for one in each step.
    if (globals_of_torch(t.frame().globals)) return;
    Value* given = !a.positional.empty() ? a.positional[0] : nullptr;
    for (const auto& [key, value] : a.keyword)
      if (key == "msg") given = value;
    PyObject* message = given ? const_object(t, given) : nullptr;
    const std::string text = text_of(message);
    stop("requested", "torch._dynamo." + name + "()" + (text.empty() ? "" : ": " + text));
  }
  stop("requested", name + " is marked torch._dynamo.disallow_in_graph");
}

// A function that a def or lambda inside another function makes at each run of it, and that the program was
// given: which one it is does not matter, only what it does. Library code and marks on it go by the object.
bool made_anew(const Tracer& t, const Value* v) {
  if (!v->is(ValueKind::Lazy) || !v->obj || !PyFunction_Check(v->obj) || !v->source || v->pinned)
    return false;
  const SourceKind kind = v->source->kind;
  if (kind != SourceKind::Local && kind != SourceKind::Stack && kind != SourceKind::Cell &&
      kind != SourceKind::Item)
    return false;
  auto* function = reinterpret_cast<PyFunctionObject*>(v->obj);
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (!(code->co_flags & CO_NESTED) || t.effects.cells_written) return false;
  if (function->func_dict && PyDict_GET_SIZE(function->func_dict)) return false;
  if (is_known_function(v->obj)) return false;
  PyObject* module = PyDict_GetItemString(function->func_globals, "__name__");
  return !module || !text_of(module).starts_with("torch");
}

static Value* call_anew(Tracer& t, Value* f, Arguments a) {
  for (const char* mark : {"__vitrine_disabled__", "_torchdynamo_disable", "_torchdynamo_orig_callable"})
    t.guard(GuardKind::InstanceHas, f->source, nullptr, 0, mark, nullptr, std::string("has no own ") + mark);
  t.effects.anew.push_back(f);
  return call_function(t, f, std::move(a));
}

// What is known of a function by the object: builtins, NumPy's functions, PyTorch's. nullptr: nothing.
static Value* call_known_object(Tracer& t, PyObject* o, Arguments& a) {
  stop_at_disallowed(t, o, a);
  if (Value* nothing = call_behind(t, o, a)) return nothing;
  give_default_device(t, o, a);
  bool known = false;
  if (Value* result = call_builtin(t, o, a, &known); known) return result;
  if (Value* result = call_numpy(t, o, a)) return result;
  if (PyFunction_Check(o)) {
    if (PyObject* inner = wrapped_for_dynamo(o)) return call(t, t.pinned(inner), std::move(a));
    stop_at_disabled(o);
    if (has_constant_result(o) && !globals_of_torch(PyFunction_GET_GLOBALS(o)))
      return constant_result(t, o, a);
  }
  std::string name;
  if (!is_torch_leaf(o, &name)) return is_allowed_in_graph(o) ? allowed_call(t, o, a) : nullptr;
  check_under_default_device(t, o);
  if (Value* open = call_with_symbolic_float(t, name, a)) return open;
  const bool method = name.rfind("Tensor.", 0) == 0 && !a.positional.empty();
  if (!method || !t.look(a.positional[0])->is(ValueKind::Tensor)) return torch_call(t, name, o, a);
  Value* self = t.look(a.positional[0]);
  a.positional.erase(a.positional.begin());
  return tensor_method(t, self, name.substr(7), o, std::move(a));
}

Value* call(Tracer& t, Value* f, Arguments a) {
  f = resolve(f);
  if (made_anew(t, f)) return call_anew(t, f, std::move(a));
  f = t.look(f);
  if (f->is(ValueKind::Constant))
    if (Value* result = call_known_object(t, f->obj, a)) return result;
  const TypeOps& type = ops_of(f);
  if (!type.call) stop("unsupported_value", "a call of " + describe(t, f));
  return type.call(t, f, std::move(a));
}

namespace {

// "encoder.layer.0" from the path of members that leads to a module.
std::string module_path(const Source* source) {
  std::string path;
  for (const Source* s = source; s; s = s->base) {
    const bool member = s->kind == SourceKind::Item && s->base && s->base->kind == SourceKind::InstanceDict &&
                        s->base->name == "_modules";
    if (!member) continue;
    const std::string name = s->key ? text_of(s->key) : s->name;
    path = path.empty() ? name : name + "." + path;
  }
  return path;
}

bool has_hooks(PyObject* module) {
  for (const char* name :
       {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"}) {
    PyRef hooks(PyObject_GetAttrString(module, name));
    if (!hooks) {
      PyErr_Clear();
      return true;
    }
    if (PyObject_Size(hooks.get()) != 0) return true;
  }
  for (const char* name : {"_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks",
                           "_global_backward_pre_hooks"}) {
    PyObject* hooks = find_object(std::string("torch.nn.modules.module.") + name);
    if (!hooks || PyObject_Size(hooks) != 0) return true;
  }
  return false;
}

}  // namespace

Value* call_module(Tracer& t, Value* v, Arguments a) {
  PyRef compiled(PyObject_GetAttrString(v->obj, "_compiled_call_impl"));
  PyRef way(PyObject_GetAttrString(reinterpret_cast<PyObject*>(v->cls), "_call_impl"));
  PyErr_Clear();
  if (has_hooks(v->obj) || way.get() != torch_names().module_call_impl ||
      (compiled && compiled.get() != Py_None)) {
    a.positional.insert(a.positional.begin(), v);
    return call_function(t, t.pinned(python_method(t, v->cls, "__call__")), std::move(a));
  }
  t.guard(GuardKind::NoHooks, v->source, nullptr, 0, "", nullptr, "no hooks");
  const std::string outer = t.frame().module;
  if (const std::string path = module_path(v->source); !path.empty()) t.frame().module = path;
  Value* result = call(t, load_attr(t, v, "forward"), std::move(a));
  t.frame().module = outer;
  return result;
}

// Code, closure and defaults of a function constant, or of one made in the segment.
FunctionState function_state(Tracer& t, Value* f) {
  if (f->is(ValueKind::Function)) return f->function();
  FunctionState state;
  auto* function = reinterpret_cast<PyFunctionObject*>(f->obj);
  const Source* base = f->source ? f->source : constant_source(t, f->obj);
  state.code = reinterpret_cast<PyCodeObject*>(function->func_code);
  state.globals = function->func_globals;
  const bool anew = made_anew(t, f);
  state.globals_owner = state.globals == t.frames.root.globals && !anew ? nullptr : base;
  t.guard(GuardKind::FunctionCode, base, function->func_code, 0, "", nullptr, "code is unchanged");
  if (PyObject* cells = function->func_closure)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); ++i)
      state.closure.push_back(
          t.look(t.lazy(PyTuple_GET_ITEM(cells, i),
                        t.sources().make(SourceKind::Closure, base, static_cast<int32_t>(i), ""), !anew)));
  if (function->func_defaults) {
    Values items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_defaults); ++i)
      items.push_back(t.lazy(PyTuple_GET_ITEM(function->func_defaults, i),
                             t.sources().make(SourceKind::Default, base, static_cast<int32_t>(i), "")));
    state.defaults = t.tuple(std::move(items));
  }
  const auto dict = t.values.by_object.find(function->func_kwdefaults);
  if (dict != t.values.by_object.end() && resolve(dict->second)->mutated) {
    state.kwdefaults = t.look(dict->second);
  } else if (function->func_kwdefaults) {
    state.kwdefaults = new_dict(t);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(function->func_kwdefaults, &at, &key, &value))
      dict_set(t, state.kwdefaults, t.constant(key),
               t.lazy(value, t.sources().make(SourceKind::KwDefault, base, -1, text_of(key))));
  }
  return state;
}

Value* call_function(Tracer& t, Value* f, Arguments a) {
  FunctionState state = function_state(t, f);
  PyObject* name = state.code->co_qualname;
  if (!f->is(ValueKind::Function)) name = reinterpret_cast<PyFunctionObject*>(f->obj)->func_qualname;
  for (const auto& [key, value] : f->attrs)
    if (PyObject* written = key == "__qualname__" && value ? const_object(t, value) : nullptr) name = written;
  Values bound = bind_arguments(t, state.code, text_of(name), state.defaults, state.kwdefaults, a);
  return inline_code(t, state.code, state.globals, state.globals_owner, std::move(bound),
                     std::move(state.closure));
}

Value* inline_code(Tracer& t, PyCodeObject* code, PyObject* globals, const Source* owner, Values bound,
                   Values closure, const std::string& module) {
  if (t.frames.depth >= kMaxDepth)
    stop("limit", "calls are nested deeper than " + std::to_string(kMaxDepth),
         "Write the recursion as a loop, or compile the function that it ends in.");
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    stop("generator", "an async function",
         "Await it outside of the compiled function, and pass what it gives.");
  auto frame = std::make_shared<VirtualFrame>();
  frame->code = code;
  frame->bytecode = t.frames.bytecode_of(code);
  frame->globals = globals;
  PyObject* builtins = PyDict_GetItemString(globals, "__builtins__");
  frame->builtins = builtins && PyModule_Check(builtins) ? PyModule_GetDict(builtins)
                    : builtins && PyDict_Check(builtins) ? builtins
                                                         : PyEval_GetBuiltins();
  frame->globals_owner = owner;
  frame->locals = std::move(bound);
  frame->closure = std::move(closure);
  frame->module = module.empty() ? t.frame().module : module;
  if (code->co_flags & CO_GENERATOR) {
    Value* generator = t.make(ValueKind::Generator);
    generator->generator() = std::move(frame);
    t.frames.generators.push_back(generator);
    return generator;
  }
  film_inlined(t, code);
  // A break looks at the frames that it left: they live on in the list.
  t.frames.inlined.push_back(frame);
  Value* result = execute(t, *frame);
  t.frames.inlined.pop_back();
  return result;
}

// A call that cannot be bound: CPython itself says why, of a function with this signature that does nothing.
[[noreturn]] static void raise_unbound(Tracer& t, PyCodeObject* code, const std::string& name,
                                       Value* defaults, Value* kwdefaults, const Arguments& a) {
  static constinit Once<PyObject*> kept_like;
  PyObject* const like =
      kept_like.get([] { return find_object("vitrine._polyfills.library.function_like"); });
  PyRef given_name(PyUnicode_FromString(name.c_str()));
  PyRef keywords(PyTuple_New(static_cast<Py_ssize_t>(a.keyword.size())));
  for (size_t i = 0; i < a.keyword.size(); ++i)
    PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i),
                     PyUnicode_FromString(a.keyword[i].first.c_str()));
  PyRef keyword_defaults(PyList_New(0));
  if (kwdefaults)
    for (auto [key, value] : dict_entries(t, kwdefaults))
      if (PyObject* known = const_object(t, key)) PyList_Append(keyword_defaults.get(), known);
  PyRef refused(PyObject_CallFunction(like, "OOnOnO", reinterpret_cast<PyObject*>(code), given_name.get(),
                                      static_cast<Py_ssize_t>(defaults ? unpack(t, defaults).size() : 0),
                                      keyword_defaults.get(), static_cast<Py_ssize_t>(a.positional.size()),
                                      keywords.get()));
  if (refused) stop("exception", name + "() is called with other arguments than it takes");
  t.raise_python();
}

Values bind_arguments(Tracer& t, PyCodeObject* code, const std::string& name, Value* defaults,
                      Value* kwdefaults, const Arguments& a) {
  if (defaults && !resolve(defaults)->is(ValueKind::Tuple) && is_none(t, defaults)) defaults = nullptr;
  const auto refuse = [&] { raise_unbound(t, code, name, defaults, kwdefaults, a); };
  const auto names = code->co_localsplusnames;
  const int positional = code->co_argcount, keyword_only = code->co_kwonlyargcount;
  const int named = positional + keyword_only;
  const bool rest = code->co_flags & CO_VARARGS, keywords = code->co_flags & CO_VARKEYWORDS;
  Values locals(static_cast<size_t>(PyTuple_GET_SIZE(names)), nullptr);
  const auto given = static_cast<int>(a.positional.size());
  for (int i = 0; i < std::min(given, positional); ++i)
    locals[static_cast<size_t>(i)] = a.positional[static_cast<size_t>(i)];
  if (given > positional && !rest) refuse();
  int slot = named;
  if (rest) {
    Values more;
    for (int i = positional; i < given; ++i) more.push_back(a.positional[static_cast<size_t>(i)]);
    locals[static_cast<size_t>(slot++)] = t.tuple(std::move(more));
  }
  Value* extra = keywords ? new_dict(t) : nullptr;
  if (extra) locals[static_cast<size_t>(slot)] = extra;
  for (const auto& [key, value] : a.keyword) {
    int at = -1;
    for (int i = code->co_posonlyargcount; i < named && at < 0; ++i)
      if (text_of(PyTuple_GET_ITEM(names, i)) == key) at = i;
    if (at >= 0) {
      if (locals[static_cast<size_t>(at)]) refuse();
      locals[static_cast<size_t>(at)] = value;
    } else if (extra) {
      dict_set(t, extra, t.text(key), value);
    } else {
      refuse();
    }
  }
  const Values default_items = defaults ? unpack(t, defaults) : Values{};
  for (int i = 0; i < named; ++i) {
    Value*& local = locals[static_cast<size_t>(i)];
    if (local) continue;
    const std::string key = text_of(PyTuple_GET_ITEM(names, i));
    if (i < positional) {
      const int at = i - (positional - static_cast<int>(default_items.size()));
      if (at >= 0) local = default_items[static_cast<size_t>(at)];
    } else if (kwdefaults) {
      local = dict_get(t, kwdefaults, key.c_str());
    }
    if (!local) refuse();
  }
  if (extra) extra->mutated = false;
  return locals;
}

Arguments spread(Tracer& t, Value* positional, Value* keyword) {
  Arguments a;
  if (positional) a.positional = listed(t, positional);
  if (keyword) {
    keyword = t.look(keyword);
    if (!keyword->is(ValueKind::Dict)) {
      Value* dict = new_dict(t);
      dict_update(t, dict, keyword);
      keyword = dict;
    }
    for (auto [key, value] : dict_entries(t, keyword)) {
      PyObject* name = const_object(t, key);
      if (!name || !PyUnicode_Check(name)) t.raise(PyExc_TypeError, "keywords must be strings");
      a.keyword.emplace_back(text_of(name), value);
    }
  }
  return a;
}

}  // namespace vitrine::capture
