// Every kind of graph break: one row. kind is stored in the session and shown in tables; hint is the default
// advice.
#pragma once

#include <array>
#include <string_view>

namespace vitrine::capture {

struct BreakKind {
  std::string_view kind, title, hint;
};

inline constexpr std::string_view kUpdateBreak = "update";        // nothing runs for real here
inline constexpr std::string_view kExceptionBreak = "exception";  // eager raises

inline constexpr std::array<BreakKind, 19> kBreakKinds = {{
    {"side_effect", "builtin with side effect",
     "Move it out of the compiled function, or return the value and act on it outside."},
    {"warning", "call that warns",
     "Change the call as the warning says; until then it runs for real, and warns each time as in eager."},
    {"data_dependent_branch", "data-dependent branch",
     "Use torch.where, or clamp and mask, so that both ways are computed."},
    {"scalar_read", "scalar read from a tensor",
     "Keep the value as a 0-d tensor; .item(), int(), float() and bool() wait for the data."},
    {"data_dependent_shape", "data-dependent shape",
     "Use a mask of fixed size instead of nonzero, unique or boolean indexing."},
    {"foreign_call", "call into a foreign module",
     "Write it with torch functions, or keep it outside the compiled function."},
    {"unsupported_builtin", "builtin that is not traced",
     "Call it before the compiled function, and pass what it gives."},
    {"unsupported_operator", "operator that cannot be recorded",
     "Nothing is lost: the operator runs as in eager. Another one that computes the same may be recorded."},
    {"real_backward", "backward pass outside the graph",
     "Nothing is lost: it runs as in eager, and a compiled forward has a compiled backward. It joins the "
     "graph where all that it differentiates is computed in the same function, without a break between."},
    {kUpdateBreak, "gradients begin behind an update",
     "Nothing is lost: what updates tensors and what is differentiated behind it are compiled apart."},
    {"unsupported_instruction", "instruction that is not traced",
     "Nothing is lost: the instruction runs as in eager. Write it in another way to have one graph."},
    {"unsupported_value", "value that is not traced",
     "Keep it outside of the compiled function: tensors, numbers, text, lists, tuples and dicts are traced."},
    {"context_manager", "context manager that is not traced", "Enter it outside the compiled function."},
    {"generator", "generator",
     "Make the generator inside the compiled function and use it up there, or use a list comprehension."},
    {kExceptionBreak, "the code raises here",
     "The rest runs as in eager. Where an exception is expected, ask for its condition before the compiled "
     "function."},
    {"custom_setter", "object with its own __setattr__ or __setitem__",
     "Change it outside the compiled function."},
    {"disabled", "function that is not to be captured",
     "It was asked for. Take the mark away, or call it outside of the compiled function, to have one graph."},
    {"requested", "graph break that the program asks for",
     "It was asked for. Remove the call to have one graph, or leave out fullgraph where that is asked for, "
     "too."},
    {"limit", "limit reached",
     "Compile a smaller part: the body of the loop, or the function that is called in it."},
}};

}  // namespace vitrine::capture
