// A graph as text on standard input, what code generation makes of it on standard output: the harness of
// tests/python/kernels/cpp/test_codegen.py. codegen_tool graph|loops|fused|program|json
// [lanes [passes] [stream] [shared] [tiles=256] [fused] [sm_90]]; with `passes` they run first, with `stream`
// every kernel writes past the cache, with `shared` small kernels share launches, with an architecture
// kernels are laid out for such a GPU. tiles: its products are kernels of tiles so wide; fused: each with
// what follows it.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/fusion/fuse.h"
#include "core/fusion/recompute.h"
#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/pipeline/draft.h"
#include "core/pipeline/optimise.h"
#include "tests/tools/by_tiles.h"

using namespace vitrine;
using nlohmann::json;

namespace {

json type_json(const ir::TensorType& t) {
  return {{"dtype", ir::dtype_torch_name(t.dtype)},
          {"sizes", ir::integers(t.sizes)},
          {"strides", ir::integers(t.strides)},
          {"offset", t.offset.hint()}};
}

json arg_json(const ir::Arg& a) {
  if (a.is<bool>()) return a.as<bool>();
  if (a.is<int64_t>()) return a.as<int64_t>();
  if (a.is<double>()) return {{"float", std::to_string(a.as<double>())}};
  if (a.is<std::string>()) return a.as<std::string>();
  if (a.is<ir::Word>()) return {{"word", a.as<ir::Word>().text}};
  if (a.is<ir::DType>()) return {{"dtype", ir::dtype_torch_name(a.as<ir::DType>())}};
  if (a.is<ir::Ref>()) return {{"ref", {a.as<ir::Ref>().node, a.as<ir::Ref>().output}}};
  if (!a.is<std::vector<ir::Arg>>()) return nullptr;
  json list = json::array();
  for (const ir::Arg& x : a.as<std::vector<ir::Arg>>()) list.push_back(arg_json(x));
  return list;
}

json maps_json(const std::vector<codegen::TensorMap>& maps) {
  json out = json::array();
  for (const auto& m : maps)
    out.push_back({{"argument", m.argument},
                   {"along", m.along},
                   {"rows", m.rows},
                   {"images", m.images},
                   {"row_step", m.row_step},
                   {"image_step", m.image_step},
                   {"tile_along", m.tile_along},
                   {"tile_rows", m.tile_rows}});
  return out;
}

json program_json(const codegen::Program& p) {
  json out;
  for (const auto& b : p.buffers)
    out["buffers"].push_back({{"name", b.name},
                              {"kind", static_cast<int>(b.kind)},
                              {"type", type_json(b.type)},
                              {"input", b.input},
                              {"arena_offset", int64_t{b.arena_offset}},
                              {"view_of", b.view_of}});
  out["kernels"] = json::array();
  for (const auto& k : p.kernels)
    out["kernels"].push_back({{"label", k.label},
                              {"name", k.name},
                              {"text", k.text},
                              {"work", int64_t{k.work}},
                              {"grain", int64_t{k.grain}},
                              {"blocks", int64_t{k.grid.blocks}},
                              {"shared", int64_t{k.grid.shared}},
                              {"maps", maps_json(k.maps)},
                              {"threads", k.grid.threads},
                              {"checks", k.checks}});
  out["steps"] = json::array();
  for (const auto& s : p.steps) {
    json step = {{"kind", static_cast<int>(s.kind)},
                 {"label", s.label},
                 {"kernel", s.kernel},
                 {"buffers", s.buffers},
                 {"outs", s.outs},
                 {"numbers", ir::integers(s.numbers)},
                 {"free_after", s.free_after},
                 {"op", s.node.op}};
    step["args"] = json::array();
    for (const auto& a : s.node.args) step["args"].push_back(arg_json(a));
    step["kwargs"] = json::object();
    for (const auto& [key, a] : s.node.kwargs) step["kwargs"][key] = arg_json(a);
    out["steps"].push_back(step);
  }
  for (const auto& [ref, buffer] : p.value_buffer) out["values"].push_back({ref.node, ref.output, buffer});
  for (const auto& r : p.results) out["results"].push_back(arg_json(r));
  out["inputs"] = p.input_buffer;
  out["arena_bytes"] = int64_t{p.arena_bytes};
  return out;
}

struct ToolOptions {
  int lanes = 16;
  bool passes = false, stream = false, shared = false, fused = false;
  int tiles = 0;
  std::string arch;
};

int run(const std::string& what, const ToolOptions& options) {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  auto graph = ir::parse(text);
  if (!graph.ok()) {
    std::cerr << graph.error().what << "\n";
    return 1;
  }
  if (options.passes) {
    pipeline::PassOptions all;
    all.verify = true;
    graph = pipeline::optimise(graph.value(), all, nullptr);
    if (!graph.ok()) {
      std::cerr << graph.error().what << "\n";
      return 1;
    }
  }
  if (what == "graph") std::cout << ir::print(*graph.value());
  fusion::LoopProgram loops = fusion::recompute_small(fusion::build_loops(graph.value()));
  if (what == "loops") std::cout << fusion::loops_text(loops);
  if (what == "fused") std::cout << fusion::fused_text(loops, fusion::fuse(loops, fusion::Readers(loops)));
  if (what != "program" && what != "json") return 0;
  codegen::CodegenOptions how;
  how.lanes = options.lanes;
  how.stream_bytes = options.stream ? 1 : 0;
  how.gpu = codegen::cuda::gpu_of(options.arch);
  how.products.choices = by_tiles(*graph.value(), options.tiles, options.fused);
  pipeline::Settings settings;
  if (!options.shared) settings.disabled = {"shared_launches"};
  auto program = pipeline::build_program(graph.value(), how, nullptr, settings);
  if (!program.ok()) return 1;
  if (what == "json") std::cout << program_json(program.value()).dump();
  if (what == "program")
    for (const auto& k : program.value().kernels) std::cout << k.text << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto has = [&](const std::string& word) { return std::find(argv, argv + argc, word) != argv + argc; };
    auto after = [&](const std::string& head) {
      const char* const* found = std::find_if(
          argv, argv + argc, [&](const char* word) { return std::string_view(word).starts_with(head); });
      return found == argv + argc ? std::string() : std::string(*found);
    };
    ToolOptions options;
    if (argc > 2) options.lanes = std::atoi(argv[2]);
    options.passes = has("passes"), options.stream = has("stream"), options.shared = has("shared");
    options.fused = has("fused"), options.arch = after("sm_");
    if (const std::string tiles = after("tiles="); !tiles.empty()) options.tiles = std::stoi(tiles.substr(6));
    return run(argc > 1 ? argv[1] : "program", options);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
