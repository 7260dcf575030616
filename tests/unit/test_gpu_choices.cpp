// What a GPU's program offers to be measured, and what a choice makes of it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <set>

#include "core/ir/parse.h"
#include "core/pipeline/draft.h"

using namespace vitrine;

namespace {

constexpr const char* kGraph = R"(graph optimised {
  %x = placeholder() : f16[512,1024]cuda:0
  %w = parameter() : f16[1024,1024]cuda:0
  %m = aten.mm.default(%x, %w) : f16[512,1024]cuda:0
  %r = aten.relu.default(%m) : f16[512,1024]cuda:0
  %a = aten.amax.default(%r, [1], True) : f16[512,1]cuda:0
  %s = aten.sub.Tensor(%r, %a) : f16[512,1024]cuda:0
  %v = aten.view.default(%x, [524288]) : f16[524288]cuda:0
  %e = aten.exp.default(%v) : f16[524288]cuda:0
  return %s, %e
}
)";

codegen::Program program(const codegen::ProductOptions& products) {
  auto graph = ir::parse(kGraph);
  REQUIRE(graph.ok());
  codegen::CodegenOptions how;
  how.products = products;
  pipeline::Settings apart;
  apart.disabled = {"shared_launches"};
  auto made = pipeline::build_program(graph.value(), how, nullptr, apart);
  REQUIRE(made.ok());
  return made.take();
}

const codegen::Step& step_of(const codegen::Program& p, codegen::Step::Kind kind, const std::string& part) {
  for (const codegen::Step& s : p.steps) {
    const std::string name = s.kernel >= 0 ? p.kernels[static_cast<size_t>(s.kernel)].name : s.node.op;
    if (s.kind == kind && name.find(part) != std::string::npos) return s;
  }
  FAIL("no step " << part);
  throw std::logic_error(part);
}

}  // namespace

TEST_CASE("nothing is offered on a GPU unless it is asked for") {
  for (const codegen::Step& s : program({.offered = true}).steps) {
    CHECK(s.instead.empty());
    CHECK(s.shapes.empty());
  }
}

TEST_CASE("kernels are offered in several shapes, each another text over the same arguments") {
  const codegen::Program p = program({.offered = true, .on_gpu = true});
  for (const char* name : {"relu", "exp"}) {
    CAPTURE(name);
    const codegen::Step& step = step_of(p, codegen::Step::Kind::kernel, name);
    REQUIRE(step.shapes.size() > 2);
    CHECK(step.shapes[0].kernel == step.kernel);
    std::set<std::string> texts, shapes;
    for (const codegen::Alternative& a : step.shapes) {
      const codegen::Kernel& kernel = p.kernels[static_cast<size_t>(a.kernel)];
      texts.insert(kernel.text);
      shapes.insert(a.shape);
      CHECK(a.buffers == step.buffers);
      CHECK(kernel.grid.threads % 32 == 0);
      CHECK(kernel.grid.threads <= 1024);
    }
    CHECK(texts.size() == step.shapes.size());
    CHECK(shapes.size() == step.shapes.size());
  }
}

TEST_CASE("a kernel that moves little is offered in no other shape: each would have to be compiled") {
  auto graph = ir::parse(R"(graph optimised {
  %x = placeholder() : f16[64,1024]cuda:0
  %e = aten.exp.default(%x) : f16[64,1024]cuda:0
  return %e
}
)");
  REQUIRE(graph.ok());
  codegen::CodegenOptions how;
  how.products = {.offered = true, .on_gpu = true};
  auto made = pipeline::build_program(graph.value(), how, nullptr);
  REQUIRE(made.ok());
  const codegen::Program p = made.take();
  CHECK(step_of(p, codegen::Step::Kind::kernel, "exp").shapes.empty());
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("a chosen shape is the kernel's, a chosen algorithm the product's") {
  const codegen::Program offered = program({.offered = true, .on_gpu = true});
  const codegen::Step& kernel = step_of(offered, codegen::Step::Kind::kernel, "relu");
  const codegen::Step& product = step_of(offered, codegen::Step::Kind::library, "mm");
  REQUIRE(product.instead.size() > 1);
  CHECK(product.algorithm == 0);
  codegen::ProductOptions chosen;
  chosen.choices[kernel.shaped].candidate = 2;
  chosen.choices[product.node.id].candidate = product.instead[1].candidate;
  const codegen::Program p = program(chosen);
  const codegen::Step& again = step_of(p, codegen::Step::Kind::kernel, "relu");
  CHECK(p.kernels[static_cast<size_t>(again.kernel)].text ==
        offered.kernels[static_cast<size_t>(kernel.shapes[2].kernel)].text);
  CHECK(step_of(p, codegen::Step::Kind::library, "mm").algorithm == 2);
  CHECK(p.kernels.size() < offered.kernels.size());
}
