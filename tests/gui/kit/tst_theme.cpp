// Contrast as WCAG 2 counts it, of every text on every ground it may stand on and of what is drawn without
// words: 4.5 for texts, 3 for lines, bars and glyphs that carry a meaning.
#include <QTest>
#include <cmath>

#include "views/kit/painting/theme.h"

using namespace vitrine;
using kit::Theme;

namespace {

double luminance(const QColor& colour) {
  auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

struct Named {
  QString name;
  QColor colour;
};

std::vector<Named> surfaces(const Theme& t) {
  return {{"bg0", t.bg0},   {"bg1", t.bg1},   {"bg2", t.bg2}, {"bg3", t.bg3}, {"canvas", t.canvas},
          {"node", t.node}, {"hull", t.hull}, {"hov", t.hov}, {"sel", t.sel}};
}

std::vector<Named> familyBases(const Theme& t) {
  std::vector<Named> out;
  for (int i = 0; i < kit::kFamilies; ++i)
    out.push_back(
        {kit::familyTitle(static_cast<kit::NodeFamily>(i)), t.family(static_cast<kit::NodeFamily>(i))});
  return out;
}

std::vector<Named> codeTexts(const Theme& t) {
  return {{"text1", t.text1},        {"keyword", t.code.keyword}, {"type", t.code.type},
          {"number", t.code.number}, {"string", t.code.string},   {"comment", t.code.comment},
          {"called", t.code.called}};
}

}  // namespace

class TestTheme : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void contrasts_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("dark") << true;
    QTest::newRow("light") << false;
  }
  void contrasts() {
    QFETCH(bool, dark);
    const Theme t = Theme::make(dark);
    QStringList low;
    auto demand = [&](const Named& front, const Named& ground, double least) {
      const double is = contrast(front.colour, ground.colour);
      if (is < least) low << QStringLiteral("%1 on %2: %3").arg(front.name, ground.name).arg(is, 0, 'f', 2);
    };
    const std::vector<Named> texts = {{"text1", t.text1},   {"text2", t.text2}, {"text3", t.text3},
                                      {"accent", t.accent}, {"ok", t.ok},       {"warn", t.warn},
                                      {"err", t.err},       {"info", t.info}};
    for (const Named& ground : surfaces(t)) {
      for (const Named& text : texts) demand(text, ground, 4.5);
      demand({"ring", t.ring}, ground, 4.5);
    }
    for (const kit::Tone tone : {kit::Tone::Ok, kit::Tone::Warn, kit::Tone::Err, kit::Tone::Info}) {
      const Named soft{"soft", t.softTone(tone)};
      demand({"its tone", t.tone(tone)}, soft, 4.5);
      demand({"text1", t.text1}, soft, 4.5);
    }
    demand({"onAccent", t.onAccent}, {"accent", t.accent}, 4.5);
    for (int i = 0; i < kit::kFamilies; ++i)
      demand({"text1", t.text1},
             {familyBases(t)[size_t(i)].name, t.familySoft(static_cast<kit::NodeFamily>(i))}, 4.5);
    for (int step = 0; step <= 4; ++step) demand({"text1", t.text1}, {"heat", t.heat(step)}, 4.5);
    std::vector<Named> grounds = {{"bg1", t.bg1}, {"hov", t.hov}, {"sel", t.sel}};
    for (int letter = 0; letter < 8; ++letter) grounds.push_back({"link", t.link(letter)});
    for (const Named& text : codeTexts(t))
      for (const Named& ground : grounds) demand(text, ground, 4.5);

    for (const Named& family : familyBases(t))
      for (const Named& ground : std::vector<Named>{
               {"canvas", t.canvas}, {"bg1", t.bg1}, {"node", t.node}, {"hull", t.hull}, {"sel", t.sel}})
        demand(family, ground, 3);
    for (const Named& ground : std::vector<Named>{{"canvas", t.canvas}, {"bg1", t.bg1}, {"hull", t.hull}})
      demand({"edge", t.edge}, ground, 3);
    for (const Named& ground : surfaces(t)) demand({"ctl", t.ctl}, ground, 3);  // bars of every row
    QVERIFY2(low.isEmpty(), qPrintable(low.join('\n')));
  }
};

QTEST_MAIN(TestTheme)
#include "tst_theme.moc"
