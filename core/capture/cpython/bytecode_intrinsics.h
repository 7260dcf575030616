// What the decoders of CPython 3.12 and 3.13 share.
#pragma once

#include <internal/pycore_intrinsics.h>

#include "core/capture/cpython/bytecode_rows.h"

namespace vitrine::capture {

// The functions of CALL_INTRINSIC_1 by number; the others are Op::Unsupported.
inline constexpr OpcodeRow kIntrinsics[] = {
    {INTRINSIC_IMPORT_STAR, Op::Name},          {INTRINSIC_STOPITERATION_ERROR, Op::StopIterationError},
    {INTRINSIC_ASYNC_GEN_WRAP, Op::Generator},  {INTRINSIC_UNARY_POSITIVE, Op::UnaryPositive},
    {INTRINSIC_LIST_TO_TUPLE, Op::ListToTuple},
};

inline constexpr OpcodeTable kIntrinsicTable = by_opcode(kIntrinsics);

inline Instruction read_intrinsic(CodeUnit unit) {
  unit.opcode = static_cast<uint8_t>(unit.arg);
  return read_plain(kIntrinsicTable, unit);
}

// Both loops and delegation land behind an instruction that is always there.
inline bool lands_behind(const uint8_t* code, int size, const Instruction& in, uint8_t opcode) {
  return in.target - 2 >= 0 && in.target <= size && code[in.target - 2] == opcode;
}

}  // namespace vitrine::capture
