#include "core/codegen/schedule/horizontal.h"

#include <algorithm>
#include <map>

namespace vitrine::codegen {

namespace {

bool same_statement(const fusion::Statement& a, const fusion::Statement& b) {
  return a.reduce == b.reduce && a.per_row == b.per_row && a.dtype == b.dtype && a.compute == b.compute &&
         a.output == b.output && (a.node < 0) == (b.node < 0) && to_text(a.expr) == to_text(b.expr);
}

template <class T, class F>
bool pairwise(const std::vector<T>& a, const std::vector<T>& b, F&& same) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

}  // namespace

std::vector<std::string_view> horizontal_words(std::span<const std::string_view> of_processor) {
  std::vector<std::string_view> out(of_processor.begin(), of_processor.end());
  for (std::string_view word : {"m", "many", "count", "own", "from", "to", "last", "done", "run", "Run",
                                "Some", "Members", "members", "load_pack", "store_pack"})
    out.push_back(word);
  return out;
}

bool walks_in_order(const Schedule& s) {
  auto plain = [](const ir::Dims& strides) { return strides.back().same(0) || strides.back().same(1); };
  if (s.block == 0 || s.reduces || s.parts != 1 || s.phases.size() != 1) return false;
  return std::all_of(s.loads.begin(), s.loads.end(),
                     [&](const Load& l) { return l.affine() && l.offset.same(0) && plain(l.strides); }) &&
         std::all_of(s.values.begin(), s.values.end(), [&](const ScheduledValue& v) {
           return v.store < 0 || (!v.per_row && plain(v.store_strides));
         });
}

bool congruent(const Schedule& a, const Schedule& b) {
  if (a.columns().same(1) != b.columns().same(1)) return false;
  return pairwise(a.arguments, b.arguments,
                  [](const Argument& x, const Argument& y) {
                    return x.dtype == y.dtype && x.written == y.written && x.by_value == y.by_value;
                  }) &&
         pairwise(a.loads, b.loads,
                  [](const Load& x, const Load& y) {
                    return x.argument == y.argument && ir::same(x.strides, y.strides) &&
                           x.per_row == y.per_row;
                  }) &&
         pairwise(a.values, b.values, [](const ScheduledValue& x, const ScheduledValue& y) {
           return same_statement(*x.statement, *y.statement) && x.sources == y.sources &&
                  x.per_row == y.per_row && x.store == y.store && ir::same(x.store_strides, y.store_strides);
         });
}

MemberTable member_table(const std::vector<Schedule>& members, int64_t block) {
  MemberTable table;
  std::vector<ir::Sym> first;
  for (const Schedule& s : members) {
    const ir::Sym n = s.columns();
    table.numbers.push_back(n);
    first.push_back(table.items);
    table.items += ir::ceildiv(n, block);
    table.elements += n;
  }
  first.push_back(table.items);
  table.numbers.insert(table.numbers.end(), first.begin(), first.end());
  return table;
}

void share_lines(const std::vector<Schedule>& members, Kernel& kernel) {
  std::map<ir::NodeId, std::vector<ir::NodeId>> others;
  auto add = [&](ir::NodeId first, ir::NodeId other) {
    std::vector<ir::NodeId>& list = others[first];
    if (other != first && std::find(list.begin(), list.end(), other) == list.end()) list.push_back(other);
  };
  for (size_t m = 1; m < members.size(); ++m) {
    for (size_t i = 0; i < members[m].values.size(); ++i)
      add(members[0].values[i].node, members[m].values[i].node);
    for (size_t i = 0; i < members[m].loads.size(); ++i)
      add(members[0].loads[i].node, members[m].loads[i].node);
  }
  const std::vector<LineOrigin> own = kernel.lines;
  for (LineOrigin line : own)
    for (ir::NodeId other : others[line.node]) {
      line.node = other;
      kernel.lines.push_back(line);
    }
}

}  // namespace vitrine::codegen
