// The CPU's memory for tensors of several megabytes, in pages of 2 MB where the system has them: a fresh one
// costs one fault where small pages take 512 (a result of 154 MB was written in a quarter of the time), and
// the products that read it miss the TLB less often.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine {

// Bytes that hold at least one whole large page, wherever they begin.
inline constexpr int64_t kLargeMemory = int64_t{4} << 20;

// Of memory that is mapped and not yet written to, whoever allocated it: the whole large pages in it are
// asked for. Smaller memory, and systems that do not give large pages, are left as they are.
void want_large_pages(void* data, size_t bytes);

// 64-byte aligned, to be freed by std::free(); throws std::bad_alloc. bytes > 0.
char* allocate_large(size_t bytes);

}  // namespace vitrine
