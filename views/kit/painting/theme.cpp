#include "views/kit/painting/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QPalette>
#include <QStyle>
#include <QWidget>
#include <cmath>

#include "views/kit/painting/style.h"

// Outside any namespace, as the macro demands: a static library's resources register themselves only so.
static void initResources() {
  Q_INIT_RESOURCE(vitrine);
}

namespace vitrine::kit {

namespace {

// token, dark, light
struct ColourRow {
  QColor Theme::* field;
  const char *dark, *light;
};
const ColourRow kTokens[] = {
    {&Theme::bg0, "#0d0f12", "#e9ecf0"},      {&Theme::bg1, "#15181c", "#ffffff"},
    {&Theme::bg2, "#1b1f24", "#f5f6f8"},      {&Theme::bg3, "#272c33", "#e8ebef"},
    {&Theme::canvas, "#101216", "#f9fafb"},   {&Theme::node, "#1d2228", "#ffffff"},
    {&Theme::hull, "#171b20", "#eff1f4"},     {&Theme::hov, "#23262a", "#f4f4f4"},
    {&Theme::sel, "#283041", "#e7ebf8"},      {&Theme::line, "#2b3038", "#d9dee4"},
    {&Theme::nodeLine, "#39414b", "#c9cfd7"}, {&Theme::hullLine, "#434c58", "#b3bac4"},
    {&Theme::edge, "#5f6974", "#818a95"},     {&Theme::ctl, "#727b87", "#78818e"},
    {&Theme::text1, "#e4e7eb", "#1a1f26"},    {&Theme::text2, "#a9b1bc", "#4a5360"},
    {&Theme::text3, "#8f98a4", "#5d6673"},    {&Theme::accent, "#86a4f7", "#3a58c3"},
    {&Theme::ok, "#62cfa0", "#0a7357"},       {&Theme::warn, "#f2bd62", "#835600"},
    {&Theme::err, "#ef7d7f", "#a3233b"},      {&Theme::info, "#74a9dd", "#205a8e"},
    {&Theme::onAccent, "#0e1013", "#ffffff"}, {&Theme::ring, "#ffffff", "#0b0e12"},
    {&Theme::softOk, "#213330", "#e4f0ed"},   {&Theme::softWarn, "#363126", "#f1ece3"},
    {&Theme::softErr, "#36272b", "#f5e7e9"},  {&Theme::softInfo, "#232e39", "#e6edf3"},
};

struct FamilyRow {
  const char *word, *title, *icon, *dark, *light, *softDark, *softLight;
};
const FamilyRow kFamilyRows[kFamilies] = {
    {"pointwise", "pointwise", "family-pointwise", "#5fbcf4", "#1f90c1", "#2b495d", "#cee7f1"},
    {"reduction", "reduction", "family-reduction", "#d16c40", "#905211", "#4d3127", "#e7d9cb"},
    {"matmul", "matmul / conv", "family-matmul", "#9269c4", "#654bab", "#3a304e", "#ddd7ed"},
    {"view", "view", "family-view", "#747a84", "#82878c", "#32353b", "#e4e5e6"},
    {"memory", "memory, copy", "family-memory", "#e7cd62", "#a1832d", "#544e31", "#eae4d1"},
    {"random", "random", "family-random", "#c386ad", "#da4272", "#493948", "#f7d5e0"},
    {"opaque", "PyTorch", "family-opaque", "#c9cacc", "#373a41", "#4b4d51", "#d3d4d5"},
    {"collective", "collective", "family-collective", "#50967c", "#037057", "#273e39", "#c8e0da"},
};
const char* const kLinks[8][2] = {{"#172f31", "#daf8f1"}, {"#473312", "#fdd7bd"}, {"#312533", "#fce9fb"},
                                  {"#293b30", "#d7e7bf"}, {"#3f220c", "#ffeae7"}, {"#033e3b", "#b6ebf2"},
                                  {"#242f0f", "#f0e8c5"}, {"#3a3050", "#e0dafe"}};
struct CodeColourRow {
  QColor CodeColours::* field;
  const char *dark, *light;
};
const CodeColourRow kCode[] = {
    {&CodeColours::keyword, "#c4a3ea", "#683297"}, {&CodeColours::type, "#77cfcf", "#055b63"},
    {&CodeColours::number, "#e7bc81", "#7f4400"},  {&CodeColours::string, "#9bce90", "#175f2a"},
    {&CodeColours::comment, "#98a1ad", "#586170"}, {&CodeColours::called, "#a3ccf7", "#174a92"},
};
constexpr double kHeat[] = {0, 0.12, 0.25, 0.38, 0.50};

// The theme in use: GUI state like QApplication::palette(), set from the GUI thread only.
Theme& current() {
  static Theme value = Theme::make(false);
  return value;
}

QFont shaped(const QString& family, const QStringList& fallbacks, int pixels, int weight) {
  QFont font(QStringList{family} + fallbacks);
  font.setPixelSize(pixels);
  font.setWeight(static_cast<QFont::Weight>(weight));
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

QPalette paletteOf(const Theme& t) {
  QPalette p;
  const std::pair<QPalette::ColorRole, QColor> roles[] = {
      {QPalette::Window, t.bg2},         {QPalette::WindowText, t.text1},
      {QPalette::Base, t.bg1},           {QPalette::AlternateBase, t.bg1},
      {QPalette::Text, t.text1},         {QPalette::PlaceholderText, t.text3},
      {QPalette::Button, t.bg3},         {QPalette::ButtonText, t.text1},
      {QPalette::BrightText, t.err},     {QPalette::Highlight, t.sel},
      {QPalette::Link, t.accent},        {QPalette::HighlightedText, t.text1},
      {QPalette::LinkVisited, t.accent}, {QPalette::ToolTipBase, t.bg3},
      {QPalette::ToolTipText, t.text1},  {QPalette::Light, t.bg3},
      {QPalette::Midlight, t.bg3},       {QPalette::Mid, t.line},
      {QPalette::Dark, t.line},          {QPalette::Shadow, t.bg0}};
  for (const auto& [role, colour] : roles) p.setColor(role, colour);
  for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    QColor half = t.text1;
    half.setAlphaF(0.5F);
    p.setColor(QPalette::Disabled, role, half);
  }
  return p;
}

}  // namespace

NodeFamily familyOf(std::string_view word) {
  for (int i = 0; i < kFamilies; ++i)
    if (word == kFamilyRows[i].word) return static_cast<NodeFamily>(i);
  return NodeFamily::None;
}

QString familyTitle(NodeFamily family) {
  return family == NodeFamily::None ? QString()
                                    : QString::fromLatin1(kFamilyRows[static_cast<int>(family)].title);
}

QString familyIcon(NodeFamily family) {
  return family == NodeFamily::None ? QString()
                                    : QString::fromLatin1(kFamilyRows[static_cast<int>(family)].icon);
}

Theme Theme::make(bool dark, double scale) {
  Theme t;
  t.dark = dark;
  t.scale = scale;
  for (const ColourRow& token : kTokens) t.*token.field = QColor(dark ? token.dark : token.light);
  for (size_t i = 0; i < kFamilies; ++i) {
    const FamilyRow& row = kFamilyRows[i];
    t.families[i] = {QColor(dark ? row.dark : row.light), QColor(dark ? row.softDark : row.softLight)};
  }
  for (size_t i = 0; i < t.links.size(); ++i) t.links[i] = QColor(kLinks[i][dark ? 0 : 1]);
  for (const CodeColourRow& row : kCode) t.code.*row.field = QColor(dark ? row.dark : row.light);
  return t;
}

const QColor& Theme::family(NodeFamily f) const {
  return f == NodeFamily::None ? nodeLine : families[static_cast<size_t>(f)].base;
}

const QColor& Theme::familySoft(NodeFamily f) const {
  return f == NodeFamily::None ? node : families[static_cast<size_t>(f)].soft;
}

const QColor& Theme::tone(Tone t) const {
  const QColor* colours[] = {&text1, &ok, &warn, &err, &info};
  return *colours[static_cast<int>(t)];
}

const QColor& Theme::softTone(Tone t) const {
  const QColor* colours[] = {&bg1, &softOk, &softWarn, &softErr, &softInfo};
  return *colours[static_cast<int>(t)];
}

QColor Theme::mix(const QColor& a, const QColor& b, double t) {
  auto part = [t](float x, float y) { return static_cast<float>(x + (y - x) * t); };
  return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()), part(a.blueF(), b.blueF()));
}

