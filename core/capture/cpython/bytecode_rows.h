// What the tables of the versions share: how a row reads its argument, and how code units are read.
#pragma once

#include <opcode.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/capture/cpython/bytecode.h"

namespace vitrine::capture {

enum class OpcodeShape : uint8_t {
  Plain,     // arg as it stands
  Forward,   // arg: units from the next instruction
  Backward,  // arg: units back from the next instruction
  Flagged,   // arg is the flag
  Shifted,   // lowest bit is the flag, the rest the arg
  Formats,   // FORMAT_VALUE: 3 is the conversion, 4 the flag
  Compares,  // COMPARE_OP of 3.12: the operator stands above four bits for specialisation
  Truths,    // COMPARE_OP of 3.13: the operator stands above five bits, of which the highest is the flag
  Pairs,     // two slots of four bits, the first one (arg) above the second one (aux)
  Loops,     // FOR_ITER of 3.12: forward to the END_FOR, which the exhausted loop steps over
  LoopsFar,  // FOR_ITER of 3.13: it steps over a POP_TOP as well
  Sends,     // SEND of 3.12: forward to the END_SEND, which drops the receiver
  Supers,    // LOAD_SUPER_ATTR: 1 is the flag, 2 says that super() has its two arguments (aux)
};

struct OpcodeRow {
  uint8_t opcode;
  Op op;
  OpcodeShape shape = OpcodeShape::Plain;
};

// One opcode with its folded argument; caches behind it are stepped over.
struct CodeUnit {
  uint8_t opcode;
  int32_t arg, pc, at, next;
};

inline CodeUnit read_unit(const uint8_t* code, int size, int pc) {
  int at = pc;
  uint32_t arg = code[at + 1];
  while (code[at] == EXTENDED_ARG && at + 2 < size) {
    at += 2;
    arg = arg << 8 | code[at + 1];
  }
  int next = at + 2;
  while (next < size && code[next] == CACHE) next += 2;
  return {code[at], static_cast<int32_t>(arg), pc, at, next};
}

inline void apply_shape(Instruction& out, OpcodeShape shape) {
  switch (shape) {
    case OpcodeShape::Plain:
      break;
    case OpcodeShape::Forward:
      out.target = out.next_pc + 2 * out.arg;
      break;
    case OpcodeShape::Backward:
      out.target = out.next_pc - 2 * out.arg;
      out.backward = true;
      break;
    case OpcodeShape::Flagged:
      out.flag = out.arg & 1;
      break;
    case OpcodeShape::Shifted:
      out.flag = out.arg & 1;
      out.arg >>= 1;
      break;
    case OpcodeShape::Formats:
      out.flag = (out.arg & 4) != 0;
      out.arg &= 3;
      break;
    case OpcodeShape::Compares:
      out.arg >>= 4;
      break;
    case OpcodeShape::Truths:
      out.flag = (out.arg & 16) != 0;
      out.arg >>= 5;
      break;
    case OpcodeShape::Pairs:
      out.aux = out.arg & 15;
      out.arg >>= 4;
      break;
    case OpcodeShape::Loops:
    case OpcodeShape::Sends:
      out.target = out.next_pc + 2 * out.arg + 2;
      break;
    case OpcodeShape::LoopsFar:
      out.target = out.next_pc + 2 * out.arg + 4;
      break;
    case OpcodeShape::Supers:
      out.flag = out.arg & 1;
      out.aux = out.arg >> 1 & 1;
      out.arg >>= 2;
      break;
  }
}

using OpcodeTable = std::array<OpcodeRow, 256>;  // by opcode

constexpr OpcodeTable by_opcode(std::span<const OpcodeRow> rows, std::span<const OpcodeRow> more = {}) {
  OpcodeTable table{};
  for (const OpcodeRow& row : rows) table[row.opcode] = row;
  for (const OpcodeRow& row : more) table[row.opcode] = row;
  return table;
}

inline Instruction read_plain(const OpcodeTable& table, const CodeUnit& unit) {
  const OpcodeRow& row = table[unit.opcode];
  Instruction in{.op = row.op, .arg = unit.arg, .pc = unit.pc, .at = unit.at, .next_pc = unit.next};
  apply_shape(in, row.shape);
  return in;
}

}  // namespace vitrine::capture
