// Which numbers of a kernel's text are sizes that change. A program that is compiled again for other sizes
// gives kernels of the same text but for some numbers: these become arguments of the kernel, the others stay
// numbers, which the C++ compiler makes the best of. Nothing has to be known of how a number depends on a
// size: a text that is met with other numbers than before has them as arguments from then on, and what is
// passed is what this very program would have written there. A mean's divisor is such a number too. A
// symbolic number is an argument at once, and what is passed is its expression.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/codegen/schedule/product_choice.h"
#include "core/ir/sym.h"

namespace vitrine::codegen {

class SizeMemory {
 public:
  // A text with marked numbers: mark() around each that may be an argument.
  static std::string mark(const ir::Sym& number);
  // A constant of the kernel's arithmetic, which is written as `literal`; as an argument it is
  // `type`(what is passed): a real number, or an integer.
  static std::string mark_real(double number, const std::string& literal, const std::string& type);
  static std::string mark_integer(const ir::Sym& number, const std::string& literal, const std::string& type);
  struct Name {
    std::string text;  // "size0", "real1": by place in `numbers`
    bool real = false;
    ir::Sym number = 0;
  };
  struct Resolved {
    std::string text;
    std::vector<Name> names;       // what the text names; empty: the kernel has no such argument
    std::vector<ir::Sym> numbers;  // what is passed for these; a real number is the bits of a double
    // Puts these in place of a character of the text.
    void put(char place, const std::string& declarations);
  };
  // `kernel` tells kernels of one program apart. What it answers changes only with commit(), so that a
  // program may be built twice. kDeclaration and kPassed are left for what declares the names, and hands them
  // on, in the text: see Resolved::put.
  static constexpr char kDeclaration = '\x03', kPassed = '\x04';
  Resolved resolve(const std::string& kernel, const std::string& text);
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
  static Entry begun(const std::vector<int64_t>& numbers, const std::vector<bool>& real);
  static Entry seen_with(const Entry& entry, const std::vector<int64_t>& numbers);
  std::map<std::string, Entry> entries_;  // by kernel and text without its marked numbers
  struct Met {
    std::string key;
    std::vector<int64_t> numbers;
    std::vector<bool> real;
  };
  std::vector<Met> met_;
};

}  // namespace vitrine::codegen
