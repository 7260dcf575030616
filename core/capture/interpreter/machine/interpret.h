// The instruction loop of one frame, and how an exception finds its handler.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* execute(Tracer& t, VirtualFrame& frame, bool* yielded = nullptr);  // until it returns or yields
void enter_handler(Tracer& t, VirtualFrame& f);
void leave_handler(Tracer& t, VirtualFrame& f);
[[noreturn]] void raise_from(Tracer& t, Value* cause, const std::string& message);  // a RuntimeError
Value* load_global(Tracer& t, VirtualFrame& frame, const std::string& name);
void store_global(Tracer& t, VirtualFrame& frame, const std::string& name, Value* value);
void store_global(Tracer& t, PyObject* globals, const Source* owner, const std::string& name, Value* value);
Value* written_global(Tracer& t, PyObject* globals, const std::string& name);
bool dispatch_raise(Tracer& t, VirtualFrame& frame, const Instruction& instruction,
                    const RaiseSignal& signal);

}  // namespace vitrine::capture
