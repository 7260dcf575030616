#include "app/shell/run/kernel_outcome.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "core/session/verdict.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

using kit::SessionData;
using session::Timed;

namespace {

// A launch of a kernel that has the text, as long as all of them are in the mean; ns 0 = none was timed;
// `found`: whether any kernel has it.
Timed launchOf(const SessionData& data, const std::string& text, bool& found) {
  Timed sum;
  double timed = 0;
  for (const session::KernelRow& kernel : data.kernels) {
    if (!kernel.source.row || *data.texts->load(kernel.source) != text) continue;
    found = true;
    for (const session::LaunchRow& launch : data.launches.of(kernel.compilation))
      if (launch.kernel == kernel.id && launch.median_ns > 0) {
        sum.ns += launch.median_ns, sum.lower_ns += launch.lower_ns, sum.upper_ns += launch.upper_ns;
        sum.calls = timed > 0 ? std::min(sum.calls, launch.calls) : launch.calls;
        ++timed;
      }
  }
  if (timed > 0) sum.ns /= timed, sum.lower_ns /= timed, sum.upper_ns /= timed;
  return sum;
}

// A call of one side of the run.
Timed callOf(const SessionData& data, bool compiled) {
  const session::RunTimes times = kit::runTimes(data, 0);
  const session::MeasurementRow& row = (compiled ? times.compiled : times.eager).plain;
  return {row.median_ns, row.lower_ns, row.upper_ns, row.calls};
}

// "12.3 µs, was 14.1 µs (1.15×)"; no ratio between times that do not compare, or in which no difference is
// seen.
QString against(const QString& what, const Timed& now, const Timed& before, bool comparable) {
  if (now.ns <= 0) return {};
  QString out = what + " " + kit::timeText(now.ns);
  if (before.ns > 0) out += QStringLiteral(", was %1").arg(kit::timeText(before.ns));
  const std::string words = session::against_words(before, now);
  if (comparable && !words.empty()) out += QStringLiteral(" (%1)").arg(QString::fromStdString(words));
  return out;
}

// Eager, which no edit touches, took about as long in both runs: the machine was as it was.
bool comparable(const SessionData& before, const SessionData& after) {
  if (before.runs.empty() || after.runs.empty()) return false;
  const double then = before.runs[0].eager_ns, now = after.runs[0].eager_ns;
  return then > 0 && now > 0 && std::abs(now - then) <= kSameMachine * std::min(now, then);
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
  const Timed now = launchOf(after, text.toStdString(), found);
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
  if (out.tone == kit::Tone::Err) {
    out.said = QStringLiteral("%1 was compiled; %2.").arg(label, compared);
    out.detail = QStringLiteral("No times: what differs from eager is computed by eager.");
    return out;
  }
  const bool same = comparable(before, after);
  const QString time =
      against(label, now, launchOf(before, *before.texts->load(generated->source), was), same);
  out.said = QStringLiteral("%1; %2.").arg(time.isEmpty() ? label + " was compiled" : time, compared);
  if (before.runs.empty() || after.runs.empty()) return out;
  out.detail = against("A call of the whole takes", callOf(after, true), callOf(before, true), same);
  if (!same && before.runs[0].eager_ns > 0 && after.runs[0].eager_ns > 0)
    out.detail += "; " + against("eager", callOf(after, false), callOf(before, false), false) +
                  ": the machine is not as it was, and the times do not compare";
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
