// What a run on a GPU leaves: a kernel of two operators as CUDA C++, PTX and SASS, a library call with its
// choices, the machine's ceilings, and both sides of the timeline with the API's calls.
#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

constexpr const char* kModel =
    "import torch\n"
    "\n"
    "def f(x, w):\n"
    "    y = (x * 2).exp()\n"
    "    return y @ w\n";
const std::vector<Ins> kBody = {{0, "RESUME", 0, "", 3, 0, 3, 0, -1},
                                {4, "BINARY_OP", 5, "*", 4, 9, 4, 14, -1},
                                {20, "CALL", 0, "", 4, 8, 4, 21, -1},
                                {40, "BINARY_OP", 4, "@", 5, 11, 5, 16, -1}};
constexpr Place kMul = {4, 9, 4, 14}, kExp = {4, 8, 4, 21}, kMm = {5, 11, 5, 16};

constexpr const char* kSource =
    "__global__ void vitrine_kernel(const f32* x, f32* y) {\n"
    "  f32 a = x[threadIdx.x];\n  f32 b = expf(a);\n  y[threadIdx.x] = b;\n}\n";
constexpr const char* kPtx =
    ".visible .entry vitrine_kernel(\n\tld.global.f32 \t%f1, [%rd1];\n\tex2.approx.f32 \t%f2, %f1;\n";
constexpr const char* kSass =
    "vitrine_kernel:\n  /*0000*/  LDG.E R7, desc[UR8][R8.64] ;\n  /*0010*/  @!P0 MUFU.EX2 R3, R7 ;\n";

struct Slice {
  const char* name;
  int64_t start, duration;
  Id entity = 0, relation = 0;
};

void lane(Writer& w, Id run, const char* side, const char* kind, int ordinal,
          const std::vector<Slice>& slices) {
  std::vector<int64_t> start, duration, entity, relation;
  std::vector<int32_t> name;
  std::vector<int8_t> depth;
  for (const Slice& s : slices) {
    start.push_back(s.start);
    duration.push_back(s.duration);
    entity.push_back(s.entity);
    relation.push_back(s.relation);
    name.push_back(static_cast<int32_t>(w.name(s.name, "pointwise")));
    depth.push_back(0);
  }
  static int64_t id = 0;
  w.put(LaneRow{++id, run, side, kind, kind, ordinal, static_cast<int64_t>(start.size()), w.column(start),
                w.column(duration), w.column(name), w.column(entity), w.column(depth), w.column(relation)});
}

Id stages(Builder& b, Id compilation, Id file, GpuIds& ids) {
  auto nodes = [](bool linked) {
    auto from = [linked](const char* name) { return linked ? name : ""; };
    return std::vector<NodeSpec>{
        {"x", "placeholder", "placeholder", "", "64,8", "", {3, 6, 3, 7}, "", from("x"), 1},
        {"w", "placeholder", "placeholder", "", "8,8", "", {3, 9, 3, 10}, "", from("w"), 2},
        {"mul", "op", "aten.mul.Tensor", "pointwise", "64,8", "", kMul, "x", from("mul"), 3},
        {"exp", "op", "aten.exp.default", "pointwise", "64,8", "", kExp, "mul", from("exp"), 4},
        {"mm", "op", "aten.mm.default", "matmul", "64,8", "", kMm, "exp w", from("mm"), 5},
        {"output", "output", "output", "", "64,8", "", {}, "mm", "", 6}};
  };
  Names last;
  for (const char* stage : {"captured", "aten", "optimised", "loops", "fused"})
    last = b.graph(compilation, stage, "", "", true, file, nodes(!last.empty()), last);
  ids.load = last.at("mul");
  ids.exp = last.at("exp");
  ids.exp_span = b.span(file, kExp);
  return last.at("mm");
}

