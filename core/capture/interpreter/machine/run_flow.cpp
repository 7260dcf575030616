// Handlers: jumps, loops, calls, with, import, exceptions, generators.
#include "core/capture/interpreter/library/default_devices.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/machine/generators.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/symbolic/speculated_branches.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

Flow jump(VirtualFrame& f, const Instruction& in) {
  f.position = f.bytecode->index_of(in.target);
  return Flow::Jumped;
}

}  // namespace

Flow runGetIter(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, iter(t, pop(f)));
  return Flow::Next;
}

Flow runForIter(Tracer& t, VirtualFrame& f, const Instruction& in) {
  if (Value* item = next(t, peek(f, 1))) {
    push(f, item);
    return Flow::Next;
  }
  pop(f);
  return jump(f, in);
}

Flow runJump(Tracer&, VirtualFrame& f, const Instruction& in) {
  return jump(f, in);
}

Flow runPopJumpIfFalse(Tracer& t, VirtualFrame& f, const Instruction& in) {
  return branches(t, f, pop(f), false) ? Flow::Next : jump(f, in);
}
Flow runPopJumpIfTrue(Tracer& t, VirtualFrame& f, const Instruction& in) {
  return branches(t, f, pop(f), true) ? jump(f, in) : Flow::Next;
}
Flow runPopJumpIfNone(Tracer& t, VirtualFrame& f, const Instruction& in) {
  return is_none(t, pop(f)) ? jump(f, in) : Flow::Next;
}
Flow runPopJumpIfNotNone(Tracer& t, VirtualFrame& f, const Instruction& in) {
  return is_none(t, pop(f)) ? Flow::Next : jump(f, in);
}
Flow runJumpIfFalseOrPop(Tracer& t, VirtualFrame& f, const Instruction& in) {
  if (!truth(t, peek(f, 1))) return jump(f, in);
  pop(f);
  return Flow::Next;
}
Flow runJumpIfTrueOrPop(Tracer& t, VirtualFrame& f, const Instruction& in) {
  if (truth(t, peek(f, 1))) return jump(f, in);
  pop(f);
  return Flow::Next;
}

// The `count` arguments on top, the last of them by these names, go to the callable below.
static void call_on_stack(Tracer& t, VirtualFrame& f, int count, const std::vector<std::string>& names) {
  Arguments a;
  a.positional = pop_many(f, count);
  Value* upper = pop(f);
  Value* lower = pop(f);
  const size_t start = a.positional.size() - names.size();
  for (size_t i = 0; i < names.size(); ++i) a.keyword.emplace_back(names[i], a.positional[start + i]);
  a.positional.resize(start);
  if (lower && upper) a.positional.insert(a.positional.begin(), upper);
  push(f, call(t, callable_of(lower, upper), std::move(a)));
}

Flow runCall(Tracer& t, VirtualFrame& f, const Instruction& in) {
  std::vector<std::string> names;
  if (in.aux >= 0) {
    PyObject* constant = f.bytecode->constant(in.aux);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i)
      names.push_back(text_of(PyTuple_GET_ITEM(constant, i)));
  }
  call_on_stack(t, f, in.arg, names);
  return Flow::Next;
}

Flow runCallKw(Tracer& t, VirtualFrame& f, const Instruction& in) {
  std::vector<std::string> names;
  for (Value* name : unpack(t, pop(f))) names.push_back(str_of(t, name, false));
  call_on_stack(t, f, in.arg, names);
  return Flow::Next;
}

Flow runCallEx(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* keyword = in.flag ? pop(f) : nullptr;
  Value* positional = pop(f);
  Value* upper = pop(f);
  Value* lower = pop(f);
  push(f, call(t, callable_of(lower, upper), spread(t, positional, keyword)));
  return Flow::Next;
}

Flow runReturnValue(Tracer&, VirtualFrame&, const Instruction&) {
  return Flow::Return;
}

Flow runReturnConst(Tracer& t, VirtualFrame& f, const Instruction& in) {
  push(f, t.fold(Py_NewRef(f.bytecode->constant(in.arg))));
  return Flow::Return;
}

Flow runReturnGenerator(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.none());  // the first resume discards what was sent
  return Flow::Next;
}

Flow runYield(Tracer& t, VirtualFrame& f, const Instruction&) {
  if (&f != &t.frame() || !(f.code->co_flags & CO_GENERATOR)) stop("generator", "a generator's frame");
  return Flow::Yield;
}

