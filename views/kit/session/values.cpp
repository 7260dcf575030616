#include "views/kit/session/values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace vitrine::kit {

std::vector<double> countsOf(const std::string& text, size_t classes) {
  std::vector<double> out;
  std::istringstream words(text);
  for (std::string word; out.size() < classes && std::getline(words, word, ',');)
    out.push_back(std::clamp(std::strtod(word.c_str(), nullptr), 0.0, 1e18));
  return out.size() == classes ? out : std::vector<double>();
}

QString valuesText(const session::NumericsRow& row) {
  if (row.distribution.empty()) return {};
  auto number = [](double value) { return QString::number(value, 'g', 3).replace('-', QChar(0x2212)); };
  return QStringLiteral("%1 to %2, mean %3, deviation %4")
      .arg(number(row.least), number(row.largest), number(row.average), number(row.deviation));
}

QString distributionText(const session::NumericsRow& row) {
  constexpr char16_t kLowest = 0x2581;  // eight bars, each an eighth higher
  constexpr int kHeights = 8;
  const std::vector<double> counts = countsOf(row.distribution, session::kValueClasses);
  double most = 0;
  for (const double count : counts) most = std::max(most, std::log1p(count));
  QString out;
  for (const double count : counts) {
    const int height = most > 0 ? static_cast<int>(std::ceil(kHeights * std::log1p(count) / most)) : 0;
    out +=
        count > 0 ? QChar(static_cast<char16_t>(kLowest + std::clamp(height, 1, kHeights) - 1)) : QChar('_');
  }
  return out;
}

}  // namespace vitrine::kit
