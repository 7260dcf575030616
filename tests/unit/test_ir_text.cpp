// The text form of graphs: it round-trips, and a mistake is told with its place.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "core/ir/parse.h"
#include "core/ir/print.h"

using namespace vitrine;
using namespace vitrine::ir;

namespace {
const char* kEverything = R"(graph aten {
  %x = placeholder() [source="L['x']"] : f32[8,64]
  %w = parameter() [source="L['self'].fc.weight"] : bf16[1,64]@3
  %s = buffer() [source="say \"hi\"\\"] : f32[]
  %k = constant() : i64[0,2]
  %one = placeholder() : f32[1,4]{7,1}
  %t = aten.t.default(%w) : f32[64,1]{1,64}
  %ln = aten.native_layer_norm.default(%x, [64], %w, None, 1e-05) : f32[8,64], f32[8,1], f32[8,1]
  %cat = aten.cat.default([%ln, %ln.1], -1) : f32[8,65]
  %copy = aten._to_copy.default(%cat, dtype=f64, layout=torch.strided, device=cpu, pin_memory=False) : f64[8,65]
  %odd = my.op.default(1, -2, 2.0, -inf, nan, inf, 0.1, 1e+300, True, "a b", word("f32"), word("f8!"), cuda:0, [[], [None]], key=other) : ()
  return %copy, 3, None, [%ln.2]
}
)";
}

TEST_CASE("everything a graph can hold prints as it was read") {
  auto g = parse(kEverything);
  REQUIRE_MESSAGE(g.ok(), (g.ok() ? "" : g.error().what + " at " + g.error().where));
  CHECK(print(*g.value()) == kEverything);
  CHECK(g.value()->nodes()[1].type().offset == 3);
  CHECK(g.value()->nodes()[9].args[2].as<double>() == 2.0);
  CHECK(g.value()->nodes()[9].args[10].as<Word>().text == "f32");
}

TEST_CASE("origins are printed on request and read back") {
  const char* text = R"(graph captured {
  %x = placeholder() [source="L['x']", rule="text"] : f32[2]
  %y = torch.sin(%x) [module="a.b", at="dir/m.py:3:4-3:10", rule="decompose"] : f32[2]
  return %y
}
)";
  auto g = parse(text);
  REQUIRE(g.ok());
  CHECK(print(*g.value(), {.origins = true}) == text);
  CHECK(g.value()->nodes()[1].origin.end_col == 10);
}

TEST_CASE("a mistake is told with line and column") {
  auto at = [](const char* text) {
    auto g = parse(text);
    REQUIRE_FALSE(g.ok());
    return g.error().where + " " + g.error().what;
  };
  CHECK(at("graph aten {\n  %y = aten.neg.default(%x) : f32[2]\n  return %y\n}\n") ==
        "2:25 The graph's text does not parse: %x is not defined above");
  CHECK(at("graph a {\n  %x = placeholder() : f33[2]\n  return\n}\n").find("f33") != std::string::npos);
  CHECK(at("graph a {\n  %x = placeholder() : f32[2]\n  return %x.1\n}\n").find("no output 1") !=
        std::string::npos);
  CHECK(at("graph a {\n  %x = placeholder() : f32[2]\n  %x = placeholder() : f32[2]\n  return\n}\n")
            .find("defined twice") != std::string::npos);
  CHECK(at("graph a {\n  return\n}\nrest").find("after the graph") != std::string::npos);
  CHECK(at("").find("expected 'graph'") != std::string::npos);
}

TEST_CASE("several graphs in one text") {
  auto all = parse_all("# first\ngraph a {\n  return\n}\ngraph b {\n  return 1\n}\n");
  REQUIRE(all.ok());
  CHECK(all.value().size() == 2);
  CHECK(all.value()[1]->stage == "b");
}
