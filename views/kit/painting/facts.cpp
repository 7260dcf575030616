#include "views/kit/painting/facts.h"

#include <algorithm>

#include "views/kit/painting/paint.h"

namespace vitrine::kit {

QString wholeFacts(const QString& text, const QFont& font, int width) {
  QString out = text;
  while (textWidth(font, out) > width) {
    const qsizetype cut =
        std::max({out.lastIndexOf(QStringLiteral(", ")), out.lastIndexOf(QStringLiteral("; ")),
                  out.lastIndexOf(QStringLiteral("  "))});
    if (cut <= 0) return text;
    out.truncate(cut);
  }
  return out;
}

}  // namespace vitrine::kit
