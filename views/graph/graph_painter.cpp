#include "views/graph/graph_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "views/graph/traffic.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/session/types.h"

namespace vitrine::views {

using kit::Emphasis;
using kit::NodeFamily;
using kit::theme;

namespace {

constexpr double kNear = 0.75, kFar = 0.5, kNoAntialiasing = 0.35;
constexpr double kCorner = 8;        // of lanes
constexpr double kNameFrom = 12;     // height on the screen of a box that has room for a name
constexpr double kLeastText = 9;     // height on the screen of words that can be read
constexpr double kTitleHeight = 13;  // of the letters of a name from afar
constexpr int kLeastTitle = 40;      // pixels of a name in which it can be told from others
constexpr double kPillsFrom = 0.65;  // further out their words cannot be read
constexpr double kPillRow = 20, kPillHeight = 18, kPillGap = 16;
constexpr int kPillTick = 14;  // the mark of what was kept
constexpr double kDisc = 7;    // radius of a decision's disc

// Line width by traffic: 1 px under 1 MB, 1.5 under 8 MB, 3 under 64 MB, 4 above.
double edge_width(int64_t bytes) {
  return bytes < 1'000'000 ? 1 : bytes < 8'000'000 ? 1.5 : bytes < 64'000'000 ? 3 : 4;
}

QPainterPath rounded(const std::vector<kit::Point>& points, double radius) {
  QPainterPath path;
  if (points.empty()) return path;
  auto at = [&](size_t i) { return QPointF(points[i].x, points[i].y); };
  path.moveTo(at(0));
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    QPointF before = at(i - 1) - at(i), after = at(i + 1) - at(i);
    double a = std::hypot(before.x(), before.y()), b = std::hypot(after.x(), after.y());
    double r = std::min({radius, a / 2, b / 2});
    if (a < 0.1 || b < 0.1) continue;
    path.lineTo(at(i) + before * (r / a));
    path.quadTo(at(i), at(i) + after * (r / b));
  }
  path.lineTo(at(points.size() - 1));
  return path;
}

class GraphPainter {
 public:
  GraphPainter(QPainter& painter, const QRectF& view, const GraphPicture& picture, const Camera& camera,
               const PaintState& state)
      : p_(painter),
        picture_(picture),
        camera_(camera),
        state_(state),
        detail_(detail_at(camera.zoom)),
        t_(theme()) {
    visible_ = QRectF(camera.to_scene(view.topLeft()), camera.to_scene(view.bottomRight()))
                   .adjusted(-kAround, -kAround, kAround, kAround);
  }

  void paint() {
    p_.save();
    p_.setRenderHint(QPainter::Antialiasing, camera_.zoom >= kNoAntialiasing);
    p_.scale(camera_.zoom, camera_.zoom);
    p_.translate(-camera_.origin);
    for (size_t g = 0; g < picture_.scene.groups.size(); ++g) group(g);
    for (size_t e = 0; e < picture_.scene.edges.size(); ++e) edge(e, false);
    for (size_t e = 0; e < picture_.scene.edges.size(); ++e) edge(e, true);
    for (size_t g = 0; g < picture_.scene.groups.size(); ++g) group_title(g);
    for (size_t i = 0; i < picture_.scene.items.size(); ++i) item(i);
    for (size_t e = 0; e < picture_.scene.edges.size(); ++e) decision(e);
    if (detail_ != Detail::Far) paint_beside(p_, picture_, state_.bars, in_sight());
    p_.restore();
  }

  // Everything of the old picture that this one lost stands at 45 %.
  static constexpr double kGone = 0.45;
  int painted = 0;  // items that were in view
  std::vector<QRectF> take_titles() { return std::move(titles_); }

 private:
  static constexpr double kAround = 40;  // painted beyond the view: outlines, arrows
  QRectF in_sight() const { return visible_.adjusted(kAround, kAround, -kAround, -kAround); }

  bool dimmed(Id id) const {
    return state_.selection->onlyRelatives && !state_.selection->isRelative(id) &&
           !state_.selection->isSelected(id);
  }

