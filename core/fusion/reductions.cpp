#include "core/fusion/reductions.h"

#include <algorithm>

#include "core/fusion/types.h"

namespace vitrine::fusion {

using ir::Arg;
using ir::DType;

namespace {

using ReductionBody = std::vector<Statement>;

Statement statement(ExprPtr expr, DType dtype, Statement::Reduce reduce = Statement::Reduce::none) {
  return {std::move(expr), reduce, true, dtype, dtype, -1};
}
ExprPtr at(int i) {
  return Expr::make_operand(i);
}
ExprPtr call(const char* name, ExprPtr a, ExprPtr b) {
  return Expr::make_call(name, {std::move(a), std::move(b)});
}

// What a reduction computes from `n` elements $0 of a type; `free` are the degrees of freedom of a variance.
struct ReductionShape {
  DType dtype, in;
  ExprPtr n, free;
};

ReductionBody sum_body(const ReductionShape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::sum)};
}
// mean = sum / n
ReductionBody mean_body(const ReductionShape& s) {
  ReductionBody b = sum_body(s);
  b.push_back(statement(call("/", at(1), s.n), s.dtype));
  return b;
}
ReductionBody max_body(const ReductionShape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::max)};
}
ReductionBody min_body(const ReductionShape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::min)};
}
ReductionBody prod_body(const ReductionShape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::prod)};
}
// any = max(x != 0) != 0, all = min(x != 0) != 0, counted in i32
ReductionBody truth_body(const ReductionShape& s, Statement::Reduce reduce) {
  ExprPtr zero = Expr::make_integer(0);
  ReductionBody b = {statement(s.in == DType::b1 ? at(0) : call("!=", at(0), zero), DType::i32, reduce)};
  b[0].compute = s.in;
  b.push_back(statement(call("!=", at(1), zero), s.dtype));
  b[1].compute = DType::i32;
  return b;
}
ReductionBody any_body(const ReductionShape& s) {
  return truth_body(s, Statement::Reduce::max);
}
ReductionBody all_body(const ReductionShape& s) {
  return truth_body(s, Statement::Reduce::min);
}
// var = sum((x - mean)^2) / free; outputs var
ReductionBody var_body(const ReductionShape& s) {
  ReductionBody b = mean_body(s);
  ExprPtr d = call("-", at(0), at(2));
  b.push_back(statement(call("*", d, d), s.dtype, Statement::Reduce::sum));
  b.push_back(statement(call("/", at(3), s.free), s.dtype));
  return b;
}
ReductionBody std_body(const ReductionShape& s) {
  ReductionBody b = var_body(s);
  b.push_back(statement(Expr::make_call("sqrt", {at(4)}), s.dtype));
  return b;
}

// op, its statements, which statement is which output, argument position of the dims (-1: all), whether a
// variance.
struct ReductionRow {
  std::string_view op;
  ReductionBody (*body)(const ReductionShape&);
  std::vector<int> outputs;
  int dims;
  bool variance;
};
const std::vector<ReductionRow>& rows() {
  static const std::vector<ReductionRow> kRows = {
      {"aten.sum.default", sum_body, {0}, -1, false},
      {"aten.sum.dim_IntList", sum_body, {0}, 1, false},
      {"aten.mean.default", mean_body, {1}, -1, false},
      {"aten.mean.dim", mean_body, {1}, 1, false},
      {"aten.amax.default", max_body, {0}, 1, false},
      {"aten.amin.default", min_body, {0}, 1, false},
      {"aten.max.default", max_body, {0}, -1, false},
      {"aten.min.default", min_body, {0}, -1, false},
      {"aten.prod.default", prod_body, {0}, -1, false},
      {"aten.prod.dim_int", prod_body, {0}, 1, false},
      {"aten.any.default", any_body, {1}, -1, false},
      {"aten.any.dim", any_body, {1}, 1, false},
      {"aten.any.dims", any_body, {1}, 1, false},
      {"aten.all.dims", all_body, {1}, 1, false},
      {"aten.all.default", all_body, {1}, -1, false},
      {"aten.all.dim", all_body, {1}, 1, false},
      {"aten.var.correction", var_body, {3}, 1, true},
      {"aten.std.correction", std_body, {4}, 1, true},
      {"aten.var_mean.correction", var_body, {3, 1}, 1, true},
  };
  return kRows;
}

