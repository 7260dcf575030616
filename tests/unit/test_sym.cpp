// Symbolic sizes: normal forms keep the value, and the recorded guards are exactly the calls that may reuse a
// compilation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>

#include "core/base/result.h"
#include "core/ir/sym.h"
#include "core/ir/sym_tape.h"
#include "tests/unit/sweep.h"

using namespace vitrine;
using namespace vitrine::ir;

namespace {

std::vector<std::string> guards(const SymbolTable& table) {
  std::vector<std::string> texts;
  for (const SymGuard& guard : table.guards()) texts.push_back(table.text(guard));
  return texts;
}

// A random program over symbols, run with symbols, and again with plain numbers as the oracle.
struct Step {
  int op, a, b;
};
constexpr int kOps = 12;

std::vector<Step> random_program(std::mt19937& random, int inputs, int length) {
  std::vector<Step> steps;
  for (int i = 0; i < length; ++i) {
    auto pick = [&] { return static_cast<int>(random() % static_cast<unsigned>(inputs + i)); };
    steps.push_back({static_cast<int>(random() % kOps), pick(), pick()});
  }
  return steps;
}

int64_t quotient(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t remainder_of(int64_t a, int64_t b) {
  return a - b * quotient(a, b);
}
Sym quotient(const Sym& a, const Sym& b) {
  return floordiv(a, b);
}
Sym remainder_of(const Sym& a, const Sym& b) {
  return mod(a, b);
}

// Values and answers of the steps. A step whose divisor is 0 in the compiled call is left out; in another
// call that is "no answer", which differs from every answer.
struct Outcome {
  std::vector<int64_t> values;
  std::vector<int> answers;
  bool failed = false;
};

constexpr int64_t kSmall = 1 << 20;  // values beyond become their remainder, so that nothing overflows

// One step over plain numbers or over symbols: a question adds its answer and hands `a` on, as every number
// beyond the listed ones does.
template <class T>
T apply(int op, const T& a, const T& b, std::vector<int>* answers) {
  using ir::max, std::max, ir::min, std::min;
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return quotient(a, b);
    case 4:
      return remainder_of(a, b);
    case 5:
      return min(a, b);
    case 6:
      return max(a, b);
    case 7:
      answers->push_back(a == b);
      return a;
    case 8:
      answers->push_back(a < b);
      return a;
    case 9:
      answers->push_back(a >= b);
      return a;
    case 10:
      return -a;
    default:
      return a;
  }
}

Outcome run_plain(const std::vector<Step>& steps, std::vector<int64_t> values, const std::vector<int>& ops) {
  Outcome out{std::move(values), {}, false};
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t a = out.values[static_cast<size_t>(steps[i].a)];
    const int64_t b = out.values[static_cast<size_t>(steps[i].b)];
    if ((ops[i] == 3 || ops[i] == 4) && b == 0) {
      out.failed = true;
      return out;
    }
    out.values.push_back(apply(ops[i], a, b, &out.answers));
  }
  return out;
}

// Which operator each step really runs: chosen on the hints, so that sizes stay small and divisors are not 0.
std::vector<int> settle(const std::vector<Step>& steps, const std::vector<int64_t>& hints) {
  std::vector<int> ops;
  for (const Step& step : steps) {
    ops.push_back(step.op);
    std::vector<Step> before(steps.begin(), steps.begin() + static_cast<long>(ops.size()));
    Outcome now = run_plain(before, hints, ops);
    if (now.failed || std::abs(now.values.back()) > kSmall) ops.back() = 11;
  }
  return ops;
}

struct Symbolic {
  std::vector<Sym> values;
  std::vector<int> answers;
};

Symbolic run_symbolic(const std::vector<Step>& steps, std::vector<Sym> values, const std::vector<int>& ops) {
  Symbolic out{std::move(values), {}};
  for (size_t i = 0; i < steps.size(); ++i) {
    const Sym a = out.values[static_cast<size_t>(steps[i].a)],
              b = out.values[static_cast<size_t>(steps[i].b)];
    out.values.push_back(apply(ops[i], a, b, &out.answers));
  }
  return out;
}

}  // namespace

