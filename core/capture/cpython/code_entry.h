// What Vitrine remembers with a code object, in the slot CPython keeps for such extras; it dies with the code
// object. All of it under the GIL.
#pragma once

#include <cstdint>
#include <memory>

#include "core/capture/cpython/bytecode.h"

namespace vitrine::capture {

// What a segment store remembers with a code object.
class CodeData {
 public:
  virtual ~CodeData() = default;
};

struct CodeEntry {
  bool skip = false;                   // never captured: marked so
  bool wanted = false;                 // verdict of the frame handlers of policy `judged_by`
  bool chosen = false;                 // what the user gave to vitrine.compile
  bool pauses = false;                 // nothing that its frames call is captured (core/capture/hook.cpp)
  uint32_t judged_by = 0;              // 0: not judged yet
  std::unique_ptr<Bytecode> bytecode;  // read when first needed: see bytecode_of()
  std::unique_ptr<CodeData> data;
};

// nullptr when nothing is remembered yet: a few loads.
CodeEntry* find_entry(_object* code);
CodeEntry& entry_of(_object* code);  // made when missing

// The instructions of a code object, read once; alive as long as the code object.
const Bytecode& bytecode_of(_object* code);

}  // namespace vitrine::capture
