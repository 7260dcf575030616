// CUDA C++ of a large product on Hopper GPUs. A block's first 128 threads have the copy engine bring tiles of
// both matrices into shared memory, some steps ahead. Two groups of 128 threads each multiply 64 rows of a
// tile by all its columns, asynchronously, and keep the sums in registers (wgmma).
// PTX ISA 8.0: wgmma.mma_async, its descriptors of matrices, cp.async.bulk.tensor, mbarrier.
#pragma once

#include <string_view>

namespace vitrine::codegen::cuda {

// Needs "" and "Pack" of the prelude before it, and `bf16` or `f16`.
inline constexpr std::string_view kTileText =
    R"(// What the copy engine is told of a matrix.
struct alignas(64) TensorMap { u64 words[16]; };
__device__ u32 shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Barriers in shared memory, each for so many arrivals and the bytes that are expected. They turn from phase to phase.
__device__ void make_barrier(u32 at, u32 arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory"); }
__device__ void expect_bytes(u32 at, u32 bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory"); }
__device__ void arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory"); }
__device__ bool has_turned(u32 at, u32 phase) {
  u32 turned;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(turned) : "r"(at), "r"(phase) : "memory");
  return turned;
}
__device__ void await_turn(u32 at, u32 phase) { while (!has_turned(at, phase)) {} }
__device__ void copy_tile(u32 to, const TensorMap& map, u32 barrier, int along, int row, int image) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" :: "r"(to), "l"(&map), "r"(barrier), "r"(along), "r"(row), "r"(image) : "memory");
}
// A matrix in shared memory whose runs of 128 bytes lie as the copy engine turned them, eight rows in 1024 bytes.
__device__ u64 matrix_at(u32 at, u32 next) { return (u64)((at & 0x3ffff) >> 4) | (u64)(next >> 4) << 16 | (u64)64 << 32 | (u64)1 << 62; }
#define VITRINE_TEN(a) "%" #a "0, %" #a "1, %" #a "2, %" #a "3, %" #a "4, %" #a "5, %" #a "6, %" #a "7, %" #a "8, %" #a "9, "
#define VITRINE_EIGHT(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define VITRINE_64 VITRINE_TEN() VITRINE_TEN(1) VITRINE_TEN(2) VITRINE_TEN(3) VITRINE_TEN(4) VITRINE_TEN(5) "%60, %61, %62, %63"
#define VITRINE_128 VITRINE_TEN() VITRINE_TEN(1) VITRINE_TEN(2) VITRINE_TEN(3) VITRINE_TEN(4) VITRINE_TEN(5) VITRINE_TEN(6) VITRINE_TEN(7) VITRINE_TEN(8) VITRINE_TEN(9) VITRINE_TEN(10) VITRINE_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define VITRINE_SUMS_64 VITRINE_EIGHT(0), VITRINE_EIGHT(8), VITRINE_EIGHT(16), VITRINE_EIGHT(24), VITRINE_EIGHT(32), VITRINE_EIGHT(40), VITRINE_EIGHT(48), VITRINE_EIGHT(56)
#define VITRINE_SUMS_128 VITRINE_SUMS_64, VITRINE_EIGHT(64), VITRINE_EIGHT(72), VITRINE_EIGHT(80), VITRINE_EIGHT(88), VITRINE_EIGHT(96), VITRINE_EIGHT(104), VITRINE_EIGHT(112), VITRINE_EIGHT(120)
// sums (+)= 64 rows of a times the columns of b, over 16 places. turned: a (b) lies along its rows (columns).
#define VITRINE_MULTIPLY(type, columns, count, A, B, KEEP, TURN_A, TURN_B) \
  template <int turned_a, int turned_b> __device__ void multiply_64(f32 (&sums)[count], type, u64 a, u64 b, u32 keep) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #KEEP ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type " {" VITRINE_##count "}, %" #A ", %" #B ", p, 1, 1, %" #TURN_A ", %" #TURN_B ";\n}" \
                 : VITRINE_SUMS_##count : "l"(a), "l"(b), "r"(keep), "n"(turned_a), "n"(turned_b)); \
  }
