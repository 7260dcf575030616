// What a schedule answers about itself: which values a phase computes, what is read again, what is only
// moved.
#include <algorithm>
#include <cmath>

#include "core/codegen/schedule/schedule.h"
#include "core/fusion/functions.h"
#include "core/fusion/types.h"

namespace vitrine::codegen {

using fusion::ExprPtr;
using fusion::Statement;
using ir::Dims;
using ir::DType;

bool Schedule::gathers() const {
  return std::any_of(loads.begin(), loads.end(), [](const Load& l) { return !l.gathered.empty(); }) ||
         std::any_of(values.begin(), values.end(),
                     [](const ScheduledValue& v) { return !v.store_gathered.empty(); });
}
bool Schedule::turned(const Load& l) const {
  return turns && l.affine() && !l.per_row && lies_apart(l.strides.back()) && l.strides[rows - 1].same(1);
}
int Schedule::draws() const {
  for (const Load& l : loads)
    if (l.kind == Load::Kind::drawn) return l.draw.segment;
  return -1;
}
namespace {

// Whether each number of the one type is one of the other: 16-bit floats have those of one byte.
bool holds(ir::DType t, ir::DType from) {
  const bool narrow = t == ir::DType::f16 || t == ir::DType::bf16;
  return t == from || (narrow && (from == ir::DType::i8 || from == ir::DType::u8 || from == ir::DType::b1));
}

}  // namespace

bool Schedule::only_moves(const ScheduledValue& v) const {
  const DType t = v.statement->dtype;
  auto moves = [&](auto& self, const fusion::Expr& e) -> bool {
    if (e.kind == fusion::Expr::Kind::number)
      return e.whole ? e.integer == 0 || e.integer == 1 : ir::is_float(t) && std::isinf(e.number);
    if (e.kind == fusion::Expr::Kind::operand) {
      const OperandSource& s = v.sources[static_cast<size_t>(e.operand)];
      const auto i = static_cast<size_t>(s.index);
      return s.kind == OperandSource::Kind::load
                 ? holds(t, loads[i].dtype)
                 : holds(t, values[i].statement->dtype) && values[i].statement->is_result();
    }
    if (e.kind != fusion::Expr::Kind::call) return false;
    if (e.name == "neg") return ir::is_float(t) && self(self, *e.args[0]);
    return e.name == "where" && self(self, *e.args[1]) && self(self, *e.args[2]);
  };
  return moves(moves, *v.statement->expr);
}
const ScheduledValue* Schedule::source(const ScheduledValue& v, const ExprPtr& operand) const {
  if (operand->kind != fusion::Expr::Kind::operand) return nullptr;
  const OperandSource& s = v.sources[static_cast<size_t>(operand->operand)];
  return s.kind == OperandSource::Kind::value ? &values[static_cast<size_t>(s.index)] : nullptr;
}
bool Schedule::is_exponential(const ScheduledValue& v) const {
  auto calls = [](const ScheduledValue* of, const char* name) {
    return of && of->statement->expr->kind == fusion::Expr::Kind::call && of->statement->expr->name == name;
  };
  const ScheduledValue* difference = calls(&v, "exp") ? source(v, v.statement->expr->args[0]) : nullptr;
  if (!calls(difference, "-")) return false;
  ExprPtr right = difference->statement->expr->args[1];
  if (right->kind == fusion::Expr::Kind::call && right->name == "*") right = right->args[1];  // a - 1 * max
  const ScheduledValue* max = source(*difference, right);
  return max && max->statement->reduce == Statement::Reduce::max;
}
const ScheduledValue* Schedule::exponential_sum(const ScheduledValue& v) const {
  const fusion::Expr& e = *v.statement->expr;
  if (e.kind != fusion::Expr::Kind::call || e.name != "/" || v.per_row || across ||
      v.statement->compute != DType::f32)
    return nullptr;
  const ScheduledValue *up = source(v, e.args[0]), *sum = source(v, e.args[1]);
  auto single = [](const ScheduledValue* x) {
    return x && fusion::lane_dtype(x->statement->dtype) == DType::f32;
  };
  if (!single(up) || !single(sum) || sum->statement->reduce != Statement::Reduce::sum) return nullptr;
  const ScheduledValue* exp = source(*sum, sum->statement->expr);
  return exp && is_exponential(*exp) ? sum : nullptr;
}
bool Schedule::is_read(int value) const {
  const OperandSource wanted{OperandSource::Kind::value, value};
  auto gathers_by = [&](const std::vector<Index>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Index& i) { return i.from == wanted; });
  };
  return std::any_of(loads.begin(), loads.end(), [&](const Load& l) { return gathers_by(l.gathered); }) ||
         std::any_of(values.begin(), values.end(), [&](const ScheduledValue& v) {
           return std::find(v.used.begin(), v.used.end(), wanted) != v.used.end() ||
                  gathers_by(v.store_gathered);
         });
}
bool Schedule::ends_narrow(int value) const {
  const ScheduledValue& v = values[static_cast<size_t>(value)];
  const bool narrow = v.statement->dtype == DType::f16 || v.statement->dtype == DType::bf16;
  if (v.store >= 0 && !narrow) return false;
  if (narrow && v.statement->is_result()) return true;
  const OperandSource wanted{OperandSource::Kind::value, value};
  for (size_t i = 0; i < values.size(); ++i)
    if (std::find(values[i].used.begin(), values[i].used.end(), wanted) != values[i].used.end() &&
        !ends_narrow(static_cast<int>(i)))
      return false;
  return true;
}
std::vector<OperandSource> Schedule::once(int phase) const {
  std::vector<OperandSource> out;
  std::vector<bool> done(loads.size(), false);
  auto add = [&](auto& self, size_t l) -> void {
    if (!loads[l].per_row || loads[l].phase != phase || done[l]) return;
    done[l] = true;
    for (const Index& index : loads[l].gathered)
      if (index.from.kind == OperandSource::Kind::load) self(self, static_cast<size_t>(index.from.index));
    out.push_back({OperandSource::Kind::load, static_cast<int>(l)});
  };
  auto add_late = [&](bool late_too) {
    for (size_t l = 0; l < loads.size(); ++l)
      if (late_too || !loads[l].late) add(add, l);
  };
  add_late(false);
  for (size_t v = 0; v < values.size(); ++v) {
    if (!values[v].per_row || values[v].statement->reduce != Statement::Reduce::none ||
        values[v].phase != phase)
      continue;
    for (const OperandSource& s : values[v].used)
      if (s.kind == OperandSource::Kind::load) add(add, static_cast<size_t>(s.index));
    out.push_back({OperandSource::Kind::value, static_cast<int>(v)});
  }
  add_late(true);
  return out;
}
ir::Sym Schedule::row_count() const {
  return ir::numel(Dims(dims.begin(), dims.begin() + static_cast<int64_t>(rows)));
}
ir::Sym Schedule::columns() const {
  return ir::numel(Dims(dims.begin() + static_cast<int64_t>(rows), dims.end()));
}

