#include "core/codegen/cuda/prelude.h"

#include <cctype>
#include <vector>

#include "core/codegen/cuda/matrix/tile_prelude.h"
#include "core/codegen/schedule/words.h"

namespace vitrine::codegen::cuda {

namespace {

struct CudaPreludePart {
  std::string_view names;  // that call for it; "" = always there
  std::string_view text;
};

// A part may use the parts above it.
constexpr CudaPreludePart kParts[] = {
    {"", R"(typedef float f32; typedef double f64;
typedef unsigned u32; typedef unsigned long long u64; typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64; typedef unsigned char u8;
)"},
    {"f16", R"(struct f16 { unsigned short bits; };
)"},
    {"bf16", R"(struct bf16 { unsigned short bits; };
)"},
    {"Pack load_pack store_pack add_f64 add_i32 add_i64",
     R"(template <class T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };  // what one access moves
template <bool aligned, int N, class T> __device__ Pack<T, N> load_pack(const T* p) {
  if (aligned) return *reinterpret_cast<const Pack<T, N>*>(p);
  Pack<T, N> out;
  for (int k = 0; k < N; ++k) out.v[k] = p[k];
  return out;
}
template <bool aligned, int N, class T> __device__ void store_pack(T* p, const Pack<T, N>& x) {
  if (aligned) { *reinterpret_cast<Pack<T, N>*>(p) = x; return; }
  for (int k = 0; k < N; ++k) p[k] = x.v[k];
}
)"},
    // Of a run that lies only partly in its row: elements from..to.
    {"load_part",
     R"(template <int N, class T> __device__ Pack<T, N> load_part(const T* p, i64 from, i64 to) {
  Pack<T, N> out = {};
  for (int k = 0; k < N; ++k)
    if (k >= from && k < to) out.v[k] = p[k];
  return out;
}
)"},
    {"store_part",
     R"(template <int N, class T> __device__ void store_part(T* p, const Pack<T, N>& x, i64 from, i64 to) {
  for (int k = 0; k < N; ++k)
    if (k >= from && k < to) p[k] = x.v[k];
}
)"},
    {"is_aligned",
     R"(__device__ bool is_aligned(const void* p, int bytes) { return reinterpret_cast<unsigned long long>(p) % bytes == 0; }
)"},
    // From here on what was launched before is done and its writes are seen. What is launched next may come
    // to the same point.
    {"follow", R"(__device__ void follow() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
)"},
    // Into the second-level cache, while what was launched before still runs.
    {"prefetch", R"(__device__ void prefetch(const void* p, u32 bytes) {
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x == 0 && is_aligned(p, 16))
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(__cvta_generic_to_global(p)), "r"(bytes));
#endif
}
)"},
    // To shared memory while the thread goes on; zeros where the place is not inside. What is copied up to
    // end_copies() belongs together; await_copies() leaves so many of these under way.
    {"copy_ahead",
     R"(template <bool aligned, class T> __device__ void copy_ahead(Pack<T, 8>* to, const T* from, bool inside) {
  if (aligned) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"((u32)__cvta_generic_to_shared(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
    return;
  }
  *to = inside ? load_pack<false, 8>(from) : Pack<T, 8>{};
}
__device__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void await_copies() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
)"},
    // sums[0..1] += row `row` of a matrix times rows 2 * (lane % 4) and the next; sums[2..3]: of row + 8.
    // Each lane has eight neighbours of these rows, of both operands alike.
    {"multiply_tile",
     R"(__device__ void multiply_16(f32 (&sums)[4], const bf16*, u32 a, u32 b, u32 c, u32 d, u32 x, u32 y) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));
}
__device__ void multiply_16(f32 (&sums)[4], const f16*, u32 a, u32 b, u32 c, u32 d, u32 x, u32 y) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));
}
template <class T> __device__ void multiply_tile(f32 (&sums)[4], const Pack<T, 8>& low, const Pack<T, 8>& high, const Pack<T, 8>& few) {
  const u32 *a = reinterpret_cast<const u32*>(&low), *b = reinterpret_cast<const u32*>(&high), *x = reinterpret_cast<const u32*>(&few);
  multiply_16(sums, few.v, a[0], b[0], a[1], b[1], x[0], x[1]);
  multiply_16(sums, few.v, a[2], b[2], a[3], b[3], x[2], x[3]);
}
)"},
    // What registers hold of a type in memory, and back.
    {"wide", R"(__device__ f32 wide(f32 x) { return x; }
__device__ f64 wide(f64 x) { return x; }
__device__ i64 wide(i64 x) { return x; }
__device__ i32 wide(i32 x) { return x; }
__device__ i32 wide(i16 x) { return x; }
__device__ i32 wide(i8 x) { return x; }
__device__ i32 wide(u8 x) { return x; }
__device__ bool wide(bool x) { return x; }
)"},
    {"f16 to_f16 round_f16",
     R"(__device__ f32 wide(f16 x) { f32 y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ f16 to_f16(f32 x) { f16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
)"},
    {"bf16 to_bf16 round_bf16",
     R"(__device__ f32 wide(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ bf16 to_bf16(f32 x) { bf16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
)"},
    {"put", R"(__device__ void put(f32& to, f32 x) { to = x; }
__device__ void put(f64& to, f64 x) { to = x; }
__device__ void put(i64& to, i64 x) { to = x; }
__device__ void put(i32& to, i32 x) { to = x; }
__device__ void put(i16& to, i32 x) { to = (i16)x; }
__device__ void put(i8& to, i32 x) { to = (i8)x; }
__device__ void put(u8& to, i32 x) { to = (u8)x; }
__device__ void put(bool& to, bool x) { to = x; }
)"},
    {"f16", R"(__device__ void put(f16& to, f32 x) { to = to_f16(x); }
)"},
    {"bf16", R"(__device__ void put(bf16& to, f32 x) { to = to_bf16(x); }
)"},
    {"round_f16", R"(__device__ f32 round_f16(f32 x) { return wide(to_f16(x)); }
)"},
    {"round_bf16", R"(__device__ f32 round_bf16(f32 x) { return wide(to_bf16(x)); }
)"},
    // Sums in memory that other threads add to as well, rounded one by one as eager's are.
    {"add_f32 add_pack_f32", R"(__device__ void add_f32(f32& to, f32 x) { atomicAdd(&to, x); }
)"},
    {"add_pack_f32",
     R"(template <bool aligned, int N> __device__ void add_pack_f32(f32* p, const Pack<f32, N>& x) {
#if __CUDA_ARCH__ >= 900
  if constexpr (aligned && N == 4) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(p), "f"(x.v[0]), "f"(x.v[1]), "f"(x.v[2]), "f"(x.v[3]) : "memory");
    return;
  }
