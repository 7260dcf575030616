// What PyTorch's own controls leave on a function: torch.compiler.disable, torch._dynamo.disable and skip,
// torch._disable_dynamo. A function is known by the attributes that PyTorch sets and by the module that made
// it, not by a name: both are the same in every version.
#pragma once

#include <cstdint>

struct _object;

namespace vitrine::capture {

enum class Mark : uint8_t {
  None,        // or one that PyTorch has put on its own library for its compiler
  Alone,       // this function is not captured; what it calls is
  OneInner,    // a wrapper: neither it nor what it calls itself is captured; what that calls is
  Throughout,  // a wrapper: nothing that runs inside is captured
};

// Of a Python function.
Mark mark_of(_object* function);

// The callable behind a wrapper that PyTorch made around a function, borrowed; nullptr: it is none.
_object* behind_wrapper(_object* function);

// What torch._disable_dynamo wraps until its first call, borrowed; nullptr: it is no such wrapper.
_object* behind_early_disable(_object* function);

// The reason that the user gave, borrowed; nullptr: none.
_object* reason_of_mark(_object* function);

// Whether a call of it is a graph break by torch._dynamo.disallow_in_graph, as torch._dynamo.graph_break is.
bool is_disallowed(_object* callable);

// Whether a call of it is one node of the graph: torch.compiler.allow_in_graph,
// torch._dynamo.nonstrict_trace.
bool is_allowed_in_graph(_object* callable);

// Whether torch._dynamo.nonstrict_trace marks it.
bool is_nonstrict(_object* callable);

// Whether the running program is inside of a block of torch._dynamo.error_on_graph_break(True).
bool in_block_of_errors();

// Whether a Python function is marked torch.compiler.assume_constant_result.
bool has_constant_result(_object* function);

// Whether these are the globals of a module of PyTorch: torch.<part>, or of what is below it.
bool globals_of_torch(_object* globals, const char* part = "");

}  // namespace vitrine::capture
