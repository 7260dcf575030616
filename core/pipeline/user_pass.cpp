#include "core/pipeline/user_pass.h"

#include <algorithm>
#include <unordered_map>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/check.h"
#include "core/pipeline/pipeline.h"

namespace vitrine::pipeline {

namespace {

using ir::GraphPtr;
using ir::Node;
using ir::NodeId;

// Makes the graph of a text anew, with ids and origins of the graph that it was made of.
class Rebuilding {
 public:
  Rebuilding(const ir::Graph& before, const UserPass& pass, const std::shared_ptr<ir::NodeIds>& ids)
      : before_(before), pass_(pass), out_(before.stage, ids) {
    for (const Node& node : before.nodes()) by_name_[node.name] = &node;
  }

  GraphPtr run(const ir::Graph& text, const UserPass::Made& made) {
    for (const Node& node : text.nodes()) {
      const auto old = by_name_.find(node.name);
      const bool same = old != by_name_.end() && old->second->op == node.op && old->second->kind == node.kind;
      ids_[node.id] = out_.add(same ? reading(*old->second, node) : fresh(node, made)).node;
    }
    std::vector<ir::Arg> results;
    for (const ir::Arg& result : text.results()) results.push_back(mapped(result));
    return out_.finish(std::move(results));
  }

 private:
  ir::Arg mapped(const ir::Arg& arg) const {
    return ir::map_refs(arg, [this](ir::Ref r) { return ir::Arg(ir::Ref{ids_.at(r.node), r.output}); });
  }

  Node reading(const Node& as, const Node& text) const {
    Node out = as;
    out.args.clear(), out.kwargs.clear();
    for (const ir::Arg& arg : text.args) out.args.push_back(mapped(arg));
    for (const auto& [word, arg] : text.kwargs) out.kwargs.emplace_back(word, mapped(arg));
    out.outputs = text.outputs;
    return out;
  }

  Node fresh(const Node& text, const UserPass::Made& made) const {
    Node out = reading(text, text);
    out.id = -1;
    out.origin = {};
    if (const auto named = made.from.find(text.name); named != made.from.end())
      for (const std::string& name : named->second)
        if (const auto old = by_name_.find(name); old != by_name_.end())
          out.origin.from.push_back(old->second->id);
    if (!out.origin.from.empty()) {
      const ir::Origin& first = before_.node(out.origin.from[0]).origin;
      const std::vector<NodeId> from = out.origin.from;
      out.origin = first;
      out.origin.from = from;
      out.origin.op.clear();
    }
    out.origin.rule = pass_.name;
    return out;
  }

  const ir::Graph& before_;
  const UserPass& pass_;
  ir::Builder out_;
  std::unordered_map<std::string, const Node*> by_name_;
  std::unordered_map<NodeId, NodeId> ids_;  // of the text's nodes
};

std::string types_text(const ir::Graph& graph, const ir::Arg& result) {
  if (!result.is<ir::Ref>()) return ir::print_arg(graph, result);
  const ir::Ref ref = result.as<ir::Ref>();
  return ir::print_type(graph.node(ref.node).outputs.at(static_cast<size_t>(ref.output)));
}

// Why the one cannot stand in the place of the other; "": it can.
std::string misfit(const ir::Graph& before, const ir::Graph& after) {
  const auto were = before.inputs(), are = after.inputs();
  if (were.size() != are.size() || !std::ranges::equal(were, are, {}, &Node::id, &Node::id))
    return "its graph has other inputs than the one it was given";
  for (size_t i = 0; i < were.size(); ++i)
    if (ir::print_type(were[i]->type()) != ir::print_type(are[i]->type()))
      return "its graph takes " + ir::print_type(are[i]->type()) + " for " + were[i]->name + ", which is " +
             ir::print_type(were[i]->type());
  if (before.results().size() != after.results().size())
    return "its graph has " + std::to_string(after.results().size()) + " results, and had " +
           std::to_string(before.results().size());
  for (size_t i = 0; i < before.results().size(); ++i) {
    const std::string was = types_text(before, before.results()[i]);
    const std::string is = types_text(after, after.results()[i]);
    if (was != is) return "result " + std::to_string(i) + " is " + is + ", and was " + was;
  }
  return "";
}

std::string who(const UserPass& pass) {
  return "the pass " + pass.name + (pass.place.empty() ? "" : " (" + pass.place + ")") +
         ", registered after " + pass.after + ", ";
}

}  // namespace

std::string cannot_run_after(std::string_view name) {
  std::vector<std::string_view> known;  // stages, then passes, each once
  for (const auto named : {&Row::stage, &Row::name})
    for (const Row& row : rows())
      if (row.pass && std::ranges::find(known, row.*named) == known.end()) known.push_back(row.*named);
  if (std::ranges::find(known, name) != known.end()) return "";
  std::string all;
  for (std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
  return "no pass or stage of graphs is called " + std::string(name) + "; there are " + all;
}

Result<GraphPtr> run_user_pass(const UserPass& pass, const GraphPtr& before,
                               const std::shared_ptr<ir::NodeIds>& ids) {
  Result<UserPass::Made> made = pass.run(*before);
  if (!made) return Error{who(pass) + made.error().what, "", made.error().where};
  if (made.value().text.empty()) return before;
  auto text = ir::parse(made.value().text);
  if (!text) return Error{who(pass) + "gave no graph: " + text.error().what, "", text.error().where};
  GraphPtr after = Rebuilding(*before, pass, ids).run(*text.value(), made.value());
  if (const std::string why = misfit(*before, *after); !why.empty())
    return Error{who(pass) + "cannot be used: " + why, "", ""};
  if (const auto broken = ops::verify(*after); !broken.empty()) {
    const Node* node = after->find(broken[0].node);
    return Error{who(pass) + "breaks a law of the graph: " + broken[0].text, "",
                 node ? ir::print_node(*after, *node) : ""};
  }
  return after;
}

}  // namespace vitrine::pipeline
