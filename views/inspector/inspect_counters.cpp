#include "views/inspector/inspect_counters.h"

#include <algorithm>
#include <map>

#include "profiler/analysis/counters.h"
#include "profiler/analysis/metrics.h"
#include "profiler/analysis/stalls.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace session;
using kit::Tone;
using profiler::KernelCounters;
using profiler::Metric;

namespace {

constexpr double kMuchMore = 1.25;  // of what was counted: caches did not hold what is read again
constexpr size_t kMostReasons = 4;

QString inUnit(const Metric& metric, double value) {
  if (metric.unit == "ns") return kit::timeText(value);
  if (metric.unit == "B") return kit::bytesText(value);
  if (metric.unit == "%") return kit::percentText(value / 100);
  const QString number = QString::number(value, 'g', value < 1000 ? 3 : 9);
  return metric.unit.empty() ? number : number + ' ' + s(metric.unit);
}

// What only matters where it is there: spills, conflicts, waiting.
bool worthTelling(const Metric& metric, double value, bool sampled) {
  if (metric.key.starts_with("stall_")) return value >= 5 && !sampled;  // the samples tell it line by line
  if (metric.key == "local_read" || metric.key == "local_written" || metric.key == "bank_conflicts" ||
      metric.key == "tensor_busy")
    return value > 0;
  return true;
}

InspectorSection counters(const KernelRow& kernel, const KernelCounters& counted, bool sampled) {
  InspectorSection out{"Counted by the GPU", {}};
  if (const auto moved = counted.dram_bytes(); moved && kernel.bytes > 0) {
    const double ratio = *moved / static_cast<double>(kernel.bytes);
    out.rows.push_back({"DRAM moved", kit::bytesText(*moved),
                        QStringLiteral("%1 of %2")
                            .arg(kit::ratioText(ratio), kit::bytesText(static_cast<double>(kernel.bytes))),
                        "", ratio > kMuchMore ? Tone::Warn : Tone::None});
  }
  for (const Metric& metric : profiler::kMetrics) {
    const auto value = counted.value(metric.key);
    if (!value || !worthTelling(metric, *value, sampled)) continue;
    const bool spilled = metric.key.starts_with("local_");
    out.rows.push_back({s(metric.label), inUnit(metric, *value), "", "", spilled ? Tone::Warn : Tone::None});
  }
  if (counted.launches() > 1)
    out.rows.push_back({"", QStringLiteral("The mean of %1 launches.").arg(counted.launches()), "", "info",
                        Tone::Info, 0, true});
  return out;
}

// What its warps wait for, the most common first.
InspectorSection waiting(std::span<const SampleRow> rows) {
  InspectorSection out{"Where its warps were", {}};
  std::map<std::string, int64_t> reasons;
  int64_t all = 0;
  for (const SampleRow& row : rows) {
    reasons[row.reason] += row.samples;
    all += row.samples;
  }
  std::vector<std::pair<std::string, int64_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  if (sorted.size() > kMostReasons) sorted.resize(kMostReasons);
  for (const auto& [reason, samples] : sorted)
    out.rows.push_back({s(profiler::stall_label(reason)),
                        kit::percentText(static_cast<double>(samples) / static_cast<double>(all)),
                        kit::countText(samples, "sample")});
  return out;
}

}  // namespace

std::vector<InspectorSection> countedOf(const kit::SessionData& data, const KernelRow& kernel) {
  std::vector<InspectorSection> out;
  const auto rows = data.samples.of(kernel.id);
  if (const KernelCounters counted(data.counters.of(kernel.id)); !counted.empty())
    out.push_back(counters(kernel, counted, !rows.empty()));
  if (!rows.empty()) out.push_back(waiting(rows));
  return out;
}

}  // namespace vitrine::views
