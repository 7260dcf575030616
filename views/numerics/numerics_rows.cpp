#include "views/numerics/numerics_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "views/kit/selection/link_letters.h"
#include "views/kit/session/values.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;
using session::NumericsRow;

namespace {

// "2.4e−07", "–" where it is not known.
QString errorText(double error) {
  if (!(error >= 0)) return unknown();
  return error == 0 ? QStringLiteral("0") : QString::number(error, 'g', 2).replace('-', QChar(0x2212));
}

// Errors span many powers of ten: what a bar shows is how many.
struct ErrorScale {
  double low = 0, high = 0;  // powers of ten
  explicit ErrorScale(std::span<const NumericsRow> rows) {
    bool any = false;
    for (const NumericsRow& row : rows)
      for (const double error : {row.compiled_error, row.eager_error}) {
        if (!(error > 0) || !std::isfinite(error)) continue;
        const double power = std::log10(error);
        low = any ? std::min(low, power) : power;
        high = any ? std::max(high, power) : power;
        any = true;
      }
  }
  double part(double error) const {
    if (!(error > 0)) return 0;
    if (!std::isfinite(error)) return 1;
    return high > low ? std::clamp(0.08 + 0.92 * (std::log10(error) - low) / (high - low), 0.0, 1.0) : 0.5;
  }
};

Cell errorCell(double error, const ErrorScale& scale, bool hollow) {
  Cell cell{errorText(error)};
  cell.sort = error;
  cell.bar = error >= 0 ? scale.part(error) : -1;
  cell.hollow = hollow;
  if (error >= 0) cell.tooltip = QString::number(error, 'g', 17);
  return cell;
}

Cell plain(double error) {
  Cell cell{errorText(error)};
  cell.sort = error;
  return cell;
}

std::vector<double> classesOf(const std::string& histogram) {
  return kit::countsOf(histogram, std::size(session::kUlpSteps) + 2);
}

QString className(size_t i) {
  const auto& steps = session::kUlpSteps;
  if (i == std::size(steps)) return QStringLiteral("more than %1 ulp").arg(steps[i - 1]);
  if (i > std::size(steps)) return QStringLiteral("finite on one side only");
  const bool one = i == 0 || steps[i] == steps[i - 1] + 1;
  return one ? QStringLiteral("%1 ulp").arg(steps[i])
             : QStringLiteral("%1 to %2 ulp").arg(steps[i - 1] + 1).arg(steps[i]);
}

Cell histogramCell(const NumericsRow& row) {
  Cell cell;
  cell.histogram = classesOf(row.histogram);
  if (cell.histogram.empty()) {
    cell.text = unknown();
    return cell;
  }
  QStringList words;
  for (size_t i = 0; i < cell.histogram.size(); ++i)
    if (cell.histogram[i] > 0)
      words << QStringLiteral("%1: %2").arg(className(i)).arg(cell.histogram[i], 0, 'f', 0);
  const double counted = std::accumulate(cell.histogram.begin(), cell.histogram.end(), 0.0);
  if (const double left = static_cast<double>(row.count) - counted; left > 0)
    words << QStringLiteral("next to zero, not counted: %1").arg(left, 0, 'f', 0);
  cell.tooltip = words.join('\n');
  cell.text = words.join(QStringLiteral(", "));
  cell.sort = static_cast<double>(row.max_ulp);
  return cell;
}

// Sessions of before count values next to zero too: what is beyond the classes needs no digits.
Cell ulpCell(const NumericsRow& row) {
  const auto ulp = static_cast<double>(row.max_ulp);
  const bool beyond = row.max_ulp > std::end(session::kUlpSteps)[-1];
  Cell cell{beyond ? errorText(ulp) : QString::number(row.max_ulp), ulp};
  if (beyond) cell.tooltip = QString::number(row.max_ulp);
  return cell;
}

Cell verdictCell(const NumericsRow& row) {
  Cell cell{s(row.verdict)};
  if (row.first) {
    cell.text = QStringLiteral("differs first");
    cell.icon = "error";
    cell.tone = Tone::Err;
  } else if (row.verdict == "differs") {
    cell.icon = "error";
    cell.tone = Tone::Err;
  } else if (row.verdict == "unknown") {
    cell.quiet = true;
  } else {
    cell.icon = "check";
    cell.tone = Tone::Ok;
  }
  return cell;
}

Cell nanCell(const NumericsRow& row) {
  Cell cell;
  if (row.nan) cell.text = QStringLiteral("%1 NaN").arg(row.nan);
  if (row.inf)
    cell.text += (row.nan ? QStringLiteral(", ") : QString()) + QStringLiteral("%1 inf").arg(row.inf);
  if (cell.text.isEmpty() && row.eager_nan + row.eager_inf) cell.text = QStringLiteral("eager only");
  cell.sort = static_cast<double>(row.nan + row.inf);
  if (!row.makes) {
    cell.quiet = true;
    return cell;
  }
  cell.icon = "warning";
  cell.tone = Tone::Warn;
  cell.text = QStringLiteral("makes ") + cell.text;
  return cell;
}

// How the compiled value was got.
Cell sourceCell(const NumericsRow& row) {
  Cell cell{row.source == "buffer" ? s(row.step) : s(row.source)};
  cell.quiet = row.source != "buffer";
  cell.mono = row.source == "buffer";
  cell.tooltip =
      row.source == "buffer"   ? QStringLiteral("from the program's own memory, behind %1").arg(s(row.step))
      : row.source == "output" ? QStringLiteral("fused away: compiled again with others as further results")
      : row.source == "alone" ? QStringLiteral("fused away: compiled again with it alone as a further result")
                              : QStringLiteral("its compiled value could not be got");
  return cell;
}

QString detailOf(const NumericsRow& row) {
  QString out;
  if (!row.message.empty()) out += s(row.message).toHtmlEscaped() + "<br>";
  out += sourceCell(row).tooltip.toHtmlEscaped() + ".";
  if (const QString values = kit::valuesText(row); !values.isEmpty())
    out += "<br>Values: " + values.toHtmlEscaped() + ". <span class=\"q\">" + kit::distributionText(row) +
           "</span>";
  const Cell classes = histogramCell(row);
  if (!classes.histogram.empty()) out += "<br><span class=\"q\">" + classes.text.toHtmlEscaped() + "</span>";
  return out;
}

Item itemOf(const SessionData& d, const NumericsRow& row, const ErrorScale& scale) {
  const session::NodeRow* node = d.nodes.find(row.node);
  Cell value{s(row.name)};
  value.family = node ? familyOf(node->family) : NodeFamily::None;
  const Id span = node ? nearestSpan(d, row.node) : 0;
  Cell place{span ? d.place(span) : unknown()};
  Item item;
  item.id = row.node;
  Cell number{QString::number(row.ordinal + 1), static_cast<double>(row.ordinal)};
  item.cells = {number,
                value,
                {d.type(row.type)},
                verdictCell(row),
                errorCell(row.compiled_error, scale, false),
                errorCell(row.eager_error, scale, true),
                plain(row.max_abs),
                plain(row.mean_abs),
                ulpCell(row),
                histogramCell(row),
                nanCell(row),
                sourceCell(row),
                place};
  item.detail = detailOf(row);
  return item;
}

template <class Has>
Id nodeWith(const SessionData& data, Id compilation, Has has) {
  for (const NumericsRow& row : data.numerics.of(compilation))
    if (has(row)) return row.node;
  return 0;
}

}  // namespace

