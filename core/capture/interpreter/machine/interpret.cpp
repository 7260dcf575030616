// The instruction loop of one frame, and how an exception finds its handler.
#include <algorithm>
#include <memory>

#include "core/capture/guards/finalizers.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/bound_slots.h"
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/machine/film.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"
#include "core/capture/trace/break_kinds.h"

namespace vitrine::capture {

static std::string place(const VirtualFrame& frame, int* line);

namespace {

// Thrown when the outermost frame has run as many instructions as asked for.
struct Reached {};

std::string torch_folder() {
  PyRef path(PyObject_GetAttrString(torch_names().torch, "__file__"));
  if (!path) PyErr_Clear();
  const std::string file = text_of(path.get());
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

Tracer::Tracer(Frame& live, const TraceOptions& options, int64_t stop_at, BytecodeCache& bytecodes)
    : options(options), frames(live, stop_at, bytecodes) {
  graph.lowering = std::make_unique<torch_api::Lowering>(options.as_if, options.target);
  if (options.stands_in && options.data_shapes) lowering().allow_stand_ins();
  modes.autocast_at_start = lowering().autocast();
  modes.attention_at_start = lowering().attention();
  PyRef grad(PyObject_CallNoArgs(find_object("torch.is_grad_enabled")));
  modes.grad_at_start = modes.grad_now = grad.get() == Py_True;
  PyRef inference(PyObject_CallNoArgs(find_object("torch.is_inference_mode_enabled")));
  modes.inference_at_start = modes.inference_now = inference.get() == Py_True;
  frames.root.code = reinterpret_cast<PyCodeObject*>(live.code());
  frames.root.bytecode = frames.bytecode_of(frames.root.code);
  frames.root.globals = live.globals();
  frames.root.builtins = live.builtins();
  frames.root.position = frames.root.bytecode->index_of(live.pc());
  for (int i = 0; i < live.local_count(); ++i) {
    PyObject* o = live.local(i);
    frames.root.locals.push_back(o ? lazy(o, sources().local(i, text_of(frames.root.bytecode->local_name(i))))
                                   : nullptr);
  }
  for (int i = 0; i < live.depth(); ++i) {
    PyObject* o = live.stack(i);
    const bool alone = o && Py_REFCNT(o) == 1 && has_finalizer(o);
    frames.root.stack.push_back(o ? lazy(o, sources().make(SourceKind::Stack, nullptr, i, "")) : nullptr);
    if (alone) effects.alone.push_back(frames.root.stack.back());
  }
  frames.initial_locals = frames.root.locals;
  frames.initial_stack = frames.root.stack;
  guard(GuardKind::GlobalState, nullptr);
  guard_empty_stack(*this);
}

Tracer::~Tracer() = default;

bool Tracer::run() {
  try {
    if (frames.root.position < 0) stop("unsupported_instruction", "the frame stands inside an instruction");
    if (options.knows_frame && frames.stop_at < 0) {
      frames.current = &frames.root;
      frames.result = run_known_frame(*this, frames.live);
      if (frames.result) return true;
      frames.current = nullptr;
    }
    frames.result = execute(*this, frames.root);
    return true;
  } catch (const Reached&) {
    return true;
  } catch (const BreakSignal& signal) {
    break_at(signal.info);
  } catch (const RaiseSignal& signal) {
    BreakInfo info;
    info.kind = "exception";
    info.reason = signal.text;
    break_at(info);
  }
  return false;
}

namespace {

// The code lives as long as what is told of it: another attempt at the trace may leave the call out.
BreakInfo::At instruction_of(const VirtualFrame& f) {
  const auto& instructions = f.bytecode->instructions();
  const auto at = static_cast<size_t>(f.position);
  if (f.position < 0 || at >= instructions.size()) return {};
  Py_INCREF(f.code);
  return {std::shared_ptr<PyObject>(reinterpret_cast<PyObject*>(f.code), [](PyObject* o) { Py_DECREF(o); }),
          instructions[at].pc};
}

// Whether the instruction is one of a function of Python's or of PyTorch's that the program calls: what would
// be advised where the program writes it itself is of no use then. Modules are called by every program.
bool is_inside_of_library(const VirtualFrame* f, const VirtualFrame& root) {
  if (!f || !is_library_code(f->code)) return false;
  for (; f && is_library_code(f->code); f = f->caller)
    if (f == &root || text_of(f->code->co_qualname).starts_with("Module.")) return false;
  return f;
}

// Kinds whose advice is about how a line is written.
constexpr std::string_view kOfTheLine[] = {
    "unsupported_builtin", "unsupported_value", "unsupported_instruction", "foreign_call", "context_manager",
    "generator",           "custom_setter"};
constexpr const char* kInsideOfLibrary =
    "It is inside of what the line calls: make that call outside of the compiled function.";

std::string hint_of(std::string_view kind, bool inside_of_library) {
  if (inside_of_library && std::ranges::find(kOfTheLine, kind) != std::end(kOfTheLine))
    return kInsideOfLibrary;
  for (const BreakKind& row : kBreakKinds)
    if (row.kind == kind) return std::string(row.hint);
  return {};
}

}  // namespace

void Tracer::break_at(const BreakInfo& info) {
  broke_ = info;
  if (broke_.hint.empty())
    broke_.hint = hint_of(broke_.kind, is_inside_of_library(frames.current, frames.root));
  // What the program raises is no break to it.
  if (broke_.kind == "exception")
    broke_.is_error = false;
  else if (!modes.breaks_are_errors.empty())
    broke_.is_error = modes.breaks_are_errors.back();
  for (const VirtualFrame* f = frames.current; f; f = f->caller) {
    int line = 0;
    broke_.stack.emplace_back(place(*f, &line), line);
    broke_.at.push_back(instruction_of(*f));
    broke_in_higher_order |= text_of(f->code->co_qualname).starts_with("HigherOrderOperator.") &&
                             globals_of_torch(f->globals, "_ops");
    if (f == &frames.root) break;
  }
}

std::string place(const VirtualFrame& f, int* line) {
  const auto& instructions = f.bytecode->instructions();
  if (f.position >= 0 && f.position < static_cast<int>(instructions.size()))
    *line = f.bytecode->position(instructions[static_cast<size_t>(f.position)]).line;
  return text_of(f.code->co_filename) + ":" + std::to_string(*line) + " " + text_of(f.code->co_qualname);
}

ir::Origin Tracer::origin() {
  static const std::string torch = torch_folder();
  const VirtualFrame* at = frames.current;
  for (const VirtualFrame* f = frames.current; f; f = f->caller) {
    if (text_of(f->code->co_filename).rfind(torch, 0) != 0) {
      at = f;
      break;
    }
  }
  ir::Origin o;
  o.file = text_of(at->code->co_filename);
  o.module = frame().module;
  const Position p = at->bytecode->position(at->bytecode->instructions()[static_cast<size_t>(at->position)]);
  o.line = p.line;
  o.col = p.column;
  o.end_line = p.end_line;
  o.end_col = p.end_column;
  o.step = frame().step;
  o.checkpoint = graph.checkpoint;
  return o;
}

Value* execute(Tracer& t, VirtualFrame& f, bool* yielded) {
  const bool outermost = &f == &t.frames.root;
  f.caller = t.frames.current;
  t.frames.current = &f;
  ++t.frames.depth;
  const auto& instructions = f.bytecode->instructions();
  FilmState::Before before;
  bool entered = true;
  while (true) {
    if (outermost && t.frames.executed == t.frames.stop_at) throw Reached{};
    if (++t.frames.instructions > t.options.max_instructions)
      stop("limit", "too many instructions in one segment",
           "Compile the body of the loop instead of the loop.");
    const Instruction& in = instructions[static_cast<size_t>(f.position)];
    if (t.options.record_steps) before = begin_step(t, f, in, entered);
    entered = false;
    Flow flow = Flow::Next;
    try {
      t.effects.sets_in_order = true;
      flow = run_instruction(t, f, in);
    } catch (const RaiseSignal& signal) {
      if (!dispatch_raise(t, f, in, signal)) {
        // Kept as it is for the outermost frame: the place of the break is read from it.
        if (!outermost) {
          if (!t.frames.inlined.empty() && t.frames.inlined.back().get() == &f) t.frames.inlined.pop_back();
          t.frames.current = f.caller;
          --t.frames.depth;
        }
        throw;
      }
      flow = Flow::Jumped;
    }
    if (outermost && !t.effects.alone.empty()) check_alone(t);
    if (t.options.record_steps && flow != Flow::Return && flow != Flow::Yield) end_step(t, f, in, before);
    if (flow == Flow::Next) ++f.position;
    if (flow == Flow::Return || flow == Flow::Yield) {
      if (yielded) *yielded = flow == Flow::Yield;
      if (flow == Flow::Yield) ++f.position;
      Value* value = f.stack.back();
      f.stack.pop_back();
      if (t.options.record_steps) {
        end_step(t, f, in, before);
        if (flow == Flow::Return) film_returned(t, f, value);
      }
      t.frames.current = f.caller;
      --t.frames.depth;
      return value;
    }
    if (outermost) ++t.frames.executed;
  }
}

bool dispatch_raise(Tracer& t, VirtualFrame& f, const Instruction& in, const RaiseSignal& signal) {
  if (in.handler < 0 || !signal.exception) return false;
  if (&f == &t.frames.root && t.frames.handling_since < 0) t.frames.handling_since = t.frames.executed;
  f.stack.resize(static_cast<size_t>(in.handler_depth));
  if (in.handler_lasti) f.stack.push_back(t.integer(in.at / 2));
  f.stack.push_back(signal.exception);
  f.position = f.bytecode->index_of(in.handler);
  return true;
}

void enter_handler(Tracer& t, VirtualFrame& f) {
  if (&f == &t.frames.root && t.frames.handling_since >= 0) ++t.frames.handlers;
}

void leave_handler(Tracer& t, VirtualFrame& f) {
  if (&f != &t.frames.root || t.frames.handlers == 0 || --t.frames.handlers > 0) return;
  // Left only to be raised again: the exception still lives on the stack.
  const auto& instructions = f.bytecode->instructions();
  const auto next = static_cast<size_t>(f.position) + 1;
  if (next >= instructions.size() || instructions[next].op != Op::Reraise) t.frames.handling_since = -1;
}

void Tracer::raise(PyObject* type, const std::string& message, bool worded) {
  RaiseSignal signal;
  signal.text = std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " + message;
  signal.exception = make(ValueKind::Object);
  signal.exception->cls = reinterpret_cast<PyTypeObject*>(type);
  signal.exception->items() = {text(message)};
  signal.exception->as<ObjectValue>().worded = worded;
  set_context(*this, signal.exception);
  throw signal;
}

void raise_from(Tracer& t, Value* cause, const std::string& message) {
  try {
    t.raise(PyExc_RuntimeError, message, true);
  } catch (const RaiseSignal& signal) {
    set_cause(t, signal.exception, cause);
    chain_context(signal.exception, resolve(cause));
    throw;
  }
}

void Tracer::raise_python() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
    throw InterruptSignal{std::make_shared<torch_api::PendingError>()};
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (!type) stop("unsupported_builtin", "a builtin failed without an exception");
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef hold_type(type), hold_value(value), hold_traceback(traceback);
  PyRef message(value ? PyObject_Str(value) : nullptr);
  PyErr_Clear();
  Py_INCREF(type);
  keep(type);
  // An exception of a builtin class made from one text says that text, and has it as its only argument.
  PyRef arguments(value && reinterpret_cast<PyTypeObject*>(type)->tp_init ==
                               reinterpret_cast<PyTypeObject*>(PyExc_Exception)->tp_init
                      ? PyObject_GetAttrString(value, "args")
                      : nullptr);
  PyErr_Clear();
  const bool says_its_argument = arguments && PyTuple_GET_SIZE(arguments.get()) == 1 &&
                                 PyUnicode_CheckExact(PyTuple_GET_ITEM(arguments.get(), 0)) && message &&
                                 PyUnicode_Compare(PyTuple_GET_ITEM(arguments.get(), 0), message.get()) == 0;
  raise(type, text_of(message.get()), says_its_argument);
}

static std::string global_key(PyObject* globals, const std::string& name) {
  return std::to_string(reinterpret_cast<uintptr_t>(globals)) + ":" + name;
}

// Shadows of names, by globals dict.
static const Source* global_source(Tracer& t, const VirtualFrame& f, const std::string& name) {
  return f.globals_owner ? t.sources().make(SourceKind::GlobalOf, f.globals_owner, -1, name)
                         : t.sources().make(SourceKind::Global, nullptr, -1, name);
}

Value* load_global(Tracer& t, VirtualFrame& f, const std::string& name) {
  const std::string key = global_key(f.globals, name);
  check_cached_read(t, PyDict_GetItemString(f.globals, name.c_str()));
  if (t.pure.since >= 0) check_pure_global(t, key);
  if (auto found = t.effects.globals.find(key); found != t.effects.globals.end()) return found->second;
  Value* v = nullptr;
  if (PyObject* o = PyDict_GetItemString(f.globals, name.c_str())) {
    v = t.lazy(o, global_source(t, f, name));
  } else if (PyObject* builtin = PyDict_GetItemString(f.builtins, name.c_str())) {
    t.guard(GuardKind::NotInGlobals, f.globals_owner, nullptr, 0, name, nullptr, name + " is the builtin");
    v = t.lazy(builtin, t.sources().make(SourceKind::Builtin, nullptr, -1, name));
  } else {
    PyRef missing(PyUnicode_FromString(name.c_str()));
    t.guard(GuardKind::NotInGlobals, f.globals_owner, nullptr, 0, name, nullptr, name + " is not set");
    t.guard(GuardKind::DictContains,
            t.sources().make(SourceKind::Constant, nullptr, -1, "builtins.__dict__", f.builtins),
            missing.get(), 0, "", nullptr, repr_of(missing.get(), 60));
    t.raise(PyExc_NameError, "name '" + name + "' is not defined");
  }
  t.effects.globals[key] = v;
  return v;
}

void store_global(Tracer& t, VirtualFrame& f, const std::string& name, Value* value) {
  store_global(t, f.globals, f.globals_owner, name, value);
}

// owner: a function with these globals, or the module that has them; nullptr: the frame's function.
void store_global(Tracer& t, PyObject* globals, const Source* owner, const std::string& name, Value* value) {
  check_cached_write(t, nullptr);
  const std::string key = global_key(globals, name);
  const auto is_it = [&](const GlobalWrite& write) { return write.key == key; };
  const bool first = std::none_of(t.effects.global_writes.begin(), t.effects.global_writes.end(), is_it);
  PyObject* before = PyDict_GetItemString(globals, name.c_str());
  if (!before)
    t.guard(GuardKind::NotInGlobals, owner, nullptr, 0, name, nullptr, name + " is not set");
  else if (first)
    check_replaced(t, before,
                   owner ? t.sources().make(SourceKind::GlobalOf, owner, -1, name)
                         : t.sources().make(SourceKind::Global, nullptr, -1, name),
                   name);
  t.effects.globals[key] = value;
  if (first) t.effects.global_writes.push_back({key, owner, name});
}

// What the program has set; nullptr: it has not.
Value* written_global(Tracer& t, PyObject* globals, const std::string& name) {
  const std::string key = global_key(globals, name);
  for (const GlobalWrite& write : t.effects.global_writes)
    if (write.key == key)
      return t.pure.since >= 0 ? (check_pure_global(t, key), nullptr) : t.effects.globals[key];
  return nullptr;
}

std::string json_text(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace vitrine::capture
