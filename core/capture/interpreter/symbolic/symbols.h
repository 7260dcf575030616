// Ints that may be others in the next call.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* symbolic(Tracer& t, Value* v);  // v as such an int, looked at no further; nullptr: it is none
Value* peek(Tracer& t, Value* v);      // look(), but such an int stays open
bool dynamic(const Tracer& t);         // whether there are any
Value* symbol_value(Tracer& t, const ir::Sym& sym);
Value* symbolic_binary(Tracer& t, const std::string& op, Value* a, Value* b);  // nullptr: not as a symbol
Value* symbolic_compare(Tracer& t, int op, Value* a, Value* b);                // the same
PyObject* symbol_object(Tracer& t, Value* v);                                  // new reference
PyObject* hints_of(Tracer& t, Value* v);                                       // new reference
void settle(Tracer& t, Value* v);                                              // fixes every such int in it
void fix_all_sizes(Tracer& t);
// The int that is the answer to a question of that text, noted just now; node: of whose result it is a size,
// or -1. In a trace with sizes that depend on data it may be any from `least` on, else it is neither 0 nor 1.
Value* symbol_of_question(Tracer& t, const std::string& text, int64_t answer, int64_t least,
                          int32_t node = -1);
// What the call gives now. may_change: for other sizes it may give something else, so these ask again.
Value* fact(Tracer& t, PyObject* callable, PyObject* args, bool may_change = true);
std::string asked_at(Tracer& t);
// What statically_known_true and statically_known_false are given of a comparison: they add no guard.
// nullptr: it is another function, or no comparison of sizes that may change.
Value* compared_without_guard(Tracer& t, Value* function, int op, Value* a, Value* b);
// What they say of a comparison that was made before, when its guard was not there yet. nullptr: the same.
Value* known_before_its_guard(Tracer& t, PyObject* function, const Arguments& a);
void open_sizes(Tracer& t, Value* v, PyObject* real, ir::NodeKind kind);
Value* dimension(Tracer& t, Value* tensor, int64_t d);
Value* size_question(Tracer& t, Value* tensor, const std::string& name, const Arguments& a);
void forget_sizes(Tracer& t, const std::string& call);

}  // namespace vitrine::capture
