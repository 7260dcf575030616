#include "core/fusion/fuse.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "core/fusion/classify.h"

namespace vitrine::fusion {

using ir::NodeId;
using ir::Ref;

namespace {

std::string megabytes(int64_t bytes) {
  char text[40];
  if (bytes >= 100'000)
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  else if (bytes >= 1000)
    std::snprintf(text, sizeof text, "%.1f kB", static_cast<double>(bytes) / 1e3);
  else
    std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(bytes));
  return text;
}

// Why a pair of which one is no generated nest stays apart.
std::string fixed_reason(const Loop& a, const Loop& b) {
  if (b.kind == Loop::Kind::library) return "a library call takes no prologue";
  if (a.kind == Loop::Kind::library) return "a library call takes no epilogue";
  const Loop& opaque = a.kind == Loop::Kind::opaque ? a : b;
  return "it runs through PyTorch: " + opaque.why;
}

class Fuser {
 public:
  Fuser(const LoopProgram& program, const Readers& readers, bool spare, OptBisect* bisect)
      : program_(program),
        all_readers_(readers),
        spare_(spare),
        bisect_(bisect),
        cluster_of_(program.loops.size(), -1) {}

  FusedProgram run() {
    dependencies();
    find_shortcuts();
    if (spare_) count_calls();
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      const Loop& loop = program_.loops[l];
      if (!loop.runs()) continue;
      cluster_of_[l] = static_cast<int>(clusters_.size());
      clusters_.push_back({{l}, loop.generated()});
      consider(l);
      remember_reads(l);
    }
    order();
    return std::move(out_);
  }

 private:
  struct Cluster {
    std::vector<size_t> loops;
    bool generated = false;
  };
  struct Candidate {
    size_t other;  // a loop of the cluster
    bool vertical;
    int64_t bytes;
    Ref shared;
  };

  NodeId node(size_t l) const { return program_.loops[l].node; }
  const ir::TensorType& type_of(Ref root) const {
    return program_.graph->node(root.node).outputs[static_cast<size_t>(root.output)];
  }
  int64_t bytes_of(Ref root) const { return type_of(root).bytes().hint(); }

  // Loops that must run before each loop: producers of what it reads; random operators keep their order.
  void dependencies() {
    before_.resize(program_.loops.size());
    behind_.resize(program_.loops.size());
    int last_random = -1;
    std::vector<size_t> draws;  // since then
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      const ir::Node& n = program_.graph->node(node(l));
      std::set<size_t> set;
      each_read(program_, program_.loops[l], [&](Ref root) {
        auto it = program_.loop_of.find(root.node);
        if (it != program_.loop_of.end() && it->second != l) set.insert(it->second);
      });
      if (ops::is_random(n)) {
        if (last_random >= 0) set.insert(static_cast<size_t>(last_random));
        if (program_.loops[l].kind == Loop::Kind::opaque) {
          set.insert(draws.begin(), draws.end());
          draws.clear();
          last_random = static_cast<int>(l);
        } else {
          draws.push_back(l);
        }
      }
      before_[l].assign(set.begin(), set.end());
      for (size_t p : set) behind_[p].push_back(l);
    }
  }

  // Some loops of a long program, spread over it: which of them each loop comes after, and before. Between
  // kernels that are far apart, one of them mostly stands, and no search is needed to find one.
  void find_shortcuts() {
    constexpr size_t kMost = 64, kLong = 1024;
    const size_t n = program_.loops.size();
    below_.resize(n);
    for (size_t l = 0; l < n; ++l) below_[l] = l;
    if (n < kLong) return;
    after_.resize(n), ahead_.resize(n);
    for (size_t k = 0; k < kMost; ++k) {
      size_t l = (2 * k + 1) * n / (2 * kMost);
      while (l < n && !program_.loops[l].runs()) ++l;
      if (l == n) break;
      after_[l] = ahead_[l] |= uint64_t{1} << k;
      waypoints_.push_back(l);
    }
    for (size_t l = 0; l < n; ++l)
      for (size_t p : before_[l]) after_[l] |= after_[p];
    for (size_t l = n; l-- > 0;)
      for (size_t p : before_[l]) ahead_[p] |= ahead_[l];
  }

