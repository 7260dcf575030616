// The roofline: one point a kernel under what the machine can do.
#include <QMouseEvent>
#include <QSignalSpy>

#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"
#include "views/roofline/roofline_view.h"

using namespace vitrine;
using fixture::Rig;
using views::RooflineView;

class TestRoofline : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("gpu.vitrine");
    ids_ = fixture::writeGpu(path_.toStdString());
    session_ = kit::SessionData::load(path_.toStdString()).value();
  }

  void theHeaderCountsThePoints() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    QVERIFY2(rig.view.subtitle().contains("2 kernels"), qPrintable(rig.view.subtitle()));
    QCOMPARE(rig.view.things().size(), size_t(2));
  }

  void everyPointStandsInThePlotAtAnySize() {
    for (const QSize size : {QSize{300, 180}, QSize{700, 400}, QSize{1600, 900}}) {
      Rig<RooflineView> rig(session_, "", size);
      for (const Id id : rig.view.shown()) QVERIFY(rig.view.plot().contains(rig.view.place(id)));
    }
  }

  void namesOfRoofsStandInThePlot() {
    for (int width = 520; width <= 1600; width += 60) {
      Rig<RooflineView> rig(session_, "", {width, 240});
      for (const QRectF& name : rig.view.roofNames())
        QVERIFY2(name.right() <= rig.view.plot().right() + 1, qPrintable(QString::number(width)));
    }
  }

  // A level roof that is shorter than its name has it above, clear of the kernels that stand below.
  void theNameOfAShortRoofHidesNoKernel() {
    using namespace session;
    const std::string path = folder_.filePath("short.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "NVIDIA H200", "default", "finished"};
    const Id compilation = fixture::bareCompilation(*w, run);
    // A sum and products at the end of the roof.
    for (const auto& [flops, bytes, ns] :
         {std::tuple(6.3e6, 38e6, 8'900.0), std::tuple(29e9, 54e6, 47e3), std::tuple(39e9, 67e6, 54e3)}) {
      KernelRow kernel;
      kernel.id = w->next(Kind::Kernel), kernel.compilation = compilation;
      kernel.label = "L0", kernel.kind = "library", kernel.family = "matmul";
      kernel.flops = static_cast<int64_t>(flops), kernel.bytes = static_cast<int64_t>(bytes);
      w->put(kernel);
      LaunchRow launch{w->next(Kind::Launch), compilation, 0, "library", "L0 mm", "", kernel.id};
      launch.median_ns = ns;
      w->put(launch);
    }
    w->put(CeilingRow{run.id, "copy", "f32", 4.04e12, ""});
    w->put(CeilingRow{run.id, "product", "f32", 887e12, ""});
    w->finish("finished");
    w.reset();
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    for (int width = 400; width <= 640; width += 20) {
      Rig<RooflineView> rig(data, "", {width, 420});
      QCOMPARE(rig.view.shown().size(), size_t(3));
      for (const QRectF& name : rig.view.roofNames())
        for (const Id id : rig.view.shown())
          QVERIFY2(name.height() > kit::theme().px(17) || !name.contains(rig.view.place(id)),
                   qPrintable(QString::number(width)));
    }
  }

  // A kernel in cache stands above the roof, whose line runs through where its label is.
  void noRoofCrossesALabel() {
    using namespace session;
    const std::string path = folder_.filePath("above.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id compilation = fixture::bareCompilation(*w, run);
    KernelRow kernel;
    kernel.id = w->next(Kind::Kernel), kernel.compilation = compilation;
    kernel.label = "K1234567", kernel.kind = "generated", kernel.family = "pointwise";
    kernel.flops = 1'000, kernel.bytes = 10'000;
    w->put(kernel);
    LaunchRow launch{w->next(Kind::Launch), compilation, 0, "kernel", "K1234567", "", kernel.id};
    launch.median_ns = 1'000;
    w->put(launch);
    CeilingRow copy{run.id, "copy", "f32", 9.7e9, ""}, product{run.id, "product", "f32", 200e9, ""};
    copy.cache_bytes = product.cache_bytes = 1 << 25;
    w->put(copy), w->put(product);
    w->finish("finished");
    w.reset();
    Rig<RooflineView> rig(kit::SessionData::load(path).value(), "", {900, 400});
    QCOMPARE(rig.view.shown().size(), size_t(1));
    const QPointF at = rig.view.place(kernel.id);
    const QImage image = rig.view.grab().toImage();
    const int wide = kit::textWidth(kit::theme().mono(11), "K1234567");
    for (int x = int(at.x()) + 14; x < int(at.x()) + 4 + wide; ++x)
      for (int y = int(at.y()) - 5; y < int(at.y()) + 5; ++y)
        QVERIFY2(image.pixelColor(x, y) != kit::theme().text2, qPrintable(QString::number(x)));
  }

  void aClickActivatesAPointAndTheGroundNone() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, rig.view.place(ids_.library).toPoint());
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids_.library);
    QVERIFY(rig.view.isActive(ids_.library));
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, rig.view.plot().bottomRight().toPoint() - QPoint(4, 4));
    rig.settle();
    QCOMPARE(rig.model.selection().active, Id(0));
  }

  void onlyWhatIsAtWorkInTheSelectedTimeIsShown() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    rig.model.setRange({0, int64_t{1} << 50});
    rig.settle();
    QCOMPARE(rig.view.shown().size(), size_t(2));
    QVERIFY2(rig.view.subtitle().contains("2 kernels in "), qPrintable(rig.view.subtitle()));
    rig.model.setRange({int64_t{1} << 50, int64_t{1} << 51});
    rig.settle();
    QVERIFY(rig.view.shown().empty());
    rig.model.setRange({});
    rig.settle();
    QCOMPARE(rig.view.shown().size(), size_t(2));
  }

  void twoClicksOpenTheKernel() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    QSignalSpy opened(&rig.view, &kit::View::openIn);
    QTest::mouseDClick(&rig.view, Qt::LeftButton, {}, rig.view.place(ids_.kernel).toPoint());
    QCOMPARE(opened.size(), 1);
    QCOMPARE(opened[0][0].value<Id>(), ids_.kernel);
  }

  void thePointerTellsWhatItIsOver() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    const QPointF at = rig.view.place(ids_.kernel);
    QMouseEvent moved(QEvent::MouseMove, at, rig.view.mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&rig.view, &moved);
    rig.settle();
    QCOMPARE(rig.model.selection().hover, ids_.kernel);
  }

  void itIsCopiedAsATable() {
    Rig<RooflineView> rig(session_, "", {700, 400});
    const QStringList rows = rig.view.copy(kit::CopyAs::Csv).split('\n');
    QCOMPARE(rows.size(), 2);
    for (const QString& row : rows) QCOMPARE(row.count(','), 4);
  }

  // What the machine can do was not measured: there is no roof to stand under.
  void withoutCeilingsThereIsNoPoint() {
    fixture::Loaded plain;
    Rig<RooflineView> rig(plain.session, "", {700, 400});
    QVERIFY(rig.view.shown().empty() && rig.view.things().empty());
    QVERIFY(rig.view.subtitle().isEmpty());
    Rig<RooflineView> none(nullptr, "", {400, 200});
    QVERIFY(none.view.subtitle().isEmpty());
    QVERIFY2(rig.view.whyEmpty().contains("was not measured"), qPrintable(rig.view.whyEmpty()));
  }

 private:
  QTemporaryDir folder_;
  QString path_;
  fixture::GpuIds ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestRoofline)
#include "tst_roofline.moc"
