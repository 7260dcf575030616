#include "core/codegen/packed_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/ir/each_integer.h"

namespace vitrine::codegen {

namespace {

template <class T, class Of>
concept Fields = std::same_as<std::remove_const_t<T>, Of>;

}  // namespace

// A new field of one of these structs does not compile until it has its place here.
template <class Io, Fields<Buffer> T>
void each(Io& io, T& of) {
  auto& [name, kind, type, value, input, arena_offset, reuses, view_of, held, first_step, last_step] = of;
  ir::pack_word(io, kind, Buffer::Kind::foreign);
  ir::pack_all(io, name, type, value, input, arena_offset, reuses, view_of, held, first_step, last_step);
}

template <class Io, Fields<Grid> T>
void each(Io& io, T& of) {
  auto& [blocks, threads, device, shared] = of;
  ir::pack_all(io, blocks, threads, device, shared);
}

template <class Io, Fields<TensorMap> T>
void each(Io& io, T& of) {
  auto& [argument, dtype, along, rows, images, row_step, image_step, tile_along, tile_rows] = of;
  ir::pack_word(io, dtype, ir::DType::other);
  ir::pack_all(io, argument, along, rows, images, row_step, image_step, tile_along, tile_rows);
}

template <class Io, Fields<Kernel> T>
void each(Io& io, T& of) {
  // scalar: of a machine without a compiler, which keeps nothing.
  auto& [label, name, grid, text, edited, space, family, lines, nodes, numbers, by_value, packed, maps,
         checks, draws, held, scratch, scalar, work, grain, bytes, flops, entity] = of;
  ir::pack_all(io, label, name, grid, text, edited, family, numbers, by_value, packed, maps, checks, draws,
               held, scratch, work, grain, bytes, flops);
}

template <class Io, Fields<Step> T>
void each(Io& io, T& of) {
  // instead, shapes, shaped: what it might have been.
  auto& [kind, label, kernel, buffers, outs, node, algorithm, numbers, instead, shapes, shaped, may_fail,
         writes_input, random, of_weights, free_after] = of;
  ir::pack_word(io, kind, Step::Kind::view);
  ir::pack_all(io, label, kernel, buffers, outs, node, algorithm, numbers, may_fail, writes_input, random,
               of_weights, free_after);
}

template <class Io, Fields<Program> T>
void each(Io& io, T& of) {
  auto& [buffers, kernels, steps, value_buffer, input_buffer, results, arena_bytes, host_bytes, draws,
         draws_on, writes] = of;
  ir::pack_all(io, buffers, kernels, steps, value_buffer, input_buffer, results, arena_bytes, host_bytes,
               draws, draws_on);
}

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw ir::PackingError(what);
}

// Of the sizes that it has now; nothing: negative, or more than 64 bits.
std::optional<int64_t> bytes_of(const ir::TensorType& type) {
  int64_t out = ir::dtype_bytes(type.dtype);
  for (const ir::Sym& size : type.sizes)
    if (size.hint() < 0 || __builtin_mul_overflow(out, size.hint(), &out)) return {};
  return out;
}

// What they read lasts as long as what is kept of them.
void check_steps_of_weights(const Program& program) {
  std::set<int32_t> made;
  for (const Step& step : program.steps) {
    if (!step.of_weights) continue;
    require(step.kind == Step::Kind::kernel, "a step of weights runs no kernel");
    for (int32_t b : step.outs) {
      const Buffer& out = program.buffers[static_cast<size_t>(b)];
      require(
          out.held && out.kind == Buffer::Kind::temporary && out.view_of < 0 && out.arena_offset.hint() < 0,
          "a step of weights writes to memory that does not last");
    }
    for (int32_t b : step.buffers) {
      const bool written = std::find(step.outs.begin(), step.outs.end(), b) != step.outs.end();
      require(written || program.buffers[static_cast<size_t>(b)].input >= 0 || made.contains(b),
              "a step of weights reads what is no weight");
    }
    made.insert(step.outs.begin(), step.outs.end());
  }
}

