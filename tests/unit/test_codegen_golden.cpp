// What loops, fusion, memory plan and C++ generation make of small graphs, against files in tests/golden.
// A file is a graph, a line "----" and the expected text. BLESS=1 rewrites the expectations.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <functional>
#include <sstream>

#include "core/fusion/fuse.h"
#include "core/fusion/nests.h"
#include "core/fusion/order.h"
#include "core/fusion/recompute.h"
#include "core/fusion/scans.h"
#include "core/fusion/scatters.h"
#include "core/ir/parse.h"
#include "core/ops/table.h"
#include "core/pipeline/draft.h"
#include "tests/tools/by_tiles.h"
#include "tests/unit/golden_folder.h"

using namespace vitrine;

namespace {

codegen::Program program_of(const ir::GraphPtr& graph, int64_t stream_bytes = 0, const char* arch = "",
                            const pipeline::Settings& settings = {}) {
  codegen::CodegenOptions how;
  how.gpu = codegen::cuda::gpu_of(arch);
  how.stream_bytes = stream_bytes;
  auto program = pipeline::build_program(graph, how, nullptr, settings);
  REQUIRE(program.ok());
  return program.take();
}
// Each kernel with a launch of its own.
pipeline::Settings apart() {
  pipeline::Settings settings;
  settings.disabled = {"shared_launches"};
  return settings;
}

// Steps with the names of their buffers, then the buffers with place and lifetime.
std::string plan_text(const codegen::Program& p) {
  static constexpr const char* kSteps[] = {"kernel", "library", "opaque", "view"};
  static constexpr const char* kBuffers[] = {"input", "constant", "temporary", "output", "foreign"};
  auto name = [&](int32_t b) { return p.buffers[static_cast<size_t>(b)].name; };
  std::ostringstream out;
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const codegen::Step& step = p.steps[s];
    out << s << " " << kSteps[static_cast<size_t>(step.kind)] << " " << step.label << ":";
    for (int32_t b : step.buffers) out << " " << name(b);
    out << " ->";
    for (int32_t b : step.outs) out << " " << name(b);
    if (!step.free_after.empty()) out << "; free";
    for (int32_t b : step.free_after) out << " " << name(b);
    out << "\n";
  }
  for (const codegen::Buffer& b : p.buffers) {
    out << b.name << ": " << kBuffers[static_cast<size_t>(b.kind)] << " " << b.type.text();
    if (b.arena_offset >= 0) out << " at " << b.arena_offset;
    if (b.view_of >= 0) out << " view of " << name(b.view_of);
    if (b.reuses >= 0) out << " reuses " << name(b.reuses);
    out << ", steps " << b.first_step << "-" << b.last_step << "\n";
  }
  out << "arena " << p.arena_bytes << "\n";
  return out.str();
}

// The kernels' texts without the prelude, which has tests of its own: the numeric ones.
std::string kernels_text(const codegen::Program& p) {
  std::string out;
  for (const codegen::Kernel& k : p.kernels) {
    out += k.label + " " + k.text.substr(0, k.text.find('\n') + 1);
    const std::string end = "// end of prelude\n\n";
    size_t at = k.text.find(end) + end.size();
    auto first =
        static_cast<int32_t>(std::count(k.text.begin(), k.text.begin() + static_cast<int64_t>(at), '\n'));
    out += k.text.substr(at);
    for (const codegen::LineOrigin& o : k.lines)
      out += "line " + std::to_string(o.line - first) + ": node " + std::to_string(o.node) + "\n";
  }
  return out;
}

void check_folder(const std::string& folder, const std::function<std::string(const ir::GraphPtr&)>& make) {
  const int files = check_golden_folder(folder, "----\n", [&](const std::string& text) {
    auto graph = ir::parse(text);
    REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().what));
    return make(graph.value());
  });
  CHECK(files > 0);
}

}  // namespace

