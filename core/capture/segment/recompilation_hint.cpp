#include "core/capture/segment/recompilation_hint.h"

#include <Python.h>

#include <string_view>

namespace vitrine::capture {

namespace {

// By what was asked about a tensor or of PyTorch's state.
struct HintRow {
  std::string_view part;  // of the failure's source
  bool begins;            // with the part, or holds it anywhere
  const char* hint;
};
constexpr HintRow kRows[] = {
    {"torch.is_grad_enabled()", true, "Each grad mode is compiled by itself, once."},
    {"torch.is_inference_mode_enabled()", true, "Each grad mode is compiled by itself, once."},
    {"torch.is_autocast", true, "Call it in one autocast mode: each is compiled by itself."},
    {"torch.get_autocast", true, "Call it in one autocast mode: each is compiled by itself."},
    {"torch.", true, "Set it once, before the first call."},
    {"the default device", true, "Set it once, before the first call."},
    {".stride(", false,
     "Strides that have changed may be any from then on; each order of dimensions is compiled by itself: "
     "call contiguous() before, or keep one layout."},
    {".dim()", false,
     "Each number of dimensions is compiled by itself: add the missing ones before the call, with "
     "unsqueeze() or view()."},
    {".requires_grad", false, "Keep requires_grad of inputs and parameters as it was."},
    {".dtype", false, "Convert inputs to one dtype before the call."},
    {".device", false, "Move inputs to one device before the call: each is compiled by itself."},
    {" marks", false, "Mark the sizes of an input alike at each call, or before the first one."},
    {" dispatch keys", false,
     "A conjugated, negated or otherwise special tensor is compiled by itself: make it a plain one before "
     "the call, "
     "with resolve_conj(), resolve_neg() or clone()."},
    {".__dict__['training']", false,
     "train() and eval() are two programs: each is compiled by itself, once."},
    {"rest(", false,
     "A graph break inside a loop: what comes after it is compiled for the items that are left, none and one "
     "or more apart. Mend the break, and the loop is one graph."},
};

// What the first training step finds missing and the others do not.
struct FirstStep {
  const char *ending, *expected;  // of the failure's source; what the guard expected
  const char* hint;
};
constexpr FirstStep kFirstStep[] = {
    {".grad", "None", "Nothing to mend: a gradient is None in the first step and there from the second on."},
    {"['state']", "absent",
     "Nothing to mend: the first step makes the optimizer's state, which is there from then on."},
};

// By the guard's kind, where its source says nothing more.
struct OfKind {
  GuardKind kind;
  const char* hint;
};
constexpr OfKind kOfKind[] = {
    {GuardKind::TensorMatch, "Each class of tensor is compiled by itself: pass one class at each call."},
    {GuardKind::Identity,
     "Each object is compiled by itself: make it once, before the first call, and pass the same one each "
     "time."},
    {GuardKind::WeakIdentity,
     "Each object is compiled by itself: make it once, before the first call, and pass the same one each "
     "time."},
    {GuardKind::TypeIs, "Each class is compiled by itself: pass one class at each call."},
    {GuardKind::Length, "Each length is compiled by itself: keep it, or stack the tensors into one tensor."},
    {GuardKind::LengthAtLeast,
     "Each length is compiled by itself: keep it, or stack the tensors into one tensor."},
    {GuardKind::LengthBelow,
     "Each length is compiled by itself: keep it, or stack the tensors into one tensor."},
    {GuardKind::DictKeys,
     "Each set of keys, in its order, is compiled by itself: keep the same keys in one order."},
    {GuardKind::DictContains, "With and without that key are two programs: keep the same keys at each call."},
    {GuardKind::SetEquals, "Each set is compiled by itself: keep its elements."},
    {GuardKind::HasAttr, "With and without that attribute are two programs: set it before the first call."},
    {GuardKind::InstanceHas,
     "With and without that attribute are two programs: set it before the first call."},
    {GuardKind::NotInGlobals, "A global took the name of a builtin: define it before the first call."},
    {GuardKind::Bound, "Whether that variable holds a value makes two programs: assign it on every way."},
    {GuardKind::TypeVersion, "The class was changed: define and patch classes before the first call."},
    {GuardKind::AbcRegistry, "Register classes with abstract ones before the first call."},
    {GuardKind::FunctionCode,
     "Each function is compiled by itself: define it once, before the first call, and pass the same one each "
     "time."},
    {GuardKind::PlainLeaf,
     "Register hooks on tensors before the first call, and pass tensors that nothing computed."},
    {GuardKind::NoHooks, "Register a module's hooks before the first call."},
    {GuardKind::NoFinalizer,
     "Something is told when that object ends (a finalizer, a weak reference): keep such objects out of what "
     "the "
     "function replaces."},
    {GuardKind::IterPosition,
     "Each position is compiled by itself: pass a list, or a fresh iterator at each call."},
    {GuardKind::Apart,
     "Tensors that share memory are compiled by themselves, for one may be written through the other: pass a "
     "clone()."},
    {GuardKind::DifferentObject,
     "The same object twice, and two objects, are two programs: pass them the same way at each call."},
    {GuardKind::SameObject,
     "The same object twice, and two objects, are two programs: pass them the same way at each call."},
};

enum class Where { Argument, BehindBreak, Closure, Global, Default, Attribute, Unknown };

// Where the value that was asked for comes from, from its end on.
Where where_is(const RecompilationCause& cause) {
  const Source* source = cause.guard ? cause.guard->source : nullptr;
  if (!source) return Where::Unknown;
  const Source* root = source->root();
  const bool is_local = root->kind == SourceKind::Local;
  if (cause.is_behind_break &&
      (root->kind == SourceKind::Stack || (is_local && root->index >= cause.arguments)))
    return Where::BehindBreak;
  for (const Source* at = source; at; at = at->base) {
    switch (at->kind) {
      case SourceKind::Attr:
      case SourceKind::InstanceDict:
        return Where::Attribute;
      case SourceKind::Cell:
      case SourceKind::Closure:
        return Where::Closure;
      case SourceKind::Default:
      case SourceKind::KwDefault:
        return Where::Default;
      case SourceKind::Global:
      case SourceKind::GlobalOf:
        return Where::Global;
      default:
        break;
    }
  }
  return is_local ? Where::Argument : Where::Unknown;
}

std::string size_hint(const GuardFailure& failure, DynamicMode dynamic) {
  const auto is_special = [](const std::string& size) { return size == "0" || size == "1"; };
  if (dynamic == DynamicMode::Never)
    return "dynamic=False compiles each size by itself: leave it out, or pad to a few fixed sizes.";
  if (is_special(failure.expected) || is_special(failure.actual))
    return "Sizes 0 and 1 are compiled by themselves, for operators treat them in ways of their own.";
  return "A size that has changed is a symbol from then on, and other values of it need no compilation, "
         "unless mark_static fixes it; vitrine.mark_dynamic or dynamic=True spares this one too.";
}

bool is_number(PyObject* o) {
  return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o));
}

