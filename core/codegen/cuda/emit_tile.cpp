#include "core/codegen/cuda/emit_tile.h"

#include <algorithm>

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

// A block computes a tile of columns × the turned dim. Turned loads are read along their own dim first, and
// wait in shared memory, turned; then everything is read and written along the columns.
class Tile : ThreadText {
 public:
  Tile(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
       const LaunchShape& shape, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, 0, sizes),
        down_(s.rows == 1 ? "r" : "i" + num(shape.turned)),
        length_(s.dims[static_cast<size_t>(shape.turned)]) {}

  Kernel emit() { return kernel(); }

 private:
  bool turned(const Load& l) const { return is_turned(l, shape_.turned); }
  int run_of(const Load& l) const override {
    return turned(l) ? turned_vector(s_, l, shape_.turned) : ThreadText::run_of(l);
  }
  std::string element(const Load& l) const override {
    if (!turned(l)) return ThreadText::element(l);
    return "wide(tile_" + l.name + "[at_" + down_ + "][at_c" + (vector() > 1 ? " + k" : "") + "])";
  }
  template <class F>
  void each_turned(F&& f) {
    for (const Load& l : s_.loads)
      if (turned(l)) f(l);
  }

  // A bank of shared memory more a row: what lies below each other lies in different banks.
  void outside() override {
    each_turned([&](const Load& l) {
      line("__shared__ " + memory_type(l.dtype) + " tile_" + l.name + "[" + num(shape_.deep) + "][" +
               num(shape_.wide + std::max<int64_t>(1, 4 / ir::dtype_bytes(l.dtype))) + "];",
           l.node);
    });
  }
  void content() override {
    find_tile();
    each_turned([&](const Load& l) { read(l); });
    each_turned([&](const Load& l) { turn(l); });
    line("__syncthreads();");
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(turns(vector())) + "; ++u) {");
    places("c", shape_.wide, vector(), down_, shape_.deep);
    if (const std::string test = inside(); !test.empty()) line("if (!(" + test + ")) continue;");
    row_values();
    const Phase& p = s_.phases[0];
    for (int l : p.loads)
      if (!turned(load(l))) load_run(load(l));
    declare_stores(0);
    each_of_run([&] { elements(p); });
    write_stores(0);
    close();
  }

  // blockIdx -> where its tile begins, and the indices of the dims that are in no tile.
  void find_tile() {
    const std::string type = "const " + std::string(index_type());
    const ir::Sym across = ir::ceildiv(inner(), shape_.wide), below = ir::ceildiv(length_, shape_.deep);
    line(type + " tile_c = blockIdx.x % " + sized(across) + " * " + num(shape_.wide) + ";");
    std::string rest = "blockIdx.x / " + sized(across);
    line(type + " tile_" + down_ + " = " + rest + " % " + sized(below) + " * " + num(shape_.deep) + ";");
    rest += " / " + sized(below);
    size_t left = s_.rows - 1;
    for (size_t k = s_.rows; k-- > 0;) {
      if (static_cast<int>(k) == shape_.turned) continue;
      const std::string n = sized(s_.dims[k]);
      line(type + " i" + num(static_cast<int64_t>(k)) + " = " + rest + (--left > 0 ? " % " + n : "") + ";");
      rest += " / " + n;
    }
  }
  // This thread's place in turn u, a run of `run` along one side of the tile: eight threads beside each other
  // move whole lines of memory, and the four such rows of a warp touch different banks of shared memory.
  void places(const std::string& along, int length, int run, const std::string& other, int others) {
    const int beside = std::min(length / run, std::max(8, 32 / run)), further = length / run / beside;
    line("const int at = u * " + num(shape_.threads) + " + threadIdx.x;");
    std::string lane = "at % " + num(beside);
    if (further > 1)
      lane = "(at / " + num(int64_t{1} * beside * others) + " * " + num(beside) + " + " + lane + ")";
    line("const int at_" + along + " = " + lane + (run > 1 ? " * " + num(run) : "") + ", at_" + other +
         " = at / " + num(beside) + (further > 1 ? " % " + num(others) : "") + ";");
    line(std::string(index_type()) + " c = tile_c + at_c, " + down_ + " = tile_" + down_ + " + at_" + down_ +
         ";");
  }
  std::string inside() const {
    std::string out;
    if (!ir::divides(shape_.wide, inner())) out = "c < " + sized(inner());
    if (!ir::divides(shape_.deep, length_))
      out += (out.empty() ? "" : " && ") + down_ + " < " + sized(length_);
    return out;
  }
  int turns(int run) const { return std::max(1, shape_.wide * shape_.deep / (shape_.threads * run)); }

  void read(const Load& l) {
    const int run = run_of(l);
    line("Pack<" + memory_type(l.dtype) + ", " + num(run) + "> p_" + l.name + "[" + num(turns(run)) + "];",
         l.node);
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(turns(run)) + "; ++u) {");
    places(down_, shape_.deep, run, "c", shape_.wide);
    std::string test = inside();
    if (!l.within.empty()) {  // it is 0 elsewhere
      test += (test.empty() ? "" : " && ") + loads_.inside(l, false);
      line("p_" + l.name + "[u] = {};", l.node);
    }
    line((test.empty() ? "" : "if (" + test + ") ") + "p_" + l.name + "[u] = load_pack<" +
             (run > 1 ? "aligned, " : "false, ") + num(run) + ">(" + pointer(argument(l.argument)) +
             loads_.place(l) + ");",
         l.node);
    close();
  }
  void turn(const Load& l) {
    const int run = run_of(l);
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(turns(run)) + "; ++u) {");
    places(down_, shape_.deep, run, "c", shape_.wide);
    line("#pragma unroll");
    line("for (int k = 0; k < " + num(run) + "; ++k) tile_" + l.name + "[at_" + down_ + " + k][at_c] = p_" +
             l.name + "[u].v[k];",
         l.node);
    close();
  }

  // What is one a row.
  void row_values() {
    values_of_row(0, [&](const ScheduledValue& v) {
      if (v.store >= 0) put_row(v, "c == 0");
    });
    for (const Load& l : s_.loads)
      if (l.gathered_by_row && !l.per_row && l.phase == 0) line(loads_.row_begin(l), l.node);
  }
  void elements(const Phase& p) {
    for (int l : p.loads) load_element(l);
    for (size_t k = 0; k < p.values.size(); ++k) {
      for (const Phase::Late& late : p.late)
        if (late.before == k) load_element(late.load);
      const ScheduledValue& v = value(p.values[k]);
      define(v, stores_here(0, p.values[k]));
      if (stores_here(0, p.values[k])) put_element(v, "");
    }
  }
  void load_element(int l) {
    if (!known_of_run(load(l)))
      line(lane_type(load(l).dtype) + " " + load(l).name + " = " + element(load(l)) + ";", load(l).node);
  }

  const std::string down_;  // the turned dim's index
  const ir::Sym length_;    // and size
};

}  // namespace

Kernel emit_tile(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 const LaunchShape& shape, SizeMemory* sizes) {
  return Tile(program, unit, schedule, shape, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
