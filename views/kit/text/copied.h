// How rows are written for the clipboard.
#pragma once

#include <QStringList>

namespace vitrine::kit {

// One line: behind tabs, or as CSV, whose cells are quoted where they hold a comma, a quote or a line's end.
QString separated(QStringList cells, bool csv);

QString pythonString(QString text);         // "L['x']" with its quotes, as Python reads it
QString pythonValue(const QString& shown);  // a number where what is shown is nothing else; "–" is None

}  // namespace vitrine::kit