// What was counted and sampled of the kernel: DRAM moved 5.6 MB of its 4.
void measured(Builder& b, const GpuIds& ids) {
  auto counted = [&](const char* metric, double value) {
    b.w.put(CounterRow{ids.kernel, ids.launch, 0, "vitrine_kernel", metric, value});
  };
  counted("time", 2'100);
  counted("dram_read", 2'200'000);
  counted("dram_written", 3'400'000);
  counted("dram_busy", 61);
  counted("l2_hits", 40);
  counted("load_sectors", 16);
  counted("local_read", 0);
  counted("sm_busy", 22);
  counted("occupancy", 81.5);
  counted("stall_memory", 63);
  auto sampled = [&](int64_t offset, int64_t line, int64_t source, Id node, const char* reason,
                     int64_t samples) {
    b.w.put(SampleRow{ids.kernel, "vitrine_kernel", offset, line, source, node, reason, samples});
  };
  sampled(0, 2, 2, ids.load, "long_scoreboard", 630);
  sampled(0, 2, 2, ids.load, "selected", 70);
  sampled(16, 3, 3, ids.exp, "wait", 300);
}

Id generated(Builder& b, GpuIds& ids) {
  KernelRow kernel;
  kernel.id = ids.kernel = b.w.next(Kind::Kernel);
  kernel.compilation = ids.compilation;
  kernel.label = "K0";
  kernel.name = "mul_exp";
  kernel.kind = "generated";
  kernel.family = "pointwise";
  kernel.language = "cuda c++";
  kernel.isa = "sm_90";
  kernel.source = b.w.blob(kSource);
  kernel.ir = b.w.blob(kPtx);
  kernel.assembly = b.w.blob(kSass);
  kernel.bytes = 4'000'000;  // a copy of them takes a microsecond
  kernel.flops = 1'000'000;
  b.w.put(kernel);
  b.w.put(GpuKernelRow{kernel.id, "sm_90", 32, 0, 16, 128, 96, 1.0, 16, "threads", ""});
  for (const char* text : {"source", "ir", "assembly"}) {
    auto range = [&](int64_t line, Id of) {
      KernelRangeRow row{b.w.next(Kind::KernelRange), kernel.id, text, line, line, 0, 0, of};
      b.w.put(row);
      b.w.link(of, row.id);
      return row.id;
    };
    const Id load = range(2, ids.load);
    ids.ranges[text] = {load, range(3, ids.exp)};
  }
  return kernel.id;
}

Id library(Builder& b, Id compilation, Id node) {
  KernelRow kernel;
  kernel.id = b.w.next(Kind::Kernel);
  kernel.compilation = compilation;
  kernel.ordinal = 1;
  kernel.label = "L0";
  kernel.name = "mm";
  kernel.kind = "library";
  kernel.family = "matmul";
  kernel.bytes = 4'000'000;
  kernel.flops = 2'000'000'000;
  b.w.put(kernel);
  b.w.link(node, kernel.id);
  b.w.put(ChoiceRow{kernel.id, 0, "PyTorch", 80'000, 1, 1, "measured"});
  b.w.put(ChoiceRow{kernel.id, 1, "cuBLASLt, algorithm 3", 100'000, 0, 1, "measured"});
  return kernel.id;
}

}  // namespace

GpuIds writeGpu(const std::string& path) {
  auto writer = Writer::create(path);
  VITRINE_CHECK(writer.ok(), writer.error().what);
  Builder b(writer.take());
  GpuIds ids;
  RunRow run{b.w.next(Kind::Run), "model.py", "model(*inputs)", "f32[64,8]",
             "NVIDIA H200",       "default",  "finished"};
  run.eager_ns = 220'000;
  run.compiled_ns = 110'000;
  b.w.put(run);
  const Id file = b.file("/home/user/model.py", kModel);
  const Id code = b.code(file, "f", kBody, 5);
  const Id frame = b.w.next(Kind::Frame), segment = b.w.next(Kind::Segment);
  b.w.put(FrameRow{frame, run.id, code, "captured", ""});
  b.w.put(SegmentRow{segment, frame});
  ids.compilation = b.w.next(Kind::Compilation);
  b.w.put(CompilationRow{ids.compilation, segment, 0, "0/0", "ok", "return"});
  const Id mm = stages(b, ids.compilation, file, ids);
  generated(b, ids);
  ids.library = library(b, ids.compilation, mm);
  auto launch = [&](int64_t ordinal, const char* text, Id kernel, double ns) {
    LaunchRow row{b.w.next(Kind::Launch), ids.compilation, ordinal, "kernel", text, "", kernel};
    row.median_ns = ns;
    b.w.put(row);
    return row.id;
  };
  const Id first = launch(0, "K0 mul_exp", ids.kernel, 2'000),
           second = launch(1, "L0 mm", ids.library, 80'000);
  ids.launch = first;
  measured(b, ids);
  b.w.put(CeilingRow{run.id, "copy", "f32", 4e12, "256 MiB"});
  b.w.put(CeilingRow{run.id, "product", "f32", 5e13, "8192 × 8192 × 8192"});
  lane(
      b.w, run.id, "eager", "api", 0,
      {{"cudaLaunchKernel", 10'000, 4'000, ids.exp, first}, {"cudaLaunchKernel", 30'000, 4'000, mm, second}});
  lane(b.w, run.id, "eager", "stream", 1,
       {{"exp_kernel", 20'000, 6'000, ids.exp, first}, {"gemm", 40'000, 90'000, mm, second}});
  lane(b.w, run.id, "compiled", "stream", 2,
       {{"K0 mul_exp", 16'000, 2'000, first}, {"L0 mm", 20'000, 80'000, second}});
  lane(b.w, run.id, "compiled", "api", 3,
       {{"cuLaunchKernel", 5'000, 2'000, first},
        {"cudaStreamIsCapturing", 8'000, 500, second},
        {"cudaLaunchKernel", 9'000, 2'000, second}});
  for (const char* stage : {"captured", "aten", "optimised", "loops", "fused", "kernels", "ir", "assembly"})
    b.w.put(StageRow{ids.compilation, stage, "ok", "", 1});
  b.w.finish("finished");
  return ids;
}

}  // namespace vitrine::fixture
