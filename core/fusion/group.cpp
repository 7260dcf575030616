#include <algorithm>
#include <set>

#include "core/fusion/fuse.h"
#include "core/fusion/space.h"

namespace vitrine::fusion {

using ir::Dims;

namespace {

constexpr size_t kMaxMembers = 64;
constexpr size_t kMaxArguments = 48;
// Sums over rows beside reductions of rows: a thread keeps one of each for every column that it has.
constexpr int64_t kMostColumns = 8192, kLeastColumns = 128, kLeastRows = 512;
constexpr int kMostColumnSums = 3;

std::string space_text(const Dims& dims) {
  return nest_text(dims, " × ");
}

class GroupLayout {
 public:
  GroupLayout(const LoopProgram& program, const std::vector<size_t>& loops, std::string& why)
      : program_(program), loops_(loops), why_(why) {}

  std::optional<Group> make() {
    if (!fits()) return std::nullopt;
    if (as_they_are_)
      for (size_t l : loops_) group_.members.push_back(member(l));
    return std::move(group_);
  }
  bool fits() {
    if (!space() || !levels() || !both_ways()) return false;
    as_they_are_ = !reduction_ && columns_.empty() &&
                   std::ranges::all_of(loops_, [&](size_t l) { return ir::same(loop(l).dims, group_.dims); });
    if (!as_they_are_)
      for (size_t l : loops_) group_.members.push_back(member(l));
    return reads_match() && small_enough() && reads_plainly();
  }

 private:
  const Loop& loop(size_t l) const { return program_.loops[l]; }
  ir::Device device(size_t l) const { return program_.graph->node(loop(l).node).type().device; }

  // The iteration space is the reductions', or the largest.
  bool space() {
    for (size_t l : loops_) {
      if (loop(l).epoch != loop(loops_[0]).epoch) return no("a write to a tensor stands between them");
      if (loop(l).filled && loops_.size() > 1) return no("an index says where it writes");
      if (loop(l).scans != Statement::Reduce::none && loops_.size() > 1)
        return no("each element needs those before it");
      if (device(l) != device(loops_[0])) return no("they run on different devices");
      if (loop(l).over.empty()) continue;
      if (sums_columns(l)) {
        columns_.insert(loop(l).node);
        continue;
      }
      if (!reduction_)
        reduction_ = &loop(l);
      else if (!kept_count(loop(l)).same(kept_count(*reduction_)) ||
               !ir::numel(loop(l).dims).same(ir::numel(reduction_->dims)))
        return no("the reductions run over different rows: " + space_text(reduction_->dims) + " and " +
                  space_text(loop(l).dims));
    }
    group_.reduces = reduction_ != nullptr;
    if (reduction_)
      dims_ = reduction_->dims;
    else
      for (size_t l : loops_)
        if (ir::numel(loop(l).dims).hint() > ir::numel(dims_).hint()) dims_ = loop(l).dims;
    full_ = ir::numel(dims_);
    kept_ = reduction_ ? kept_count(*reduction_) : full_;
    return true;
  }
  // Whether it sums over what another reduction of the group keeps.
  bool sums_columns(size_t l) const {
    if (!program_.graph->node(loop(l).node).type().device.is_cuda() || loop(l).reduces_last()) return false;
    return std::any_of(loops_.begin(), loops_.end(), [&](size_t other) {
      const Loop& rows = loop(other);
      return !rows.over.empty() && rows.reduces_last() &&
             ir::numel(rows.dims).same(ir::numel(loop(l).dims)) &&
             (kept_count(rows) * kept_count(loop(l))).same(ir::numel(rows.dims));
    });
  }
  // Whether it runs once a column: it reads what does.
  bool behind_columns(size_t l) const {
    return std::any_of(loop(l).operands.begin(), loop(l).operands.end(),
                       [&](const Operand& o) { return columns_.contains(o.at.root.node); });
  }
  static ir::Sym kept_count(const Loop& l) {
    ir::Sym n = 1;
    for (size_t d = 0; d < l.dims.size(); ++d)
      if (!l.over[d]) n *= l.dims[d];
    return n;
  }

