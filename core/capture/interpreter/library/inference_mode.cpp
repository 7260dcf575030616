// Grad mode and inference mode of the traced program. The recording keeps a grad mode of its own. Inference
// mode is recorded as one without gradients: what the program makes in it are ordinary tensors of the graph,
// and become inference tensors where they leave the segment.
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static void record_grad_mode(Tracer& t, bool on);
static Value* begin_inference(Tracer& t, bool on);
static void end_inference(Tracer& t, Value* context);

namespace {

constexpr const char* kContext = "_inference_mode_context";

Value* enter(Tracer& t, const Arguments& a) {
  Value* self = need(t, a, 0);
  set_attr(t, self, kContext, begin_inference(t, truth(t, load_attr(t, self, "mode"))));
  return t.none();
}

Value* leave(Tracer& t, const Arguments& a) {
  end_inference(t, t.look(load_attr(t, need(t, a, 0), kContext)));
  return t.none();
}

constexpr BuiltinRow kRows[] = {
    {"torch.inference_mode.__enter__", enter},
    {"torch.inference_mode.__exit__", leave},
    {"torch.autograd.grad_mode._enter_inference_mode",
     [](Tracer& t, const Arguments& a) { return begin_inference(t, truth(t, need(t, a, 0, "mode"))); }},
    {"torch.autograd.grad_mode._exit_inference_mode",
     [](Tracer& t, const Arguments& a) {
       end_inference(t, t.look(need(t, a, 0, "mode")));
       return t.none();
     }},
    {"torch.is_inference_mode_enabled",
     [](Tracer& t, const Arguments&) { return t.boolean(inference_mode(t)); }},
};

}  // namespace

std::span<const BuiltinRow> mode_builtins() {
  return kRows;
}

bool grad_mode(const Tracer& t) {
  return t.modes.grad_now;
}
bool inference_mode(const Tracer& t) {
  return t.modes.inference_now;
}

// In inference mode nothing is differentiated, whatever grad mode says.
void change_grad_mode(Tracer& t, bool on) {
  record_grad_mode(t, on && (t.modes.inference_at_start || !t.modes.inference_now));
  t.modes.grad_now = on;
}

// A captured node changes it.
void record_grad_mode(Tracer& t, bool on) {
  PyObject* function = find_object("torch._C._set_grad_enabled");
  PyRef arguments(PyTuple_Pack(1, on ? Py_True : Py_False));
  auto outcome =
      t.lowering().call("torch._C._set_grad_enabled", function, arguments.get(), nullptr, t.origin());
  Py_XDECREF(outcome.value);
  if (outcome.raised) t.raise_python();
  if (outcome.unsupported) stop("context_manager", outcome.unsupported->reason, outcome.unsupported->hint);
}

// What must be given back to end it
Value* begin_inference(Tracer& t, bool on) {
  // In a mode that PyTorch is in, another is nothing but gradients off.
  if (t.modes.inference_at_start && !on)
    stop("context_manager", "inference mode ends in another that began before");
  Value* context = t.make(ValueKind::Object);
  context->cls = torch_names().inference_context;
  context->items() = {t.boolean(on)};
  t.modes.open_inference.push_back({context, on, t.modes.grad_now, t.modes.inference_now});
  t.modes.inference_now = on;
  if (!t.modes.inference_at_start) t.lowering().set_inference_mode(on);
  change_grad_mode(t, !on);
  return context;
}

void end_inference(Tracer& t, Value* context) {
  if (t.modes.open_inference.empty() || t.modes.open_inference.back().context != context)
    stop("context_manager", "an inference mode ends that began before");
  const ModeState::OpenInference before = t.modes.open_inference.back();
  t.modes.open_inference.pop_back();
  t.modes.inference_now = before.inference_before;
  if (!t.modes.inference_at_start) t.lowering().set_inference_mode(t.modes.inference_now);
  change_grad_mode(t, before.grad_before);
}

Value* is_inference(Tracer& t, Value* v) {
  v = t.look(v);
  if (!v->is(ValueKind::Tensor)) stop("unsupported_value", "is_inference of a " + describe(t, v));
  if (real_of(v)) return t.fold(PyObject_CallMethod(real_of(v), "is_inference", nullptr));
  if (t.modes.inference_at_start) stop("unsupported_operator", "is_inference of a tensor made here");
  return t.boolean(t.lowering().is_inference(v->obj));
}

// A view of a normal tensor stays one, and PyTorch remembers where it was made.
void mark_view_of_normal(Tracer& t, Value* v) {
  v->as<TensorValue>().inference_view =
      t.modes.inference_now && !t.modes.inference_at_start && !t.lowering().is_inference(v->obj);
}

void check_view_of_normal(Tracer& t, const Value* v) {
  if (v->as<TensorValue>().inference_view && !t.modes.inference_now)
    stop("unsupported_operator", "a view that was made in inference mode is used outside it");
}

Recipe inference_result(Tracer& t, Value* v, Recipe r, RecipeMaker& make) {
  if (v->as<TensorValue>().inference_view)
    stop("unsupported_value", "a view that was made in inference mode leaves the segment");
  if (t.modes.inference_at_start || !t.lowering().is_inference(v->obj)) return r;
  Recipe converted = make.call(find_object("vitrine._polyfills.library.as_inference"), {});
  converted.children.push_back(std::move(r));
  return make.shared(v, std::move(converted));
}

// From the modes at the start to those at the end. What is entered remembers the modes it was entered in.
std::vector<Effect> grad_mode_effects(Tracer& t, RecipeMaker& make) {
  std::vector<Effect> out;
  bool now = t.modes.grad_at_start;
  const auto add = [&](Recipe call) {
    out.emplace_back();
    out.back().kind = Effect::Kind::Call;
    out.back().value = std::move(call);
  };
  const auto set = [&](bool on) {
    if (now == on) return;
    add(make.call(find_object("torch._C._set_grad_enabled"), {}));
    out.back().value.children.push_back(make.constant(on ? Py_True : Py_False));
    now = on;
  };
  for (const ModeState::OpenInference& open : t.modes.open_inference) {
    set(open.grad_before);
    add(make.call(find_object("vitrine._polyfills.library.enter"), {}));
    out.back().value.children.push_back(make.make(open.context));
    now = !open.on;
  }
  set(t.modes.grad_now);
  return out;
}

}  // namespace vitrine::capture
