// Golden files: tests/golden/passes/<pass>.txt holds, for each case, a graph and what the pass makes of it.
// BLESS=1 rewrites the expectations; a failure prints the difference and that very command.
//
//   # what the case shows
//   graph aten { ... }
//   ---
//   graph aten { ... }        or "(unchanged)"
//   ===
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/check.h"
#include "core/passes/pipeline.h"

using namespace vitrine;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = "tests/golden/passes";

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// The lines that differ, "-" expected and "+" found, by a longest common subsequence.
std::string difference(const std::string& expected, const std::string& found) {
  auto a = lines(expected), b = lines(found);
  std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out += "  " + a[i++] + "\n", ++j;
    } else if (j < b.size() && (i == a.size() || common[i][j + 1] >= common[i + 1][j])) {
      out += "+ " + b[j++] + "\n";
    } else {
      out += "- " + a[i++] + "\n";
    }
  }
  return out;
}

struct Case {
  std::string comment, input, expected;
};

std::vector<Case> read(const fs::path& path) {
  std::vector<Case> out;
  std::ifstream file(path);
  Case now;
  std::string* part = &now.input;
  for (std::string line; std::getline(file, line);) {
    if (line == "===") {
      out.push_back(now);
      now = {};
      part = &now.input;
    } else if (line == "---") {
      part = &now.expected;
    } else if (line.starts_with("# ") && now.input.empty()) {
      now.comment += line + "\n";
    } else {
      *part += line + "\n";
    }
  }
  return out;
}

const passes::Pass& pass_named(const std::string& name) {
  for (const passes::Pass& pass : passes::pipeline()) {
    if (pass.name == name) return pass;
  }
  FAIL("no pass is called " << name);
  throw std::logic_error(name);
}

std::string checked(const ir::GraphPtr& graph) {
  auto broken = ops::verify(*graph);
  CHECK_MESSAGE(broken.empty(), ir::show_broken(*graph, broken));
  std::string text = ir::print(*graph);
  auto again = ir::parse(text);
  REQUIRE(again.ok());
  CHECK(ir::print(*again.value()) == text);
  return text;
}

std::string result(const passes::Pass& pass, const std::string& input) {
  auto ids = std::make_shared<ir::NodeIds>();
  auto graph = ir::parse(input, ids);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what + " at " + graph.error().where));
  std::string before = checked(graph.value());
  ir::GraphPtr after = pass.run(graph.value(), ids);
  if (after == graph.value()) return "(unchanged)\n";
  std::string text = checked(after);
  // A pass that changes nothing must say so by returning its argument.
  CHECK_MESSAGE(text != before, "a new graph that reads as the old one");
  return text;
}

}  // namespace

TEST_CASE("every pass does to each golden graph what its file says") {
  const char* bless = std::getenv("BLESS");
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    std::string name = entry.path().stem().string();
    CAPTURE(name);
    const passes::Pass& pass = pass_named(name);
    std::string text;
    auto cases = read(entry.path());
    CHECK_FALSE(cases.empty());
    for (const Case& c : cases) {
      CAPTURE(c.comment);
      std::string found = result(pass, c.input);
      text += c.comment + c.input + "---\n" + found + "===\n";
      if (!bless)
        CHECK_MESSAGE(found == c.expected,
                      "\n" << difference(c.expected, found) << "to accept: BLESS=1 ctest -R golden");
    }
    if (bless) std::ofstream(entry.path()) << text;
  }
}

TEST_CASE("a call that takes the place of several comes of each of them") {
  for (const char* name : {"linear_activation", "convolution_relu"}) {
    for (const Case& c : read(fs::path(kFolder) / (std::string(name) + ".txt"))) {
      CAPTURE(name);
      CAPTURE(c.comment);
      auto ids = std::make_shared<ir::NodeIds>();
      const ir::GraphPtr before = ir::parse(c.input, ids).take(), after = pass_named(name).run(before, ids);
      std::set<ir::NodeId> stood_for;
      for (const ir::Node& node : after->nodes())
        stood_for.insert(node.origin.from.begin(), node.origin.from.end());
      for (const ir::Node& node : before->nodes()) {
        const bool product = node.op == "aten.addmm.default" || node.op == "aten.convolution.default";
        if (!product || before->users()[before->position(node.id)].empty()) continue;
        if (after->find(node.id) && !after->users()[after->position(node.id)].empty()) continue;
        CHECK_MESSAGE(stood_for.contains(node.id), node.name);
      }
    }
  }
}

TEST_CASE("every pass of the pipeline has a golden file") {
  for (const passes::Pass& pass : passes::pipeline()) {
    CAPTURE(pass.name);
    CHECK(fs::exists(kFolder / (std::string(pass.name) + ".txt")));
    CHECK_FALSE(pass.sentence.empty());
  }
}

TEST_CASE("a difference shows what was expected and what was found") {
  CHECK(difference("a\nb\nc\n", "a\nx\nc\n") == "  a\n+ x\n- b\n  c\n");
}
