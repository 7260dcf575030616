#include "core/passes/decompose/decompose_activations.h"

namespace vitrine::passes {

namespace {

// Half `i` of a dimension.
Ref half(NodeWriter& w, Ref x, const Arg& dim, int64_t i) {
  const TensorType& type = w.type(x);
  const ir::Sym size = ir::floordiv(type.sizes[ops::wrap_dim(dim.as<int64_t>(), type.sizes.size())], 2);
  return w.op("aten.slice.Tensor", {x, dim, Arg(i * size), Arg((i + 1) * size)});
}

}  // namespace

// elu of a / alpha, times alpha
OutputValues celu(NodeWriter& w) {
  const double alpha = w.number(1);
  return w.one(w.op("aten.elu.default", {w.value(0), Arg(alpha), Arg(1.0), Arg(1 / alpha)}));
}

// x = (a, b): a sigmoid(b)
OutputValues glu(NodeWriter& w) {
  const Ref x = w.wide(0);
  if (w.type(x).numel() == 0) return std::nullopt;
  return w.one(w.mul(half(w, x, w.arg(1), 0), w.unary("aten.sigmoid.default", half(w, x, w.arg(1), 1))));
}

// With s = sigmoid(b): (g s, (1 - s) s a g)
OutputValues glu_backward(NodeWriter& w) {
  const Ref x = w.value(1);
  if (w.type(x).numel() == 0) return std::nullopt;
  const Ref g = w.wide(0), a = half(w, w.wide(1), w.arg(2), 0);
  const Ref s = w.unary("aten.sigmoid.default", half(w, w.wide(1), w.arg(2), 1));
  const Ref rest = w.op("aten.rsub.Scalar", {s, Arg(1)});
  const Ref first = w.mul(s, g), second = w.mul(w.mul(w.mul(rest, s), a), g);
  return w.one(w.op("aten.cat.default", {Arg(std::vector<Arg>{Arg(first), Arg(second)}), w.arg(2)}));
}

// The buffer is exp(-|x|), and empty on a GPU.
OutputValues log_sigmoid_forward(NodeWriter& w) {
  const auto out = w.output(0, w.unary("aten.log_sigmoid.default", w.value(0)));
  if (!out) return std::nullopt;
  if (!w.used(1) || !w.node.type().device.is_cpu()) return OutputValues({*out, w.empty(1)});
  const Ref far = w.unary("aten.neg.default", w.unary("aten.abs.default", w.value(0)));
  const auto buffer = w.output(1, w.unary("aten.exp.default", far));
  return buffer ? OutputValues({*out, *buffer}) : std::nullopt;
}

}  // namespace vitrine::passes
