#include "core/session/ranks/ranks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace vitrine::session {

namespace {

std::optional<int64_t> number(const std::string& text) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return out;
}

// What a program's other ranks share with the first is no difference: these are what matters to it.
bool matters(const SessionChange& change) {
  using What = SessionChange::What;
  switch (change.what) {
    case What::Frame:
    case What::Break:
    case What::Recompilation:
    case What::Failure:
    case What::Graph:
    case What::Guard:
    case What::Fusion:
      return true;
    case What::Setting:
    case What::Environment:
    case What::Kernel:
    case What::Memory:
    case What::Output:
      break;
  }
  return false;
}

struct RankFile {
  std::unique_ptr<Reader> session;
  ComparedSession compared;
  std::string clock;
  int64_t began = 0;  // of its run, by that clock or by the time of the day
};

Result<RankFile> open_rank(const std::string& path, int64_t position, Rank& rank) {
  auto opened = Reader::open(path);
  if (!opened) return opened.error();
  RankFile out;
  out.session = opened.take();
  rank.path = path;
  rank.number = number(out.session->meta("rank")).value_or(position);
  out.compared = compared_session(*out.session);
  rank.status = out.compared.status;
  out.clock = out.session->meta("clock");
  return out;
}

// Of both clocks the one that all of them have.
void set_begins(std::vector<RankFile>& files, Ranks& out) {
  const std::string& first = files.front().clock;
  out.one_clock =
      !first.empty() && std::ranges::all_of(files, [&](const RankFile& f) { return f.clock == first; });
  for (RankFile& file : files) {
    const std::string key = out.one_clock ? "started_monotonic_ns" : "started_unix_ns";
    file.began = number(file.session->meta(key)).value_or(0);
    if (out.one_clock) continue;
    for (const RunRow& run : file.session->all<RunRow>()) file.began = run.started_unix_ns;
  }
}

std::map<Id, Id> same_as_first(const SessionDifference& difference) {
  std::map<Id, Id> out;
  for (const PairedProgram& pair : difference.paired) out[pair.after_id] = pair.before_id;
  return out;
}

std::vector<RankCall> calls_of(const RankFile& file, const std::map<Id, Id>& first) {
  std::map<Id, std::string> keys;
  for (const ComparedProgram& program : file.compared.programs) keys[program.id] = program.key;
  std::vector<RankCall> out;
  for (const CallRow& row : file.session->all<CallRow>("ORDER BY start_ns")) {
    const auto key = keys.find(row.compilation);
    if (row.duration_ns <= 0 || key == keys.end()) continue;
    const auto pair = first.find(row.compilation);
    const Id compilation = pair == first.end() ? 0 : pair->second;
    int64_t start = 0;
    if (!__builtin_add_overflow(file.began, row.start_ns, &start))
      out.push_back({key->second, compilation, row.kind == "compile", start, row.duration_ns});
  }
  return out;
}

void count_from_first_call(Ranks& out) {
  const std::vector<RankCall>& calls = out.ranks.front().calls;
  const int64_t first = calls.empty() ? 0 : calls.front().start;
  for (Rank& rank : out.ranks)
    for (RankCall& call : rank.calls)
      if (__builtin_sub_overflow(call.start, first, &call.start)) call.start = 0;
}

// The n-th call of a program on each rank is one and the same.
void add_skews(Ranks& out) {
  struct Met {
    RankSkew skew;
    std::set<int64_t> ranks;
  };
  std::map<std::pair<std::string, size_t>, Met> met;
  for (const Rank& rank : out.ranks) {
    std::map<std::string, size_t> calls;
    for (const RankCall& call : rank.calls) {
      const size_t which = calls[call.program]++;
      Met& m = met[{call.program, which}];
      const bool begins = m.ranks.empty();
      if (begins) m.skew = {call.program, which, call.start, call.start, rank.number, false};
      m.skew.start = std::min(m.skew.start, call.start);
      if (call.start >= m.skew.end) m.skew.end = call.start, m.skew.last = rank.number;
      m.skew.compiles = m.skew.compiles || call.compiles;
      m.ranks.insert(rank.number);
    }
  }
  for (const auto& [key, m] : met)
    if (m.ranks.size() == out.ranks.size()) out.skews.push_back(m.skew);
  std::ranges::stable_sort(out.skews, {}, &RankSkew::start);
}