Flow runYieldFromIter(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* from = t.look(pop(f));
  push(f, from->is(ValueKind::Generator) ? from : iter(t, from));
  return Flow::Next;
}

// The receiver below is asked for its next value, which the generator yields; when it has none, its own
// return value is that of `yield from`.
Flow runSend(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* sent = t.look(pop(f));
  Value* receiver = t.look(peek(f, 1));
  Value* returned = nullptr;
  Value* item = nullptr;
  if (receiver->is(ValueKind::Generator))
    item = resume(t, receiver, sent, &returned);
  else if (is_none(t, sent))
    item = next(t, receiver, &returned);
  else
    stop("generator", "a value is sent to a " + describe(t, receiver),
         "Keep generators that are sent values outside of the compiled function.");
  if (item) {
    push(f, item);
    return Flow::Next;
  }
  pop(f);
  push(f, returned ? returned : t.none());
  return jump(f, in);
}

Flow runLoadAssertionError(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.constant(PyExc_AssertionError));
  return Flow::Next;
}

// A module that takes another's place in sys.modules is what an import gives from then on.
void guard_module(Tracer& t, PyObject* name, PyObject* module) {
  const Source* modules =
      t.sources().make(SourceKind::Constant, nullptr, -1, "sys.modules", torch_names().dict_of_sys_modules);
  t.guard(GuardKind::Identity, t.sources().make(SourceKind::Item, modules, -1, repr_of(name, 60), name),
          module, 0, "", nullptr, "same module");
}

// pkg.name in sys.modules, or null.
PyRef loaded_submodule(PyObject* package, const std::string& name) {
  const char* base = PyModule_GetName(package);
  PyRef key(PyUnicode_FromString((std::string(base ? base : "") + "." + name).c_str()));
  PyRef found(PyImport_GetModule(key.get()));
  PyErr_Clear();
  return found;
}

// `from module import names`: what the module lacks may be a module in it, which the import would load.
void need_loaded(Tracer& t, PyObject* module, Value* names) {
  for (Value* n : unpack(t, names)) {
    const std::string name = str_of(t, n, false);
    if (!PyDict_GetItemString(PyModule_GetDict(module), name.c_str()) && !loaded_submodule(module, name))
      stop("side_effect", "module " + name + " may be imported for the first time");
  }
}

Flow runImportName(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* names = t.look(pop(f));
  const int64_t level = int_of(t, pop(f), "an import level");
  std::string name = name_of(f, in.arg);
  if (level > 0) {
    std::string package = text_of(PyDict_GetItemString(f.globals, "__package__"));
    for (int64_t i = 1; i < level; ++i) package = package.substr(0, package.rfind('.'));
    name = name.empty() ? package : package + "." + name;
  }
  const bool from = !names->is(ValueKind::Constant) || names->obj != Py_None;
  const std::string wanted = from || level > 0 ? name : name.substr(0, name.find('.'));
  PyRef full(PyUnicode_FromString(name.c_str())), key(PyUnicode_FromString(wanted.c_str()));
  PyRef imported(PyImport_GetModule(full.get())), module(PyImport_GetModule(key.get()));
  PyErr_Clear();
  if (!imported || !module || !PyModule_Check(module.get()))
    stop("side_effect", "module " + name + " is imported for the first time");
  if (from) need_loaded(t, module.get(), names);
  guard_module(t, full.get(), imported.get());
  guard_module(t, key.get(), module.get());
  push(f, t.pinned(module.get()));
  return Flow::Next;
}

Flow runImportFrom(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* module = peek(f, 1);
  const std::string name = name_of(f, in.arg);
  Value* found = nullptr;
  const PyObject* o = const_object(t, module);
  if (o && PyDict_GetItemString(PyModule_GetDict(const_cast<PyObject*>(o)), name.c_str())) {
    found = get_attr(t, module, name);
  } else if (o) {
    if (PyRef sub = loaded_submodule(const_cast<PyObject*>(o), name)) {
      PyRef key(PyUnicode_FromString(
          (std::string(PyModule_GetName(const_cast<PyObject*>(o))) + "." + name).c_str()));
      guard_module(t, key.get(), sub.get());
      found = t.pinned(sub.get());
    }
  }
  if (!found) stop("side_effect", "from ... import " + name);
  push(f, found);
  return Flow::Next;
}

