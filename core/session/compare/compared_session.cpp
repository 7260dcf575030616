#include "core/session/compare/compared_session.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/session/doubts.h"
#include "core/session/source_text.h"
#include "core/session/verdict.h"

namespace vitrine::session {

namespace {

// Without addresses, which differ from process to process.
std::string without_addresses(std::string text) {
  static constexpr std::string_view kAt = " at 0x";
  for (size_t at = text.find(kAt); at != std::string::npos; at = text.find(kAt, at))
    text.erase(at, text.find_first_not_of("0123456789abcdef", at + kAt.size()) - at);
  return text;
}

// The last graph whose nodes say which launch they became part of, or else the last one with nodes.
std::vector<NodeRow> last_nodes(const Reader& s, Id compilation) {
  std::vector<NodeRow> last;
  for (const GraphRow& graph : s.rows<GraphRow>("compilation = ?1", {compilation}, "ORDER BY ordinal DESC")) {
    auto nodes = s.rows<NodeRow>("graph = ?1 AND kind = 'op'", {graph.id}, "ORDER BY ordinal");
    if (nodes.empty()) continue;
    if (graph.stage == "fused") return nodes;
    if (last.empty()) last = std::move(nodes);
  }
  return last;
}

class ProgramReading {
 public:
  ProgramReading(const Reader& s, const CompilationRow& row, std::string key) : s_(s), row_(row) {
    out_.id = row.id;
    out_.key = std::move(key);
    out_.label = row.label;
    out_.status = row.status;
    out_.end = row.end;
    out_.message = row.message;
    out_.compile_ns = row.duration_ns;
  }

  ComparedProgram read() {
    out_.calls = captured_calls(s_, row_.id);
    add_nodes();
    add_kernels();
    add_rejected();
    for (const GuardRow& g : rows<GuardRow>())
      out_.guards.insert(without_addresses(source_text(g.source) + ", " + g.kind +
                                           (g.expected.empty() ? "" : ": " + g.expected)));
    for (const CallRow& call : s_.rows<CallRow>("compilation = ?1 AND kind = 'hit'", {row_.id}))
      out_.hits_ns.push_back(static_cast<double>(call.duration_ns));
    for (const StageRow& stage : s_.rows<StageRow>("compilation = ?1 AND name = 'memory'", {row_.id}))
      out_.temporary_bytes = std::max(out_.temporary_bytes, stage.count);
    for (const PartitionRow& p : s_.rows<PartitionRow>("compilation = ?1", {row_.id}))
      out_.saved_bytes += p.saved_bytes;
    return std::move(out_);
  }

 private:
  template <class Row>
  std::vector<Row> rows() const {
    return s_.rows<Row>("compilation = ?1", {row_.id}, "ORDER BY ordinal");
  }

  void add_nodes() {
    std::map<std::string, int> equals;
    for (const NodeRow& node : last_nodes(s_, row_.id)) {
      const std::string what = (node.module.empty() ? "" : node.module + " ") + node.op;
      ComparedNode made{what + " #" + std::to_string(equals[what]++), node.name, node.type, node.group_label};
      by_stable_[node.stable] = made.key;
      out_.nodes.push_back(std::move(made));
    }
  }

  void add_kernels() {
    std::map<Id, ComparedKernel> kernels;
    std::vector<Id> order;
    std::map<std::string, std::set<std::string>> nodes;  // by the kernel's label
    for (const ComparedNode& node : out_.nodes) nodes[node.group].insert(node.key);
    for (const KernelRow& k : rows<KernelRow>()) {
      ComparedKernel made{k.label, k.name, k.kind, k.space, s_.text(k.source)};
      made.spills = k.spills;
      made.bytes = k.bytes;
      if (const auto of = nodes.find(k.label); of != nodes.end()) made.nodes = of->second;
      order.push_back(k.id);
      kernels[k.id] = std::move(made);
    }
    for (const LaunchRow& l : rows<LaunchRow>()) {
      const auto at = kernels.find(l.kernel);
      if (at == kernels.end()) continue;
      ComparedKernel& k = at->second;
      k.ns += l.median_ns, k.lower_ns += l.lower_ns, k.upper_ns += l.upper_ns;
      k.calls = k.launches++ ? std::min(k.calls, l.calls) : l.calls;
    }
    for (const Id id : order) out_.kernels.push_back(std::move(kernels[id]));
  }

