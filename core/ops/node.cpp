#include "core/ops/node.h"

#include <algorithm>
#include <unordered_map>

#include "core/ir/parse.h"
#include "core/ops/device.h"
#include "core/ops/promote.h"
#include "core/ops/unlisted.h"

namespace vitrine::ops {

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// "self!, other, *, alpha=1, dim=[1, 2]" at the commas outside brackets.
std::vector<Param> parse_params(const OpRow& row) {
  std::vector<Param> out;
  bool keyword_only = false;
  std::string_view text = row.params;
  for (size_t from = 0, depth = 0, i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth)) continue;
    std::string_view item = trim(text.substr(from, i - from));
    from = i + 1;
    if (item.empty()) continue;
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    Param p;
    p.keyword_only = keyword_only;
    if (size_t eq = item.find('='); eq != std::string_view::npos) {
      auto value = ir::parse_constant(item.substr(eq + 1));
      VITRINE_CHECK(value.ok(), "row " + std::string(row.name) + ": default of " + std::string(item));
      p.fallback = value.take();
      p.required = false;
      item = item.substr(0, eq);
    }
    if (size_t mark = item.find('!'); mark != std::string_view::npos) {
      p.written = true;
      p.written_if = std::string(item.substr(mark + 1));
      item = item.substr(0, mark);
    }
    p.name = std::string(item);
    out.push_back(std::move(p));
  }
  return out;
}

ShapeArg shape_arg(const ir::Arg& arg, const TypeOf& type_of) {
  ShapeArg out;
  if (arg.is<ir::Ref>()) {
    out.tensor = &type_of(arg.as<ir::Ref>());
    return out;
  }
  out.constant = &arg;
  if (!arg.is<std::vector<ir::Arg>>()) return out;
  bool any_tensor = false;
  for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) any_tensor |= a.is<ir::Ref>();
  if (any_tensor) {
    for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) out.list.push_back(shape_arg(a, type_of));
  }
  return out;
}

void add_refs(const ir::Arg& arg, std::vector<ir::Ref>& out) {
  ir::each_ref(arg, [&](ir::Ref r) { out.push_back(r); });
}

// What an operator with a row writes is what it returns, but for writes that PyTorch's schema hides.
bool hands_back(const OpRow& row) {
  const auto& names = params(row);
  return std::all_of(names.begin(), names.end(), [](const Param& p) { return p.written_if.empty(); });
}

// What the node passes for a parameter; nullptr: its default.
const ir::Arg* argument(const std::vector<Param>& names, const ir::Node& node, std::string_view name) {
  for (size_t i = 0; i < names.size() && i < node.args.size(); ++i) {
    if (names[i].name == name) return &node.args[i];
  }
  for (const auto& [key, value] : node.kwargs) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

const std::vector<Param>& params(const OpRow& row) {
  // One entry a row, filled when the table is first asked: constant from then on.
  static const auto kParams = [] {
    std::unordered_map<const OpRow*, std::vector<Param>> out;
    for (const OpRow* r : all()) out.emplace(r, parse_params(*r));
    return out;
  }();
  return kParams.at(&row);
}

bool is_one(const ir::Arg& arg) {
  return (arg.is<int64_t>() && arg.as<int64_t>() == 1) || (arg.is<double>() && arg.as<double>() == 1);
}

Result<std::vector<ir::Arg>> bind(const OpRow& row, const ir::Node& node) {
  const auto& names = params(row);
  auto fail = [&](const std::string& what) {
    return Error{"%" + node.name + " = " + node.op + ": " + what, "", ""};
  };
  std::vector<ir::Arg> out(names.size());
  std::vector<bool> given(names.size());
  if (node.args.size() > names.size()) return fail("too many arguments");
  for (size_t i = 0; i < node.args.size(); ++i) out[i] = node.args[i], given[i] = true;
  for (const auto& [key, value] : node.kwargs) {
    size_t i = 0;
    while (i < names.size() && names[i].name != key) ++i;
    if (i == names.size()) return fail("no parameter is called " + key);
    if (given[i]) return fail(key + " is given twice");
    out[i] = value, given[i] = true;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i]) continue;
    if (names[i].required) return fail(names[i].name + " is missing");
    out[i] = names[i].fallback;
  }
  return out;
}

Result<std::vector<TensorType>> infer(const OpRow& row, const std::vector<ir::Arg>& args,
                                      const TypeOf& type_of) {
  if (!row.shape) return Error{std::string(row.name) + " has no shape rule", "", ""};
  ShapeCall call;
  for (const ir::Arg& a : args) call.args.push_back(shape_arg(a, type_of));
  return types_of(row, call);
}

