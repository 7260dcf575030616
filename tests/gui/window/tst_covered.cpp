// A view behind another tab waits until it is in sight, as a hidden one does: of a large session each would
// take long to fill.
#include <QTest>

#include "tests/gui/window/window_test.h"
#include "views/tables/table_view.h"

using namespace vitrine;
using app::MainWindow;

class TestCovered : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { begin(); }

  void aViewBehindATabIsFilledWhenItIsRaised() {
    MainWindow window;
    QVERIFY(raised<kit::View>(window, path_, "timeline"));
    QCOMPARE(window.layoutName(), QStringLiteral("Explore"));
    QCOMPARE(rows(window, "kernels"), 0);
    window.docks()->raise("kernels");
    window.settle();
    QCOMPARE(rows(window, "kernels"), 9);
    QCOMPARE(rows(window, "totals"), 0);
  }

  void anotherLayoutFillsWhatItShows() {
    MainWindow window;
    QVERIFY(raised<kit::View>(window, path_, "timeline"));
    QVERIFY(window.chooseLayout("Fusion"));
    window.settle();
    QCOMPARE(rows(window, "decisions"), 13);
    QCOMPARE(rows(window, "missed"), 0);
  }

  void aFloatingViewIsInSight() {
    MainWindow window;
    QVERIFY(raised<kit::View>(window, path_, "timeline"));
    window.docks()->dock("kernels")->setFloating(true);
    window.docks()->dock("kernels")->move(-3000, 10);  // on a screen to the left
    window.settle();
    QCOMPARE(rows(window, "kernels"), 9);
  }

 private:
  static int rows(MainWindow& window, const char* dock) {
    auto* view = qobject_cast<views::TableView*>(window.docks()->dock(dock)->host()->view());
    return view ? view->items()->items()->rowCount() : -1;
  }
};

QTEST_MAIN(TestCovered)
#include "tst_covered.moc"
