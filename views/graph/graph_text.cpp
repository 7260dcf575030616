#include "views/graph/graph_text.h"

#include <QRegularExpression>
#include <QSet>
#include <QStringList>
#include <map>
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace session;
using kit::SessionData;

namespace {

// Words that Python keeps for itself, or that the function's own lines use.
const QSet<QString>& takenWords() {
  static const QSet<QString> words{
      "False",    "None",   "True",  "and",  "as",     "assert",   "async",    "await", "break", "class",
      "continue", "def",    "del",   "elif", "else",   "except",   "finally",  "for",   "from",  "global",
      "if",       "import", "in",    "is",   "lambda", "nonlocal", "not",      "or",    "pass",  "raise",
      "return",   "try",    "while", "with", "yield",  "torch",    "operator", "slice", "float"};
  return words;
}

QString pythonName(QString name) {
  static const QRegularExpression foreign(QStringLiteral("\\W"));
  name.replace(foreign, QStringLiteral("_"));
  return takenWords().contains(name) || name[0].isDigit() ? name + '_' : name;
}

// "f32[2], i64[3]" are two results, of which each reader takes one.
bool hasSeveral(const QString& types) {
  int depth = 0;
  for (const QChar c : types) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) return true;
  }
  return false;
}

// A word of the arguments that stands outside of strings, as Python says it.
QString pythonWord(const QString& word) {
  static const std::map<QString, QString> dtypes{
      {"f64", "float64"}, {"f32", "float32"}, {"f16", "float16"},   {"bf16", "bfloat16"},
      {"i64", "int64"},   {"i32", "int32"},   {"i16", "int16"},     {"i8", "int8"},
      {"u8", "uint8"},    {"b1", "bool"},     {"c64", "complex64"}, {"c128", "complex128"}};
  static const QRegularExpression device(QStringLiteral("^(cpu|meta|cuda(:\\d+)?)$"));
  if (const auto it = dtypes.find(word); it != dtypes.end()) return QStringLiteral("torch.") + it->second;
  if (device.match(word).hasMatch()) return QStringLiteral("torch.device(\"%1\")").arg(word);
  if (word == "inf" || word == "nan") return QStringLiteral("float(\"%1\")").arg(word);
  return word;
}

// The recorded arguments as Python's: "%x.1" is a name and which of its results, "[slice, 0, 4, None]" a
// slice.
class ArgumentText {
 public:
  explicit ArgumentText(const std::set<QString>& several) : several_(several) {}

