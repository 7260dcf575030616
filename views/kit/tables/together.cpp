#include "views/kit/tables/together.h"

namespace vitrine::kit {

namespace {
constexpr qsizetype kMostNamed = 60;  // in a tooltip
}

Cell firstOf(const QStringList& labels) {
  Cell out{labels.value(0, QStringLiteral("–"))};
  if (labels.size() <= 1) return out;
  out.text += QStringLiteral(" +%1").arg(labels.size() - 1);
  out.tooltip = labels.mid(0, kMostNamed).join(QStringLiteral(", "));
  if (labels.size() > kMostNamed) out.tooltip += QStringLiteral(", …");
  return out;
}

}  // namespace vitrine::kit
