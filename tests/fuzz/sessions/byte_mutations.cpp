// What is done to a session's bytes; byte_mutations() at the end lists all.
#include <algorithm>
#include <array>

#include "tests/fuzz/sessions/hostile_values.h"
#include "tests/fuzz/sessions/session_mutator.h"

namespace vitrine::fuzz {

namespace {

void flip(std::string& bytes, Random& random) {
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 2, 8, 64, 512}); left > 0; --left) {
    char& byte = bytes[random.below(random.one_in(3) ? std::min<size_t>(bytes.size(), 8192) : bytes.size())];
    byte = random.one_in(2) ? static_cast<char>(byte ^ (1 << random.below(8)))
                            : static_cast<char>(random.below(256));
  }
}

void truncate(std::string& bytes, Random& random) {
  const std::vector<size_t> sizes = {
      0, 1, 15, 16, 99, 100, 512, 4096, bytes.size() / 2, bytes.size() - 1, random.below(bytes.size())};
  bytes.resize(std::min(bytes.size(), random.of(sizes)));
}

// Pages of 512 bytes, whatever the file's own: larger ones are damaged in part.
void exchange_pages(std::string& bytes, Random& random) {
  constexpr size_t kPage = 512;
  const size_t pages = bytes.size() / kPage;
  if (pages < 2) return;
  for (uint64_t left = random.of(std::vector<uint64_t>{1, 3, 10}); left > 0; --left) {
    const size_t to = random.below(pages) * kPage, from = random.below(pages) * kPage;
    const std::string page = random.one_in(3)   ? std::string(kPage, '\0')
                             : random.one_in(2) ? random_bytes(random, kPage)
                                                : bytes.substr(from, kPage);
    bytes.replace(to, kPage, page);
  }
}

// Fields of the file's header and of the first page's: https://www.sqlite.org/fileformat2.html
void change_header(std::string& bytes, Random& random) {
  struct Field {
    size_t at, size;
  };
  static constexpr std::array<Field, 23> kFields = {{{16, 2}, {18, 1},  {19, 1},  {20, 1},  {21, 1}, {24, 4},
                                                     {28, 4}, {32, 4},  {36, 4},  {40, 4},  {44, 4}, {48, 4},
                                                     {52, 4}, {56, 4},  {60, 4},  {64, 4},  {68, 4}, {92, 4},
                                                     {96, 4}, {100, 1}, {101, 2}, {103, 2}, {105, 2}}};
  const Field field = kFields[random.below(kFields.size())];
  if (bytes.size() < field.at + field.size) return;
  const uint64_t value =
      random.of(std::vector<uint64_t>{0, 1, 2, 3, 255, 0x80000000, 0xffffffff, random.below(1u << 31)});
  for (size_t i = 0; i < field.size; ++i)
    bytes[field.at + i] = static_cast<char>(value >> 8 * (field.size - 1 - i));
}

}  // namespace

const std::vector<ByteMutation>& byte_mutations() {
  static const std::vector<ByteMutation> table = {
      {"flipped bits", 4, flip},
      {"truncated", 1, truncate},
      {"exchanged pages", 2, exchange_pages},
      {"header", 2, change_header},
  };
  return table;
}

}  // namespace vitrine::fuzz
