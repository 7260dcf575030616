#include "core/ir/substitute.h"

#include "core/ir/each_integer.h"

namespace vitrine::ir {

namespace {

// Puts the numbers into arguments, types and nodes, and knows an expression that has none.
class Substitution {
 public:
  Substitution(const SymbolTable& table, std::span<const int64_t> values) : table_(table), values_(values) {}

  void operator()(Sym& number) {
    if (!number.symbolic()) return;
    const auto known = table_.evaluate(number, values_);
    if (!known) failed_ = table_.text(number);
    number = known.value_or(0);
  }
  template <class T>
  Result<T> given(T whole) const {
    if (!failed_.empty()) return Error{failed_ + " has no value for these sizes", ""};
    return whole;
  }

 private:
  const SymbolTable& table_;
  std::span<const int64_t> values_;
  std::string failed_;
};

template <class T>
Result<T> one_at_sizes(T whole, Substitution values) {
  each_integer(whole, values);
  return values.given(std::move(whole));
}

}  // namespace

Result<TensorType> at_sizes(const TensorType& type, const SymbolTable& table,
                            std::span<const int64_t> values) {
  return one_at_sizes(type, {table, values});
}

Result<Node> at_sizes(const Node& node, const SymbolTable& table, std::span<const int64_t> values) {
  return one_at_sizes(node, {table, values});
}

Result<GraphPtr> at_sizes(const Graph& graph, const SymbolTable& table, std::span<const int64_t> values) {
  Substitution put(table, values);
  GraphPtr made = with_each_integer(graph, put);
  return put.given(std::move(made));
}

}  // namespace vitrine::ir
