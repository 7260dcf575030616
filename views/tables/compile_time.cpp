#include "views/tables/compile_time.h"

#include <algorithm>

#include "core/session/built_kernels.h"
#include "core/session/stages.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"
#include "views/tables/cells.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// "12 compiled", "all 12 from the cache", "3 compiled, 9 from the cache".
struct Warmth {
  int64_t compiled = 0, cached = 0;
  void add(const SessionData& data, Id compilation) {
    const BuiltKernels built = built_of(data.kernels.of(compilation));
    compiled += built.compiled, cached += built.cached;
  }
  QString text() const {
    if (!cached)
      return compiled ? QStringLiteral("cold: %1 compiled").arg(countText(compiled, "kernel")) : QString();
    if (!compiled) return QStringLiteral("warm: %1 from the cache").arg(countText(cached, "kernel"));
    return QStringLiteral("%1 compiled, %2 from the cache").arg(countText(compiled, "kernel")).arg(cached);
  }
};

double sum_of(const std::vector<CompilePart>& parts) {
  double ns = 0;
  for (const CompilePart& part : parts) ns += std::max(part.ns, part.work);
  return ns;
}

void longest_first(std::vector<CompilePart>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const CompilePart& a, const CompilePart& b) {
    return std::max(a.ns, a.work) > std::max(b.ns, b.work);
  });
}

QString title_of(const SessionData& data, Id compilation, const StageRow& stage) {
  const StageInfo* info = find_timed_stage(stage.name);
  if (!info) return q(stage.name);
  const std::string_view title = stage_title(*info, data.isGpu(compilation));
  return vitrine::s(title);
}

QString count_of(const StageRow& stage) {
  if (stage.count <= 0) return {};
  return stage.name == "memory" ? bytesText(static_cast<double>(stage.count)) : QString::number(stage.count);
}

std::vector<CompilePart> passes_of(const SessionData& data, Id compilation, const StageRow& stage) {
  std::vector<CompilePart> out;
  for (const GraphRow& graph : data.graphs.of(compilation))
    if (graph.stage == stage.name && !graph.pass.empty() && graph.duration_ns > 0)
      out.push_back(
          {graph.id, q(graph.pass), {}, q(graph.sentence), "", static_cast<double>(graph.duration_ns)});
  longest_first(out);
  return out;
}

// The kernels of a compilation by what compiling each took. work: what all took, whose rest is that of
// candidates.
std::vector<CompilePart> kernels_of(const SessionData& data, Id compilation, double work) {
  std::vector<CompilePart> out;
  double sum = 0;
  for (const KernelRow& kernel : data.kernels.of(compilation)) {
    if (kernel.kind != "generated") continue;
    const double ns = kernel.cached ? 0 : static_cast<double>(kernel.compile_ns);
    sum += ns;
    out.push_back({kernel.id,
                   data.label(kernel.id),
                   {},
                   kernel.cached           ? QStringLiteral("from the cache")
                   : !kernel.error.empty() ? q(kernel.error)
                   : ns > 0                ? QString()
                                           : QStringLiteral("the same text as another's"),
                   "kernel",
                   ns});
  }
  if (work > sum * 1.01)
    out.push_back({0,
                   QStringLiteral("candidates"),
                   {},
                   QStringLiteral("compiled to be measured, and not kept"),
                   "kernel",
                   work - sum});
  longest_first(out);
  return out;
}

// Compilers work at the same time: what they took together stands between the stage and its kernels, where it
// is more than the stage took.
void add_kernels(const SessionData& data, Id compilation, double work, int64_t workers, CompilePart& stage) {
  std::vector<CompilePart> kernels = kernels_of(data, compilation, work);
  const double sum = sum_of(kernels);
  if (sum <= stage.ns) {
    stage.parts = std::move(kernels);
    return;
  }
  for (CompilePart& kernel : kernels) {
    kernel.work = kernel.ns;
    kernel.ns = kernel.ns * stage.ns / sum;
  }
  const QString at_once = workers > 1 ? QStringLiteral(", %1 at once").arg(workers) : QString();
  stage.parts.push_back({0,
                         QStringLiteral("side by side") + at_once,
                         {},
                         QStringLiteral("of work, in %1 on the clock").arg(timeText(stage.ns)),
                         "",
                         stage.ns,
                         sum,
                         workers,
                         false,
                         std::move(kernels)});
}

