// The welcome page's six cards: one expression from Python to the timeline.
#pragma once

#include <QPainter>
#include <QRect>

namespace vitrine::app {

void drawStory(QPainter& painter, const QRect& box);

}  // namespace vitrine::app
