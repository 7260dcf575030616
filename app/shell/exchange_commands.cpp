// What goes out to other programs, and what comes in from them. Exports are the command line's, in a process
// of its own.
#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QProcess>

#include "app/importing/importing.h"
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "core/base/runnable.h"
#include "core/session/query/query.h"

namespace vitrine::app {

namespace {

struct ExportRow {
  const char *command, *format, *ending, *filter;
};
constexpr ExportRow kExports[] = {
    {"export.html", "html", ".html", "Web pages (*.html)"},
    {"export.perfetto", "perfetto", ".trace.json", "Traces (*.json)"},
    {"export.fx", "fx", ".fx", ""},
    {"export.kernels", "kernels", ".kernels", ""},
    {"export.dot", "dot", ".dot", "Graphs (*.dot)"},
    {"export.svg", "svg", ".svg", "Pictures (*.svg)"},
    {"export.pdf", "pdf", ".pdf", "Documents (*.pdf)"},
    {"export.png", "png", ".png", "Pictures (*.png)"},
};

}  // namespace

void MainWindow::addExchangeCommands() {
  Actions& on = *actions_;
  for (const ExportRow& row : kExports)
    on.on(row.command, [this, row] {
      if (!document_->session()) return;
      const QFileInfo from(QString::fromStdString(document_->session()->path));
      const QString to = QFileDialog::getSaveFileName(
          this, "Export", from.absolutePath() + "/" + from.completeBaseName() + row.ending, row.filter);
      if (!to.isEmpty()) exportTo(row.format, to);
    });
  on.on("export.csv", [this] {
    if (!host()) return;
    const QString to =
        QFileDialog::getSaveFileName(this, "Export the rows of this view",
                                     QString::fromLatin1(host()->info().id) + ".csv", "Tables (*.csv)");
    if (!to.isEmpty()) exportRows(to);
  });
  on.on("file.import", [this] {
    const QString path = QFileDialog::getOpenFileName(
        this, "Import", {},
        "Traces, logs and exports (*.json *.json.gz *.gz *.log *.sqlite *.db);;All files (*)");
    if (!path.isEmpty()) importPath(path);
  });
  on.on("file.import-folder", [this] {
    const QString path =
        QFileDialog::getExistingDirectory(this, "Import a TORCH_TRACE or torch_compile_debug folder");
    if (!path.isEmpty()) importPath(path);
  });
}

void MainWindow::exportTo(const QString& format, const QString& to) {
  if (!document_->session()) return;
  auto* process = new QProcess(this);
  process->setProcessChannelMode(QProcess::MergedChannels);
  const auto told = [this, process, to](bool good) {
    const QString said = QString::fromUtf8(process->readAll()).trimmed();
    if (good)
      banner_->show(kit::Tone::Ok, "Written " + to + ".", {}, {{"Dismiss", "edit.clear"}});
    else
      banner_->show(kit::Tone::Err, said.section('\n', 0, 0).remove("vitrine: "),
                    said.section('\n', 1).trimmed(), {{"Dismiss", "edit.clear"}});
    process->deleteLater();
  };
  connect(process, &QProcess::finished, this, [told](int code, QProcess::ExitStatus status) {
    told(code == 0 && status == QProcess::NormalExit);
  });
  connect(process, &QProcess::errorOccurred, this, [this, process](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    banner_->show(kit::Tone::Err, "The command line could not be started.", process->program(),
                  {{"Dismiss", "edit.clear"}});
    process->deleteLater();
  });
  process->start(QCoreApplication::applicationDirPath() + "/vitrine",
                 {"export", QString::fromStdString(document_->session()->path), "--to", format, "-o", to});
}

void MainWindow::exportRows(const QString& to) {
  const QString text = host() ? host()->view()->copy(kit::CopyAs::Csv) : QString();
  QFile file(to);
  if (text.isEmpty())
    banner_->show(kit::Tone::Warn, "This view has no rows to write.", {}, {{"Dismiss", "edit.clear"}});
  else if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) || file.write(text.toUtf8()) < 0 ||
           !file.flush())
    banner_->show(kit::Tone::Err, "It could not be written: " + file.errorString() + ".", to,
                  {{"Dismiss", "edit.clear"}});
  else
    banner_->show(kit::Tone::Ok, "Written " + to + ".", {}, {{"Dismiss", "edit.clear"}});
}

// Into a session beside the recorded ones, which is then opened.
void MainWindow::importPath(const QString& path) {
  using Outcome = std::shared_ptr<Status>;
  const QString session = RunController::sessionFor(path);
  banner_->show(kit::Tone::Info, "Importing " + QFileInfo(path).fileName() + ".");
  document_->jobs()->run<Outcome>(
      this, "import",
      [from = path.toStdString(), to = session.toStdString()](const kit::Cancel&) {
        return std::make_shared<Status>(importing::import_into(from, to));
      },
      [this, path, session](const Outcome& bad) {
        if (*bad)
          return banner_->show(kit::Tone::Err, QString::fromStdString((*bad)->what),
                               QString::fromStdString((*bad)->hint), {{"Dismiss", "edit.clear"}});
        banner_->clear();
        AppSettings::addRecent(session);
        document_->open(session);
      });
}

// What has another ending says what it is by its head, which a job reads.
void MainWindow::openOrImport(const QString& path) {
  document_->jobs()->run<bool>(
      this, "kind of file",
      [file = path.toStdString()](const kit::Cancel&) { return importing::can_import(file); },
      [this, path](bool import) { import ? importPath(path) : document_->open(path); });
}

// While it is dragged, a file of another ending counts as one that can be opened until its head was read.
void MainWindow::lookAtDragged(const QString& path) {
  dragged_is_none_ = false;
  document_->jobs()->run<bool>(
      this, "dragged file",
      [file = path.toStdString()](const kit::Cancel&) { return importing::can_import(file); },
      [this](bool import) { dragged_is_none_ = !import; });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (!url.isLocalFile()) continue;
    dragged_is_none_ = false;
    const QString path = url.toLocalFile();
    if (!is_runnable(path.toStdString()) && !path.endsWith(".vitrine")) lookAtDragged(path);
    return event->acceptProposedAction();
  }
}

void MainWindow::dragMoveEvent(QDragMoveEvent* event) {
  if (dragged_is_none_)
    event->ignore();
  else
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls())
    if (const QString path = url.toLocalFile(); url.isLocalFile() && is_runnable(path.toStdString()))
      return void(openRunDialog(path));
    else if (url.isLocalFile())
      return openFile(path);
}

}  // namespace vitrine::app