  // A cluster that comes after the one and before the other and is neither, if one is known without a search.
  int known_between(int from, int to) const {
    uint64_t after = 0, ahead = 0;
    if (waypoints_.empty()) return -1;
    for (size_t l : clusters_[static_cast<size_t>(from)].loops) ahead |= ahead_[l];
    for (size_t l : clusters_[static_cast<size_t>(to)].loops) after |= after_[l];
    for (size_t k = 0; k < waypoints_.size(); ++k) {
      if (!((after & ahead) >> k & 1)) continue;
      if (const int c = cluster_of_[waypoints_[k]]; c != from && c != to) return c;
    }
    return -1;
  }

  // Position of the last loop, from l backwards, before which every cluster ends or behind which it begins:
  // nothing that runs before depends on what runs behind.
  size_t border(size_t l) {
    while (below_[l] != l) l = below_[l] = below_[below_[l]];
    return l;
  }
  // The cluster now reaches over these borders.
  void remove_borders(const std::vector<size_t>& loops) {
    for (size_t l = border(loops.back()); l > loops.front(); l = border(l)) below_[l] = l - 1;
  }

  // How many calls of PyTorch's stand before each loop.
  void count_calls() {
    int calls = 0;
    for (const Loop& loop : program_.loops) {
      calls_before_.push_back(calls);
      calls += loop.kind == Loop::Kind::library || loop.kind == Loop::Kind::opaque;
    }
  }

  // The first loop outside of the cluster that reads what it computes.
  size_t needed(int cluster, size_t l) const {
    size_t first = l;
    for (size_t member : clusters_[static_cast<size_t>(cluster)].loops)
      for (const Access& s : program_.loops[member].stores)
        for (size_t r : all_readers_.of(s.root))
          if (r < first && cluster_of_[r] != cluster) first = r;
    return first;
  }

  // Whether loop l in the kernel of that cluster would be computed long before anybody reads it, and nothing
  // that it reads is needed for a shorter time by that: what backward computes from values of forward alone.
  bool holds_memory(int cluster, size_t l) const {
    constexpr int kFar = 3;                         // calls between
    constexpr int64_t kWorthIt = int64_t{1} << 16;  // bytes
    if (!spare_) return false;
    size_t at = needed(cluster, l);
    for (size_t from : before_[l])
      if (cluster_of_[from] != cluster) at = std::max(at, from + 1);
    if (at >= l) return false;
    if (calls_before_[l] - calls_before_[at] < kFar) return false;
    int64_t held = 0;
    for (const Access& s : program_.loops[l].stores)
      if (all_readers_.is_result(s.root) || !all_readers_.of(s.root).empty()) held += bytes_of(s.root);
    if (held < kWorthIt) return false;
    for (size_t from : before_[l])
      for (const Access& s : program_.loops[from].stores) {
        const std::vector<size_t>& readers = all_readers_.of(s.root);
        if (!all_readers_.is_result(s.root) && !readers.empty() &&
            std::all_of(readers.begin(), readers.end(), [&](size_t r) { return r <= at || r == l; }))
          held -= bytes_of(s.root);
      }
    return held > 0;
  }

  // The last loops of up to four clusters that read the value, latest first. Clusters only grow: of loops of
  // one cluster the last stands for all, and the others are forgotten.
  std::vector<size_t> late_readers(std::vector<size_t>& readers) const {
    constexpr size_t kMost = 4;
    std::vector<size_t> out;
    size_t at = readers.size();
    while (at > 0 && out.size() < kMost) {
      const size_t reader = readers[--at];
      const auto same = [&](size_t r) { return cluster_of_[r] == cluster_of_[reader]; };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(reader);
    }
    readers.resize(at);
    readers.insert(readers.end(), out.rbegin(), out.rend());
    return out;
  }

