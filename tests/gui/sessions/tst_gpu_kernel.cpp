// A kernel of a GPU: CUDA C++, PTX and SASS are the three forms of its pane, linked line by line.
#include <set>

#include "app/shell/bars/stage_strip.h"
#include "profiler/analysis/stalls.h"
#include "tests/gui/views/view_rig.h"
#include "views/inspector/inspector_content.h"
#include "views/kernel/kernel_view.h"
#include "views/kit/code/highlight.h"
#include "views/kit/painting/theme.h"
#include "views/roofline/roofline_view.h"
#include "views/tables/tables.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using fixture::Rig;
using views::KernelView;

class TestGpuKernel : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("gpu.vitrine");
    ids_ = fixture::writeGpu(path_.toStdString());
    session_ = kit::SessionData::load(path_.toStdString()).value();
  }

  void theStagesHaveTheirNames() {
    app::StageStrip strip;
    strip.resize(1800, 36);
    strip.setSession(session_, ids_.compilation);
    const QStringList words = strip.words();
    for (const char* word : {"CUDA C++", "PTX", "SASS"})
      QVERIFY2(words.contains(word), qPrintable(words.join(' ')));
    QVERIFY(!words.contains("LLVM IR"));
  }

  void theHeaderSaysWhatTheKernelTakes() {
    Rig<KernelView> rig(session_, "kernels", {800, 500});
    QCOMPARE(rig.view.title(), QStringLiteral("CUDA C++"));
    const QString text = rig.view.subtitle();
    QVERIFY2(text.contains("K0 mul_exp") && text.contains("sm_90") && text.contains("32 registers") &&
                 text.contains("96 × 128 threads") && text.contains(QStringLiteral("occupancy 100\u202F%")),
             qPrintable(text));
  }

  // The operator that is active in one of the forms is active in the others.
  void theFormsAreLinkedLineByLine() {
    Rig<KernelView> source(session_, "kernels", {800, 500}), ptx(session_, "ir", {800, 500}),
        sass(session_, "assembly", {800, 500});
    QCOMPARE(ptx.view.title(), QStringLiteral("PTX"));
    QCOMPARE(sass.view.title(), QStringLiteral("SASS"));
    for (auto* rig : {&source, &ptx, &sass}) {
      rig->activate(ids_.exp);
      const std::string form = rig == &source ? "source" : rig == &ptx ? "ir" : "assembly";
      QTRY_COMPARE(rig->view.canShow(ids_.exp), ids_.ranges[form].second);
      rig->activate(ids_.load);
      QTRY_COMPARE(rig->view.canShow(ids_.load), ids_.ranges[form].first);
    }
  }

  // Where the GPU was sampled: each line's part of the samples, and what most of those that waited wait for.
  void samplesStandBesideTheirLines() {
    Rig<KernelView> source(session_, "kernels", {800, 500}), ptx(session_, "ir", {800, 500}),
        sass(session_, "assembly", {800, 500});
    for (auto* rig : {&source, &sass}) {
      QTRY_COMPARE(rig->view.pane()->shares().size(), size_t(2));
      const auto& shares = rig->view.pane()->shares();
      QCOMPARE(shares[0].line, 1);
      QCOMPARE(shares[0].part, 0.7);
      QCOMPARE(shares[0].text, QStringLiteral("memory"));
      QVERIFY2(shares[0].tooltip.contains("waiting for what an earlier load brings"),
               qPrintable(shares[0].tooltip));
      QCOMPARE(shares[1].line, 2);
      QCOMPARE(shares[1].text, QStringLiteral("latency"));
    }
    for (const profiler::Stall& stall : profiler::kStalls)  // no word is cut
      QVERIFY(kit::textWidth(kit::theme().mono(11),
                             QString::fromUtf8(stall.label.data(), qsizetype(stall.label.size()))) <=
              kit::CodePane::roomOfShareWords());
    QVERIFY(ptx.view.pane()->shares().empty());
    const QString header = source.view.subtitle();
    QVERIFY2(header.contains("waits mostly for memory") && header.contains("63"), qPrintable(header));
  }

  void instructionsAndRegistersAreTold() {
    int state = 0;
    auto kinds = [&](const QString& line) {
      QStringList out;
      for (const kit::Token& t : kit::scanLine(line, kit::Language::Ptx, state))
        if (t.kind == kit::TokenKind::Keyword) out << line.mid(t.start, t.length);
      return out.join(' ');
    };
    QCOMPARE(kinds("\tld.global.f32 \t%f1, [%rd1];"), QStringLiteral("ld.global.f32"));
    QCOMPARE(kinds("  /*0010*/  @!P0 MUFU.EX2 R3, R7 ;"), QStringLiteral("MUFU.EX2"));
    QCOMPARE(state, 0);
  }

  void theTableSaysWhatEachKernelTakes() {
    Rig<views::TableView> rig(session_, "", {1400, 300}, views::kKernelsTable);
    const QStringList rows = lines(rig);
    QVERIFY2(rows.filter("K0 | mul_exp").value(0).contains("| 50 % | 32 | 0 | 16 | 100 % | threads |"),
             qPrintable(rows.join('\n')));
    QVERIFY2(rows.filter("L0 | mm").value(0).contains("| 50 % | – | – | – | – | – |"),
             qPrintable(rows.join('\n')));
  }

  void whatWasCountedStandsBesideIt() {
    Rig<views::TableView> rig(session_, "", {1600, 300}, views::kKernelsTable);
    const QStringList rows = lines(rig);
    QVERIFY2(rows.filter("K0 | mul_exp").value(0).contains("| 5.60 | 1.40× | 82 % |"),
             qPrintable(rows.join('\n')));
    kit::Selection selection;
    selection.active = ids_.kernel;
    QVERIFY(titles(selection).contains("Where its warps were"));
    for (const auto& section : views::inspect(*session_, selection).sections)
      if (section.title == "Counted by the GPU") {
        QCOMPARE(section.rows[0].key, QStringLiteral("DRAM moved"));
        QVERIFY2(section.rows[0].note.contains("1.40×"), qPrintable(section.rows[0].note));
        QCOMPARE(section.rows[0].tone, kit::Tone::Warn);
        for (const auto& row : section.rows) QVERIFY(row.key != "spill read");  // there are none
        return;
      }
    QFAIL("nothing was counted");
  }

  void theChoicesAreListedWithAllTimes() {
    Rig<views::TableView> rig(session_, "", {900, 300}, views::kChoicesTable);
    const QStringList rows = lines(rig);
    QVERIFY2(rows.contains("  PyTorch | 80 | 1.00× | chosen | this run"), qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("  cuBLASLt, algorithm 3 | 100 | 0.80× |  | this run"),
             qPrintable(rows.join('\n')));
  }

  void theInspectorTellsBoth() {
    kit::Selection selection;
    selection.active = ids_.kernel;
    QVERIFY(titles(selection).contains("On sm_90"));
    selection.active = ids_.library;
    QVERIFY(titles(selection).contains("Who computes it"));
  }

  // Half of what the copy allows stands below the slanted roof; a click makes the kernel active.
  // However low the view is: a name that the plot's edge cuts is no name.
  void namesOfRoofsAreWhole() {
    for (int height = 200; height <= 600; height += 50) {
      Rig<views::RooflineView> rig(session_, "", {700, height});
      QVERIFY(!rig.view.roofNames().empty());
      for (const QRectF& box : rig.view.roofNames())
        QVERIFY2(rig.view.plot().contains(box), qPrintable(QStringLiteral("%1 high").arg(height)));
    }
  }

  void theRooflineHasAPointAKernel() {
    Rig<views::RooflineView> rig(session_, "", {700, 400});
    QCOMPARE(rig.view.shown().size(), size_t(2));
    const QPointF pointwise = rig.view.place(ids_.kernel), product = rig.view.place(ids_.library);
    QVERIFY(rig.view.rect().contains(pointwise.toPoint()) && rig.view.rect().contains(product.toPoint()));
    QVERIFY(product.x() > pointwise.x() && product.y() < pointwise.y());
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, pointwise.toPoint());
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids_.kernel);
    rig.activate(ids_.exp);
    QCOMPARE(rig.view.canShow(ids_.exp), ids_.kernel);
    QCOMPARE(rig.view.things().size(), size_t(2));
  }

  // From the launch, not from another call of the API for the same thing.
  void launchesPointAtWhatTheyStarted() {
    Rig<views::TimelineView> rig(session_, "timeline", {1200, 500});
    const views::Timeline& t = *rig.view.timeline();
    QCOMPARE(t.arrows.size(), size_t(4));
    for (const views::Arrow& a : t.arrows) {
      const views::Slice& call = t.lanes[size_t(a.api_lane)].slices[a.api];
      const views::Slice& work = t.lanes[size_t(a.lane)].slices[a.slice];
      QCOMPARE(call.entity, work.entity);
      QVERIFY(call.start < work.start);
      QVERIFY(views::slice_name(*session_, call).contains("Launch"));
    }
    std::set<Id> told;
    for (const kit::Thing& thing : rig.view.things()) told.insert(thing.id);
    QVERIFY(told.contains(ids_.launch));
  }

 private:
  template <class R>
  static QStringList lines(R& rig) {
    QStringList out = rig.view.items()->items()->lines();
    return out.replaceInStrings(QRegularExpression("[\u00a0\u2009\u202f]"), " ");
  }
  QStringList titles(const kit::Selection& selection) const {
    QStringList out;
    for (const auto& section : views::inspect(*session_, selection).sections) out << section.title;
    return out;
  }
  QTemporaryDir folder_;
  QString path_;
  fixture::GpuIds ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestGpuKernel)
#include "tst_gpu_kernel.moc"
