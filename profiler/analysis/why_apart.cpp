#include "profiler/analysis/why_apart.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/fusion_price.h"
#include "profiler/analysis/loop_words.h"

namespace vitrine::profiler {

using namespace session;

namespace {

constexpr size_t kMostMembers = 64, kMostTensors = 48;  // of one kernel, as core/fusion/group.cpp has them
constexpr size_t kMostReaders = 4;                      // of a value that a loop is considered with

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out.empty() ? "1" : out;
}

// The iteration space of a kernel: that of its largest loop; rows: what a reduction keeps of it.
struct Space {
  std::vector<std::string> dims;
  NestSize all, rows;
  bool reduces = false;
};

// What becomes one launch: a kernel's loops, a call.
struct Launched {
  std::string label;  // "K2"; "" of what is computed where it is read
  std::vector<size_t> members;
};

class PairQuestion {
 public:
  PairQuestion(const FusionRecord& record, const PairSide& a, const PairSide& b)
      : record_(record), sides_{&a, &b} {
    for (size_t i = 0; i < record.loops.size(); ++i) {
      at_[record.loops[i].stable] = i;
      by_id_[record.loops[i].id] = i;
    }
    reads_.resize(record.loops.size()), readers_.resize(record.loops.size());
    for (const EdgeRow& edge : record.edges) {
      const auto from = by_id_.find(edge.src), to = by_id_.find(edge.dst);
      if (from == by_id_.end() || to == by_id_.end()) continue;
      reads_[to->second].push_back(from->second);
      readers_[from->second].push_back(to->second);
    }
    find_units();
  }

  PairAnswer answer() {
    for (const int side : {0, 1})
      if (loops_of(side).empty())
        return {
            PairAnswer::Verdict::no_pair, sides_[side]->name + ": " + sides_[side]->none, {}, 0, "", 0, 0};
    if (auto same = one_kernel()) return *same;
    choose_pair();
    PairAnswer out{PairAnswer::Verdict::apart, "", {}, 0, "", 0, 0};
    if (const DecisionRow* made = decision()) {
      out.decision = made->id;
      out.reason = made->reason;
      if (!is_named_so(*made))
        out.reason += ": considered as " + name_of(made->a) + " with " + name_of(made->b);
    } else {
      out.reason = by_rules(out.rules);
    }
    price(out);
    out.change = what_would_change(row_of(out));
    return out;
  }

 private:
  const NodeRow& node(size_t i) const { return record_.loops[i]; }
  const Launched& unit(int side) const { return units_[static_cast<size_t>(unit_[side])]; }
  int unit_of(size_t loop) const { return unit_of_[loop]; }
  std::string name_of(Id id) const {
    const auto found = at_.find(record_.stable_of(id));
    return found == at_.end() ? "?" : node(found->second).name.str();
  }
  // "mul_2 (K3)"
  std::string named(size_t loop) const {
    const std::string& label = units_[static_cast<size_t>(unit_of(loop))].label;
    return node(loop).name + (label.empty() ? "" : " (" + label + ")");
  }
  std::string called(int side) const {
    const std::string& label = unit(side).label;
    const std::string& name = sides_[side]->name;
    return label.empty() || name.starts_with(label) ? name : name + " (" + label + ")";
  }

  void find_units() {
    std::unordered_map<int64_t, std::string> labels;
    for (const NodeRow& n : record_.fused)
      if (!n.group_label.empty()) labels[n.stable] = n.group_label;
    std::map<std::string, int> known;
    unit_of_.assign(record_.loops.size(), -1);
    for (size_t i = 0; i < record_.loops.size(); ++i) {
      if (node(i).kind != "op") continue;
      const auto label = labels.find(node(i).stable);
      int own = static_cast<int>(units_.size());
      if (label != labels.end()) own = known.try_emplace(label->second, own).first->second;
      if (own == static_cast<int>(units_.size()))
        units_.push_back({label == labels.end() ? "" : label->second, {}});
      units_[static_cast<size_t>(own)].members.push_back(i);
      unit_of_[i] = own;
    }
  }

  std::vector<size_t> loops_of(int side) const {
    std::vector<size_t> out;
    for (int64_t stable : sides_[side]->loops)
      if (const auto found = at_.find(stable); found != at_.end() && unit_of(found->second) >= 0)
        out.push_back(found->second);
    return out;
  }

