// Golden files of the derivative: tests/golden/gradients/<case>.txt holds an ATen graph, then the joint graph
// that the gradient rules make of it, or why they refuse. The first line says whose gradients are wanted:
// "# gradients of %x, %w". BLESS=1 rewrites the expectations.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <set>

#include "core/autodiff/derive.h"
#include "core/autodiff/rules.h"
#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/call.h"
#include "core/ops/check.h"
#include "tests/unit/golden_folder.h"

using namespace vitrine;

namespace {

autodiff::ForwardProgram program_of(const std::string& text, const std::shared_ptr<ir::NodeIds>& ids,
                                    std::vector<ir::Arg>& results) {
  auto graph = ir::parse(text.substr(text.find("graph ")), ids);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what + " at " + graph.error().where));
  autodiff::ForwardProgram program;
  const std::string head = text.substr(0, text.find('\n')) + ",";
  for (const ir::Node& n : graph.value()->nodes()) {
    (n.kind == ir::NodeKind::op ? program.forward : program.leading).push_back(n);
    if (n.kind != ir::NodeKind::op && head.find("%" + n.name + ",") != std::string::npos)
      program.wanted.push_back(n.id);
  }
  for (const ir::Arg& r : graph.value()->results()) {
    ir::Node tangent;
    tangent.id = ids->next++;
    tangent.kind = ir::NodeKind::placeholder;
    tangent.name = "tangent_" + std::to_string(program.tangents.size());
    tangent.outputs = {graph.value()->node(r.as<ir::Ref>().node).type()};
    program.tangents.push_back(tangent);
    program.results.push_back(r.as<ir::Ref>());
  }
  results = graph.value()->results();
  program.followed = autodiff::follow_all(program);
  return program;
}

std::string show(const std::string& text) {
  auto ids = std::make_shared<ir::NodeIds>();
  std::vector<ir::Arg> results;
  const autodiff::ForwardProgram program = program_of(text, ids, results);
  auto derived = autodiff::derive(program, ids);
  if (!derived) return "refused: " + derived.error().what + "\n";
  ir::Builder b("joint", ids);
  std::set<ir::NodeId> forward;
  for (const auto* nodes : {&program.leading, &program.tangents, &program.forward})
    for (const ir::Node& n : *nodes) b.add(n), forward.insert(n.id);
  for (const ir::Node& n : derived.value().backward) {
    CHECK(n.origin.rule == "gradient");
    REQUIRE(n.origin.from.size() == 1);
    CHECK(forward.contains(n.origin.from[0]));  // its forward node
    b.add(n);
  }
  for (const auto& g : derived.value().gradients)
    if (g)
      results.emplace_back(*g);
    else
      results.emplace_back();
  const ir::GraphPtr joint = b.finish(results);
  auto broken = ops::verify(*joint);
  CHECK_MESSAGE(broken.empty(), ir::show_broken(*joint, broken));
  return ir::print(*joint);
}

}  // namespace

TEST_CASE("derivatives are as their golden files say") {
  CHECK(check_golden_folder("gradients", "---\n", show) >= 6);
}

TEST_CASE("a row that names a rule has one, and a rule has its row") {
  std::set<std::string_view> rules;
  for (const autodiff::RuleRow* rule : autodiff::all_rules()) {
    CAPTURE(rule->op);
    const ops::OpRow* row = ops::find(rule->op);
    REQUIRE(row);
    CHECK(row->gradient == ops::kRule);
    rules.insert(rule->op);
  }
  for (const ops::OpRow* row : ops::all()) {
    CAPTURE(row->name);
    if (row->gradient == ops::kRule) CHECK(rules.contains(row->name));
  }
}
