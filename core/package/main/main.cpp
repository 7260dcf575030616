// vitrine-run: a package that vitrine.export wrote, without Python.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visible.h"
#include "core/package/description.h"
#include "core/package/package_runner.h"

namespace vitrine::package {
namespace {

constexpr const char* kUsage =
    "vitrine-run PACKAGE                      what the package takes and gives; nothing of it runs\n"
    "vitrine-run PACKAGE INPUTS.safetensors   runs it\n"
    "  -o, --output FILE    writes what it gives as a file of safetensors\n"
    "  --repeat N           runs it N more times, tells how long they took, and writes what the last one "
    "gives\n"
    "  --threads N          of the CPU; as many as there are cores without it\n"
    "  --torch FOLDER       where PyTorch's libraries are, for a package that calls PyTorch (also "
    "VITRINE_TORCH)\n"
    "\n"
    "A package holds machine code. Run only those of people whom you trust.\n";

struct Wishes {
  std::string package, inputs, output, torch;
  int threads = 0;
  int64_t repeats = 0;
};

int say(const Error& error) {
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  std::fprintf(stderr, "vitrine-run: %s\n", visible(where + error.what).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "%s\n", visible(error.hint).c_str());
  return 1;
}

// The whole text is a number of at least one and at most `most`.
std::optional<int64_t> count_of(const std::string& text, int64_t most) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number < 1 || number > most) return {};
  return number;
}

constexpr std::string_view kOptions[] = {"-o", "--output", "--torch", "--threads", "--repeat"};

// What is wrong with the value of one of these; nothing: it is taken.
std::string take_option(const std::string& option, const std::string& value, Wishes& out) {
  constexpr int64_t kMostThreads = 4096;
  const bool threads = option == "--threads";
  if (option == "-o" || option == "--output") {
    out.output = value;
  } else if (option == "--torch") {
    out.torch = value;
  } else {
    const auto number = count_of(value, threads ? kMostThreads : std::numeric_limits<int64_t>::max());
    if (!number)
      return option + " takes a number from 1" + (threads ? " to " + std::to_string(kMostThreads) : "") +
             ", not " + value;
    if (threads)
      out.threads = static_cast<int>(*number);
    else
      out.repeats = *number;
  }
  return {};
}

// "PACKAGE INPUTS.safetensors" and the options.
Result<Wishes> wishes_of(const std::vector<std::string>& words) {
  Wishes out;
  if (const char* torch = std::getenv("VITRINE_TORCH")) out.torch = torch;
  std::vector<std::string> files;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-")) {
      files.push_back(word);
      continue;
    }
    if (std::ranges::find(kOptions, word) == std::end(kOptions)) return Error{"there is no option " + word};
    if (++i == words.size()) return Error{word + " takes a value"};
    if (const std::string wrong = take_option(word, words[i], out); !wrong.empty()) return Error{wrong};
  }
  if (files.empty()) return Error{"which package?"};
  if (files.size() > 2)
    return Error{"one package and one file of inputs are taken, not " + files[2] + ", too"};
  out.package = files[0];
  if (files.size() == 2) out.inputs = files[1];
  return out;
}

int show(const Description& d) {
  std::string out;
  for (const auto& [name, type] : d.takes) out += "takes  " + name + ": " + type + "\n";
  for (const auto& [name, type] : d.gives) out += "gives  " + name + ": " + type + "\n";
  for (const DescribedSize& size : d.sizes)
    out += "size   " + size.name + " = " + size.source + ", " + ir::range_text({size.lo, size.hi}) + "\n";
  for (const auto& [question, place] : d.asks) out += "asks   " + question + " (" + place + ")\n";
  out += "runs   " + std::to_string(d.generated) + " kernels for " + d.target() + ", " +
         std::to_string(d.calls) + " calls of PyTorch\n";
  out += "holds  " + std::to_string(d.weights) + " weights of " + std::to_string(d.weight_bytes) + " bytes\n";
  out += "made   by " + d.made_by + "\n";
  for (size_t from = 0; from < out.size();) {
    const size_t end = out.find('\n', from);
    std::printf("%s\n", visible(out.substr(from, end - from)).c_str());
    from = end + 1;
  }
  return 0;
}

std::vector<HostTensor> values_of(const SafeTensors& file) {
  std::vector<HostTensor> out;
  for (const auto& [name, tensor] : file.tensors)
    out.push_back({name, tensor.dtype, tensor.shape, tensor.bytes.data(), {}});
  return out;
}

std::optional<Error> write(const std::string& path, const std::vector<HostTensor>& values) {
  std::vector<StoredTensor> tensors;
  for (const HostTensor& value : values)
    tensors.push_back({value.name, value.dtype, value.shape,
                       std::string_view(static_cast<const char*>(value.data), value.bytes())});
  return write_safetensors(path, tensors);
}

// last: what the last call gives.
std::optional<Error> repeat(PackageRunner& runner, const std::vector<HostTensor>& given, int64_t times,
                            std::vector<HostTensor>& last) {
  std::vector<double> taken;
  for (int64_t i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    auto made = runner.run(given);
    if (!made) return made.error();
    taken.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (i + 1 == times) last = made.take();
  }
  std::ranges::sort(taken);
  std::printf("%lld calls: %.4f ms at least, %.4f ms in the middle\n", static_cast<long long>(times),
              taken.front(), taken[taken.size() / 2]);
  return {};
}

int run(const Package& package, const Wishes& wishes) {
  auto mapped = MappedFile::open(wishes.inputs);
  if (!mapped) return say({"the inputs cannot be read: " + mapped.error().what, "", wishes.inputs});
  auto file = read_safetensors(mapped.value().bytes());
  if (!file) return say({"the inputs are no file of safetensors: " + file.error().what, "", wishes.inputs});
  const std::vector<HostTensor> given = values_of(file.value());
  auto runner = PackageRunner::make(package, {wishes.threads, wishes.torch});
  if (!runner) return say(runner.error());
  auto made = runner.value()->run(given);
  if (!made) return say(made.error());
  for (const HostTensor& value : made.value())
    std::printf("%s: %s\n", visible(value.name).c_str(), text(value.dtype, value.shape).c_str());
  if (wishes.repeats > 0)
    if (auto failed = repeat(*runner.value(), given, wishes.repeats, made.value())) return say(*failed);
  if (!wishes.output.empty())
    if (auto failed = write(wishes.output, made.value())) return say(*failed);
  return 0;
}

}  // namespace
}  // namespace vitrine::package

int main(int count, char** words) {
  using namespace vitrine::package;
  const std::vector<std::string> given{words + 1, words + count};
  if (std::ranges::any_of(given, [](const std::string& word) { return word == "-h" || word == "--help"; })) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto asked = wishes_of(given);
  if (!asked) {
    say(asked.error());
    std::fputs(kUsage, stderr);
    return 2;
  }
  const Wishes& wishes = asked.value();
  auto package = Package::open(wishes.package);
  if (!package) return say(package.error());
  return wishes.inputs.empty() ? show(describe(*package.value())) : run(*package.value(), wishes);
}