  // Both, or parts of both, are in one kernel.
  std::optional<PairAnswer> one_kernel() {
    const std::vector<size_t> a = loops_of(0), b = loops_of(1);
    std::set<int> of_a, shared;
    for (size_t i : a) of_a.insert(unit_of(i));
    for (size_t i : b)
      if (of_a.contains(unit_of(i))) shared.insert(unit_of(i));
    if (shared.empty()) return std::nullopt;
    const auto inside = [&](size_t i) { return shared.contains(unit_of(i)); };
    const bool whole = std::all_of(a.begin(), a.end(), inside) && std::all_of(b.begin(), b.end(), inside);
    const std::string& label = units_[static_cast<size_t>(*shared.begin())].label;
    PairAnswer out{PairAnswer::Verdict::fused, "", {}, 0, "", 0, 0};
    if (a == b)
      out.reason = "they are the same loop";
    else
      out.reason = (whole ? "both are in " : "parts of both are in ") + label;
    for (const DecisionRow& row : record_.decisions)
      if (row.verdict == "fused" && touches(row, a, b)) {
        out.decision = row.id, out.reason += ": " + row.reason;
        out.bytes = row.bytes_saved, out.launches = row.launches_saved;
        break;
      }
    return out;
  }
  bool touches(const DecisionRow& row, const std::vector<size_t>& a, const std::vector<size_t>& b) const {
    const auto one = at_.find(record_.stable_of(row.a)), two = at_.find(record_.stable_of(row.b));
    if (one == at_.end() || two == at_.end()) return false;
    const auto has = [](const std::vector<size_t>& all, size_t i) {
      return std::find(all.begin(), all.end(), i) != all.end();
    };
    return (has(a, one->second) && has(b, two->second)) || (has(b, one->second) && has(a, two->second));
  }

  // Of sides with several loops: two that fusion looked at, else two of which one reads the other, else the
  // last of the one and the first of the other.
  void choose_pair() {
    const std::vector<size_t> a = loops_of(0), b = loops_of(1);
    pair_[0] = a.back(), pair_[1] = b.front();
    for (size_t i : a)
      for (size_t j : b)
        if (reads(i, j) || reads(j, i)) pair_[0] = i, pair_[1] = j;
    for (const DecisionRow& row : record_.decisions)
      if (row.verdict != "fused" && touches(row, a, b)) {
        const size_t one = at_.at(record_.stable_of(row.a)), two = at_.at(record_.stable_of(row.b));
        const bool first = std::find(a.begin(), a.end(), one) != a.end();
        pair_[0] = first ? one : two, pair_[1] = first ? two : one;
        break;
      }
    for (int side : {0, 1}) unit_[side] = unit_of(pair_[side]);
  }
  bool reads(size_t reader, size_t value) const {
    return std::find(reads_[reader].begin(), reads_[reader].end(), value) != reads_[reader].end();
  }

  // Whether the two were asked for by the names of the decision's halves.
  bool is_named_so(const DecisionRow& row) const {
    return loops_of(0).size() == 1 && loops_of(1).size() == 1 && touches(row, loops_of(0), loops_of(1));
  }
  // What fusion said of the two, or else of their kernels.
  const DecisionRow* decision() const {
    const DecisionRow* of_units = nullptr;
    for (const DecisionRow& row : record_.decisions) {
      if (row.verdict == "fused") continue;
      if (touches(row, {pair_[0]}, {pair_[1]})) return &row;
      if (!of_units && touches(row, unit(0).members, unit(1).members)) of_units = &row;
    }
    return of_units;
  }

  // ---- the rules

  std::string by_rules(std::vector<PairRule>& rules) const {
    using Rule = std::string (PairQuestion::*)(std::string&) const;
    constexpr Rule kRules[] = {&PairQuestion::meet,        &PairQuestion::generated,  &PairQuestion::in_order,
                               &PairQuestion::unwritten,   &PairQuestion::one_device, &PairQuestion::alike,
                               &PairQuestion::same_places, &PairQuestion::small};
    for (const Rule rule : kRules) {
      std::string holds;
      const std::string broken = (this->*rule)(holds);
      rules.push_back({broken.empty(), broken.empty() ? holds : broken});
      if (!broken.empty()) return broken;
    }
    return "no rule forbids it: fusion goes through the program once, and these two did not meet";
  }

  std::string generated(std::string& holds) const {
    holds = "both are generated code";
    for (const int side : {1, 0}) {
      const LoopWords words = words_of(node(pair_[side]));
      if (words.kind == "library")
        return side ? "a library call takes no prologue" : "a library call takes no epilogue";
      if (words.kind == "opaque")
        return node(pair_[side]).name + " runs through PyTorch" + (words.why.empty() ? "" : ": " + words.why);
    }
    return "";
  }

