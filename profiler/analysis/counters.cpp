#include "profiler/analysis/counters.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/metrics.h"

namespace vitrine::profiler {

namespace {

bool adds_up(const Metric* metric) {
  return metric && metric->over.empty() && metric->unit != "%";
}

LineSamples summed(int64_t line, const std::map<std::string, int64_t>& reasons) {
  LineSamples out{line, 0, "", 0};
  for (const auto& [reason, samples] : reasons) {
    out.samples += samples;
    if (reason != "selected" && samples > out.of_reason) {
      out.reason = reason;
      out.of_reason = samples;
    }
  }
  return out;
}

}  // namespace

KernelCounters::KernelCounters(std::span<const session::CounterRow> rows) {
  std::map<std::pair<Id, int64_t>, double> times;  // of each kernel on the device
  std::set<Id> launches;
  for (const session::CounterRow& row : rows) {
    launches.insert(row.launch);
    if (row.metric == "time") times[{row.launch, row.ordinal}] = row.value;
  }
  launches_ = static_cast<int64_t>(launches.size());
  // mean = sum of value x weight / sum of weights, the weight a kernel's time, or 1 where none was counted
  std::map<std::string, double> weights;
  for (const session::CounterRow& row : rows) {
    if (adds_up(metric_of(row.metric))) {
      values_[row.metric] += row.value / static_cast<double>(launches_);
      continue;
    }
    const auto time = times.find({row.launch, row.ordinal});
    const double weight = time != times.end() && time->second > 0 ? time->second : 1;
    values_[row.metric] += row.value * weight;
    weights[row.metric] += weight;
  }
  for (const auto& [metric, weight] : weights) values_[metric] /= weight;
}

std::optional<double> KernelCounters::value(std::string_view metric) const {
  const auto found = values_.find(metric);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> KernelCounters::dram_bytes() const {
  const auto read = value("dram_read"), written = value("dram_written");
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

std::vector<LineSamples> samples_by_line(std::span<const session::SampleRow> rows, SampleText text) {
  std::map<int64_t, std::map<std::string, int64_t>> lines;
  for (const session::SampleRow& row : rows)
    lines[text == SampleText::source ? row.source_line : row.line][row.reason] += row.samples;
  std::vector<LineSamples> out;
  for (const auto& [line, reasons] : lines) out.push_back(summed(line, reasons));
  return out;
}

LineSamples samples_of(std::span<const session::SampleRow> rows) {
  std::map<std::string, int64_t> reasons;
  for (const session::SampleRow& row : rows) reasons[row.reason] += row.samples;
  return summed(0, reasons);
}

}  // namespace vitrine::profiler
