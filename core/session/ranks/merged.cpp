#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "core/session/ranks/ranks.h"
#include "core/session/writer.h"

namespace vitrine::session {

namespace fs = std::filesystem;

namespace {

// All rows of a session as they are; what they say in blobs is stored anew.
class WholeCopy {
 public:
  WholeCopy(const Reader& from, Writer& to) : from_(from), to_(to) {}

  template <class Row>
  void table() {
    for (Row row : from_.all<Row>()) {
      Row::each(row, [&](const char*, auto& field) { take(field); });
      to_.put(row);
    }
  }

 private:
  template <class T>
  static void take(T&) {}
  void take(BlobRef& blob) {
    if (blob.row) blob = to_.blob(from_.text(blob));
  }

  const Reader& from_;
  Writer& to_;
};

template <>
void WholeCopy::table<BlobRow>() {}

template <>
void WholeCopy::table<MetaRow>() {
  for (const MetaRow& row : from_.all<MetaRow>())
    if (row.key != "writer") to_.meta(row.key, row.value);
}

// What is added to the copy: ids go on behind those that are there.
class RankRows {
 public:
  RankRows(const Reader& first, Writer& to) : to_(to) {
    for (const RunRow& run : first.all<RunRow>()) run_ = run.id;
    for (const LaneRow& lane : first.all<LaneRow>()) {
      lanes_ = std::max(lanes_, lane.id);
      if (lane.run == run_) ordinal_ = std::max(ordinal_, lane.ordinal);
    }
    for (const NameRow& name : first.all<NameRow>()) names_ = std::max(names_, name.id);
    for (const MessageRow& message : first.all<MessageRow>())
      messages_ = std::max(messages_, seq_of(message.id));
  }

  void lane_of(const Rank& rank) {
    std::vector<Piece> pieces;
    for (const RankCall& call : rank.calls)
      pieces.push_back({call.start, call.duration, call.compilation,
                        (call.compiles ? "compile " : "") + call.program, "opaque"});
    add_lane("rank " + std::to_string(rank.number), pieces);
  }

  void lane_of(const std::vector<RankSkew>& skews) {
    std::vector<Piece> pieces;
    for (const RankSkew& skew : skews)
      pieces.push_back({skew.start, skew.ns(), 0, "rank " + std::to_string(skew.last) + " is last", ""});
    add_lane("skew", pieces);
  }

  void message_of(const Rank& rank, int64_t first) {
    static constexpr const char* kHas[] = {"it has ", "it lacks ", ""};  // by SessionChange::Sign
    // What is compiled for a rank's own number, and is the same program, is no problem.
    const bool guards_alone = std::ranges::all_of(
        rank.differs, [](const SessionChange& c) { return c.what == SessionChange::What::Guard; });
    for (const SessionChange& change : rank.differs) {
      MessageRow row;
      row.id = make_id(Kind::Message, ++messages_);
      row.run = run_;
      row.severity = guards_alone ? "info" : "warning", row.origin = "user";
      row.text = "rank " + std::to_string(rank.number) + " was compiled otherwise than rank " +
                 std::to_string(first) + ": " + kHas[static_cast<size_t>(change.sign)] +
                 std::string(word_of(change.what)) + " " + change.text;
      if (!change.where.empty()) row.text += ", in " + change.where;
      for (const RankCall& call : rank.calls)
        if (call.program == change.where && call.compilation) row.entity = call.compilation;
      if (!change.before.empty() || !change.after.empty())
        row.detail = "rank " + std::to_string(first) + ": " + change.before + "\nrank " +
                     std::to_string(rank.number) + ": " + change.after;
      if (!change.reason.empty()) row.detail += (row.detail.empty() ? "" : "\n") + change.reason;
      if (!guards_alone)
        row.hint = "Ranks that run different programs wait for each other, or never meet in a collective.";
      to_.put(row);
    }
  }

 private:
  struct Piece {
    int64_t start, duration;
    Id entity;
    std::string name, family;
  };