  // The values that a loop of each reads: of one number nothing is gained.
  std::set<size_t> read_by(int side) const {
    std::set<size_t> out;
    for (size_t member : unit(side).members)
      for (size_t value : reads_[member])
        if (!(nest_size(sizes(node(value).shape, 1)) == NestSize{})) out.insert(value);
    return out;
  }
  bool produces_for(int from, int to) const {
    const std::set<size_t> read = read_by(to);
    return std::any_of(unit(from).members.begin(), unit(from).members.end(),
                       [&](size_t member) { return read.contains(member); });
  }
  std::vector<size_t> both_read() const {
    const std::set<size_t> a = read_by(0), b = read_by(1);
    std::vector<size_t> out;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
  }

  std::string meet(std::string& holds) const {
    if (produces_for(0, 1) || produces_for(1, 0)) {
      holds = "one reads what the other computes";
      return "";
    }
    const std::vector<size_t> shared = both_read();
    if (std::string ignored, way = in_order(ignored); shared.empty() && !way.empty()) return way;
    if (shared.empty())
      return "neither reads what the other computes, and they read no tensor in common: as one kernel they "
             "would move "
             "as many bytes";
    holds = "both read " + node(shared.front()).name;
    for (size_t value : shared) {
      std::set<int> kernels;
      for (size_t reader : readers_[value])
        if (unit_of(reader) >= 0) kernels.insert(unit_of(reader));
      if (kernels.size() <= kMostReaders) return "";
    }
    return std::to_string(readers_[shared.front()].size()) + " loops read " + node(shared.front()).name +
           ": a loop is considered with the last " + std::to_string(kMostReaders) +
           " kernels before it that do";
  }

  // A kernel that must run behind the one and before the other.
  std::string in_order(std::string& holds) const {
    holds = "nothing must run between them";
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
      const std::vector<size_t> path = between(unit_[from], unit_[to]);
      if (path.empty()) continue;
      std::string through = named(path.front());
      if (path.size() > 1) through += " and " + std::to_string(path.size() - 1) + " more";
      return called(to) + " depends on " + called(from) + " through " + through +
             ", which must run between them";
    }
    return "";
  }
  // The shortest way from one kernel to the other through at least one that is neither: a loop of each.
  std::vector<size_t> between(int from, int to) const {
    std::unordered_map<size_t, size_t> before;
    std::deque<size_t> open;
    const auto visit = [&](size_t loop, size_t by) {
      const int own = unit_of(loop);
      if (own < 0 || own == from || !before.try_emplace(loop, by).second) return;
      open.push_back(loop);
    };
    for (size_t member : units_[static_cast<size_t>(from)].members)
      for (size_t reader : readers_[member])
        if (unit_of(reader) != to) visit(reader, member);
    while (!open.empty()) {
      const size_t loop = open.front();
      open.pop_front();
      for (size_t reader : readers_[loop]) {
        if (unit_of(reader) == to) return back_to(loop, from, before);
        visit(reader, loop);
      }
      // A kernel's other results leave it only when all of it has run.
      for (size_t other : units_[static_cast<size_t>(unit_of(loop))].members) visit(other, loop);
    }
    return {};
  }
  std::vector<size_t> back_to(size_t loop, int from, const std::unordered_map<size_t, size_t>& before) const {
    std::vector<size_t> out;
    std::set<int> seen;
    for (size_t at = loop; unit_of(at) != from; at = before.at(at))
      if (seen.insert(unit_of(at)).second) out.push_back(at);
    std::reverse(out.begin(), out.end());
    return out;
  }

  std::string unwritten(std::string& holds) const {
    holds = "no tensor is written to between them";
    const auto [first, last] = std::minmax(pair_[0], pair_[1]);
    for (size_t i = first + 1; i < last; ++i)
      if (words_of(node(i)).why == "it writes to its argument")
        return "a write to a tensor stands between them: " + node(i).name;
    return "";
  }

  std::string one_device(std::string& holds) const {
    holds = "they run on one device";
    const auto device = [&](int side) {
      const std::string& type = node(pair_[side]).type;
      const size_t cuda = type.find("cuda");
      return cuda == std::string::npos ? std::string("the CPU") : type.substr(cuda);
    };
    return device(0) == device(1) ? "" : "they run on different devices: " + device(0) + " and " + device(1);
  }

