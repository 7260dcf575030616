#include "core/codegen/cpp/product_text.h"

namespace vitrine::codegen::cpp {

namespace {

constexpr const char* kTiles = R"(typedef float f32; typedef long i64;
typedef __attribute__((ext_vector_type(LANES))) f32 v16;
typedef __attribute__((ext_vector_type(4))) f32 v4;
constexpr int WIDTH = VECTORS * LANES;                 // columns of a panel
constexpr i64 SLAB = (i64)DEPTH * (WIDTH + BESIDE);  // values of a panel and the columns beside it
constexpr i64 LINE = 16;                // values of a cache line
template <class T, T... I> struct Seq {};
using Lanes = __make_integer_seq<Seq, int, LANES>;

static inline v16 load(const f32* p) { v16 v; __builtin_memcpy(&v, p, sizeof v); return v; }
static inline void store(f32* p, v16 v) { __builtin_memcpy(p, &v, sizeof v); }
static inline v4 load4(const f32* p) { v4 v; __builtin_memcpy(&v, p, sizeof v); return v; }
static inline void store4(f32* p, v4 v) { __builtin_memcpy(p, &v, sizeof v); }

typedef __attribute__((ext_vector_type(LANES))) int n16;
template <int... I> constexpr n16 count_up(Seq<int, I...>) { return n16{I...}; }
static inline n16 signs_of(unsigned mask) { return (n16)(int)mask << (31 - count_up(Lanes{})); }
// Values [0, LANES) from p where the mask has a bit, else 0: only those are touched.
static inline v16 load_some(const f32* p, unsigned mask) {
#if LANES == 16 && defined(__AVX512F__)
  v16 none = 0.0f;
  return __builtin_ia32_loadups512_mask(p, none, (unsigned short)mask);
#elif LANES == 8 && defined(__AVX2__)
  return __builtin_ia32_maskloadps256((const v16*)p, signs_of(mask));
#else
  v16 v = 0.0f;
  for (int i = 0; i < LANES; ++i)
    if (mask >> i & 1) v[i] = p[i];
  return v;
#endif
}

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

// panel[k][j] = b[k, j], zero beyond the last column, and beside[j][k] further ones; sk, sj: b's strides.
__attribute__((noinline)) static void pack(f32* panel, f32* beside, const f32* b, i64 sk, i64 sj, i64 depth, i64 columns) {
  for (i64 j = 0; j < WIDTH && j < columns; j += LANES) {
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
  for (i64 i = WIDTH; FEW && i < columns; ++i)
    for (i64 k = 0; k < depth; ++k) beside[(i - WIDTH) * DEPTH + k] = b[k * sk + i * sj];
}

// Rows [0, count) of a as tile() reads them: of each tile of R rows one step of the sum after the other. By a
// few steps at a time, so that what is read of a column of tiles stays near.
template <int R> static inline void pack_tile(f32* to, const f32* a, i64 sr, i64 sk, i64 depth) {
  i64 k = 0;
  if (R == 4 && sk == 1)
    for (; k + 4 <= depth; k += 4) {
      v4 r0 = load4(a + k), r1 = load4(a + sr + k), r2 = load4(a + 2 * sr + k), r3 = load4(a + 3 * sr + k);
      v4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
      v4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
      store4(to + k * 4, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
      store4(to + k * 4 + 4, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
      store4(to + k * 4 + 8, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
      store4(to + k * 4 + 12, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
    }
  if (R == 4 && sr == 1)
    for (; k < depth; ++k) store4(to + k * 4, load4(a + k * sk));
  for (; k < depth; ++k)
#pragma unroll
    for (int r = 0; r < R; ++r) to[k * R + r] = a[r * sr + k * sk];
}
__attribute__((noinline)) static void pack_rows(f32* to, const f32* a, i64 sr, i64 sk, i64 depth, i64 count) {
  const i64 most = sr == 1 ? LINE : depth;
  for (i64 k = 0; k < depth; k += most) {
    const i64 steps = depth - k < most ? depth - k : most;
    i64 i = 0;
    auto tile_of = [&]<int R>(Seq<int, R>) __attribute__((always_inline)) {
      pack_tile<R>(to + i * depth + k * R, a + i * sr + k * sk, sr, sk, steps);
      i += R;
    };
    while (i + ROWS <= count) tile_of(Seq<int, ROWS>{});
    if (FOUR && count - i >= 4) tile_of(Seq<int, 4>{});
    while (i < count) tile_of(Seq<int, 1>{});
  }
}

struct Sizes {
  i64 m, n, k, a_row, a_k, b_k, b_column, c_row, bias_row, bias_column, chunk, chunks, panels;
  i64 inner, a_outer, a_inner, b_outer, b_inner, c_outer, c_inner, bias_outer, bias_inner;
  i64 height, width, out_width, taps_x, taps, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
  i64 tiles_x, out_height, run, images, batch, scratch;
};

// Where the columns of a panel find their elements in a plane of the image, by tap of the window.
typedef __attribute__((ext_vector_type(LANES))) unsigned w16;
typedef __attribute__((ext_vector_type(LANES))) bool b16;
// Of a vector: lane i at first + i * step, if its bit is set; step 2: bit i of the two halves stands at 2 i.
struct Run { int first, step; unsigned mask, low, high; };
struct Places {
  n16 at[MOST_TAPS][VECTORS];            // -1: outside of the image
  Run run[MOST_TAPS][VECTORS];           // step 1 or 2; 0: there is none
  int beside[MOST_TAPS][BESIDE];
};
static inline unsigned mask_of(n16 mask) {
  b16 bits = __builtin_convertvector(mask, b16);
  unsigned char bytes[sizeof bits];
  __builtin_memcpy(bytes, &bits, sizeof bits);
  unsigned out = bytes[0];
  if constexpr (LANES > 8) out |= (unsigned)bytes[1] << 8;
  return out;
}
static inline unsigned spread(unsigned half) {  // bit i goes to 2 i
  half = (half | half << 4) & 0x0f0fu;
  half = (half | half << 2) & 0x3333u;
  return (half | half << 1) & 0x5555u;
}
static inline Run run_of(n16 at) {
  const unsigned mask = mask_of(at >= 0);
  if (!mask) return {0, 1, 0, 0, 0};
  const int from = __builtin_ctz(mask);
  int all[LANES];
  __builtin_memcpy(all, &at, sizeof all);
  const n16 lane = count_up(Lanes{});
  for (int step = 1; step <= 2; ++step) {
    const int first = all[from] - from * step;
    if (mask_of((at >= 0) & (at != first + lane * step))) continue;
    constexpr unsigned half = (1u << LANES / 2) - 1;
    return {first, step, mask, spread(mask & half), spread(mask >> LANES / 2)};
  }
  return {0, 0, 0, 0, 0};
}
__attribute__((noinline)) static void find_places(Places& p, const Sizes& s, i64 j) {
  // The first place of each column's window, far outside for columns that are none.
  int top[(VECTORS + 1) * LANES], left[(VECTORS + 1) * LANES];
  i64 row = j / s.out_width, column = j % s.out_width;
  for (int i = 0; i < WIDTH + BESIDE; ++i) {
    top[i] = j + i < s.n ? row * s.stride_y - s.pad_y : -(1 << 30);
    left[i] = column * s.stride_x - s.pad_x;
    if (++column == s.out_width) column = 0, ++row;
  }
  i64 down = 0, along = 0;
  for (i64 tap = 0; tap < s.taps; ++tap) {
    const int dy = down * s.dilation_y, dx = along * s.dilation_x, height = s.height, width = s.width;
    for (int v = 0; v < VECTORS; ++v) {
      n16 y, x;
      __builtin_memcpy(&y, top + v * LANES, sizeof y);
      __builtin_memcpy(&x, left + v * LANES, sizeof x);
      y += dy, x += dx;
      const n16 inside = (y >= 0) & (y < height) & (x >= 0) & (x < width);
      p.at[tap][v] = inside ? (n16)((w16)y * (unsigned)width + (w16)x) : -1;
      p.run[tap][v] = run_of(p.at[tap][v]);
    }
    for (int i = 0; i < BESIDE; ++i) {
      const int y = top[WIDTH + i] + dy, x = left[WIDTH + i] + dx;
      p.beside[tap][i] = y >= 0 && y < height && x >= 0 && x < width ? y * width + x : -1;
    }
    if (++along == s.taps_x) along = 0, ++down;
  }
}
// Every other value of two vectors.
template <int... I> static inline v16 evens(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, (I * 2)...);
}
template <int... I> static inline v16 alternate(v16 a, v16 b, Seq<int, I...>) {
  return __builtin_shufflevector(a, b, (I < LANES / 2 ? I * 2 : I * 2 + 1)...);
}
static inline v16 load_places(const f32* plane, const n16& at, const Run& run) {
  constexpr unsigned every = LANES == 16 ? 0xffff : 0xff;
  if (run.step == 1) return run.mask == every ? load(plane + run.first) : load_some(plane + run.first, run.mask);
  // Of whole vectors the last value that is wanted is the last that is read.
  if (run.step == 2 && run.mask == every)
    return alternate(load(plane + run.first), load(plane + run.first + LANES - 1), Lanes{});
  if (run.step == 2)
    return evens(load_some(plane + run.first, run.low), load_some(plane + run.first + LANES, run.high), Lanes{});
#if LANES == 16 && defined(__AVX512F__)
  v16 none = 0.0f;
  n16 outside = at < 0;
  unsigned short inside = __builtin_ia32_cmpd512_mask(at, outside ^ outside, 5, (unsigned short)-1);
  return __builtin_ia32_gathersiv16sf(none, plane, at, inside, 4);
#elif LANES == 8 && defined(__AVX2__)
  v16 none = 0.0f;
  return __builtin_ia32_gatherd_ps256(none, plane, at, (v16)~at, 4);
#else
  v16 v = 0.0f;
  for (int i = 0; i < LANES; ++i) v[i] = at[i] < 0 ? 0.0f : plane[at[i]];
  return v;
#endif
}
// The same panel from windows: rows [k, k + depth) of it.
__attribute__((noinline)) static void pack_windows(f32* panel, f32* beside, const f32* image, const Places& p,
                                                   const Sizes& s, i64 k, i64 depth, i64 columns) {
  i64 tap = k % s.taps;
  const f32* plane = image + k / s.taps * s.b_k;
  for (i64 step = 0; step < depth; ++step) {
    f32* row = panel + step * WIDTH;
    for (int v = 0; v < VECTORS && v * LANES < columns; ++v)
      store(row + v * LANES, load_places(plane, p.at[tap][v], p.run[tap][v]));
    for (i64 i = WIDTH; i < columns; ++i) {
      int at = p.beside[tap][i - WIDTH];
      beside[(i - WIDTH) * DEPTH + step] = at < 0 ? 0.0f : plane[at];
    }
    if (++tap == s.taps) tap = 0, plane += s.b_k;
  }
}

// What is read next, fetched meanwhile: runs of lines.
struct Ahead {
  const f32 *at, *run;
  i64 step, lines, line, left, share;  // of a run; done of it; of all runs; at a time
  inline void fetch() {
    for (i64 i = 0; i < share && left > 0; ++i, --left) {
      __builtin_prefetch(at);
      at += LINE;
      if (++line == lines) line = 0, at = run += step;
    }
  }
};
// Columns [j, j + columns) of rows [k, k + depth) of b, in so many parts.
static Ahead ahead_of(const f32* b, const Sizes& s, i64 k, i64 j, i64 parts) {
  i64 depth = s.k - k < DEPTH ? s.k - k : DEPTH, columns = s.n - j < WIDTH ? s.n - j : WIDTH;
  const f32* at = b + k * s.b_k + j * s.b_column;
  bool along = s.b_k == 1;  // else b's rows are in one piece
  i64 lines = ((along ? depth : columns) + LINE - 1) / LINE, all = lines * (along ? columns : depth);
  return {at, at, along ? s.b_column : s.b_k, lines, 0, all, (all + parts - 1) / parts};
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
                                                       f32* c, i64 sc, Plus plus, i64 columns, Ahead& ahead) {
  v16 sum[R][V];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < V; ++v) sum[r][v] = 0.0f;
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * sc + v * LANES, 1);
  auto step = [&](i64 k) __attribute__((always_inline)) {
    v16 w[V];
#pragma unroll
    for (int v = 0; v < V; ++v) w[v] = load(panel + k * WIDTH + v * LANES);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      v16 x = a[PACKS ? k * R + r : r * sr + k * sk];
#pragma unroll
      for (int v = 0; v < V; ++v) sum[r][v] = __builtin_elementwise_fma(x, w[v], sum[r][v]);
    }
  };
  i64 k = 0;
  for (; k + LINE <= depth; k += LINE) {
    ahead.fetch();
    if (PACKS)
#pragma unroll
      for (int r = 0; r < R; ++r) __builtin_prefetch(a + (k + 3 * LINE) * R + r * LINE);
    else if (sk == 1)  // and the rows below these
#pragma unroll
      for (int r = 0; r < R; ++r) __builtin_prefetch(a + (R + r) * sr + k);
    for (i64 i = k; i < k + LINE; ++i) step(i);
  }
  for (; k < depth; ++k) step(k);
  if (!PART || columns == V * LANES) return put<R, V>(sum, c, sc, plus);
  f32 last[R * V * LANES];  // the last panel may hold fewer columns
  put<R, V>(sum, last, V * LANES, {nullptr, 0, 0});
  for (i64 r = 0; r < R; ++r)
#pragma clang loop vectorize(disable) unroll(disable)
    for (i64 i = 0; i < columns; ++i)
      c[r * sc + i] = plus.at ? plus.at[r * plus.row + i * plus.column] + last[r * V * LANES + i] : last[r * V * LANES + i];
}
template <class V> static inline f32 fold(V v) {
  if constexpr (sizeof v == 8) return v[0] + v[1];
  else return fold(v.lo + v.hi);
}
// R rows of the columns beside a panel: too few for vectors of them, so that these run along the sum.
template <int R> __attribute__((noinline)) static void few_columns(const f32* a, i64 sr, const f32* beside, i64 depth,
                                                                f32* c, i64 sc, Plus plus, i64 columns) {
  for (i64 j = 0; j < columns; ++j) {
    const f32* b = beside + j * DEPTH;
    v16 sum[R];
#pragma unroll
    for (int r = 0; r < R; ++r) sum[r] = 0.0f;
    i64 k = 0;
    for (; k + LANES <= depth; k += LANES) {
      v16 x = load(b + k);
#pragma unroll
      for (int r = 0; r < R; ++r) sum[r] = __builtin_elementwise_fma(load(a + r * sr + k), x, sum[r]);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      f32 one = fold(sum[r]);
#pragma clang loop vectorize(disable) unroll(disable)
      for (i64 i = k; i < depth; ++i) one = __builtin_elementwise_fma(a[r * sr + i], b[i], one);
      c[r * sc + j] = plus.at ? plus.at[r * plus.row + j * plus.column] + one : one;
    }
  }
}
// Where in the batch and at which column a panel stands, and whether its sums are complete with this depth; the
// rows as pack_rows() left them.
struct Item { void* const* args; i64 outer, inner, left; bool last; const f32* packed = nullptr; };
// Rows [from, to) of V vectors; the last rows in smaller tiles. What follows takes them while they are near.
template <int V> static void rows(const f32* a, const Sizes& s, const f32* panel, const f32* beside, i64 depth, f32* c,
                                  Plus plus, i64 from, i64 to, i64 columns, Ahead& ahead, const Item& item) {
  if constexpr (V > 1 && NARROW != 0 && V != NARROW)
    if (columns <= (V - 1) * LANES)
      return rows<NARROW < 0 ? V - 1 : NARROW>(a, s, panel, beside, depth, c, plus, from, to, columns, ahead, item);
  const i64 whole = columns < V * LANES ? columns : V * LANES;
  auto step = [&]<int R>(Seq<int, R>, i64 i) __attribute__((always_inline)) {
    const f32* at = a + i * s.a_row;
    f32* to = c + i * s.c_row;
    Plus more{plus.at ? plus.at + i * plus.row : nullptr, plus.row, plus.column};
    if (item.last) BEFORE_PRODUCT(i, i + R);
    tile<R, V>(PACKS ? item.packed + (i - from) * depth : at, s.a_row, s.a_k, panel, depth, to, s.c_row, more, whole, ahead);
    if constexpr (FEW && V == VECTORS)
      if (columns > WIDTH) {
        if (more.at) more.at += WIDTH * plus.column;
        few_columns<R>(at, s.a_row, beside, depth, to + WIDTH, s.c_row, more, columns - WIDTH);
      }
    if (item.last) AFTER_PRODUCT(i, i + R);
  };
  i64 i = from;
  for (; i + ROWS <= to; i += ROWS) step(Seq<int, ROWS>{}, i);
  if constexpr (FOUR && (PACKS || V == VECTORS))
    if (to - i >= 4) step(Seq<int, 4>{}, i), i += 4;
  if constexpr (ONE)
    for (; i < to; ++i) step(Seq<int, 1>{}, i);
}

)";

constexpr const char* kProduct =
    R"(// An item is a panel of columns for a chunk of rows. Where rows are packed, which is done once for all items of
// a chunk, these go down the sum together; else one after the other.
extern "C" void vitrine_kernel(void* const* args, i64 begin, i64 end) {
  const Sizes& s = *(const Sizes*)args[3 + BIAS + AFTER];
  alignas(64) f32 own[SLAB];
  alignas(64) f32 own_rows[PACKS ? MOST_ROWS * DEPTH : 1];
  f32* const held = HELD ? (f32*)args[4 + BIAS + AFTER] : nullptr;
  const bool ready = HELD && *(const i64*)args[5 + BIAS + AFTER];
  Places places;
  const i64 items = s.panels * s.chunks;
  // The last panel, which may hold fewer columns, comes first: the first thread has most items.
  auto first_column = [&](i64 item) { return (item % items + s.panels - 1) % s.panels * WIDTH; };
  for (i64 first = begin, next; first < end; first = next) {
    next = PACKS ? (first / s.panels + 1) * s.panels : first + 1;
    if (next > end) next = end;
    i64 outer = first / items / s.inner, inner = first / items % s.inner;
    i64 top = first % items / s.panels * s.chunk, bottom = top + s.chunk < s.m ? top + s.chunk : s.m;
    const f32* a = (const f32*)args[0] + outer * s.a_outer + inner * s.a_inner;
    const f32* b = (const f32*)args[1] + outer * s.b_outer + inner * s.b_inner;
    if (IMAGE) find_places(places, s, first_column(first));
    for (i64 k = 0; k < s.k; k += DEPTH) {
      i64 depth = s.k - k < DEPTH ? s.k - k : DEPTH;
      if (PACKS) pack_rows(own_rows, a + top * s.a_row + k * s.a_k, s.a_row, s.a_k, depth, bottom - top);
      for (i64 at = first; at < next; ++at) {
        i64 j = first_column(at), columns = j / WIDTH + 1 == s.panels ? s.n - j : WIDTH;
        f32* c = (f32*)args[2] + outer * s.c_outer + inner * s.c_inner + j;
        Plus bias{BIAS ? (const f32*)args[3] + outer * s.bias_outer + inner * s.bias_inner + j * s.bias_column : nullptr,
                  s.bias_row, s.bias_column};
        f32* const kept = HELD ? held + (j / WIDTH * ((s.k + DEPTH - 1) / DEPTH) + k / DEPTH) * SLAB : nullptr;
        const f32* const panel = ready ? kept : own;
        if (IMAGE) pack_windows(own, own + DEPTH * WIDTH, b, places, s, k, depth, columns);
        else if (!ready) pack(own, own + DEPTH * WIDTH, b + k * s.b_k + j * s.b_column, s.b_k, s.b_column, depth, columns);
        if (HELD && !ready && top == 0) __builtin_memcpy(kept, own, sizeof own);
        // The next panel: beside this one; or further down, which is the first of these columns; or of the next.
        const bool beside = at + 1 < next, down = !beside && k + DEPTH < s.k;
        const bool more = !IMAGE && (beside || down || (!PACKS && at + 1 < end && (at + 1) % items > 0));
        const i64 of = beside ? at + 1 : down ? first : at + 1;
        i64 parts = (bottom - top + ROWS - 1) / ROWS * (depth / LINE + 1);
        Ahead ahead = more ? ahead_of(b, s, beside ? k : down ? k + DEPTH : 0, first_column(of), parts) : Ahead{};
        if (ready) {
          const f32* const then = PACKS && more ? held + (first_column(of) / WIDTH * ((s.k + DEPTH - 1) / DEPTH) + (beside ? k : k + DEPTH) / DEPTH) * SLAB : kept + SLAB;
          const i64 lines = more ? SLAB / LINE : 0;
          ahead = {then, then, 0, lines, 0, lines, (lines + parts - 1) / parts};
        }
        rows<VECTORS>(a + k * s.a_k, s, panel, panel + DEPTH * WIDTH, depth, c, k ? Plus{c, s.c_row, 1} : bias, top, bottom, columns, ahead,
                      {args, outer, inner, j, k + DEPTH >= s.k, own_rows});
      }
    }
  }
}
)";

}  // namespace

