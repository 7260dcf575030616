// Programs that were compiled before, on disk: what passes, fusion and code generation made of a graph, found
// by all that they made it of (program_key.h). A later process with the same graph runs the same program. An
// entry is data: it is read, checked and never run. Its kernels' machine code is in the object cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/runtime/program_key.h"

namespace vitrine::runtime {

class ProgramStore {
 public:
  static constexpr int64_t kMaxBytes = int64_t{256} << 20;

  explicit ProgramStore(std::string cache_dir);

  struct Found {
    codegen::Program program;
    std::vector<ir::SymGuard> guards;  // what it asks of sizes, which these fulfil: not yet the table's
    std::string bytes;                 // as they stand in the file
    int64_t compile_ns = 0;            // what its compilation took, without its kernels'
  };
  struct Answer {
    std::optional<Found> found;
    // missed: reason says in what the nearest entry of the place differs. refused: the entry that is there is
    // not what was written, and is removed.
    std::string state = "missed", reason;
    bool for_other_sizes = false;  // the one that is there asks of sizes what these do not fulfil
  };
  // place: whose program it is, as a person would say: only misses are told by it. table: of the key's
  // symbols, which gets the program's expressions; null: sizes are numbers.
  Answer find(const ProgramKey& key, const std::string& place, ir::SymbolTable* table = nullptr) const;
  // Bytes that the entry has, 0: it could not be written. beside: not in the place of one for other sizes.
  int64_t insert(const ProgramKey& key, const std::string& place, const std::string& packed,
                 int64_t compile_ns, bool beside = false) const;

 private:
  std::string dir_;
};

}  // namespace vitrine::runtime
