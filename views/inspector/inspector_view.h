// The Inspector: all that is known of the active thing, and its chain.
#pragma once

#include <QScrollArea>

#include "views/inspector/inspector_content.h"
#include "views/kit/view.h"

namespace vitrine::views {

// Paints the content; knows where each row stands.
class InspectorSheet : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  void set(InspectorContent content, const kit::Selection* marks);
  int heightFor(int width) const;

 Q_SIGNALS:
  void activate(vitrine::Id id);
  void hover(vitrine::Id id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  // Draws when `painter` is set, measures else; returns the height.
  int lay(QPainter* painter, int width) const;
  int layRow(QPainter* painter, const InspectorRow& row, int y, int width) const;
  void layTitle(QPainter& painter, int width) const;
  Id at(QPoint point) const;

  InspectorContent content_;
  const kit::Selection* marks_ = nullptr;
  mutable std::vector<std::pair<QRect, Id>> hits_;
};

class InspectorView : public kit::View {
  Q_OBJECT
 public:
  InspectorView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Inspector"); }
  QString copy(kit::CopyAs as) const override;

 protected:
  void sessionChanged() override { refresh(); }
  void selectionChanged(kit::ChangeMask mask) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  void fit();
  QScrollArea* scroll_;
  InspectorSheet* sheet_;
};

}  // namespace vitrine::views
