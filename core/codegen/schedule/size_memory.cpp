#include "core/codegen/schedule/size_memory.h"

#include <bit>

namespace vitrine::codegen {

namespace {

// begin [kind number | literal | type] end
constexpr char kBegin = '\x01', kEnd = '\x02', kBetween = '\x05';
constexpr char kSize = 's', kReal = 'r';

std::string marked(char kind, int64_t number, const std::string& literal, const std::string& type) {
  return kBegin + std::string(1, kind) + std::to_string(number) + kBetween + literal + kBetween + type + kEnd;
}

// The marked numbers of a text, and what is around them.
struct Parts {
  std::vector<std::string> around;  // one more than numbers
  std::vector<int64_t> numbers;
  std::vector<bool> real;
  std::vector<std::string> literals, types;

  void add(const std::string& mark) {
    const size_t first = mark.find(kBetween), second = mark.find(kBetween, first + 1);
    real.push_back(mark[0] == kReal);
    numbers.push_back(std::stoll(mark.substr(1, first - 1)));
    literals.push_back(mark.substr(first + 1, second - first - 1));
    types.push_back(mark.substr(second + 1));
  }
};

Parts parts_of(const std::string& text) {
  Parts parts;
  size_t at = 0;
  for (size_t begin; (begin = text.find(kBegin, at)) != std::string::npos;) {
    const size_t end = text.find(kEnd, begin);
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
    out += kBegin + parts.types[i] + (parts.real[i] ? kReal : kSize) + parts.around[i + 1];
  return out;
}

}  // namespace

std::string SizeMemory::mark(int64_t number) {
  return mark_integer(number, std::to_string(number), "");
}
std::string SizeMemory::mark_real(double number, const std::string& literal, const std::string& type) {
  return marked(kReal, std::bit_cast<int64_t>(number), literal, type);
}
std::string SizeMemory::mark_integer(int64_t number, const std::string& literal, const std::string& type) {
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
  met_.push_back({key, parts.numbers, parts.real});
  Entry entry;
  if (auto known = entries_.find(key); known != entries_.end())
    entry = seen_with(known->second, parts.numbers);
  Resolved out;
  std::map<int, size_t> places;  // of a class among the names
  auto shown = [&](size_t i) {
    if (entry.changes.empty() || !entry.changes[i]) return parts.literals[i];
    auto [at, fresh] = places.try_emplace(entry.classes[i], out.names.size());
    if (fresh) {
      out.numbers.push_back(parts.numbers[i]);
      out.names.push_back(
          {(parts.real[i] ? "real" : "size") + std::to_string(at->second), parts.real[i], parts.numbers[i]});
    }
    const std::string& name = out.names[at->second].text;
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
