// The functions of the prelude on doubles: within a unit or two of the last place, as PyTorch's.
#include "core/codegen/cpp/prelude_parts.h"

namespace vitrine::codegen::cpp {

const std::vector<PreludePart> kDoubleParts = {
    {"fmad", R"(static inline d16 fmad(d16 a, d16 b, d16 c) { return __builtin_elementwise_fma(a, b, c); }
)"},
    {"dexp_sum", R"(static inline d16 dexp_sum(d16 r) {  // (e^r - 1 - r) / r^2, |r| <= 0.35
  d16 p = fmad(r, 2.0921589370829142e-09, 2.510521838664829e-08);
  p = fmad(p, r, 2.7557252912472866e-07);
  p = fmad(p, r, 2.7557255396471e-06);
  p = fmad(p, r, 2.480158734733946e-05);
  p = fmad(p, r, 0.0001984126987482399);
  p = fmad(p, r, 0.0013888888888874398);
  p = fmad(p, r, 0.008333333333326134);
  p = fmad(p, r, 0.041666666666666685);
  p = fmad(p, r, 0.1666666666666667);
  return fmad(p, r, 0.5);
}
)"},
    {"dexp_rest", R"(static inline d16 dexp_rest(d16 x, d16 n) {  // r of x = n ln 2 + r
  return fmad(n, -1.90821492927058770002e-10, fmad(n, -6.93147180369123816490e-01, x));
}
)"},
    {"dpower",
     R"(static inline d16 dpower(d16 n) {  // 2^n, -1022 <= n <= 1023: n + 1023 stands in the sum's last bits
  return __builtin_bit_cast(d16, __builtin_bit_cast(l16, n + 6755399441056767.0) << 52);
}
)"},
    {"dtimes_power",
     R"(static inline d16 dtimes_power(d16 p, d16 n) {  // p * 2^n, down to the smallest numbers
  d16 h = __builtin_elementwise_floor(n * 0.5);
  return p * dpower(h) * dpower(n - h);
}
)"},
    {"dexp", R"(static inline d16 dexp(d16 x) {  // x = n ln 2 + r: 2^n e^r
  d16 c = at_most(at_least(x, -746.0), 710.0);
  d16 n = __builtin_elementwise_rint(c * 1.4426950408889634);
  d16 near = fmad(n, -6.93147180369123816490e-01, c), r = fmad(n, -1.90821492927058770002e-10, near);
  d16 t = 1.0 + near, rest = near - (t - 1.0);
  return dtimes_power(t + fmad(n, -1.90821492927058770002e-10, fmad(dexp_sum(r), r * r, rest)), n);
}
)"},
    {"dexp2", R"(static inline d16 dexp2(d16 x) {  // x = n + r: 2^n e^(r ln 2)
  d16 c = at_most(at_least(x, -1076.0), 1024.5);
  d16 n = __builtin_elementwise_rint(c);
  d16 r = (c - n) * 0.69314718055994531;
  return dtimes_power(fmad(dexp_sum(r), r * r, r) + 1.0, n);
}
)"},
    {"Halved", R"(struct Halved { d16 k, f; };  // x = 2^k (1 + f), 1 + f in [0.7, 1.42)
static inline Halved halved(d16 x) {
  l16 small = x < 2.2250738585072014e-308;
  d16 big = x * 18014398509481984.0;
  l16 b = __builtin_bit_cast(l16, small ? big : x);
  typedef VECTOR(unsigned long) u64s;
  u64s e = __builtin_bit_cast(u64s, b) + 0x95f619980c433ul >> 52 << 52;  // that of 2^(k + 1023)
  d16 k = __builtin_bit_cast(d16, e >> 52 | 0x4330000000000000ul) - 4503599627371519.0;
  d16 f = __builtin_bit_cast(d16, b - __builtin_bit_cast(l16, e) + 0x3ff0000000000000l) - 1.0;
  d16 less = k - 54.0;
  return {small ? less : k, f};
}
)"},
    {"dlog_ends", R"(static inline d16 dlog_ends(d16 x, d16 y) {  // y, but where x has no logarithm
  d16 inf = __builtin_inf(), nan = __builtin_nan("");
  y = x == 0.0 ? -inf : y;
  y = x == inf ? x : y;
  return x >= 0.0 ? y : nan;
}
)"},
    {"dlog_sum",
     R"(static inline d16 dlog_sum(d16 f, d16 half, d16 more) {  // log(1 + f) - f + half + more, half = f^2 / 2
  d16 s = f / (2.0 + f), z = s * s;
  d16 p = fmad(z, 0.13090631973202976, 0.1326838084857783);
  p = fmad(p, z, 0.15386254752140285);
  p = fmad(p, z, 0.18181795354765554);
  p = fmad(p, z, 0.22222222394481655);
  p = fmad(p, z, 0.2857142857079088);
  p = fmad(p, z, 0.400000000000009);
  p = fmad(p, z, 0.6666666666666666);
  return fmad(s, fmad(p, z, half), more);
}
)"},
    {"dlog dlog_and", R"(static inline d16 dlog_and(d16 x, d16 more) {  // log x + more
  Halved h = halved(x);
  d16 half = 0.5 * h.f * h.f;
  d16 y = h.f - (half - dlog_sum(h.f, half, fmad(h.k, 1.90821492927058770002e-10, more)));
  return dlog_ends(x, fmad(h.k, 6.93147180369123816490e-01, y));
}
static inline d16 dlog(d16 x) {
  d16 none = 0.0;
  return dlog_and(x, none);
}
)"},
    {"dlog2 dlog10",
     R"(static inline d16 dlog_of(d16 x, d16 unit, d16 two, d16 rest) {  // a logarithm whose unit is one over log e
  Halved h = halved(x);
  d16 half = 0.5 * h.f * h.f, none = 0.0;
  d16 y = (h.f - (half - dlog_sum(h.f, half, none))) * unit;
  return dlog_ends(x, fmad(h.k, two, fmad(h.k, rest, y)));
}
static inline d16 dlog2(d16 x) { return dlog_of(x, 1.4426950408889634, 1.0, 0.0); }
static inline d16 dlog10(d16 x) {
  return dlog_of(x, 0.4342944819032518, 0.30102999566361177, 3.6942390771589309e-13);
}
)"},
    {"dlog1p", R"(static inline d16 dlog1p(d16 x) {  // u = 1 + x and what is rounded off it
  d16 u = 1.0 + x;
  d16 rounded = (u == 0.0) | (u == __builtin_inf()) ? 0.0 : (x - (u - 1.0)) / u;
  return u == 1.0 ? x : dlog_and(u, rounded);
}
)"},
    {"Dexpm1", R"(struct Dexpm1 { d16 y, rest; };
static inline Dexpm1 dexpm1_of(d16 c) {  // c = n ln 2 + r: 2 (2^(n - 1) (e^r - 1) + 2^(n - 1) - 1/2), and what is rounded off
  d16 n = __builtin_elementwise_rint(c * 1.4426950408889634);
  d16 r = dexp_rest(c, n), p = dexp_sum(r), z = r * r;
  d16 q = fmad(p, z, r), rounded = fmad(p, z, r - q);
  d16 half = dpower(n - 1.0);
  d16 a = half - 0.5, m = half * q;
  d16 t = a + m;
  return {t, fmad(half, rounded, m - (t - a))};
}
)"},
    {"dexpm1", R"(static inline d16 dexpm1(d16 x) {
  Dexpm1 e = dexpm1_of(at_most(at_least(x, -60.0), 710.0));
  return vabs(x) < 1e-20 ? x : 2.0 * (e.y + e.rest);
}
)"},
    {"dtanh",
     R"(static inline d16 dtanh(d16 x) {  // e / (e + 2), e = e^2|x| - 1, with what is rounded off each
  Dexpm1 h = dexpm1_of(at_most(vabs(x) * 2.0, 44.0));
  d16 e = 2.0 * h.y, d = e + 2.0, back = d - e;
  d16 more = fmad(h.rest, 2.0, (e - (d - back)) + (2.0 - back));
  d16 one = 1.0 / d, w = e * one;
  d16 rest = fmad(-w, more, fmad(h.rest, 2.0, fmad(-w, d, e))) * one;
  return __builtin_elementwise_copysign(w + rest, x);
}
)"},
    {"dsigmoid", R"(static inline d16 dsigmoid(d16 x) { return 1.0 / (1.0 + dexp(-x)); }
)"},
    {"derf", R"(static inline d16 derf(d16 x) {  // |x| <= 1: x P(x^2); beyond: 1 - e^(-x^2) Q
  d16 a = at_most(vabs(x), 6.0), z = a * a;
  d16 p = fmad(z, 5.960685338520971e-11, -1.137495573607015e-09);
  p = fmad(p, z, 1.466032872274226e-08);
  p = fmad(p, z, -1.6350396222864617e-07);
  p = fmad(p, z, 1.64610084778027e-06);
  p = fmad(p, z, -1.4925595772180906e-05);
  p = fmad(p, z, 0.0001205533113295582);
  p = fmad(p, z, -0.0008548326981425542);
  p = fmad(p, z, 0.005223977624828431);
  p = fmad(p, z, -0.026866170645077875);
  p = fmad(p, z, 0.11283791670954885);
  p = fmad(p, z, -0.3761263890318375);
  d16 near = fmad(fmad(p, z, 0.12837916709551257), a, a);
  d16 t = (a - 2.5) / (a + 2.5);
  d16 q = fmad(t, -1.0643042104847436e-06, -5.351040475052686e-05);
  q = fmad(q, t, -0.00013902656744270051);
  q = fmad(q, t, 0.0002253958111969382);
  q = fmad(q, t, 0.000875497082510547);
  q = fmad(q, t, -0.0026423575379223626);
  q = fmad(q, t, -0.003993689388647816);
  q = fmad(q, t, 0.03992254053657753);
  q = fmad(q, t, -0.12503305234816373);
  q = fmad(q, t, 0.2517131932118371);
  q = fmad(q, t, -0.37173673394927675);
  q = fmad(q, t, 0.21080636406114214);
  d16 far = fmad(-dexp(-z), q, 1.0);
  return __builtin_elementwise_copysign(a < 1.0 ? near : far, x);
}
)"},
    {"dpow dpow_ends",
     R"(static inline d16 dpow_ends(d16 x, d16 y, d16 m) {  // m = |x|^y, but where it is known, or there is none
  d16 a = vabs(x), half = y * 0.5, one = 1.0, nan = __builtin_nan("");
  l16 whole = vtrunc(y) == y, odd = whole & (vtrunc(half) != half);
  m = (y == 0.0) | (a == 1.0) ? one : m;
  m = (__builtin_bit_cast(l16, x) < 0) & odd ? -m : m;
  m = (x < 0.0) & (a < __builtin_inf()) & ~whole ? nan : m;
  return (x != x) & (y != 0.0) ? x : m;
}
)"},
    {"dpow",
     R"(static inline d16 dpow(d16 x, d16 y) {  // e^(y log|x|); the logarithm in two doubles: k ln 2 + 2 s + s z (2/3 + ..)
  d16 a = vabs(x);
  Halved h = halved(a);
  d16 f = h.f, d = 2.0 + f, one = 1.0 / d, s = f * one;
  d16 s1 = fmad(-s, f - (d - 2.0), fmad(-s, d, f)) * one;  // s + s1 = f / (2 + f)
  d16 z = s * s, z1 = fmad(s, s, -z) + 2.0 * s * s1;
  d16 p = fmad(z, 0.11726689285553205, 0.11705892197340027);
  p = fmad(p, z, 0.13334817910646674);
  p = fmad(p, z, 0.15384594711592686);
  p = fmad(p, z, 0.18181818337829828);
  p = fmad(p, z, 0.22222222221644658);
  p = fmad(p, z, 0.28571428571429386);
  p = fmad(p, z, 0.4);
  d16 third = 0.66666666666666663, c = fmad(p, z, third), c1 = fmad(p, z, third - c) + 3.7007434154171886e-17;
  d16 v = z * c, v1 = fmad(z, c, -v) + fmad(z, c1, z1 * c);
  d16 w = s * v, w1 = fmad(s, v, -w) + fmad(s, v1, s1 * v);
  d16 s2 = 2.0 * s, u = s2 + w, u1 = (w - (u - s2)) + fmad(s1, 2.0, w1);
  d16 big = h.k * 6.93147180369123816490e-01, l = big + u, back = l - big;
  d16 l1 = (big - (l - back)) + (u - back) + fmad(h.k, 1.90821492927058770002e-10, u1);
  d16 sum_l = l + l1;
  l1 -= sum_l - l;
  l = sum_l;
  d16 inf = __builtin_inf(), none = 0.0;
  l = a == 0.0 ? -inf : a < inf ? l : a;  // of NaN NaN
  d16 e = y * l, e1 = fmad(y, l1, fmad(y, l, -e));
  e1 = vabs(e) < 800.0 ? e1 : none;
  e = at_most(at_least(e, -746.0), 710.0);
  d16 n = __builtin_elementwise_rint(e * 1.4426950408889634), near = fmad(n, -6.93147180369123816490e-01, e);
  d16 r = fmad(n, -1.90821492927058770002e-10, near), z0 = r * r, sum = dexp_sum(r), q = fmad(sum, z0, r), t = 1.0 + q;
  e1 += fmad(n, -1.90821492927058770002e-10, near - r) + fmad(sum, z0, r - q);
  d16 m = dtimes_power(t + (q - (t - 1.0) + fmad(e1, q, e1)), n);
  return dpow_ends(x, y, m);
}
)"},
    {"vpow",
     R"(static inline v16 vpow(v16 x, v16 y) {  // e^(y log|x|) in double, shorter sums: rounded once to a float
  d16 a = __builtin_convertvector(x, d16), b = __builtin_convertvector(y, d16), size = vabs(a);
  typedef VECTOR(unsigned long) u64s;
  u64s e = __builtin_bit_cast(u64s, size) + 0x95f619980c433ul >> 52 << 52;  // size = 2^k (1 + f): that of 2^(k + 1023)
  d16 k = __builtin_bit_cast(d16, e >> 52 | 0x4330000000000000ul) - 4503599627371519.0;
  d16 f = __builtin_bit_cast(d16, __builtin_bit_cast(u64s, size) - e + 0x3ff0000000000000ul) - 1.0;
  d16 s = f / (2.0 + f), z = s * s;
  d16 p = fmad(z, 0.1936670754186653, 0.2219118017638853);
  p = fmad(p, z, 0.28571758262926894);
  p = fmad(p, z, 0.3999999877736311);
  p = fmad(p, z, 0.6666666666739164);
  d16 l = fmad(k, 0.69314718055994531, s * fmad(p, z, 2.0)), inf = __builtin_inf();
  l = size == 0.0 ? -inf : size < inf ? l : size;  // of NaN NaN
  d16 c = at_most(at_least(b * l, -120.0), 100.0);
  d16 n = __builtin_elementwise_rint(c * 1.4426950408889634), r = fmad(n, -0.69314718055994531, c);
  d16 q = fmad(r, 2.487618084633911e-05, 0.00019899290105180513);
  q = fmad(q, r, 0.0013888824138815472);
  q = fmad(q, r, 0.008333298462999152);
  q = fmad(q, r, 0.04166666685369349);
  q = fmad(q, r, 0.1666666671904936);
  q = fmad(q, r, 0.4999999999991012);
  d16 m = (fmad(q, r * r, r) + 1.0) * dpower(n);
  return __builtin_convertvector(dpow_ends(a, b, m), v16);
}
)"},
    {"dsin dcos", R"(extern "C" double sin(double); extern "C" double cos(double);
__attribute__((noinline)) static d16 far_dsines(d16 x) {
  for (int k = 0; k < LANES; ++k) x[k] = sin(x[k]);
  return x;
}
__attribute__((noinline)) static d16 far_dcosines(d16 x) {
  for (int k = 0; k < LANES; ++k) x[k] = cos(x[k]);
  return x;
}
static inline d16 dsine_of(d16 x, long shift) {  // x = q pi/2 + r + r1; q odd takes the cosine, q & 2 the other sign
  d16 n = __builtin_elementwise_rint(x * 0.63661977236758138);
  d16 near = fmad(n, -1.5707963267948966, x), r = fmad(n, -6.123233995736766e-17, near);
  d16 r1 = fmad(n, 1.4973849048591698e-33, fmad(n, -6.123233995736766e-17, near - r));
  l16 q = __builtin_bit_cast(l16, n + 6755399441055744.0) + shift;
  d16 z = r * r, half = 0.5 * z;
  d16 s = fmad(z, 1.5918002281873061e-10, -2.5051130101805494e-08);
  s = fmad(s, z, 2.755731609430797e-06);
  s = fmad(s, z, -0.0001984126983674298);
  s = fmad(s, z, 0.00833333333333094);
  s = fmad(s, z, -0.16666666666666666);
  s = r + fmad(s * z, r, fmad(-half, r1, r1));
  d16 c = fmad(z, -1.138255204095506e-11, 2.0876145163581403e-09);
  c = fmad(c, z, -2.7557317266494944e-07);
  c = fmad(c, z, 2.4801587298755762e-05);
  c = fmad(c, z, -0.001388888888888739);
  c = fmad(c, z, 0.041666666666666664);
  d16 one = 1.0 - half;
  c = one + ((1.0 - one) - half + fmad(c * z, z, -r * r1));
  d16 y = (q & 1) != 0 ? c : s;
  return (q & 2) != 0 ? -y : y;
}
static inline d16 dsin(d16 x) {
  d16 y = dsine_of(x, 0);
  if (__builtin_reduce_or(~(vabs(x) < 1e5))) y = far_dsines(x);
  return x == 0.0 ? x : y;  // a zero keeps its sign
}
static inline d16 dcos(d16 x) {
  d16 y = dsine_of(x, 1);
  if (__builtin_reduce_or(~(vabs(x) < 1e5))) y = far_dcosines(x);
  return y;
}
)"},
    {"derfcx", R"(static inline d16 derfcx(d16 x) {  // e^(x^2) erfc(x), 1 <= x <= 5.9
  d16 t = (x - 2.5) / (x + 2.5);
  d16 q = fmad(t, 8.303085685824106e-08, -1.5718386318781932e-06);
  q = fmad(q, t, -2.2873192724532407e-06);
  q = fmad(q, t, 7.490266405267979e-06);
  q = fmad(q, t, 1.8611003451016425e-05);
  q = fmad(q, t, -3.417350716338238e-05);
  q = fmad(q, t, -0.0001288767259112034);
  q = fmad(q, t, 0.0002283797100771891);
  q = fmad(q, t, 0.0008759154219444467);
  q = fmad(q, t, -0.0026423659372120847);
  q = fmad(q, t, -0.003993701164990703);
  q = fmad(q, t, 0.0399225390750803);
  q = fmad(q, t, -0.12503305237884138);
  q = fmad(q, t, 0.2517131932174522);
  q = fmad(q, t, -0.3717367339489732);
  q = fmad(q, t, 0.21080636406114356);
  return q;
}
)"},
    {"derfinv",
     R"(static inline d16 derfinv(d16 y) {  // a start that is off by a thousandth, then two of Halley's steps
  d16 a = vabs(y), rest = 1.0 - a, z = a * a, s = vsqrt(-dlog(rest * 0.5)), inf = __builtin_inf();
  d16 n = fmad(fmad(fmad(z, -0.140543331, 0.914624893), z, -1.645349621), z, 0.886226899);
  d16 d = fmad(fmad(fmad(fmad(z, 0.012229801, -0.329097515), z, 1.442710462), z, -2.118377725), z, 1.0);
  d16 m = fmad(fmad(fmad(s, 1.641345311, 3.429567803), s, -1.624906493), s, -1.970840454);
  d16 x = a <= 0.7 ? a * n / d : m / fmad(fmad(s, 1.6370678, 3.5438892), s, 1.0);
  l16 far = a > 0.84270079294971487;  // erf(1): beyond it erfc(x) is led to 1 - |y|, which is exact
  for (int k = 0; k < 2; ++k) {
    d16 least = at_least(x, 1.0), most = at_most(x, 1.0);
    x = far ? least : most;
    d16 e = dexp(-x * x), u = 0.88622692545275801 * (far ? rest / e - derfcx(x) : (derf(x) - a) / e);
    x -= u / fmad(x, u, 1.0);
  }
  return __builtin_elementwise_copysign(a == 1.0 ? inf : x, y);
}
)"},
    {"di0e", R"(static inline d16 di0e(d16 x) {  // e^-|x| I0(x): a series to 8 in |x|, beyond it in 1 / |x|
  const f64 near[] = {0.6767952744094761, -0.30468267234319835, 0.17162090152220874, -0.09490109704804763, 0.0493052842396707, -0.023737414805899467,
                      0.010546460394595001, -0.004324309995050581, 0.001639475616941345, -0.0005763755745386012, 0.00018850288509587323, -5.7541950100861494e-05,
                      1.6448448070768537e-05, -4.416738358485871e-06, 1.11738753912686e-06, -2.670793853840727e-07, 6.046995020821566e-08, -1.3000250085051343e-08,
                      2.6598237093018912e-09, -5.189795312845565e-10, 9.675804758583637e-11, -1.7268222539914308e-11, 2.9550331703456506e-12, -4.856465397100254e-13,
                      7.677738042094251e-14, -1.170970621330863e-14, 1.7398376606943058e-15, -2.5843227456515426e-16, 3.75234330473169e-17, -4.9846445047454616e-18};
  const f64 far[] = {0.8044904110141088, 0.003369116478255694, 6.889758346916818e-05, 2.891370520834821e-06, 2.048918589469109e-07, 2.2666689904897752e-08,
                     3.3962320256155735e-09, 4.940602389878049e-10, 1.1889147143989506e-11, -3.1499165393176714e-11, -1.3215811807304722e-11, -1.7941784113323169e-12,
                     7.180123777041594e-13, 3.8527779895876837e-13, 1.540090834717324e-14, -4.1505597901538606e-14, -9.554996831249217e-15, 3.811747228121182e-15,
                     1.7725591105385308e-15, -3.4261742372046826e-16, -2.826357609796873e-16, 3.4644012833628683e-17, 4.463740265134313e-17, -4.780150999486844e-18,
                     -7.213582666681427e-18};
  d16 a = vabs(x);
  return a <= 8.0 ? clenshaw(a * 0.5 - 2.0, near) : clenshaw(32.0 / a - 2.0, far) / vsqrt(a);
}
)"},
    {"dnextafter",
     R"(static inline d16 dnextafter(d16 x, d16 y) {  // the bits of numbers of one sign are in their order
  l16 bits = __builtin_bit_cast(l16, x), away = (x > 0.0) == (y > x), next = away ? bits + 1 : bits - 1;
  l16 least = (__builtin_bit_cast(l16, y) & (-9223372036854775807l - 1)) | 1;
  d16 to = __builtin_bit_cast(d16, x == 0.0 ? least : next);
  return (x != x) | (y != y) ? x + y : x == y ? y : to;
}
)"},
};

}  // namespace vitrine::codegen::cpp
