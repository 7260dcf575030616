// The window without a mouse: where the focus goes, what Escape undoes, and what a change of theme, of size
// or of session leaves standing.
#include <QAbstractButton>
#include <QAccessible>
#include <QLineEdit>
#include <QTest>

#include "app/shell/document/document.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/centre.h"
#include "app/shell/panes/view_host.h"
#include "tests/gui/window/window_test.h"
#include "views/kit/painting/theme.h"
#include "views/kit/widgets/switch_bar.h"

using namespace vitrine;
using app::MainWindow;

class TestKeyboard : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { begin(); }

  void eachFocusKeyGoesWhereItSays() {
    MainWindow window;
    open(window);
    struct Stop {
      Qt::Key key;
      QString view;
    };
    for (const Stop& stop : {Stop{Qt::Key_1, "runs"}, Stop{Qt::Key_2, "graph"}, Stop{Qt::Key_3, "kernel"},
                             Stop{Qt::Key_4, "inspector"}, Stop{Qt::Key_5, "timeline"}}) {
      QTest::keyClick(&window, stop.key, Qt::ControlModifier);
      QVERIFY2(focused() == stop.view, qPrintable(stop.view + " but " + focused()));
    }
  }

  void f6VisitsEveryDockAndComesBack() {
    MainWindow window;
    open(window);
    QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
    const QWidget* first = QApplication::focusWidget();
    QSet<const QWidget*> seen;
    for (int i = 0; i < 20 && !seen.contains(QApplication::focusWidget()); ++i) {
      seen.insert(QApplication::focusWidget());
      QTest::keyClick(&window, Qt::Key_F6);
      QVERIFY(QApplication::focusWidget());
      QVERIFY(QApplication::focusWidget()->isVisible());
    }
    QCOMPARE(QApplication::focusWidget(), first);
    QVERIFY(seen.size() >= 6);  // two panes and what stands below one, Runs, Inspector, the bottom dock
    QTest::keyClick(&window, Qt::Key_F6, Qt::ShiftModifier);
    QTest::keyClick(&window, Qt::Key_F6);
    QCOMPARE(QApplication::focusWidget(), first);
  }

  void escapeTakesBackOneThingAtATime() {
    MainWindow window;
    open(window);
    QVERIFY(window.activateText("gelu"));
    window.document()->model().setRange({10, 20});
    window.settle();
    QTest::keyClick(&window, Qt::Key_Escape);
    window.settle();
    QCOMPARE(window.document()->selection().range.to_ns, int64_t{0});
    QVERIFY(window.document()->selection().active);
    QTest::keyClick(&window, Qt::Key_Escape);
    window.settle();
    QVERIFY(!window.document()->selection().active);
  }

  void theChainIsWalkedByKeysFromEndToEnd() {
    MainWindow window;
    open(window);
    QVERIFY(window.activateText("gelu"));
    window.settle();
    auto walk = [&](Qt::Key key) {
      int steps = 0;
      for (Id before = 0; before != window.document()->selection().active && steps < 40; ++steps) {
        before = window.document()->selection().active;
        QTest::keyClick(&window, key);
        window.settle();
      }
      return window.document()->selection().active;
    };
    const Id start = walk(Qt::Key_BracketLeft), end = walk(Qt::Key_BracketRight);
    QCOMPARE(kind_of(start), Kind::Span);
    QVERIFY(end != start);
    QCOMPARE(walk(Qt::Key_BracketLeft), start);
  }

  void themeIsSwitchedWhileItStands() {
    app::AppSettings::keepIn(folder_.filePath("settings.ini"));
    MainWindow window;
    open(window);
    QVERIFY(window.activateText("gelu"));
    const Id active = window.document()->selection().active;
    auto ground = [&] { return window.grab().toImage().pixelColor(window.width() / 2, 2).lightness(); };
    (*window.actions())["theme.light"]->trigger();
    window.settle();
    const int light = ground();
    (*window.actions())["theme.dark"]->trigger();
    window.settle();
    QVERIFY2(light > 200 && ground() < 60, "the menu row has the theme's ground");
    QCOMPARE(window.document()->selection().active, active);
    app::AppSettings::ignoreStored();
  }

  void smallAndWideKeepTheActiveThing() {
    MainWindow window;
    open(window);
    QVERIFY(window.activateText("gelu"));
    const Id active = window.document()->selection().active;
    for (const QSize& size : {QSize(1024, 640), QSize(1120, 700), QSize(2560, 1440), QSize(1440, 900)}) {
      window.resize(size);
      window.settle();
      QCOMPARE(window.size(), size);
      QCOMPARE(window.document()->selection().active, active);
      for (app::Pane* pane : window.centre()->panes())
        if (pane->isVisible()) QVERIFY(pane->width() >= 200 && pane->height() >= 40);
    }
  }

  // What is pressed or filled in says what it is: to a reader of the screen, and under the pointer where it
  // has no words of its own.
  void everyControlSaysWhatItIs() {
    MainWindow window;
    open(window);
    int seen = 0;
    QStringList silent;
    for (const QString layout : {"Explore", "Fusion", "Breaks", "Capture", "Timeline", "Training"}) {
      window.chooseLayout(layout);
      window.settle();
      for (QWidget* each : window.findChildren<QWidget*>()) {
        const auto* button = qobject_cast<QAbstractButton*>(each);
        if ((!button && !qobject_cast<QLineEdit*>(each) && !qobject_cast<kit::SwitchBar*>(each)) ||
            !each->isVisible() || qobject_cast<QLineEdit*>(each->parentWidget()))  // a field's own icon
          continue;
        ++seen;
        const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(each);
        const bool named = spoken && !spoken->text(QAccessible::Name).isEmpty();
        const bool explained = !button || !button->text().isEmpty() || !button->toolTip().isEmpty();
        if (!named || !explained)
          silent << layout + ": " + each->metaObject()->className() + " in " +
                        each->parentWidget()->metaObject()->className();
      }
    }
    QVERIFY(seen > 20);
    QVERIFY2(silent.isEmpty(), qPrintable(silent.join('\n')));
  }

  void aSecondSessionStartsAnew() {
    MainWindow window;
    open(window);
    QVERIFY(window.activateText("gelu"));
    const QString other = folder_.filePath("b.vitrine");
    fixture::writeSession(other.toStdString());
    QVERIFY(!window.openSync(other));
    window.settle();
    QVERIFY(!window.document()->selection().active);
    QVERIFY(window.banner()->text().isEmpty());
    QVERIFY(window.activateText("gelu"));
  }

 private:
  void open(MainWindow& window) {
    window.resize(1440, 900);
    window.show();
    QVERIFY(!window.openSync(path_));
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    window.settle();
  }
  // The view that has the focus, by its registry id.
  static QString focused() {
    for (QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget())
      if (auto* host = qobject_cast<app::ViewHost*>(at)) return QString::fromLatin1(host->info().id);
    return "nothing";
  }
};

QTEST_MAIN(TestKeyboard)
#include "tst_keyboard.moc"
