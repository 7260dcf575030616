#include "core/codegen/size_memory.h"

#include <numeric>

namespace vitrine::codegen {

namespace {

constexpr char kBegin = '\x01', kEnd = '\x02';

// The marked numbers of a text, and what is around them.
struct Parts {
  std::vector<std::string> around;  // one more than numbers
  std::vector<int64_t> numbers;
};

Parts parts_of(const std::string& text) {
  Parts parts;
  size_t at = 0;
  for (size_t begin; (begin = text.find(kBegin, at)) != std::string::npos;) {
    const size_t end = text.find(kEnd, begin);
    parts.around.push_back(text.substr(at, begin - at));
    parts.numbers.push_back(std::stoll(text.substr(begin + 1, end - begin - 1)));
    at = end + 1;
  }
  parts.around.push_back(text.substr(at));
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : std::string(1, kBegin)) + part;
  return out;
}

}  // namespace

std::string SizeMemory::mark(int64_t number) {
  return kBegin + std::to_string(number) + kEnd;
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

SizeMemory::Resolved SizeMemory::resolve(const std::string& kernel, const std::string& text,
                                         const std::string& array) {
  Parts parts = parts_of(text);
  const std::scoped_lock lock(mutex_);
  const std::string key = kernel + joined(parts.around);
  met_.emplace_back(key, parts.numbers);
  Entry entry;
  if (auto known = entries_.find(key); known != entries_.end())
    entry = seen_with(known->second, parts.numbers);
  Resolved out;
  std::map<int, std::string> names;  // by class
  std::string declared;
  auto shown = [&](size_t i) {
    if (entry.changes.empty() || !entry.changes[i]) return std::to_string(parts.numbers[i]);
    auto [at, fresh] = names.try_emplace(entry.classes[i], "size" + std::to_string(names.size()));
    if (fresh) {
      declared += (declared.empty() ? "  const i64 " : ", ") + at->second + " = ((const i64*)" + array +
                  ")[" + std::to_string(out.numbers.size()) + "]";
      out.numbers.push_back(parts.numbers[i]);
    }
    return at->second;
  };
  for (size_t i = 0; i < parts.numbers.size(); ++i) out.text += parts.around[i] + shown(i);
  out.text += parts.around.back();
  const size_t at = out.text.find(kDeclaration);
  if (at != std::string::npos) out.text.replace(at, 1, declared.empty() ? "" : declared + ";");
  return out;
}

void SizeMemory::commit() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, numbers] : met_) {
    Entry& entry = entries_[key];
    if (entry.first.empty()) {
      entry.first = numbers;
      entry.changes.assign(numbers.size(), false);
      entry.classes.assign(numbers.size(), 0);
    }
    entry = seen_with(entry, numbers);
  }
  met_.clear();
}

}  // namespace vitrine::codegen
