#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

#include <cmath>
#include <span>

namespace vitrine::kit {

namespace {

struct UnitScale {
  const char* name;
  double size;
};
constexpr UnitScale kTime[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};
constexpr UnitScale kBytes[] = {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}};
constexpr UnitScale kRate[] = {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}};
constexpr UnitScale kFlops[] = {
    {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}, {"MFLOP/s", 1e6}, {"kFLOP/s", 1e3}, {"FLOP/s", 1}};

constexpr UnitScale kWork[] = {{"TFLOP", 1e12}, {"GFLOP", 1e9}, {"MFLOP", 1e6}, {"kFLOP", 1e3}, {"FLOP", 1}};

const UnitScale& pick(std::span<const UnitScale> scales, double value) {
  for (const UnitScale& scale : scales)
    if (std::abs(value) >= scale.size * 0.9995) return scale;
  return scales.back();
}

// Decimals that make three digits.
int decimalsFor(double shown) {
  const double size = std::abs(shown);
  return size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

QString alone(std::span<const UnitScale> scales, double value) {
  if (!std::isfinite(value)) return unknown();
  const UnitScale& scale = pick(scales, value);
  const double shown = value / scale.size;
  const bool whole = scale.size == 1 && shown == std::floor(shown);
  return fixed(shown, whole ? 0 : decimalsFor(shown)) + QChar(0x202F) + QString::fromUtf8(scale.name);
}

constexpr double kLongest = 1e4;      // in a column: longer numbers have the next larger unit
constexpr double kTwoDigits = 0.01;   // is two digits in three decimals
constexpr double kLongestText = 1e3;  // the same of numbers with their unit beside them
constexpr int kMostDecimals = 3;

MeasureUnit columnUnit(std::span<const UnitScale> scales, const Extent& of, QString (*alone)(double)) {
  const UnitScale* scale = &pick(scales, of.largest);
  int decimals = decimalsFor(of.largest / scale->size);
  auto shown = [&] { return of.smallest / scale->size; };
  auto lost = [&] { return shown() < 0.5 * std::pow(10, -decimals); };
  if (lost() && shown() >= kTwoDigits) decimals = shown() >= 10 * kTwoDigits ? 2 : 3;
  while (lost() && scale != &scales.back() && of.largest / (scale + 1)->size < kLongest) {
    ++scale;
    decimals = shown() < 9.95 ? 1 : 0;
  }
  if (decimals == 0 && of.smallest > 0 && shown() < 9.95) decimals = 1;  // of "1" nobody knows what it was
  return {QString::fromUtf8(scale->name), scale->size, scale->size == 1 ? 0 : decimals, alone};
}

}  // namespace

void Extent::add(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(size) || size == 0) return;
  smallest = smallest > 0 ? std::min(smallest, size) : size;
  largest = std::max(largest, size);
}

double roundStep(double least) {
  if (!std::isfinite(least) || least <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double by : {1.0, 2.0, 5.0})
    if (by * power >= least) return by * power;
  return 10 * power;
}

QString fixed(double value, int decimals) {
  if (!std::isfinite(value)) return unknown();
  QString text = QString::number(std::abs(value), 'f', decimals);
  const bool zero = text.toDouble() == 0;
  return value < 0 && !zero ? QChar(0x2212) + text : text;
}

QString timeText(double ns) {
  return alone(kTime, ns);
}

QString workText(double flops) {
  return alone(kWork, flops);
}

QString bytesText(double bytes) {
  return alone(kBytes, bytes);
}

QString rateText(double bytes, double ns) {
  return ns > 0 && bytes > 0 ? alone(kRate, bytes / ns * 1e9) : unknown();
}

QString flopsText(double flops, double ns) {
  return ns > 0 && flops > 0 ? alone(kFlops, flops / ns * 1e9) : unknown();
}

QString ratioText(double ratio) {
  return std::isfinite(ratio) && ratio > 0 ? fixed(ratio, ratio >= 99.95   ? 0
                                                          : ratio >= 9.995 ? 1
                                                                           : 2) +
                                                 "×"
                                           : unknown();
}

