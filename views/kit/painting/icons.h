// The app's own icons: resources/icons/<name>.svg, drawn in a colour of the theme at the needed size and
// device pixel ratio, cached.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

#include "views/kit/painting/theme.h"

class QPainter;

namespace vitrine::kit {

// size: logical pixels; a default colour means text2.
QPixmap iconPixmap(const QString& name, const QColor& colour, int size, double dpr);
void drawIcon(QPainter& painter, const QString& name, const QRect& box, const QColor& colour);
void drawFamily(QPainter& painter, NodeFamily family, const QRect& box);  // its glyph in its base colour
// For buttons and actions: normal text2, active and checked text1, disabled half.
QIcon icon(const QString& name, const QColor& colour = QColor());

}  // namespace vitrine::kit
