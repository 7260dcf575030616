// Entity ids: one 64-bit number names one thing of a session, in every stage and every view.
// The kind sits in the upper bits, so an id alone tells which table holds its row.
#pragma once

#include <cstdint>
#include <string_view>

namespace vitrine {

using Id = int64_t;  // 0 = none

// One row a kind: enumerator, table in the session file, word shown to people.
#define VITRINE_ENTITY_KINDS(X)                      \
  X(Run, "run", "run")                               \
  X(File, "file", "file")                            \
  X(Span, "span", "expression")                      \
  X(Code, "code", "function")                        \
  X(Instruction, "instruction", "instruction")       \
  X(Frame, "frame", "frame")                         \
  X(Segment, "segment", "segment")                   \
  X(Compilation, "compilation", "compilation")       \
  X(Step, "step", "capture step")                    \
  X(Guard, "guard", "guard")                         \
  X(Break, "graph_break", "graph break")             \
  X(Recompilation, "recompilation", "recompilation") \
  X(Call, "call", "call")                            \
  X(Graph, "graph", "graph")                         \
  X(Node, "node", "node")                            \
  X(Decision, "fusion_decision", "fusion decision")  \
  X(Kernel, "kernel", "kernel")                      \
  X(KernelRange, "kernel_range", "kernel lines")     \
  X(Buffer, "buffer", "buffer")                      \
  X(Launch, "launch", "launch")                      \
  X(Slice, "slice", "timeline slice")                \
  X(Message, "message", "message")

enum class Kind : int {
  None = 0,
#define X(name, table, word) name,
  VITRINE_ENTITY_KINDS(X)
#undef X
};

constexpr int kKindShift = 40;
constexpr Id make_id(Kind kind, int64_t seq) {
  return (static_cast<int64_t>(kind) << kKindShift) | seq;
}
constexpr Kind kind_of(Id id) {
  return static_cast<Kind>(id >> kKindShift);
}
constexpr int64_t seq_of(Id id) {
  return id & ((int64_t{1} << kKindShift) - 1);
}
std::string_view kind_table(Kind kind);  // "" for None
std::string_view kind_word(Kind kind);

}  // namespace vitrine
