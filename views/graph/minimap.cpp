#include <algorithm>

#include "views/graph/graph_painter.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"

namespace vitrine::views {

using kit::theme;

namespace {
constexpr double kNarrow = 360;  // a view that a map would cover
constexpr double kMapLeast = 62, kMapMost = 96, kTallest = 220, kInset = 10, kMargin = 24;
constexpr double kTwoRowsFrom = 300, kThreeRowsFrom = 400;  // height of a view with room for so many rows of
                                                            // families

double minimap_scale(const GraphPicture& picture, double width) {
  return std::min(width / std::max(1.0, picture.layout.width),
                  kTallest / std::max(1.0, picture.layout.height));
}

double map_width(const GraphPicture& picture) {
  return std::clamp(picture.layout.width * kTallest / std::max(1.0, picture.layout.height), kMapLeast,
                    kMapMost);
}
}  // namespace

QRectF minimap_rect(const QRectF& view, const GraphPicture& picture, const Camera& camera) {
  if (picture.empty() || view.width() < kNarrow) return {};
  QRectF seen(camera.to_scene(view.topLeft()), camera.to_scene(view.bottomRight()));
  // The empty margin may be out of view.
  const QRectF all = QRectF(0, 0, picture.layout.width, picture.layout.height)
                         .adjusted(kMargin, kMargin, -kMargin, -kMargin);
  if (seen.contains(all)) return {};
  const double width = map_width(picture);
  double height = std::clamp(picture.layout.height * minimap_scale(picture, width), kNarrow / 2, kTallest);
  return {view.right() - width - kInset, view.bottom() - height - kInset, width, height};
}

double map_room(const QRectF& view, const GraphPicture& picture) {
  return view.width() < kNarrow ? 0 : map_width(picture) + 2 * kInset;
}

void paint_minimap(QPainter& p, const QRectF& view, const QRectF& shown, const GraphPicture& picture,
                   const Camera& camera) {
  QRectF map = minimap_rect(view, picture, camera);
  if (map.isEmpty()) return;
  const kit::Theme& t = theme();
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  const QRectF strip(shown.right(), view.top(), view.right() - shown.right(), view.height());
  p.fillRect(strip, t.canvas);
  kit::hairline(p, strip.topLeft(), strip.bottomLeft(), t.line);
  p.fillRect(map, t.bg1);
  kit::hairlineBox(p, map, t.line);
  p.setClipRect(map);
  double s = minimap_scale(picture, map.width());
  double left = map.left() + (map.width() - picture.layout.width * s) / 2;
  for (size_t i = 0; i < picture.scene.items.size(); ++i) {
    const SceneItem& it = picture.scene.items[i];
    const kit::Box& b = picture.layout.nodes[i];
    QRectF box(left + b.x * s, map.top() + b.y * s, std::max(3.0, b.w * s), std::max(1.5, b.h * s));
    p.fillRect(box, it.kind == SceneItem::Kind::Node ? t.family(it.family) : t.ctl);
  }
  QRectF seen(camera.to_scene(shown.topLeft()), camera.to_scene(shown.bottomRight()));
  QRectF frame(left + seen.left() * s, map.top() + seen.top() * s, seen.width() * s, seen.height() * s);
  kit::hairlineBox(p, frame.intersected(map.adjusted(0, 0, -1, -1)), t.text2);
  p.restore();
}

// A swatch and what it stands for; of amounts the steps touch, with the least and the most beside them.
static void paint_keys(QPainter& p, const QRectF& row, const GraphPicture& picture) {
  const kit::Theme& t = theme();
  double x = row.left();
  for (const auto& [colour, text] : picture.scene.keys) {
    const int wide = text.isEmpty() ? 0 : kit::textWidth(t.mono(11), text) + 16;
    if (x + 16 + wide > row.right()) break;
    const QRectF swatch(x, row.center().y() - 7, 14, 14);
    p.fillRect(swatch, colour);
    kit::hairlineBox(p, swatch, t.nodeLine);
    if (wide)
      kit::drawText(p, QRectF(x + 20, row.top(), wide, row.height()).toRect(), text, t.mono(11), t.text2);
    x += 16 + (wide ? wide + 8 : 0);
  }
}

// Places of the families in rows, the first `named` of them with their names; none when they have no room.
static std::vector<QRectF> legend_places(const GraphPicture& picture, const QRectF& box, int rows,
                                         size_t named) {
  const kit::Theme& t = theme();
  const double zoom = kit::textWidth(t.mono(11), QStringLiteral("400 %"));  // at the first row's right end
  const double left = box.left() + t.padding(), right = box.right() - t.padding();
  std::vector<QRectF> out;
  double x = left;
  int line = 0;
  for (size_t i = 0; i < picture.scene.families.size(); ++i) {
    const double width =
        i < named ? 20 + kit::textWidth(t.ui(12), kit::familyTitle(picture.scene.families[i])) + 16 : 24;
    if (x + width > right - (line ? 0 : zoom + t.padding())) {
      x = left;
      if (++line == rows) return {};
    }
    out.emplace_back(x, box.top() + line * t.header(), width, t.header());
    x += width;
  }
  return out;
}

// As many rows as the names of all take, unless little of the graph would be left.
int legend_rows(const GraphPicture& picture, QSizeF view) {
  const size_t all = picture.scene.families.size();
  if (!picture.scene.keys.empty() || all == 0) return 1;
  const int most = view.height() < kTwoRowsFrom ? 1 : view.height() < kThreeRowsFrom ? 2 : 3;
  int rows = 1;
  while (rows < most && legend_places(picture, QRectF(QPointF(), view), rows, all).empty()) ++rows;
  return rows;
}

std::vector<std::pair<kit::NodeFamily, QRectF>> paint_legend(QPainter& p, const QRectF& box,
                                                             const GraphPicture& picture, double zoom) {
  const kit::Theme& t = theme();
  std::vector<std::pair<kit::NodeFamily, QRectF>> out;
  p.fillRect(box, t.bg1);
  kit::hairline(p, box.topLeft(), box.topRight(), t.line);
  const QString percent = QStringLiteral("%1 %").arg(qRound(zoom * 100));
  const QRectF row(box.left(), box.top(), box.width(), t.header());
  const int zoom_width = kit::drawText(p, row.adjusted(0, 0, -t.padding(), 0).toRect(), percent, t.mono(11),
                                       t.text2, Qt::AlignRight);
  if (!picture.scene.keys.empty()) {
    const double x = row.left() + t.padding(), most = row.right() - zoom_width - 2 * t.padding();
    paint_keys(p, QRectF(x, row.top(), most - x, row.height()), picture);
    return out;
  }
  // What has no room for its name stands as its glyph alone, which is a click as well.
  const int rows = std::max(1, qRound(box.height() / t.header()));
  size_t named = picture.scene.families.size();
  std::vector<QRectF> places = legend_places(picture, box, rows, named);
  while (named > 0 && places.empty()) places = legend_places(picture, box, rows, --named);
  for (size_t i = 0; i < places.size(); ++i) {
    const kit::NodeFamily family = picture.scene.families[i];
    const QRectF& place = places[i];
    const QString title = i < named ? kit::familyTitle(family) : QString();
    kit::drawFamily(p, family,
                    QRect(static_cast<int>(place.x()), static_cast<int>(place.center().y()) - 8, 16, 16));
    kit::drawText(p, place.adjusted(20, 0, 0, 0).toRect(), title, t.ui(12), t.text2);
    out.emplace_back(family, place);
  }
  return out;
}

}  // namespace vitrine::views
