// The page's tables: problems, breaks, guards, recompilations, kernels, totals.
#include <algorithm>
#include <set>

#include "app/cli/exports/page.h"
#include "app/cli/problem_list.h"
#include "app/cli/text_table.h"
#include "core/session/break_causes.h"
#include "core/session/guard_groups.h"
#include "core/session/source_text.h"
#include "core/session/stages.h"
#include "core/session/verdict.h"

namespace vitrine::cli::page {

using namespace session;

namespace {

constexpr size_t kMostGuards = 400;         // rows of one compilation
constexpr size_t kMostText = 400;           // of one cell
constexpr size_t kMostSources = 6'000'000;  // bytes of all kernels' texts
constexpr size_t kMostSource = 200'000;     // of one

std::string cut(const std::string& text, size_t most = kMostText) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string time_or_dash(double ns) {
  return ns > 0 ? nanoseconds(ns) : "–";
}

}  // namespace

std::string problems(const Reader& s) {
  std::string out;
  for (const SessionProblem& p : problems_of(s)) {
    out += "<li><b>" + escaped(word_of(p.kind)) + "</b> " + escaped(cut(p.text, 2000));
    if (!p.place.empty()) out += " <code>" + escaped(p.place) + "</code>";
    if (p.times > 1) out += " " + std::to_string(p.times) + " ×";
    if (!p.price.empty()) out += " <span class=quiet>" + escaped(p.price) + "</span>";
    if (!p.more.empty()) out += "<br><span class=quiet>" + escaped(cut(p.more, 2000)) + "</span>";
    out += "\n";
  }
  return out.empty() ? "<p>No problems.</p>\n" : "<ul>" + out + "</ul>\n";
}

std::string breaks(const Reader& s, const EntityNames&, const Places& places) {
  HtmlTable table({"line", "expression", "why", "instead", ">calls", ">a call"});
  const auto rows = s.all<BreakRow>();
  for (const BreakCause& cause : break_causes(s, rows)) {
    const BreakRow& b = *cause.rows.front();
    table.element(places.link_of_instruction(place_of(cause)))
        .element("<code>" + escaped(cut(b.expression.empty() ? b.kind : b.expression)) + "</code>")
        .cell(cut(b.reason))
        .cell(cut(b.hint))
        .cell(std::to_string(cause.calls))
        .cell(time_or_dash(cause.ns_per_call));
    table.end();
  }
  return table.empty() ? "" : table.text();
}

std::string guards(const Reader& s, const EntityNames& names, const Places& places) {
  std::string out;
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    const auto rows = s.rows<GuardRow>("compilation = ?1", {c.id}, "ORDER BY ordinal");
    std::vector<const GuardRow*> pointers;
    for (const GuardRow& row : rows) pointers.push_back(&row);
    const auto groups = guard_groups(pointers);
    if (groups.empty()) continue;
    HtmlTable table({"guard", "kind", "expected", "line", ">cost", ">checks", ">fails"});
    for (size_t i = 0; i < std::min(groups.size(), kMostGuards); ++i) {
      const GuardRow& g = *groups[i].rows.front();
      const std::string title = group_title(groups[i]);
      table
          .element("<code>" + escaped(cut(source_text(g.source))) + "</code>" +
                   (title.empty() ? "" : " and others: " + escaped(title)))
          .cell(g.kind)
          .element("<code>" + escaped(cut(group_expected(groups[i]), 120)) + "</code>")
          .element(title.empty() ? places.link_of_instruction(g.instruction) : "")
          .cell(time_or_dash(groups[i].cost_ns))
          .cell(std::to_string(groups[i].checks))
          .cell(std::to_string(groups[i].fails));
      table.end();
    }
    const std::string more =
        groups.size() > kMostGuards
            ? "<p>" + std::to_string(groups.size() - kMostGuards) + " more are left out.</p>\n"
            : "";
    out += folded(escaped(names.compilation(c.id)) + " <span class=quiet>" + std::to_string(rows.size()) +
                      (rows.size() == 1 ? " guard" : " guards") + "</span>",
                  table.text() + more);
  }
  return out;
}

std::string recompilations(const Reader& s, const EntityNames& names) {
  HtmlTable table({"compilation", ">call", "failed guard", "old value", "new value", "instead"});
  for (const RecompilationRow& r : s.all<RecompilationRow>()) {
    table.cell(names.compilation(r.compilation))
        .cell(r.call_of_place ? std::to_string(r.call_of_place) : "–")
        .element("<code>" + escaped(cut(source_text(r.failed))) + "</code>")
        .element("<code>" + escaped(cut(r.old_value, 120)) + "</code>")
        .element("<code>" + escaped(cut(r.new_value, 120)) + "</code>")
        .cell(cut(r.hint));
    table.end();
  }
  return table.empty() ? "" : table.text();
}

