#include "core/fusion/order.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/fusion/classify.h"

namespace vitrine::fusion {

using ir::Ref;

namespace {

// What units read and write, and which of them may run elsewhere.
class Traffic {
 public:
  Traffic(const LoopProgram& program, const FusedProgram& fused) : program_(program), fused_(fused) {
    reads.resize(fused.units.size());
    writes.resize(fused.units.size());
    for (size_t l = 0; l < program.loops.size(); ++l) {
      if (fused.unit_of[l] < 0) continue;
      each_read(program, program.loops[l], [&](Ref r) {
        const int from = producer(r);
        if (from == fused.unit_of[l]) return;
        reads[static_cast<size_t>(fused.unit_of[l])].insert(r);
        if (from >= 0) writes[static_cast<size_t>(from)].insert(r);
      });
    }
    for (const ir::Arg& r : program.graph->results())
      ir::each_ref(r, [&](Ref ref) { lasting.insert(program.placement(ref).root); });
  }

  int64_t bytes(Ref root) const {
    return program_.graph->node(root.node).outputs[static_cast<size_t>(root.output)].bytes().hint();
  }
  // The unit that computes it; -1: it is given.
  int producer(Ref root) const {
    const auto it = program_.loop_of.find(root.node);
    return it == program_.loop_of.end() ? -1 : fused_.unit_of[it->second];
  }
  bool may_move(size_t u) const {
    const Unit& unit = fused_.units[u];
    if (unit.group.members.empty()) return false;
    return std::none_of(unit.loops.begin(), unit.loops.end(), [&](size_t l) {
      return program_.loops[l].barrier || ops::is_random(program_.graph->node(program_.loops[l].node));
    });
  }
  int64_t epoch_of(size_t u) const { return program_.loops[fused_.units[u].loops.back()].epoch; }
  bool is_barrier(size_t u) const { return program_.loops[fused_.units[u].loops.back()].barrier; }

  std::vector<std::set<Ref>> reads, writes;  // by unit: roots of others; those that others read
  std::set<Ref> lasting;                     // results

 private:
  const LoopProgram& program_;
  const FusedProgram& fused_;
};

// Brings the units into an order, which holds their positions.
void reorder(const std::vector<size_t>& order, FusedProgram& fused) {
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<Unit> units;
  std::vector<int> to(fused.units.size());
  for (size_t u : order) {
    to[u] = static_cast<int>(units.size());
    units.push_back(std::move(fused.units[u]));
  }
  fused.units = std::move(units);
  for (int& unit : fused.unit_of)
    if (unit >= 0) unit = to[static_cast<size_t>(unit)];
  name_units(fused);
}

class Sinker {
 public:
  Sinker(const LoopProgram& program, FusedProgram& fused)
      : program_(program), fused_(fused), traffic_(program, fused) {}

  void run() {
    // From the last unit to the first: `later_` is the order of those behind it.
    for (size_t u = fused_.units.size(); u-- > 0;) {
      const auto at = gain(u) > 0 ? latest(u) : later_.begin();
      later_.insert(at, u);
      seen_.insert(traffic_.reads[u].begin(), traffic_.reads[u].end());
    }
    reorder(later_, fused_);
  }

 private:
  // Bytes that are held for a shorter time if the unit runs later, less those that are held for longer: what
  // nobody behind it reads.
  int64_t gain(size_t u) const {
    if (traffic_.writes[u].empty() || !traffic_.may_move(u)) return 0;
    int64_t out = 0;
    for (Ref root : traffic_.writes[u]) out += traffic_.bytes(root);
    for (Ref root : traffic_.reads[u]) {
      const ir::NodeKind kind = program_.graph->node(root.node).kind;
      const bool stays = kind == ir::NodeKind::parameter || kind == ir::NodeKind::constant;
      if (!stays && !seen_.contains(root) && !traffic_.lasting.contains(root)) out -= traffic_.bytes(root);
    }
    return out;
  }

  std::vector<size_t>::iterator latest(size_t u) {
    const int64_t epoch = traffic_.epoch_of(u);
    return std::find_if(later_.begin(), later_.end(), [&](size_t v) {
      if (traffic_.epoch_of(v) != epoch || traffic_.is_barrier(v)) return true;
      return std::any_of(traffic_.writes[u].begin(), traffic_.writes[u].end(),
                         [&](Ref root) { return traffic_.reads[v].contains(root); });
    });
  }

  const LoopProgram& program_;
  FusedProgram& fused_;
  const Traffic traffic_;
  std::set<Ref> seen_;  // what units in later_ read
  std::vector<size_t> later_;
};

class Riser {
 public:
  Riser(const LoopProgram& program, FusedProgram& fused)
      : program_(program), fused_(fused), traffic_(program, fused) {}

