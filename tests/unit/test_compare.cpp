// Two sessions side by side: matched by structure, told apart only beyond the noise, with the verdict's
// reason.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/session/compare/equal_changes.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;
using What = SessionChange::What;
using Sign = SessionChange::Sign;

namespace {

std::vector<double> around(double ns, int calls = 20) {
  std::vector<double> out;
  for (int i = 0; i < calls; ++i) out.push_back(ns * (1 + 0.01 * (i % 5 - 2)));
  return out;
}

ComparedKernel kernel(const std::string& label, const std::string& name, std::set<std::string> nodes,
                      double ns) {
  ComparedKernel k{label, name, "generated", "8 × 64", "text of " + name, std::move(nodes)};
  k.ns = ns, k.lower_ns = 0.98 * ns, k.upper_ns = 1.02 * ns, k.calls = 20;
  return k;
}

// A model of two operators that one kernel computes, or two.
ComparedSession session_of(bool fused, double call_ns) {
  ComparedSession s;
  s.status = "finished";
  s.compiled_ns = around(call_ns);
  ComparedProgram p{"Block.forward 0/0", "0/0", "ok", "return"};
  p.nodes = {{"fc aten.add #0", "add", "f32[8,64]", "K0"},
             {"aten.gelu #0", "gelu", "f32[8,64]", fused ? "K0" : "K1"}};
  p.guards = {"L['x'], tensor: f32[8,64]"};
  if (fused) {
    p.kernels = {kernel("K0", "add_gelu", {"fc aten.add #0", "aten.gelu #0"}, 1e6)};
  } else {
    p.kernels = {kernel("K0", "add", {"fc aten.add #0"}, 0.8e6),
                 kernel("K1", "gelu", {"aten.gelu #0"}, 0.7e6)};
    p.rejected[std::minmax<std::string>("fc aten.add #0", "aten.gelu #0")] =
        "another kernel writes between them";
  }
  s.programs = {p};
  return s;
}

size_t count(const SessionDifference& d, What what, Sign sign) {
  return static_cast<size_t>(std::count_if(d.changes.begin(), d.changes.end(), [&](const SessionChange& c) {
    return c.what == what && c.sign == sign;
  }));
}

}  // namespace

TEST_CASE("a session is the same as itself") {
  const ComparedSession s = session_of(true, 1e6);
  const SessionDifference d = compare_sessions(s, s);
  CHECK(d.same());
  CHECK(d.verdict.starts_with("No difference in time beyond the noise"));
  CHECK(d.verdict.ends_with("What was compiled is the same."));
  CHECK_FALSE(is_slower(d, 0));
}

TEST_CASE("a kernel that came apart is the verdict, with the decision's reason") {
  const SessionDifference d = compare_sessions(session_of(true, 1.0e6), session_of(false, 1.5e6));
  CHECK(d.verdict.starts_with("500 µs slower: a compiled call took 1.00 ms, now 1.50 ms (1.50×"));
  CHECK(d.verdict.find(
            "Kernel K0 add_gelu is now K0 add, K1 gelu, because another kernel writes between them.") !=
        std::string::npos);
  CHECK(count(d, What::Fusion, Sign::Removed) == 1);
  CHECK(count(d, What::Kernel, Sign::Removed) == 1);
  CHECK(count(d, What::Kernel, Sign::Added) == 2);
  CHECK(is_slower(d, 0.05));
  CHECK_FALSE(is_slower(d, 0.6));
  const SessionDifference back = compare_sessions(session_of(false, 1.5e6), session_of(true, 1.0e6));
  CHECK(back.verdict.starts_with("500 µs faster"));
  CHECK(back.verdict.find("What was K0 add, K1 gelu is now one kernel, K0 add_gelu.") != std::string::npos);
}

TEST_CASE("a name keeps its case, and a ratio far below one its digits") {
  ComparedSession a = session_of(true, 36e6), b = session_of(true, 162e3);
  a.settings["mode"] = "default", b.settings["mode"] = "max-autotune";
  const SessionDifference d = compare_sessions(a, b);
  CHECK(d.verdict.find("(0.0045×, ") != std::string::npos);
  CHECK(d.verdict.find(" mode was default, now max-autotune.") != std::string::npos);
}

