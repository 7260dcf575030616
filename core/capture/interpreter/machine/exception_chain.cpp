// __cause__, __context__ and __suppress_context__ of exceptions that the program makes. What was handled when
// the segment began is not looked at: where it would be asked for, the segment ends.
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

bool is_exception(const Value* v) {
  return v->is(ValueKind::Object) && v->cls &&
         PyType_IsSubtype(v->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

ExceptionChain& chain_of(Value* exception) {
  auto& chain = exception->as<ObjectValue>().chain;
  if (!chain) chain = std::make_unique<ExceptionChain>();
  return *chain;
}

bool is_of_chain(const std::string& name) {
  return name == "__cause__" || name == "__context__" || name == "__suppress_context__";
}

}  // namespace

// What the innermost handler of this frame handles; nullptr: it is not in one.
Value* handled_now(const VirtualFrame& f) {
  for (size_t i = f.stack.size(); i-- > 0;)
    if (f.stack[i] && f.stack[i]->is(ValueKind::Super) && f.stack[i]->as<SuperValue>().owner)
      return f.stack[i]->as<SuperValue>().owner;
  return nullptr;
}

// As CPython does where an exception is set: what is handled becomes its context, unless it is that itself,
// and no chain leads back to it.
void set_context(Tracer& t, Value* raised) {
  Value* handled = nullptr;
  for (const VirtualFrame* f = t.frames.current; f && !handled; f = f->caller) handled = handled_now(*f);
  chain_context(raised, handled ? resolve(handled) : nullptr);
}

void chain_context(Value* raised, Value* handled) {
  ExceptionChain& chain = chain_of(raised);
  if (!handled) {
    chain.open = true;
    return;
  }
  if (handled == raised) return;
  constexpr int kLongest = 1000;  // a chain that the program itself has closed has no end
  Value* at = handled;
  for (int i = 0; at && chain_if_any(at) && chain_if_any(at)->context && i < kLongest; ++i) {
    Value* next = resolve(chain_if_any(at)->context);
    if (next == raised) {
      chain_if_any(at)->context = nullptr;
      break;
    }
    at = next;
  }
  chain.context = handled;
  chain.open = false;
}

void set_cause(Tracer& t, Value* raised, Value* cause) {
  cause = t.look(cause);
  if (PyObject* type = const_object(t, cause); type && PyType_Check(type))
    cause = t.look(construct(t, reinterpret_cast<PyTypeObject*>(type), {}));
  if (!is_none(t, cause) && !is_exception(cause))
    t.raise(PyExc_TypeError, "exception causes must derive from BaseException", true);
  ExceptionChain& chain = chain_of(raised);
  chain.cause = is_none(t, cause) ? nullptr : cause;
  chain.suppressed = true;
}

// nullptr: no exception made here, or another attribute.
Value* chain_attr(Tracer& t, Value* v, const std::string& name) {
  if (v->obj || !is_of_chain(name) || !is_exception(v)) return nullptr;
  const ExceptionChain& chain = chain_of(v);
  if (name == "__suppress_context__") return t.boolean(chain.suppressed);
  if (name == "__cause__") return chain.cause ? chain.cause : t.none();
  if (chain.open && !chain.context) stop("exception", "what was handled when an exception was raised");
  return chain.context ? chain.context : t.none();
}

bool set_chain_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  if (v->obj || !is_of_chain(name) || !is_exception(v)) return false;
  ExceptionChain& chain = chain_of(v);
  value = t.look(value);
  if (name == "__suppress_context__") {
    if (!value->is(ValueKind::Constant) || !PyBool_Check(value->obj))
      stop("custom_setter", "__suppress_context__ is set to " + describe(t, value));
    chain.suppressed = value->obj == Py_True;
    return true;
  }
  if (!is_none(t, value) && !is_exception(value))
    stop("custom_setter", name + " of an exception is set to " + describe(t, value));
  Value* other = is_none(t, value) ? nullptr : value;
  if (name == "__cause__") {
    chain.cause = other;
    chain.suppressed = true;
  } else {
    chain.context = other;
    chain.open = false;
  }
  return true;
}

}  // namespace vitrine::capture