namespace {

// What there is once the row has run; of products, as if each had been measured to be the faster in one
// kernel with what follows it.
std::string text_after(std::string_view last, const ir::GraphPtr& graph) {
  codegen::CodegenOptions how;
  for (const ir::Node& node : graph->nodes())
    if (codegen::is_product(node)) how.products.choices[node.id] = {.candidate = 1, .fused = true};
  pipeline::Build build{graph, how, {}, {}, {}, nullptr};
  for (const pipeline::Row& row : pipeline::rows()) {
    if (row.build) row.build(build);
    if (row.name != last) continue;
    return row.stage == "loops" ? fusion::loops_text(build.loops)
                                : fusion::fused_text(build.loops, build.fused);
  }
  FAIL("no row is called " << last);
  return "";
}

}  // namespace

TEST_CASE("rows of the pipeline behind fusion, and what is added in place") {
  for (const char* row : {"add_in_place", "epilogue_fusion", "horizontal_fusion", "run_early"})
    check_folder(row, [&](const ir::GraphPtr& g) { return text_after(row, g); });
}

TEST_CASE("what was offered and not chosen leaves nothing behind") {
  check_folder("memory_plan", [](const ir::GraphPtr& g) {
    codegen::CodegenOptions how;
    how.products.offered = true;
    how.products.least_flops = 0;
    pipeline::Draft draft(g, how, {});
    draft.settle({});
    const codegen::Program settled = draft.finish(nullptr), plain = program_of(g);
    CHECK(kernels_text(settled) == kernels_text(plain));
    return plan_text(settled);
  });
}

TEST_CASE("operators that fusion has rules for are those whose rows say so") {
  for (const ops::OpRow* row : ops::all()) {
    CAPTURE(row->name);
    ir::Node node;
    node.kind = ir::NodeKind::op;
    node.op = std::string(row->name);
    CHECK(fusion::is_moving(node) == (row->lower == ops::Lower::movement));
    CHECK(fusion::is_scattering(node) == (row->lower == ops::Lower::scatter));
    CHECK(fusion::is_scanning(node) == (row->lower == ops::Lower::scan));
  }
}

TEST_CASE("loops") {
  check_folder("loops", [](const ir::GraphPtr& g) { return fusion::loops_text(fusion::build_loops(g)); });
}

TEST_CASE("small values computed again") {
  check_folder("recompute", [](const ir::GraphPtr& g) {
    return fusion::loops_text(fusion::recompute_small(fusion::build_loops(g)));
  });
}

TEST_CASE("fusion") {
  check_folder("fuse", [](const ir::GraphPtr& g) {
    fusion::LoopProgram loops = fusion::recompute_small(fusion::build_loops(g));
    fusion::FusedProgram fused = fusion::fuse(loops, fusion::Readers(loops));
    fusion::run_late(loops, fused);
    return fusion::fused_text(loops, fused);
  });
}

TEST_CASE("memory plan") {
  check_folder("memory_plan", [](const ir::GraphPtr& g) { return plan_text(program_of(g)); });
}

TEST_CASE("kernels that write past the cache") {
  check_folder("cpp_streamed", [](const ir::GraphPtr& g) { return kernels_text(program_of(g, 1'000)); });
}

TEST_CASE("kernels") {
  check_folder("cpp", [](const ir::GraphPtr& g) { return kernels_text(program_of(g)); });
}

TEST_CASE("CUDA kernels") {
  check_folder("cuda", [](const ir::GraphPtr& g) { return kernels_text(program_of(g, 0, "", apart())); });
  check_folder("cuda_sm_90",
               [](const ir::GraphPtr& g) { return kernels_text(program_of(g, 0, "sm_90", apart())); });
}

TEST_CASE("large products by tiles") {
  check_folder("cuda_tiles", [](const ir::GraphPtr& g) {
    codegen::CodegenOptions how;
    how.gpu = codegen::cuda::gpu_of("sm_90");
    how.products.choices = by_tiles(*g, 256, true);
    auto program = pipeline::build_program(g, how, nullptr, apart());
    REQUIRE(program.ok());
    return kernels_text(program.value());
  });
}

TEST_CASE("small kernels in one launch") {
  check_folder("shared_launches", [](const ir::GraphPtr& g) {
    const codegen::Program program = program_of(g);
    return plan_text(program) + kernels_text(program);
  });
}
