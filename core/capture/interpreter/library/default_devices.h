// `with torch.device(...)` in the traced program.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool in_default_device(const Tracer& t);  // `with torch.device(...)` began in the segment and has not ended
std::pair<Value*, Value*> enter_default_device(Tracer& t, Value* device);
Value* leave_default_device(Tracer& t, PyObject* function);
void give_default_device(Tracer& t, PyObject* function, Arguments& arguments);
void check_under_default_device(Tracer& t, PyObject* function);
std::vector<Effect> default_device_effects(Tracer& t, class RecipeMaker& make);

}  // namespace vitrine::capture
