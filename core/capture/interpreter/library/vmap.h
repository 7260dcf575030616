// torch.vmap.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* vmap(Tracer& t, const Arguments& arguments);  // of torch._functorch.vmap.vmap_impl
// Gives what it returned.
Value* run_once_without_effects(Tracer& t, Value* function, const Arguments& sample, const std::string& what);
Value* call_without_effects(Tracer& t, Value* function, const Arguments& sample, const std::string& what,
                            bool may_draw);
Value* function_in_parts(Tracer& t, Value* function);
bool lend(Tracer& t, Value* v);
void check_pure_read(Tracer& t, const Value* v);
void check_pure_global(Tracer& t, const std::string& key);

}  // namespace vitrine::capture
