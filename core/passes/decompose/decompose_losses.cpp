#include "core/passes/decompose/decompose_losses.h"

namespace vitrine::passes {

namespace {

constexpr int64_t kClasses = 1;         // their dim
constexpr double kNone = 0, kMean = 1;  // reductions; 2: the sum

// (n, classes) and (n), or (n, classes, ...) and (n, ...).
bool covered(const NodeWriter& w, Ref scores, Ref target) {
  const TensorType &s = w.type(scores), &t = w.type(target);
  return s.numel() > 0 && t.dtype == DType::i64 && s.sizes.size() >= 2 &&
         t.sizes.size() + 1 == s.sizes.size() && ir::is_float(s.dtype);
}
Ref beside_classes(NodeWriter& w, Ref v) {
  return w.op("aten.unsqueeze.default", {v, Arg(kClasses)});
}
Ref zeros_like(NodeWriter& w, Ref v) {
  return w.unary("aten.zeros_like.default", v);
}
Ref where(NodeWriter& w, Ref condition, Ref value) {
  return w.op("aten.where.self", {condition, value, zeros_like(w, value)});
}

// The value's elements at the classes in `index`, of size 1 there. What a difference of a part that is the
// same for all classes and a conversion do, they do to what is picked.
Ref pick(NodeWriter& w, Ref value, Ref index) {
  const Node& made = w.made(value);
  const auto ref = [&](size_t i) { return made.args.at(i).as<Ref>(); };
  if (made.op == "aten.sub.Tensor" && made.args.size() == 2 && made.kwargs.empty() &&
      made.args[0].is<Ref>() && made.args[1].is<Ref>()) {
    Dims row = w.type(value).sizes;
    row[kClasses] = 1;
    const Ref a = ref(0), b = ref(1);
    if (ir::same(w.type(a).sizes, w.type(value).sizes) && ir::same(w.type(b).sizes, row) &&
        w.type(a).dtype == w.type(value).dtype)
      return w.sub(pick(w, a, index), b);
  }
  const bool converts = made.op == "aten._to_copy.default" && made.kwargs.size() == 1 &&
                        made.kwargs[0].first == "dtype" && ir::is_float(w.type(ref(0)).dtype);
  if (converts) return w.cast(pick(w, ref(0), index), w.type(value).dtype);
  return w.op("aten.gather.default", {value, Arg(kClasses), index});
}

// A tensor's weights of the classes in `index`.
Ref weights_of(NodeWriter& w, Ref weight, Ref index) {
  return w.op("aten.index.Tensor", {weight, Arg(std::vector<Arg>{Arg(index)})});
}

// Of all elements: themselves, their mean or their sum.
OutputValues joined(NodeWriter& w, Ref loss, size_t reduction) {
  if (w.number(reduction) == kNone) return w.one(loss);
  const Ref sum = w.sum(loss, {});
  return w.one(w.number(reduction) == kMean ? w.div(sum, NodeWriter::divisor(w.type(loss).numel())) : sum);
}
Ref pick_by(NodeWriter& w, Ref condition, Ref a, Ref b) {
  return w.op("aten.where.self", {condition, a, b});
}

}  // namespace

// l = -w[t] x[t], 0 where t is ignored; their sum by the sum of their w[t] for a mean
OutputValues nll_loss(NodeWriter& w) {
  const Ref scores = w.value(0), target = w.value(1);
  if (!covered(w, scores, target)) return std::nullopt;
  const Ref counts = w.op("aten.ne.Scalar", {target, w.arg(4)});
  const Ref index = w.mul(target, counts);
  Ref picked = pick(w, scores, beside_classes(w, index));
  if (w.type(picked).dtype != w.type(w.wide(0)).dtype) picked = w.cast(picked, DType::f32);
  Ref loss = w.unary("aten.neg.default", w.op("aten.squeeze.dim", {picked, Arg(kClasses)}));
  Ref weight = w.cast(counts, w.type(loss).dtype);
  if (!w.none(2)) {
    weight = w.mul(weights_of(w, w.wide(2), index), weight);
    loss = w.mul(loss, weight);
  }
  loss = where(w, counts, loss);
  if (w.number(3) == kNone) {
    auto out = w.output(0, loss);
    Kwargs how = {{"dtype", Arg(w.node.outputs[1].dtype)}};
    if (!w.type(loss).device.is_cpu()) how.emplace_back("device", Arg(ir::Word{w.type(loss).device.text()}));
    const Ref nothing = w.op("aten.zeros.default", {Arg::ints({})}, std::move(how));
    return out ? OutputValues({*out, Arg(nothing)}) : std::nullopt;
  }
  const Ref total = w.unary("aten.sum.default", weight);
  Ref sum = w.unary("aten.sum.default", loss);
  if (w.number(3) == kMean) sum = w.div(sum, total);
  auto out = w.output(0, sum), weights = w.output(1, total);
  return out && weights ? OutputValues({*out, *weights}) : std::nullopt;
}

// -g w[t] at the right class of each place that is not ignored; by the total weight for a mean
OutputValues nll_loss_backward(NodeWriter& w) {
  const Ref scores = w.value(1), target = w.value(2);
  if (!covered(w, scores, target)) return std::nullopt;
  const Dims& sizes = w.type(scores).sizes;
  Ref g = w.unary("aten.neg.default", w.wide(0));
  if (w.number(4) == kMean) g = w.div(g, w.wide(6));
  const Ref counts = w.op("aten.ne.Scalar", {target, w.arg(5)});
  if (!w.none(3)) g = w.mul(g, weights_of(w, w.wide(3), w.mul(target, counts)));
  if (!ir::same(w.type(g).sizes, w.type(target).sizes)) {
    if (!w.type(g).numel().same(1)) return std::nullopt;
    g = w.op("aten.view.default", {g, Arg::ints(Dims(sizes.size(), 1))});
  } else {
    g = beside_classes(w, g);
  }
  g = w.op("aten.where.self", {beside_classes(w, counts), g, zeros_like(w, g)});
  Kwargs options = {{"dtype", Arg(DType::i32)}};
  if (w.type(target).device.is_cuda())
    options.emplace_back("device", Arg(ir::Word{w.type(target).device.text()}));
  Ref number = w.op("aten.arange.default", {Arg(sizes[kClasses])}, std::move(options));
  if (sizes.size() > 2) {
    Dims column(sizes.size() - 1, 1);
    column[0] = sizes[kClasses];
    number = w.op("aten.view.default", {number, Arg::ints(column)});
  }
  const Ref right = w.op("aten.eq.Tensor", {number, beside_classes(w, w.cast(target, DType::i32))});
  return w.one(where(w, right, g));
}

// (a - b)^2
OutputValues mse_loss(NodeWriter& w) {
  const Ref d = w.sub(w.wide(0), w.wide(1));
  if (w.type(d).numel() == 0) return std::nullopt;
  return joined(w, w.mul(d, d), 2);
}

// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2
OutputValues smooth_l1_loss(NodeWriter& w) {
  const Ref d = w.unary("aten.abs.default", w.sub(w.wide(0), w.wide(1)));
  const double beta = w.number(3);
  if (w.type(d).numel() == 0 || beta <= 0) return std::nullopt;
  const Ref near = w.div(w.mul(w.mul(d, 0.5), d), beta), far = w.sub(d, 0.5 * beta);
  return joined(w, pick_by(w, w.op("aten.lt.Scalar", {d, Arg(beta)}), near, far), 2);
}

// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2)
OutputValues huber_loss(NodeWriter& w) {
  const Ref d = w.unary("aten.abs.default", w.sub(w.wide(0), w.wide(1)));
  const double delta = w.number(3);
  if (w.type(d).numel() == 0 || delta <= 0) return std::nullopt;
  const Ref near = w.mul(w.mul(d, 0.5), d), far = w.mul(w.sub(d, 0.5 * delta), delta);
  return joined(w, pick_by(w, w.op("aten.le.Scalar", {d, Arg(delta)}), near, far), 2);
}

// log(1 + exp(-target self))
OutputValues soft_margin_loss(NodeWriter& w) {
  if (w.node.type().dtype == ir::DType::f16) return std::nullopt;  // eager's exponential overflows there
  const Ref x = w.mul(w.unary("aten.neg.default", w.wide(1)), w.wide(0));
  if (w.type(x).numel() == 0) return std::nullopt;
  return joined(w, w.unary("aten.log1p.default", w.unary("aten.exp.default", x)), 2);
}

// (1 - target) self - log sigmoid(self), the latter times 1 + (pos_weight - 1) target
OutputValues binary_cross_entropy_with_logits(NodeWriter& w) {
  if (ir::dtype_bytes(w.node.type().dtype) < 4) return std::nullopt;  // eager rounds what cancels
  const Ref x = w.wide(0), target = w.wide(1);
  if (w.type(x).numel() == 0) return std::nullopt;
  Ref likely = w.unary("aten.log_sigmoid.default", x);
  if (!w.none(3)) likely = w.mul(likely, w.add(w.mul(w.sub(w.wide(3), 1), target), 1));
  Ref loss = w.sub(w.mul(w.op("aten.rsub.Scalar", {target, Arg(1)}), x), likely);
  if (!w.none(2)) loss = w.mul(loss, w.wide(2));
  return joined(w, loss, 4);
}

}  // namespace vitrine::passes
