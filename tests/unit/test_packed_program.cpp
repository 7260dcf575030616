// Programs as bytes: what comes back is what was packed; bytes that were not packed are refused. Expressions
// come back into a table with other first sizes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <random>
#include <sstream>

#include "core/codegen/instantiate.h"
#include "core/codegen/packed_program.h"
#include "core/ir/packing.h"
#include "core/ir/parse.h"
#include "core/pipeline/draft.h"
#include "core/pipeline/optimise.h"
#include "tests/unit/sweep.h"

using namespace vitrine;

namespace {

codegen::Program program_of(const std::string& text) {
  auto graph = ir::parse(text);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what));
  auto program = pipeline::build_program(graph.value(), {}, nullptr);
  REQUIRE(program.ok());
  return program.take();
}

const char* const kSmall = R"(graph optimised {
  %x = placeholder() [source="L['x']"] : f32[8,64]
  %w = parameter() [source="L['w']"] : f32[32,64]
  %t = aten.t.default(%w) : f32[64,32]{1,64}
  %mm = aten.mm.default(%x, %t) : f32[8,32]
  %s = aten.sigmoid.default(%mm) : f32[8,32]
  %sum = aten.sum.dim_IntList(%s, [1], True) : f32[8,1]
  return %sum, %s, 3, 0.5, None
})";

std::string bytes_of(const codegen::Program& program) {
  auto bytes = codegen::packed(program);
  REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().what));
  return bytes.take();
}

std::string why_refused(const std::string& bytes) {
  auto program = codegen::unpacked_program(bytes);
  return program ? "" : program.error().what;
}

// A varint as the packer writes it.
std::string number(int64_t value) {
  ir::Packer io;
  io.integer(value);
  return io.bytes();
}

constexpr const char* kLayers = R"(graph aten {
  %x = placeholder() : f32[s0,s1,32]
  %v = parameter() : f32[48,32]
  %rows = aten.view.default(%x, [s0*s1, 32]) : f32[s0*s1,32]
  %vt = aten.t.default(%v) : f32[32,48]{1,32}
  %mm = aten.mm.default(%rows, %vt) : f32[s0*s1,48]
  %gelu = aten.gelu.default(%mm) : f32[s0*s1,48]
  %tanh = aten.tanh.default(%mm) : f32[s0*s1,48]
  %sum = aten.sum.dim_IntList(%tanh, [1]) : f32[s0*s1]
  %out = aten.view.default(%sum, [s0, s1]) : f32[s0,s1]
  return %out, %gelu
}
)";

// A graph, and the table of its sizes.
struct Sizes {
  ir::SymbolTable symbols;
  ir::GraphPtr graph;
  ir::TableExtent known;

  explicit Sizes(std::initializer_list<int64_t> hints, ir::SymRange range = {}) {
    int number = 0;
    for (int64_t hint : hints) symbols.size("size " + std::to_string(number++), hint, range);
    auto parsed = ir::parse(kLayers, nullptr, &symbols);
    REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.error().what));
    graph = parsed.take();
    known = ir::extent_of(symbols);
  }
  codegen::Program program() const {
    auto optimised = pipeline::optimise(graph, {}, nullptr);
    REQUIRE(optimised.ok());
    auto program = pipeline::build_program(optimised.value(), {}, nullptr);
    REQUIRE(program.ok());
    return program.take();
  }
};

std::string bytes_of(const codegen::Program& program, const Sizes& of) {
  auto bytes = codegen::packed(program, &of.symbols, of.known);
  REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().what));
  return bytes.take();
}

codegen::Unpacked unpacked(const std::string& bytes, Sizes& of) {
  auto back = codegen::unpacked_program(bytes, &of.symbols);
  REQUIRE_MESSAGE(back.ok(), (back.ok() ? "" : back.error().what));
  return back.take();
}

std::string why_refused(const std::string& bytes, ir::SymbolTable& table) {
  auto back = codegen::unpacked_program(bytes, &table);
  return back ? "" : back.error().what;
}

