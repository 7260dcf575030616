#include "core/codegen/cuda/product.h"

#include <algorithm>

#include "core/codegen/cuda/card.h"

namespace vitrine::codegen::cuda {

namespace {

using ir::DType;
using ir::Sym;

constexpr int64_t kMostRows = 16, kRun = 8, kTile = 16, kMostSums = 2;

// The load that a value is, widened or not; -1: it is computed.
int load_of(const Schedule& s, const OperandSource& from) {
  if (from.kind == OperandSource::Kind::load) return from.index;
  const ScheduledValue& v = s.values[static_cast<size_t>(from.index)];
  const bool moves = v.statement->expr->kind == fusion::Expr::Kind::operand &&
                     v.statement->reduce == fusion::Statement::Reduce::none && v.store < 0 &&
                     v.statement->dtype == DType::f32;
  return moves ? load_of(s, v.sources[static_cast<size_t>(v.statement->expr->operand)]) : -1;
}

// The value that is summed: a product of two loads.
const ScheduledValue* product_of(const Schedule& s, const ScheduledValue& sum) {
  const ScheduledValue* v = s.source(sum, sum.statement->expr);
  if (!v || v->store >= 0 || v->statement->reduce != fusion::Statement::Reduce::none) return nullptr;
  const fusion::Expr& e = *v->statement->expr;
  const bool product = e.kind == fusion::Expr::Kind::call && e.name == "*" && e.args.size() == 2 &&
                       e.args[0]->kind == fusion::Expr::Kind::operand &&
                       e.args[1]->kind == fusion::Expr::Kind::operand && v->statement->dtype == DType::f32;
  return product ? v : nullptr;
}

class FewRowsReader {
 public:
  explicit FewRowsReader(const Schedule& s) : s_(s) {}

  std::optional<FewRows> read() {
    const bool rows = s_.reduces && !s_.across && !s_.both_ways() && !s_.phases.empty() &&
                      s_.dims.size() == 3 && s_.rows == 2;
    if (!rows || s_.columns().symbolic() || !ir::divides(kRun, s_.columns())) return {};
    if (s_.dims[0].symbolic() || s_.dims[0] > kMostRows || s_.dims[0] < 2) return {};
    out_.rows = s_.dims[0].hint(), out_.columns = s_.dims[1], out_.inner = s_.columns();
    for (size_t p = 1; p < s_.phases.size(); ++p)
      if (!s_.phases[p].values.empty() || !s_.phases[p].loads.empty()) return {};
    for (int v : s_.phases[0].values)
      if (s_.values[static_cast<size_t>(v)].statement->reduce != fusion::Statement::Reduce::none && !add(v))
        return {};
    const bool some = !out_.sums.empty() && out_.sums.size() <= kMostSums;
    return some && nothing_else() ? std::optional(out_) : std::nullopt;
  }

