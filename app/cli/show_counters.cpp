// What the GPU's own counters told of each kernel, beside what was counted of its program; and at which lines
// its warps were found waiting.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/base/whole.h"
#include "core/session/verdict.h"
#include "profiler/analysis/counters.h"
#include "profiler/analysis/metrics.h"
#include "profiler/analysis/stalls.h"

namespace vitrine::cli {

using namespace session;
using profiler::KernelCounters;
using profiler::LineSamples;

namespace {

constexpr size_t kMostLines = 12;  // of a kernel

std::string number(const char* form, double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), form, value);
  return out.data();
}

// By the unit of the metric; "–" where it was not counted.
std::string in_unit(const KernelCounters& c, std::string_view key) {
  const auto value = c.value(key);
  const profiler::Metric* metric = profiler::metric_of(key);
  if (!value || !metric) return "–";
  if (*value == 0) return "0";
  if (metric->unit == "ns") return nanoseconds(*value);
  if (metric->unit == "B") return bytes(whole(*value));
  if (metric->unit == "%") return number(*value < 1 ? "%.1f %%" : "%.0f %%", *value);
  return number(*value < 100 ? "%.3g" : "%.0f", *value);
}

// Of the kernels of the shown compilations that have rows, in order.
template <class Row>
std::vector<std::pair<KernelRow, std::vector<Row>>> by_kernel(const Reader& s, const ShowOptions& options) {
  const EntityNames names(s);
  std::map<Id, std::vector<Row>> rows;
  for (Row& row : s.all<Row>()) rows[row.kernel].push_back(std::move(row));
  std::vector<std::pair<KernelRow, std::vector<Row>>> out;
  for (KernelRow& kernel : s.all<KernelRow>("ORDER BY compilation, ordinal"))
    if (auto found = rows.find(kernel.id); found != rows.end() && names.shown(kernel.compilation, options))
      out.emplace_back(std::move(kernel), std::move(found->second));
  return out;
}

// On a GPU they are read last of all, unless --counters 0 was given.
std::string why_no_counters(const Reader& s) {
  for (const RunRow& run : s.all<RunRow>())
    if (const Verdict verdict = verdict_of(s, run); !verdict.measured) return verdict.why_not_measured;
  return "--counters 0 reads none, and samples none";
}

// Why there is nothing: the message that a refusal left.
std::string refusal(const Reader& s, std::string_view about) {
  for (const MessageRow& row : s.all<MessageRow>())
    if (row.text.find(about) != std::string::npos) return row.text + " " + row.hint;
  return s.all<GpuKernelRow>().empty() ? "not recorded: the run was not on a GPU"
                                       : "not recorded: " + why_no_counters(s);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == '\n')
      out.emplace_back();
    else
      out.back().push_back(c);
  }
  return out;
}

std::string share(int64_t part, int64_t whole) {
  return whole ? number("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "–";
}

}  // namespace

std::string show_counters(const Reader& s, const ShowOptions& options, std::string_view) {
  const auto kernels = by_kernel<CounterRow>(s, options);
  if (options.json) {
    std::vector<CounterRow> rows;
    for (const auto& [kernel, own] : kernels) rows.insert(rows.end(), own.begin(), own.end());
    return json_table(s, rows);
  }
  if (kernels.empty()) return nothing("counters", refusal(s, "counters were not read"));
  TextTable traffic({"kernel", "name", ">time", ">counted", ">DRAM read", ">written", ">moved/counted",
                     ">of DRAM", ">L2 hits", ">L1 hits", ">sectors/load", ">/store"});
  TextTable work({"kernel", ">SM", ">issue", ">occupancy", ">tensor", ">memory", ">load queue", ">shared",
                  ">barrier", ">arithmetic", ">latency", ">bank conflicts", ">spills read", ">written"});
  traffic.least({"/store", "sectors/load", "L1 hits", "written", "DRAM read", "L2 hits"});
  work.least({"written", "spills read", "bank conflicts", "latency", "arithmetic", "barrier", "shared",
              "load queue", "issue"});
  for (const auto& [kernel, rows] : kernels) {
    const KernelCounters c(rows);
    const auto moved = c.dram_bytes();
    const auto is = [&c = c](std::string_view key) { return in_unit(c, key); };
    traffic.row(
        {kernel.label, kernel.name, is("time"), kernel.bytes > 0 ? bytes(kernel.bytes) : "–", is("dram_read"),
         is("dram_written"),
         moved && kernel.bytes > 0 ? number("%.2f×", *moved / static_cast<double>(kernel.bytes)) : "–",
         is("dram_busy"), is("l2_hits"), is("l1_hits"), is("load_sectors"), is("store_sectors")});
    work.row({kernel.label, is("sm_busy"), is("issue_busy"), is("occupancy"), is("tensor_busy"),
              is("stall_memory"), is("stall_queue"), is("stall_shared"), is("stall_barrier"),
              is("stall_math"), is("stall_wait"), is("bank_conflicts"), is("local_read"),
              is("local_written")});
  }
  return traffic.text(options.width) +
         "\nparts of the multiprocessors' peak, and of the warps' cycles spent waiting for:\n" +
         work.text(options.width) +
         "\nRead in calls of their own; these times are never part of a speed-up.\n";
}

std::string show_samples(const Reader& s, const ShowOptions& options, std::string_view) {
  const auto kernels = by_kernel<SampleRow>(s, options);
  if (options.json) {
    std::vector<SampleRow> rows;
    for (const auto& [kernel, own] : kernels) rows.insert(rows.end(), own.begin(), own.end());
    return json_table(s, rows);
  }
  if (kernels.empty()) return nothing("samples", refusal(s, "was not sampled"));
  std::string out;
  for (const auto& [kernel, rows] : kernels) {
    const LineSamples all = profiler::samples_of(rows);
    out += "# " + kernel.label + " " + kernel.name + ": " + std::to_string(all.samples) + " samples";
    if (!all.reason.empty())
      out += ", waiting mostly for " + std::string(profiler::stall_label(all.reason)) + " (" +
             share(all.of_reason, all.samples) + ")";
    out += "\n";
    const std::vector<std::string> text = lines_of(s.text(kernel.source));
    auto lines = profiler::samples_by_line(rows, profiler::SampleText::source);
    std::erase_if(lines, [&](const LineSamples& l) {
      return l.line < 1 || l.line > static_cast<int64_t>(text.size());
    });
    std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.samples > b.samples; });
    if (lines.size() > kMostLines) lines.resize(kMostLines);
    TextTable table({">share", "waiting for", ">line", "source"});
    for (const LineSamples& l : lines) {
      const std::string& line = text[static_cast<size_t>(l.line) - 1];
      table.row({share(l.samples, all.samples), std::string(profiler::stall_label(l.reason)),
                 std::to_string(l.line), line.substr(std::min(line.find_first_not_of(' '), line.size()))});
    }
    out += (table.empty() ? "" : table.text(options.width)) + "\n";
  }
  return out;
}

}  // namespace vitrine::cli
