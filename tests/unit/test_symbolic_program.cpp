// Programs of graphs with symbolic sizes: they ask no question whose answer holds for one size only, and made
// plain for other sizes they are as those compiled for these.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "core/codegen/instantiate.h"
#include "core/fusion/memory_plan.h"
#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/pipeline/draft.h"
#include "core/pipeline/optimise.h"

using namespace vitrine;

namespace {

codegen::Program program_of(const ir::GraphPtr& graph) {
  auto optimised = pipeline::optimise(graph, {}, nullptr);
  REQUIRE_MESSAGE(optimised.ok(), (optimised.ok() ? "" : optimised.error().what));
  auto program = pipeline::build_program(optimised.value(), {}, nullptr);
  REQUIRE(program.ok());
  return program.take();
}

// A symbolic graph's program, and its symbols.
struct Symbolic {
  ir::SymbolTable symbols;
  codegen::Program program;

  Symbolic(const std::string& text, std::initializer_list<int64_t> hints) {
    int number = 0;
    for (int64_t hint : hints) symbols.size("size " + std::to_string(number++), hint);
    auto graph = ir::parse(text, nullptr, &symbols);
    REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what));
    program = program_of(graph.value());
  }
  // All questions that were answered for the hints.
  std::string narrowing() const {
    std::string out;
    for (const ir::SymGuard& guard : symbols.guards())
      out += symbols.text(guard) + " (" + guard.place + ")\n";
    return out;
  }
};

// The sizes in the text: s0 is the first of them.
std::string with_sizes(std::string text, std::initializer_list<int64_t> sizes) {
  int number = 0;
  for (int64_t size : sizes) {
    const std::string name = "s" + std::to_string(number++);
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(size));
  }
  return text;
}

bool at_once(const codegen::Buffer& a, const codegen::Buffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// No two temporaries share a place while both are in use, and all are within the arena.
void check_arena(const codegen::Program& p) {
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const codegen::Buffer& a = p.buffers[i];
    if (a.arena_offset < 0 || a.view_of >= 0) continue;
    CHECK(a.arena_offset % 64 == 0);
    CHECK(a.arena_offset + a.type.bytes() <= p.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const codegen::Buffer& b = p.buffers[j];
      if (b.arena_offset < 0 || b.view_of >= 0 || !at_once(a, b) || a.arena_offset == b.arena_offset)
        continue;
      CAPTURE(a.name);
      CAPTURE(b.name);
      CHECK((a.arena_offset + a.type.bytes() <= b.arena_offset ||
             b.arena_offset + b.type.bytes() <= a.arena_offset));
    }
  }
}

constexpr const char* kChain = R"(graph aten {
  %x = placeholder() : f32[s0,64]
  %b = placeholder() : f32[64]
  %add = aten.add.Tensor(%x, %b) : f32[s0,64]
  %relu = aten.relu.default(%add) : f32[s0,64]
  return %relu
}
)";

constexpr const char* kSoftmax = R"(graph aten {
  %x = placeholder() : f32[s0,s1]
  %softmax = aten._softmax.default(%x, -1, False) : f32[s0,s1]
  return %softmax
}
)";

constexpr const char* kTwoLayers = R"(graph aten {
  %x = placeholder() : f32[s0,s1,32]
  %v = parameter() : f32[48,32]
  %w = parameter() : f32[16,48]
  %rows = aten.view.default(%x, [s0*s1, 32]) : f32[s0*s1,32]
  %vt = aten.t.default(%v) : f32[32,48]{1,32}
  %mm = aten.mm.default(%rows, %vt) : f32[s0*s1,48]
  %gelu = aten.gelu.default(%mm) : f32[s0*s1,48]
  %wt = aten.t.default(%w) : f32[48,16]{1,48}
  %mm_1 = aten.mm.default(%gelu, %wt) : f32[s0*s1,16]
  %tanh = aten.tanh.default(%mm_1) : f32[s0*s1,16]
  %sum = aten.sum.dim_IntList(%tanh, [1]) : f32[s0*s1]
  %out = aten.view.default(%sum, [s0, s1]) : f32[s0,s1]
  return %out
}
)";

// The same graph on a GPU.
std::string on_gpu(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    const bool ends = text[at] == ']' || text[at] == '}';
    const size_t line = text.rfind('\n', at), colon = text.find(" : ", line + 1);
    const bool type =
        colon < at && text.find('\n', at) > at && (at + 1 == text.size() || text[at + 1] == '\n');
    if (ends && type) out += "cuda:0";
  }
  return out;
}

constexpr const char* kNorm = R"(graph aten {
  %x = placeholder() : f32[s0,s1,768]
  %w = parameter() : f32[768]
  %norm = aten.native_layer_norm.default(%x, [768], %w, None, 1e-05) : f32[s0,s1,768], f32[s0,s1,1], f32[s0,s1,1]
  %t = aten.transpose.int(%norm, 1, 2) : f32[s0,768,s1]{768*s1,1,768}
  %exp = aten.exp.default(%t) : f32[s0,768,s1]{768*s1,1,768}
  %sum = aten.sum.dim_IntList(%exp, [0, 2]) : f32[768]
  return %sum
}
)";

}  // namespace