std::string difference_line(const SessionChange& c) {
  static constexpr const char* kSigns[] = {"+", "−", "~"};
  std::string out =
      std::string(kSigns[static_cast<size_t>(c.sign)]) + " " + std::string(word_of(c.what)) + " " + c.text;
  if (!c.before.empty() || !c.after.empty())
    out += ": " + (c.before.empty() ? "–" : c.before) + " → " + (c.after.empty() ? "–" : c.after);
  return out + (c.where.empty() ? "" : "   " + c.where);
}

constexpr size_t kMostLines = 20;

}  // namespace

std::string Ranks::text() const {
  std::string out;
  for (const Rank& rank : ranks)
    out += "rank " + std::to_string(rank.number) + ": " + std::to_string(rank.calls.size()) + " calls, " +
           rank.status + "   " + rank.path + "\n";
  if (!one_clock) out += "The ranks ran on several machines: their clocks are taken to tell one time.\n";
  std::vector<const RankSkew*> steady;
  for (const RankSkew& skew : skews)
    if (!skew.compiles) steady.push_back(&skew);
  if (!steady.empty()) {
    std::ranges::sort(steady, {}, [](const RankSkew* s) { return s->ns(); });
    const RankSkew &middle = *steady[steady.size() / 2], &most = *steady.back();
    out += "\nskew: the ranks begin a call " + time_text(static_cast<double>(middle.ns())) +
           " apart in the median of " + std::to_string(steady.size()) + ", " +
           time_text(static_cast<double>(most.ns())) + " at most (" + most.program + ", call " +
           std::to_string(most.call) + ": rank " + std::to_string(most.last) + " is last)\n";
  } else {
    out += "\nskew: there is no call that all ranks made\n";
  }
  for (const Rank& rank : ranks) {
    if (&rank == &ranks.front()) continue;
    const std::string names =
        "rank " + std::to_string(rank.number) + " against rank " + std::to_string(ranks.front().number);
    if (rank.differs.empty()) {
      out += "\n" + names + ": compiled alike\n";
      continue;
    }
    out += "\n" + names + ": " + std::to_string(rank.differs.size()) + " differences\n";
    for (size_t i = 0; i < std::min(rank.differs.size(), kMostLines); ++i)
      out += "  " + difference_line(rank.differs[i]) + "\n";
    if (rank.differs.size() > kMostLines)
      out += "  and " + std::to_string(rank.differs.size() - kMostLines) + " more\n";
  }
  return out;
}

Result<Ranks> read_ranks(const std::vector<std::string>& paths) {
  Ranks out;
  std::vector<RankFile> files;
  std::vector<std::pair<int64_t, size_t>> order;
  std::vector<Rank> ranks(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    auto file = open_rank(paths[i], static_cast<int64_t>(i), ranks[i]);
    if (!file) return file.error();
    files.push_back(file.take());
    order.emplace_back(ranks[i].number, i);
  }
  if (files.empty()) return Error{"No session was named.", "Name one a rank.", ""};
  std::ranges::sort(order);
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i].first == order[i - 1].first)
      return Error{"Two of the sessions are of rank " + std::to_string(order[i].first) + ".",
                   "Name one a rank.", paths[order[i].second]};
  set_begins(files, out);
  const RankFile& first = files[order.front().second];
  for (const auto& [number, i] : order) {
    const SessionDifference difference = compare_sessions(first.compared, files[i].compared);
    ranks[i].calls = calls_of(files[i], same_as_first(difference));
    std::ranges::copy_if(difference.changes, std::back_inserter(ranks[i].differs), matters);
    out.ranks.push_back(std::move(ranks[i]));
  }
  count_from_first_call(out);
  add_skews(out);
  return out;
}

std::string merged_name(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::filesystem::path stem = whole.stem();  // "a.r0"
  const std::string end = stem.extension().string();
  const bool ranked = end.size() > 2 && end.starts_with(".r") && number(end.substr(2));
  return (whole.parent_path() / ((ranked ? stem.stem() : stem).string() + ".ranks.vitrine")).string();
}

bool are_ranks(const std::vector<std::string>& paths) {
  std::set<std::string> worlds;
  std::set<int64_t> ranks;
  for (const std::string& path : paths) {
    auto opened = Reader::open(path);
    if (!opened) return false;
    const auto rank = number(opened.value()->meta("rank"));
    if (!rank) return false;
    ranks.insert(*rank);
    worlds.insert(opened.value()->meta("world_size") + " " + opened.value()->meta("file"));
  }
  return paths.size() > 1 && worlds.size() == 1 && ranks.size() == paths.size();
}

}  // namespace vitrine::session
