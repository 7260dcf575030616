// The rows of the types, each defined at the end of its type's file. type_table.cpp says which values they
// are for.
#pragma once

#include "core/capture/interpreter/type_ops.h"

namespace vitrine::capture {

// --- numbers/
extern const TypeOps symbol_type, float_type, text_type;  // numbers.cpp
// --- tensors/
extern const TypeOps tensor_type;  // tensor.cpp

// --- containers/
extern const TypeOps list_type;
extern const TypeOps deque_type;
extern const TypeOps tuple_type;
extern const TypeOps dict_type, mapping_proxy_type;  // dict.cpp
extern const TypeOps dict_view_type;                 // dict_views.cpp
extern const TypeOps set_type;
extern const TypeOps slice_type;
extern const TypeOps str_type, range_type, frozen_set_type;  // constant_containers.cpp

// --- iterators/
extern const TypeOps sequence_iterator_type, reversed_type, keys_iterator_type, values_iterator_type,
    entries_iterator_type, constant_iterator_type;  // over_containers.cpp
extern const TypeOps enumerate_type, zip_type, map_type, filter_type, callable_iterator_type;  // wrappers.cpp
extern const TypeOps chain_type, count_type, repeat_type, islice_type;  // itertools.cpp
extern const TypeOps generator_type, generator_iterator_type;           // generator.cpp

// --- objects/
extern const TypeOps constant_type;  // constants.cpp
extern const TypeOps class_type;
extern const TypeOps module_type;
extern const TypeOps function_type, real_function_type;         // function.cpp
extern const TypeOps native_method_type, native_function_type;  // native_functions.cpp
extern const TypeOps method_type;
extern const TypeOps cell_type;
extern const TypeOps super_type;
extern const TypeOps exception_type;
extern const TypeOps partial_type;
extern const TypeOps object_type, compiled_function_type, disabled_function_type, flex_attention_type,
    custom_op_type, script_function_type, getter_type, weak_reference_type, inference_context_type,
    removable_handle_type, random_type, match_type;  // known_objects.cpp

}  // namespace vitrine::capture