// What to do with a value of that place instead of changing it.
const char* kept(Where where) {
  switch (where) {
    case Where::Attribute:
      return "keep the attribute as it is, or make it a tensor (a buffer) that is changed in place.";
    case Where::Closure:
      return "keep the variable of the enclosing function as it is, or pass it as a tensor argument.";
    case Where::Global:
      return "keep the global as it is, or pass it as a tensor argument.";
    case Where::Default:
      return "keep the default as it is, or pass a tensor instead.";
    default:
      return "pass few different ones, or a tensor.";
  }
}

std::string number_hint(const RecompilationCause& cause, Where where) {
  if (cause.dynamic == DynamicMode::Never)
    return "dynamic=False compiles each number by itself: leave it out, or " + std::string(kept(where));
  if (cause.asked_before)
    return "A line needs the number itself, so that each is compiled by itself: " + std::string(kept(where));
  return "A number that has changed is a symbol from then on, where no line needs the number itself, and "
         "other "
         "values of it need no compilation.";
}

std::string value_hint(const RecompilationCause& cause, Where where) {
  PyObject* was = cause.guard->object;
  if (cause.failure.other_type) {
    if (was == Py_None || cause.failure.actual == "None")
      return "With None and without are two programs: each is compiled by itself, once.";
    return "Each type is compiled by itself: pass one at each call, as 2.0 instead of 2.";
  }
  if (was && PyBool_Check(was)) return "True and False are two programs: each is compiled by itself, once.";
  if (is_number(was)) return number_hint(cause, where);
  return where == Where::Argument || where == Where::Unknown
             ? "Each value is compiled by itself, for it decides what the program does: pass few different "
               "ones."
             : "Each value is compiled by itself, for it decides what the program does: " +
                   std::string(where == Where::Global ? "keep the global as it is."
                               : where == Where::Closure
                                   ? "keep the variable of the enclosing function as it is."
                               : where == Where::Default ? "keep the default as it is."
                                                         : "keep the attribute as it is.");
}

bool is_number_of_arguments(const RecompilationCause& cause) {
  return cause.guard && cause.guard->kind == GuardKind::Length && cause.guard->source &&
         cause.guard->source->kind == SourceKind::Local && cause.guard->source->index == cause.varargs;
}

}  // namespace

std::string recompilation_hint(const RecompilationCause& cause) {
  const GuardFailure& failure = cause.failure;
  if (!failure.hint.empty()) return failure.hint;
  if (failure.source.find(".size(") != std::string::npos) return size_hint(failure, cause.dynamic);
  for (const FirstStep& row : kFirstStep)
    if (failure.source.ends_with(row.ending) && failure.expected == row.expected) return row.hint;
  for (const HintRow& row : kRows)
    if (row.begins ? failure.source.starts_with(row.part)
                   : failure.source.find(row.part) != std::string::npos)
      return row.hint;
  const Where where = where_is(cause);
  if (where == Where::BehindBreak)
    return "The value comes out of the graph break before: mend the break, and it stays inside one graph, "
           "where nothing "
           "asks for it.";
  if (is_number_of_arguments(cause))
    return "Each number of arguments is compiled by itself: keep it, or stack the tensors into one tensor.";
  if (cause.guard &&
      (cause.guard->kind == GuardKind::ConstEquals || cause.guard->kind == GuardKind::Compares))
    return value_hint(cause, where);
  if (cause.guard)
    for (const OfKind& row : kOfKind)
      if (row.kind == cause.guard->kind) return row.hint;
  return "Each case is compiled by itself: keep it as it was at the first call.";
}

}  // namespace vitrine::capture
