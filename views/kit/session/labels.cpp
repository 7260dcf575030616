#include "views/kit/session/labels.h"

#include "views/kit/session/session_data.h"
#include "views/kit/session/sources.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::kit {

using namespace session;

namespace {

// Bytes [col, end_col) of lines [line, end_line]; columns count UTF-8 bytes.
QByteArray slice(const std::string& text, const SpanRow& span) {
  size_t at = 0;
  for (int64_t line = 1; line < span.line && at != std::string::npos; ++line) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos) return {};
  size_t end = at;
  for (int64_t line = span.line; line < span.end_line && end != std::string::npos; ++line) {
    end = text.find('\n', end);
    if (end != std::string::npos) ++end;
  }
  if (end == std::string::npos) return {};
  const size_t from = at + static_cast<size_t>(span.col), to = end + static_cast<size_t>(span.end_col);
  if (from > to || to > text.size()) return {};
  return {text.data() + from, static_cast<qsizetype>(to - from)};
}

QString labelOfNode(const SessionData& d, Id id) {
  const NodeRow* row = d.nodes.find(id);
  return row ? s(row->name) : QString();
}

QString labelOfCapture(const SessionData& d, Id id) {
  switch (kind_of(id)) {
    case Kind::File:
      return d.fileName(id);
    case Kind::Span:
      return d.place(id) + QStringLiteral(" ") + spanText(d, id);
    case Kind::Code:
      if (const auto* row = d.codes.find(id)) return s(row->qualname).remove(QStringLiteral("<locals>."));
      return {};
    case Kind::Instruction:
      if (const auto* row = d.instructions.find(id)) return QString::number(row->pc) + " " + s(row->op);
      return {};
    case Kind::Frame:
      if (const auto* row = d.frames.find(id)) return labelOf(d, row->code);
      return {};
    case Kind::Segment:
      if (const auto* row = d.segments.find(id)) return QStringLiteral("segment %1").arg(row->ordinal);
      return {};
    case Kind::Compilation:
      if (const auto* row = d.compilations.find(id)) return QStringLiteral("compile ") + s(row->label);
      return {};
    case Kind::Step:
      if (const auto* row = d.steps.find(id)) return labelOf(d, row->instruction);
      return {};
    case Kind::Guard:
      if (const auto* row = d.guards.find(id)) return sourceText(d, row->compilation, row->source);
      return {};
    case Kind::Break:
      if (const auto* row = d.breaks.find(id)) return s(row->expression);
      return {};
    case Kind::Recompilation:
      if (const auto* row = d.recompilations.find(id)) return sourceText(d, row->compilation, row->failed);
      return {};
    default:
      return {};
  }
}

}  // namespace

int64_t callOf(const SessionData& data, const RecompilationRow& row) {
  if (row.call_of_place > 0) return row.call_of_place;
  const CompilationRow* made = data.compilations.find(row.compilation);
  int64_t number = 0;
  for (const CallRow& call : data.calls.of(data.runOf(row.compilation))) {
    const CompilationRow* of = data.compilations.find(call.compilation);
    if (!made || !of || of->segment != made->segment) continue;
    ++number;
    if (of == made) return number;
  }
  return row.call;
}

// "f(a, g(b))" -> "f(…)": the outermost brackets at the end are emptied.
QString shortenedText(QString text, int most) {
  text = text.simplified();
  if (text.size() <= most) return text;
  if (text.endsWith(')') || text.endsWith(']')) {
    int depth = 0;
    for (qsizetype i = text.size() - 1; i > 0; --i) {
      if (text[i] == ')' || text[i] == ']') ++depth;
      if (text[i] == '(' || text[i] == '[') --depth;
      if (depth == 0 && i + 2 <= most) return text.left(i + 1) + QChar(0x2026) + text.back();
      if (depth == 0) break;
    }
  }
  return text.left(most - 1) + QChar(0x2026);
}

QString spanText(const SessionData& data, Id id, int most) {
  const SpanRow* span = data.spans.find(id);
  const FileRow* file = span ? data.files.find(span->file) : nullptr;
  const Text text = file && data.texts ? data.texts->cached(file->text) : nullptr;
  return text ? shortenedText(QString::fromUtf8(slice(*text, *span)), most) : QString();
}

QString labelOf(const SessionData& d, Id id) {
  switch (kind_of(id)) {
    case Kind::Run:
      if (const auto* row = d.runs.find(id)) return s(row->label);
      return {};
    case Kind::Graph:
      if (const auto* row = d.graphs.find(id)) return s(row->pass.empty() ? row->stage : row->pass);
      return {};
    case Kind::Node:
      return labelOfNode(d, id);
    case Kind::Decision:
      if (const auto* row = d.decisions.find(id))
        return labelOfNode(d, row->a) + QStringLiteral(" → ") + labelOfNode(d, row->b);
      return {};
    case Kind::Kernel:
      if (const auto* row = d.kernels.find(id)) return s(row->label + " " + row->name);
      return {};
    case Kind::KernelRange:
      if (const auto* row = d.ranges.find(id)) {
        const auto* kernel = d.kernels.find(row->kernel);
        const QString lines = row->end_line > row->line
                                  ? QStringLiteral("%1–%2").arg(row->line).arg(row->end_line)
                                  : QString::number(row->line);
        return (kernel ? s(kernel->label) + " " : QString()) + lines;
      }
      return {};
    case Kind::Buffer:
      if (const auto* row = d.buffers.find(id)) return s(row->name);
      return {};
    case Kind::Launch:
      if (const auto* row = d.launches.find(id)) return s(row->text);
      return {};
    case Kind::Message:
      if (const auto* row = d.messages.find(id)) return s(row->text);
      return {};
    default:
      return labelOfCapture(d, id);
  }
}

}  // namespace vitrine::kit
