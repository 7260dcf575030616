// The graph of every stage: nodes in execution order, immutable once built. A pass makes a new Graph and
// returns the same pointer when it changed nothing. Values are node outputs; tensors, sizes and text are
// arguments.
//
// Text form (core/ir/print.h, parse.h), which round-trips:
//   graph aten {
//     %x = placeholder() [source="L['x']"] : f32[8,64]
//     %w = parameter() [source="L['self'].fc.weight"] : f32[32,64]
//     %t = aten.t.default(%w) : f32[64,32]{1,64}
//     %mm = aten.mm.default(%x, %t) : f32[8,32]
//     return %mm
//   }
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/ir/types.h"

namespace vitrine {
class OptBisect;  // core/base/opt_bisect.h
}

namespace vitrine::ir {

using NodeId =
    int32_t;  // unique within one compilation, over all stages: a node that survives a pass keeps its id

// Output `output` of node `node`.
struct Ref {
  NodeId node = -1;
  int32_t output = 0;
  auto operator<=>(const Ref&) const = default;
};

struct None {
  bool operator==(const None&) const = default;
};
// A word of PyTorch's that is neither number nor text: memory_format, layout, device: "torch.channels_last",
// "cpu".
struct Word {
  std::string text;
  bool operator==(const Word&) const = default;
};

// An argument: a node's output, a constant, or a list of arguments. An integer may be symbolic: as<Sym>()
// gives it as it is, as<int64_t>() as a plain number, which specialises it.
struct Arg {
  std::variant<None, bool, Sym, double, std::string, Word, DType, Ref, std::vector<Arg>> v;
  Arg() = default;
  template <class T>
  Arg(T value) : v(std::move(value)) {}
  Arg(int64_t value) : v(Sym(value)) {}
  Arg(int value) : v(Sym(value)) {}
  Arg(const char* value) : v(std::string(value)) {}
  static Arg ints(const Dims& dims);

  template <class T>
  bool is() const {
    return std::holds_alternative<std::conditional_t<std::is_same_v<T, int64_t>, Sym, T>>(v);
  }
  // Throws std::bad_variant_access.
  template <class T>
  decltype(auto) as() const {
    if constexpr (std::is_same_v<T, int64_t>)
      return static_cast<int64_t>(std::get<Sym>(v));
    else
      return (std::get<T>(v));
  }
  bool is_none() const { return is<None>(); }
  bool same(const Arg& other) const;  // symbolic integers by expression: asks nothing
  bool operator==(const Arg&) const = default;
};

using Kwargs = std::vector<std::pair<std::string, Arg>>;
bool same(const std::vector<Arg>& a, const std::vector<Arg>& b);
bool same(const Kwargs& a, const Kwargs& b);

enum class NodeKind : uint8_t { placeholder, parameter, buffer, constant, op };
std::string_view kind_word(NodeKind kind);  // "placeholder", ..., "op": as in the text form and the session

// The torch.utils.checkpoint that a call was made in.
struct Checkpoint {
  int32_t number = -1;     // -1: none
  bool reentrant = false;  // it was called with use_reentrant=True
  bool operator==(const Checkpoint&) const = default;
};

// Where a node came from. `span` and `derived_from` are entity ids of the session; they are 0 when nothing is
// recorded.
struct Origin {
  std::vector<NodeId> from;  // nodes of the previous graph (empty for a captured node)
  std::string file, module;  // the user's file; "encoder.layer.0.attention" or ""
  int32_t line = 0, col = 0, end_line = 0, end_col = 0;
  std::string op;     // the operator it is a part of, when it was written out: "aten.gelu.default"; else ""
  std::string rule;   // the pass or rewrite that made it; "" = capture
  int32_t step = -1;  // capture step ordinal, or -1
  Checkpoint checkpoint;
  bool operator==(const Origin&) const = default;
};

struct Node {
  NodeId id = -1;
  NodeKind kind = NodeKind::op;
  std::string name;  // "add_2": unique within a graph, kept between graphs
  std::string op;    // "aten.add.Tensor", "torch.nn.functional.linear"; "" unless kind == op
  std::vector<Arg> args;
  Kwargs kwargs;
  std::vector<TensorType> outputs;  // one a tensor output; empty for an op that returns none
  std::string source;               // inputs: "L['x']", "L['self'].fc.weight"
  // A library's operator: by its schema it writes to nothing it is given; and returns no memory of that.
  bool reads_only = false, makes_new = false;
  Origin origin;

