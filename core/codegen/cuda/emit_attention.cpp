#include "core/codegen/cuda/emit_attention.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

using ir::Sym;
using ir::TensorType;

constexpr int64_t kThreads = 128, kWarps = 4, kTile = 32;  // places of a tile
constexpr int64_t kBlocks = 2 * kMultiprocessors, kMostParts = 64;

std::string num(int64_t n) {
  return std::to_string(n);
}

class Attention : KernelText {
 public:
  Attention(const AttentionKernels& k, std::string label, SizeMemory* sizes)
      : k_(k), label_(std::move(label)), sizes_(sizes) {
    heads_ = k.what.heads.hint() / k.what.groups.hint();
    width_ = k.what.width.hint();
    run_ = 16 / ir::dtype_bytes(k.query.dtype);
    lanes_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width_ / run_)));
    rows_ = kThreads / lanes_;
    turns_ = std::max<int64_t>(1, kTile / rows_);
    tile_ = rows_ * turns_;
  }

  Kernel partial() {
    const std::string type(ir::dtype_name(k_.query.dtype));
    std::string takes =
        "const " + type + "* in_query, const " + type + "* in_key, const " + type + "* in_value";
    std::string gives = "in_query, in_key, in_value";
    if (k_.what.mask) {
      takes += std::string(", const ") + (is_truth() ? "bool" : type) + "* in_mask";
      gives += ", in_mask";
    }
    takes += ", f32* part_sum, f32* part_scale", gives += ", part_sum, part_scale";
    if (sizes_) takes += SizeMemory::kDeclaration, gives += SizeMemory::kPassed;
    open("template <bool aligned> __device__ void compute(" + takes + ") {");
    begin();
    tiles();
    end();
    close();
    line("");
    open("extern \"C\" __global__ void __launch_bounds__(" + num(kThreads) + ") vitrine_kernel(" + takes +
         ") {");
    line("follow();");
    line("if (is_aligned(" + at("in_query", k_.query) + ", 16) && is_aligned(" + at("in_key", k_.key) +
         ", 16) && is_aligned(" + at("in_value", k_.value) + ", 16))");
    line("  compute<true>(" + gives + ");");
    line("else");
    line("  compute<false>(" + gives + ");");
    close();
    kernel_.grid.blocks = blocks();
    kernel_.grid.threads = kThreads;
    kernel_.bytes = k_.key.bytes() + k_.value.bytes() + k_.query.bytes();
    kernel_.flops = k_.what.batch * k_.what.heads * k_.what.places * k_.what.width * 4;
    return finish("scaled_dot_product_attention", 0);
  }

  Kernel joined() {
    const std::string type(ir::dtype_name(k_.query.dtype)), parts = num(k_.parts), heads = num(heads_);
    const int64_t threads = (width_ + kWarp - 1) / kWarp * kWarp, turns = (k_.parts + kWarp - 1) / kWarp;
    const std::string inside = width_ == threads ? "" : "if (c < " + num(width_) + ") ";
    open("extern \"C\" __global__ void __launch_bounds__(" + num(threads) +
         ") vitrine_kernel(const f32* part_sum, const f32* part_scale, " + type + "* out_result) {");
    line("follow();");
    line("const int group = blockIdx.x / " + heads + ", head = blockIdx.x % " + heads + ", c = threadIdx.x;");
    line("const i64 first = (i64)group * " + parts + " * " + heads + " + head;");
    line("__shared__ f32 weights[" + parts + "], total;");
    line("f32 part[" + parts + "];");
    each("p", k_.parts, [&] {
      line(inside + "part[p] = part_sum[(first + p * " + heads + ") * " + num(width_) + " + c];", k_.node);
    });
    open("if (threadIdx.x < 32) {");
    line("f32 scale[" + num(turns) + "], of[" + num(turns) + "], most = -kInf, sum = 0.0f;");
    each("t", turns, [&] {
      line("const int p = t * 32 + threadIdx.x;");
      line("scale[t] = p < " + parts + " ? part_scale[(first + p * " + heads + ") * 2] : -kInf;");
      line("of[t] = p < " + parts + " ? part_scale[(first + p * " + heads + ") * 2 + 1] : 0.0f;");
      line("most = fmaxf(most, scale[t]);");
    });
    line("most = fold_group<32>(most, Max());");
    line("const f32 from = most == -kInf ? 0.0f : most;  // a query that sees no place");
    each("t", turns, [&] {
      line("const int p = t * 32 + threadIdx.x;");
      line("const f32 weight = expf(scale[t] - from);");
      line("if (p < " + parts + ") weights[p] = weight, sum += weight * of[t];");
    });
    line("sum = fold_group<32>(sum, Sum());");
    line("if (threadIdx.x == 0) total = sum;");
    close();
    line("__syncthreads();");
    line("f32 sum = 0.0f;");
    each("p", k_.parts, [&] { line("sum += weights[p] * part[p];", k_.node); });
    const std::string place = "(i64)(group / " + groups() + ") * " + num(k_.result.strides[0].hint()) +
                              " + (group % " + groups() + " * " + heads + " + head) * " +
                              num(k_.result.strides[1].hint()) + " + c * " + num(k_.result.strides[3].hint());
    line(inside + "put(out_result[" + place + "], total == 0.0f ? 0.0f : sum / total);", k_.node);
    close();
    kernel_.grid.blocks = k_.what.batch * k_.what.heads;
    kernel_.grid.threads = static_cast<int>(threads);
    kernel_.bytes = attention_sums(k_).bytes() + k_.result.bytes();
    kernel_.flops = attention_sums(k_).numel() * 2;
    return finish("scaled_dot_product_attention_parts", 1);
  }

 private:
  bool is_truth() const { return k_.mask.dtype == ir::DType::b1; }
  Sym blocks() const { return k_.what.batch * k_.what.groups * k_.parts; }
  std::string groups() const { return num(k_.what.groups.hint()); }
  std::string sized(const Sym& n) const { return sizes_ ? SizeMemory::mark(n) : num(n.hint()); }
  template <class F>
  void unrolled(const std::string& head, F&& body) {
    line("#pragma unroll");
    open("for (int " + head + ") {");
    body();
    close();
  }
  template <class F>
  void each(const char* name, int64_t count, F&& body) {
    unrolled(std::string(name) + " = 0; " + name + " < " + num(count) + "; ++" + name, body);
  }
  std::string at(const std::string& pointer, const TensorType& t) const {
    return t.offset.same(0) ? pointer : pointer + " + " + sized(t.offset);
  }
  // Where a row of keys or values begins.
  std::string row(const TensorType& t) const {
    return "(i64)batch * " + sized(t.strides[0]) + " + (i64)group * " + sized(t.strides[1]) +
           " + (i64)place * " + sized(t.strides[2]);
  }
  // Lanes that have no columns, where a row is no power of two of runs.
  std::string inside() const { return lanes_ * run_ == width_ ? "" : " && lane < " + num(width_ / run_); }

  void begin() {
    const std::string run = num(run_), heads = num(heads_), type(ir::dtype_name(k_.query.dtype));
    line("const int part = blockIdx.x % " + num(k_.parts) + ", of = blockIdx.x / " + num(k_.parts) + ";");
    line("const int batch = of / " + groups() + ", group = of % " + groups() + ";");
    line("const i64 places = " + sized(k_.what.places) + ";");
    line("const i64 each = (places + " + num(k_.parts * tile_ - 1) + ") / " + num(k_.parts * tile_) + " * " +
         num(tile_) + ";");
    line("const i64 first = part * each, end = first + each < places ? first + each : places;");
    line("const int lane = threadIdx.x % " + num(lanes_) + ", row = threadIdx.x / " + num(lanes_) +
         ", warp = threadIdx.x / 32, at = threadIdx.x % 32;");
    line("__shared__ f32 weights[" + heads + "][" + num(tile_) + "], most[" + heads + "], total[" + heads +
         "], smaller[" + heads + "], sums[" + num(kWarps) + "][" + heads + "][" + num(width_) + "];");
    line("if (threadIdx.x < " + heads + ") most[threadIdx.x] = -kInf, total[threadIdx.x] = 0.0f;");
    line("f32 query[" + heads + "][" + run + "], sum[" + heads + "][" + run + "];");
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.9gf", k_.what.scale);
    const std::string factor = std::string(scale).find_first_of(".en") == std::string::npos
                                   ? std::string(scale).insert(std::string(scale).size() - 1, ".0")
                                   : scale;
    each("h", heads_, [&] {
      line("Pack<" + type + ", " + run + "> q = {};");
      line(std::string(inside().empty() ? "" : "if (lane < " + num(width_ / run_) + ") ") +
           "q = load_pack<aligned, " + run + ">(" + at("in_query", k_.query) + " + (i64)batch * " +
           num(k_.query.strides[0].hint()) + " + (i64)(group * " + heads + " + h) * " +
           num(k_.query.strides[1].hint()) + " + lane * " + run + ");");
      each("k", run_,
           [&] { line("query[h][k] = wide(q.v[k]) * " + factor + ", sum[h][k] = 0.0f;", k_.node); });
    });
  }

  void tiles() {
    const std::string run = num(run_), type(ir::dtype_name(k_.query.dtype));
    open("for (i64 begin = first; begin < end; begin += " + num(tile_) + ") {");
    line("Pack<" + type + ", " + run + "> keys[" + num(turns_) + "], values[" + num(turns_) + "];");
    if (k_.what.mask)
      line(std::string(is_truth() ? "bool sees[" : "f32 added[") + num(turns_) + "]" +
           (masks_heads() ? "[" + num(heads_) + "];" : ";"));
    each("t", turns_, [&] {
      line("const i64 place = begin + t * " + num(rows_) + " + row;");
      line("keys[t] = {}, values[t] = {};");
      open("if (place < end" + inside() + ") {");
      line("keys[t] = load_pack<aligned, " + run + ">(" + at("in_key", k_.key) + " + " + row(k_.key) +
               " + lane * " + run + ");",
           k_.node);
      line("values[t] = load_pack<aligned, " + run + ">(" + at("in_value", k_.value) + " + " + row(k_.value) +
               " + lane * " + run + ");",
           k_.node);
      if (k_.what.mask) load_mask();
      close();
    });
    each("t", turns_, [&] { each("h", heads_, [&] { score(); }); });
    line("__syncthreads();");
    weigh();
    line("__syncthreads();");
    each("h", heads_, [&] {
      line("const f32 less = smaller[h];");
      each("k", run_, [&] { line("sum[h][k] *= less;", k_.node); });
      each("t", turns_, [&] {
        line("const f32 weight = weights[h][t * " + num(rows_) + " + row];");
        each("k", run_, [&] { line("sum[h][k] += weight * wide(values[t].v[k]);", k_.node); });
      });
    });
    line("__syncthreads();");
    close();
  }
  // Of place t of the tile and head h.
  void score() {
    line("f32 score = 0.0f;");
    each("k", run_, [&] { line("score += query[h][k] * wide(keys[t].v[k]);", k_.node); });
    if (lanes_ > 1) line("score = fold_group<" + num(lanes_) + ">(score, Sum());", k_.node);
    line("const i64 place = begin + t * " + num(rows_) + " + row;");
    open("if (lane == 0) {");
    line("if (place >= end) score = -kInf;");
    const std::string of = masks_heads() ? "[t][h]" : "[t]";
    if (k_.what.mask)
      line(is_truth() ? "else if (!sees" + of + ") score = -kInf;" : "else score += added" + of + ";",
           k_.node);
    line("weights[h][t * " + num(rows_) + " + row] = score;");
    close();
  }
  // Whether a query sees a place, or what is added to its score.
  std::string masked() const { return is_truth() ? "sees" : "added"; }
  void load_mask() {
    const std::string at = "in_mask[" + mask_place() + "]", value = is_truth() ? at : "wide(" + at + ")";
    if (!masks_heads()) return line(masked() + "[t] = " + value + ";", k_.node);
    each("h", heads_, [&] { line(masked() + "[t][h] = " + value + ";", k_.node); });
  }
  bool masks_heads() const {
    const size_t rank = k_.mask.sizes.size();
    return rank >= 3 && !k_.mask.sizes[rank - 3].same(1) && !k_.mask.strides[rank - 3].same(0);
  }
  // The mask's dims are the last ones of batch, heads, query, places.
  std::string mask_place() const {
    const size_t rank = k_.mask.sizes.size();
    auto stride = [&](size_t from_end) {
      return from_end > rank || k_.mask.sizes[rank - from_end].same(1) ? Sym(0)
                                                                       : k_.mask.strides[rank - from_end];
    };
    std::string out = k_.mask.offset.same(0) ? "" : sized(k_.mask.offset);
    auto add = [&](const std::string& index, const Sym& step) {
      if (!step.same(0))
        out += (out.empty() ? "" : " + ") + index + (step.same(1) ? "" : " * " + sized(step));
    };
    add("(i64)batch", stride(4));
    add("(i64)(group * " + num(heads_) + " + h)", stride(3));
    add("place", stride(1));
    return out.empty() ? "0" : out;
  }
  // A warp a head: exp(score - the largest), and what the sums so far become.
  void weigh() {
    open("for (int h = warp; h < " + num(heads_) + "; h += " + num(kWarps) + ") {");
    line("const f32 before = most[h];");
    line("f32 largest = before;");
    const std::string places = "int t = at; t < " + num(tile_) + "; t += 32";
    line("for (" + places + ") largest = fmaxf(largest, weights[h][t]);");
    line("largest = fold_group<32>(largest, Max());", k_.node);
    line("const f32 from = largest == -kInf ? 0.0f : largest;");
    line("f32 more = 0.0f;");
    open("for (" + places + ") {");
    line("const f32 weight = expf(weights[h][t] - from);", k_.node);
    line("weights[h][t] = weight;");
    line("more += weight;");
    close();
    line("more = fold_group<32>(more, Sum());", k_.node);
    line("const f32 less = expf(before - from);", k_.node);
    line("if (at == 0) smaller[h] = less, total[h] = total[h] * less + more, most[h] = largest;");
    close();
  }

  // The rows' sums, and those of the warps.
  void end() {
    const std::string run = num(run_), heads = num(heads_), width = num(width_);
    each("h", heads_, [&] {
      each("k", run_, [&] {
        for (int64_t step = lanes_; step < kWarp; step *= 2)
          line("sum[h][k] += __shfl_xor_sync(~0u, sum[h][k], " + num(step) + ");");
        line("if (at < " + num(lanes_) + inside() + ") sums[warp][h][lane * " + run + " + k] = sum[h][k];");
      });
    });
    line("__syncthreads();");
    open("for (int i = threadIdx.x; i < " + num(heads_ * width_) + "; i += " + num(kThreads) + ") {");
    line("const int h = i / " + width + ", c = i % " + width + ";");
    line("part_sum[(i64)blockIdx.x * " + num(heads_ * width_) +
             " + i] = sums[0][h][c] + sums[1][h][c] + sums[2][h][c] + sums[3][h][c];",
         k_.node);
    close();
    open("if (threadIdx.x < " + heads + ") {");
    line("part_scale[((i64)blockIdx.x * " + heads + " + threadIdx.x) * 2] = most[threadIdx.x];");
    line("part_scale[((i64)blockIdx.x * " + heads + " + threadIdx.x) * 2 + 1] = total[threadIdx.x];");
    close();
  }

  Kernel finish(const std::string& name, int launch) {
    kernel_.label = label_;
    kernel_.name = name;
    kernel_.family = "reduction";
    kernel_.space =
        ir::text(k_.what.batch * k_.what.heads) + " × " + ir::text(k_.what.places) + " × " + num(width_);
    kernel_.nodes = {k_.node};
    kernel_.grid.device = k_.result.device.index;
    kernel_.work = k_.what.batch * k_.what.heads * k_.what.places;
    put_before("// " + name + "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
               "// end of prelude\n\n");
    if (sizes_ && launch == 0) {
      resolve_sizes(*sizes_, label_, kernel_);
      measure_lines();
    }
    return std::move(kernel_);
  }

  const AttentionKernels& k_;
  const std::string label_;
  SizeMemory* sizes_;
  // Heads of queries a group, columns, columns a run; lanes of a row of keys, rows that a block reads at
  // once, how often it does so for a tile.
  int64_t heads_ = 1, width_ = 1, run_ = 1, lanes_ = 1, rows_ = 1, turns_ = 1, tile_ = 1;
};

}  // namespace

int64_t attention_parts(const ops::OneQuery& a) {
  const int64_t groups = (a.batch * a.groups).hint(), tiles = (a.places.hint() + kTile - 1) / kTile;
  return std::clamp<int64_t>((kBlocks + groups - 1) / groups, 1,
                             std::min<int64_t>(kMostParts, std::max<int64_t>(1, tiles)));
}

TensorType attention_sums(const AttentionKernels& k) {
  TensorType type = TensorType::contiguous(
      ir::DType::f32,
      {k.what.batch * k.what.groups, k.parts, ir::floordiv(k.what.heads, k.what.groups), k.what.width});
  type.device = k.result.device;
  return type;
}
TensorType attention_scales(const AttentionKernels& k) {
  TensorType type = attention_sums(k);
  type = TensorType::contiguous(ir::DType::f32, {type.sizes[0], type.sizes[1], type.sizes[2], 2});
  type.device = k.result.device;
  return type;
}

Kernel emit_attention(const AttentionKernels& k, int launch, const std::string& label, SizeMemory* sizes) {
  Attention text(k, label, sizes);
  return launch == 0 ? text.partial() : text.joined();
}

}  // namespace vitrine::codegen::cuda
