// What each command of the table does in the window.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>

#include "app/shell/commands/keys_dialog.h"
#include "app/shell/compare/compare_window.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "core/base/runnable.h"
#include "views/inspector/inspect_pair.h"
#include "views/kit/keys.h"

namespace vitrine::app {

using kit::CopyAs;
using kit::Zoom;

void MainWindow::addCommands() {
  Actions& on = *actions_;
  on.on("file.open", [this] { chooseFile(); });
  on.on("file.compare", [this] {
    const QString other = QFileDialog::getOpenFileName(this, "Compare with", {}, "Sessions (*.vitrine)");
    if (!other.isEmpty()) compareWith(other);
  });
  on.on("file.close", [this] {
    document_->close();
    banner_->clear();
    sessionChanged();
  });
  on.on("file.quit", [] { QApplication::closeAllWindows(); });
  on.on("run.start", [this] {
    banner_->clear();
    run_->again();
  });
  on.on("run.numerics", [this] {
    banner_->clear();
    run_->again({QStringLiteral("--numerics")});
  });
  on.on("run.cancel", [this] {
    if (rebuild_->running()) return rebuild_->cancel();
    if (check_->running()) return check_->cancel();
    if (bisection_->running()) return bisection_->cancel();
    run_->cancel();
    row_->run->setState(RunButton::Cancelling);
  });
  on.on("run.python", [this] {
    const QString path = QFileDialog::getOpenFileName(this, "Python interpreter", AppSettings::python());
    if (!path.isEmpty()) AppSettings::setPython(path);
    welcome_->refresh();
  });
  on.on("help.keys", [this] { showKeys(); });
  on.on("help.about", [this] {
    QMessageBox::about(this, "Vitrine",
                       QStringLiteral("Vitrine %1\nA compiler for PyTorch models, and a window into it.")
                           .arg(QApplication::applicationVersion()));
  });
  on.on("go.palette", [this] {
    Pane* pane = centre_->pane('A');
    palette_->open({}, pane ? pane->stage() : std::string());
  });
  for (auto [id, choice] :
       std::initializer_list<std::pair<const char*, ThemeChoice>>{{"theme.system", ThemeChoice::System},
                                                                  {"theme.light", ThemeChoice::Light},
                                                                  {"theme.dark", ThemeChoice::Dark}})
    on.on(id, [choice = choice] {
      AppSettings::setTheme(choice);
      applyThemeSetting();
    });
  addStepCommands();
  addViewCommands();
  addWindowCommands();
  addFocusCommands();
  addNoteCommands();
  addKernelCommands();
  addRunCommands();
  addExchangeCommands();
}

// The open session is what was before; the window is the user's to close.
CompareWindow* MainWindow::compareWith(const QString& other) {
  if (!document_->session()) return nullptr;
  auto* window = new CompareWindow;
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->QWidget::show();
  window->open(QString::fromStdString(document_->session()->path), other);
  return window;
}

void MainWindow::addKernelCommands() {
  Actions& on = *actions_;
  // In the pane that shows a kernel's text, else in pane B.
  on.on("kernel.edit", [this] {
    for (Pane* pane : centre_->panes())
      if (pane->host() && pane->stage() == "kernels" && pane->host()->view()->act("kernel.edit")) return;
    showStage("kernels", true);
    if (Pane* pane = centre_->pane('B'); pane && pane->host()) pane->host()->view()->act("kernel.edit");
  });
  on.on("kernel.rebuild", [this] { rebuild_->start(); });
  on.on("kernel.keep", [this] { openFile(rebuild_->recording()); });
  on.on("kernel.discard", [this] { document_->edits().discard(document_->edits().last()); });
}

void MainWindow::addStepCommands() {
  Actions& on = *actions_;
  on.on("step.next", [this] { document_->step(1); });
  on.on("step.previous", [this] { document_->step(-1); });
  on.on("step.next-change", [this] { document_->stepChanged(1); });
  on.on("step.previous-change", [this] { document_->stepChanged(-1); });
  on.on("step.first", [this] { document_->stepTo(0); });
  on.on("step.last", [this] { document_->stepTo(static_cast<int>(document_->frames().size()) - 1); });
  on.on("step.play", [this] { film_->togglePlay(); });
  auto stage = [this](int by) {
    if (Pane* pane = centre_->pane('A'); pane && document_->session())
      showStage(strip_->next(pane->stage(), by), false);
  };
  on.on("step.next-stage", [stage] { stage(1); });
  on.on("step.previous-stage", [stage] { stage(-1); });
  on.on("go.open", [this] { openAtCursor(false); });
  on.on("go.open-other", [this] { openAtCursor(true); });
  on.on("go.back", [this] { document_->goBack(); });
  on.on("go.forward", [this] { document_->goForward(); });
  on.on("go.chain-back", [this] { document_->alongChain(-1); });
  on.on("go.chain-forward", [this] { document_->alongChain(1); });
  on.on("go.next-relative", [this] { nextRelative(1); });
  on.on("go.previous-relative", [this] { nextRelative(-1); });
}

void MainWindow::addViewCommands() {
  Actions& on = *actions_;
  auto copy = [this](CopyAs as) {
    const QString text = host() ? host()->view()->copy(as) : QString();
    if (!text.isEmpty()) QApplication::clipboard()->setText(text);
  };
  on.on("edit.copy", [copy] { copy(CopyAs::Text); });
  // Text where the view has one, and the view as it is seen.
  auto copyMore = [this](const QString& text) {
    if (!host()) return;
    auto* data = new QMimeData;
    if (!text.isEmpty()) data->setText(text);
    data->setImageData(host()->view()->grab().toImage());
    QApplication::clipboard()->setMimeData(data);
  };
  on.on("edit.copy-as",
        [this, copyMore] { copyMore(host() ? host()->view()->copy(CopyAs::Csv) : QString()); });
  on.on("edit.copy-picture", [copyMore] { copyMore({}); });
  on.on("edit.copy-python", [this] {
    const QString text = host() ? host()->view()->copyPython() : QString();
    if (!text.isEmpty()) QApplication::clipboard()->setText(text);
  });
  on.on("edit.all", [this] {
    if (host()) document_->model().setSelected(host()->view()->shown());
  });
  on.on("edit.find", [this] {
    if (host()) host()->openFind();
  });
  on.on("edit.next", [this] {
    if (host()) host()->findNext(true);
  });
  on.on("edit.previous", [this] {
    if (host()) host()->findNext(false);
  });
  on.on("edit.clear", [this] { clearOne(); });
  for (auto [id, how] :
       std::initializer_list<std::pair<const char*, Zoom>>{{"view.zoom-in", Zoom::In},
                                                           {"view.zoom-out", Zoom::Out},
                                                           {"view.zoom-reset", Zoom::Reset},
                                                           {"view.fit", Zoom::Fit},
                                                           {"view.fit-selection", Zoom::FitSelection}})
    on.on(id, [this, how = how] {
      if (host()) host()->view()->zoom(how);
    });
  on.on("view.only", [this] { document_->model().setOnlyRelatives(true); });
  on.on("view.all", [this] { document_->model().setOnlyRelatives(false); });
  on.on("view.letters", [this] { document_->model().setLinkColours(!document_->selection().linkColours); });
  on.on("view.menu", [this] { showContextMenu(); });
  addOwnCommands();
}

// Commands that only some views have.
void MainWindow::addOwnCommands() {
  for (const char* id : {"graph.open", "graph.open-all", "graph.groups", "graph.colour", "time.in",
                         "time.out", "time.left", "time.right", "time.range"})
    actions_->on(id, [this, id] {
      if (host()) host()->view()->act(id);
    });
  actions_->on("view.pin", [this] {
    if (Dock* dock = docks_->dock("inspector")) dock->host()->view()->act("view.pin");
  });
  actions_->on("fusion.why", [this] {
    if (views::isPair(document_->selection())) return docks_->raise("inspector");
    banner_->show(kit::Tone::Info, "Two nodes or kernels have to be selected.",
                  "Click one and Ctrl+click the other: the Inspector says why they are not one kernel, or "
                  "that they are.",
                  {{"Dismiss", "edit.clear"}});
  });
  // The timeline that is in sight, else the one of the dock.
  actions_->on("go.counterpart", [this] {
    ViewHost* timeline = host();
    if (!timeline || !timeline->view()->act("go.counterpart")) {
      timeline = nullptr;
      for (auto* each : findChildren<ViewHost*>())
        if (each->isVisible() && std::string_view(each->info().id) == "timeline") timeline = each;
      if (!timeline) {
        docks_->raise("timeline");
        timeline = docks_->dock("timeline")->host();
      }
      timeline->view()->act("go.counterpart");
    }
  });
}

void MainWindow::addWindowCommands() {
  Actions& on = *actions_;
  on.on("window.split", [this] { centre_->split(); });
  on.on("window.swap", [this] { centre_->swap(); });
  on.on("window.reset", [this] {
    AppSettings::setState(layout_, {});
    const QString name = layout_;
    rememberLayout();
    layout_.clear();
    chooseLayout(name);
  });
  on.on("window.bottom", [this] {
    rememberLayout();
    docks_->toggleArea(Qt::BottomDockWidgetArea);
  });
  on.on("window.left", [this] {
    rememberLayout();
    docks_->toggleArea(Qt::LeftDockWidgetArea);
  });
  on.on("window.full", [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
  on.on("window.keep", [this] {
    const QString name = QInputDialog::getText(this, "Keep this layout", "Name").trimmed();
    if (!name.isEmpty()) keepLayout(name);
  });
  on.on("window.drop", [this] { dropLayout(); });
  on.on("edit.undo", [this] { undo(undo_, redo_); });
  on.on("edit.redo", [this] { undo(redo_, undo_); });
  for (int number = 1; number <= 9; ++number) {  // the ones that ship, then the user's own
    auto* action = new QAction(this);
    action->setShortcut(QKeySequence(QStringLiteral("Alt+%1").arg(number)));
    connect(action, &QAction::triggered, this,
            [this, number] { chooseLayout(layoutNames().value(number - 1)); });
    addAction(action);
  }
}

void MainWindow::addFocusCommands() {
  Actions& on = *actions_;
  auto focusPane = [this](char letter) {
    if (Pane* pane = centre_->pane(letter); pane && pane->host())
      pane->host()->view()->setFocus(Qt::ShortcutFocusReason);
  };
  on.on("focus.runs", [this] { docks_->raise("runs"); });
  on.on("focus.a", [focusPane] { focusPane('A'); });
  on.on("focus.b", [focusPane] { focusPane('B'); });
  on.on("focus.inspector", [this] { docks_->raise("inspector"); });
  on.on("focus.bottom", [this] {
    for (Dock* dock : docks_->visible())
      if (dockWidgetArea(dock) == Qt::BottomDockWidgetArea)
        dock->host()->view()->setFocus(Qt::ShortcutFocusReason);
  });
  auto cycle = [this](int by) {
    QList<QWidget*> stops;
    for (Pane* pane : centre_->panes())
      if (pane->host()) stops << pane->host()->view();
    for (Dock* dock : docks_->visible()) stops << dock->host()->view();
    if (stops.isEmpty()) return;
    qsizetype at = 0;
    for (qsizetype i = 0; i < stops.size(); ++i)
      if (stops[i]->isAncestorOf(QApplication::focusWidget()) || stops[i] == QApplication::focusWidget())
        at = i;
    stops[(at + by + stops.size()) % stops.size()]->setFocus(Qt::TabFocusReason);
  };
  on.on("window.next-dock", [cycle] { cycle(1); });
  on.on("window.previous-dock", [cycle] { cycle(-1); });
}

// What the cursor is at becomes active; what is active already is opened.
void MainWindow::openAtCursor(bool other) {
  const kit::Selection& now = document_->selection();
  const Id cursor = now.hover ? now.hover : now.active;
  if (!cursor) return;
  if (!other && cursor != now.active)
    document_->activate(cursor);
  else
    openIn(cursor, {}, other);
}

// The commands that concern one thing, for what the cursor is at; that becomes active, so that they do.
void MainWindow::showContextMenu() {
  if (!document_->session() || !host()) return;
  const kit::Selection& now = document_->selection();
  if (now.hover && !now.isSelected(now.hover)) document_->activate(now.hover);
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName("context");
  const QStringList thing{"go.open",
                          "go.open-other",
                          "go.counterpart",
                          "go.next-relative",
                          "view.only",
                          "fusion.why",
                          "-",
                          "edit.bookmark",
                          "edit.note",
                          "-"};
  const QStringList view{"edit.copy",  "edit.copy-as", "edit.copy-picture", "edit.copy-python",
                         "export.csv", "edit.find",    "edit.all",          "-",
                         "view.fit",   "view.all"};
  for (const QString& id : document_->selection().active ? thing + view : view)
    if (id == "-")
      menu->addSeparator();
    else
      menu->addAction((*actions_)[id]);
  menu->popup(host()->takeMenuPlace());
}

ViewHost* MainWindow::host() const {
  for (QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget())
    if (auto* host = qobject_cast<ViewHost*>(at)) return host;
  Pane* pane = centre_->current();
  return pane ? pane->host() : nullptr;
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(
      this, "Open", {}, "Python, notebooks, exported programs, sessions (*.py *.ipynb *.pt2 *.vitrine)");
  if (is_runnable(path.toStdString()))
    openRunDialog(path);
  else if (!path.isEmpty())
    openFile(path);
}

void MainWindow::clearOne() {
  if (host() && host()->closeFind()) return;
  if (!banner_->text().isEmpty()) return banner_->clear();
  const kit::TimeRange range = document_->selection().range;
  if (range.from_ns != range.to_ns) return document_->model().setRange({});
  document_->activate(0);
}

void MainWindow::nextRelative(int by) {
  if (!host()) return;
  const std::vector<Id> shown = host()->view()->shown();
  const auto count = static_cast<int>(shown.size());
  int at = -1;
  for (int i = 0; i < count; ++i)
    if (shown[static_cast<size_t>(i)] == document_->selection().hover) at = i;
  for (int i = 1; i <= count; ++i) {
    const Id id = shown[static_cast<size_t>(((at + by * i) % count + count) % count)];
    if (!document_->selection().isRelative(id)) continue;
    document_->model().setHover(id);
    host()->view()->reveal(id);
    return;
  }
}

void MainWindow::showKeys() {
  KeysDialog(*actions_, this).exec();
}

}  // namespace vitrine::app
