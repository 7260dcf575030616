#include "app/cli/problem_list.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "app/cli/run_times.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/base/words.h"
#include "core/session/source_text.h"
#include "core/session/verdict.h"

namespace vitrine::cli {

using namespace session;

namespace {

using Urgency = SessionProblem::Urgency;
using Problems = std::vector<SessionProblem>;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void add_messages(const Reader& s, const EntityNames& names, Problems& out) {
  for (const MessageRow& m : s.all<MessageRow>()) {
    if (m.severity == "info" || kind_of(m.entity) == Kind::Break) continue;
    const bool fails = m.severity == "error";
    const std::string place = kind_of(m.entity) == Kind::Span ? names.place(m.entity) : "";
    std::string more = first_line(m.hint);
    if (fails && !m.detail.empty() && s.row<RunRow>(m.run).status == "died")
      more += (more.empty() ? "It wrote last:\n" : "\nIt wrote last:\n") + m.detail;
    out.push_back(
        {fails ? Urgency::Failure : Urgency::Fallback, first_line(m.text), place, more, "messages"});
  }
}

// Nothing else tells of an engine that could not say why it ended.
void add_deaths(const Reader& s, Problems& out) {
  const auto messages = s.all<MessageRow>();
  const auto told = [&](const RunRow& run) {
    return std::any_of(messages.begin(), messages.end(),
                       [&](const MessageRow& m) { return m.severity == "error" && m.run == run.id; });
  };
  for (const RunRow& run : s.all<RunRow>())
    if (run.status == "died" && !told(run))
      out.push_back({Urgency::Failure, run.label + ": the engine stopped before the run ended", "",
                     "What was recorded until then is shown.", "runs"});
}

void add_outputs(const Reader& s, Problems& out) {
  for (const AccuracyRow& a : s.all<AccuracyRow>())
    if (a.verdict == "differs")
      out.push_back({Urgency::Difference, a.output + " differs from eager", "", a.message, "accuracy"});
}

void add_fallbacks(const Reader& s, const EntityNames& names, Problems& out) {
  for (const CompilationRow& c : s.all<CompilationRow>())
    if (c.status == "failed" || c.status == "cancelled")
      out.push_back({Urgency::Fallback, names.compilation(c.id) + " " + c.status + ": eager's result is used",
                     "", first_line(c.message), "stages"});
  for (const KernelRow& k : s.all<KernelRow>())
    if (!k.error.empty())
      out.push_back({Urgency::Fallback,
                     names.compilation(k.compilation) + ": kernel " + k.label + " " + k.name +
                         " did not compile: PyTorch computes it",
                     "", first_line(k.error), "kernels"});
  for (const FrameRow& f : s.all<FrameRow>())
    if (f.state != "captured")
      out.push_back({Urgency::Fallback,
                     s.row<CodeRow>(f.code).qualname +
                         (f.state == "skipped" ? " was skipped: it runs as eager" : " runs as eager"),
                     "", first_line(f.reason), "bytecode"});
}

void add_breaks(const Reader& s, const EntityNames& names, Problems& out) {
  const auto breaks = s.all<BreakRow>();
  for (const BreakCause& cause : break_causes(s, breaks)) {
    const BreakRow& b = *cause.rows.front();
    SessionProblem p{Urgency::Break,
                     b.expression.empty() ? b.kind : b.expression,
                     names.place_of_instruction(place_of(cause)),
                     b.reason,
                     "breaks",
                     std::max<int64_t>(1, cause.calls),
                     cause.ns_per_call};
    if (p.ns_per_call > 0) p.price = nanoseconds(p.ns_per_call) + " a call";
    out.push_back(std::move(p));
  }
}

// One row for each value that changed at a place, however often it did.
void add_recompilations(const Reader& s, Problems& out) {
  std::map<std::pair<std::string, std::string>, size_t> known;
  std::map<Id, int64_t> took;
  for (const CompilationRow& c : s.all<CompilationRow>()) took[c.id] = c.duration_ns;
  for (const RecompilationRow& r : s.all<RecompilationRow>()) {
    const std::string failed = source_text(r.failed);
    const std::string asked = failed.substr(0, failed.find(" == "));
    const auto [at, fresh] = known.try_emplace({asked, r.call_site}, out.size());
    if (fresh) {
      out.push_back({Urgency::Recompilation, asked + ": " + r.old_value + " → " + r.new_value,
                     file_name(r.call_site), r.hint, "recompilations", 0});
    }
    SessionProblem& p = out[at->second];
    ++p.times;
    p.ns_per_call += static_cast<double>(took[r.compilation]);
    p.price = nanoseconds(p.ns_per_call) + " to compile";
  }
}

void add_times(const Reader& s, Problems& out) {
  const bool compiled = !s.all<CompilationRow>().empty();  // else there are no times that could be doubted
  for (const RunRow& run : s.all<RunRow>()) {
    const RunTimes times = times_of(s, run);
    if (times.speed_up.known() && times.speed_up.ratio < 1)
      out.push_back(
          {Urgency::Slower,
           run.label + ": compiled " + nanoseconds(run.compiled_ns) + ", eager " + nanoseconds(run.eager_ns),
           "", "", "timeline", 1, run.compiled_ns - run.eager_ns,
           nanoseconds(run.compiled_ns - run.eager_ns) + " a call"});
    if (const std::string doubt = times.doubt(TimesOf::Both); compiled && !doubt.empty())
      out.push_back({Urgency::Hint, "times are doubtful", "", doubt, "runs"});
  }
}

// Fusions that were not made, by reason, with the bytes that each would have saved a call.
void add_missed_fusions(const Reader& s, Problems& out) {
  struct Missed {
    int64_t times = 0, bytes = 0;
    double ns = 0;
    std::string pair;
  };
  std::map<std::string, Missed> missed;
  for (const DecisionRow& d : s.all<DecisionRow>()) {
    if (d.verdict == "fused" || d.est_ns == 0) continue;  // what is only counted stands among the decisions
    Missed& m = missed[d.reason.substr(0, d.reason.find(", saves "))];
    if (!m.times++) m.pair = s.row<NodeRow>(d.a).name + " → " + s.row<NodeRow>(d.b).name;
    m.bytes += d.bytes_saved;
    m.ns += d.est_ns;
  }
  for (const auto& [reason, m] : missed)
    out.push_back({Urgency::Hint, "not fused: " + m.pair, "", reason, "decisions", m.times, m.ns,
                   m.ns > 0 ? nanoseconds(m.ns) + " a call" : bytes(m.bytes) + " moved a call"});
}

// Equal layers have a kernel each with the same text: it stands once, by the label of the first.
void add_spills(const Reader& s, const EntityNames& names, Problems& out) {
  std::map<std::tuple<Id, std::string, int64_t>, size_t> known;
  for (const KernelRow& k : s.all<KernelRow>()) {
    if (k.spills <= 0) continue;
    const auto [at, fresh] = known.try_emplace({k.compilation, k.name, k.spills}, out.size());
    if (fresh)
      out.push_back({Urgency::Hint,
                     names.compilation(k.compilation) + ": kernel " + k.label + " " + k.name +
                         " does not fit into registers",
                     "", std::to_string(k.spills) + " spills", "kernels"});
    else
      ++out[at->second].times;
  }
}

void add_remarks(const Reader& s, Problems& out) {
  std::map<std::string, std::pair<std::string, int64_t>> missed;  // what is said of spills stands above
  for (const RemarkRow& r : s.all<RemarkRow>()) {
    if (r.kind != "missed" || r.text.find(" spills in the kernel") != std::string::npos) continue;
    auto& [label, times] = missed[r.text];
    if (!times++) label = s.row<KernelRow>(r.kernel).label;
  }
  for (const auto& [text, of] : missed)
    out.push_back({Urgency::Hint, "kernel " + of.first + ": " + text, "", "", "remarks", of.second});
}

// Equal ones stand once, where the first stood.
Problems grouped(Problems found) {
  std::map<std::tuple<Urgency, std::string, std::string, std::string>, size_t> known;
  Problems out;
  for (SessionProblem& p : found) {
    const auto [at, fresh] = known.try_emplace({p.kind, p.text, p.place, p.more}, out.size());
    if (fresh)
      out.push_back(std::move(p));
    else
      out[at->second].times += p.times;
  }
  return out;
}

}  // namespace

std::string_view word_of(SessionProblem::Urgency kind) {
  static constexpr std::array<std::string_view, 7> kWords = {
      "failure", "differs", "fallback", "graph break", "recompilation", "slower than eager", "hint"};
  return kWords[static_cast<size_t>(kind)];
}

std::vector<SessionProblem> problems_of(const Reader& s) {
  const EntityNames names(s);
  Problems out;
  add_deaths(s, out);
  add_messages(s, names, out);
  add_outputs(s, out);
  add_fallbacks(s, names, out);
  add_breaks(s, names, out);
  add_recompilations(s, out);
  add_times(s, out);
  add_missed_fusions(s, out);
  add_spills(s, names, out);
  add_remarks(s, out);
  out = grouped(std::move(out));
  std::stable_sort(out.begin(), out.end(), [](const SessionProblem& a, const SessionProblem& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.ns_per_call > b.ns_per_call;
  });
  return out;
}

}  // namespace vitrine::cli
