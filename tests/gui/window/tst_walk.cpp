// The whole chain in the real window, light and dark: every stage by the strip, a kernel line that lights its
// Python line, and stepping through the capture.
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "core/session/stages.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/fixture/still_theme.h"
#include "views/capture/bytecode_view.h"
#include "views/capture/stack_view.h"
#include "views/graph/graph_view.h"
#include "views/kernel/kernel_view.h"
#include "views/source/source_view.h"

using namespace vitrine;
using app::MainWindow;

class TestWalk : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    app::AppSettings::ignoreStored();
    path_ = folder_.filePath("a.vitrine");
    ids_ = fixture::writeSession(path_.toStdString());
  }

  void themes_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
  }

  void everyStageByTheStrip_data() { themes_data(); }
  void everyStageByTheStrip() {
    MainWindow window;
    open(window);
    int shown = 0;
    for (const session::StageInfo& info : session::kStages) {
      const std::string stage(info.name);
      Q_EMIT window.strip()->chosen(stage, false);
      window.settle();
      if (window.centre()->pane('A')->stage() != stage) continue;
      ++shown;
      QVERIFY2(window.centre()->pane('A')->host(), info.name.data());
    }
    QVERIFY(shown >= 14);
  }

  void aKernelLineLightsItsPython_data() { themes_data(); }
  void aKernelLineLightsItsPython() {
    MainWindow window;
    open(window);
    window.chooseLayout("Explore");
    window.document()->activate(ids_.k2);
    window.settle();
    views::KernelView* kernel = nullptr;  // the one that shows C++, not assembly
    for (auto* view : window.findChildren<views::KernelView*>())
      if (view->isVisible() && view->pane()->lineOf(ids_.k2_gelu_lines) >= 0) kernel = view;
    auto* source = seen<views::SourceView>(window);
    QVERIFY(kernel && source);
    QCOMPARE(kernel->kernel(), ids_.k2);
    kernel->pane()->reveal(ids_.k2_gelu_lines);
    const QPoint line = pointOf(*kernel->pane(), ids_.k2_gelu_lines);
    QVERIFY(line.x() >= 0);
    QTest::mouseClick(kernel->pane()->viewport(), Qt::LeftButton, {}, line);
    window.settle();
    QCOMPARE(window.document()->selection().active, ids_.k2_gelu_lines);
    // The expression also became assembly: shared with the lines clicked, hence the selected outline.
    QVERIFY(window.document()->selection().mark(ids_.gelu_span) != kit::Emphasis::None);
    const QPoint lit = pointOf(*source->pane(), ids_.gelu_span);
    QVERIFY(lit.x() >= 0);  // scrolled to
    // An outline of an accented or ring-coloured line runs around the expression.
    const QImage image = source->pane()->viewport()->grab().toImage();
    auto far = [](const QColor& a, const QColor& b) {
      return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue());
    };
    const kit::Theme& t = kit::theme();
    int longest = 0;
    for (int y = std::max(0, lit.y() - 20); y < std::min(image.height(), lit.y() + 20); ++y) {
      int run = 0;
      for (int x = 0; x < image.width(); ++x) {
        const QColor c = image.pixelColor(x, y);
        run = std::min(far(c, t.accent), far(c, t.ring)) < far(c, t.bg1) ? run + 1 : 0;
        longest = std::max(longest, run);
      }
    }
    QVERIFY2(longest > 100, qPrintable(QString::number(longest)));
    bool chained = false;
    for (const auto& link : window.chain()->links()) chained |= link.text.contains("F.gelu");
    QVERIFY(chained);
  }

  // The same on the other sessions: of a training step the line of a backward kernel, of a GPU one of CUDA
  // C++.
  void ofEverySessionALineLightsItsPython_data() {
    QTest::addColumn<bool>("dark");
    QTest::addColumn<bool>("gpu");
    for (bool dark : {false, true})
      for (bool gpu : {false, true})
        QTest::newRow(gpu    ? dark ? "gpu dark" : "gpu light"
                      : dark ? "training dark"
                             : "training light")
            << dark << gpu;
  }
  void ofEverySessionALineLightsItsPython() {
    QFETCH(bool, gpu);
    const QString path = folder_.filePath(gpu ? "gpu.vitrine" : "train.vitrine");
    Id kernel = 0, line = 0, span = 0;
    if (gpu) {
      const fixture::GpuIds ids = fixture::writeGpu(path.toStdString());
      std::tie(kernel, line, span) = std::tuple(ids.kernel, ids.ranges.at("source").second, ids.exp_span);
    } else {
      const fixture::TrainingIds ids = fixture::writeTraining(path.toStdString());
      std::tie(kernel, line, span) = std::tuple(ids.kernel, ids.kernel_line, ids.exp_span);
    }
    MainWindow window;
    open(window, path);
    for (const session::StageInfo& info : session::kStages) {
      Q_EMIT window.strip()->chosen(std::string(info.name), false);
      window.settle();
    }
    window.chooseLayout("Explore");
    window.document()->activate(kernel);
    window.settle();
    views::KernelView* code = nullptr;
    for (auto* view : window.findChildren<views::KernelView*>())
      if (view->isVisible() && view->pane()->lineOf(line) >= 0) code = view;
    auto* source = seen<views::SourceView>(window);
    QVERIFY(code && source);
    code->pane()->reveal(line);
    const QPoint at = pointOf(*code->pane(), line);
    QVERIFY(at.x() >= 0);
    QTest::mouseClick(code->pane()->viewport(), Qt::LeftButton, {}, at);
    window.settle();
    QCOMPARE(window.document()->selection().active, line);
    QVERIFY(window.document()->selection().mark(span) != kit::Emphasis::None);
    QVERIFY(pointOf(*source->pane(), span).x() >= 0);  // in sight
  }

  void theCaptureStepsTogether_data() { themes_data(); }
  void theCaptureStepsTogether() {
    MainWindow window;
    open(window);
    QVERIFY(window.chooseLayout("Capture"));
    window.settle();
    auto* code = seen<views::BytecodeView>(window);
    auto* stack = seen<views::StackView>(window);
    auto* graph = seen<views::GraphView>(window);
    QVERIFY(code && stack && graph);
    app::Document& d = *window.document();
    d.setUnit(app::FilmUnit::Instruction);
    for (size_t i = 0; i < d.frames().size(); ++i)
      if (d.frames()[i].entity == ids_.gelu_step) d.stepTo(static_cast<int>(i));
    window.settle();
    QVERIFY(!code->lines().filter("(later)").isEmpty());
    QCOMPARE(stack->lines()[0], QStringLiteral("after 196 CALL"));
    const size_t coming = graph->ghosts().step_of.size();
    QVERIFY(coming > 0);
    d.stepTo(static_cast<int>(d.frames().size()) - 1);
    window.settle();
    QVERIFY(code->lines().filter("(later)").isEmpty());
    QVERIFY(graph->ghosts().step_of.empty());
  }

 private:
  void open(MainWindow& window, const QString& path = {}) {
    QFETCH(bool, dark);
    fixture::applyStillTheme(dark);
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1600, 1000);
    window.show();
    QVERIFY(!window.openSync(path.isEmpty() ? path_ : path));
    window.settle();
  }
  template <class V>
  static V* seen(MainWindow& window) {
    for (V* view : window.findChildren<V*>())
      if (view->isVisible()) return view;
    return nullptr;
  }
  static QPoint pointOf(const kit::CodePane& pane, Id id) {
    for (int y = 4; y < pane.viewport()->height(); y += 6)
      for (int x = 90; x < pane.viewport()->width(); x += 5)
        if (pane.idAt({x, y}) == id) return {x, y};
    return {-1, -1};
  }
  QTemporaryDir folder_;
  QString path_;
  fixture::Ids ids_;
};

QTEST_MAIN(TestWalk)
#include "tst_walk.moc"
