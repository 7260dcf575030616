#include "core/codegen/cuda/emit_ordered.h"

#include <algorithm>
#include <bit>

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/thread_text.h"
#include "core/fusion/scatters.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using Stage = OrderedSums::Stage;

namespace {

constexpr int kThreads = 256, kDeep = kThreads / kWarp;
constexpr int kBatch = 8;  // rows whose loads are under way together

const ScheduledValue& summed(const Schedule& s) {
  return *std::find_if(s.values.begin(), s.values.end(),
                       [](const ScheduledValue& v) { return v.store >= 0; });
}

// Columns of a table's block, a power of two; the block's other threads have other rows of the nest.
int table_columns(const Schedule& s) {
  return static_cast<int>(std::min<uint64_t>(kThreads, std::bit_ceil(static_cast<uint64_t>(s.columns()))));
}
// As many as keep the GPU busy, each with some batches of rows; together they are smaller than what is read.
int64_t tables(const Schedule& s, int64_t targets) {
  constexpr int64_t kBlocks = 4 * kMultiprocessors;
  const int64_t tiles = ceil_div(s.columns(), table_columns(s)), levels = kThreads / table_columns(s);
  const int64_t most = std::min(ceil_div(s.row_count(), levels * kBatch), s.row_count() / (2 * targets));
  return std::clamp<int64_t>(kBlocks / tiles, 1, std::max<int64_t>(1, most));
}

LaunchShape shape_of(const Schedule& s, const OrderedSums& sums, Stage stage) {
  LaunchShape shape;
  shape.threads = kThreads;
  const int vector = choose_shape(s).vector;
  const int64_t runs = ceil_div(s.columns(), vector);  // of a row
  switch (stage) {
    case Stage::sort:
      shape.blocks = ceil_div(sums.count, OrderedSums::kTile);
      break;
    case Stage::merge:
      shape.blocks = ceil_div(sums.count, kDeep);
      break;
    case Stage::runs:
      shape.vector = vector;
      shape.threads = static_cast<int>(std::min<int64_t>(kThreads, ceil_div(runs, kWarp) * kWarp));
      shape.blocks = sums.runs() * ceil_div(runs, shape.threads);
      break;
    case Stage::ends:
      shape.vector = vector;
      shape.blocks = std::max<int64_t>(1, sums.runs() - 1) * ceil_div(runs, kWarp);
      break;
    case Stage::tables:
      shape.blocks = sums.walkers * ceil_div(s.columns(), table_columns(s));
      break;
    case Stage::total:
      shape.blocks = ceil_div(sums.targets * s.columns(), kWarp);
      break;
  }
  return shape;
}

class Ordered : ThreadText {
 public:
  Ordered(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
          const OrderedSums& sums, const LaunchShape& shape, size_t launch, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, launch, sizes),
        sums_(sums),
        stage_(sums.stages[launch]),
        out_(summed(s)),
        lane_(lane_type(out_.statement->dtype)) {
    arrays_of_one_ = true;
  }

  Kernel emit() {
    Kernel out = kernel();
    static constexpr const char* kNames[] = {"sort", "merge", "runs", "ends", "tables", "total"};
    out.name += std::string("_") + kNames[static_cast<size_t>(stage_)];
    costs(out);
    return out;
  }

 private:
  // From one row of the result to the next.
  int64_t row_stride() const { return out_.store_gathered.back().stride; }
  std::string count() const { return sized(sums_.count); }
  std::string columns() const { return sized(s_.columns()); }