// What each stage took of the clock: the time in which a later one had begun is that one's. Where no start
// is known, all begin at once.
std::vector<double> own_times(const std::vector<const StageRow*>& rows) {
  std::vector<double> out;
  const bool known = std::any_of(
      rows.begin(), rows.end(), [&](const StageRow* row) { return row->start_ns != rows.front()->start_ns; });
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t from = rows[i]->start_ns, to = from + rows[i]->duration_ns;
    int64_t own = to - from, end = from;
    for (size_t later = i + 1; known && later < rows.size(); ++later) {
      const int64_t begin = std::max(end, rows[later]->start_ns);
      const int64_t until = std::min(to, rows[later]->start_ns + rows[later]->duration_ns);
      own -= std::max<int64_t>(0, until - begin);
      end = std::max(end, until);
    }
    out.push_back(static_cast<double>(own));
  }
  return out;
}

CompilePart stage_part(const SessionData& data, const CompilationRow& c, const StageRow& row, double own) {
  CompilePart out{0, title_of(data, c.id, row), count_of(row), q(row.note), "", own};
  const auto all = static_cast<double>(row.duration_ns);
  if (own < all * 0.99) {
    const QString beside = QStringLiteral("%1 more beside later stages").arg(timeText(all - own));
    out.note += (out.note.isEmpty() ? "" : "; ") + beside;
  }
  return out;
}

// The kernel compiler makes IR and machine code in one go, kernel by kernel. Of older sessions its time
// stands at the texts.
std::vector<CompilePart> stages_of(const SessionData& data, const CompilationRow& c) {
  std::vector<const StageRow*> rows;
  for (const StageRow& row : data.stages.of(c.id))
    if (row.duration_ns > 0) rows.push_back(&row);
  const std::vector<double> own = own_times(rows);
  std::vector<CompilePart> out;
  CompilePart machine;
  double rest = static_cast<double>(c.duration_ns), work = 0;
  int64_t workers = 0;
  const StageRow* assembly = data.stage(c.id, "assembly");
  const bool separate = assembly && assembly->duration_ns > 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const StageRow& row = *rows[i];
    CompilePart part = stage_part(data, c, row, own[i]);
    rest -= own[i];
    if (separate ? row.name == "ir" || row.name == "assembly" : row.name == "kernels") {
      work += static_cast<double>(row.work_ns);
      workers = std::max(workers, row.workers);
      const QString title = machine.name.isEmpty() ? part.name : machine.name + ", " + part.name;
      part.ns += machine.ns;
      machine = std::move(part), machine.name = title;
      continue;
    }
    part.parts = passes_of(data, c.id, row);
    out.push_back(std::move(part));
  }
  if (machine.ns > 0) {
    add_kernels(data, c.id, work, workers, machine);
    out.push_back(std::move(machine));
  }
  if (!out.empty() && rest > 0)
    out.push_back({0,
                   QStringLiteral("between the stages"),
                   {},
                   QStringLiteral("guards, writing of the capture, keeping of the program"),
                   "",
                   rest});
  return out;
}

}  // namespace

CompilePart compile_time(const TableScope& s) {
  const Id own = s.compilation ? s.data.runOf(s.compilation) : 0;
  CompilePart out{own ? own : s.run, QStringLiteral("Compiling")};
  Warmth all;
  int64_t count = 0;
  for (const FrameRow& frame : s.data.frames.of(out.id)) {
    CompilePart of_frame{frame.id, s.data.label(frame.id), {}, {}, "function"};
    Warmth warmth;
    for (const SegmentRow& segment : s.data.segments.of(frame.id))
      for (const CompilationRow& c : s.data.compilations.of(segment.id)) {
        Warmth one;
        one.add(s.data, c.id), warmth.add(s.data, c.id), all.add(s.data, c.id);
        of_frame.parts.push_back({c.id, q(c.label),
                                  s.data.imported() ? QString() : countText(c.calls, "call"), one.text(),
                                  "graph", static_cast<double>(c.duration_ns)});
        of_frame.parts.back().parts = stages_of(s.data, c);
      }
    if (of_frame.parts.empty()) continue;
    const auto made = static_cast<int64_t>(of_frame.parts.size());
    of_frame.count = countText(made, "compilation"), of_frame.note = warmth.text();
    of_frame.ns = sum_of(of_frame.parts);
    of_frame.open = made < 8;
    count += made;
    out.parts.push_back(std::move(of_frame));
  }
  out.count = countText(count, "compilation"), out.note = all.text();
  out.ns = sum_of(out.parts);
  return out;
}

}  // namespace vitrine::views
