#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/run_times.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/session/launches.h"
#include "core/session/sized_memory.h"
#include "core/session/stages.h"
#include "core/session/verdict.h"

namespace vitrine::cli {

using namespace session;

namespace {

std::string number(double v, const char* format = "%.3g") {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), format, v);
  return out.data();
}

std::string or_dash(std::string text) {
  return text.empty() ? "–" : text;
}

}  // namespace

namespace {
constexpr size_t kRoomy = 110;  // characters of a line in which a range stands beside a speed-up
}

std::string show_runs(const Reader& s, const ShowOptions& options, std::string_view) {
  if (options.json) return json_table(s, s.all<RunRow>());
  const std::string verdict = verdict_summary(s);
  return run_summary(s, options.width) + (verdict.empty() ? "" : "\n" + verdict);
}

std::string run_summary(const Reader& s, size_t width, const std::string& printed_by) {
  TextTable table(
      {"run", "entry", "inputs", "status", ">eager", ">compiled", ">speed-up", ">first call", "outputs"});
  table.least({"inputs", "first call", "status", "entry"}, printed_by);
  std::string speed_ups;  // what there is more to say of them than a column has room for
  for (const RunRow& run : s.all<RunRow>()) {
    const auto checks = s.rows<AccuracyRow>("run = ?1", {run.id});
    size_t differ = 0;
    for (const AccuracyRow& a : checks) differ += a.verdict == "differs";
    const Verdict verdict = verdict_of(s, run);
    const std::string outputs =
        !verdict.compared ? "not compared"
        : differ          ? std::to_string(differ) + " of " + std::to_string(checks.size()) + " differ"
                          : verdict.words;
    const RunTimes times = times_of(s, run);
    const std::string words = times.speed_up.words();
    const std::string speed_up = width && width < kRoomy ? times.speed_up.short_words() : words;
    if (speed_up != words) speed_ups += run.label + ": " + words + "\n";
    table.row({run.label, run.entry, run.inputs, run.status, nanoseconds(run.eager_ns),
               nanoseconds(run.compiled_ns), or_dash(speed_up),
               nanoseconds(static_cast<double>(run.first_call_ns)), outputs});
  }
  if (table.empty()) return nothing("runs", "the session ended before one began");
  const std::string kept = kept_calls(s);
  return table.text(width) + speed_ups + (kept.empty() ? "" : "\n" + kept + ".\n") + call_notes(s);
}

std::string verdict_summary(const Reader& s) {
  std::string out;
  const auto runs = s.all<RunRow>();
  for (const RunRow& run : runs)
    out += (runs.size() > 1 ? run.label + ": " : "") + verdict_of(s, run).text() + "\n";
  return out;
}

std::string show_stages(const Reader& s, const ShowOptions& options, std::string_view) {
  if (options.json) return json_table(s, s.all<StageRow>());
  return stage_summary(s, options.width);
}

