#include "tests/fuzz/sessions/hostile_values.h"

#include <zstd.h>

#include <array>

namespace vitrine::fuzz {

namespace {

std::string repeated(std::string_view what, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += what;
  return out;
}

// Each stands for a mistake that readers make: sizes, nesting, references, formats, characters.
std::string text_of_kind(Random& random, uint64_t kind) {
  switch (kind) {
    case 0:
      return "";
    case 1:
      return repeated("x", random.of(std::vector<size_t>{300, 5000, 200000}));
    case 2:
      return "\x1b[2J\x1b]0;title\x07\x1b[31m";
    case 3:
      return "<img src=\"file:///etc/hostname\"><b>x</b><a href=\"javascript:1\">";
    case 4:
      return "a\nb\r\nc\td\v\f\b";
    case 5:
      return "\u202e\u2066reversed\u200b\u2069";
    case 6:
      return "%s%n%d{}{0}%1%2";
    case 7:
      return repeated("[", random.of(std::vector<size_t>{10, 2000, 200000}));
    case 8:
      return "{\"pop\":-1,\"push\":[{}],\"store\":{\"\":[]}}";
    case 9:
      return "{\"pop\":999999999999,\"push\":[null,1,\"x\",[[]]]}";
    case 10:
      return "f32[-1,9223372036854775807]";
    case 11:
      return "f32[" + repeated("8,", 5000) + "8]";
    case 12:
      return "../../../../etc/hostname";
    case 13:
      return "1e999";
    case 14:
      return "K" + repeated("9", 30);
    case 15:
      return "0/" + repeated("9", 40);
    case 16:
      return std::string("\0abc", 4);
    case 17:
      return "s0 <= ";
    case 18:
      return repeated("(", 300);
    case 19:
      return repeated("\U0001F600", 1000);
    case 20:
      return repeated("a\n", 20000);
    default:
      return random_bytes(random, random.of(std::vector<size_t>{1, 7, 300}));
  }
}

}  // namespace

std::string hostile_integer(Random& random) {
  static const std::vector<std::string> values = {"0",
                                                  "-1",
                                                  "1",
                                                  "255",
                                                  "256",
                                                  "65536",
                                                  "2147483647",
                                                  "2147483648",
                                                  "-2147483648",
                                                  "1000000000",
                                                  "-1000000000",
                                                  "1099511627775",
                                                  "1099511627776",
                                                  "17592186044416",
                                                  "4611686018427387904",
                                                  "9223372036854775807",
                                                  "-9223372036854775808"};
  return random.of(values);
}

std::string hostile_real(Random& random) {
  static const std::vector<std::string> values = {"9e999",  "-9e999", "NULL", "1e308",
                                                  "-1e308", "5e-324", "-0.0", "-1.0"};
  return random.of(values);
}

std::string hostile_text(Random& random) {
  return text_of_kind(random, random.below(22));
}

std::string random_bytes(Random& random, size_t size) {
  std::string out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(random.below(256));
  return out;
}

std::string zeros_compressed(size_t claimed) {
  std::string out;
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setPledgedSrcSize(context, claimed);
  const std::string zeros(1 << 20, '\0');
  std::array<char, 1 << 16> chunk;
  for (size_t done = 0; done < claimed;) {
    const size_t part = std::min(zeros.size(), claimed - done);
    done += part;
    ZSTD_inBuffer in{zeros.data(), part, 0};
    size_t left = 1;
    while (in.pos < in.size || (done == claimed && left)) {
      ZSTD_outBuffer to{chunk.data(), chunk.size(), 0};
      left = ZSTD_compressStream2(context, &to, &in, done == claimed ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left)) break;
      out.append(chunk.data(), to.pos);
    }
  }
  ZSTD_freeCCtx(context);
  return out;
}

}  // namespace vitrine::fuzz
