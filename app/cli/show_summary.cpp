// `vitrine show SESSION`: problems first, then what ran and where the time went; each line names the stage
// that tells more.
#include <algorithm>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/problem_list.h"
#include "app/cli/run_times.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/session/built_kernels.h"
#include "core/session/stages.h"
#include "core/session/verdict.h"

namespace vitrine::cli {

using namespace session;

namespace {

constexpr size_t kMostProblems = 12, kMostKernels = 5;

std::string counted(int64_t n, const std::string& one) {
  const bool several = n != 1;
  return std::to_string(n) + " " + one + (several ? one.ends_with("ch") ? "es" : "s" : "");
}

struct KernelSum {
  const KernelRow* kernel = nullptr;
  double ns = 0;
  int64_t launches = 0;
};

struct Totals {
  int64_t frames = 0, compilations = 0, calls = 0, hits = 0, generated = 0, cached = 0, compile_ns = 0;
  BuiltKernels built;
  int64_t temporaries = 0, saved = 0;  // bytes
  double kernels_ns = 0;
  std::vector<std::pair<std::string, int64_t>> stages;  // ns, longest first
  std::vector<KernelRow> rows;
  std::vector<KernelSum> kernels;  // longest first
};

void sum_kernels(const Reader& s, Totals& t) {
  t.rows = s.all<KernelRow>();
  std::map<Id, KernelSum> sums;
  for (const LaunchRow& l : s.all<LaunchRow>()) {
    if (!l.kernel) continue;
    sums[l.kernel].ns += l.median_ns;
    ++sums[l.kernel].launches;
    t.kernels_ns += l.median_ns;
  }
  for (const KernelRow& k : t.rows) {
    t.generated += k.kind == "generated";
    t.cached += k.kind == "generated" && k.cached;
    KernelSum sum = sums[k.id];
    sum.kernel = &k;
    if (sum.ns > 0) t.kernels.push_back(sum);
  }
  std::stable_sort(t.kernels.begin(), t.kernels.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  t.built = built_of(t.rows);
}

Totals totals_of(const Reader& s) {
  Totals t;
  t.frames = static_cast<int64_t>(s.all<FrameRow>().size());
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    ++t.compilations;
    t.calls += c.calls;
    t.compile_ns += c.duration_ns;
  }
  std::map<std::string, int64_t> ns;
  for (const StageRow& row : s.all<StageRow>()) {
    ns[row.name] += row.duration_ns;
    if (row.name == "memory") t.temporaries = std::max(t.temporaries, row.count);
  }
  const bool gpu = !s.all<GpuKernelRow>().empty();
  for (const StageInfo& stage : kTimedStages)
    if (ns[std::string(stage.name)] > 0)
      t.stages.emplace_back(stage_title(stage, gpu), ns[std::string(stage.name)]);
  std::stable_sort(t.stages.begin(), t.stages.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const PartitionRow& p : s.all<PartitionRow>()) t.saved += p.saved_bytes;
  sum_kernels(s, t);
  return t;
}

std::string what_ran(const Reader& s, const Totals& t) {
  std::string out;
  for (const RunRow& run : s.all<RunRow>()) {
    out += run.label + (run.entry.empty() ? "" : ", " + run.entry) +
           (run.inputs.empty() ? "" : " of " + run.inputs) +
           (run.device.empty() ? "" : ", on " + run.device) + (run.mode.empty() ? "" : ", mode " + run.mode) +
           ": " + run.status + "\n";
  }
  if (const std::string imported = s.meta("imported"); !imported.empty())
    return out + "  " + imported + "\n  " + counted(t.frames, "frame") + ", " +
           counted(t.compilations, "compilation") + "\n";
  std::string command = s.meta("file");
  if (!command.empty()) out += "  command   vitrine run " + command;
  if (const std::string more = s.meta("arguments"); !more.empty() && !command.empty())
    if (const auto words = nlohmann::json::parse(more, nullptr, false); words.is_array())
      for (const auto& word : words)
        if (word.is_string()) out += " " + word.get<std::string>();
  if (!command.empty()) out += "\n";
  auto fact = [&](const char* key, const std::string& before) {
    const std::string value = s.meta(key);
    return value.empty() ? "" : before + value;
  };
  out += "  versions  " + fact("vitrine", "vitrine ") + fact("torch", ", torch ") +
         fact("python", ", Python ") + "\n";
  out += "  machine   " + fact("cpu", "") + fact("isa", ", ") + fact("cores", ", cores: ") +
         fact("threads", ", threads: ") + fact("gpu", ", ") + fact("system", ", ") + "\n";
  return out + "  " + counted(t.frames, "frame") + ", " + counted(t.compilations, "compilation") + ", " +
         counted(t.calls, "call") + "   [calls, runs]\n";
}

std::string problems_text(const std::vector<SessionProblem>& problems, const ShowOptions& options) {
  if (problems.empty()) return "No problems.\n";
  const bool all = !options.width || problems.size() <= kMostProblems;
  std::string out = counted(static_cast<int64_t>(problems.size()), "problem") + "\n";
  for (size_t i = 0; i < (all ? problems.size() : kMostProblems); ++i) {
    const SessionProblem& p = problems[i];
    out += "  " + std::string(word_of(p.kind)) + (p.place.empty() ? "" : "  " + p.place) + "  " + p.text;
    if (p.times > 1) out += "  " + std::to_string(p.times) + " ×";
    if (!p.price.empty()) out += "  " + p.price;
    out += (p.stage.empty() ? "" : "   [" + p.stage + "]") + "\n";
    std::string more = p.more;
    for (size_t at = 0; (at = more.find('\n', at)) != std::string::npos;) more.insert(++at, "      ");
    if (!more.empty()) out += "      " + more + "\n";
  }
  return all ? out
             : out + "  " + counted(static_cast<int64_t>(problems.size() - kMostProblems), "more problem") +
                   ": --wide prints all\n";
}

std::string compile_text(const Totals& t) {
  if (!t.compilations) return "";
  std::string out = "Compiled in " + nanoseconds(static_cast<double>(t.compile_ns));
  if (t.built.compiled + t.built.cached)
    out += ", " + counted(t.built.compiled, "kernel") + " cold, " + std::to_string(t.built.cached) +
           " from the cache";
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(6, t.stages.size()); ++i)
    list += (i ? ", " : "") + t.stages[i].first + " " + nanoseconds(static_cast<double>(t.stages[i].second));
  return out + "   [stages]\n" + (list.empty() ? "" : "  " + list + "\n");
}

std::string kernels_text(const Totals& t, const EntityNames& names, const ShowOptions& options) {
  if (t.rows.empty()) return "";
  std::string out = counted(static_cast<int64_t>(t.rows.size()), "kernel") + ", " +
                    std::to_string(t.generated) + " of them generated";
  if (t.kernels.empty()) return out + ", not timed   [kernels]\n";
  out += "; one launch of each takes " + nanoseconds(t.kernels_ns) + "   [kernels, launch]\n";
  TextTable table({"  kernel", "name", "compilation", ">launches", ">time", ">of all"});
  for (size_t i = 0; i < std::min(kMostKernels, t.kernels.size()); ++i) {
    const KernelSum& k = t.kernels[i];
    const auto part = static_cast<int>(k.ns / t.kernels_ns * 100 + 0.5);
    table.row({"  " + k.kernel->label, k.kernel->name, names.compilation(k.kernel->compilation),
               std::to_string(k.launches), nanoseconds(k.ns), std::to_string(part) + " %"});
  }
  return out + table.text(options.width);
}

std::string memory_text(const Reader& s, const Totals& t) {
  if (!t.temporaries && !t.saved) return "";
  std::string out = "Memory: " + (t.temporaries ? "temporaries take up to " + bytes(t.temporaries)
                                                : std::string("no temporaries"));
  if (t.saved) out += ", " + bytes(t.saved) + " kept for backward";
  const bool training = !s.all<PartitionRow>().empty();
  return out + (training ? "   [memory, partition]\n" : "   [memory]\n");
}

std::string json_summary(const Reader& s, const Totals& t, const std::vector<SessionProblem>& problems,
                         const EntityNames& names) {
  nlohmann::ordered_json out;
  auto& meta = out["session"] = nlohmann::ordered_json::object();
  for (const MetaRow& row : s.all<MetaRow>())
    if (!row.key.starts_with("note:") && row.key != "writer") meta[row.key] = row.value;
  out["runs"] = json_rows(s, s.all<RunRow>());
  auto& list = out["problems"] = nlohmann::ordered_json::array();
  for (const SessionProblem& p : problems)
    list.push_back({{"kind", word_of(p.kind)},
                    {"text", p.text},
                    {"place", p.place},
                    {"more", p.more},
                    {"times", p.times},
                    {"ns", p.ns_per_call},
                    {"stage", p.stage}});
  out["totals"] = {
      {"frames", t.frames},         {"compilations", t.compilations}, {"calls", t.calls},
      {"compile_ns", t.compile_ns}, {"kernels", t.rows.size()},       {"generated", t.generated},
      {"from_cache", t.cached},     {"kernels_ns", t.kernels_ns},     {"temporary_bytes", t.temporaries},
      {"saved_bytes", t.saved}};
  auto& stages = out["stages"] = nlohmann::ordered_json::array();
  for (const auto& [title, ns] : t.stages) stages.push_back({{"stage", title}, {"ns", ns}});
  auto& kernels = out["kernels"] = nlohmann::ordered_json::array();
  for (const KernelSum& k : t.kernels)
    kernels.push_back({{"kernel", k.kernel->label},
                       {"name", k.kernel->name},
                       {"compilation", names.compilation(k.kernel->compilation)},
                       {"launches", k.launches},
                       {"ns", k.ns}});
  return json_text(out);
}

}  // namespace

std::string show_summary(const Reader& s, const ShowOptions& options) {
  const EntityNames names(s);
  const Totals totals = totals_of(s);
  const auto problems = problems_of(s);
  if (options.json) return json_summary(s, totals, problems, names);
  std::string out =
      what_ran(s, totals) + "\n" + verdict_summary(s) + "\n" + problems_text(problems, options) + "\n";
  const auto runs = s.all<RunRow>();
  if (std::any_of(runs.begin(), runs.end(), [](const RunRow& r) { return r.compiled_ns > 0; }))
    out += run_summary(s, options.width) + "\n";
  else if (const std::string steps = step_notes(s); !steps.empty())
    out += steps.substr(1) + "\n";
  return out + compile_text(totals) + kernels_text(totals, names, options) + memory_text(s, totals) +
         "\nIn brackets: what to add to `vitrine show " + s.path() + "` to see more of it.\n";
}

}  // namespace vitrine::cli
