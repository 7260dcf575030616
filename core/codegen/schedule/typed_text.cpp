#include "core/codegen/schedule/typed_text.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "core/codegen/schedule/size_memory.h"

namespace vitrine::codegen {

using fusion::Expr;
using fusion::ExprPtr;
using ir::DType;

std::string paren(const Typed& t) {
  return t.atomic ? t.text : "(" + t.text + ")";
}

std::string float_literal(double value, Lane lane) {
  char text[64];
  const bool single = lane != DType::f64;
  std::snprintf(text, sizeof text, single ? "%.9g" : "%.17g", value);
  std::string out = text;
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return single ? out + "f" : out;
}

bool is_one(const Expr& e) {
  return e.kind == Expr::Kind::number && e.whole && e.integer == 1;
}

double rounded(double value, DType t) {
  float f = static_cast<float>(value);
  if (t == DType::bf16 && std::isfinite(f)) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
    return std::bit_cast<float>(bits);
  }
  if (t == DType::f16) return static_cast<float>(static_cast<_Float16>(f));
  return value;
}

std::optional<ExprPtr> fold(const ExprPtr& e, DType compute) {
  if (e->kind != Expr::Kind::call) return std::nullopt;
  const bool single = ir::is_float(compute) && compute != DType::f64;
  const auto to_type = [&](double v) { return single ? static_cast<double>(static_cast<float>(v)) : v; };
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) {
    auto f = fold(a, compute);
    args.push_back(f ? *f : a);
    if (args.back()->kind != Expr::Kind::number) return std::nullopt;
  }
  const Expr& a = *args[0];
  if (e->name == "neg") return a.whole ? Expr::make_integer(-a.integer) : Expr::make_number(-a.number);
  if (args.size() != 2) return std::nullopt;
  const Expr& b = *args[1];
  const bool whole = a.whole && b.whole;
  const double x = to_type(a.number), y = to_type(b.number);
  if (e->name == "*")
    return whole ? Expr::make_integer(a.integer * b.integer) : Expr::make_number(to_type(x * y));
  if (e->name == "+")
    return whole ? Expr::make_integer(a.integer + b.integer) : Expr::make_number(to_type(x + y));
  if (e->name == "-")
    return whole ? Expr::make_integer(a.integer - b.integer) : Expr::make_number(to_type(x - y));
  return std::nullopt;
}

std::string marked_constant(double value, int64_t integer, bool whole, Lane lane,
                            const std::string& literal) {
  if (lane == DType::b1 || !std::isfinite(value)) return literal;
  const std::string type(ir::dtype_name(lane));
  if (ir::is_float(lane)) return SizeMemory::mark_real(value, literal, type);
  return SizeMemory::mark_integer(whole ? integer : static_cast<int64_t>(value), literal, type);
}

std::string marked_size(const ir::Sym& size, Lane lane) {
  const Lane to = lane == DType::b1 ? DType::i32 : lane;
  return SizeMemory::mark_integer(size, std::to_string(size.hint()), std::string(ir::dtype_name(to)));
}

}  // namespace vitrine::codegen