  // ---- the kernel's head -------------------------------------------------------------------------------
  void outside() override {
    static constexpr const char* kWhat[] = {
        "// Each block sorts its indices: a thread counts those that stand before its own.",
        "// Merges sorted tiles: a warp counts what stands before its element in each of the others.",
        "// Adds up neighbours in the order that have the same index.",
        "// Joins what has the same index in several runs: the first of these adds up what the others left.",
        "// Each thread keeps a sum for every row of the result, of one column of some of the nest's rows.",
        "// Adds the tables up."};
    line(kWhat[static_cast<size_t>(stage_)]);
  }
  std::string more_parameters(bool with_types) const override {
    if (sums_.has_tables()) return with_types ? ", " + lane_ + "* sums" : ", sums";
    std::string out;
    for (const char* name : names())
      out += with_types ? std::string(", i32* ") + name : std::string(", ") + name;
    return out + (with_types ? ", " + lane_ + "* sums" : ", sums");
  }
  std::vector<const char*> names() const {
    if (sums_.stages[1] == Stage::merge) return {"tile_targets", "tile_rows", "targets", "rows"};
    return {"targets", "rows"};
  }
  void content() override {
    switch (stage_) {
      case Stage::sort:
        return sort();
      case Stage::merge:
        return merge();
      case Stage::runs:
        return runs();
      case Stage::ends:
        return ends();
      case Stage::tables:
        return fill_tables();
      case Stage::total:
        return total();
    }
  }
  void costs(Kernel& k) const {
    const int64_t element = ir::dtype_bytes(fusion::lane_dtype(out_.statement->dtype)), n = sums_.count,
                  out = ir::dtype_bytes(out_.statement->dtype);
    const int64_t read = k.bytes - argument_bytes(program_, s_, argument(out_.store)),
                  added = n * s_.columns(), all = sums_.targets * s_.columns();
    switch (stage_) {
      case Stage::sort:
        k.bytes = n * (8 * static_cast<int64_t>(out_.store_gathered.size()) + 8),
        k.flops = n * OrderedSums::kTile;
        break;
      case Stage::merge:
        k.bytes = n * 16, k.flops = n * ceil_div(n, OrderedSums::kTile) * 8;
        break;
      case Stage::runs:
        k.bytes = read + std::min(added, all) * out * (sums_.zero ? 1 : 2);
        break;
      case Stage::ends:  // as many as there are, which the indices decide
        k.bytes = n * 4, k.flops = 0;
        break;
      case Stage::tables:
        k.bytes = read + sums_.walkers * all * element;
        break;
      case Stage::total:
        k.bytes = sums_.walkers * all * element + all * out, k.flops = sums_.walkers * all;
        break;
    }
  }

