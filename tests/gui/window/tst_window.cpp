// The whole window on the fixture: opening, strip, film, chain, layouts, palette, bad files, a free UI
// thread.
#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QMenuBar>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>

#include "app/shell/bars/run_status.h"
#include "app/shell/commands/keys_dialog.h"
#include "app/shell/commands/settings_dialog.h"
#include "app/shell/document/find_entity.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/layouts.h"
#include "app/shell/run/reproducers.h"
#include "app/shell/shot.h"
#include "core/session/notes.h"
#include "core/session/stages.h"
#include "core/session/writer.h"
#include "tests/gui/window/window_test.h"
#include "views/graph/graph_view.h"
#include "views/kit/keys.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"
#include "views/registry.h"

using namespace vitrine;
using app::MainWindow;

class TestWindow : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { begin(); }

  void welcomeStandsUntilSomethingIsOpen() {
    MainWindow window;
    show(window);
    QVERIFY(window.chain()->links().empty());
    QVERIFY(window.docks()->visible().isEmpty());
    QVERIFY(!(*window.actions())["file.close"]->isEnabled());
  }

  void stripCountsAndSteps() {
    MainWindow window;
    openIn(window);
    QCOMPARE(window.strip()->count("captured"), QStringLiteral("15"));
    QCOMPARE(window.strip()->count("joint"), kit::unknown());
    QCOMPARE(window.strip()->count("timeline"), QStringLiteral("1.11×"));
    QCOMPARE(window.strip()->count("bytecode"), QStringLiteral("103"));
    QCOMPARE(window.strip()->next("aten", 1), std::string("decomposed"));  // over what is not in this run
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("optimised"));
    trigger(window, "step.next-stage");
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("loops"));
    trigger(window, "window.swap");
    QCOMPARE(window.centre()->pane('B')->stage(), std::string("loops"));
  }

  void everyMenuStandsInTheMenuBar() {
    MainWindow window;
    openIn(window);
    const auto* menus = window.findChild<QMenuBar*>();
    QVERIFY(menus && menus->actions().size() >= 7);
    for (QAction* each : menus->actions())
      QVERIFY2(menus->actionGeometry(each).width() > 20, qPrintable(each->text()));
  }

  void narrowStripClosesGroups() {
    MainWindow window;
    openIn(window);
    QCOMPARE(window.strip()->words().size(), static_cast<qsizetype>(session::kStages.size()));
    window.document()->activate(ids_.break_branch);
    window.settle();
    // The run's breaks, and the same number beside the film.
    QVERIFY(window.strip()->words().contains("Captured breaks 2"));
    QVERIFY(app::runStatus(*window.document()->session(), window.document()->compilation())
                .text.startsWith("2 breaks"));
    QCOMPARE(window.strip()->words().filter("breaks").size(), 1);
    window.resize(1024, 640);
    window.settle();
    QCOMPARE(window.strip()->words(), (QStringList{"Capture", "ATen", "Decomposed", "Optimised", "Loops",
                                                   "Fused", "Memory", "Kernels", "Run"}));
  }

  // What a pane shows may change while it is open: its tab is called as its header is.
  void aTabOfPanesFollowsItsTitle() {
    MainWindow window;
    openIn(window);
    window.resize(1024, 640);
    QVERIFY(window.chooseLayout("Capture"));
    window.settle();
    auto tab = [&] {
      for (app::LayoutSwitch* each : window.findChildren<app::LayoutSwitch*>())
        if (each->accessibleName() == "Panes") return each->names().value(0);
      return QString();
    };
    QCOMPARE(tab(), QStringLiteral("1 transformer_block.py"));
    window.document()->activate(ids_.break_branch);
    window.settle();
    QCOMPARE(tab(), QStringLiteral("1 gated_block.py"));
  }

  // A tab for which a dock's header has no room stands behind "…".
  void everyTabOfADockIsReachedInANarrowWindow() {
    MainWindow window;
    openIn(window);
    window.resize(1024, 700);
    QVERIFY(window.chooseLayout("Timeline"));
    window.settle();
    app::Dock* dock = window.docks()->dock("kernels");
    auto* header = qobject_cast<app::DockHeader*>(dock->titleBarWidget());
    QVERIFY(header && !dock->isBehind());
    QStringList behind;
    QAction* log = nullptr;
    QMenu* menu = header->moreMenu();
    for (QAction* action : menu->actions()) {
      behind << action->text();
      if (action->text() == "Log") log = action;
    }
    QVERIFY2(log && behind.contains("Query") && !behind.contains("Kernels"), qPrintable(behind.join(", ")));
    log->trigger();
    window.settle();
    QVERIFY(!window.docks()->dock("log")->isBehind());
    auto* other = qobject_cast<app::DockHeader*>(window.docks()->dock("log")->titleBarWidget());
    for (QAction* action : other->moreMenu()->actions()) QVERIFY(action->text() != "Log");
    window.resize(2200, 900);
    window.settle();
    QVERIFY(other->moreMenu()->actions().isEmpty());
  }

  void everyStageOpensInAPane() {
    MainWindow window;
    openIn(window);
    for (const session::StageInfo& info : session::kStages) {
      window.centre()->showStage(std::string(info.name), false);
      window.settle();
      QCOMPARE(window.centre()->pane('A')->stage(), std::string(info.name));
      QVERIFY(!window.grab().isNull());
    }
  }

  void filmStepsThroughPassesAndInstructions() {
    MainWindow window;
    openIn(window);
    app::Document& d = *window.document();
    QCOMPARE(d.position(), static_cast<int>(d.frames().size()) - 1);
    trigger(window, "step.first");
    QCOMPARE(d.position(), 0);
    QCOMPARE(d.selection().film.graph, d.session()->graphs.of(ids_.compilation)[0].id);
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("captured"));  // follows the pass
    trigger(window, "step.next");
    QCOMPARE(d.position(), 1);
    d.setUnit(app::FilmUnit::Instruction);
    for (size_t i = 0; i < d.frames().size(); ++i)
      if (d.frames()[i].entity == ids_.gelu_step) d.stepTo(static_cast<int>(i));
    QCOMPARE(d.selection().active, ids_.captured_gelu);
    trigger(window, "step.previous-change");
    QVERIFY(d.selection().film.step != ids_.gelu_step);
    d.setUnit(app::FilmUnit::Decision);
    d.stepTo(1);
    QCOMPARE(d.selection().active, ids_.rejected_pair);
  }

  void aStepThatChangedNothingStandsBack() {
    MainWindow window;
    openIn(window);
    show(window);
    app::Document& d = *window.document();
    auto* film = window.findChild<app::FilmBar*>();
    const int from = window.findChild<app::FilmSlider*>()->geometry().right() + 8;
    int seen[2] = {0, 0};
    for (size_t i = 0; i < d.frames().size(); ++i) {
      d.stepTo(static_cast<int>(i));
      window.settle();
      const QImage image = film->grab(QRect(from, 0, film->width() - from, film->height())).toImage();
      int strong = 0;
      for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) strong += image.pixelColor(x, y) == kit::theme().text1;
      QCOMPARE(strong > 0, d.frames()[i].changed);
      ++seen[d.frames()[i].changed];
    }
    QVERIFY(seen[0] > 0 && seen[1] > 0);
  }

  void chainWalksBothWays() {
    MainWindow window;
    openIn(window);
    QVERIFY(window.activateText("gelu"));
    QCOMPARE(window.document()->selection().active, ids_.optimised_gelu);
    QVERIFY(window.chain()->links().size() >= 10);
    trigger(window, "go.chain-forward");
    QCOMPARE(window.document()->selection().active, ids_.loop_gelu);
    window.settle();
    for (int i = 0; i < 12; ++i) {
      trigger(window, "go.chain-back");
      window.settle();
    }
    QCOMPARE(window.document()->selection().active, ids_.gelu_span);
    trigger(window, "go.back");
    QVERIFY(window.document()->selection().active != ids_.gelu_span);
    trigger(window, "go.forward");
    QCOMPARE(window.document()->selection().active, ids_.gelu_span);
  }

  void aThingOfAnotherCompilationMovesTheFilmThere() {
    MainWindow window;
    openIn(window);
    window.document()->activate(ids_.break_branch);
    window.settle();
    QCOMPARE(window.document()->compilation(), ids_.gated_compilation);
    QCOMPARE(window.document()->selection().film.run, ids_.gated_run);
    QCOMPARE(window.strip()->count("aten"), kit::unknown());
  }

  void layoutsCanBeUndone() {
    MainWindow window;
    openIn(window);
    QVERIFY(window.chooseLayout("Fusion"));
    QCOMPARE(window.centre()->pane('B')->stage(), std::string("fused"));
    QVERIFY(!window.chooseLayout("No such layout"));
    trigger(window, "edit.undo");
    QCOMPARE(window.layoutName(), QStringLiteral("Explore"));
    trigger(window, "edit.redo");
    QCOMPARE(window.layoutName(), QStringLiteral("Fusion"));
    for (const app::LayoutInfo& layout : app::layouts()) QVERIFY(window.chooseLayout(layout.name));
  }

  void layoutsOfTheUsersOwnAreKept() {
    app::AppSettings::keepIn(folder_.filePath("own.ini"));
    {
      MainWindow window;
      openIn(window);
      QVERIFY(window.chooseLayout("Fusion"));
      window.centre()->pane('B')->show("source");
      window.keepLayout("Mine");
      QCOMPARE(window.layoutName(), QStringLiteral("Mine"));
      window.keepLayout("Explore");  // is taken
      QVERIFY(window.banner()->text().contains("ships"));
      QCOMPARE(window.layoutName(), QStringLiteral("Mine"));
    }
    MainWindow window;
    openIn(window);
    QVERIFY(app::layoutNames().contains("Mine"));
    QVERIFY(window.chooseLayout("Mine"));
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("loops"));
    QCOMPARE(window.centre()->pane('B')->stage(), std::string("source"));
    QVERIFY((*window.actions())["window.drop"]->isEnabled());
    trigger(window, "window.drop");
    QCOMPARE(window.layoutName(), QStringLiteral("Explore"));
    QVERIFY(!app::layoutNames().contains("Mine"));
    QVERIFY(!window.chooseLayout("Mine"));
    app::AppSettings::ignoreStored();
  }

  // A file of settings may be damaged, or another's.
  void layoutsOfADamagedFileAreShownOrRefused() {
    app::AppSettings::keepIn(folder_.filePath("damaged.ini"));
    MainWindow window;
    openIn(window);
    QVERIFY(window.chooseLayout("Fusion"));
    window.keepLayout("Kept");
    const QByteArray whole = app::AppSettings::ownLayout("Kept");
    QVERIFY(whole.size() > 50);
    QList<QByteArray> texts = {"",
                               "[]",
                               "{",
                               QByteArray(200'000, '['),
                               "{\"columns\":[]}",
                               "{\"columns\":[{\"panes\":[{\"what\":\"view:none\"}]}]}"};
    for (const char* number : {"-1", "5", "99", "2147483647", "1e300", "null", "[]"}) {
      for (const char* key : {"unit", "share"})
        texts << QByteArray(whole).replace(
            QByteArray("\"") + key + "\":" + (key == std::string("unit") ? "1" : "100"),
            QByteArray("\"") + key + "\":" + number);
      texts << "{\"unit\":" + QByteArray(number) + ",\"columns\":[{\"share\":" + number +
                   ",\"panes\":[{\"what\":\"source\",\"share\":" + number + "},{\"what\":\"\"}]}]}";
    }
    texts << "{\"columns\":[" + QByteArray("{\"panes\":[{\"what\":\"source\"}]},").repeated(500) + "{}]}";
    for (const QByteArray& text : texts) {
      app::AppSettings::setOwnLayout("Mine", text);
      QVERIFY(window.chooseLayout("Fusion"));
      const bool shown = window.chooseLayout("Mine");
      QCOMPARE(window.layoutName(), shown ? QStringLiteral("Mine") : QStringLiteral("Fusion"));
      QVERIFY(!window.grab().isNull());
    }
    app::AppSettings::ignoreStored();
  }

  void thePanesOfFusionAreScrolledTogether() {
    MainWindow window;
    openIn(window);
    QVERIFY(window.chooseLayout("Fusion"));
    window.resize(1100, 640);
    window.settle();
    auto camera = [&](char letter) {
      return static_cast<views::GraphView*>(window.centre()->pane(letter)->host()->view())->camera();
    };
    for (const char letter : {'A', 'B'}) {
      const double top = camera('A').origin.y();
      QWidget* view = window.centre()->pane(letter)->host()->view();
      const QPointF at(view->rect().center());
      for (const auto& [by, modifiers] :
           {std::pair(-240, Qt::NoModifier), std::pair(60, Qt::ControlModifier)}) {
        QWheelEvent wheel(at, view->mapToGlobal(at), {}, {0, by}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                          false);
        QApplication::sendEvent(view, &wheel);
        QCOMPARE(camera('A').origin.y(), camera('B').origin.y());
        QCOMPARE(camera('A').zoom, camera('B').zoom);
      }
      QVERIFY(camera('A').origin.y() != top);
    }
  }

  // Not the layout that was chosen before.
  void aDockThatWasMovedCanBeUndone() {
    MainWindow window;
    openIn(window);
    QVERIFY(window.chooseLayout("Fusion"));
    app::Dock* dock = window.docks()->dock("inspector");
    auto* header = dock->titleBarWidget();
    const QPoint ground(header->width() / 2, header->height() / 2);
    const auto moved = [&](auto act) {
      QTest::mousePress(header, Qt::LeftButton, {}, ground);
      act();
      QTest::mouseRelease(header, Qt::LeftButton, {}, ground);
      QTest::qWait(200);
    };
    moved([] {});  // a click moves nothing
    moved([&] { window.addDockWidget(Qt::LeftDockWidgetArea, dock); });
    QCOMPARE(window.dockWidgetArea(dock), Qt::LeftDockWidgetArea);
    moved([&] { dock->setFloating(true); });
    trigger(window, "edit.undo");
    QVERIFY(!dock->isFloating());
    QCOMPARE(window.dockWidgetArea(dock), Qt::LeftDockWidgetArea);
    trigger(window, "edit.undo");
    QCOMPARE(window.dockWidgetArea(dock), Qt::RightDockWidgetArea);
    QCOMPARE(window.layoutName(), QStringLiteral("Fusion"));
    trigger(window, "edit.redo");
    QCOMPARE(window.dockWidgetArea(dock), Qt::LeftDockWidgetArea);
  }

  // What is said once, as the links of a banner, changes its colour too.
  void aChangeOfThemeReachesLinksAndTheLogo() {
    MainWindow window;
    show(window);
    window.banner()->show(kit::Tone::Err, "A text.", "", {{"Dismiss", "edit.clear"}});
    kit::EmptyState empty(&window);
    empty.set("Nothing.", "Open", "file.open");
    const QString before = kit::theme().accent.name();
    const auto coloured = [&](const QString& colour) {
      const QList<QLabel*> labels = window.findChildren<QLabel*>();
      return std::count_if(labels.begin(), labels.end(),
                           [&](const QLabel* each) { return each->text().contains(colour); });
    };
    QCOMPARE(coloured(before), 2);
    kit::applyTheme(*qApp, kit::Theme::make(false));
    const QImage logo = window.grab(QRect(12, 8, 20, 20)).toImage();
    const auto links = coloured(before), now = coloured(kit::theme().accent.name());
    kit::applyTheme(*qApp, kit::Theme::make(true));
    QCOMPARE(links, 0);
    QCOMPARE(now, 2);
    int darkest = 255;
    for (int y = 0; y < logo.height(); ++y)
      for (int x = 0; x < logo.width(); ++x) darkest = std::min(darkest, qGray(logo.pixel(x, y)));
    QVERIFY2(darkest < 100, qPrintable(QString::number(darkest)));
  }

  // From the narrowest window on nothing of the first page ends in "…".
  void theWelcomePageHasRoomForItsWords() {
    const QList<app::SampleProgram> samples = app::samples();
    QVERIFY(!samples.isEmpty());
    for (int width : {944, 1000, 1120, 1296}) {
      const app::WelcomeColumns columns = app::welcomeColumns(samples, width);
      QCOMPARE(columns.first + columns.second + columns.third + 2 * columns.gap, width);
      for (const app::SampleProgram& each : samples) {
        QVERIFY(26 + kit::textWidth(kit::theme().mono(12), each.name) <= columns.about - 8);
        QVERIFY(columns.about + kit::textWidth(kit::theme().ui(12), each.about) <= columns.second);
      }
      for (const QStringList& key : app::welcomeKeys())
        QVERIFY(66 + kit::textWidth(kit::theme().ui(12), key[1]) <= columns.third);
      QVERIFY(columns.first >= kit::textWidth(kit::theme().ui(12), "Opening a session never runs code"));
    }
    MainWindow window;
    show(window);
    window.resize(1024, 640);
    window.settle();
    QCOMPARE(window.strip()->words(),
             (QStringList{"Source", "Bytecode", "Captured", "ATen", "Compile", "Kernels", "Run"}));
  }

  void notesCanBeUndone() {
    const QString path = folder_.filePath("undone.vitrine");
    const fixture::Ids ids = fixture::writeSession(path.toStdString());
    MainWindow window;
    show(window);
    QVERIFY(!window.openSync(path));
    auto note = [&](Id id) {
      const auto all = session::notes_of(window.document()->session()->meta);
      const auto it = all.find(id);
      return it == all.end() ? QStringLiteral("none") : QString::fromStdString(it->second);
    };
    Q_EMIT window.noteField()->written(ids.k2, "first");
    QTRY_COMPARE(note(ids.k2), QStringLiteral("first"));
    Q_EMIT window.noteField()->written(ids.k2, "second");
    QTRY_COMPARE(note(ids.k2), QStringLiteral("second"));
    trigger(window, "edit.undo");
    QTRY_COMPARE(note(ids.k2), QStringLiteral("first"));
    trigger(window, "edit.undo");
    QTRY_COMPARE(note(ids.k2), QStringLiteral("none"));
    trigger(window, "edit.redo");
    QTRY_COMPARE(note(ids.k2), QStringLiteral("first"));
  }

  void paletteFindsNamesAndCommands() {
    MainWindow window;
    openIn(window);
    const auto* session = window.document()->session().get();
    auto rows = app::paletteRows(session, window.actions(), "gelu", "optimised", 12);
    QVERIFY(!rows.empty());
    QCOMPARE(rows[0].id, ids_.optimised_gelu);
    rows = app::paletteRows(session, window.actions(), ">swap", "", 12);
    QCOMPARE(rows[0].command, QStringLiteral("window.swap"));
    rows = app::paletteRows(session, window.actions(), "#item", "", 12);
    QCOMPARE(rows[0].id, ids_.break_item);
    rows = app::paletteRows(session, window.actions(), ":32:12", "", 12);
    QCOMPARE(rows[0].id, ids_.gelu_span);
    // Letters from anywhere find nothing; those that begin words do.
    QVERIFY(app::matchScore("gelu", "Forget this layout") == 0);
    QVERIFY(app::matchScore("ftl", "Forget this layout") > 0);
    QVERIFY(app::matchScore("sdp", "scaled_dot_product") > 0);
    for (const auto& row : app::paletteRows(session, window.actions(), ">", "", 100))
      QVERIFY(row.enabled || row.context == "not available now");
  }

  void paletteHasViewsFirstGuardsLastAndSaysWhatItDidNotFind() {
    MainWindow window;
    openIn(window);
    const auto* session = window.document()->session().get();
    auto rows = app::paletteRows(session, window.actions(), "memory", "", 12);
    QVERIFY(!rows.empty());
    QCOMPARE(rows[0].named, QStringLiteral("view:memory"));
    rows = app::paletteRows(session, window.actions(), "settings", "", 12);
    QVERIFY(!rows.empty() && rows[0].command.contains("settings"));
    rows = app::paletteRows(session, window.actions(), "x", "", 100);
    bool guards = false;
    for (const auto& row : rows) {
      const bool guard = kind_of(row.id) == Kind::Guard;
      QVERIFY2(guard || !guards, qPrintable(row.name));  // behind all that matches as well
      guards = guard;
    }
    rows = app::paletteRows(session, window.actions(), "no such thing", "", 12);
    QCOMPARE(rows.size(), 1U);
    QVERIFY(!rows[0].enabled && rows[0].name.contains("no such thing"));
    QVERIFY(!rows[0].context.isEmpty());
  }

  // All keys are on a low screen as well, below each other or by scrolling, and Close with them.
  void theKeysFitTheScreen() {
    MainWindow window;
    show(window);
    window.resize(1024, 640);
    app::KeysDialog dialog(*window.actions(), &window);
    QVERIFY(dialog.height() <= 640 && dialog.width() <= 1024);
    QStringList words;
    for (const QLabel* label : dialog.findChildren<QLabel*>()) words << label->text();
    for (const kit::CommandInfo& info : kit::commands())
      QVERIFY2(!*info.keys || words.contains(QString::fromUtf8(info.title)), info.title);
  }

  void notesAreKeptInTheSession() {
    const QString path = folder_.filePath("notes.vitrine");
    const fixture::Ids ids = fixture::writeSession(path.toStdString());
    {
      MainWindow window;
      show(window);
      QVERIFY(!window.openSync(path));
      window.document()->activate(ids.optimised_gelu);
      trigger(window, "edit.note");
      QVERIFY(window.noteField()->isVisible());
      window.noteField()->text()->setPlainText("why not exact?");
      Q_EMIT window.noteField()->written(ids.optimised_gelu, window.noteField()->text()->toPlainText());
      QTRY_COMPARE(session::notes_of(window.document()->session()->meta).size(), size_t(1));
      window.document()->activate(ids.k2);
      trigger(window, "edit.bookmark");
      QTRY_COMPARE(session::notes_of(window.document()->session()->meta).size(), size_t(2));
      QCOMPARE(window.document()->selection().active, ids.k2);  // still
    }
    MainWindow window;
    show(window);
    QVERIFY(!window.openSync(path));
    const auto notes = session::notes_of(window.document()->session()->meta);
    QCOMPARE(notes.at(ids.optimised_gelu), std::string("why not exact?"));
    QCOMPARE(notes.at(ids.k2), std::string());
    QSet<Id> seen;
    for (int i = 0; i < 2; ++i) {
      trigger(window, "go.bookmark");
      seen << window.document()->selection().active;
    }
    QCOMPARE(seen, (QSet<Id>{ids.optimised_gelu, ids.k2}));
    window.document()->activate(ids.k2);
    trigger(window, "edit.bookmark");  // takes it away
    QTRY_COMPARE(session::notes_of(window.document()->session()->meta).size(), size_t(1));
    window.document()->activate(ids.optimised_gelu);
    trigger(window, "edit.bookmark");  // words are not lost by a key
    window.settle();
    QCOMPARE(session::notes_of(window.document()->session()->meta).size(), size_t(1));
  }

  void aNoteOnARunningSessionIsRefused() {
    const std::string path = folder_.filePath("running.vitrine").toStdString();
    auto writer = session::Writer::create(path);
    QVERIFY(writer.ok());
    writer.value()->commit();
    const Status bad = session::write_note(path, ids_.k2, "x");
    QVERIFY(bad && bad->what.find("still records") != std::string::npos);
  }

  void keysCanBeGivenAnew() {
    app::AppSettings::keepIn(folder_.filePath("settings.ini"));
    {
      MainWindow window;
      show(window);
      app::SettingsDialog dialog(window.actions(), &window);
      QVERIFY(!dialog.remap("window.swap", QKeySequence("Ctrl+F")));
      QVERIFY2(dialog.said().contains("Find in view"), qPrintable(dialog.said()));
      QVERIFY(dialog.remap("window.swap", QKeySequence("Ctrl+Alt+S")));
      QCOMPARE((*window.actions())["window.swap"]->shortcut(), QKeySequence("Ctrl+Alt+S"));
      QVERIFY(dialog.remap("window.full", QKeySequence()));
    }
    {
      MainWindow window;  // as the next start
      QCOMPARE((*window.actions())["window.swap"]->shortcut(), QKeySequence("Ctrl+Alt+S"));
      QVERIFY((*window.actions())["window.full"]->shortcut().isEmpty());
      QCOMPARE((*window.actions())["step.next"]->shortcut(), QKeySequence("."));
      window.actions()->resetKeys("window.swap");
      QCOMPARE((*window.actions())["window.swap"]->shortcut(), QKeySequence("Ctrl+Shift+\\"));
      app::AppSettings::setSingleKeys(false);
      window.actions()->readKeys();
      QVERIFY((*window.actions())["step.next"]->shortcut().isEmpty());
      QVERIFY(!(*window.actions())["edit.find"]->shortcut().isEmpty());
    }
    app::AppSettings::ignoreStored();
  }

  void reproducersAreFoundInMessages() {
    QFile file(folder_.filePath("repro.py"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.close();
    kit::SessionData data;
    session::MessageRow ours{make_id(Kind::Message, 1)}, gone{make_id(Kind::Message, 2)};
    ours.detail = "reproducer: " + file.fileName().toStdString();
    ours.entity = ids_.compilation;
    gone.detail = "reproducer: /nowhere/repro.py";
    data.messages = kit::Table<session::MessageRow>({ours, gone});
    QVERIFY(app::reproducers(&data).isEmpty());  // a stranger's session may name any file
    data.trusted = true;
    QCOMPARE(app::reproducers(&data), QStringList{file.fileName()});
    QCOMPARE(app::reproducerOf(&data, ids_.compilation), file.fileName());
    QVERIFY(app::reproducers(nullptr).isEmpty());
    MainWindow window;
    openIn(window);
    QVERIFY(!(*window.actions())["run.reproducer"]->isEnabled());  // nothing failed in this session
  }

  void aNarrowChainKeepsItsNames() {
    MainWindow window;
    openIn(window);
    window.resize(1024, 640);
    QVERIFY(window.activateText("gelu"));
    const auto& boxes = window.chain()->boxes();
    const auto& links = window.chain()->links();
    QVERIFY(boxes.size() >= 10);
    QVERIFY(boxes.back().right() <= window.chain()->width());
    for (size_t i = 0; i < boxes.size(); ++i)  // a short name is whole
      if (links[i].text.size() <= 6)
        QVERIFY2(boxes[i].width() >= kit::textWidth(kit::theme().mono(11), links[i].text) + 14,
                 qPrintable(links[i].text));
  }

  void everyKeyIsFree() {
    QMap<QString, QString> used;
    for (const kit::CommandInfo& info : kit::commands())
      for (const QString& key : QString::fromLatin1(info.keys).split(' ', Qt::SkipEmptyParts)) {
        const QString name = QKeySequence(key).toString();
        QVERIFY2(!name.isEmpty(), info.id);
        QVERIFY2(!used.contains(name), info.id);
        used[name] = info.id;
      }
  }

  void badFilesAreABannerNotACrash() {
    const QByteArray good = read(path_);
    struct Bad {
      const char* name;
      QByteArray content;
    };
    QByteArray torn = good;
    for (qsizetype i = 8192 * 3; i < 8192 * 6 && i < torn.size(); ++i) torn[i] = static_cast<char>(i * 37);
    for (const Bad& bad : {Bad{"truncated", good.left(good.size() / 2)},
                           Bad{"foreign", "not a database at all"}, Bad{"empty", ""}, Bad{"torn", torn}}) {
      const QString path = folder_.filePath(QString::fromLatin1(bad.name) + ".vitrine");
      QFile file(path);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(bad.content);
      file.close();
      MainWindow window;
      show(window);
      window.openFile(path);
      QTRY_VERIFY2(!window.banner()->text().isEmpty(), bad.name);
      QVERIFY(window.isVisible());
      window.openFile(path_);  // still usable
      QTRY_VERIFY(window.document()->session());
      QVERIFY(window.banner()->text().isEmpty());
    }
    MainWindow window;
    show(window);
    window.openFile(folder_.filePath("nowhere.vitrine"));
    QVERIFY(window.banner()->text().contains("There is no file"));
  }

  void aRunInProgressIsFollowed() {
    MainWindow window;
    show(window);
    const QString path = folder_.filePath("live.vitrine");
    window.document()->follow(path);
    QTest::qWait(100);
    QVERIFY(!window.document()->session());
    fixture::writeSession(path.toStdString());
    QTRY_VERIFY(window.document()->session());
    const auto* before = window.document()->session().get();
    fixture::writeSession(path.toStdString(), 2);
    QTRY_VERIFY(window.document()->session().get() != before);
    window.document()->stopFollowing();
  }

  void theUiThreadStaysFree() {
    const QString path = folder_.filePath("large.vitrine");
    fixture::writeSession(path.toStdString(), 40);  // some 8,000 nodes
    MainWindow window;
    show(window);
    window.settle();
    QElapsedTimer last, whole;
    qint64 longest = 0;
    QTimer beat;
    beat.setInterval(5);
    connect(&beat, &QTimer::timeout, this, [&] { longest = std::max(longest, last.restart()); });
    last.start();
    beat.start();
    whole.start();
    window.openFile(path);
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session(), 10'000);
    QTest::qWait(300);
    qInfo("opened in %lld ms, longest wait of the UI thread %lld ms",
          static_cast<long long>(whole.elapsed() - 300), static_cast<long long>(longest));
    // Loading itself takes several times this; generous, for machines under load.
    QVERIFY2(longest < 600, qPrintable(QString::number(longest)));
  }

  void shotsRefuseWhatTheyDoNotKnow() {
    QVERIFY(!app::parseShot({"a.vitrine", "graph"}).ok());
    QVERIFY(!app::parseShot({"a.vitrine", "graph", "o.png", "--theme", "pink"}).ok());
    QVERIFY(!app::parseShot({"a.vitrine", "graph", "o.png", "--size"}).ok());
    auto options =
        app::parseShot({path_, "graph", "o.png", "--theme", "dark", "--size", "640x480", "--scale", "2"});
    QVERIFY(options.ok());
    QCOMPARE(options.value().size, QSize(640, 480));
    options.value().view = "nonsense";
    const Status bad = app::takeShot(options.value());
    QVERIFY(bad && bad->what.find("nonsense") != std::string::npos);
  }

  void layoutsAreShotByTheirNames() {
    for (const char* name : {"window", "fusion", "capture"}) {
      app::ShotOptions o;
      o.session = path_;
      o.view = name;
      o.out = folder_.filePath("layout.png");
      const Status bad = app::takeShot(o);
      QVERIFY2(!bad, bad ? bad->what.c_str() : "");
      QCOMPARE(QImage(o.out).size(), QSize(1440, 900));
    }
  }

  void everyViewIsShotTheSameTwice() {
    for (const kit::ViewInfo& info : views::registry()) {
      QByteArray pictures[2];
      for (QByteArray& picture : pictures) {
        app::ShotOptions o;
        o.session = path_;
        o.view = QString::fromLatin1(info.id);
        o.out = folder_.filePath("shot.png");
        o.size = QSize(700, 420);
        o.select = "gelu";
        const Status bad = app::takeShot(o);
        QVERIFY2(!bad, bad ? bad->what.c_str() : "");
        picture = read(o.out);
      }
      QVERIFY2(pictures[0] == pictures[1], info.id);
    }
  }

 private:
  static void show(MainWindow& window) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
  }
  void openIn(MainWindow& window) {
    show(window);
    QVERIFY(!window.openSync(path_));
  }
  static void trigger(MainWindow& window, const char* id) {
    (*window.actions())[id]->trigger();
    window.settle();
  }
  static QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
};

QTEST_MAIN(TestWindow)
#include "tst_window.moc"
