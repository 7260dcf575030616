// f"{count} tokens" of a tensor's number.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// Why a segment ends where a tensor's text is looked at.
constexpr const char* kTensorInText = "a tensor is turned into text: its values are read";

// nullptr: the value is read at once, or refused.
Value* symbolic_text(Tracer& t, Value* v, Value* spec);
Value* joined_text(Tracer& t, const Values& parts);

}  // namespace vitrine::capture
