// What a pair that stays apart costs, by the machine's copy and its least launch; what would change the
// verdict. "Why not A with B?": what was decided is told as it was, and a pair that was never considered is
// asked by the rules.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "profiler/analysis/fusion_price.h"

#include <doctest/doctest.h>

#include "profiler/analysis/why_apart.h"

using namespace vitrine;
using namespace vitrine::session;
using namespace vitrine::profiler;

namespace {

DecisionRow apart(const char* reason, int64_t bytes, int64_t launches) {
  DecisionRow row;
  row.verdict = "rejected", row.reason = reason;
  row.bytes_saved = bytes, row.launches_saved = launches;
  return row;
}

}  // namespace

TEST_CASE("rates are the fastest copy and the shortest launch that was timed") {
  CeilingRow slow, fast, product;
  slow.kind = fast.kind = "copy", product.kind = "product";
  slow.rate = 1e9, fast.rate = 2e9, product.rate = 9e12;
  LaunchRow none, least, long_one;
  least.median_ns = 1500, long_one.median_ns = 80'000;
  const FusionRates rates = fusion_rates({slow, fast, product}, {none, long_one, least});
  CHECK(rates.copy == 2e9);
  CHECK(rates.launch_ns == 1500);
}

TEST_CASE("bytes and launches become time, negative where it is saved") {
  const FusionRates rates{2e9, 1500};
  CHECK(estimated_ns(apart("", 4'000'000, 1), rates) == doctest::Approx(-2'001'500));
  CHECK(estimated_ns(apart("", 0, 0), rates) == 0);
  CHECK(estimated_ns(apart("", 4'000'000, 1), {}) == 0);  // nothing was measured
  DecisionRow recorded = apart("", 4'000'000, 1);
  recorded.est_ns = -7;
  CHECK(estimated_ns(recorded, rates) == -7);
}

TEST_CASE("what would change it follows the reason") {
  CHECK(what_would_change(apart("a library call takes no epilogue", 8, 1)).find("generated") !=
        std::string::npos);
  CHECK(what_would_change(apart("it runs through PyTorch: it writes to its argument", 8, 1)) ==
        "use the operator that returns a new tensor");
  CHECK(what_would_change(apart("nobody knows", 8, 1)).empty());
  DecisionRow fused = apart("a library call takes no epilogue", 8, 1);
  fused.verdict = "fused";
  CHECK(what_would_change(fused).empty());
}

namespace {

// A graph of loops: each with what it reads, its kernel and its nest.
struct Recorded {
  std::vector<NodeRow> loops, fused;
  std::vector<EdgeRow> edges;
  std::vector<DecisionRow> decisions;

  void input(const char* name, const char* shape = "[4, 16]") { add(name, "placeholder", shape, "", {}, ""); }
  void loop(const char* name, const char* text, std::vector<const char*> reads, const char* kernel,
            const char* shape = "[4, 16]") {
    add(name, "op", shape, "loop=\"" + std::string(name) + ": " + text + "\"", reads, kernel);
  }
  void decided(const char* a, const char* b, const char* verdict, const char* reason) {
    DecisionRow row;
    row.id = make_id(Kind::Decision, static_cast<int64_t>(decisions.size()) + 1);
    row.a = id(a), row.b = id(b), row.verdict = verdict, row.reason = reason, row.kind = "vertical";
    decisions.push_back(row);
  }
  PairAnswer ask(const PairSide& a, const PairSide& b) const { return why_apart(record(), a, b); }
  PairAnswer ask(const char* a, const char* b) const { return ask(node(a), node(b)); }
  PairSide node(const char* name) const { return {name, {stable(id(name))}, ""}; }
  FusionRecord record() const {
    return {loops, fused, edges, decisions, [this](Id node) { return stable(node); }};
  }

 private:
  void add(const char* name, const char* kind, const char* shape, const std::string& detail,
           const std::vector<const char*>& reads, const char* kernel) {
    NodeRow row;
    row.id = make_id(Kind::Node, static_cast<int64_t>(loops.size()) + 1);
    row.stable = static_cast<int64_t>(loops.size()) + 100;
    row.name = name, row.kind = kind, row.shape = shape, row.detail = detail, row.bytes = 256,
    row.type = "f32";
    for (const char* read : reads) edges.push_back({1, id(read), row.id, 0, 256});
    loops.push_back(row);
    row.group_label = kernel;
    fused.push_back(row);
  }
  Id id(const char* name) const {
    for (const NodeRow& row : loops)
      if (row.name == name) return row.id;
    return 0;
  }
  int64_t stable(Id node) const {
    for (const NodeRow& row : loops)
      if (row.id == node) return row.stable;
    return -1;
  }
};

// x → add (K0) → mm (L0) → gelu (K1) → mul (K1); far (K2) reads x and mul
Recorded chain() {
  Recorded r;
  r.input("x");
  r.loop("add", "pointwise for [4,16]; $1:f32 = $0 -> add[16,1] where $0 = x[16,1]", {"x"}, "K0");
  r.loop("mm", "library", {"add"}, "L0");
  r.loop("gelu", "pointwise for [4,16]; $1:f32 = $0 -> gelu[16,1] where $0 = mm[16,1]", {"mm"}, "K1");
  r.loop("mul", "pointwise for [4,16]; $1:f32 = $0 -> mul[16,1] where $0 = gelu[16,1]", {"gelu"}, "K1");
  r.loop("far", "pointwise for [4,16]; $2:f32 = $0 -> far[16,1] where $0 = x[16,1]", {"x", "add"}, "K2");
  r.loop("alone", "pointwise for [3]; $1:f32 = $0 -> alone[1] where $0 = y[1]", {}, "K3", "[3]");
  r.decided("mm", "gelu", "rejected", "a library call takes no epilogue");
  r.decided("gelu", "mul", "fused", "same iteration space, saves 512 bytes and 1 launch");
  return r;
}

}  // namespace

