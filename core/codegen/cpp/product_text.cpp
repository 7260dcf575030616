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
  for (i64 j = 0; j < WIDTH; j += LANES) {
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

template <int R> static inline void put(const v16 (&sum)[R][VECTORS], f32* c, i64 sc, const f32* plus = nullptr, i64 sp = 0) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
      store(c + r * sc + v * LANES, plus ? load(plus + r * sp + v * LANES) + sum[r][v] : sum[r][v]);
}
// R rows of a panel's columns: c = bias + a @ panel, or c += a @ panel.
template <int R> __attribute__((noinline)) static void tile(const f32* a, i64 sr, i64 sk, const f32* panel, i64 depth, f32* c, i64 sc,
                                         const f32* bias, i64 sb, bool first, i64 columns) {
  v16 sum[R][VECTORS];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = 0.0f;
  for (i64 k = 0; k < depth; ++k) {
    v16 w[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) w[v] = load(panel + k * WIDTH + v * LANES);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      v16 x = a[r * sr + k * sk];
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) sum[r][v] = __builtin_elementwise_fma(x, w[v], sum[r][v]);
    }
  }
  f32 last[R * WIDTH];  // the last panel may hold fewer columns
  bool full = columns == WIDTH;
  if (first && bias && full) put<R>(sum, c, sc, bias, sb);
  else if (full && first) put<R>(sum, c, sc);
  else if (full) put<R>(sum, c, sc, c, sc);
  else put<R>(sum, last, WIDTH);
  const f32* plus = first ? bias : c;
  i64 step = first ? sb : sc;
  if (!full)
    for (i64 r = 0; r < R; ++r)
#pragma clang loop vectorize(disable) unroll(disable)
      for (i64 i = 0; i < columns; ++i)
        c[r * sc + i] = plus ? plus[r * step + i] + last[r * WIDTH + i] : last[r * WIDTH + i];
}
struct Sizes { i64 m, n, k, a_row, a_k, b_k, b_column, c_row, bias_row, chunk, chunks; };

// An item is a panel of columns for a chunk of rows.
extern "C" void vitrine_kernel(void* const* args, i64 begin, i64 end) {
  const f32* a = (const f32*)args[0]; const f32* b = (const f32*)args[1]; f32* c = (f32*)args[2];
  const f32* bias = BIAS ? (const f32*)args[3] : nullptr;
  const Sizes& s = *(const Sizes*)args[3 + BIAS];
  alignas(64) f32 panel[DEPTH * WIDTH];
  for (i64 item = begin; item < end; ++item) {
    i64 j = item / s.chunks * WIDTH, top = item % s.chunks * s.chunk;
    i64 columns = s.n - j < WIDTH ? s.n - j : WIDTH, bottom = top + s.chunk < s.m ? top + s.chunk : s.m;
    for (i64 k = 0; k < s.k; k += DEPTH) {
      i64 depth = s.k - k < DEPTH ? s.k - k : DEPTH;
      pack(panel, b + k * s.b_k + j * s.b_column, s.b_k, s.b_column, depth, columns);
      i64 i = top;
      for (; i + ROWS <= bottom; i += ROWS) {
        const f32* rows = a + i * s.a_row + k * s.a_k;
        const f32* plus = bias ? bias + i * s.bias_row + j : nullptr;
        f32* to = c + i * s.c_row + j;
        tile<ROWS>(rows, s.a_row, s.a_k, panel, depth, to, s.c_row, plus, s.bias_row, k == 0, columns);
      }
      for (; i < bottom; ++i)
        tile<1>(a + i * s.a_row + k * s.a_k, s.a_row, s.a_k, panel, depth, c + i * s.c_row + j, s.c_row,
                bias ? bias + i * s.bias_row + j : nullptr, s.bias_row, k == 0, columns);
    }
  }
}
)";

}  // namespace

ProductTile product_tile(int lanes) {
  if (lanes == 16) return {16, 8, 3};  // 24 sums, 3 of the panel, 1 of a: 28 of 32 registers
  return {8, 6, 2};                    // 12 + 2 + 1 of 16
}

std::string product_text(const ProductTile& tile, bool bias) {
  return "// A matrix product: " + std::to_string(tile.rows) + " rows by " + std::to_string(tile.columns()) +
         " columns of sums in registers.\n" + "constexpr int LANES = " + std::to_string(tile.lanes) +
         ", ROWS = " + std::to_string(tile.rows) + ", VECTORS = " + std::to_string(tile.vectors) +
         ", BIAS = " + (bias ? "1" : "0") + ";\n" + kText;
}

}  // namespace vitrine::codegen::cpp