// Whether it gives a plain program, or says why not.
bool is_sound_at(const codegen::Unpacked& read, const std::vector<int64_t>& values) {
  try {
    const codegen::Program plain = codegen::instantiate(read.program, values);
    return codegen::unsound_memory(plain).empty();
  } catch (const InternalError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("programs of all golden graphs come back as they were") {
  int files = 0;
  for (const char* folder : {"cpp", "memory_plan", "horizontal_fusion", "epilogue_fusion"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string("tests/golden/") + folder)) {
      CAPTURE(entry.path().string());
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string whole = text.str();
      const codegen::Program program = program_of(whole.substr(0, whole.find("----\n")));
      const std::string bytes = bytes_of(program);
      auto back = codegen::unpacked_program(bytes);
      REQUIRE_MESSAGE(back.ok(), (back.ok() ? "" : back.error().what));
      CHECK(bytes_of(back.value().program) == bytes);
      REQUIRE(back.value().program.kernels.size() == program.kernels.size());
      for (size_t k = 0; k < program.kernels.size(); ++k)
        CHECK(back.value().program.kernels[k].text == program.kernels[k].text);
      CHECK(back.value().program.steps.size() == program.steps.size());
      CHECK(back.value().program.results.size() == program.results.size());
      ++files;
    }
  CHECK(files > 10);
}

TEST_CASE("numbers, real numbers and texts come back exactly") {
  ir::Packer out;
  const std::vector<int64_t> numbers = {0, -1, 1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
  for (int64_t n : numbers) out.integer(n);
  for (double d : {0.0, -0.0, 0.1, -1e300}) out.real(d);
  for (const char* text : {"", "twice", "twice"}) out.text(text);
  ir::Unpacker in(out.bytes());
  for (int64_t n : numbers) CHECK(in.integer(INT64_MIN, INT64_MAX) == n);
  for (double d : {0.0, -0.0, 0.1, -1e300}) {
    const double back = in.real();
    CHECK(std::signbit(back) == std::signbit(d));
    CHECK(back == d);
  }
  for (const char* text : {"", "twice", "twice"}) CHECK(in.text() == text);
  in.expect_end();
}

TEST_CASE("nodes are numbered as they are met") {
  ir::Packer a, b;
  for (int32_t id : {7, 9, 7, -1}) a.node(id);
  for (int32_t id : {100, 3, 100, -1}) b.node(id);
  CHECK(a.bytes() == b.bytes());
}

TEST_CASE("a program of expressions has no bytes without their table") {
  ir::SymbolTable table;
  codegen::Program program = program_of(kSmall);
  program.arena_bytes = table.size("x", 8) * 4;
  auto bytes = codegen::packed(program);
  REQUIRE(!bytes.ok());
  CHECK(bytes.error().what == "a size is an expression");
}

TEST_CASE("bytes that end early or go on are refused") {
  const std::string bytes = bytes_of(program_of(kSmall));
  for (size_t n = 0; n < bytes.size(); n += kEvery) {
    CAPTURE(n);
    CHECK(why_refused(bytes.substr(0, n)) != "");
  }
  CHECK(why_refused(bytes + '\0') == "something stands behind its end");
}

TEST_CASE("a changed bit gives a reason or a sound program, and never more memory than the bytes hold") {
  const std::string bytes = bytes_of(program_of(kSmall));
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); at += kEvery)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      refused += why_refused(changed) != "";
    }
  CHECK(refused > 0);
}

TEST_CASE("lengths beyond the bytes are refused before anything is allocated") {
  CHECK(why_refused(number(int64_t{1} << 60)) == "a length is greater than what is there");
  CHECK(why_refused(number(-1)) == "a number is out of its range");
  CHECK(why_refused(std::string(10, '\xff')) == "a number has too many bits");
  std::string text = number(1) + number(0) + number(0) + number(int64_t{1} << 50);  // a buffer's name
  CHECK(why_refused(text + std::string(64, 'x')) == "a length is greater than what is there");
}