  std::vector<Candidate> candidates(size_t l) {
    std::vector<Candidate> out;
    std::set<Ref> seen;
    each_read(program_, program_.loops[l], [&](Ref root) {
      if (!seen.insert(root).second) return;
      auto producer = program_.loop_of.find(root.node);
      if (producer != program_.loop_of.end())
        out.push_back({producer->second, true, 2 * bytes_of(root), root});
      if (!program_.loops[l].generated()) return;
      auto readers = readers_.find(root);
      if (readers == readers_.end()) return;
      // A number that both read is no reason: it costs nothing, and updates of many tensors share one.
      if (ir::numel(type_of(root).sizes).same(1)) return;
      for (size_t reader : late_readers(readers->second))
        out.push_back({reader, false, bytes_of(root), root});
    });
    std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.vertical, a.bytes) > std::pair(b.vertical, b.bytes);
    });
    return out;
  }

  // What is computed again in this loop.
  void mention_small(size_t l) {
    std::set<NodeId> seen;
    for (const Statement& s : program_.loops[l].body) {
      if (s.node < 0 || !seen.insert(s.node).second) continue;
      const ir::TensorType& type = program_.graph->node(s.node).type();
      out_.decisions.push_back({s.node, node(l), "vertical",
                                "small: its " + ir::text(type.numel()) +
                                    " elements are computed again where they are read, saves " +
                                    megabytes(2 * type.bytes().hint()),
                                true, 2 * type.bytes().hint()});
    }
  }

  void consider(size_t l) {
    mention_small(l);
    for (const Candidate& c : candidates(l)) {
      const Loop &a = program_.loops[c.other], &b = program_.loops[l];
      bool same = cluster_of_[c.other] == cluster_of_[l];
      if (same && !c.vertical) continue;
      Decision d{a.node, b.node, c.vertical ? "vertical" : "horizontal", "", same, c.bytes};
      if (!a.generated() || !b.generated()) {
        if (!c.vertical) continue;
        d.kind = b.kind == Loop::Kind::library   ? "prologue"
                 : a.kind == Loop::Kind::library ? "epilogue"
                                                 : "vertical";
        d.reason = fixed_reason(a, b);
      } else if (same) {
        d.reason = "both are in the kernel already, saves " + megabytes(c.bytes);
      } else if (holds_memory(cluster_of_[c.other], l)) {
        d.reason = "what it computes would be held until it is read, long afterwards";
      } else {
        d.fused = merge(cluster_of_[c.other], cluster_of_[l], d.kind, d.reason);
        if (d.fused)
          d.reason = (c.vertical ? "same iteration space"
                                 : "both read " + program_.graph->node(c.shared.node).name) +
                     std::string(", saves ") + megabytes(c.bytes) + " and 1 launch";
      }
      if (!d.fused) d.bytes_saved = 0;
      out_.decisions.push_back(std::move(d));
    }
  }

  // Of two that can be merged: the last loops are what the fusion is called by.
  bool forbidden(int a, int b, const std::string& kind) const {
    if (!bisect_) return false;
    const auto last = [&](int c) {
      return program_.graph->node(node(clusters_[static_cast<size_t>(c)].loops.back()));
    };
    return !bisect_->allows(OptBisect::Of::fusion,
                            kind + ": " + ir::name_and_place(last(a)) + " + " + ir::name_and_place(last(b)));
  }

  bool merge(int a, int b, const std::string& kind, std::string& why) {
    Cluster &ca = clusters_[static_cast<size_t>(a)], &cb = clusters_[static_cast<size_t>(b)];
    std::vector<size_t> loops;
    std::merge(ca.loops.begin(), ca.loops.end(), cb.loops.begin(), cb.loops.end(), std::back_inserter(loops));
    if (!fits_group(program_, loops, why)) return false;
    if (int between = stands_between(a, b); between >= 0) {
      why = program_.graph->node(node(clusters_[static_cast<size_t>(between)].loops[0])).name +
            " must run between them";
      return false;
    }
    if (forbidden(a, b, kind)) {
      why = "held back by a bisection";
      return false;
    }
    ca.loops = std::move(loops);
    remove_borders(ca.loops);
    for (size_t l : cb.loops) cluster_of_[l] = a;
    cb.loops.clear();
    return true;
  }

  // A cluster on a path from one of the two to the other that is neither; -1: none.
  int stands_between(int a, int b) {
    for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      if (const int c = known_between(from, to); c >= 0) return c;
      if (leads_nowhere(from, to)) continue;
      first_ = border(clusters_[static_cast<size_t>(from)].loops.front());
      begin_search();
      for (size_t l : clusters_[static_cast<size_t>(to)].loops) {
        for (size_t p : before_[l]) {
          int c = cluster_of_[p];
          if (c != from && c != to && reaches_back(c, from)) return c;
        }
      }
    }
    return -1;
  }
  // Whether a look at the few clusters behind the one shows that no way leads from there to the other. An
  // update of a parameter has nothing behind it, and half of the program before it.
  bool leads_nowhere(int from, int to) {
    constexpr int kNear = 64;  // clusters
    open_.clear();
    begin_search();
    const auto look_behind = [&](int cluster) {
      for (size_t l : clusters_[static_cast<size_t>(cluster)].loops)
        for (size_t n : behind_[l])
          if (const int c = cluster_of_[n]; c >= 0 && c != from) open_.push_back(c);
    };
    look_behind(from);
    std::erase(open_, to);  // at once: nothing stands between
    while (!open_.empty()) {
      const int c = open_.back();
      open_.pop_back();
      if (c == to || seen_ > kNear) return false;
      if (seen_in_[static_cast<size_t>(c)] == search_) continue;
      seen_in_[static_cast<size_t>(c)] = search_;
      ++seen_;
      look_behind(c);
    }
    return true;
  }
  void begin_search() {
    seen_in_.resize(clusters_.size(), 0);
    ++search_;
    seen_ = 0;
  }
  // A search that goes on for too long counts as found: without a limit, time grows with the square of a deep
  // model's loops.
  bool reaches_back(int cluster, int target) {
    constexpr int kTooFar = 2048;  // clusters
    open_ = {cluster};
    while (!open_.empty()) {
      const int c = open_.back();
      open_.pop_back();
      if (c == target || seen_ > kTooFar) return true;
      if (c < 0 || seen_in_[static_cast<size_t>(c)] == search_) continue;
      if (clusters_[static_cast<size_t>(c)].loops.back() < first_) continue;  // it never leads to the target
      seen_in_[static_cast<size_t>(c)] = search_;
      ++seen_;
      for (size_t l : clusters_[static_cast<size_t>(c)].loops)
        for (size_t p : before_[l]) open_.push_back(cluster_of_[p]);
    }
    return false;
  }

  void remember_reads(size_t l) {
    if (!program_.loops[l].generated()) return;
    std::set<Ref> roots;
    for (const Operand& o : program_.loops[l].operands)
      if (o.at.in_memory()) roots.insert(o.at.root);
    for (const auto& r : roots) readers_[r].push_back(l);
  }

  // Units in an order that keeps every dependency and every barrier, and is else the program's.
  void order() {
    std::vector<int> alive;
    for (size_t c = 0; c < clusters_.size(); ++c)
      if (!clusters_[c].loops.empty()) alive.push_back(static_cast<int>(c));
    // Barrier epochs: what is before a barrier in the program has a smaller or equal key; the barrier itself
    // comes after all of its epoch.
    auto key = [&](int c) {
      const Loop& last = program_.loops[clusters_[static_cast<size_t>(c)].loops.back()];
      return std::tuple(last.epoch, last.barrier, clusters_[static_cast<size_t>(c)].loops.back());
    };
    std::vector<int> waiting(clusters_.size(), 0);
    std::vector<std::set<int>> next(clusters_.size());
    for (int c : alive)
      for (size_t l : clusters_[static_cast<size_t>(c)].loops)
        for (size_t p : before_[l])
          if (cluster_of_[p] != c && next[static_cast<size_t>(cluster_of_[p])].insert(c).second)
            ++waiting[static_cast<size_t>(c)];
    auto later = [&](int a, int b) { return key(a) < key(b); };
    std::set<int, decltype(later)> ready(later);
    for (int c : alive)
      if (!waiting[static_cast<size_t>(c)]) ready.insert(c);
    out_.unit_of.assign(program_.loops.size(), -1);
    while (!ready.empty()) {
      int c = *ready.begin();
      ready.erase(ready.begin());
      emit(clusters_[static_cast<size_t>(c)]);
      for (int n : next[static_cast<size_t>(c)])
        if (--waiting[static_cast<size_t>(n)] == 0) ready.insert(n);
    }
    VITRINE_CHECK(out_.units.size() == alive.size(), "the fused program has a cycle");
    name_units(out_);
  }

  void emit(const Cluster& c) {
    Unit u;
    u.loops = c.loops;
    u.kind = program_.loops[c.loops[0]].kind;
    if (c.generated) {
      std::string why;
      auto group = make_group(program_, c.loops, why);
      VITRINE_CHECK(group, "a group fell apart: " + why);
      u.group = std::move(*group);
      u.kind = u.group.reduces ? Loop::Kind::reduction : Loop::Kind::pointwise;
    }
    for (size_t l : c.loops) out_.unit_of[l] = static_cast<int>(out_.units.size());
    out_.units.push_back(std::move(u));
  }

  const LoopProgram& program_;
  const Readers& all_readers_;
  bool spare_;
  OptBisect* bisect_;
  FusedProgram out_;
  std::vector<Cluster> clusters_;
  std::vector<int> cluster_of_;
  std::vector<std::vector<size_t>> before_, behind_;
  std::vector<size_t> below_;            // by loop: itself if it is a border, else one before it
  std::vector<size_t> waypoints_;        // of a long program
  std::vector<uint64_t> after_, ahead_;  // by loop: waypoints that run before it, and that run behind it
  std::map<Ref, std::vector<size_t>> readers_;
  std::vector<int> calls_before_;  // spare_: by loop
  // Of the search at hand: its number, clusters that do not reach its target, those to look at.
  std::vector<int> seen_in_, open_;  // seen_in_: by cluster, the last search that met it
  int search_ = 0, seen_ = 0;
  size_t first_ = 0;  // what the target may be reached from begins here
};

}  // namespace

