#include "core/codegen/cuda/matrix/emit_large_product.h"

#include <algorithm>

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kThreads = 384, kRows = 128, kDeep = 64, kPassedColumns = 64, kPassedRows = 16;

std::string num(int64_t n) {
  return std::to_string(n);
}
// The lines of the kernel but for what is done with the sums.
class ProductLines {
 public:
  ProductLines(const LargeProduct& product, const ProductTiles& tiles) : p_(product), tiles_(tiles) {}

  std::string type() const { return std::string(ir::dtype_name(p_.dtype)); }
  std::string tiles_type() const {
    const auto truth = [](bool b) { return b ? "true" : "false"; };
    return "Tiles<" + type() + ", " + num(tiles_.columns) + ", " + num(tiles_.stages) + ", " +
           truth(p_.a.turned) + ", " + truth(p_.b.turned) + ">";
  }
  std::string sums_type() const { return "f32 (&sums)[" + num(tiles_.columns / 2) + "]"; }
  std::string parameters() const {
    return "const " + type() + "* left_matrix, const " + type() +
           "* right_matrix, const __grid_constant__ TensorMap left_map, const __grid_constant__ TensorMap "
           "right_map" +
           (p_.added ? ", const " + type() + "* added_row" : "");
  }
  // Blocks go through groups of four rows of tiles, so that what they read at a time is near.
  std::vector<std::string> place() const {
    constexpr int64_t kGroup = 4;
    const int64_t down = ceil_div(p_.m, kRows), wide = ceil_div(p_.n, tiles_.columns), all = down * wide;
    const std::string rest = p_.images > 1 ? "tile % " + num(all) : "tile";
    return {"const int image = " + (p_.images > 1 ? "tile / " + num(all) : std::string("0")) + ";",
            "const int begin = " + rest + " / " + num(kGroup * wide) + " * " + num(kGroup) +
                ", high = begin + " + num(kGroup) + " < " + num(down) + " ? " + num(kGroup) + " : " +
                num(down) + " - begin;",
            "const int tile_m = (begin + " + rest + " % " + num(kGroup * wide) + " % high) * " + num(kRows) +
                ", tile_n = " + rest + " % " + num(kGroup * wide) + " / high * " + num(tiles_.columns) + ";"};
  }
  std::string every_tile() const {
    return "for (int tile = blockIdx.x; tile < " + num(p_.blocks(tiles_)) + "; tile += gridDim.x) {";
  }
  std::string steps() const { return num(ceil_div(p_.k, kDeep)); }
  std::string each() const {
    const auto side = [](const std::string& name, const TileOperand& of) {
      return name + " + image * " + num(of.image_step) + "ll";
    };
    const auto step = [](const TileOperand& of, bool along) {
      return ", " + num(along == of.turned ? of.step : 1);
    };
    return "tiles.multiply_each(sums, " + side("left_matrix", p_.a) + step(p_.a, false) + step(p_.a, true) +
           ", " + side("right_matrix", p_.b) + step(p_.b, true) + step(p_.b, false) + ", tile_m, tile_n, " +
           num(p_.m) + ", " + num(p_.n) + ", " + num(p_.k) + ");";
  }
  const LargeProduct& product() const { return p_; }
  int columns() const { return tiles_.columns; }

 private:
  const LargeProduct& p_;
  const ProductTiles tiles_;
};

// What is common to both kernels, whichever way their lines are written.
template <class Text>
void write_kernel(Text& text, const ProductLines& lines, ir::NodeId node, const std::string& parameters,
                  const std::vector<std::string>& ends) {
  text.open("extern \"C\" __global__ void __launch_bounds__(" + num(kThreads) + ", 1) vitrine_kernel(" +
            lines.parameters() + parameters + ") {");
  text.line("follow();");
  text.line("extern __shared__ __align__(16) char kept[];");
  text.line(lines.tiles_type() + " tiles(kept);", node);
  text.line("const bool by_tiles = is_aligned(left_matrix, 16) && is_aligned(right_matrix, 16);");
  text.open("if (threadIdx.x < 128) {");
  text.line("few_registers();");
  text.line("if (threadIdx.x > 0 || !by_tiles) return;");
  text.open(lines.every_tile());
  for (const std::string& each : lines.place()) text.line(each);
  text.line("tiles.copy(left_map, right_map, tile_m, tile_n, image, " + lines.steps() + ");", node);
  text.close();
  text.close();
  text.open("else {");
  text.line("many_registers();");
  text.open(lines.every_tile());
  for (const std::string& each : lines.place()) text.line(each);
  text.line("f32 sums[" + num(lines.columns() / 2) + "];", node);
  text.line("if (by_tiles) tiles.multiply(sums, " + lines.steps() + ");", node);
  text.line("else " + lines.each(), node);
  if (lines.product().added)
    text.line("tiles.add_row(sums, added_row, tile_n, " + num(lines.product().n) + ");", node);
  for (const std::string& each : ends) text.line(each, node);
  text.close();
  text.close();
  text.close();
}