  const TensorType& type() const { return outputs.at(0); }
};

class Graph {
 public:
  std::string stage;         // name of its stage (core/session/stages.h)
  size_t operators() const;  // nodes but inputs and constants: what people count
  const std::vector<Node>& nodes() const { return body_->nodes; }
  const std::vector<Arg>& results() const {
    return body_->results;
  }  // Ref or constant, in the order the segment wants them
  const Node& node(NodeId id) const;               // throws InternalError for an unknown id
  const Node* find(NodeId id) const;               // nullptr for an unknown id
  std::vector<const Node*> inputs() const;         // placeholders, parameters, buffers, constants, in order
  std::vector<std::vector<NodeId>> users() const;  // by position of the producer in nodes()
  size_t position(NodeId id) const;

 private:
  friend class Builder;
  // What a copy shares: a graph is not changed once it is built.
  struct Body {
    std::vector<Node> nodes;
    std::vector<Arg> results;
    std::vector<int32_t> position;  // by NodeId; -1 = not in this graph
  };
  std::shared_ptr<Body> body_ = std::make_shared<Body>();
};
using GraphPtr = std::shared_ptr<const Graph>;

// Hands out node ids of one compilation; shared by all its graphs.
struct NodeIds {
  NodeId next = 0;
  std::shared_ptr<OptBisect> bisect = {};  // may forbid single rewrites; mostly null
};

// Makes one Graph, node by node.
class Builder {
 public:
  Builder(std::string stage, std::shared_ptr<NodeIds> ids)
      : graph_(std::make_shared<Graph>()), ids_(std::move(ids)) {
    graph_->stage = std::move(stage);
  }
  // Adds a node; id < 0 asks for a fresh id, an empty name gets one from its op ("add", "add_1", ...), a name
  // that another node has is numbered too.
  // Returns its first output.
  Ref add(Node node);
  Ref op(std::string op, std::vector<Arg> args, std::vector<TensorType> outputs, Origin origin,
         Kwargs kwargs = {});
  // Inserts a constant-time copy of a node of another graph (same id, same name).
  Ref keep(const Node& node) { return add(node); }
  // Keeps fresh nodes from taking this name: a node that is kept later has it.
  void reserve(const std::string& name) { names_.at(name); }
  // So many nodes are about to be added.
  void expect(size_t nodes);
  const Node& node(NodeId id) const { return graph_->node(id); }
  // The node does the work of this one of an earlier graph, too.
  void also_from(NodeId node, NodeId from);
  size_t size() const { return graph_->nodes().size(); }
  const std::shared_ptr<NodeIds>& ids() const { return ids_; }
  GraphPtr finish(std::vector<Arg> results);

 private:
  std::string unique_name(const std::string& wanted);
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<NodeIds> ids_;
  struct Name {
    uint64_t hash = 0;   // 0: of no name
    int asked = 0;       // how often it was asked for
    bool added = false;  // a node has it
  };
  // Names by their hash alone: of two names with one hash the second counts as taken, and is numbered.
  class Names {
   public:
    Name& at(const std::string& name);  // added where it is not there
    Name* find(const std::string& name);
    void expect(size_t more);

   private:
    size_t place(uint64_t hash) const;
    void grow(size_t slots);
    std::vector<Name> slots_;  // a power of two of them
    size_t used_ = 0;
  };
  Names names_;
};

// The table of the first symbolic size or number; nullptr: all are plain.
SymbolTable* symbols_of(const Graph& graph);

// Calls f(Ref) for every reference in an argument list, nested lists and kwargs included.
template <class F>
void each_ref(const Arg& arg, F&& f) {
  if (arg.is<Ref>()) f(arg.as<Ref>());
  if (arg.is<std::vector<Arg>>())
    for (const Arg& a : arg.as<std::vector<Arg>>()) each_ref(a, f);
}
template <class F>
void each_ref(const Node& node, F&& f) {
  for (const Arg& a : node.args) each_ref(a, f);
  for (const auto& [key, a] : node.kwargs) each_ref(a, f);
}
// The same argument with every Ref replaced by f(Ref).
Arg map_refs(const Arg& arg, const std::function<Arg(Ref)>& f);

// "mul at model.py:12": for people.
std::string name_and_place(const Node& node);

// "aten.add.Tensor" -> "add"; "torch.nn.functional.linear" -> "linear"; "native_" dropped.
std::string short_op(const std::string& op);

}  // namespace vitrine::ir