TEST_CASE("no question narrows the sizes") {
  for (const char* text : {kChain, kSoftmax, kTwoLayers, kNorm}) {
    CAPTURE(text);
    CHECK(Symbolic(text, {5, 7}).narrowing() == "");
    CHECK(Symbolic(text, {64, 48}).narrowing() == "");  // as other dims are by chance
  }
}

TEST_CASE("a GPU's kernels ask no more than whether places fit into 32 bits, and rows into registers") {
  for (const char* text : {kChain, kSoftmax}) {
    for (const auto& hints : {std::initializer_list<int64_t>{5, 7}, {64, 48}, {4096, 512}}) {
      Symbolic symbolic(on_gpu(text), hints);
      CAPTURE(symbolic.program.kernels.at(0).text);
      CHECK(symbolic.program.kernels.at(0).grid.threads > 0);
      CAPTURE(symbolic.narrowing());
      for (const ir::SymGuard& guard : symbolic.symbols.guards())
        CHECK(guard.relation == ir::SymRelation::Le);
      CHECK(symbolic.symbols.holds(std::vector<int64_t>{2, 2}));
      const codegen::Program small = codegen::instantiate(symbolic.program, std::vector<int64_t>{2, 3});
      CHECK(small.kernels.at(0).grid.blocks >= 1);
    }
  }
}

TEST_CASE("made plain, a program's buffers are those of these sizes") {
  for (const char* text : {kChain, kSoftmax, kTwoLayers}) {
    Symbolic symbolic(text, {5, 7});
    codegen::Instances instances(symbolic.program);
    CHECK(instances.changing() > 0);
    for (int64_t size : {2, 3, 16, 70, 257}) {
      CAPTURE(size);
      const std::vector<int64_t> values = {size, size + 1};
      REQUIRE(symbolic.symbols.holds(values));
      const codegen::Program& plain = instances.at(values);
      check_arena(plain);
      auto graph = ir::parse(with_sizes(text, {size, size + 1}));
      if (!graph.ok()) continue;  // "4*5" is no size of a plain text
      const codegen::Program alone = program_of(graph.value());
      for (const codegen::Buffer& a : plain.buffers)
        for (const codegen::Buffer& b : alone.buffers)
          if (a.kind == b.kind && a.name == b.name && a.kind == codegen::Buffer::Kind::output)
            CHECK(ir::print_type(a.type) == ir::print_type(b.type));
    }
  }
}

TEST_CASE("a buffer goes where another is known to be as large") {
  ir::SymbolTable symbols;
  const ir::Sym n = symbols.size("n", 10), m = symbols.size("m", 10);
  // Alive one after the other: each may have the place of the one before, if that is never smaller.
  std::vector<fusion::Lifetime> lives = {
      {4 * n * m, 0, 1}, {4 * n, 2, 3}, {4 * m, 4, 5}, {8 * n * m, 6, 7}, {4 * n, 6, 7}};
  const ir::Sym bytes = fusion::plan_arena(lives);
  CHECK(symbols.guards().empty());
  CHECK(lives[1].offset.same(lives[3].offset));
  CHECK(lives[0].offset.same(lives[3].offset));
  for (int64_t a : {2, 3, 50})
    for (int64_t b : {2, 7, 1000}) {
      const std::vector<int64_t> values = {a, b};
      auto at = [&](const ir::Sym& s) { return *symbols.evaluate(s, values); };
      for (const fusion::Lifetime& x : lives) {
        CHECK(at(x.offset) % 64 == 0);
        CHECK(at(x.offset) + at(x.bytes) <= at(bytes));
        for (const fusion::Lifetime& y : lives)
          if (&x != &y && x.first <= y.last && y.first <= x.last)
            CHECK((at(x.offset) + at(x.bytes) <= at(y.offset) || at(y.offset) + at(y.bytes) <= at(x.offset)));
      }
    }
}

TEST_CASE("every number of a program gets its value") {
  Symbolic symbolic(kTwoLayers, {5, 7});
  const codegen::Program plain = codegen::instantiate(symbolic.program, std::vector<int64_t>{3, 4});
  for (const codegen::Kernel& kernel : plain.kernels) {
    CHECK(!kernel.work.symbolic());
    for (const ir::Sym& number : kernel.numbers) CHECK(!number.symbolic());
  }
  for (const codegen::Step& step : plain.steps) {
    for (const ir::Arg& arg : step.node.args)
      if (arg.is<ir::Sym>()) CHECK(!arg.as<ir::Sym>().symbolic());
    for (const ir::TensorType& type : step.node.outputs)
      for (const ir::Sym& size : type.sizes) CHECK(!size.symbolic());
  }
  CHECK(!plain.arena_bytes.symbolic());
}