  void run() {
    find_readers();
    for (size_t u = 0; u < fused_.units.size(); ++u) order_.push_back(u);
    place_ = order_;
    for (size_t u = 0; u < fused_.units.size(); ++u) shrinks_.push_back(shrinks(u));
    size_t first = 0;
    for (size_t u = 0; u < fused_.units.size(); ++u) {
      // Units stay between their barriers: whatever has risen, the last one is where it was.
      if (u > 0 && (traffic_.epoch_of(u - 1) != traffic_.epoch_of(u) || traffic_.is_barrier(u - 1)))
        first = u;
      first_.push_back(first);
    }
    for (size_t u = 0; u < fused_.units.size(); ++u) {
      const size_t from = place(u), to = earliest(u);
      if (to >= from) continue;
      const auto begin = order_.begin();
      std::rotate(begin + static_cast<int64_t>(to), begin + static_cast<int64_t>(from),
                  begin + static_cast<int64_t>(from) + 1);
      for (size_t p = to; p <= from; ++p) place_[order_[p]] = p;
    }
    reorder(order_, fused_);
  }

 private:
  void find_readers() {
    for (size_t u = 0; u < fused_.units.size(); ++u)
      for (Ref root : traffic_.reads[u]) readers_[root].push_back(u);
    for (const Loop& loop : program_.loops) {
      const ir::Node& n = program_.graph->node(loop.node);
      if (n.op != "aten.copy_.default" || !n.args.at(0).is<Ref>() || !n.args.at(1).is<Ref>()) continue;
      const Ref to = program_.placement(n.args[0].as<Ref>()).root;
      const Ref from = program_.placement(n.args[1].as<Ref>()).root;
      copied_to_[from] = to;
    }
  }
  size_t place(size_t u) const { return place_[u]; }
  // What goes with this call and is not given.
  bool is_temporary(Ref root) const {
    return traffic_.producer(root) >= 0 && !traffic_.lasting.contains(root);
  }
  // Bytes that are there from the unit on; what is copied to an input may take its place.
  int64_t written(size_t u) const {
    int64_t out = 0;
    for (Ref root : traffic_.writes[u])
      if (!copied_to_.contains(root)) out += traffic_.bytes(root);
    for (const Member& m : fused_.units[u].group.members)
      for (const Access& s : m.stores) {
        const Ref root = s.root;
        if (traffic_.lasting.contains(root) && !traffic_.writes[u].contains(root))
          out += traffic_.bytes(root);
      }
    return out;
  }
  // Readers that free more than they write give way to each other: they all rise.
  bool shrinks(size_t u) const {
    if (!traffic_.may_move(u)) return false;
    int64_t read = 0;
    for (Ref root : traffic_.reads[u])
      if (is_temporary(root)) read += traffic_.bytes(root);
    return read > kMuchMore * written(u);
  }

  // A few numbers that others wait for, from what is given alone: an optimizer's step counts.
  bool is_slight(size_t u) const {
    const std::set<Ref>& reads = traffic_.reads[u];
    return !traffic_.writes[u].empty() && written(u) <= kSlight &&
           std::all_of(reads.begin(), reads.end(), [&](Ref root) { return traffic_.producer(root) < 0; });
  }

  // Where the unit may run first; its own place, if running there frees nothing.
  size_t earliest(size_t u) const {
    const size_t own = place(u);
    if (!traffic_.may_move(u)) return own;
    size_t at = first_[u];
    auto behind = [&](size_t v) { at = std::max(at, place(v) + 1); };
    int64_t freed = 0;
    for (Ref root : traffic_.reads[u]) {
      if (const int from = traffic_.producer(root); from >= 0) behind(static_cast<size_t>(from));
      if (!is_temporary(root)) continue;
      size_t last = 0;
      const std::vector<size_t>& readers = readers_.at(root);
      // The last readers first: one that runs later than this unit is enough.
      for (auto v = readers.rbegin(); v != readers.rend() && last <= own; ++v)
        if (*v != u && !shrinks_[*v]) last = std::max(last, place(*v) + 1);
      if (last > own) continue;
      freed += traffic_.bytes(root);
      at = std::max(at, last);
    }
    if (freed <= written(u) && !is_slight(u)) return own;
    for (Ref root : traffic_.writes[u]) {
      const auto input = copied_to_.find(root);
      if (input == copied_to_.end()) continue;
      if (const auto readers = readers_.find(input->second); readers != readers_.end())
        for (size_t v : readers->second)
          if (v != u && place(v) < own) behind(v);
    }
    return std::min(at, own);
  }

  static constexpr int64_t kMuchMore = 8, kSlight = 1 << 14;
  const LoopProgram& program_;
  FusedProgram& fused_;
  const Traffic traffic_;
  std::map<Ref, std::vector<size_t>> readers_;  // units, by root
  std::map<Ref, Ref> copied_to_;                // inputs that take what is computed, by that
  std::vector<size_t> order_, place_;           // units by place, places by unit
  std::vector<bool> shrinks_;                   // by unit
  std::vector<size_t> first_;                   // by unit: the place behind the last barrier before it
};

}  // namespace

void run_late(const LoopProgram& program, FusedProgram& fused) {
  Sinker(program, fused).run();
}

void run_early(const LoopProgram& program, FusedProgram& fused) {
  Riser(program, fused).run();
}

}  // namespace vitrine::fusion