namespace {

// "lines 12 to 14 from block.py:32 (gelu)", a line each.
std::string origins_of(const Reader& s, const KernelRow& kernel, const Places& places) {
  std::string out;
  std::set<std::string> told;
  for (const KernelRangeRow& range :
       s.rows<KernelRangeRow>("kernel = ?1", {kernel.id}, "ORDER BY line LIMIT 400")) {
    if (range.text != "source") continue;
    const NodeRow node = s.row<NodeRow>(range.node);
    if (!node.span) continue;
    const std::string line = std::to_string(range.line) +
                             (range.end_line > range.line ? "–" + std::to_string(range.end_line) : "");
    const std::string row = "<li>line " + line + ": <code>" + escaped(cut(node.name, 80)) + "</code> of " +
                            places.link(node.span) + "\n";
    if (told.insert(row).second) out += row;
  }
  return out.empty() ? "" : "<ul>" + out + "</ul>\n";
}

std::string numbered(const std::string& text) {
  std::string out;
  size_t from = 0;
  for (int64_t line = 1; from < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += "<i>" + std::to_string(line) + "</i>" + escaped(std::string_view(text).substr(from, end - from)) +
           "\n";
    from = end + 1;
  }
  return "<pre class=code>" + out + "</pre>\n";
}

struct LaunchSum {
  int64_t count = 0;
  double ns = 0;
};

}  // namespace

std::string kernels(const Reader& s, const EntityNames& names, const Places& places) {
  std::map<Id, LaunchSum> sums;
  for (const LaunchRow& l : s.all<LaunchRow>())
    if (l.kernel) ++sums[l.kernel].count, sums[l.kernel].ns += l.median_ns;
  auto rows = s.all<KernelRow>();
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const KernelRow& a, const KernelRow& b) { return sums[a.id].ns > sums[b.id].ns; });
  HtmlTable table({"kernel", "name", "compilation", "family", "iterates over", ">launches", ">time", ">bytes",
                   ">compiled in"});
  std::string texts;
  std::map<std::string, std::string> told;  // equal texts of several layers stand once
  size_t room = kMostSources;
  for (const KernelRow& k : rows) {
    const std::string anchor = "k" + std::to_string(seq_of(k.id));
    std::string text = k.kind == "generated" ? s.text(k.source) : "";
    const bool long_one = text.size() > kMostSource;
    if (long_one) text.resize(kMostSource);
    const auto [first, fresh] = told.emplace(text, anchor);
    const bool shown = !text.empty() && (!fresh || text.size() <= room);
    table
        .element(shown ? "<a href=\"#" + first->second + "\">" + escaped(k.label) + "</a>" : escaped(k.label))
        .element("<code>" + escaped(cut(k.name, 120)) + "</code>")
        .cell(names.compilation(k.compilation))
        .cell(k.family)
        .cell(cut(k.space, 60))
        .cell(std::to_string(sums[k.id].count))
        .cell(time_or_dash(sums[k.id].ns))
        .cell(k.bytes ? bytes(k.bytes) : "–")
        .cell(time_or_dash(static_cast<double>(k.compile_ns)));
    table.end();
    if (!shown || !fresh) continue;
    room -= text.size();
    texts += "<div id=\"" + anchor + "\">" +
             folded(escaped(k.label + " " + cut(k.name, 120)) + " <span class=quiet>" +
                        escaped(names.compilation(k.compilation) + ", " + k.language) + "</span>",
                    origins_of(s, k, places) + numbered(text) +
                        (long_one ? "<p>The rest is left out.</p>\n" : "")) +
             "</div>\n";
  }
  return table.empty() ? "" : table.text() + texts;
}

std::string totals(const Reader& s, const EntityNames& names) {
  std::string out;
  HtmlTable runs({"run", "entry", "inputs", "device", "mode", "status", ">eager", ">compiled", ">speed-up",
                  ">first call"});
  for (const RunRow& r : s.all<RunRow>()) {
    char ratio[32] = "–";
    if (r.compiled_ns > 0 && r.eager_ns > 0)
      std::snprintf(ratio, sizeof ratio, "%.2f×", r.eager_ns / r.compiled_ns);
    runs.cell(r.label)
        .element("<code>" + escaped(cut(r.entry)) + "</code>")
        .element("<code>" + escaped(cut(r.inputs)) + "</code>");
    runs.cell(r.device)
        .cell(r.mode)
        .cell(r.status)
        .cell(time_or_dash(r.eager_ns))
        .cell(time_or_dash(r.compiled_ns));
    runs.cell(ratio).cell(time_or_dash(static_cast<double>(r.first_call_ns)));
    runs.end();
  }
  if (!runs.empty()) out += runs.text();
  for (const RunRow& r : s.all<RunRow>()) out += "<p>" + escaped(verdict_of(s, r).text()) + "</p>\n";
  HtmlTable compilations({"compilation", "status", ">calls", ">compiled in", "longest stages"});
  const auto stages = s.all<StageRow>();
  const bool gpu = !s.all<GpuKernelRow>().empty();
  auto title = [&](const StageRow& row) {
    const StageInfo* stage = find_timed_stage(row.name);
    return stage ? std::string(stage_title(*stage, gpu)) : row.name;
  };
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    std::vector<const StageRow*> own;
    for (const StageRow& stage : stages)
      if (stage.compilation == c.id && stage.duration_ns > 0) own.push_back(&stage);
    std::stable_sort(own.begin(), own.end(),
                     [](const StageRow* a, const StageRow* b) { return a->duration_ns > b->duration_ns; });
    std::string longest;
    for (size_t i = 0; i < std::min<size_t>(3, own.size()); ++i)
      longest +=
          (i ? ", " : "") + title(*own[i]) + " " + nanoseconds(static_cast<double>(own[i]->duration_ns));
    compilations.cell(names.compilation(c.id)).cell(c.status).cell(std::to_string(c.calls));
    compilations.cell(time_or_dash(static_cast<double>(c.duration_ns))).cell(longest);
    compilations.end();
  }
  return compilations.empty() ? out : out + compilations.text();
}

}  // namespace vitrine::cli::page
