// Rules of the index analysis: what makes tensors of nothing, and what moves elements.
#include <algorithm>
#include <iterator>

#include "core/passes/decompose/index_call.h"

namespace vitrine::passes {

namespace {

using ir::Ref;
using ir::Sym;

IndexValue zeros(const IndexCall&) {
  return 0.0;
}
IndexValue ones(const IndexCall&) {
  return 1.0;
}
IndexValue full(const IndexCall& c) {
  return c.given("fill_value");
}
IndexValue scalar(const IndexCall& c) {
  return c.given("s");
}
IndexValue arange(const IndexCall& c) {
  const int64_t step = c.integer("step", c.arg("step").is_none() ? 1 : 0);
  const Arg& start = c.arg("start");
  if (step == 0 || !(start.is_none() || start.is<int64_t>()) || !c.arg("end").is<int64_t>()) return Unknown{};
  return Linear{c.integer("start"), {step}};
}

// What moves a value's steps: from those of the operand to those of the result.
template <class F>
IndexValue moved(const IndexCall& c, F f) {
  IndexValue value = c.given("self");
  if (Linear* l = std::get_if<Linear>(&value)) f(*l);
  if (Choice* d = std::get_if<Choice>(&value)) f(d->test);
  return value;
}
IndexValue same(const IndexCall& c) {
  return c.given("self");
}
IndexValue expand(const IndexCall& c) {
  return c.operand("self");
}
IndexValue unsqueeze(const IndexCall& c) {
  const auto at = static_cast<std::ptrdiff_t>(c.dim("dim", c.type().sizes.size()));
  return moved(c, [&](Linear& l) { l.steps.insert(l.steps.begin() + at, 0); });
}
IndexValue select(const IndexCall& c) {
  const Dims& sizes = c.type_of("self").sizes;
  const size_t dim = c.dim("dim", sizes.size());
  const int64_t index = c.integer("index");
  if (index < 0 && sizes[dim].symbolic()) return Unknown{};
  return moved(c, [&](Linear& l) {
    l.start += l.steps[dim] * (index < 0 ? Sym(index + sizes[dim]) : Sym(index));
    l.steps.erase(l.steps.begin() + static_cast<std::ptrdiff_t>(dim));
  });
}
IndexValue slice(const IndexCall& c) {
  const Dims& sizes = c.type_of("self").sizes;
  const size_t dim = c.dim("dim", sizes.size());
  const int64_t start = c.integer("start");
  const Sym from = ir::min(ir::max(start < 0 ? start + sizes[dim] : Sym(start), 0), sizes[dim]);
  if (from.symbolic()) return Unknown{};
  return moved(c, [&](Linear& l) {
    l.start += l.steps[dim] * from;
    l.steps[dim] *= c.integer("step", 1);
  });
}
IndexValue transpose(const IndexCall& c) {
  const size_t dims = c.type().sizes.size(), a = c.dim("dim0", dims), b = c.dim("dim1", dims);
  return moved(c, [&](Linear& l) { std::swap(l.steps[a], l.steps[b]); });
}
IndexValue t(const IndexCall& c) {
  return moved(c, [](Linear& l) { std::reverse(l.steps.begin(), l.steps.end()); });
}
IndexValue permute(const IndexCall& c) {
  const auto& order = c.arg("dims").as<std::vector<Arg>>();
  return moved(c, [&](Linear& l) {
    const Dims before = l.steps;
    for (size_t d = 0; d < order.size(); ++d) {
      const int64_t from = order[d].as<int64_t>();
      l.steps[d] = before[static_cast<size_t>(from < 0 ? from + static_cast<int64_t>(order.size()) : from)];
    }
  });
}
// Dimensions of one element come and go; else the elements would have to be counted anew.
IndexValue reshaped(const IndexCall& c) {
  const Dims &from = c.type_of("self").sizes, &to = c.type().sizes;
  auto long_ones = [](const Dims& sizes) {
    Dims out;
    std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(out), [](const Sym& s) { return s != 1; });
    return out;
  };
  const IndexValue value = c.given("self");
  if (std::holds_alternative<double>(value)) return value;
  if (long_ones(from) != long_ones(to)) return Unknown{};
  return moved(c, [&](Linear& l) {
    Dims steps(to.size(), 0);
    for (size_t i = 0, o = 0; i < from.size(); ++i) {
      if (from[i] == 1) continue;
      while (to[o] == 1) ++o;
      steps[o++] = l.steps[i];
    }
    l.steps = steps;
  });
}
// Elements of a constant, at places that are all there.
IndexValue indexed(const IndexCall& c) {
  const IndexValue value = c.given("self");
  if (!std::holds_alternative<double>(value)) return Unknown{};
  const auto& indices = c.arg("indices").as<std::vector<Arg>>();
  const Dims& sizes = c.type_of("self").sizes;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].is_none()) continue;
    if (!indices[d].is<Ref>()) return Unknown{};
    const TensorType& type = c.values().type(indices[d].as<Ref>());
    const auto places = as_linear(c.values().of(indices[d].as<Ref>()), type.sizes.size());
    if (!places || !ir::is_integer(type.dtype)) return Unknown{};
    const ValueRange range = range_of(*places, type.sizes);
    if (range.least < -sizes.at(d) || range.most >= sizes.at(d)) return Unknown{};
  }
  return value;
}

// Parts that continue each other: constants, and places in a row.
IndexValue joined(const IndexCall& c) {
  const auto& parts = c.arg("tensors").as<std::vector<Arg>>();
  const size_t dims = c.type().sizes.size(), dim = c.dim("dim", dims);
  std::optional<Linear> out;
  int64_t begin = 0;
  bool has_step = false;  // along the dimension: told by a part that is longer than 1, or by two parts
  for (const Arg& part : parts) {
    const Dims& sizes = c.values().type(part.as<Ref>()).sizes;
    auto value = as_linear(c.values().of(part.as<Ref>()), dims);
    if (!value || sizes.size() != dims || sizes[dim].symbolic()) return Unknown{};
    if (!out) out = value, out->steps[dim] = 0;
    int64_t step = value->steps[dim];
    if (!has_step && sizes[dim] == 1 && begin > 0) step = (value->start - out->start) / begin;
    if (!has_step && (sizes[dim] > 1 || begin > 0)) has_step = true, out->steps[dim] = step;
    value->steps[dim] = out->steps[dim];
    if (sizes[dim] > 1 && step != out->steps[dim]) return Unknown{};
    if (value->steps != out->steps || value->start != out->start + out->steps[dim] * begin) return Unknown{};
    begin += sizes[dim];
  }
  return out ? IndexValue(*out) : IndexValue(Unknown{});
}

constexpr IndexRule kMoves[] = {
    {"zeros", zeros},
    {"ones", ones},
    {"zeros_like", zeros},
    {"ones_like", ones},
    {"new_zeros", zeros},
    {"new_ones", ones},
    {"full", full},
    {"full_like", full},
    {"new_full", full},
    {"scalar_tensor", scalar},
    {"arange", arange},
    {"clone", same},
    {"lift_fresh_copy", same},
    {"lift_fresh", same},
    {"alias", same},
    {"detach", same},
    {"expand", expand},
    {"unsqueeze", unsqueeze},
    {"select", select},
    {"slice", slice},
    {"transpose", transpose},
    {"t", t},
    {"permute", permute},
    {"view", reshaped},
    {"_unsafe_view", reshaped},
    {"squeeze", reshaped},
    {"cat", joined},
    {"index", indexed},
};

}  // namespace

const std::span<const IndexRule> kIndexMoves = kMoves;

}  // namespace vitrine::passes
