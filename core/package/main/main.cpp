// vitrine-run: a package that vitrine.export wrote, without Python.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "core/base/visible.h"
#include "core/package/package_runner.h"

namespace vitrine::package {
namespace {

constexpr const char* kUsage =
    "vitrine-run PACKAGE                      what the package takes and gives; nothing of it runs\n"
    "vitrine-run PACKAGE INPUTS.safetensors   runs it\n"
    "  -o, --output FILE    writes what it gives as a file of safetensors\n"
    "  --repeat N           runs it N more times, and tells how long they took\n"
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

// "INPUTS.safetensors" and the options; nothing: they make no sense.
std::optional<Wishes> wishes_of(const std::vector<std::string>& words) {
  Wishes out;
  if (const char* torch = std::getenv("VITRINE_TORCH")) out.torch = torch;
  std::vector<std::string> files;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-")) {
      files.push_back(word);
      continue;
    }
    if (i + 1 == words.size()) return {};
    const std::string& value = words[++i];
    const int64_t number = std::strtoll(value.c_str(), nullptr, 10);
    if (word == "-o" || word == "--output")
      out.output = value;
    else if (word == "--torch")
      out.torch = value;
    else if (word == "--threads" && number > 0 && number <= 4096)
      out.threads = static_cast<int>(number);
    else if (word == "--repeat" && number > 0)
      out.repeats = number;
    else
      return {};
  }
  if (files.empty() || files.size() > 2) return {};
  out.package = files[0];
  if (files.size() == 2) out.inputs = files[1];
  return out;
}

std::string type_text(const ir::TensorType& type) {
  return std::string(ir::dtype_name(type.dtype)) + "[" + ir::dims_text(type.sizes) + "]";
}

int show(const Package& package) {
  const codegen::Program& program = package.program();
  size_t bytes = 0, weights = 0, library = 0;
  std::string out;
  for (size_t i = 0; i < package.arguments().size(); ++i) {
    const PackageArgument& argument = package.arguments()[i];
    const ir::TensorType& type = program.buffers[static_cast<size_t>(program.input_buffer[i])].type;
    if (argument.weight) {
      ++weights, bytes += package.weight(argument.name).bytes.size();
      continue;
    }
    out += "takes  " + argument.name + ": " + type_text(type) + "\n";
  }
  for (const Returned& returned : package.returned()) {
    const size_t at = returned.number;
    int32_t b = returned.given ? program.input_buffer[at] : -1;
    for (const auto& [value, buffer] : program.value_buffer)
      if (!returned.given && value == program.results[at].as<ir::Ref>()) b = buffer;
    if (b >= 0)
      out +=
          "gives  " + returned.name + ": " + type_text(program.buffers[static_cast<size_t>(b)].type) + "\n";
  }
  for (const ir::Symbol& symbol : package.symbols().symbols())
    out += "size   " + symbol.name + " = " + symbol.source + ", " + ir::range_text(symbol.range) + "\n";
  for (const ir::SymGuard& guard : package.symbols().guards())
    out += "asks   " + package.symbols().text(guard) + " (" + guard.place + ")\n";
  for (const codegen::Step& step : program.steps)
    library += step.kind == codegen::Step::Kind::library || step.kind == codegen::Step::Kind::opaque;
  out += "runs   " + std::to_string(program.kernels.size()) + " kernels for " +
         (package.gpu().empty() ? package.cpu() : package.gpu()) + ", " + std::to_string(library) +
         " calls of PyTorch\n";
  out += "holds  " + std::to_string(weights) + " weights of " + std::to_string(bytes) + " bytes\n";
  out += "made   by " + package.made_by() + "\n";
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

std::optional<Error> repeat(PackageRunner& runner, const std::vector<HostTensor>& given, int64_t times) {
  std::vector<double> taken;
  for (int64_t i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (auto made = runner.run(given); !made) return made.error();
    taken.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
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
  if (!wishes.output.empty())
    if (auto failed = write(wishes.output, made.value())) return say(*failed);
  if (wishes.repeats > 0)
    if (auto failed = repeat(*runner.value(), given, wishes.repeats)) return say(*failed);
  return 0;
}

}  // namespace
}  // namespace vitrine::package

int main(int count, char** words) {
  using namespace vitrine::package;
  const auto wishes = wishes_of({words + 1, words + count});
  if (!wishes) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto package = Package::open(wishes->package);
  if (!package) return say(package.error());
  return wishes->inputs.empty() ? show(*package.value()) : run(*package.value(), *wishes);
}