TEST_CASE("lists in lists end somewhere") {
  ir::Packer out;
  ir::Arg arg;
  for (int i = 0; i < 40; ++i) arg = ir::Arg(std::vector<ir::Arg>{arg});
  ir::pack(out, arg);
  ir::Unpacker in(out.bytes());
  ir::Arg back;
  CHECK_THROWS_WITH_AS(ir::pack(in, back), "its lists are too deep", ir::PackingError);
}

TEST_CASE("a program that names what is not there is refused") {
  const codegen::Program sound = program_of(kSmall);
  const auto why = [](const codegen::Program& program) { return why_refused(bytes_of(program)); };
  REQUIRE(why(sound) == "");
  codegen::Program p = sound;
  p.steps.at(0).buffers.push_back(99);
  CHECK(why(p) == "a step names a buffer that is not there");
  p = sound;
  p.buffers.at(1).view_of = 1;
  CHECK(why(p) == "a view is of itself");
  p = sound;
  p.buffers.at(0).input = 77;
  CHECK(why(p) == "a buffer is an input that is not there");
  p = sound;
  for (codegen::Step& step : p.steps) step.kernel = 55;
  CHECK(why(p) == "a step runs a kernel that is not there");
  p = sound;
  p.value_buffer.at(0).second = -2;
  CHECK(why(p) == "a value is in a buffer that is not there");
  p = sound;
  p.buffers.back().arena_offset = int64_t{1} << 40;
  CHECK(why(p) == "a buffer lies outside of the arena");
}

TEST_CASE("a program comes back for other first sizes and gives the same plain programs") {
  Sizes first({5, 7}), second({40, 3});
  const codegen::Program program = first.program();
  const std::string bytes = bytes_of(program, first);
  const codegen::Unpacked back = unpacked(bytes, second);
  CHECK(codegen::misfit(back.program, *second.graph) == "");
  CHECK(bytes_of(back.program, second) == bytes);
  for (int64_t size : {2, 3, 16, 257}) {
    const std::vector<int64_t> values = {size, size + 1};
    const codegen::Program plain = codegen::instantiate(back.program, values);
    CHECK(bytes_of(plain) == bytes_of(codegen::instantiate(program, values)));
    CHECK(codegen::unsound_memory(plain) == "");
  }
}

TEST_CASE("the table that read a program is the one that made it") {
  Sizes first({5, 7}), second({5, 7});
  const codegen::Program program = first.program();
  (void)(first.symbols.symbol(0) <= 64);
  codegen::Unpacked back = unpacked(bytes_of(program, first), second);
  REQUIRE(back.guards.size() == first.symbols.guards().size());
  for (ir::SymGuard& guard : back.guards) {
    CHECK(second.symbols.holds_at_hints(guard));
    second.symbols.restore(std::move(guard));
  }
  CHECK(ir::extent_of(first.symbols).atoms == ir::extent_of(second.symbols).atoms);
  CHECK(second.symbols.holds(std::vector<int64_t>{64, 7}));
  CHECK(!second.symbols.holds(std::vector<int64_t>{65, 7}));
  const ir::Sym same = first.symbols.symbol(0) * first.symbols.symbol(1) + 3;
  const ir::Sym other = second.symbols.symbol(0) * second.symbols.symbol(1) + 3;
  CHECK(ir::text(same) == ir::text(other));
}

TEST_CASE("guards that do not hold for the first sizes are told") {
  Sizes first({5, 7}), second({65, 7});
  (void)(first.symbols.symbol(0) <= 64);
  const codegen::Unpacked back = unpacked(bytes_of(first.program(), first), second);
  REQUIRE(!back.guards.empty());
  CHECK(second.symbols.text(back.guards[0]) == "s0 <= 64");
  CHECK(!second.symbols.holds_at_hints(back.guards[0]));
  CHECK(second.symbols.guards().empty());
}

