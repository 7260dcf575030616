#include "core/fusion/scatters.h"

#include <algorithm>
#include <cstdint>

#include "core/fusion/nests.h"
#include "core/fusion/space.h"
#include "core/fusion/types.h"
#include "core/ops/node.h"

namespace vitrine::fusion {

namespace {

using ir::Arg;
using ir::Dims;
using ir::DType;
using ir::Ref;

// Where a row writes: the result's strides over the nest, and what gathers the rest.
struct ScatterTarget {
  Dims strides;
  std::vector<Gathered> gathered;
  bool adds = false;
  bool ordered = false;
  bool fresh = false;  // the result is 0 before: there is no tensor that it is copied from
  int64_t skipped = -1;
};
using Write = bool (*)(NestWriter& w, ScatterTarget& target, std::string& why);

// The value at this place of the nest, read as it lies.
ExprPtr value_at(NestWriter& w, Ref value) {
  return w.read(value, w.place(value));
}

// out[index[i, j], j] = source[i, j], dim 0
bool along(NestWriter& w, ScatterTarget& to, std::string& why) {
  const Ref index = w.value(2);
  const ir::TensorType& type = w.type(index);
  const auto d = NestWriter::dim(w.integer(1), w.out().sizes.size());
  if (!d || type.sizes.size() != w.out().sizes.size()) return no(why, "a number is written to");
  w.nest.dims = type.sizes;
  to.strides = w.out().strides;
  to.strides[*d] = 0;
  to.gathered = {{w.index_at(index, type.strides), w.out().strides[*d], w.out().sizes[*d]}};
  return true;
}
bool scatter_source(NestWriter& w, ScatterTarget& to, std::string& why) {
  if (!along(w, to, why)) return false;
  w.nest.expr = value_at(w, w.value(3));
  return true;
}
bool scatter_number(NestWriter& w, ScatterTarget& to, std::string& why) {
  if (!along(w, to, why)) return false;
  w.nest.expr = w.constant(w.arg(3));
  return w.nest.expr || no(why, "the number is none of its type");
}
bool scatter_add(NestWriter& w, ScatterTarget& to, std::string& why) {
  to.adds = true;
  return scatter_source(w, to, why);
}

// out[index[i], j] = source[i, j], dim 0
bool index_copy(NestWriter& w, ScatterTarget& to, std::string& why) {
  const Ref index = w.value(2), source = w.value(3);
  const auto d = NestWriter::dim(w.integer(1), w.out().sizes.size());
  if (!d) return no(why, "a number is written to");
  w.nest.dims = w.type(source).sizes;
  Dims strides(w.nest.dims.size(), 0);
  strides[*d] = w.type(index).strides.at(0);
  to.strides = w.out().strides;
  to.strides[*d] = 0;
  to.gathered = {{w.index_at(index, std::move(strides)), w.out().strides[*d], w.out().sizes[*d]}};
  w.nest.expr = value_at(w, source);
  return true;
}

// out[index[i], j] += alpha source[i, j], dim 0
bool index_add(NestWriter& w, ScatterTarget& to, std::string& why) {
  const bool once = w.arg(4) == Arg(int64_t{1}) || w.arg(4) == Arg(1.0);
  if (!once) return no(why, "what is added is scaled");
  to.adds = true;
  return index_copy(w, to, why);
}

// out[indices[...]] += gradient[...], in the order of the indices
bool embedding_gradient(NestWriter& w, ScatterTarget& to, std::string& why) {
  const Ref gradient = w.value(0), indices = w.value(1);
  if (w.arg(4) == Arg(true)) return no(why, "it is divided by how often an index comes");
  w.nest.dims = w.type(gradient).sizes;
  Dims strides = w.type(indices).strides;
  strides.push_back(0);
  to.adds = to.ordered = to.fresh = true;
  to.skipped = std::max<int64_t>(-1, w.integer(3, -1));
  to.strides.assign(w.nest.dims.size(), 0);
  to.strides.back() = w.out().strides[1];
  to.gathered = {{w.index_at(indices, std::move(strides)), w.out().strides[0], w.out().sizes[0]}};
  w.nest.expr = value_at(w, gradient);
  return true;
}

// out[i, :, j] = values: the index tensors broadcast together and stand where the first of them is, or first
// of all if another dim stands between them. Eager adds in an order that is known.
bool index_put(NestWriter& w, ScatterTarget& to, std::string& why) {
  to.adds = to.ordered = w.arg(3) == Arg(true);
  const ir::TensorType& out = w.out();
  const Ref values = w.value(2);
  std::vector<Arg> indices = w.arg(1).as<std::vector<Arg>>();
  indices.resize(out.sizes.size());
  std::vector<size_t> indexed, rest;
  Dims together;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].is_none()) {
      rest.push_back(i);
      continue;
    }
    const ir::TensorType& t = w.type(indices[i].as<Ref>());
    if (t.dtype != DType::i64 && t.dtype != DType::i32) return no(why, "an index is a mask");
    indexed.push_back(i);
    if (t.sizes.size() > together.size())
      together.insert(together.begin(), t.sizes.size() - together.size(), 1);
    for (size_t k = 0; k < t.sizes.size(); ++k)
      if (ir::Sym& n = together[together.size() - t.sizes.size() + k]; n == 1) n = t.sizes[k];
  }
  if (indexed.empty()) return no(why, "nothing is indexed");
  const bool adjacent = indexed.back() - indexed.front() + 1 == indexed.size();
  const size_t before = adjacent ? indexed.front() : 0;
  Dims& dims = w.nest.dims;
  dims = together;
  for (size_t k = 0; k < rest.size(); ++k) {
    const auto at = static_cast<int64_t>(rest[k] < before ? k : k + together.size());
    dims.insert(dims.begin() + at, out.sizes[rest[k]]);
  }
  to.strides.assign(dims.size(), 0);
  for (size_t k = 0; k < rest.size(); ++k)
    to.strides[rest[k] < before ? k : k + together.size()] = out.strides[rest[k]];
  for (size_t i : indexed) {
    const ir::TensorType& t = w.type(indices[i].as<Ref>());
    Dims strides(dims.size(), 0);
    const size_t shift = before + together.size() - t.sizes.size();
    for (size_t k = 0; k < t.sizes.size(); ++k)
      if (t.sizes[k] != 1) strides[shift + k] = t.strides[k];
    to.gathered.push_back(
        {w.index_at(indices[i].as<Ref>(), std::move(strides)), out.strides[i], out.sizes[i], true});
  }
  const ir::TensorType& v = w.type(values);
  if (v.sizes.size() > dims.size()) return no(why, "its values have more dims than there are places");
  Access at = w.place(values);
  Dims strides(dims.size(), 0);
  for (size_t k = 0; k < v.sizes.size(); ++k)
    if (v.sizes[k] != 1) strides[dims.size() - v.sizes.size() + k] = v.strides[k];
  at.strides = std::move(strides);
  w.nest.expr = w.read(values, std::move(at));
  return true;
}

