#include "core/fusion/order.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/fusion/classify.h"

namespace vitrine::fusion {

using ir::Ref;

namespace {

using Key = std::pair<ir::NodeId, int32_t>;

class Sinker {
 public:
  Sinker(const LoopProgram& program, FusedProgram& fused) : program_(program), fused_(fused) {}

  void run() {
    find_reads();
    // From the last unit to the first: `later_` is the order of those behind it.
    for (size_t u = fused_.units.size(); u-- > 0;) {
      const auto at = gain(u) > 0 ? latest(u) : later_.begin();
      later_.insert(at, u);
      seen_.insert(reads_[u].begin(), reads_[u].end());
    }
    if (!std::is_sorted(later_.begin(), later_.end())) apply();
  }

 private:
  int64_t bytes(const Key& root) const {
    return program_.graph->node(root.first).outputs[static_cast<size_t>(root.second)].bytes();
  }
  int producer(const Key& root) const {
    const auto it = program_.loop_of.find(root.first);
    return it == program_.loop_of.end() ? -1 : fused_.unit_of[it->second];
  }

  void find_reads() {
    reads_.resize(fused_.units.size());
    writes_.resize(fused_.units.size());
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      if (fused_.unit_of[l] < 0) continue;
      each_read(program_, program_.loops[l], [&](Ref r) {
        const Key root{r.node, r.output};
        const int from = producer(root);
        if (from == fused_.unit_of[l]) return;
        reads_[static_cast<size_t>(fused_.unit_of[l])].insert(root);
        if (from >= 0) writes_[static_cast<size_t>(from)].insert(root);
      });
    }
    for (const ir::Arg& r : program_.graph->results())
      ir::each_ref(r, [&](Ref ref) {
        const Ref root = program_.placement(ref).root;
        lasting_.insert({root.node, root.output});
      });
  }

  bool may_move(size_t u) const {
    const Unit& unit = fused_.units[u];
    if (unit.group.members.empty()) return false;
    return std::none_of(unit.loops.begin(), unit.loops.end(), [&](size_t l) {
      return program_.loops[l].barrier || ops::is_random(program_.graph->node(program_.loops[l].node));
    });
  }

  // Bytes that are held for a shorter time if the unit runs later, less those that are held for longer: what
  // nobody behind it reads.
  int64_t gain(size_t u) const {
    if (writes_[u].empty() || !may_move(u)) return 0;
    int64_t out = 0;
    for (const Key& root : writes_[u]) out += bytes(root);
    for (const Key& root : reads_[u]) {
      const ir::NodeKind kind = program_.graph->node(root.first).kind;
      const bool stays = kind == ir::NodeKind::parameter || kind == ir::NodeKind::constant;
      if (!stays && !seen_.contains(root) && !lasting_.contains(root)) out -= bytes(root);
    }
    return out;
  }

  std::vector<size_t>::iterator latest(size_t u) {
    const int64_t epoch = epoch_of(u);
    return std::find_if(later_.begin(), later_.end(), [&](size_t v) {
      if (epoch_of(v) != epoch || is_barrier(v)) return true;
      return std::any_of(writes_[u].begin(), writes_[u].end(),
                         [&](const Key& root) { return reads_[v].contains(root); });
    });
  }
  int64_t epoch_of(size_t u) const { return program_.loops[fused_.units[u].loops.back()].epoch; }
  bool is_barrier(size_t u) const { return program_.loops[fused_.units[u].loops.back()].barrier; }

  void apply() {
    std::vector<Unit> units;
    std::vector<int> to(fused_.units.size());
    for (size_t u : later_) {
      to[u] = static_cast<int>(units.size());
      units.push_back(std::move(fused_.units[u]));
    }
    fused_.units = std::move(units);
    for (int& unit : fused_.unit_of)
      if (unit >= 0) unit = to[static_cast<size_t>(unit)];
    name_units(fused_);
  }

  const LoopProgram& program_;
  FusedProgram& fused_;
  std::vector<std::set<Key>> reads_, writes_;  // by unit: roots of others; those that others read
  std::set<Key> lasting_, seen_;               // results; what units in later_ read
  std::vector<size_t> later_;
};

}  // namespace

void run_late(const LoopProgram& program, FusedProgram& fused) {
  Sinker(program, fused).run();
}

}  // namespace vitrine::fusion
