#include "app/shell/document/find_entity.h"

#include <QStringList>
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/session/stages.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::app {

using kit::SessionData;

namespace {

// A match before it is put into words: of a million there are many, and few are shown.
struct EntityMatch {
  int score = 0;
  size_t order = 0;
  Id id = 0;
  const session::GraphRow* graph = nullptr;  // of a node
};

class Search {
 public:
  Search(const SessionData& session, const QString& text, const std::string& stage)
      : d_(session), text_(text.trimmed()), stage_(stage) {}

  std::vector<FoundEntity> run(size_t most) {
    for (const auto& row : d_.kernels) add(row.id, 6, scoreOf(row.label + " " + row.name));
    for (const auto& graph : d_.graphs) addNodes(graph);
    addDecisions();
    for (const auto& row : d_.breaks) add(row.id, 4);
    for (const auto& row : d_.guards) addGuard(row);
    for (const auto& row : d_.compilations) add(row.id, 3);
    for (const auto& row : d_.launches) add(row.id, 1, scoreOf(row.text));
    for (const auto& row : d_.frames) add(row.id, 3);
    addSpans();
    const auto better = [](const EntityMatch& a, const EntityMatch& b) {
      return std::tuple(-a.score, a.order) < std::tuple(-b.score, b.order);
    };
    const size_t shown = std::min(most, matches_.size());
    std::partial_sort(matches_.begin(), matches_.begin() + static_cast<ptrdiff_t>(shown), matches_.end(),
                      better);
    std::vector<FoundEntity> out;
    for (size_t i = 0; i < shown; ++i) out.push_back(inWords(matches_[i]));
    return out;
  }

 private:
  // Each text once: a node's stands in all of its snapshots, and those of a session are few.
  int scoreOf(const std::string& label) {
    const auto [at, made] = scores_.try_emplace(label);
    if (made) at->second = matchScore(text_, s(label));
    return at->second;
  }
  int scoreOf(const SharedText& label) {
    const auto [at, made] = shared_.try_emplace(label.data());
    if (made) at->second = matchScore(text_, s(label));
    return at->second;
  }
  // Only a stage's last snapshot: earlier ones hold the same nodes.
  void addNodes(const session::GraphRow& graph) {
    const auto* last = d_.lastGraph(graph.compilation, graph.stage);
    if (!last || last->id != graph.id) return;
    const int bonus = graph.stage == stage_ ? 9 : graph.stage == "optimised" ? 5 : 3;
    for (const auto& node : d_.nodes.of(graph.id)) {
      const int score = node.kind != "output" ? scoreOf(node.name) : 0;
      if (!score) continue;
      add(node.id, bonus, score, &graph);
      matched_.insert(node.id);
    }
  }
  // A pair is found by either of its names, and by both as it is written.
  void addDecisions() {
    const bool whole = text_.contains(QChar(0x2192));
    if (!whole && matched_.empty()) return;
    for (const auto& row : d_.decisions)
      if (whole || matched_.contains(row.a) || matched_.contains(row.b)) add(row.id, 1);
  }
  void addGuard(const session::GuardRow& row) {
    // The same source in the same words, unless it stands for a value on the stack of its segment.
    if (row.source.find("S[") != std::string::npos) return add(row.id, 2);
    const auto [at, made] = shared_.try_emplace(row.source.data());
    if (made) at->second = matchScore(text_, d_.label(row.id));
    add(row.id, 2, at->second);
  }
  void addSpans() {
    if (text_.isEmpty() || !text_[0].isDigit()) return;
    for (const auto& row : d_.spans) {
      if (!text_.startsWith(d_.place(row.id)) && text_ != s(std::to_string(row.line))) continue;
      // Of those that begin at a place, the widest is the one a person points at.
      const int64_t width = row.end_line > row.line ? 40 : row.end_col - row.col;
      add(row.id, row.col == 0 ? 0 : static_cast<int>(std::min<int64_t>(9, width / 5)));
    }
  }
  void add(Id id, int bonus) { add(id, bonus, matchScore(text_, d_.label(id))); }
  void add(Id id, int bonus, int score, const session::GraphRow* graph = nullptr) {
    if (score) matches_.push_back({score * 10 + bonus, matches_.size(), id, graph});
  }

  // "kernel of 0/0 backward": each compilation of a run counts its kernels from 0.
  QString of(const char* what, Id id) const {
    const Id compilation = d_.compilationOf(id);
    if (d_.compilations.size() < 2 || !compilation) return QString::fromLatin1(what);
    return QString::fromLatin1(what) + " of " + kit::compilationName(d_, compilation);
  }
  FoundEntity inWords(const EntityMatch& hit) const {
    FoundEntity out{hit.id, d_.label(hit.id), {}, {}, hit.score};
    const auto is = [&](const QString& context, const char* icon) {
      out.context = context, out.icon = QString::fromLatin1(icon);
    };
    switch (kind_of(hit.id)) {
      case Kind::Kernel:
        is(of("kernel", hit.id), "kernel");
        break;
      case Kind::Decision:
        is(QStringLiteral("fusion decision"), "layers");
        break;
      case Kind::Break:
        is(QStringLiteral("graph break"), "scissors");
        break;
      case Kind::Guard:
        is(of("guard", hit.id), "guard");
        break;
      case Kind::Compilation:
        is(QStringLiteral("compilation"), "graph");
        break;
      case Kind::Launch:
        is(of("launch", hit.id), "launch");
        break;
      case Kind::Frame:
        is(QStringLiteral("frame"), "function");
        break;
      case Kind::Span:
        is(d_.fileName(d_.spans.find(hit.id)->file), "file");
        break;
      default: {
        const kit::NodeFamily family = kit::familyOf(d_.nodes.find(hit.id)->family);
        out.context = s(hit.graph->stage);
        out.icon = family == kit::NodeFamily::None ? QStringLiteral("graph") : kit::familyIcon(family);
      }
    }
    return out;
  }

  const SessionData& d_;
  QString text_;
  std::string stage_;
  std::unordered_map<std::string, int> scores_;
  std::unordered_map<const char*, int> shared_;  // by where a shared text stands
  std::unordered_set<Id> matched_;               // nodes
  std::vector<EntityMatch> matches_;
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
  return Search(session, text, stage).run(most);
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
