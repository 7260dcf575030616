// What tile_prelude.h writes as PTX, for kernels that are played on a CPU: barriers that turn, copies of
// tiles, products of what these brought. Runs of 16 bytes lie where the copy engine puts them, and are read
// as the descriptors of matrices say, so that a mistake in either shows.
#pragma once

#include <map>

namespace tiles {

struct Barrier {
  int arrivals = 0, missing = 0;
  long bytes = 0;
  unsigned phase = 0;
  void check() {
    if (missing == 0 && bytes == 0) missing = arrivals, phase ^= 1;
  }
};
inline thread_local std::map<unsigned, Barrier> barriers;
inline thread_local char* shared;  // where addresses of shared memory count from

inline void make_barrier(unsigned at, int arrivals) {
  barriers[at] = {arrivals, arrivals};
}
inline void expect(unsigned at, long bytes) {
  Barrier& b = barriers.at(at);
  b.bytes += bytes;
  --b.missing;
  b.check();
}
inline void arrive(unsigned at) {
  expect(at, 0);
}
// Who has to wait lets the others run.
inline unsigned has_turned(unsigned at, unsigned phase) {
  if (barriers.at(at).phase != phase) return 1;
  threads::wait(threads::State::at_block);
  return 0;
}
// The three bits of a place in a run of 128 bytes that say which 16, turned by those that say which run.
inline unsigned turned(unsigned at) {
  return at ^ (at >> 7 & 7) << 4;
}
struct Map {
  unsigned short* data;
  int64_t along, rows, images, row_step, image_step, tile_along, tile_rows;
};
inline void copy(unsigned to, const void* of, unsigned barrier, int64_t along, int64_t row, int64_t image) {
  const Map& map = *static_cast<const Map*>(of);
  for (int64_t r = 0; r < map.tile_rows; ++r)
    for (int64_t c = 0; c < map.tile_along; ++c) {
      const bool inside = along + c < map.along && row + r < map.rows && image < map.images;
      const unsigned short x =
          inside ? map.data[image * map.image_step + (row + r) * map.row_step + along + c] : 0;
      __builtin_memcpy(shared + turned(to + static_cast<unsigned>(r * 128 + c * 2)), &x, 2);
    }
  Barrier& b = barriers.at(barrier);
  b.bytes -= 2 * map.tile_rows * map.tile_along;
  b.check();
}
// wgmma.m64nNk16: a warp's lanes have 16 rows each, in pairs of columns.
template <int count, class Widen>
void multiply(float (&sums)[count], uint64_t a, uint64_t b, unsigned keep, bool turned_a, bool turned_b,
              Widen widen) {
  auto element = [&](uint64_t matrix, bool turns, unsigned outer, unsigned k) {
    const auto field = [&](int from) { return static_cast<unsigned>(matrix >> from & 0x3fff) << 4; };
    const unsigned start = field(0), next = field(16), eight = field(32);
    const unsigned at = turns ? start + outer / 64 * next + k / 8 * eight + k % 8 * 128 + outer % 64 * 2
                              : start + outer / 8 * eight + outer % 8 * 128 + k * 2;
    unsigned short x;
    __builtin_memcpy(&x, shared + turned(at), 2);
    return widen(x);
  };
  const unsigned lane = threads::current % 32, warp = threads::current % 128 / 32;
  for (unsigned i = 0; i < count; ++i) {
    if (!keep) sums[i] = 0;
    for (unsigned k = 0; k < 16; ++k)
      sums[i] += element(a, turned_a, warp * 16 + lane / 4 + i % 4 / 2 * 8, k) *
                 element(b, turned_b, i / 4 * 8 + lane % 4 * 2 + i % 2, k);
  }
}

}  // namespace tiles

inline unsigned __cvta_generic_to_shared(const void* p) {
  return static_cast<unsigned>(static_cast<const char*>(p) - tiles::shared);
}