  // ---- the order ---------------------------------------------------------------------------------------
  // The row of the result that row r of the nest is added to; one behind the last for what is left out.
  void target(const std::string& name) {
    define_once(true);
    std::string place;
    for (const Index& i : out_.store_gathered) {
      const std::string size = sized(i.size), text = named(i.from).text;
      place +=
          (place.empty() ? "" : " + ") +
          ("index_at(" + (i.from_end ? "from_end(" + text + ", " + size + ")" : text) + ", " + size + ")") +
          (i.stride == row_stride() ? "" : " * " + sized(i.stride / row_stride()));
    }
    line(name + " = (i32)" + (out_.store_gathered.size() > 1 ? "(" + place + ")" : place) + ";", out_.node);
    if (sums_.skipped >= 0)
      line("if (" + name + " == " + num(sums_.skipped) + ") " + name + " = " + sized(sums_.targets) + ";");
  }
  // What is known once a row of the nest; of indices alone only if asked for.
  void define_once(bool indices) {
    for (const OperandSource& s : s_.once(0)) {
      if (!indices && is_index(s) && !read_besides(s)) continue;
      if (s.kind == OperandSource::Kind::load) {
        const Load& l = load(s.index);
        line(lane_type(l.dtype) + " " + l.name + " = " + loads_.element(l, true) + ";", l.node);
      } else {
        const ScheduledValue& v = value(s.index);
        line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      }
    }
  }
  void sort() {
    const std::string tile = num(OrderedSums::kTile);
    line("__shared__ i32 tile_all[" + tile + "];");
    line("const i32 r = blockIdx.x * " + tile + " + threadIdx.x;");
    line("i32 target = 2147483647;  // behind all others");
    open("if (r < " + count() + ") {");
    decode_row(s_.rows);
    target("target");
    close();
    line("tile_all[threadIdx.x] = target;");
    line("__syncthreads();");
    line("i32 before = 0;");
    line("#pragma unroll 16");
    line("for (int k = 0; k < " + tile +
         "; ++k) before += tile_all[k] < target || (tile_all[k] == target && k < threadIdx.x);");
    const bool whole = sums_.stages[1] != Stage::merge;
    open("if (r < " + count() + ") {");
    line(std::string(whole ? "targets" : "tile_targets") + "[blockIdx.x * " + tile + " + before] = target;");
    line(std::string(whole ? "rows" : "tile_rows") + "[blockIdx.x * " + tile + " + before] = r;");
    close();
  }
  void merge() {
    const std::string tile = num(OrderedSums::kTile);
    line("const i32 at = blockIdx.x * " + num(kDeep) + " + threadIdx.x / 32, lane = threadIdx.x % 32;");
    line("if (at >= " + count() + ") return;");
    line("const i32 target = tile_targets[at], own = at / " + tile + ";");
    line("i32 before = lane == own % 32 ? at % " + tile + " : 0;");
    open("for (i32 other = lane; other < " + sized(ceil_div(sums_.count, OrderedSums::kTile)) +
         "; other += 32) {");
    line("if (other == own) continue;");
    line(
        "const i32 least = target + (other < own);  // of those that stand behind; equal ones keep their "
        "order");
    line("i32 low = other * " + tile + ", high = low + " + tile + " < " + count() + " ? low + " + tile +
         " : " + count() + ";");
    open("while (low < high) {");
    line("const i32 middle = (low + high) / 2;");
    line("if (tile_targets[middle] < least) low = middle + 1;");
    line("else high = middle;");
    close();
    line("before += low - other * " + tile + ";");
    close();
    line("before = fold_group<32>(before, Sum());");
    line("if (lane == 0) targets[before] = target, rows[before] = tile_rows[at];");
  }