  Emphasis mark(const std::vector<Id>& ids) const {
    size_t rings = 0, others = 0;  // a card is the active thing's own when all in it is
    for (Id id : ids) {
      const Emphasis m = state_.selection->mark(id);
      rings += m == Emphasis::Ring;
      others += m == Emphasis::Outline;
    }
    return rings && rings == ids.size() ? Emphasis::Ring
           : rings + others             ? Emphasis::Outline
                                        : Emphasis::None;
  }
  bool hovered(const std::vector<Id>& ids) const {
    return std::any_of(ids.begin(), ids.end(),
                       [&](Id id) { return state_.selection->isHovered(id) || matched(id); });
  }
  bool matched(Id id) const {
    return std::find(state_.matches.begin(), state_.matches.end(), id) != state_.matches.end();
  }

  void group(size_t index) {
    const SceneGroup& g = picture_.scene.groups[index];
    QRectF box = to_rect(picture_.layout.groups[index]);
    if (!box.intersects(visible_)) return;
    bool kernel = g.kind == SceneGroup::Kind::Kernel;
    p_.setPen(Qt::NoPen);
    if (kernel) {
      p_.setBrush(t_.hull);
      p_.drawRoundedRect(box, 7, 7);
    }
    p_.setBrush(Qt::NoBrush);
    p_.setPen(QPen(kernel ? t_.hullLine : t_.nodeLine, 1));
    p_.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 7, 7);
    if (g.id) kit::drawMark(p_, box, state_.selection->mark(g.id), state_.selection->isHovered(g.id), 7);
  }

  // Over the edges, on an opaque ground.
  void group_title(size_t index) {
    const SceneGroup& g = picture_.scene.groups[index];
    const QRectF box = to_rect(picture_.layout.groups[index]);
    if (!box.adjusted(-100, 0, 0, 0).intersects(visible_)) return;
    const bool kernel = g.kind == SceneGroup::Kind::Kernel;
    if (detail_ != Detail::Near && !kernel) return title_far(box, g.title, t_.text3, true);
    if (kernel && picture_.compact) return title_beside(box, g);
    QRect line = QRectF(box.left() + 10, box.top() + 2, box.width() - 20, kernel ? 24 : 20).toRect();
    const QColor ground = kernel ? t_.hull : t_.canvas;
    const QFont font = t_.mono(kernel ? 12 : 11, kernel ? 500 : 400);
    const double least =
        line.width() - 12 - (g.right.isEmpty() ? 0 : kit::textWidth(t_.mono(11), g.right) + 8);
    const double wide = std::min<double>(least, kit::textWidth(font, g.title)) + (kernel ? 8 : 20);
    p_.fillRect(QRectF(line.left() - 6, line.top() + 3, wide, line.height() - 6), ground);
    int right = 0;
    if (!g.right.isEmpty()) {
      const double width = kit::textWidth(t_.mono(11), g.right) + 6;
      p_.fillRect(QRectF(line.right() - width, line.top() + 3, width + 2, line.height() - 6), ground);
      right = kit::drawText(p_, line, g.right, t_.mono(11), t_.text2, Qt::AlignRight);
    }
    line.setRight(line.right() - right - 8);
    if (!kernel) {
      kit::drawIcon(p_, "chevron-down", QRect(line.left() - 4, line.top() + 4, 12, 12), t_.text3);
      line.setLeft(line.left() + 12);
    }
    kit::drawText(p_, line, g.title, font, kernel ? t_.text1 : t_.text3, Qt::AlignLeft, kit::Elide::Middle);
  }

  // Rows of one line have no room for a title: it stands left of the hull, "K2" over its time.
  void title_beside(const QRectF& box, const SceneGroup& g) {
    const double middle = middle_in_sight(box.top(), box.bottom(), in_sight());
    const QRect upper(static_cast<int>(box.left()) - 100, static_cast<int>(middle) - 18, 90, 18);
    const bool timed = !g.right.isEmpty();
    kit::drawText(p_, timed ? upper : upper.translated(0, 9), g.title.section(' ', 0, 0), t_.mono(12, 600),
                  t_.text1, Qt::AlignRight);
    if (timed) kit::drawText(p_, upper.translated(0, 18), g.right, t_.mono(11), t_.text2, Qt::AlignRight);
  }