TEST_CASE("what lies within the scatter of the repeats is no difference") {
  CHECK_FALSE(compare_times("", around(1e6), around(1.005e6)).differs);
  CHECK(compare_times("", around(1e6), around(1.1e6)).differs);
  CHECK_FALSE(compare_times("", around(1e6, 4), around(2e6, 4)).known);
  CHECK_FALSE(compare_times("", {}, around(2e6)).known);
}

TEST_CASE("on a busy machine most calls must be apart, and equal texts are one kernel") {
  std::vector<double> calm = around(1e6), busy = around(1.2e6);
  for (size_t i = 0; i < 5; ++i) busy[i] = 0.9e6;
  CHECK(compare_times("", calm, busy).differs);
  CHECK_FALSE(compare_times("", calm, busy, true).differs);
  ComparedSession a = session_of(true, 1e6), b = a;
  b.programs[0].kernels[0] = kernel("K0", "add_gelu", {"fc aten.add #0", "aten.gelu #0"}, 3e6);
  CHECK(count(compare_sessions(a, b), What::Kernel, Sign::Changed) == 1);
  b.busy = b.programs[0].busy = true;
  CHECK(count(compare_sessions(a, b), What::Kernel, Sign::Changed) == 0);
}

TEST_CASE("what another tool recorded has no times, so that nothing is won or lost by them") {
  ComparedSession ours = session_of(true, 1e6), other = session_of(true, 1e6);
  other.imported = other.programs[0].imported = true;
  other.programs[0].key = "inner 0/0", other.programs[0].kernels.clear();
  other.compiled_ns.clear();
  ours.busy = true;
  for (const SessionDifference& d : {compare_sessions(ours, other), compare_sessions(other, ours)}) {
    for (const SessionChange& change : d.changes) CHECK(change.ns == 0);
    CHECK(d.verdict.starts_with("Times cannot be compared: what was imported has no measured calls."));
    CHECK(d.verdict.find("did other work") == std::string::npos);
  }
}

