// The Inspector: all that is known of the active thing, and its chain.
#pragma once

#include <QPointer>
#include <QScrollArea>
#include <QToolButton>
#include <optional>

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
  int layFact(QPainter* painter, const InspectorRow& row, int y, int width) const;
  void layLink(QPainter& painter, Id id, const QRect& box) const;
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
  QList<QWidget*> headerControls() override;
  QString copy(kit::CopyAs as) const override;
  bool act(std::string_view command) override;
  bool pinned() const { return pinned_.has_value(); }

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void refresh();
  InspectorContent content() const;
  void askPair();
  void fit();
  void pin(bool on);
  const kit::Selection& subject() const { return pinned_ ? *pinned_ : selection(); }
  std::string path_;                      // of the session shown
  std::optional<kit::Selection> pinned_;  // what it keeps to while other things are clicked
  std::vector<Id> pair_of_;               // the two selected things that `pair_` tells of
  InspectorSection pair_;
  QPointer<QToolButton> pin_;  // the header that shows it owns it
  QScrollArea* scroll_;
  InspectorSheet* sheet_;
};

}  // namespace vitrine::views