bool Schedule::reduces_in(size_t phase) const {
  return std::any_of(phases[phase].values.begin(), phases[phase].values.end(), [&](int i) {
    return values[static_cast<size_t>(i)].statement->reduce != Statement::Reduce::none;
  });
}
bool Schedule::both_ways() const {
  return std::any_of(values.begin(), values.end(), [](const ScheduledValue& v) { return v.per_column; });
}
size_t Schedule::launches() const {
  if (both_ways()) return 2;
  return parts == 1 ? 1 : phases.size() + (reduces_in(phases.size() - 1) ? 1 : 0);
}
bool Schedule::computes(size_t launch, int value) const {
  const ScheduledValue& v = values[static_cast<size_t>(value)];
  if (both_ways() && v.per_column && v.statement->reduce == Statement::Reduce::none) return launch == 1;
  if (both_ways() && launch == 1) return v.per_column;
  if (parts == 1) return !v.per_row || v.statement->reduce != Statement::Reduce::none;
  if (launch >= phases.size()) return false;
  const std::vector<int>& here = phases[launch].values;
  return std::find(here.begin(), here.end(), value) != here.end();
}
bool Schedule::touches(size_t launch, int argument) const {
  if (both_ways()) {
    for (const ScheduledValue& v : values) {
      const bool last = v.per_column && v.statement->reduce == Statement::Reduce::none;
      if (v.store == argument && v.per_column == (launch == 1)) return true;
      for (const OperandSource& s : v.used)
        if (s.kind == OperandSource::Kind::load && loads[static_cast<size_t>(s.index)].argument == argument &&
            last == (launch == 1))
          return true;
    }
    return false;
  }
  if (parts == 1) return true;
  const bool walks = launch < phases.size();
  for (size_t l = 0; l < loads.size(); ++l)
    if (loads[l].argument == argument &&
        (loads[l].per_row || !loads[l].affine() ||
         (walks &&
          std::count(phases[launch].loads.begin(), phases[launch].loads.end(), static_cast<int>(l)))))
      return true;
  for (const ScheduledValue& v : values) {
    if (v.store != argument) continue;
    const bool sum = v.statement->reduce != Statement::Reduce::none;
    if (v.per_row ? static_cast<size_t>(sum ? v.phase + 1 : v.phase) == launch : walks) return true;
  }
  return false;
}
std::vector<int> Schedule::sums() const {
  std::vector<int> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].statement->reduce != Statement::Reduce::none && values[i].per_column == both_ways())
      out.push_back(static_cast<int>(i));
  return out;
}

}  // namespace vitrine::codegen
