// Sizes and ints that depend on data: nonzero(), a mask as an index, item() and tolist() of integers. The
// program is recorded with ints that stand in for them, and what it concludes from these is checked by each
// run.
#pragma once

#include <string>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// What a method of a tensor that reads its value gives (item, __index__, ...): the number, where it is known
// at capture; of integers also ints that each run reads. nullptr: the program is to break there.
Value* read_number(Tracer& t, Value* tensor, const char* method);
// The call at hand has given sizes that stand for those of a run, up to this one.
void note_stand_ins(Tracer& t, int64_t last);
// The arguments of a call that splits or narrows by such ints: of parts that fit the tensor that is recorded,
// which PyTorch asks for.
void let_parts_fit(const std::string& call, _object* arguments);
// At the end of the trace: its graphs have symbols where they have such ints.
void show_stand_ins(const Tracer& t, Trace& trace);
// "", or why a trace with such ints is better captured without them.
std::string why_no_stand_ins(const Tracer& t, const Trace& trace);

}  // namespace vitrine::capture
