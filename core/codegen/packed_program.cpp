#include "core/codegen/packed_program.h"

#include <algorithm>

#include "core/ir/packing.h"

namespace vitrine::codegen {

namespace {

template <class T, class Of>
concept Fields = std::same_as<std::remove_const_t<T>, Of>;

}  // namespace

// A new field of one of these structs does not compile until it has its place here.
template <class Io, Fields<Buffer> T>
void each(Io& io, T& of) {
  auto& [name, kind, type, value, input, arena_offset, reuses, view_of, first_step, last_step] = of;
  ir::pack_word(io, kind, Buffer::Kind::foreign);
  ir::pack_all(io, name, type, value, input, arena_offset, reuses, view_of, first_step, last_step);
}

template <class Io, Fields<Grid> T>
void each(Io& io, T& of) {
  auto& [blocks, threads, device, shared] = of;
  ir::pack_all(io, blocks, threads, device, shared);
}

template <class Io, Fields<Kernel> T>
void each(Io& io, T& of) {
  // scalar: of a machine without a compiler, which keeps nothing.
  auto& [label, name, grid, text, edited, space, family, lines, nodes, numbers, by_value, packed, checks,
         draws, held, scratch, scalar, work, grain, bytes, flops, entity] = of;
  ir::pack_all(io, label, name, grid, text, edited, family, numbers, by_value, packed, checks, draws, held,
               scratch, work, grain, bytes, flops);
}

template <class Io, Fields<Step> T>
void each(Io& io, T& of) {
  // instead, shapes, shaped: what it might have been.
  auto& [kind, label, kernel, buffers, outs, node, algorithm, numbers, instead, shapes, shaped, may_fail,
         writes_input, random, free_after] = of;
  ir::pack_word(io, kind, Step::Kind::view);
  ir::pack_all(io, label, kernel, buffers, outs, node, algorithm, numbers, may_fail, writes_input, random,
               free_after);
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

// What a plan takes for granted of a program.
void check(const Program& program) {
  const auto is = [](int64_t index, size_t size) { return index >= 0 && index < static_cast<int64_t>(size); };
  const auto buffers = [&](const std::vector<int32_t>& list) {
    for (int32_t b : list) require(is(b, program.buffers.size()), "a step names a buffer that is not there");
  };
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    require(buffer.type.sizes.size() == buffer.type.strides.size(), "a buffer has sizes without strides");
    for (const ir::Sym& size : buffer.type.sizes) require(size.hint() >= 0, "a buffer has a negative size");
    require(buffer.view_of == -1 || is(buffer.view_of, program.buffers.size()),
            "a view is of a buffer that is not there");
    require(buffer.input == -1 || is(buffer.input, program.input_buffer.size()),
            "a buffer is an input that is not there");
    const int64_t at = buffer.arena_offset.hint(),
                  arena = std::max(program.arena_bytes, program.host_bytes).hint();
    require(at == -1 || (at >= 0 && at <= arena), "a buffer lies outside of the arena");
  }
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
  }
}

}  // namespace

Result<std::string> packed(const Program& program) {
  try {
    ir::Packer io;
    ir::pack(io, program);
    return io.bytes();
  } catch (const ir::PackingError& e) {
    return Error{e.what(), "", ""};
  }
}

Result<Program> unpacked_program(std::string_view bytes) {
  try {
    ir::Unpacker io(bytes);
    Program program;
    ir::pack(io, program);
    io.expect_end();
    check(program);
    return program;
  } catch (const ir::PackingError& e) {
    return Error{e.what(), "", ""};
  }
}

}  // namespace vitrine::codegen