  // The ink that can be read on a family's own colour.
  QColor on_fill(const QColor& fill) const {
    const bool light = qGray(fill.rgb()) > 118;
    return light == t_.dark ? t_.onAccent : t_.text1;
  }

  // From afar boxes are smaller than words: a name that has no room, or would lie over another, is left out.
  void title_far(const QRectF& box, const QString& title, const QColor& colour, bool ground = false) {
    // Of a group the title has the room above what is in it.
    const int top =
        ground ? 0 : static_cast<int>(std::clamp((box.height() * camera_.zoom - 16) / 2, -1.0, 2.0));
    const QRect room(6, top, static_cast<int>(box.width() * camera_.zoom) - 12, 16);
    const int whole = kit::textWidth(t_.mono(11), title), wide = std::min(room.width(), whole);
    if (wide < std::min(whole, kLeastTitle)) return;
    const QRectF place =
        QRectF(room.topLeft(), QSizeF(wide, kTitleHeight)).translated(camera_.to_view(box.topLeft()));
    if (std::any_of(titles_.begin(), titles_.end(),
                    [&](const QRectF& each) { return each.intersects(place); }))
      return;
    titles_.push_back(place);
    p_.save();
    p_.translate(box.topLeft());
    p_.scale(1 / camera_.zoom, 1 / camera_.zoom);
    if (ground && wide > 0) p_.fillRect(QRect(room.x() - 3, top + 1, wide + 6, 14), t_.canvas);
    kit::drawText(p_, room, title, t_.mono(11), colour, Qt::AlignLeft, kit::Elide::Middle);
    p_.restore();
  }

  void edge(size_t index, bool top) {
    const SceneEdge& e = picture_.scene.edges[index];
    const kit::Route& route = picture_.layout.edges[index];
    if (route.points.empty()) return;
    bool own =
        state_.selection->active && (e.src == state_.selection->active || e.dst == state_.selection->active);
    if (own != top) return;
    if (!picture_.edge_bounds[index].intersects(visible_)) return;
    const bool coming = ghost({e.dst});
    QPen pen(own ? t_.accent : coming ? t_.ctl : t_.edge, coming ? 1 : edge_width(e.bytes));
    if (coming) {
      pen.setDashPattern({3, 3});
    } else if (e.inside_kernel) {
      pen.setDashPattern({2 / pen.widthF(), 3 / pen.widthF()});
    }
    p_.setPen(pen);
    p_.setBrush(Qt::NoBrush);
    p_.setOpacity(dimmed(e.src) && dimmed(e.dst) ? 0.25 : 1);
    if (route.cut) {
      pen.setDashPattern({1, 3});
      p_.setPen(pen);
      p_.drawLine(QPointF(route.points[0].x, route.points[0].y),
                  QPointF(route.points[1].x, route.points[1].y));
      p_.drawLine(QPointF(route.points[2].x, route.points[2].y),
                  QPointF(route.points[3].x, route.points[3].y));
    } else {
      p_.drawPath(rounded(route.points, kCorner));
    }
    if (detail_ != Detail::Far) arrow(route, pen.color());
    p_.setOpacity(1);
  }

  void arrow(const kit::Route& route, const QColor& colour) {
    const kit::Point &end = route.points.back(), &before = route.points[route.points.size() - 2];
    QPointF tip(end.x, end.y), d(end.x - before.x, end.y - before.y);
    double length = std::hypot(d.x(), d.y());
    if (length < 0.1) return;
    d /= length;
    QPointF side(-d.y() * 3.5, d.x() * 3.5);
    p_.setPen(Qt::NoPen);
    p_.setBrush(colour);
    p_.drawPolygon(QPolygonF({tip, tip - d * 8 + side, tip - d * 8 - side}));
  }