QString percentText(double part) {
  if (!std::isfinite(part)) return unknown();
  const double percent = part * 100;
  const QString unit = QChar(0x202F) + QStringLiteral("%");
  if (percent > 0 && percent < 0.05) return "<0.1" + unit;
  return fixed(percent, percent != 0 && std::abs(percent) < 0.95 ? 1 : 0) + unit;
}

QString signedText(const QString& text, double value) {
  return value < 0 ? (text.startsWith(QChar(0x2212)) ? text : QChar(0x2212) + text) : "+" + text;
}

QString shapeText(std::string_view dtype, std::string_view shape) {
  return QStringLiteral("%1[%2]").arg(vitrine::s(dtype), vitrine::s(shape));
}

QString spaceText(std::string_view shape) {
  return vitrine::s(shape).replace(",", " × ");
}

namespace {

// Something, of which a column's precision would leave 0.
bool isTooSmall(const MeasureUnit& unit, double value) {
  return value != 0 && std::isfinite(value) && fixed(value / unit.size, unit.decimals).toDouble() == 0;
}

}  // namespace

QString MeasureUnit::format(double value) const {
  return alone && isTooSmall(*this, value) ? alone(value) : fixed(value / size, decimals);
}

QString MeasureUnit::bound(double value) const {
  return isTooSmall(*this, value) ? '<' + fixed(std::pow(10, -decimals), decimals)
                                  : fixed(value / size, decimals);
}

// Each has its unit beside it, so that one whose rounding would tell a twentieth less may have its own.
QString MeasureUnit::text(double value) const {
  const QString in_column = fixed(value / size, decimals);
  const double off = std::abs(in_column.toDouble() * size - std::abs(value));
  // One digit in the last place: beside it such values would be told now in one unit and now in another.
  const bool little = decimals == kMostDecimals && std::abs(value) / size < std::pow(10, 1 - decimals);
  const bool rough = std::isfinite(value) && value != 0 && (little || off > 0.05 * std::abs(value));
  return alone && rough ? alone(value) : in_column + QChar(0x202F) + name;
}

// A column in which nothing is known has the unit that is usual in it.
MeasureUnit timeUnit(Extent ns) {
  return columnUnit(kTime, ns.largest > 0 ? ns : Extent(1e6), timeText);
}

// Two digits of the smallest bound what is told wrong of any of them to a twentieth.
MeasureUnit timeTextUnit(Extent ns) {
  const UnitScale* scale = &pick(kTime, ns.largest > 0 ? ns.largest : 1e6);
  int decimals = decimalsFor(ns.largest / scale->size);
  auto rough = [&] { return ns.smallest > 0 && ns.smallest / scale->size < std::pow(10, 1 - decimals); };
  while (rough() && decimals < kMostDecimals) ++decimals;
  while (rough() && scale != &std::end(kTime)[-1] && ns.largest / (scale + 1)->size < kLongestText) {
    ++scale;
    decimals = ns.smallest / scale->size < 9.95 && scale->size > 1 ? 1 : 0;
  }
  return {QString::fromUtf8(scale->name), scale->size, scale->size == 1 ? 0 : decimals, timeText};
}

MeasureUnit rateUnit(Extent rate) {
  return columnUnit(kRate, rate.largest > 0 ? rate : Extent(1e9),
                    [](double value) { return alone(kRate, value); });
}

MeasureUnit bytesUnit(Extent bytes) {
  return columnUnit(kBytes, bytes.largest > 0 ? bytes : Extent(1e6), bytesText);
}

QString countText(int64_t n, const char* one, const char* many) {
  const QString word = n == 1 ? QString::fromUtf8(one)
                       : many ? QString::fromUtf8(many)
                              : QString::fromUtf8(one) + 's';
  return QStringLiteral("%1 %2").arg(n).arg(word);
}

}  // namespace vitrine::kit
