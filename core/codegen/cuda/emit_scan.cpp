#include "core/codegen/cuda/emit_scan.h"

#include <algorithm>
#include <functional>

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/thread_text.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using fusion::Statement;

namespace {

constexpr int kThreads = 256;
constexpr int kMostOwn = 4;    // elements a thread keeps, unless one run has more
constexpr int kOwnAcross = 8;  // where it shares a row across which its neighbours lie

// Rows side by side. A thread each is enough where they fill the card; else up to as many as a block has
// share one.
LaunchShape shape_across(const Schedule& s) {
  constexpr int64_t kBlocks = kMultiprocessors * 2, kMostDeep = kMostThreads / kWarp;
  LaunchShape shape;
  shape.registers = false;
  const int64_t tiles = ceil_div(s.row_count().hint(), kWarp),
                runs = ceil_div(s.columns().hint(), kOwnAcross);
  int64_t deep = 1;
  while (deep < kMostDeep && deep < runs && tiles * deep < kBlocks * kMostDeep) deep *= 2;
  shape.group = deep > 1 ? kWarp : kThreads / 2;
  shape.threads = deep > 1 ? static_cast<int>(deep) * kWarp : kThreads / 2;
  shape.items = deep > 1 ? kOwnAcross : 1;
  shape.blocks = ir::ceildiv(s.row_count(), shape.group);
  return shape;
}

// A warp has short rows, a block long ones, and very long ones a large block. The more runs a thread reads
// before the block meets, the fewer turns there are, each of which waits for memory.
LaunchShape scan_shape(const Schedule& s) {
  if (s.across) return shape_across(s);
  LaunchShape shape;
  shape.threads = kThreads;
  shape.registers = false;
  const LaunchShape chosen = choose_shape(s);
  shape.vector = chosen.shifted ? 1 : chosen.vector;
  const int64_t runs = ceil_div(s.columns().hint(), shape.vector);
  if (runs > 16 * kThreads) shape.threads = kMostThreads;
  shape.group = runs <= 4 * kWarp ? kWarp : shape.threads;
  shape.items =
      static_cast<int>(std::min<int64_t>(std::max(1, kMostOwn / shape.vector), ceil_div(runs, shape.group)));
  shape.blocks = ir::ceildiv(s.row_count(), shape.rows_a_block());
  return shape;
}

class Scan : ThreadText {
 public:
  Scan(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
       const LaunchShape& shape, Statement::Reduce scan, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, 0, sizes), product_(scan == Statement::Reduce::prod) {
    arrays_of_one_ = !s.across;
  }

  Kernel emit() { return kernel(); }

 private:
  void content() override {
    if (!s_.across) return shared();
    shape_.items > 1 ? side_by_side() : alone();
  }
  const ScheduledValue& result() const {
    return *std::find_if(s_.values.begin(), s_.values.end(),
                         [](const ScheduledValue& v) { return v.store >= 0; });
  }
  std::string lane() const { return lane_type(result().statement->dtype); }
  std::string start() const { return product_ ? "1" : "0"; }
  std::string step() const { return product_ ? " * " : " + "; }

  void row_values() {
    values_of_row(0, [](const ScheduledValue&) {});
    for (const Load& l : s_.loads)
      if (l.gathered_by_row && !l.per_row) line(loads_.row_begin(l), l.node);
  }

  // ---- a row of several threads --------------------------------------------------------------------------
  void shared() {
    const std::string type = index_type(), group = num(shape_.group), vec = num(vector()),
                      all = sized(s_.columns());
    const int beside = shape_.rows_a_block();
    const bool exact = ir::divides(beside, s_.row_count());
    line("const int lane = threadIdx.x" + (beside == 1 ? ";" : " % " + group + ";"));
    line(type + " r = " +
         (beside == 1 ? "blockIdx.x;"
                      : "(" + type + ")blockIdx.x * " + num(beside) + " + threadIdx.x / " + group + ";"));
    if (!exact) line("if (r >= " + sized(s_.row_count()) + ") return;");
    decode_row(s_.rows);
    row_values();
    line(lane() + " before = " + start() + ";  // of the columns that are done");
    const std::string items = num(shape_.items);
    open("for (" + type + " begin = 0; begin < " + all +
         "; begin += " + num(int64_t{1} * shape_.items * shape_.group * vector()) + ") {");
    line(lane() + " runs[" + items + "][" + vec + "], left[" + items + "];");
    each_run([&] {
      each_of_run([&] { line("own[k] = " + start() + ";"); });
      open("if (c < " + all + ") {");
      for (int l : s_.phases[0].loads) load_run(load(l));
      each_of_run([&] {
        values_of_element(s_.across);
        line("own[k] = " + result().name + ";", result().node);
      });
      close();
      if (vector() > 1) {
        line("#pragma unroll");
        line("for (int k = 1; k < " + vec + "; ++k) own[k] = own[k - 1]" + step() + "own[k];");
      }
      line("left[j] = own[" + num(vector() - 1) + "];");
    });
    line(lane() + " turn;");
    line("scan_group<" + group + ">(left, " + lane() + "(" + start() + "), turn, " +
         (product_ ? "Product" : "Sum") + "());");
    each_run([&] {
      open("if (c < " + all + ") {");
      write();
      close();
    });
    line("before = before" + step() + "turn;");
    close();
  }
  // Body for each run of the turn: its first column c, and its elements `own`.
  void each_run(const std::function<void()>& body) {
    const std::string lane = vector() == 1 ? "lane" : "lane * " + num(vector());
    line("#pragma unroll");
    open("for (int j = 0; j < " + num(shape_.items) + "; ++j) {");
    line(std::string("const ") + index_type() + " c = begin + j * " +
         num(int64_t{1} * shape_.group * vector()) + " + " + lane + ";");
    line("auto& own = runs[j];");
    body();
    close();
  }
  void write() {
    const ScheduledValue& v = result();
    const std::string place = index_.row(v.store_strides, 0) + index_.column(v.store_strides),
                      vec = num(vector());
    if (vector() > 1 && in_run(v)) {
      line("Pack<" + memory_type(v.statement->dtype) + ", " + vec + "> q;", v.node);
      each_of_run([&] { line("put(q.v[k], before" + step() + "left[j]" + step() + "own[k]);", v.node); });
      return line("store_pack<aligned, " + vec + ">(" + pointer(argument(v.store)) + place + ", q);", v.node);
    }
    const std::string more = vector() > 1 ? index_.term("k", v.store_strides.back()) : "";
    each_of_run([&] {
      line("put(" + pointer(argument(v.store)) + "[" + IndexText::trimmed(place + more) + "], before" +
               step() + "left[j]" + step() + "own[k]);",
           v.node);
    });
  }

