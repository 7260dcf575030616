#include "views/runs/runs_items.h"

#include <algorithm>
#include <unordered_map>

#include "core/session/break_causes.h"
#include "views/kit/session/alike.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/verdict.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::Cell;
using kit::Item;
using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

Cell word(const QString& text, const char* icon, bool quiet = false) {
  Cell cell;
  cell.text = text;
  cell.icon = QString::fromLatin1(icon);
  cell.quiet = quiet;
  return cell;
}

Cell number(const QString& text) {
  Cell cell;
  cell.text = text;
  cell.quiet = true;
  return cell;
}

QString counted(int64_t n, const char* what) {
  return QStringLiteral("%1 %2%3").arg(n).arg(QString::fromLatin1(what), n == 1 ? "" : "s");
}

using EqualRows = std::vector<const KernelRow*>;  // kernels of equal layers: one or more

// One unit for the times that stand below each other: launches of a run, guards of a compilation.
struct Units {
  kit::MeasureUnit calls, kernels, compile;
  std::unordered_map<Id, std::vector<const LaunchRow*>> launches;  // by kernel
  std::unordered_map<Id, std::vector<EqualRows>> equal;            // by compilation
  const std::vector<const LaunchRow*>& launchesOf(Id kernel) const {
    static const std::vector<const LaunchRow*> none;
    const auto found = launches.find(kernel);
    return found == launches.end() ? none : found->second;
  }
};

double launched_ns(const SessionData& d, Id compilation) {
  double ns = 0;
  for (const LaunchRow& launch : d.launches.of(compilation)) ns += launch.median_ns;
  return ns;
}

double nsOf(const EqualRows& equal, const Units& units) {
  double ns = 0;
  for (const KernelRow* each : equal)
    for (const LaunchRow* launch : units.launchesOf(each->id)) ns += launch->median_ns;
  return ns;
}

void addKernels(const SessionData& d, Id compilation, Units& units, kit::Extent& to) {
  EqualRows all;
  for (const KernelRow& kernel : d.kernels.of(compilation)) all.push_back(&kernel);
  auto& equal = units.equal[compilation] =
      kit::groupedBy(all, [&](const KernelRow* each) { return kit::equalBy(d, *each); });
  for (const EqualRows& rows : equal) to.add(nsOf(rows, units));
  for (const KernelRow* each : all) to.add(nsOf({each}, units));
}

double compileTime(const SessionData& d, const FrameRow& frame) {
  double ns = 0;
  for (const SegmentRow& segment : d.segments.of(frame.id))
    for (const CompilationRow& each : d.compilations.of(segment.id))
      ns += static_cast<double>(each.duration_ns);
  return ns;
}

Units unitsOf(const SessionData& d, const RunRow& run) {
  Units out;
  for (const LaunchRow& launch : d.launches) out.launches[launch.kernel].push_back(&launch);
  kit::Extent calls, kernels, compile;
  for (const FrameRow& frame : d.frames.of(run.id)) {
    compile.add(compileTime(d, frame));
    for (const SegmentRow& segment : d.segments.of(frame.id))
      for (const CompilationRow& each : d.compilations.of(segment.id)) {
        calls.add(launched_ns(d, each.id));
        addKernels(d, each.id, out, kernels);
      }
  }
  out.calls = kit::timeTextUnit(calls), out.kernels = kit::timeTextUnit(kernels);
  out.compile = kit::timeTextUnit(compile);
  return out;
}

// What the time of launches is, that are added: the numbers of a frame, a compilation and a kernel are not of
// one kind.
QString addedText(const SessionData& d, Id compilation) {
  const QString times = kit::launchTimesText(d, compilation);
  return QStringLiteral("the launches of a call, added: ") +
         (times.isEmpty() ? QStringLiteral("of which calls was not recorded") : times);
}

// How far the calls of a kernel scatter. Halves of several launches do not add up.
QString spreadText(const SessionData& d, const KernelRow& row,
                   const std::vector<const LaunchRow*>& launches) {
  if (launches.size() > 1) return addedText(d, row.compilation);
  const LaunchRow* only = launches.empty() ? nullptr : launches.front();
  const QString half = only ? kit::middleHalf(only->lower_ns, only->upper_ns, only->calls) : QString();
  return half.isEmpty() ? addedText(d, row.compilation)
                        : QStringLiteral("half of %1 calls: %2").arg(only->calls).arg(half);
}

