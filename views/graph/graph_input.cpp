// Mouse and keys of the graph view.
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "views/graph/graph_view.h"
#include "views/kit/session/symbolic_types.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr int kDragFrom = 4;  // pixels before a press becomes a drag
}

void GraphView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->pos();
  dragging_ = framing_ = false;
  pressed_hit_ = drawn().contains(event->pos()) ? hit_test(picture_, camera_.to_scene(event->pos())) : Hit{};
  minimap_drag_ = map().contains(event->pos());
  for (const auto& [family, place] : legend_) {
    if (!place.contains(event->pos())) continue;
    std::vector<Id> ids;
    for (const SceneItem& it : picture_.scene.items)
      if (it.kind == SceneItem::Kind::Node && it.family == family) ids.push_back(it.id);
    Q_EMIT selectAll(ids);
  }
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
  QPoint moved = event->pos() - pressed_;
  if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
    if (minimap_drag_) {
      const QRectF map = this->map();
      if (map.isEmpty()) return;
      QPointF part((event->pos().x() - map.left()) / map.width(),
                   (event->pos().y() - map.top()) / map.height());
      camera_.origin = QPointF(part.x() * picture_.layout.width, part.y() * picture_.layout.height) -
                       QPointF(drawn().width(), drawn().height()) / (2 * camera_.zoom);
      look();
      return;
    }
    if (!dragging_ && !framing_ && moved.manhattanLength() < kDragFrom) return;
    if (event->modifiers() & Qt::ShiftModifier && !dragging_) {
      framing_ = true;
      frame_to_ = event->pos();
      update();
    } else if (!pressed_hit_.id || event->buttons() & Qt::MiddleButton || dragging_) {
      dragging_ = true;
      pan(moved);
      pressed_ = event->pos();
    }
    return;
  }
  Hit hit = drawn().contains(event->pos()) ? hit_test(picture_, camera_.to_scene(event->pos())) : Hit{};
  setCursor(hit.id || hit.chevron ? Qt::PointingHandCursor : Qt::ArrowCursor);
  Q_EMIT hover(hit.id);
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
  bool dragged = dragging_ || minimap_drag_;
  dragging_ = minimap_drag_ = false;
  if (framing_) {
    framing_ = false;
    QRectF box = QRectF(camera_.to_scene(pressed_), camera_.to_scene(event->pos())).normalized();
    std::vector<Id> ids;
    for (size_t i = 0; i < picture_.scene.items.size(); ++i)
      if (box.intersects(to_rect(picture_.layout.nodes[i])))
        ids.insert(ids.end(), picture_.scene.items[i].members.begin(), picture_.scene.items[i].members.end());
    Q_EMIT selectAll(ids);
    update();
    return;
  }
  if (dragged || !drawn().contains(event->pos())) return;
  const Hit& hit = pressed_hit_;
  if (event->button() == Qt::MiddleButton) {
    if (hit.id) Q_EMIT openIn(hit.id, QString(), true);
  } else if (event->button() == Qt::LeftButton) {
    if (hit.group >= 0 && hit.chevron)
      return toggle_module(picture_.scene.groups[static_cast<size_t>(hit.group)].path, false);
    if (event->modifiers() & Qt::ControlModifier) {
      if (hit.id) Q_EMIT toggle(hit.id);
    } else {
      Q_EMIT activate(hit.id);
    }
  }
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
  Hit hit = hit_test(picture_, camera_.to_scene(event->pos()));
  if (hit.item >= 0 && picture_.scene.items[static_cast<size_t>(hit.item)].kind == SceneItem::Kind::Module) {
    toggle_module(picture_.scene.items[static_cast<size_t>(hit.item)].path, true);
  } else if (hit.id) {
    Q_EMIT openIn(hit.id, QString(), false);
  }
}

void GraphView::wheelEvent(QWheelEvent* event) {
  QPoint by = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) {
    zoom_at(event->position(), std::pow(1.0015, by.y()));
  } else if (event->modifiers() & Qt::ShiftModifier) {
    pan(QPointF(by.y() ? by.y() : by.x(), 0) / 2);
  } else {
    pan(QPointF(by) / 2);
  }
}

void GraphView::leaveEvent(QEvent*) {
  Q_EMIT hover(0);
}

void GraphView::toggle_module(const std::string& path, bool open) {
  (open ? opened_ : closed_).insert(path);
  (open ? closed_ : opened_).erase(path);
  if (!open) std::erase_if(opened_, [&](const std::string& p) { return p.rfind(path + ".", 0) == 0; });
  rebuild();
}

void GraphView::toggle_active_module() {
  auto it = picture_.scene.item_of.find(selection().active);
  if (it == picture_.scene.item_of.end()) return;
  const SceneItem& item = picture_.scene.items[static_cast<size_t>(it->second)];
  if (item.kind == SceneItem::Kind::Module) return toggle_module(item.path, true);
  int group = picture_.scene.layout.nodes[static_cast<size_t>(it->second)].group;
  if (group >= 0 && picture_.scene.groups[static_cast<size_t>(group)].kind == SceneGroup::Kind::Module)
    toggle_module(picture_.scene.groups[static_cast<size_t>(group)].path, false);
}