  int32_t name_of(const std::string& text, const std::string& family) {
    const auto [at, fresh] = known_.try_emplace(text, names_ + 1);
    if (fresh) to_.put(NameRow{++names_, text, family});
    return static_cast<int32_t>(at->second);
  }

  void add_lane(const std::string& label, const std::vector<Piece>& pieces) {
    std::vector<int64_t> start, duration, entity, relation(pieces.size());
    std::vector<int32_t> name;
    std::vector<int8_t> depth;
    std::vector<int64_t> ends;  // of what is open: calls may be within calls
    for (const Piece& piece : pieces) {
      while (!ends.empty() && ends.back() <= piece.start) ends.pop_back();
      depth.push_back(static_cast<int8_t>(std::min<size_t>(ends.size(), 100)));
      ends.push_back(piece.start + piece.duration);
      start.push_back(piece.start), duration.push_back(piece.duration);
      entity.push_back(piece.entity), name.push_back(name_of(piece.name, piece.family));
    }
    LaneRow row;
    row.id = ++lanes_, row.run = run_, row.ordinal = ++ordinal_;
    row.side = "compiled", row.kind = "rank", row.label = label;
    row.count = static_cast<int64_t>(pieces.size());
    row.start = to_.column(start), row.duration = to_.column(duration), row.name = to_.column(name);
    row.entity = to_.column(entity), row.depth = to_.column(depth), row.relation = to_.column(relation);
    to_.put(row);
  }

  Writer& to_;
  Id run_ = 0;
  int64_t lanes_ = 0, ordinal_ = 0, names_ = 0, messages_ = 0;
  std::map<std::string, int64_t> known_;
};

Status write_into(const Reader& first, const Ranks& ranks, const std::string& path) {
  auto created = Writer::create(path);
  if (!created) return created.error();
  Writer& to = *created.value();
  try {
    WholeCopy copy(first, to);
#define X(Row) copy.table<Row>();
    VITRINE_TABLES(X)
#undef X
    RankRows rows(first, to);
    for (const Rank& rank : ranks.ranks) {
      rows.lane_of(rank);
      if (&rank != &ranks.ranks.front()) rows.message_of(rank, ranks.ranks.front().number);
    }
    if (!ranks.skews.empty()) rows.lane_of(ranks.skews);
    to.meta("ranks", std::to_string(ranks.ranks.size()));
    to.meta("rank", "");
    to.finish(first.meta("status"));
  } catch (const InternalError& error) {  // the disk is full
    return Error{error.what(), "", path};
  }
  return {};
}

}  // namespace

Status write_merged(const std::vector<std::string>& paths, const std::string& to) {
  auto ranks = read_ranks(paths);
  if (!ranks) return ranks.error();
  std::error_code ignored;
  for (const std::string& path : paths)
    if (fs::equivalent(path, to, ignored))
      return Error{"The merged session would take the place of one of its parts.", "Name another file.", to};
  if (fs::exists(to, ignored) && !Reader::open(to).ok())
    return Error{to + " exists and is not a Vitrine session; it is left as it is.", "Name another file.", to};
  // What is written here counts as recorded here.
  for (const std::string& path : paths)
    if (auto part = Reader::open(path); !part || !part.value()->trusted())
      return Error{"One of the sessions was recorded elsewhere.",
                   "If you trust it, say so by `vitrine trust " + path + "`.", path};
  auto first = Reader::open(ranks.value().ranks.front().path);
  if (!first) return first.error();
  std::string name = (fs::absolute(to, ignored).parent_path() / ".vitrine-ranks-XXXXXX").string();
  const int made = mkstemp(name.data());
  if (made < 0)
    return Error{std::string("The merged session cannot be written: ") + std::strerror(errno),
                 "Name another place.", to};
  close(made);
  if (Status failed = write_into(*first.value(), ranks.value(), name)) {
    fs::remove(name, ignored);
    return failed;
  }
  fs::rename(name, to, ignored);
  if (ignored) {
    const std::string why = ignored.message();
    fs::remove(name, ignored);
    return Error{"The merged session cannot be written: " + why + ".", "Name another place.", to};
  }
  return {};
}

}  // namespace vitrine::session
