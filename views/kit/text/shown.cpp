#include "views/kit/text/shown.h"

#include <QRegularExpression>
#include <QTextDocument>
#include <algorithm>

#include "core/base/visible.h"

namespace vitrine::kit {

namespace {

// The character at i, with its other half.
char32_t characterAt(const QString& text, qsizetype i) {
  const QChar c = text[i];
  if (c.isHighSurrogate() && i + 1 < text.size() && text[i + 1].isLowSurrogate())
    return QChar::surrogateToUcs4(c, text[i + 1]);
  return c.unicode();
}

}  // namespace

QString shown(const QString& text, bool lines) {
  QString out = text;
  for (qsizetype i = 0; i < text.size(); ++i) {
    const char32_t character = characterAt(text, i);
    if (!is_hidden(character) || (lines && (character == '\n' || character == '\t'))) continue;
    constexpr char16_t kPictures = 0x2400, kDelete = 0x2421;
    out[i] = character < 0x20    ? QChar(static_cast<char16_t>(kPictures + character))
             : character == 0x7F ? QChar(kDelete)
                                 : QChar(QChar::ReplacementCharacter);
    if (character > 0xFFFF) out[i + 1] = QChar(QChar::ReplacementCharacter);
  }
  return out;
}

QString shownLine(const QString& text) {
  constexpr qsizetype kEnd = 500;
  if (text.size() <= 2 * kEnd) return shown(text);
  return shown(text.first(kEnd) + QStringLiteral("…") + text.last(kEnd));
}

// The space behind a digit and before a unit. What stands in a tag is no text.
QString unitsKept(QString text) {
  static const QRegularExpression space(QStringLiteral(
      "(?<=[0-9]) (?=(?:%|×|[nµm]?s|min|[kMGT]?B(?:/s)?|[kMGT]?FLOP(?:/s)?)(?![\\w-]))(?![^<>]*>)"));
  return text.replace(space, QString(QChar(QChar::Nbsp)));
}

QString wrappable(const QString& text) {
  static const QRegularExpression option(QStringLiteral("(?<![\\w-])--[a-z][a-z-]*"));
  QString out = unitsKept(shown(text, true));
  for (auto found = option.match(out); found.hasMatch(); found = option.match(out, found.capturedEnd()))
    out.replace(found.capturedStart(), found.capturedLength(),
                found.captured().replace('-', QStringLiteral("-\u2060")));
  return out;
}

QString tip(const QString& text) {
  const QString plain = shown(text, true);
  if (!Qt::mightBeRichText(plain)) return plain;
  return QStringLiteral("<span>%1</span>").arg(plain.toHtmlEscaped().replace('\n', QStringLiteral("<br>")));
}

}  // namespace vitrine::kit
