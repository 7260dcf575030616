// Graphs, fusion groups and kernels of a program that both sessions have.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/session/compare/equal_changes.h"
#include "core/session/compare/parts.h"
#include "core/session/speed_up.h"

namespace vitrine::session {

namespace {

using What = SessionChange::What;
using Sign = SessionChange::Sign;

constexpr size_t kNamed = 4;  // of a long list

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i) out += (i ? ", " : "") + names[i];
  return names.size() > kNamed ? out + " and " + std::to_string(names.size() - kNamed) + " more" : out;
}

// The calls of the captured graph in place of nodes: what two compilers have in common.
ComparedProgram as_captured(const ComparedProgram& p) {
  ComparedProgram out;
  out.key = p.key;
  std::map<std::string, int> equals;
  for (const ComparedCall& call : p.calls)
    out.nodes.push_back(
        {call.text() + " #" + std::to_string(equals[call.text()]++), call.text(), call.type, ""});
  return out;
}

// What one side of a pair of two compilers does not tell is left out.
void compare_captured(const ComparedProgram& a, const ComparedProgram& b, Changes& out) {
  if (a.calls.empty() || b.calls.empty() || same_calls(a.calls, b.calls)) return;
  ComparedProgram before = as_captured(a), after = as_captured(b);
  before.imported = after.imported = false;
  compare_graphs(before, after, out);
}

std::map<std::string, const ComparedNode*> by_key(const ComparedProgram& p) {
  std::map<std::string, const ComparedNode*> out;
  for (const ComparedNode& node : p.nodes) out[node.key] = &node;
  return out;
}

const ComparedKernel* kernel_of(const ComparedProgram& p, const std::string& label) {
  for (const ComparedKernel& k : p.kernels)
    if (k.label == label) return &k;
  return nullptr;
}

std::string name_of(const ComparedProgram& p, const std::string& label) {
  const ComparedKernel* k = kernel_of(p, label);
  return k ? label + " " + k->name : label;
}

// Of two operators that are in one kernel in one program and in two in the other: why, as the other decided.
std::string why_apart(const ComparedProgram& p, const std::vector<const ComparedNode*>& some,
                      const std::vector<const ComparedNode*>& others) {
  for (const ComparedNode* a : some)
    for (const ComparedNode* b : others)
      if (const auto at = p.rejected.find(std::minmax(a->key, b->key)); at != p.rejected.end())
        return at->second;
  return "";
}

// K9 before K10.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  }
};

// Groups of `from` whose operators stand in several groups of `to`.
void add_parted(const ComparedProgram& from, const ComparedProgram& to, Sign sign, Changes& out) {
  const auto there = by_key(to);
  using Parts = std::map<std::string, std::vector<const ComparedNode*>, ByNumber>;
  std::map<std::string, Parts, ByNumber> groups;  // here, there
  for (const ComparedNode& node : from.nodes)
    if (const auto at = there.find(node.key);
        !node.group.empty() && at != there.end() && !at->second->group.empty())
      groups[node.group][at->second->group].push_back(at->second);
  for (const auto& [group, parts] : groups) {
    if (parts.size() < 2) continue;
    std::vector<std::string> names;
    std::string why;
    for (auto one = parts.begin(); one != parts.end(); ++one) {
      names.push_back(name_of(to, one->first));
      for (auto other = std::next(one); other != parts.end() && why.empty(); ++other)
        why = why_apart(to, one->second, other->second);
    }
    SessionChange made{What::Fusion, sign, to.key, name_of(from, group), "", "", why, 0};
    if (sign == Sign::Added && !why.empty()) made.reason = "before: " + why;
    (sign == Sign::Removed ? made.before : made.after) = name_of(from, group);
    (sign == Sign::Removed ? made.after : made.before) = listed(names);
    out.push_back(std::move(made));
  }
}

// Of two compilers, the kernel of `p` whose name tells most of the same; nullptr: none is alike.
const ComparedKernel* likest(const ComparedKernel& k, const ComparedProgram& p,
                             const std::set<const ComparedKernel*>& taken) {
  const ComparedKernel* best = nullptr;
  double most = kAlike;
  for (const ComparedKernel& other : p.kernels)
    if (const double like = kernel_likeness(k.name, other.name); !taken.contains(&other) && like > most)
      most = like, best = &other;
  return best;
}

// The kernels of a program by what they compute: of ten thousand each would else be held against each.
class KernelsByNode {
 public:
  explicit KernelsByNode(const ComparedProgram& p) {
    for (const ComparedKernel& kernel : p.kernels) {
      for (const std::string& key : kernel.nodes) by_node_[key].push_back(&kernel);
      if (kernel.nodes.empty()) by_name_[kernel.name].push_back(&kernel);
    }
  }

  // The one that computes most of the same, more than half of either; of what computes nothing that is known,
  // the first of its name.
  const ComparedKernel* counterpart(const ComparedKernel& k,
                                    const std::set<const ComparedKernel*>& taken) const {
    const auto named = by_name_.find(k.name);
    if (k.nodes.empty() && named != by_name_.end())
      for (const ComparedKernel* other : named->second)
        if (!taken.contains(other)) return other;
    std::map<const ComparedKernel*, size_t> common;  // by place, which is their order
    for (const std::string& key : k.nodes)
      if (const auto at = by_node_.find(key); at != by_node_.end())
        for (const ComparedKernel* other : at->second)
          if (!taken.contains(other)) ++common[other];
    const ComparedKernel* best = nullptr;
    size_t most = 0;
    for (const auto& [other, count] : common)
      if (2 * count > std::max(k.nodes.size(), other->nodes.size()) && count > most)
        most = count, best = other;
    return best;
  }

