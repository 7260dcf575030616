#include "core/codegen/cuda/online.h"

namespace vitrine::codegen::cuda {

using cpp::Source;
using cpp::Value;
using fusion::Expr;
using fusion::ExprPtr;
using fusion::Statement;

namespace {

bool same(const Source& a, const Source& b) {
  return a.kind == b.kind && a.index == b.index;
}

// What the expression is, if it is an operand and nothing more.
std::optional<Source> plain(const Value& v, const ExprPtr& e) {
  if (e->kind != Expr::Kind::operand) return {};
  return v.sources[static_cast<size_t>(e->operand)];
}

// The only reduction of a phase in which nothing is stored; -1: there is none, or more.
int only_reduction(const cpp::Schedule& s, size_t phase, Statement::Reduce kind) {
  int found = -1;
  for (int i : s.phases[phase].values) {
    const Value& v = s.values[static_cast<size_t>(i)];
    if (v.store >= 0 && !v.per_row) return -1;
    if (v.statement->reduce == Statement::Reduce::none) continue;
    if (found >= 0 || v.statement->reduce != kind || v.statement->dtype != ir::DType::f32) return -1;
    found = i;
  }
  return found;
}

// The value that the phase computes as `name` of other values; nullptr: it is something else.
const Value* call(const cpp::Schedule& s, const std::optional<Source>& from, const char* name) {
  if (!from || from->kind != Source::Kind::value) return nullptr;
  const Value& v = s.values[static_cast<size_t>(from->index)];
  const bool is_call = v.statement->expr->kind == Expr::Kind::call && v.statement->expr->name == name;
  return is_call && v.statement->dtype == ir::DType::f32 && v.statement->reduce == Statement::Reduce::none
             ? &v
             : nullptr;
}

}  // namespace

std::optional<OnlineSum> online_sum(const cpp::Schedule& s, size_t phase) {
  if (phase + 1 >= s.phases.size()) return {};
  const int max = only_reduction(s, phase, Statement::Reduce::max);
  const int sum = only_reduction(s, phase + 1, Statement::Reduce::sum);
  if (max < 0 || sum < 0 || s.values[static_cast<size_t>(max)].store >= 0) return {};
  const Value &top = s.values[static_cast<size_t>(max)], &total = s.values[static_cast<size_t>(sum)];
  auto x = plain(top, top.statement->expr);
  const Value* power = call(s, plain(total, total.statement->expr), "exp");
  const Value* difference = power ? call(s, plain(*power, power->statement->expr->args[0]), "-") : nullptr;
  if (!x || !difference) return {};
  // a - 1 * max
  ExprPtr right = difference->statement->expr->args[1];
  if (right->kind == Expr::Kind::call && right->name == "*" && right->args[0]->kind == Expr::Kind::number &&
      right->args[0]->number == 1)
    right = right->args[1];
  auto from = plain(*difference, difference->statement->expr->args[0]), less = plain(*difference, right);
  if (!from || !less || !same(*from, *x) || !same(*less, {Source::Kind::value, max})) return {};
  return OnlineSum{*x, max, sum};
}

}  // namespace vitrine::codegen::cuda