#endif
  for (int k = 0; k < N; ++k) add_f32(p[k], x.v[k]);
}
)"},
    {"add_f16 add_pack_f16", R"(__device__ void add_f16(f16& to, f32 x) {
  const f16 more = to_f16(x);
  asm volatile("red.global.add.noftz.f16 [%0], %1;" :: "l"(&to), "h"(more.bits) : "memory");
}
)"},
    {"add_pack_f16",
     R"(template <bool aligned, int N> __device__ void add_pack_f16(f16* p, const Pack<f16, N>& x) {
#if __CUDA_ARCH__ >= 900
  if constexpr (aligned && N == 8) {
    const u32* w = reinterpret_cast<const u32*>(&x);
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    return;
  }
#endif
  for (int k = 0; k < N; ++k) add_f16(p[k], wide(x.v[k]));
}
)"},
    {"add_bf16 add_pack_bf16", R"(__device__ void add_bf16(bf16& to, f32 x) {
  const bf16 more = to_bf16(x);
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.noftz.bf16 [%0], %1;" :: "l"(&to), "h"(more.bits) : "memory");
#else
  u32* word = reinterpret_cast<u32*>(reinterpret_cast<u64>(&to) & ~3ull);
  const int shift = reinterpret_cast<u64>(&to) & 2 ? 16 : 0;
  for (u32 old = *word, seen;; old = seen) {
    const bf16 sum = to_bf16(wide(bf16{(unsigned short)(old >> shift)}) + wide(more));
    seen = atomicCAS(word, old, (old & ~(0xffffu << shift)) | (u32)sum.bits << shift);
    if (seen == old) return;
  }
#endif
}
)"},
    {"add_pack_bf16",
     R"(template <bool aligned, int N> __device__ void add_pack_bf16(bf16* p, const Pack<bf16, N>& x) {
#if __CUDA_ARCH__ >= 900
  if constexpr (aligned && N == 8) {
    const u32* w = reinterpret_cast<const u32*>(&x);
    asm volatile("red.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    return;
  }
#endif
  for (int k = 0; k < N; ++k) add_bf16(p[k], wide(x.v[k]));
}
)"},
    {"add_f64 add_pack_f64", R"(__device__ void add_f64(f64& to, f64 x) { atomicAdd(&to, x); }
template <bool aligned, int N> __device__ void add_pack_f64(f64* p, const Pack<f64, N>& x) {
  for (int k = 0; k < N; ++k) add_f64(p[k], x.v[k]);
}
)"},
    {"add_i32 add_pack_i32", R"(__device__ void add_i32(i32& to, i32 x) { atomicAdd(&to, x); }
template <bool aligned, int N> __device__ void add_pack_i32(i32* p, const Pack<i32, N>& x) {
  for (int k = 0; k < N; ++k) add_i32(p[k], x.v[k]);
}
)"},
    {"add_i64 add_pack_i64",
     R"(__device__ void add_i64(i64& to, i64 x) { atomicAdd(reinterpret_cast<u64*>(&to), (u64)x); }
template <bool aligned, int N> __device__ void add_pack_i64(i64* p, const Pack<i64, N>& x) {
  for (int k = 0; k < N; ++k) add_i64(p[k], x.v[k]);
}
)"},
    // An index out of range stops the kernel, as PyTorch's own kernels do.
    {"index_at",
     R"(extern "C" __device__ void __assertfail(const char* said, const char* file, unsigned line, const char* function, size_t size);
__device__ i64 index_at(i64 i, i64 size) {
  if (i < 0 || i >= size) __assertfail("index out of range in self", "a generated kernel", 0, "index_at", 1);
  return i;
}
)"},
    {"from_end", R"(__device__ i64 from_end(i64 i, i64 size) { return i < 0 ? i + size : i; }
)"},
    // Philox 4x32 with ten rounds: `call` counts what a thread has drawn, four numbers at a time.
    {"draw philox unit gauss", R"(struct Four { u32 v[4]; };
__device__ Four philox(u64 seed, u64 call, u64 thread) {
  Four c = {{(u32)call, (u32)(call >> 32), (u32)thread, (u32)(thread >> 32)}};
  u32 a = (u32)seed, b = (u32)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round, a += 0x9E3779B9u, b += 0xBB67AE85u) {
    const u64 x = (u64)0xD2511F53u * c.v[0], y = (u64)0xCD9E8D57u * c.v[2];
    c = {{(u32)(y >> 32) ^ c.v[1] ^ a, (u32)y, (u32)(x >> 32) ^ c.v[3] ^ b, (u32)x}};
  }
  return c;
}
// Uniform in (0, 1].
__device__ f32 unit(u32 x) { return fmaf((f32)x, 2.3283064365386963e-10f, 1.1641532182693481e-10f); }
__device__ f32 unit(Four x, u32 part) { return unit(part == 0 ? x.v[0] : part == 1 ? x.v[1] : part == 2 ? x.v[2] : x.v[3]); }
// Of the normal distribution: two of two, by Box and Muller.
__device__ f32 gauss(Four x, u32 part) {
  const f32 s = sqrtf(-2.0f * logf(unit(part < 2 ? x.v[0] : x.v[2])));
  constexpr f32 kTurn = 2.3283064e-10f * 6.2831855f;
  const f32 v = fmaf((f32)(part < 2 ? x.v[1] : x.v[3]), kTurn, kTurn / 2);
  return (part % 2 == 0 ? __sinf(v) : __cosf(v)) * s + 0.0f;  // no -0: a mean of 0 is added there
}
template <int N> struct Drawn { f32 v[N]; };
template <int bytes> struct Unsigned { typedef u32 type; };
template <> struct Unsigned<8> { typedef u64 type; };
// What PyTorch draws for the elements i, i + 1, ..., i + N - 1, where i is a multiple of N. Each of its
// threads takes turns of `beside` neighbours; of 1: four elements, `threads` apart.
template <int N, bool normal = false, class I> __device__ __forceinline__ Drawn<N> draw(u64 seed, u64 offset, u32 threads, int beside, I i) {
  typedef typename Unsigned<sizeof(I)>::type U;
  Drawn<N> out;
  Four x;
  u32 part = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (beside == 1) {
      const U at = (U)i + k, turn = at / threads;
      x = philox(seed, offset / 4 + turn / 4, at % threads);
      part = (u32)turn % 4;
    } else {
      const int m = beside < 4 ? beside : 4;  // of a turn, that one call gives
      part = N >= m ? k % m : (u32)((U)i % m) + k;
      if (k == 0 || part == 0) {
        const U group = (U)i / beside + (N > beside ? k / beside : 0), turn = group / threads;
        const u32 within = N >= beside ? k % beside : (u32)((U)i % beside) + k;
        x = philox(seed, offset / 4 + (u64)turn * (beside > 4 ? beside / 4 : 1) + within / 4, group % threads);
      }
    }
    out.v[k] = normal ? gauss(x, part) : unit(x, part);
  }
  return out;
}
)"},
    {"beside", R"(// As many neighbours as begin at a multiple of their size, at most `most`.
template <class T> __device__ int beside(const T* p, i64 bytes, int most) {
  const u64 at = reinterpret_cast<u64>(p) + bytes;
  while (most > 1 && at % (most * sizeof(T))) most /= 2;
  return most;
}
)"},
    {"kInf sigmoid is_inf add_exponentials", R"(#define kInf __int_as_float(0x7f800000)
)"},
    {"kNan", R"(#define kNan __int_as_float(0x7fffffff)
)"},
    {"is_nan", R"(template <class T> __device__ bool is_nan(T x) { return x != x; }
)"},
    {"is_inf", R"(__device__ bool is_inf(f32 x) { return fabsf(x) == kInf; }
__device__ bool is_inf(f64 x) { return fabs(x) == (f64)kInf; }
)"},
    {"absolute", R"(__device__ f32 absolute(f32 x) { return fabsf(x); }
__device__ f64 absolute(f64 x) { return fabs(x); }
__device__ i32 absolute(i32 x) { return x < 0 ? -x : x; }
__device__ i64 absolute(i64 x) { return x < 0 ? -x : x; }
)"},
    {"maximum minimum add_exponentials",
     R"(template <class T> __device__ T maximum(T a, T b) { return a > b || a != a ? a : b; }  // a NaN stays one
template <class T> __device__ T minimum(T a, T b) { return a < b || a != a ? a : b; }
__device__ f64 maximum(f64 a, f64 b) { return a != a ? a : b != b ? b : ::fmax(a, b); }  // +0 is more than -0
__device__ f64 minimum(f64 a, f64 b) { return a != a ? a : b != b ? b : ::fmin(a, b); }
#if __CUDA_ARCH__ >= 800
__device__ f32 maximum(f32 a, f32 b) { f32 m; asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m; }
__device__ f32 minimum(f32 a, f32 b) { f32 m; asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m; }
#else
__device__ f32 maximum(f32 a, f32 b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
__device__ f32 minimum(f32 a, f32 b) { return a != a ? a : b != b ? b : fminf(a, b); }
#endif
)"},
    // exp(x) where 11 bits of it are wanted: it is off by 2^-22, and by up to x * 2^-24.
    {"exp_narrow sigmoid_narrow add_exponentials",
     R"(__device__ f32 exp_narrow(f32 x) { f32 y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f)); return y; }
)"},
    {"quotient_narrow sigmoid_narrow",
     R"(__device__ f32 quotient_narrow(f32 a, f32 b) { f32 y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(b)); return a * y; }
)"},
    {"sigmoid_narrow",
     R"(__device__ f32 sigmoid_narrow(f32 x) { return quotient_narrow(1.0f, 1.0f + exp_narrow(-x)); }
)"},
    {"sign", R"(template <class T> __device__ T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : T(0); }
)"},
    {"sigmoid", R"(__device__ f32 sigmoid(f32 x) { return 1.0f / (1.0f + expf(-x)); }
__device__ f64 sigmoid(f64 x) { return 1 / (1 + ::exp(-x)); }
)"},
    {"i0e",
     R"(// e^-|x| I0(x): a series to 8 in |x|, beyond it in 1 / |x|.
template <class T, int N> __device__ T clenshaw(T t, const T (&c)[N]) {  // c[0] / 2 + sum of c[k] T_k(t / 2)
  T b = 0, b1 = 0, b2 = 0;
#pragma unroll
  for (int k = N - 1; k >= 0; --k) {
    b2 = b1, b1 = b;
    b = t * b1 - b2 + c[k];
  }
  return (b - b2) * T(0.5);
}
__device__ f32 i0e(f32 x) {
  const f32 near[] = {0.676795274f, -0.304682672f, 0.171620902f, -0.094901097f, 0.0493052842f, -0.0237374148f, 0.0105464604f,
                      -0.00432431f, 0.00163947562f, -0.000576375575f, 0.000188502885f, -5.75419501e-05f, 1.64484481e-05f,
                      -4.41673836e-06f, 1.11738754e-06f, -2.67079385e-07f, 6.04699502e-08f, -1.30002501e-08f};
  const f32 far[] = {0.804490411f, 0.00336911648f, 6.88975835e-05f, 2.89137052e-06f, 2.04891859e-07f, 2.26666899e-08f, 3.39623203e-09f};
  const f32 a = fabsf(x);
  return a <= 8.0f ? clenshaw(a * 0.5f - 2.0f, near) : clenshaw(32.0f / a - 2.0f, far) / sqrtf(a);
}
__device__ f64 i0e(f64 x) {
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
  const f64 a = ::fabs(x);
  return a <= 8 ? clenshaw(a * 0.5 - 2.0, near) : clenshaw(32.0 / a - 2.0, far) / ::sqrt(a);
}
)"},
    // As Python's % and //, and C's % of integers: eager's steps, so that its zeros, infinities and NaNs come
    // out.
    {"modulo floor_quotient rest_of",
     R"(template <class T> __device__ T rest_of(T a, T b) { return a % b; }
template <> __device__ f32 rest_of(f32 a, f32 b) { return fmodf(a, b); }
template <class T> __device__ T modulo(T a, T b) {
  const T r = rest_of(a, b);
  return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
template <class T> __device__ T floor_quotient(T a, T b) {
  return a % b != 0 && (a ^ b) < 0 ? a / b - 1 : a / b;
}
template <> __device__ f32 floor_quotient(f32 a, f32 b) {
  if (b == 0.0f) return a / b;
  const f32 r = fmodf(a, b);
  f32 q = (a - r) / b;
  if (r != 0.0f && (b < 0.0f) != (r < 0.0f)) q -= 1.0f;
  if (q == 0.0f) return copysignf(0.0f, a / b);
  const f32 whole = floorf(q);
  return q - whole > 0.5f ? whole + 1.0f : whole;
}
)"},
    {"shift_left shift_right",
     R"(template <class T> __device__ T shift_left(T x, T by) { return x << by; }
template <class T> __device__ T shift_right(T x, T by) { return x >> by; }
)"},
    {"Sum",
     R"(struct Sum { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
)"},
    {"Product",
     R"(struct Product { template <class T> __device__ T operator()(T a, T b) const { return a * b; } };
)"},
    {"Max",
     R"(struct Max { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };
)"},
    {"Min",
     R"(struct Min { template <class T> __device__ T operator()(T a, T b) const { return a < b || a != a ? a : b; } };
)"},
    // max and sum of exp(x - max), with N more x. Equal infinities must not meet in a difference; what eager
    // makes of them follows at the end. A NaN stays in both.
    {"add_exponentials",
     R"(template <bool narrow, int N> __device__ void add_exponentials(f32& max, f32& sum, const f32 (&x)[N]) {
  f32 top = max;
  #pragma unroll
  for (int k = 0; k < N; ++k) top = maximum(top, x[k]);
  const f32 from = top == -kInf ? 0.0f : top;
  sum *= expf(max - from);
  #pragma unroll
  for (int k = 0; k < N; ++k) sum += narrow ? exp_narrow(x[k] - from) : expf(x[k] - from);
  max = top;
}
)"},
    {"rescaled",
     R"(__device__ f32 rescaled(f32 sum, f32 from, f32 to) { return from == to ? sum : sum * expf(from - to); }
)"},
    // sum of x, and of squares about their mean, of `count` and N more x.
    {"add_squares",
     R"(template <int N, class T> __device__ void add_squares(T& sum, T& squares, T& count, const T (&x)[N]) {
  T more = 0, about = 0;
  #pragma unroll
  for (int k = 0; k < N; ++k) more += x[k];
  const T mean = more * T(1.0 / N);
  #pragma unroll
  for (int k = 0; k < N; ++k) about += (x[k] - mean) * (x[k] - mean);
  const T apart = count > 0 ? mean - sum / count : T(0);
  squares += about + apart * apart * (count * N / (count + N));
  sum += more, count += N;
}
)"},
    {"moved", R"(template <class T> __device__ T moved(T squares, T sum, T count, T mean) {
  return count > 0 ? squares + (sum / count - mean) * (sum / count - mean) * count : squares;
}
)"},
    // An extremum and the least place of those that equal it, of x too; and that place, if the extremum is
    // the one of all. A NaN is beyond all others.
    {"take_place placed",
     R"(template <class F, class T, class I> __device__ void take_place(T& acc, I& place, T x, I at) {
  const T both = F()(acc, x);
  const bool as_before = acc == both || acc != acc, as_x = x == both || x != x;
  if (!as_before) place = at;
  else if (as_x && at < place) place = at;
  acc = both;
}
template <class T, class I> __device__ I placed(I place, T own, T all) {
  return own == all || own != own ? place : I(~(I(1) << (sizeof(I) * 8 - 1)));
}
)"},
    // Over the threads that share a row: all of them get the result.
    {"fold_group fold_block fold_both fold_cluster",
     R"(template <int threads, class T, class F> __device__ T fold_group(T x, F f) {
  for (int d = threads / 2; d > 0; d /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
)"},
    // x: what each of a thread's runs comes to; then what stands before it, where all threads' first runs
    // come before the second ones. all: of all of them.
    {"scan_group",
     R"(template <class T, class F> __device__ T scan_warp(T x, F f) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T from = __shfl_up_sync(0xffffffffu, x, d);
    if (threadIdx.x % 32 >= d) x = f(from, x);
  }
  return x;
}
template <int threads, int N, class T, class F> __device__ void scan_group(T (&x)[N], T start, T& all, F f) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % threads / 32;
  constexpr int warps = threads / 32;
  __shared__ T part[warps > 1 ? N : 1][warps];
  if constexpr (warps > 1) __syncthreads();  // what an earlier turn left has been read
  T own[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    own[j] = scan_warp(x[j], f);
    x[j] = __shfl_up_sync(0xffffffffu, own[j], 1);
    if (lane == 0) x[j] = start;
    if constexpr (warps > 1)
      if (lane == 31) part[j][warp] = own[j];
  }
  if constexpr (warps > 1) __syncthreads();
  all = start;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if constexpr (warps == 1) {
      x[j] = f(all, x[j]);
      all = f(all, __shfl_sync(0xffffffffu, own[j], 31));
    } else {
      const T sums = scan_warp(lane < warps ? part[j][lane] : start, f);
      const T left = __shfl_sync(0xffffffffu, sums, warp > 0 ? warp - 1 : 0);
      x[j] = f(warp > 0 ? f(all, left) : all, x[j]);
      all = f(all, __shfl_sync(0xffffffffu, sums, warps - 1));
    }
  }
}
)"},
    // What stands before a thread in its column of the block, and what all of it makes.
    {"scan_across",
     R"(template <int beside, int deep, class T, class F> __device__ T scan_across(T x, T start, T& all, F f) {
  __shared__ T part[deep][beside];
  const int lane = threadIdx.x % beside, level = threadIdx.x / beside;
  __syncthreads();  // what an earlier turn left has been read
  part[level][lane] = x;
  __syncthreads();
  T left = start;
  all = start;
#pragma unroll
  for (int d = 0; d < deep; ++d) {
    if (d == level) left = all;
    all = f(all, part[d][lane]);
  }
  return left;
}
)"},
    // Over the threads of a block's column, for each of the N rows of a run: all of them get the results.
    {"fold_across",
     R"(template <int beside, int deep, int N, class T, class F> __device__ void fold_across(T (&acc)[N], F f) {
  __shared__ T part[deep][N * beside];
  const int x = threadIdx.x % beside, y = threadIdx.x / beside;
  __syncthreads();  // what an earlier fold left has been read
  for (int k = 0; k < N; ++k) part[y][k * beside + x] = acc[k];
  for (int d = deep / 2; d > 0; d /= 2) {
    __syncthreads();
    if (y < d)
      for (int k = 0; k < N; ++k) part[y][k * beside + x] = f(part[y][k * beside + x], part[y + d][k * beside + x]);
  }
  __syncthreads();
  for (int k = 0; k < N; ++k) acc[k] = part[0][k * beside + x];
}
)"},
    {"fold_both", R"(template <int threads, class T, class F> __device__ void fold_both(T& a, T& b, F f) {
  __shared__ T part[2][threads / 32];
  a = fold_group<32>(a, f), b = fold_group<32>(b, f);
  __syncthreads();  // what an earlier fold left has been read
  if (threadIdx.x % 32 == 0) part[0][threadIdx.x / 32] = a, part[1][threadIdx.x / 32] = b;
  __syncthreads();
  a = fold_group<threads / 32>(part[0][threadIdx.x % (threads / 32)], f);
  b = fold_group<threads / 32>(part[1][threadIdx.x % (threads / 32)], f);
}
)"},
    {"fold_block", R"(template <int threads, class T, class F> __device__ T fold_block(T x, F f) {
  __shared__ T part[threads / 32];
  x = fold_group<32>(x, f);
  __syncthreads();  // what an earlier fold left has been read
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
  __syncthreads();
  return fold_group<threads / 32>(part[threadIdx.x % (threads / 32)], f);
}
)"},
    // Over the blocks of a cluster: each warp's part goes to all of them. Nobody may send before all have
    // begun.
    {"fold_cluster",
     R"(__device__ void begin_cluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ void await_cluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
template <class T> __device__ T* of_block(T* mine, u32 block) {
  T* its;
  asm("mapa.u64 %0, %1, %2;" : "=l"(its) : "l"(mine), "r"(block));
  return its;
}
template <int threads, int blocks, class T, class F> __device__ T fold_cluster(T x, F f, T* sent) {
  constexpr int warps = threads / 32, all = warps * blocks;
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = fold_group<32>(x, f);
  if (lane < blocks) *of_block(sent + blockIdx.x % blocks * warps + warp, lane) = x;
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  x = sent[lane % all];
  for (int i = lane + 32; i < all; i += 32) x = f(x, sent[i]);
  return fold_group<(all < 32 ? all : 32)>(x, f);
}
)"},
    {"Tiles TensorMap few_registers many_registers", kTileText},
};

