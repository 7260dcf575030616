// The sessions of one program's processes, one a rank: how far ranks are apart, and where they were compiled
// otherwise; and one session of all of them, which is the first rank's with a lane of the timeline a rank.
#pragma once

#include <string>
#include <vector>

#include "core/session/compare/difference.h"
#include "core/session/reader.h"

namespace vitrine::session {

// A call of what was compiled, on the clock that all ranks have in common.
struct RankCall {
  std::string program;  // "Block.forward 0/0"
  Id compilation = 0;   // the first rank's; 0: it has none such
  bool compiles = false;
  int64_t start = 0, duration = 0;  // ns since the first rank's first call, as its own lanes; may be negative
  int64_t end() const { return start + duration; }
};

struct Rank {
  int64_t number = 0;
  std::string path, status;
  std::vector<RankCall> calls;  // by start
  std::vector<SessionChange>
      differs;  // from the first: settings, breaks, recompilations, graphs, guards, fusion
};

// One call, made by several ranks.
struct RankSkew {
  std::string program;
  size_t call = 0;             // the how manieth of its program
  int64_t start = 0, end = 0;  // when the first and the last of them began
  int64_t last = 0;            // rank that began last
  bool compiles = false;       // some of them had to
  int64_t ns() const { return end - start; }
};

struct Ranks {
  std::vector<Rank> ranks;      // by number
  std::vector<RankSkew> skews;  // by start; of calls that all ranks made
  bool one_clock = false;       // they ran on one machine; else the machines' own clocks are taken for equal
  std::string text() const;     // for a terminal
};

// Errors: a session that cannot be read; two of one rank.
Result<Ranks> read_ranks(const std::vector<std::string>& paths);

// `to` is replaced once it is whole. Errors: as read_ranks; it cannot be written, or is one of them.
Status write_merged(const std::vector<std::string>& paths, const std::string& to);

// "runs/a.r0.vitrine" -> "runs/a.ranks.vitrine"
std::string merged_name(const std::string& path);
// Whether they are sessions of several ranks of one program, which belong together.
bool are_ranks(const std::vector<std::string>& paths);

}  // namespace vitrine::session
