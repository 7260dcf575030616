#include "core/codegen/cpp/product_text.h"

namespace vitrine::codegen::cpp {

namespace {

constexpr const char* kText = R"(typedef float f32; typedef long i64;
typedef __attribute__((ext_vector_type(LANES))) f32 v16;
constexpr int WIDTH = VECTORS * LANES;  // columns of a panel
constexpr i64 DEPTH = 256;              // steps of the sum that a panel holds at a time
template <class T, T... I> struct Seq {};
using Lanes = __make_integer_seq<Seq, int, LANES>;

static inline v16 load(const f32* p) { v16 v; __builtin_memcpy(&v, p, sizeof v); return v; }
static inline void store(f32* p, v16 v) { __builtin_memcpy(p, &v, sizeof v); }

// Rows and columns of LANES x LANES change places: blocks of S, then of S / 2, ...
template <int S, int... I> static inline v16 upper(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, ((I & S) ? LANES + I - S : I)...);
}
template <int S, int... I> static inline v16 lower(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, ((I & S) ? LANES + I : I + S)...);
}
template <int S> static inline void transpose(v16 (&r)[LANES]) {
#pragma unroll
  for (int i = 0; i < LANES; ++i) {
    if (i & S) continue;
    v16 a = r[i], b = r[i + S];
    r[i] = upper<S>(a, b, Lanes{});
    r[i + S] = lower<S>(a, b, Lanes{});
  }
  if constexpr (S > 1) transpose<S / 2>(r);
}

// panel[k][j] = b[k, j], zero beyond the last column; sk, sj: b's strides.
__attribute__((noinline)) static void pack(f32* panel, const f32* b, i64 sk, i64 sj, i64 depth, i64 columns) {
  for (i64 j = 0; j < columns; j += LANES) {
    i64 k = 0;
    if (j + LANES <= columns && sk == 1) {
      for (; k + LANES <= depth; k += LANES) {
        v16 r[LANES];
#pragma unroll
        for (int i = 0; i < LANES; ++i) r[i] = load(b + (j + i) * sj + k);
        transpose<LANES / 2>(r);
#pragma unroll
        for (int i = 0; i < LANES; ++i) store(panel + (k + i) * WIDTH + j, r[i]);
      }
    } else if (j + LANES <= columns && sj == 1) {
      for (; k < depth; ++k) store(panel + k * WIDTH + j, load(b + k * sk + j));
    }
    for (; k < depth; ++k)
      for (i64 i = j; i < j + LANES; ++i) panel[k * WIDTH + i] = i < columns ? b[k * sk + i * sj] : 0.0f;
  }
}

struct Sizes {
  i64 m, n, k, a_row, a_k, b_k, b_column, c_row, bias_row, bias_column, chunk, chunks;
  i64 inner, a_outer, a_inner, b_outer, b_inner, c_outer, c_inner, bias_outer, bias_inner;
  i64 height, width, out_width, taps_x, taps, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

// Where the columns of a panel find their elements in a plane of the image, by tap of the window.
struct Places {
  int at[MOST_TAPS][WIDTH];     // -1: outside of the image
  int run[MOST_TAPS][VECTORS];  // a vector's first place if its places are neighbours, else -1
};
__attribute__((noinline)) static void find_places(Places& p, const Sizes& s, i64 j, i64 columns) {
  for (i64 i = 0; i < WIDTH; ++i) {
    i64 y = (j + i) / s.out_width * s.stride_y - s.pad_y, x = (j + i) % s.out_width * s.stride_x - s.pad_x;
    for (i64 tap = 0; tap < s.taps; ++tap) {
      i64 ty = y + tap / s.taps_x * s.dilation_y, tx = x + tap % s.taps_x * s.dilation_x;
      bool inside = i < columns && ty >= 0 && ty < s.height && tx >= 0 && tx < s.width;
      p.at[tap][i] = inside ? ty * s.width + tx : -1;
    }
  }
  for (i64 tap = 0; tap < s.taps; ++tap)
    for (int v = 0; v < VECTORS; ++v) {
      const int* at = p.at[tap] + v * LANES;
      bool run = at[0] >= 0;
      for (int i = 1; i < LANES; ++i) run = run && at[i] == at[0] + i;
      p.run[tap][v] = run ? at[0] : -1;
    }
}
// The same panel from windows: rows [k, k + depth) of it.
__attribute__((noinline)) static void pack_windows(f32* panel, const f32* image, const Places& p, const Sizes& s, i64 k,
                                                 i64 depth, i64 columns) {
  i64 tap = k % s.taps;
  const f32* plane = image + k / s.taps * s.b_k;
  for (f32* row = panel; row < panel + depth * WIDTH; row += WIDTH) {
    for (int v = 0; v * LANES < columns; ++v) {
      const int* at = p.at[tap] + v * LANES;
      if (p.run[tap][v] >= 0) {
        store(row + v * LANES, load(plane + p.run[tap][v]));
      } else {
#pragma clang loop vectorize(disable)
        for (int i = 0; i < LANES; ++i) row[v * LANES + i] = at[i] < 0 ? 0.0f : plane[at[i]];
      }
    }
    if (++tap == s.taps) tap = 0, plane += s.b_k;
  }
}

// What is added to a sum: nothing, a number of each column, or (column == 0) one of the row.
struct Plus { const f32* at; i64 row, column; };
template <int R, int V> static inline void put(const v16 (&sum)[R][V], f32* c, i64 sc, Plus plus) {
  if (plus.at && plus.column) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < V; ++v) store(c + r * sc + v * LANES, load(plus.at + r * plus.row + v * LANES) + sum[r][v]);
    return;
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    v16 one = plus.at ? plus.at[r * plus.row] : -0.0f;
#pragma unroll
    for (int v = 0; v < V; ++v) store(c + r * sc + v * LANES, one + sum[r][v]);
  }
}
// R rows of V vectors of a panel's columns: c = bias + a @ panel, or c += a @ panel.
template <int R, int V> __attribute__((noinline)) static void tile(const f32* a, i64 sr, i64 sk, const f32* panel, i64 depth,
                                                       f32* c, i64 sc, Plus plus, i64 columns) {
  v16 sum[R][V];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < V; ++v) sum[r][v] = 0.0f;
  for (i64 k = 0; k < depth; ++k) {
    v16 w[V];
#pragma unroll
    for (int v = 0; v < V; ++v) w[v] = load(panel + k * WIDTH + v * LANES);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      v16 x = a[r * sr + k * sk];
#pragma unroll
      for (int v = 0; v < V; ++v) sum[r][v] = __builtin_elementwise_fma(x, w[v], sum[r][v]);
    }
  }
  if (columns == V * LANES) return put<R, V>(sum, c, sc, plus);
  f32 last[R * V * LANES];  // the last panel may hold fewer columns
  put<R, V>(sum, last, V * LANES, {nullptr, 0, 0});
  for (i64 r = 0; r < R; ++r)
