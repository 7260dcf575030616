#include "core/codegen/cuda/tried_shapes.h"

#include <algorithm>

#include "core/codegen/cuda/card.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kThreadsAtOnce = 2048;  // of a multiprocessor

std::vector<LaunchShape> flat_shapes(const LaunchShape& own, int64_t total) {
  struct Way {
    int threads, items, narrower;
  };
  constexpr Way kWays[] = {{256, 1, 1}, {256, 2, 1}, {256, 4, 1}, {128, 2, 1}, {512, 1, 1}, {256, 2, 2}};
  std::vector<LaunchShape> out;
  for (const Way& way : kWays) {
    LaunchShape shape = own;
    if (own.vector % way.narrower) continue;
    shape.threads = way.threads, shape.items = way.items, shape.vector = own.vector / way.narrower;
    shape.blocks = ceil_div(total, int64_t{1} * shape.threads * shape.vector * shape.items);
    out.push_back(shape);
  }
  return out;
}

// Up to a warp rows lie side by side in a block; more threads than that are one.
std::vector<LaunchShape> row_shapes(const LaunchShape& own, int64_t rows, int64_t columns) {
  std::vector<LaunchShape> out;
  auto add = [&](int group, int threads, int vector) {
    if (group < 1 || threads > kMostThreads || threads < kWarp || (group > kWarp && group < 2 * kWarp))
      return;
    LaunchShape shape = own;
    shape.group = group, shape.threads = threads, shape.vector = vector;
    shape.shifted = own.shifted && vector > 1;
    if (own.registers)
      shape.items =
          static_cast<int>(ceil_div(ceil_div(columns + (shape.shifted ? vector - 1 : 0), vector), group));
    if (shape.resident > 0) shape.resident = std::min(shape.resident, kThreadsAtOnce / threads);
    shape.blocks = ceil_div(rows, shape.rows_a_block()) * shape.cluster;
    out.push_back(shape);
  };
  if (own.group > kWarp) {
    for (int threads : {own.group / 2, own.group * 2}) add(threads, threads, own.vector);
    if (own.vector > 1) add(own.group, own.group, own.vector / 2);
    return out;
  }
  for (int threads : {128, 256, 512}) add(own.group, threads, own.vector);
  for (int group : {own.group / 2, own.group * 2})
    if (group <= kWarp) add(group, own.threads, own.vector);
  if (own.group == kWarp) add(2 * 2 * kWarp, 2 * 2 * kWarp, own.vector);
  return out;
}

bool equal(const LaunchShape& a, const LaunchShape& b) {
  return a.threads == b.threads && a.vector == b.vector && a.items == b.items && a.group == b.group &&
         a.shifted == b.shifted;
}

}  // namespace

std::vector<LaunchShape> tried_shapes(const Schedule& s, const Gpu& gpu) {
  const LaunchShape own = choose_shape(s, gpu);
  std::vector<LaunchShape> out = {own};
  if (s.across || s.launches() > 1 || own.turned >= 0 || own.turn > 0 || own.product > 0) return out;
  if (s.row_count().symbolic() || s.columns().symbolic()) return out;
  const std::vector<LaunchShape> others =
      s.reduces ? row_shapes(own, s.row_count(), s.columns()) : flat_shapes(own, s.row_count() * s.columns());
  for (const LaunchShape& shape : others)
    if (std::none_of(out.begin(), out.end(), [&](const LaunchShape& known) { return equal(known, shape); }))
      out.push_back(shape);
  return out;
}

std::string shape_text(const LaunchShape& shape) {
  std::string out = std::to_string(shape.threads) + " threads";
  if (shape.items > 1) out += " x " + std::to_string(shape.items) + " runs";
  if (shape.vector > 1) out += " of " + std::to_string(shape.vector);
  if (shape.group > 1) out += ", " + std::to_string(shape.group * shape.cluster) + " a row";
  return out;
}

}  // namespace vitrine::codegen::cuda
