#include "core/passes/decompose/index_values.h"

#include <algorithm>
#include <cmath>

#include "core/passes/decompose/index_call.h"

namespace vitrine::passes {

namespace {

using ir::Node;
using ir::Ref;

constexpr int kDeepest = 100;
constexpr int64_t kFar = int64_t{1} << 50;  // no sum of a few such numbers overflows

// Up to here every whole number is one of the type's.
int64_t whole_numbers(DType dtype) {
  switch (dtype) {
    case DType::b1:
      return 1;
    case DType::u8:
      return 255;
    case DType::i8:
      return 127;
    case DType::i16:
      return (1 << 15) - 1;
    case DType::i32:
      return (int64_t{1} << 31) - 1;
    case DType::i64:
    case DType::f64:
      return kFar;
    case DType::f32:
      return 1 << 24;
    case DType::f16:
      return 1 << 11;
    case DType::bf16:
      return 1 << 8;
    default:
      return -1;
  }
}
int64_t least_number(DType dtype) {
  return dtype == DType::b1 || dtype == DType::u8 ? 0 : -whole_numbers(dtype);
}

// Of a dimension of any size: as many as memory could hold.
int64_t most_places(const ir::Sym& size) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return size.symbolic() ? std::min(ir::known_range(size).hi, kMost) : size.hint();
}

IndexValue linear(Linear value, const TensorType& type) {
  if (std::abs(value.start) > kFar) return Unknown{};
  for (size_t d = 0; d < value.steps.size(); ++d) {
    if (type.sizes[d] <= 1) value.steps[d] = 0;
    if (value.steps[d].symbolic()) return Unknown{};
    const int64_t step = value.steps[d];
    if (step != 0 && std::abs(step) > kFar / most_places(type.sizes[d])) return Unknown{};
  }
  const ValueRange range = range_of(value, type.sizes);
  if (range.least < least_number(type.dtype) || range.most > whole_numbers(type.dtype)) return Unknown{};
  if (range.least == range.most) return number(static_cast<double>(value.start));
  return value;
}

IndexValue choice(Choice value, const TensorType& type) {
  value.yes = held(value.yes, type.dtype);
  value.no = held(value.no, type.dtype);
  for (size_t d = 0; d < value.test.steps.size(); ++d)
    if (type.sizes[d] <= 1) value.test.steps[d] = 0;
  const ValueRange range = range_of(value.test, type.sizes);
  if (range.least >= 0 || value.yes == value.no) return number(value.yes);
  if (range.most < 0) return number(value.no);
  return std::isnan(value.yes) && std::isnan(value.no) ? IndexValue(Unknown{}) : IndexValue(value);
}

// Steps of a tensor that is broadcast.
Dims broadcast(const Dims& steps, const Dims& sizes, const Dims& to) {
  Dims out(to.size(), 0);
  for (size_t i = 0; i < steps.size(); ++i)
    if (sizes[sizes.size() - 1 - i] > 1) out[to.size() - 1 - i] = steps[steps.size() - 1 - i];
  return out;
}
// By the operator's name without its overload; not what reads the same bits as another type.
const IndexRule* rule_of(std::string_view op) {
  if (!op.starts_with("aten.") || op == "aten.view.dtype") return nullptr;
  op.remove_prefix(5);
  op = op.substr(0, op.find('.'));
  for (const auto& rules : {kIndexArithmetic, kIndexMoves})
    for (const IndexRule& r : rules)
      if (r.op == op) return &r;
  return nullptr;
}

}  // namespace

double held(double number, DType dtype) {
  if (std::isinf(number) && ir::is_float(dtype)) return number;
  const bool fits = number == std::trunc(number) && number >= static_cast<double>(least_number(dtype)) &&
                    number <= static_cast<double>(whole_numbers(dtype));
  return fits ? number : kAny;
}

IndexValue settled(IndexValue value, const TensorType& type) {
  if (type.numel() == 0) return Unknown{};
  if (const double* n = std::get_if<double>(&value)) return number(held(*n, type.dtype));
  if (Linear* l = std::get_if<Linear>(&value)) return linear(std::move(*l), type);
  if (Choice* c = std::get_if<Choice>(&value)) return choice(std::move(*c), type);
  return value;
}

void broadcast_to(IndexValue& value, const Dims& sizes, const Dims& to) {
  if (Linear* l = std::get_if<Linear>(&value)) l->steps = broadcast(l->steps, sizes, to);
  if (Choice* c = std::get_if<Choice>(&value)) c->test.steps = broadcast(c->test.steps, sizes, to);
}

std::optional<Linear> as_linear(const IndexValue& value, size_t dims) {
  if (const Linear* l = std::get_if<Linear>(&value)) return *l;
  const double* n = std::get_if<double>(&value);
  if (!n || std::isinf(*n)) return std::nullopt;
  return Linear{static_cast<int64_t>(*n), Dims(dims, 0)};
}
Linear sum(const Linear& a, int64_t factor, const Linear& b, int64_t other) {
  Linear out{a.start * factor + b.start * other, a.steps};
  for (size_t d = 0; d < out.steps.size(); ++d) out.steps[d] = a.steps[d] * factor + b.steps[d] * other;
  return out;
}

Linear opposite(Linear test) {
  test.start = -test.start - 1;
  for (ir::Sym& step : test.steps) step = -step;
  return test;
}

ValueRange range_of(const Linear& value, const Dims& sizes) {
  ValueRange out{value.start, value.start};
  for (size_t d = 0; d < value.steps.size(); ++d) {
    const int64_t far = value.steps[d] * (most_places(sizes[d]) - 1);
    (far < 0 ? out.least : out.most) += far;
  }
  return out;
}

const TensorType& IndexValues::type(Ref value) const {
  return node_(value.node)->outputs.at(static_cast<size_t>(value.output));
}

IndexValue IndexValues::of(Ref value) {
  if (const auto it = known_.find(value.node); it != known_.end()) return it->second;
  const Node* node = node_(value.node);
  if (!node || node->kind != ir::NodeKind::op || node->outputs.size() != 1 || depth_ >= kDeepest)
    return Unknown{};
  ++depth_;
  IndexValue out = written_(node->id) ? IndexValue(Unknown{}) : settled(computed(*node), node->type());
  --depth_;
  return known_[value.node] = std::move(out);
}

IndexValue IndexValues::computed(const Node& node) {
  const IndexRule* rule = rule_of(node.op);
  const ops::OpRow* row = rule ? ops::find(node.op) : nullptr;
  if (!row) return Unknown{};
  bool all_known = true;  // the types of what it reads
  ir::each_ref(node, [&](Ref r) { all_known = all_known && node_(r.node) != nullptr; });
  auto args = ops::bind(*row, node);
  if (!args || !all_known) return Unknown{};
  return rule->rule(IndexCall(node, *row, args.take(), *this));
}

}  // namespace vitrine::passes
