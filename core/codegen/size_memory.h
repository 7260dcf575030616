// Which numbers of a kernel's text are sizes that change. A program that is compiled again for other sizes
// gives kernels of the same text but for some numbers: these become arguments of the kernel (its last one, an
// array), the others stay numbers, which the C++ compiler makes the best of. Nothing has to be known of how a
// number depends on a size: a text that is met with other numbers than before has them as arguments from then
// on, and what is passed is what this very program would have written there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/codegen/products.h"

namespace vitrine::codegen {

class SizeMemory {
 public:
  // A text with marked numbers: mark() around each that may be an argument.
  static std::string mark(int64_t number);
  struct Resolved {
    std::string text;
    std::vector<int64_t> numbers;  // the argument; empty: the kernel has none
  };
  // `kernel` tells kernels of one program apart. `array` is the argument that holds the numbers: it is taken
  // apart in the line that is left for it (kDeclaration). What it answers changes only with commit(), so that
  // a program may be built twice.
  static constexpr char kDeclaration = '\x03';
  Resolved resolve(const std::string& kernel, const std::string& text, const std::string& array);
  // From now on the numbers met so far are known.
  void commit();

  std::map<std::string, ProductChoice> products;  // by node name: who computed it for the first sizes

 private:
  std::mutex mutex_;  // a backward may be compiled by another thread
  struct Entry {
    std::vector<int64_t> first;
    std::vector<int> classes;  // numbers that were equal so far have one class, and share an argument
    std::vector<bool> changes;
  };
  static Entry seen_with(const Entry& entry, const std::vector<int64_t>& numbers);
  std::map<std::string, Entry> entries_;  // by kernel and text without its marked numbers
  std::vector<std::pair<std::string, std::vector<int64_t>>> met_;
};

}  // namespace vitrine::codegen
