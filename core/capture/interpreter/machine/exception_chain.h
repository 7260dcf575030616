// __cause__, __context__ and __suppress_context__ of exceptions that the program makes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* handled_now(const VirtualFrame& frame);
void set_context(Tracer& t, Value* raised);
void chain_context(Value* raised, Value* handled);  // nullptr: nothing that is known
void set_cause(Tracer& t, Value* raised, Value* cause);
Value* chain_attr(Tracer& t, Value* v, const std::string& name);
bool set_chain_attr(Tracer& t, Value* v, const std::string& name, Value* value);

}  // namespace vitrine::capture
