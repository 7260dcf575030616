// Two sessions side by side: a verdict first, then what differs. Everything is matched by structure (function
// and place in it, module path, operator and position), never by id. Times differ only where they are apart
// by more than the repeats of either session scatter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/session/compare/compared_session.h"

namespace vitrine::session {

struct SessionChange {
  enum class What {
    Setting,
    Environment,
    Frame,
    Break,
    Recompilation,
    Failure,
    Graph,
    Guard,
    Fusion,
    Kernel,
    Memory,
    Output
  };
  enum class Sign { Added, Removed, Changed };
  What what = What::Setting;
  Sign sign = Sign::Changed;
  std::string where, text;    // where: "Block.forward 0/0"; ""
  std::string before, after;  // of Changed
  std::string reason;
  double ns = 0;  // what it costs more, a call; below 0: less; 0: not known, or within the noise
  double before_ns = 0, after_ns = 0;  // of a kernel whose times are in `before` and `after`
  std::string module;                  // of a kernel: the module that all of its operators are in; ""
};

std::string_view word_of(SessionChange::What what);  // "break", "fusion group"

// Of some times of both sides. known: both have enough of them; differs: apart by more than they scatter.
struct TimeComparison {
  std::string of;  // "a compiled call"
  double before_ns = 0, after_ns = 0;
  double low = 0, high = 0;  // of after / before, 95 %
  bool known = false, differs = false;
  double ratio() const { return before_ns > 0 ? after_ns / before_ns : 0; }
  double ns() const { return after_ns - before_ns; }
};
// busy: the machine did other work, and the calls of one side are no sample of the other's. Then what most
// calls took must be apart, not the medians alone.
TimeComparison compare_times(const std::string& of, std::vector<double> before, std::vector<double> after,
                             bool busy = false);

// A program of the first session and what it is in the second.
struct PairedProgram {
  Id before_id = 0, after_id = 0;  // compilations
  std::string before, after;       // "Block.forward 0/0"
  size_t calls = 0;                // of the captured graph of the first
  bool same_graph = false;         // captured alike; false also where one was not recorded
};

struct SessionDifference {
  std::vector<PairedProgram> paired;
  std::vector<SessionChange> changes;         // what costs or spares most first, within its kind
  bool busy = false;                          // the machine, during one of them
  bool imported = false;                      // one of them is of what another tool recorded
  TimeComparison call, eager;                 // eager: whether the machine itself was as fast
  int64_t calls_before = 0, calls_after = 0;  // the most calls of one thing, whose times could be compared
  bool unlike = false;                        // both compiled something, and no program is in both
  int64_t compile_before_ns = 0, compile_after_ns = 0;
  std::string verdict;  // a sentence or two
  bool same() const { return changes.empty() && !call.differs; }
};

SessionDifference compare_sessions(const ComparedSession& before, const ComparedSession& after);

// Whether the second is slower by more than that part (0.05), beyond the noise.
bool is_slower(const SessionDifference& difference, double part);

// "0.4 ms slower (1.08×, 95 %: 1.05 to 1.12×): ...".
std::string verdict_text(const SessionDifference& difference);
std::string time_text(double ns);  // "1.25 ms"

}  // namespace vitrine::session
