// Paints a laid-out scene at a zoom, with three levels of detail, and answers what is under a point.
#pragma once

#include <QPainter>
#include <QTransform>

#include "views/graph/scene.h"
#include "views/kit/selection/selection.h"

namespace vitrine::views {

// Near: two lines and times. Middle: name and one fact. Far: coloured rectangles.
enum class Detail { Near, Middle, Far };
Detail detail_at(double zoom);

struct FilmLayout;

struct GraphPicture {
  Scene scene;
  kit::GraphLayout layout;
  bool compact = false;
  std::shared_ptr<const FilmLayout> film = {};  // whose places it has
  std::vector<QRectF> edge_bounds;              // by edge, filled by bound_edges()
  bool empty() const { return layout.nodes.empty(); }
  void bound_edges();
};

struct Camera {
  double zoom = 1;
  QPointF origin;  // scene point at the widget's top left corner
  QPointF to_view(QPointF p) const { return (p - origin) * zoom; }
  QPointF to_scene(QPointF p) const { return p / zoom + origin; }
};

// What a point hits: an item, a pill, a group's title or a decision's disc. id is what becomes active.
struct Hit {
  Id id = 0;
  int item = -1, group = -1;
  bool chevron = false;
};

// Nodes that capture has not made yet where the film stands, each with the step that makes it; and the one
// just made.
struct Ghosts {
  std::unordered_map<Id, int> step_of;
  Id newest = 0;
  bool operator==(const Ghosts&) const = default;
};
// Empty when the film steps neither through this graph's capture nor through the rewrites that led to it.
Ghosts ghosts_of(const kit::SessionData& data, const kit::Film& film, const session::GraphRow& graph);

// Of the snapshot before: nodes that rewrites change which come later than where the film stands.
std::set<Id> pending_rewrites(const kit::SessionData& data, const kit::Film& film,
                              const session::GraphRow& graph);

struct PaintState {
  const kit::Selection* selection = nullptr;
  std::vector<Id> matches;  // of the search
  const Ghosts* ghosts = nullptr;
  bool motion = false;
  bool bars = true;                       // of traffic, beside the rows
  std::vector<QRectF>* titles = nullptr;  // filled: where names of a picture seen from afar stand
};

// Returns how many items were in view and painted.
int paint_graph(QPainter& painter, const QRectF& view, const GraphPicture& picture, const Camera& camera,
                const PaintState& state);
// Lower right corner; empty rectangle when everything is in view.
QRectF minimap_rect(const QRectF& view, const GraphPicture& picture, const Camera& camera);
// What a map takes of a view's width when it is shown: a strip at the right, which the graph leaves free.
double map_room(const QRectF& view, const GraphPicture& picture);
// shown: what of the view the graph has.
void paint_minimap(QPainter& painter, const QRectF& view, const QRectF& shown, const GraphPicture& picture,
                   const Camera& camera);
// How many rows the families need at the bottom of a view of a size, at most two.
int legend_rows(const GraphPicture& picture, QSizeF view);
// The rows of families at the bottom; returns each family's place.
std::vector<std::pair<kit::NodeFamily, QRectF>> paint_legend(QPainter& painter, const QRectF& row,
                                                             const GraphPicture& picture, double zoom);

Hit hit_test(const GraphPicture& picture, QPointF scene_point);
QRectF pill_rect(const GraphPicture& picture, int item, int pill);
QRectF to_rect(const kit::Box& box);

}  // namespace vitrine::views
