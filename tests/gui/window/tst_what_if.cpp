// Saved tensors in the whole window: what a pin would change, why something is not known, and the run that
// checks it.
#include <QLabel>
#include <QTest>

#include "app/shell/main_window.h"
#include "app/shell/run/partition_check.h"
#include "tests/gui/window/window_test.h"
#include "views/tables/saved_view.h"

using namespace vitrine;
using app::MainWindow;
using views::SavedView;

class TestWhatIf : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    training_ = folder_.filePath("training.vitrine");
    made_ = fixture::writeTraining(training_.toStdString());
  }

  void aPinOfWhatIsKeptSavesItsBytesAndCostsItsLaunch() {
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    QVERIFY(view && view->strip().isEmpty());
    window.document()->activate(made_.saved_joint);
    window.settle();
    (*window.actions())["partition.pin"]->trigger();
    // The product's launch took 5 µs; nothing is kept any more.
    QCOMPARE(view->strip(),
             QStringLiteral("What if mm recomputed: estimated −4.10 kB (0 B kept), +5.00 µs a step."));
    QCOMPARE(view->arguments(), QStringList{"--pin=mm=recomputed"});
    view->act("partition.pin");  // the same again: no longer
    QVERIFY(view->strip().isEmpty());
  }

  void aPinOfWhatIsComputedAgainKeepsIt() {
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    view->pin("mul", kit::PinAs::Saved);
    // One loop that reads 4096 bytes at the 4.096 GB/s of a copy.
    QCOMPARE(view->strip(),
             QStringLiteral("What if mul saved: estimated +4.10 kB (8.19 kB kept), −1.00 µs a step."));
    view->act("partition.clear");
    QVERIFY(view->pins().empty());
  }

  void whatCannotBePinnedIsToldWithItsReason() {
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    view->pin("x", kit::PinAs::Recomputed);
    QCOMPARE(view->strip(),
             QStringLiteral("x cannot be pinned as recomputed: it is an input, which is kept anyway."));
    QVERIFY(view->pins().empty());
  }

  void withoutTheFileItIsNotChecked() {
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    view->pin("mm", kit::PinAs::Recomputed);
    (*window.actions())["partition.check"]->trigger();
    window.settle();
    QVERIFY2(view->strip().contains("Not checked: the Python file of this session is not here."),
             qPrintable(view->strip()));
    view->act("partition.clear");
    QVERIFY(view->strip().isEmpty());
  }

  void theOutcomeStandsBesideTheEstimate() {
    const auto data = kit::SessionData::load(training_.toStdString()).value();
    const QString text = app::partitionOutcome(*data, made_.forward, *data);
    QVERIFY2(text.startsWith("Checked: ") && text.contains("4.10 kB kept") &&
                 text.contains("its calls were not timed"),
             qPrintable(text));
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    view->pin("mm", kit::PinAs::Recomputed);
    view->tell(kit::Tone::Ok, text);
    QVERIFY(view->strip().contains("estimated −4.10 kB") && view->strip().contains(text));
    // The words stand below the rows, and cover none.
    const auto* strip = view->findChild<QLabel*>(QString(), Qt::FindDirectChildrenOnly);
    QVERIFY(strip && strip->isVisibleTo(view));
    QVERIFY(view->items()->geometry().bottom() < strip->geometry().top());
    QVERIFY(strip->geometry().bottom() <= view->height());
  }

  void everyRowSaysWhatComputingItAgainTakes() {
    MainWindow window;
    SavedView* view = raised<SavedView>(window, training_, "saved");
    const QString rows = view->items()->items()->lines().join('\n');
    QVERIFY2(rows.contains("5.0"), qPrintable(rows));
  }

 private:
  QString training_;
  fixture::TrainingIds made_;
};

QTEST_MAIN(TestWhatIf)
#include "tst_what_if.moc"