struct ScatterRow {
  std::string_view op;
  Write write;
};
constexpr ScatterRow kRows[] = {
    {"aten.scatter.src", scatter_source},
    {"aten.scatter.value", scatter_number},
    {"aten.scatter_add.default", scatter_add},
    {"aten.index_add.default", index_add},
    {"aten.index_put.default", index_put},
    {"aten.index_copy.default", index_copy},
    {"aten.embedding_dense_backward.default", embedding_gradient},
};
const ScatterRow* find_scatter(const ir::Node& node) {
  for (const ScatterRow& row : kRows)
    if (row.op == node.op) return &row;
  return nullptr;
}

bool adds_in_memory(DType t) {
  return ir::is_float(t) || t == DType::i32 || t == DType::i64;
}

// Why sums cannot be ordered; empty: they can. Whole rows of the result are added to, one index each.
std::string cannot_order(const Loop& loop) {
  constexpr int64_t kMostSorted = int64_t{1} << 15, kLongRow = 8192, kFewRows = 64;
  const Access& store = loop.stores[0];
  const size_t last = loop.dims.size() - 1;
  if (loop.dims.size() < 2 || store.strides.back() == 0) return "no whole rows are added";
  int64_t targets = 1;
  for (size_t k = store.gathered.size(); k-- > 0;) {
    const Gathered& p = store.gathered[k];
    if (loop.operands[static_cast<size_t>(p.value)].at.strides.back() != 0) return "no whole rows are added";
    if (p.stride != store.gathered.back().stride * targets) return "its indices do not count the rows";
    targets *= p.size;
  }
  for (size_t k = 0; k < last; ++k)
    if (store.strides[k] != 0) return "its rows do not lie in one piece";
  const int64_t columns = loop.dims.back(), rows = ir::numel(loop.dims) / columns;
  if (columns > kLongRow && rows < kFewRows) return "its rows are few and long";
  if (targets >= INT32_MAX) return "its result has too many rows";
  return rows > kMostSorted && !has_few_targets(targets, loop.body.back().dtype)
             ? "so many indices are sorted faster by PyTorch"
             : "";
}

