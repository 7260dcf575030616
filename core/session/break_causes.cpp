#include "core/session/break_causes.h"

#include <algorithm>
#include <map>
#include <string>

namespace vitrine::session {

namespace {

constexpr int kMostStops = 16;  // of one line

// The innermost frame of a stack as JSON.
std::string innermost(const std::string& stack) {
  const size_t end = stack.find('}');
  return end == std::string::npos ? "" : stack.substr(0, end);
}

// A file of before causes were recorded knows the line of the innermost frame.
std::string key_of(const BreakRow& row) {
  const std::string line = row.cause ? "" : innermost(row.stack);
  return row.kind + ' ' +
         (line.empty() ? std::to_string(row.cause         ? row.cause
                                        : row.instruction ? row.instruction
                                                          : row.id)
                       : line);
}

Id end_of(const BreakRow& row) {
  return row.instruction ? row.instruction : row.id;
}

// By segment, the row behind which it begins.
std::map<Id, const BreakRow*> before_segments(const std::vector<const BreakRow*>& breaks) {
  std::map<Id, const BreakRow*> out;
  for (const BreakRow* row : breaks)
    if (row->next_segment) out.emplace(row->next_segment, row);
  return out;
}

// The row that the same line stopped at just before, without a graph between; nullptr: none.
const BreakRow* same_line_before(const BreakRow& row, const std::map<Id, const BreakRow*>& before,
                                 const BreakContext& context) {
  const CompilationRow* compilation = context.compilation(row.compilation);
  if (!compilation || compilation->status == "ok") return nullptr;
  const auto found = before.find(compilation->segment);
  if (found == before.end()) return nullptr;
  const auto line = [&](const BreakRow& r) { return context.line(r.cause ? r.cause : r.instruction); };
  const auto here = line(row);
  return here.second && here == line(*found->second) ? found->second : nullptr;
}

// The rows of each place give its price; a place that a call passes through adds to that of the cause.
void set_price(BreakCause& cause) {
  struct Place {
    double total = 0;
    int64_t calls = 0, priced_calls = 0, priced = 0;
    bool own = false;
  };
  std::map<Id, Place> places;
  for (const BreakRow* row : cause.rows) {
    Place& place = places[end_of(*row)];
    place.calls += row->calls;
    place.own = place.own || is_own(*row);
    if (row->ns_per_call <= 0) continue;
    place.total += row->ns_per_call * static_cast<double>(std::max<int64_t>(1, row->calls));
    place.priced_calls += std::max<int64_t>(1, row->calls);
    place.priced += row->priced;
  }
  int64_t own = 0, most = 0;
  for (const auto& [id, place] : places) {
    most = std::max(most, place.calls);
    if (place.own) own = std::max(own, place.calls);
  }
  cause.calls = own ? own : most;
  for (const auto& [id, place] : places) {
    if (!place.priced_calls) continue;
    const double each = place.total / static_cast<double>(place.priced_calls);
    const double times =
        cause.calls ? static_cast<double>(place.calls) / static_cast<double>(cause.calls) : 1;
    cause.ns_per_call += each * times;
    if (place.own || !own) cause.priced = std::max(cause.priced, place.priced);
  }
}

}  // namespace

bool is_own(const BreakRow& row) {
  if (row.cause && row.instruction == row.cause) return true;
  return (!row.cause || !row.stack.empty()) && row.stack.find("},{") == std::string::npos;
}

std::vector<BreakCause> break_causes(const std::vector<const BreakRow*>& breaks,
                                     const BreakContext& context) {
  const std::map<Id, const BreakRow*> before = before_segments(breaks);
  std::vector<BreakCause> out;
  std::map<std::string, size_t> known;
  for (const BreakRow* row : breaks) {
    const BreakRow* first = row;
    for (int i = 0; i < kMostStops; ++i)  // a loop's line may stand before itself
      if (const BreakRow* earlier = same_line_before(*first, before, context); earlier && earlier != row)
        first = earlier;
      else
        break;
    const auto [it, added] = known.try_emplace(key_of(*first), out.size());
    if (added) out.emplace_back();
    out[it->second].rows.push_back(row);
  }
  for (BreakCause& cause : out) {
    set_price(cause);
    std::stable_sort(cause.rows.begin(), cause.rows.end(), [](const BreakRow* a, const BreakRow* b) {
      return is_own(*a) != is_own(*b) ? is_own(*a) : a->ns_per_call > b->ns_per_call;
    });
  }
  return out;
}

}  // namespace vitrine::session