  void item(size_t index) {
    const SceneItem& it = picture_.scene.items[index];
    QRectF box = to_rect(picture_.layout.nodes[index]);
    if (!box.adjusted(-220, 0, 0, 0).intersects(visible_)) return;
    ++painted;
    p_.setOpacity(it.badge == Badge::Removed                            ? kGone
                  : dimmed(it.id) && it.kind != SceneItem::Kind::Module ? 0.35
                                                                        : 1);
    Emphasis m = mark(it.members);
    bool hover = hovered(it.members);
    const bool coming = ghost(it.members);
    if (coming) {
      ghost_box(it, box);
    } else if (it.kind == SceneItem::Kind::Input || it.kind == SceneItem::Kind::Output) {
      terminal(it, box, m);
    } else if (detail_ == Detail::Far) {
      p_.fillRect(box, it.shade.isValid()                   ? it.shade
                       : it.kind == SceneItem::Kind::Module ? t_.bg3
                                                            : t_.family(it.family));
      if (it.kind == SceneItem::Kind::Module)
        title_far(box, it.name, t_.text2);
      else if (box.height() * camera_.zoom >= kNameFrom)
        title_far(box, it.name, on_fill(it.shade.isValid() ? it.shade : t_.family(it.family)));
    } else {
      node(it, box, m);
    }
    kit::drawMark(p_, box, m, hover, it.kind == SceneItem::Kind::Input ? box.height() / 2 : t_.radius());
    if (detail_ != Detail::Far && !coming) {
      pills(index);
      p_.setOpacity(1);
      badge(it, box);
    }
    p_.setOpacity(1);
  }

  // All of it is still to come.
  bool ghost(const std::vector<Id>& ids) const {
    return state_.ghosts && !state_.ghosts->step_of.empty() &&
           std::all_of(ids.begin(), ids.end(), [&](Id id) { return state_.ghosts->step_of.contains(id); });
  }

  void ghost_box(const SceneItem& it, const QRectF& box) {
    const bool pill = it.kind == SceneItem::Kind::Output;
    kit::dashedBox(p_, box, t_.ctl, pill ? box.height() / 2 : t_.radius());
    if (detail_ == Detail::Far) return;
    const bool one_line = detail_ == Detail::Middle || pill;
    QRect upper = box.adjusted(pill ? 10 : 34, one_line ? 0 : 3, -8, one_line ? 0 : -19).toRect();
    kit::drawText(p_, upper, it.name, t_.mono(12), t_.text3, pill ? Qt::AlignHCenter : Qt::AlignLeft,
                  kit::Elide::Middle);
    if (one_line) return;
    int first = state_.ghosts->step_of.at(it.members.front());
    for (Id id : it.members) first = std::min(first, state_.ghosts->step_of.at(id));
    kit::drawText(p_, box.adjusted(34, 20, -8, -3).toRect(), QStringLiteral("step %1").arg(first),
                  t_.mono(11), t_.text3);
  }

