#include "core/base/clock.h"
#include "core/ops/table.h"
#include "core/runtime/opaque_program.h"

namespace vitrine::runtime {

namespace {

std::string space_of(const ir::Node& node) {
  std::string out;
  if (node.outputs.empty()) return out;
  for (int64_t d : node.type().sizes) out += (out.empty() ? "" : " × ") + std::to_string(d);
  return out;
}

int64_t bytes_of(const codegen::Program& program, const std::vector<int32_t>& buffers) {
  int64_t bytes = 0;
  for (int32_t b : buffers) bytes += program.buffers[static_cast<size_t>(b)].type.bytes();
  return bytes;
}

}  // namespace

void record_opaque(const codegen::Program& program, ir::Recorder& recorder) {
  int64_t now = monotonic_ns();
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const codegen::Step& step = program.steps[s];
    const ops::OpRow* op = ops::find(step.node.op);
    session::KernelRow kernel;
    kernel.id = recorder.writer.next(Kind::Kernel);
    kernel.compilation = recorder.compilation;
    kernel.ordinal = static_cast<int64_t>(s);
    kernel.label = step.label;
    kernel.name = ir::short_op(step.node.op);
    kernel.kind = "opaque";
    kernel.family = std::string(ops::family_name(op ? op->family : ops::Family::opaque));
    kernel.language = "pytorch";
    kernel.space = space_of(step.node);
    if (!op || op->family != ops::Family::view)  // which moves nothing
      kernel.bytes = bytes_of(program, step.buffers) + bytes_of(program, step.outs);
    recorder.writer.put(kernel);
    recorder.writer.link(recorder.entity(step.node.id), kernel.id);
    session::LaunchRow launch;
    launch.id = recorder.writer.next(Kind::Launch);
    launch.compilation = recorder.compilation;
    launch.ordinal = kernel.ordinal;
    launch.kind = "opaque";
    launch.text = step.label + " " + kernel.name;
    for (int32_t b : step.buffers)
      launch.args += (launch.args.empty() ? "" : ", ") + program.buffers[static_cast<size_t>(b)].name;
    launch.kernel = kernel.id;
    launch.bytes = kernel.bytes;
    recorder.writer.put(launch);
    recorder.writer.link(kernel.id, launch.id);
  }
  for (const char* stage : {"loops", "fused", "memory", "kernels", "ir", "assembly"})
    recorder.stage(stage, "none", 0, now, 0, "every operator runs through PyTorch");
  recorder.stage("launch", "ok", static_cast<int64_t>(program.steps.size()), now, 0);
}

}  // namespace vitrine::runtime