// What a plan takes for granted of a program.
void check(const Program& program) {
  const auto is = [](int64_t index, size_t size) { return index >= 0 && index < static_cast<int64_t>(size); };
  const auto buffers = [&](const std::vector<int32_t>& list) {
    for (int32_t b : list) require(is(b, program.buffers.size()), "a step names a buffer that is not there");
  };
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    require(buffer.type.sizes.size() == buffer.type.strides.size(), "a buffer has sizes without strides");
    require(buffer.view_of == -1 || is(buffer.view_of, program.buffers.size()),
            "a view is of a buffer that is not there");
    require(buffer.input == -1 || is(buffer.input, program.input_buffer.size()),
            "a buffer is an input that is not there");
  }
  const std::string memory = unsound_memory(program);
  require(memory.empty(), memory.c_str());
  for (const Buffer& buffer : program.buffers) {
    const Buffer* base = &buffer;
    for (size_t left = program.buffers.size(); base->view_of >= 0; --left) {
      require(left > 0, "a view is of itself");
      base = &program.buffers[static_cast<size_t>(base->view_of)];
    }
  }
  buffers(program.input_buffer);
  for (const auto& [value, buffer] : program.value_buffer)
    require(is(buffer, program.buffers.size()), "a value is in a buffer that is not there");
  for (const Step& step : program.steps) {
    for (const auto* list : {&step.buffers, &step.outs, &step.free_after}) buffers(*list);
    require(step.kind != Step::Kind::kernel || is(step.kernel, program.kernels.size()),
            "a step runs a kernel that is not there");
    if (step.kind != Step::Kind::kernel) continue;
    for (const TensorMap& map : program.kernels[static_cast<size_t>(step.kernel)].maps)
      require(is(map.argument, step.buffers.size()), "a map is of an argument that is not there");
  }
  check_steps_of_weights(program);
}

}  // namespace

std::string misfit(const Program& program, const ir::Graph& graph) {
  const auto alike = [](const ir::TensorType& a, const ir::TensorType& b) {
    return a.dtype == b.dtype && a.device == b.device && ir::same_at_hints(a.sizes, b.sizes);
  };
  const auto type_of = [&](ir::Ref ref) {
    return graph.node(ref.node).outputs.at(static_cast<size_t>(ref.output));
  };
  const std::vector<const ir::Node*> inputs = graph.inputs();
  if (inputs.size() != program.input_buffer.size()) return "it takes other inputs";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::TensorType& type = program.buffers[static_cast<size_t>(program.input_buffer[i])].type;
    if (!alike(type, inputs[i]->type()) || !ir::same_at_hints(type.strides, inputs[i]->type().strides))
      return "it takes another " + inputs[i]->name;
  }
  const std::map<ir::Ref, int32_t> buffers(program.value_buffer.begin(), program.value_buffer.end());
  const std::vector<ir::Arg>& results = graph.results();
  if (results.size() != program.results.size()) return "it gives other results";
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].v.index() != program.results[i].v.index()) return "it gives other results";
    if (!results[i].is<ir::Ref>()) continue;
    const auto at = buffers.find(program.results[i].as<ir::Ref>());
    if (at == buffers.end() ||
        !alike(program.buffers[static_cast<size_t>(at->second)].type, type_of(results[i].as<ir::Ref>())))
      return "it gives another result " + std::to_string(i);
  }
  return "";
}

std::string unsound_memory(const Program& program) {
  constexpr int64_t kAlign = 64;
  const int64_t arena = std::max(program.arena_bytes.hint(), program.host_bytes.hint());
  int64_t most = 0;
  for (const Buffer& buffer : program.buffers) {
    const std::optional<int64_t> bytes = bytes_of(buffer.type);
    if (!bytes) return "a buffer has no size";
    const int64_t at = buffer.arena_offset.hint();
    if (at == -1) continue;
    int64_t end = 0;
    if (at < 0 || __builtin_add_overflow(at, *bytes, &end) || end > arena)
      return "a buffer lies outside of the arena";
    if (__builtin_add_overflow(most, *bytes, &most) || __builtin_add_overflow(most, kAlign, &most))
      return "buffers have more bytes than there are";
  }
  const bool fits = std::min(program.arena_bytes.hint(), program.host_bytes.hint()) >= 0 && arena <= most;
  return fits ? "" : "the arena is larger than what lies in it";
}

Result<std::string> packed(const Program& program, const ir::SymbolTable* table, ir::TableExtent known) {
  try {
    ir::Packer io(table);
    if (table) ir::pack_growth(io, *table, known);
    ir::pack(io, program);
    return io.bytes();
  } catch (const ir::PackingError& e) {
    return Error{e.what(), "", ""};
  }
}

Result<Unpacked> unpacked_program(std::string_view bytes, ir::SymbolTable* table) {
  try {
    ir::Unpacker io(bytes, table);
    Unpacked out;
    if (table) out.guards = ir::unpack_growth(io, *table);
    ir::pack(io, out.program);
    io.expect_end();
    check(out.program);
    return out;
  } catch (const ir::PackingError& e) {
    return Error{e.what(), "", ""};
  }
}

}  // namespace vitrine::codegen