  void add_rejected() {
    for (const DecisionRow& d : rows<DecisionRow>()) {
      if (d.verdict == "fused") continue;
      const auto a = by_stable_.find(s_.row<NodeRow>(d.a).stable),
                 b = by_stable_.find(s_.row<NodeRow>(d.b).stable);
      if (a == by_stable_.end() || b == by_stable_.end()) continue;
      out_.rejected[std::minmax(a->second, b->second)] = d.reason;
    }
  }

  const Reader& s_;
  const CompilationRow& row_;
  ComparedProgram out_;
  std::map<int64_t, std::string> by_stable_;
};

void add_programs(const Reader& s, const std::string& only, ComparedSession& out) {
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    if (!only.empty() && c.label != only) continue;
    const FrameRow frame = s.row<FrameRow>(s.row<SegmentRow>(c.segment).frame);
    // Of one compilation against another its label says nothing.
    const std::string key = s.row<CodeRow>(frame.code).qualname + (only.empty() ? " " + c.label : "");
    out.programs.push_back(ProgramReading(s, c, key).read());
  }
}

void add_breaks(const Reader& s, ComparedSession& out) {
  const auto breaks = s.all<BreakRow>();
  for (const BreakCause& cause : break_causes(s, breaks)) {
    const BreakRow& b = *cause.rows.front();
    const SpanRow span = s.row<SpanRow>(s.row<InstructionRow>(place_of(cause)).span);
    const std::string file = span.id ? file_name(s.row<FileRow>(span.file).path) : "";
    ComparedBreak& made = out.breaks[file + " " + b.kind + " " + b.expression];
    made.text = b.expression.empty() ? b.kind : b.expression;
    if (span.id) made.place = file + ":" + std::to_string(span.line) + ":" + std::to_string(span.col);
    made.reason = b.reason;
    made.calls += cause.calls;
    made.ns_per_call += cause.ns_per_call;
  }
}

void add_capture(const Reader& s, ComparedSession& out) {
  for (const FrameRow& f : s.all<FrameRow>())
    out.frames[s.row<CodeRow>(f.code).qualname] = f.state + (f.reason.empty() ? "" : ": " + f.reason);
  for (const RecompilationRow& r : s.all<RecompilationRow>()) {
    const std::string failed = source_text(r.failed);
    out.recompilations[failed.substr(0, failed.find(" == "))] = r.old_value + " → " + r.new_value;
  }
  add_breaks(s, out);
}

void add_runs(const Reader& s, ComparedSession& out) {
  static const std::set<std::string> kHere = {"vitrine", "torch", "python", "system",
                                              "cpu",     "isa",   "gpu",    "cores"};
  for (const MetaRow& row : s.all<MetaRow>()) {
    out.imported = out.imported || row.key == "imported";
    if (kHere.contains(row.key)) out.environment[row.key] = row.value;
    if (row.key == "arguments" || row.key == "threads") out.settings[row.key] = row.value;
  }
  for (const RunRow& run : s.all<RunRow>()) {
    out.settings["entry"] = run.entry, out.settings["inputs"] = run.inputs;
    out.settings["device"] = run.device, out.settings["mode"] = run.mode;
    if (out.status.empty() || run.status != "finished") out.status = run.status;
  }
  for (const TimingRow& t : s.all<TimingRow>("ORDER BY run, ordinal"))
    (t.side == "eager" ? out.eager_ns : out.compiled_ns).push_back(static_cast<double>(t.ns));
  for (const MeasurementRow& m : s.all<MeasurementRow>()) out.busy = out.busy || was_busy(m);
  for (const AccuracyRow& a : s.all<AccuracyRow>()) out.outputs[a.output] = {a.verdict, a.message, a.max_abs};
  for (const MessageRow& m : s.all<MessageRow>())
    if (m.severity != "info" && kind_of(m.entity) != Kind::Break)
      out.failures.push_back(m.text.substr(0, m.text.find('\n')));
}

}  // namespace

ComparedSession compared_session(const Reader& session, const std::string& compilation) {
  ComparedSession out;
  out.path = session.path();
  add_programs(session, compilation, out);
  if (!compilation.empty()) {
    out.status = "finished";
    return out;
  }
  add_capture(session, out);
  add_runs(session, out);
  for (ComparedProgram& p : out.programs) p.busy = out.busy, p.imported = out.imported;
  return out;
}

}  // namespace vitrine::session
