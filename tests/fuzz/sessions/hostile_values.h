// Values that a reader did not expect.
#pragma once

#include <string>

#include "tests/fuzz/sessions/random.h"

namespace vitrine::fuzz {

// As SQL writes them.
std::string hostile_integer(Random& random);
std::string hostile_real(Random& random);
// May hold anything: escape sequences, NUL, broken UTF-8, half a million characters.
std::string hostile_text(Random& random);
std::string random_bytes(Random& random, size_t size);
// A zstd frame whose header claims `claimed` bytes of zeros, and which holds them.
std::string zeros_compressed(size_t claimed);

}  // namespace vitrine::fuzz