TEST_CASE("ten thousand kernels are paired at once") {
  ComparedSession a = session_of(true, 1e6);
  a.programs[0].kernels.clear();
  for (int i = 0; i < 10'000; ++i)
    a.programs[0].kernels.push_back(
        kernel("K" + std::to_string(i), "add", {"n" + std::to_string(i), "m" + std::to_string(i)}, 1e3));
  ComparedSession b = a;
  std::reverse(b.programs[0].kernels.begin(), b.programs[0].kernels.end());
  CHECK(count(compare_sessions(a, b), What::Kernel, Sign::Removed) == 0);
}

// Twelve layers with a kernel and a weight each.
ComparedSession layers(const std::string& op, double ns) {
  ComparedSession s;
  s.status = "finished";
  ComparedProgram p{"Net.forward 0/0", "0/0", "ok", "return"};
  for (int i = 0; i < 12; ++i) {
    const std::string layer = "layers." + std::to_string(i), label = "K" + std::to_string(2 * i);
    const std::string first = layer + ".up aten.add #0", second = layer + " aten." + op + " #0";
    p.nodes.push_back({first, i ? "add_" + std::to_string(i) : "add", "f32[8,64]", label});
    p.nodes.push_back({second, i ? op + "_" + std::to_string(i) : op, "f32[8,64]", label});
    p.kernels.push_back(kernel(label, "add_" + op, {first, second}, ns));
    p.guards.insert("L['self']." + layer + ".up.weight, tensor: f32[64," + (op == "gelu" ? "64]" : "32]"));
  }
  s.programs = {p};
  return s;
}

TEST_CASE("what differs in each of twelve equal layers alike is one row") {
  const SessionDifference d = compare_sessions(layers("gelu", 1e3), layers("silu", 3e3));
  const auto rows = equal_changes(d);
  std::vector<std::string> told;
  for (const EqualChanges& row : rows)
    told.push_back(row.times() + row.change.text + " " + row.change.before + " " + row.change.after + " " +
                   row.change.module);
  const std::vector<std::string> expected = {
      "12 operators: gelu ×12 (layers.0…11 aten.gelu)   ",
      "12 operators: silu ×12 (layers.0…11 aten.silu)   ",
      "×12 layers: L['self'].layers.0…11.up.weight, tensor: f32[64,64]   ",
      "×12 layers: L['self'].layers.0…11.up.weight, tensor: f32[64,32]   ",
      "×12 layers: K0…22 add_silu  36.0 µs layers.0…11",  // what costs most first
      "×12 layers: K0…22 add_gelu 12.0 µs  layers.0…11"};
  REQUIRE(told.size() == expected.size());
  for (size_t i = 0; i < told.size(); ++i) CHECK(told[i] == expected[i]);
  CHECK(rows.back().changes.size() == 12);
  CHECK(rows.back().change.ns == doctest::Approx(-12e3));
  size_t all = 0;
  for (const EqualChanges& row : rows) all += row.changes.size();
  CHECK(all == d.changes.size());
}

TEST_CASE("sizes, values and versions are no numbers of layers") {
  for (const char* text : {"L['x'], tensor: f32[8,64]", "L['scale'] == 1.5", "torch 2.13.0",
                           "G['n'], value: 3", "f32[8]", "x aten.add.Tensor"})
    CHECK(LayerText(text).pattern() == text);
  CHECK(LayerText("K7 mm").pattern() == LayerText("K12 mm").pattern());
  CHECK(LayerText("3.up aten.add").of_layer());
  CHECK(LayerText::merged({LayerText("L['p'][0]"), LayerText("L['p'][4]")}) == "L['p'][0, 4]");
  CHECK(LayerText("2 layers").pattern() != LayerText("3 layers").pattern());
}

TEST_CASE("labels, ids and lines may be others") {
  ComparedSession a = session_of(true, 1e6), b = a;
  b.programs[0].kernels[0].label = "K4";
  for (ComparedNode& node : b.programs[0].nodes) node.group = "K4", node.name += "_1";
  CHECK(compare_sessions(a, b).changes.empty());
}

TEST_CASE("breaks, guards, settings and outputs are told apart by sign") {
  ComparedSession a = session_of(true, 1e6), b = session_of(true, 2e6);
  b.breaks["block.py side_effect print"] = {"print(x)", "block.py:7:4", "call of print()", 20, 5e5};
  b.programs[0].guards = {"L['x'], tensor: f32[16,64]"};
  a.settings["mode"] = "default", b.settings["mode"] = "max-autotune";
  a.outputs["output"] = {"equal", "", 0}, b.outputs["output"] = {"differs", "max 0.5", 0.5};
  const SessionDifference d = compare_sessions(a, b);
  CHECK(count(d, What::Break, Sign::Added) == 1);
  CHECK(count(d, What::Guard, Sign::Added) == 1);
  CHECK(count(d, What::Guard, Sign::Removed) == 1);
  CHECK(count(d, What::Setting, Sign::Changed) == 1);
  CHECK(count(d, What::Output, Sign::Changed) == 1);
  CHECK(d.verdict.find("A graph break was added at block.py:7:4, print(x): call of print().") !=
        std::string::npos);
}

TEST_CASE("where eager differs the machine is named") {
  ComparedSession a = session_of(true, 1e6), b = session_of(true, 2e6);
  a.eager_ns = around(3e6), b.eager_ns = around(6e6);
  const SessionDifference d = compare_sessions(a, b);
  CHECK(d.verdict.find("Nothing that was recorded explains it.") != std::string::npos);
  CHECK(d.verdict.find("Eager itself is slower there (2.00×)") != std::string::npos);
}

// The same program as PyTorch's compiler tells it: no class before the function, no modules, other names.
ComparedSession imported_session(const std::string& second) {
  ComparedSession s;
  s.status = "finished";
  s.imported = true;
  ComparedProgram other{"warm_up 0/0", "0/0", "ok", "return"}, p{"forward 1/0", "1/0", "ok", "return"};
  other.calls = {{"sum", "f32[]"}};
  p.calls = {{"linear", "f32[8,64]"}, {second, "f32[8,64]"}};
  p.guards = {"check_tensor"};
  p.kernels = {kernel("K0", "cpp_fused_add_gelu_native_layer_norm_0", {}, 0)};
  other.imported = p.imported = true;
  s.programs = {other, p};
  s.frames = {{"forward", "captured"}, {"warm_up", "captured"}};
  s.settings["entry"] = "A structured log of torch.compile";
  return s;
}

TEST_CASE("programs of two compilers are paired where their captured graphs are the same") {
  ComparedSession ours = session_of(true, 1e6);
  ours.programs[0].calls = {{"linear", "f32[8,64]"}, {"gelu", "f32[8,64]"}};
  ours.programs[0].kernels[0].name = "add_gelu_layer_norm";
  ours.programs.push_back(ours.programs[0]);
  ours.programs[1].key = "Other.forward 0/0";
  ours.programs[1].calls = {{"relu", "f32[8,64]"}};
  ours.frames = {{"Block.forward", "captured"}, {"Other.forward", "captured"}};
  ours.settings["threads"] = "2";
  for (const char* second : {"gelu", ""}) {  // "": imported as an expression whose operator is not told
    const SessionDifference d = compare_sessions(ours, imported_session(second));
    REQUIRE(d.paired.size() == 1);
    CHECK(d.paired[0].before == "Block.forward 0/0");
    CHECK(d.paired[0].after == "forward 1/0");
    CHECK(d.paired[0].same_graph);
    CHECK(d.paired[0].calls == 2);
    // What the other tool does not tell is no difference, and the frame is the same under another name.
    CHECK(count(d, What::Setting, Sign::Changed) == 0);
    CHECK(count(d, What::Frame, Sign::Added) == 1);
    CHECK(count(d, What::Frame, Sign::Removed) == 1);
    for (const SessionChange& c : d.changes)
      if (c.what == What::Kernel && c.sign == Sign::Changed)
        CHECK(c.reason.find("was K0 add_gelu_layer_norm") == 0);
    CHECK(count(d, What::Kernel, Sign::Changed) == 1);
  }
  // Another graph is no counterpart.
  CHECK(compare_sessions(ours, imported_session("tanh")).paired.empty());
}

TEST_CASE("words of calls and kernels are the same whoever names them") {
  CHECK(call_word("torch._C._nn.linear") == call_word("torch.nn.functional.linear"));
  CHECK(call_word("qkv.permute") == call_word("Tensor.permute"));
  CHECK(call_word("aten._softmax.default") == "softmax");
  CHECK(call_word("python").empty());
  CHECK(kernel_likeness("cpp_fused_add_native_layer_norm_view_1", "add_add_layer_norm") == 1);
  CHECK(kernel_likeness("cpp_fused_gelu_view_2", "layer_norm") == 0);
  CHECK(kernel_likeness("addmm", "product_bias") == 1);
}

TEST_CASE("a hand-made session is read by names") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vitrine_compare_" + std::to_string(getpid()) + ".vitrine"))
          .string();
  {
    auto made = Writer::create(path);
    REQUIRE(made);
    auto& w = *made.value();
    const RunRow run{
        .id = w.next(Kind::Run), .label = "m.py", .device = "cpu", .mode = "default", .status = "finished"};
    const CodeRow code{.id = w.next(Kind::Code), .qualname = "M.forward"};
    const FrameRow frame{w.next(Kind::Frame), run.id, code.id, "captured", ""};
    SegmentRow segment;
    segment.id = w.next(Kind::Segment), segment.frame = frame.id;
    CompilationRow c;
    c.id = w.next(Kind::Compilation), c.segment = segment.id, c.label = "0/0", c.status = "ok";
    GraphRow graph;
    graph.id = w.next(Kind::Graph), graph.compilation = c.id, graph.stage = "fused";
    w.put(run), w.put(code), w.put(frame), w.put(segment), w.put(c), w.put(graph);
    for (int i = 0; i < 2; ++i) {
      NodeRow node;
      node.id = w.next(Kind::Node), node.graph = graph.id, node.ordinal = node.stable = i;
      node.kind = "op", node.op = "aten.add.Tensor", node.module = "fc", node.name = "add",
      node.group_label = "K0";
      w.put(node);
    }
    GuardRow guard;
    guard.id = w.next(Kind::Guard), guard.compilation = c.id, guard.source = "G['f']",
    guard.kind = "identity";
    guard.expected = "is <function f at 0x7f81f5e2c040>";
    w.put(guard);
    for (int i = 0; i < 6; ++i) w.put(TimingRow{run.id, "compiled", i, 1000});
    w.finish("finished");
  }
  auto opened = Reader::open(path);
  REQUIRE(opened);
  const ComparedSession s = compared_session(*opened.value());
  REQUIRE(s.programs.size() == 1);
  CHECK(s.programs[0].key == "M.forward 0/0");
  REQUIRE(s.programs[0].nodes.size() == 2);
  CHECK(s.programs[0].nodes[1].key == "fc aten.add.Tensor #1");
  CHECK(s.programs[0].guards.count("G['f'], identity: is <function f>") == 1);
  CHECK(s.compiled_ns.size() == 6);
  CHECK(compared_session(*opened.value(), "0/0").programs[0].key == "M.forward");
  CHECK(compared_session(*opened.value(), "0/9").programs.empty());
  std::filesystem::remove(path);
}

