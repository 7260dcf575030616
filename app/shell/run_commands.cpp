// What starts a run: the dialog, the last run again, the watch over its files.
#include <QFileInfo>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/run/run_dialog.h"

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
