#include "app/bridge/file_entries.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/bridge/engine_process.h"

namespace vitrine::app {

namespace {

constexpr int kLateMs = 10'000;
constexpr qsizetype kMostBytes = 4'000'000;

// The package is found and not imported: that would load PyTorch.
constexpr const char* kReader =
    "import sys, importlib.util, runpy; sys.path[:1] = filter(None, sys.path[:1]); "
    "found = importlib.util.find_spec('vitrine'); "
    "sys.exit('this Python finds no package vitrine') if found is None else None; "
    "sys.argv[0] = found.submodule_search_locations[0] + '/_tools/entries.py'; "
    "runpy.run_path(sys.argv[0], run_name='__main__')";

EntryParameter parameter(const QJsonObject& json) {
  return {json["name"].toString(), json["annotation"].toString(), json["default"].toString(),
          json["needed"].toBool(), json["by_place"].toBool()};
}

}  // namespace

FileContents fileContents(const QByteArray& text) {
  const QJsonObject json = QJsonDocument::fromJson(text).object();
  FileContents out;
  out.script = json["script"].toBool();
  out.torch_compile = json["torch_compile"].toBool();
  out.half = json["half"].toString();
  out.problem = json["problem"].toString();
  for (const QJsonValue each : json["entries"].toArray()) {
    FileEntry entry{each["name"].toString(), each["text"].toString(), each["problem"].toString(), {}};
    for (const QJsonValue one : each["parameters"].toArray()) entry.parameters << parameter(one.toObject());
    out.entries << entry;
  }
  return out;
}

FileEntries::FileEntries(QObject* parent) : QObject(parent) {
  late_.setSingleShot(true);
  connect(&late_, &QTimer::timeout, this, [this] { process_.kill(); });
  connect(&process_, &QProcess::finished, this, [this] { finish(); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    FileContents out;
    out.problem = QStringLiteral("%1 cannot be started.").arg(process_.program());
    Q_EMIT found(out);
  });
}

FileEntries::~FileEntries() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(1000);
}

void FileEntries::read(const QString& python, const QString& file) {
  file_ = file;
  if (process_.state() != QProcess::NotRunning) {  // of a file that nobody asks for any more
    process_.blockSignals(true);
    process_.kill();
    process_.waitForFinished(1000);
    process_.blockSignals(false);
  }
  if (!QFileInfo(file).isFile()) {
    FileContents out;
    out.problem = file.isEmpty() ? QStringLiteral("Choose a Python file.")
                                 : QStringLiteral("There is no file %1.").arg(file);
    Q_EMIT found(out);
    return;
  }
  process_.setProcessEnvironment(engineEnvironment());
  process_.start(python, {"-c", kReader, file});
  late_.start(kLateMs);
}

void FileEntries::finish() {
  late_.stop();
  const QByteArray said = process_.readAllStandardOutput().left(kMostBytes);
  FileContents out = fileContents(said.mid(said.lastIndexOf('\n', said.size() - 2) + 1));
  if (process_.exitStatus() != QProcess::NormalExit || process_.exitCode() != 0)
    out.problem = QStringLiteral("%1 cannot read it: %2")
                      .arg(process_.program(),
                           QString::fromUtf8(process_.readAllStandardError()).trimmed().section('\n', -1));
  Q_EMIT found(out);
}

}  // namespace vitrine::app