  // ---- sums of neighbours ------------------------------------------------------------------------------
  std::string acc() const { return "acc[" + num(vector()) + "]"; }
  // What a block's number says: the tile of its columns, of so many, and the rest.
  struct Block {
    std::string tile, rest;
  };
  static Block block(int64_t tiles, const std::string& text) {
    if (tiles == 1) return {"0", "blockIdx.x"};
    return {"blockIdx.x % " + text, "blockIdx.x / " + text};
  }
  Block block(int64_t columns) const {
    const int64_t tiles = ceil_div(s_.columns(), columns);
    return block(tiles, sized(tiles));
  }
  void runs() {
    const std::string type = index_type(), run = num(OrderedSums::kRun);
    const Block place = block(int64_t{1} * vector() * shape_.threads);
    line("const " + type + " c = (" +
         (place.tile == "0" ? "" : place.tile + " * " + num(shape_.threads) + " + ") + "threadIdx.x) * " +
         num(vector()) + ";");
    line("const i32 run = " + place.rest + ", begin = run * " + run + ";");
    line("if (c >= " + columns() + ") return;");
    line("i32 run_rows[" + run + "], run_targets[" + run + " + 1];");
    line("#pragma unroll");
    open("for (int u = 0; u <= " + run + "; ++u) {");
    line("if (u < " + run + ") run_rows[u] = rows[begin + u < " + count() + " ? begin + u : begin];");
    line("run_targets[u] = begin + u < " + count() + " ? targets[begin + u] : -1;");
    close();
    read_batch("run_rows[u]");
    line("bool goes_on = begin > 0 && targets[begin - 1] == run_targets[0];  // from the run before");
    line(lane_ + " " + acc() + " = {};");
    line("#pragma unroll");
    open("for (int u = 0; u < " + run + "; ++u) {");
    line("const i32 target = run_targets[u], next = run_targets[u + 1];");
    line("if (target < 0) break;");
    add_row("run_rows[u]", [&](const std::string& x) { line("acc[k] = acc[k] + " + x + ";", out_.node); });
    line("if (next == target && u + 1 < " + run + ") continue;");
    open("if (target < " + sized(sums_.targets) + ") {");
    open("if (next != target && !goes_on) {");
    write_result("target");
    close("} else {  // joined with other runs");
    ++indent_;
    line("Pack<" + lane_ + ", " + num(vector()) + "> left;");
    each_of_run([&] { line("left.v[k] = acc[k];"); });
    line("store_pack<true, " + num(vector()) + ">(sums + (" + type + ")(goes_on ? run : run + " +
         sized(sums_.runs()) + ") * " + columns() + " + c, left);");
    close();
    close();
    each_of_run([&] { line("acc[k] = 0;"); });
    line("goes_on = false;");
    close();
  }
  void ends() {
    const std::string type = index_type(), run = num(OrderedSums::kRun), vec = num(vector());
    const Block place = block(int64_t{1} * vector() * kWarp);
    line("const i32 run = " + place.rest + ", last = run * " + run + " + " + num(OrderedSums::kRun - 1) +
         ";");
    line("if (last + 1 >= " + count() + ") return;");
    line("const i32 target = targets[last];");
    line("if (targets[last + 1] != target || target >= " + sized(sums_.targets) + ") return;");
    line("const i32 first = run * " + run + ";");
    line(
        "if (run > 0 && targets[first] == target && targets[first - 1] == target) return;  // an earlier "
        "run's");
    line("i32 low = last + 1, high = " + count() + ";");
    open("while (low < high) {");
    line("const i32 middle = (low + high) / 2;");
    line("if (targets[middle] <= target) low = middle + 1;");
    line("else high = middle;");
    close();
    line("const i32 until = (low - 1) / " + run + ";  // the last run that has some of it");
    line("const int lane = threadIdx.x % 32, level = threadIdx.x / 32;");
    line(type + " c = (" + (place.tile == "0" ? "" : place.tile + " * 32 + ") + "lane) * " + vec + ";");
    line("const bool inside = c < " + columns() + ";");
    line("if (!inside) c = 0;  // works along, for the others wait for it");
    line(lane_ + " " + acc() + " = {};");
    line("#pragma unroll 4");
    open("for (i32 other = run + level; other <= until; other += " + num(kDeep) + ") {");
    line("const auto left = load_pack<true, " + vec + ">(sums + (" + type + ")(other > run ? other : run + " +
         sized(sums_.runs()) + ") * " + columns() + " + c);");
    each_of_run([&] { line("acc[k] = acc[k] + left.v[k];"); });
    close();
    line("fold_across<32, " + num(kDeep) + ">(acc, Sum());");
    open("if (inside && level == 0) {");
    write_result("target");
    close();
  }

