#include "core/base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace vitrine {

namespace {
// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
}  // namespace

void Sha256::block(const uint8_t* p) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i, p += 4)
    w[i] = uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
  for (size_t i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = h_;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t big1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + big1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    uint32_t big0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = big0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  h_[0] += a, h_[1] += b, h_[2] += c, h_[3] += d, h_[4] += e, h_[5] += f, h_[6] += g, h_[7] += h;
}

Sha256& Sha256::add(std::string_view bytes) {
  auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  while (left > 0) {
    size_t at = bytes_ % 64;
    if (at == 0 && left >= 64) {
      block(p);
      bytes_ += 64, p += 64, left -= 64;
      continue;
    }
    size_t n = std::min(left, 64 - at);
    std::memcpy(part_.data() + at, p, n);
    bytes_ += n, p += n, left -= n;
    if (bytes_ % 64 == 0) block(part_.data());
  }
  return *this;
}

std::array<uint8_t, 32> Sha256::digest() {
  uint64_t bits = bytes_ * 8;
  add(std::string_view("\x80", 1));
  while (bytes_ % 64 != 56) add(std::string_view("\0", 1));
  for (int shift = 56; shift >= 0; shift -= 8) {
    char byte = static_cast<char>(bits >> shift & 0xff);
    add({&byte, 1});
  }
  std::array<uint8_t, 32> out;
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(h_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  std::string out;
  for (uint8_t byte : Sha256().add(bytes).digest()) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) {
  std::array<char, 64> inner{}, outer{};
  std::string_view short_key = key;
  std::array<uint8_t, 32> digest;
  if (key.size() > inner.size()) {
    digest = Sha256().add(key).digest();
    short_key = {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }
  for (size_t i = 0; i < inner.size(); ++i) {
    const char byte = i < short_key.size() ? short_key[i] : '\0';
    inner[i] = static_cast<char>(byte ^ 0x36);
    outer[i] = static_cast<char>(byte ^ 0x5c);
  }
  Sha256 inside;
  inside.add({inner.data(), inner.size()});
  for (std::string_view part : parts) inside.add(part);
  digest = inside.digest();
  return Sha256()
      .add({outer.data(), outer.size()})
      .add({reinterpret_cast<const char*>(digest.data()), digest.size()})
      .digest();
}

}  // namespace vitrine
