#include "core/codegen/cpp/attention_text.h"

#include "core/codegen/cpp/prelude.h"
#include "core/codegen/schedule/typed_text.h"

namespace vitrine::codegen::cpp {

namespace {

constexpr const char* kAttention = R"(
struct Attention {
  i64 heads, length, places, width, share, chunk, chunks;
  i64 q, q_batch, q_head, q_row, k, k_batch, k_head, k_row, v, v_batch, v_head, v_row;
  i64 out_batch, out_head, out_row, mask, mask_batch, mask_head, mask_row, mask_place;
};
constexpr f32 LEAST = -__builtin_inff();

template <class V> static inline f32 fold_most(V v) {
  if constexpr (sizeof v == 8) return v[0] > v[1] ? v[0] : v[1];
  else return fold_most(__builtin_elementwise_max(v.lo, v.hi));
}

// What is added to the scores of LANES places, of which so many are there.
static inline v16 added(const f32* mask, i64 step, i64 there) {
  if (step == 0) return mask[0];
  return there >= LANES ? load(mask) : load_some(mask, (1u << there) - 1);
}

// Products of a row become its scores; -inf behind the last that is seen. Returns the largest.
static f32 score(f32* row, i64 seen, i64 all, const f32* mask, i64 step) {
  v16 most = LEAST;
  for (i64 j = 0; j < all; j += LANES) {
    v16 x = load(row + j) * SCALE;
    if (MASK) x += added(mask + j * step, step, all - j);
    if (seen < j + LANES) x = count_up(Lanes{}) < (int)(seen - j) ? x : (v16)LEAST;
    store(row + j, x);
    most = __builtin_elementwise_max(most, x);
  }
  return fold_most(most);
}

// Scores become weights. Returns their sum.
static f32 weigh(f32* row, i64 all, f32 base) {
  v16 sum = 0.0f;
  for (i64 j = 0; j < all; j += LANES) {
    v16 w = vexp(load(row + j) - base);
    store(row + j, w);
    sum += w;
  }
  return fold(sum);
}

static void multiply(f32* row, i64 count, f32 by) {
  i64 j = 0;
  for (; j + LANES <= count; j += LANES) store(row + j, load(row + j) * by);
  for (; j < count; ++j) row[j] *= by;
}

// A chunk of rows: where its scores stand, the largest so far of each row, and the sum of its weights.
struct Rows {
  f32 *scores, *out;
  i64 count, out_row, width;
  f32 most[MOST_ATTENTION_ROWS], sum[MOST_ATTENTION_ROWS];
};

// The scores of a block of places become weights, and what is there already is made smaller.
static void weigh_block(Rows& r, i64 from, i64 all, i64 top, const f32* mask, i64 mask_row, i64 step) {
  for (i64 i = 0; i < r.count; ++i) {
    f32* row = r.scores + i * BLOCK;
    const i64 below = CAUSAL && top + i + 1 - from < all ? top + i + 1 - from : all;
    f32 now = score(row, below, all, MASK ? mask + i * mask_row : nullptr, step);
    const f32 before = from ? r.most[i] : LEAST;
    if (before > now) now = before;
    const f32 base = now == LEAST ? 0.0f : now, sum = weigh(row, all, base);
    r.most[i] = now;
    if (from && before != now) {
      const v16 less = vexp((v16)(before - base));
      r.sum[i] *= less[0];
      multiply(r.out + i * r.out_row, r.width, less[0]);
    }
    r.sum[i] = from ? r.sum[i] + sum : sum;
  }
}

extern "C" void vitrine_kernel(void* const* args, i64 begin, i64 end) {
  const Attention& s = *(const Attention*)args[4 + MASK];
  alignas(64) f32 own[SLAB];
  alignas(64) f32 scores[MOST_ATTENTION_ROWS * BLOCK];
  Sizes first = {}, second = {};  // of the two products
  first.a_row = s.q_row, first.a_k = 1, first.c_row = BLOCK;
  second.a_row = BLOCK, second.a_k = 1, second.c_row = s.out_row;
  Ahead none = {};
  const Item item = {args, 0, 0, 0, false};
  for (i64 at = begin; at < end; ++at) {
    const i64 batch = at / s.chunks / s.heads, head = at / s.chunks % s.heads, top = at % s.chunks * s.chunk;
    const f32* q = (const f32*)args[0] + s.q + batch * s.q_batch + head * s.q_head + top * s.q_row;
    const f32* k = (const f32*)args[1] + s.k + batch * s.k_batch + head / s.share * s.k_head;
    const f32* v = (const f32*)args[2] + s.v + batch * s.v_batch + head / s.share * s.v_head;
    const f32* mask = MASK ? (const f32*)args[3] + s.mask + batch * s.mask_batch + head * s.mask_head + top * s.mask_row : nullptr;
    Rows r = {scores, (f32*)args[3 + MASK] + batch * s.out_batch + head * s.out_head + top * s.out_row,
              s.length - top < s.chunk ? s.length - top : s.chunk, s.out_row, s.width};
    // Whole panels, of which the last rows see a part.
    const i64 seen = (top + r.count + WIDTH - 1) / WIDTH * WIDTH, last = CAUSAL && seen < s.places ? seen : s.places;
    for (i64 from = 0; from < last; from += BLOCK) {
      const i64 all = last - from < BLOCK ? last - from : BLOCK;
      for (i64 j = 0; j < all; j += WIDTH) {
        const i64 columns = all - j < WIDTH ? all - j : WIDTH;
        pack(own, own + DEPTH * WIDTH, k + (from + j) * s.k_row, 1, s.k_row, s.width, columns);
        rows<VECTORS>(q, first, own, own, s.width, scores + j, {nullptr, 0, 0}, 0, r.count, columns, none, item);
      }
      weigh_block(r, from, all, top, MASK ? mask + from * s.mask_place : nullptr, s.mask_row, s.mask_place);
      for (i64 d = 0; d < all; d += DEPTH)
        for (i64 j = 0; j < s.width; j += WIDTH) {
          const i64 depth = all - d < DEPTH ? all - d : DEPTH, columns = s.width - j < WIDTH ? s.width - j : WIDTH;
          pack(own, own + DEPTH * WIDTH, v + (from + d) * s.v_row + j, s.v_row, 1, depth, columns);
          const Plus plus = from + d ? Plus{r.out + j, s.out_row, 1} : Plus{nullptr, 0, 0};
          rows<VECTORS>(scores + d, second, own, own, depth, r.out + j, plus, 0, r.count, columns, none, item);
        }
    }
    for (i64 i = 0; i < r.count; ++i) multiply(r.out + i * s.out_row, s.width, r.sum[i] == 0.0f ? 0.0f : 1.0f / r.sum[i]);
  }
}
)";

}  // namespace

std::string attention_text(const ProductTile& tile, const AttentionForm& form) {
  ProductForm products;
  products.edges = form.edges;
  const std::string constants =
      "constexpr bool MASK = " + std::to_string(form.mask) + ", CAUSAL = " + std::to_string(form.causal) +
      ";\nconstexpr i64 MOST_ATTENTION_ROWS = " + std::to_string(kMostAttentionRows) +
      ", BLOCK = " + std::to_string(kAttentionBlock) +
      ";\nconstexpr f32 SCALE = " + float_literal(form.scale, ir::DType::f32) + ";\n";
  const std::string lanes = std::to_string(tile.lanes);
  return "// prelude: vectors of " + lanes + " lanes, functions\n" + prelude_text(kAttention, tile.lanes) +
         "// end of prelude\n\n" + product_tiles(tile, products) + constants + kAttention;
}

}  // namespace vitrine::codegen::cpp
