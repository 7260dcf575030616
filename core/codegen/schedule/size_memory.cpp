#include "core/codegen/schedule/size_memory.h"

#include <bit>
#include <charconv>

namespace vitrine::codegen {

namespace {

// begin [kind number | literal | type | expression] end; the last: where a symbolic number's is
constexpr char kSizeBegin = '\x01', kSizeEnd = '\x02', kBetween = '\x05';
constexpr char kSize = 's', kReal = 'r';

std::string marked(char kind, const ir::Sym& number, const std::string& literal, const std::string& type) {
  const std::string expr =
      number.symbolic() ? std::to_string(std::bit_cast<uintptr_t>(number.expr())) : std::string();
  return kSizeBegin + std::string(1, kind) + std::to_string(number.hint()) + kBetween + literal + kBetween +
         type + kBetween + expr + kSizeEnd;
}

// The marked numbers of a text, and what is around them.
struct Parts {
  std::vector<std::string> around;  // one more than numbers
  std::vector<ir::Sym> numbers;
  std::vector<bool> real;
  std::vector<std::string> literals, types;

  void add(const std::string& mark) {
    const size_t first = mark.find(kBetween), second = mark.find(kBetween, first + 1),
                 third = mark.find(kBetween, second + 1);
    real.push_back(mark[0] == kReal);
    const int64_t number = std::stoll(mark.substr(1, first - 1));
    literals.push_back(mark.substr(first + 1, second - first - 1));
    types.push_back(mark.substr(second + 1, third - second - 1));
    if (third + 1 == mark.size()) {
      numbers.emplace_back(number);
      return;
    }
    uintptr_t expr = 0;
    std::from_chars(mark.data() + third + 1, mark.data() + mark.size(), expr);
    numbers.push_back(ir::Sym::of(number, std::bit_cast<const ir::SymExpr*>(expr)));
  }
  // As plain numbers: one that is symbolic never changes.
  std::vector<int64_t> plain() const {
    std::vector<int64_t> out;
    for (const ir::Sym& n : numbers) out.push_back(n.symbolic() ? 0 : n.hint());
    return out;
  }
};

Parts parts_of(const std::string& text) {
  Parts parts;
  size_t at = 0;
  for (size_t begin; (begin = text.find(kSizeBegin, at)) != std::string::npos;) {
    const size_t end = text.find(kSizeEnd, begin);
    parts.around.push_back(text.substr(at, begin - at));
    parts.add(text.substr(begin + 1, end - begin - 1));
    at = end + 1;
  }
  parts.around.push_back(text.substr(at));
  return parts;
}

// The text without its numbers.
std::string key_of(const Parts& parts) {
  std::string out = parts.around[0];
  for (size_t i = 0; i < parts.numbers.size(); ++i)
    out += kSizeBegin + parts.types[i] + (parts.real[i] ? kReal : kSize) + parts.around[i + 1];
  return out;
}

}  // namespace

std::string SizeMemory::mark(const ir::Sym& number) {
  return mark_integer(number, std::to_string(number.hint()), "");
}
std::string SizeMemory::mark_real(double number, const std::string& literal, const std::string& type) {
  return marked(kReal, ir::Sym(std::bit_cast<int64_t>(number)), literal, type);
}
std::string SizeMemory::mark_integer(const ir::Sym& number, const std::string& literal,
                                     const std::string& type) {
  return marked(kSize, number, literal, type);
}

void SizeMemory::Resolved::put(char place, const std::string& declarations) {
  for (size_t at; (at = text.find(place)) != std::string::npos;) text.replace(at, 1, declarations);
}

SizeMemory::Entry SizeMemory::begun(const std::vector<int64_t>& numbers, const std::vector<bool>& real) {
  Entry out;
  out.first = numbers;
  out.changes.assign(numbers.size(), false);
  out.classes.assign(real.begin(), real.end());
  return out;
}

SizeMemory::Entry SizeMemory::seen_with(const Entry& entry, const std::vector<int64_t>& numbers) {
  Entry out = entry;
  std::map<std::pair<int, int64_t>, int> split;
  for (size_t i = 0; i < numbers.size(); ++i) {
    out.changes[i] = out.changes[i] || numbers[i] != entry.first[i];
    out.classes[i] =
        split.try_emplace({entry.classes[i], numbers[i]}, static_cast<int>(split.size())).first->second;
  }
  return out;
}

SizeMemory::Resolved SizeMemory::resolve(const std::string& kernel, const std::string& text) {
  Parts parts = parts_of(text);
  const std::scoped_lock lock(mutex_);
  const std::string key = kernel + key_of(parts);
  const std::vector<int64_t> plain = parts.plain();
  met_.push_back({key, plain, parts.real});
  Entry entry;
  if (auto known = entries_.find(key); known != entries_.end()) entry = seen_with(known->second, plain);
  Resolved out;
  std::map<int, size_t> places;                          // of a class among the names
  std::map<const ir::SymExpr*, size_t> symbolic_places;  // of an expression
  auto shown = [&](size_t i) {
    const ir::Sym& number = parts.numbers[i];
    if (!number.symbolic() && (entry.changes.empty() || !entry.changes[i])) return parts.literals[i];
    const size_t next = out.names.size();
    const size_t at = number.symbolic() ? symbolic_places.try_emplace(number.expr(), next).first->second
                                        : places.try_emplace(entry.classes[i], next).first->second;
    if (at == next) {
      out.numbers.push_back(number);
      out.names.push_back({(parts.real[i] ? "real" : "size") + std::to_string(at), parts.real[i], number});
    }
    const std::string& name = out.names[at].text;
    return parts.types[i].empty() ? name : parts.types[i] + "(" + name + ")";
  };
  for (size_t i = 0; i < parts.numbers.size(); ++i) out.text += parts.around[i] + shown(i);
  out.text += parts.around.back();
  return out;
}

void SizeMemory::commit() {
  const std::scoped_lock lock(mutex_);
  for (const Met& met : met_) {
    auto [at, fresh] = entries_.try_emplace(met.key);
    if (fresh) at->second = begun(met.numbers, met.real);
    at->second = seen_with(at->second, met.numbers);
  }
  met_.clear();
}

}  // namespace vitrine::codegen