DType compute_dtype(const OpRow& row, const std::vector<ir::Arg>& args, const TypeOf& type_of, DType output) {
  if (output != DType::b1) return opmath(output);
  Promotion promotion(DType::f32);
  promotion.number(DType::b1);  // the lowest: what a body without operands (zeros, ones) is left with
  for (const ir::Arg& a : args) {
    if (a.is<ir::Ref>()) promotion.tensor(type_of(a.as<ir::Ref>()));
    if (a.is<int64_t>()) promotion.number(DType::i64);
    if (a.is<double>()) promotion.number(DType::f32);
  }
  return opmath(promotion.result());
}

const OpRow* functional_of(std::string_view op) {
  const OpRow* row = find(op);
  if (row && row->functional) return row->functional;
  const size_t mark = op.rfind("_.");
  if (mark == std::string_view::npos) return nullptr;
  return find(std::string(op.substr(0, mark)) + std::string(op.substr(mark + 1)));
}

std::vector<ir::Ref> written(const ir::Node& node) {
  std::vector<ir::Ref> out;
  if (node.kind != ir::NodeKind::op) return out;
  if (const OpRow* row = find(node.op)) {
    const auto& names = params(*row);
    for (const Param& p : names) {
      if (!p.written) continue;
      const ir::Arg* condition = p.written_if.empty() ? nullptr : argument(names, node, p.written_if);
      if (condition && condition->is<bool>() && !condition->as<bool>()) continue;
      if (const ir::Arg* value = argument(names, node, p.name)) add_refs(*value, out);
    }
    return out;
  }
  return node.reads_only ? out : unlisted::written(node);
}

std::vector<ir::Ref> counted(const ir::Node& node) {
  const OpRow* row = find(node.op);
  const bool quiet = row ? !hands_back(*row) : unlisted::is_fused_optimizer(node.op);
  return quiet ? std::vector<ir::Ref>{} : written(node);
}

bool writes(const ir::Node& node) {
  return !written(node).empty();
}

bool only_reads(const ir::Graph& graph) {
  return std::none_of(graph.nodes().begin(), graph.nodes().end(), writes);
}

bool is_weight(const ir::Node& node) {
  return node.kind == ir::NodeKind::parameter || node.kind == ir::NodeKind::buffer;
}

std::vector<ir::Ref> aliased(const ir::Node& node) {
  if (node.kind != ir::NodeKind::op || node.makes_new || is_attention(node)) return {};
  std::vector<ir::Ref> out;
  const OpRow* row = find(node.op);
  if (!row && unlisted::writes_self(node))
    add_refs(node.args[0], out);
  else if (!row && unlisted::writes_named(node))
    for (const auto& [name, value] : node.kwargs) add_refs(value, out);
  else if (!row)
    ir::each_ref(node, [&](ir::Ref r) { out.push_back(r); });
  else if (row->family != Family::view)
    return hands_back(*row) ? written(node) : out;
  else if (!node.args.empty())
    add_refs(node.args[0], out);
  return out;
}

bool may_alias(const ir::Node& node) {
  return !aliased(node).empty();
}

bool is_attention(const ir::Node& node) {
  return unlisted::dropping_out(node.op) && node.op.find("attention") != std::string::npos;
}

// An argument that is not given is a default, and all defaults are zero.
bool drops_out(const ir::Node& node) {
  const unlisted::DropsOut* row = unlisted::dropping_out(node.op);
  if (!row) return false;
  const ir::Arg* p = row->probability < node.args.size() ? &node.args[row->probability] : nullptr;
  for (const auto& [name, value] : node.kwargs)
    if (name == "dropout_p" || name == "dropout") p = &value;
  return p && !(*p == ir::Arg(0.0)) && !(*p == ir::Arg(int64_t{0}));
}

bool asks_grad_mode(const ir::Node& node) {
  const unlisted::Recurrent* row = unlisted::recurrent(node.op);
  return row && node.op == row->op && node.outputs.size() > row->workspace &&
         node.outputs[row->workspace].numel() > 0;
}

std::optional<size_t> workspace(const ir::Node& node) {
  const unlisted::Recurrent* row = unlisted::recurrent(node.op);
  return row && node.op == row->op ? std::optional(row->workspace) : std::nullopt;
}

std::span<const size_t> optional_gradients(const ir::Node& node) {
  const unlisted::Recurrent* row = unlisted::recurrent(node.op);
  if (row && node.op == row->backward) return row->gradients;
  return {};
}

bool is_random(const ir::Node& node) {
  if (const OpRow* row = find(node.op)) return row->family == Family::random;
  if (node.kind != ir::NodeKind::op) return false;
  if (const unlisted::DropsOut* row = unlisted::dropping_out(node.op)) return row->draws && drops_out(node);
  return unlisted::named_as_random(node.op);
}

}  // namespace vitrine::ops
