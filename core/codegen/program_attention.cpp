// Attention of one query a head: two kernels in place of PyTorch's operator.
#include "core/codegen/cuda/emit_attention.h"
#include "core/codegen/program_builder.h"

namespace vitrine::codegen {

// nullopt: another operator, or attention that the kernels do not cover.
std::optional<ops::OneQuery> ProgramBuilder::own_attention(const ir::Node& n) const {
  if (!options_.fuse || options_.by_pytorch.contains(n.id)) return {};
  const ops::TypeOf type_of = [this](ir::Ref r) -> const ir::TensorType& { return loops_.placement(r).type; };
  auto attention = ops::one_query(n, type_of);
  const bool covered =
      attention && ops::has_kernel(*attention, type_of) && (!attention->places.symbolic() || options_.sizes);
  return covered ? std::move(attention) : std::nullopt;
}

// A kernel reads the buffer of the value's root: the value as it lies behind the first element of that.
ir::TensorType ProgramBuilder::read_root(ir::Ref value, std::vector<int32_t>& buffers) {
  const fusion::Placement& p = loops_.placement(value);
  buffers.push_back(buffer_for(p.root));
  ir::TensorType type = p.type;
  type.offset = p.offset;
  return type;
}

// false: it is PyTorch's.
bool ProgramBuilder::add_attention(int u) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const ir::Node& n = loops_.graph->node(loops_.loops[unit.loops[0]].node);
  const auto attention = own_attention(n);
  if (!attention) return false;
  std::vector<int32_t> reads;
  auto read = [&](ir::Ref r) { return read_root(r, reads); };
  cuda::AttentionKernels k;
  k.what = *attention, k.result = n.type(), k.node = n.id;
  k.query = read(attention->query), k.key = read(attention->key), k.value = read(attention->value);
  if (attention->mask) k.mask = read(*attention->mask);
  k.parts = cuda::attention_parts(*attention);
  const ir::Ref value{n.id, 0};
  const int32_t result = new_buffer(value), sums = temporary(cuda::attention_sums(k), value),
                scales = temporary(cuda::attention_scales(k), value);
  for (int launch = 0; launch < 2; ++launch) {
    Step step;
    step.kind = Step::Kind::kernel;
    step.may_fail = false;
    step.label = unit.label + (launch ? "b" : "");
    step.buffers = launch ? std::vector<int32_t>{sums, scales, result} : reads;
    step.outs = launch ? std::vector<int32_t>{result} : std::vector<int32_t>{sums, scales};
    if (!launch) step.buffers.insert(step.buffers.end(), {sums, scales});
    Kernel kernel = cuda::emit_attention(k, launch, step.label, options_.sizes.get());
    step.kernel = static_cast<int32_t>(program_.kernels.size());
    step.numbers = kernel.numbers;
    program_.kernels.push_back(std::move(kernel));
    add_step(std::move(step), u);
  }
  return true;
}

}  // namespace vitrine::codegen
