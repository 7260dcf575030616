// Memory over time in the whole window: both sides on one axis, what the peak is made of, and another moment.
#include <QTest>

#include "app/shell/main_window.h"
#include "core/session/writer.h"
#include "tests/gui/window/window_test.h"
#include "views/memory/memory_view.h"

using namespace vitrine;
using app::MainWindow;
using views::MemoryView;

class TestMemory : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    training_ = folder_.filePath("training.vitrine");
    fixture::writeTraining(training_.toStdString());
  }

  void thePeaksOfBothSidesAreNamed() {
    MainWindow window;
    MemoryView* view = raised<MemoryView>(window, training_, "usage");
    QVERIFY(view);
    QVERIFY2(view->subtitle().startsWith("compiled 5.12 kB, eager 12.3 kB at their peaks (0.42"),
             qPrintable(view->subtitle()));
    const QStringList lines = view->table()->items()->lines();
    QVERIFY2(lines[0].startsWith("Compiled | 5.1"), qPrintable(lines[0]));
    // The compiled call's product, then a block of no operator; eager's three values.
    QCOMPARE(lines.size(), 7);
    QVERIFY2(lines[1].contains("L0 mm") && lines[1].contains("4.1"), qPrintable(lines[1]));
    QVERIFY2(lines[2].contains("of no operator"), qPrintable(lines[2]));
    QVERIFY2(lines[4].contains("6:8 x @ w") && lines[4].contains("held"), qPrintable(lines[4]));
  }

  // No block of this call is a buffer of the plan: no column stands empty.
  void aColumnOfNoBufferIsLeftOut() {
    MainWindow window;
    auto* table = raised<MemoryView>(window, training_, "usage")->table();
    QStringList titles;
    for (const kit::Column& column : table->items()->columns()) titles << column.title;
    QVERIFY2(!titles.contains("buffer") && titles.size() == 6, qPrintable(titles.join(", ")));
    for (const QString& line : table->items()->lines())
      QVERIFY2(line.count('|') < titles.size(), qPrintable(line));
  }

  void bothSidesShareOneAxis() {
    MainWindow window;
    views::MemoryChart* chart = raised<MemoryView>(window, training_, "usage")->chart();
    const QRectF plot = chart->plot();
    QCOMPARE(chart->x_of(20'000), plot.right());  // eager's call is the longer one
    QCOMPARE(chart->y_of(12'288), plot.top());    // and holds most
    QVERIFY(chart->y_of(5'120) > plot.center().y());
  }

  void aClickLooksAtAnotherMomentAndEscapeAtThePeaksAgain() {
    MainWindow window;
    MemoryView* view = raised<MemoryView>(window, training_, "usage");
    const QPoint at(static_cast<int>(view->chart()->x_of(2'000)),
                    static_cast<int>(view->chart()->plot().center().y()));
    QTest::mouseClick(view->chart(), Qt::LeftButton, {}, at);
    window.settle();
    const QStringList lines = view->table()->items()->lines();
    QCOMPARE(lines.size(), 4);  // one block a side
    QVERIFY2(lines[0].startsWith("Compiled | "), qPrintable(lines[0]));
    QTest::keyClick(view->chart(), Qt::Key_Escape);
    window.settle();
    QCOMPARE(view->table()->items()->lines().size(), 7);
  }

  void aRowLeadsToWhatMadeIt() {
    MainWindow window;
    MemoryView* view = raised<MemoryView>(window, training_, "usage");
    const auto shown = view->shown();
    QVERIFY(!shown.empty());
    Q_EMIT view->table()->activate(shown[1]);
    window.settle();
    QCOMPARE(window.document()->selection().active, shown[1]);
  }

  // However narrow the chart is, the names of its peaks are whole and share no pixel.
  void theNamesOfThePeaksAreWholeInANarrowChart() {
    MainWindow window;
    const views::MemoryChart* shown = raised<MemoryView>(window, training_, "usage")->chart();
    views::MemoryChart chart;
    chart.set(shown->use());
    for (const int width : {260, 290, 330, 500, 900}) {
      chart.resize(width, 200);
      const auto compiled = chart.peak_label(true), eager = chart.peak_label(false);
      QVERIFY(compiled.text.startsWith("compiled ") && eager.text.startsWith("eager "));
      QVERIFY(!compiled.place.intersects(eager.place));
      for (const auto& label : {compiled, eager}) {
        QVERIFY(label.place.left() >= 8 && label.place.right() <= width - 8);
        QVERIFY(label.place.width() >= kit::textWidth(kit::theme().mono(11, 500), label.text));
      }
    }
  }

  // Of a script one step is recorded, and what kept it from that is said.
  void aScriptSaysWhyItsMemoryIsNotKnown() {
    using namespace session;
    for (const bool told : {false, true}) {
      const QString path = folder_.filePath(told ? "told.vitrine" : "script.vitrine");
      auto w = Writer::create(path.toStdString()).take();
      RunRow run{w->next(Kind::Run), "train.py", "script", "", "cpu", "default", "finished"};
      w->put(run);
      MessageRow message;
      message.id = w->next(Kind::Message);
      message.run = run.id;
      message.severity = "info", message.origin = "environment";
      message.text = "Not recorded: the script profiles itself.", message.about = "memory";
      if (told) w->put(message);
      w->finish("finished");
      w.reset();
      MainWindow window;
      const QString why = raised<MemoryView>(window, path, "usage")->why_empty();
      QVERIFY2(why.contains(told ? "the script profiles itself" : "its sixth step"), qPrintable(why));
    }
  }

  // Recorded again it would have no more steps.
  void aScriptOfFewStepsSaysHowManyItHas() {
    using namespace session;
    const QString path = folder_.filePath("few.vitrine");
    auto w = Writer::create(path.toStdString()).take();
    const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
    w->put(RunRow{run, "train.py", "script", "", "cpu", "default", "finished"});
    w->put(FrameRow{frame, run, 0, "captured", ""});
    w->put(SegmentRow{segment, frame});
    for (const char* label : {"0/0", "0/0 backward"}) {
      CompilationRow row{w->next(Kind::Compilation), segment, 0, label, "ok", "return"};
      row.calls = 3;
      w->put(row);
    }
    w->finish("finished");
    w.reset();
    MainWindow window;
    const QString why = raised<MemoryView>(window, path, "usage")->why_empty();
    QVERIFY2(why.endsWith("this one has 3."), qPrintable(why));
  }

  // A call allocates it in one piece, which is of no launch.
  void theArenaIsCalledTemporaries() {
    using namespace session;
    const QString path = folder_.filePath("arena.vitrine");
    auto w = Writer::create(path.toStdString()).take();
    RunRow run{0, "m.py", "model(*inputs)", "", "cuda", "default", "finished"};
    const Id compilation = fixture::bareCompilation(*w, run);
    w->put(BufferRow{w->next(Kind::Buffer), compilation, 0, "buf0", "temporary", "f32[250]", 1000, 0, 1, 0});
    w->put(AllocationRow{run.id, "compiled", 0, 100, 9'000, 1024, "empty_strided", 0});
    w->put(AllocationRow{run.id, "compiled", 1, 200, 9'000, 4096, "empty_strided", 0});
    w->put(AllocationRow{run.id, "eager", 0, 100, 9'000, 1024, "empty_strided", 0});
    for (const char* side : {"memory_eager_ns", "memory_compiled_ns"}) w->meta(side, "10000");
    w->finish("finished");
    w.reset();
    MainWindow window;
    const QStringList lines = raised<MemoryView>(window, path, "usage")->table()->items()->lines();
    QCOMPARE(lines.filter("temporaries").size(), 1);
    QVERIFY2(lines.filter("temporaries")[0].contains("1.0"), qPrintable(lines.join('\n')));
  }

  void whereNothingWasRecordedTheCommandIsNamed() {
    MainWindow window;
    MemoryView* view = raised<MemoryView>(window, path_, "usage");
    QVERIFY2(view->why_empty().startsWith("Not recorded") && view->why_empty().contains("vitrine run"),
             qPrintable(view->why_empty()));
  }

 private:
  QString training_;
};

QTEST_MAIN(TestMemory)
#include "tst_memory.moc"
