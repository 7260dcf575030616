// The captured frame: bytecode, interpreted steps with their effect on the symbolic stack, guards.
#include <cstring>

#include "tests/gui/fixture_builder.h"

namespace vitrine::fixture {

using namespace session;

namespace {

struct Value {
  std::string kind, text, type, source;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

std::string json(const Value& v) {
  return "{\"kind\":" + quoted(v.kind) + ",\"text\":" + quoted(v.text) + ",\"type\":" + quoted(v.type) +
         ",\"source\":" + quoted(v.source) + "}";
}

// What a call at (line, col) of the source yields: node name, type, and module name when it is inlined.
struct Made {
  int line, col;
  const char *op, *node, *type;
};
const Made kMade[] = {
    {31, 26, "CALL", "layer_norm", "f32[8,128,768]"},
    {31, 12, "BINARY_OP", "add", "f32[8,128,768]"},
    {32, 27, "CALL", "layer_norm_1", "f32[8,128,768]"},
    {32, 19, "CALL", "linear_2", "f32[8,128,3072]"},
    {32, 12, "CALL", "gelu", "f32[8,128,3072]"},
    {33, 19, "CALL", "linear_3", "f32[8,128,768]"},
    {33, 15, "BINARY_OP", "add_1", "f32[8,128,768]"},
    {17, 12, "CALL", "scaled_dot_product_attention", "f32[8,12,128,64]"},
};
const Made kMadeByEnd[] = {
    // calls of one method chain begin at the same column: told apart by where they end
    {15, 25, "CALL", "linear", "f32[8,128,2304]"},     {15, 55, "CALL", "view", "f32[8,128,3,12,64]"},
    {16, 44, "CALL", "permute", "f32[3,8,12,128,64]"}, {16, 54, "CALL", "unbind", "f32[8,12,128,64]"},
    {18, 42, "CALL", "transpose", "f32[8,128,12,64]"}, {18, 59, "CALL", "reshape", "f32[8,128,768]"},
    {18, 60, "CALL", "linear_1", "f32[8,128,768]"},
};

const Made* madeBy(const Ins& ins) {
  for (const Made& m : kMade)
    if (m.line == ins.line && m.col == ins.col && !std::strcmp(m.op, ins.op)) return &m;
  for (const Made& m : kMadeByEnd)
    if (m.line == ins.line && m.col == ins.end_col && !std::strcmp(m.op, ins.op)) return &m;
  return nullptr;
}

class Tracer {
 public:
  Tracer(Builder& b, Id compilation, Id block, Id attention)
      : b_(b), compilation_(compilation), block_(block), attention_(attention) {}

  // Nodes do not exist yet: their steps are filled in by link() once the captured graph is written.
  void run(const std::vector<Ins>& body, Id code, int depth) {
    for (const Ins& ins : body) step(ins, code, depth);
  }
  std::vector<std::pair<StepRow, std::string>> steps;

 private:
  void step(const Ins& ins, Id code, int depth) {
    const std::string op = ins.op;
    if (op == "KW_NAMES" || op == "PRECALL") return;
    StepRow row;
    row.compilation = compilation_;
    row.ordinal = static_cast<int64_t>(steps.size()) + 1;
    row.instruction = b_.instruction(code, ins.pc);
    row.depth = depth;
    const bool inlines = depth == 0 && ins.line == 31 && op == "CALL" && ins.col == 16;
    const Made* made = inlines ? nullptr : madeBy(ins);
    row.effect = effect(ins, made);
    row.event = inlines                ? "inline"
                : made                 ? "node"
                : op == "RETURN_VALUE" ? "return"
                : guards(op, ins)      ? "guard"
                                       : "";
    row.text = inlines ? "Attention.forward" : made ? std::string("adds node ") + made->node : "";
    steps.emplace_back(row, made ? made->node : "");
    if (inlines) run(kAttentionForward, attention_, 1);
  }
  static bool guards(const std::string& op, const Ins& ins) {
    return (op == "LOAD_METHOD" || op == "LOAD_GLOBAL" || op == "LOAD_ATTR") && ins.line != 15;
  }
  std::string effect(const Ins& ins, const Made* made) {
    const std::string op = ins.op;
    std::string push, store;
    int pop = 0;
    auto add = [&](const Value& v) { push += (push.empty() ? "" : ",") + json(v); };
    if (op == "LOAD_FAST") {
      const bool self = !std::strcmp(ins.argrepr, "self");
      add({self ? "module" : "tensor", ins.argrepr, self ? "Block" : "f32[8,128,768]",
           std::string("L['") + ins.argrepr + "']"});
    } else if (op == "LOAD_METHOD" || op == "LOAD_GLOBAL") {
      pop = op == "LOAD_METHOD" ? 1 : 0;
      add({"null", "NULL", "", ""});
      add({"module", op == "LOAD_GLOBAL" ? "F" : ins.argrepr, "guarded",
           op == "LOAD_GLOBAL" ? "G['F']" : ""});
    } else if (op == "LOAD_ATTR") {
      pop = 1;
      add({"function", std::string("F.") + ins.argrepr, "guarded", ""});
    } else if (op == "LOAD_CONST") {
      add({"constant", ins.argrepr, "constant", ""});
    } else if (op == "STORE_FAST") {
      pop = 1;
      store = quoted(ins.argrepr) + ":" + json({"tensor", last_, "f32[8,128,768]", ""});
    } else if (op == "CALL") {
      pop = ins.arg + 2;
      add({"tensor", made ? made->node : "attn", made ? made->type : "f32[8,128,768]", ""});
    } else if (op == "BINARY_OP") {
      pop = 2;
      add({"tensor", made ? made->node : "add", "f32[8,128,768]", ""});
    } else if (op == "UNPACK_SEQUENCE") {
      pop = 1;
      for (int i = ins.arg - 1; i >= 0; --i)
        add({"tensor", "getitem_" + std::to_string(i), "f32[8,12,128,64]", ""});
    } else if (op == "RETURN_VALUE") {
      pop = 1;
    }
    if (made) last_ = made->node;
    return "{\"pop\":" + std::to_string(pop) + ",\"push\":[" + push + "],\"store\":{" + store + "}}";
  }

