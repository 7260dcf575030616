// Paddings whose border repeats what is within.
#include <algorithm>

#include "core/fusion/nests.h"

namespace vitrine::fusion {

namespace {

using ir::Dims;
using ir::Ref;

constexpr size_t kMostPadded = 2;  // dims: each makes three places of every one an element may come from

struct DimBorder {
  size_t dim;
  ir::Sym before, after;
};
enum class Edge : uint8_t { mirrored, repeated };

// Along border's dim element i of the result is that at i - before. In front of the first it is that at
// before - i or the first, behind the last that as far in front of the last or the last.
ExprPtr padded(NestWriter& w, const Access& at, const std::vector<DimBorder>& borders, size_t k, Edge edge) {
  const Ref value = w.value(0);
  if (k == borders.size()) return w.read(value, at);
  const auto [d, before, after] = borders[k];
  const ir::Sym size = w.type(value).sizes[d], stride = at.strides[d];
  const auto part = [&](int64_t step, const ir::Sym& from, const Range& within) {
    Access there = at;
    there.strides[d] = step * stride;
    there.offset += from * stride;
    there.within.push_back(within);
    return padded(w, there, borders, k + 1, edge);
  };
  const Range front = w.range(d, -Range::kNone, before), middle = w.range(d, before, before + size),
              back = w.range(d, before + size, Range::kNone);
  const int64_t turn = edge == Edge::mirrored ? -1 : 0;
  ExprPtr expr = part(1, -before, middle);
  if (before > 0)
    expr =
        NestWriter::choose(w.inside({front}), part(turn, turn ? before : ir::Sym(0), front), std::move(expr));
  if (after > 0) {
    const ir::Sym from = turn ? 2 * (size - 1) + before : size - 1;
    expr = NestWriter::choose(w.inside({back}), part(turn, from, back), std::move(expr));
  }
  return expr;
}

bool border(NestWriter& w, Edge edge, std::string& why) {
  const Ref value = w.value(0);
  const Dims pad = w.integers(1), &sizes = w.type(value).sizes;
  if (pad.size() > 2 * sizes.size()) return no(why, "it pads more dimensions than there are");
  if (!w.out().is_contiguous()) return no(why, "PyTorch copies its channels whole");
  std::vector<DimBorder> borders;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const DimBorder b{sizes.size() - 1 - i, pad[2 * i], pad[2 * i + 1]};
    if (b.before < 0 || b.after < 0) return no(why, "it cuts");
    if (b.before > 0 || b.after > 0) borders.push_back(b);
  }
  if (borders.size() > kMostPadded) return no(why, "it pads many dimensions");
  w.nest.expr = padded(w, w.place(value), borders, 0, edge);
  return true;
}
bool reflection(NestWriter& w, std::string& why) {
  return border(w, Edge::mirrored, why);
}
bool replication(NestWriter& w, std::string& why) {
  return border(w, Edge::repeated, why);
}

}  // namespace

const std::vector<NestRow> kBorders = {
    {"aten.reflection_pad1d.default", reflection},   {"aten.reflection_pad2d.default", reflection},
    {"aten.reflection_pad3d.default", reflection},   {"aten.replication_pad1d.default", replication},
    {"aten.replication_pad2d.default", replication}, {"aten.replication_pad3d.default", replication},
};

}  // namespace vitrine::fusion
