// What is typed into a find or filter field, as a pattern: the text itself, or a regular expression between
// slashes; without regard to case.
#pragma once

#include <QRegularExpression>

namespace vitrine::kit {

// Not valid while an expression is half typed; then nothing matches.
inline QRegularExpression findPattern(const QString& text) {
  const bool expression = text.size() > 2 && text.startsWith('/') && text.endsWith('/');
  return QRegularExpression(expression ? text.mid(1, text.size() - 2) : QRegularExpression::escape(text),
                            QRegularExpression::CaseInsensitiveOption);
}

}  // namespace vitrine::kit
