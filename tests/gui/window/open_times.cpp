// open_times SESSION [TEXT ...]: opens a session in the window as a user does, and prints when progress is
// told and when it is painted, how long the UI thread was away at most, what each text takes in the palette,
// and the memory. Not a test: times depend on the machine.
#include <QApplication>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QTimer>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "app/shell/commands/palette.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;

namespace {

// Notes the longest time that the UI thread did not come round, on the clock and of the processor.
class Beat : public QObject {
 public:
  Beat() {
    timer_.setInterval(1);
    connect(&timer_, &QTimer::timeout, this, &Beat::look);
    timer_.start();
  }
  void begin() {
    longest_ = busiest_ = 0;
    last_ = now(CLOCK_MONOTONIC), cpu_ = now(CLOCK_THREAD_CPUTIME_ID);
  }
  void print(const char* what) {
    look();
    std::printf("%-10s UI thread away for at most %.0f ms, of which it computed at most %.0f ms\n", what,
                longest_, busiest_);
  }

 private:
  static double now(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
  }
  void look() {
    const double at = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    longest_ = std::max(longest_, at - last_), busiest_ = std::max(busiest_, cpu - cpu_);
    last_ = at, cpu_ = cpu;
  }
  QTimer timer_;
  double last_ = 0, cpu_ = 0, longest_ = 0, busiest_ = 0;
};

// Of /proc/self/status, in MB.
double memory(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long kilobytes = 0; word == key && status >> kilobytes) return static_cast<double>(kilobytes) / 1000;
  return 0;
}

double processor() {  // of all threads, in ms
  return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

template <class Until>
void wait(Until until) {
  for (QElapsedTimer since =
           [] {
             QElapsedTimer t;
             t.start();
             return t;
           }();
       !until() && since.elapsed() < 120'000;)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::AllEvents);
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  app::AppSettings::ignoreStored();
  if (argc < 2) return std::fprintf(stderr, "open_times SESSION [TEXT ...]\n"), 2;
  kit::applyTheme(app, kit::Theme::make(true));
  app::MainWindow window;
  window.show();
  QCoreApplication::processEvents();
  Beat beat;
  QElapsedTimer clock;
  clock.start();
  qint64 told = -1;
  QObject::connect(window.document(), &app::Document::opening, &window, [&](const QString& text) {
    if (told < 0 && !text.isEmpty()) told = clock.elapsed();
  });
  beat.begin();
  const double start = processor();
  window.openFile(QString::fromLocal8Bit(argv[1]));
  wait([&] { return window.document()->session() != nullptr; });
  const qint64 loaded = clock.elapsed();
  QImage picture(window.size(), QImage::Format_ARGB32_Premultiplied);
  window.render(&picture);
  std::printf("open       progress after %lld ms, loaded %lld ms, painted %lld ms\n",
              static_cast<long long>(told), static_cast<long long>(loaded),
              static_cast<long long>(clock.elapsed()));
  for (QElapsedTimer more = clock; more.elapsed() < 1500 + loaded;)
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
  beat.print("open");
  auto* palette = window.findChild<app::Palette*>();
  auto* field = palette->findChild<QLineEdit*>();
  for (int i = 2; i < argc; ++i) {
    palette->open();
    wait([&] { return !palette->searching(); });
    beat.begin();
    clock.restart();
    const double before = processor();
    field->setText(QString::fromLocal8Bit(argv[i]));
    wait([&] { return !palette->searching(); });
    std::printf("palette    %s: %lld ms, %.0f ms of the processor, %zu rows\n", argv[i],
                static_cast<long long>(clock.elapsed()), processor() - before, palette->rows().size());
    beat.print("palette");
  }
  std::printf("memory     %.0f MB, at most %.0f MB\n", memory("VmRSS:"), memory("VmHWM:"));
  return 0;
}
