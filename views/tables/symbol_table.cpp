// Sizes and ints that may be others in the next call, and what is asked of them.
#include <QFileInfo>
#include <array>
#include <limits>

#include "core/session/sized_memory.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// "2 or more", "any", "4", "2 to 64"
QString range_text(int64_t lo, int64_t hi) {
  const bool below = lo == std::numeric_limits<int64_t>::min();
  const bool above = hi == std::numeric_limits<int64_t>::max();
  if (below && above) return QStringLiteral("any");
  if (below) return QStringLiteral("%1 or less").arg(hi);
  if (above) return QStringLiteral("%1 or more").arg(lo);
  return lo == hi ? QString::number(lo) : QStringLiteral("%1 to %2").arg(lo).arg(hi);
}

struct SymbolLine {
  QString text;  // "block.py:12"
  Id span = 0;   // the first expression of it
};

// place: "/home/user/block.py:12"
SymbolLine line_of(const SessionData& data, const std::string& place) {
  SymbolLine out{QFileInfo(q(place)).fileName(), 0};
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos) return out;
  const int64_t line = q(place.substr(colon + 1)).toLongLong();
  for (const FileRow& file : data.files) {
    if (file.path != place.substr(0, colon)) continue;
    for (const SpanRow& span : data.spans.of(file.id))
      if (span.line == line && !out.span) out.span = span.id;
  }
  return out;
}

std::vector<Column> symbol_columns(const TableScope&) {
  return {{"symbol", 150, false, true}, {"stands for", 190, false, true, true},
          {"first", 64, true},          {"serves", 110},
          {"why it is one", 190},       {"fixed at", 120, false, true}};
}

Item symbol_item(const TableScope& s, const SymbolRow& row) {
  const SymbolLine fixed = line_of(s.data, row.fixed_by);
  const bool of_data = row.hint == SymbolRow::kOfData;
  Cell name{q(row.name)}, hint{of_data ? unknown() : QString::number(row.hint)},
      at{row.fixed_by.empty() ? unknown() : fixed.text};
  hint.sort = of_data ? -1 : static_cast<double>(row.hint);
  Item item;
  item.id = fixed.span;
  if (!row.fixed_by.empty()) {
    at.icon = name.icon = "warning";
    at.tone = name.tone = Tone::Warn;
    item.detail =
        QStringLiteral("<p>The number itself was needed there, so this compilation serves %1 alone.</p>")
            .arg(row.hint);
  }
  item.cells = {name, {q(row.source)}, hint, {range_text(row.lo, row.hi)}, {q(row.origin)}, at};
  return item;
}

// What is asked of symbols, by capture or by the program of expressions.
Item guards_item(const TableScope& s, Id compilation, const std::string& asked_by, const QString& title) {
  Item heading{0, {{title}}, {}, {}, true, true};
  for (const SymbolGuardRow& row : s.data.symbol_guards.of(compilation)) {
    if (row.asked_by != asked_by) continue;
    const SymbolLine at = line_of(s.data, row.place);
    Cell text{q(row.text)}, where{at.text};
    where.quiet = true;
    heading.children.push_back({at.span, {text, where}, {}, {}, false, false});
  }
  return heading;
}

// The sizes that calls had, and how each got its plan.
Item instances_item(const TableScope& s, Id compilation) {
  Item heading{0, {{QStringLiteral("sizes met")}}, {}, {}, true, true};
  const auto rows = s.data.instances.of(compilation);
  const bool any_instantiated =
      std::any_of(rows.begin(), rows.end(), [](const InstanceRow& r) { return r.how == "instantiated"; });
  for (const InstanceRow& row : rows) {
    Cell sizes{q(row.sizes)}, how{q(how_words(row))}, why{q(row.reason)};
    how.quiet = row.how == "instantiated" || row.how == "compiled";
    if (!how.quiet) how.tone = Tone::Warn;
    why.tooltip = q(row.reason);
    Item item{0, {sizes, how, {}, {}, why}, {}, {}, false, false};
    if (!row.reason.empty())
      item.detail = QStringLiteral("<p>Not instantiated: %1.</p>").arg(q(row.reason).toHtmlEscaped());
    heading.children.push_back(std::move(item));
  }
  heading.open = rows.size() <= 12 || !any_instantiated;
  return heading;
}

std::vector<Item> symbol_rows(const TableScope& s) {
  const Id compilation = s.data.forwardOf(s.compilation);
  std::vector<Item> out;
  for (const SymbolRow& row : s.data.symbols.of(compilation)) out.push_back(symbol_item(s, row));
  for (Item& heading :
       std::array{guards_item(s, compilation, "", QStringLiteral("holds while")),
                  guards_item(s, compilation, "expressions", QStringLiteral("its program holds while")),
                  instances_item(s, compilation)})
    if (!heading.children.empty()) out.push_back(std::move(heading));
  return out;
}

QString symbol_subtitle(const TableScope& s) {
  const auto rows = s.data.symbols.of(s.data.forwardOf(s.compilation));
  const auto fixed =
      std::count_if(rows.begin(), rows.end(), [](const SymbolRow& row) { return !row.fixed_by.empty(); });
  if (rows.empty()) return {};
  return countText(static_cast<int64_t>(rows.size()), "symbol") +
         (fixed ? QStringLiteral(", %1 fixed").arg(fixed) : QString());
}

size_t symbol_count(const SessionData& data, Id compilation) {
  return data.symbols.of(data.forwardOf(compilation)).size();
}

// Another tool's record tells no symbols, whatever the sizes were.
QString symbol_why(const TableScope& scope) {
  return scope.data.imported() ? QStringLiteral("what was imported tells of none")
                               : QStringLiteral("every size is fixed in this compilation");
}

}  // namespace

const TableSpec kSymbolsTable{.id = "symbols",
                              .title = "Symbols",
                              .columns = symbol_columns,
                              .rows = symbol_rows,
                              .subtitle = symbol_subtitle,
                              .empty = "No symbols: every size is fixed in this compilation.",
                              .count = symbol_count,
                              .why = symbol_why};

}  // namespace vitrine::views
