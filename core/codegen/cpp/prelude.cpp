#include "core/codegen/cpp/prelude.h"

#include <cctype>
#include <string>
#include <vector>

#include "core/codegen/cpp/prelude_parts.h"

namespace vitrine::codegen::cpp {

namespace {

// A part may use the parts above it.
constexpr PreludePart kParts[] = {
    {"", R"(typedef float f32; typedef double f64; typedef _Float16 f16; struct bf16 { unsigned short bits; };
typedef signed char i8; typedef short i16; typedef int i32; typedef long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32;
#define VECTOR(T) __attribute__((ext_vector_type(LANES))) T
typedef VECTOR(f32) v16; typedef VECTOR(f64) d16;  // LANES values of a type
typedef VECTOR(i32) n16; typedef VECTOR(i64) l16;  // n16 is also the mask: true is -1
typedef VECTOR(u32) w16; typedef VECTOR(f16) f16s;
typedef VECTOR(i8) i8s; typedef VECTOR(u8) u8s; typedef VECTOR(i16) i16s; typedef VECTOR(u16) u16s;
#define INLINE __attribute__((always_inline))
struct All {}; constexpr All all;                              // every lane
template <int N> struct First {}; template <int N> constexpr First<N> first;  // the first N: the end of a row
)"},
    {"splat", R"(static inline v16 splat(f32 x) { return x; }
static inline d16 splat(f64 x) { return x; }
static inline n16 splat(i32 x) { return x; }
static inline l16 splat(i64 x) { return x; }
)"},
    {"bits_of",
     R"(template <class V, class T> static inline V bits_of(const T* p, All) { V v; __builtin_memcpy(&v, p, sizeof v); return v; }
template <class V, class T, int N> static inline V bits_of(const T* p, First<N>) { V v = 0; __builtin_memcpy(&v, p, N * sizeof(T)); return v; }
)"},
    {"put_bits",
     R"(template <class T, class V> static inline void put_bits(T* p, V v, All) { __builtin_memcpy(p, &v, sizeof v); }
template <class T, class V, int N> static inline void put_bits(T* p, V v, First<N>) { __builtin_memcpy(p, &v, N * sizeof(T)); }
)"},
    {"lanes_in lanes_below lanes_from steps Some",
     R"(static inline n16 lane_numbers() {
  n16 k;
  for (int i = 0; i < LANES; ++i) k[i] = i;
  return k;
}
)"},
    {"Some rest", R"(struct Some { i64 n; };  // the first n, known when it runs
constexpr i64 count(Some s) { return s.n; }
template <class V> static inline V keep(V next, V last, Some s) {
  return __builtin_convertvector(lane_numbers() < (i32)s.n, decltype(next < last)) ? next : last;
}
template <class V, class T> static inline V bits_of(const T* p, Some s) {
  V v = 0, none = 0;
  if (((unsigned long)p & 4095) <= 4096 - sizeof v)  // no page is touched but theirs
    __builtin_memcpy(&v, p, sizeof v);
  else
    for (i64 i = 0; i < s.n * (i64)sizeof(T); ++i) ((u8*)&v)[i] = ((const u8*)p)[i];
  return keep(v, none, s);
}
template <int N, class T, class V> static inline void put_below(T* p, V v, i64 n) {  // n < 2 N lanes of v
  if constexpr (N > 0) {
    if (n & N) __builtin_memcpy(p, &v, N * sizeof(T));
    if constexpr (N > 1) put_below<N / 2>(n & N ? p + N : p, n & N ? v.hi : v.lo, n);
  }
}
template <class T, class V> static inline void put_bits(T* p, V v, Some s) { put_below<LANES / 2>(p, v, s.n); }
template <class T> static inline auto load_back(const T* p, Some s) {
  T line[LANES] = {};
  for (i64 k = 0; k < s.n; ++k) line[k] = p[-k];
  return load(line, all);
}
)"},
    {"rest fixed any",
     R"(template <i64 N> struct Fixed { static constexpr i64 n = N; }; template <i64 N> constexpr Fixed<N> fixed;  // elements
struct Any { i64 n; };
static inline Any any(i64 n) { return {n}; }
template <i64 N> static inline First<N % LANES> rest(Fixed<N>) { return {}; }  // behind the last whole vector
static inline Some rest(Any row) { return {row.n % LANES}; }
)"},
    {"load gather load1 load_rows load_in load_at gather_in load1_if load_back",
     R"(template <class N> static inline v16 load(const f32* p, N n) { return bits_of<v16>(p, n); }
template <class N> static inline d16 load(const f64* p, N n) { return bits_of<d16>(p, n); }
template <class N> static inline n16 load(const i32* p, N n) { return bits_of<n16>(p, n); }
template <class N> static inline l16 load(const i64* p, N n) { return bits_of<l16>(p, n); }
)"},
    {"i16 wrap_i16",
     R"(template <class N> static inline n16 load(const i16* p, N n) { return __builtin_convertvector(bits_of<i16s>(p, n), n16); }
template <class N> static inline void store(i16* p, n16 v, N n) { put_bits(p, __builtin_convertvector(v, i16s), n); }
static inline n16 wrap_i16(n16 v) { return __builtin_convertvector(__builtin_convertvector(v, i16s), n16); }
)"},
    {"u8 i8 wrap_u8 wrap_i8",
     R"(template <class N> static inline n16 load(const u8* p, N n) { return __builtin_convertvector(bits_of<u8s>(p, n), n16); }
template <class N> static inline n16 load(const i8* p, N n) { return __builtin_convertvector(bits_of<i8s>(p, n), n16); }
template <class N> static inline void store(u8* p, n16 v, N n) { put_bits(p, __builtin_convertvector(v, u8s), n); }
template <class N> static inline void store(i8* p, n16 v, N n) { put_bits(p, __builtin_convertvector(v, i8s), n); }
static inline n16 wrap_u8(n16 v) { return v & 255; }
static inline n16 wrap_i8(n16 v) { return __builtin_convertvector(__builtin_convertvector(v, i8s), n16); }
)"},
    {"bool",
     R"(template <class N> static inline n16 load(const bool* p, N n) { return __builtin_convertvector(bits_of<u8s>((const u8*)p, n), n16) != 0; }
template <class N> static inline void store(bool* p, n16 m, N n) { put_bits((u8*)p, __builtin_convertvector(-m, u8s), n); }
)"},
    {"bf16 round_bf16",
     R"(static inline v16 from_bits(u16s h) { return __builtin_bit_cast(v16, __builtin_convertvector(h, w16) << 16); }
static inline u16s bf16_bits(v16 v) {  // to nearest, ties to even; a NaN stays one
  w16 b = __builtin_bit_cast(w16, v);
  w16 r = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return __builtin_convertvector(v != v ? (b >> 16) | 64 : r, u16s);
}
template <class N> static inline v16 load(const bf16* p, N n) { return from_bits(bits_of<u16s>(p, n)); }
template <class N> static inline void store(bf16* p, v16 v, N n) { put_bits(p, bf16_bits(v), n); }
static inline v16 round_bf16(v16 v) { return from_bits(bf16_bits(v)); }
)"},
    {"f16 round_f16",
     R"(template <class N> static inline v16 load(const f16* p, N n) { return __builtin_convertvector(bits_of<f16s>(p, n), v16); }
template <class N> static inline void store(f16* p, v16 v, N n) { put_bits(p, __builtin_convertvector(v, f16s), n); }
static inline v16 round_f16(v16 v) { return __builtin_convertvector(__builtin_convertvector(v, f16s), v16); }
)"},
    {"store store1 scatter stream",
     R"(template <class N> static inline void store(f32* p, v16 v, N n) { put_bits(p, v, n); }
template <class N> static inline void store(f64* p, d16 v, N n) { put_bits(p, v, n); }
template <class N> static inline void store(i32* p, n16 v, N n) { put_bits(p, v, n); }
template <class N> static inline void store(i64* p, l16 v, N n) { put_bits(p, v, n); }
)"},
    {"stream",
     R"(template <class T, class V, class N> static inline void stream(T* p, V v, N n) { store(p, v, n); }
template <class T, class V> static inline void stream(T* p, V v, All) { __builtin_nontemporal_store(v, (V*)p); }  // past the cache
)"},
    {"gather scatter load_in load_at gather_in index_lanes load_back prefix_sum running_sum running_product",
     R"(template <int N> constexpr int count(First<N>) { return N; }
constexpr int count(All) { return LANES; }
)"},
    {"gather",
     R"(template <int S, class T> static inline auto every(const T* p) {  // S loads of what lies between first and last
  auto v = load(p, all), first = v;
  for (int k = 0; k * S < LANES; ++k) v[k] = first[k * S];
  for (int s = 1; s < S; ++s) {
    const int from = s + 1 < S ? s * LANES : s * (LANES - 1);
    auto next = load(p + from, all);
    for (int k = 0; k < LANES; ++k)
      if (k * S >= s * LANES) v[k] = next[k * S - from & LANES - 1];
  }
  return v;
}
)"},
    {"gather scatter", R"(template <class T, class N> static inline auto gather(const T* p, i64 stride, N n) {
  T line[LANES] = {};
  for (int k = 0; k < count(n); ++k) line[k] = p[k * stride];
  return load(line, all);
}
template <class T> static inline auto gather(const T* p, i64 stride, All) {
  if (stride == 2) return every<2>(p);
  if (stride == 3) return every<3>(p);
  if (stride == 4) return every<4>(p);
  T line[LANES];
  for (int k = 0; k < LANES; ++k) line[k] = p[k * stride];
  return load(line, all);
}
template <class T, class V, class N> static inline void scatter(T* p, i64 stride, V v, N n) {
  T line[LANES];
  store(line, v, all);
  for (int k = 0; k < count(n); ++k) p[k * stride] = line[k];
}
)"},
    {"load_back", R"(// The neighbours before this one, from it backwards.
template <class T, int N> static inline auto load_back(const T* p, First<N> n) {
  T line[LANES] = {};
  for (int k = 0; k < N; ++k) line[k] = p[-k];
  return load(line, all);
}
template <class T> static inline auto load_back(const T* p, All) {
  auto v = load(p - (LANES - 1), all), turned = v;
  for (int k = 0; k < LANES; ++k) turned[k] = v[LANES - 1 - k];
  return turned;
}
)"},
    {"load_in", R"(// Lanes [low, high) of these, 0 in the others, whose memory is not touched.
template <class T, class N> static inline auto load_in(const T* p, i64 low, i64 high, N n) {
  if (low <= 0 && high >= count(n)) return load(p, n);
  T line[LANES] = {};
  for (i64 k = low < 0 ? 0 : low; k < high && k < count(n); ++k) line[k] = p[k];
  return load(line, all);
}
)"},
    {"gather_in",
     R"(template <class T, class N> static inline auto gather_in(const T* p, i64 stride, i64 low, i64 high, N n) {
  if (low <= 0 && high >= count(n)) return gather(p, stride, n);
  T line[LANES] = {};
  for (i64 k = low < 0 ? 0 : low; k < high && k < count(n); ++k) line[k] = p[k * stride];
  return load(line, all);
}
)"},
    {"load_at", R"(template <class T, class N> static inline auto load_at(const T* p, l16 at, N n) {
  T line[LANES] = {};
  for (int k = 0; k < count(n); ++k) line[k] = p[at[k]];
  return load(line, all);
}
)"},
    {"lanes_in lanes_below lanes_from",
     R"(static inline i32 lane_at(i64 k) { return k < 0 ? 0 : k > LANES ? LANES : (i32)k; }
static inline n16 lanes_below(i64 high) { return lane_numbers() < lane_at(high); }
static inline n16 lanes_from(i64 low) { return lane_numbers() >= lane_at(low); }
static inline n16 lanes_in(i64 low, i64 high) { return lanes_from(low) & lanes_below(high); }
)"},
    {"steps",
     R"(static inline l16 steps(i64 first, i64 by) { return first + __builtin_convertvector(lane_numbers(), l16) * by; }
)"},
    {"steps_to",
     R"(static inline i64 steps_to(i64 left, i64 by) { return left > 0 ? (left + by - 1) / by : left / by; }
)"},
    {"most least", R"(static inline i64 most(i64 a, i64 b) { return a > b ? a : b; }
static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }
)"},
    {"from_end", R"(static inline i64 from_end(i64 i, i64 size) { return i < 0 ? i + size : i; }
)"},
    {"index_at", R"(static inline i64 index_at(i64 i, i64 size, i64* bad) {  // 0 for one that there is not
  if (i >= 0 && i < size) return i;
  *bad = 1;
  return 0;
}
)"},
    {"from_end_lanes",
     R"(static inline l16 from_end_lanes(l16 i, i64 size) { l16 back = i + size; return i < 0 ? back : i; }
)"},
    {"index_lanes", R"(template <class N> static inline l16 index_lanes(l16 i, i64 size, i64* bad, N n) {
  typedef VECTOR(unsigned long) u64s;  // below 0 is far above
  l16 wrong = __builtin_bit_cast(u64s, i) >= (unsigned long)size, none = 0;
  for (int k = count(n); k < LANES; ++k) wrong[k] = 0;  // no lanes: nothing to report
  if (!__builtin_reduce_or(wrong)) return i;
  *bad = 1;
  return wrong ? none : i;
}
)"},
    {"load1_if", R"(template <class T> static inline auto load1_if(bool there, const T* p) {
  T line[LANES] = {};
  for (int k = 0; there && k < LANES; ++k) line[k] = *p;
  return load(line, all);
}
)"},
    {"load1", R"(template <class T> static inline auto load1(const T* p) {  // one element in every lane
  T line[LANES];
  for (int k = 0; k < LANES; ++k) line[k] = *p;
  return load(line, all);
}
)"},
    {"load_rows",
     R"(template <class T> static inline auto load_rows(const T* p, i64 stride, i64 n) {  // the first n lanes
  T line[LANES] = {};
  if (stride == 1 && n == 8) __builtin_memcpy(line, p, 8 * sizeof(T));
  else
    for (i64 k = 0; k < n; ++k) line[k] = p[k * stride];
  return load(line, all);
}
)"},
    {"store1", R"(template <class T, class V> static inline void store1(T* p, V v) {
  T line[LANES];
  store(line, v, all);
  *p = line[0];
}
)"},
    {"turn", R"(template <class T, T... K> struct Numbers {};
template <int S, class V, int... K> static inline void swap(V& a, V& b, Numbers<int, K...>) {
  const V x = __builtin_shufflevector(a, b, (K & S ? LANES + K - S : K)...);
  b = __builtin_shufflevector(a, b, (K & S ? LANES + K : K + S)...);
  a = x;
}
template <int S, class V> static inline void swap_blocks(V* v) {  // of S x S, across the diagonal
  if constexpr (S < LANES) {
#pragma unroll
    for (int i = 0; i < LANES; ++i)
      if (!(i & S)) swap<S>(v[i], v[i + S], __make_integer_seq<Numbers, int, LANES>());
    swap_blocks<2 * S>(v);
  }
}
// tile[row * width + c] = p[c * stride + row], for `height` rows.
template <class T, class L> static inline void turn(const T* p, i64 stride, L* tile, i64 width, i64 columns, i64 height) {
  for (i64 c = 0; c < columns; c += LANES) {
    decltype(load(p, all)) v[LANES] = {};
#pragma unroll
    for (int k = 0; k < LANES; ++k)
      if (c + k < columns) v[k] = height == LANES ? load(p + (c + k) * stride, all) : load(p + (c + k) * stride, Some{height});
    swap_blocks<1>(v);
#pragma unroll
    for (int k = 0; k < LANES; ++k) store(tile + k * width + c, v[k], all);
  }
}
)"},
    {"to_f32 to_f64 to_i32 to_i64 narrow",
     R"(template <class V> static inline v16 to_f32(V v) { return __builtin_convertvector(v, v16); }
template <class V> static inline d16 to_f64(V v) { return __builtin_convertvector(v, d16); }
template <class V> static inline n16 to_i32(V v) { return __builtin_convertvector(v, n16); }
template <class V> static inline l16 to_i64(V v) { return __builtin_convertvector(v, l16); }
static inline n16 narrow(l16 mask) { return __builtin_convertvector(mask, n16); }
)"},
    {"prefix_sum", R"(// Each lane and those before it, and `before`, which becomes the last of n lanes.
template <int S, class V> static inline V prefixes(V x) {
  V up = 0;
  for (int k = S; k < LANES; ++k) up[k] = x[k - S];
  if constexpr (2 * S < LANES) return prefixes<2 * S>(x + up);
  return x + up;
}
template <class V, class N> static inline V prefix_sum(V x, V& before, N n) {
  x = prefixes<1>(x) + before;
  before = x[count(n) - 1];
  return x;
}
)"},
    {"running_sum running_product", R"(// The same, one after another.
template <class V, class N, class F> static inline V running(V x, V& before, N n, F step) {
  auto last = before[0];
  for (int k = 0; k < LANES; ++k) x[k] = last = step(last, x[k]);
  before = x[count(n) - 1];
  return x;
}
template <class V, class N> static inline V running_sum(V x, V& before, N n) {
  return running(x, before, n, [](auto a, auto b) INLINE { return a + b; });
}
template <class V, class N> static inline V running_product(V x, V& before, N n) {
  return running(x, before, n, [](auto a, auto b) INLINE { return a * b; });
}
)"},
    {"where", R"(static inline v16 where(n16 m, v16 a, v16 b) { return m ? a : b; }
static inline n16 where(n16 m, n16 a, n16 b) { return m ? a : b; }
static inline d16 where(n16 m, d16 a, d16 b) { return __builtin_convertvector(m, l16) ? a : b; }
static inline l16 where(n16 m, l16 a, l16 b) { return __builtin_convertvector(m, l16) ? a : b; }
)"},
    {"keep",
     R"(template <class V> static inline V keep(V next, V last, All) { return next; }  // lanes past the end stay as they were
template <class V, int N> static inline V keep(V next, V last, First<N>) {
  for (int k = 0; k < N; ++k) last[k] = next[k];
  return last;
}
)"},
    {"vabs vfloor vceil vround vtrunc vsqrt vrsqrt",
     R"(template <class V> static inline V vabs(V x) { return __builtin_elementwise_abs(x); }
template <class V> static inline V vfloor(V x) { return __builtin_elementwise_floor(x); }
template <class V> static inline V vceil(V x) { return __builtin_elementwise_ceil(x); }
template <class V> static inline V vround(V x) { return __builtin_elementwise_roundeven(x); }
template <class V> static inline V vtrunc(V x) { return __builtin_elementwise_trunc(x); }
template <class V> static inline V vsqrt(V x) { return __builtin_elementwise_sqrt(x); }
template <class V> static inline V vrsqrt(V x) { return 1 / __builtin_elementwise_sqrt(x); }
)"},
    {"vsign",
     R"(template <class V> static inline V vsign(V x) { V one = 1, none = 0; return x > 0 ? one : x < 0 ? -one : none; }
)"},
    {"at_least at_most",
     R"(template <class V, class T> static inline V at_least(V x, T bound) { V b = bound; return b > x ? b : x; }  // a NaN stays
template <class V, class T> static inline V at_most(V x, T bound) { V b = bound; return b < x ? b : x; }
)"},
    {"vmax vmin fold_max fold_min",
     R"(template <class V> static inline V vmax(V a, V b) { V m = a > b ? a : b; return a != a ? a : m; }  // NaN if either is
template <class V> static inline V vmin(V a, V b) { V m = a < b ? a : b; return a != a ? a : m; }
)"},
    {"fold_add fold_mul fold_max fold_min",
     R"(template <class V> constexpr int is_pair = sizeof(V) == 2 * sizeof(V{}[0]);
)"},
    {"fold_add", R"(template <class V> static inline auto fold_add(V v) {
  if constexpr (is_pair<V>) return v[0] + v[1];
  else return fold_add(v.lo + v.hi);
}
)"},
    {"fold_mul", R"(template <class V> static inline auto fold_mul(V v) {
  if constexpr (is_pair<V>) return v[0] * v[1];
  else return fold_mul(v.lo * v.hi);
}
)"},
    {"fold_max", R"(template <class V> static inline auto fold_max(V v) {
  if constexpr (is_pair<V>) return v[0] > v[1] || v[0] != v[0] ? v[0] : v[1];
  else return fold_max(vmax(v.lo, v.hi));
}
)"},
    {"fold_min", R"(template <class V> static inline auto fold_min(V v) {
  if constexpr (is_pair<V>) return v[0] < v[1] || v[0] != v[0] ? v[0] : v[1];
  else return fold_min(vmin(v.lo, v.hi));
}
)"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Whether `text` has `word` standing alone.
bool uses(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    bool starts = at == 0 || !is_word(text[at - 1]);
    bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

bool any_used(std::string_view text, std::string_view names) {
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(' '));
    if (uses(text, name)) return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::string_view> prelude_names() {
  std::vector<std::string_view> out;
  for (const PreludePart& part : kParts) out.push_back(part.names);
  for (const PreludePart& part : kFunctionParts) out.push_back(part.names);
  for (const PreludePart& part : kDoubleParts) out.push_back(part.names);
  return out;
}

std::string prelude_text(std::string_view body, int lanes) {
  // From the last part to the first: what an included part uses is found in its text.
  std::string used(body);
  std::vector<std::string_view> parts;
  const auto take = [&](const PreludePart& part) {
    if (!part.names.empty() && !any_used(used, part.names)) return;
    parts.push_back(part.text);
    if (!part.names.empty()) used += part.text;
  };
  for (size_t i = kDoubleParts.size(); i-- > 0;) take(kDoubleParts[i]);
  for (size_t i = kFunctionParts.size(); i-- > 0;) take(kFunctionParts[i]);
  for (size_t i = std::size(kParts); i-- > 0;) take(kParts[i]);
  std::string out;
  for (size_t i = parts.size(); i-- > 0;) out += parts[i];
  replace_all(out, "LANES", std::to_string(lanes));
  if (lanes != 16)
    for (const char* t : {"v16", "d16", "n16", "l16", "w16"})
      replace_all(out, t, t[0] + std::to_string(lanes));
  return out;
}

}  // namespace vitrine::codegen::cpp
