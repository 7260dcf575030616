// Every key of the window, one row each: what has the focus, what is pressed, and what a user would notice.
// By hand on a recorded session of a model with a gelu in it: VITRINE_KEYS_SESSION=FILE tst_keys.
#include <QApplication>
#include <QClipboard>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <functional>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/view_host.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/fixture/still_theme.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector_view.h"
#include "views/kit/code/code_pane.h"
#include "views/kit/keys.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using app::MainWindow;

namespace {

// The window with gelu active, and what a test asks of it.
struct Desk {
  MainWindow window;

  app::Document& document() { return *window.document(); }
  const kit::Selection& now() { return document().selection(); }
  template <class V>
  V* seen() {
    for (V* view : window.findChildren<V*>())
      if (view->isVisible() && !view->visibleRegion().isEmpty()) return view;
    return nullptr;
  }
  app::ViewHost* host(std::string_view id) {
    for (auto* each : window.findChildren<app::ViewHost*>())
      if (each->isVisible() && each->info().id == id) return each;
    return nullptr;
  }
  void focus(const char* id) {
    if (window.docks()->dock(id)) window.docks()->raise(id);  // it may stand behind another tab
    host(id)->view()->setFocus(Qt::OtherFocusReason);
    window.settle();
  }
  void press(const QString& keys) {
    for (const QString& key : keys.split(' ')) {
      const QKeyCombination pressed = QKeySequence(key)[0];
      QWidget* at = QApplication::focusWidget();
      QTest::keyClick(at ? at : &window, pressed.key(), pressed.keyboardModifiers());
      window.settle();
    }
  }
  QString focused() {
    for (QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget())
      if (auto* host = qobject_cast<app::ViewHost*>(at)) return QString::fromLatin1(host->info().id);
    return QStringLiteral("nothing");
  }
  QMenu* menu() {
    auto* popup = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    return popup && popup->objectName() == "context" ? popup : nullptr;
  }
};

// What is looked at before and after; `then` says whether the second is right.
struct Row {
  const char *name, *focus, *keys;
  std::function<QString(Desk&)> look;
  std::function<bool(const QString& before, const QString& after)> then;
  std::function<void(Desk&)> first = {};
};

bool changes(const QString& before, const QString& after) {
  return before != after;
}
auto is(const QString& wanted) {
  return [wanted](const QString&, const QString& after) { return after == wanted; };
}
bool grows(const QString& before, const QString& after) {
  return after.toDouble() > before.toDouble();
}
bool shrinks(const QString& before, const QString& after) {
  return after.toDouble() < before.toDouble();
}

QString active(Desk& d) {
  return QString::number(d.now().active);
}
QString selected(Desk& d) {
  return QString::number(d.now().selected.size());
}
QString clipboard(Desk&) {
  return QApplication::clipboard()->text();
}
// How wide it is, and how wide the view with the focus.
QString clipboardPicture(Desk&) {
  const QImage image = QApplication::clipboard()->image();
  if (image.isNull()) return QStringLiteral("none");
  QWidget* view = QApplication::focusWidget();
  while (view && !qobject_cast<kit::View*>(view)) view = view->parentWidget();
  return QStringLiteral("%1 %2").arg(image.width()).arg(view ? view->width() : 0);
}
QString frame(Desk& d) {
  return QString::number(d.document().position());
}
QString stageA(Desk& d) {
  return QString::fromStdString(d.window.centre()->pane('A')->stage());
}
QString stageB(Desk& d) {
  return QString::fromStdString(d.window.centre()->pane('B')->stage());
}
QString panes(Desk& d) {
  return QString::number(d.window.centre()->panes().size());
}
QString layout(Desk& d) {
  return d.window.layoutName();
}
QString focused(Desk& d) {
  return d.focused();
}
QString graphZoom(Desk& d) {
  return QString::number(d.seen<views::GraphView>()->camera().zoom);
}
QString boxes(Desk& d) {
  return QString::number(d.seen<views::GraphView>()->picture().scene.items.size());
}
QString timeScale(Desk& d) {
  return QString::number(d.seen<views::TimelineView>()->window_of_time().scale);
}
QString timeFrom(Desk& d) {
  return QString::number(d.seen<views::TimelineView>()->window_of_time().from);
}
QString range(Desk& d) {
  return QString::number(d.now().range.to_ns - d.now().range.from_ns);
}
QString only(Desk& d) {
  return d.now().onlyRelatives ? "only" : "all";
}
QString letters(Desk& d) {
  return d.now().linkColours ? "on" : "off";
}
QString pinned(Desk& d) {
  return d.seen<views::InspectorView>()->pinned() ? "pinned" : "follows";
}
QString hover(Desk& d) {
  return QString::number(d.now().hover);
}
QString docks(Desk& d) {
  return QString::number(d.window.docks()->visible().size());
}
QString picture(Desk& d) {
  const QImage image = d.seen<views::GraphView>()->grab().toImage();
  return QString::number(qHashBits(image.constBits(), static_cast<size_t>(image.sizeInBytes())));
}
QString findRow(Desk& d) {
  auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  return !field ? "none" : d.host("graph")->isAncestorOf(field) ? "in the graph" : "elsewhere";
}
QString palette(Desk& d) {
  return d.window.findChild<app::Palette*>()->isVisible() ? "open" : "closed";
}
QString menu(Desk& d) {
  QMenu* menu = d.menu();
  const QString entries = menu ? QString::number(menu->actions().size()) : "0";
  if (menu) menu->close();
  return entries;
}
QString full(Desk& d) {
  return d.window.isFullScreen() ? "full" : "window";
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"palette", "graph", "Ctrl+K", palette, is("open")},
      {"palette closed gives the focus back", "graph", "Ctrl+K Esc", focused, is("graph")},
      {"close the session", "graph", "Ctrl+W",
       [](Desk& d) { return QString(d.document().session() ? "open" : "closed"); }, is("closed")},
      {"escape: nothing active", "graph", "Esc", active, is("0")},
      {"copy as text", "graph", "Ctrl+C", clipboard,
       [](const QString&, const QString& after) {
         return after.contains("gelu") && !after.contains("digraph");
       }},
      {"copy as DOT", "graph", "Ctrl+Shift+C", clipboard,
       [](const QString&, const QString& after) {
         return after.startsWith("digraph") && after.contains("gelu");
       }},
      {"copy as CSV", "kernels", "Ctrl+Shift+C", clipboard,
       [](const QString&, const QString& after) { return after.startsWith("kernel,name"); }},
      {"copy as picture too", "graph", "Ctrl+Shift+C", clipboardPicture,
       [](const QString& before, const QString& after) {
         return before == "none" && after.section(' ', 0, 0) == after.section(' ', 1);
       }},
      {"a view without rows as picture", "roofline", "Ctrl+Shift+C", clipboardPicture, changes},
      {"select all", "graph", "Ctrl+A", selected, grows},
      {"find", "graph", "Ctrl+F", findRow, is("in the graph")},
      {"find next", "graph", "Ctrl+F a d d Return", active, changes},
      {"find next by F3", "graph", "Ctrl+F a d d F3", active, changes},
      {"find previous by Shift+F3", "graph", "Ctrl+F a d d Shift+F3", active, changes},
      {"rows of a table by F3", "kernels", "F3", active, changes},
      {"layout 2", "graph", "Alt+2", layout, is("Fusion")},
      {"layout 3", "graph", "Alt+3", layout, is("Breaks")},
      {"layout 4", "graph", "Alt+4", layout, is("Capture")},
      {"layout 5", "graph", "Alt+5", layout, is("Timeline")},
      {"undo a layout", "graph", "Alt+2 Ctrl+Z", layout, is("Explore")},
      {"redo a layout", "graph", "Alt+2 Ctrl+Z Ctrl+Shift+Z", layout, is("Fusion")},
      {"to Runs", "graph", "Ctrl+1", focused, is("runs")},
      {"to pane A", "runs", "Ctrl+2", focused, is("graph")},
      {"to pane B", "graph", "Ctrl+3", focused, is("kernel")},
      {"to the Inspector", "graph", "Ctrl+4", focused, is("inspector")},
      {"to the bottom dock", "graph", "Ctrl+5", focused, is("timeline")},
      {"next dock", "graph", "F6", focused, changes},
      {"next dock and back", "graph", "F6 Shift+F6", focused, is("graph")},
      {"split", "graph", "Ctrl+\\", panes, grows},
      {"swap A and B", "graph", "Ctrl+Shift+\\", stageA, is("kernels")},
      {"bottom dock away", "graph", "Ctrl+J", docks, shrinks},
      {"bottom dock back", "graph", "Ctrl+J Ctrl+J", docks, [](auto& a, auto& b) { return a == b; }},
      {"left dock away", "graph", "Ctrl+Shift+E", docks, shrinks},
      {"zoom in", "graph", "Ctrl+=", graphZoom, grows},
      {"zoom out", "graph", "Ctrl+-", graphZoom, shrinks},
      {"zoom 1:1", "graph", "Ctrl+= Ctrl+= Ctrl+0", graphZoom, is("1")},
      {"fit the selection", "graph", "Shift+Z", graphZoom, changes},
      {"fit all", "graph", "Ctrl+= Ctrl+= Ctrl+= Z", graphZoom,
       [](auto&, auto& b) { return b.toDouble() <= 1.5; }},
      {"next step", "graph", "Home .", frame, is("1")},
      {"previous step", "graph", "End ,", frame, shrinks},
      {"first step", "graph", "Home", frame, is("0")},
      {"last step", "graph", "Home End", frame, [](auto& a, auto& b) { return a == b; }},
      {"next step that changed something", "graph", "Home >", frame,
       [](auto&, auto& b) { return b.toInt() >= 1; }},
      {"previous step that changed something", "graph", "End <", frame, shrinks},
      {"next stage", "graph", "Ctrl+.", stageA, is("loops")},
      {"previous stage", "graph", "Ctrl+,", stageA, is("decomposed")},
      {"previous link of the chain", "graph", "[", active, changes},
      {"next link of the chain", "graph", "]", active, changes},
      {"there and back on the chain", "graph", "[ ]", active, [](auto& a, auto& b) { return a == b; }},
      {"back in history", "graph", "Up Alt+Left", active, [](auto& a, auto& b) { return a == b; }},
      {"forward in history", "graph", "Up Alt+Left Alt+Right", active, changes},
      {"open in the best view", "graph", "Return", [](Desk& d) { return d.focused() + stageB(d); },
       [](auto&, auto& b) { return b.endsWith("kernels"); }},
      {"open in the other pane", "graph", "Ctrl+Return", stageA, is("kernels")},
      {"next relative, made active", "kernel", "N Return", active, changes},
      {"previous relative", "kernel", "Shift+N", hover, changes},
      {"counterpart", "timeline", "V", active, changes},
      {"counterpart from the graph", "graph", "V", active, changes},
      {"only relatives", "graph", "F", only, is("only")},
      {"show all", "graph", "F Shift+F", only, is("all")},
      {"along an edge", "graph", "Up", active, changes},
      {"slice by slice", "timeline", "Right", active, changes},
      {"row by row", "kernels", "Down Return", active, changes},
      {"expression by expression", "source", "Left Return", active, changes},
      {"extend in the graph", "graph", "Shift+Up Shift+Up", selected, is("3")},
      {"extend on the timeline", "timeline", "Shift+Right Shift+Right", selected, is("3")},
      {"extend in a table", "kernels", "Shift+Up", selected, is("2")},
      {"modules", "graph", "Shift+O", boxes, changes},
      {"groups", "graph", "G", picture, changes},
      {"colouring", "graph", "C", picture, changes},
      {"linked colours", "kernel", "L", letters, is("off")},
      {"linked colours again", "source", "L L", letters, is("on")},
      {"timeline in", "timeline", "W", timeScale, grows},
      {"timeline out", "timeline", "S", timeScale, shrinks},
      {"timeline earlier", "timeline", "W W W W A", timeFrom, changes},
      {"timeline later", "timeline", "D", timeFrom, grows},
      {"range", "timeline", "R", range, grows},
      {"escape: range", "timeline", "R Esc", range, is("0")},
      {"bookmark", "graph", "Ctrl+D Up B", active, [](auto& a, auto& b) { return a == b; }},
      {"note", "graph", "Ctrl+M",
       [](Desk& d) { return QString(d.window.noteField()->isVisible() ? "open" : ""); }, is("open")},
      {"pin", "graph", "I", pinned, is("pinned")},
      {"unpin", "graph", "I I", pinned, is("follows")},
      {"context menu", "graph", "Shift+F10", menu, grows},
      {"context menu key", "kernels", "Menu", menu, grows},
      {"full screen", "graph", "F11", full, is("full")},
  };
  return all;
}

}  // namespace

