#include "views/kit/session/missing.h"

#include <QStringList>
#include <algorithm>

namespace vitrine::kit {

using namespace session;

namespace {

QString sentence(const std::string& text) {
  QString out = QString::fromStdString(text).trimmed();
  if (out.isEmpty()) return out;
  out[0] = out[0].toUpper();
  return out.endsWith('.') ? out : out + '.';
}

bool ofTraining(std::string_view stage) {
  return stage == "joint" || stage == "forward" || stage == "backward";
}

// What became of the run, where it did not finish or nothing came of it.
QString ofRun(const SessionData& data, const RunRow& run) {
  if (run.status == "running") return QStringLiteral("The run has not come to it yet.");
  if (run.status == "died") return QStringLiteral("The engine ended before it.");
  if (run.status == "failed") return QStringLiteral("The run failed before it.");
  if (run.status == "cancelled") return QStringLiteral("The run was cancelled before it.");
  // Another tool's record may be silent on what was compiled.
  if (data.compilations.empty())
    return data.imported() ? QStringLiteral("What was imported holds none.")
                           : QStringLiteral("Nothing was compiled in this run.");
  return {};
}

}  // namespace

bool isWholeStep(const SessionData& data, Id compilation) {
  for (const GraphRow& graph : data.graphs.of(compilation))
    if (graph.stage == "captured")
      for (const NodeRow& node : data.nodes.of(graph.id))
        if (node.op == "Tensor.backward" || node.op == "torch.autograd.grad") return true;
  return false;
}

NextAct nextAct(const SessionData* data) {
  return data ? NextAct() : NextAct{QStringLiteral("Open a file… (Ctrl+O)"), QStringLiteral("file.open")};
}

const MessageRow* errorOf(const SessionData& data, const RunRow& run) {
  if (run.status != "failed" && run.status != "died") return nullptr;
  for (const MessageRow& row : data.messages)
    if (row.severity == "error" && (!row.run || row.run == run.id)) return &row;
  return nullptr;
}

QString ownFrames(const std::string& traceback) {
  QStringList kept;
  bool own = false, any = false;
  for (const QString& line : QString::fromStdString(traceback).split('\n')) {
    const QString bare = line.trimmed();
    if (line.startsWith(QStringLiteral("  File "))) {
      own = !bare.contains(QStringLiteral("-packages/")) && !bare.contains(QStringLiteral("\"<frozen"));
      any = any || own;
    } else if (!line.startsWith(' ')) {
      own = !bare.isEmpty() && !bare.startsWith(QStringLiteral("Traceback"));
    } else if (!bare.isEmpty() && bare.count('^') + bare.count('~') == bare.size()) {
      continue;  // marks below the line; the text is not in its columns
    }
    if (own) kept << (line.startsWith(QStringLiteral("    ")) ? QStringLiteral("  ") + bare : bare);
  }
  return any ? kept.join('\n') : QString::fromStdString(traceback).trimmed();
}

QString whyMissing(const SessionData& data, Id compilation, std::string_view stage) {
  const CompilationRow* row = data.compilations.find(compilation);
  if (!row) return data.runs.empty() ? QString() : ofRun(data, data.runs[0]);
  for (const StageRow& s : data.stages.of(compilation))
    if (s.name == stage && s.state != "ok" && !s.note.empty()) return sentence(s.note);
  const QString label = data.label(compilation);
  QString name = label;  // which begins the sentence
  if (!name.isEmpty()) name[0] = name[0].toUpper();
  if (row->status == "no_graph")
    return QStringLiteral("%1 holds no tensor operation%2.")
        .arg(name, row->end == "break" ? QStringLiteral(": it ends with a graph break before the first one")
                                       : QString());
  if (row->status == "cancelled") return QStringLiteral("%1 was cancelled before.").arg(name);
  if (!row->message.empty()) return sentence(row->message);
  if (const RunRow* run = data.runs.find(data.runOf(compilation)))
    if (const QString why = ofRun(data, *run); !why.isEmpty()) return why;
  if (data.imported())
    return QStringLiteral("What was imported holds none%1.")
        .arg(stage == "joint" || stage == "backward" ? QStringLiteral(" for %1").arg(label) : QString());
  if (ofTraining(stage) && isWholeStep(data, compilation))
    return QStringLiteral(
               "%1 is a whole training step: forward, backward and the update are one graph, from "
               "Captured to Fused.")
        .arg(name);
  if (ofTraining(stage) && data.crossings.of(data.forwardOf(compilation)).empty())
    return QStringLiteral("No gradient was asked for.");
  return {};
}

}  // namespace vitrine::kit