namespace {

// "2 compiled, 0 from the cache" and "1 compiled, 3 from the cache" are "3 compiled, 3 from the cache"; of
// other notes the later.
std::string add_notes(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  using Pair = std::pair<std::string, std::string>;
  for (const auto& [one, other] : {Pair{"compiled", "from the cache"}, Pair{"measured", "known before"}}) {
    const std::string form = "%lld " + one + ", %lld " + other + "%n";
    std::array<long long, 4> n{};
    std::array<int, 2> whole{};
    std::sscanf(a.c_str(), form.c_str(), &n[0], &n[1], &whole[0]);
    std::sscanf(b.c_str(), form.c_str(), &n[2], &n[3], &whole[1]);
    if (!whole[0] || !whole[1]) continue;
    return std::to_string(n[0] + n[2]) + " " + one + ", " + std::to_string(n[1] + n[3]) + " " + other;
  }
  return b;
}

// One stage over all compilations.
struct StageSum {
  int64_t count = 0, ns = 0;
  std::map<std::string, size_t> states;
  std::string note;
};

std::string state_text(const StageSum& sum) {
  if (sum.states.size() == 1) return sum.states.begin()->first;
  std::string out;
  for (const auto& [state, n] : sum.states)
    out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + state;
  return out;
}

std::string count_text(const StageInfo& stage, int64_t count) {
  if (stage.unit == "bytes") return count ? bytes(count) : "0 B";
  std::string unit(stage.unit);
  if (count == 1) unit.resize(unit.size() - (unit.ends_with("ches") ? 2 : 1));
  return std::to_string(count) + " " + unit;
}

// "; 2 inputs copied"
std::string count_of(int64_t n, const std::string& one, const std::string& what) {
  const char* several = one.ends_with("ch") ? "es" : "s";
  return n == 0 ? "" : "; " + std::to_string(n) + " " + one + (n == 1 ? "" : several) + what;
}

// A line for each plan whose mode asks for a CUDA Graph.
std::string graphs_text(const Reader& s) {
  std::map<Id, std::string> labels;
  for (const CompilationRow& row : s.all<CompilationRow>()) labels[row.id] = row.label;
  std::string out;
  for (const CudaGraphRow& g : s.all<CudaGraphRow>()) {
    out += "CUDA Graph of " + labels[g.compilation] + ": " + g.state;
    if (!g.reason.empty()) out += ", " + g.reason;
    if (g.state == "recorded") {
      out += count_of(g.launches, "launch", "");
      out += count_of(g.inputs_followed, "input", " followed") +
             count_of(g.inputs_in_place, "input", " read in place") +
             count_of(g.inputs_copied, "input", " copied") +
             count_of(g.results_followed, "result", " followed") +
             count_of(g.results_copied, "result", " copied") + count_of(g.results_lent, "result", " lent");
      if (g.bytes_copied) out += "; " + bytes(g.bytes_copied) + " copied a call";
    }
    out += "\n";
  }
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string stage_summary(const Reader& s, size_t width) {
  std::map<std::string, StageSum> sums;
  for (const StageRow& row : s.all<StageRow>()) {
    StageSum& sum = sums[row.name];
    sum.count += row.count;
    sum.ns += row.duration_ns;
    ++sum.states[row.state];
    sum.note = add_notes(sum.note, row.note);
  }
  // As the window counts them: views launch nothing.
  if (const auto plans = s.all<LaunchRow>(); !plans.empty()) sums["launch"].count = launches_in(plans);
  const bool gpu = !s.all<GpuKernelRow>().empty();
  TextTable table({"stage", ">size", ">time", "state", "note"});
  std::string last_note;
  for (const StageInfo& stage : kTimedStages) {
    auto it = sums.find(std::string(stage.name));
    if (it == sums.end()) continue;
    const StageSum& sum = it->second;
    const bool none = sum.states.size() == 1 && sum.states.begin()->first == "none";
    table.row({std::string(stage_title(stage, gpu)), none ? "–" : count_text(stage, sum.count),
               nanoseconds(static_cast<double>(sum.ns)), state_text(sum),
               none && sum.note == last_note ? "" : sum.note});
    last_note = none ? sum.note : "";
  }
  const size_t compilations = s.all<CompilationRow>().size();
  const std::string total = compilations > 1 ? "\nSizes and times are totals of " +
                                                   std::to_string(compilations) + " compilations.\n"
                                             : "";
  return table.empty() ? nothing("stages", why_nothing(s, "captured", "none was recorded"))
                       : table.text(width) + total + graphs_text(s);
}

std::string why_no_times(const Reader& s) {
  for (const RunRow& run : s.all<RunRow>())
    if (const Verdict verdict = verdict_of(s, run); !verdict.measured)
      return "not recorded: " + verdict.why_not_measured;
  return "not recorded";
}

namespace {

constexpr size_t kMostSlices = 300'000;  // of all lanes; a small column may claim any number

struct Slices {
  std::vector<int64_t> start, duration, entity, relation;
  std::vector<int32_t> name;
  size_t count = 0;
};

Slices slices_of(const Reader& s, const LaneRow& lane, size_t most) {
  Slices out;
  out.start = s.column<int64_t>(lane.start), out.duration = s.column<int64_t>(lane.duration);
  out.entity = s.column<int64_t>(lane.entity), out.relation = s.column<int64_t>(lane.relation);
  out.name = s.column<int32_t>(lane.name);
  out.count = std::min({out.start.size(), out.duration.size(), out.name.size(), most});
  out.entity.resize(out.count), out.relation.resize(out.count);
  return out;
}

}  // namespace

std::string show_timeline(const Reader& s, const ShowOptions& options, std::string_view) {
  std::map<int64_t, std::string> names;
  for (const NameRow& name : s.all<NameRow>()) names[name.id] = name.text;
  std::map<Id, RunTimes> times;
  for (const RunRow& run : s.all<RunRow>()) times[run.id] = times_of(s, run);
  std::string out, json = "[";
  size_t left = kMostSlices;
  for (const LaneRow& lane : s.all<LaneRow>("ORDER BY run, ordinal")) {
    const Slices slices = slices_of(s, lane, left);
    left -= slices.count;
    TextTable table({">start", ">duration", "name", "replaced by"});
    for (size_t i = 0; i < slices.count; ++i) {
      const int64_t start = slices.start[i], duration = slices.duration[i];
      const auto found = names.find(slices.name[i]);
      const std::string name = found == names.end() ? "" : found->second;
      const std::string launch = s.row<LaunchRow>(slices.relation[i]).text;
      if (!options.json)
        table.row({start ? nanoseconds(static_cast<double>(start)) : "0 ns",
                   nanoseconds(static_cast<double>(duration)), name, launch});
      else
        append_element(json, {{"side", lane.side},
                              {"lane", lane.label},
                              {"start_ns", start},
                              {"duration_ns", duration},
                              {"name", name},
                              {"entity", slices.entity[i]},
                              {"replaced_by", launch}});
    }
    if (options.json) continue;
    const std::string basis = times[lane.run].basis(lane.side);
    out += "# " + lane.side + ", " + lane.label + (basis.empty() ? "" : ": " + basis) + "\n" +
           table.text(options.width) + "\n";
  }
  if (options.json) return array_text(json);
  if (out.empty()) return nothing("timeline", why_no_times(s));
  if (left == 0) out += "Only the first " + std::to_string(kMostSlices) + " slices are shown.\n";
  for (const auto& [run, of] : times)
    if (const std::string doubt = of.doubt(TimesOf::ShownCall); !doubt.empty()) out += doubt + "\n";
  if (const std::string kept = kept_calls(s); !kept.empty()) out += kept + ".\n";
  return out;
}

namespace {

// Graphs that --check compares leave a row only where they differ.
std::string why_none_compared(const Reader& s) {
  std::string out;
  for (const RunRow& run : s.all<RunRow>()) {
    const std::string said = verdict_of(s, run).outputs();
    if (out.find(said) == std::string::npos) out += (out.empty() ? "" : "; ") + said;
  }
  return out.empty() ? "no run was recorded" : out;
}

}  // namespace

std::string show_accuracy(const Reader& s, const ShowOptions& options, std::string_view) {
  auto rows = s.all<AccuracyRow>();
  if (options.json) return json_table(s, rows);
  TextTable table({"output", "type", "verdict", ">max |Δ|", ">max rel", ">ulp", "message"});
  for (const AccuracyRow& a : rows) {
    table.row({a.output, a.type, a.verdict, number(a.max_abs), number(a.max_rel), std::to_string(a.max_ulp),
               a.message});
  }
  return table.empty() ? nothing("differences", why_none_compared(s)) : table.text(options.width);
}

namespace {

std::string what_happened(const std::string& kind) {
  static const std::map<std::string, std::string> words = {{"compile", "compiled"},
                                                           {"hit", "found its compilation"},
                                                           {"sizes", "planned for sizes it had not met"},
                                                           {"eager", "ran as eager"}};
  const auto found = words.find(kind);
  return found == words.end() ? kind : found->second;
}

}  // namespace

std::string show_calls(const Reader& s, const ShowOptions& options, std::string_view) {
  auto calls = s.all<CallRow>("ORDER BY run, ordinal");
  EntityNames names(s);
  std::erase_if(calls, [&](const CallRow& c) { return !names.shown(c.compilation, options); });
  if (options.json) return json_table(s, calls);
  std::map<std::pair<Id, int64_t>, InstanceRow> instances;
  for (InstanceRow& row : s.all<InstanceRow>()) {
    const std::pair key{row.compilation, row.ordinal};
    instances[key] = std::move(row);
  }
  std::vector<std::string> titles = {">#", "compilation", "what happened", ">time"};
  if (!instances.empty()) titles.insert(titles.end(), {"sizes", "plan"});
  TextTable table(std::move(titles));
  for (const CallRow& c : calls) {
    std::vector<std::string> cells = {std::to_string(c.ordinal), names.compilation(c.compilation),
                                      what_happened(c.kind), nanoseconds(static_cast<double>(c.duration_ns))};
    if (!instances.empty()) {
      const InstanceRow& instance = instances[{c.compilation, c.instance}];
      cells.insert(cells.end(), {instance.sizes, c.kind == "eager" ? "" : how_words(instance)});
    }
    table.row(std::move(cells));
  }
  if (table.empty())
    return nothing("calls", why_nothing(s, "captured", "no call of what was compiled was recorded"));
  const std::string kept = kept_calls(s);
  return table.text(options.width) + (kept.empty() ? "" : "\n" + kept + ".\n") + call_notes(s);
}

std::string show_cache(const Reader& s, const ShowOptions& options, std::string_view) {
  auto rows = s.all<CacheRow>("ORDER BY compilation");
  EntityNames names(s);
  std::erase_if(rows, [&](const CacheRow& r) { return !names.shown(r.compilation, options); });
  if (options.json) return json_table(s, rows);
  TextTable table({"compilation", "program", ">size", ">would save", "why"});
  for (const CacheRow& r : rows)
    table.row({names.compilation(r.compilation), r.state, r.bytes ? bytes(r.bytes) : "",
               r.saved_ns ? nanoseconds(static_cast<double>(r.saved_ns)) : "", r.reason});
  if (table.empty()) return nothing("programs", why_nothing(s, "captured", "no graph was compiled"));
  return table.text(options.width) +
         "\nA run that is recorded compiles what was found once more, so that each stage can be shown.\n";
}

}  // namespace vitrine::cli
