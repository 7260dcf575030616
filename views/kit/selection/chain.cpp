#include "views/kit/selection/chain.h"

#include <algorithm>

#include "core/session/launches.h"
#include "core/session/stages.h"
#include "views/kit/session/labels.h"
#include "views/kit/text/numbers.h"

namespace vitrine::kit {

using namespace session;

namespace {

// The chain's links in order; what of a relative belongs to each.
struct LinkRowInfo {
  const char *stage, *icon;
  Kind kind;
  const char* node_stage;  // for nodes: the graph stage
  bool quiet = false;      // left out when it names the same as the link before
};
constexpr LinkRowInfo kLinkRows[] = {
    {"source", "file", Kind::Span, ""},
    {"bytecode", "bytecode", Kind::Instruction, ""},
    {"captured", "graph", Kind::Node, "captured"},
    {"ATen", "graph", Kind::Node, "aten"},
    {"joint", "graph", Kind::Node, "joint"},
    {"forward", "graph", Kind::Node, "forward"},
    {"backward", "graph", Kind::Node, "backward"},
    {"decomposed", "graph", Kind::Node, "decomposed", true},
    {"optimised", "graph", Kind::Node, "optimised"},
    {"loop", "segment", Kind::Node, "loops", true},
    {"fused", "layers", Kind::Node, "fused", true},
    {"pair", "layers", Kind::Decision, ""},
    {"guard", "guard", Kind::Guard, ""},
    {"break", "scissors", Kind::Break, ""},
    {"recompilation", "refresh", Kind::Recompilation, ""},
    {"continues", "segment", Kind::Segment, ""},
    {"kernel", "kernel", Kind::Kernel, ""},
    {"assembly", "code", Kind::KernelRange, ""},
    {"launch", "launch", Kind::Launch, ""},
    {"timeline", "timeline", Kind::None, ""},
};

class ChainFinder {
 public:
  ChainFinder(const SessionData& session, const Selection& selection) : d_(session), s_(selection) {
    all_.push_back(s_.active);
    if (s_.relatives && s_.relatives->of == s_.active) {
      all_.insert(all_.end(), s_.relatives->origins.begin(), s_.relatives->origins.end());
      all_.insert(all_.end(), s_.relatives->derived.begin(), s_.relatives->derived.end());
      addKernelOfLines();
      if (const auto* pair = d_.decisions.find(s_.active)) all_.insert(all_.end(), {pair->a, pair->b});
    }
  }

  std::vector<ChainLink> run() {
    std::vector<ChainLink> out;
    for (const LinkRowInfo& row : kLinkRows) {
      ChainLink link = row.kind == Kind::None ? timeline() : this->link(row);
      if (link.text.isEmpty()) continue;
      // A stage that kept the name says nothing new, unless it is the one that was clicked.
      const bool repeats = row.quiet && !link.ring && !out.empty() && out.back().text == link.text;
      if (repeats) continue;
      // Decomposing tells less than what passes made of it, when both name the same.
      if (!out.empty() && out.back().stage == QLatin1String("decomposed") && !out.back().ring &&
          out.back().text == link.text)
        out.pop_back();
      out.push_back(std::move(link));
    }
    return out;
  }

 private:
  // Lines of a kernel belong to it and run when it is launched, whatever became of them in its assembly.
  void addKernelOfLines() {
    const KernelRangeRow* lines = d_.ranges.find(s_.active);
    const KernelRow* kernel = lines ? d_.kernels.find(lines->kernel) : nullptr;
    if (!kernel) return;
    auto add = [this](Id id) {
      if (std::find(all_.begin(), all_.end(), id) == all_.end()) all_.push_back(id);
    };
    add(kernel->id);
    for (const LaunchRow& launch : d_.launches.of(kernel->compilation))
      if (launch.kernel == kernel->id) add(launch.id);
  }

