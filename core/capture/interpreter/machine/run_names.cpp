// Handlers: the stack, local names, cells, globals, attributes, operators.
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/machine/bound_slots.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/speculated_branches.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/arrays.h"

namespace vitrine::capture {

Flow runNop(Tracer&, VirtualFrame&, const Instruction&) {
  return Flow::Next;
}

Flow runMakeCell(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* cell = t.make(ValueKind::Cell);
  cell->items() = {f.locals[static_cast<size_t>(in.arg)]};
  f.locals[static_cast<size_t>(in.arg)] = cell;
  return Flow::Next;
}

Flow runCopyFreeVars(Tracer&, VirtualFrame& f, const Instruction& in) {
  if (f.closure.size() != static_cast<size_t>(in.arg))
    stop("unsupported_instruction", "the closure of the frame is not set up yet");
  const size_t first = f.locals.size() - f.closure.size();
  for (size_t i = 0; i < f.closure.size(); ++i) f.locals[first + i] = f.closure[i];
  return Flow::Next;
}

Flow runPopTop(Tracer& t, VirtualFrame& f, const Instruction&) {
  let_go(t, f, pop(f));
  return Flow::Next;
}

Flow runPushNull(Tracer&, VirtualFrame& f, const Instruction&) {
  push(f, nullptr);
  return Flow::Next;
}

Flow runCopy(Tracer&, VirtualFrame& f, const Instruction& in) {
  push(f, peek(f, in.arg));
  return Flow::Next;
}

Flow runSwap(Tracer&, VirtualFrame& f, const Instruction& in) {
  std::swap(peek(f, 1), peek(f, in.arg));
  return Flow::Next;
}

Flow runLoadConst(Tracer& t, VirtualFrame& f, const Instruction& in) {
  PyObject* o = f.bytecode->constant(in.arg);
  Py_INCREF(o);
  push(f, t.fold(o));
  return Flow::Next;
}

static void load_fast(Tracer& t, VirtualFrame& f, int slot) {
  guard_bound(t, f, slot);
  Value* v = f.locals[static_cast<size_t>(slot)];
  if (!v)
    t.raise(PyExc_UnboundLocalError,
            "local variable '" + text_of(f.bytecode->local_name(slot)) + "' has no value");
  push(f, v);
}

static void store_fast(Tracer& t, VirtualFrame& f, int slot) {
  let_go(t, f, f.locals[static_cast<size_t>(slot)]);
  f.locals[static_cast<size_t>(slot)] = pop(f);
}

Flow runLoadFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  load_fast(t, f, in.arg);
  return Flow::Next;
}

Flow runLoadFastLoadFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  load_fast(t, f, in.arg);
  load_fast(t, f, in.aux);
  return Flow::Next;
}

Flow runStoreFastLoadFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  store_fast(t, f, in.arg);
  load_fast(t, f, in.aux);
  return Flow::Next;
}

Flow runStoreFastStoreFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  store_fast(t, f, in.arg);
  store_fast(t, f, in.aux);
  return Flow::Next;
}

Flow runLoadFastAndClear(Tracer& t, VirtualFrame& f, const Instruction& in) {
  guard_bound(t, f, in.arg);
  push(f, f.locals[static_cast<size_t>(in.arg)]);
  f.locals[static_cast<size_t>(in.arg)] = nullptr;
  return Flow::Next;
}

Flow runStoreFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  store_fast(t, f, in.arg);
  return Flow::Next;
}

Flow runDeleteFast(Tracer& t, VirtualFrame& f, const Instruction& in) {
  guard_bound(t, f, in.arg);
  if (!f.locals[static_cast<size_t>(in.arg)])
    t.raise(PyExc_UnboundLocalError,
            "local variable '" + text_of(f.bytecode->local_name(in.arg)) + "' has no value");
  let_go(t, f, f.locals[static_cast<size_t>(in.arg)]);
  f.locals[static_cast<size_t>(in.arg)] = nullptr;
  return Flow::Next;
}

Flow runLoadClosure(Tracer&, VirtualFrame& f, const Instruction& in) {
  push(f, f.locals[static_cast<size_t>(in.arg)]);
  return Flow::Next;
}

Flow runLoadDeref(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* v = cell_get(t, f.locals[static_cast<size_t>(in.arg)]);
  if (!v)
    t.raise(PyExc_NameError, "free variable '" + text_of(f.bytecode->local_name(in.arg)) + "' has no value");
  push(f, v);
  return Flow::Next;
}

Flow runStoreDeref(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* value = pop(f);
  cell_set(t, f.locals[static_cast<size_t>(in.arg)], value);
  return Flow::Next;
}

Flow runDeleteDeref(Tracer& t, VirtualFrame& f, const Instruction& in) {
  cell_set(t, f.locals[static_cast<size_t>(in.arg)], nullptr);
  return Flow::Next;
}

Flow runLoadGlobal(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* v = load_global(t, f, name_of(f, in.arg));
  if (in.flag)
    push_callable(f, v);
  else
    push(f, v);
  return Flow::Next;
}

Flow runStoreGlobal(Tracer& t, VirtualFrame& f, const Instruction& in) {
  store_global(t, f, name_of(f, in.arg), pop(f));
  return Flow::Next;
}

