// Words of a session as they are painted and as tooltips have them: what a stranger wrote is never markup,
// and nothing in it is hidden.
#pragma once

#include <QString>

namespace vitrine::kit {

// Each hidden character (core/base/visible.h) as one that shows, so that columns stay what they are: control
// characters as their pictures "␛", others as "�". Line ends and tabs stay where the text has lines.
QString shown(const QString& text, bool lines = false);

// For a line that is cut where its room ends: of a text longer than any such room the ends alone, since a
// font takes seconds for what nobody sees.
QString shownLine(const QString& text);

// For lines that are wrapped: a number stands in one line with its unit, "59 %".
QString unitsKept(QString text);
// Plain text that is painted in such lines; "--eager-too" is not cut at its hyphens either.
QString wrappable(const QString& text);

// Plain text for a tooltip, which would take what looks like HTML for it.
QString tip(const QString& text);

}  // namespace vitrine::kit
