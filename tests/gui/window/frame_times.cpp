// frame_times SESSION VIEW [STAGE]: opens a session, pans and zooms a view as a hand would, and prints what
// each takes of the processor's time. Not a test: times depend on the machine.
#include <QApplication>
#include <QImage>
#include <QWheelEvent>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "app/jobs/job_runner.h"
#include "views/kit/painting/theme.h"
#include "views/kit/selection/selection.h"
#include "views/registry.h"

using namespace vitrine;

namespace {

constexpr int kFrames = 120;

double milliseconds() {
  return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void wheel(kit::View& view, int by, Qt::KeyboardModifiers modifiers) {
  const QPointF middle(view.width() / 2.0, view.height() / 2.0);
  QWidget* at = view.childAt(middle.toPoint());
  if (!at) at = &view;
  const QPointF here = at->mapFrom(&view, middle);
  QWheelEvent event(here, at->mapToGlobal(here), {}, {0, by}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                    false);
  QCoreApplication::sendEvent(at, &event);
}

// by(i): the wheel's turn of frame i.
template <class F>
void measure(kit::View& view, const char* what, Qt::KeyboardModifiers modifiers, F by) {
  QImage image(view.size(), QImage::Format_ARGB32_Premultiplied);
  std::vector<double> times;
  for (int i = 0; i < kFrames; ++i) {
    const double begin = milliseconds();
    wheel(view, by(i), modifiers);
    view.render(&image);
    times.push_back(milliseconds() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-5s median %.1f ms, 95 %% %.1f ms, most %.1f ms a frame\n", what, times[kFrames / 2],
              times[kFrames * 95 / 100], times.back());
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  kit::applyTheme(app, kit::Theme::make(true));
  const kit::ViewInfo* info = argc > 2 ? views::viewInfo(argv[2]) : nullptr;
  const double begin = milliseconds();
  auto loaded = kit::SessionData::load(argc > 1 ? argv[1] : "");
  const double read = milliseconds() - begin;
  if (!info || !loaded) return std::fprintf(stderr, "frame_times SESSION VIEW [STAGE]\n"), 2;
  app::JobRunner jobs(nullptr, app::JobRunner::Mode::Inline);
  kit::SelectionModel model(&jobs);
  std::unique_ptr<kit::View> view(info->factory(&jobs, nullptr));
  QObject::connect(&model, &kit::SelectionModel::changed, view.get(), &kit::View::setSelection);
  view->setAttribute(Qt::WA_DontShowOnScreen);
  view->resize(1400, 900);
  view->setStage(argc > 3 ? argv[3] : "");
  model.setSession(loaded.value());
  view->setSession(loaded.value());
  view->show();
  jobs.settle();
  QImage first(view->size(), QImage::Format_ARGB32_Premultiplied);
  view->render(&first);
  std::printf("open  %.0f ms read, %.0f ms until it is painted\n", read, milliseconds() - begin);
  measure(*view, "pan", {}, [](int i) { return i < kFrames / 2 ? -120 : 120; });
  measure(*view, "zoom", Qt::ControlModifier, [](int i) { return i % 60 < 30 ? -60 : 60; });
  return 0;
}
