#include "core/fusion/nests.h"

#include <cmath>

#include "core/ops/node.h"
#include "core/ops/promote.h"

namespace vitrine::fusion {

using ir::Arg;
using ir::Dims;
using ir::Ref;

NestWriter::NestWriter(const LoopProgram& program, const ir::Node& node, std::vector<Arg> args)
    : program_(program), node_(node), args_(std::move(args)) {
  nest.dims = out().sizes;
  nest.compute = ops::opmath(out().dtype);
}

int64_t NestWriter::integer(size_t i, int64_t if_none) const {
  return arg(i).is<int64_t>() ? arg(i).as<int64_t>() : if_none;
}
ir::Sym NestWriter::size(size_t i, const ir::Sym& if_none) const {
  return arg(i).is<int64_t>() ? arg(i).as<ir::Sym>() : if_none;
}

Dims NestWriter::integers(size_t i) const {
  if (arg(i).is<int64_t>()) return {arg(i).as<ir::Sym>()};
  Dims list;
  if (arg(i).is<std::vector<Arg>>())
    for (const Arg& a : arg(i).as<std::vector<Arg>>()) list.push_back(a.as<ir::Sym>());
  return list;
}

std::optional<size_t> NestWriter::dim(int64_t d, size_t rank) {
  if (d < 0) d += static_cast<int64_t>(rank);
  if (d < 0 || d >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(d);
}

Access NestWriter::place(Ref value) const {
  const Placement& p = program_.placement(value);
  return {p.root, p.type.strides, p.offset};
}

ExprPtr NestWriter::read(Ref value, Access at) {
  nest.operands.push_back({value, type(value).dtype, std::move(at)});
  return Expr::make_operand(static_cast<int>(nest.operands.size() - 1));
}

int NestWriter::index_at(Ref index, Dims strides) {
  Access at = place(index);
  at.strides = std::move(strides);
  return read(index, std::move(at))->operand;
}

ExprPtr NestWriter::number(const Dims& strides, const ir::Sym& offset) {
  nest.operands.push_back({{}, ir::DType::i64, {{}, strides, offset}});
  return Expr::make_operand(static_cast<int>(nest.operands.size() - 1));
}

ExprPtr NestWriter::inside(std::vector<Range> ranges) {
  Operand o{{}, ir::DType::b1, {{}, Dims(nest.dims.size(), 0), 0}};
  o.at.within = std::move(ranges);
  nest.operands.push_back(std::move(o));
  return Expr::make_operand(static_cast<int>(nest.operands.size() - 1));
}

Range NestWriter::range(size_t d, const ir::Sym& low, const ir::Sym& high) const {
  Range r{Dims(nest.dims.size(), 0), low, high};
  r.strides[d] = 1;
  return r;
}

ExprPtr NestWriter::constant(const Arg& a) const {
  const bool floating = ir::is_float(nest.compute);
  if (a.is<bool>()) return Expr::make_integer(a.as<bool>() ? 1 : 0);
  if (a.is<int64_t>()) return Expr::make_integer(a.as<ir::Sym>());
  if (!a.is<double>()) return nullptr;
  const double v = a.as<double>();
  if (floating) return Expr::make_number(v);
  constexpr double kExact = 1e15;
  return std::abs(v) < kExact && v == std::trunc(v) ? Expr::make_integer(static_cast<int64_t>(v)) : nullptr;
}

ExprPtr NestWriter::choose(ExprPtr condition, ExprPtr yes, ExprPtr no) {
  return Expr::make_call("where", {std::move(condition), std::move(yes), std::move(no)});
}

namespace {

const NestRow* find(std::string_view op) {
  for (const std::vector<NestRow>* rows : {&kMoves, &kBorders, &kGathers})
    for (const NestRow& row : *rows)
      if (row.op == op) return &row;
  return nullptr;
}

}  // namespace

bool is_moving(const ir::Node& node) {
  return find(node.op) != nullptr;
}

std::optional<Nest> moving_nest(const LoopProgram& program, const ir::Node& node, std::string& why) {
  const ops::OpRow* row = ops::find(node.op);
  VITRINE_CHECK(row, node.op + " has no row in the operator table");
  auto args = ops::bind(*row, node);
  why = "this use of it is not generated";
  if (!args.ok() || node.outputs.size() != 1) return std::nullopt;
  NestWriter writer(program, node, args.take());
  if (!find(node.op)->write(writer, why)) return std::nullopt;
  why.clear();
  return std::move(writer.nest);
}

}  // namespace vitrine::fusion
