// SHA-256 (FIPS 180-4): names of cache entries and of recorded files by their content.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace vitrine {

class Sha256 {
 public:
  Sha256& add(std::string_view bytes);
  std::array<uint8_t, 32> digest();  // ends the stream: call once

 private:
  void block(const uint8_t* p);
  std::array<uint32_t, 8> h_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> part_{};
  uint64_t bytes_ = 0;
};

std::string sha256_hex(std::string_view bytes);  // 64 characters

// HMAC (RFC 2104) over the parts one after the other.
std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts);

}  // namespace vitrine