  Builder& b_;
  Id compilation_, block_, attention_;
  std::string last_ = "x";
};

void writeGuards(Builder& b, Id code) {
  struct G {
    const char *source, *root, *kind, *expected;
    int pc;
    double cost;
  };
  const G guards[] = {
      {"L['self'].training", "L['self']", "value", "False", 4, 6},
      {"L['self'] version", "L['self']", "version", "7, eval", 6, 38},
      {"L['self'] 12 parameters", "L['self']", "tensor", "dtype, shape, strides, device", 6, 132},
      {"L['x'] dtype, device, keys", "L['x']", "tensor", "f32, cpu, plain", 58, 26},
      {"L['x'].requires_grad", "L['x']", "value", "False", 58, 9},
      {"L['x'].size()", "L['x']", "tensor", "8, 128, 768", 58, 40},
      {"L['x'].stride()", "L['x']", "tensor", "contiguous", 58, 14},
      {"G['F']", "G['F']", "identity", "module torch.nn.functional", 88, 12},
      {"G['F'].gelu", "G['F']", "identity", "same object", 100, 31},
      {"grad, autocast", "global state", "state", "off, off", 0, 12},
      {"default dtype", "global state", "state", "f32", 0, 11},
  };
  int64_t ordinal = 0;
  for (const G& g : guards)
    b.w.put(GuardRow{b.w.next(Kind::Guard), b.ids.compilation, ++ordinal, g.source, g.root, g.kind,
                     g.expected, b.instruction(code, g.pc), g.cost, 50, 0});
}

}  // namespace

void writeCapture(Builder& b) {
  Writer& w = b.w;
  RunRow run{w.next(Kind::Run), "transformer_block.py", "model(inputs)", "f32[8,128,768]", "cpu", "default",
             "finished"};
  run.started_unix_ns = 1'790'000'000'000'000'000;
  run.import_ns = 2'100'000'000;
  run.first_call_ns = 131'400'000;
  run.eager_ns = 14'620'000;
  run.compiled_ns = 13'190'000;
  w.put(run);
  b.ids.run = run.id;
  b.ids.file = b.file("/home/user/transformer_block.py", kBlockSource);
  const Id block = b.code(b.ids.file, "Block.forward", kBlockForward, 33);
  const Id attention = b.code(b.ids.file, "Attention.forward", kAttentionForward, 18);
  b.ids.frame = w.next(Kind::Frame);
  w.put(FrameRow{b.ids.frame, run.id, block, "captured", ""});
  b.ids.segment = w.next(Kind::Segment);
  w.put(SegmentRow{b.ids.segment, b.ids.frame, 0, 0, 0, b.instruction(block, 0)});
  b.ids.compilation = w.next(Kind::Compilation);
  w.put(CompilationRow{b.ids.compilation, b.ids.segment, 0, "0/0", "ok", "return", "", 254, 2'000'000,
                       118'000'000, 50});
  Tracer tracer(b, b.ids.compilation, block, attention);
  tracer.run(kBlockForward, block, 0);
  for (auto& [row, node] : tracer.steps) {
    row.id = w.next(Kind::Step);
    w.put(row);
    if (node == "gelu") b.ids.gelu_step = row.id;
    b.steps.emplace_back(row, node);
  }
  b.ids.gelu_instruction = b.instruction(block, 196);
  b.ids.gelu_span = b.span(b.ids.file, {32, 12, 32, 60});
  writeGuards(b, block);
  for (int i = 0; i < 50; ++i)
    w.put(CallRow{w.next(Kind::Call), run.id, i, b.ids.compilation, i ? "hit" : "compile",
                  140'000'000 + i * 14'000'000, i ? 13'190'000 : 131'400'000});
  b.stage(b.ids.compilation, "source", 36, 0.1);
  b.stage(b.ids.compilation, "bytecode",
          static_cast<int64_t>(kBlockForward.size() + kAttentionForward.size()), 0.2);
}

}  // namespace vitrine::fixture