// Of the kernels' texts beside the prelude's names: arguments, indices, types, and CUDA's own.
constexpr std::string_view kWords =
    "lane inside column aligned compute u k i T N F Product level row part place end t threadIdx blockIdx "
    "blockDim gridDim warpSize seed offset Unsigned Four Drawn u32 u64 fetch begin count more word shift old "
    "whole seen first at group atomicAdd atomicCAS kept head tail target targets rows sums run table walker "
    "step next goes_on turn run_rows run_targets row_targets before own other least low high middle until "
    "left last was to q cell all tile_targets tile_rows tiles tile_m tile_n at_m at_n left_matrix "
    "right_matrix "
    "left_map right_map added_row by_tiles image";

bool word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool uses(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !word_char(text[at - 1]);
    const size_t end = at + name.size();
    if (begins && (end == text.size() || !word_char(text[end]))) return true;
  }
  return false;
}

bool uses_any(std::string_view text, std::string_view names) {
  for (size_t from = 0; from < names.size();) {
    const size_t space = std::min(names.find(' ', from), names.size());
    if (uses(text, names.substr(from, space - from))) return true;
    from = space + 1;
  }
  return false;
}

}  // namespace

const std::vector<std::string_view>& reserved_words() {
  static const std::vector<std::string_view> kSplit = [] {
    std::vector<std::string_view> out;
    add_words(kWords, out);
    for (const CudaPreludePart& part : kParts) add_words(part.names, out);
    return out;
  }();
  return kSplit;
}

bool follows(std::string_view kernel) {
  return kernel.find("\n  follow();\n") != std::string_view::npos;
}

std::string prelude_text(std::string_view body) {
  constexpr size_t kCount = std::size(kParts);
  std::vector<bool> wanted(kCount, false);
  std::string all(body);
  for (size_t i = kCount; i-- > 0;) {
    wanted[i] = kParts[i].names.empty() || uses_any(all, kParts[i].names);
    if (wanted[i]) all += kParts[i].text;
  }
  std::string out;
  for (size_t i = 0; i < kCount; ++i)
    if (wanted[i]) out += kParts[i].text;
  return out;
}

}  // namespace vitrine::codegen::cuda
