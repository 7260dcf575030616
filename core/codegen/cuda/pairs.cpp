#include "core/codegen/cuda/pairs.h"

#include <algorithm>

#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using fusion::Expr;
using fusion::ExprPtr;
using fusion::Statement;

namespace {

// What a value's expression is made of, where that is one of the forms that are looked for.
class PairFinder {
 public:
  explicit PairFinder(const Schedule& s) : s_(s) {}

  // The pair whose second this value is.
  std::optional<Pair> pair(int second) const {
    const ScheduledValue& v = value(second);
    const ir::DType lane = fusion::lane_dtype(v.statement->dtype);
    std::optional<Pair> found;
    if (v.statement->reduce == Statement::Reduce::min && ir::is_integer(lane)) found = places(v);
    if (v.statement->reduce == Statement::Reduce::sum && lane == ir::DType::f32) found = exponentials(v);
    if (!found && v.statement->reduce == Statement::Reduce::sum && ir::is_float(lane)) found = squares(v);
    if (found) found->second = second;
    return found;
  }

 private:
  struct Term {
    const ScheduledValue* of;
    ExprPtr expr;
  };
  const ScheduledValue& value(int i) const { return s_.values[static_cast<size_t>(i)]; }

  // What the expression is, if it is an operand and nothing more.
  static std::optional<OperandSource> plain(const Term& t) {
    if (t.expr->kind != Expr::Kind::operand) return {};
    return t.of->sources[static_cast<size_t>(t.expr->operand)];
  }
  // A value of each element stands for its expression, if nothing is rounded in between.
  Term resolved(Term t) const {
    for (auto from = plain(t); from && from->kind == OperandSource::Kind::value; from = plain(t)) {
      const ScheduledValue& v = value(from->index);
      if (v.per_row || v.per_column || v.statement->reduce != Statement::Reduce::none ||
          v.statement->dtype != fusion::lane_dtype(v.statement->dtype) ||
          v.statement->expr->kind != Expr::Kind::call)
        break;
      t = {&v, v.statement->expr};
    }
    return t;
  }
  static bool calls(const Term& t, const char* name) {
    return t.expr->kind == Expr::Kind::call && t.expr->name == name;
  }
  // x - m, or x - 1 * m: both, as they stand.
  std::optional<std::pair<OperandSource, OperandSource>> difference(Term t) const {
    t = resolved(t);
    if (!calls(t, "-") || t.expr->args.size() != 2) return {};
    ExprPtr right = t.expr->args[1];
    if (right->kind == Expr::Kind::call && right->name == "*" && right->args[0]->kind == Expr::Kind::number &&
        right->args[0]->number == 1)
      right = right->args[1];
    auto x = plain({t.of, t.expr->args[0]}), m = plain({t.of, right});
    if (!x || !m || m->kind != OperandSource::Kind::value) return {};
    return std::pair(*x, *m);
  }
  // Which reduction of this x alone the source is; -1: none.
  int reduction_of(const OperandSource& m, const OperandSource& x, Statement::Reduce kind) const {
    const ScheduledValue& v = value(m.index);
    auto of = plain({&v, v.statement->expr});
    const bool exact = v.statement->dtype == fusion::lane_dtype(v.statement->dtype) ||
                       (v.statement->output < 0 && v.statement->node < 0);
    return v.statement->reduce == kind && !v.per_column && of == x && exact ? m.index : -1;
  }

  // sum exp(x - max x)
  std::optional<Pair> exponentials(const ScheduledValue& v) const {
    const Term power = resolved({&v, v.statement->expr});
    if (!calls(power, "exp")) return {};
    auto both = difference({power.of, power.expr->args[0]});
    const int max = both ? reduction_of(both->second, both->first, Statement::Reduce::max) : -1;
    if (max < 0 || value(max).statement->dtype != ir::DType::f32) return {};
    return Pair{Pair::Kind::exponentials, both->first, max, -1};
  }
  // sum (x - sum x / n)^2
  std::optional<Pair> squares(const ScheduledValue& v) const {
    const Term product = resolved({&v, v.statement->expr});
    if (!calls(product, "*")) return {};
    auto left = difference({product.of, product.expr->args[0]}),
         right = difference({product.of, product.expr->args[1]});
    if (!left || left != right) return {};
    const ScheduledValue& mean = value(left->second.index);
    const Expr& quotient = *mean.statement->expr;
    if (!mean.per_row || quotient.kind != Expr::Kind::call || quotient.name != "/" ||
        (quotient.args[1]->kind != Expr::Kind::number && quotient.args[1]->kind != Expr::Kind::size))
      return {};
    const auto sum = plain({&mean, quotient.args[0]});
    const ir::Sym count = s_.columns();
    const Expr& n = *quotient.args[1];
    const bool all = n.kind == Expr::Kind::size
                         ? n.size.same(count)
                         : !count.symbolic() && (n.whole ? static_cast<double>(n.integer) : n.number) ==
                                                    static_cast<double>(count.hint());
    if (!sum || sum->kind != OperandSource::Kind::value || !all) return {};
    const int first = reduction_of(*sum, left->first, Statement::Reduce::sum);
    if (first < 0 ||
        fusion::lane_dtype(value(first).statement->dtype) != fusion::lane_dtype(v.statement->dtype))
      return {};
    return Pair{Pair::Kind::squares, left->first, first, -1};
  }