TEST_CASE("equal expressions are one object and print in one way") {
  SymbolTable table;
  Sym s = table.size("L['x'].size(0)", 6), t = table.size("L['x'].size(1)", 10);
  CHECK(floordiv(s * 4, 4).same(s));
  CHECK(((s + 1) - 1).same(s));
  CHECK((4 * s).same(s * 4));
  CHECK((s * t).same(t * s));
  CHECK(floordiv(s * t, s).same(t));
  CHECK(mod(s * t, t).same(Sym(0)));
  CHECK(floordiv(floordiv(s, 2), 3).same(floordiv(s, 6)));
  CHECK(floordiv(8 * s + 4, 12).same(floordiv(2 * s + 1, 3)));
  CHECK((s - s).same(Sym(0)));
  CHECK(ir::max(s, 1).same(s));
  CHECK(ir::min(s, t).same(ir::min(t, s)));
  CHECK(table.text(8 * s + 1) == "8*s0+1");
  CHECK(table.text(s * t - 3) == "s0*s1-3");
  CHECK(table.guards().empty());
}

TEST_CASE("ranges answer what they can, the hint answers the rest with a guard") {
  SymbolTable table;
  Sym s = table.size("a", 6, {2, 64}), t = table.size("b", 6);
  CHECK(s != 0);
  CHECK(s != 1);
  CHECK(s * 2 > 3);
  CHECK(s <= 64);
  CHECK(t + s > s);
  CHECK_FALSE(2 * s == 2 * t + 1);
  CHECK(table.guards().empty());
  {
    SymPlace place(table, "aten.add");
    CHECK(s == t);
  }
  CHECK(2 * s == 2 * t);
  CHECK(s < t + 1);
  REQUIRE(guards(table) == std::vector<std::string>{"s0-s1 == 0"});
  CHECK(table.guards()[0].place == "aten.add");
  CHECK(s < 10);
  CHECK(s < 12);
  CHECK_FALSE(s >= 10);
  CHECK(guards(table) == std::vector<std::string>{"s0-s1 == 0", "s0 <= 9"});
  CHECK(table.holds(std::array<int64_t, 2>{9, 9}));
  CHECK_FALSE(table.holds(std::array<int64_t, 2>{9, 8}));
  CHECK_FALSE(table.holds(std::array<int64_t, 2>{10, 10}));
}

TEST_CASE("a use as a plain number fixes the symbol and says where") {
  SymbolTable table;
  Sym s = table.size("a", 6);
  SymPlace place(table, "aten.foo");
  int64_t plain = s + 1;
  CHECK(plain == 7);
  CHECK(guards(table) == std::vector<std::string>{"s0 == 6"});
  CHECK(table.symbols()[0].specialised_by == "aten.foo");
  CHECK((s * 2).same(Sym(12)));
}

TEST_CASE("sizes 0 and 1 are constants, other integers are not") {
  SymbolTable table;
  CHECK_FALSE(table.size("a", 0).symbolic());
  CHECK_FALSE(table.size("a", 1).symbolic());
  CHECK(table.symbols().empty());
  CHECK(table.integer("n", -1).symbolic());
  CHECK_THROWS_AS((void)table.size("a", 65, {2, 64}), InternalError);
}

TEST_CASE("what leaves 64 bits or divides by zero is told, never wrapped") {
  SymbolTable table;
  Sym s = table.integer("n", int64_t{1} << 40), zero = table.integer("z", 0);
  CHECK_THROWS_AS((void)(s * s), InternalError);
  CHECK_THROWS_AS((void)floordiv(s, zero), InternalError);
  Sym cube = table.integer("m", 3) * 3 * table.integer("k", 3);
  CHECK_FALSE(table.evaluate(cube, std::array<int64_t, 4>{1, 1, int64_t{1} << 40, int64_t{1} << 40}));
}

TEST_CASE("a difference that may leave 64 bits is not decided by its clipped range") {
  SymbolTable table;
  Sym a = table.integer("a", 5), b = table.integer("b", -3);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CHECK(a <= kMost);
  CHECK(table.guards().empty());
  CHECK(a <= b + kMost);
  CHECK_FALSE(table.holds(std::array<int64_t, 2>{kMost, -3}));
  CHECK(table.holds(std::array<int64_t, 2>{6, -3}));
}

TEST_CASE("the text form is read back") {
  SymbolTable table;
  (void)table.size("a", 6);
  (void)table.size("b", 10);
  for (const char* text : {"0", "-7", "s0", "-s0+1", "8*s0+3*s0*s1-4", "((s0)//(2))", "((-3)%(s0*s1))",
                           "min(s0,s1)+max(0,s0-5)"}) {
    auto value = table.parse(text);
    REQUIRE_MESSAGE(value.ok(), text);
    CHECK(table.text(value.value()) == text);
  }
  CHECK(table.parse("(4 * s0) // 4").value().same(table.parse("s0").value()));
  CHECK(table.parse("s1-2*s0//3%4").value().hint() == 10 - 2 * 6 / 3 % 4);
  for (const char* text : {"", "s2", "s0+", "(s0", "s0)", "s0/2", "s0//0", "min(s0)", "99999999999999999999",
                           "s0*9223372036854775807", "9223372036854775807//-1*2"}) {
    CHECK_FALSE(table.parse(text).ok());
  }
  CHECK_FALSE(table.parse(std::string(100000, '(')).ok());
  CHECK_FALSE(table.parse(std::string(100000, '-')).ok());
}

