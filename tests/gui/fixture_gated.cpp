// The second run: a frame that breaks twice and is recompiled once for a new length.
#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

Id addSegment(Builder& b, Id frame, int ordinal, Id instruction, int pc, int depth) {
  SegmentRow row{b.w.next(Kind::Segment), frame, ordinal, pc, depth, instruction};
  b.w.put(row);
  return row.id;
}

Id addCompilation(Builder& b, Id segment, int ordinal, const char* label, const char* end, int end_pc,
                  double ms, int calls) {
  CompilationRow row{
      b.w.next(Kind::Compilation),    segment, ordinal, label, "ok", end, "", end_pc, 3'000'000,
      static_cast<int64_t>(ms * 1e6), calls};
  b.w.put(row);
  return row.id;
}

void addGraph(Builder& b, Id compilation, Id file, bool longer) {
  const char* shape = longer ? "8,96,768" : "8,128,768";
  const std::vector<NodeSpec> nodes = {
      {"x", "placeholder", "placeholder", "", shape, "", {9, 22, 9, 23}, "", "", 1},
      {"layer_norm", "op", "F.layer_norm", "reduction", shape, "ln1", {10, 26, 10, 37}, "x", "", 2},
      {"attn", "op", "F.linear", "matmul", shape, "attn", {10, 16, 10, 38}, "layer_norm", "", 3},
      {"add", "op", "operator.add", "pointwise", shape, "", {10, 12, 10, 38}, "x attn", "", 4},
      {"abs", "op", "Tensor.abs", "pointwise", shape, "", {11, 11, 11, 18}, "add", "", 5},
      {"max", "op", "Tensor.max", "reduction", "1", "", {11, 11, 11, 24}, "abs", "", 6},
      {"gt", "op", "Tensor.__gt__", "pointwise", "1", "", {11, 11, 11, 30}, "max", "", 7},
      {"output", "output", "output", "", shape, "", {}, "add gt", "", 8},
  };
  b.graph(compilation, "captured", "", "7 torch calls, then a break", true, file, nodes, {});
  b.stage(compilation, "bytecode", static_cast<int64_t>(kGatedForward.size()), 0.2);
  b.stage(compilation, "captured", 7, 2.1);
}

void addGuards(Builder& b, Id compilation, Id code, const char* length, Id& on_size) {
  struct G {
    const char *source, *root, *kind, *expected;
    int pc, checks, fails;
    double cost;
  };
  const G guards[] = {{"L['self'] version", "L['self']", "version", "9, eval", 6, 40, 0, 38},
                      {"L['x'].dtype", "L['x']", "tensor", "f32", 58, 40, 0, 26},
                      {"L['x'].size(1)", "L['x']", "tensor", length, 58, 40, 1, 18},
                      {"L['scale']", "L['scale']", "value", "== 1.0", 0, 40, 0, 19}};
  int64_t ordinal = 0;
  for (const G& g : guards) {
    GuardRow row{b.w.next(Kind::Guard),     compilation, ++ordinal, g.source, g.root, g.kind, g.expected,
                 b.instruction(code, g.pc), g.cost,      g.checks,  g.fails};
    b.w.put(row);
    if (ordinal == 3) on_size = row.id;
  }
}

Id addBreak(Builder& b, Id compilation, Id instruction, const char* kind, const char* expression,
            const char* reason, const char* hint, int line, double ms, Id next) {
  BreakRow row{b.w.next(Kind::Break),
               compilation,
               instruction,
               kind,
               expression,
               reason,
               hint,
               "[{\"file\":\"/home/user/gated_block.py\",\"line\":" + std::to_string(line) +
                   ",\"function\":\"GatedBlock.forward\"},{\"file\":\"/home/user/"
                   "train.py\",\"line\":22,\"function\":\"step\"}]",
               40,
               ms * 1e6,
               next};
  b.w.put(row);
  return row.id;
}

}  // namespace

void writeGatedRun(Builder& b) {
  Writer& w = b.w;
  RunRow run{w.next(Kind::Run), "gated_block.py", "GatedBlock.forward", "f32[8,128,768]", "cpu",
             "default",         "finished"};
  run.eager_ns = 14'710'000;
  run.compiled_ns = 13'880'000;
  run.first_call_ns = 237'000'000;
  w.put(run);
  b.ids.gated_run = run.id;
  const Id file = b.file("/home/user/gated_block.py", kGatedSource);
  const Id code = b.code(file, "GatedBlock.forward", kGatedForward, 16);
  const Id frame = w.next(Kind::Frame);
  w.put(FrameRow{frame, run.id, code, "captured", ""});
  const Id skipped = b.code(file, "GatedBlock.__repr__", {{0, "RESUME", 0, "", 9, 0, 9, 0, -1}}, 9);
  w.put(FrameRow{w.next(Kind::Frame), run.id, skipped, "skipped", "no tensor is used in this function"});
  const Id first = addSegment(b, frame, 0, b.instruction(code, 0), 0, 0);
  const Id second = addSegment(b, frame, 1, b.instruction(code, 216), 216, 0);
  b.ids.gated_compilation = addCompilation(b, first, 0, "0/0", "break", 170, 118, 12);
  b.ids.recompiled = addCompilation(b, first, 1, "0/1", "break", 170, 61, 28);
  const Id tail = addCompilation(b, second, 0, "1/0", "break", 412, 58, 40);
  Id guard = 0, other = 0;
  addGraph(b, b.ids.gated_compilation, file, false);
  addGraph(b, b.ids.recompiled, file, true);
  addGuards(b, b.ids.gated_compilation, code, "== 128", guard);
  addGuards(b, b.ids.recompiled, code, "== 96", other);
  b.ids.break_branch = addBreak(
      b, b.ids.gated_compilation, b.instruction(code, 170), "data-dependent branch",
      "if x.abs().max() > 6.0:", "Python must know which way to go, and the answer is inside a tensor.",
      "clamp always; inside the range it changes nothing, so the result is the same", 11, 0.21, second);
  b.ids.break_item =
      addBreak(b, tail, b.instruction(code, 316), "scalar read from a tensor", "h.mean().item()",
               "item() hands Python a number that only the finished tensor knows.",
               "print less often, or keep the mean as a tensor", 15, 0.34, 0);
  RecompilationRow re{w.next(Kind::Recompilation),
                      b.ids.recompiled,
                      b.ids.gated_compilation,
                      guard,
                      13,
                      "L['x'].size(1) == 128",
                      "128",
                      "96",
                      "train.py:22",
                      "vitrine.mark_dynamic(x, 1) before the first call avoids 61 ms"};
  w.put(re);
  b.ids.recompilation = re.id;
  for (int i = 0; i < 40; ++i)
    w.put(CallRow{w.next(Kind::Call), run.id, i, i < 12 ? b.ids.gated_compilation : b.ids.recompiled,
                  i == 0 || i == 12 ? "compile" : "hit", i * 14'000'000, i == 0 ? 118'000'000 : 13'900'000});
  w.put(MessageRow{w.next(Kind::Message), run.id, 5'000'000, "warning", "user",
                   "2 graph breaks in GatedBlock.forward", "see Breaks", "", b.ids.break_branch});
  w.put(MessageRow{w.next(Kind::Message), run.id, 1'000'000, "info", "vitrine",
                   "capture took 4.2 ms, 157 instructions", "", "", 0});
}

}  // namespace vitrine::fixture
