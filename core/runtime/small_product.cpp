#include "core/runtime/small_product.h"

#include <algorithm>
#include <numeric>

namespace vitrine::runtime {

namespace {

constexpr int64_t kMostFlops = int64_t{1} << 29;   // of a product that is tried as it is,
constexpr int64_t kMostGrown = int64_t{64} << 20;  // and of what of it grows with the longest extent
constexpr int64_t kUnit = 192;                     // columns of whole panels, whatever their width

// One of m, n and k, and how long it is.
struct ProductCut {
  int which = 0;
  int64_t from = 0, to = 0;
};

const ir::TensorType* type_of(const codegen::Program& program, ir::Ref ref) {
  for (const auto& [value, buffer] : program.value_buffer)
    if (value == ref) return &program.buffers[static_cast<size_t>(buffer)].type;
  return nullptr;
}

// The longest extent, shortened until the product is small; the same number of columns stand beside its last
// panel.
ProductCut cut_of(const int64_t (&extents)[3]) {
  ProductCut cut;
  for (int i = 1; i < 3; ++i)
    if (extents[i] > extents[cut.which]) cut.which = i;
  cut.from = cut.to = extents[cut.which];
  int64_t flops = 2, bytes = 0;  // for each one of it
  for (int i = 0; i < 3; ++i) {
    if (i == cut.which) continue;
    flops *= extents[i];
    bytes += extents[i] * static_cast<int64_t>(sizeof(float));
  }
  const int64_t wanted = std::max(std::min(kMostFlops / flops, kMostGrown / bytes), 2 * kUnit);
  if (cut.from > wanted) cut.to -= (cut.from - wanted) / kUnit * kUnit;
  return cut;
}

// The type with one dim cut, lying as densely and in the same order as before.
ir::TensorType shortened(ir::TensorType type, size_t dim, int64_t to) {
  if (type.sizes.at(dim) == 1) return type;  // it is broadcast
  std::vector<size_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return type.strides[a] > type.strides[b]; });
  type.sizes[dim] = to;
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (type.strides[order[i]] == 0) continue;
    type.strides[order[i]] = next;
    next *= type.sizes[order[i]];
  }
  return type;
}

class Maker {
 public:
  Maker(const codegen::Program& program, const codegen::Step& step) : from_(program), step_(step) {}

  // false: no plain product of matrices, or a small one.
  bool shrink() {
    const ir::Node& node = step_.node;
    const size_t count = node.op == "aten.mm.default" ? 2 : node.op == "aten.addmm.default" ? 3 : 0;
    if (count == 0 || node.args.size() != count || node.outputs.size() != 1) return false;
    for (const ir::Arg& arg : node.args) {
      const ir::TensorType* type = arg.is<ir::Ref>() ? type_of(from_, arg.as<ir::Ref>()) : nullptr;
      if (!type || type->sizes.empty() || type->sizes.size() > 2) return false;
      types_.push_back(*type);
      types_.back().offset = 0;
    }
    ir::TensorType &a = types_[count - 2], &b = types_[count - 1];
    if (a.sizes.size() != 2 || b.sizes.size() != 2) return false;
    const int64_t extents[3] = {a.sizes[0], b.sizes[1], a.sizes[1]};
    const ProductCut cut = cut_of(extents);
    if (cut.from == cut.to) return false;
    part_ = static_cast<double>(cut.to) / static_cast<double>(cut.from);
    out_ = node.type();
    out_.offset = 0;
    if (cut.which != 1) a = shortened(a, cut.which == 0 ? 0 : 1, cut.to);
    if (cut.which != 0) b = shortened(b, cut.which == 1 ? 1 : 0, cut.to);
    if (cut.which == 2) return true;
    out_ = shortened(out_, static_cast<size_t>(cut.which), cut.to);
    if (count == 2) return true;
    ir::TensorType& bias = types_[0];
    if (cut.which == 1) bias = shortened(bias, bias.sizes.size() - 1, cut.to);
    if (cut.which == 0 && bias.sizes.size() == 2) bias = shortened(bias, 0, cut.to);
    return true;
  }

  // Inputs, the product, and what each of them is in memory.
  void build() {
    ir::Builder builder("product", std::make_shared<ir::NodeIds>());
    ir::Node node = step_.node;
    for (size_t i = 0; i < types_.size(); ++i) {
      ir::Node input;
      input.kind = ir::NodeKind::parameter;
      input.name = "x" + std::to_string(i);
      input.outputs = {types_[i]};
      const ir::Ref made = builder.add(std::move(input));
      add_buffer(made, types_[i]);
      node.args[i] = made;
    }
    node.id = -1;
    node.outputs = {out_};
    node.origin = {};
    const ir::Ref made = builder.add(std::move(node));
    add_buffer(made, out_);
    graph_ = builder.finish({made});
    codegen::Step& step = made_.program.steps.emplace_back();
    step.kind = codegen::Step::Kind::library;
    step.node = graph_->node(made.node);
    step.outs = {static_cast<int32_t>(types_.size())};
  }

  // Each alternative by the code that it has in the large program. false: one has other code.
  bool offer(const std::vector<CompiledKernel>& kernels, int lanes, codegen::ProductOptions how) {
    codegen::Step& step = made_.program.steps[0];
    how.least_flops = 0;
    for (const codegen::Alternative& a : step_.instead) {
      const codegen::Kernel& kernel = from_.kernels[static_cast<size_t>(a.kernel)];
      how.only = a.candidate;
      how.holds_weights = kernel.held > 0;
      auto call = codegen::product_call(*graph_, step.node, a.candidate, lanes, how);
      if (!call || call->kernel.text != kernel.text) return false;
      codegen::Alternative& made = step.instead.emplace_back();
      made.candidate = a.candidate;
      made.kernel = static_cast<int32_t>(made_.program.kernels.size());
      for (ir::Ref r : call->reads) made.buffers.push_back(r.node);
      made.buffers.insert(made.buffers.begin() + 2, step.outs[0]);
      made.numbers = std::move(call->numbers);
      made_.program.kernels.push_back(std::move(call->kernel));
      made_.kernels.push_back(kernels.at(static_cast<size_t>(a.kernel)));
    }
    return true;
  }

  SmallProduct take() {
    made_.part = part_;
    return std::move(made_);
  }

 private:
  // Node ids count from 0 in a graph of its own: a value's buffer has its number.
  void add_buffer(ir::Ref value, const ir::TensorType& type) {
    codegen::Buffer buffer;
    buffer.type = type;
    made_.program.value_buffer.emplace_back(value, static_cast<int32_t>(made_.program.buffers.size()));
    made_.program.buffers.push_back(std::move(buffer));
  }

  const codegen::Program& from_;
  const codegen::Step& step_;
  std::vector<ir::TensorType> types_;
  ir::TensorType out_;
  double part_ = 1;
  ir::GraphPtr graph_;
  SmallProduct made_;
};

}  // namespace

std::optional<SmallProduct> small_product(const codegen::Program& program, const codegen::Step& step,
                                          const std::vector<CompiledKernel>& kernels, int lanes,
                                          const codegen::ProductOptions& how) {
  Maker maker(program, step);
  if (!maker.shrink()) return {};
  maker.build();
  if (!maker.offer(kernels, lanes, how)) return {};
  return maker.take();
}

}  // namespace vitrine::runtime