// Of two operators of a kind the first is gone: what is left is the second, not the first with another type.
TEST_CASE("operators of one kind are matched by their types before their order") {
  auto of = [](bool first) {
    ComparedSession s = session_of(true, 1e6);
    ComparedProgram& p = s.programs[0];
    p.nodes.clear(), p.kernels.clear();
    int n = 0;
    std::set<std::string> last;
    for (const char* type : {"f32[8,128]", "f32[8,64]"}) {
      if (!first && n == 0 && std::string(type) == "f32[8,128]") continue;
      const std::string key = "fc aten.add #" + std::to_string(n++);
      const bool residual = std::string(type) == "f32[8,64]";
      p.nodes.push_back({key, residual ? "add" : "add_1", type, residual ? "K1" : "K0"});
      p.kernels.push_back(kernel(residual ? "K1" : "K0", residual ? "residual" : "inner", {key}, 1e6));
    }
    return s;
  };
  const SessionDifference d = compare_sessions(of(true), of(false));
  CHECK(count(d, What::Graph, Sign::Changed) == 0);
  CHECK(count(d, What::Graph, Sign::Removed) == 1);
  REQUIRE(count(d, What::Kernel, Sign::Removed) == 1);
  CHECK(count(d, What::Kernel, Sign::Added) + count(d, What::Kernel, Sign::Changed) == 0);
  for (const SessionChange& c : d.changes)
    if (c.what == What::Kernel) CHECK(c.text == "K0 inner");
  CHECK(count(compare_sessions(of(false), of(true)), What::Graph, Sign::Added) == 1);
}