// Dims that lie together everywhere become one, so that a row of the result is one.
void join_dims(Loop& loop) {
  std::vector<Dims*> strides = {&loop.stores[0].strides};
  for (Operand& o : loop.operands) each_strides(o.at, [&](Dims& s) { strides.push_back(&s); });
  size_t nowhere = 0;
  collapse(loop.dims, nowhere, strides);
}

// A number that everything it is copied from is, or the copy.
Loop::Filling filling(const LoopProgram& program, NestWriter& w, bool fresh) {
  if (fresh) return {{}, Expr::make_integer(0)};
  const Placement& p = program.placement(w.value(0));
  auto made = program.loop_of.find(p.root.node);
  if (made != program.loop_of.end()) {
    const Loop& by = program.loops[made->second];
    if (by.kind == Loop::Kind::pointwise && by.operands.empty() && by.body.size() == 1 &&
        by.body[0].expr->kind == Expr::Kind::number)
      return {{}, by.body[0].expr};
  }
  return {Operand{w.value(0), p.type.dtype, {p.root, p.type.strides, p.offset}}, nullptr};
}

void drop_ones(const Dims& sizes, Dims& strides) {
  Dims kept;
  for (size_t i = 0; i < strides.size(); ++i)
    if (sizes[i] != 1) kept.push_back(strides[i]);
  strides = std::move(kept);
}
Dims without_ones(const Dims& sizes) {
  Dims out;
  for (const ir::Sym& s : sizes)
    if (s != 1) out.push_back(s);
  return out;
}

}  // namespace

bool is_scattering(const ir::Node& node) {
  return find_scatter(node) != nullptr;
}

std::optional<Loop> scattering_loop(const LoopProgram& program, const ir::Node& node, std::string& why) {
  auto args = ops::bind(*ops::find(node.op), node);
  why = "PyTorch's own kernel is used";
  if (!args.ok() || node.outputs.size() != 1 || !node.type().device.is_cuda()) return std::nullopt;
  NestWriter w(program, node, args.take());
  ScatterTarget to;
  if (!find_scatter(node)->write(w, to, why)) return std::nullopt;
  why = to.adds && !adds_in_memory(node.type().dtype) ? "sums of this type are PyTorch's"
        : ir::numel(w.nest.dims) == 0                 ? "nothing is written"
                                                      : "";
  if (!why.empty()) return std::nullopt;
  Loop loop;
  loop.node = node.id;
  loop.kind = Loop::Kind::pointwise;
  loop.filled = filling(program, w, to.fresh);
  loop.adds = to.adds;
  loop.ordered = to.ordered;
  loop.skipped = to.skipped;
  Access store{Ref{node.id, 0}, std::move(to.strides), 0};
  for (Operand& o : w.nest.operands) each_strides(o.at, [&](Dims& s) { drop_ones(w.nest.dims, s); });
  drop_ones(w.nest.dims, store.strides);
  store.gathered = std::move(to.gathered);
  loop.dims = without_ones(w.nest.dims);
  loop.operands = std::move(w.nest.operands);
  loop.stores = {std::move(store)};
  loop.body = {{w.nest.expr, Statement::Reduce::none, false, node.type().dtype, w.nest.compute, 0}};
  if (loop.ordered) {
    join_dims(loop);
    if (!(why = cannot_order(loop)).empty()) return std::nullopt;
  }
  return loop;
}

bool has_few_targets(int64_t targets, DType dtype) {
  constexpr int64_t kBlockBytes = 48 << 10, kThreads = 256;  // a thread has a sum of each
  return targets * kThreads * ir::dtype_bytes(lane_dtype(dtype)) <= kBlockBytes;
}

LoopProgram filling_loop(const LoopProgram& program, const Loop& scattering) {
  const ir::TensorType& out = program.graph->node(scattering.node).type();
  Loop fill;
  fill.node = scattering.node;
  fill.kind = Loop::Kind::pointwise;
  fill.dims = without_ones(out.sizes);
  Access store{Ref{scattering.node, 0}, out.strides, 0};
  drop_ones(out.sizes, store.strides);
  fill.stores = {std::move(store)};
  ExprPtr value = scattering.filled->number;
  if (scattering.filled->copied) {
    fill.operands = {*scattering.filled->copied};
    drop_ones(out.sizes, fill.operands[0].at.strides);
    value = Expr::make_operand(0);
  }
  fill.body = {{value, Statement::Reduce::none, false, out.dtype, scattering.body.back().compute, 0}};
  return {program.graph, {std::move(fill)}, {{scattering.node, 0}}, program.placements};
}

}  // namespace vitrine::fusion