  void terminal(const SceneItem& it, const QRectF& box, Emphasis m) {
    p_.setPen(QPen(t_.nodeLine, 1));
    p_.setBrush(m == Emphasis::None ? t_.node : t_.sel);
    p_.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), box.height() / 2, box.height() / 2);
    if (detail_ == Detail::Far) return;
    const QRect room = box.adjusted(6, 0, -6, 0).toRect();
    const double k = detail_ == Detail::Middle ? std::min(1 / camera_.zoom, 1.5) : 1;
    kit::drawText(p_, room, it.name, t_.mono(fitting(it.name, room.width(), 12 * k, 12)), t_.text1,
                  Qt::AlignHCenter, kit::Elide::Middle);
  }

  // The largest size from `most` down to `least`, which is kLeastText on the screen, in which the words need
  // no "…".
  int fitting(const QString& text, int room, double most, int least) const {
    least = std::max(least, static_cast<int>(std::lround(std::min(most, kLeastText / camera_.zoom))));
    const int width = kit::textWidth(t_.mono(least), text);
    return std::max(least, static_cast<int>(std::min(most, least * room / std::max(1.0, width * 1.0))));
  }

  void node(const SceneItem& it, const QRectF& box, Emphasis m) {
    bool module = it.kind == SceneItem::Kind::Module;
    if (module) {  // a second edge below: there is more inside
      p_.setPen(QPen(t_.nodeLine, 1));
      p_.setBrush(Qt::NoBrush);
      p_.drawRoundedRect(box.adjusted(3.5, 3.5, -3.5, 2.5), t_.radius(), t_.radius());
    }
    QPen outline(t_.nodeLine, 1);
    if (it.family == NodeFamily::View) outline.setDashPattern({3, 2});
    p_.setPen(outline);
    p_.setBrush(it.shade.isValid() ? it.shade : m != Emphasis::None ? t_.sel : module ? t_.bg3 : t_.node);
    p_.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), t_.radius(), t_.radius());
    const bool one_line = detail_ == Detail::Middle || picture_.compact;
    // Between near and far the words keep their size on the screen, and the box has room for one line.
    const double k = detail_ == Detail::Middle ? 1 / camera_.zoom : 1;
    const int inset = static_cast<int>(34 * k), side = static_cast<int>(16 * k);
    QRect text = box.adjusted(inset, one_line ? 0 : 2, -8, 0).toRect();
    const QRect glyph(
        text.left() - static_cast<int>(22 * k),
        one_line ? static_cast<int>(box.center().y()) - side / 2 : static_cast<int>(box.top()) + 4, side,
        side);
    if (module) {
      kit::drawIcon(p_, "chevron-right",
                    QRect(glyph.left() - 2, text.top() + (text.height() - side) / 2, side, side), t_.text2);
    } else {
      p_.setPen(Qt::NoPen);
      p_.setBrush(t_.family(it.family));
      p_.drawRoundedRect(QRectF(box.left(), box.top(), 5, box.height()), 2, 2);
      kit::drawFamily(p_, it.family, glyph);
    }
    const int size = detail_ == Detail::Middle ? fitting(it.name, text.width(), std::lround(11 * k), 11) : 12;
    QFont name = module ? t_.ui(size, 600) : t_.mono(size, m == Emphasis::Ring ? 600 : 400);
    if (one_line) return one_line_text(it, text, name, k);
    QRect upper(text.left(), text.top() + 1, text.width(), 18),
        lower(text.left(), text.top() + 18, text.width(), 17);
    const int named = kit::drawText(p_, upper, it.name, name, t_.text1, Qt::AlignLeft, kit::Elide::Middle);
    if (!it.what.isEmpty() && named + 24 < upper.width())
      kit::drawText(p_, upper.adjusted(named + 8, 0, 0, 0), it.what, t_.ui(11), t_.text2);
    int right =
        it.right.isEmpty() ? 0 : kit::drawText(p_, lower, it.right, t_.mono(11), t_.text2, Qt::AlignRight);
    lower.setRight(lower.right() - (right ? right + 8 : 0));
    // Numbers are not cut: where the strides find no room, the shape stands alone.
    const bool whole = kit::textWidth(t_.mono(11), it.line) <= lower.width();
    kit::drawText(p_, lower, whole ? it.line : kit::withoutStrides(it.line), t_.mono(11), t_.text3,
                  Qt::AlignLeft, kit::Elide::Middle);
  }

  // Name, and in compact rows the operation and its space at the right.
  void one_line_text(const SceneItem& it, QRect text, const QFont& font, double k) {
    const int small = static_cast<int>(std::lround(11 * k)), gap = static_cast<int>(8 * k);
    const bool facts = picture_.compact || it.kind == SceneItem::Kind::Module;
    if (const int fact = kit::textWidth(t_.mono(small), it.right);
        facts && fact > 0 &&
        (picture_.compact ? fact < text.width() / 2
                          : fact + gap + kit::textWidth(font, it.name) <= text.width())) {
      const int right = kit::drawText(p_, text, it.right, t_.mono(small), t_.text2, Qt::AlignRight);
      text.setRight(text.right() - right - gap);
    }
    const int used = kit::drawText(p_, text, it.name, font, t_.text1, Qt::AlignLeft, kit::Elide::Middle);
    text.setLeft(text.left() + used + gap);
    if (facts &&
        (picture_.compact ? text.width() > 24 * k : kit::textWidth(t_.ui(small), it.line) <= text.width()))
      kit::drawText(p_, text, it.line, t_.ui(small), t_.text2, Qt::AlignLeft, kit::Elide::End);
  }

  void pills(size_t index) {
    if (camera_.zoom < kPillsFrom) return;
    const SceneItem& it = picture_.scene.items[index];
    for (size_t k = 0; k < it.pills.size(); ++k) {
      QRectF box = pill_rect(picture_, static_cast<int>(index), static_cast<int>(k));
      if (!box.intersects(visible_)) continue;
      Emphasis m = state_.selection->mark(it.pills[k].id);
      p_.setPen(QPen(t_.nodeLine, 1));
      p_.setBrush(m == Emphasis::None ? t_.canvas : t_.sel);
      p_.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), box.height() / 2, box.height() / 2);
      QRect text = box.adjusted(9, 0, -7, 0).toRect();
      if (it.pills[k].saved) {
        kit::drawIcon(p_, "tick", QRect(text.left() - 2, text.center().y() - 5, 12, 12), t_.ok);
        text.setLeft(text.left() + kPillTick);
      }
      kit::drawText(p_, text, it.pills[k].text, t_.mono(11), t_.text2, Qt::AlignHCenter, kit::Elide::Middle);
      p_.setPen(QPen(t_.edge, 1));
      QPointF from(box.right(), box.center().y()),
          to(to_rect(picture_.layout.nodes[index]).left(), box.center().y());
      p_.drawLine(from, to);
      arrow({{{from.x(), from.y()}, {to.x(), to.y()}}, false, false}, t_.edge);
      kit::drawMark(p_, box, m, state_.selection->isHovered(it.pills[k].id), box.height() / 2);
    }
  }

  void badge(const SceneItem& it, const QRectF& box) {
    const bool newest = state_.ghosts && state_.ghosts->newest == it.id;
    if (it.badge == Badge::None && !newest) return;
    struct Look {
      QColor fill;
      QString sign;
      const char* icon;  // in its place
    };
    const Look looks[] = {{t_.ok, QStringLiteral("+"), nullptr},
                          {t_.ok, QStringLiteral("+"), nullptr},
                          {t_.warn, QStringLiteral("~"), nullptr},
                          {t_.err, QString(QChar(0x2212)), nullptr},
                          {t_.ok, {}, "tick"},
                          {t_.info, {}, "refresh"}};
    const Look& look = looks[newest ? 0 : static_cast<int>(it.badge)];
    const double k = detail_ == Detail::Middle ? 1 / camera_.zoom : 1, side = 15 * k;
    QRectF disc(box.right() - side / 2, box.top() - side / 2, side, side);
    p_.setPen(Qt::NoPen);
    p_.setBrush(look.fill);
    p_.drawEllipse(disc);
    if (look.icon)
      kit::drawIcon(p_, look.icon, disc.adjusted(2 * k, 2 * k, -2 * k, -2 * k).toRect(), t_.onAccent);
    else
      kit::drawText(p_, disc.toRect(), look.sign, t_.mono(static_cast<int>(11 * k), 600), t_.onAccent,
                    Qt::AlignHCenter);
  }

  void decision(size_t index) {
    const SceneEdge& e = picture_.scene.edges[index];
    const kit::Route& route = picture_.layout.edges[index];
    if (!e.decision || route.points.empty() || detail_ == Detail::Far) return;
    QPointF c = decision_point(route);
    QRectF disc(c.x() - kDisc, c.y() - kDisc, 2 * kDisc, 2 * kDisc);
    if (!disc.intersects(visible_)) return;
    p_.setPen(QPen(e.fused ? t_.ok : t_.ctl, 1));
    p_.setBrush(e.fused ? t_.ok : t_.canvas);
    p_.drawEllipse(disc);
    kit::drawIcon(p_, e.fused ? "tick" : "minus", disc.adjusted(2, 2, -2, -2).toRect(),
                  e.fused ? t_.onAccent : t_.text2);
    kit::drawMark(p_, disc.adjusted(-2, -2, 2, 2), state_.selection->mark(e.decision),
                  state_.selection->isHovered(e.decision), kDisc + 2);
  }

 public:
  static QPointF decision_point(const kit::Route& route) {
    if (route.cut) return {route.points.back().x, (route.points.end()[-2].y + route.points.back().y) / 2};
    if (route.lane) {  // in the middle of the lane itself, its longest upright part
      size_t lane = 1;
      auto height = [&](size_t i) { return std::abs(route.points[i].y - route.points[i - 1].y); };
      for (size_t i = 2; i < route.points.size(); ++i)
        if (height(i) > height(lane)) lane = i;
      return {route.points[lane].x, (route.points[lane].y + route.points[lane - 1].y) / 2};
    }
    return {route.points.back().x, (route.points[route.points.size() - 2].y + route.points.back().y) / 2};
  }

 private:
  QPainter& p_;
  std::vector<QRectF> titles_;  // on the view, of names from afar
  const GraphPicture& picture_;
  const Camera& camera_;
  const PaintState& state_;
  const Detail detail_;
  const kit::Theme& t_;
  QRectF visible_;
};

}  // namespace

