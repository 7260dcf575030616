// Grad mode and inference mode of the traced program. The recording keeps a grad mode of its own. Inference
// mode is recorded as one without gradients: what the program makes in it are ordinary tensors of the graph,
// and become inference tensors where they leave the segment.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

constexpr const char* kContext = "_inference_mode_context";

Value* enter(Tracer& t, const Arguments& a) {
  Value* self = need(t, a, 0);
  t.set_attr(self, kContext, t.begin_inference(t.truth(t.load_attr(self, "mode"))));
  return t.none();
}

Value* leave(Tracer& t, const Arguments& a) {
  t.end_inference(t.look(t.load_attr(need(t, a, 0), kContext)));
  return t.none();
}

constexpr BuiltinRow kRows[] = {
    {"torch.inference_mode.__enter__", enter},
    {"torch.inference_mode.__exit__", leave},
    {"torch.autograd.grad_mode._enter_inference_mode",
     [](Tracer& t, const Arguments& a) { return t.begin_inference(t.truth(need(t, a, 0, "mode"))); }},
    {"torch.autograd.grad_mode._exit_inference_mode",
     [](Tracer& t, const Arguments& a) {
       t.end_inference(t.look(need(t, a, 0, "mode")));
       return t.none();
     }},
    {"torch.is_inference_mode_enabled",
     [](Tracer& t, const Arguments&) { return t.boolean(t.inference_mode()); }},
};

}  // namespace

std::span<const BuiltinRow> mode_builtins() {
  return kRows;
}

bool Tracer::grad_mode() const {
  return grad_now_;
}
bool Tracer::inference_mode() const {
  return inference_now_;
}

// In inference mode nothing is differentiated, whatever grad mode says.
void Tracer::change_grad_mode(bool on) {
  record_grad_mode(on && (inference_at_start_ || !inference_now_));
  grad_now_ = on;
}

// A captured node changes it.
void Tracer::record_grad_mode(bool on) {
  PyObject* function = find_object("torch._C._set_grad_enabled");
  Owned arguments(PyTuple_Pack(1, on ? Py_True : Py_False));
  auto outcome = lowering_->call("torch._C._set_grad_enabled", function, arguments.get(), nullptr, origin());
  Py_XDECREF(outcome.value);
  if (outcome.raised) raise_python();
  if (outcome.unsupported) stop("context_manager", outcome.unsupported->reason, outcome.unsupported->hint);
}

Value* Tracer::begin_inference(bool on) {
  // In a mode that PyTorch is in, another is nothing but gradients off.
  if (inference_at_start_ && !on) stop("context_manager", "inference mode ends in another that began before");
  Value* context = make(Kind::Object);
  context->cls = torch_names().inference_context;
  context->items = {boolean(on)};
  open_inference_.push_back({context, on, grad_now_, inference_now_});
  inference_now_ = on;
  if (!inference_at_start_) lowering_->set_inference_mode(on);
  change_grad_mode(!on);
  return context;
}

void Tracer::end_inference(Value* context) {
  if (open_inference_.empty() || open_inference_.back().context != context)
    stop("context_manager", "an inference mode ends that began before");
  const OpenInference before = open_inference_.back();
  open_inference_.pop_back();
  inference_now_ = before.inference_before;
  if (!inference_at_start_) lowering_->set_inference_mode(inference_now_);
  change_grad_mode(before.grad_before);
}

Value* Tracer::is_inference(Value* v) {
  v = look(v);
  if (v->kind != Kind::Tensor) stop("unsupported_value", "is_inference of a " + describe(v));
  if (v->real) return fold(PyObject_CallMethod(v->real, "is_inference", nullptr));
  if (inference_at_start_) stop("unsupported_operator", "is_inference of a tensor made here");
  return boolean(lowering_->is_inference(v->obj));
}

// A view of a normal tensor stays one, and PyTorch remembers where it was made.
void Tracer::mark_view_of_normal(Value* v) {
  v->inference_view = inference_now_ && !inference_at_start_ && !lowering_->is_inference(v->obj);
}

void Tracer::check_view_of_normal(const Value* v) {
  if (v->inference_view && !inference_now_)
    stop("unsupported_operator", "a view that was made in inference mode is used outside it");
}

Recipe Tracer::inference_result(Value* v, Recipe r, RecipeMaker& make) {
  if (v->inference_view)
    stop("unsupported_value", "a view that was made in inference mode leaves the segment");
  if (inference_at_start_ || !lowering_->is_inference(v->obj)) return r;
  Recipe converted = make.call(find_object("vitrine._polyfills.library.as_inference"), {});
  converted.children.push_back(std::move(r));
  return make.shared(v, std::move(converted));
}

// From the modes at the start to those at the end. What is entered remembers the modes it was entered in.
std::vector<Effect> Tracer::grad_mode_effects(RecipeMaker& make) {
  std::vector<Effect> out;
  bool now = grad_at_start_;
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
  for (const OpenInference& open : open_inference_) {
    set(open.grad_before);
    add(make.call(find_object("vitrine._polyfills.library.enter"), {}));
    out.back().value.children.push_back(make.make(open.context));
    now = !open.on;
  }
  set(grad_now_);
  return out;
}

}  // namespace vitrine::capture
