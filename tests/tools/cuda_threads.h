// Runs the text of a CUDA kernel on a CPU, to see what it computes where there is no GPU: a block's threads
// are fibers that take turns. A thread runs until it waits for its warp (a shuffle) or its block (a barrier);
// blocks run one after the other, those of a cluster each in a thread of the system's, which has the shared
// memory of its block. x86-64 only.
#pragma once

#include <barrier>
#include <thread>
#include <vector>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define __global__
#define __device__ inline
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__
#define __grid_constant__

namespace threads {

struct Index {
  unsigned x;
};
enum class State : uint8_t { ready, at_warp, at_block, at_cluster, done };
struct Thread {
  void* stack = nullptr;  // its stack pointer while it waits
  State state = State::done;
  char* memory = nullptr;
};

constexpr size_t kStack = 64 << 10;
inline thread_local Thread all[1024];
inline thread_local void* scheduler;
inline thread_local unsigned current;
inline thread_local uint64_t slots[64];  // what the lanes of the running warp hold out
inline void (*start)();
// Of a cluster: where its blocks wait for each other, and where the shared memory of each lies.
inline std::barrier<>* cluster;
inline char* memory_of[8];
inline thread_local char memory;

}  // namespace threads

inline thread_local threads::Index threadIdx, blockIdx, gridDim;

extern "C" void switch_stack(void** save, void* load);
asm(R"(
.text
.globl switch_stack
switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace threads {

inline void wait(State why) {
  Thread& me = all[current];
  me.state = why;
  switch_stack(&me.stack, scheduler);
}
inline void body() {
  start();
  wait(State::done);
}
inline void resume(unsigned t) {
  current = t;
  threadIdx.x = t;
  all[t].state = State::ready;
  switch_stack(&scheduler, all[t].stack);
}
// Every thread of a warp up to where the whole warp waits for its block, or is done.
inline void run_warp(unsigned first, unsigned last) {
  for (bool more = true; more;) {
    more = false;
    for (unsigned t = first; t < last; ++t)
      if (all[t].state == State::ready) resume(t);
    for (unsigned t = first; t < last; ++t)
      if (all[t].state == State::at_warp) all[t].state = State::ready, more = true;
  }
}
inline void run_block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Thread& t = all[i];
    if (!t.memory) t.memory = static_cast<char*>(malloc(kStack));
    auto top = (reinterpret_cast<uintptr_t>(t.memory) + kStack) & ~uintptr_t{15};
    void** frame = reinterpret_cast<void**>(top) - 8;
    frame[6] = reinterpret_cast<void*>(&body);
    t.stack = frame;
    t.state = State::ready;
  }
  for (bool more = true; more;) {
    for (unsigned t = 0; t < count; t += 32) run_warp(t, t + 32 < count ? t + 32 : count);
    more = false;
    bool meets = false;
    for (unsigned t = 0; t < count; ++t) {
      meets |= all[t].state == State::at_cluster;
      if (all[t].state == State::at_block || all[t].state == State::at_cluster)
        all[t].state = State::ready, more = true;
    }
    if (meets) cluster->arrive_and_wait();
  }
}
template <class T>
T* of_block(T* mine, unsigned block) {
  return reinterpret_cast<T*>(memory_of[block] + (reinterpret_cast<char*>(mine) - &memory));
}
inline void meet_cluster() {
  wait(State::at_cluster);
}
// size: blocks of a cluster.
inline void run_grid(unsigned blocks, unsigned count, unsigned size) {
  std::barrier<> meeting(size);
  cluster = &meeting;
  auto run = [&](unsigned rank) {
    memory_of[rank] = &memory;
    for (unsigned b = rank; b < blocks; b += size) {
      meeting.arrive_and_wait();  // nobody writes to a block that is not there yet, or is there no more
      blockIdx.x = b, gridDim.x = blocks;
      run_block(count);
    }
    for (Thread& t : all) free(t.memory), t.memory = nullptr;
  };
  std::vector<std::thread> others;
  for (unsigned rank = 1; rank < size; ++rank) others.emplace_back(run, rank);
  run(0);
  for (std::thread& t : others) t.join();
}

}  // namespace threads

inline void __syncthreads() {
  threads::wait(threads::State::at_block);
}
inline void __syncwarp() {
  threads::wait(threads::State::at_warp);
}
template <class T>
T __shfl_xor_sync(unsigned, T x, int lane) {
  const unsigned me = threads::current % 32;
  __builtin_memcpy(&threads::slots[me], &x, sizeof x);
  threads::wait(threads::State::at_warp);
  T out;
  __builtin_memcpy(&out, &threads::slots[me ^ static_cast<unsigned>(lane)], sizeof out);
  threads::wait(threads::State::at_warp);
  return out;
}
template <class T>
T from_lane(T x, unsigned lane) {
  __builtin_memcpy(&threads::slots[threads::current % 32], &x, sizeof x);
  threads::wait(threads::State::at_warp);
  T out;
  __builtin_memcpy(&out, &threads::slots[lane], sizeof out);
  threads::wait(threads::State::at_warp);
  return out;
}
template <class T>
T __shfl_up_sync(unsigned, T x, unsigned lanes) {
  const unsigned me = threads::current % 32;
  return from_lane(x, me < lanes ? me : me - lanes);
}
template <class T>
T __shfl_sync(unsigned, T x, unsigned lane) {
  return from_lane(x, lane);
}
// mma.m16n8k16 of 16-bit numbers: lane 4 g + t has pairs of rows g and g + 8 of a matrix, and of row g of the
// other, at 2 t and 2 t + 8. sums: rows g and g + 8, columns 2 t and the next.
template <class Widen>
void multiply_16_by_8(float (&sums)[4], const unsigned (&matrix)[4], const unsigned (&few)[2], Widen widen) {
  float a[16][16], b[8][16];
  auto put = [&](float(&row)[16], unsigned at, unsigned pair) {
    row[at] = widen(static_cast<unsigned short>(pair)),
    row[at + 1] = widen(static_cast<unsigned short>(pair >> 16));
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4 * 2;
    for (unsigned i = 0; i < 4; ++i) put(a[g + i % 2 * 8], t + i / 2 * 8, from_lane(matrix[i], lane));
    for (unsigned i = 0; i < 2; ++i) put(b[g], t + i * 8, from_lane(few[i], lane));
  }
  const unsigned me = threads::current % 32, g = me / 4, t = me % 4 * 2;
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < 16; ++k) sums[i] += a[g + i / 2 * 8][k] * b[t + i % 2][k];
}
template <class T, class U>
T atomicAdd(T* to, U x) {
  const T old = *to;
  *to += x;
  return old;
}
inline unsigned atomicCAS(unsigned* at, unsigned expected, unsigned value) {
  const unsigned old = *at;
  if (old == expected) *at = value;
  return old;
}
extern "C" inline void __assertfail(const char*, const char*, unsigned, const char*, size_t) {
  abort();
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float half_to_float(unsigned short x) {
  return static_cast<float>(__builtin_bit_cast(_Float16, x));
}
inline unsigned short float_to_half(float x) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
inline float bfloat_to_float(unsigned short x) {
  return __builtin_bit_cast(float, static_cast<unsigned>(x) << 16);
}
inline unsigned short float_to_bfloat(float x) {
  const auto bits = __builtin_bit_cast(unsigned, x);
  if (x != x) return static_cast<unsigned short>(bits >> 16 | 64);
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#include "played_tiles.h"
