// v[key], v[key] = x, del v[key], and f-strings.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* get_item(Tracer& t, Value* v, Value* key);
Value* get_held_item(Tracer& t, Value* v, Value* key);  // past a __getitem__ of its class
void set_item(Tracer& t, Value* v, Value* key, Value* value);
void del_item(Tracer& t, Value* v, Value* key);
Value* converted(Tracer& t, Value* v, int conversion);  // Op::Convert
Value* format(Tracer& t, Value* v, Value* spec, int conversion);
std::string str_of(Tracer& t, Value* v, bool repr);

}  // namespace vitrine::capture