  QString python(QString detail) const {
    static const QRegularExpression loop(QStringLiteral(R"re((, )?\bloop="(\\.|[^"\\])*")re"));
    static const QRegularExpression part(QStringLiteral(
        R"re("(\\.|[^"\\])*"|%(\w+)(\.(\d+))?|\[slice, |(?<![\w.%])(cuda:\d+|[A-Za-z]\w*)(?![\w=]))re"));
    detail.remove(loop);
    QString out;
    qsizetype from = 0;
    std::vector<bool> is_slice;  // of each open bracket
    auto plain = [&](QStringView text) {
      for (const QChar c : text) {
        if (c == '[') is_slice.push_back(false);
        const bool closes = c == ']' && !is_slice.empty();
        out += closes && is_slice.back() ? QChar(')') : c;
        if (closes) is_slice.pop_back();
      }
    };
    for (auto it = part.globalMatch(detail); it.hasNext();) {
      const QRegularExpressionMatch match = it.next();
      plain(QStringView(detail).mid(from, match.capturedStart() - from));
      from = match.capturedEnd();
      const QString text = match.captured();
      if (text.startsWith('"')) {
        out += text;
      } else if (text.startsWith('%')) {
        out += value(match.captured(2), match.captured(4));
      } else if (text.startsWith('[')) {
        is_slice.push_back(true);
        out += QStringLiteral("slice(");
      } else {
        out += pythonWord(text);
      }
    }
    plain(QStringView(detail).mid(from));
    return out;
  }

 private:
  QString value(const QString& name, const QString& which) const {
    const QString index = which.isEmpty() ? QStringLiteral("0") : which;
    return pythonName(name) + (several_.contains(name) ? QStringLiteral("[%1]").arg(index) : QString());
  }
  const std::set<QString>& several_;
};

// "aten.gelu.default" is an operator of torch.ops, "Tensor.view" an unbound method.
QString callee(const QString& op) {
  if (op.startsWith(QStringLiteral("Tensor."))) return QStringLiteral("torch.") + op;
  return op.startsWith(QStringLiteral("torch.")) || op.startsWith(QStringLiteral("operator."))
             ? op
             : QStringLiteral("torch.ops.") + op;
}

// An index of several parts is a tuple, where the arguments have a list.
QString called(const QString& op, QString arguments) {
  const qsizetype open = arguments.indexOf(QStringLiteral(", ["));
  if ((op == "operator.getitem" || op == "operator.setitem") && open >= 0) {
    const qsizetype close = arguments.lastIndexOf(']');
    arguments.replace(close, 1, QStringLiteral(",)"));
    arguments.replace(open + 2, 1, QStringLiteral("("));
  }
  return QStringLiteral("%1(%2)").arg(callee(op), arguments);
}

}  // namespace

QString graphText(const SessionData& data, Id graph, const std::set<Id>& taken) {
  QStringList lines;
  for (const NodeRow& node : data.nodes.of(graph))
    if (taken.contains(node.id))
      lines << QStringLiteral("%1 = %2(%3) : %4").arg(s(node.name), s(node.op), s(node.detail), s(node.type));
  return lines.join('\n');
}

QString graphDot(const SessionData& data, const GraphRow& graph, const std::set<Id>& taken) {
  QStringList lines;
  for (const NodeRow& node : data.nodes.of(graph.id))
    if (taken.contains(node.id))
      lines << QStringLiteral("  \"%1\" [label=\"%1\\n%2\"];").arg(s(node.name), s(node.type));
  auto name = [&](Id id) { return s(data.nodes.find(id)->name); };
  for (const EdgeRow& edge : data.edges.of(graph.id))
    if (taken.contains(edge.src) && taken.contains(edge.dst))
      lines << QStringLiteral("  \"%1\" -> \"%2\";").arg(name(edge.src), name(edge.dst));
  return QStringLiteral("digraph \"%1\" {\n%2\n}").arg(s(graph.stage), lines.join('\n'));
}

QString graphPython(const SessionData& data, const GraphRow& graph, const std::set<Id>& taken) {
  std::set<QString> several;
  std::set<Id> made, read, returned;
  for (const NodeRow& node : data.nodes.of(graph.id)) {
    if (hasSeveral(s(node.type))) several.insert(s(node.name));
    if (taken.contains(node.id) && node.kind == "op") made.insert(node.id);
  }
  QStringList parameters, lines, results;
  std::set<Id> named;
  for (const EdgeRow& edge : data.edges.of(graph.id)) {
    if (!made.contains(edge.dst)) continue;
    read.insert(edge.src);
    if (!made.contains(edge.src)) named.insert(edge.src);
  }
  for (const EdgeRow& edge : data.edges.of(graph.id))
    if (made.contains(edge.src) && !made.contains(edge.dst)) returned.insert(edge.src);
  const ArgumentText arguments(several);
  for (const NodeRow& node : data.nodes.of(graph.id)) {
    const QString name = pythonName(s(node.name));
    if (named.contains(node.id)) parameters << name;
    if (!made.contains(node.id)) continue;
    lines << QStringLiteral("    %1 = %2  # %3")
                 .arg(name, called(s(node.op), arguments.python(s(node.detail))), s(node.type));
    if (returned.contains(node.id) || !read.contains(node.id)) results << name;
  }
  if (lines.isEmpty()) return {};
  lines << QStringLiteral("    return ") + results.join(QStringLiteral(", "));
  return QStringLiteral("import operator\n\nimport torch\n\n\ndef %1(%2):\n%3\n")
      .arg(pythonName(s(graph.stage)), parameters.join(QStringLiteral(", ")), lines.join('\n'));
}

}  // namespace vitrine::views
