// Golden files of the partition: tests/golden/partition/<case>.txt holds a joint graph, then what it is
// divided into and why. The joint graph's shape is read off it: placeholders whose source begins with
// "gradient" are tangents, the forward part ends before the node named in the first line, "# backward from
// %name, N results". BLESS=1 rewrites the expectations.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <sstream>

#include "core/autodiff/min_cut.h"
#include "core/autodiff/partition.h"
#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/check.h"
#include "tests/unit/golden_folder.h"

using namespace vitrine;

namespace {

autodiff::JointGraph joint_graph(const std::string& text, const std::shared_ptr<ir::NodeIds>& ids) {
  auto graph = ir::parse(text.substr(text.find("graph ")), ids);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what + " at " + graph.error().where));
  autodiff::JointGraph joint{graph.value()};
  std::istringstream head(text.substr(text.find("# backward from %") + 17));
  std::string first, results;
  head >> first >> results;
  first.pop_back();
  joint.results = std::stoul(results);
  for (const ir::Node& n : graph.value()->nodes()) {
    if (n.name == first) break;
    const bool input = n.kind != ir::NodeKind::op;
    (!input ? joint.forward : n.source.starts_with("gradient") ? joint.tangents : joint.leading) += 1;
  }
  return joint;
}

std::string show(const autodiff::JointGraph& joint, const std::shared_ptr<ir::NodeIds>& ids) {
  const autodiff::Partition parts = autodiff::partition(joint, ids);
  std::string out;
  for (const ir::GraphPtr& g : {parts.forward, parts.backward}) {
    auto broken = ops::verify(*g);
    CHECK_MESSAGE(broken.empty(), ir::show_broken(*g, broken));
    out += ir::print(*g);
  }
  for (const autodiff::Crossing& c : parts.crossings) {
    CHECK(parts.backward->find(c.here) != nullptr);
    out += std::string(autodiff::crossing_name(c.kind)) + " %" + joint.graph->node(c.value.node).name + " " +
           std::to_string(c.bytes) + ": " + c.reason + "\n";
  }
  return out + "saved " + std::to_string(parts.saved_bytes) + " of " + std::to_string(parts.eager_bytes) +
         " bytes\n";
}

}  // namespace

TEST_CASE("joint graphs are divided as their golden files say") {
  const int cases = check_golden_folder("partition", "---\n", [](const std::string& text) {
    auto ids = std::make_shared<ir::NodeIds>();
    return show(joint_graph(text, ids), ids);
  });
  CHECK(cases > 0);
}

TEST_CASE("a minimum cut") {
  // Two paths of 3 and 5; the second narrows to 2 near the sink.
  autodiff::MinCut cut;
  const int s = cut.add(), a = cut.add(), b = cut.add(), c = cut.add(), t = cut.add();
  cut.edge(s, a, 3);
  cut.edge(a, t, autodiff::MinCut::kInfinite);
  cut.edge(s, b, 5);
  cut.edge(b, c, 2);
  cut.edge(c, t, autodiff::MinCut::kInfinite);
  const std::vector<bool> behind = cut.sink_side(s, t);
  CHECK(cut.flow() == 5);
  CHECK(behind == std::vector<bool>{false, true, false, true, true});
}

TEST_CASE("of equal cuts the one nearest to the sink, and an infinite one is an error") {
  autodiff::MinCut cut;
  const int s = cut.add(), a = cut.add(), b = cut.add(), t = cut.add();
  cut.edge(s, a, 4);
  cut.edge(a, b, 4);
  cut.edge(b, t, 4);
  CHECK(cut.sink_side(s, t) == std::vector<bool>{false, false, false, true});
  autodiff::MinCut open;
  const int from = open.add(), to = open.add();
  open.edge(from, to, autodiff::MinCut::kInfinite);
  CHECK_THROWS(open.sink_side(from, to));
}

namespace {

constexpr const char* kChain =
    "# backward from %cos, 1 results\n"
    "graph joint {\n"
    "  %x = placeholder() : f32[8,4]\n"
    "  %w = placeholder() : f32[4,4]\n"
    "  %tangent_0 = placeholder() [source=\"gradient of result 0\"] : f32[8,4]\n"
    "  %mm = aten.mm.default(%x, %w) : f32[8,4]\n"
    "  %a = aten.mul.Tensor(%mm, 2) : f32[8,4]\n"
    "  %s = aten.sin.default(%a) : f32[8,4]\n"
    "  %e = aten.exp.default(%s) : f32[8,4]\n"
    "  %cos = aten.cos.default(%a) : f32[8,4]\n"
    "  %g1 = aten.mul.Tensor(%tangent_0, %e) : f32[8,4]\n"
    "  %g2 = aten.mul.Tensor(%g1, %cos) : f32[8,4]\n"
    "  %xt = aten.t.default(%x) : f32[4,8]{1,4}\n"
    "  %gw = aten.mm.default(%xt, %g2) : f32[4,4]\n"
    "  return %e, %gw\n"
    "}\n";

// "saved mm, recomputed a": without inputs and results.
std::string moved(const autodiff::Pins& pins, autodiff::Partition* whole = nullptr) {
  auto ids = std::make_shared<ir::NodeIds>();
  const autodiff::JointGraph joint = joint_graph(kChain, ids);
  const autodiff::Partition parts = autodiff::partition(joint, ids, pins);
  for (const ir::GraphPtr& g : {parts.forward, parts.backward}) CHECK(ops::verify(*g).empty());
  std::string out;
  for (const autodiff::Crossing& c : parts.crossings)
    if (c.kind == autodiff::Crossing::Kind::saved || c.kind == autodiff::Crossing::Kind::recomputed)
      out += (out.empty() ? "" : ", ") + std::string(autodiff::crossing_name(c.kind)) + " " +
             joint.graph->node(c.value.node).name;
  if (whole) *whole = parts;
  return out;
}

}  // namespace

TEST_CASE("a pin says what is kept and what is computed again") {
  CHECK(moved({}) == "saved mm, recomputed a");
  CHECK(moved({{"a", autodiff::Pin::saved}}) == "saved a");
  autodiff::Partition whole;
  CHECK(moved({{"mm", autodiff::Pin::recomputed}}, &whole) == "recomputed mm, recomputed a");
  CHECK(whole.saved_bytes == 0);
  CHECK(whole.refused.empty());
}

TEST_CASE("a pin that cannot be obeyed is told with its reason") {
  autodiff::Partition whole;
  CHECK(moved({{"e", autodiff::Pin::recomputed}, {"s", autodiff::Pin::saved}, {"none", autodiff::Pin::saved}},
              &whole) == "saved mm, recomputed a");
  REQUIRE(whole.refused.size() == 3);
  CHECK(whole.refused[0] == "e as recomputed: it is a result, which is kept anyway");
  CHECK(whole.refused[1] == "none as saved: there is no such value");
  CHECK(whole.refused[2] == "s as saved: backward does not need it");
}
