#include "views/tables/recompilation_diff.h"
#include "views/tables/cells.h"

#include <QStringList>
#include <algorithm>
#include <map>

#include "core/session/speed_up.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/symbolic_types.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

constexpr size_t kMostLines = 6;

// "− text" or "+ text" on the soft colour of what it means.
QString line(bool added, const QString& text) {
  const Theme& t = theme();
  return QStringLiteral("<span style=\"background-color:%1;color:%2\">&nbsp;%3&nbsp;</span> <code>%4</code>")
      .arg((added ? t.softOk : t.softErr).name(), (added ? t.ok : t.err).name(),
           added ? QStringLiteral("+") : QString(QChar(0x2212)), text.toHtmlEscaped());
}

QString arrow(const QString& before, const QString& after) {
  return QStringLiteral("<code>%1</code> → <code>%2</code>")
      .arg(before.toHtmlEscaped(), after.toHtmlEscaped());
}

using Lines = std::vector<std::string>;

// What only one of them has, in its order; the number both have.
QString diff(const Lines& before, const Lines& after, const char* one, const char* many = nullptr) {
  std::multimap<std::string, int> left;
  for (const std::string& text : before) left.emplace(text, 0);
  Lines added;
  int64_t same = 0;
  for (const std::string& text : after) {
    auto it = left.find(text);
    if (it == left.end()) {
      added.push_back(text);
    } else {
      left.erase(it);
      ++same;
    }
  }
  QStringList out;
  for (const std::string& text : before)
    if (auto it = left.find(text); it != left.end()) {
      out << line(false, q(text));
      left.erase(it);
    }
  for (const std::string& text : added) out << line(true, q(text));
  const qsizetype more = out.size() - static_cast<qsizetype>(kMostLines);
  if (more > 0) out = out.mid(0, kMostLines) << QStringLiteral("%1 more").arg(more);
  if (same) out << countText(same, one, many) + QStringLiteral(" the same");
  return out.join(QStringLiteral("<br>"));
}

// " is " and the like between a guard's source and what is expected of it, where that has no verb.
const char* verb_before(const std::string& expected) {
  if (expected.starts_with("is ") || expected.starts_with("has ")) return " ";
  if (expected.find(" is ") != std::string::npos) return ": ";
  for (const char* noun : {"length ", "no ", "nothing ", "at least "})
    if (expected.starts_with(noun)) return " has ";
  const auto first = static_cast<unsigned char>(expected[0]);
  const bool operates = std::ispunct(first) && first != '[' && first != '(' && first != '\'' && first != '"';
  return operates ? " " : " is ";
}

Lines guards(const SessionData& data, Id compilation) {
  Lines out;
  for (const GuardRow& row : data.guards.of(compilation)) {
    const std::string source = sourceText(data, compilation, row.source).toStdString();
    const bool bare = row.expected.empty() || row.source.find(row.expected) != std::string::npos;
    out.push_back(bare ? source : source + verb_before(row.expected) + row.expected);
  }
  return out;
}

Lines kernels(const SessionData& data, Id compilation) {
  Lines out;
  for (const KernelRow& row : data.kernels.of(compilation))
    out.push_back(row.name + (row.space.empty() ? "" : ", " + row.space));
  return out;
}

// Kernels of one name, in order, whose space is another one now; then those that only one of them has.
QString kernels_changed(const SessionData& data, Id before, Id after) {
  const SymbolicTypes sizes(data, before, after);
  const auto old = data.kernels.of(before), now = data.kernels.of(after);
  bool pairs = old.size() == now.size() && !old.empty();
  for (size_t i = 0; pairs && i < old.size(); ++i) pairs = old[i].name == now[i].name;
  if (!pairs) return diff(kernels(data, before), kernels(data, after), "kernel");
  QStringList out;
  int64_t same = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    const std::string space = sizes.text(old[i].space, now[i].space);
    if (space == old[i].space)
      ++same;
    else
      out << QStringLiteral("<code>%1</code>&nbsp; ").arg(q(now[i].name).toHtmlEscaped()) +
                 arrow(q(old[i].space), q(space));
  }
  const qsizetype more = out.size() - static_cast<qsizetype>(kMostLines);
  if (more > 0) out = out.mid(0, kMostLines) << QStringLiteral("%1 more").arg(more);
  if (same) out << countText(same, "kernel") + QStringLiteral(" the same");
  return out.join(QStringLiteral("<br>"));
}

