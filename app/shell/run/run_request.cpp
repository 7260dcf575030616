#include "app/shell/run/run_request.h"

#include <QRegularExpression>
#include <array>

namespace vitrine::app {

namespace {

struct TextOption {
  const char* name;
  QString RunRequest::* field;
};
constexpr std::array<TextOption, 5> kTexts = {{{"--entry", &RunRequest::entry},
                                               {"--mode", &RunRequest::mode},
                                               {"--dynamic", &RunRequest::dynamic},
                                               {"--device", &RunRequest::device},
                                               {"--target", &RunRequest::target}}};

struct FlagOption {
  const char* name;
  bool RunRequest::* field;
};
constexpr std::array<FlagOption, 7> kFlags = {{{"--train", &RunRequest::train},
                                               {"--take-over", &RunRequest::take_over},
                                               {"--eager-too", &RunRequest::eager_too},
                                               {"--fullgraph", &RunRequest::fullgraph},
                                               {"--freezing", &RunRequest::freezing},
                                               {"--grad", &RunRequest::grad},
                                               {"--check", &RunRequest::check}}};

constexpr const char* kTypes = "f64|f32|f16|bf16|i64|i32|i16|i8|u8|b1|c64|c128";

bool read(RunRequest& out, const QString& word) {
  const QString name = word.section('=', 0, 0), value = word.section('=', 1);
  for (const TextOption& row : kTexts)
    if (name == QLatin1String(row.name)) return out.*row.field = value, true;
  for (const FlagOption& row : kFlags)
    if (word == QLatin1String(row.name)) return out.*row.field = true;
  if (name == QLatin1String("--input")) return out.inputs << value, true;
  if (name == QLatin1String("--repeats")) return out.repeats = qBound(0, value.toInt(), 10'000), true;
  return false;
}

}  // namespace

QStringList RunRequest::arguments() const {
  QStringList out;
  for (const TextOption& row : kTexts)
    if (const QString& value = this->*row.field; !value.isEmpty())
      out << QLatin1String(row.name) + '=' + value;
  for (const QString& input : inputs) out << "--input=" + input;
  for (const FlagOption& row : kFlags)
    if (this->*row.field) out << QLatin1String(row.name);
  if (repeats != RunRequest().repeats) out << QStringLiteral("--repeats=%1").arg(repeats);
  out << others;
  if (!script.isEmpty()) out << "--" << script;
  return out;
}

QString RunRequest::commandLine() const {
  QStringList words{"vitrine", "run", file};
  if (watch) words << "--watch";
  return shellWords(words + arguments());
}

RunRequest RunRequest::of(const QString& file, const QStringList& arguments) {
  RunRequest out;
  out.file = file;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      out.script = arguments.mid(i + 1);
      break;
    }
    if (!read(out, arguments[i])) out.others << arguments[i];
  }
  if (out.mode == "default") out.mode.clear();
  out.others.removeAll("--counters=128");  // as it is without
  return out;
}

QString shellWords(const QStringList& words) {
  static const QRegularExpression plain("^[\\w@%+=:,./-]+$");
  QStringList out;
  for (const QString& word : words)
    out << (plain.match(word).hasMatch() ? word : '\'' + QString(word).replace("'", "'\\''") + '\'');
  return out.join(' ');
}

QString inputProblem(const QString& spec) {
  static const QRegularExpression shaped("^\\s*(\\w+)\\[([^\\]]*)\\](<\\d+)?\\s*$");
  const QRegularExpressionMatch match = shaped.match(spec);
  if (!match.hasMatch()) return {};
  if (!QString::fromLatin1(kTypes).split('|').contains(match.captured(1)))
    return QStringLiteral("There is no element type %1. Types: %2.")
        .arg(match.captured(1), QString::fromLatin1(kTypes).replace('|', ", "));
  static const QRegularExpression sizes("^\\s*(\\d+\\s*(,\\s*\\d+\\s*)*,?)?\\s*$");
  return sizes.match(match.captured(2)).hasMatch()
             ? QString()
             : QStringLiteral("Sizes are numbers with commas between, such as %1[8,128].")
                   .arg(match.captured(1));
}

}  // namespace vitrine::app
