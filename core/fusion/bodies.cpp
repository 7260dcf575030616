#include "core/fusion/bodies.h"

#include "core/fusion/types.h"
#include "core/ops/node.h"
#include "core/ops/promote.h"

namespace vitrine::fusion {

namespace {

ExprPtr constant(const ir::Arg& arg) {
  if (arg.is<bool>()) return Expr::make_integer(arg.as<bool>() ? 1 : 0);
  if (arg.is<int64_t>()) return Expr::make_integer(arg.as<ir::Sym>());
  if (arg.is<double>()) return Expr::make_number(arg.as<double>());
  return nullptr;
}

// Position of a name of the row's body: a, b, c ... by schema position, keyword-only parameters by name.
size_t position_of(const std::vector<ops::Param>& params, const std::string& name) {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].keyword_only && params[i].name == name) return i;
  if (name.size() == 1) return static_cast<size_t>(name[0] - 'a');
  return params.size();
}

// What a power may become: of integers products alone. Half precision on the CPU takes no roots: PyTorch's
// kernel has pow(-inf, 0.5) = inf there.
struct Powers {
  bool floating = false, roots = false;
};

// x ** constant as multiplications; nullptr: it needs a real power.
ExprPtr power(const ExprPtr& x, double exponent, Powers may) {
  auto call = [](const char* f, ExprPtr a, ExprPtr b) {
    return Expr::make_call(f, {std::move(a), std::move(b)});
  };
  ExprPtr one = Expr::make_integer(1);
  if (exponent == 1) return x;
  if (exponent == 2) return call("*", x, x);
  if (exponent == 3) return call("*", call("*", x, x), x);
  if (exponent == 4) return call("*", call("*", x, x), call("*", x, x));
  if (!may.floating) return nullptr;
  if (may.roots && exponent == 0.5) return Expr::make_call("sqrt", {x});
  if (may.roots && exponent == -0.5) return Expr::make_call("rsqrt", {x});
  if (exponent == -1) return call("/", one, x);
  if (exponent == -2) return call("/", one, call("*", x, x));
  return nullptr;
}

ExprPtr without_powers(const ExprPtr& e, Powers may) {
  if (e->kind != Expr::Kind::call) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(without_powers(a, may));
  if (e->name == "pow" && args.size() == 2 && args[1]->kind == Expr::Kind::number &&
      args[0]->kind != Expr::Kind::number)
    if (ExprPtr p = power(args[0], args[1]->number, may)) return p;
  return Expr::make_call(e->name, std::move(args));
}

}  // namespace

std::optional<Body> pointwise_body(const ir::Graph& graph, const ir::Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  if (!row || row->lower != ops::Lower::pointwise || row->body.empty() || node.outputs.size() != 1)
    return std::nullopt;
  const ir::DType made = node.type().dtype;
  if (ops::is(row, ops::kOwnSteps) && made != ops::opmath(made)) return std::nullopt;
  auto args = ops::bind(*row, node);
  const bool own = node.type().device.is_cuda() && !row->gpu_body.empty();
  auto parsed = parse_expr(own ? row->gpu_body : row->body);
  VITRINE_CHECK(parsed.ok(), parsed.ok() ? "" : parsed.error().what);
  if (!args.ok()) return std::nullopt;
  const auto& params = ops::params(*row);
  Body body;
  bool known = true;
  body.expr = replace_names(parsed.value(), [&](const std::string& name) -> ExprPtr {
    size_t i = position_of(params, name);
    if (i >= args.value().size()) {
      known = false;
      return nullptr;
    }
    const ir::Arg& arg = args.value()[i];
    if (arg.is<ir::Ref>()) {
      ir::Ref value = arg.as<ir::Ref>();
      for (size_t k = 0; k < body.operands.size(); ++k)
        if (body.operands[k] == value) return Expr::make_operand(static_cast<int>(k));
      body.operands.push_back(value);
      return Expr::make_operand(static_cast<int>(body.operands.size() - 1));
    }
    ExprPtr value = constant(arg);
    if (!value) known = false;
    return value;
  });
  if (!known) return std::nullopt;
  auto type_of = [&](ir::Ref r) -> const ir::TensorType& {
    return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
  };
  // A comparison of complex numbers gives what kernels have, of what they have not.
  for (const ir::Ref& value : body.operands)
    if (!has_lanes(type_of(value).dtype)) return std::nullopt;
  body.compute = ops::compute_dtype(*row, args.value(), type_of, node.type().dtype);
  const ir::TensorType& type = node.type();
  body.expr = without_powers(
      body.expr, {ir::is_float(body.compute), type.dtype != ir::DType::f16 || !type.device.is_cpu()});
  return body;
}

}  // namespace vitrine::fusion
