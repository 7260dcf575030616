// Gradients of element-wise operators that depend on numbers in the call.
#include <cmath>

#include "core/autodiff/rules.h"

namespace vitrine::autodiff {

namespace {

// y = x^n: g n x^(n-1); 0 for n = 0
void power_of_number(Vjp& v) {
  if (v.arg(1).is<int64_t>() && v.arg(1).as<ir::Sym>().symbolic()) {
    const ir::Sym exponent = v.arg(1).as<ir::Sym>();
    if (exponent == 0) return v.give(0, v.eval("0"));
    v.let("less", Arg(exponent - 1));
    return v.give(0, v.eval("g * (pow(a, less) * b)"));
  }
  const double n = v.number(1);
  if (n == 0) return v.give(0, v.eval("0"));
  v.let("less", v.arg(1).is<int64_t>() ? Arg(v.integer(1) - 1) : Arg(n - 1));
  v.give(0, v.eval("g * (pow(a, less) * b)"));
}

// y = n^x: g y log n
void power_of_tensor(Vjp& v) {
  if (v.number(0) <= 0) refuse("a power of a number that is not positive");
  v.let("factor", Arg(std::log(v.number(0))));
  v.give(1, v.eval("g * (y * factor)"));
}

// y = a limited to [b, c]: g within
void clamp(Vjp& v) {
  const char* inside = v.none(2) ? "where(a >= b, g, 0)" : "where(a <= c, g, 0)";
  v.give(0, v.eval(v.none(1) || v.none(2) ? inside : "where((a >= b) & (a <= c), g, 0)"));
}

void clamp_by_tensors(Vjp& v) {
  if (v.none(1)) return apply_formulas("a: where(a <= c, g, 0); c: where(a > c, g, 0)", v);
  if (v.none(2)) return apply_formulas("a: where(a >= b, g, 0); b: where(a < b, g, 0)", v);
  apply_formulas(
      "a: where((a >= b) & (a <= c), g, 0); b: where((a < b) & (b < c), g, 0); "
      "c: where((a > c) | (c < b), g, 0)",
      v);
}

// y = a log b: g log b, which PyTorch makes contiguous, g a / b
void xlogy(Vjp& v) {
  const char* logarithm = "where((a == 0) & (b <= 0), 0, where(isnan(b), b, where(g == 0, 0, g * log(b))))";
  if (v.wants(0)) v.give(0, v.contiguous(v.eval(logarithm)));
  if (v.wants(1)) v.give(1, v.eval("g * a / b"));
}

// y = a - b round(a / b): g, -round(a / b) g
void rest(Vjp& v, const char* rounding) {
  if (v.wants(0)) v.give(0, v.g());
  if (!v.wants(1)) return;
  v.let("whole",
        v.op("aten.div.Tensor_mode", {v.in(0), v.in(1)}, {{"rounding_mode", Arg(std::string(rounding))}}));
  v.give(1, v.eval("-g * whole"));
}
void remainder(Vjp& v) {
  rest(v, "floor");
}
void fmod(Vjp& v) {
  rest(v, "trunc");
}

// y = a / b; rounded, it is flat
void divided(Vjp& v) {
  if (!v.none(2)) {
    for (size_t i : {0, 1})
      if (v.wants(i)) v.give(i, v.eval("0"));
    return;
  }
  apply_formulas("a: g / b; b: -g * (a / b / b)", v);
}

// y = angle of (b, a): b / (a^2 + b^2) g, -a / (a^2 + b^2) g; 0 at the origin
void atan2(Vjp& v) {
  v.let("square", v.eval("a * a + b * b"));
  v.let("by", v.eval("masked_fill(reciprocal(square), square == 0, 0)"));
  apply_formulas("a: g * b * by; b: g * -a * by", v);
}

// y = sign(a): flat, zeros in rows
void flat(Vjp& v) {
  v.give(0, v.zeros(v.g(), v.sizes(0)));
}
// y = a with the sign of b: g y / a; flat in b, zeros in rows
void copysign(Vjp& v) {
  if (v.wants(0)) v.give(0, v.eval("g * masked_fill(y / a, a == 0, 0)"));
  if (v.wants(1)) v.give(1, v.zeros(v.g(), v.sizes(1)));
}

// y = gelu(a), by the same approximation
void gelu(Vjp& v) {
  v.give(0, v.op("aten.gelu_backward.default", {v.g(), v.in(0)}, {{"approximate", v.arg(1)}}));
}

// y = a, and b where the mask holds
void masked_fill(Vjp& v) {
  if (v.wants(0)) v.give(0, v.eval("masked_fill(g, mask, 0)"));
  if (v.wants(2)) v.give(2, v.op("aten.sum.default", {v.eval("where(mask, g, 0)")}));
}

}  // namespace

const std::vector<RuleRow> kPointwiseRules = {
    {"aten.pow.Tensor_Scalar", power_of_number},
    {"aten.pow.Scalar", power_of_tensor},
    {"aten.clamp.default", clamp},
    {"aten.clamp.Tensor", clamp_by_tensors},
    {"aten.xlogy.Tensor", xlogy},
    {"aten.remainder.Tensor", remainder},
    {"aten.fmod.Tensor", fmod},
    {"aten.div.Tensor_mode", divided},
    {"aten.div.Scalar_mode", divided},
    {"aten.atan2.default", atan2},
    {"aten.sgn.default", flat},
    {"aten.copysign.Tensor", copysign},
    {"aten.gelu.default", gelu},
    {"aten.masked_fill.Tensor", masked_fill},
};

}  // namespace vitrine::autodiff