Flow runLoadAttr(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* object = pop(f);
  push(f, load_attr(t, object, name_of(f, in.arg)));
  return Flow::Next;
}

// function, self for a method bound here; a callable and NULL otherwise.
static void push_method(Tracer& t, VirtualFrame& f, Value* v) {
  const bool bound = v->is(ValueKind::Method) && !v->source && v->items()[1];
  // One of NumPy's arrays has other methods where it is real: they go together.
  if (bound && array_kind(t, v->items()[1]) == ArrayKind::None) {
    push(f, v->items()[0]);
    push(f, v->items()[1]);
  } else {
    push_callable(f, v);
  }
}

Flow runLoadMethod(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* object = pop(f);
  push_method(t, f, load_attr(t, object, name_of(f, in.arg)));
  return Flow::Next;
}

Flow runLoadSuperAttr(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values operands = pop_many(f, 3);
  Arguments arguments;
  if (in.aux == 1) arguments.positional = {operands[1], operands[2]};
  Value* v = load_attr(t, call(t, operands[0], std::move(arguments)), name_of(f, in.arg));
  if (in.flag)
    push_method(t, f, v);
  else
    push(f, v);
  return Flow::Next;
}

Flow runStoreAttr(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* object = pop(f);
  Value* value = pop(f);
  set_attr(t, object, name_of(f, in.arg), value);
  return Flow::Next;
}

Flow runDeleteAttr(Tracer& t, VirtualFrame& f, const Instruction& in) {
  del_attr(t, pop(f), name_of(f, in.arg));
  return Flow::Next;
}

Flow runUnaryPositive(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, unary(t, "pos", pop(f)));
  return Flow::Next;
}
Flow runUnaryNegative(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, unary(t, "neg", pop(f)));
  return Flow::Next;
}
Flow runUnaryNot(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.boolean(!truth(t, pop(f))));
  return Flow::Next;
}
Flow runUnaryInvert(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, unary(t, "invert", pop(f)));
  return Flow::Next;
}

Flow runBinary(Tracer& t, VirtualFrame& f, const Instruction& in) {
  // By CPython's own operator number (BinaryOperator).
  static constexpr const char* kNames[] = {"add", "and_", "floordiv", "lshift", "matmul",  "mul", "mod",
                                           "or_", "pow",  "rshift",   "sub",    "truediv", "xor"};
  Value* b = pop(f);
  Value* a = pop(f);
  std::string name = kNames[static_cast<size_t>(binary_operator(in.arg))];
  if (binary_in_place(in.arg)) {
    name = "i" + name;
    if (name.back() == '_') name.pop_back();
  }
  push(f, binary(t, name, a, b));
  return Flow::Next;
}

// statically_known_true(a > b): the function that the result of a comparison goes to at once, nullptr: none.
Value* asked_by(const VirtualFrame& f) {
  const auto& all = f.bytecode->instructions();
  auto next = static_cast<size_t>(f.position) + 1;
  while (next < all.size() && all[next].op == Op::Nop) ++next;
  const bool called =
      next < all.size() && all[next].op == Op::Call && all[next].arg == 1 && all[next].aux < 0;
  const size_t depth = f.stack.size();
  if (!called || depth < 2) return nullptr;
  Value *lower = f.stack[depth - 2], *upper = f.stack[depth - 1];
  return lower && upper ? nullptr : callable_of(lower, upper);
}

Flow runCompare(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* b = pop(f);
  Value* a = pop(f);
  if (Value* function = asked_by(f)) {
    if (Value* answer = compared_without_guard(t, function, in.arg, a, b)) {
      push(f, answer);
      return Flow::Next;
    }
  }
  push(f, compare(t, in.arg, a, b));
  return Flow::Next;
}

Flow runToBool(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.boolean(asked_truth(t, f, pop(f))));
  return Flow::Next;
}

Flow runIs(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* b = pop(f);
  Value* a = pop(f);
  push(f, t.boolean(same(t, a, b) != in.flag));
  return Flow::Next;
}

Flow runContains(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* container = pop(f);
  Value* item = pop(f);
  push(f, t.boolean(contains(t, container, item) != in.flag));
  return Flow::Next;
}

Flow runSubscript(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* key = pop(f);
  Value* container = pop(f);
  push(f, get_item(t, container, key));
  return Flow::Next;
}

static Value* pop_slice(Tracer& t, VirtualFrame& f) {
  Values parts = pop_many(f, 2);
  parts.push_back(t.none());
  return t.sequence(ValueKind::Slice, std::move(parts));
}

Flow runLoadSlice(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* slice = pop_slice(t, f);
  Value* container = pop(f);
  push(f, get_item(t, container, slice));
  return Flow::Next;
}

Flow runStoreSlice(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* slice = pop_slice(t, f);
  Value* container = pop(f);
  Value* value = pop(f);
  set_item(t, container, slice, value);
  return Flow::Next;
}

Flow runStoreSubscript(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* key = pop(f);
  Value* container = pop(f);
  Value* value = pop(f);
  set_item(t, container, key, value);
  return Flow::Next;
}

Flow runDeleteSubscript(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* key = pop(f);
  Value* container = pop(f);
  del_item(t, container, key);
  return Flow::Next;
}

}  // namespace vitrine::capture