ir::Sym held_values(const ProductTile& tile, const ProductNumbers& at) {
  return at.panels * ir::ceildiv(at.k, kDepth) * kDepth * (tile.columns() + kMostBeside);
}

namespace {

std::string epilogue(const std::string& ahead, const ProductForm& form) {
  if (!form.after) return "(void)item\n";
  return "after(item.args, &s.m, item.outer, item.inner, from, to, item.left, columns, " + ahead + ")\n";
}

}  // namespace

std::string product_tiles(const ProductTile& tile, const ProductForm& form) {
  auto constant = [](const char* name, int64_t value) {
    return std::string(name) + " = " + std::to_string(value);
  };
  const ProductEdges& edges = form.edges;
  return "// A matrix product: " + std::to_string(tile.rows) + " rows by " + std::to_string(tile.columns()) +
         " columns of sums in registers.\n#define LANES " + std::to_string(tile.lanes) + "\nconstexpr int " +
         constant("ROWS", tile.rows) + ", " + constant("VECTORS", tile.vectors) + ", " +
         constant("BIAS", form.bias) + ", " + constant("IMAGE", form.image) + ", " +
         constant("AFTER", form.after) + ", " + constant("BESIDE", kMostBeside) + ", " +
         constant("HELD", form.held) + ", " + constant("PACKS", form.packs) + ", " +
         constant("MOST_ROWS", kMostRows) + ", " + constant("DEPTH", kDepth) + ", " +
         constant("MOST_TAPS", form.image ? kMostTaps : 1) + ", " + constant("FOUR", edges.four_rows) + ", " +
         constant("ONE", edges.one_row) + ", " + constant("NARROW", edges.narrow) + ", " +
         constant("PART", edges.part) + ", " + constant("FEW", edges.beside) +
         ";\n#define BEFORE_PRODUCT(from, to) " + epilogue("true", form) +
         "#define AFTER_PRODUCT(from, to) " + epilogue("false", form) + kTiles;
}

std::string product_text(const ProductTile& tile, const ProductForm& form) {
  return product_tiles(tile, form) + kProduct;
}

}  // namespace vitrine::codegen::cpp