TEST_CASE("sessions of different programs are told to be that") {
  const ComparedSession a = session_of(true, 1e6);
  ComparedSession b = session_of(true, 1e6);
  b.programs[0].key = "step 0/0";
  CHECK(compare_sessions(a, b).paired.size() == 1);  // the same under another name
  b.programs[0].nodes = {{"aten.mm #0", "mm", "f32[8,64]", "K0"}};
  b.programs[0].kernels = {kernel("K0", "mm", {"aten.mm #0"}, 1e6)};
  b.compiled_ns.clear();
  const SessionDifference d = compare_sessions(a, b);
  CHECK(d.paired.empty());
  CHECK(d.unlike);
  CHECK(d.verdict == "The sessions are of different programs: nothing that was compiled is in both.");
  for (const SessionChange& c : d.changes)
    if (c.what == What::Kernel)
      CHECK(c.where == (c.sign == Sign::Removed ? "Block.forward 0/0" : "step 0/0"));
}

TEST_CASE("too few calls are told with their number") {
  ComparedSession a = session_of(true, 1e6);
  a.compiled_ns.clear();
  a.programs[0].hits_ns = {1e6, 1e6};
  CHECK(compare_sessions(a, session_of(true, 1e6))
            .verdict.starts_with("Times cannot be compared: that needs 5 measured calls of the same on each "
                                 "side, and there are 2 and 20."));
}
