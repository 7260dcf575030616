#include "views/tables/in_range.h"

#include <algorithm>

#include "views/tables/cells.h"

namespace vitrine::views {

using namespace kit;

namespace {

const AtWork* at_work(const Item& item, const RangeWork& work) {
  const auto at = work.find(item.id);
  return item.id && at != work.end() ? &at->second : nullptr;
}

// What equal things were at work together.
AtWork all_at_work(const Item& item, const RangeWork& work) {
  AtWork out;
  for (const Item& each : item.children)
    if (const AtWork* at = at_work(each, work)) {
      out.ns += at->ns, out.times += at->times;
      out.of_medians |= at->of_medians;
    }
  return out;
}

// Of equal things as one row, of which only some were at work, these stand one by one: their row's totals are
// of all.
void take_apart(std::vector<Item>& rows, const RangeWork& work) {
  std::vector<Item> out;
  for (Item& item : rows) {
    const bool some = item.together && std::any_of(item.children.begin(), item.children.end(),
                                                   [&](const Item& each) { return !at_work(each, work); });
    if (!some)
      out.push_back(std::move(item));
    else
      for (Item& each : item.children) out.push_back(std::move(each));
  }
  rows = std::move(out);
}

// A row that stays for its own sake keeps all that stands below it.
bool keep(Item& item, const RangeWork& work, Extent& times) {
  if (item.together) times.add(all_at_work(item, work).ns);
  const AtWork* at = at_work(item, work);
  if (at)
    times.add(at->ns);
  else
    std::erase_if(item.children, [&](Item& child) { return !keep(child, work, times); });
  return at || !item.children.empty();
}

Cell time_cell(const AtWork& at, const MeasureUnit& unit, double most) {
  Cell out = number(at.ns, unit);
  if (most > 0) out.bar = at.ns / most;
  out.tooltip =
      QStringLiteral("%1 in the selected time, met %2").arg(timeText(at.ns), countText(at.times, "time"));
  if (at.of_medians) out.tooltip += QStringLiteral("; calls in it times the median of a launch");
  return out;
}

void add_cell(Item& item, const RangeWork& work, size_t column, const MeasureUnit& unit, double most) {
  const AtWork* at = at_work(item, work);
  item.cells.resize(std::max(item.cells.size(), column));
  item.cells.insert(item.cells.begin() + static_cast<ptrdiff_t>(column),
                    item.together ? time_cell(all_at_work(item, work), unit, most)
                    : at          ? time_cell(*at, unit, most)
                                  : Cell());
  for (Item& child : item.children) add_cell(child, work, column, unit, most);
}

}  // namespace

int range_column(const std::vector<Column>& columns) {
  const auto name = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.stretch; });
  return name == columns.end() ? static_cast<int>(columns.size())
                               : static_cast<int>(name - columns.begin()) + 1;
}

void keep_in_range(TableContent& content, const RangeWork& work) {
  Extent times;
  take_apart(content.rows, work);
  std::erase_if(content.rows, [&](Item& item) { return !keep(item, work, times); });
  const auto column = static_cast<size_t>(range_column(content.columns));
  const MeasureUnit unit = timeUnit(times);
  for (Item& item : content.rows) add_cell(item, work, column, unit, times.largest);
  content.columns.insert(content.columns.begin() + static_cast<ptrdiff_t>(column),
                         {unit_title("in range", unit), 130, true, false, false, true});
}

}  // namespace vitrine::views
