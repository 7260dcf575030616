#include "views/graph/boxes.h"

#include <QFontMetricsF>
#include <algorithm>

#include "views/kit/text/shown.h"

namespace vitrine::views {

namespace {
constexpr size_t kMostPills = 6;
constexpr double kLeastWidth = 120, kMostWidth = 240;
constexpr double kCompactLeast = 214, kCompactMost = 284;
}  // namespace

void size_boxes(Scene& scene, bool compact) {
  const kit::Theme& t = kit::theme();
  QFontMetricsF mono(t.mono(12)), small(t.mono(11));
  QFontMetricsF ui(t.ui(11));
  const auto width = [](const QFontMetricsF& font, const QString& text) {
    return font.horizontalAdvance(kit::shownLine(text));
  };
  double widest = t.px(compact ? kCompactLeast : kLeastWidth);
  for (const SceneItem& it : scene.items) {
    if (it.kind == SceneItem::Kind::Input || it.kind == SceneItem::Kind::Output) continue;
    double top = t.px(34) + width(mono, it.name) + (it.what.isEmpty() ? 0 : t.px(8) + width(ui, it.what)),
           second = t.px(34) + width(small, it.line);
    if (!it.right.isEmpty()) second += t.px(14) + width(small, it.right);
    if (compact) top += t.px(8) + width(ui, it.line) + t.px(18) + width(small, it.right), second = 0;
    widest = std::max({widest, top + t.px(10), second + t.px(14)});
  }
  widest = std::min(widest, static_cast<double>(t.px(compact ? kCompactMost : kMostWidth)));
  for (size_t i = 0; i < scene.items.size(); ++i) {
    SceneItem& it = scene.items[i];
    kit::LayoutNode& box = scene.layout.nodes[i];
    bool pill = it.kind == SceneItem::Kind::Input || it.kind == SceneItem::Kind::Output;
    box.width = pill ? std::clamp(width(mono, it.name) + t.px(34), double(t.px(64)), double(t.px(kMostWidth)))
                     : widest;
    box.height = t.px(box.height);
    if (it.pills.size() > kMostPills) {  // backward reads every weight: more than a node has room for
      const size_t more = it.pills.size() - (kMostPills - 1);
      it.pills.resize(kMostPills - 1);
      it.pills.push_back({0, QStringLiteral("%1 more").arg(more), false});
    }
    for (const Pill& p : it.pills)
      box.left_extra = std::max(
          box.left_extra, std::min(width(small, p.text), double(t.px(kMostWidth))) + t.px(p.saved ? 48 : 34));
    // Pills stand 18 high, one above the other, at the node's left.
    box.height = std::max(box.height, static_cast<double>(t.px(20)) * static_cast<double>(it.pills.size()));
  }
}

}  // namespace vitrine::views
