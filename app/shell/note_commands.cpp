// Notes, bookmarks, settings and reproducers: what their commands do in the window.
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>

#include "app/shell/commands/settings_dialog.h"
#include "app/shell/main_window.h"
#include "app/shell/run/reproducers.h"
#include "core/session/notes.h"
#include "core/session/shared_copy.h"

namespace vitrine::app {

void MainWindow::addNoteCommands() {
  Actions& on = *actions_;
  auto notes = [this] {
    return document_->session() ? session::notes_of(document_->session()->meta) : std::map<Id, std::string>();
  };
  on.on("edit.note", [this, notes] {
    const Id id = document_->selection().active;
    if (!id || !document_->session()) return;
    const auto all = notes();
    auto it = all.find(id);
    note_->open(id, document_->session()->label(id),
                it == all.end() ? QString() : QString::fromStdString(it->second));
  });
  connect(note_, &NoteField::written, this, [this, notes](Id id, const QString& text) {
    if (text.isEmpty() && !notes().contains(id)) return;
    note(id, text.isEmpty() ? QString() : text);
  });
  on.on("edit.bookmark", [this, notes] {
    const Id id = document_->selection().active;
    const auto all = notes();
    auto it = all.find(id);
    if (it == all.end())
      note(id, QStringLiteral(""));
    else if (it->second.empty())  // a note with words is not lost by a key
      note(id, QString());
  });
  on.on("go.bookmark", [this, notes] {
    const auto all = notes();
    auto next = all.upper_bound(document_->selection().active);
    if (next == all.end()) next = all.begin();
    if (next != all.end()) openIn(next->first, {}, false);
  });
  on.on("run.reproducer", [this] { saveReproducer(); });
  on.on("file.share", [this] { saveSharedCopy(); });
  on.on("app.settings", [this] {
    SettingsDialog dialog(actions_, this);
    connect(&dialog, &SettingsDialog::pythonWanted, this, [this] { (*actions_)["run.python"]->trigger(); });
    dialog.exec();
  });
}

void MainWindow::saveSharedCopy() {
  if (!document_->session()) return;
  const QFileInfo from(QString::fromStdString(document_->session()->path));
  const QString wanted = from.absolutePath() + "/" + from.completeBaseName() + ".shared.vitrine";
  const QString to =
      QFileDialog::getSaveFileName(this, "Save a copy to share", wanted, "Sessions (*.vitrine)");
  if (!to.isEmpty()) saveSharedCopy(to);
}

void MainWindow::saveSharedCopy(const QString& to) {
  using Outcome = std::shared_ptr<Status>;
  document_->jobs()->run<Outcome>(
      this, "share",
      [from = document_->session()->path, to = to.toStdString()](const kit::Cancel&) {
        return std::make_shared<Status>(session::write_shared_copy(from, to));
      },
      [this, to](const Outcome& bad) {
        if (*bad)
          banner_->show(kit::Tone::Err, QString::fromStdString((*bad)->what),
                        QString::fromStdString((*bad)->hint), {{"Dismiss", "edit.clear"}});
        else
          banner_->show(
              kit::Tone::Ok, "The copy is " + to + ".",
              "The script's arguments, strings of guards and steps, folders and texts of exceptions are "
              "not in it; the source of the program is.",
              {{"Dismiss", "edit.clear"}});
      });
}

void MainWindow::saveReproducer() {
  const QString from = reproducerOf(document_->session().get(), document_->selection().active);
  if (from.isEmpty()) return;
  const QString to = QFileDialog::getSaveFileName(this, "Save reproducer", QFileInfo(from).fileName());
  if (to.isEmpty()) return;
  QFile::remove(to);  // the dialog has asked
  if (!QFile::copy(from, to))
    banner_->show(kit::Tone::Err, "The reproducer could not be written to " + to + ".",
                  "It is still at " + from + ".", {{"Dismiss", "edit.clear"}});
}

}  // namespace vitrine::app
