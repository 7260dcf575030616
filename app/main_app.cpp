// vitrine-app [FILE.vitrine | FILE.py | ...]; vitrine-app --shot SESSION VIEW OUT.png.
#include <signal.h>

#include <QApplication>
#include <cstdio>

#include "app/shell/compare/compare_window.h"
#include "app/shell/document/settings.h"
#include "app/shell/shot.h"
#include "app/shell/windows.h"
#include "core/base/visible.h"
#include "views/kit/accessible.h"
#include "views/kit/painting/theme.h"

namespace {

int complain(const vitrine::Error& error) {
  using vitrine::Keep, vitrine::visible;
  std::fprintf(stderr, "vitrine-app: %s\n", visible(error.what, Keep::Lines).c_str());
  for (const std::string& line : {error.where, error.hint})
    if (!line.empty()) std::fprintf(stderr, "  %s\n", visible(line, Keep::Lines).c_str());
  return 1;
}

// A shot writes a picture: that there is no session of a desktop matters to nobody.
void withoutDesktop(QtMsgType, const QMessageLogContext&, const QString& text) {
  if (!text.startsWith("QStandardPaths:") && !text.startsWith("This plugin does not"))
    std::fprintf(stderr, "%s\n", qUtf8Printable(text));
}

int shoot(int& argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--help" && std::string_view(argv[i]) != "-h") continue;
    std::puts(vitrine::app::shotUsage().c_str());
    return 0;
  }
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(withoutDesktop);
  QApplication app(argc, argv);
  auto options = vitrine::app::parseShot(app.arguments().mid(2));
  if (!options) return complain(options.error());
  if (vitrine::Status bad = vitrine::app::takeShot(options.value())) return complain(*bad);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of a write, which says so
  QApplication::setApplicationName("vitrine");
  QApplication::setApplicationVersion(VITRINE_VERSION);
  if (argc > 1 && std::string_view(argv[1]) == "--version")
    return std::puts("vitrine-app " VITRINE_VERSION), 0;
  if (argc > 1 && std::string_view(argv[1]) == "--shot") return shoot(argc, argv);
  if (argc > 1 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h"))
    return std::printf(
               "vitrine-app [--compare A B | FILE.vitrine | FILE.py | FILE.ipynb | FILE.pt2 ...]\n%s\n",
               vitrine::app::shotUsage().c_str()),
           0;
  QApplication app(argc, argv);
  vitrine::app::applyThemeSetting();
  vitrine::kit::installAccessible();
  if (const QStringList words = app.arguments(); words.value(1) == "--compare") {
    if (words.size() != 4)
      return complain({"--compare takes two sessions.", "vitrine open --compare A B", {}});
    vitrine::app::CompareWindow window;
    window.QWidget::show();
    window.open(words[2], words[3]);
    return QApplication::exec();
  }
  const auto windows = vitrine::app::openWindows(app.arguments().mid(1));
  return QApplication::exec();
}