Detail detail_at(double zoom) {
  return zoom >= kNear ? Detail::Near : zoom >= kFar ? Detail::Middle : Detail::Far;
}

void GraphPicture::bound_edges() {
  edge_bounds.clear();
  for (const kit::Route& route : layout.edges) {
    QRectF bounds;
    for (const kit::Point& q : route.points) bounds = bounds.united(QRectF(q.x - 4, q.y - 4, 8, 8));
    edge_bounds.push_back(bounds);
  }
}

QRectF to_rect(const kit::Box& box) {
  return {box.x, box.y, box.w, box.h};
}

QRectF pill_rect(const GraphPicture& picture, int item, int pill) {
  const SceneItem& it = picture.scene.items[static_cast<size_t>(item)];
  QRectF box = to_rect(picture.layout.nodes[static_cast<size_t>(item)]);
  const Pill& of = it.pills[static_cast<size_t>(pill)];
  const double width = kit::textWidth(theme().mono(11), of.text) + 18 + (of.saved ? kPillTick : 0);
  double top = box.center().y() - kPillRow * static_cast<double>(it.pills.size()) / 2 + kPillRow * pill +
               (kPillRow - kPillHeight) / 2;
  return {box.left() - kPillGap - width, top, width, kPillHeight};
}

int paint_graph(QPainter& painter, const QRectF& view, const GraphPicture& picture, const Camera& camera,
                const PaintState& state) {
  if (picture.empty()) return 0;
  GraphPainter work(painter, view, picture, camera, state);
  work.paint();
  if (state.titles) *state.titles = work.take_titles();
  return work.painted;
}

