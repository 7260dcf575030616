// The integers of arguments, types and nodes that may be expressions: arguments inside lists, keywords,
// sizes, strides and offsets.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::ir {

// f(number) for each, in order; a number is a Sym&, const where the whole is.
template <class T, class F>
void each_integer(T& of, F&& f) {
  using Whole = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Whole, Arg>) {
    if (auto* number = std::get_if<Sym>(&of.v)) f(*number);
    if (auto* list = std::get_if<std::vector<Arg>>(&of.v))
      for (auto& item : *list) each_integer(item, f);
  } else if constexpr (std::is_same_v<Whole, TensorType>) {
    for (auto& size : of.sizes) f(size);
    for (auto& stride : of.strides) f(stride);
    f(of.offset);
  } else {
    static_assert(std::is_same_v<Whole, Node>);
    for (auto& arg : of.args) each_integer(arg, f);
    for (auto& [name, arg] : of.kwargs) each_integer(arg, f);
    for (auto& type : of.outputs) each_integer(type, f);
  }
}

// The graph with f(number) done to each of its integers, those of its results included.
template <class F>
GraphPtr with_each_integer(const Graph& graph, F&& f) {
  Builder out(graph.stage, nullptr);
  for (Node node : graph.nodes()) {
    each_integer(node, f);
    out.add(std::move(node));
  }
  std::vector<Arg> results = graph.results();
  for (Arg& result : results) each_integer(result, f);
  return out.finish(std::move(results));
}

// As it is at the first sizes: a number for each expression.
template <class T>
T at_hints(T of) {
  each_integer(of, [](Sym& number) { number = number.hint(); });
  return of;
}
inline bool same_at_hints(const Dims& a, const Dims& b) {
  return std::ranges::equal(a, b, [](const Sym& x, const Sym& y) { return x.hint() == y.hint(); });
}

// Whether one of them is an expression.
template <class T>
bool has_expression(const T& of) {
  bool found = false;
  each_integer(of, [&](const Sym& number) { found = found || number.symbolic(); });
  return found;
}

}  // namespace vitrine::ir
