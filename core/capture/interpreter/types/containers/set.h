// set.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

void set_insert(Tracer& t, Value* set, Value* item);
void set_insert_all(Tracer& t, Value* set, Value* more);  // set.update(more)
PyObject* real_set(Tracer& t, Value* set, PyObject* items);
void check_order_known(const Tracer& t);

}  // namespace vitrine::capture
