// The handlers of the concrete interpreter, by file. machine.cpp has the table that assigns them.
#pragma once

#include "core/capture/concrete/machine.h"
#include "core/capture/cpython/cpython.h"

namespace vitrine::capture::handlers {

using HandlerFunction = StepResult(Machine& m, const Instruction& in);

// variables.cpp
HandlerFunction make_cell, copy_free_vars, load_const, load_fast, load_fast_and_clear, store_fast,
    load_fast_load_fast, store_fast_load_fast, store_fast_store_fast, delete_fast, load_closure, load_deref,
    store_deref, delete_deref, load_global, store_global, delete_global, pop_top, push_null, copy, swap;

// operators.cpp
HandlerFunction unary_positive, unary_negative, unary_not, unary_invert, to_bool, binary, compare, is,
    contains, subscript, load_slice, store_slice, store_subscript, delete_subscript, load_attr, load_method,
    load_super_attr, store_attr, delete_attr, get_len, match_mapping, match_sequence;

// build.cpp
HandlerFunction build_tuple, build_list, build_set, build_map, build_const_key_map, build_string, build_slice,
    list_append, set_add, map_add, list_extend, set_update, dict_update, dict_merge, list_to_tuple,
    format_value, convert_value;

// flow.cpp
HandlerFunction nop, resume, jump, pop_jump_if_false, pop_jump_if_true, pop_jump_if_none,
    pop_jump_if_not_none, jump_if_false_or_pop, jump_if_true_or_pop, get_iter, for_iter, unpack_sequence,
    unpack_ex, return_value, return_const, before_with;

// call.cpp
HandlerFunction call, call_kw, call_ex, make_function, set_function_attribute, load_build_class,
    load_assertion_error, import_name, import_from;

}  // namespace vitrine::capture::handlers
