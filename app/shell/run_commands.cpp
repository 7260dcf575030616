// What starts a run: the dialog, the last run again, the watch over its files.
#include <QFileDialog>
#include <QFileInfo>

#include "app/shell/document/find_entity.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/run/run_dialog.h"
#include "views/tables/saved_view.h"

namespace vitrine::app {

void MainWindow::addRunCommands() {
  Actions& on = *actions_;
  on.on("run.dialog", [this] { openRunDialog(); });
  on.on("run.repeat", [this] {
    banner_->clear();
    run_->repeat();
  });
  on["run.watch"]->setCheckable(true);
  on.on("run.watch", [this] { run_->setWatch(!run_->watching()); });
  connect(row_->run, &RunButton::whereClicked, this, [this] { openRunDialog(); });
  connect(run_, &RunController::recorded, this, [this] { banner_->clear(); });
  addPartitionCommands();
  addBisectCommands();
}

// Who makes a result differ: the kernel that is found becomes active.
void MainWindow::addBisectCommands() {
  actions_->on("run.bisect", [this] { bisection_->bisect(); });
  actions_->on("run.reduce", [this] {
    const QString base = QFileInfo(run_->file()).completeBaseName() + ".reduced.py";
    const QString to =
        QFileDialog::getSaveFileName(this, "Reduce to the smallest graph", base, "Python (*.py)");
    if (!to.isEmpty()) bisection_->reduce(to);
  });
  connect(bisection_, &Bisection::stateChanged, this, &MainWindow::refreshEnabled);
  connect(bisection_, &Bisection::told, this,
          [this](kit::Tone tone, const QString& text, const QString& detail) {
            const QPair<QString, QString> way = bisection_->running()
                                                    ? QPair<QString, QString>{"Cancel", "run.cancel"}
                                                    : QPair<QString, QString>{"Dismiss", "edit.clear"};
            banner_->show(tone, text, detail, {way});
          });
  connect(bisection_, &Bisection::found, this, [this](const QString& kernel) {
    if (const auto& session = document_->session())
      if (const Id id = findEntity(*session, kernel)) document_->activate(id);
  });
}

// Pins of saved tensors, and the run that checks them. The view that the user is in comes first, then one in
// sight.
void MainWindow::addPartitionCommands() {
  Actions& on = *actions_;
  auto view = [this] {
    auto* own = host() ? qobject_cast<views::SavedView*>(host()->view()) : nullptr;
    if (own) return own;
    for (auto* each : findChildren<views::SavedView*>())
      if (!own || each->isVisible()) own = each;
    return own;
  };
  for (const char* id : {"partition.pin", "partition.clear"})
    on.on(id, [view, id] {
      if (auto* saved = view()) saved->act(id);
    });
  on.on("partition.check", [this, view] {
    auto* saved = view();
    if (!saved || saved->pins().empty() || !document_->session()) return;
    const Id forward = document_->session()->forwardOf(saved->shownCompilation());
    check_->start({forward, saved->arguments(), saved->estimate()});
  });
  connect(check_, &PartitionCheck::stateChanged, this, &MainWindow::refreshEnabled);
  connect(check_, &PartitionCheck::told, this, [this](kit::Tone tone, const QString& text) {
    for (auto* saved : findChildren<views::SavedView*>()) saved->tell(tone, text);
  });
  connect(check_, &PartitionCheck::noteWanted, this, &MainWindow::note);
}

// Of a session its file and words; what a stranger's names runs only where the user says that it may.
RunDialog* MainWindow::openRunDialog(const QString& file) {
  RunRequest first = run_->lastRequest();
  const QString shown = run_->file();
  if (!file.isEmpty() && file != first.file) first = RunRequest::of(file, {});
  const bool of_session = file.isEmpty() && !shown.isEmpty() && shown != first.file;
  if (of_session) first = RunRequest::of(shown, run_->arguments());
  auto* dialog = new RunDialog(first, run_->lastRequest(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setModal(true);
  connect(dialog, &RunDialog::runWanted, this, [this, of_session](const RunRequest& request) {
    if (of_session && !run_->mayRun()) return;
    banner_->clear();
    AppSettings::addRecent(request.file);
    run_->start(request);
  });
  dialog->QDialog::show();
  return dialog;
}

}  // namespace vitrine::app