// 64 columns of each warp's rows at a time: what `each` writes for a run of `run` neighbours, which is row
// at_m and column at_n of the product and begins at its element i.
template <class Text, class F>
void write_elements(Text& text, const ProductLines& lines, int run, const char* index, F&& each) {
  const int beside = kPassedColumns / run, at_once = std::max(1, kWarp / beside);
  const LargeProduct& p = lines.product();
  text.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;");
  text.line("#pragma unroll");
  text.open("for (int j = 0; j < " + num(lines.columns() / kPassedColumns) + "; ++j) {");
  text.line("tiles.pass(sums, j);");
  text.line("#pragma unroll");
  text.open("for (int u = 0; u < " + num(kPassedRows * kPassedColumns / run / kWarp) + "; ++u) {");
  if (beside <= kWarp) {
    text.line("const int row = u * " + num(at_once) + " + lane / " + num(beside) + ", begin = lane % " +
              num(beside) + " * " + num(run) + ";");
  } else {
    text.line("const int row = u / " + num(beside / kWarp) + ", begin = (u % " + num(beside / kWarp) +
              " * 32 + lane) * " + num(run) + ";");
  }
  text.line(std::string("const ") + index +
            " at_m = tile_m + warp * 16 + row, at_n = tile_n + j * 64 + begin;");
  text.line("if (at_m >= " + num(p.m) + " || at_n >= " + num(p.n) + ") continue;");
  text.line(
      std::string("const ") + index + " i = " +
      (p.images > 1 ? "((" + std::string(index) + ")image * " + num(p.m) + " + at_m)" : std::string("at_m")) +
      " * " + num(p.n) + " + at_n;");
  each();
  text.close();
  text.close();
}

void describe(Kernel& kernel, const LargeProduct& p, const ProductTiles& tiles) {
  kernel.grid = {std::min(kMultiprocessors, p.blocks(tiles)), kThreads, p.device};
  kernel.grid.shared = tiles.shared_bytes();
  kernel.maps = tensor_maps(p, tiles);
  kernel.space = (p.images > 1 ? num(p.images) + " × " : "") + num(p.m) + " × " + num(p.n) + " × " + num(p.k);
  kernel.family = "matmul";
}
// Of its operands.
int64_t bytes_of(const LargeProduct& p) {
  return ir::dtype_bytes(p.dtype) * (p.images * (p.m + p.n) * p.k + (p.added ? p.n : 0));
}

class PlainProduct : KernelText {
 public:
  PlainProduct(const LargeProduct& product, ir::NodeId node, const ProductTiles& tiles)
      : lines_of_(product, tiles), node_(node), tiles_(tiles) {}

  Kernel emit() {
    const LargeProduct& p = lines_of_.product();
    kernel_.name = std::string("product") + (p.added ? "_bias" : "");
    kernel_.nodes = {node_};
    int run = 8;
    while (p.n % run) run /= 2;
    const std::string type = lines_of_.type(),
                      index = p.images * p.m * p.n < (int64_t{1} << 30) ? "i32" : "i64";
    open("template <bool aligned> __device__ void store(" + lines_of_.tiles_type() + "& tiles, const " +
         lines_of_.sums_type() + ", int tile_m, int tile_n, int image, " + type + "* out) {");
    write_elements(*this, lines_of_, run, index.c_str(), [&] {
      line(
          "store_pack<aligned, " + num(run) + ">(out + i, tiles.template run<" + num(run) + ">(row, begin));",
          node_);
    });
    close();
    line("");
    write_kernel(
        *this, lines_of_, node_, ", " + type + "* out",
        {"if (is_aligned(out, " + num(run * 2) + ")) store<true>(tiles, sums, tile_m, tile_n, image, out);",
         "else store<false>(tiles, sums, tile_m, tile_n, image, out);"});
    describe(kernel_, p, tiles_);
    kernel_.work = p.images * p.m * p.n;
    kernel_.flops = p.flops();
    kernel_.bytes = bytes_of(p) + ir::dtype_bytes(p.dtype) * p.images * p.m * p.n;
    put_before("// " + kernel_.name + ": " + kernel_.space +
               "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
               "// end of prelude\n\n");
    measure_lines();
    return std::move(kernel_);
  }

  using KernelText::close;
  using KernelText::line;
  using KernelText::open;

 private:
  const ProductLines lines_of_;
  const ir::NodeId node_;
  const ProductTiles tiles_;
};

LaunchShape shape_of(const Schedule& s, const LargeProduct& p, const ProductTiles& tiles) {
  LaunchShape shape;
  shape.threads = kThreads, shape.resident = 1;
  shape.vector = choose_shape(s).vector;
  while (p.n % shape.vector) shape.vector /= 2;
  shape.shared = tiles.shared_bytes();
  shape.blocks = std::min(kMultiprocessors, p.blocks(tiles));  // a block goes from tile to tile
  return shape;
}

class FollowedProduct : ThreadText {
 public:
  FollowedProduct(const LargeProduct& of, ir::NodeId node, const ProductTiles& tiles,
                  const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
                  const LaunchShape& shape, int product)
      : ThreadText(program, unit, s, shape, 0, nullptr),
        lines_of_(of, tiles),
        node_(node),
        tiles_(tiles),
        product_(product) {}

