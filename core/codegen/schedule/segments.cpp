#include "core/codegen/schedule/segments.h"

#include <algorithm>

namespace vitrine::codegen {

namespace {

using fusion::Expr;
using fusion::ExprPtr;
using fusion::Range;
using ir::Sym;

constexpr size_t kMostSegments = 17;
constexpr size_t kLongest = 96;  // loads and values of all segments together

// Whether only the column decides.
bool by_column(const Range& r) {
  return r.strides.back() > 0 &&
         std::all_of(r.strides.begin(), r.strides.end() - 1, [](const Sym& s) { return s.same(0); });
}
// The first column at which the sum has reached the limit.
Sym column_of(const Range& r, const Sym& limit) {
  return ir::never_above(limit, 0) ? Sym(0) : ir::ceildiv(limit, r.strides.back());
}

// Columns in ascending order, for all sizes; two may be one for some. add() is false where the order is not
// known.
class ColumnEnds {
 public:
  explicit ColumnEnds(const Sym& last) : at_{last} {}

  bool add(const Sym& c) {
    if (ir::never_above(c, 0) || ir::never_above(at_.back() + 1, c)) return true;
    if (!ir::never_above(1, c)) return false;
    for (size_t i = 0; i < at_.size(); ++i) {
      if (at_[i].same(c)) return true;
      if (ir::never_above(at_[i], c)) continue;
      if (!ir::never_above(c, at_[i])) return false;
      at_.insert(at_.begin() + static_cast<int64_t>(i), c);
      return true;
    }
    return false;
  }
  const ir::Dims& all() const { return at_; }

 private:
  ir::Dims at_;
};

ir::Dims ends(const Schedule& s) {
  ColumnEnds at(s.dims.back());
  for (const Load& l : s.loads)
    for (const Range& r : l.within) {
      if (!by_column(r)) continue;
      if (r.bounded_below() && !at.add(column_of(r, r.low))) return {};
      if (r.bounded_above() && !at.add(column_of(r, r.high))) return {};
    }
  return at.all();
}

// What is left of a schedule between two columns.
class Reading {
 public:
  Reading(const Schedule& s, const ir::Dims& ends, size_t part) : s_(s), ends_(ends), part_(part) {
    out_.from = part ? ends[part - 1] : Sym(0);
    out_.to = ends[part];
    out_.loads.resize(s.loads.size());
    out_.values.resize(s.values.size());
  }

  // nullopt: a value asks for what is not read here.
  std::optional<ColumnSegment> run() {
    for (int i : s_.phases[0].values)
      if (s_.values[static_cast<size_t>(i)].store >= 0) value(static_cast<size_t>(i));
    return possible_ ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  enum class Here : uint8_t { inside, outside, open };
  // Of the part that begins at the column; of a later column more than there are.
  size_t number_of(const Sym& column) const {
    if (ir::never_above(column, 0)) return 0;
    size_t i = 0;
    while (i < ends_.size() && !ends_[i].same(column)) ++i;
    return i + 1;
  }
  Here where(const Load& l, std::vector<Range>& left) const {
    for (const Range& r : l.within) {
      if (!by_column(r)) {
        left.push_back(r);
        continue;
      }
      if ((r.bounded_below() && part_ < number_of(column_of(r, r.low))) ||
          (r.bounded_above() && part_ >= number_of(column_of(r, r.high))))
        return Here::outside;
    }
    return left.empty() ? Here::inside : Here::open;
  }

  void value(size_t i) {
    const ScheduledValue& v = s_.values[i];
    if (v.per_row || out_.values[i]) return;
    out_.values[i] = known(v.statement->expr, v);
    sources(out_.values[i], v);
    for (const Index& index : v.store_gathered) source(index.from);
  }
  void sources(const ExprPtr& e, const ScheduledValue& v) {
    if (e->kind == Expr::Kind::operand) source(v.sources[static_cast<size_t>(e->operand)]);
    for (const ExprPtr& a : e->args) sources(a, v);
  }
  void source(const OperandSource& s) {
    const auto i = static_cast<size_t>(s.index);
    if (s.kind == OperandSource::Kind::value) return value(i);
    if (s_.loads[i].per_row || out_.loads[i]) return;
    Load load = s_.loads[i];
    std::vector<Range> left;
    const Here here = where(load, left);
    possible_ &= here != Here::outside && (load.kind != Load::Kind::truth || here == Here::open);
    load.within = std::move(left);
    out_.loads[i] = std::move(load);
    for (const Index& index : s_.loads[i].gathered) source(index.from);
  }
  // The expression without the choices that are made here.
  ExprPtr known(const ExprPtr& e, const ScheduledValue& v) const {
    if (e->kind != Expr::Kind::call) return e;
    if (e->name == "where" && e->args[0]->kind == Expr::Kind::operand) {
      const OperandSource& s = v.sources[static_cast<size_t>(e->args[0]->operand)];
      const Load* l = s.kind == OperandSource::Kind::load ? &s_.loads[static_cast<size_t>(s.index)] : nullptr;
      std::vector<Range> left;
      const Here here = l && l->kind == Load::Kind::truth ? where(*l, left) : Here::open;
      if (here != Here::open) return known(e->args[here == Here::inside ? 1 : 2], v);
    }
    std::vector<ExprPtr> args;
    for (const ExprPtr& a : e->args) args.push_back(known(a, v));
    return Expr::make_call(e->name, std::move(args));
  }

  const Schedule& s_;
  const ir::Dims& ends_;
  size_t part_;
  ColumnSegment out_;
  bool possible_ = true;
};

}  // namespace

std::vector<ColumnSegment> segments_of(const Schedule& s, int lanes, bool sized) {
  if (s.turns || s.reduces || s.phases.size() != 1 || s.rows + 1 != s.dims.size()) return {};
  const ir::Dims to = ends(s);
  if (to.size() < 2 || to.size() > kMostSegments) return {};
  // Parts shorter than half a vector are faster as lanes of one.
  const int64_t columns = s.dims.back().hint();
  const bool short_parts = static_cast<int64_t>(to.size()) * lanes > 2 * columns;
  if (!sized && (columns < 2 * lanes || short_parts)) return {};
  std::vector<ColumnSegment> out;
  size_t length = 0;
  for (size_t k = 0; k < to.size(); ++k) {
    auto segment = Reading(s, to, k).run();
    if (!segment) return {};
    const auto asked = [](const auto& x) { return static_cast<bool>(x); };
    length += static_cast<size_t>(std::count_if(segment->loads.begin(), segment->loads.end(), asked) +
                                  std::count_if(segment->values.begin(), segment->values.end(), asked));
    out.push_back(std::move(*segment));
  }
  return length <= kLongest ? out : std::vector<ColumnSegment>();
}

}  // namespace vitrine::codegen