Flow runBeforeWith(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* manager = t.look(pop(f));
  if (manager->is(ValueKind::Constant) && Py_TYPE(manager->obj) == torch_names().device) {
    const auto [leave, device] = enter_default_device(t, manager);
    push(f, leave);
    push(f, device);
    return Flow::Next;
  }
  if (!manager->is(ValueKind::Object)) stop("context_manager", "with " + describe(t, manager));
  PyTypeObject* type = type_of(t, manager);
  PyObject *enter = lookup(type, "__enter__"), *leave = lookup(type, "__exit__");
  if (!enter || !leave || !PyFunction_Check(enter) || !PyFunction_Check(leave))
    stop("context_manager", "with " + describe(t, manager));
  pin_type(t, type);
  Value* exit = t.make(ValueKind::Method);
  exit->items() = {t.pinned(leave), manager};
  exit->cls = &PyMethod_Type;
  push(f, exit);
  push(f, call_special(t, manager, enter, {}));
  return Flow::Next;
}

// s[-1] is the exception, s[-4] the manager's __exit__. Its traceback is no value here: what looks at it
// breaks.
Flow runWithExceptStart(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* exception = t.look(peek(f, 1));
  if (!exception->is(ValueKind::Object) || !exception->cls)
    stop("context_manager", "a context manager is left by an exception");
  Value* type = t.pinned(reinterpret_cast<PyObject*>(exception->cls));
  Value* traceback = t.make(ValueKind::Super);
  traceback->cls = &PyTraceBack_Type;
  Arguments a;
  a.positional = {type, exception, traceback};
  push(f, call(t, peek(f, 4), std::move(a)));
  return Flow::Next;
}

Flow runRaise(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* cause = in.arg == 2 ? pop(f) : nullptr;
  Value* exception = in.arg == 0 ? handled_now(f) : t.look(pop(f));
  if (!exception) stop("exception", "an exception is raised again");
  if (exception->is(ValueKind::Constant) && PyType_Check(exception->obj))
    exception = t.look(construct(t, reinterpret_cast<PyTypeObject*>(exception->obj), {}));
  if (exception->obj || !exception->is(ValueKind::Object))
    stop("exception", "an exception that exists already is raised");
  if (cause) set_cause(t, exception, cause);
  if (in.arg > 0) set_context(t, exception);
  RaiseSignal signal;
  signal.exception = exception;
  signal.text = exception->cls ? exception->cls->tp_name : "exception";
  if (!exception->items().empty())
    if (PyObject* o = const_object(t, exception->items()[0]); o && PyUnicode_Check(o))
      signal.text += ": " + text_of(o);
  throw signal;
}

Flow runReraise(Tracer&, VirtualFrame& f, const Instruction&) {
  RaiseSignal signal;
  signal.exception = pop(f);
  signal.text = signal.exception && signal.exception->cls ? signal.exception->cls->tp_name : "exception";
  throw signal;
}

// What leaves a generator: StopIteration would look like its end.
Flow runStopIterationError(Tracer& t, VirtualFrame& f, const Instruction&) {
  const Value* exception = t.look(peek(f, 1));
  if (!exception->cls) stop("exception", "an exception leaves a generator");
  if (PyType_IsSubtype(exception->cls, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
    raise_from(t, const_cast<Value*>(exception), "generator raised StopIteration");
  return Flow::Next;
}

Flow runPushExcInfo(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* exception = pop(f);
  enter_handler(t, f);
  Value* handled = t.make(ValueKind::Super);  // the exception handled so far: not a value of the program
  handled->as<SuperValue>().owner = exception;
  push(f, handled);
  push(f, exception);
  return Flow::Next;
}

Flow runPopExcept(Tracer& t, VirtualFrame& f, const Instruction&) {
  pop(f);
  leave_handler(t, f);
  return Flow::Next;
}

Flow runCheckExcMatch(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* wanted = t.look(pop(f));
  Value* exception = t.look(peek(f, 1));
  bool match = false;
  for (Value* one : wanted->is(ValueKind::Tuple) ? wanted->items() : Values{wanted}) {
    PyObject* type = const_object(t, one);
    if (!type || !PyType_Check(type) || !exception->cls)
      stop("exception", "an exception is matched with " + describe(t, one));
    match = match || PyType_IsSubtype(exception->cls, reinterpret_cast<PyTypeObject*>(type));
  }
  push(f, t.boolean(match));
  return Flow::Next;
}

}  // namespace vitrine::capture
