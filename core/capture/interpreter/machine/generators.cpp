// Generators made in the segment: frames that wait, resumed by a value or by an exception (PEP 342, PEP 380).
#include "core/capture/interpreter/machine/generators.h"
#include "core/base/words.h"
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static Value* throw_into(Tracer& t, Value* generator, Value* exception, Value** returned = nullptr);

namespace {

auto* const kStopIteration = &PyExc_StopIteration;

bool is_a(const RaiseSignal& signal, PyObject* type) {
  return signal.exception && signal.exception->cls &&
         PyType_IsSubtype(signal.exception->cls, reinterpret_cast<PyTypeObject*>(type));
}

// `yield from` has passed the question on: what is thrown belongs to the generator below.
bool delegates(const VirtualFrame& frame) {
  const auto& instructions = frame.bytecode->instructions();
  const auto at = static_cast<size_t>(frame.position);
  return at + 1 < instructions.size() && instructions[at].op == Op::Resume && (instructions[at].arg & 3) >= 2;
}

// Where it waits, what stands in a `finally`, a `with` or an `except` that catches GeneratorExit runs when
// the generator is let go. A handler that names other exceptions lets that one pass to the next handler
// outside.
bool closes_when_let_go(Tracer& t, VirtualFrame& frame) {
  if (frame.position <= 0) return false;
  const auto& instructions = frame.bytecode->instructions();
  const auto index = [&](int32_t pc) { return static_cast<size_t>(frame.bytecode->index_of(pc)); };
  int32_t handler = instructions[static_cast<size_t>(frame.position) - 1].handler;
  for (size_t i = handler < 0 ? 0 : index(handler); handler >= 0; ++i) {
    const Instruction& in = instructions[i];
    switch (in.op) {
      case Op::PushExcInfo:
      case Op::Copy:
      case Op::PopExcept:
      case Op::BuildTuple:
      case Op::CheckExcMatch:
        break;
      case Op::LoadGlobal: {
        const std::string name = text_of(frame.bytecode->name(in.arg));
        if (!PyDict_GetItemString(frame.globals, name.c_str()) &&
            !PyDict_GetItemString(frame.builtins, name.c_str()))
          return true;
        PyObject* type = const_object(t, load_global(t, frame, name));
        if (!type || !PyType_Check(type) || PyObject_IsSubclass(PyExc_GeneratorExit, type) != 0) return true;
        break;
      }
      case Op::PopJumpIfFalse:
        i = index(in.target) - 1;
        break;
      case Op::Reraise:
      case Op::Generator:  // the end of CPython 3.12's `yield from`
        handler = in.handler;
        if (handler >= 0) i = index(handler) - 1;
        break;
      case Op::StopIterationError:  // what any generator of CPython 3.12 ends with
        return false;
      default:
        return true;
    }
  }
  return false;
}

// Marks a frame as running for as long as it does; one that is left by an exception has finished.
struct Running {
  VirtualFrame& frame;
  explicit Running(VirtualFrame& f) : frame(f) { frame.running = true; }
  ~Running() { frame.running = false; }
};

}  // namespace

Value* resume(Tracer& t, Value* v, Value* sent, Value** returned) {
  VirtualFrame& frame = *v->generator();
  if (frame.running) t.raise(PyExc_ValueError, "generator already executing", true);
  if (frame.position < 0) return nullptr;
  if (frame.position == 0) frame.began = t.frames.executed;
  if (frame.position > 0) frame.stack.push_back(sent);
  bool yielded = false;
  Value* value = nullptr;
  try {
    const Running running(frame);
    value = execute(t, frame, &yielded);
  } catch (const RaiseSignal& signal) {
    frame.position = -1;
    if (is_a(signal, *kStopIteration)) raise_from(t, signal.exception, "generator raised StopIteration");
    throw;
  }
  if (yielded) return value;
  if (returned) *returned = value;
  frame.position = -1;
  return nullptr;
}

// The frame waits in a `yield from`: what is thrown belongs to the generator below. Gives what that one
// yields; nullptr: the frame goes on, behind the `yield from` (signal.exception is nullptr) or with the
// signal.
static Value* throw_below(Tracer& t, VirtualFrame& frame, RaiseSignal& signal) {
  Value* below = generator_of(frame.stack.back());
  if (!below) {  // other iterators made here have no throw()
    if (!t.look(frame.stack.back())->is(ValueKind::Iterator))
      stop("generator", "an exception is thrown into a generator that yields from an object");
    return nullptr;
  }
  const bool closes = is_a(signal, PyExc_GeneratorExit);
  Value* returned = nullptr;
  try {
    const Running running(frame);
    Value* item = throw_into(t, below, signal.exception, &returned);
    if (item && closes) t.raise(PyExc_RuntimeError, "generator ignored GeneratorExit", true);
    if (item) return item;
    if (closes) return nullptr;
  } catch (const RaiseSignal& inner) {
    if (!closes || !is_a(inner, PyExc_GeneratorExit)) signal = inner;
    return nullptr;
  }
  frame.stack.back() = returned ? returned : t.none();
  const auto send = static_cast<size_t>(frame.position) - 2;
  frame.position = frame.bytecode->index_of(frame.bytecode->instructions()[send].target);
  signal.exception = nullptr;
  return nullptr;
}

