#include "core/codegen/cpp/winograd_text.h"

#include <algorithm>

namespace vitrine::codegen::cpp {

namespace {

constexpr int64_t kPlaces = 16;                       // of a transformed tile, and of a transformed weight
constexpr int64_t kKeptWeights = int64_t{512} << 10;  // values of them: more are transformed for each panel

constexpr const char* kWinograd =
    R"(constexpr i64 PITCH = WIDTH + LANES;  // of a row of sums, which may reach beyond the last tile

// PLACES vectors for LANES weights of 3 x 3, one after the other: u[place * step], G g G^T.
static inline void transform_weights(const f32* g, f32* u, i64 step) {
  v16 r[LANES > 9 ? LANES : 9], t[4][3];
#pragma unroll
  for (int i = 0; i < LANES; ++i) r[i] = LANES > 9 ? load_some(g + 9 * i, 0x1ff) : load(g + 9 * i);
  transpose<LANES / 2>((v16(&)[LANES])r);
  if (LANES < 9)
#pragma unroll
    for (int i = 0; i < LANES; ++i) r[8][i] = g[9 * i + 8];
#pragma unroll
  for (int x = 0; x < 3; ++x) {
    v16 ends = 0.5f * (r[x] + r[6 + x]), middle = 0.5f * r[3 + x];
    t[0][x] = r[x], t[1][x] = ends + middle, t[2][x] = ends - middle, t[3][x] = r[6 + x];
  }
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    v16 ends = 0.5f * (t[y][0] + t[y][2]), middle = 0.5f * t[y][1];
    store(u + (4 * y) * step, t[y][0]), store(u + (4 * y + 1) * step, ends + middle);
    store(u + (4 * y + 2) * step, ends - middle), store(u + (4 * y + 3) * step, t[y][2]);
  }
}

static inline void store_some(f32* p, v16 v, unsigned mask) {
#if LANES == 16 && defined(__AVX512F__)
  __builtin_ia32_storeups512_mask(p, v, (unsigned short)mask);
#elif LANES == 8 && defined(__AVX2__)
  __builtin_ia32_maskstoreps256((v16*)p, signs_of(mask), v);
#else
  for (int i = 0; i < LANES; ++i)
    if (mask >> i & 1) p[i] = v[i];
#endif
}
template <int... I> static inline v16 odds(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, (I * 2 + 1)...);
}
template <int... I> static inline v16 zip_low(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, (I / 2 + I % 2 * LANES)...);
}
template <int... I> static inline v16 zip_high(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, (LANES / 2 + I / 2 + I % 2 * LANES)...);
}

// One row of LANES tiles side by side, the first at column x of the image's row (null: outside of it): d B.
struct Four { v16 at[4]; };
static inline Four across(const f32* row, i64 x, i64 width) {
  if (!row) return {};
  v16 a, b, c, d;
  const f32* p = row + x;
  if (x >= 0 && x + 2 * LANES + 2 <= width) {
    a = load(p), b = load(p + LANES), c = load(p + 2), d = load(p + LANES + 2);
  } else {
    i64 from = x < 0 ? -x : 0, to = width - x < 2 * LANES + 2 ? width - x : 2 * LANES + 2;
    unsigned long in = to > from ? ((1ul << to) - 1) & ~((1ul << from) - 1) : 0, every = (1ul << LANES) - 1;
    a = load_some(p, in & every), b = load_some(p + LANES, in >> LANES & every);
    c = load_some(p + 2, in >> 2 & every), d = load_some(p + LANES + 2, in >> (LANES + 2) & every);
  }
  v16 d0 = evens(a, b, Lanes{}), d1 = odds(a, b, Lanes{}), d2 = evens(c, d, Lanes{}), d3 = odds(c, d, Lanes{});
  return {d0 - d2, d1 + d2, d2 - d1, d1 - d3};
}
// Tiles that stand side by side in the image: `count` from tile `first` on.
struct Stretch { i64 y, x, count; };
static inline Stretch stretch_of(const Sizes& s, i64 first, i64 end) {
  i64 y = first / s.tiles_x, x = first % s.tiles_x, count = s.tiles_x - x;
  return {y, x, count < end - first ? count : end - first};
}
// B^T d B of a channel's tiles [first, end): a line for each place, which may be written up to LANES further.
static inline void transform_tiles(const f32* plane, const Sizes& s, i64 first, i64 end, f32 (*line)[PITCH + LANES]) {
  for (i64 tile = first; tile < end;) {
    Stretch at = stretch_of(s, tile, end);
    for (i64 i = 0; i < at.count; i += LANES) {
      Four row[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        i64 y = 2 * at.y - s.pad_y + q;
        row[q] = across(y >= 0 && y < s.height ? plane + y * s.width : nullptr, 2 * (at.x + i) - s.pad_x, s.width);
      }
      f32* to = line[0] + tile - first + i;
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        store(to + (0 + x) * (PITCH + LANES), row[0].at[x] - row[2].at[x]);
        store(to + (4 + x) * (PITCH + LANES), row[1].at[x] + row[2].at[x]);
        store(to + (8 + x) * (PITCH + LANES), row[2].at[x] - row[1].at[x]);
        store(to + (12 + x) * (PITCH + LANES), row[1].at[x] - row[3].at[x]);
      }
    }
    tile += at.count;
  }
}