const ReductionRow* find_reduction(const ir::Node& node) {
  for (const ReductionRow& r : rows())
    if (r.op == node.op) return &r;
  return nullptr;
}

// Which dims are reduced; empty: the argument cannot be read.
std::vector<bool> reduced_dims(const ir::Node& node, const ReductionRow& row, size_t rank) {
  std::vector<bool> reduced(rank, false);
  const Arg* dims = row.dims >= 0 && static_cast<size_t>(row.dims) < node.args.size()
                        ? &node.args[static_cast<size_t>(row.dims)]
                        : nullptr;
  std::vector<Arg> list;
  if (dims && dims->is<int64_t>()) list = {*dims};
  if (dims && dims->is<std::vector<Arg>>()) list = dims->as<std::vector<Arg>>();
  if (list.empty()) reduced.assign(rank, true);
  for (const Arg& d : list) {
    if (!d.is<int64_t>()) return {};
    int64_t k = d.as<int64_t>() < 0 ? d.as<int64_t>() + static_cast<int64_t>(rank) : d.as<int64_t>();
    if (k < 0 || k >= static_cast<int64_t>(rank)) return {};
    reduced[static_cast<size_t>(k)] = true;
  }
  return reduced;
}

// A count as a divisor.
ExprPtr number(const ir::Sym& n) {
  return n.symbolic() ? Expr::make_integer(n) : Expr::make_number(static_cast<double>(n.hint()));
}

double correction_of(const ir::Node& node) {
  for (const auto& [key, value] : node.kwargs) {
    if (key != "correction") continue;
    if (value.is<int64_t>()) return static_cast<double>(value.as<int64_t>());
    if (value.is<double>()) return value.as<double>();
  }
  return 1;
}

}  // namespace

bool is_reduction(const ir::Node& node) {
  return find_reduction(node) != nullptr;
}

std::optional<Reduction> reduction_of(const ir::Node& node, const ir::TensorType& in, std::string& why) {
  const ReductionRow* row = find_reduction(node);
  Reduction out;
  out.over = reduced_dims(node, *row, in.sizes.size());
  for (size_t i = 0; i < out.over.size(); ++i) out.count *= out.over[i] ? in.sizes[i] : ir::Sym(1);
  if (in.numel() == 0 || out.count < 2) why = "there is nothing to reduce";
  DType dtype = node.type().dtype;
  if (row->variance && !ir::is_float(dtype)) why = "a variance of integers";
  ReductionShape shape{dtype, in.dtype, number(out.count), nullptr};
  if (row->variance) {
    const double correction = correction_of(node);
    const bool whole = correction == static_cast<double>(static_cast<int64_t>(correction));
    const ir::Sym least = static_cast<int64_t>(correction);
    if (whole ? out.count <= least : static_cast<double>(out.count) <= correction)
      why = "there are no degrees of freedom";
    shape.free =
        whole ? number(out.count - least) : Expr::make_number(static_cast<double>(out.count) - correction);
  }
  if (!why.empty()) return std::nullopt;
  out.body = row->body(shape);
  for (const Statement& s : out.body)
    if (s.reduce != Statement::Reduce::none && s.dtype == DType::b1)
      why = "a reduction to booleans is not generated";
  if (!why.empty()) return std::nullopt;
  for (size_t i = 0; i < row->outputs.size(); ++i)
    out.body[static_cast<size_t>(row->outputs[i])].output = static_cast<int>(i);
  return out;
}

}  // namespace vitrine::fusion
