// What differs between two sessions, and their kernels side by side, as rows.
#include <algorithm>
#include <cmath>

#include "app/shell/compare/comparison.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::app {

using kit::Cell;
using kit::Item;
using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

// Handles of rows: differences count from 1, pairs of kernels behind them, then equal changes, then headings.
Id handle(size_t index) {
  return make_id(Kind::Message, static_cast<int64_t>(index) + 1);
}

struct SignLook {
  const char* icon;
  Tone tone;
};
SignLook toldBy(SessionChange::Sign sign) {
  return sign == SessionChange::Sign::Added     ? SignLook{"plus", Tone::Ok}
         : sign == SessionChange::Sign::Removed ? SignLook{"minus", Tone::Err}
                                                : SignLook{"swap", Tone::Info};
}

QString changeText(const SessionChange& c) {
  QString out = c.what == SessionChange::What::Fusion ? QString() : s(c.text);
  if (c.before.empty() && c.after.empty()) return out;
  const QString from = c.before.empty() ? kit::unknown() : s(c.before),
                to = c.after.empty() ? kit::unknown() : s(c.after);
  return (out.isEmpty() ? out : out + QStringLiteral(": ")) + from + QStringLiteral(" → ") + to;
}

// Of all launches of a call.
double timeOf(const SessionData& d, Id kernel) {
  const KernelRow* row = d.kernels.find(kernel);
  double ns = 0;
  if (row)
    for (const LaunchRow& launch : d.launches.of(row->compilation))
      if (launch.kernel == kernel) ns += launch.median_ns;
  return ns;
}

// The kernel that a change of one names: "K2 add_gelu".
Id kernelCalled(const SessionData& d, const std::string& text) {
  for (const KernelRow& row : d.kernels)
    if (row.label + " " + row.name == text) return row.id;
  return 0;
}

Cell timeCell(double ns, const kit::MeasureUnit& unit) {
  Cell out{ns > 0 ? unit.format(ns) : kit::unknown()};
  out.sort = ns;
  return out;
}

}  // namespace

// "Graph breaks" of "graph break".
static QString plural(QString kind) {
  kind[0] = kind[0].toUpper();
  return kind + (kind.endsWith('y') ? QString() : QStringLiteral("s"));
}

std::vector<kit::Column> differenceColumns() {
  return {{"what differs", 300, false, false, true}, {"a call", 84, true}};
}

namespace {

Item changeItem(Id id, const SessionChange& change, const std::string& times) {
  const SignLook told = toldBy(change.sign);
  Cell what{s(times) + changeText(change)};
  what.icon = QString::fromLatin1(told.icon), what.tone = told.tone;
  const QString where = s(change.module.empty() ? change.where : change.module + ", " + change.where);
  what.below = change.reason.empty()   ? where
               : change.module.empty() ? s(change.reason)
                                       : s(change.module + ": " + change.reason);
  what.tooltip = what.text + '\n' + where;
  Cell cost{change.ns != 0 ? kit::signedText(kit::timeText(std::abs(change.ns)), change.ns) : QString()};
  cost.sort = change.ns;
  cost.tone = change.ns > 0 ? Tone::Warn : change.ns < 0 ? Tone::Ok : Tone::None;
  return {id, {what, cost}};
}

}  // namespace

// What differs in every layer alike is one row, and the layers stand below it.
std::vector<Item> differenceItems(const TwoSessions& c) {
  std::vector<Item> out;
  const size_t groups = c.difference.changes.size() + c.kernels.size();
  size_t headings = groups + c.equal.size();
  for (size_t at = 0; at < c.equal.size(); ++at) {
    const EqualChanges& equal = c.equal[at];
    const QString kind = plural(s(std::string(word_of(equal.change.what))));
    if (out.empty() || out.back().cells[0].text != kind) {
      Item group{handle(headings++), {{kind}, {QString()}}};
      group.heading = group.open = true;
      out.push_back(std::move(group));
    }
    if (equal.changes.size() == 1) {
      out.back().children.push_back(changeItem(handle(equal.changes.front()), equal.change, ""));
      continue;
    }
    Item row = changeItem(handle(groups + at), equal.change, equal.times());
    for (const size_t i : equal.changes)
      row.children.push_back(changeItem(handle(i), c.difference.changes[i], ""));
    out.back().children.push_back(std::move(row));
  }
  for (Item& group : out) {
    size_t count = 0;
    for (const Item& row : group.children) count += std::max<size_t>(1, row.children.size());
    group.cells[0].text += QStringLiteral(", %1").arg(count);
  }
  return out;
}

