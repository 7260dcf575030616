// Eager above compiled, facing each other, with ribbons from each eager operator to the launch that replaced
// it.
#pragma once

#include <QPoint>
#include <QPointer>
#include <optional>

#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"
#include "views/timeline/timeline_painter.h"

namespace vitrine::views {

class TimelineView : public kit::View {
  Q_OBJECT
 public:
  explicit TimelineView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Timeline"); }
  QString subtitle() const override;
  QList<QWidget*> headerControls() override;
  QString searchPlaceholder() const override { return QStringLiteral("Find a slice"); }
  void alignActive(bool on);  // what is active below its eager partner, instead of both halves at 0
  int find(const QString& text) override;
  void findNext(bool forward) override;
  void zoom(kit::Zoom how) override;
  bool act(std::string_view command) override;
  QString copy(kit::CopyAs as) const override;
  Id canShow(Id id) const override;
  void reveal(Id id) override;
  void lookAt(double top, double zoom) override;  // top: nanoseconds, zoom: pixels of one
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override;

  QString why_empty() const;  // what stands there without lanes
  const TimelinePtr& timeline() const { return timeline_; }
  const TimeWindow& window_of_time() const { return window_; }
  // Beside another session's: launches are coloured by what they took there.
  void setBeside(LaunchesBeside beside);
  const LaunchesBeside& beside() const { return beside_; }

 protected:
  void sessionChanged() override;
  void forgetPlaces() override { loaded_.reset(); }
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void fit();
  void open_first();
  void look();
  void align();
  void zoom_at(double x, double factor);
  void pan(double pixels);
  void clamp();
  void step(int by, bool extend);  // to the next slice of the lane
  void jump();                     // to the partner on the other side
  const Slice* slice_at(const TimelineHit& hit) const;
  std::pair<int, size_t> place_of(Id id) const;  // lane -1 when it has no slice
  Id run() const;

  TimelinePtr loaded_, timeline_;  // as recorded, and as it is aligned
  bool align_active_ = false;
  QPointer<kit::MenuButton> aligned_;  // the header that shows it owns it
  TimeWindow window_;
  std::optional<TimeWindow> opened_;  // at a step of a script, until the user moves
  bool fitted_ = false, dragging_ = false, ranging_ = false;
  QPointF pressed_;
  int64_t range_from_ = 0;
  std::vector<std::pair<int, size_t>> matches_;
  size_t match_ = 0;
  LaunchesBeside beside_;
};

}  // namespace vitrine::views
