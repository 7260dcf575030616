#include "core/codegen/schedule/parts.h"

#include <algorithm>
#include <bit>

namespace vitrine::codegen {

namespace {

constexpr int64_t kWidestTile = 1024;    // rows; a sum's tile is 4 kB
constexpr int64_t kItems = 64;           // work items that keep every core busy
constexpr int64_t kLeastPart = 1 << 14;  // elements of a part
constexpr int64_t kFewRows = 8, kLongRow = 1 << 16;

int64_t tiles(const Schedule& s, int64_t width) {
  const int64_t rows = s.dims[s.rows - 1].hint();
  return s.row_count().hint() / rows * ((rows + width - 1) / width);
}

}  // namespace

size_t split_dim(const Schedule& s) {
  const auto less = [](const ir::Sym& a, const ir::Sym& b) { return a.hint() < b.hint(); };
  return static_cast<size_t>(
      std::max_element(s.dims.begin() + static_cast<int64_t>(s.rows), s.dims.end(), less) - s.dims.begin());
}

int64_t tile_of(const Schedule& s, int lanes, bool sized) {
  if (sized) return 256;
  const auto rows = static_cast<uint64_t>(s.dims[s.rows - 1]);
  int64_t width = std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(rows)), lanes, kWidestTile);
  // What cannot be shared along the rows is shared across them.
  if (s.columns() < kItems)
    while (width > 4 * lanes && tiles(s, width) < kItems / 2) width /= 2;
  return width;
}

int64_t parts_of(const Schedule& s, int lanes, bool sized) {
  if (!s.reduces) return 1;
  const int64_t rows = s.row_count().hint(), columns = s.columns().hint(), total = rows * columns,
                longest = s.dims[split_dim(s)].hint();
  if (!s.across && (rows >= kFewRows || columns < kLongRow)) return 1;
  const int64_t items = s.across ? tiles(s, tile_of(s, lanes, sized)) : rows;
  const int64_t shortest = s.across ? 32 : kLeastPart;
  int64_t most = std::min(total / kLeastPart, columns / shortest);
  // A part of a row walks along one of its dims.
  most = std::min(most, longest);
  return std::max<int64_t>(1, std::min(kItems / std::max<int64_t>(1, items), most));
}

}  // namespace vitrine::codegen
