#include "core/fusion/horizontal.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/fusion/classify.h"
#include "core/fusion/space.h"
#include "core/ops/node.h"

namespace vitrine::fusion {

using ir::Dims;
using ir::Ref;

namespace {

constexpr int64_t kSmallBytes = int64_t{1} << 16;

class Uniter {
 public:
  Uniter(const LoopProgram& program, FusedProgram& fused, OptBisect* bisect, bool weights_last)
      : program_(program), fused_(fused), bisect_(bisect), weights_last_(weights_last) {}

  void run() {
    find_readers();
    find_heights();
    if (weights_last_) find_of_weights();
    // What computes the same, by the length of the longest way to the end: along a way it falls, so that none
    // of equals needs another, and however many of them become one unit, no cycle arises.
    std::map<std::string, std::vector<size_t>> kinds;
    for (size_t u = 0; u < fused_.units.size(); ++u)
      if (std::string kind = kind_of(u); !kind.empty()) kinds[kind].push_back(u);
    taken_.assign(fused_.units.size(), false);
    for (const auto& [kind, units] : kinds) unite(units);
    if (std::find(taken_.begin(), taken_.end(), true) != taken_.end()) order();
  }

 private:
  const ir::TensorType& type(Ref r) const {
    return program_.graph->node(r.node).outputs[static_cast<size_t>(r.output)];
  }
  const Loop& first_loop(size_t u) const { return program_.loops[fused_.units[u].loops.front()]; }
  int producer(Ref root) const {
    auto it = program_.loop_of.find(root.node);
    return it == program_.loop_of.end() ? -1 : fused_.unit_of[it->second];
  }

  // Which values others than the unit that computes them read, and which last as long as the call.
  void find_readers() {
    before_.resize(fused_.units.size());
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      const int unit = fused_.unit_of[l];
      if (unit < 0) continue;
      const ir::Node& n = program_.graph->node(program_.loops[l].node);
      if (n.op == "aten.copy_.default" && n.args.at(1).is<Ref>() && n.args[0].is<Ref>() &&
          producer(program_.placement(n.args[0].as<Ref>()).root) < 0)
        updates_.insert(program_.placement(n.args[1].as<Ref>()).root);
      each_read(program_, program_.loops[l], [&](Ref root) {
        const int from = producer(root);
        if (from == unit) return;
        seen_.insert(root);
        if (from >= 0) before_[static_cast<size_t>(unit)].insert(static_cast<size_t>(from));
      });
    }
    int last_random = -1;
    for (size_t u = 0; u < fused_.units.size(); ++u) {
      if (fused_.units[u].kind != Loop::Kind::opaque) continue;
      if (!ops::is_random(program_.graph->node(first_loop(u).node))) continue;
      if (last_random >= 0) before_[u].insert(static_cast<size_t>(last_random));
      last_random = static_cast<int>(u);
    }
    for (const ir::Arg& r : program_.graph->results())
      ir::each_ref(r, [&](Ref ref) {
        const Ref root = program_.placement(ref).root;
        seen_.insert(root);
        results_.insert(root);
      });
  }

  // Units stand in an order in which each comes after what it needs.
  void find_heights() {
    height_.assign(fused_.units.size(), 0);
    for (size_t u = fused_.units.size(); u-- > 0;)
      for (size_t b : before_[u]) height_[b] = std::max(height_[b], height_[u] + 1);
  }

  void find_of_weights() {
    std::vector<bool> reads(fused_.units.size());
    of_weights_.assign(fused_.units.size(), true);
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      const int at = fused_.unit_of[l];
      if (at < 0) continue;
      const auto unit = static_cast<size_t>(at);
      each_read(program_, program_.loops[l], [&](Ref root) {
        const int from = producer(root);
        if (from == at) return;
        reads[unit] = true;
        const bool lasts = from >= 0 ? of_weights_[static_cast<size_t>(from)]
                                     : ops::is_weight(program_.graph->node(root.node));
        if (!lasts) of_weights_[unit] = false;
      });
    }
    for (size_t u = 0; u < reads.size(); ++u) of_weights_[u] = of_weights_[u] && reads[u];
  }

  bool lasts(Ref root) const {
    return producer(root) < 0 || results_.contains(root) || updates_.contains(root) ||
           type(root).bytes().hint() <= kSmallBytes;
  }
  // Worth waiting for others: see the header.
  bool may_wait(const Group& group) const {
    bool updates = false, written = true, read = true;
    for (const Member& m : group.members) {
      for (const Access& s : m.stores) {
        if (!seen_.contains(s.root)) continue;
        updates = updates || updates_.contains(s.root);
        written = written && lasts(s.root);
      }
      for (const Access& a : m.operands) read = read && lasts(a.root);
    }
    return written && (read || updates);
  }

