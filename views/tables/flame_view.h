// What compiling took as a flame: each box as wide as its time, what it is made of below it.
#pragma once

#include <QRegularExpression>

#include "views/kit/view.h"

namespace vitrine::views {

struct FlameBox {
  Id id = 0;
  QString name, note;
  double ns = 0;    // as wide as that; those below take no more
  double work = 0;  // above 0: what it took beside others, which is more than its part of the clock
  std::vector<FlameBox> below;
  bool beside() const { return work > 0 && !below.empty(); }  // those below ran side by side
};

class FlameView : public kit::View {
  Q_OBJECT
 public:
  FlameView(kit::Jobs* jobs, QWidget* parent);
  QString title() const override { return QStringLiteral("Compile time"); }
  QString subtitle() const override;
  QString searchPlaceholder() const override { return QStringLiteral("Find a stage, pass or kernel"); }
  int find(const QString& text) override;
  void findNext(bool forward) override;
  void zoom(kit::Zoom how) override;  // in: what is active or under the pointer fills the width
  QString copy(kit::CopyAs as) const override;
  Id canShow(Id id) const override;
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override;

  // Where a box stands now; of what is beside the zoomed one there is none. Those too narrow to be seen are
  // one together: the first of so many.
  struct Place {
    const FlameBox* box;
    QRectF rect;
    int depth;
    int64_t together = 0;  // 0: it stands alone
    double ns = 0;         // of all that stand together
    Id id() const { return together ? 0 : box->id; }
  };
  const std::vector<Place>& places() const { return places_; }

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void forgetPlaces() override { zoomed_.clear(); }
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  Id run() const;
  void arrange();
  void put(const FlameBox& box, QRectF rect, int depth);
  const Place* at(QPointF point) const;
  const FlameBox* above(const Place& place) const;
  void zoomTo(const FlameBox* box);
  void paint_box(QPainter& painter, const Place& place) const;
  QString tip(const FlameBox& box) const;

  std::shared_ptr<const FlameBox> root_;
  Id filled_ = 0;               // run that the boxes are of
  std::vector<size_t> zoomed_;  // the way from the root to the box that fills the width
  std::vector<Place> places_;   // in order of painting
  const FlameBox* pointed_ = nullptr;
  std::vector<const FlameBox*> matches_;
  size_t match_ = 0;
};

}  // namespace vitrine::views
