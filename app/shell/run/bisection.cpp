#include "app/shell/run/bisection.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <array>

#include "app/bridge/engine_process.h"
#include "app/shell/document/settings.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

namespace {

constexpr int kTickMs = 1000;
constexpr qsizetype kMostSaid = 2000;  // characters of an error

// The words of a recording that these commands take, too; what stands behind -- is a command to bisect.
QStringList taken(const QStringList& words, bool script) {
  static constexpr std::array<const char*, 3> kTexts{"--entry=", "--input=", "--mode="};
  QStringList out;
  const auto rest = words.indexOf("--");
  for (const QString& word : words.mid(0, rest)) {
    const bool text = std::any_of(kTexts.begin(), kTexts.end(),
                                  [&](const char* name) { return word.startsWith(QLatin1String(name)); });
    if (text || word == "--take-over" || word == "--grad") out << word;
  }
  if (script && rest >= 0) out << words.mid(rest);
  return out;
}

// "K3 add_gelu (gelu at model.py:3), 3 of 6"
QString numbered(const QJsonObject& part) {
  return QStringLiteral("%1, %2 of %3")
      .arg(part["text"].toString())
      .arg(part["number"].toInt())
      .arg(part["of"].toInt());
}

QString part_line(const QJsonObject& part, const QString& name, const QString& without) {
  if (!part["text"].toString().isEmpty())
    return QStringLiteral("%1: %2; %3").arg(name, numbered(part), without);
  return part["of"].toInt() ? QStringLiteral("%1: it differs without any.").arg(name) : QString();
}

}  // namespace

Bisected bisected(const QByteArray& output) {
  const QByteArray text = '\n' + output.trimmed() + '\n';
  Bisected out;
  if (text.endsWith("\nnull\n")) {
    out.verdict = QStringLiteral("Nothing differs from eager.");
    return out;
  }
  const qsizetype from = text.lastIndexOf("\n{\n");
  const QJsonObject json = QJsonDocument::fromJson(text.mid(std::max<qsizetype>(0, from))).object();
  if (json.isEmpty()) return out;
  const QJsonObject kernel = json["kernels"].toObject(), fusion = json["fusions"].toObject(),
                    rewrite = json["rewrites"].toObject();
  out.differs = true;
  out.kernel = kernel["text"].toString().section(QStringLiteral(" ("), 0, 0);
  out.verdict =
      out.kernel.isEmpty()
          ? QStringLiteral("A result differs, and no generated kernel is at fault.")
          : QStringLiteral("%1, is the kernel at which a result turns wrong.").arg(numbered(kernel));
  const QString pass = json["pass"].toString();
  QStringList lines{
      json["failure"].toString(),
      part_line(fusion, QStringLiteral("Fusion"), QStringLiteral("without it the result is right.")),
      part_line(rewrite, QStringLiteral("Rewrite"), QStringLiteral("without it the result is right."))};
  if (json["mended_without_pass"].toBool())
    lines << QStringLiteral("options={\"disabled_passes\": [\"%1\"]} avoids it.").arg(pass);
  lines << kit::countText(json["runs"].toInt(), "run") +
               QStringLiteral(" of %1.").arg(json["name"].toString());
  lines.removeAll(QString());
  out.detail = lines.join('\n');
  return out;
}

Bisection::Bisection(RunController* runs, QObject* parent) : QObject(parent), runs_(runs) {
  tick_.setInterval(kTickMs);
  connect(&tick_, &QTimer::timeout, this, [this] {
    tell(kit::Tone::Info, QStringLiteral("%1, %2 s").arg(doing_).arg(clock_.elapsed() / 1000));
  });
  connect(&process_, &QProcess::finished, this, &Bisection::ended);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    tick_.stop();
    tell(kit::Tone::Err, QStringLiteral("The engine could not be started: %1").arg(process_.errorString()));
  });
}

void Bisection::tell(kit::Tone tone, const QString& text, const QString& detail) {
  Q_EMIT told(tone, text, detail);
  Q_EMIT stateChanged();
}

void Bisection::bisect() {
  target_.clear();
  start("vitrine._tools.numerics.bisect", QStringList{"--json"} + taken(runs_->arguments(), false),
        QStringLiteral("Bisecting"));
}

void Bisection::reduce(const QString& to) {
  target_ = to;
  start("vitrine._tools.numerics.reduce", QStringList{"-o", to} + taken(runs_->arguments(), true),
        QStringLiteral("Reducing"));
}

void Bisection::start(const char* module, const QStringList& words, const QString& doing) {
  if (running()) return;
  if (runs_->running())
    return tell(kit::Tone::Warn, QStringLiteral("A run is going on: cancel it, or wait for its end."));
  if (!runs_->canRun())
    return tell(kit::Tone::Warn, QStringLiteral("The Python file of this session is not here."));
  if (!runs_->mayRun())
    return tell(kit::Tone::Warn, QStringLiteral("Nothing was run: this session was recorded elsewhere."));
  const QString file = runs_->file();
  cancelled_ = false;
  doing_ = doing + " " + QFileInfo(file).fileName();
  process_.setWorkingDirectory(QFileInfo(file).absolutePath());
  process_.setProcessEnvironment(engineEnvironment());
  process_.start(AppSettings::python(), engineModule(module) + QStringList{file} + words);
  clock_.start();
  tick_.start();
  tell(kit::Tone::Info, doing_);
}

void Bisection::cancel() {
  if (!running()) return;
  cancelled_ = true;
  process_.kill();
}

void Bisection::ended(int status, QProcess::ExitStatus how) {
  tick_.stop();
  const QByteArray output = process_.readAllStandardOutput();
  const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed().right(kMostSaid);
  if (cancelled_) return tell(kit::Tone::Info, QStringLiteral("Cancelled."));
  if (how == QProcess::CrashExit)
    return tell(kit::Tone::Err, QStringLiteral("%1: the engine stopped.").arg(doing_), said);
  if (status != 0 && status != 1)
    return tell(kit::Tone::Err, QStringLiteral("%1: it could not run.").arg(doing_), said);
  if (!target_.isEmpty()) {
    const QString line = QString::fromUtf8(output).trimmed().section('\n', -1);
    return tell(status ? kit::Tone::Ok : kit::Tone::Info, line);
  }
  const Bisected result = bisected(output);
  if (result.verdict.isEmpty())
    return tell(kit::Tone::Err, QStringLiteral("%1: it said nothing.").arg(doing_), said);
  tell(result.differs ? kit::Tone::Warn : kit::Tone::Ok, result.verdict, result.detail);
  if (!result.kernel.isEmpty()) Q_EMIT found(result.kernel);
}

}  // namespace vitrine::app