  // Dims in which all loops run, in the order of their elements; rows are those that are not reduced.
  bool levels() {
    for (size_t l : loops_) {
      if (ir::same(loop(l).dims, dims_) || !ir::numel(loop(l).dims).same(full_)) continue;
      auto finer = refine(dims_, loop(l).dims);
      if (!finer) return differ(dims_, loop(l).dims);
      dims_ = *finer;
    }
    over_.assign(dims_.size(), false);
    if (reduction_) over_ = reduced(*reduction_);
    std::vector<bool> others = over_;
    others.flip();
    for (size_t l : loops_)
      if (!loop(l).over.empty() && reduced(loop(l)) != (columns_.contains(loop(l).node) ? others : over_))
        return no("they reduce different dimensions of " + space_text(dims_));
    Dims rows = rows_of(dims_);
    for (size_t l : loops_) {
      if (!columns_.empty() && loop(l).over.empty() && behind_columns(l)) {
        const auto same = refine(columns_of(dims_), loop(l).dims);
        if (!same || !ir::same(*same, columns_of(dims_))) return differ(columns_of(dims_), loop(l).dims);
        columns_.insert(loop(l).node);
        continue;
      }
      if (ir::numel(loop(l).dims).same(full_)) continue;
      if (!group_.reduces || !ir::numel(loop(l).dims).same(kept_)) return differ(dims_, loop(l).dims);
      auto finer = refine(rows, loop(l).dims);
      if (!finer) return differ(rows, loop(l).dims);
      rows = *finer;
    }
    split_rows(rows);
    group_.rows = rows.size();
    group_.dims = rows_first(dims_);
    return true;
  }
  static bool more(const ir::Sym& left) { return left.symbolic() || left.hint() > 1; }
  // By dim of the space: the loop reduces it.
  std::vector<bool> reduced(const Loop& l) const {
    std::vector<bool> out;
    for (size_t d = 0; d < l.dims.size(); ++d)
      for (ir::Sym left = l.dims[d]; more(left); left = ir::floordiv(left, dims_[out.size() - 1]))
        out.push_back(l.over[d]);
    return out;
  }
  Dims rows_of(const Dims& dims) const {
    Dims rows;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!over_[d]) rows.push_back(dims[d]);
    return rows;
  }
  Dims columns_of(const Dims& dims) const {
    Dims columns;
    for (size_t d = 0; d < dims.size(); ++d)
      if (over_[d]) columns.push_back(dims[d]);
    return columns;
  }
  Dims rows_first(const Dims& of) const {
    Dims out = rows_of(of);
    const Dims columns = columns_of(of);
    out.insert(out.end(), columns.begin(), columns.end());
    return out;
  }
  // Sums over rows beside reductions of rows are worth it where threads can keep a sum for each of their
  // columns, and there are rows for all of them.
  bool both_ways() {
    if (columns_.empty()) return true;
    int sums = 0;
    for (size_t l : loops_) {
      const bool sum = columns_.contains(loop(l).node) && !loop(l).over.empty();
      sums += sum;
      if (sum && loop(l).body.size() != 1) return no("more than a sum is computed of each column");
    }
    if (sums > kMostColumnSums) return no("too many sums of columns beside those of rows");
    const ir::Sym length = ir::floordiv(full_, kept_);
    if (length.symbolic()) return no("rows of a length that changes are not reduced and summed at once");
    const int64_t columns = length;
    if (columns > kMostColumns || columns < kLeastColumns)
      return no("rows of " + std::to_string(columns) + " are not reduced and summed at once");
    return kept_.hint() >= kLeastRows || no("too few rows to reduce them and sum over them at once");
  }
  // `rows` is a refinement of the dims that are not reduced.
  void split_rows(const Dims& rows) {
    Dims dims;
    std::vector<bool> over;
    size_t next = 0;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (over_[d]) {
        dims.push_back(dims_[d]);
        over.push_back(true);
      }
      for (ir::Sym left = over_[d] ? ir::Sym(1) : dims_[d]; more(left);
           left = ir::floordiv(left, rows[next++])) {
        dims.push_back(rows[next]);
        over.push_back(false);
      }
    }
    dims_ = std::move(dims);
    over_ = std::move(over);
  }

