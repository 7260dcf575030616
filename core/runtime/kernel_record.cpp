#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "core/runtime/cuda/occupancy.h"
#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime {

namespace kc = kernel_compiler;

namespace {

// The node that a source line computes, or -1. The narrowest range wins: it says most.
ir::NodeId node_at(const codegen::Kernel& kernel, int32_t line) {
  const codegen::LineOrigin* best = nullptr;
  for (const codegen::LineOrigin& o : kernel.lines) {
    if (line < o.line || line > o.end_line) continue;
    if (!best || o.end_line - o.line < best->end_line - best->line) best = &o;
  }
  return best ? best->node : -1;
}

void record_ranges(const codegen::Kernel& kernel, const char* text, const std::vector<kc::LineMap>& lines,
                   ir::Recorder& recorder) {
  for (const kc::LineMap& map : lines) {
    ir::NodeId node = node_at(kernel, map.source_line);
    session::KernelRangeRow row;
    row.id = recorder.writer.next(Kind::KernelRange);
    row.kernel = kernel.entity;
    row.text = text;
    row.line = map.line;
    row.end_line = map.end_line;
    row.node = node >= 0 ? recorder.entity(node) : 0;
    if (!row.node) continue;
    recorder.writer.put(row);
    recorder.writer.link(row.node, row.id);
  }
}

// The place of a line's instruction in its function, "  /*0140*/  LDG.E ..." -> 0x140; -1: it has none.
int64_t sass_offset(std::string_view line) {
  const size_t from = line.find_first_not_of(' ');
  if (from == std::string_view::npos || !line.substr(from).starts_with("/*")) return -1;
  const std::string digits(line.substr(from + 2, 8));
  char* end = nullptr;
  const int64_t offset = std::strtoll(digits.c_str(), &end, 16);
  return end != digits.c_str() && *end == '*' ? offset : -1;
}

// By which a sampled instruction finds its lines.
void record_sass_lines(const codegen::Kernel& kernel, const kc::Texts& texts, ir::Recorder& recorder) {
  session::SassLinesRow run;
  const auto put = [&] {
    if (run.line) recorder.writer.put(run);
    run = {kernel.entity};
  };
  std::istringstream text(texts.assembly);
  std::string line;
  auto map = texts.assembly_lines.begin();
  int64_t last = 0;  // offset of the instruction before
  for (int32_t number = 1; std::getline(text, line); ++number) {
    const int64_t offset = sass_offset(line);
    while (map != texts.assembly_lines.end() && map->end_line < number) ++map;
    const int64_t source = map != texts.assembly_lines.end() && map->line <= number ? map->source_line : 0;
    const bool joins = offset >= 0 && run.line && run.end_line == number - 1 && run.source_line == source &&
                       (!run.bytes || offset - last == run.bytes);
    if (!joins) put();
    if (offset < 0) continue;
    if (!run.line) {
      run.line = number;
      run.source_line = source;
      run.offset = offset;
    } else if (!run.bytes) {
      run.bytes = offset - last;
    }
    run.end_line = number;
    last = offset;
  }
  put();
}

void record_gpu(const codegen::Kernel& kernel, const CompiledKernel& compiled, ir::Recorder& recorder) {
  session::GpuKernelRow row;
  row.kernel = kernel.entity;
  row.arch = compiled.arch;
  row.registers = compiled.report.registers;
  row.spill_bytes = compiled.report.spill_bytes;
  row.shared_bytes = compiled.report.shared_bytes + kernel.grid.shared;
  row.threads = kernel.grid.threads;
  row.blocks = kernel.grid.blocks;
  auto occupancy =
      cuda::theoretical_occupancy(row.arch, kernel.grid.threads, compiled.report.registers, row.shared_bytes);
  if (occupancy) {
    row.occupancy = occupancy->part();
    row.blocks_a_sm = occupancy->blocks;
    row.limited_by = occupancy->limit;
  }
  for (const kc::Remark& r : compiled.texts.remarks)
    if (r.pass == "nvdisasm") row.note = "no SASS: " + r.text;
  recorder.writer.put(row);
}

session::KernelRow kernel_row(const codegen::Program& program, size_t index, const std::string& isa,
                              ir::Recorder& recorder) {
  const codegen::Kernel& kernel = program.kernels[index];
  session::KernelRow row;
  row.id = kernel.entity;
  row.compilation = recorder.compilation;
  for (const codegen::Step& step : program.steps) {  // ordinal among all that is launched
    if (step.kind == codegen::Step::Kind::kernel && step.kernel == static_cast<int32_t>(index)) break;
    row.ordinal += step.kind != codegen::Step::Kind::view;
  }
  row.label = kernel.label;
  row.name = kernel.name;
  row.kind = "generated";
  row.family = kernel.family;
  row.language = kernel.grid.blocks > 0 ? "cuda c++" : "c++";
  row.space = kernel.space;
  row.isa = isa;
  row.source = recorder.writer.blob(kernel.text);
  row.bytes = kernel.bytes;
  row.flops = kernel.flops;
  return row;
}

// "for (i64 c = 0; c < 3072; c += 16) {" -> 16: how many elements a turn of a vector loop takes; 0 for other
// lines.
int64_t elements_a_turn(const std::string& line) {
  size_t step = line.find(" += ");
  if (line.find("for (") == std::string::npos || step == std::string::npos) return 0;
  return std::atoll(line.c_str() + step + 4);
}

// The kernels are written in explicit vectors, so Clang's loop vectoriser has nothing left to do and its
// refusals would only mislead: what it did is kept, and each vector loop says how wide it is and whether
// registers sufficed.
void record_remarks(const codegen::Kernel& kernel, const CompiledKernel& compiled, ir::Recorder& recorder) {
  for (const kc::Remark& r : compiled.texts.remarks) {
    if (r.kind != "passed") continue;
    recorder.writer.put(session::RemarkRow{kernel.entity, r.line, r.col, r.pass, r.kind, r.text});
  }
  if (kernel.grid.blocks > 0) return;
  std::istringstream text(kernel.text);
  std::string line;
  for (int64_t number = 1; std::getline(text, line); ++number) {
    int64_t lanes = elements_a_turn(line);
    if (lanes < 2) continue;
    int64_t spills = compiled.texts.spills;
    std::string said =
        std::to_string(lanes) + " elements a turn, " +
        (spills > 0 ? std::to_string(spills) + " spills in the kernel" : std::string("no spills"));
    recorder.writer.put(
        session::RemarkRow{kernel.entity, number, 0, "vitrine", spills > 0 ? "missed" : "passed", said});
  }
}

}  // namespace

