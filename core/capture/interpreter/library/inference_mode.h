// Grad mode and inference mode of the traced program.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool grad_mode(const Tracer& t);
bool inference_mode(const Tracer& t);
Value* is_inference(Tracer& t, Value* tensor);
void mark_view_of_normal(Tracer& t, Value* v);
void check_view_of_normal(Tracer& t, const Value* v);
Recipe inference_result(Tracer& t, Value* v, Recipe graph_result, class RecipeMaker& make);
std::vector<Effect> grad_mode_effects(Tracer& t, class RecipeMaker& make);
void change_grad_mode(Tracer& t, bool on);

}  // namespace vitrine::capture
