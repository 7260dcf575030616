#include "core/ir/print.h"

#include <charconv>
#include <cmath>

#include "core/ir/words.h"

namespace vitrine::ir {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

// Shortest text that reads back as the same number, never mistaken for an integer.
std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string ref_text(const Graph& graph, Ref ref) {
  const Node* node = graph.find(ref.node);
  std::string name = node ? node->name : "?" + std::to_string(ref.node);
  return "%" + name + (ref.output ? "." + std::to_string(ref.output) : "");
}

std::string head(const Node& node) {
  return node.kind == NodeKind::op ? node.op : std::string(kind_word(node.kind));
}

// [source="L['x']", module="encoder", at="model.py:12:4-12:30", rule="decompose"]
std::string attributes(const Node& node, bool origins) {
  std::string out;
  auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += std::string(out.empty() ? "" : ", ") + key + "=" + quoted(value);
  };
  put("source", node.source);
  if (origins) {
    const Origin& o = node.origin;
    put("module", o.module);
    if (!o.file.empty())
      put("at", o.file + ":" + std::to_string(o.line) + ":" + std::to_string(o.col) + "-" +
                    std::to_string(o.end_line) + ":" + std::to_string(o.end_col));
    put("rule", o.rule);
  }
  return out.empty() ? "" : " [" + out + "]";
}

}  // namespace

std::string print_type(const TensorType& type) {
  std::string out = std::string(dtype_name(type.dtype)) + "[" + dims_text(type.sizes) + "]";
  if (!same(type.strides, contiguous_strides(type.sizes))) out += "{" + dims_text(type.strides) + "}";
  if (type.offset.symbolic() || type.offset.hint() != 0) out += "@" + text(type.offset);
  if (!type.device.is_cpu()) out += type.device.text();
  return out;
}

std::string print_arg(const Graph& graph, const Arg& arg) {
  struct Visitor {
    const Graph& graph;
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(const Sym& i) const { return text(i); }
    std::string operator()(double d) const { return number(d); }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(const Word& w) const {
      return is_bare_word(w.text) ? w.text : "word(" + quoted(w.text) + ")";
    }
    std::string operator()(DType t) const { return std::string(dtype_name(t)); }
    std::string operator()(Ref r) const { return ref_text(graph, r); }
    std::string operator()(const std::vector<Arg>& list) const {
      std::string out;
      for (const Arg& a : list) out += (out.empty() ? "" : ", ") + print_arg(graph, a);
      return "[" + out + "]";
    }
  };
  return std::visit(Visitor{graph}, arg.v);
}

std::string print_args(const Graph& graph, const Node& node) {
  std::string out;
  for (const Arg& a : node.args) out += (out.empty() ? "" : ", ") + print_arg(graph, a);
  for (const auto& [key, a] : node.kwargs) out += (out.empty() ? "" : ", ") + key + "=" + print_arg(graph, a);
  return out;
}

std::string print_node(const Graph& graph, const Node& node, const PrintOptions& options) {
  std::string types;
  for (const TensorType& t : node.outputs) types += (types.empty() ? "" : ", ") + print_type(t);
  return "%" + node.name + " = " + head(node) + "(" + print_args(graph, node) + ")" +
         attributes(node, options.origins) + " : " + (types.empty() ? "()" : types);
}

std::string print(const Graph& graph, const PrintOptions& options) {
  std::string out = "graph " + graph.stage + " {\n";
  for (const Node& node : graph.nodes()) {
    out += "  " + print_node(graph, node, options) + "\n";
    if (!options.note) continue;
    std::string note = options.note(node);
    if (!note.empty()) out += "  ^ " + note + "\n";
  }
  std::string results;
  for (const Arg& r : graph.results()) results += (results.empty() ? " " : ", ") + print_arg(graph, r);
  return out + "  return" + results + "\n}\n";
}

}  // namespace vitrine::ir
