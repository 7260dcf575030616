// The one value that names colours, fonts and metrics. QPalette, style, icons and every view take theirs from
// theme(); nothing else in the code names a colour. A widget hears of a change by QEvent::StyleChange.
#pragma once

#include <QColor>
#include <QFont>
#include <QString>
#include <array>
#include <string_view>

class QApplication;

namespace vitrine::kit {

// Operator families, in the order of the legend. Family::None = placeholder, parameter, output.
enum class NodeFamily { Pointwise, Reduction, Matmul, View, Memory, Random, Opaque, Collective, None };
constexpr int kFamilies = 8;
NodeFamily familyOf(std::string_view word);  // "pointwise" ... as in the session; anything else: None
QString familyTitle(NodeFamily family);      // "pointwise", "matmul / conv", "PyTorch"
QString familyIcon(NodeFamily family);       // icon name, "" for None

enum class Tone { None, Ok, Warn, Err, Info };

struct FamilyColours {
  QColor base, soft;
};
struct CodeColours {
  QColor keyword, type, number, string, comment, called;
};

struct Theme {
  bool dark = false;
  double scale = 1;    // UI scale 1 to 2: fonts and metrics
  bool motion = true;  // off in tests and shots

  QColor bg0, bg1, bg2, bg3, canvas, node, hull, hov, sel, line, nodeLine, hullLine, edge, ctl;
  QColor text1, text2, text3, accent, ok, warn, err, info, onAccent, ring;
  QColor softOk, softWarn, softErr, softInfo;
  std::array<FamilyColours, kFamilies> families;
  std::array<QColor, 8> links;  // a to h; afterwards they repeat
  CodeColours code;

  static Theme make(bool dark, double scale = 1);

  const QColor& family(NodeFamily f) const;      // base; None: nodeLine
  const QColor& familySoft(NodeFamily f) const;  // None: node
  const QColor& tone(Tone t) const;              // None: text1
  const QColor& softTone(Tone t) const;          // None: bg1
  const QColor& link(int letter) const { return links[static_cast<size_t>(letter) % links.size()]; }
  QColor heat(int step) const;                                    // 0 to 4: `node` mixed with accent
  static QColor mix(const QColor& a, const QColor& b, double t);  // t = 0: a, 1: b

  int px(double logical) const;  // a length of the design at this UI scale
  // Inter: 13 text, 12 headers, tables and inspector, 11 counts and labels; weights 400, 500, 600.
  QFont ui(int size = 13, int weight = 400) const;
  // JetBrains Mono, for code and every number, shape and identifier: 12, secondary 11.
  QFont mono(int size = 12, int weight = 400) const;

  int row() const { return px(24); }
  int codeRow() const { return px(18); }
  int header() const { return px(28); }
  int radius() const { return px(4); }
  int padding() const { return px(10); }
  int icon() const { return px(16); }
};

const Theme& theme();
// Makes a theme current: palette, style and fonts of the application follow.
void applyTheme(QApplication& app, const Theme& theme);
// "System": by the lightness of the palette the application started with. Call before applyTheme.
bool systemIsDark();
// Registers the shipped fonts and icons once; false (and a reason in the log) when they are missing.
bool loadResources();

}  // namespace vitrine::kit
