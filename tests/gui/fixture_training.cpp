// A training step: joint graph, its two halves and what crosses between them; backward compiled by itself;
// and a size that may change.
#include <limits>

#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

constexpr const char* kSource =
    "import torch\n"
    "from torch.nn import functional as F\n"
    "\n"
    "\n"
    "def loss(x, w):\n"
    "    y = x @ w\n"
    "    return (y * 2).sin().exp().sum()\n";

const std::vector<Ins> kBody = {
    {0, "RESUME", 0, "", 5, 0, 5, 0, -1},
    {6, "BINARY_OP", 4, "@", 6, 8, 6, 13, -1},
    {20, "RETURN_VALUE", 0, "", 7, 4, 7, 36, -1},
};

constexpr Place kMm = {6, 8, 6, 13}, kMul = {7, 12, 7, 17}, kSin = {7, 11, 7, 24}, kExp = {7, 11, 7, 30},
                kSum = {7, 11, 7, 36};

// The forward operators of a stage, by the same names.
std::vector<NodeSpec> forward(bool linked, const char* output) {
  auto from = [linked](const char* name) { return linked ? name : ""; };
  return {
      {"x", "placeholder", "placeholder", "", "64,8", "", {5, 9, 5, 10}, "", from("x"), 1},
      {"w", "placeholder", "placeholder", "", "8,16", "", {5, 12, 5, 13}, "", from("w"), 2},
      {"mm", "op", "aten.mm", "matmul", "64,16", "", kMm, "x w", from("mm"), 3},
      {"mul", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kMul, "mm", from("mul"), 4},
      {"sin", "op", "aten.sin", "pointwise", "64,16", "", kSin, "mul", from("sin"), 5},
      {"exp", "op", "aten.exp", "pointwise", "64,16", "", kExp, "sin", from("exp"), 6},
      {"sum", "op", "aten.sum", "reduction", "1", "", kSum, "exp", from("sum"), 7},
      {"output", "output", "output", "", "1", "", {}, output, "", 20},
  };
}

std::vector<NodeSpec> joint() {
  std::vector<NodeSpec> nodes = forward(true, "sum");
  nodes.pop_back();
  for (const NodeSpec& node : std::vector<NodeSpec>{
           {"tangent", "placeholder", "placeholder", "", "1", "", {}, "", "", 8},
           {"d_exp", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kExp, "tangent exp", "exp", 9},
           {"cos", "op", "aten.cos", "pointwise", "64,16", "", kSin, "mul", "sin", 10},
           {"d_sin", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kSin, "d_exp cos", "sin", 11},
           {"d_w", "op", "aten.mm", "matmul", "8,16", "", kMm, "x d_sin", "mm", 12},
           {"output", "output", "output", "", "1", "", {}, "sum d_w", "", 20}})
    nodes.push_back(node);
  return nodes;
}

std::vector<NodeSpec> backward() {
  return {
      {"x", "placeholder", "placeholder", "", "64,8", "", {}, "", "x", 1},
      {"mm", "placeholder", "placeholder", "", "64,16", "", {}, "", "mm", 3},
      {"tangent", "placeholder", "placeholder", "", "1", "", {}, "", "tangent", 8},
      {"mul", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kMul, "mm", "mul", 4},
      {"sin", "op", "aten.sin", "pointwise", "64,16", "", kSin, "mul", "sin", 5},
      {"exp", "op", "aten.exp", "pointwise", "64,16", "", kExp, "sin", "exp", 6},
      {"d_exp", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kExp, "tangent exp", "d_exp", 9},
      {"cos", "op", "aten.cos", "pointwise", "64,16", "", kSin, "mul", "cos", 10},
      {"d_sin", "op", "aten.mul.Tensor", "pointwise", "64,16", "", kSin, "d_exp cos", "d_sin", 11},
      {"d_w", "op", "aten.mm", "matmul", "8,16", "", kMm, "x d_sin", "d_w", 12},
      {"output", "output", "output", "", "8,16", "", {}, "d_w", "", 20},
  };
}

Id addCompilation(Builder& b, Id segment, const char* label, double ms) {
  CompilationRow row{b.w.next(Kind::Compilation),    segment, 0, label, "ok", "return", "", 20, 3'000'000,
                     static_cast<int64_t>(ms * 1e6), 3};
  b.w.put(row);
  return row.id;
}

