#include "app/shell/panes/layouts.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>

#include "app/shell/document/settings.h"
#include "views/registry.h"

namespace vitrine::app {

namespace {

QByteArray toJson(const LayoutInfo& layout) {
  QJsonArray columns;
  for (const ColumnSpec& column : layout.columns) {
    QJsonArray panes;
    for (const PaneSpec& pane : column.panes)
      panes.append(QJsonObject{{"what", QString::fromStdString(pane.what)},
                               {"letter", pane.letter ? QString(QLatin1Char(pane.letter)) : QString()},
                               {"share", pane.share}});
    columns.append(QJsonObject{{"share", column.share}, {"panes", panes}});
  }
  return QJsonDocument(QJsonObject{{"columns", columns},
                                   {"docks", QJsonArray::fromStringList(layout.docks)},
                                   {"unit", static_cast<int>(layout.unit)}})
      .toJson(QJsonDocument::Compact);
}

// What a file of settings may ask for: it may be damaged, or another's.
constexpr int kMostColumns = 8, kMostPanes = 8, kMostDocks = 100;  // in a layout, in a column, in a layout

QJsonArray first(const QJsonValue& list, int most) {
  QJsonArray out = list.toArray();
  while (out.size() > most) out.removeLast();
  return out;
}

int share_of(const QJsonValue& value) {
  return std::clamp(value["share"].toInt(), 1, 10'000);
}

LayoutInfo fromJson(const QString& name, const QByteArray& text) {
  const QJsonObject json = QJsonDocument::fromJson(text).object();
  const int unit = std::clamp(json["unit"].toInt(), 0, kFilmUnits - 1);
  LayoutInfo out{name, {}, {}, static_cast<FilmUnit>(unit), {}};
  for (const QJsonValue dock : first(json["docks"], kMostDocks)) out.docks << dock.toString();
  for (const QJsonValue column : first(json["columns"], kMostColumns)) {
    ColumnSpec spec{share_of(column), {}};
    for (const QJsonValue pane : first(column["panes"], kMostPanes)) {
      const QString letter = pane["letter"].toString();
      const std::string what = pane["what"].toString().toStdString();
      // It may name a view that this build does not have.
      if (what.starts_with("view:") && !views::viewInfo(what.substr(5))) continue;
      spec.panes.push_back({what, letter.isEmpty() ? char(0) : letter[0].toLatin1(), share_of(pane)});
    }
    if (!spec.panes.empty()) out.columns.push_back(std::move(spec));
  }
  return out;
}

}  // namespace

std::span<const LayoutInfo> layouts() {
  static const std::vector<LayoutInfo> rows = {
      {"Explore",
       "one active thing in graph, source, kernel, assembly and timeline",
       {{40, {{"optimised", 'A', 1}}}, {50, {{"source", 0, 28}, {"kernels", 'B', 46}, {"assembly", 0, 26}}}},
       FilmUnit::Pass,
       {"runs", "inspector", "timeline", "totals", "kernels", "problems", "guards", "symbols", "query",
        "log"}},
      {"Fusion",
       "before and after fusion, a verdict on every pair",
       {{1, {{"loops", 'A', 1}}}, {1, {{"fused", 'B', 1}}}},
       FilmUnit::Decision,
       {"inspector", "decisions", "missed", "kernels", "choices", "timeline", "problems", "log"}},
      {"Breaks",
       "graph breaks, guards and recompilations",
       {{1, {{"view:breaks", 0, 1}, {"view:guards", 0, 1}}},
        {1, {{"source", 'A', 1}, {"view:recompilations", 0, 2}}}},
       FilmUnit::Compilation,
       {"runs"}},
      {"Capture",
       "bytecode, symbolic stack and the growing graph",
       {{31, {{"source", 0, 1}}},
        {26, {{"bytecode", 'A', 1}}},
        {20, {{"view:stack", 0, 1}}},
        {25, {{"captured", 'B', 1}}}},
       FilmUnit::Instruction,
       {"guards", "log", "problems"}},
      {"Timeline",
       "eager against compiled, where the time went",
       {{1, {{"timeline", 'A', 1}}}},
       FilmUnit::Launch,
       // "|": what follows stands beside it when there is room for both.
       {"kernels", "totals", "flame", "range", "choices", "became", "launches", "memory", "usage", "problems",
        "query", "log", "|", "speedup", "roofline"}},
      {"Training",
       "forward and backward, and the saved tensors between them",
       {{28, {{"forward", 'A', 1}}}, {38, {{"view:saved", 0, 1}}}, {34, {{"backward", 'B', 1}}}},
       FilmUnit::Pass,
       {"kernels", "choices", "symbols", "timeline", "usage", "problems", "log"},
       "joint",
       // A step as one graph has no halves, nor has a run without gradients: the graph by the lines of the
       // step, its memory, its kernels.
       {{27, {{"optimised", 'A', 1}}},
        {45, {{"source", 0, 1}, {"view:memory", 0, 2}}},
        {28, {{"fused", 'B', 1}}}}},
  };
  return rows;
}

QStringList layoutNames() {
  QStringList out;
  for (const LayoutInfo& row : layouts()) out << row.name;
  return out + AppSettings::ownLayouts();
}

std::optional<LayoutInfo> layoutNamed(const QString& name) {
  for (const LayoutInfo& row : layouts())
    if (name.compare(row.name, Qt::CaseInsensitive) == 0) return row;
  if (!isOwnLayout(name)) return std::nullopt;
  LayoutInfo own = fromJson(name, AppSettings::ownLayout(name));
  return own.columns.empty() ? std::nullopt : std::optional(std::move(own));
}

bool isOwnLayout(const QString& name) {
  return AppSettings::ownLayouts().contains(name);
}

void keepOwnLayout(const LayoutInfo& layout) {
  AppSettings::setOwnLayout(layout.name, toJson(layout));
}

void dropOwnLayout(const QString& name) {
  AppSettings::setOwnLayout(name, {});
}

}  // namespace vitrine::app