// Where a depth of a place's panel stands: its columns, and behind them those beside it.
static inline i64 slab_of(const Sizes& s) { return (s.k < DEPTH ? s.k : DEPTH) * WIDTH + BESIDE * DEPTH; }
__attribute__((noinline)) static void pack_tiles(f32* panels, const f32* image, const Sizes& s, i64 first, i64 columns) {
  alignas(64) f32 line[PLACES][PITCH + LANES];
  __builtin_memset(line, 0, sizeof line);
  const i64 slab = slab_of(s), blocks = (s.k + DEPTH - 1) / DEPTH;
  for (i64 c = 0; c < s.k; ++c) {
    transform_tiles(image + c * s.b_k, s, first, first + columns, line);
    const i64 depth = s.k - c / DEPTH * DEPTH < DEPTH ? s.k - c / DEPTH * DEPTH : DEPTH, k = c % DEPTH;
    f32* to = panels + c / DEPTH * slab;
    for (int place = 0; place < PLACES; ++place, to += blocks * slab) {
      for (int v = 0; v < VECTORS && v * LANES < columns; ++v) store(to + k * WIDTH + v * LANES, load(line[place] + v * LANES));
      for (i64 i = WIDTH; i < columns; ++i) to[depth * WIDTH + (i - WIDTH) * DEPTH + k] = line[place][i];
    }
  }
}

static inline bool is_finite(v16 v) {
  n16 bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return !mask_of((bits & 0x7f800000) == 0x7f800000);
}
// Results of a row of the image from the image and the weights themselves.
__attribute__((noinline)) static void directly(f32* to, i64 y, i64 x, i64 count, const f32* image, const f32* weights, f32 bias, const Sizes& s) {
  for (i64 i = 0; i < count; ++i) to[i] = bias;
  for (i64 c = 0; c < s.k; ++c)
    for (i64 dy = 0; dy < 3; ++dy) {
      i64 row = y - s.pad_y + dy;
      if (row < 0 || row >= s.height) continue;
      for (i64 dx = 0; dx < 3; ++dx) {
        const f32 w = weights[c * 9 + dy * 3 + dx];
        i64 left = x - s.pad_x + dx, from = left < 0 ? -left : 0, end = s.width - left < count ? s.width - left : count;
        const f32* at = image + c * s.b_k + row * s.width + left;
        for (i64 i = from; i < end; ++i) to[i] += w * at[i];
      }
    }
}
// A^T m A of one channel's sums, tiles [first, first + columns).
static inline void put_tiles(const f32* sums, f32* c, const f32* image, const f32* weights, f32 bias, const Sizes& s, i64 first, i64 columns) {
  alignas(64) f32 line[2][2 * PITCH];
  bool finite = true;
  for (i64 v = 0; v < columns; v += LANES) {
    v16 t[2][4];
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      v16 m[4];
#pragma unroll
      for (int y = 0; y < 4; ++y) m[y] = load(sums + (4 * y + x) * ROWS * PITCH + v);
      t[0][x] = m[0] + m[1] + m[2], t[1][x] = m[1] - m[2] - m[3];
    }
#pragma unroll
    for (int y = 0; y < 2; ++y) {
      v16 left = bias + (t[y][0] + t[y][1] + t[y][2]), right = bias + (t[y][1] - t[y][2] - t[y][3]);
      finite = finite && (v + LANES > columns || (is_finite(left) && is_finite(right)));
      store(line[y] + 2 * v, zip_low(left, right, Lanes{})), store(line[y] + 2 * v + LANES, zip_high(left, right, Lanes{}));
    }
  }
  for (int y = 0; y < 2; ++y)
    for (i64 i = columns / LANES * LANES * 2; i < 2 * columns; ++i) finite = finite && __builtin_isfinite(line[y][i]);
  const i64 height = s.out_height, width = s.out_width;
  for (i64 tile = first; tile < first + columns;) {
    Stretch at = stretch_of(s, tile, first + columns);
    i64 x = 2 * at.x, count = width - x < 2 * at.count ? width - x : 2 * at.count;
    for (i64 a = 0; a < 2 && 2 * at.y + a < height; ++a) {
      f32* to = c + (2 * at.y + a) * width + x;
      const f32* from = line[a] + 2 * (tile - first);
      if (!finite) {
        directly(to, 2 * at.y + a, x, count, image, weights, bias, s);
        continue;
      }
      i64 i = 0;
      for (; i + LANES <= count; i += LANES) store(to + i, load(from + i));
      if (i < count) store_some(to + i, load(from + i), (1u << (count - i)) - 1);
    }
    tile += at.count;
  }
}

