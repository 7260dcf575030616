#include "app/shell/document/find_entity.h"

#include <QStringList>
#include <algorithm>
#include <unordered_map>

#include "core/session/stages.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/run_times.h"

namespace vitrine::app {

using kit::SessionData;

namespace {

QString s(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

class Search {
 public:
  Search(const SessionData& session, const QString& text, const std::string& stage)
      : d_(session), text_(text.trimmed()), stage_(stage) {}

  std::vector<FoundEntity> run() {
    for (const auto& row : d_.kernels) add(row.id, of("kernel", row.compilation), "kernel", 6);
    for (const auto& graph : d_.graphs) addNodes(graph);
    for (const auto& row : d_.decisions) add(row.id, "fusion decision", "layers", 1);
    for (const auto& row : d_.breaks) add(row.id, "graph break", "scissors", 4);
    for (const auto& row : d_.guards) add(row.id, of("guard", row.compilation), "guard", 2);
    for (const auto& row : d_.compilations) add(row.id, "compilation", "graph", 3);
    for (const auto& row : d_.launches) add(row.id, of("launch", row.compilation), "launch", 1);
    for (const auto& row : d_.frames) add(row.id, "frame", "function", 3);
    for (const auto& row : d_.spans) addSpan(row);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FoundEntity& a, const FoundEntity& b) { return a.score > b.score; });
    return std::move(found_);
  }

 private:
  // "kernel of 0/0 backward": each compilation of a run counts its kernels from 0.
  QString of(const char* what, Id compilation) {
    const auto [at, made] = names_.try_emplace(compilation);
    if (made && d_.compilations.size() > 1) at->second = " of " + kit::compilationName(d_, compilation);
    return QString::fromLatin1(what) + at->second;
  }
  // Only a stage's last snapshot: earlier ones hold the same nodes.
  void addNodes(const session::GraphRow& graph) {
    const auto* last = d_.lastGraph(graph.compilation, graph.stage);
    if (!last || last->id != graph.id) return;
    const int bonus = graph.stage == stage_ ? 9 : graph.stage == "optimised" ? 5 : 3;
    for (const auto& node : d_.nodes.of(graph.id)) {
      if (node.kind == "output") continue;
      const kit::NodeFamily family = kit::familyOf(node.family);
      add(node.id, s(graph.stage), family == kit::NodeFamily::None ? "graph" : kit::familyIcon(family),
          bonus);
    }
  }
  void addSpan(const session::SpanRow& row) {
    if (!text_.startsWith(d_.place(row.id)) && text_ != s(std::to_string(row.line))) return;
    // Of those that begin at a place, the widest is the one a person points at.
    const int64_t width = row.end_line > row.line ? 40 : row.end_col - row.col;
    add(row.id, d_.fileName(row.file), "file",
        row.col == 0 ? 0 : static_cast<int>(std::min<int64_t>(9, width / 5)));
  }
  void add(Id id, const QString& context, const QString& icon, int bonus) {
    const QString label = d_.label(id);
    const int score = matchScore(text_, label);
    if (score) found_.push_back({id, label, context, icon, score * 10 + bonus});
  }

  const SessionData& d_;
  QString text_;
  std::string stage_;
  std::unordered_map<Id, QString> names_;  // of compilations, as contexts end
  std::vector<FoundEntity> found_;
};

}  // namespace

int matchScore(const QString& text, const QString& label) {
  if (text.isEmpty()) return 1;
  // Most labels do not hold it: a large session has a million of them.
  if (const qsizetype at = label.indexOf(text, 0, Qt::CaseInsensitive); at >= 0) {
    if (label.size() == text.size()) return 100;
    for (const QString& word : label.split(' '))
      if (word.compare(text, Qt::CaseInsensitive) == 0) return 90;
    if (at == 0) return 70;
    return label[at - 1].isLetterOrNumber() ? 40 : 55;
  }
  // Letter by letter: the next one follows, or begins another word. Letters from anywhere would find
  // anything.
  qsizetype from = -1;
  int gaps = 0;
  for (QChar c : text) {
    if (c.isSpace()) continue;
    auto is = [&](qsizetype i) { return label[i].toCaseFolded() == c.toCaseFolded(); };
    if (from >= 0 && from < label.size() && is(from)) {
      ++from;
      continue;
    }
    qsizetype next = std::max<qsizetype>(from, 0);
    while (next < label.size() && !(is(next) && (next == 0 || !label[next - 1].isLetterOrNumber()))) ++next;
    if (next == label.size()) return 0;
    gaps += from >= 0;
    from = next + 1;
  }
  return std::max(1, 30 - gaps * 4);
}

std::vector<FoundEntity> findEntities(const SessionData& session, const QString& text,
                                      const std::string& stage, size_t most) {
  auto found = Search(session, text, stage).run();
  if (found.size() > most) found.resize(most);
  return found;
}

Id findEntity(const SessionData& session, const QString& text, const std::string& stage) {
  bool number = false;
  if (const Id id = text.toLongLong(&number); number && kind_of(id) != Kind::None) return id;
  const QStringList parts = text.split(' ');
  if (parts.size() == 2)
    for (int kind = 1; kind <= static_cast<int>(Kind::Message); ++kind)
      if (const Id seq = parts[1].toLongLong(); seq && parts[0] == s(kind_table(static_cast<Kind>(kind))))
        return make_id(static_cast<Kind>(kind), seq);
  const auto found = findEntities(session, text, stage, 1);
  return found.empty() || found.front().score < 400 ? 0 : found.front().id;
}

}  // namespace vitrine::app
