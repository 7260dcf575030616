// What a first-time user finds by menu and palette: each view, stage, layout and unit of the film.
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/commands/palette.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/view_host.h"
#include "core/session/stages.h"
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/window/window_test.h"
#include "views/registry.h"

using namespace vitrine;
using app::MainWindow;

namespace {

// All entries below a menu of the bar, as "Time/Roofline".
void entriesOf(const QMenu* menu, const QString& above, QHash<QString, QAction*>& out) {
  for (QAction* action : menu->actions())
    if (action->menu())
      entriesOf(action->menu(), above + action->text() + '/', out);
    else if (!action->isSeparator())
      out.insert(above + action->text(), action);
}
QHash<QString, QAction*> entriesOf(MainWindow& window, const QString& menu) {
  QHash<QString, QAction*> out;
  for (QAction* action : window.findChild<QMenuBar*>()->actions())
    if (action->text() == menu) {
      Q_EMIT action->menu()->aboutToShow();  // as opening it does
      entriesOf(action->menu(), {}, out);
    }
  return out;
}

}  // namespace

class TestMenus : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    fixture::applyStillTheme(true);
    window_ = std::make_unique<MainWindow>(nullptr, app::JobRunner::Mode::Inline);
    window_->setAttribute(Qt::WA_DontShowOnScreen);
    window_->resize(1440, 900);
    window_->show();
  }

  void withoutASessionTheyAreThereAndOff() {
    const auto entries = entriesOf(*window_, "View");
    for (const views::ViewRow& row : views::registry())
      if (*row.menu) {
        QAction* entry = entries.value(QStringLiteral("%1/%2").arg(row.menu, row.title));
        QVERIFY2(entry && !entry->isEnabled() && !entry->toolTip().isEmpty(), row.id);
      }
    QVERIFY(!window_->openSync(path_));
  }

  void everyViewHasAnEntryThatShowsIt() {
    for (const char* layout : {"Explore", "Fusion", "Breaks", "Capture", "Timeline", "Training"}) {
      QVERIFY(window_->chooseLayout(layout));
      const auto entries = entriesOf(*window_, "View");
      for (const views::ViewRow& row : views::registry()) {
        if (!*row.menu) continue;
        entries.value(QStringLiteral("%1/%2").arg(row.menu, row.title))->trigger();
        window_->settle();
        QVERIFY2(inSight(row.id), qPrintable(QStringLiteral("%1 in %2").arg(row.id, layout)));
      }
    }
  }

  void onlyTheSkeletonHasNoEntry() {
    for (const views::ViewRow& row : views::registry())
      QVERIFY2(*row.menu ? *row.about && *row.words : std::string_view(row.id) == "skeleton", row.id);
  }

  // One that the layout does not have stands among the tabs, not beside them.
  void aViewOfAnotherLayoutIsATab() {
    QVERIFY(window_->chooseLayout("Capture"));
    (*window_->actions())["window.reset"]->trigger();
    entriesOf(*window_, "View").value("Memory/Memory")->trigger();
    window_->settle();
    QVERIFY(inSight("memory"));
    QVERIFY(!window_->tabifiedDockWidgets(window_->docks()->dock("memory")).isEmpty());
  }

  void everyStageHasAnEntryThatShowsIt() {
    QVERIFY(window_->chooseLayout("Explore"));
    const auto entries = entriesOf(*window_, "View");
    for (const session::StageInfo& stage : session::kStages) {
      const QString title = QString::fromUtf8(stage.title.data(), static_cast<int>(stage.title.size()));
      QAction* entry = entries.value("Stages/" + title);
      QVERIFY2(entry, qPrintable(title));
      entry->trigger();
      QCOMPARE(window_->centre()->pane('A')->what(), std::string(stage.name));
    }
  }

  void layoutsAndFilmUnitsAreInTheirMenus() {
    auto entries = entriesOf(*window_, "Window");
    QVERIFY(entries.contains("Layouts/Training"));
    entries.value("Layouts/Training")->trigger();
    QCOMPARE(window_->layoutName(), QStringLiteral("Training"));
    QVERIFY(entries.contains("Docks/Memory over time"));
    entries = entriesOf(*window_, "Film");
    entries.value(app::unitTitle(app::FilmUnit::Rewrite))->trigger();
    QCOMPARE(window_->document()->unit(), app::FilmUnit::Rewrite);
    QVERIFY(entries.contains("Play or pause"));
  }

  // What is typed for a thing, and the row that has to be the first.
  void thePaletteFindsThemByWhatTheyAreFor_data() {
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("named");
    const std::pair<const char*, const char*> rows[] = {
        {"missed", "view:missed"},       {"why not", "view:missed"},     {"waterfall", "view:speedup"},
        {"speedup", "view:speedup"},     {"sql", "view:query"},          {"nan", "view:numerics"},
        {"accuracy", "view:numerics"},   {"peak", "view:usage"},         {"memory", "view:memory"},
        {"roof", "view:roofline"},       {"compile time", "view:flame"}, {"kernels", "view:kernels"},
        {"flame graph", "view:flame"},   {"what-if", "view:saved"},      {"dynamic shapes", "view:symbols"},
        {"training", "layout:Training"}, {"joint", "stage:joint"},       {"ptx", "view:kernel"},
        {"bookmarks", "view:notes"}};
    for (const auto& [typed, named] : rows) QTest::newRow(typed) << typed << named;
  }
  void thePaletteFindsThemByWhatTheyAreFor() {
    QFETCH(QString, typed);
    QFETCH(QString, named);
    const auto* session = window_->document()->session().get();
    for (const QString& text : {typed, typed.toUpper()}) {
      const auto rows = app::paletteRows(session, window_->actions(), text, "", 12);
      QVERIFY(!rows.empty());
      QCOMPARE(rows[0].named, named);
      QVERIFY(!rows[0].context.isEmpty());
    }
  }

  void theFilmIsFoundByItsName() {
    const auto rows = app::paletteRows(nullptr, window_->actions(), "film", "", 12);
    QVERIFY(!rows.empty());
    QCOMPARE(rows[0].context, QStringLiteral("Film"));
  }

  void whyTwoAreNotOneKernelIsAskedByMenu() {
    QAction* why = entriesOf(*window_, "View").value("Why not one kernel?");
    QVERIFY(why && why->isEnabled());
    window_->document()->model().setSelected({});
    why->trigger();
    QVERIFY2(window_->banner()->text().contains("have to be selected"),
             qPrintable(window_->banner()->text()));
    const auto decisions = window_->document()->session()->decisions.of(window_->document()->compilation());
    QVERIFY(!decisions.empty());
    window_->document()->activate(decisions.front().a);
    window_->document()->model().toggle(decisions.front().b);
    why->trigger();
    window_->settle();
    auto* inspector = window_->docks()->dock("inspector");
    QVERIFY(inspector->host()->view()->copy(kit::CopyAs::Text).contains("One kernel with"));
    window_->document()->model().setActive(0);
  }

  void whatThePaletteNamesIsShown() {
    QVERIFY(window_->chooseLayout("Explore"));
    auto* palette = window_->findChild<app::Palette*>();
    palette->open("missed fusions");
    window_->settle();
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    window_->settle();
    QVERIFY(inSight("missed"));
  }

  // At the least width there is room for all menus.
  void allMenusFitAtTheLeastWidth() {
    window_->resize(1024, 640);
    window_->settle();
    const auto* bar = window_->findChild<QMenuBar*>();
    for (QAction* each : bar->actions())
      QVERIFY2(bar->rect().contains(bar->actionGeometry(each)) && bar->actionGeometry(each).width() > 20,
               qPrintable(each->text()));
  }

 private:
  bool inSight(std::string_view id) {
    QCoreApplication::processEvents();  // docks are laid out
    for (app::Dock* dock : window_->docks()->visible())
      if (dock->host()->info().id == id) return true;
    for (app::Pane* pane : window_->centre()->panes())
      if (pane->host() && pane->host()->info().id == id && pane->isVisible()) return true;
    return false;
  }

  std::unique_ptr<MainWindow> window_;
};

QTEST_MAIN(TestMenus)
#include "tst_menus.moc"