void record_kernels(const codegen::Program& program, const KernelStage& stage, const std::string& isa,
                    ir::Recorder& recorder) {
  int64_t fresh = 0, cached = 0;
  std::unordered_set<std::string_view> texts;  // of equal layers: compiled once, and the time told once
  for (size_t i = 0; i < program.kernels.size() && i < stage.kernels.size(); ++i) {
    const codegen::Kernel& kernel = program.kernels[i];
    const CompiledKernel& compiled = stage.kernels[i];
    if (!kernel.entity) continue;
    session::KernelRow row = kernel_row(program, i, isa, recorder);
    row.ir = recorder.writer.blob(compiled.texts.ir);
    row.assembly = recorder.writer.blob(compiled.texts.assembly);
    const bool first = texts.insert(kernel.text).second;
    row.compile_ns = first ? compiled.front_ns + compiled.codegen_ns + compiled.link_ns : 0;
    row.cached = compiled.cached ? 1 : 0;
    row.spills = compiled.texts.spills;
    if (kernel.grid.blocks > 0) {
      row.isa = compiled.arch;
      row.spills = compiled.report.spill_bytes;
      record_gpu(kernel, compiled, recorder);
      record_sass_lines(kernel, compiled.texts, recorder);
    }
    recorder.writer.put(row);
    record_ranges(kernel, "ir", compiled.texts.ir_lines, recorder);
    record_ranges(kernel, "assembly", compiled.texts.assembly_lines, recorder);
    record_remarks(kernel, compiled, recorder);
    if (first && (compiled.cached || row.compile_ns)) ++(compiled.cached ? cached : fresh);
  }
  // Helpers work side by side: the wall time is shared out as their own times were.
  const int64_t total = std::max<int64_t>(1, stage.front_ns + stage.back_ns);
  auto share = static_cast<int64_t>(static_cast<double>(stage.duration_ns) *
                                    static_cast<double>(stage.front_ns) / static_cast<double>(total));
  auto count = static_cast<int64_t>(program.kernels.size());
  const std::string note = std::to_string(fresh) + " compiled, " + std::to_string(cached) + " from the cache";
  const char* state = count > 0 ? "ok" : "none";
  recorder.stage("ir", state, count, stage.start_ns, share, note, {stage.front_ns, stage.workers});
  recorder.stage("assembly", state, count, stage.start_ns + share, stage.duration_ns - share, note,
                 {stage.back_ns, stage.workers});
}

}  // namespace vitrine::runtime