FusedProgram fuse(const LoopProgram& program, const Readers& readers, bool spare_memory, OptBisect* bisect) {
  return Fuser(program, readers, spare_memory, bisect).run();
}

void name_units(FusedProgram& fused) {
  int kernels = 0, libraries = 0, opaques = 0;
  for (Unit& u : fused.units) {
    int& count = u.kind == Loop::Kind::library ? libraries : u.kind == Loop::Kind::opaque ? opaques : kernels;
    const char* letter = u.kind == Loop::Kind::library ? "L" : u.kind == Loop::Kind::opaque ? "O" : "K";
    u.label = letter + std::to_string(count++);
  }
}

std::vector<NodeId> nodes_of(const LoopProgram& program, const Unit& unit) {
  std::vector<NodeId> out;
  auto add = [&](NodeId node) {
    if (std::find(out.begin(), out.end(), node) == out.end()) out.push_back(node);
  };
  for (size_t l : unit.loops) {
    for (const Statement& s : program.loops[l].body)
      if (s.node >= 0) add(s.node);
    add(program.loops[l].node);
  }
  return out;
}

std::string fused_text(const LoopProgram& program, const FusedProgram& fused) {
  std::string out;
  for (const Unit& u : fused.units) {
    out += u.label;
    if (!u.group.members.empty()) {
      ir::Dims rows(u.group.dims.begin(), u.group.dims.begin() + static_cast<int64_t>(u.group.rows));
      ir::Dims columns(u.group.dims.begin() + static_cast<int64_t>(u.group.rows), u.group.dims.end());
      out += " [" + nest_text(rows) + "]";
      if (u.group.reduces) out += " rows of [" + nest_text(columns) + "]";
    }
    out += ":";
    for (size_t l : u.loops) out += " " + program.graph->node(program.loops[l].node).name;
    out += "\n";
  }
  for (const Decision& d : fused.decisions)
    out += program.graph->node(d.a).name + " + " + program.graph->node(d.b).name + ": " + d.kind +
           (d.fused ? " fused: " : " rejected: ") + d.reason + "\n";
  return out;
}

}  // namespace vitrine::fusion