extern "C" void vitrine_kernel(void* const* args, i64 begin, i64 end) {
  const Sizes& s = *(const Sizes*)args[3 + BIAS];
  Sizes sums_of = s;
  sums_of.a_row = s.k, sums_of.a_k = 1, sums_of.c_row = PITCH;
  const i64 runs = (s.panels + s.run - 1) / s.run, blocks = (s.k + DEPTH - 1) / DEPTH, slab = slab_of(s);
  const i64 of_rows = PLACES * ROWS * s.k;  // transformed weights of so many rows
  for (i64 item = begin; item < end; ++item) {
    f32* const sums = (f32*)args[4 + BIAS] + item * s.scratch;
    f32* const panels = sums + PLACES * ROWS * PITCH;
    f32* const weights = panels + PLACES * blocks * slab;
    const bool kept = s.run > 1 && s.chunk * s.k * PLACES <= KEPT;
    const i64 group = item / (runs * s.chunks), top = item / runs % s.chunks * s.chunk, bottom = top + s.chunk < s.m ? top + s.chunk : s.m;
    const i64 from = item % runs * s.run, to = from + s.run < s.panels ? from + s.run : s.panels;
    for (i64 batch = group * s.images; batch < (group + 1) * s.images && batch < s.batch; ++batch) {
      i64 outer = batch / s.inner, inner = batch % s.inner;
      const f32* a = (const f32*)args[0] + outer * s.a_outer + inner * s.a_inner;
      const f32* b = (const f32*)args[1] + outer * s.b_outer + inner * s.b_inner;
      f32* c = (f32*)args[2] + outer * s.c_outer + inner * s.c_inner;
      const f32* bias = BIAS ? (const f32*)args[3] + inner * s.bias_inner : nullptr;
      for (i64 panel = from; panel < to; ++panel) {
        const i64 first = panel * WIDTH, columns = panel + 1 == s.panels ? s.n - first : WIDTH;
        // Sums of whole vectors, or of the columns beside the panel too.
        const i64 summed = columns > WIDTH ? columns : (columns + LANES - 1) / LANES * LANES;
        pack_tiles(panels, b, s, first, columns);
        for (i64 row = top; row < bottom; row += ROWS) {
          const i64 count = bottom - row < ROWS ? bottom - row : ROWS;
          f32* const u = weights + (kept ? (row - top) / ROWS * of_rows : 0);
          if (!kept || panel == from)
            for (i64 r = 0; r < count; ++r)
              for (i64 k = 0; k < s.k; k += LANES) transform_weights(a + (row + r) * s.a_row + 9 * k, u + r * s.k + k, ROWS * s.k);
          for (i64 k = 0; k < s.k; k += DEPTH) {
            const i64 depth = s.k - k < DEPTH ? s.k - k : DEPTH;
            for (int place = 0; place < PLACES; ++place) {
              f32* const m = sums + place * ROWS * PITCH;
              const f32* const slab_at = panels + (place * blocks + k / DEPTH) * slab;
              Ahead ahead{};
              rows<VECTORS>(u + place * ROWS * s.k + k, sums_of, slab_at, slab_at + depth * WIDTH, depth, m,
                            k ? Plus{m, PITCH, 1} : Plus{nullptr, 0, 0}, 0, count, summed, ahead, {args, 0, 0, 0, false});
            }
          }
          for (i64 r = 0; r < count; ++r)
            put_tiles(sums + r * PITCH, c + (row + r) * s.c_row, b, a + (row + r) * s.a_row,
                      bias ? bias[(row + r) * s.bias_row] : -0.0f, s, first, columns);
        }
      }
    }
  }
}
)";

int64_t up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

int64_t winograd_scratch(const ProductTile& tile, const ProductNumbers& at) {
  const int64_t rows = tile.rows, width = tile.columns();
  const int64_t slab = std::min<int64_t>(at.k, kDepth) * width + kMostBeside * kDepth;
  const int64_t all = kPlaces * up(at.chunk, rows) * rows * at.k;
  const bool kept = at.run > 1 && kPlaces * at.chunk * at.k <= kKeptWeights;
  const int64_t values = kPlaces * rows * (width + tile.lanes) + kPlaces * up(at.k, kDepth) * slab +
                         (kept ? all : static_cast<int64_t>(kPlaces * rows * at.k));
  return up(values, 16) * 16;
}

std::string winograd_text(const ProductTile& tile, const ProductForm& form) {
  return product_tiles(tile, form) + "constexpr int PLACES = " + std::to_string(kPlaces) +
         ";\nconstexpr i64 KEPT = " + std::to_string(kKeptWeights) + ";\n" + kWinograd;
}

}  // namespace vitrine::codegen::cpp