  // ---- tables ------------------------------------------------------------------------------------------
  void fill_tables() {
    const std::string type = index_type(), targets = num(sums_.targets);
    const int wide = table_columns(s_), levels = kThreads / wide;
    const Block place = block(wide);
    const std::string beside = num(wide), deep = num(levels), batch = num(kBatch),
                      cells = num(sums_.targets * wide);
    line("__shared__ " + lane_ + " table[" + targets + "][" + num(kThreads) + "];");
    line("const int lane = threadIdx.x % " + beside + ", level = threadIdx.x / " + beside + ";");
    line("const " + type + " first = " + (place.tile == "0" ? "0" : place.tile + " * " + beside) +
         ", c = first + lane;");
    line("const i32 walker = " + place.rest + ", step = " + sized(sums_.walkers * levels) + ";");
    line("for (int k = 0; k < " + targets + "; ++k) table[k][threadIdx.x] = 0;");
    open("if (c < " + columns() + ") {");
    open("for (i32 begin = walker * " + deep + " + level; begin < " + count() + "; begin += step * " + batch +
         ") {");
    read_batch("begin + u * step < " + count() + " ? begin + u * step : begin");
    line("i32 row_targets[" + batch + "];");
    line("#pragma unroll");
    open("for (int u = 0; u < " + batch + "; ++u) {");
    line("const " + type + " r = begin + u * step < " + count() + " ? begin + u * step : begin;");
    decode_row(s_.rows);
    target("row_targets[u]");
    close();
    line("#pragma unroll");
    open("for (int u = 0; u < " + batch + "; ++u) {");
    line("const i32 target = row_targets[u];");
    line("if (begin + u * step >= " + count() + ") break;");
    add_row("begin + u * step", [&](const std::string& x) {
      line("if (target < " + targets + ") table[target][threadIdx.x] = table[target][threadIdx.x] + " + x +
               ";",
           out_.node);
    });
    close();
    close();
    close();
    line("__syncthreads();");
    open("for (int cell = threadIdx.x; cell < " + cells + "; cell += " + num(kThreads) + ") {");
    line("const int target = cell / " + beside + ", column = cell % " + beside + ";");
    line(lane_ + " all = 0;");
    line("for (int k = 0; k < " + deep + "; ++k) all = all + table[target][k * " + beside + " + column];");
    line("if (first + column < " + columns() + ") sums[((" + type + ")walker * " + targets + " + target) * " +
         columns() + " + first + column] = all;");
    close();
  }
  void total() {
    const std::string type = index_type(), all = sized(sums_.targets * s_.columns());
    line("const int lane = threadIdx.x % 32, level = threadIdx.x / 32;");
    line(type + " cell = blockIdx.x * 32 + lane;");
    line("const bool inside = cell < " + all + ";");
    line("if (!inside) cell = 0;  // works along, for the others wait for it");
    line(lane_ + " acc[1] = {};");
    line("#pragma unroll 4");
    line("for (i32 other = level; other < " + sized(sums_.walkers) + "; other += " + num(kDeep) +
         ") acc[0] = acc[0] + sums[(" + type + ")other * " + all + " + cell];");
    line("fold_across<32, " + num(kDeep) + ">(acc, Sum());");
    line("const " + type + " target = cell / " + columns() + ", c = cell % " + columns() + ";");
    open("if (inside && level == 0) {");
    write_result("target");
    close();
  }

  // ---- rows of the nest --------------------------------------------------------------------------------
  std::vector<int> fetched_loads() const {
    std::vector<int> out;
    for (int l : s_.phases[0].loads)
      if (fetched(load(l))) out.push_back(l);
    return out;
  }
  // What some rows hold, on its way before any of it is used. row: of u.
  void read_batch(const std::string& row) {
    const std::vector<int> loads = fetched_loads();
    if (loads.empty()) return;
    for (int l : loads) line(packs("p_" + load(l).name, load(l), kBatch), load(l).node);
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(kBatch) + "; ++u) {");
    line("const " + std::string(index_type()) + " r = " + row + ";");
    decode_row(s_.rows);
    for (int l : loads) line("p_" + load(l).name + "[u] = " + read_pack(load(l)), load(l).node);
    close();
  }
  // What row `row` adds, element by element.
  template <class F>
  void add_row(const std::string& row, F&& add) {
    line("const " + std::string(index_type()) + " r = " + row + ";");
    decode_row(s_.rows);
    define_once(false);
    for (const Load& l : s_.loads)
      if (l.gathered_by_row && !l.per_row) line(loads_.row_begin(l), l.node);
    const Phase& p = s_.phases[0];
    for (int l : p.loads)
      if (!fetched(load(l))) load_run(load(l));
    each_of_run([&] {
      values_of_element(true);
      add(out_.name);
    });
  }
  bool is_index(const OperandSource& s) const {
    return std::any_of(out_.store_gathered.begin(), out_.store_gathered.end(),
                       [&](const Index& i) { return i.from == s; });
  }
  // Whether a value needs the index itself.
  bool read_besides(const OperandSource& s) const {
    return std::any_of(s_.values.begin(), s_.values.end(),
                       [&](const ScheduledValue& v) {
                         return std::find(v.used.begin(), v.used.end(), s) != v.used.end();
                       }) ||
           std::any_of(s_.loads.begin(), s_.loads.end(), [&](const Load& l) {
             return std::any_of(l.gathered.begin(), l.gathered.end(),
                                [&](const Index& i) { return i.from == s; });
           });
  }

