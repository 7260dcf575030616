// Like guards are one row, in the order of their first; sizes of buffers are read from any text.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "core/session/guard_groups.h"
#include "core/session/sized_memory.h"

using namespace vitrine;
using namespace vitrine::session;

namespace {

GuardRow guard(const std::string& source, const std::string& kind, const std::string& expected,
               Id compilation = 1) {
  GuardRow g;
  g.compilation = compilation, g.source = source, g.root = "L['self']", g.kind = kind, g.expected = expected;
  g.cost_ns = 10, g.checks = 5;
  return g;
}

std::vector<const GuardRow*> pointers_to(const std::vector<GuardRow>& guards) {
  std::vector<const GuardRow*> out;
  for (const GuardRow& g : guards) out.push_back(&g);
  return out;
}

std::string parameter(const std::string& name) {
  return "L['self'].__dict__['_modules']['fc'].__dict__['_parameters']['" + name + "']";
}

}  // namespace

TEST_CASE("parameters of any type are one row, answers that are the same another") {
  std::vector<GuardRow> rows = {
      guard("L['self']", "type", "a Block"),     guard(parameter("a"), "tensor", "f32[8]"),
      guard("L['self'].x", "hooks", "no hooks"), guard(parameter("b"), "tensor", "f32[8,8]"),
      guard("L['self'].y", "hooks", "no hooks"), guard("L['self'].z", "hooks", "no hooks"),
      guard(parameter("c"), "tensor", "f32[8]")};
  rows[3].fails = 2;
  const auto groups = guard_groups(pointers_to(rows));
  REQUIRE(groups.size() == 3);
  CHECK(group_title(groups[0]).empty());
  CHECK(group_title(groups[1]) == "3 parameters");
  CHECK(group_expected(groups[1]) == "each its own type");
  CHECK(groups[1].fails == 2);
  CHECK(groups[1].checks == 5);
  CHECK(groups[1].cost_ns == 30);
  CHECK(group_title(groups[2]) == "3 alike");
  CHECK(group_expected(groups[2]) == "no hooks");
}

TEST_CASE("few guards, those of other compilations and those that are many already stand alone") {
  std::vector<GuardRow> rows = {guard("a", "alias", "is L['x']"), guard("b", "alias", "is L['x']"),
                                guard("c", "alias", "is L['x']", 2), guard("d", "alias", "is L['x']")};
  rows[3].members = "e\nf";
  for (const GuardGroup& group : guard_groups(pointers_to(rows)))
    CHECK(group.likeness == GuardLikeness::None);
  CHECK(guard_groups(pointers_to(rows)).size() == 4);
  rows[3].members = "";
  CHECK(group_title(guard_groups(pointers_to(rows)).front()) == "3 names of one object");
}

TEST_CASE("bytes of buffers are read up to what is no number") {
  auto of = [](const std::string& text) { return buffer_bytes(InstanceRow{.buffer_bytes = text}); };
  CHECK(of("") == std::vector<int64_t>{});
  CHECK(of("512,0,2048") == std::vector<int64_t>{512, 0, 2048});
  CHECK(of("512,-1,3") == std::vector<int64_t>{512});
  CHECK(of("x") == std::vector<int64_t>{});
  CHECK(of(",1") == std::vector<int64_t>{});
  CHECK(of("99999999999999999999999").empty());
}