// Those of equal layers are one row, "add_gelu × 48", and stand below it.
Item kernelItem(const SessionData& d, const EqualRows& equal, const Units& units) {
  const KernelRow& row = *equal.front();
  const double ns = nsOf(equal, units);
  Item item;
  item.id = row.id;
  const bool many = equal.size() > 1;
  Cell name =
      word(many ? kit::timesText(s(row.name), equal.size()) : s(row.label + " " + row.name), "kernel");
  name.family = kit::familyOf(row.family);
  name.mono = true;
  item.cells = {name, number(ns > 0 ? units.kernels.text(ns) : kit::unknown())};
  if (ns > 0 && !many) item.cells[1].tooltip = spreadText(d, row, units.launchesOf(row.id));
  if (ns > 0 && many) item.cells[1].tooltip = QStringLiteral("medians of their launches, added");
  return item;
}

// A compilation's own count is written when its run ends.
int64_t callsOf(const SessionData& d, const CompilationRow& row) {
  if (row.calls) return row.calls;
  return std::count_if(d.calls.begin(), d.calls.end(),
                       [&](const CallRow& each) { return each.compilation == row.id; });
}

// nested: below a segment, where there is less room.
Item compilationItem(const SessionData& d, const CompilationRow& row, const Units& units, bool nested) {
  Item item;
  item.id = row.id;
  const double total = launched_ns(d, row.id);
  // What is no time stands behind the name: a column of times is compared.
  const bool timed = row.status == "ok" && total > 0;
  const QString about = row.status != "ok"      ? ", " + s(row.status).replace('_', ' ')
                        : timed || d.imported() ? QString()
                                                : ", " + counted(callsOf(d, row), "call");
  // "0/0 backward" is long enough without the word that its icon says.
  const QString label = s(row.label),
                kind = nested || label.contains(' ') ? QString() : QStringLiteral("compile ");
  Cell name = word(kind + label + about, "graph", row.status != "ok");
  if (row.status == "failed") name.tone = Tone::Err;
  // Its frame's number is of compiling: what a call takes says so.
  item.cells = {name, number(timed ? QStringLiteral("a call ") + units.calls.text(total) : QString())};
  if (timed) item.cells[1].tooltip = addedText(d, row.id);
  for (const EqualRows& equal : units.equal.at(row.id))
    item.children.push_back(
        kit::rowTogether(equal, [&](const EqualRows& some) { return kernelItem(d, some, units); }));
  return item;
}

// times: of how many compilations this is the end.
Item breakItem(const SessionData& d, const BreakRow& row, int times) {
  const InstructionRow* ins = d.instructions.find(row.instruction);
  Cell name = word(s(row.expression.empty() ? row.kind : row.expression), "scissors");
  if (times > 1) name.text += QStringLiteral(" × %1").arg(times);
  if (ins) name.text.prepend(d.place(ins->span) + ' ');
  // What breaks stands where it does; its callers only end there.
  const bool is_caller = row.cause && !is_own(row);
  if (is_caller)
    name.tooltip = QStringLiteral("a break of what is called here");
  else
    name.tone = Tone::Warn;
  name.quiet = is_caller;
  Item item;
  item.id = row.id;
  item.cells = {name, number(QString())};
  return item;
}

Item guardsItem(const SessionData& d, Id compilation) {
  double cost = 0;
  kit::Extent costs;
  for (const GuardRow& guard : d.guards.of(compilation)) {
    cost += guard.cost_ns;
    costs.add(guard.cost_ns);
  }
  const kit::MeasureUnit unit = kit::timeTextUnit(costs);
  const size_t count = d.guards.of(compilation).size();
  Item item;
  item.cells = {word(counted(static_cast<int64_t>(count), "guard"), "guard"),
                number(cost > 0 ? kit::timeText(cost) : QString())};
  if (cost > 0) item.cells[1].tooltip = QStringLiteral("checking all of them, at each call");
  for (const GuardRow& guard : d.guards.of(compilation)) {
    Item each;
    each.id = guard.id;
    each.cells = {word(kit::sourceText(d, guard.compilation, guard.source), "guard", true),
                  number(guard.cost_ns > 0 ? unit.text(guard.cost_ns) : QString())};
    item.children.push_back(std::move(each));
  }
  return item;
}

void addCompilations(const SessionData& d, const SegmentRow& segment, const Units& units, Item& up,
                     bool nested = false) {
  const auto rows = d.compilations.of(segment.id);
  for (const CompilationRow& row : rows) {
    if (rows.size() == 1 && !d.guards.of(row.id).empty()) up.children.push_back(guardsItem(d, row.id));
    Item item = compilationItem(d, row, units, nested);
    item.open = rows.size() == 1;
    up.children.push_back(std::move(item));
  }
}

