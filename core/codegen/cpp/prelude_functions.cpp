// The functions of the prelude that are computed here: polynomials and what leads an argument to their range.
#include "core/codegen/cpp/prelude_parts.h"

namespace vitrine::codegen::cpp {

const std::vector<PreludePart> kFunctionParts = {
    {"fma", R"(static inline v16 fma(v16 a, v16 b, v16 c) { return __builtin_elementwise_fma(a, b, c); }
)"},
    {"exp_rest exp_sum", R"(static inline v16 exp_rest(v16 x, v16 n) {  // r of x = n ln 2 + r
  return fma(n, 2.12194440e-4f, fma(n, -0.693359375f, x));
}
static inline v16 exp_sum(v16 r) {  // (e^r - 1 - r) / r^2, |r| <= 0.35
  v16 p = fma(r, 1.98756915e-4f, 1.39819995e-3f);
  p = fma(p, r, 8.33345205e-3f);
  p = fma(p, r, 4.16657962e-2f);
  p = fma(p, r, 0.166666657f);
  return fma(p, r, 0.5f);
}
)"},
    {"vpower", R"(static inline v16 vpower(v16 n) {  // 2^n, -126 <= n <= 127
  w16 bits = __builtin_convertvector(n + 127.0f, w16) << 23;
  return __builtin_bit_cast(v16, bits);
}
)"},
    {"vexp times_power",
     R"(static inline v16 times_power(v16 p, v16 n) {  // p * 2^n, down to the smallest numbers
#if LANES == 16 && defined(__AVX512F__)
  return __builtin_ia32_scalefps512_mask(p, n, p, (u16)-1, 4);
#else
  v16 h = __builtin_elementwise_floor(n * 0.5f);
  w16 a = __builtin_convertvector(h + 127.0f, w16) << 23, b = __builtin_convertvector(n - h + 127.0f, w16) << 23;
  return p * __builtin_bit_cast(v16, a) * __builtin_bit_cast(v16, b);
#endif
}
static inline v16 vexp(v16 x) {  // x = n ln 2 + r: 2^n e^r
  v16 c = at_most(at_least(x, -104.0f), 88.8f);
  v16 n = __builtin_elementwise_rint(c * 1.44269504f);
  v16 r = exp_rest(c, n);
  return times_power(fma(exp_sum(r), r * r, r) + 1.0f, n);
}
)"},
    {"vlog log_and",
     R"(static inline v16 log_and(v16 x, v16 more) {  // log x + more; x = 2^e m, m in [0.7, 1.4): e ln 2 + log m
  n16 tiny = x < 1.17549435e-38f;
  v16 big = x * 8388608.0f;
  n16 b = __builtin_bit_cast(n16, tiny ? big : x);
  n16 e = ((b - 0x3f3504f3) >> 23);
  v16 f = __builtin_bit_cast(v16, b - (e << 23)) - 1.0f;
  n16 e23 = e - 23;
  v16 k = __builtin_convertvector(tiny ? e23 : e, v16);
  v16 z = f * f;
  v16 p = fma(f, 7.0376836292e-2f, -1.1514610310e-1f);
  p = fma(p, f, 1.1676998740e-1f);
  p = fma(p, f, -1.2420140846e-1f);
  p = fma(p, f, 1.4249322787e-1f);
  p = fma(p, f, -1.6668057665e-1f);
  p = fma(p, f, 2.0000714765e-1f);
  p = fma(p, f, -2.4999993993e-1f);
  p = fma(p, f, 3.3333331174e-1f);
  v16 y = fma(k, -2.12194440e-4f, fma(p * f, z, more));
  y = fma(k, 0.693359375f, fma(z, -0.5f, y) + f);
  v16 inf = __builtin_inff(), nan = __builtin_nanf("");
  y = x == 0.0f ? -inf : y;
  y = x == inf ? x : y;
  return x >= 0.0f ? y : nan;
}
static inline v16 vlog(v16 x) { return log_and(x, 0.0f); }
)"},
    {"verf", R"(static inline v16 verf(v16 x) {  // x P(x^2), |x| <= 3.85; beyond it is 1 in f32
  v16 c = at_most(at_least(x, -3.85f), 3.85f);
  v16 s = fma(c * c, 0.134930005f, -1.0f);
  v16 p = 0.00148944382f;
  p = fma(p, s, -0.00344160572f);
  p = fma(p, s, 0.00200038753f);
  p = fma(p, s, -0.00303659169f);
  p = fma(p, s, 0.0118760532f);
  p = fma(p, s, -0.0206220821f);
  p = fma(p, s, 0.027843453f);
  p = fma(p, s, -0.0401731841f);
  p = fma(p, s, 0.0565550439f);
  p = fma(p, s, -0.0733762905f);
  p = fma(p, s, 0.0907978565f);
  p = fma(p, s, -0.110367693f);
  p = fma(p, s, 0.136212632f);
  p = fma(p, s, -0.18330197f);
  p = fma(p, s, 0.367284805f);
  return at_most(at_least(c * p, -1.0f), 1.0f);  // rounded here: 1 + erf(x) is then 0 far below 0
}
)"},
    {"vtanh", R"(static inline v16 vtanh(v16 x) {
  v16 z = x * x;
  v16 p = fma(z, -5.70498872745e-3f, 2.06390887954e-2f);
  p = fma(p, z, -5.37397155531e-2f);
  p = fma(p, z, 1.33314422036e-1f);
  p = fma(p, z, -3.33332819422e-1f);
  v16 near = fma(fma(p, z, 0.0f), x, x);          // |x| < 0.625; the sum keeps the sign of a zero
  // Beyond: 1 - 2 / d, where d = e^2|x| + 1; what is rounded off d and off the difference is added again.
  v16 c = at_most(vabs(x) * 2.0f, 20.0f);
  v16 n = __builtin_elementwise_rint(c * 1.44269504f);
  v16 r = exp_rest(c, n), power = vpower(n);
  v16 one = power + 1.0f, more = power * fma(exp_sum(r), r * r, r);
  v16 d = one + more;
  v16 w = 2.0f / d;
  v16 rest = fma(-w, more - (d - one), fma(-w, d, 2.0f)) * w * 0.5f;
  v16 t = 1.0f - w;
  v16 far = __builtin_elementwise_copysign(t + ((1.0f - t) - w - rest), x);
  return vabs(x) < 0.625f ? near : far;
}
)"},
    {"turned sine_of", R"(struct Turned { l16 q; v16 s, c; };
static inline Turned turned(v16 x) {  // x = q pi/2 + r, |r| <= pi/4, reduced in double: sine and cosine of r
  d16 d = __builtin_convertvector(x, d16);
  d16 n = __builtin_elementwise_rint(d * 0.63661977236758134);
  d16 f = __builtin_elementwise_fma(n, (d16)-1.5707963267948966, d);
  v16 r = __builtin_convertvector(__builtin_elementwise_fma(n, (d16)-6.123233995736766e-17, f), v16);
  v16 z = r * r;
  v16 s = fma(z, -1.9515295891e-4f, 8.3321608736e-3f);
  s = fma(fma(s, z, -1.6666654611e-1f) * z, r, r);
  v16 c = fma(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
  c = fma(fma(c, z, 4.166664568298827e-2f), z * z, fma(z, -0.5f, 1.0f));
  return {__builtin_convertvector(n, l16), s, c};
}
)"},
    {"vsin vcos", R"(extern "C" float sinf(float); extern "C" float cosf(float);
// Functions of their own: the compiler would join a sine's calls with a cosine's, ahead of the question.
#define ALONE __attribute__((noinline)) static
ALONE v16 far_sines(v16 x) {
  for (int k = 0; k < LANES; ++k) x[k] = sinf(x[k]);
  return x;
}
ALONE v16 far_cosines(v16 x) {
  for (int k = 0; k < LANES; ++k) x[k] = cosf(x[k]);
  return x;
}
static inline v16 sine_of(v16 x, long shift) {  // q odd takes the cosine, q & 2 the other sign
  Turned t = turned(x);
  n16 q = __builtin_convertvector(t.q + shift & 3, n16);
  v16 y = (q & 1) != 0 ? t.c : t.s;
  return (q & 2) != 0 ? -y : y;
}
static inline v16 vsin(v16 x) {
  v16 y = sine_of(x, 0);
  if (__builtin_reduce_or(vabs(x) > 1e15f)) y = far_sines(x);
  return x == 0.0f ? x : y;  // a zero keeps its sign
}
static inline v16 vcos(v16 x) {
  v16 y = sine_of(x, 1);
  if (__builtin_reduce_or(vabs(x) > 1e15f)) y = far_cosines(x);
  return y;
}
)"},
    {"vsigmoid", R"(static inline v16 vsigmoid(v16 x) { return 1.0f / (1.0f + vexp(-x)); }
)"},
    {"vexpm1", R"(static inline v16 vexpm1(v16 x) {  // x = n ln 2 + r: 2^n (e^r - 1) + 2^n - 1
  v16 c = at_most(at_least(x, -104.0f), 88.8f);
  v16 n = __builtin_elementwise_rint(c * 1.44269504f);
  v16 r = exp_rest(c, n), p = exp_sum(r), z = r * r;
  v16 q = fma(p, z, r), rounded = fma(p, z, r - q);
  v16 half = vpower(at_least(n - 1.0f, -126.0f));
  v16 a = half - 0.5f, m = half * q;
  v16 t = a + m;
  t = 2.0f * (t + fma(half, rounded, m - (t - a)));
  return x == 0.0f ? x : n == 0.0f ? q : t;
}
)"},
    {"vlog1p", R"(static inline v16 vlog1p(v16 x) {  // u = 1 + x and what is rounded off it
  v16 u = 1.0f + x;
  v16 inf = __builtin_inff();
  v16 rounded = (u == 0.0f) | (u == inf) ? 0.0f : (x - (u - 1.0f)) / u;
  return u == 1.0f ? x : log_and(u, rounded);
}
)"},
    {"vlog2 vlog10", R"(static inline v16 vlog2(v16 x) { return vlog(x) * 1.44269504f; }
static inline v16 vlog10(v16 x) { return vlog(x) * 0.434294482f; }
)"},
    {"vexp2", R"(static inline v16 vexp2(v16 x) {  // x = n + r: 2^n e^(r ln 2)
  v16 c = at_most(at_least(x, -151.0f), 128.5f);
  v16 n = __builtin_elementwise_rint(c);
  v16 r = (c - n) * 0.693147181f;
  return times_power(fma(exp_sum(r), r * r, r) + 1.0f, n);
}
)"},
    {"vcopysign",
     R"(template <class V> static inline V vcopysign(V x, V y) { return __builtin_elementwise_copysign(x, y); }
)"},
    {"vsinh vcosh",
     R"(static inline v16 vsinh(v16 x) {  // e = e^|x| - 1: half the sum of e and e / (e + 1), which is 1 far out
  v16 a = vabs(x), e = vexpm1(a), more = e + e / (e + 1.0f);
  return vcopysign(0.5f * (a > 20.0f ? e : more), x);
}
static inline v16 vcosh(v16 x) {
  v16 e = vexp(vabs(x));
  return fma(e, 0.5f, 0.5f / e);
}
)"},
    {"vasinh vacosh vatanh",
     R"(static inline v16 vasinh(v16 x) {  // log(|x| + sqrt(x^2 + 1)), log 2|x| where x^2 might be infinite
  v16 a = vabs(x), z = a * a, none = 0.0f, two = 0.693147181f;
  n16 large = a > 1e9f;
  v16 y = vlog1p(large ? a : a + z / (1.0f + vsqrt(z + 1.0f)));
  return vcopysign(y + (large ? two : none), x);
}
static inline v16 vacosh(v16 x) {  // log(x + sqrt(x^2 - 1)), in t = x - 1
  v16 t = x - 1.0f, none = 0.0f, two = 0.693147181f, nan = __builtin_nanf("");
  n16 large = x > 1e9f;
  v16 y = vlog1p(large ? x : t + vsqrt(fma(t, t, 2.0f * t)));
  return x < 1.0f ? nan : y + (large ? two : none);
}
static inline v16 vatanh(v16 x) {
  v16 a = vabs(x);
  return vcopysign(0.5f * vlog1p(2.0f * a / (1.0f - a)), x);
}
)"},
    {"vtan", R"(extern "C" float tanf(float);
static inline v16 vtan(v16 x) {
  Turned t = turned(x);
  n16 odd = __builtin_convertvector(t.q & 1, n16) != 0;
  v16 y = (odd ? -t.c : t.s) / (odd ? t.s : t.c);
  if (__builtin_reduce_or(vabs(x) > 1e15f))
    for (int k = 0; k < LANES; ++k) y[k] = tanf(x[k]);
  return x == 0.0f ? x : y;
}
)"},
    {"vatan vatan2", R"(static inline v16 atan_of(v16 t) {  // 0 <= t <= 1
  v16 z = t * t;
  v16 p = fma(z, -0.00179358456f, 0.0109144418f);
  p = fma(p, z, -0.0311775446f);
  p = fma(p, z, 0.0579572957f);
  p = fma(p, z, -0.0840343321f);
  p = fma(p, z, 0.1095218f);
  p = fma(p, z, -0.142642406f);
  p = fma(p, z, 0.199985482f);
  p = fma(p, z, -0.333332991f);
  return fma(p * z, t, t);
}
static inline v16 vatan(v16 x) {  // beyond 1 pi/2 - atan(1 / x)
  v16 a = vabs(x);
  n16 far = a > 1.0f;
  v16 y = atan_of(far ? 1.0f / a : a), rest = 1.57079637f - y - 4.37113883e-8f;
  return vcopysign(far ? rest : y, x);
}
static inline v16 vatan2(v16 y, v16 x) {
  v16 a = vabs(y), b = vabs(x), none = 0.0f, one = 1.0f;
  n16 steep = a > b;
  v16 n = steep ? b : a, d = steep ? a : b;
  v16 t = n == d ? (n == 0.0f ? none : one) : n / d;  // of two zeros, of two infinities
  v16 angle = atan_of(t), rest = 1.57079637f - angle - 4.37113883e-8f;
  angle = steep ? rest : angle;
  v16 back = 3.14159274f - angle - 8.74227766e-8f;
  return vcopysign(__builtin_bit_cast(n16, x) < 0 ? back : angle, y);
}
)"},
    {"vasin vacos",
     R"(// |x| <= 1/2: asin |x|; beyond half the angle from 1, whose sine is sqrt((1 - |x|) / 2).
static inline v16 asin_of(v16 a, n16 far) {
  v16 z = far ? (1.0f - a) * 0.5f : a * a;
  v16 t = far ? vsqrt(z) : a;
  v16 p = fma(z, 0.037516541f, 0.0144385433f);
  p = fma(p, z, 0.0318077339f);
  p = fma(p, z, 0.0445169534f);
  p = fma(p, z, 0.0750050419f);
  p = fma(p, z, 0.1666666f);
  return fma(p * z, t, t);
}
static inline v16 vasin(v16 x) {
  v16 a = vabs(x);
  n16 far = a > 0.5f;
  v16 y = asin_of(a, far), rest = 1.57079637f - 2.0f * y - 4.37113883e-8f;
  return vcopysign(far ? rest : y, x);
}
static inline v16 vacos(v16 x) {
  v16 a = vabs(x);
  n16 far = a > 0.5f;
  v16 y = asin_of(a, far);
  v16 near = 1.57079637f - (vcopysign(y, x) + 4.37113883e-8f), back = 3.14159274f - (2.0f * y + 8.74227766e-8f);
  return far ? (x < 0.0f ? back : 2.0f * y) : near;
}
)"},
    {"vfmod vmod vfloordiv", R"(extern "C" float fmodf(float, float);
// a - b trunc(a / b), exact while the quotient is; that is one too far where rounding reached a whole number.
static inline v16 vfmod(v16 a, v16 b) {
  v16 size = vabs(b), q = vtrunc(a / b), r = fma(-q, b, a);
  r = (r != 0.0f) & ((r < 0.0f) != (a < 0.0f)) ? r + vcopysign(size, a) : r;
  r = vcopysign(r, a);
  n16 far = ~((vabs(q) < 4194304.0f) & (size < __builtin_inff()));
  if (__builtin_reduce_or(far))
    for (int k = 0; k < LANES; ++k)
      if (far[k]) r[k] = fmodf(a[k], b[k]);
  return r;
}
static inline n16 vfmod(n16 a, n16 b) { return a % b; }
static inline l16 vfmod(l16 a, l16 b) { return a % b; }
// As Python's %: its sign is b's.
template <class V> static inline V vmod(V a, V b) {
  V r = vfmod(a, b);
  return (r != 0) & ((b < 0) != (r < 0)) ? r + b : r;
}
static inline v16 vfloordiv(v16 a, v16 b) {
  v16 r = vfmod(a, b), plain = a / b, none = 0.0f;
  v16 q = (a - r) / b;
  q = (r != 0.0f) & ((b < 0.0f) != (r < 0.0f)) ? q - 1.0f : q;
  v16 whole = vfloor(q);
  whole = q - whole > 0.5f ? whole + 1.0f : whole;
  whole = q == 0.0f ? vcopysign(none, plain) : whole;
  return b == 0.0f ? plain : whole;
}
template <class V> static inline V whole_floordiv(V a, V b) {
  V q = a / b;
  return (a % b != 0) & ((a ^ b) < 0) ? q - 1 : q;
}
static inline n16 vfloordiv(n16 a, n16 b) { return whole_floordiv(a, b); }
static inline l16 vfloordiv(l16 a, l16 b) { return whole_floordiv(a, b); }
)"},
    {"vshl vshr", R"(template <class V> static inline V vshl(V x, V by) { return x << by; }
template <class V> static inline V vshr(V x, V by) { return x >> by; }
)"},
    {"verfinv", R"(static inline v16 verfinv(v16 x) {  // x P(w), w = -log(1 - x^2); of w > 5 in its root
  v16 a = vabs(x), w = -vlog((1.0f - a) * (1.0f + a)), n = w - 2.5f, f = vsqrt(w) - 3.0f, inf = __builtin_inff();
  v16 p = fma(n, 4.35114722e-10f, -8.73983108e-09f);
  p = fma(p, n, 1.64871761e-08f);
  p = fma(p, n, 4.65428741e-07f);
  p = fma(p, n, -3.42617591e-06f);
  p = fma(p, n, -4.95974336e-06f);
  p = fma(p, n, 0.000218263929f);
  p = fma(p, n, -0.00125274842f);
  p = fma(p, n, -0.00417732494f);
  p = fma(p, n, 0.246640295f);
  p = fma(p, n, 1.50140929f);
  v16 q = fma(f, 0.000112521651f, -0.000305445661f);
  q = fma(q, f, -5.29771387e-05f);
  q = fma(q, f, 0.00147975667f);
  q = fma(q, f, -0.00359897316f);
  q = fma(q, f, 0.00568916416f);
  q = fma(q, f, -0.00763701275f);
  q = fma(q, f, 0.00944499578f);
  q = fma(q, f, 1.00167489f);
  q = fma(q, f, 2.83297682f);
  return a == 1.0f ? x * inf : x * (w > 5.0f ? q : p);
}
)"},
    {"clenshaw",
     R"(template <class V, class T, int N> static inline V clenshaw(V t, const T (&c)[N]) {  // c[0] / 2 + sum of c[k] T_k(t / 2)
  V b = {}, b1 = {}, b2 = {};
  for (int k = N; k-- > 0;) {
    b2 = b1, b1 = b;
    b = __builtin_elementwise_fma(t, b1, -b2) + c[k];
  }
  return (b - b2) * T(0.5);
}
)"},
    {"vi0e", R"(static inline v16 vi0e(v16 x) {  // e^-|x| I0(x): a series to 8 in |x|, beyond it in 1 / |x|
  const f32 near[] = {0.676795274f, -0.304682672f, 0.171620902f, -0.094901097f, 0.0493052842f, -0.0237374148f, 0.0105464604f,
                      -0.00432431f, 0.00163947562f, -0.000576375575f, 0.000188502885f, -5.75419501e-05f, 1.64484481e-05f,
                      -4.41673836e-06f, 1.11738754e-06f, -2.67079385e-07f, 6.04699502e-08f, -1.30002501e-08f};
  const f32 far[] = {0.804490411f, 0.00336911648f, 6.88975835e-05f, 2.89137052e-06f, 2.04891859e-07f, 2.26666899e-08f, 3.39623203e-09f};
  v16 a = vabs(x);
  return a <= 8.0f ? clenshaw(a * 0.5f - 2.0f, near) : clenshaw(32.0f / a - 2.0f, far) / vsqrt(a);
}
)"},
    {"vnextafter",
     R"(static inline v16 vnextafter(v16 x, v16 y) {  // the bits of numbers of one sign are in their order
  n16 bits = __builtin_bit_cast(n16, x), away = (x > 0.0f) == (y > x), next = away ? bits + 1 : bits - 1;
  n16 least = (__builtin_bit_cast(n16, y) & (-2147483647 - 1)) | 1;
  v16 to = __builtin_bit_cast(v16, x == 0.0f ? least : next);
  return (x != x) | (y != y) ? x + y : x == y ? y : to;
}
)"},
};

}  // namespace vitrine::codegen::cpp