void addCrossings(Builder& b, Id compilation, const Names& joint, const Names& halves) {
  struct C {
    const char *name, *kind, *type, *reason;
    int64_t bytes;
  };
  const C rows[] = {
      {"x", "input", "f32[64,8]", "an input stays where it is", 0},
      {"mm", "saved", "f32[64,16]", "mm is a library call, which is not run twice", 4096},
      {"mul", "recomputed", "f32[64,16]", "one multiplication costs less than keeping 4.10 kB", 4096},
      {"exp", "recomputed", "f32[64,16]", "fuses with what reads it", 4096},
  };
  int64_t ordinal = 0;
  for (const C& c : rows)
    b.w.put(CrossingRow{compilation, ordinal++, c.name, c.kind, c.type, c.bytes, joint.at(c.name),
                        halves.at(c.name), c.reason});
  b.w.put(PartitionRow{compilation, 1, 4096, 12'288, 2});
}

void addKernel(Builder& b, TrainingIds& ids, Id node, Id span) {
  KernelRow kernel;
  kernel.id = ids.kernel = b.w.next(Kind::Kernel);
  kernel.compilation = ids.backward;
  kernel.label = "K0";
  kernel.name = "mul_exp";
  kernel.kind = "generated";
  kernel.family = "pointwise";
  kernel.source = b.w.blob("void kernel(f32* d) {\n  d[0] = t * e;\n}\n");
  b.w.put(kernel);
  KernelRangeRow range{b.w.next(Kind::KernelRange), kernel.id, "source", 2, 2, 0, 0, node};
  b.w.put(range);
  b.w.link(node, range.id);
  ids.kernel_line = range.id;
  ids.exp_span = span;
}

// A launch that runs what the node stands for.
void addLaunch(Builder& b, Id compilation, const char* text, Id node) {
  LaunchRow row;
  row.id = b.w.next(Kind::Launch);
  row.compilation = compilation;
  row.kind = "library";
  row.text = text;
  b.w.put(row);
  b.w.link(node, row.id);
}

}  // namespace

TrainingIds writeTraining(const std::string& path) {
  auto writer = Writer::create(path);
  VITRINE_CHECK(writer.ok(), writer.error().what);
  Builder b(writer.take());
  TrainingIds ids;
  RunRow run{b.w.next(Kind::Run), "train.py", "loss", "f32[64,8]", "cpu", "default", "finished"};
  b.w.put(run);
  const Id file = b.file("/home/user/train.py", kSource);
  const Id code = b.code(file, "loss", kBody, 7);
  const Id frame = b.w.next(Kind::Frame), segment = b.w.next(Kind::Segment);
  b.w.put(FrameRow{frame, run.id, code, "captured", ""});
  b.w.put(SegmentRow{segment, frame, 0, 0, 0, b.instruction(code, 0)});
  ids.forward = addCompilation(b, segment, "0/0", 40);
  ids.backward = addCompilation(b, segment, "0/0 backward", 25);
  b.w.put(BackwardRow{ids.forward, ids.backward, "all"});
  const Names aten = b.graph(ids.forward, "aten", "", "5 operators", true, file, forward(false, "sum"), {});
  const Names both = b.graph(ids.forward, "joint", "", "with PyTorch's backward", true, file, joint(), aten);
  const Names first =
      b.graph(ids.forward, "forward", "", "keeps mm", true, file, forward(true, "sum mm"), both);
  const Names second = b.graph(ids.forward, "backward", "", "3 computed again", true, file, backward(), both);
  const Names fused = b.graph(ids.backward, "optimised", "", "", true, file, backward(), second);
  addKernel(b, ids, fused.at("d_exp"), b.span(file, kExp));
  addLaunch(b, ids.backward, "L1 d_w", second.at("d_w"));  // of mm's gradient: the first that mm leads to
  addLaunch(b, ids.forward, "L0 mm", first.at("mm"));
  addCrossings(b, ids.forward, both, second);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  b.w.put(SymbolRow{ids.forward, 0, "s0", "L['x'].size(0)", "changed: it was 32", 64, 2, kMost, ""});
  b.w.put(SymbolRow{ids.forward, 1, "s1", "L['n']", "mark_dynamic", 4, 4, 4, "/home/user/train.py:7"});
  b.w.put(SymbolGuardRow{ids.forward, 0, "s0 <= 4096", "/home/user/train.py:6"});
  ids.saved_joint = both.at("mm");
  ids.saved_forward = first.at("mm");
  ids.saved_backward = second.at("mm");
  ids.again_backward = second.at("exp");
  ids.line_6 = b.span(file, kMm);
  b.w.finish("finished");
  return ids;
}

}  // namespace vitrine::fixture