  // Both operands of a call that is a comparison or the like.
  std::optional<std::pair<OperandSource, OperandSource>> operands(Term t, const char* name) const {
    t = resolved(t);
    if (!calls(t, name) || t.expr->args.size() != 2) return {};
    auto a = plain({t.of, t.expr->args[0]}), b = plain({t.of, t.expr->args[1]});
    if (!a || !b) return {};
    return std::pair(*a, *b);
  }
  // min where(x != extremum of x [and x == x], the count, number): a NaN equals no extremum, and is one.
  std::optional<Pair> places(const ScheduledValue& v) const {
    const Term choice = resolved({&v, v.statement->expr});
    if (!calls(choice, "where") || choice.expr->args[1]->kind != Expr::Kind::number) return {};
    Term other = resolved({choice.of, choice.expr->args[0]});
    std::optional<std::pair<OperandSource, OperandSource>> itself;
    if (calls(other, "&")) {
      itself = operands({other.of, other.expr->args[1]}, "==");
      if (!itself || itself->first != itself->second) return {};
      other = {other.of, other.expr->args[0]};
    }
    const auto differ = operands(other, "!=");
    if (!differ || differ->second.kind != OperandSource::Kind::value ||
        (itself && itself->first != differ->first))
      return {};
    const ScheduledValue& extremum = value(differ->second.index);
    const auto of = plain({&extremum, extremum.statement->expr});
    const auto number = plain({choice.of, choice.expr->args[2]});
    const auto kind = extremum.statement->reduce;
    if ((kind != Statement::Reduce::max && kind != Statement::Reduce::min) || extremum.per_column ||
        of != differ->first || !number || !counts(*number) ||
        (ir::is_float(fusion::lane_dtype(extremum.statement->dtype)) && !itself))
      return {};
    return Pair{Pair::Kind::places, differ->first, differ->second.index, -1, *number};
  }
  // The place of an element as a number, perhaps of another type.
  bool counts(const OperandSource& from) const {
    if (from.kind == OperandSource::Kind::load)
      return s_.loads[static_cast<size_t>(from.index)].kind == Load::Kind::number;
    const ScheduledValue& v = value(from.index);
    const auto of = plain({&v, v.statement->expr});
    return v.store < 0 && of && of->kind == OperandSource::Kind::load && counts(*of);
  }

  const Schedule& s_;
};

// The pairs whose seconds are all that phase `phase` + 1 computes; none: it computes something else.
std::vector<Pair> pairs_of(const Schedule& s, size_t phase) {
  const PairFinder finder(s);
  std::vector<Pair> out;
  const std::vector<int>& before = s.phases[phase].values;
  for (int i : s.phases[phase + 1].values) {
    const ScheduledValue& v = s.values[static_cast<size_t>(i)];
    if (v.store >= 0 && !v.per_row) return {};
    if (v.statement->reduce == Statement::Reduce::none) continue;
    const auto pair = finder.pair(i);
    if (!pair || std::find(before.begin(), before.end(), pair->first) == before.end() ||
        std::any_of(out.begin(), out.end(), [&](const Pair& p) { return p.first == pair->first; }))
      return {};
    out.push_back(*pair);
  }
  return out;
}

// What the second phase counts its places by is there when the first looks at an element.
void count_sooner(Schedule& s, Phase& phase, const Pair& pair) {
  OperandSource number = pair.number;
  if (number.kind == OperandSource::Kind::value) {
    std::vector<int>& values = phase.values;
    if (std::find(values.begin(), values.end(), number.index) == values.end())
      values.insert(std::find(values.begin(), values.end(), pair.first), number.index);
    const ScheduledValue& v = s.values[static_cast<size_t>(number.index)];
    number = v.sources.at(static_cast<size_t>(v.statement->expr->operand));
  }
  if (std::find(phase.loads.begin(), phase.loads.end(), number.index) == phase.loads.end())
    phase.loads.push_back(number.index);
}

// The second phase is none any more: what was known before a later one is known a phase sooner.
void join(Schedule& s, size_t phase, const std::vector<Pair>& pairs) {
  const auto gone = static_cast<int>(phase) + 1;
  auto sooner = [&](int& p) { p -= p > gone ? 1 : 0; };
  for (ScheduledValue& v : s.values) sooner(v.phase);
  for (Load& l : s.loads) sooner(l.phase);
  for (Argument& a : s.arguments)
    for (int* p : {&a.first_store, &a.last_read}) *p -= *p >= gone ? 1 : 0;
  for (const Pair& pair : pairs) {
    if (pair.kind == Pair::Kind::places) count_sooner(s, s.phases[phase], pair);
    s.values[static_cast<size_t>(pair.second)].phase = gone - 1;
    s.phases[phase].values.push_back(pair.second);
    s.pairs.push_back(pair);
  }
  s.phases.erase(s.phases.begin() + gone);
}

}  // namespace

void join_pairs(Schedule& s) {
  for (size_t p = 0; p + 1 < s.phases.size(); ++p)
    if (const std::vector<Pair> pairs = pairs_of(s, p); !pairs.empty()) join(s, p, pairs);
}

}  // namespace vitrine::codegen::cuda
