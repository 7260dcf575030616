// Fusion decisions, launches, buffers, and what became of each eager operator.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/session/launches.h"
#include "views/kit/link_letters.h"
#include "views/kit/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// --- fusion decisions ---

Unit decision_bytes(const TableScope& s) {
  return bytesUnit(
      extent(s.data.decisions.of(s.compilation), [](const DecisionRow& d) { return d.bytes_saved; }));
}

Unit decision_time(const TableScope& s) {
  return timeUnit(
      extent(s.data.decisions.of(s.compilation), [](const DecisionRow& d) { return std::abs(d.est_ns); }));
}
bool any_estimate(const TableScope& s) {
  const auto rows = s.data.decisions.of(s.compilation);
  return std::any_of(rows.begin(), rows.end(), [](const DecisionRow& d) { return d.est_ns != 0; });
}

std::vector<Column> decision_columns(const TableScope& s) {
  std::vector<Column> out{{"#", 36, true},
                          {"pair", 150, false, true},
                          {"kind", 80},
                          {"verdict", 92},
                          {"reason", 220, false, false, true},
                          {"kernel", 60, false, true},
                          {"source", 70, false, true},
                          {unit_title("traffic saved", decision_bytes(s)), 180, true, false, false, true},
                          {"launches", 66, true}};
  if (any_estimate(s)) out.push_back({unit_title("time, est.", decision_time(s)), 92, true});
  return out;
}

// The line of the first expression that the pair's second half came from.
QString source_of(const SessionData& d, Id node) {
  const Id span = nearestSpan(d, node);
  return span ? d.place(span) : unknown();
}

// What stands in columns of its own is not said again.
QString bare_reason(const std::string& reason) {
  return q(reason).section(QStringLiteral(", saves "), 0, 0);
}

std::vector<Item> decision_rows(const TableScope& s) {
  std::vector<Item> out;
  auto rows = s.data.decisions.of(s.compilation);
  Unit unit = decision_bytes(s);
  double most = largest(rows, [](const DecisionRow& d) { return d.bytes_saved; });
  const Unit time = decision_time(s);
  const bool estimates = any_estimate(s);
  for (const DecisionRow& d : rows) {
    bool fused = d.verdict == "fused";
    Cell verdict{fused ? QStringLiteral("fused") : QStringLiteral("not fused")};
    verdict.icon = fused ? "check" : "minus";
    verdict.tone = fused ? Tone::Ok : Tone::None;
    Cell saved = number(static_cast<double>(d.bytes_saved), unit);
    saved.bar = most > 0 ? static_cast<double>(d.bytes_saved) / most : 0;
    saved.hollow = !fused;
    const KernelRow* kernel = s.data.kernels.find(d.kernel);
    out.push_back({d.id,
                   {number(d.ordinal + 1),
                    {s.data.label(d.id)},
                    {q(d.kind)},
                    verdict,
                    {bare_reason(d.reason)},
                    {kernel ? q(kernel->label) : unknown()},
                    {source_of(s.data, d.b)},
                    saved,
                    number(d.launches_saved)},
                   {},
                   {},
                   false,
                   false});
    if (!estimates) continue;
    Cell estimate{d.est_ns != 0 ? signedText(time.format(std::abs(d.est_ns)), d.est_ns) : unknown(),
                  d.est_ns};
    out.back().cells.push_back(estimate);
  }
  return out;
}

QString decision_subtitle(const TableScope& s) {
  auto rows = s.data.decisions.of(s.compilation);
  size_t fused = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const DecisionRow& d) { return d.verdict == "fused"; }));
  return rows.empty() ? QString() : QStringLiteral("%1 considered, %2 fused").arg(rows.size()).arg(fused);
}

// --- launch plan ---

// A library's call moves what its kernel is known to.
int64_t bytes_of(const LaunchRow& launch, const KernelRow* kernel) {
  return launch.bytes || !kernel ? launch.bytes : kernel->bytes;
}

Unit launch_bytes_unit(const TableScope& s) {
  return bytesUnit(extent(s.data.launches.of(s.compilation),
                          [&](const LaunchRow& l) { return bytes_of(l, s.data.kernels.find(l.kernel)); }));
}
Unit launch_time_unit(const TableScope& s) {
  return timeUnit(extent(s.data.launches.of(s.compilation), [](const LaunchRow& l) { return l.median_ns; }));
}

std::vector<Column> launch_columns(const TableScope& s) {
  return {{"#", 40, true},
          {"launch", 220, false, true, true},
          {"kind", 80},
          {"arguments", 260, false, true, true},
          {unit_title("traffic", launch_bytes_unit(s)), 90, true},
          {unit_title("time", launch_time_unit(s)), 84, true}};
}

std::vector<Item> launch_rows(const TableScope& s) {
  std::vector<Item> out;
  const Unit bytes_unit = launch_bytes_unit(s), time_unit = launch_time_unit(s);
  const auto plan = s.data.launches.of(s.compilation);
  for (const LaunchRow& l : plan) {
    const KernelRow* kernel = s.data.kernels.find(l.kernel);
    Cell text{q(l.text)};
    if (kernel) text.family = familyOf(kernel->family);
    Cell args{q(l.args)};
    args.quiet = true;
    const Cell bytes = number(static_cast<double>(bytes_of(l, kernel)), bytes_unit),
               time = number(l.median_ns, time_unit);
    Cell place{launches_something(l) ? QString::number(launch_number(plan, l.ordinal)) : QString()};
    place.sort = static_cast<double>(l.ordinal);
    out.push_back({l.id, {place, text, {q(l.kind)}, args, bytes, time}, {}, {}, false, false});
  }
  return out;
}

