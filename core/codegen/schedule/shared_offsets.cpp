#include "core/codegen/schedule/shared_offsets.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace vitrine::codegen {

namespace {

constexpr char kBegin = '\x06', kEnd = '\x07';
constexpr size_t kMany = 9;  // kernels, for a text of their own to be worth it

// A text without its marked numbers, which stand between its parts.
struct Marked {
  std::vector<std::string> parts;
  std::vector<int64_t> numbers;

  explicit Marked(const std::string& text) {
    size_t at = 0;
    for (size_t begin; (begin = text.find(kBegin, at)) != std::string::npos;) {
      const size_t end = text.find(kEnd, begin);
      parts.push_back(text.substr(at, begin - at));
      numbers.push_back(std::stoll(text.substr(begin + 1, end - begin - 1)));
      at = end + 1;
    }
    parts.push_back(text.substr(at));
  }

  // shown: by number, its text.
  std::string text(const std::vector<std::string>& shown) const {
    std::string out = parts[0];
    for (size_t i = 0; i < shown.size(); ++i) out += shown[i] + parts[i + 1];
    return out;
  }
};

// In the line that opens the function, so that no line moves. first: the place of the first one among the
// kernel's numbers.
void declare(std::string& text, const std::vector<std::string>& names, size_t arguments, size_t first) {
  const std::string opening = "i64 begin, i64 end) {";
  std::string declared;
  for (size_t i = 0; i < names.size(); ++i)
    declared += " const i64 " + names[i] + " = ((const i64*)args[" + std::to_string(arguments) + "])[" +
                std::to_string(first + i) + "];";
  const size_t at = text.find(opening);
  VITRINE_CHECK(at != std::string::npos, "a kernel's text has no function");
  text.insert(at + opening.size(), declared);
}

// Kernels of one text but for these numbers.
class SameText {
 public:
  void add(Kernel& kernel, Marked marked) {
    kernels_.push_back(&kernel);
    marked_.push_back(std::move(marked));
  }

  // Arguments that a kernel has before its numbers, by kernel.
  template <class ArgumentsOf>
  void resolve(ArgumentsOf&& arguments_of) {
    const size_t count = marked_.front().numbers.size();
    std::vector<bool> differs(count);
    for (const Marked& one : marked_)
      for (size_t i = 0; i < count; ++i)
        differs[i] = differs[i] || one.numbers[i] != marked_.front().numbers[i];
    for (size_t k = 0; k < kernels_.size(); ++k) {
      std::vector<std::string> shown, names;
      const size_t first = kernels_[k]->numbers.size();
      for (size_t i = 0; i < count; ++i) {
        const bool argument = kernels_.size() >= kMany && differs[i];
        shown.push_back(argument ? "from" + std::to_string(names.size())
                                 : std::to_string(marked_[k].numbers[i]));
        if (!argument) continue;
        names.push_back(shown.back());
        kernels_[k]->numbers.emplace_back(marked_[k].numbers[i]);
      }
      kernels_[k]->text = marked_[k].text(shown);
      if (!names.empty()) declare(kernels_[k]->text, names, arguments_of(*kernels_[k]), first);
    }
  }

 private:
  std::vector<Kernel*> kernels_;
  std::vector<Marked> marked_;
};

}  // namespace

std::string mark_offset(int64_t offset) {
  return kBegin + std::to_string(offset) + kEnd;
}

void share_offsets(Program& program) {
  std::map<std::string, SameText> alike;
  std::set<int32_t> shared;
  for (Kernel& kernel : program.kernels) {
    Marked marked(kernel.text);
    if (marked.numbers.empty()) continue;
    shared.insert(static_cast<int32_t>(&kernel - program.kernels.data()));
    std::string key = kernel.scalar ? kernel.label : "";  // it is not compiled, and its numbers are not read
    for (const std::string& part : marked.parts) key += kBegin + part;
    alike[key].add(kernel, std::move(marked));
  }
  if (alike.empty()) return;
  std::vector<size_t> arguments(program.kernels.size());
  for (const Step& step : program.steps)
    if (step.kernel >= 0) arguments.at(static_cast<size_t>(step.kernel)) = step.buffers.size();
  for (auto& [key, kernels] : alike)
    kernels.resolve([&](const Kernel& kernel) {
      return arguments.at(static_cast<size_t>(&kernel - program.kernels.data()));
    });
  for (Step& step : program.steps)
    if (step.kernel >= 0 && shared.contains(step.kernel))
      step.numbers = program.kernels[static_cast<size_t>(step.kernel)].numbers;
}

}  // namespace vitrine::codegen