QColor Theme::heat(int step) const {
  return mix(node, accent, kHeat[qBound(0, step, 4)]);
}

int Theme::px(double logical) const {
  return static_cast<int>(std::lround(logical * scale));
}

QFont Theme::ui(int size, int weight) const {
  return shaped("Inter", {"Noto Sans", "DejaVu Sans"}, px(size), weight);
}

QFont Theme::mono(int size, int weight) const {
  QFont font = shaped("JetBrains Mono", {"DejaVu Sans Mono"}, px(size), weight);
  // Without shaping there are no ligatures to break column highlights, and code paints 3.5 to 5 times faster.
  font.setStyleStrategy(QFont::PreferNoShaping);
  font.setFixedPitch(true);
  return font;
}

const Theme& theme() {
  return current();
}

bool loadResources() {
  static const bool loaded = [] {
    initResources();
    bool all = true;
    for (const char* face : {"Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf",
                             "JetBrainsMono-Regular.ttf", "JetBrainsMono-SemiBold.ttf"})
      all &= QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") + QLatin1String(face)) >= 0;
    return all;
  }();
  return loaded;
}

bool systemIsDark() {
  static const bool dark = QApplication::palette().color(QPalette::Window).lightness() < 128;
  return dark;
}

void applyTheme(QApplication& app, const Theme& theme) {
  systemIsDark();  // remembers the palette of the start
  loadResources();
  current() = theme;
  app.setFont(theme.ui(13));
  app.setPalette(paletteOf(theme));
  app.setStyle(new Style);
}

}  // namespace vitrine::kit
