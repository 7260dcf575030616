// The menu bar: the commands of their table, and what other tables have rows of: views, stages, film units,
// layouts, docks.
#include <QMenu>

#include "app/shell/main_window.h"
#include "app/shell/panes/layouts.h"
#include "core/session/stages.h"
#include "views/kit/text/qt_text.h"
#include "views/registry.h"

namespace vitrine::app {

void MainWindow::addMenus() {
  of_session_ = new QActionGroup(this);
  of_session_->setExclusionPolicy(QActionGroup::ExclusionPolicy::None);
  actions_->fill(row_->menus, {{"views", [this](QMenu* menu) { addViewMenus(menu); }},
                               {"units", [this](QMenu* menu) { addFilmMenu(menu); }},
                               {"layouts", [this](QMenu* menu) { addLayoutMenu(menu); }},
                               {"docks", [this](QMenu* menu) {
                                  QMenu* docks = menu->addMenu("Docks");
                                  docks->addActions(docks_->toggles());
                                }}});
}

// Every view stands below what it is about, and every stage below Stages; choosing one shows it.
void MainWindow::addViewMenus(QMenu* menu) {
  QMap<QString, QMenu*> groups;
  auto add = [&](const QString& group, const QString& title, std::string_view about, const QString& what) {
    QMenu*& below = groups[group];
    if (!below) {
      below = menu->addMenu(group);
      below->setToolTipsVisible(true);
    }
    auto* action = new QAction(title, of_session_);
    action->setObjectName(what);
    action->setToolTip(s(about));
    connect(action, &QAction::triggered, this, [this, what] { showNamed(what, false); });
    below->addAction(action);
  };
  for (const views::ViewRow& row : views::registry())
    if (*row.menu)
      add(QString::fromUtf8(row.menu), QString::fromUtf8(row.title), row.about,
          "view:" + QString::fromLatin1(row.id));
  for (const session::StageInfo& stage : session::kStages)
    add(QStringLiteral("Stages"), s(stage.title), stage.about, "stage:" + s(stage.name));
}

// "view:<id>", "stage:<name>" or "layout:<name>", as menus and palette have them.
void MainWindow::showNamed(const QString& what, bool other) {
  if (what.startsWith(QLatin1String("layout:")))
    chooseLayout(what.section(':', 1));
  else if (what.startsWith(QLatin1String("stage:")))
    showStage(what.section(':', 1).toStdString(), other);
  else
    openIn(0, what, other);
}

// What one step of the film is.
void MainWindow::addFilmMenu(QMenu* menu) {
  auto* units = new QActionGroup(menu);
  for (int i = 0; i < kFilmUnits; ++i) {
    auto* action = new QAction(unitTitle(static_cast<FilmUnit>(i)), of_session_);
    action->setCheckable(true);
    action->setData(i);
    units->addAction(action);
    connect(action, &QAction::triggered, this, [this, i] { document_->setUnit(static_cast<FilmUnit>(i)); });
    menu->addAction(action);
  }
  connect(menu, &QMenu::aboutToShow, this, [this, units] {
    for (QAction* each : units->actions())
      each->setChecked(each->data().toInt() == static_cast<int>(document_->unit()));
  });
}

// The layouts that ship and the user's own, which come and go: made anew whenever the menu opens.
void MainWindow::addLayoutMenu(QMenu* menu) {
  QMenu* below = menu->addMenu("Layouts");
  below->setObjectName("layouts");
  below->setToolTipsVisible(true);
  auto refresh = [this, below] {
    below->clear();
    const QStringList names = layoutNames();
    for (int i = 0; i < names.size(); ++i) {
      QAction* action = below->addAction(names[i]);
      if (i < 9) action->setShortcut(QKeySequence(QStringLiteral("Alt+%1").arg(i + 1)));
      action->setShortcutContext(Qt::WidgetShortcut);  // the window's own act on the key
      action->setCheckable(true);
      action->setChecked(names[i] == layout_);
      action->setEnabled(document_->session() != nullptr);
      if (const auto layout = layoutNamed(names[i])) action->setToolTip(layout->about);
      connect(action, &QAction::triggered, this, [this, name = names[i]] { chooseLayout(name); });
    }
  };
  refresh();
  connect(menu, &QMenu::aboutToShow, this, refresh);
}

}  // namespace vitrine::app
