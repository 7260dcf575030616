// What inputs and objects share.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void guard_aliases(Tracer& t);
void guard_storages(Tracer& t);
void check_storages(Tracer& t);
void note_memory(Tracer& t, Value* input);
void check_storage_of(Tracer& t, const Value* v);

}  // namespace vitrine::capture
