// What compiling took as a flame: widths are times, what is below is part of what is above, and a double
// click widens a box.
#include <QRegularExpression>

#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/text/numbers.h"
#include "views/tables/flame_view.h"

using namespace vitrine;
using fixture::Rig;
using views::FlameView;

class TestFlame : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void aBoxIsAsWideAsItsTime() {
    Rig<FlameView> rig(session(), "", {1200, 200});
    const auto& places = rig.view.places();
    QVERIFY(places.size() > 6);
    double ns = 0;
    for (const auto& row : session()->compilations)
      if (session()->runOf(row.id) == ids().run) ns += static_cast<double>(row.duration_ns);
    QCOMPARE(places[0].box->ns, ns);
    int deepest = 0;
    for (const auto& place : places) {
      deepest = std::max(deepest, place.depth);
      QVERIFY(place.rect.right() <= places[0].rect.right() + 0.5);
      for (const auto& other : places)  // of one depth none covers another
        if (&other != &place && other.depth == place.depth)
          QVERIFY(place.rect.right() <= other.rect.left() + 0.01 ||
                  other.rect.right() <= place.rect.left() + 0.01);
    }
    QCOMPARE(deepest, 4);  // run, frame, compilation, stage, pass or kernel
    QVERIFY2(rig.view.subtitle().startsWith(kit::timeText(ns)), qPrintable(rig.view.subtitle()));
  }

  void aKernelIsBelowItsStageAndAClickMakesItActive() {
    Rig<FlameView> rig(session(), "", {1200, 200});
    const auto* place = of(rig.view, ids().k2);
    QVERIFY(place && place->depth == 4);
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, place->rect.center().toPoint());
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().k2);
    QCOMPARE(rig.view.find("K2"), 1);
    QVERIFY(rig.view.copy(kit::CopyAs::Csv).contains("K2 add_gelu"));
  }

  // Then it has the whole width, and what it is part of stays above it.
  void aDoubleClickWidensABoxAndFitAllIsTheWayBack() {
    Rig<FlameView> rig(session(), "", {1200, 200});
    const double whole = rig.view.places()[0].rect.width(), narrow = of(rig.view, ids().k2)->rect.width();
    QTest::mouseDClick(&rig.view, Qt::LeftButton, {}, of(rig.view, ids().k2)->rect.center().toPoint());
    QVERIFY(narrow < whole);
    QCOMPARE(of(rig.view, ids().k2)->rect.width(), whole);
    QCOMPARE(of(rig.view, ids().k2)->depth, 4);
    rig.view.zoom(kit::Zoom::Out);
    QVERIFY(of(rig.view, ids().k2)->rect.width() < whole);
    rig.view.zoom(kit::Zoom::Fit);
    QCOMPARE(of(rig.view, ids().k2)->rect.width(), narrow);
  }

  // Each layer's kernel takes a part of a pixel: together they are one box, and a double click on it gives
  // them the width of their stage.
  void whatIsTooNarrowStandsTogether() {
    Rig<FlameView> rig(session(), "", {124, 200});
    auto together = [&] {
      int64_t out = 0;
      for (const auto& place : rig.view.places()) out += place.together;
      return out;
    };
    const int64_t narrow = together();
    QVERIFY(narrow > 0);
    for (const auto& place : rig.view.places()) {
      if (!place.together) continue;
      QCOMPARE(place.id(), Id(0));
      QTest::mouseDClick(&rig.view, Qt::LeftButton, {}, place.rect.center().toPoint());
      break;
    }
    rig.view.resize(1200, 200);
    rig.settle();
    QVERIFY(together() < narrow);
  }

  // A box of a small part of the whole is as pale as the page, and so is what stands for many: an edge tells
  // them from it.
  void theSmallestBoxesHaveAnEdgeInBothThemes_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
  }
  void theSmallestBoxesHaveAnEdgeInBothThemes() {
    QFETCH(bool, dark);
    kit::applyTheme(*qApp, kit::Theme::make(dark));
    Rig<FlameView> rig(session(), "", {240, 200});
    const QImage image = rig.view.grab().toImage();
    int pale = 0;
    for (const auto& place : rig.view.places()) {
      const double ns = place.together ? place.ns : place.box->ns;
      if (place.box->beside() || ns >= 0.03 * rig.view.places()[0].box->ns) continue;
      ++pale;
      const QPoint edge(static_cast<int>(place.rect.left() + 1e-6),
                        static_cast<int>(place.rect.center().y()));
      QCOMPARE(image.pixelColor(edge), kit::theme().nodeLine);
    }
    QVERIFY(pale > 0);
  }

  // Two compilers made four kernels of a second each in two seconds: their box says so, and none is wider
  // than its part of the clock.
  void whatRanSideBySideSaysSo() {
    const kit::SessionPtr session = measured(2);
    Rig<FlameView> rig(session, "", {1400, 240});
    QStringList names;
    const FlameView::Place *beside = nullptr, *stage = nullptr;
    double kernels = 0;
    for (const auto& place : rig.view.places()) {
      names << place.box->name;
      if (place.box->beside()) beside = &place;
      if (place.box->name == "LLVM IR, Assembly") stage = &place;
      if (kind_of(place.box->id) == Kind::Kernel) kernels += place.rect.width();
      double below = 0;
      for (const auto& box : place.box->below) below += box.ns;
      QVERIFY2(below <= place.box->ns * 1.001, qPrintable(place.box->name));
    }
    QVERIFY2(beside && stage, qPrintable(names.join(", ")));
    QCOMPARE(beside->box->name, QStringLiteral("side by side, 2 at once"));
    QCOMPARE(beside->rect.width(), stage->rect.width());
    QVERIFY(std::abs(kernels - stage->rect.width()) < 1);
    QCOMPARE(beside->box->work, 4e9);
    QCOMPARE(beside->box->ns, 2e9);
    QVERIFY2(rig.view.copy(kit::CopyAs::Csv).contains(QRegularExpression(",K1 \\w*,500000000,1000000000,")),
             qPrintable(rig.view.copy(kit::CopyAs::Csv)));
  }

  // It is no part of the fusion that it follows.
  void measuringCandidatesIsNamed() {
    Rig<FlameView> rig(measured(2), "", {1400, 240});
    bool named = false;
    for (const auto& place : rig.view.places())
      if (place.box->name == "Measuring candidates") {
        named = true;
        QCOMPARE(place.box->ns, 3e9);
        QCOMPARE(place.depth, 3);
      }
    QVERIFY(named);
  }

  // Of a session that counts what lies between as a stage's own, each moment is of one stage all the same.
  void stagesTakeEachMomentOnce() {
    Rig<FlameView> rig(measured(2, 6'000'000'000), "", {1400, 240});
    for (const auto& place : rig.view.places()) {
      if (place.depth == 2) {
        double sum = 0;
        for (const auto& box : place.box->below) sum += box.ns;
        QCOMPARE(sum, place.box->ns);
      }
      if (place.box->name != "Fused") continue;
      QCOMPARE(place.box->ns, 1e9);
      QVERIFY2(place.box->note.contains("beside later stages"), qPrintable(place.box->note));
    }
  }

 private:
  // A compilation of seven seconds: fusion for one, four kernels in two, measuring for three.
  kit::SessionPtr measured(int workers, int64_t fusing = 1'000'000'000) {
    using namespace session;
    const std::string path = loaded_->folder.filePath("measured.vitrine").toStdString();
    QFile::remove(QString::fromStdString(path));
    auto w = Writer::create(path).take();
    const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment),
             compilation = w->next(Kind::Compilation);
    constexpr int64_t kSecond = 1'000'000'000;
    w->put(RunRow{run, "model.py"});
    w->put(FrameRow{.id = frame, .run = run});
    w->put(SegmentRow{.id = segment, .frame = frame});
    CompilationRow row{.id = compilation, .segment = segment, .label = "0/0", .status = "ok"};
    row.duration_ns = 7 * kSecond;
    w->put(row);
    w->put(StageRow{compilation, "fused", "ok", "", 4, 0, fusing});
    w->put(StageRow{compilation, "ir", "ok", "", 4, kSecond, kSecond, 2 * kSecond, workers});
    w->put(StageRow{compilation, "assembly", "ok", "", 4, 2 * kSecond, kSecond, 2 * kSecond, workers});
    w->put(StageRow{compilation, "choices", "ok", "4 measured", 4, 3 * kSecond, 3 * kSecond});
    for (int i = 0; i < 4; ++i) {
      KernelRow kernel{.id = w->next(Kind::Kernel), .compilation = compilation, .ordinal = i};
      kernel.label = "K" + std::to_string(i), kernel.name = "add", kernel.kind = "generated";
      kernel.compile_ns = kSecond;
      w->put(kernel);
    }
    w->finish("finished");
    return kit::SessionData::load(path).take();
  }
  static const FlameView::Place* of(const FlameView& view, Id id) {
    for (const auto& place : view.places())
      if (place.box->id == id) return &place;
    return nullptr;
  }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestFlame)
#include "tst_flame.moc"