  // All that decides the kernel's text but sizes; "": it is none of these.
  std::string kind_of(size_t u) const {
    const Unit& unit = fused_.units[u];
    if (unit.kind != Loop::Kind::pointwise || unit.product >= 0) return "";
    Dims dims = unit.group.dims;
    std::vector<Member> members = unit.group.members;
    if (!flatten(dims, members) || !may_wait(unit.group)) return "";
    std::string out = type(members.front().stores.front().root).device.text() + " " +
                      std::to_string(first_loop(u).epoch) + " " + std::to_string(height_[u]) +
                      (dims.empty() ? " one" : " many") +
                      (weights_last_ && of_weights_[u] ? " of weights" : "");
    std::map<Ref, int> roots;
    auto place = [&](const Access& a) {
      const int number = roots.try_emplace(a.root, static_cast<int>(roots.size())).first->second;
      out += " " + std::to_string(number) + std::string(ir::dtype_name(type(a.root).dtype)) +
             type(a.root).device.text() + (!a.strides.empty() && !a.strides[0].same(0) ? "*" : ".");
    };
    for (const Member& m : members) {
      out += ";";
      for (const Access& a : m.operands) place(a);
      for (const Statement& s : program_.loops[m.loop].body) {
        if (has_size(*s.expr)) return "";
        out += " = " + to_text(s.expr) + ":" + std::string(ir::dtype_name(s.dtype)) + ":" +
               std::string(ir::dtype_name(s.compute)) + ":" + std::to_string(s.output) + ":" +
               (s.node >= 0 ? "again" : "");
      }
      for (const Access& s : m.stores) {
        place(s);
        out += seen_.contains(s.root) ? "stored" : "";
      }
    }
    return out;
  }
  // Whether one index runs through all places, side by side or standing still; members: rewritten for it.
  static bool flatten(Dims& dims, std::vector<Member>& members) {
    const Dims by = members.back().stores.at(0).strides;
    std::vector<size_t> order(dims.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return by[a].hint() > by[b].hint(); });
    auto sorted = [&](const Dims& from) {
      Dims out;
      for (size_t d : order) out.push_back(from[d]);
      return out;
    };
    std::vector<Dims*> strides;
    for (Member& m : members)
      for (std::vector<Access>* list : {&m.operands, &m.stores})
        for (Access& a : *list) {
          if (!a.is_affine() || !a.offset.same(0)) return false;
          a.strides = sorted(a.strides);
          strides.push_back(&a.strides);
        }
    dims = sorted(dims);
    size_t none = 0;
    collapse(dims, none, strides);
    return dims.size() <= 1 && std::all_of(strides.begin(), strides.end(), [](const Dims* s) {
             return s->empty() || s->front().same(0) || s->front().same(1);
           });
  }

  void unite(const std::vector<size_t>& units) {
    if (units.size() < 2) return;
    Unit& first = fused_.units[units.front()];
    const ir::NodeId a = program_.loops[first.loops.back()].node;
    if (bisect_ &&
        !bisect_->allows(OptBisect::Of::fusion, "horizontal: " + std::to_string(units.size()) + " like " +
                                                    ir::name_and_place(program_.graph->node(a))))
      return;
    for (size_t i = 1; i < units.size(); ++i) {
      Unit& other = fused_.units[units[i]];
      fused_.decisions.push_back({a, program_.loops[other.loops.back()].node, "horizontal",
                                  "they compute the same on other tensors: one launch for " +
                                      std::to_string(units.size()) + " of them",
                                  true, 0});
      for (size_t l : other.loops) fused_.unit_of[l] = static_cast<int>(units.front());
      first.loops.insert(first.loops.end(), other.loops.begin(), other.loops.end());
      first.horizontal.push_back(std::move(other.group));
      taken_[units[i]] = true;
    }
  }

  void order() {
    // Of what became one: the place of its last.
    std::vector<std::tuple<int, bool, size_t>> place;
    for (const Unit& unit : fused_.units) {
      const size_t last = *std::max_element(unit.loops.begin(), unit.loops.end());
      place.emplace_back(program_.loops[last].epoch, program_.loops[last].barrier, last);
    }
    std::vector<std::set<size_t>> next(fused_.units.size());
    std::vector<int> waiting(fused_.units.size(), 0);
    for (size_t u = 0; u < before_.size(); ++u)
      for (size_t b : before_[u]) {
        const size_t from = home(b), to = home(u);
        if (next[from].insert(to).second) ++waiting[to];
      }
    auto earlier = [&](size_t a, size_t b) { return place[a] < place[b]; };
    std::set<size_t, decltype(earlier)> ready(earlier);
    for (size_t u = 0; u < fused_.units.size(); ++u)
      if (!taken_[u] && !waiting[u]) ready.insert(u);
    std::vector<Unit> units;
    std::vector<int> to(fused_.units.size(), -1);
    while (!ready.empty()) {
      const size_t u = *ready.begin();
      ready.erase(ready.begin());
      to[u] = static_cast<int>(units.size());
      units.push_back(fused_.units[u]);
      for (size_t n : next[u])
        if (--waiting[n] == 0) ready.insert(n);
    }
    const auto left = static_cast<size_t>(std::count(taken_.begin(), taken_.end(), false));
    VITRINE_CHECK(units.size() == left, "kernels that are alike need each other");
    fused_.units = std::move(units);
    for (int& unit : fused_.unit_of)
      if (unit >= 0) unit = to[static_cast<size_t>(unit)];
    name_units(fused_);
  }
  // The unit that u is part of by now.
  size_t home(size_t u) const {
    return taken_[u] ? static_cast<size_t>(fused_.unit_of[fused_.units[u].loops.front()]) : u;
  }

  const LoopProgram& program_;
  FusedProgram& fused_;
  OptBisect* bisect_;
  bool weights_last_;
  std::vector<bool> of_weights_;            // by unit; while weights_last_
  std::set<Ref> seen_, results_, updates_;  // roots: read elsewhere, results, copied to an input
  std::vector<std::set<size_t>> before_;    // by unit: those whose values it reads
  std::vector<int> height_;                 // by unit: units on the longest way from it to an end
  std::vector<bool> taken_;                 // by unit: it has become part of another
};

}  // namespace

void fuse_horizontally(const LoopProgram& program, FusedProgram& fused, OptBisect* bisect,
                       bool weights_last) {
  Uniter(program, fused, bisect, weights_last).run();
}

}  // namespace vitrine::fusion