QString launch_subtitle(const TableScope& s) {
  qint64 launched = 0, views = 0;
  for (const LaunchRow& row : s.data.launches.of(s.compilation)) (row.kind == "view" ? views : launched) += 1;
  if (launched + views == 0) return {};
  return QString::number(launched) + (views ? ", " + countText(views, "view") : QString());
}

// --- memory plan ---

Unit buffer_unit(const TableScope& s) {
  return bytesUnit(extent(s.data.buffers.of(s.compilation), [](const BufferRow& b) { return b.bytes; }));
}

std::vector<Column> memory_columns(const TableScope& s) {
  return {{"buffer", 110, false, true},     {"kind", 90},
          {"type", 200, false, true, true}, {unit_title("size", buffer_unit(s)), 90, true},
          {"first launch", 90, true},       {"last launch", 90, true},
          {"offset, B", 100, true},         {"takes place of", 110, false, true}};
}

std::vector<Item> memory_rows(const TableScope& s) {
  std::vector<Item> out;
  const auto plan = s.data.launches.of(s.compilation);
  const Unit unit = buffer_unit(s);
  for (const BufferRow& b : s.data.buffers.of(s.compilation)) {
    const BufferRow* reused = s.data.buffers.find(b.reuses);
    Cell offset{b.offset < 0 ? unknown() : QString::number(b.offset), static_cast<double>(b.offset)};
    out.push_back({b.id,
                   {{q(b.name)},
                    {q(b.kind)},
                    {s.data.type(b.type)},
                    b.kind == "view" ? Cell{unknown(), 0.0} : number(static_cast<double>(b.bytes), unit),
                    number(launch_number(plan, b.first)),
                    number(launch_number(plan, b.last)),
                    offset,
                    {reused ? q(reused->name) : QString()}},
                   {},
                   {},
                   false,
                   false});
  }
  return out;
}

QString memory_subtitle(const TableScope& s) {
  int64_t temporary = 0, peak = 0;
  for (const BufferRow& b : s.data.buffers.of(s.compilation)) {
    if (b.kind != "temporary") continue;
    temporary += b.bytes;
    peak = std::max(peak, b.offset + b.bytes);
  }
  if (!temporary) return {};
  return QStringLiteral("%1 of temporaries share %2")
      .arg(bytesText(static_cast<double>(temporary)), bytesText(static_cast<double>(peak)));
}

// --- what became what: ATen nodes by the launch that runs them ---

std::vector<Column> became_columns(const TableScope& s) {
  return {{"launch", 200, false, true},
          {"operators of the ATen graph", 320, false, true, true},
          {"operators", 72, true},
          {unit_title("time", launch_time_unit(s)), 84, true}};
}

std::vector<Item> became_rows(const TableScope& s) {
  std::map<Id, std::vector<Id>> nodes;
  const GraphRow* aten = nullptr;
  for (const GraphRow& g : s.data.graphs.of(s.compilation))
    if (g.stage == "aten" && !aten) aten = &g;
  if (!aten) return {};
  for (const NodeRow& node : s.data.nodes.of(aten->id)) {
    if (node.kind != "op") continue;
    for (Id id : relativesOf(s.data, node.id).derived)
      if (kind_of(id) == Kind::Launch) {
        nodes[id].push_back(node.id);
        break;
      }
  }
  std::vector<Item> out;
  const Unit unit = launch_time_unit(s);
  for (const LaunchRow& l : s.data.launches.of(s.compilation)) {
    QStringList names;
    for (Id id : nodes[l.id]) names << s.data.label(id);
    const KernelRow* kernel = s.data.kernels.find(l.kernel);
    Cell text{q(l.text)};
    if (kernel) text.family = familyOf(kernel->family);
    const Cell time = number(l.median_ns, unit);
    out.push_back(
        {l.id,
         {text, {names.join(QStringLiteral(", "))}, number(static_cast<int64_t>(nodes[l.id].size())), time},
         {},
         {},
         false,
         false});
  }
  return out;
}

}  // namespace

const TableSpec kDecisionsTable{"decisions",
                                "Fusion decisions",
                                decision_columns,
                                decision_rows,
                                decision_subtitle,
                                "No fusion decisions: nothing was fused in this compilation.",
                                7,
                                Qt::DescendingOrder,
                                false,
                                "fused",
                                3};
const TableSpec kLaunchesTable{
    "launches",  "Launch plan",      launch_columns,
    launch_rows, launch_subtitle,    "No launch plan: nothing was compiled in this run.",
    0,           Qt::AscendingOrder, false,
    "launch"};
const TableSpec kMemoryTable{"memory",
                             "Memory",
                             memory_columns,
                             memory_rows,
                             memory_subtitle,
                             "No memory plan: nothing was compiled in this run.",
                             3,
                             Qt::DescendingOrder,
                             false,
                             "memory"};
const TableSpec kBecameTable{"became",
                             "What became what",
                             became_columns,
                             became_rows,
                             nullptr,
                             "No launches: nothing was compiled in this run.",
                             3,
                             Qt::DescendingOrder,
                             false,
                             "launch"};

}  // namespace vitrine::views
