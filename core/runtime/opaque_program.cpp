#include "core/runtime/opaque_program.h"

#include <map>

namespace vitrine::runtime {

namespace {

using codegen::Buffer;
using codegen::Program;
using codegen::Step;
using BufferPlaces = std::map<ir::Ref, int32_t>;

void add_buffer(Program& program, BufferPlaces& places, const ir::Node& node, int32_t output,
                Buffer::Kind kind, int32_t step) {
  auto index = static_cast<int32_t>(program.buffers.size());
  Buffer buffer;
  bool several = node.outputs.size() > 1;
  buffer.name = several ? node.name + "." + std::to_string(output) : node.name;
  buffer.kind = kind;
  buffer.type = node.outputs.at(static_cast<size_t>(output));
  buffer.value = {node.id, output};
  buffer.first_step = buffer.last_step = step;
  program.buffers.push_back(std::move(buffer));
  program.value_buffer.emplace_back(ir::Ref{node.id, output}, index);
  places[{node.id, output}] = index;
}

}  // namespace

Program opaque_program(const ir::Graph& aten) {
  Program program;
  BufferPlaces places;
  for (const ir::Node& node : aten.nodes()) {
    if (node.kind != ir::NodeKind::op) {
      auto kind = node.kind == ir::NodeKind::constant ? Buffer::Kind::constant : Buffer::Kind::input;
      add_buffer(program, places, node, 0, kind, -1);
      program.buffers.back().input = static_cast<int32_t>(program.input_buffer.size());
      program.input_buffer.push_back(static_cast<int32_t>(program.buffers.size()) - 1);
      continue;
    }
    auto ordinal = static_cast<int32_t>(program.steps.size());
    Step step;
    step.kind = Step::Kind::opaque;
    step.label = "O" + std::to_string(ordinal);
    step.node = node;
    // Zeros that PyTorch keeps without memory are none that its C interface reads.
    if (node.op == "aten._efficientzerotensor.default") step.node.op = "aten.zeros.default";
    ir::each_ref(node, [&](ir::Ref r) {
      int32_t buffer = places.at(r);
      step.buffers.push_back(buffer);
      program.buffers[static_cast<size_t>(buffer)].last_step = ordinal;
    });
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      step.outs.push_back(static_cast<int32_t>(program.buffers.size()));
      add_buffer(program, places, node, static_cast<int32_t>(i), Buffer::Kind::foreign, ordinal);
    }
    program.steps.push_back(std::move(step));
  }
  program.results = aten.results();
  for (const ir::Arg& result : program.results)
    ir::each_ref(result, [&](ir::Ref r) {
      program.buffers[static_cast<size_t>(places.at(r))].last_step =
          static_cast<int32_t>(program.steps.size());
    });
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.kind == Buffer::Kind::foreign && buffer.last_step < static_cast<int32_t>(program.steps.size()))
      program.steps[static_cast<size_t>(buffer.last_step)].free_after.push_back(static_cast<int32_t>(b));
  }
  return program;
}

}  // namespace vitrine::runtime