TEST_CASE("a tape has no values where a size leaves 64 bits, divides by zero or is forbidden") {
  SymbolTable table;
  const Sym a = table.integer("a", 4), b = table.integer("b", 2, {0, 9});
  SymTape tape;
  const uint32_t product = tape.add(a * a * 8 + 1), quotient = tape.add(floordiv(a, b));
  CHECK(tape.add(8 * a * a + 1) == product);
  tape.require(table);
  CHECK(tape.run(std::array<int64_t, 2>{-7, 2}));
  CHECK(tape.at(product) == 393);
  CHECK(tape.at(quotient) == -4);
  CHECK_FALSE(tape.run(std::array<int64_t, 2>{int64_t{1} << 32, 2}));
  CHECK_FALSE(tape.run(std::array<int64_t, 2>{4, 0}));
  CHECK_FALSE(tape.run(std::array<int64_t, 2>{4, 10}));
  CHECK(a <= 6);
  CHECK_FALSE(tape.requires_all(table));
  tape.require(table);
  CHECK(tape.run(std::array<int64_t, 2>{6, 1}));
  CHECK_FALSE(tape.run(std::array<int64_t, 2>{7, 1}));
}

TEST_CASE("a tape of a table without guards asks for its ranges") {
  SymbolTable table;
  table.size("n", 4, {2, 8});
  SymTape tape;
  CHECK_FALSE(tape.requires_all(table));
  tape.require(table);
  CHECK(tape.requires_all(table));
  CHECK(tape.run(std::array<int64_t, 1>{8}));
  CHECK_FALSE(tape.run(std::array<int64_t, 1>{9}));
}

TEST_CASE("normal forms keep the value, and guards hold exactly where every answer stays the same") {
  int reused = 0, refused = 0;
  for (unsigned seed = 0; seed < 3000 / kEvery; ++seed) {
    std::mt19937 random(seed);
    auto draw = [&](int64_t lo, int64_t hi) {
      return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
    };
    SymbolTable table;
    std::vector<int64_t> hints{draw(2, 12), draw(2, 12), draw(-5, 5), 4, -3, 1};
    std::vector<Sym> inputs{table.size("a", hints[0]),
                            table.size("b", hints[1], {2, 12}),
                            table.integer("n", hints[2], {-50, 50}),
                            4,
                            -3,
                            1};
    std::vector<Step> steps = random_program(random, 6, 8);
    std::vector<int> ops = settle(steps, hints);
    Symbolic symbolic = run_symbolic(steps, inputs, ops);
    Outcome compiled = run_plain(steps, hints, ops);
    CHECK(symbolic.answers == compiled.answers);
    SymTape tape;
    std::vector<uint32_t> places;
    for (const Sym& value : symbolic.values) places.push_back(tape.add(value));
    tape.require(table);
    CHECK(tape.requires_all(table));
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<int64_t> sizes = hints;
      if (trial > 0) sizes = {draw(2, 14), draw(2, 12), draw(-6, 6), 4, -3, 1};
      Outcome other = run_plain(steps, sizes, ops);
      bool holds = table.holds(std::span(sizes).first(3));
      CAPTURE(seed);
      CAPTURE(trial);
      CHECK(holds == (!other.failed && other.answers == compiled.answers));
      CHECK(tape.run(std::span(sizes).first(3)) == holds);
      ++(holds ? reused : refused);
      for (size_t i = 0; holds && i < other.values.size(); ++i) {
        CAPTURE(table.text(symbolic.values[i]));
        CHECK(table.evaluate(symbolic.values[i], std::span(sizes).first(3)) == other.values[i]);
        CHECK(tape.at(places[i]) == other.values[i]);
        auto again = table.parse(table.text(symbolic.values[i]));
        REQUIRE(again.ok());
        CHECK(table.evaluate(again.value(), std::span(sizes).first(3)) == other.values[i]);
      }
    }
  }
  CHECK(reused > 1000 / kEvery);
  CHECK(refused > 1000 / kEvery);
}
