// What a GPU leaves of a program of which one library call does what two eager kernels did: eager on two
// streams, gaps on both sides, and calls that took longer while they were profiled.
#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

constexpr const char* kModel =
    "import torch\n"
    "\n"
    "def f(x, w, b):\n"
    "    y = torch.addmm(b, x, w)\n"
    "    y = torch.nn.functional.gelu(y)\n"
    "    y = y.clone()\n"
    "    return torch.layer_norm(y, (8,))\n";
const std::vector<Ins> kBody = {{0, "RESUME", 0, "", 3, 0, 3, 0, -1}};

struct Slice {
  const char* name;
  int64_t start, duration;  // in tenths of a microsecond
  Id entity = 0, relation = 0;
};

void lane(Writer& w, Id run, const char* side, const char* kind, int ordinal,
          const std::vector<Slice>& slices) {
  std::vector<int64_t> start, duration, entity, relation;
  std::vector<int32_t> name;
  for (const Slice& s : slices) {
    start.push_back(s.start * 100);
    duration.push_back(s.duration * 100);
    entity.push_back(s.entity);
    relation.push_back(s.relation);
    name.push_back(static_cast<int32_t>(w.name(s.name, "opaque")));
  }
  w.put(LaneRow{ordinal + 1, run, side, kind, kind + std::to_string(ordinal), ordinal,
                static_cast<int64_t>(start.size()), w.column(start), w.column(duration), w.column(name),
                w.column(entity), w.column(std::vector<int8_t>(start.size(), 0)), w.column(relation)});
}

Names graphs(Builder& b, Id compilation, Id file, Names& aten) {
  const Place addmm = {4, 8, 4, 28}, gelu = {5, 8, 5, 35}, clone = {6, 8, 6, 17}, norm = {7, 11, 7, 36};
  aten = b.graph(
      compilation, "aten", "", "", true, file,
      {{"addmm", "op", "aten.addmm.default", "matmul", "64,8", "", addmm, "", "", 1},
       {"gelu", "op", "aten.gelu.default", "pointwise", "64,8", "", gelu, "addmm", "", 2},
       {"clone", "op", "aten.clone.default", "memory", "64,8", "", clone, "gelu", "", 3},
       {"layer_norm", "op", "aten.native_layer_norm.default", "reduction", "64,8", "", norm, "clone", "", 4}},
      {});
  // The product and its activation are one call; the norm is written out to two kernels.
  return b.graph(
      compilation, "fused", "", "", true, file,
      {{"mm", "op", "aten.mm.default", "matmul", "64,8", "", addmm, "", "addmm", 8},
       {"addmm_gelu", "op", "aten._addmm_activation.default", "matmul", "64,8", "", addmm, "", "addmm gelu",
        5},
       {"mean", "op", "aten.mean.dim", "reduction", "64", "", norm, "addmm_gelu", "layer_norm", 6},
       {"normal", "op", "aten.mul.Tensor", "pointwise", "64,8", "", norm, "mean", "layer_norm", 7}},
      aten);
}

}  // namespace

FusedCallIds writeFusedCall(const std::string& path, bool timed) {
  auto writer = Writer::create(path);
  VITRINE_CHECK(writer.ok(), writer.error().what);
  Builder b(writer.take());
  FusedCallIds ids;
  RunRow run{b.w.next(Kind::Run), "model.py", "model(*inputs)", "f32[64,8]",
             "NVIDIA H200",       "default",  "finished"};
  run.eager_ns = 500'000;
  run.compiled_ns = 199'000;
  b.w.put(run);
  const Id file = b.file("/home/user/model.py", kModel);
  const Id frame = b.w.next(Kind::Frame), segment = b.w.next(Kind::Segment);
  b.w.put(FrameRow{frame, run.id, b.code(file, "f", kBody, 7), "captured", ""});
  b.w.put(SegmentRow{segment, frame});
  ids.compilation = b.w.next(Kind::Compilation);
  b.w.put(CompilationRow{ids.compilation, segment, 0, "0/0", "ok", "return"});
  Names aten;
  const Names fused = graphs(b, ids.compilation, file, aten);
  auto launch = [&](int ordinal, const char* label, const char* name, const char* family, const char* node,
                    int64_t flops) {
    KernelRow kernel;
    kernel.id = b.w.next(Kind::Kernel);
    kernel.compilation = ids.compilation;
    kernel.ordinal = ordinal;
    kernel.label = label;
    kernel.name = name;
    kernel.family = family;
    kernel.flops = flops;
    b.w.put(kernel);
    b.w.link(fused.at(node), kernel.id);
    b.w.put(LaunchRow{b.w.next(Kind::Launch), ids.compilation, ordinal, "kernel",
                      std::string(label) + " " + name, "", kernel.id});
    return make_id(Kind::Launch, ordinal + 1);
  };
  ids.call = launch(0, "L0", "addmm_gelu", "matmul", "addmm_gelu", 0);
  ids.mean = launch(1, "K1", "mean", "reduction", "mean", 100);
  ids.normal = launch(2, "K2", "mul", "pointwise", "normal", 300);
  // The product alone, which the plan holds and the call above does.
  const Id alone = launch(3, "L3", "mm", "matmul", "mm", 1'000);
  // What was recorded to have replaced the product did not run.
  lane(b.w, run.id, "eager", "stream", 0,
       {{"gemm", 3'000, 590, aten.at("addmm"), alone},
        {"gelu", 4'500, 80, aten.at("gelu"), ids.call},
        {"norm", 9'000, 100, aten.at("layer_norm"), ids.normal}});
  lane(b.w, run.id, "eager", "stream", 1, {{"copy", 4'540, 60, aten.at("clone"), 0}});
  lane(b.w, run.id, "compiled", "stream", 2,
       {{"gemm_gelu", 800, 620, ids.call}, {"mean", 1'500, 40, ids.mean}, {"mul", 1'560, 50, ids.normal}});
  if (timed) {
    b.w.put(MetaRow{"profiled_eager_ns", "1100000"});
    b.w.put(MetaRow{"profiled_compiled_ns", "250000"});
  }
  b.w.put(StageRow{ids.compilation, "launch", "ok", "", 3});
  b.w.finish("finished");
  return ids;
}

}  // namespace vitrine::fixture