// Nodes of the same name and operator whose type is another, then those that only one graph has.
QString graph(const SessionData& data, Id before, Id after) {
  const GraphRow *old = data.lastGraph(before, "captured"), *now = data.lastGraph(after, "captured");
  if (!old || !now) return {};
  const SymbolicTypes sizes(data, before, after);
  std::map<std::string, const NodeRow*> by_name;
  Lines left, right;
  for (const NodeRow& node : data.nodes.of(old->id)) by_name[node.name + " " + node.op] = &node;
  QStringList changed;
  int64_t same = 0;
  for (const NodeRow& node : data.nodes.of(now->id)) {
    auto it = by_name.find(node.name + " " + node.op);
    if (it == by_name.end()) {
      if (node.kind == "op") right.push_back(node.name + ": " + node.type);
      continue;
    }
    const std::string& type = it->second->type;
    const std::string symbolic =
        node.kind == "op" ? sizes.text(type, node.type) : sizes.input(node.detail, node.type);
    if (type != symbolic)
      changed << QStringLiteral("<code>%1</code>&nbsp; ").arg(q(node.name).toHtmlEscaped()) +
                     arrow(data.type(type), data.type(symbolic));
    else
      same += node.kind == "op";
    by_name.erase(it);
  }
  for (const NodeRow& node : data.nodes.of(old->id))
    if (node.kind == "op" && by_name.contains(node.name + " " + node.op))
      left.push_back(node.name + ": " + node.type);
  QStringList out = changed.mid(0, 2);
  if (changed.size() > 2) out << QStringLiteral("%1 more with the same change").arg(changed.size() - 2);
  if (const QString others = diff(left, right, "node"); !others.isEmpty()) out << others;
  if (same) out << countText(same, "node") + QStringLiteral(" the same");
  return out.join(QStringLiteral("<br>"));
}

Timed launched(const SessionData& data, Id compilation) {
  Timed out;
  for (const LaunchRow& row : data.launches.of(compilation)) {
    if (row.median_ns <= 0) continue;
    out.calls = out.ns > 0 ? std::min(out.calls, row.calls) : row.calls;
    out.ns += row.median_ns, out.lower_ns += row.lower_ns, out.upper_ns += row.upper_ns;
  }
  return out;
}

constexpr double kManyTimes = 10;  // from there on a factor says more than percent

QString times(const SessionData& data, Id before, Id after) {
  const CompilationRow *old = data.compilations.find(before), *now = data.compilations.find(after);
  if (!old || !now) return {};
  QStringList out;
  auto add = [&](const char* what, double a, double b) {
    if (a > 0 && b > 0) out << QString::fromUtf8(what) + ' ' + arrow(timeText(a), timeText(b));
    return a > 0 && b > 0;
  };
  auto by = [](double a, double b) {
    return b < kManyTimes * a ? signedText(percentText(std::abs(b / a - 1)), b - a) : ratioText(b / a);
  };
  add("compile", static_cast<double>(old->duration_ns), static_cast<double>(now->duration_ns));
  // The first call of a compilation is no measure of the others, and calls that scatter are none of a
  // difference.
  if (old->calls <= 1 || now->calls <= 1) return out.join(QStringLiteral(", "));
  const Timed a = launched(data, before), b = launched(data, after);
  const std::string words = against_words(a, b);
  if (add("a call", a.ns, b.ns) && !words.empty())
    out.last() += QStringLiteral(" (%1)").arg(words.ends_with("×") ? by(a.ns, b.ns) : q(words));
  return out.join(QStringLiteral(", "));
}

}  // namespace

std::vector<QPair<QString, QString>> recompilation_diff(const SessionData& data, Id before, Id after) {
  std::vector<QPair<QString, QString>> out{
      {QStringLiteral("guards"), diff(guards(data, before), guards(data, after), "guard")},
      {QStringLiteral("graph"), graph(data, before, after)},
      {QStringLiteral("kernels"), kernels_changed(data, before, after)},
      {QStringLiteral("times"), times(data, before, after)},
  };
  std::erase_if(out, [](const auto& part) { return part.second.isEmpty(); });
  return out;
}

}  // namespace vitrine::views