  // ---- a row of one thread -------------------------------------------------------------------------------
  void alone() {
    const std::string type = index_type(), all = sized(s_.columns());
    line(type + " r = (" + type + ")blockIdx.x * " + num(shape_.threads) + " + threadIdx.x;");
    line("if (r >= " + sized(s_.row_count()) + ") return;");
    decode_row(s_.rows);
    row_values();
    line(lane() + " before = " + start() + ";");
    walk_batches(0, "0", all, 1, [&] {
      const ScheduledValue& v = result();
      for (int l : s_.phases[0].loads)
        if (!fetched(load(l))) load_run(load(l));
      values_of_element(s_.across);
      line("before = before" + step() + v.name + ";", v.node);
      line("put(" + pointer(argument(v.store)) + "[" +
               IndexText::trimmed(index_.row(v.store_strides, 0) + index_.column(v.store_strides)) +
               "], before);",
           v.node);
    });
  }

  // ---- a row of several threads, which stand behind each other ------------------------------------------
  void side_by_side() {
    const std::string type = index_type(), all = sized(s_.columns()), group = num(shape_.group),
                      deep = num(shape_.threads / shape_.group), items = num(shape_.items);
    const bool exact = ir::divides(shape_.group, s_.row_count());
    line("const int lane = threadIdx.x % " + group + ", level = threadIdx.x / " + group + ";");
    line(type + " r = (" + type + ")blockIdx.x * " + group + " + lane;");
    if (!exact) {
      line("const bool inside = r < " + sized(s_.row_count()) + ";");
      line("if (!inside) r = 0;  // works along, for the others wait for it");
    }
    decode_row(s_.rows);
    row_values();
    line(lane() + " before = " + start() + ";  // of the columns that are done");
    open("for (" + type + " begin = 0; begin < " + all +
         "; begin += " + num(int64_t{1} * shape_.threads / shape_.group * shape_.items) + ") {");
    line(lane() + " own[" + items + "], run = " + start() + ";");
    const auto each = [&](const std::function<void()>& f) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + items + "; ++u) {");
      line("const " + type + " " + column_name() + " = begin + level * " + items + " + u;");
      line("if (" + column_name() + " >= " + all + ") break;");
      decode_column();
      f();
      close();
    };
    read_batch(0, shape_.items, each);
    const ScheduledValue& v = result();
    each([&] {
      for (int l : s_.phases[0].loads)
        if (!fetched(load(l))) load_run(load(l));
      values_of_element(true);
      line("own[u] = run = run" + step() + v.name + ";", v.node);
    });
    line(lane() + " turn;");
    line("const " + lane() + " left = before" + step() + "scan_across<" + group + ", " + deep + ">(run, " +
         lane() + "(" + start() + "), turn, " + (product_ ? "Product" : "Sum") + "());");
    if (!exact) open("if (inside) {");
    each([&] {
      line("put(" + pointer(argument(v.store)) + "[" +
               IndexText::trimmed(index_.row(v.store_strides, 0) + index_.column(v.store_strides)) +
               "], left" + step() + "own[u]);",
           v.node);
    });
    if (!exact) close();
    line("before = before" + step() + "turn;");
    close();
  }

  const bool product_;
};

}  // namespace

Kernel emit_scan(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 Statement::Reduce scan, SizeMemory* sizes) {
  const LaunchShape shape = scan_shape(schedule);
  return Scan(program, unit, schedule, shape, scan, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