namespace {

// One unit for both sides, by the longest.
kit::MeasureUnit pairUnit(const TwoSessions& c) {
  kit::Extent times;
  for (const KernelPair& pair : c.kernels) {
    times.add(timeOf(*c.before, pair.before));
    times.add(timeOf(*c.after, pair.after));
  }
  return kit::timeUnit(times);
}

// What became of the kernel's text; a call has none.
Cell textCell(const KernelRow* a, const KernelRow* b, int64_t lines) {
  const bool none = a && b && !a->source.row && !b->source.row;
  Cell out{!a      ? QStringLiteral("new")
           : !b    ? QStringLiteral("gone")
           : none  ? kit::unknown()
           : lines ? kit::countText(lines, "line differs", "lines differ")
                   : QStringLiteral("the same")};
  out.quiet = a && b && !lines;
  out.tone = !a ? Tone::Ok : !b ? Tone::Err : lines ? Tone::Info : Tone::None;
  return out;
}

}  // namespace

std::vector<kit::Column> kernelPairColumns(const TwoSessions& c) {
  const QString unit = pairUnit(c).name;
  return {{"before", 190, false, true, true},
          {"after", 190, false, true, true},
          {"space", 130, false, true},
          {"before, " + unit, 84, true},
          {"after, " + unit, 84, true},
          {"ratio", 64, true},
          {"text", 120}};
}

std::vector<Item> kernelPairItems(const TwoSessions& c) {
  const kit::MeasureUnit unit = pairUnit(c);
  std::vector<Item> out;
  for (size_t i = 0; i < c.kernels.size(); ++i) {
    const KernelPair& pair = c.kernels[i];
    const KernelRow *a = c.before->kernels.find(pair.before), *b = c.after->kernels.find(pair.after);
    const double was = timeOf(*c.before, pair.before), is = timeOf(*c.after, pair.after);
    Cell before{a ? c.before->label(a->id) : QStringLiteral("–")},
        after{b ? c.after->label(b->id) : QStringLiteral("–")};
    if (a) before.family = kit::familyOf(a->family);
    if (b) after.family = kit::familyOf(b->family);
    const KernelRow& shown = b ? *b : *a;
    Cell ratio{was > 0 && is > 0 ? kit::ratioText(is / was) : kit::unknown()};
    ratio.sort = was > 0 ? is / was : 0.0;
    out.push_back({handle(c.difference.changes.size() + i),
                   {before,
                    after,
                    {s(shown.space)},
                    timeCell(was, unit),
                    timeCell(is, unit),
                    ratio,
                    textCell(a, b, pair.lines)}});
  }
  return out;
}

std::pair<Id, Id> thingsOf(const TwoSessions& c, Id row) {
  const auto index = static_cast<size_t>(seq_of(row) - 1);
  const size_t changes = c.difference.changes.size();
  const size_t groups = changes + c.kernels.size();
  if (index >= groups + c.equal.size()) return {};
  if (index >= groups) return thingsOf(c, handle(c.equal[index - groups].changes.front()));
  if (index >= changes) return {c.kernels[index - changes].before, c.kernels[index - changes].after};
  const SessionChange& change = c.difference.changes[index];
  if (change.what != SessionChange::What::Kernel && change.what != SessionChange::What::Fusion) return {};
  const std::string& was = change.before.empty() ? change.text : change.before;
  const std::string& is = change.after.empty() ? change.text : change.after;
  Id before = kernelCalled(*c.before, was), after = kernelCalled(*c.after, is);
  if (!after) after = kernelCalled(*c.after, change.text);
  if (const auto at = c.to_before.find(after); !before && at != c.to_before.end()) before = at->second;
  if (const auto at = c.to_after.find(before); !after && at != c.to_after.end()) after = at->second;
  return {before, after};
}

}  // namespace vitrine::app