TEST_CASE("other sizes than the graph's are a misfit") {
  Sizes first({5, 7}), second({5, 7});
  codegen::Unpacked back = unpacked(bytes_of(first.program(), first), second);
  codegen::Program wrong = back.program;
  wrong.buffers.at(static_cast<size_t>(wrong.input_buffer.at(0))).type.sizes.back() = 31;
  CHECK(codegen::misfit(wrong, *second.graph) == "it takes another x");
  wrong = back.program;
  wrong.results.pop_back();
  CHECK(codegen::misfit(wrong, *second.graph) == "it gives other results");
  wrong = back.program;
  std::swap(wrong.results.at(0), wrong.results.at(1));
  CHECK(codegen::misfit(wrong, *second.graph) == "it gives another result 0");
  wrong = back.program;
  wrong.input_buffer.pop_back();
  CHECK(codegen::misfit(wrong, *second.graph) == "it takes other inputs");
}

TEST_CASE("bytes that end early are refused, and changed ones give a reason or a sound program") {
  Sizes first({5, 7});
  const std::string bytes = bytes_of(first.program(), first);
  for (size_t n = 0; n < bytes.size(); n += kEvery) {
    Sizes second({5, 7});
    CHECK(why_refused(bytes.substr(0, n), second.symbols) != "");
  }
  int refused = 0, sound = 0;
  for (size_t at = 0; at < bytes.size(); at += kEvery)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      Sizes second({5, 7});
      auto back = codegen::unpacked_program(changed, &second.symbols);
      refused += !back.ok();
      if (!back) continue;
      for (int64_t size : {2, 100}) sound += is_sound_at(back.value(), {size, size});
    }
  CHECK(refused > 0);
  CHECK(sound > 0);
}

TEST_CASE("bytes with many changes give a reason or a sound program") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Sizes first({5, 7});
  const std::string bytes = bytes_of(first.program(), first);
  for (int round = 0; round < 2000 / kEvery; ++round) {
    CAPTURE(round);
    std::string changed = bytes;
    for (auto left = 1 + random() % 4; left > 0; --left)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (random() % 4 == 0) changed.erase(random() % changed.size(), 1 + random() % 8);
    Sizes second({5, 7});
    auto back = codegen::unpacked_program(changed, &second.symbols);
    if (back) (void)is_sound_at(back.value(), {100, 3});
  }
}

TEST_CASE("expressions that are not in normal form, of other atoms, or endless are refused") {
  ir::SymbolTable table;
  (void)table.size("x", 8);
  const auto is_one = [&](ir::Polynomial sum) { return table.restored(std::move(sum)).has_value(); };
  CHECK(is_one({{{{0}, 2}}, 1}));
  CHECK(!is_one({{}, 1}));                              // a number
  CHECK(!is_one({{{{1}, 2}}, 1}));                      // no such atom
  CHECK(!is_one({{{{0}, 0}}, 1}));                      // no factor
  CHECK(!is_one({{{{}, 2}}, 1}));                       // no atom
  CHECK(!is_one({{{{0, 0}, 2}, {{0}, 1}}, 1}));         // another order
  CHECK(!is_one({{{{0}, 2}, {{0}, 1}}, 1}));            // twice
  CHECK(!is_one({{{{0}, INT64_MAX}}, 1}));              // leaves 64 bits
  CHECK(!table.restore({ir::SymOp::Symbol, 1, 0, 0}));  // no such symbol
  CHECK(!table.restore({ir::SymOp::Mod, 0, 8, 0}));     // by 0
  CHECK(!table.restore({ir::SymOp::FloorDiv, 0, INT64_MIN, -1}));
  CHECK(!table.is_sound(ir::SymGuard{{{{{0}, 2}}, 0}, ir::SymRelation::Le, 8, ""}));
  CHECK(!table.is_sound(ir::SymGuard{{{{{0}, 1}}, 0}, ir::SymRelation::Ne, INT64_MAX, ""}));
  // Each atom has the one before twice: working it out would take 2^n steps.
  uint32_t last = 0;
  bool refused = false;
  for (int depth = 0; depth < 80 && !refused; ++depth) {
    const auto a = table.restored({{{{last}, 1}}, 0}), b = table.restored({{{{last}, 1}}, 1});
    refused = !a || !b;
    if (refused) break;
    REQUIRE(table.restore({ir::SymOp::Min, 0, *a, *b}));
    ++last;
  }
  CHECK(refused);
  CHECK(last < 20);
}
