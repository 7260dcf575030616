// Which loop nests become one kernel. A group runs over rows × columns: its full members compute one value a
// place, its row members one value a row (a reduction, or what is computed from one). Without a reduction all
// members are full. On a GPU, beside reductions of rows, column members are sums over all rows, and what is
// computed from such: one value a column (the gradients of a layer norm). Greedy, in program order: a nest
// joins the group that saves the most memory traffic, if the iteration spaces agree, every value is read at
// the place where it is computed, and nothing outside stands between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/opt_bisect.h"
#include "core/fusion/loops.h"

namespace vitrine::fusion {

struct Member {
  size_t loop = 0;                       // position in LoopProgram::loops
  bool per_row = false;                  // runs once a row
  bool per_column = false;               // a sum over all rows, or runs once a column behind such
  std::vector<Access> operands, stores;  // as the loop's, over the group's dims
};

struct Group {
  ir::Dims dims;
  size_t rows = 0;  // dims[0, rows) are rows, the others columns; without a reduction all dims are rows
  bool reduces = false;
  std::vector<Member> members;
};

// One step of the fused program: a group, or one library or opaque operator.
struct Unit {
  Loop::Kind kind = Loop::Kind::opaque;  // pointwise, reduction (a group with one), library, opaque
  std::string label;                     // "K2", "L3", "O1"
  std::vector<size_t> loops;             // in program order
  Group group;
  int product = -1;               // loop of the product that the group follows in one kernel; -1: none
  std::vector<Group> horizontal;  // what else the kernel computes: the same on other tensors
};

struct Decision {  // one considered pair
  ir::NodeId a, b;
  std::string kind, reason;  // vertical | horizontal | epilogue | prologue
  bool fused = false;
  int64_t bytes_saved = 0;
  int32_t kernel = -1;
};

struct FusedProgram {
  std::vector<Unit> units;  // in execution order
  std::vector<Decision> decisions;
  std::vector<int> unit_of;  // by loop; -1 for views
};

// "K0", "L0", ... by kind, in order.
void name_units(FusedProgram& fused);

// Lays the loops (positions, in program order) out as one group. nullopt: they do not fit; `why` is readable.
std::optional<Group> make_group(const LoopProgram& program, const std::vector<size_t>& loops,
                                std::string& why);
// Whether they fit: it makes no group where none is needed to tell.
bool fits_group(const LoopProgram& program, const std::vector<size_t>& loops, std::string& why);

// readers: of this program. spare_memory: no nest joins a kernel that runs long before anybody reads it, if
// its result takes more memory until then than what it reads gives back.
// bisect: may forbid single fusions; may be null.
FusedProgram fuse(const LoopProgram& program, const Readers& readers, bool spare_memory = false,
                  OptBisect* bisect = nullptr);

// The operators that a unit computes: its loops' and those computed again in them, each once.
std::vector<ir::NodeId> nodes_of(const LoopProgram& program, const Unit& unit);

std::string fused_text(const LoopProgram& program, const FusedProgram& fused);

}  // namespace vitrine::fusion
