#include "core/ir/verify.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/print.h"
#include "core/ir/words.h"

namespace vitrine::ir {

namespace {

bool sane(const TensorType& t) {
  auto negative = [](int64_t n) { return n < 0; };
  return t.sizes.size() == t.strides.size() && t.offset >= 0 &&
         std::none_of(t.sizes.begin(), t.sizes.end(), negative) &&
         std::none_of(t.strides.begin(), t.strides.end(), negative);
}

bool has_origin(const Node& node) {
  const Origin& o = node.origin;
  return node.kind != NodeKind::op || !o.from.empty() || !o.file.empty() || !o.rule.empty() || o.step >= 0;
}

}  // namespace

#define LAW(cond, text, node) \
  if (!(cond)) broken.push_back({node, text})

std::vector<BrokenLaw> verify(const Graph& graph) {
  std::vector<BrokenLaw> broken;
  std::unordered_set<std::string> names;
  std::vector<bool> seen;
  auto defined = [&](Ref r) {
    return r.node >= 0 && static_cast<size_t>(r.node) < seen.size() && seen[static_cast<size_t>(r.node)] &&
           r.output >= 0 && static_cast<size_t>(r.output) < graph.node(r.node).outputs.size();
  };
  for (const Node& n : graph.nodes()) {
    bool refs_defined = true, any_ref = false;
    each_ref(n, [&](Ref r) { refs_defined &= defined(r), any_ref = true; });
    bool input = n.kind != NodeKind::op;
    LAW(refs_defined, "an argument is not an output of a node above", n.id);
    LAW(names.insert(n.name).second, "the name is taken", n.id);
    LAW(is_name(n.name), "the name holds more than letters, digits and underscores", n.id);
    LAW(input == n.op.empty(), "only an operator node has an operator", n.id);
    LAW(!input || n.outputs.size() == 1, "an input has one output", n.id);
    LAW(!input || !any_ref, "an input has no tensor arguments", n.id);
    LAW(std::all_of(n.outputs.begin(), n.outputs.end(), sane), "a type is not sane", n.id);
    LAW(has_origin(n), "the node has no origin", n.id);
    if (seen.size() <= static_cast<size_t>(n.id)) seen.resize(static_cast<size_t>(n.id) + 1);
    seen[static_cast<size_t>(n.id)] = true;
  }
  for (const Arg& result : graph.results()) {
    bool refs_defined = true;
    each_ref(result, [&](Ref r) { refs_defined &= defined(r); });
    LAW(refs_defined, "a result is not an output of a node", -1);
  }
  return broken;
}

std::string show_broken(const Graph& graph, const std::vector<BrokenLaw>& broken) {
  std::string text = print(graph, {.note = [&](const Node& node) {
                             std::string note;
                             for (const BrokenLaw& b : broken)
                               if (b.node == node.id) note += (note.empty() ? "" : "; ") + b.text;
                             return note;
                           }});
  for (const BrokenLaw& b : broken)
    if (b.node < 0) text += "^ " + b.text + "\n";
  return text;
}

}  // namespace vitrine::ir