 private:
  std::unordered_map<std::string, std::vector<const ComparedKernel*>> by_node_, by_name_;
};

bool apart(const ComparedKernel& a, const ComparedKernel& b) {
  if (std::min(a.calls, b.calls) < kFewestCalls || a.lower_ns <= 0 || b.lower_ns <= 0) return false;
  return a.lower_ns > b.upper_ns || b.lower_ns > a.upper_ns;
}

// The module that all of a kernel's operators are in, by their keys: "layers.3" of "layers.3.up aten.mul #0"
// and "layers.3.norm aten.add #0". "": of the whole model, or not known.
std::string module_of(const ComparedKernel& k) {
  std::string common;
  bool first = true;
  for (const std::string& key : k.nodes) {
    const size_t end = key.find(' ');
    const std::string module = key.find(' ', end + 1) == std::string::npos ? "" : key.substr(0, end);
    if (std::exchange(first, false)) {
      common = module;
      continue;
    }
    while (!common.empty() && module != common && !module.starts_with(common + "."))
      common.resize(common.rfind('.') == std::string::npos ? 0 : common.rfind('.'));
  }
  return common;
}

void compare_kernel(const ComparedProgram& p, const ComparedKernel& a, const ComparedKernel& b, bool busy,
                    Changes& out) {
  const bool texts = a.text != b.text;
  // One text over one space is one kernel: where the machine was busy, its times tell of the machine.
  const bool times = apart(a, b) && !(busy && !texts && a.space == b.space);
  if (!times && !texts && a.kind == b.kind && a.spills == b.spills) return;
  SessionChange made{What::Kernel, Sign::Changed, p.key, b.label + " " + b.name, "", "", "", 0};
  made.module = module_of(b);
  if (times) {
    made.before = time_text(a.ns), made.after = time_text(b.ns);
    made.before_ns = a.ns, made.after_ns = b.ns;
    made.ns = b.ns - a.ns;
  }
  std::vector<std::string> why;
  if (a.kind != b.kind) why.push_back(a.kind + ", now " + b.kind);
  if (a.space != b.space && !a.space.empty() && !b.space.empty())
    why.push_back("iterates over " + b.space + ", before " + a.space);
  if (a.name != b.name) why.push_back("was " + a.label + " " + a.name);
  if (texts) why.emplace_back("its text differs");
  if (a.spills != b.spills)
    why.push_back(std::to_string(b.spills) + " spills, before " + std::to_string(a.spills));
  if (!times && a.calls && b.calls) why.emplace_back("no difference in time beyond the noise");
  made.reason = listed(why);
  out.push_back(std::move(made));
}

}  // namespace

void compare_graphs(const ComparedProgram& before, const ComparedProgram& after, Changes& out) {
  if (of_two_compilers(before, after)) return compare_captured(before, after, out);
  const auto a = by_key(before), b = by_key(after);
  std::vector<std::string> removed, added, retyped;
  for (const auto& [key, node] : a)
    if (!b.contains(key)) removed.push_back(node->name + " (" + key.substr(0, key.rfind(" #")) + ")");
  for (const auto& [key, node] : b) {
    const auto at = a.find(key);
    if (at == a.end())
      added.push_back(node->name + " (" + key.substr(0, key.rfind(" #")) + ")");
    else if (at->second->type != node->type)
      retyped.push_back(node->name + " " + at->second->type + " → " + node->type);
  }
  auto count = [](size_t n) { return std::to_string(n) + (n == 1 ? " operator" : " operators"); };
  if (!removed.empty())
    out.push_back({What::Graph, Sign::Removed, after.key,
                   count(removed.size()) + ": " + listed(equal_entries(removed)), "", "", "", 0});
  if (!added.empty())
    out.push_back({What::Graph, Sign::Added, after.key,
                   count(added.size()) + ": " + listed(equal_entries(added)), "", "", "", 0});
  if (!retyped.empty())
    out.push_back({What::Graph, Sign::Changed, after.key,
                   "types of " + count(retyped.size()) + ": " + listed(equal_entries(retyped)), "", "", "",
                   0});
}

void compare_fusion(const ComparedProgram& before, const ComparedProgram& after, Changes& out) {
  add_parted(before, after, Sign::Removed, out);
  add_parted(after, before, Sign::Added, out);
}

void compare_kernels(const ComparedProgram& before, const ComparedProgram& after, Changes& out) {
  // What another tool recorded has no times: what stands on one side alone is then no gain and no loss.
  const bool priced = !of_two_compilers(before, after);
  std::set<const ComparedKernel*> taken;
  const KernelsByNode by_node(after);
  for (const ComparedKernel& a : before.kernels) {
    const ComparedKernel* b =
        of_two_compilers(before, after) ? likest(a, after, taken) : by_node.counterpart(a, taken);
    if (b) {
      taken.insert(b);
      compare_kernel(after, a, *b, before.busy || after.busy, out);
    } else {
      out.push_back({What::Kernel, Sign::Removed, after.key, a.label + " " + a.name,
                     a.ns > 0 ? time_text(a.ns) : "", "", "", priced ? -a.ns : 0, a.ns, 0, module_of(a)});
    }
  }
  for (const ComparedKernel& b : after.kernels)
    if (!taken.contains(&b))
      out.push_back({What::Kernel, Sign::Added, after.key, b.label + " " + b.name, "",
                     b.ns > 0 ? time_text(b.ns) : "", "", priced ? b.ns : 0, 0, b.ns, module_of(b)});
}

}  // namespace vitrine::session
