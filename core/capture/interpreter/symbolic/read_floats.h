// Floats that a run reads from tensors: loss.item(), float(norm), tolist() of floats.
#pragma once

#include <string>

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

constexpr int64_t kLongestList = 64;  // what tolist() may give as numbers of each run

// What a method of a tensor of floats that reads its value gives. nullptr: the program is to break there.
Value* read_float(Tracer& t, Value* tensor, const std::string& method);
// Whether a symbolic float comes of such a number.
bool is_read(const Tracer& t, const Value* number);
// Nothing but such numbers is in the graph, which eager reads as well: after how many instructions the first
// was read. -1: there is more, or none.
int64_t begin_of_reads_alone(const Tracer& t);

}  // namespace vitrine::capture
