#include "app/shell/kernel_outcome.h"

#include <QRegularExpression>

#include "core/session/verdict.h"
#include "views/kit/numbers.h"

namespace vitrine::app {

using kit::SessionData;

namespace {

// Median of the launches of all kernels that have the text, 0 = none was timed; `found`: whether any has it.
double medianOf(const SessionData& data, const std::string& text, bool& found) {
  double sum = 0;
  int64_t timed = 0;
  for (const session::KernelRow& kernel : data.kernels) {
    if (!kernel.source.row || *data.texts->load(kernel.source) != text) continue;
    found = true;
    for (const session::LaunchRow& launch : data.launches.of(kernel.compilation))
      if (launch.kernel == kernel.id && launch.median_ns > 0) {
        sum += launch.median_ns;
        ++timed;
      }
  }
  return timed ? sum / static_cast<double>(timed) : 0;
}

QString against(const char* what, double now, double before) {
  if (now <= 0) return {};
  QString out = QStringLiteral("%1 %2").arg(QString::fromUtf8(what), kit::timeText(now));
  if (before > 0)
    out += QStringLiteral(", was %1 (%2)").arg(kit::timeText(before), kit::ratioText(before / now));
  return out;
}

// What the run's outputs are beside eager's; a run on no machine of its own and a script have none.
kit::Tone outputs(const SessionData& data, QString& said) {
  if (data.runs.empty() || data.accuracies.of(data.runs[0].id).empty()) {
    said = QStringLiteral("its outputs were not compared");
    return kit::Tone::Info;
  }
  const auto rows = data.accuracies.of(data.runs[0].id);
  double worst = 0;
  bool differs = false;
  for (const session::AccuracyRow& row : rows) {
    worst = std::max(worst, row.max_abs);
    differs = differs || row.verdict == "differs";
  }
  said = QStringLiteral("outputs %1").arg(QString::fromStdString(session::verdict_words(rows)));
  if (worst > 0) said += QStringLiteral(" (max |Δ| %1)").arg(QString::number(worst, 'g', 2));
  return differs ? kit::Tone::Err : kit::Tone::Ok;
}

}  // namespace

kit::KernelEdit kernelOutcome(const SessionData& before, Id kernel, const SessionData& after,
                              const QString& text) {
  kit::KernelEdit out;
  out.recording = QString::fromStdString(after.path);
  const session::KernelRow* generated = before.kernels.find(kernel);
  bool found = false, was = false;
  const double now = medianOf(after, text.toStdString(), found);
  if (!found || !generated) {
    out.tone = kit::Tone::Warn;
    out.said = QStringLiteral("The run did not use the edited text.");
    out.detail = QStringLiteral(
        "It did not generate this kernel again: the file, its arguments or its "
        "environment are others than when it was recorded.");
    for (const session::MessageRow& message : after.messages)
      if (message.text.starts_with("kernel ")) out.detail = QString::fromStdString(message.text);
    return out;
  }
  QString compared;
  out.tone = outputs(after, compared);
  const QString label = QString::fromStdString(generated->label);
  const QString time =
      against(label.toUtf8().constData(), now, medianOf(before, *before.texts->load(generated->source), was));
  out.said = time.isEmpty() ? QStringLiteral("%1 was compiled; %2.").arg(label, compared)
                            : QStringLiteral("%1; %2.").arg(time, compared);
  if (!before.runs.empty() && !after.runs.empty())
    out.detail = against("A call of the whole takes", after.runs[0].compiled_ns, before.runs[0].compiled_ns);
  return out;
}

std::vector<kit::KernelError> compilerErrors(const QString& said) {
  // Clang: "a.cpp:12:5: error: text"; NVRTC: "a.cu(12): error: text", with a code behind the word.
  static const QRegularExpression line(
      QStringLiteral(R"([:(](\d+)(?::\d+)?\)?: (?:catastrophic |fatal )?error(?: #[\w-]+)?: (.+))"));
  std::vector<kit::KernelError> out;
  for (auto at = line.globalMatch(said); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    out.push_back({match.captured(1).toInt() - 1, match.captured(2).trimmed()});
  }
  return out;
}

}  // namespace vitrine::app
