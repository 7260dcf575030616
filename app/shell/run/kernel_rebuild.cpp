#include "app/shell/run/kernel_rebuild.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>

#include "app/bridge/engine_process.h"
#include "app/shell/document/settings.h"
#include "app/shell/run/kernel_outcome.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

namespace {

bool write(const QString& path, const QString& text) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) >= 0;
}

}  // namespace

KernelRebuild::KernelRebuild(Document* document, RunController* runs, QObject* parent)
    : QObject(parent), document_(document), runs_(runs) {
  connect(&compiler_, &QProcess::finished, this, [this] { compiled(); });
  connect(&compiler_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      tell(kit::Tone::Err, QStringLiteral("The kernel compiler could not be started."), compiler_.program());
  });
  connect(&engine_, &EngineProcess::progress, this, [this](const QString& text) {
    if (!engine_.cancelling())
      tell(kit::Tone::Info, QStringLiteral("Compiled. The file runs again: %1").arg(text), {}, true);
  });
  connect(&engine_, &EngineProcess::failed, this, [this](const EngineError& error) { error_ = error.text; });
  connect(&engine_, &EngineProcess::ended, this, &KernelRebuild::ended);
}

QString KernelRebuild::generatedFile() const {
  return folder_.filePath("generated.cpp");
}

QString KernelRebuild::editedFile() const {
  return folder_.filePath("edited.cpp");
}

QString KernelRebuild::recording() const {
  const kit::KernelEdit* edit = document_->edits().find(document_->edits().last());
  return edit ? edit->recording : QString();
}

void KernelRebuild::tell(kit::Tone tone, const QString& said, const QString& detail, bool busy) {
  kit::KernelEdit out;
  out.tone = tone;
  out.said = said;
  out.detail = detail;
  out.busy = busy;
  document_->edits().tell(kernel_, out);
  Q_EMIT stateChanged();
}

void KernelRebuild::start() {
  if (running()) return;
  kernel_ = document_->edits().last();
  const kit::KernelEdit* edit = document_->edits().find(kernel_);
  if (!edit) return;
  if (runs_->running())
    return tell(kit::Tone::Warn, QStringLiteral("A run is going on: cancel it, or wait for its end."));
  text_ = edit->text;
  if (!runs_->mayRun(text_))
    return tell(kit::Tone::Warn, QStringLiteral("Nothing was run: this session was recorded elsewhere."));
  if (!write(generatedFile(), edit->generated) || !write(editedFile(), text_))
    return tell(kit::Tone::Err, QStringLiteral("The text could not be written."), folder_.errorString());
  compile();
}

void KernelRebuild::cancel() {
  if (compiler_.state() != QProcess::NotRunning) compiler_.kill();
  engine_.cancel();
  if (running()) tell(kit::Tone::Info, QStringLiteral("Cancelling"), {}, true);
}

// Alone first: what is wrong is known at once, and nothing runs for it.
void KernelRebuild::compile() {
  tell(kit::Tone::Info, QStringLiteral("Compiling"), {}, true);
  const auto& gpu = document_->session()->gpu_kernels;
  if (const auto found = gpu.find(kernel_); found != gpu.end())
    compiler_.start(AppSettings::python(),
                    engineModule("vitrine._tools.check_kernel") +
                        QStringList{editedFile(), QString::fromStdString(found->second.arch)});
  else
    compiler_.start(QCoreApplication::applicationDirPath() + "/vitrine-cc",
                    {editedFile(), "-o", folder_.filePath("edited.so")});
}

void KernelRebuild::compiled() {
  const QString said = QString::fromUtf8(compiler_.readAllStandardError());
  if (compiler_.exitStatus() == QProcess::NormalExit && compiler_.exitCode() == 0) return runAgain();
  kit::KernelEdit out;
  out.errors = compilerErrors(said);
  out.tone = compiler_.exitStatus() == QProcess::CrashExit ? kit::Tone::Info : kit::Tone::Err;
  if (compiler_.exitStatus() == QProcess::CrashExit)
    out.said = QStringLiteral("Cancelled.");
  else if (out.errors.empty())
    out.said = QStringLiteral("It does not compile."), out.detail = said.trimmed();
  else
    out.said = QStringLiteral("%1, the first in line %2: %3")
                   .arg(kit::countText(static_cast<int64_t>(out.errors.size()), "error"))
                   .arg(out.errors[0].line + 1)
                   .arg(out.errors[0].text);
  document_->edits().tell(kernel_, out);
  Q_EMIT stateChanged();
}

void KernelRebuild::runAgain() {
  const QString file = runs_->file();
  if (file.isEmpty())
    return tell(kit::Tone::Ok, QStringLiteral("It compiles."),
                QStringLiteral("It was not run: the Python file of this session is not here."));
  error_.clear();
  engine_.start(AppSettings::python(), file, RunController::sessionFor(file),
                QStringList{"--edited=" + generatedFile() + "=" + editedFile()} + runs_->arguments());
  tell(kit::Tone::Info, QStringLiteral("Compiled. The file runs again."), {}, true);
}

void KernelRebuild::ended(const EngineEnd& end) {
  if (end.kind == EngineEnd::Cancelled) return tell(kit::Tone::Info, QStringLiteral("Cancelled."));
  if (end.kind == EngineEnd::Died)
    return tell(kit::Tone::Err,
                QStringLiteral(
                    "The engine stopped (signal %1): the kernel may have read or written where it may not.")
                    .arg(end.signal));
  if (end.kind == EngineEnd::Failed) return tell(kit::Tone::Err, QStringLiteral("The run failed."), error_);
  const kit::SessionPtr before = document_->session();
  auto outcome = std::make_shared<kit::KernelEdit>();
  document_->jobs()->run<bool>(
      this, "rebuilt",
      [before, outcome, path = engine_.session().toStdString(), kernel = kernel_,
       text = text_](const kit::Cancel&) {
        const auto after = kit::SessionData::load(path, session::Whose::Mine);
        if (!after || !before) return false;
        *outcome = kernelOutcome(*before, kernel, *after.value(), text);
        return true;
      },
      [this, outcome](bool read) {
        if (!read) return tell(kit::Tone::Err, QStringLiteral("The session of the run could not be read."));
        document_->edits().tell(kernel_, *outcome);
        Q_EMIT stateChanged();
      });
}

}  // namespace vitrine::app