std::vector<Column> numericsColumns() {
  return {{"#", 36, true},
          {"value", 150, false, true, true},
          {"type", 100, false, true, false, false, true},
          {"verdict", 104},
          {"compiled", 150, true, false, false, true},
          {"eager", 150, true, false, false, true},
          {"max |Δ|", 72, true},
          {"mean", 60, true},
          {"ulp", 64, true},
          {"by ulp", 96},
          {"NaN, inf", 110},
          {"by", 60},
          {"source", 70, false, true}};
}

std::vector<Item> numericsItems(const SessionData& data, Id compilation) {
  const auto rows = data.numerics.of(compilation);
  const ErrorScale scale(rows);
  std::vector<Item> out;
  for (const NumericsRow& row : rows) out.push_back(itemOf(data, row, scale));
  return out;
}

Id firstDivergence(const SessionData& data, Id compilation) {
  return nodeWith(data, compilation, [](const NumericsRow& row) { return row.first != 0; });
}

Id sourceOfNan(const SessionData& data, Id compilation) {
  return nodeWith(data, compilation, [](const NumericsRow& row) { return row.makes != 0; });
}

QString numericsSummary(const SessionData& data, Id compilation) {
  const auto rows = data.numerics.of(compilation);
  if (rows.empty()) return {};
  const auto differ =
      std::count_if(rows.begin(), rows.end(), [](const NumericsRow& r) { return r.verdict == "differs"; });
  const QString count = countText(static_cast<int64_t>(rows.size()), "value");
  const QString differing = differ
                                ? QStringLiteral("%1 %2").arg(differ).arg(differ == 1 ? "differs" : "differ")
                                : QStringLiteral("none differs");
  return count + ", " + differing + QStringLiteral("; compiled, eager: off float64");
}

}  // namespace vitrine::views