  Kernel emit() {
    Kernel kernel = ThreadText::kernel();
    const LargeProduct& p = lines_of_.product();
    const int64_t work = kernel.work.hint();
    describe(kernel, p, tiles_);
    kernel.name = std::string("product") + (p.added ? "_bias_" : "_") + kernel.name;
    kernel.work = work;
    kernel.flops += p.flops();
    kernel.bytes += bytes_of(p);
    kernel.nodes.insert(kernel.nodes.begin(), node_);
    return kernel;
  }

  using KernelText::close;
  using KernelText::line;
  using KernelText::open;

 private:
  bool is_product(const Load& l) const { return l.kind == Load::Kind::memory && l.argument == product_; }
  bool is_given(const Argument& a) const override { return &a != &argument(product_); }
  std::string element(const Load& l) const override {
    if (!is_product(l)) return ThreadText::element(l);
    return "wide(p_" + l.name + ".v[" + (vector() > 1 ? "k" : "0") + "])";
  }

  void functions(const std::string&) override {
    const std::string passed = "tiles, sums, tile_m, tile_n, image";
    open("template <bool aligned> __device__ void compute(" + lines_of_.tiles_type() + "& tiles, const " +
         lines_of_.sums_type() + ", int tile_m, int tile_n, int image, " + parameters(true) + ") {");
    content();
    close();
    line("");
    const std::string test = alignment_test(), call = "(" + passed + ", " + parameters(false) + ");";
    if (test.empty())
      write_kernel(*this, lines_of_, node_, ", " + parameters(true), {"compute<true>" + call});
    else
      write_kernel(*this, lines_of_, node_, ", " + parameters(true),
                   {"if (" + test + ") compute<true>" + call, "else compute<false>" + call});
  }

  void content() override {
    write_elements(*this, lines_of_, vector(), index_type(), [&] {
      if (s_.rows > 0) {
        const std::string type = index_type();
        line("const " + type + " c = i % " + num(inner().hint()) + ", r = i / " + num(inner().hint()) + ";");
        decode_row(s_.rows);
      } else {
        line(std::string("const ") + index_type() + " c = i;");
      }
      one_run();
    });
  }
  void one_run() {
    values_of_row(0, [&](const ScheduledValue& v) {
      if (v.store >= 0) put_row(v, "c == 0");
    });
    const Phase& p = s_.phases[0];
    for (int l : p.loads) {
      if (is_product(load(l)))
        line("const auto p_" + load(l).name + " = tiles.template run<" + num(vector()) + ">(row, begin);",
             node_);
      else
        load_run(load(l));
    }
    declare_stores(0);
    each_of_run([&] {
      for (int l : p.loads)
        if (!known_of_run(load(l)))
          line(lane_type(load(l).dtype) + " " + load(l).name + " = " + element(load(l)) + ";", load(l).node);
      for (int i : p.values) {
        define(value(i), stores_here(0, i));
        if (stores_here(0, i)) put_element(value(i), "");
      }
    });
    write_stores(0);
  }

  const ProductLines lines_of_;
  const ir::NodeId node_;
  const ProductTiles tiles_;
  const int product_;
};

}  // namespace

Kernel emit_large_product(const LargeProduct& product, ir::NodeId node, const ProductTiles& tiles) {
  return PlainProduct(product, node, tiles).emit();
}

bool may_follow(const Schedule& s, int product, const LargeProduct& of) {
  if (s.reduces || s.across || s.phases.size() != 1 || s.launches() != 1 || s.gathers()) return false;
  if (!s.phases[0].late.empty() || !s.phases[0].from_scratch.empty() || s.rows >= s.dims.size()) return false;
  if (!(s.row_count() * s.columns()).same(of.images * of.m * of.n)) return false;
  if (choose_shape(s).turned >= 0) return false;
  if (std::any_of(s.arguments.begin(), s.arguments.end(), [](const Argument& a) { return a.by_value; }))
    return false;
  bool read = false;
  for (const Load& l : s.loads) {
    if (l.kind != Load::Kind::memory || l.argument != product) continue;
    ir::Sym next = 1;
    bool dense = l.affine() && !l.per_row && l.offset.same(0);
    for (size_t d = s.dims.size(); d-- > 0; next *= s.dims[d])
      dense = dense && (l.strides[d].same(next) || s.dims[d].same(1));
    if (!dense) return false;
    read = true;
  }
  return read && s.dims.size() - s.rows == 1;
}

Kernel emit_large_product(const LargeProduct& of, ir::NodeId node, const ProductTiles& tiles,
                          const fusion::LoopProgram& program, const fusion::Unit& unit,
                          const Schedule& schedule, int product) {
  const LaunchShape shape = shape_of(schedule, of, tiles);
  return FollowedProduct(of, node, tiles, program, unit, schedule, shape, product).emit();
}

}  // namespace vitrine::codegen::cuda
