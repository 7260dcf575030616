#include "core/fusion/reductions.h"

#include <algorithm>

#include "core/fusion/types.h"

namespace vitrine::fusion {

using ir::Arg;
using ir::DType;

namespace {

// One row, or few rows of great length: PyTorch splits those over threads, a kernel of rows would not.
constexpr int64_t kLongestRow = 1 << 17;

using Body = std::vector<Statement>;

Statement statement(ExprPtr expr, DType dtype, Statement::Reduce reduce = Statement::Reduce::none) {
  return {std::move(expr), reduce, true, dtype, dtype, -1};
}
ExprPtr at(int i) {
  return Expr::make_operand(i);
}
ExprPtr call(const char* name, ExprPtr a, ExprPtr b) {
  return Expr::make_call(name, {std::move(a), std::move(b)});
}

// What a reduction computes from $0, a row of `n` elements; `free` are the degrees of freedom of a variance.
struct Shape {
  DType dtype;
  double n, free;
};

Body sum_body(const Shape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::sum)};
}
// mean = sum / n
Body mean_body(const Shape& s) {
  Body b = sum_body(s);
  b.push_back(statement(call("/", at(1), Expr::make_number(s.n)), s.dtype));
  return b;
}
Body max_body(const Shape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::max)};
}
Body min_body(const Shape& s) {
  return {statement(at(0), s.dtype, Statement::Reduce::min)};
}
// var = sum((x - mean)^2) / free; outputs var
Body var_body(const Shape& s) {
  Body b = mean_body(s);
  ExprPtr d = call("-", at(0), at(2));
  b.push_back(statement(call("*", d, d), s.dtype, Statement::Reduce::sum));
  b.push_back(statement(call("/", at(3), Expr::make_number(s.free)), s.dtype));
  return b;
}
Body std_body(const Shape& s) {
  Body b = var_body(s);
  b.push_back(statement(Expr::make_call("sqrt", {at(4)}), s.dtype));
  return b;
}

// op, its statements, which statement is which output, argument position of the dims (-1: all), whether a
// variance.
struct Row {
  std::string_view op;
  Body (*body)(const Shape&);
  std::vector<int> outputs;
  int dims;
  bool variance;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"aten.sum.default", sum_body, {0}, -1, false},
      {"aten.sum.dim_IntList", sum_body, {0}, 1, false},
      {"aten.mean.default", mean_body, {1}, -1, false},
      {"aten.mean.dim", mean_body, {1}, 1, false},
      {"aten.amax.default", max_body, {0}, 1, false},
      {"aten.amin.default", min_body, {0}, 1, false},
      {"aten.max.default", max_body, {0}, -1, false},
      {"aten.min.default", min_body, {0}, -1, false},
      {"aten.var.correction", var_body, {3}, 1, true},
      {"aten.std.correction", std_body, {4}, 1, true},
      {"aten.var_mean.correction", var_body, {3, 1}, 1, true},
  };
  return kRows;
}

const Row* find(const ir::Node& node) {
  for (const Row& r : rows())
    if (r.op == node.op) return &r;
  return nullptr;
}

// How many last dims are reduced; 0 if the reduced dims are not the last ones (dims of size 1 do not matter).
size_t trailing(const ir::Node& node, const Row& row, const ir::Dims& sizes) {
  size_t rank = sizes.size();
  std::vector<bool> reduced(rank, false);
  const Arg* dims = row.dims >= 0 && static_cast<size_t>(row.dims) < node.args.size()
                        ? &node.args[static_cast<size_t>(row.dims)]
                        : nullptr;
  std::vector<Arg> list;
  if (dims && dims->is<int64_t>()) list = {*dims};
  if (dims && dims->is<std::vector<Arg>>()) list = dims->as<std::vector<Arg>>();
  if (list.empty()) reduced.assign(rank, true);
  for (const Arg& d : list) {
    if (!d.is<int64_t>()) return 0;
    int64_t k = d.as<int64_t>() < 0 ? d.as<int64_t>() + static_cast<int64_t>(rank) : d.as<int64_t>();
    if (k < 0 || k >= static_cast<int64_t>(rank)) return 0;
    reduced[static_cast<size_t>(k)] = true;
  }
  size_t n = 0;
  while (n < rank && (reduced[rank - 1 - n] || sizes[rank - 1 - n] == 1)) ++n;
  // A kept dim of size 1 at the left end of the run is no part of the reduction, and does no harm.
  for (size_t i = 0; i + n < rank; ++i)
    if (reduced[i] && sizes[i] != 1) return 0;
  return n;
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
  return find(node) != nullptr;
}

std::optional<RowReduction> row_reduction(const ir::Node& node, const ir::TensorType& in, std::string& why) {
  const Row* row = find(node);
  size_t n = trailing(node, *row, in.sizes);
  RowReduction out;
  out.reduced_dims = n;
  for (size_t i = in.sizes.size() - n; i < in.sizes.size(); ++i) out.columns *= in.sizes[i];
  if (n == 0)
    why = "the reduced dimensions are not the last ones";
  else if (in.numel() == 0 || out.columns < 2)
    why = "there is nothing to reduce";
  else if (out.columns > kLongestRow)
    why = "PyTorch splits so long a row over its threads";
  DType dtype = node.type().dtype;
  if (row->variance && !ir::is_float(dtype)) why = "a variance of integers";
  if (dtype == DType::b1) why = "a reduction to booleans is not generated";
  Shape shape{dtype, static_cast<double>(out.columns), 0};
  if (row->variance) {
    shape.free = shape.n - correction_of(node);
    if (shape.free <= 0) why = "there are no degrees of freedom";
  }
  if (!why.empty()) return std::nullopt;
  out.body = row->body(shape);
  for (size_t i = 0; i < row->outputs.size(); ++i)
    out.body[static_cast<size_t>(row->outputs[i])].output = static_cast<int>(i);
  return out;
}

}  // namespace vitrine::fusion