  // acc, all of what is added to that row, into the result.
  void write_result(const std::string& target) {
    const std::string type = memory_type(out_.statement->dtype), vec = num(vector()),
                      place = pointer(argument(out_.store)) + " + " +
                              (index_type() == std::string("i64") ? "(i64)" : "") + target +
                              (row_stride() == 1 ? "" : " * " + sized(row_stride())) +
                              index_.column(out_.store_strides);
    const bool run = vector() > 1 && in_run(out_) && stage_ != Stage::total;
    if (run) {
      line("Pack<" + type + ", " + vec + "> q;");
      if (!sums_.zero)
        line("const Pack<" + type + ", " + vec + "> was = load_pack<aligned, " + vec + ">(" + place + ");");
      each_of_run([&] {
        line(std::string("put(q.v[k], ") + (sums_.zero ? "acc[k]" : "wide(was.v[k]) + acc[k]") + ");",
             out_.node);
      });
      return line("store_pack<aligned, " + vec + ">(" + place + ", q);", out_.node);
    }
    line(type + "* to = " + place + ";", out_.node);
    auto put_one = [&](const std::string& at, const std::string& x) {
      line("put(" + at + ", " + (sums_.zero ? x : "wide(" + at + ") + " + x) + ");", out_.node);
    };
    if (stage_ == Stage::total) return put_one("to[0]", "acc[0]");
    each_of_run([&] {
      const std::string step = IndexText::trimmed(index_.term("k", out_.store_strides.back()));
      put_one("to[" + step + "]", "acc[k]");
    });
  }

  const OrderedSums& sums_;
  const Stage stage_;
  const ScheduledValue& out_;
  const std::string lane_;
};

}  // namespace

OrderedSums ordered_sums(const Schedule& schedule, const fusion::Loop& loop) {
  const ScheduledValue& v = summed(schedule);
  OrderedSums out;
  out.count = schedule.row_count();
  out.targets = 1;
  for (const Index& i : v.store_gathered) out.targets *= i.size;
  out.skipped = loop.skipped;
  out.zero = loop.filled->number && loop.filled->number->whole && loop.filled->number->integer == 0;
  if (fusion::has_few_targets(out.targets, v.statement->dtype)) {
    out.walkers = tables(schedule, out.targets);
    out.stages = {Stage::tables, Stage::total};
    return out;
  }
  out.stages = {Stage::sort};
  if (out.count > OrderedSums::kTile) out.stages.push_back(Stage::merge);
  out.stages.insert(out.stages.end(), {Stage::runs, Stage::ends});
  return out;
}

std::vector<ir::TensorType> ordered_memory(const Schedule& schedule, const OrderedSums& sums) {
  const ir::DType lane = fusion::lane_dtype(summed(schedule).statement->dtype);
  if (sums.has_tables())
    return {ir::TensorType::contiguous(lane, {sums.walkers, sums.targets, schedule.columns()})};
  const size_t lists = sums.stages[1] == Stage::merge ? 4 : 2;
  std::vector<ir::TensorType> out(lists, ir::TensorType::contiguous(ir::DType::i32, {sums.count}));
  out.push_back(ir::TensorType::contiguous(lane, {2, sums.runs(), schedule.columns()}));
  return out;
}

Kernel emit_ordered(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                    const OrderedSums& sums, size_t launch, SizeMemory* sizes) {
  const LaunchShape shape = shape_of(schedule, sums, sums.stages[launch]);
  return Ordered(program, unit, schedule, sums, shape, launch, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