VITRINE_MULTIPLY(f16, 128, 64, 64, 65, 66, 67, 68)
VITRINE_MULTIPLY(f16, 256, 128, 128, 129, 130, 131, 132)
VITRINE_MULTIPLY(bf16, 128, 64, 64, 65, 66, 67, 68)
VITRINE_MULTIPLY(bf16, 256, 128, 128, 129, 130, 131, 132)
// Of 168 registers a thread: who copies needs few, who multiplies many.
__device__ void few_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }
__device__ void many_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }
// Tiles of 128 rows and `columns`, by steps of 64 places, `stages` of which are in shared memory.
template <class T, int columns, int stages, bool turned_a, bool turned_b> struct Tiles {
  static constexpr int rows = 128, deep = 64, count = columns / 2, pitch = 72;
  static constexpr u32 a_bytes = rows * deep * 2, b_bytes = columns * deep * 2;
  u32 a, b, full, empty, stage = 0, phase = 0;
  T* passed;  // 16 rows of 64 columns of each warp that multiplies
  __device__ explicit Tiles(char* kept) {
    kept += (1024 - shared_at(kept) % 1024) % 1024;
    a = shared_at(kept), b = a + stages * a_bytes;
    passed = reinterpret_cast<T*>(kept + stages * (a_bytes + b_bytes)) + (int)(threadIdx.x / 32 - 4) * 16 * pitch;
    full = b + stages * b_bytes + 8 * 16 * pitch * 2, empty = full + stages * 8;
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) make_barrier(full + s * 8, 1), make_barrier(empty + s * 8, 2);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
  }
  __device__ void next() { if (++stage == stages) stage = 0, phase ^= 1; }
  // By one thread.
  __device__ void copy(const TensorMap& map_a, const TensorMap& map_b, int m, int n, int image, int steps) {
    for (int k = 0; k < steps; ++k, next()) {
      const u32 to_a = a + stage * a_bytes, to_b = b + stage * b_bytes, here = full + stage * 8;
      await_turn(empty + stage * 8, phase ^ 1);
      expect_bytes(here, a_bytes + b_bytes);
      if (!turned_a) copy_tile(to_a, map_a, here, k * deep, m, image);
      else for (int i = 0; i < rows; i += 64) copy_tile(to_a + i * deep * 2, map_a, here, m + i, k * deep, image);
      if (!turned_b) copy_tile(to_b, map_b, here, k * deep, n, image);
      else for (int i = 0; i < columns; i += 64) copy_tile(to_b + i * deep * 2, map_b, here, n + i, k * deep, image);
    }
  }
  // By the others, each group its 64 rows.
  __device__ void multiply(f32 (&sums)[count], int steps) {
    u32 before = 0;
    for (int k = 0; k < steps; ++k, next()) {
      await_turn(full + stage * 8, phase);
      const u32 own = a + stage * a_bytes + (threadIdx.x / 128 - 1) * 64 * deep * 2, all = b + stage * b_bytes;
      hold(sums);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int q = 0; q < deep / 16; ++q)
        multiply_64<turned_a, turned_b>(sums, T(), turned_a ? matrix_at(own + q * 2048, 8192) : matrix_at(own + q * 32, 16), turned_b ? matrix_at(all + q * 2048, 8192) : matrix_at(all + q * 32, 16), k | q);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (k > 0 && threadIdx.x % 128 == 0) arrive(before);
      before = empty + stage * 8;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    hold(sums);
    if (threadIdx.x % 128 == 0) arrive(before);
  }
  // The compiler keeps them where they are.
  static __device__ void hold(f32 (&sums)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i]) :: "memory");
  }
  // The same, slowly, of matrices that do not begin at multiples of 16 bytes.
  __device__ void multiply_each(f32 (&sums)[count], const T* x, i64 x_row, i64 x_along, const T* w, i64 w_along, i64 w_column, int m, int n, int M, int N, int K) {
    m += threadIdx.x / 128 * 64 - 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, n += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < count; ++i) sums[i] = 0;
    for (int k = 0; k < K; ++k) {
      const f32 own[2] = {m < M ? wide(x[m * x_row + k * x_along]) : 0, m + 8 < M ? wide(x[(m + 8) * x_row + k * x_along]) : 0};
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (const int column = n + i / 4 * 8 + i % 2; column < N) sums[i] += own[i % 4 / 2] * wide(w[k * w_along + column * w_column]);
    }
  }
  // Plus a row of the same type.
  static __device__ void add_row(f32 (&sums)[count], const T* added, int n, int N) {
    n += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (const int column = n + i / 4 * 8 + i % 2; column < N) sums[i] += wide(added[column]);
  }
  // Columns j * 64 and the next, as memory holds them, where the other lanes find them: run().
  __device__ void pass(const f32 (&sums)[count], int j) {
    const int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      Pack<T, 2> pair;
      put(pair.v[0], sums[j * 32 + i]), put(pair.v[1], sums[j * 32 + i + 1]);
      store_pack<true>(passed + (lane / 4 + i % 4 / 2 * 8) * pitch + i / 4 * 8 + lane % 4 * 2, pair);
    }
    __syncwarp();
  }
  template <int N> __device__ Pack<T, N> run(int row, int column) const { return load_pack<true, N>(passed + row * pitch + column); }
};
)";

}  // namespace vitrine::codegen::cuda
