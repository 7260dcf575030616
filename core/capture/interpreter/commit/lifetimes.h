// What a program notices of when an object dies.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void let_go(Tracer& t, VirtualFrame& frame, Value* v);  // a local or stack entry holds it no more
void check_taken(Tracer& t, const Values& items);
void note_change(Tracer& t, Value* v);  // before something existing changes
void check_overwritten(Tracer& t, Value* v,
                       const std::string& name);  // before an attribute is set or deleted
// of a global
void check_replaced(Tracer& t, PyObject* before, const Source* source, const std::string& name);
void check_let_go(Tracer& t, Value* v);  // at the end, of a container that has changed
void check_alone(Tracer& t);
bool held_elsewhere(Tracer& t, const Source* source);
Value* weak_target(Tracer& t, Value* reference);

}  // namespace vitrine::capture
