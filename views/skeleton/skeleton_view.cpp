#include "views/skeleton/skeleton_view.h"

#include <QPainter>

#include "core/session/stages.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

QString SkeletonView::title() const {
  for (const session::StageInfo& info : session::kStages)
    if (info.name == stage()) return vitrine::s(info.title);
  return QStringLiteral("Skeleton");
}

QString SkeletonView::subtitle() const {
  return session() ? session()->label(compilation()) : QString();
}

void SkeletonView::selectionChanged(kit::ChangeMask mask) {
  if (mask & (kit::ChangeActive | kit::ChangeHover)) update();
}

void SkeletonView::paintEvent(QPaintEvent*) {
  const kit::Theme& t = kit::theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  const QString active = session() ? session()->label(selection().active) : QString();
  const QRect line(t.padding(), t.px(8), width() - 2 * t.padding(), t.row());
  kit::drawText(painter, line, active.isEmpty() ? QStringLiteral("Nothing is active.") : active, t.ui(13),
                t.text2);
}

}  // namespace vitrine::views