#pragma clang loop vectorize(disable) unroll(disable)
    for (i64 i = 0; i < columns; ++i)
      c[r * sc + i] = plus.at ? plus.at[r * plus.row + i * plus.column] + last[r * V * LANES + i] : last[r * V * LANES + i];
}
// Rows [from, to) of V vectors; the last rows in smaller tiles.
template <int V> static void rows(const f32* a, const Sizes& s, const f32* panel, i64 depth, f32* c, Plus plus, i64 from,
                               i64 to, i64 columns) {
  if constexpr (V > 1)
    if (columns <= (V - 1) * LANES) return rows<V - 1>(a, s, panel, depth, c, plus, from, to, columns);
  i64 i = from;
#define TILE(R) tile<R, V>(a + i * s.a_row, s.a_row, s.a_k, panel, depth, c + i * s.c_row, s.c_row, \
                           {plus.at ? plus.at + i * plus.row : nullptr, plus.row, plus.column}, columns)
  for (; i + ROWS <= to; i += ROWS) TILE(ROWS);
  if constexpr (V == VECTORS)
    if (to - i >= 4) TILE(4), i += 4;
  for (; i < to; ++i) TILE(1);
#undef TILE
}

// An item is a panel of columns for a chunk of rows.
extern "C" void vitrine_kernel(void* const* args, i64 begin, i64 end) {
  const Sizes& s = *(const Sizes*)args[3 + BIAS + AFTER];
  alignas(64) f32 panel[DEPTH * WIDTH];
  Places places;
  const i64 panels = (s.n + WIDTH - 1) / WIDTH, items = panels * s.chunks;
  for (i64 item = begin; item < end; ++item) {
    i64 outer = item / items / s.inner, inner = item / items % s.inner;
    i64 j = item % items / s.chunks * WIDTH, top = item % s.chunks * s.chunk;
    i64 columns = s.n - j < WIDTH ? s.n - j : WIDTH, bottom = top + s.chunk < s.m ? top + s.chunk : s.m;
    const f32* a = (const f32*)args[0] + outer * s.a_outer + inner * s.a_inner;
    const f32* b = (const f32*)args[1] + outer * s.b_outer + inner * s.b_inner;
    f32* c = (f32*)args[2] + outer * s.c_outer + inner * s.c_inner + j;
    Plus bias{BIAS ? (const f32*)args[3] + outer * s.bias_outer + inner * s.bias_inner + j * s.bias_column : nullptr,
              s.bias_row, s.bias_column};
    if (IMAGE) find_places(places, s, j, columns);
    for (i64 k = 0; k < s.k; k += DEPTH) {
      i64 depth = s.k - k < DEPTH ? s.k - k : DEPTH;
      if (IMAGE) pack_windows(panel, b, places, s, k, depth, columns);
      else pack(panel, b + k * s.b_k + j * s.b_column, s.b_k, s.b_column, depth, columns);
      rows<VECTORS>(a + k * s.a_k, s, panel, depth, c, k ? Plus{c, s.c_row, 1} : bias, top, bottom, columns);
    }
    AFTER_PRODUCT
  }
}
)";

}  // namespace

std::string product_text(const ProductTile& tile, const ProductForm& form) {
  auto constant = [](const char* name, int64_t value) {
    return std::string(name) + " = " + std::to_string(value);
  };
  return "// A matrix product: " + std::to_string(tile.rows) + " rows by " + std::to_string(tile.columns()) +
         " columns of sums in registers.\nconstexpr int " + constant("LANES", tile.lanes) + ", " +
         constant("ROWS", tile.rows) + ", " + constant("VECTORS", tile.vectors) + ", " +
         constant("BIAS", form.bias) + ", " + constant("IMAGE", form.image) + ", " +
         constant("AFTER", form.after) + ", " + constant("MOST_TAPS", form.image ? kMostTaps : 1) +
         ";\n#define AFTER_PRODUCT " +
         (form.after ? "after(args, &s.m, outer, inner, top, bottom, j, columns);\n" : "\n") + kText;
}

}  // namespace vitrine::codegen::cpp