class TestKeys : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    app::AppSettings::ignoreStored();
    fixture::applyStillTheme(true);
    path_ = folder_.filePath("a.vitrine");
    const QString recorded = qEnvironmentVariable("VITRINE_KEYS_SESSION");
    if (recorded.isEmpty())
      fixture::writeSession(path_.toStdString());
    else
      QVERIFY(QFile::copy(recorded, path_));
  }

  void key_data() {
    QTest::addColumn<int>("row");
    for (size_t i = 0; i < rows().size(); ++i) QTest::newRow(rows()[i].name) << static_cast<int>(i);
  }
  void key() {
    QFETCH(int, row);
    const Row& r = rows()[static_cast<size_t>(row)];
    Desk desk;
    open(desk);
    desk.focus(r.focus);
    const QString before = r.look(desk);
    desk.press(r.keys);
    const QString after = r.look(desk);
    QVERIFY2(r.then(before, after), qPrintable(before + " -> " + after));
  }

  // A command without a row above would be a key that nobody tried.
  void everyKeyHasARow() {
    // Dialogs, the engine and the end of the application: tried elsewhere.
    const QSet<QString> apart{"Ctrl+O", "Ctrl+Q", "F5",         "Ctrl+F5", "Shift+F5",
                              "F7",     "F1",     "Ctrl+Alt+,", "Space",   "O"};
    QSet<QString> tried;
    for (const Row& r : rows())
      for (const QString& key : QString::fromLatin1(r.keys).split(' ')) tried.insert(key);
    for (const kit::CommandInfo& info : kit::commands())
      for (const QString& key : QString::fromLatin1(info.keys).split(' ', Qt::SkipEmptyParts))
        QVERIFY2(tried.contains(key) || apart.contains(key), qPrintable(key));
  }

  void aLetterInAFieldIsText() {
    Desk desk;
    open(desk);
    desk.focus("graph");
    desk.press("Ctrl+F g i f Space");
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(field);
    QCOMPARE(field->text(), QStringLiteral("gif "));
    QCOMPARE(only(desk), QStringLiteral("all"));
  }

  void spacePressesTheButtonThatHasTheFocus() {
    Desk desk;
    open(desk);
    desk.focus("graph");
    QToolButton* pin = nullptr;
    for (auto* button : desk.window.findChildren<QToolButton*>())
      if (button->toolTip().contains("(I)") && button->isVisible()) pin = button;
    QVERIFY(pin);
    pin->setFocusPolicy(Qt::StrongFocus);
    pin->setFocus();
    desk.press("Space");
    QCOMPARE(pinned(desk), QStringLiteral("pinned"));
  }

  void pythonOfAGraphIsAFunction() {
    Desk desk;
    open(desk);
    desk.press("Esc");
    desk.focus("graph");
    (*desk.window.actions())["edit.copy-python"]->trigger();
    const QString text = QApplication::clipboard()->text();
    QVERIFY2(text.startsWith("import operator\n\nimport torch\n\n\ndef optimised("), qPrintable(text));
    QVERIFY2(text.contains("torch.ops.aten.gelu") && text.contains("\n    return "), qPrintable(text));
    QVERIFY2(!text.contains('%'), qPrintable(text));
  }

  void aPinnedInspectorKeepsWhatItShows() {
    Desk desk;
    open(desk);
    auto* inspector = desk.seen<views::InspectorView>();
    const QString gelu = inspector->copy(kit::CopyAs::Text);
    desk.focus("graph");
    desk.press("I Up");
    QCOMPARE(inspector->copy(kit::CopyAs::Text), gelu);
    desk.press("I");
    QVERIFY(inspector->copy(kit::CopyAs::Text) != gelu);
  }

  void rightClickOffersTheThingUnderThePointer() {
    Desk desk;
    open(desk);
    desk.press("Esc");
    auto* graph = desk.seen<views::GraphView>();
    const kit::Thing thing = inSight(*graph)[0];
    const QPointF middle = thing.box.center();
    QMouseEvent move(QEvent::MouseMove, middle, graph->mapToGlobal(middle), Qt::NoButton, Qt::NoButton, {});
    QCoreApplication::sendEvent(graph, &move);
    desk.window.settle();
    QTest::mouseClick(graph, Qt::RightButton, {}, thing.box.center());
    QContextMenuEvent event(QContextMenuEvent::Mouse, thing.box.center(),
                            graph->mapToGlobal(thing.box.center()));
    QCoreApplication::sendEvent(graph, &event);
    desk.window.settle();
    QCOMPARE(desk.now().active, thing.id);
    QVERIFY(desk.menu());
    QStringList words;
    for (QAction* action : desk.menu()->actions()) words << action->text();
    QVERIFY2(words.contains("Open in the other pane"), qPrintable(words.join(", ")));
    desk.menu()->close();
  }

  void mouseOnTheGraph() {
    Desk desk;
    open(desk);
    auto* graph = desk.seen<views::GraphView>();
    desk.press("Esc");
    const auto things = inSight(*graph);
    const QPoint one = things[0].box.center(), two = things[2].box.center();
    QTest::mouseClick(graph, Qt::LeftButton, {}, one);
    desk.window.settle();
    QCOMPARE(desk.now().active, things[0].id);
    QTest::mouseClick(graph, Qt::LeftButton, Qt::ControlModifier, two);
    desk.window.settle();
    QCOMPARE(selected(desk), QStringLiteral("2"));
    const QPointF origin = graph->camera().origin;
    wheel(graph, {}, -120);
    QVERIFY(graph->camera().origin.y() > origin.y());
    wheel(graph, Qt::ShiftModifier, -120);
    QVERIFY(graph->camera().origin.x() > origin.x());
    const double zoom = graph->camera().zoom;
    wheel(graph, Qt::ControlModifier, 120);
    QVERIFY(graph->camera().zoom > zoom);
    QTest::mouseClick(graph, Qt::LeftButton, {}, QPoint(3, 3));
    desk.window.settle();
    QCOMPARE(active(desk), QStringLiteral("0"));
  }

  void mouseOnTheTimeline() {
    Desk desk;
    open(desk);
    auto* timeline = desk.seen<views::TimelineView>();
    QTest::mousePress(timeline, Qt::LeftButton, Qt::ShiftModifier, QPoint(300, 60));
    QMouseEvent move(QEvent::MouseMove, QPointF(500, 60), timeline->mapToGlobal(QPointF(500, 60)),
                     Qt::NoButton, Qt::LeftButton, Qt::ShiftModifier);
    QCoreApplication::sendEvent(timeline, &move);
    QTest::mouseRelease(timeline, Qt::LeftButton, Qt::ShiftModifier, QPoint(500, 60));
    desk.window.settle();
    QVERIFY(range(desk).toLongLong() > 0);
    const double scale = timeline->window_of_time().scale;
    wheel(timeline, Qt::ControlModifier, 120);
    QVERIFY(timeline->window_of_time().scale > scale);
    const Id before = desk.now().active;
    QTest::mouseClick(timeline, Qt::RightButton, {}, QPoint(timeline->width() - 4, timeline->height() - 4));
    desk.window.settle();
    QCOMPARE(desk.now().active, before);  // the right button opens a menu and does nothing else
  }

  void wideCodeScrollsSideways() {
    Desk desk;
    open(desk);
    for (auto* pane : desk.window.findChildren<kit::CodePane*>()) {
      pane->zoom(2);
      if (!pane->isVisible() || pane->horizontalScrollBar()->maximum() == 0) continue;
      wheel(pane->viewport(), Qt::ShiftModifier, -120);
      QVERIFY(pane->horizontalScrollBar()->value() > 0);
      return;
    }
    QFAIL("no code pane is narrower than its code");
  }

  void aFileDroppedOnTheWindowIsOpened() {
    Desk desk;
    desk.window.show();
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path_)});
    QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    enter.setAccepted(false);
    QCoreApplication::sendEvent(&desk.window, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&desk.window, &drop);
    desk.window.settle();
    QTRY_VERIFY(desk.document().session());
    QMimeData picture;
    picture.setUrls({QUrl::fromLocalFile("/a/picture.png")});
    QDragEnterEvent other({50, 50}, Qt::CopyAction, &picture, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&desk.window, &other);
    // What it is says its head, which a job reads: until then it may be dropped.
    QVERIFY(other.isAccepted());
    auto mayBeDropped = [&] {
      QDragMoveEvent move({60, 60}, Qt::CopyAction, &picture, Qt::LeftButton, {});
      QCoreApplication::sendEvent(&desk.window, &move);
      return move.isAccepted();
    };
    QTRY_VERIFY(!mayBeDropped());
  }

 private:
  void open(Desk& desk) {
    QApplication::clipboard()->clear();
    desk.window.resize(1600, 1000);
    desk.window.show();
    QVERIFY(!desk.window.openSync(path_));
    desk.window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&desk.window));
    QVERIFY(desk.window.activateText("gelu"));
    desk.window.settle();
  }
  // Things that are not cut by the edge, so that their middle is theirs.
  static std::vector<kit::Thing> inSight(const views::GraphView& graph) {
    std::vector<kit::Thing> out;
    for (const kit::Thing& thing : graph.things())
      if (graph.rect().adjusted(0, 0, -110, -40).contains(thing.box)) out.push_back(thing);
    return out;
  }
  static void wheel(QWidget* at, Qt::KeyboardModifiers modifiers, int by) {
    const QPointF middle(at->width() / 2.0, at->height() / 2.0);
    QWheelEvent event(middle, at->mapToGlobal(middle), {}, {0, by}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(at, &event);
  }
  QTemporaryDir folder_;
  QString path_;
};

QTEST_MAIN(TestKeys)
#include "tst_keys.moc"
