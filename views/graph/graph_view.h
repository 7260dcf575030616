// The graph of one stage: pans, zooms, opens modules, searches, steps along edges. Layout runs in a job; the
// old picture stays until it is done.
#pragma once

#include <QPoint>
#include <QPointer>
#include <set>

#include "views/graph/colouring.h"
#include "views/graph/film_layout.h"
#include "views/graph/graph_painter.h"
#include "views/kit/view.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

class GraphView : public kit::View {
  Q_OBJECT
 public:
  explicit GraphView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override;
  QString subtitle() const override;
  QString counts() const;  // what the graph is made of, "36 nodes"
  bool showsTimes() const;
  QList<QWidget*> headerControls() override;
  QString searchPlaceholder() const override {
    return QStringLiteral("name, operator, shape, dtype or /regex/");
  }
  void colourBy(Colour colour);
  int find(const QString& text) override;
  void findNext(bool forward) override;
  void zoom(kit::Zoom how) override;
  bool act(std::string_view command) override;
  QString copy(kit::CopyAs as) const override;
  QString copyPython() const override;
  Id canShow(Id id) const override;
  void reveal(Id id) override;
  void lookAt(double top, double zoom) override;
  std::vector<Id> shown() const override;
  std::vector<kit::Thing> things() const override;

  const GraphPicture& picture() const { return picture_; }
  const Camera& camera() const { return camera_; }
  const Ghosts& ghosts() const { return ghosts_; }
  QRectF minimap() const { return map(); }
  int painted() const { return painted_; }                       // items of the last paint
  const std::vector<QRectF>& titles() const { return titles_; }  // of the last paint, seen from afar

 protected:
  void sessionChanged() override;
  void forgetPlaces() override;
  void stageChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void themeChanged() override { rebuild(); }
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
  Id film_here() const;
  void rebuild();
  void show_picture(GraphPicture picture);
  void fit();
  void fit_rows();
  double first_in_sight(double width) const;
  void frame(const QRectF& scene);
  void frame_all();
  void keep_place(const GraphPicture& before);
  bool anything_in_sight() const;
  QRectF seen_scene() const;  // of the camera, without what the map covers
  void zoom_at(QPointF point, double factor);
  void pan(QPointF by);
  void keep_in_sight();
  void look();  // after the camera was moved
  void toggle_module(const std::string& path, bool open);
  void toggle_active_module();
  void group_by(Grouping grouping);
  void step_along(Qt::Key key, bool extend);
  int next_item(int here, Qt::Key key) const;  // -1: none there
  QString tooltip(const Hit& hit) const;
  QString legend_tooltip(const QPointF& at) const;
  QString whyEmpty() const;
  std::set<Id> copied() const;
  QString fusedCounts(const session::GraphRow& graph) const;
  QString loopCounts(const session::GraphRow& graph) const;
  Grouping grouping() const;
  QRectF extent() const;
  QRectF canvas() const;
  QRectF map() const;
  QRectF drawn() const;
  QRectF legend() const;

  GraphPicture picture_;
  FilmLayoutPtr film_layout_;  // while the film stands at a pass; null: to be made, or too large
  Camera camera_;
  Ghosts ghosts_;
  int painted_ = 0;
  std::vector<QRectF> titles_;
  Id shown_graph_ = 0, shown_film_ = 0, shown_rewrite_ = 0;
  std::set<std::string> opened_, closed_;
  bool all_open_ = false, fitted_ = false;
  bool moved_ = false;             // by hand, so that a new size keeps the place
  bool bars_ = true, map_ = true;  // whether there is room for them
  int grouping_ = -1;              // -1: by stage
  Colour colour_ = Colour::Family;
  QPointer<kit::MenuButton> colours_, groups_;  // the header that shows them owns them
  std::vector<Id> matches_;
  size_t match_ = 0;
  std::vector<std::pair<kit::NodeFamily, QRectF>> legend_;
  QPoint pressed_;
  Hit pressed_hit_;
  bool dragging_ = false, framing_ = false, minimap_drag_ = false;
  QPoint frame_to_;
};

}  // namespace vitrine::views
