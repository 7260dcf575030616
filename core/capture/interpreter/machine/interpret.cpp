// The instruction loop of one frame, and how an exception finds its handler.
#include <algorithm>
#include <memory>

#include "core/capture/guards/finalizers.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/marks.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Thrown when the outermost frame has run as many instructions as asked for.
struct Reached {};

std::string torch_folder() {
  Owned path(PyObject_GetAttrString(torch_names().torch, "__file__"));
  if (!path) PyErr_Clear();
  const std::string file = text_of(path.get());
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

Tracer::Tracer(Frame& live, const TraceOptions& options, int64_t stop_at, BytecodeCache& bytecodes)
    : live_(live), options_(options), stop_at_(stop_at), bytecodes_(bytecodes) {
  sources_ = std::make_shared<SourcePool>();
  symbolic_ = std::make_shared<Symbolic>();
  lowering_ = std::make_unique<torch_api::Lowering>(options.as_if, options.target);
  autocast_at_start_ = lowering_->autocast();
  attention_at_start_ = lowering_->attention();
  Owned grad(PyObject_CallNoArgs(find_object("torch.is_grad_enabled")));
  grad_at_start_ = grad_now_ = grad.get() == Py_True;
  Owned inference(PyObject_CallNoArgs(find_object("torch.is_inference_mode_enabled")));
  inference_at_start_ = inference_now_ = inference.get() == Py_True;
  root_.code = reinterpret_cast<PyCodeObject*>(live.code());
  root_.bytecode = bytecode_of(root_.code);
  root_.globals = live.globals();
  root_.builtins = live.builtins();
  root_.position = root_.bytecode->index_of(live.pc());
  for (int i = 0; i < live.local_count(); ++i) {
    PyObject* o = live.local(i);
    root_.locals.push_back(o ? lazy(o, sources_->local(i, text_of(root_.bytecode->local_name(i)))) : nullptr);
  }
  for (int i = 0; i < live.depth(); ++i) {
    PyObject* o = live.stack(i);
    const bool alone = o && Py_REFCNT(o) == 1 && has_finalizer(o);
    root_.stack.push_back(o ? lazy(o, sources_->make(SourceKind::Stack, nullptr, i, "")) : nullptr);
    if (alone) alone_.push_back(root_.stack.back());
  }
  initial_locals_ = root_.locals;
  initial_stack_ = root_.stack;
  guard(GuardKind::GlobalState, nullptr);
  guard_empty_stack();
}

Tracer::~Tracer() {
  for (Guard& g : guards_) Py_XDECREF(g.object);
  lowering_.reset();
  values_.clear();
  for (PyObject* o : alive_) Py_DECREF(o);
  for (PyObject* o : codes_) Py_DECREF(o);
}

const Bytecode* Tracer::bytecode_of(PyCodeObject* code) {
  auto& entry = bytecodes_[code];
  if (!entry) entry = std::make_unique<Bytecode>(reinterpret_cast<PyObject*>(code));
  if (seen_codes_.insert(code).second) {
    Py_INCREF(code);
    codes_.push_back(reinterpret_cast<PyObject*>(code));
  }
  return entry.get();
}

bool Tracer::run() {
  try {
    if (root_.position < 0) stop("unsupported_instruction", "the frame stands inside an instruction");
    if (options_.knows_frame && stop_at_ < 0) {
      current_ = &root_;
      result_ = run_known_frame(*this, live_);
      if (result_) return true;
      current_ = nullptr;
    }
    result_ = execute(root_);
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

}  // namespace

void Tracer::break_at(const BreakInfo& info) {
  broke_ = info;
  if (broke_.hint.empty())
    for (const BreakKind& row : kBreakKinds)
      if (row.kind == broke_.kind) broke_.hint = row.hint;
  for (const VirtualFrame* f = current_; f; f = f->caller) {
    int line = 0;
    broke_.stack.emplace_back(place(*f, &line), line);
    broke_.at.push_back(instruction_of(*f));
    broke_in_higher_order |= text_of(f->code->co_qualname).starts_with("HigherOrderOperator.") &&
                             globals_of_torch(f->globals, "_ops");
    if (f == &root_) break;
  }
}

std::string Tracer::place(const VirtualFrame& f, int* line) {
  const auto& instructions = f.bytecode->instructions();
  if (f.position >= 0 && f.position < static_cast<int>(instructions.size()))
    *line = f.bytecode->position(instructions[static_cast<size_t>(f.position)]).line;
  return text_of(f.code->co_filename) + ":" + std::to_string(*line) + " " + text_of(f.code->co_qualname);
}

ir::Origin Tracer::origin() {
  static const std::string torch = torch_folder();
  const VirtualFrame* at = current_;
  for (const VirtualFrame* f = current_; f; f = f->caller) {
    if (text_of(f->code->co_filename).rfind(torch, 0) != 0) {
      at = f;
      break;
    }
  }
  ir::Origin o;
  o.file = text_of(at->code->co_filename);
  o.module = current_->module;
  const Position p = at->bytecode->position(at->bytecode->instructions()[static_cast<size_t>(at->position)]);
  o.line = p.line;
  o.col = p.column;
  o.end_line = p.end_line;
  o.end_col = p.end_column;
  o.step = current_->step;
  o.checkpoint = checkpoint_;
  return o;
}

Value* Tracer::execute(VirtualFrame& f, bool* yielded) {
  const bool outermost = &f == &root_;
  f.caller = current_;
  current_ = &f;
  ++depth_;
  const auto& instructions = f.bytecode->instructions();
  Before before;
  bool entered = true;
  while (true) {
    if (outermost && executed_ == stop_at_) throw Reached{};
    if (++instructions_ > options_.max_instructions)
      stop("limit", "too many instructions in one segment",
           "Compile the body of the loop instead of the loop.");
    const Instruction& in = instructions[static_cast<size_t>(f.position)];
    if (options_.record_steps) before = begin_step(f, in, entered);
    entered = false;
    Flow flow = Flow::Next;
    try {
      sets_in_order_ = true;
      flow = run_instruction(*this, f, in);
    } catch (const RaiseSignal& signal) {
      if (!dispatch_raise(f, in, signal)) {
        // Kept as it is for the outermost frame: the place of the break is read from it.
        if (!outermost) {
          if (!frames_.empty() && frames_.back().get() == &f) frames_.pop_back();
          current_ = f.caller;
          --depth_;
        }
        throw;
      }
      flow = Flow::Jumped;
    }
    if (outermost && !alone_.empty()) check_alone();
    if (options_.record_steps && flow != Flow::Return && flow != Flow::Yield) end_step(f, in, before);
    if (flow == Flow::Next) ++f.position;
    if (flow == Flow::Return || flow == Flow::Yield) {
      if (yielded) *yielded = flow == Flow::Yield;
      if (flow == Flow::Yield) ++f.position;
      Value* value = f.stack.back();
      f.stack.pop_back();
      if (options_.record_steps) {
        end_step(f, in, before);
        if (flow == Flow::Return) film_returned(f, value);
      }
      current_ = f.caller;
      --depth_;
      return value;
    }
    if (outermost) ++executed_;
  }
}

bool Tracer::dispatch_raise(VirtualFrame& f, const Instruction& in, const RaiseSignal& signal) {
  if (in.handler < 0 || !signal.exception) return false;
  if (&f == &root_ && handling_since_ < 0) handling_since_ = executed_;
  f.stack.resize(static_cast<size_t>(in.handler_depth));
  if (in.handler_lasti) f.stack.push_back(integer(in.at / 2));
  f.stack.push_back(signal.exception);
  f.position = f.bytecode->index_of(in.handler);
  return true;
}

void Tracer::enter_handler(VirtualFrame& f) {
  if (&f == &root_ && handling_since_ >= 0) ++handlers_;
}

void Tracer::leave_handler(VirtualFrame& f) {
  if (&f != &root_ || handlers_ == 0 || --handlers_ > 0) return;
  // Left only to be raised again: the exception still lives on the stack.
  const auto& instructions = f.bytecode->instructions();
  const auto next = static_cast<size_t>(f.position) + 1;
  if (next >= instructions.size() || instructions[next].op != Op::Reraise) handling_since_ = -1;
}

void Tracer::raise(PyObject* type, const std::string& message, bool worded) {
  RaiseSignal signal;
  signal.text = std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " + message;
  signal.exception = make(Kind::Object);
  signal.exception->cls = reinterpret_cast<PyTypeObject*>(type);
  signal.exception->items = {text(message)};
  signal.exception->worded = worded;
  set_context(signal.exception);
  throw signal;
}

void Tracer::raise_from(Value* cause, const std::string& message) {
  try {
    raise(PyExc_RuntimeError, message, true);
  } catch (const RaiseSignal& signal) {
    set_cause(signal.exception, cause);
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
  Owned hold_type(type), hold_value(value), hold_traceback(traceback);
  Owned message(value ? PyObject_Str(value) : nullptr);
  PyErr_Clear();
  Py_INCREF(type);
  keep(type);
  // An exception of a builtin class made from one text says that text, and has it as its only argument.
  Owned arguments(value && reinterpret_cast<PyTypeObject*>(type)->tp_init ==
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

const Source* Tracer::global_source(const VirtualFrame& f, const std::string& name) {
  return f.globals_owner ? sources_->make(SourceKind::GlobalOf, f.globals_owner, -1, name)
                         : sources_->make(SourceKind::Global, nullptr, -1, name);
}

Value* Tracer::load_global(VirtualFrame& f, const std::string& name) {
  const std::string key = global_key(f.globals, name);
  check_cached_read(PyDict_GetItemString(f.globals, name.c_str()));
  if (pure_since_ >= 0) check_pure_global(key);
  if (auto found = globals_.find(key); found != globals_.end()) return found->second;
  Value* v = nullptr;
  if (PyObject* o = PyDict_GetItemString(f.globals, name.c_str())) {
    v = lazy(o, global_source(f, name));
  } else if (PyObject* builtin = PyDict_GetItemString(f.builtins, name.c_str())) {
    guard(GuardKind::NotInGlobals, f.globals_owner, nullptr, 0, name, nullptr, name + " is the builtin");
    v = lazy(builtin, sources_->make(SourceKind::Builtin, nullptr, -1, name));
  } else {
    Owned missing(PyUnicode_FromString(name.c_str()));
    guard(GuardKind::NotInGlobals, f.globals_owner, nullptr, 0, name, nullptr, name + " is not set");
    guard(GuardKind::DictContains,
          sources_->make(SourceKind::Constant, nullptr, -1, "builtins.__dict__", f.builtins), missing.get(),
          0, "", nullptr, repr_of(missing.get(), 60));
    raise(PyExc_NameError, "name '" + name + "' is not defined");
  }
  globals_[key] = v;
  return v;
}

void Tracer::store_global(VirtualFrame& f, const std::string& name, Value* value) {
  store_global(f.globals, f.globals_owner, name, value);
}

// owner: a function with these globals, or the module that has them; nullptr: the frame's function.
void Tracer::store_global(PyObject* globals, const Source* owner, const std::string& name, Value* value) {
  check_cached_write(nullptr);
  const std::string key = global_key(globals, name);
  const auto is_it = [&](const GlobalWrite& write) { return write.key == key; };
  const bool first = std::none_of(global_writes_.begin(), global_writes_.end(), is_it);
  PyObject* before = PyDict_GetItemString(globals, name.c_str());
  if (!before)
    guard(GuardKind::NotInGlobals, owner, nullptr, 0, name, nullptr, name + " is not set");
  else if (first)
    check_replaced(before,
                   owner ? sources_->make(SourceKind::GlobalOf, owner, -1, name)
                         : sources_->make(SourceKind::Global, nullptr, -1, name),
                   name);
  globals_[key] = value;
  if (first) global_writes_.push_back({key, owner, name});
}

// What the program has set; nullptr: it has not.
Value* Tracer::written_global(PyObject* globals, const std::string& name) {
  const std::string key = global_key(globals, name);
  for (const GlobalWrite& write : global_writes_)
    if (write.key == key) return pure_since_ >= 0 ? (check_pure_global(key), nullptr) : globals_[key];
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
