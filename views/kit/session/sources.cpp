#include "views/kit/session/sources.h"

#include <string_view>

#include <QRegularExpression>
#include <vector>

#include "core/session/source_text.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

namespace {

using namespace session;

constexpr std::string_view kModules = ".__dict__['_modules']['";
constexpr int kMostStack = 40;  // letters of an expression that stands for a value on the stack

// What the loops iterate over that are open at an instruction, outermost first: their iterators are the
// bottom of its stack, unless a with statement has put something there too.
std::vector<QString> open_loops(const SessionData& data, Id code, int64_t pc) {
  std::vector<QString> out;
  const auto all = data.instructions.of(code);
  Id iterated = 0;  // the expression before the last GET_ITER
  for (size_t i = 0; i < all.size() && all[i].pc < pc; ++i) {
    if (all[i].op == "BEFORE_WITH" || all[i].op == "BEFORE_ASYNC_WITH") return {};
    if (all[i].op == "GET_ITER" && i > 0) iterated = all[i - 1].span;
    if (all[i].op == "FOR_ITER" && all[i].target > pc) out.push_back(spanText(data, iterated, kMostStack));
  }
  return out;
}

// By their number from the bottom; nothing where no expression says it.
QString stack_value(const SessionData& data, const SegmentRow& segment, int64_t index) {
  const FrameRow* frame = data.frames.find(segment.frame);
  const InstructionRow* at = data.instructions.find(segment.instruction);
  if (!frame || !at) return {};
  const std::vector<QString> loops = open_loops(data, frame->code, at->pc);
  if (index < static_cast<int64_t>(loops.size())) {
    const QString& iterated = loops[static_cast<size_t>(index)];
    return iterated.isEmpty() ? QString() : QStringLiteral("iter(%1)").arg(iterated);
  }
  if (index + 1 != segment.depth) return {};
  for (const BreakRow& row : data.breaks)
    if (row.next_segment == segment.id)
      return shortenedText(QString::fromStdString(row.expression), kMostStack);
  return {};
}

}  // namespace

QString sourceText(const SessionData& data, Id compilation, const std::string& recorded) {
  QString out = sourceText(recorded);
  static const QRegularExpression stack(QStringLiteral("\\bS\\[(\\d+)\\]"));
  const CompilationRow* row = data.compilations.find(compilation);
  const SegmentRow* segment = row ? data.segments.find(row->segment) : nullptr;
  for (auto found = stack.match(out); segment && found.hasMatch();) {
    const QString value = stack_value(data, *segment, found.captured(1).toLongLong());
    if (!value.isEmpty()) out.replace(found.capturedStart(), found.capturedLength(), value);
    found = stack.match(out, found.capturedStart() + std::max<qsizetype>(1, value.size()));
  }
  return out;
}

QString sourceText(const std::string& recorded) {
  return QString::fromStdString(session::source_text(recorded));
}

std::string modulePart(const std::string& recorded) {
  const size_t last = recorded.rfind(kModules);
  if (last == std::string::npos) return recorded;
  const size_t end = recorded.find("']", last + kModules.size());
  return end == std::string::npos ? recorded : recorded.substr(0, end + 2);
}

std::map<std::string, QString> moduleClasses(const SessionData& data, Id compilation) {
  std::map<std::string, QString> out;
  for (const session::GuardRow& guard : data.guards.of(compilation)) {
    if (guard.kind != "type" || guard.expected.size() < 3 || modulePart(guard.source) != guard.source)
      continue;
    std::string path;
    for (size_t at = guard.source.find(kModules); at != std::string::npos;) {
      const size_t from = at + kModules.size(), end = guard.source.find("']", from);
      if (end == std::string::npos) break;
      path += (path.empty() ? "" : ".") + guard.source.substr(from, end - from);
      at = guard.source.find(kModules, end);
    }
    if (!path.empty()) out.try_emplace(path, QString::fromStdString(guard.expected).section(' ', 1));
  }
  return out;
}

Id spanNear(const SessionData& data, Id id) {
  constexpr size_t kFarthest = 2000;
  std::vector<Id> open{id};
  std::unordered_set<Id> seen{id};
  for (size_t i = 0; id && i < open.size() && i < kFarthest; ++i) {
    if (kind_of(open[i]) == Kind::Span) return open[i];
    if (const session::NodeRow* node = data.nodes.find(open[i]); node && node->span) return node->span;
    for (const Id origin : data.links.origins(open[i]))
      if (kind_of(origin) != Kind::Decision && seen.insert(origin).second) open.push_back(origin);
  }
  return 0;
}

}  // namespace vitrine::kit
