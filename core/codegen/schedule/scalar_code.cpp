#include "core/codegen/schedule/scalar_code.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace vitrine::codegen {

namespace {

using fusion::Expr;
using fusion::Statement;
using ir::DType;

struct FunctionRow {
  std::string_view name;
  int arity;
  double (*compute)(double a, double b);
};
// In double. What is then rounded to a float is what a float's own operation gives, but for pow.
constexpr FunctionRow kRows[] = {
    {"+", 2, [](double a, double b) { return a + b; }},
    {"-", 2, [](double a, double b) { return a - b; }},
    {"*", 2, [](double a, double b) { return a * b; }},
    {"/", 2, [](double a, double b) { return a / b; }},
    {"neg", 1, [](double a, double) { return -a; }},
    {"abs", 1, [](double a, double) { return std::fabs(a); }},
    {"sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"pow", 2, [](double a, double b) { return std::pow(a, b); }},
};
const FunctionRow* find(const Expr& e) {
  for (const FunctionRow& row : kRows)
    if (row.name == e.name && static_cast<size_t>(row.arity) == e.args.size()) return &row;
  return nullptr;
}

bool is_wide(DType t) {
  return t == DType::f32 || t == DType::f64;
}
bool listed(const Expr& e, DType compute) {
  if (e.kind == Expr::Kind::name || e.kind == Expr::Kind::size) return false;
  if (e.kind == Expr::Kind::call && (!find(e) || (e.name == "pow" && compute != DType::f64))) return false;
  return std::all_of(e.args.begin(), e.args.end(), [&](const auto& a) { return listed(*a, compute); });
}
double rounded(double x, DType to) {
  return to == DType::f32 ? static_cast<double>(static_cast<float>(x)) : x;
}

double evaluate(const Expr& e, const ScalarCode::Value& v, const std::vector<double>& known) {
  if (e.kind == Expr::Kind::number)
    return rounded(e.whole ? static_cast<double>(e.integer) : e.number, v.compute);
  if (e.kind == Expr::Kind::operand)
    return rounded(known[static_cast<size_t>(v.sources[static_cast<size_t>(e.operand)])], v.compute);
  const double a = evaluate(*e.args[0], v, known), b = e.args.size() > 1 ? evaluate(*e.args[1], v, known) : 0;
  return rounded(find(e)->compute(a, b), v.compute);
}

bool is_one(const Schedule& s) {
  return !s.reduces && s.row_count() * s.columns() == 1;
}

}  // namespace

void ScalarCode::run(void* const* pointers) const {
  std::vector<double> known;
  for (size_t m = 0; m < members; ++m, pointers += arguments) {
    known.clear();
    for (const Load& l : loads) {
      const void* from = pointers[l.argument];
      known.push_back(l.dtype == DType::f32 ? static_cast<double>(static_cast<const float*>(from)[l.offset])
                                            : static_cast<const double*>(from)[l.offset]);
    }
    for (const Value& v : values) known.push_back(rounded(evaluate(*v.expr, v, known), v.dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].store < 0) continue;
      void* to = pointers[values[i].store];
      const double x = known[loads.size() + i];
      if (values[i].dtype == DType::f32)
        *static_cast<float*>(to) = static_cast<float>(x);
      else
        *static_cast<double*>(to) = x;
    }
  }
}

std::shared_ptr<const ScalarCode> scalar_code(const std::vector<Schedule>& members) {
  if (!std::all_of(members.begin(), members.end(), is_one)) return nullptr;
  const Schedule& s = members.front();
  auto code = std::make_shared<ScalarCode>();
  code->arguments = s.arguments.size();
  code->members = members.size();
  for (const Load& l : s.loads) {
    if (!l.affine() || !is_wide(l.dtype) || l.offset.symbolic()) return nullptr;
    code->loads.push_back({l.argument, l.dtype, l.offset});
  }
  for (const ScheduledValue& v : s.values) {
    const Statement& from = *v.statement;
    if (from.reduce != Statement::Reduce::none || !is_wide(from.dtype) || !is_wide(from.compute) ||
        !listed(*from.expr, from.compute))
      return nullptr;
    ScalarCode::Value made{from.expr, {}, from.compute, from.dtype, v.store};
    auto is_value = [](const OperandSource& source) { return source.kind == OperandSource::Kind::value; };
    for (const OperandSource& source : v.sources)
      made.sources.push_back(source.index + (is_value(source) ? static_cast<int>(s.loads.size()) : 0));
    for (const OperandSource& source : v.used)
      if (is_value(source) && source.index >= static_cast<int>(code->values.size())) return nullptr;
    code->values.push_back(std::move(made));
  }
  return code;
}

}  // namespace vitrine::codegen
