#include "views/kit/text/copied.h"

#include <QRegularExpression>

#include "core/base/csv.h"
#include "views/kit/text/numbers.h"

namespace vitrine::kit {

QString separated(QStringList cells, bool csv) {
  if (csv)
    for (QString& cell : cells) cell = QString::fromStdString(csv_cell(cell.toStdString()));
  return cells.join(csv ? ',' : '\t');
}

QString pythonString(QString text) {
  text.replace('\\', QStringLiteral("\\\\")).replace('"', QStringLiteral("\\\""));
  text.replace('\n', QStringLiteral("\\n"));
  return '"' + text + '"';
}

QString pythonValue(const QString& shown) {
  static const QRegularExpression number(QStringLiteral("^-?(0|[1-9]\\d*)(\\.\\d+)?$"));
  if (shown == unknown()) return QStringLiteral("None");
  const QString plain = QString(shown).replace(QChar(0x2212), '-');
  return number.match(plain).hasMatch() ? plain : pythonString(shown);
}

}  // namespace vitrine::kit
