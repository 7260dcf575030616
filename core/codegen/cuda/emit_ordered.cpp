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

// The indices in order, and the row of each: what a sort or a merge reads or writes.
enum class List : uint8_t { between, last };
constexpr const char* kTargets[] = {"tile_targets", "targets"};
constexpr const char* kRows[] = {"tile_rows", "rows"};

// What the launch writes: the last merge, or a sort alone, the last list; those before by turns.
List written_list(const OrderedSums& sums, size_t launch) {
  return (sums.merges() - launch) % 2 ? List::between : List::last;
}

// Of memory that the launches share: lists, then sums.
size_t memory_count(const OrderedSums& sums) {
  return sums.has_tables() ? 1 : sums.merges() ? 5 : 3;
}
// Where a list begins in it.
size_t list_place(const OrderedSums& sums, List list) {
  return list == List::last && sums.merges() ? 2 : 0;
}

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
      shape.threads = sums.tile / 2;
      shape.blocks = ceil_div(sums.count, sums.tile);
      break;
    case Stage::merge:
      shape.blocks = ceil_div(sums.count, kThreads);
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
        lane_(lane_type(out_.statement->dtype)),
        given_(ordered_arguments(s, sums, launch)) {
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
        "// Each block sorts its indices, those that are equal by their rows: a bitonic sort.",
        "// Merges sorted pieces: a thread counts what stands before its element in each of the others.",
        "// Adds up neighbours in the order that have the same index.",
        "// Joins what has the same index in several runs: the first of these adds up what the others left.",
        "// Each thread keeps a sum for every row of the result, of one column of some of the nest's rows.",
        "// Adds the tables up."};
    line(kWhat[static_cast<size_t>(stage_)]);
  }
  bool is_given(const Argument& a) const override {
    return std::ranges::count(given_.own, &a - s_.arguments.data()) > 0;
  }
  std::string more_parameters(bool with_types) const override {
    std::string out;
    for (size_t i : given_.memory) {
      const bool last = i + 1 == memory_count(sums_);
      const size_t list = sums_.merges() ? i / 2 : 1;
      const std::string name = last ? "sums" : (i % 2 ? kRows : kTargets)[list];
      out += with_types ? ", " + (last ? lane_ : "i32") + "* " + name : ", " + name;
    }
    return !out.empty() && given_.own.empty() ? out.substr(2) : out;
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
    const Argument& result = argument(out_.store);
    const int64_t read = k.bytes - (is_given(result) ? argument_bytes(program_, s_, result) : ir::Sym(0)),
                  added = n * s_.columns(), all = sums_.targets * s_.columns();
    switch (stage_) {
      case Stage::sort:
        k.bytes = n * (8 * static_cast<int64_t>(out_.store_gathered.size()) + 8),
        k.flops = n * std::bit_width(static_cast<uint64_t>(sums_.tile)) *
                  std::bit_width(static_cast<uint64_t>(sums_.tile));
        break;
      case Stage::merge:
        k.bytes = n * 16, k.flops = n * OrderedSums::kWays * std::bit_width(static_cast<uint64_t>(piece()));
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
    const std::string tile = num(sums_.tile), threads = num(shape_.threads);
    const auto list = static_cast<size_t>(written_list(sums_, launch_));
    line("__shared__ u64 tile_all[" + tile + "];  // index and row: no two are the same");
    open("for (int k = threadIdx.x; k < " + tile + "; k += " + threads + ") {");
    line("const i32 r = blockIdx.x * " + tile + " + k;");
    line("i32 target = 2147483647;  // behind all others");
    open("if (r < " + count() + ") {");
    decode_row(s_.rows);
    target("target");
    close();
    line("tile_all[k] = (u64)target << 32 | (u64)(u32)r;");
    close();
    line("__syncthreads();");
    open("for (int run = 2; run <= " + tile + "; run *= 2) {");
    open("for (int step = run / 2; step > 0; step /= 2) {");
    line("const int low = 2 * threadIdx.x - (threadIdx.x & (step - 1)), high = low + step;");
    line("const u64 first = tile_all[low], last = tile_all[high];");
    line("if ((first > last) == ((low & run) == 0)) tile_all[low] = last, tile_all[high] = first;");
    line("__syncthreads();");
    close();
    close();
    open("for (int k = threadIdx.x; k < " + tile + "; k += " + threads + ") {");
    line("const i32 at = blockIdx.x * " + tile + " + k;");
    line("if (at >= " + count() + ") break;");
    line(std::string(kTargets[list]) + "[at] = (i32)(tile_all[k] >> 32);");
    line(std::string(kRows[list]) + "[at] = (i32)(u32)tile_all[k];");
    close();
  }
  // Indices of each sorted piece that a merge is given.
  int64_t piece() const {
    int64_t out = sums_.tile;
    for (size_t before = 1; before < launch_; ++before) out *= OrderedSums::kWays;
    return out;
  }
  void merge() {
    const std::string piece = num(this->piece()), ways = num(OrderedSums::kWays);
    const auto to = static_cast<size_t>(written_list(sums_, launch_)), from = 1 - to;
    const std::string targets = kTargets[from];
    line("const i32 at = blockIdx.x * " + num(kThreads) + " + threadIdx.x;");
    line("if (at >= " + count() + ") return;");
    line("const i32 target = " + targets + "[at], own = at / " + piece + ", first = own / " + ways + " * " +
         ways + ";");
    line("i32 before = first * " + piece + " + at % " + piece + ";");
    open("for (i32 other = first; other < first + " + ways + " && other * " + piece + " < " + count() +
         "; ++other) {");
    line("if (other == own) continue;");
    line(
        "const i32 least = target + (other < own);  // of those that stand behind; equal ones keep their "
        "order");
    line("i32 low = other * " + piece + ", high = low + " + piece + " < " + count() + " ? low + " + piece +
         " : " + count() + ";");
    open("while (low < high) {");
    line("const i32 middle = (low + high) / 2;");
    line("if (" + targets + "[middle] < least) low = middle + 1;");
    line("else high = middle;");
    close();
    line("before += low - other * " + piece + ";");
    close();
    line(std::string(kTargets[to]) + "[before] = target, " + kRows[to] + "[before] = " + kRows[from] +
         "[at];");
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
  const OrderedArguments given_;
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
  constexpr uint64_t kLeastTile = kThreads, kMostTile = 2048;
  out.tile =
      static_cast<int>(std::clamp(std::bit_ceil(static_cast<uint64_t>(out.count)), kLeastTile, kMostTile));
  out.stages = {Stage::sort};
  for (int64_t sorted = out.tile; sorted < out.count; sorted *= OrderedSums::kWays)
    out.stages.push_back(Stage::merge);
  out.stages.insert(out.stages.end(), {Stage::runs, Stage::ends});
  return out;
}

OrderedArguments ordered_arguments(const Schedule& s, const OrderedSums& sums, size_t launch) {
  const Stage stage = sums.stages[launch];
  const size_t sum = memory_count(sums) - 1, targets = list_place(sums, List::last),
               list = list_place(sums, written_list(sums, launch));
  const bool whole = stage == Stage::runs || stage == Stage::tables,
             ends = stage == Stage::ends || stage == Stage::total;
  OrderedArguments out;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const auto reads_index = [&](const OperandSource& from) {
      return from.kind == OperandSource::Kind::load &&
             s.loads[static_cast<size_t>(from.index)].argument == static_cast<int>(i);
    };
    const bool written = s.arguments[i].written;
    if (stage == Stage::sort ? std::ranges::any_of(s.once(0), reads_index)
        : written            ? stage == Stage::runs || ends
                             : whole)
      out.own.push_back(static_cast<int>(i));
  }
  switch (stage) {
    case Stage::sort:
      out.memory = out.written = {list, list + 1};
      break;
    case Stage::merge:
      out.memory = {0, 1, 2, 3}, out.written = {list, list + 1};
      break;
    case Stage::runs:
      out.memory = {targets, targets + 1, sum}, out.written = {sum};
      break;
    case Stage::ends:
      out.memory = {targets, sum};
      break;
    case Stage::tables:
      out.memory = out.written = {sum};
      break;
    case Stage::total:
      out.memory = {sum};
      break;
  }
  return out;
}

std::vector<ir::TensorType> ordered_memory(const Schedule& schedule, const OrderedSums& sums) {
  const ir::DType lane = fusion::lane_dtype(summed(schedule).statement->dtype);
  if (sums.has_tables())
    return {ir::TensorType::contiguous(lane, {sums.walkers, sums.targets, schedule.columns()})};
  const size_t lists = sums.merges() ? 4 : 2;
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
