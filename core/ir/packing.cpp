#include "core/ir/packing.h"

#include <bit>

namespace vitrine::ir {

namespace {

constexpr int kMostDepth = 16;  // of lists in lists

// What stands in front of an argument. The numbers are those of the files: a new one goes to the end.
enum class ArgWord : uint8_t { None, Bool, Integer, Real, Text, Word, DType, Ref, List };

template <class Io, class T>
void fields(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, TensorType>
{
  auto& [dtype, sizes, strides, offset, device] = value;
  pack_word(io, dtype, DType::other);
  pack_all(io, sizes, strides, offset);
  auto& [type, index] = device;
  pack_word(io, type, Device::Type::cuda);
  pack(io, index);
}

template <class Io, class T>
void fields(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, Node>
{
  auto& [id, kind, name, op, args, kwargs, outputs, source, reads_only, makes_new, origin] = value;
  pack_word(io, kind, NodeKind::op);
  pack_all(io, name, op, args, kwargs, outputs, source, reads_only, makes_new);
}

template <class Io, class T>
void fields(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, SymAtom>
{
  auto& [op, symbol, a, b] = value;
  pack_word(io, op, SymOp::Max);
  pack_all(io, symbol, a, b);
}

template <class Io, class T>
void fields(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, SymGuard>
{
  auto& [terms, relation, bound, place] = value;
  pack(io, terms);
  pack_word(io, relation, SymRelation::Ge);
  pack_all(io, bound, place);
}

}  // namespace

template <class Io, class T>
void each(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, SymTerm>
{
  auto& [atoms, factor] = value;
  pack_all(io, atoms, factor);
}

template <class Io, class T>
void each(Io& io, T& value)
  requires std::same_as<std::remove_const_t<T>, Polynomial>
{
  auto& [terms, constant] = value;
  pack_all(io, terms, constant);
}

TableExtent extent_of(const SymbolTable& table) {
  return {table.atoms().size(), table.guards().size()};
}

void pack_growth(Packer& io, const SymbolTable& table, TableExtent since) {
  io.integer(static_cast<int64_t>(table.atoms().size() - since.atoms));
  for (size_t i = since.atoms; i < table.atoms().size(); ++i) fields(io, table.atoms()[i]);
  io.integer(static_cast<int64_t>(table.guards().size() - since.guards));
  for (size_t i = since.guards; i < table.guards().size(); ++i) fields(io, table.guards()[i]);
}

std::vector<SymGuard> unpack_growth(Unpacker& io, SymbolTable& table) {
  for (size_t left = io.count(); left > 0; --left) {
    SymAtom atom{};
    fields(io, atom);
    if (!table.restore(std::move(atom))) throw PackingError("a part of an expression is none of these sizes");
  }
  std::vector<SymGuard> guards;
  for (size_t left = io.count(); left > 0; --left) {
    fields(io, guards.emplace_back());
    if (!table.is_sound(guards.back())) throw PackingError("a guard is none of these sizes");
  }
  return guards;
}

void Packer::integer(int64_t value) {
  auto left = std::bit_cast<uint64_t>((value << 1) ^ (value >> 63));
  for (; left >= 0x80; left >>= 7) out_ += static_cast<char>(left | 0x80);
  out_ += static_cast<char>(left);
}

void Packer::real(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 64; i += 8) out_ += static_cast<char>(bits >> i);
}

void Packer::text(const std::string& value) {
  const auto [known, added] = texts_.try_emplace(value, static_cast<int64_t>(texts_.size()));
  integer(known->second);
  if (!added) return;
  integer(static_cast<int64_t>(value.size()));
  out_ += value;
}

void Packer::node(NodeId id) {
  if (id < 0) return integer(-1);
  integer(nodes_.try_emplace(id, static_cast<int64_t>(nodes_.size())).first->second);
}

// Where there is a table: 0 and a number, or 1 and above the number of an expression, a new one with its
// terms.
void Packer::sym(const Sym& value) {
  if (value.symbolic() && value.expr()->table != table_) throw PackingError("a size is an expression");
  if (!value.symbolic()) {
    if (table_) integer(0);
    return integer(value.hint());
  }
  const auto [known, added] = exprs_.try_emplace(value.expr(), static_cast<int64_t>(exprs_.size()) + 1);
  integer(known->second);
  if (added) pack(*this, value.expr()->sum);
}

uint8_t Unpacker::byte() {
  if (rest_.empty()) throw PackingError("it ends too early");
  const auto out = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return out;
}

int64_t Unpacker::integer(int64_t least, int64_t most) {
  uint64_t bits = 0;
  for (int shift = 0;; shift += 7) {
    const uint64_t part = byte();
    if (shift == 63 && part > 1) throw PackingError("a number has too many bits");
    bits |= (part & 0x7f) << shift;
    if (part < 0x80) break;
  }
  const auto value = std::bit_cast<int64_t>(bits >> 1) ^ -std::bit_cast<int64_t>(bits & 1);
  if (value < least || value > most) throw PackingError("a number is out of its range");
  return value;
}

double Unpacker::real() {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 8) bits |= uint64_t{byte()} << i;
  return std::bit_cast<double>(bits);
}

const std::string& Unpacker::text() {
  const auto known = static_cast<size_t>(integer(0, static_cast<int64_t>(texts_.size())));
  if (known < texts_.size()) return texts_[known];
  const size_t bytes = count();
  texts_.emplace_back(rest_.substr(0, bytes));
  rest_.remove_prefix(bytes);
  return texts_.back();
}

NodeId Unpacker::node() {
  return static_cast<NodeId>(integer(-1, std::numeric_limits<NodeId>::max()));
}

Sym Unpacker::sym() {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  if (!table_) return integer(kLeast, kMost);
  const auto number = static_cast<size_t>(integer(0, static_cast<int64_t>(exprs_.size()) + 1));
  if (number == 0) return integer(kLeast, kMost);
  if (number <= exprs_.size()) return exprs_[number - 1];
  Polynomial sum;
  pack(*this, sum);
  const auto made = table_->restored(std::move(sum));
  if (!made) throw PackingError("an expression is none of these sizes");
  exprs_.push_back(*made);
  return *made;
}

size_t Unpacker::count() {
  const int64_t value = integer(0, std::numeric_limits<int64_t>::max());
  if (static_cast<uint64_t>(value) > rest_.size())
    throw PackingError("a length is greater than what is there");
  return static_cast<size_t>(value);
}

void Unpacker::expect_end() const {
  if (!rest_.empty()) throw PackingError("something stands behind its end");
}

Unpacker::Inner::Inner(Unpacker& from) : from(from) {
  if (++from.depth_ > kMostDepth) {
    --from.depth_;
    throw PackingError("its lists are too deep");
  }
}

void each(Packer& io, const Sym& value) {
  io.sym(value);
}
void each(Unpacker& io, Sym& value) {
  value = io.sym();
}

void each(Packer& io, const Ref& value) {
  io.node(value.node);
  io.integer(value.output);
}
void each(Unpacker& io, Ref& value) {
  value.node = io.node();
  value.output = static_cast<int32_t>(io.integer(0, std::numeric_limits<int32_t>::max()));
}

void each(Packer& io, const TensorType& value) {
  fields(io, value);
}
void each(Unpacker& io, TensorType& value) {
  fields(io, value);
}
void each(Packer& io, const Node& value) {
  fields(io, value);
}
void each(Unpacker& io, Node& value) {
  fields(io, value);
}

void each(Packer& io, const Arg& value) {
  const auto word = [&](ArgWord w) { io.integer(static_cast<int64_t>(w)); };
  struct Visitor {
    Packer& io;
    decltype(word)& say;
    void operator()(const None&) { say(ArgWord::None); }
    void operator()(bool v) { say(ArgWord::Bool), io.integer(v); }
    void operator()(const Sym& v) { say(ArgWord::Integer), each(io, v); }
    void operator()(double v) { say(ArgWord::Real), io.real(v); }
    void operator()(const std::string& v) { say(ArgWord::Text), io.text(v); }
    void operator()(const Word& v) { say(ArgWord::Word), io.text(v.text); }
    void operator()(DType v) { say(ArgWord::DType), io.integer(static_cast<int64_t>(v)); }
    void operator()(const Ref& v) { say(ArgWord::Ref), each(io, v); }
    void operator()(const std::vector<Arg>& v) { say(ArgWord::List), pack(io, v); }
  };
  std::visit(Visitor{io, word}, value.v);
}

void each(Unpacker& io, Arg& value) {
  ArgWord word{};
  pack_word(io, word, ArgWord::List);
  const auto read = [&]<class T>(T made) {
    if constexpr (std::same_as<T, DType>)
      pack_word(io, made, DType::other);
    else
      pack(io, made);
    value = Arg(std::move(made));
  };
  switch (word) {
    case ArgWord::None:
      value = Arg();
      return;
    case ArgWord::Bool:
      return read(false);
    case ArgWord::Integer:
      return read(Sym());
    case ArgWord::Real:
      value = Arg(io.real());
      return;
    case ArgWord::Text:
      return read(std::string());
    case ArgWord::Word:
      value = Arg(Word{io.text()});
      return;
    case ArgWord::DType:
      return read(DType());
    case ArgWord::Ref:
      return read(Ref());
    case ArgWord::List:
      break;
  }
  const Unpacker::Inner inner(io);
  read(std::vector<Arg>());
}

}  // namespace vitrine::ir