  Member member(size_t l) const {
    Member m;
    m.loop = l;
    m.per_column = columns_.contains(loop(l).node);
    m.per_row = !m.per_column && !ir::numel(loop(l).dims).same(full_);
    for (const Operand& o : loop(l).operands) m.operands.push_back(spread(o.at, loop(l), m));
    for (const Access& s : loop(l).stores) m.stores.push_back(spread(s, loop(l), m));
    return m;
  }
  Access spread(const Access& a, const Loop& l, const Member& m) const {
    const bool column = behind(m);
    Access out = a;
    each_strides(out, [&](Dims& strides) {
      strides = split_strides(strides, l.dims,
                              m.per_row ? rows_of(dims_)
                              : column  ? columns_of(dims_)
                                        : dims_);
      if (column) strides.insert(strides.begin(), rows_of(dims_).size(), 0);
      if (!m.per_row && !column) strides = rows_first(strides);
      strides.resize(group_.dims.size(), 0);
    });
    return out;
  }

  // Whether it runs once a column.
  bool behind(const Member& m) const { return m.per_column && loop(m.loop).over.empty(); }
  // Of the i-th loop, over the group's dims: members are made where these are not the loop's own.
  const Access& operand(size_t i, size_t k) const {
    return as_they_are_ ? loop(loops_[i]).operands[k].at : group_.members[i].operands[k];
  }
  const Access& store(size_t i, int32_t output) const {
    const auto k = static_cast<size_t>(output);
    return as_they_are_ ? loop(loops_[i]).stores[k] : group_.members[i].stores[k];
  }
  bool per_column(size_t i) const { return !as_they_are_ && group_.members[i].per_column; }
  // A value computed here must be read at the place where it is computed: a kernel has no other of its
  // places.
  bool reads_match() {
    for (size_t i = 0; i < loops_.size(); ++i) {
      for (size_t k = 0; k < loop(loops_[i]).operands.size(); ++k) {
        const Access& read = operand(i, k);
        for (size_t j = 0; j < loops_.size(); ++j) {
          if (loop(loops_[j]).node != read.root.node) continue;
          const bool column = !as_they_are_ && behind(group_.members[i]);
          const bool known = j < i && column == per_column(j);
          if (known && store(j, read.root.output) == read) continue;
          return no(program_.graph->node(loop(loops_[i]).node).name + " reads " +
                    program_.graph->node(read.root.node).name + " at other places than it computes");
        }
      }
    }
    return true;
  }
  bool reads_plainly() {
    if (!columns_.empty()) return reads_along();
    if (!reduction_ || reduction_->reduces_last()) return true;
    for (const Member& m : group_.members)
      for (const Access& a : m.operands)
        if (!reads_across(a, device(m.loop)))
          return no(program_.graph->node(loop(m.loop).node).name +
                    " gathers what it reads, and sums run across " + "rows");
    return true;
  }
  // Rows that are reduced, and summed over too, lie in one piece each.
  bool reads_along() {
    for (const Member& m : group_.members)
      for (const Access& a : m.operands)
        if (!a.is_affine() || a.strides.back() > 1)
          return no(program_.graph->node(loop(m.loop).node).name + " reads no rows in one piece");
    return true;
  }
  bool small_enough() {
    if (loops_.size() > kMaxMembers) return no("the kernel would be too long");
    std::vector<ir::Ref> roots;
    for (size_t l : loops_)
      for (const Operand& o : loop(l).operands)
        if (o.at.in_memory() && std::find(roots.begin(), roots.end(), o.at.root) == roots.end())
          roots.push_back(o.at.root);
    return roots.size() <= kMaxArguments || no("the kernel would read too many tensors");
  }

  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool differ(const Dims& a, const Dims& b) {
    return no("different iteration spaces: " + space_text(a) + " and " + space_text(b));
  }

  const LoopProgram& program_;
  const std::vector<size_t>& loops_;
  std::string& why_;
  Group group_;
  bool as_they_are_ = false;  // all loops run over the group's dims, and none reduces
  const Loop* reduction_ = nullptr;
  std::set<ir::NodeId> columns_;  // members that are one value a column
  Dims dims_;                     // of the space, in the order of its elements
  std::vector<bool> over_;        // by dim: it is reduced
  ir::Sym kept_ = 1, full_ = 1;
};

}  // namespace

std::optional<Group> make_group(const LoopProgram& program, const std::vector<size_t>& loops,
                                std::string& why) {
  return GroupLayout(program, loops, why).make();
}

bool fits_group(const LoopProgram& program, const std::vector<size_t>& loops, std::string& why) {
  return GroupLayout(program, loops, why).fits();
}

}  // namespace vitrine::fusion