 private:
  bool add(int value) {
    const ScheduledValue& sum = s_.values[static_cast<size_t>(value)];
    const ScheduledValue* product =
        sum.statement->reduce == fusion::Statement::Reduce::sum && sum.statement->dtype == DType::f32
            ? product_of(s_, sum)
            : nullptr;
    if (!product) return false;
    const fusion::Expr& e = *product->statement->expr;
    auto side = [&](size_t i) {
      return load_of(s_, product->sources[static_cast<size_t>(e.args[i]->operand)]);
    };
    int a = side(0), b = side(1);
    if (a < 0 || b < 0) return false;
    if (is_matrix(a)) std::swap(a, b);
    if (!is_few(a) || !is_matrix(b) || load(a).dtype != load(b).dtype) return false;
    if (!out_.sums.empty() && load(out_.fews[0]).dtype != load(a).dtype) return false;
    auto few = std::find(out_.fews.begin(), out_.fews.end(), a);
    if (few == out_.fews.end()) few = out_.fews.insert(few, a);
    out_.sums.push_back({value, static_cast<size_t>(few - out_.fews.begin()), b});
    return true;
  }
  const Load& load(int i) const { return s_.loads[static_cast<size_t>(i)]; }
  // In runs of eight 16-bit numbers, by rows that begin at multiples of these.
  bool lies(const Load& l) const {
    const bool narrow = l.dtype == DType::bf16 || l.dtype == DType::f16;
    return narrow && l.affine() && !l.per_row && l.strides.back().same(1) && ir::divides(kRun, l.offset) &&
           std::all_of(l.strides.begin(), l.strides.end() - 1,
                       [](const Sym& n) { return ir::divides(kRun, n); });
  }
  bool is_few(int i) const { return lies(load(i)) && load(i).strides[1].same(0); }
  bool is_matrix(int i) const {
    return lies(load(i)) && !load(i).strides[1].same(0) && load(i).strides[0].same(0);
  }
  // All that is done for each element are these products.
  bool nothing_else() const {
    std::vector<bool> loads(s_.loads.size(), false);
    for (int few : out_.fews) loads[static_cast<size_t>(few)] = true;
    for (const FewRows::Sum& sum : out_.sums) loads[static_cast<size_t>(sum.matrix)] = true;
    const Phase& p = s_.phases[0];
    return p.late.empty() && p.from_scratch.empty() && s_.pairs.empty() &&
           std::all_of(p.loads.begin(), p.loads.end(),
                       [&](int l) { return loads[static_cast<size_t>(l)]; }) &&
           std::all_of(p.values.begin(), p.values.end(), [&](int v) {
             const ScheduledValue& value = s_.values[static_cast<size_t>(v)];
             return (value.store < 0 || value.per_row) && !value.kept();
           });
  }

  const Schedule& s_;
  FewRows out_;
};

}  // namespace

std::optional<FewRows> few_rows(const Schedule& schedule) {
  return FewRowsReader(schedule).read();
}

LaunchShape few_rows_shape(const FewRows& product, const Gpu& gpu) {
  // Of few blocks more warps share a row. Measured on an H200.
  constexpr int64_t kStep = 32, kRunBytes = 16, kThreads = 2048;
  constexpr int64_t kFewBlocks = 256, kManyBlocks = 512, kLeastStages = 3, kMostStages = 6,
                    kDriverBytes = 1 << 10;
  LaunchShape shape;
  shape.vector = kRun;
  shape.product = static_cast<int>(kTile);
  shape.blocks = ir::ceildiv(product.columns, kTile);
  const int64_t blocks = shape.blocks.hint();
  int64_t warps = blocks <= kFewBlocks ? 16 : blocks < kManyBlocks ? 8 : 4;
  // The least that is under way must fit into a block's memory.
  while (warps > 1 &&
         kLeastStages * product.runs() * kRunBytes * warps * kWarp > gpu.block_bytes - kDriverBytes)
    warps /= 2;
  shape.group = shape.threads = static_cast<int>(warps * kWarp);
  // Slots for as many steps as shared memory has room for, of all blocks that a multiprocessor holds.
  const int64_t stage = product.runs() * kRunBytes * shape.threads,
                resident = std::clamp<int64_t>((blocks + kMultiprocessors - 1) / kMultiprocessors, 1,
                                               kThreads / shape.threads),
                room = std::min(gpu.block_bytes, gpu.multiprocessor_bytes / resident) - kDriverBytes,
                steps = (product.inner.hint() + kStep * warps - 1) / (kStep * warps);
  shape.items = static_cast<int>(
      std::clamp(room / stage, kLeastStages, std::clamp(steps + 1, kLeastStages, kMostStages)));
  shape.shared = std::max(shape.items * stage,
                          static_cast<int64_t>(product.sums.size()) * few_rows_sum_bytes(product, shape));
  return shape;
}

int64_t few_rows_sum_bytes(const FewRows& product, const LaunchShape& shape) {
  constexpr int64_t kNumber = 4;
  return shape.threads / kWarp * (product.eights() * 8) * (shape.product + 1) * kNumber;
}

}  // namespace vitrine::codegen::cuda
