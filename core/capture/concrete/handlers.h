// The handlers of the concrete interpreter, by file. machine.cpp has the table that assigns them.
#pragma once

#include "core/capture/concrete/machine.h"
#include "core/capture/cpython.h"

namespace vitrine::capture {

#define VITRINE_HANDLERS(X)                                                                               \
  /* variables.cpp */                                                                                     \
  X(make_cell)                                                                                            \
  X(copy_free_vars)                                                                                       \
  X(load_const) X(load_fast) X(store_fast) X(delete_fast) X(load_closure) X(load_deref) X(store_deref)    \
      X(delete_deref) X(load_global) X(store_global) X(delete_global) X(pop_top) X(push_null) X(copy)     \
          X(swap) /* operators.cpp */                                                                     \
      X(unary_positive) X(unary_negative) X(unary_not) X(unary_invert) X(binary) X(compare) X(is)         \
          X(contains) X(subscript) X(store_subscript) X(delete_subscript) X(load_attr) X(load_method)     \
              X(store_attr) X(delete_attr) X(get_len) X(match_mapping) X(match_sequence) /* build.cpp */  \
      X(build_tuple) X(build_list) X(build_set) X(build_map) X(build_const_key_map) X(build_string)       \
          X(build_slice) X(list_append) X(set_add) X(map_add) X(list_extend) X(set_update) X(dict_update) \
              X(dict_merge) X(list_to_tuple) X(format_value) /* flow.cpp */                               \
      X(nop) X(resume) X(jump) X(pop_jump_if_false) X(pop_jump_if_true) X(pop_jump_if_none)               \
          X(pop_jump_if_not_none) X(jump_if_false_or_pop) X(jump_if_true_or_pop) X(get_iter) X(for_iter)  \
              X(unpack_sequence) X(unpack_ex) X(return_value) X(before_with) /* call.cpp */               \
      X(call) X(call_ex) X(make_function) X(load_build_class) X(load_assertion_error) X(import_name)      \
          X(import_from)

#define X(name) Step name(Machine& m, const Instruction& in);
namespace handlers {
VITRINE_HANDLERS(X)
}
#undef X

}  // namespace vitrine::capture
