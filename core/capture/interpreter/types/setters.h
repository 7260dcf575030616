// Attribute writes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void set_attr(Tracer& t, Value* v, const std::string& name, Value* value);
void del_attr(Tracer& t, Value* v, const std::string& name);
void generic_del(Tracer& t, Value* v, const std::string& name);                // object.__delattr__
void generic_set(Tracer& t, Value* v, const std::string& name, Value* value);  // object.__setattr__
// past all methods; nullptr deletes
void write_attr(Tracer& t, Value* v, const std::string& name, Value* value);

}  // namespace vitrine::capture