TEST_CASE("what was decided is told as it was recorded") {
  const Recorded r = chain();
  const PairAnswer apart = r.ask("gelu", "mm");
  CHECK(apart.verdict == PairAnswer::Verdict::apart);
  CHECK(apart.reason == "a library call takes no epilogue");
  CHECK(apart.decision == r.decisions[0].id);
  CHECK(apart.bytes == 512);  // written by the one, read by the other alone
  CHECK(apart.change.find("generated") != std::string::npos);
  const PairAnswer one = r.ask("gelu", "mul");
  CHECK(one.verdict == PairAnswer::Verdict::fused);
  CHECK(one.reason.find("both are in K1: same iteration space") == 0);
}

TEST_CASE("kernels are asked for as their nodes are") {
  const Recorded r = chain();
  const PairAnswer answer =
      r.ask(side_of_kernel(r.record(), "L0", "L0 mm"), side_of_kernel(r.record(), "K1", "K1"));
  CHECK(answer.reason == "a library call takes no epilogue: considered as mm with gelu");
}

TEST_CASE("a pair that depends on itself through another kernel") {
  const PairAnswer answer = chain().ask("add", "mul");
  CHECK(answer.verdict == PairAnswer::Verdict::apart);
  CHECK(answer.decision == 0);
  CHECK(answer.reason == "mul (K1) depends on add (K0) through mm (L0), which must run between them");
  Recorded r = chain();
  r.loop("sum", "pointwise for [4,16]; $2:f32 = $0 -> sum[16,1] where $0 = mul[16,1], $1 = add[16,1]",
         {"mul", "add"}, "K4");
  CHECK(r.ask("add", "sum").reason ==
        "sum (K4) depends on add (K0) through mm (L0) and 1 more, which must run between them");
}

TEST_CASE("a pair that reads one tensor but was never looked at breaks no rule") {
  const PairAnswer answer = chain().ask("add", "far");
  CHECK(answer.reason.find("no rule forbids it") == 0);
  CHECK(answer.rules.size() == 8);
  for (const PairRule& rule : answer.rules) CHECK(rule.holds);
}

TEST_CASE("rules up to the first that does not hold") {
  Recorded r = chain();
  r.loop("wide", "pointwise for [8,4,16]; $1:f32 = $0 -> wide[64,16,1] where $0 = add[0,16,1]", {"add"}, "K4",
         "[8, 4, 16]");
  r.loop("row", "reduction for [4,16] over [16]; $1:f32 = sum $0 -> row[1,0] where $0 = add[16,1]", {"add"},
         "K5", "[4]");
  r.loop("turned", "pointwise for [4,16]; $1:f32 = $0 -> turned[16,1] where $0 = add[1,4]", {"add"}, "K6");
  CHECK(r.ask("add", "wide").reason == "different iteration spaces: 4 × 16 and 8 × 4 × 16");
  CHECK_FALSE(r.ask("add", "wide").rules.back().holds);
  CHECK(r.ask("add", "row").reason.find("no rule forbids it") == 0);
  CHECK(r.ask("add", "turned").reason == "turned reads add at other places than it computes");
  CHECK(r.ask("add", "mm").reason == "a library call takes no prologue");
  CHECK(r.ask("alone", "add").reason.find("neither reads") == 0);
}

TEST_CASE("a write between them") {
  Recorded r;
  r.input("x");
  r.loop("a", "pointwise for [4]; $1:f32 = $0 -> a[1] where $0 = x[1]", {"x"}, "K0");
  r.loop("copy_", "opaque (it writes to its argument)", {"a"}, "O0");
  r.loop("b", "pointwise for [4]; $1:f32 = $0 -> b[1] where $0 = x[1]", {"x", "a"}, "K1");
  CHECK(r.ask("a", "b").reason == "a write to a tensor stands between them: copy_");
  CHECK(r.ask("a", "copy_").reason == "copy_ runs through PyTorch: it writes to its argument");
}

TEST_CASE("what does not run is no pair") {
  const Recorded r = chain();
  const PairAnswer answer = r.ask({"view_3", {}, "a view moves no data"}, r.node("add"));
  CHECK(answer.verdict == PairAnswer::Verdict::no_pair);
  CHECK(answer.reason == "view_3: a view moves no data");
  CHECK(r.ask("x", "add").verdict == PairAnswer::Verdict::no_pair);
}

TEST_CASE("text of a hostile session is no number") {
  Recorded r;
  r.input("x");
  r.loop("a", "pointwise for [99999999999999999999999,4]; $1 -> a[1] where $0 = x[1]", {"x"}, "K0");
  r.loop("b", "pointwise for [4,99999999999999999999999]; $1 -> b[1] where $0 = a[1]", {"a"}, "K1");
  CHECK(r.ask("a", "b").verdict == PairAnswer::Verdict::apart);
}