// Each compilation of a segment ends at the same break: it stands there once.
void addBreaks(const SessionData& d, const SegmentRow& segment, Item& up) {
  std::vector<std::pair<const BreakRow*, int>> causes;
  for (const CompilationRow& each : d.compilations.of(segment.id))
    for (const BreakRow& gap : d.breaks.of(each.id)) {
      auto same = [&](const auto& c) {
        return c.first->instruction == gap.instruction && c.first->kind == gap.kind;
      };
      auto it = std::find_if(causes.begin(), causes.end(), same);
      if (it == causes.end())
        causes.emplace_back(&gap, 1);
      else
        ++it->second;
    }
  for (const auto& [gap, times] : causes) up.children.push_back(breakItem(d, *gap, times));
}

// The function a person means by the frame: not the wrapper around it.
QString frameName(const SessionData& d, const FrameRow& row) {
  Id code = row.code;
  for (const SegmentRow& segment : d.segments.of(row.id))
    for (const CompilationRow& each : d.compilations.of(segment.id))
      if (code == row.code) code = d.workCodeOf(each.id);
  const CodeRow* found = d.codes.find(code);
  return found ? s(found->qualname).remove(QStringLiteral("<locals>.")) : QString();
}

Item frameItem(const SessionData& d, const FrameRow& row, const Units& units) {
  const CodeRow* code = d.codes.find(row.code);
  Item item;
  item.id = row.id;
  item.open = row.state == "captured";
  const double took = compileTime(d, row);
  const QString about = row.state == "captured" ? QString() : ", " + s(row.state);
  item.cells = {
      word(frameName(d, row) + about, "function", row.state != "captured"),
      number(row.state == "captured" && took > 0 ? QStringLiteral("compile ") + units.compile.text(took)
                                                 : QString())};
  if (row.state == "captured" && took > 0)
    item.cells[1].tooltip = QStringLiteral("compiling, all compilations of this frame");
  item.cells[0].tooltip = row.reason.empty() && code ? s(code->qualname) : s(row.reason);
  const auto segments = d.segments.of(row.id);
  for (const SegmentRow& segment : segments) {
    if (segments.size() == 1) {
      addCompilations(d, segment, units, item);
      continue;
    }
    Item part;
    part.id = segment.id;
    part.open = segment.ordinal == 0;
    part.cells = {word(QStringLiteral("segment %1, pc %2").arg(segment.ordinal).arg(segment.pc), "segment"),
                  number(QString())};
    addCompilations(d, segment, units, part, true);
    item.children.push_back(std::move(part));
    addBreaks(d, segment, item);
  }
  return item;
}

Item runItem(const SessionData& d, const RunRow& row) {
  Item item;
  item.id = row.id;
  item.open = true;
  item.heading = true;
  const Verdict verdict = kit::verdictOf(d, row.id);
  const int64_t breaks = verdict.breaks;
  int64_t compilations = 0;
  const Units units = unitsOf(d, row);
  for (const FrameRow& frame : d.frames.of(row.id)) {
    for (const SegmentRow& segment : d.segments.of(frame.id))
      compilations += static_cast<int64_t>(d.compilations.of(segment.id).size());
    item.children.push_back(frameItem(d, frame, units));
  }
  Cell name = word(s(row.label), "file");
  const QString about =
      breaks ? counted(breaks, "break") + ", " + counted(compilations, "compilation") : s(row.inputs);
  name.tooltip = s(verdict.text());
  name.below = s(row.device) + (about.isEmpty() ? QString() : ", " + about);
  const RunTimes times = kit::runTimes(d, row.id);
  for (const QString& part : {kit::keptCalls(d, row.id), s(times.short_doubt(TimesOf::Both))})
    if (!part.isEmpty()) name.below = part + "; " + name.below;
  name.tooltip = s(times.doubt(TimesOf::Both));
  QString value = s(times.speed_up.short_words());
  if (row.status != "finished") value = s(row.status);
  Cell ratio = number(value);
  ratio.tooltip = s(times.speed_up.known() ? times.speed_up.interval() : times.speed_up.words());
  item.cells = {name, ratio};
  return item;
}

}  // namespace

std::vector<Item> runItems(const SessionData& session) {
  std::vector<Item> out;
  for (const RunRow& row : session.runs) out.push_back(runItem(session, row));
  return out;
}

}  // namespace vitrine::views
