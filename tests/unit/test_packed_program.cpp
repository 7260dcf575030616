// Programs as bytes: what comes back is what was packed; bytes that were not packed are refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/codegen/packed_program.h"
#include "core/ir/packing.h"
#include "core/ir/parse.h"
#include "core/pipeline/draft.h"
#include "core/pipeline/optimise.h"

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
      CHECK(bytes_of(back.value()) == bytes);
      REQUIRE(back.value().kernels.size() == program.kernels.size());
      for (size_t k = 0; k < program.kernels.size(); ++k)
        CHECK(back.value().kernels[k].text == program.kernels[k].text);
      CHECK(back.value().steps.size() == program.steps.size());
      CHECK(back.value().results.size() == program.results.size());
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

TEST_CASE("a program of expressions has no bytes") {
  ir::SymbolTable table;
  codegen::Program program = program_of(kSmall);
  program.arena_bytes = table.size("x", 8) * 4;
  auto bytes = codegen::packed(program);
  REQUIRE(!bytes.ok());
  CHECK(bytes.error().what == "a size is an expression");
}

TEST_CASE("bytes that end early or go on are refused") {
  const std::string bytes = bytes_of(program_of(kSmall));
  for (size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK(why_refused(bytes.substr(0, n)) != "");
  }
  CHECK(why_refused(bytes + '\0') == "something stands behind its end");
}

TEST_CASE("a changed bit gives a reason or a sound program, and never more memory than the bytes hold") {
  const std::string bytes = bytes_of(program_of(kSmall));
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
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
