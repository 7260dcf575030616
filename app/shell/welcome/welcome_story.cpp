#include "app/shell/welcome/welcome_story.h"

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"

namespace vitrine::app {

using kit::theme;

namespace {

constexpr int kCardHeight = 116;

struct StoryLine {
  const char* text;
  bool ring;
};

void codeCard(QPainter& painter, const QRect& card, std::initializer_list<StoryLine> lines,
              const QColor& fill) {
  int y = card.y() + theme().px(26);
  const int x = card.x() + theme().px(14);
  for (const StoryLine& line : lines) {
    const QRect box(x, y, kit::textWidth(theme().mono(12), line.text), theme().px(22));
    if (line.ring) {
      const QRectF around = QRectF(box).adjusted(-4, 0, 5, -1);
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(Qt::NoPen);
      painter.setBrush(fill);
      painter.drawRoundedRect(around, 2, 2);
      kit::drawMark(painter, around, kit::Emphasis::Ring, false, 2);
    }
    kit::drawText(painter, box, line.text, theme().mono(12), theme().text1);
    y += theme().px(22);
  }
}

void drawNode(QPainter& painter, const QRect& box, const char* name, bool active) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().nodeLine, 1));
  painter.setBrush(active ? theme().sel : theme().node);
  painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), theme().radius(), theme().radius());
  painter.fillRect(QRect(box.x(), box.y() + theme().px(1), theme().px(5), box.height() - theme().px(2)),
                   theme().family(kit::NodeFamily::Pointwise));
  kit::drawFamily(painter, kit::NodeFamily::Pointwise,
                  QRect(box.x() + theme().px(12), box.y() + (box.height() - theme().px(14)) / 2,
                        theme().px(14), theme().px(14)));
  kit::drawText(painter, box.adjusted(theme().px(31), 0, 0, 0), name, theme().mono(12, active ? 600 : 400),
                theme().text1);
  if (active)
    kit::drawMark(painter, QRectF(box).adjusted(-3, -3, 3, 3), kit::Emphasis::Ring, false, theme().px(6));
}

void graphCard(QPainter& painter, const QRect& card, const char* first, const char* second, bool hull) {
  const int width = card.width() * 3 / 4;
  const QRect a(card.center().x() - width / 2, card.y() + theme().px(hull ? 34 : 20), width, theme().px(22));
  const QRect b = a.translated(0, theme().px(hull ? 40 : 48));
  if (hull) {
    const QRect around(a.x() - theme().px(8), card.y() + theme().px(9), a.width() + theme().px(16),
                       card.height() - theme().px(18));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().accent, 1.5));
    painter.setBrush(theme().hull);
    painter.drawRoundedRect(around, theme().px(7), theme().px(7));
    kit::drawText(
        painter,
        QRect(around.x() + theme().px(9), around.y() + theme().px(2), around.width(), theme().px(20)),
        "K2 add_gelu", theme().mono(11), theme().text1);
  }
  kit::hairline(painter, QPointF(a.center().x(), a.bottom()), QPointF(a.center().x(), b.top()), theme().edge);
  drawNode(painter, a, first, false);
  drawNode(painter, b, second, true);
}

void timelineCard(QPainter& painter, const QRect& card) {
  const QRect eager(card.x() + theme().px(12), card.y() + theme().px(28), card.width() - theme().px(24),
                    theme().px(22));
  const QRect compiled = eager.translated(0, theme().px(46));
  auto slice = [&](const QRect& row, double from, double to, kit::NodeFamily family, const char* name,
                   bool ring) {
    const QRect box(row.x() + static_cast<int>(row.width() * from), row.y(),
                    static_cast<int>(row.width() * (to - from)), row.height());
    painter.fillRect(box, theme().familySoft(family));
    painter.fillRect(QRect(box.x(), box.y(), theme().px(2), box.height()), theme().family(family));
    kit::drawText(painter, box.adjusted(theme().px(5), 0, 0, 0), name, theme().mono(11), theme().text1);
    if (ring) kit::drawMark(painter, box, kit::Emphasis::Ring, false, 2);
    return box;
  };
  kit::drawText(painter, eager.translated(0, -theme().px(22)), "eager", theme().ui(11), theme().text2);
  slice(eager, 0, 0.38, kit::NodeFamily::Matmul, "addmm", false);
  const QRect gelu = slice(eager, 0.40, 0.72, kit::NodeFamily::Pointwise, "gelu", true);
  slice(compiled, 0, 0.26, kit::NodeFamily::Matmul, "L3", false);
  const QRect k2 = slice(compiled, 0.28, 0.42, kit::NodeFamily::Pointwise, "", false);
  slice(compiled, 0.44, 0.66, kit::NodeFamily::Matmul, "L4", false);
  QColor ribbon = theme().accent;
  ribbon.setAlphaF(0.25F);
  painter.setPen(Qt::NoPen);
  painter.setBrush(ribbon);
  painter.drawPolygon(QPolygon({gelu.bottomLeft(), gelu.bottomRight(), k2.topRight(), k2.topLeft()}));
  kit::drawText(painter, compiled, "compiled", theme().ui(11), theme().text2, Qt::AlignRight);
}

}  // namespace

void drawStory(QPainter& painter, const QRect& box) {
  const char* const texts[][2] = {{"Python", "the expression, to the column"},
                                  {"Bytecode", "how it was captured, what is guarded"},
                                  {"Graph", "what it means, pass by pass"},
                                  {"Fusion", "what runs together, and why"},
                                  {"Kernel", "the generated code and its assembly"},
                                  {"Timeline", "what it cost, eager against compiled"}};
  const int gap = theme().px(30), width = (box.width() - 5 * gap) / 6;
  for (int i = 0; i < 6; ++i) {
    const QRect card(box.x() + i * (width + gap), box.y(), width, theme().px(kCardHeight));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().line, 1));
    painter.setBrush(theme().canvas);
    painter.drawRoundedRect(QRectF(card).adjusted(0.5, 0.5, -0.5, -0.5), theme().px(5), theme().px(5));
    painter.setClipRect(card);
    if (i == 0)
      codeCard(painter, card, {{"h = self.fc(x)", false}, {"F.gelu(h)", true}, {"return x + h", false}},
               theme().sel);
    if (i == 1)
      codeCard(painter, card, {{"166 KW_NAMES", false}, {"168 CALL 2", true}, {"176 STORE_FAST", false}},
               theme().sel);
    if (i == 2) graphCard(painter, card, "add_2", "gelu", false);
    if (i == 3) graphCard(painter, card, "l6", "l7", true);
    if (i == 4)
      codeCard(painter, card,
               {{"v16 h = x + b;", false}, {"v16 e = vexp(h*k);", true}, {"store(row, g);", false}},
               theme().link(0));
    if (i == 5) timelineCard(painter, card);
    painter.setClipping(false);
    if (i < 5)
      kit::drawIcon(painter, "chevron-right",
                    QRect(card.right() + gap / 2 - theme().px(7), card.center().y() - theme().px(7),
                          theme().px(14), theme().px(14)),
                    theme().text2);
    kit::drawText(painter, QRect(card.x(), card.bottom() + theme().px(10), card.width(), theme().px(18)),
                  texts[i][0], theme().ui(12, 600), theme().text1);
    painter.setFont(theme().ui(12));
    painter.setPen(theme().text2);
    painter.drawText(QRect(card.x(), card.bottom() + theme().px(28), card.width(), theme().px(36)),
                     Qt::TextWordWrap, texts[i][1]);
  }
}

}  // namespace vitrine::app
