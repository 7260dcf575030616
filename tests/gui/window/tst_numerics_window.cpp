// Numerics in the whole window: its dock, its buttons, the chain they lead to, and the run that records them.
#include <QTest>
#include <QToolButton>

#include "app/shell/main_window.h"
#include "tests/gui/window/window_test.h"
#include "views/numerics/numerics_view.h"

using namespace vitrine;
using app::MainWindow;
using views::NumericsView;

class TestNumericsWindow : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    compared_ = folder_.filePath("compared.vitrine");
    compared_ids_ = fixture::writeSession(compared_.toStdString(), 1, true);
  }

  void theButtonMakesTheFirstDivergenceActiveWithItsChain() {
    MainWindow window;
    NumericsView* view = raised<NumericsView>(window, compared_, "numerics");
    QVERIFY(view);
    QCOMPARE(view->shown().size(), size_t(3));
    auto* first = qobject_cast<QToolButton*>(view->headerControls()[0]);
    QVERIFY(first->isEnabled());
    QTest::mouseClick(first, Qt::LeftButton);
    window.settle();
    QCOMPARE(window.document()->selection().active, compared_ids_.aten_gelu);
    QVERIFY(!window.chain()->links().empty());
  }

  void theOtherButtonMakesTheSourceOfTheNanActive() {
    MainWindow window;
    NumericsView* view = raised<NumericsView>(window, compared_, "numerics");
    QTest::mouseClick(qobject_cast<QToolButton*>(view->headerControls()[1]), Qt::LeftButton);
    window.settle();
    QVERIFY(window.document()->selection().active != 0);
    QVERIFY(window.document()->selection().active != compared_ids_.aten_gelu);
  }

  void whereNothingWasComparedTheRunWithNumericsIsOffered() {
    MainWindow window;
    NumericsView* view = raised<NumericsView>(window, path_, "numerics");
    QVERIFY2(view->why_empty().startsWith("Not recorded"), qPrintable(view->why_empty()));
    QAction* again = (*window.actions())["run.numerics"];
    QVERIFY(again);
    // As F5: only where the file that was recorded is there.
    QCOMPARE(again->isEnabled(), (*window.actions())["run.start"]->isEnabled());
  }

 private:
  QString compared_;
  fixture::Ids compared_ids_;
};

QTEST_MAIN(TestNumericsWindow)
#include "tst_numerics_window.moc"
