// The lanes of a run as slices on one clock, and which compiled slice replaced which eager ones.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/session/doubts.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/session_data.h"

namespace vitrine::views {

struct Slice {
  int64_t start = 0, duration = 0;  // ns
  int32_t name = 0;                 // row of `name`
  int8_t depth = 0;
  Id entity = 0;       // node (eager) or launch (compiled); 0 = not linked
  Id relation = 0;     // eager: the launch that replaced it
  bool inner = false;  // part of a linked slice, and not linked itself
  int32_t own = 0;     // of a script: the number of a step; below 0: -1 - row of session::kTimedStages
  int64_t end() const { return start + duration; }
};

struct TimelineLane {
  enum class Side { Eager, Compiled };
  enum class Kind {
    Module,
    Thread,
    Launch,
    Stream,
    Api,  // also waiting and the profiler's own cost
    Call,
    Range,  // what a script does beside: data loading, optimizer steps
    Step,
    Phase,  // of compiling
    Rank    // of a merged session: the calls of a process, or how far processes are apart
  };
  Side side = Side::Eager;
  Kind kind = Kind::Thread;
  QString label;
  std::vector<Slice> slices;  // by start
  int depths = 1;
};

// An eager slice and the compiled slice that does its work.
struct Ribbon {
  size_t eager = 0, compiled = 0;  // indices into the slices of the two facing lanes
};

// A call of CUDA's API and what it made the device do.
struct Arrow {
  int api_lane = 0, lane = 0;
  size_t api = 0, slice = 0;
};

// An iteration of a script: from a call of what it calls first to the next.
struct ScriptStep {
  int64_t start = 0, end = 0;
  bool compiles = false;
};

struct Timeline {
  Id run = 0;
  std::vector<ScriptStep> steps;
  std::vector<TimelineLane> lanes;              // eager above compiled
  int facing_eager = -1, facing_compiled = -1;  // lanes between which ribbons run
  std::vector<Ribbon> ribbons;
  std::vector<Arrow> arrows;
  std::unordered_map<Id, std::pair<int, size_t>> first_of;  // lane and index of a thing's first slice
  std::vector<size_t> unneeded;                             // eager slices without a partner
  std::vector<std::pair<int64_t, double>> memory;  // bytes of temporaries of compiled calls from then on
  double memory_peak = 0;                          // the memory kept for them, as the stage tells it
  int64_t inserted_ns = 0;                         // by which the compiled half stands later than it ran
  bool of_import = false;                          // another tool's record: its slices are linked to nothing
  bool script = false;  // all calls of a run; of its eager run, where there was one, a step
  bool misses_eager() const { return script && facing_eager < 0; }
  // Of each compilation the first calls are kept: from then on others may have run between the slices; -1:
  // no.
  int64_t all_kept_until_ns = -1;
  bool hides_calls(int64_t until_ns) const { return all_kept_until_ns >= 0 && until_ns > all_kept_until_ns; }
  QString why_no_eager;  // then
  int64_t end_ns = 0;
  double eager_ns = 0, compiled_ns = 0;                    // unprofiled medians
  double profiled_eager_ns = 0, profiled_compiled_ns = 0;  // of the calls whose slices these are
  session::RunTimes times;
  bool empty() const { return lanes.empty(); }
};

// Fills ribbons and unneeded from the two facing lanes.
void relate(Timeline& timeline);
using TimelinePtr = std::shared_ptr<const Timeline>;

// Reads the columns of a run's lanes; from a job.
TimelinePtr load_timeline(const kit::SessionData& data, Id run);

// With everything compiled later by that, so that one of its slices stands below its eager partner.
TimelinePtr shifted(const Timeline& timeline, int64_t by_ns);

// What stands behind the end of a side's slices: what the compiled side gained by the medians, and how long
// the profiled call took, whose slices these are. The shorter form leaves the latter out.
QString end_words(const Timeline& timeline, TimelineLane::Side side, bool shorter = false);

// A slice of a call has its compilation's name.
QString slice_name(const kit::SessionData& data, const Slice& slice);
kit::NodeFamily slice_family(const kit::SessionData& data, const Slice& slice);

}  // namespace vitrine::views