// Raises in the generator, at the yield where it waits. nullptr: it has finished; `returned` (may be null)
// receives what its return gave.
Value* throw_into(Tracer& t, Value* v, Value* exception, Value** returned) {
  VirtualFrame& frame = *v->generator();
  RaiseSignal signal;
  signal.exception = exception;
  signal.text = exception->cls->tp_name;
  if (frame.running) t.raise(PyExc_ValueError, "generator already executing", true);
  if (frame.position <= 0) {  // not begun, or finished: nothing in it can catch
    frame.position = -1;
    throw signal;
  }
  if (delegates(frame))
    if (Value* item = throw_below(t, frame, signal)) return item;
  if (Value* handled = signal.exception ? handled_now(frame) : nullptr)
    chain_context(signal.exception, resolve(handled));
  const Instruction& yield = frame.bytecode->instructions()[static_cast<size_t>(frame.position) - 1];
  if (signal.exception && !dispatch_raise(t, frame, yield, signal)) {
    frame.position = -1;
    throw signal;
  }
  bool yielded = false;
  Value* value = nullptr;
  try {
    const Running running(frame);
    value = execute(t, frame, &yielded);
  } catch (const RaiseSignal& inner) {
    frame.position = -1;
    if (is_a(inner, *kStopIteration)) raise_from(t, inner.exception, "generator raised StopIteration");
    throw;
  }
  if (yielded) return value;
  if (returned) *returned = value;
  frame.position = -1;
  return nullptr;
}

Value* generator_of(Value* v) {
  v = resolve(v);
  if (v->is(ValueKind::Iterator) && v->iterator().kind == IteratorKind::Generator)
    v = resolve(v->iterator().children[0]);
  return v->is(ValueKind::Generator) ? v : nullptr;
}

// The trace ends before a generator that would be closed when it dies has begun: when that is, is CPython's
// to say.
void check_generators(Tracer& t) {
  const VirtualFrame* first = nullptr;
  for (const Value* v : t.frames.generators)
    if ((!first || v->generator()->began < first->began) && closes_when_let_go(t, *v->generator()))
      first = v->generator().get();
  if (!first) return;
  t.frames.ends_by = first->began;
  stop("generator",
       text_of(first->code->co_qualname) + " waits inside a try or with where the graph would end");
}

void raise_stop_iteration(Tracer& t, Value* returned) {
  RaiseSignal signal;
  Arguments with;
  if (returned && !is_none(t, returned)) with.positional = {returned};
  signal.exception =
      t.look(construct(t, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), std::move(with)));
  signal.text = "StopIteration";
  set_context(t, signal.exception);
  throw signal;
}

Value* generator_method(Tracer& t, Value* v, const std::string& name, const Arguments& a) {
  if (name == "__next__" && a.positional.empty()) {
    Value* returned = nullptr;
    Value* item = resume(t, v, t.none(), &returned);
    if (!item) raise_stop_iteration(t, returned);
    return item;
  }
  if (name == "send" && a.positional.size() == 1) {
    if (v->generator()->position == 0 && !is_none(t, a.positional[0]))
      t.raise(PyExc_TypeError, "can't send non-None value to a just-started generator", true);
    Value* returned = nullptr;
    Value* item = resume(t, v, a.positional[0], &returned);
    if (!item) raise_stop_iteration(t, returned);
    return item;
  }
  if (name == "throw" && !a.positional.empty()) {
    Value* exception = t.look(a.positional[0]);
    if (a.positional.size() > 1 && t.look(a.positional[1])->is(ValueKind::Object))
      exception = a.positional[1];
    if (PyObject* type = const_object(t, exception); type && PyType_Check(type)) {
      Arguments with;
      if (a.positional.size() > 1 && !is_none(t, a.positional[1])) with.positional = {a.positional[1]};
      exception = construct(t, reinterpret_cast<PyTypeObject*>(type), std::move(with));
    }
    exception = t.look(exception);
    if (!exception->is(ValueKind::Object) || exception->obj || !exception->cls)
      stop("generator", with_article(describe(t, exception)) + " is thrown into a generator",
           "Keep generators that exceptions are thrown into outside of the compiled function.");
    Value* returned = nullptr;
    Value* item = throw_into(t, v, exception, &returned);
    if (!item) raise_stop_iteration(t, returned);
    return item;
  }
  if (name == "close" && a.positional.empty()) {
    if (v->generator()->position <= 0) {
      v->generator()->position = -1;
      return t.none();
    }
    try {
      Value* exit = t.look(construct(t, reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {}));
      if (throw_into(t, v, exit)) t.raise(PyExc_RuntimeError, "generator ignored GeneratorExit", true);
    } catch (const RaiseSignal& signal) {
      if (!is_a(signal, PyExc_GeneratorExit) && !is_a(signal, *kStopIteration)) throw;
    }
    return t.none();
  }
  return nullptr;
}

}  // namespace vitrine::capture
