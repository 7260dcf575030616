#include <algorithm>

#include "core/fusion/fuse.h"
#include "core/fusion/space.h"

namespace vitrine::fusion {

using ir::Dims;

namespace {

constexpr size_t kMaxMembers = 64;
constexpr size_t kMaxArguments = 48;

std::string space_text(const Dims& dims) {
  return dims_text(dims, " × ");
}

class Layout {
 public:
  Layout(const LoopProgram& program, const std::vector<size_t>& loops, std::string& why)
      : program_(program), loops_(loops), why_(why) {}

  std::optional<Group> make() {
    if (!space() || !levels()) return std::nullopt;
    for (size_t l : loops_) group_.members.push_back(member(l));
    if (!reads_match() || !small_enough()) return std::nullopt;
    return std::move(group_);
  }

 private:
  const Loop& loop(size_t l) const { return program_.loops[l]; }
  ir::Device device(size_t l) const { return program_.graph->node(loop(l).node).type().device; }

  // Rows and columns come from the reductions, which must agree; without one every dim is a row.
  bool space() {
    const Loop* first = nullptr;
    for (size_t l : loops_) {
      if (loop(l).epoch != loop(loops_[0]).epoch) return no("a write to a tensor stands between them");
      if (device(l) != device(loops_[0])) return no("they run on different devices");
      if (loop(l).reduced == 0) continue;
      if (!first)
        first = &loop(l);
      else if (row_count(loop(l)) != row_count(*first) || ir::numel(loop(l).dims) != ir::numel(first->dims))
        return no("the reductions run over different rows: " + space_text(first->dims) + " and " +
                  space_text(loop(l).dims));
    }
    group_.reduces = first != nullptr;
    if (first)
      dims_ = first->dims, rows_ = row_count(*first);
    else {
      for (size_t l : loops_)
        if (ir::numel(loop(l).dims) > ir::numel(dims_)) dims_ = loop(l).dims;
      rows_ = ir::numel(dims_);
    }
    full_ = ir::numel(dims_);
    return true;
  }
  static int64_t row_count(const Loop& l) {
    return ir::numel(Dims(l.dims.begin(), l.dims.begin() + static_cast<int64_t>(l.rows())));
  }

  bool levels() {
    for (size_t l : loops_) {
      if (ir::numel(loop(l).dims) != full_) continue;
      auto finer = refine(dims_, loop(l).dims);
      if (!finer) return differ(dims_, loop(l).dims);
      dims_ = *finer;
    }
    Dims rows;
    int64_t n = 1;
    size_t k = 0;
    while (k < dims_.size() && n < rows_) n *= dims_[k++];
    if (n != rows_) return no("their rows differ");
    rows.assign(dims_.begin(), dims_.begin() + static_cast<int64_t>(k));
    Dims columns(dims_.begin() + static_cast<int64_t>(k), dims_.end());
    for (size_t l : loops_) {
      if (ir::numel(loop(l).dims) == full_) continue;
      if (!group_.reduces || ir::numel(loop(l).dims) != rows_) return differ(dims_, loop(l).dims);
      auto finer = refine(rows, loop(l).dims);
      if (!finer) return differ(rows, loop(l).dims);
      rows = *finer;
    }
    group_.rows = rows.size();
    group_.dims = std::move(rows);
    group_.dims.insert(group_.dims.end(), columns.begin(), columns.end());
    return true;
  }

  Member member(size_t l) const {
    Member m;
    m.loop = l;
    m.per_row = ir::numel(loop(l).dims) != full_;
    for (const Operand& o : loop(l).operands) m.operands.push_back(spread(o.at, loop(l), m.per_row));
    for (const Access& s : loop(l).stores) m.stores.push_back(spread(s, loop(l), m.per_row));
    return m;
  }
  Access spread(const Access& a, const Loop& l, bool per_row) const {
    Dims to = group_.dims;
    if (per_row) to.resize(group_.rows);
    Access out{a.root, split_strides(a.strides, l.dims, to), a.offset};
    out.strides.resize(group_.dims.size(), 0);
    return out;
  }

  // A value computed here must be read at the place where it is computed: a kernel has no other of its
  // places.
  bool reads_match() {
    for (size_t i = 0; i < group_.members.size(); ++i) {
      for (const Access& read : group_.members[i].operands) {
        for (size_t j = 0; j < group_.members.size(); ++j) {
          if (loop(group_.members[j].loop).node != read.root.node) continue;
          if (j < i && group_.members[j].stores[static_cast<size_t>(read.root.output)] == read) continue;
          return no(program_.graph->node(loop(group_.members[i].loop).node).name + " reads " +
                    program_.graph->node(read.root.node).name + " at other places than it computes");
        }
      }
    }
    return true;
  }
  bool small_enough() {
    if (loops_.size() > kMaxMembers) return no("the kernel would be too long");
    std::vector<ir::Ref> roots;
    for (const Member& m : group_.members)
      for (const Access& a : m.operands)
        if (std::find(roots.begin(), roots.end(), a.root) == roots.end()) roots.push_back(a.root);
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
  Dims dims_;
  int64_t rows_ = 1, full_ = 1;
};

}  // namespace

std::optional<Group> make_group(const LoopProgram& program, const std::vector<size_t>& loops,
                                std::string& why) {
  return Layout(program, loops, why).make();
}

}  // namespace vitrine::fusion
