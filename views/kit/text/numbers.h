// Numbers as people read them. Alone: three digits and the unit that makes the value at least one. In a
// column: one unit and one precision for all, by the largest value; where the smallest would be 0 in it, more
// decimals or the next smaller unit; what still is too small has a unit of its own. An unknown number is "–",
// never 0.
#pragma once

#include <QString>
#include <cstdint>
#include <string_view>

namespace vitrine::kit {

inline QString unknown() {
  return QStringLiteral("–");
}
QString timeText(double ns);                 // "0.35 µs" needs no help: "350 ns", "13.2 ms", "1.02 s"
QString bytesText(double bytes);             // decimal: "12.6 MB"
QString rateText(double bytes, double ns);   // "61.4 GB/s"
QString flopsText(double flops, double ns);  // "1.29 TFLOP/s"
QString workText(double flops);              // "4.86 GFLOP"
QString ratioText(double ratio);             // "1.11×"
QString percentText(double part);            // 0.5 -> "50 %", under 1 % one decimal, then "<0.1 %"
QString signedText(const QString& text, double value);  // "+" or U+2212 before a magnitude
QString countText(int64_t n, const char* one, const char* many = nullptr);  // "1 loop", "9 loops"
// The least of 1, 2 and 5 times a power of ten that is at least so large: steps of an axis.
double roundStep(double least);
QString fixed(double value, int decimals);                          // with U+2212 for minus
QString shapeText(std::string_view dtype, std::string_view shape);  // "f32[8,128,768]"
QString spaceText(std::string_view shape);                          // "1024 × 3072"

// The one unit of a column. format(x) gives digits only; the unit stands in the header. A value that would
// be 0 in it is written with its own: "12.3 MB/s" among GB/s.
struct MeasureUnit {
  QString name;     // "ms"
  double size = 1;  // value / size = number shown
  int decimals = 0;
  QString (*alone)(double) = nullptr;  // a value with the unit that fits it
  QString format(double value) const;  // "0.35"
  QString bound(double value) const;   // beside bars: "<0.1" for what is too small
  QString text(double value) const;    // with the unit, where no header has it: "0.35 ms"
};

// The sizes in a column: its largest number and its smallest that is not 0.
struct Extent {
  double largest = 0, smallest = 0;
  Extent() = default;
  Extent(double most) : largest(most), smallest(most) {}  // only the largest is known
  void add(double value);                                 // its magnitude; 0 and unknown count for nothing
};
MeasureUnit timeUnit(Extent ns);
MeasureUnit timeTextUnit(
    Extent ns);  // for text(): times below each other, each with its unit, have the same one
MeasureUnit bytesUnit(Extent bytes);
MeasureUnit rateUnit(Extent rate);  // of bytes a second

}  // namespace vitrine::kit
