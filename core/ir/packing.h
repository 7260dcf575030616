// Plain data as bytes and back: what is kept on disk of a compilation. Both ways go by one list of fields,
// `each(io, value)` beside a struct, so that neither knows a field that the other does not. Bytes that were
// not packed are refused, and nothing is allocated that they do not hold.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace vitrine::ir {

// Something that has no place among the bytes, or bytes that say nothing; the text says which.
class PackingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Each text is written once. Nodes are numbered in the order in which they are met: what is the same but for
// the numbers that a compilation gave its nodes is the same bytes.
class Packer {
 public:
  static constexpr bool kReads = false;
  // table: of the expressions that may occur; null: none may.
  explicit Packer(const SymbolTable* table = nullptr) : table_(table) {}
  void integer(int64_t value);
  void real(double value);
  void text(const std::string& value);
  void node(NodeId id);
  void sym(const Sym& value);  // an expression without its value
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
  std::unordered_map<std::string, int64_t> texts_;
  std::unordered_map<NodeId, int64_t> nodes_;
  const SymbolTable* table_;
  std::unordered_map<const SymExpr*, int64_t> exprs_;
};

// Every function may throw a PackingError.
class Unpacker {
 public:
  static constexpr bool kReads = true;
  // table: of the expressions that may occur, which gets them; null: none may.
  explicit Unpacker(std::string_view bytes, SymbolTable* table = nullptr) : rest_(bytes), table_(table) {}
  int64_t integer(int64_t least, int64_t most);
  double real();
  const std::string& text();
  NodeId node();
  Sym sym();
  size_t count();  // of things of at least a byte each
  void expect_end() const;

  // A list within a list, while it is read.
  struct Inner {
    explicit Inner(Unpacker& from);
    ~Inner() { --from.depth_; }
    Inner(const Inner&) = delete;
    Unpacker& from;
  };

 private:
  uint8_t byte();
  std::string_view rest_;
  std::vector<std::string> texts_;
  SymbolTable* table_;
  std::vector<Sym> exprs_;
  int depth_ = 0;
};

template <class Io, class T>
void pack(Io& io, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::same_as<Plain, bool>) {
    if constexpr (Io::kReads)
      value = io.integer(0, 1) != 0;
    else
      io.integer(value);
  } else if constexpr (std::integral<Plain>) {
    using Limits = std::numeric_limits<Plain>;
    if constexpr (Io::kReads)
      value = static_cast<Plain>(io.integer(Limits::min(), Limits::max()));
    else
      io.integer(value);
  } else if constexpr (std::same_as<Plain, std::string>) {
    if constexpr (Io::kReads)
      value = io.text();
    else
      io.text(value);
  } else {
    each(io, value);
  }
}
template <class Io, class A, class B>
void pack(Io& io, std::pair<A, B>& value) {
  pack(io, value.first);
  pack(io, value.second);
}
template <class Io, class A, class B>
void pack(Io& io, const std::pair<A, B>& value) {
  pack(io, value.first);
  pack(io, value.second);
}
template <class Io, class T>
void pack(Io& io, const std::vector<T>& list) {
  io.integer(static_cast<int64_t>(list.size()));
  for (const T& item : list) pack(io, item);
}
template <class Io, class T>
void pack(Io& io, std::vector<T>& list) {
  if constexpr (!Io::kReads) {
    pack(io, std::as_const(list));
  } else {
    list.clear();
    for (size_t left = io.count(); left > 0; --left) pack(io, list.emplace_back());
  }
}

// All of them, in order.
template <class Io, class... T>
void pack_all(Io& io, T&... values) {
  (pack(io, values), ...);
}

// A word of a list that ends with `last`.
template <class Io, class T>
void pack_word(Io& io, T& value, std::remove_const_t<T> last) {
  if constexpr (Io::kReads)
    value = static_cast<T>(io.integer(0, static_cast<int64_t>(last)));
  else
    io.integer(static_cast<int64_t>(value));
}

// What a table knows of its symbols: how many atoms and guards it has.
struct TableExtent {
  size_t atoms = 0, guards = 0;
};
TableExtent extent_of(const SymbolTable& table);
// What has been added to the table since then. It comes before expressions that have it.
void pack_growth(Packer& io, const SymbolTable& table, TableExtent since);
// Adds its atoms to the table. Its guards come back, all of them sound: whether they hold is to be asked
// first.
std::vector<SymGuard> unpack_growth(Unpacker& io, SymbolTable& table);

void each(Packer& io, const Sym& value);
void each(Unpacker& io, Sym& value);
void each(Packer& io, const Ref& value);
void each(Unpacker& io, Ref& value);
void each(Packer& io, const Arg& value);
void each(Unpacker& io, Arg& value);
void each(Packer& io, const TensorType& value);
void each(Unpacker& io, TensorType& value);
// Without its number and its origin.
void each(Packer& io, const Node& value);
void each(Unpacker& io, Node& value);

}  // namespace vitrine::ir