Hit hit_test(const GraphPicture& picture, QPointF at) {
  for (size_t e = 0; e < picture.scene.edges.size(); ++e) {
    if (!picture.scene.edges[e].decision || picture.layout.edges[e].points.empty()) continue;
    QPointF d = GraphPainter::decision_point(picture.layout.edges[e]) - at;
    if (std::hypot(d.x(), d.y()) <= kDisc + 2) return {picture.scene.edges[e].decision};
  }
  for (size_t i = 0; i < picture.scene.items.size(); ++i) {
    const SceneItem& it = picture.scene.items[i];
    if (to_rect(picture.layout.nodes[i]).contains(at))
      return {it.id, static_cast<int>(i), -1, it.kind == SceneItem::Kind::Module};
    for (size_t k = 0; k < it.pills.size(); ++k) {
      if (pill_rect(picture, static_cast<int>(i), static_cast<int>(k)).contains(at))
        return {it.pills[k].id, static_cast<int>(i)};
    }
  }
  for (size_t g = picture.scene.groups.size(); g-- > 0;) {
    QRectF box = to_rect(picture.layout.groups[g]);
    if (picture.compact)
      box.setLeft(box.left() - 100);
    else
      box.setHeight(26);
    if (box.contains(at))
      return {picture.scene.groups[g].id, -1, static_cast<int>(g),
              picture.scene.groups[g].kind == SceneGroup::Kind::Module};
  }
  return {};
}

}  // namespace vitrine::views