  Space space_of(int side) const {
    Space out;
    for (size_t member : unit(side).members) {
      const LoopWords words = words_of(node(member));
      const NestSize all = nest_size(words.dims);
      if (words.kind == "reduction" && !out.reduces) {
        out = {words.dims, all, all, true};
        std::vector<std::string> kept = words.dims;
        for (const std::string& dim : words.over)
          if (const auto at = std::find(kept.begin(), kept.end(), dim); at != kept.end()) kept.erase(at);
        out.rows = nest_size(kept);
      } else if (!out.reduces && (out.dims.empty() || all.number > out.all.number)) {
        out = {words.dims, all, all, false};
      }
    }
    return out;
  }
  std::string alike(std::string& holds) const {
    const Space a = space_of(0), b = space_of(1);
    holds = "same iteration space " + joined(a.dims, " × ");
    const std::string both = joined(a.dims, " × ") + " and " + joined(b.dims, " × ");
    if (a.reduces && b.reduces)
      return a.all == b.all && a.rows == b.rows ? "" : "the reductions run over different rows: " + both;
    const Space &large = a.reduces ? a : b, &small = a.reduces ? b : a;
    if (small.all == large.all) return "";
    if (large.reduces && small.all == large.rows) {
      holds = "one value a row of " + joined(large.dims, " × ");
      return "";
    }
    return "different iteration spaces: " + both;
  }

  // What a kernel computes it can only read at the place where it computes it.
  std::string same_places(std::string& holds) const {
    holds = "each value is read where it is computed";
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)})
      for (size_t reader : unit(to).members)
        for (size_t value : unit(from).members) {
          if (!reads(reader, value)) continue;
          const LoopWords computed = words_of(node(value)), read = words_of(node(reader));
          if (computed.dims != read.dims || computed.kind == "reduction") continue;
          const std::string& text = node(value).detail;
          const std::string name = node(value).name;
          const size_t stored = text.find("-> " + name + "["), at = read.reads.find("= " + name + "[");
          if (stored == std::string::npos || at == std::string::npos) continue;
          if (sizes(text, stored + 4 + name.size()) != sizes(read.reads, at + 3 + name.size()))
            return node(reader).name + " reads " + name + " at other places than it computes";
        }
    return "";
  }

  std::string small(std::string& holds) const {
    std::set<size_t> tensors, own(unit(0).members.begin(), unit(0).members.end());
    own.insert(unit(1).members.begin(), unit(1).members.end());
    for (size_t member : own)
      for (size_t value : reads_[member])
        if (!own.contains(value)) tensors.insert(value);
    holds = std::to_string(own.size()) + " loops that read " + std::to_string(tensors.size()) +
            (tensors.size() == 1 ? " tensor" : " tensors") + " fit into one kernel";
    if (own.size() > kMostMembers)
      return "the kernel would be too long: " + std::to_string(own.size()) + " loops";
    return tensors.size() > kMostTensors ? "the kernel would read too many tensors" : "";
  }

  // ---- what it would save

  void price(PairAnswer& out) const {
    out.launches = 1;
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)})
      for (size_t value : unit(from).members) {
        const auto reads_it = [&](size_t reader) { return unit_of(reader) == unit_[to]; };
        const std::vector<size_t>& all = readers_[value];
        if (std::none_of(all.begin(), all.end(), reads_it)) continue;
        const auto inside = [&](size_t r) { return reads_it(r) || unit_of(r) == unit_[from]; };
        out.bytes += (std::all_of(all.begin(), all.end(), inside) ? 2 : 1) * node(value).bytes;
      }
    for (size_t value : both_read())
      if (unit_of(value) != unit_[0] && unit_of(value) != unit_[1]) out.bytes += node(value).bytes;
  }
  static DecisionRow row_of(const PairAnswer& answer) {
    DecisionRow row;
    row.verdict = "rejected";
    row.reason = answer.reason;
    return row;
  }

  const FusionRecord& record_;
  const PairSide* sides_[2];
  std::unordered_map<int64_t, size_t> at_;  // by stable number
  std::unordered_map<Id, size_t> by_id_;
  std::vector<std::vector<size_t>> reads_, readers_;
  std::vector<Launched> units_;
  std::vector<int> unit_of_;  // by loop; -1: an input or the output
  size_t pair_[2] = {0, 0};   // a loop of each side
  int unit_[2] = {-1, -1};
};

}  // namespace

PairSide side_of_kernel(const FusionRecord& record, const std::string& label, const std::string& name) {
  PairSide out{name, {}, "no loop of the recorded graph is in it"};
  for (const NodeRow& node : record.fused)
    if (node.group_label == label) out.loops.push_back(node.stable);
  return out;
}

PairAnswer why_apart(const FusionRecord& record, const PairSide& a, const PairSide& b) {
  return PairQuestion(record, a, b).answer();
}

}  // namespace vitrine::profiler
