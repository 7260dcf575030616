#include "core/ir/graph.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/result.h"
#include "core/base/words.h"
#include "core/ir/each_integer.h"

namespace vitrine::ir {

Arg Arg::ints(const Dims& dims) {
  std::vector<Arg> list;
  for (const Sym& d : dims) list.emplace_back(d);
  return Arg(std::move(list));
}

bool Arg::same(const Arg& other) const {
  if (is<Sym>() && other.is<Sym>()) return as<Sym>().same(other.as<Sym>());
  if (is<std::vector<Arg>>() && other.is<std::vector<Arg>>())
    return ir::same(as<std::vector<Arg>>(), other.as<std::vector<Arg>>());
  return v == other.v;
}

bool same(const std::vector<Arg>& a, const std::vector<Arg>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Arg& x, const Arg& y) { return x.same(y); });
}

bool same(const Kwargs& a, const Kwargs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.same(y.second);
  });
}

std::string_view kind_word(NodeKind kind) {
  switch (kind) {
    case NodeKind::placeholder:
      return "placeholder";
    case NodeKind::parameter:
      return "parameter";
    case NodeKind::buffer:
      return "buffer";
    case NodeKind::constant:
      return "constant";
    case NodeKind::op:
      break;
  }
  return "op";
}

const Node* Graph::find(NodeId id) const {
  const std::vector<int32_t>& position = body_->position;
  if (id < 0 || static_cast<size_t>(id) >= position.size() || position[static_cast<size_t>(id)] < 0)
    return nullptr;
  return &body_->nodes[static_cast<size_t>(position[static_cast<size_t>(id)])];
}

const Node& Graph::node(NodeId id) const {
  const Node* found = find(id);
  VITRINE_CHECK(found, "graph " + stage + " has no node " + std::to_string(id));
  return *found;
}

size_t Graph::position(NodeId id) const {
  node(id);
  return static_cast<size_t>(body_->position[static_cast<size_t>(id)]);
}

std::vector<const Node*> Graph::inputs() const {
  std::vector<const Node*> out;
  for (const Node& n : nodes()) {
    if (n.kind != NodeKind::op) out.push_back(&n);
  }
  return out;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> out(nodes().size());
  for (const Node& n : nodes()) {
    each_ref(n, [&](Ref r) {
      auto& list = out[position(r.node)];
      if (list.empty() || list.back() != n.id) list.push_back(n.id);
    });
  }
  return out;
}

namespace {

uint64_t hash_of(const std::string& name) {
  const uint64_t hash = std::hash<std::string>()(name);
  return hash ? hash : 1;
}

}  // namespace

// The slot that has it, or would.
size_t Builder::Names::place(uint64_t hash) const {
  const size_t last = slots_.size() - 1;
  size_t at = hash & last;
  while (slots_[at].hash && slots_[at].hash != hash) at = (at + 1) & last;
  return at;
}

void Builder::Names::grow(size_t slots) {
  std::vector<Name> old(slots);
  std::swap(old, slots_);
  for (const Name& name : old)
    if (name.hash) slots_[place(name.hash)] = name;
}

void Builder::Names::expect(size_t more) {
  if (const size_t needed = std::bit_ceil(2 * (used_ + more) + 16); needed > slots_.size()) grow(needed);
}

Builder::Name& Builder::Names::at(const std::string& name) {
  expect(1);
  const uint64_t hash = hash_of(name);
  Name& slot = slots_[place(hash)];
  if (!slot.hash) {
    slot.hash = hash;
    ++used_;
  }
  return slot;
}

Builder::Name* Builder::Names::find(const std::string& name) {
  if (slots_.empty()) return nullptr;
  Name& slot = slots_[place(hash_of(name))];
  return slot.hash ? &slot : nullptr;
}

std::string Builder::unique_name(const std::string& wanted) {
  Name* const taken = names_.find(wanted);
  if (!taken) return wanted;
  std::string name;
  do name = wanted + "_" + std::to_string(++taken->asked);
  while (names_.find(name));
  return name;
}

void Builder::expect(size_t nodes) {
  graph_->body_->nodes.reserve(size() + nodes);
  names_.expect(nodes);
}

Ref Builder::add(Node node) {
  if (node.id < 0) node.id = ids_->next++;
  if (node.name.empty()) node.name = unique_name(short_op(node.op));
  Name* name = &names_.at(node.name);
  if (name->added) name = &names_.at(node.name = unique_name(node.name));
  name->added = true;
  Graph::Body& body = *graph_->body_;
  auto& position = body.position;
  if (position.size() <= static_cast<size_t>(node.id)) position.resize(static_cast<size_t>(node.id) + 1, -1);
  VITRINE_CHECK(position[static_cast<size_t>(node.id)] < 0, "node " + node.name + " is added twice");
  position[static_cast<size_t>(node.id)] = static_cast<int32_t>(body.nodes.size());
  body.nodes.push_back(std::move(node));
  return {body.nodes.back().id, 0};
}

Ref Builder::op(std::string op, std::vector<Arg> args, std::vector<TensorType> outputs, Origin origin,
                Kwargs kwargs) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.kwargs = std::move(kwargs);
  node.outputs = std::move(outputs);
  node.origin = std::move(origin);
  return add(std::move(node));
}

void Builder::also_from(NodeId node, NodeId from) {
  graph_->body_->nodes.at(graph_->position(node)).origin.from.push_back(from);
}

GraphPtr Builder::finish(std::vector<Arg> results) {
  graph_->body_->results = std::move(results);
  return std::move(graph_);
}

SymbolTable* symbols_of(const Graph& graph) {
  SymbolTable* found = nullptr;
  for (const Node& node : graph.nodes()) {
    each_integer(node, [&](const Sym& number) {
      if (!found && number.symbolic()) found = number.expr()->table;
    });
    if (found) break;
  }
  return found;
}

Arg map_refs(const Arg& arg, const std::function<Arg(Ref)>& f) {
  if (arg.is<Ref>()) return f(arg.as<Ref>());
  if (!arg.is<std::vector<Arg>>()) return arg;
  std::vector<Arg> out;
  for (const Arg& a : arg.as<std::vector<Arg>>()) out.push_back(map_refs(a, f));
  return Arg(std::move(out));
}

std::string name_and_place(const Node& node) {
  const Origin& o = node.origin;
  if (o.file.empty()) return node.name;
  return node.name + " at " + file_name(o.file) + ":" + std::to_string(o.line);
}

std::string short_op(const std::string& op) {
  std::string name = op;
  if (name.rfind("aten.", 0) == 0 || name.rfind("prims.", 0) == 0) {
    name = name.substr(name.find('.') + 1);
    name = name.substr(0, name.find('.'));
  } else if (auto dot = name.rfind('.'); dot != std::string::npos) {
    name = name.substr(dot + 1);
  }
  if (name.rfind("native_", 0) == 0) name = name.substr(7);
  while (!name.empty() && name[0] == '_') name.erase(0, 1);
  return name.empty() ? "node" : name;
}

size_t Graph::operators() const {
  return static_cast<size_t>(
      std::count_if(nodes().begin(), nodes().end(), [](const Node& n) { return n.kind == NodeKind::op; }));
}

}  // namespace vitrine::ir