  // Of one stage only its last snapshot stands in the chain, unless an earlier one's node is active.
  bool belongs(Id id, const LinkRowInfo& row) const {
    if (kind_of(id) != row.kind) return false;
    if (row.kind == Kind::Node) {
      const NodeRow* node = d_.nodes.find(id);
      const GraphRow* graph = node ? d_.graphs.find(node->graph) : nullptr;
      if (!graph || graph->stage != row.node_stage) return false;
      const GraphRow* last = d_.lastGraph(graph->compilation, graph->stage);
      return id == s_.active || last == graph;
    }
    // Guards and pairs are named only when they are what was clicked: a node has many.
    if (row.kind == Kind::Guard || row.kind == Kind::Decision) return id == s_.active;
    if (row.kind == Kind::KernelRange) {
      const KernelRangeRow* range = d_.ranges.find(id);
      return range && range->text == "assembly";
    }
    return true;
  }

  ChainLink link(const LinkRowInfo& row) const {
    std::vector<Id> ids;
    for (Id id : all_)
      if (belongs(id, row) && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    if (ids.empty()) return {};
    // What is the active thing's alone says more than what it shares.
    auto alone = [this](Id id) {
      return id == s_.active || (s_.relatives && s_.relatives->only.contains(id));
    };
    if (std::any_of(ids.begin(), ids.end(), alone)) std::erase_if(ids, [&](Id id) { return !alone(id); });
    if (std::find(ids.begin(), ids.end(), s_.active) != ids.end()) ids = {s_.active};
    if (row.kind == Kind::Span || row.kind == Kind::Instruction) keepNearest(ids);
    ChainLink out{QString::fromLatin1(row.stage),
                  textOf(row, ids),
                  ids.front(),
                  ids.front() == s_.active,
                  QString::fromLatin1(row.icon),
                  ids};
    if (row.kind == Kind::Kernel) withLines(out);
    return out;
  }

  // A thing may stem from several expressions; the nearest is the one a person means.
  static void keepNearest(std::vector<Id>& ids) { ids.resize(1); }

  QString textOf(const LinkRowInfo& row, const std::vector<Id>& ids) const {
    if (row.kind == Kind::KernelRange) return assemblyText(ids);
    if (row.kind == Kind::Launch) {
      const LaunchRow* launch = d_.launches.find(ids.front());
      return ids.size() == 1 && launch
                 ? QString::number(launch_number(d_.launches.of(launch->compilation), launch->ordinal))
                 : QString::number(ids.size()) + " launches";
    }
    QString text = d_.label(ids.front());
    if (ids.size() > 1) text += ", " + d_.label(ids[1]);
    if (ids.size() > 2) text += QStringLiteral(" +%1").arg(ids.size() - 2);
    return text;
  }

  QString assemblyText(const std::vector<Id>& ids) const {
    int64_t lines = 0;
    for (Id id : ids)
      if (const KernelRangeRow* range = d_.ranges.find(id)) lines += range->end_line - range->line + 1;
    return QStringLiteral("%1 instr").arg(lines);
  }

  // "K2 99–103": the source lines that are the active thing's, when the kernel holds others too.
  void withLines(ChainLink& link) const {
    if (link.ids.size() != 1 || link.ring) return;
    for (Id id : all_) {
      const KernelRangeRow* range = d_.ranges.find(id);
      // Of the kernel's other texts, as its IR, the lines that were clicked.
      if (!range || range->kernel != link.id || range->text == "assembly") continue;
      if (range->text != "source" && id != s_.active) continue;
      link.text = d_.label(id);
      link.ring = id == s_.active;
      link.ids.push_back(id);
      link.id = id;
      return;
    }
  }

  ChainLink timeline() const {
    double ns = 0;
    std::vector<Id> launches;
    for (Id id : all_)
      if (const LaunchRow* launch = d_.launches.find(id)) {
        ns += launch->median_ns;
        launches.push_back(id);
      }
    if (launches.empty() || ns <= 0) return {};
    return {QStringLiteral("timeline"), timeText(ns), launches.front(), false,
            QStringLiteral("timeline"), launches};
  }

  const SessionData& d_;
  const Selection& s_;
  std::vector<Id> all_;
};

}  // namespace

std::vector<ChainLink> chainOf(const SessionData& session, const Selection& selection) {
  if (!selection.active) return {};
  return ChainFinder(session, selection).run();
}

}  // namespace vitrine::kit