// Up and down follow an edge to the nearest producer or consumer; left and right go to the next box of the
// row.
int GraphView::next_item(int here, Qt::Key key) const {
  int best = -1;
  double least = 1e18;
  const Box& from = picture_.layout.nodes[static_cast<size_t>(here)];
  auto consider = [&](int candidate) {
    const Box& to = picture_.layout.nodes[static_cast<size_t>(candidate)];
    double d = std::hypot(to.middle() - from.middle(), to.y - from.y);
    if (candidate != here && d < least) {
      least = d;
      best = candidate;
    }
  };
  if (key == Qt::Key_Up || key == Qt::Key_Down) {
    for (const LayoutEdge& e : picture_.scene.layout.edges) {
      if (key == Qt::Key_Down && e.from == here) consider(e.to);
      if (key == Qt::Key_Up && e.to == here) consider(e.from);
    }
  } else {
    for (size_t i = 0; i < picture_.layout.nodes.size(); ++i) {
      const Box& to = picture_.layout.nodes[i];
      bool row = to.y < from.bottom() && from.y < to.bottom();
      if (row && (key == Qt::Key_Right ? to.x > from.x : to.x < from.x)) consider(static_cast<int>(i));
    }
  }
  return best;
}

// Extending goes on from where the cursor is, and keeps what is active.
void GraphView::step_along(Qt::Key key, bool extend) {
  const bool on = extend && selection().isSelected(selection().hover);
  auto it = picture_.scene.item_of.find(on ? selection().hover : canShow(selection().active));
  if (it == picture_.scene.item_of.end()) {
    if (!picture_.scene.items.empty()) Q_EMIT activate(picture_.scene.items.front().id);
    return;
  }
  const int best = next_item(it->second, key);
  if (best < 0) return;
  const Id id = picture_.scene.items[static_cast<size_t>(best)].id;
  if (!extend) return Q_EMIT activate(id);
  if (!selection().isSelected(id)) Q_EMIT toggle(id);
  Q_EMIT hover(id);
  reveal(id);
}

void GraphView::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
      return step_along(static_cast<Qt::Key>(event->key()), event->modifiers() & Qt::ShiftModifier);
    default:
      View::keyPressEvent(event);
  }
}

bool GraphView::act(std::string_view command) {
  if (command == "graph.open") {
    toggle_active_module();
  } else if (command == "graph.open-all") {
    all_open_ = !all_open_;
    // What was seen as a whole is seen from its beginning.
    const QRectF seen = seen_scene();
    if (std::all_of(picture_.layout.nodes.begin(), picture_.layout.nodes.end(),
                    [&](const Box& box) { return seen.contains(to_rect(box)); }))
      fitted_ = false;
    rebuild();
  } else if (command == "graph.groups") {
    group_by(static_cast<Grouping>((static_cast<int>(grouping()) + 1) % 3));
  } else if (command == "graph.colour") {
    colourBy(static_cast<Colour>((static_cast<int>(colour_) + 1) % colour_names().size()));
  } else {
    return false;
  }
  return true;
}

QString GraphView::tooltip(const Hit& hit) const {
  const session::NodeRow* node = session() ? session()->nodes.find(hit.id) : nullptr;
  if (!node) return {};
  QStringList lines{QStringLiteral("<b>%1</b> %2")
                        .arg(QString::fromStdString(node->name).toHtmlEscaped(),
                             QString::fromStdString(node->op).toHtmlEscaped())};
  const NodeTypes symbolic = symbolicTypes(*session(), node->graph);
  lines << typeText(*session(), *node, symbolic).toHtmlEscaped() +
               (node->bytes ? QStringLiteral(", ") + bytesText(static_cast<double>(node->bytes)) : QString());
  for (const QString& symbol : symbolsOf(*session(), *node, symbolic)) lines << symbol.toHtmlEscaped();
  if (!node->module.empty()) lines << QString::fromStdString(node->module).toHtmlEscaped();
  if (hit.item >= 0) {
    const SceneItem& item = picture_.scene.items[static_cast<size_t>(hit.item)];
    if (!item.old.isEmpty()) lines << QStringLiteral("was ") + item.old.toHtmlEscaped();
    if (!item.note.isEmpty()) lines << item.note.toHtmlEscaped();
  }
  return lines.join(QStringLiteral("<br>"));
}

// In a narrow pane a kind stands there as its glyph alone.
QString GraphView::legend_tooltip(const QPointF& at) const {
  for (const auto& [family, place] : legend_)
    if (place.contains(at)) return kit::familyTitle(family) + QStringLiteral(": a click selects all of them");
  return {};
}

bool GraphView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return View::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  QString text = drawn().contains(help->pos()) ? tooltip(hit_test(picture_, camera_.to_scene(help->pos())))
                                               : legend_tooltip(help->pos());
  if (text.isEmpty())
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace vitrine::views
