#include "views/kit/break_places.h"

#include <algorithm>
#include <map>

namespace vitrine::kit {

std::vector<BreakPlace> breakPlaces(const SessionData& data, Id run) {
  std::vector<BreakPlace> out;
  std::map<std::pair<Id, std::string>, size_t> known;
  for (const session::BreakRow& row : data.breaks) {
    if (run && data.runOf(row.id) != run) continue;
    const auto [it, added] =
        known.try_emplace({row.instruction ? row.instruction : row.id, row.kind}, out.size());
    if (added) out.emplace_back();
    out[it->second].rows.push_back(&row);
  }
  for (BreakPlace& place : out) {
    double total = 0;
    for (const session::BreakRow* row : place.rows) {
      place.calls += row->calls;
      total += row->ns_per_call * static_cast<double>(row->calls);
    }
    place.ns_per_call = place.calls ? total / static_cast<double>(place.calls) : place.rows[0]->ns_per_call;
    std::stable_sort(place.rows.begin(), place.rows.end(),
                     [](auto* a, auto* b) { return a->ns_per_call > b->ns_per_call; });
  }
  return out;
}

}  // namespace vitrine::kit
