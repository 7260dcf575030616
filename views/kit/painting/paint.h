// Painting that every view shares: lines on device pixels, the three highlights, pills and elided text.
// All rectangles are logical pixels.
#pragma once

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QRect>
#include <QString>

#include "views/kit/painting/theme.h"

namespace vitrine::kit {

// How a thing is marked. Order of painting: hover over ring over outline.
enum class Emphasis {
  None,
  Outline,
  Ring
};  // Outline: selected or shared relative; Ring: active or sole relative

// An axis-parallel line of max(1, round(dpr)) device pixels, never antialiased.
void hairline(QPainter& painter, QPointF from, QPointF to, const QColor& colour);
void hairlineBox(QPainter& painter, const QRectF& box, const QColor& colour);
void dashedBox(QPainter& painter, const QRectF& box, const QColor& colour, double radius = 0);

// Outline of a highlighted thing around `box`: ring 2 px, outline 1.5 px accent, hover 1 px dashed text2.
void drawMark(QPainter& painter, const QRectF& box, Emphasis mark, bool hovered, double radius);
// Fill and left bar of a table or tree row: hovered `hov`, selected and active `sel`, active with a 3 px bar.
void drawRowGround(QPainter& painter, const QRect& row, Emphasis mark, bool hovered);

// A rounded label: soft fill, text in the tone's colour (or text1), optional icon. Returns its width.
int drawPill(QPainter& painter, QPoint at, int height, const QString& text, Tone tone,
             const QString& icon = QString());
int pillWidth(const QString& text, bool withIcon);

int textWidth(const QFont& font, const QString& text);
enum class Elide { End, Middle };  // names in the middle, sentences at the end; numbers never
// One line, vertically centred in `box`, cut with "…" when it does not fit. Returns the width drawn.
int drawText(QPainter& painter, const QRect& box, const QString& text, const QFont& font,
             const QColor& colour, Qt::Alignment alignment = Qt::AlignLeft, Elide elide = Elide::End);
// What stands in a view that has nothing to show: prose from its upper left corner, wrapped.
QRect drawEmpty(QPainter& painter, const QRect& box, const QString& text);  // what the words take
QRect centred(const QRect& box, int size);                                  // a square in the middle

}  // namespace vitrine::kit
