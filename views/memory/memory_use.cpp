#include "views/memory/memory_use.h"

#include <algorithm>
#include <map>

namespace vitrine::views {

using namespace session;

namespace {

MemorySide side_of(const kit::SessionData& data, Id run, const std::string& side) {
  MemorySide out;
  const auto call = data.meta.find("memory_" + side + "_ns");
  out.call_ns = call == data.meta.end() ? 0 : std::max<int64_t>(0, std::atoll(call->second.c_str()));
  std::map<int64_t, double> changes;
  for (const AllocationRow& row : data.allocations.of(run)) {
    if (row.side != side) continue;
    out.blocks.push_back(row);
    changes[row.start_ns] += static_cast<double>(row.bytes);
    if (row.freed_ns >= 0) changes[std::max(row.freed_ns, row.start_ns)] -= static_cast<double>(row.bytes);
    out.call_ns = std::max({out.call_ns, row.start_ns, row.freed_ns});
  }
  out.recorded = call != data.meta.end() || !out.blocks.empty();
  double held = 0;
  for (const auto& [at, by] : changes) {
    held = std::max(0.0, held + by);
    out.steps.emplace_back(at, held);
    if (held > out.peak) out.peak = held, out.peak_ns = at;
  }
  return out;
}

bool is_held(const AllocationRow& row, int64_t ns) {
  return row.start_ns <= ns && (row.freed_ns < 0 || row.freed_ns > ns);
}

// Of temporaries with a place: bytes by launch ordinal.
bool has_place(const BufferRow& row) {
  return row.kind == "temporary" && row.offset >= 0 && row.bytes > 0;
}

}  // namespace

double MemorySide::held_at(int64_t ns) const {
  auto behind = std::upper_bound(steps.begin(), steps.end(), ns,
                                 [](int64_t at, const auto& step) { return at < step.first; });
  return behind == steps.begin() ? 0 : std::prev(behind)->second;
}

std::vector<const AllocationRow*> MemorySide::blocks_at(int64_t ns) const {
  std::vector<const AllocationRow*> out;
  for (const AllocationRow& row : blocks)
    if (is_held(row, ns)) out.push_back(&row);
  std::stable_sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  return out;
}

MemoryUsePtr memory_use(const kit::SessionData& data, Id run) {
  auto out = std::make_shared<MemoryUse>();
  out->run = run;
  out->eager = side_of(data, run, "eager");
  out->compiled = side_of(data, run, "compiled");
  return out;
}

std::vector<const BufferRow*> buffers_at(const kit::SessionData& data, Id launch) {
  std::vector<const BufferRow*> out;
  const LaunchRow* row = data.launches.find(launch);
  if (!row) return out;
  for (const BufferRow& buffer : data.buffers.of(row->compilation))
    if (has_place(buffer) && buffer.first <= row->ordinal && buffer.last >= row->ordinal)
      out.push_back(&buffer);
  std::stable_sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  return out;
}

Id fullest_launch(const kit::SessionData& data, Id compilation) {
  std::map<int64_t, int64_t> changes;
  for (const BufferRow& buffer : data.buffers.of(compilation)) {
    if (!has_place(buffer)) continue;
    changes[buffer.first] += buffer.bytes;
    changes[buffer.last + 1] -= buffer.bytes;
  }
  int64_t held = 0, most = 0, at = -1;
  for (const auto& [ordinal, by] : changes)
    if ((held += by) > most) most = held, at = ordinal;
  for (const LaunchRow& row : data.launches.of(compilation))
    if (row.ordinal == at) return row.id;
  return 0;
}

}  // namespace vitrine::views
