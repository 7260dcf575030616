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
#include "core/pipeline/optimise.h"

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

const pipeline::Row& pass_named(const std::string& name) {
  for (const pipeline::Row& pass : pipeline::rows()) {
    if (pass.name == name && pass.pass) return pass;
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

std::string result(const pipeline::Row& pass, const std::string& input) {
  auto ids = std::make_shared<ir::NodeIds>();
  auto graph = ir::parse(input, ids);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what + " at " + graph.error().where));
  std::string before = checked(graph.value());
  ir::GraphPtr after = pass.pass(graph.value(), ids);
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
    const pipeline::Row& pass = pass_named(name);
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
      const ir::GraphPtr before = ir::parse(c.input, ids).take(), after = pass_named(name).pass(before, ids);
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

TEST_CASE("every row of the pipeline has a golden, a sentence and one way to run") {
  for (const pipeline::Row& row : pipeline::rows()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.golden.empty());
    CHECK(fs::exists(fs::path("tests/golden") / row.golden));
    CHECK_FALSE(row.sentence.empty());
    CHECK((row.pass == nullptr) != (row.build == nullptr));
    if (row.pass) CHECK(fs::path("tests/golden") / row.golden == kFolder / (std::string(row.name) + ".txt"));
  }
}

TEST_CASE("what a user switches off is a row that can be") {
  CHECK(pipeline::cannot_disable("cse").empty());
  CHECK(pipeline::cannot_disable("horizontal_fusion").empty());
  CHECK(pipeline::cannot_disable("loops") == "loops cannot be switched off: kernels are made of loops");
  const std::string said = pipeline::cannot_disable("cze");
  CHECK(said.starts_with("no pass is called cze; there are canonicalise, plain_batch_norm, "));
  CHECK(said.find("cse") != std::string::npos);
  CHECK(said.find("loops") == std::string::npos);
  CHECK(said.find("dce") == said.rfind("dce"));
}

TEST_CASE("a row that is switched off, by the user or by what there is, does not run") {
  const auto row = [](std::string_view name) {
    return *std::find_if(pipeline::rows().begin(), pipeline::rows().end(),
                         [&](const pipeline::Row& r) { return r.name == name; });
  };
  pipeline::Settings settings;
  for (const pipeline::Row& r : pipeline::rows()) CHECK_MESSAGE(pipeline::runs(r, settings), r.name);
  settings.disabled = {"cse", "loops"};
  CHECK_FALSE(pipeline::runs(row("cse"), settings));
  CHECK(pipeline::runs(row("loops"), settings));
  settings.matrix_f32 = false;
  CHECK_FALSE(pipeline::runs(row("pad_f32_products"), settings));
  CHECK(pipeline::runs(row("pad_half_products"), settings));
}

TEST_CASE("a difference shows what was expected and what was found") {
  CHECK(difference("a\nb\nc\n", "a\nx\nc\n") == "  a\n+ x\n- b\n  c\n");
}
