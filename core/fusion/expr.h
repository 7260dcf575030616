// What one operator computes for one element: a small tree, read from the text in its row of the operator
// table ("a + alpha * b"; core/ops/table.h describes the language).
//
//   operators by falling precedence: unary - ~, * /, + -, &, ^, |, < <= > >=, == !=
//   call    := name '(' expr, ... ')'      exp(a), where(a, b, c), max(a, 0)
//   literal := 1, 0.5, 1e-5, inf, nan, true, false
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::fusion {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind : uint8_t { number, size, name, operand, call };
  Kind kind = Kind::number;
  double number = 0;          // number
  int64_t integer = 0;        // number, if `whole`
  bool whole = false;         // an integer constant: exact in 64 bits
  ir::Sym size = 0;           // size: an integer that is symbolic
  int operand = -1;           // operand: position in the statement's operands
  std::string name;           // name: argument; call: function or operator ("+", "exp", "where")
  std::vector<ExprPtr> args;  // call

  static ExprPtr make_number(double v);
  template <std::integral T>
  static ExprPtr make_integer(T v) {
    return make_whole(static_cast<int64_t>(v));
  }
  static ExprPtr make_integer(const ir::Sym& v);
  static ExprPtr make_whole(int64_t v);
  static ExprPtr make_name(std::string name);
  static ExprPtr make_operand(int index);
  static ExprPtr make_call(std::string name, std::vector<ExprPtr> args);
};

// Errors: the text is not an expression (says where).
Result<ExprPtr> parse_expr(std::string_view text);

// The text form again, fully parenthesised only where needed; operands print as $0, $1.
std::string to_text(const ExprPtr& expr);

// f(name) for every name; the tree with each name replaced by what f returned (nullptr: keep the name).
ExprPtr replace_names(const ExprPtr& expr, const std::function<ExprPtr(const std::string&)>& f);

// Whether it holds a symbolic integer.
bool has_size(const Expr& expr);

// Every name that is left in the tree, each once, in order of appearance.
std::vector<std::string> names_in(const ExprPtr& expr);

}  // namespace vitrine::fusion
