#include "core/session/unpack.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace vitrine::session {

namespace {
constexpr int64_t kAtOnce = 1 << 20;  // so much is taken for a claim that may be false
constexpr int kLargestWindow = 23;    // log2 of bytes; the writer's level needs 21
struct Frees {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
}  // namespace

std::optional<std::string> unpack(std::string_view packed, int64_t bytes) {
  const unsigned long long claimed = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (bytes < 0 || claimed != static_cast<unsigned long long>(bytes)) return std::nullopt;
  const auto wanted = static_cast<size_t>(bytes);
  std::string out;
  if (bytes <= kAtOnce) {
    out.resize(wanted);
    const size_t n = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
    return !ZSTD_isError(n) && n == wanted ? std::optional(std::move(out)) : std::nullopt;
  }
  const std::unique_ptr<ZSTD_DCtx, Frees> context(ZSTD_createDCtx());
  if (!context || ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kLargestWindow)))
    return std::nullopt;
  std::vector<char> part(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (size_t left = 1; left != 0;) {
    ZSTD_outBuffer space{part.data(), part.size(), 0};
    left = ZSTD_decompressStream(context.get(), &space, &in);
    if (ZSTD_isError(left) || space.pos > wanted - out.size()) return std::nullopt;
    if (space.pos == 0 && in.pos == in.size && left != 0) return std::nullopt;  // cut
    out.append(part.data(), space.pos);
  }
  return out.size() == wanted ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace vitrine::session
