#include "core/package/package.h"

#include <charconv>
#include <stdexcept>

#include "core/base/sha256.h"
#include "core/codegen/packed_program.h"
#include "core/ir/each_integer.h"

namespace vitrine::package {

namespace {

// In what the file is no package.
class BadPackage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& why) {
  if (!holds) throw BadPackage(why);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// The first word of a line, which loses it.
std::string take_word(std::string& line) {
  const size_t end = line.find(' ');
  std::string word = line.substr(0, end);
  line = end == std::string::npos ? "" : line.substr(end + 1);
  return word;
}

int64_t take_number(std::string& line) {
  const std::string word = take_word(line);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  require(error == std::errc() && end == word.data() + word.size(), "a number in it is none");
  return out;
}

// SHA-256 of the file with zeros in the place of the sum itself.
std::string sum_of(std::string_view file, const std::string& stated) {
  const size_t at = file.find(stated);
  require(at != std::string_view::npos, "its checksum is not where it belongs");
  Sha256 sum;
  sum.add(file.substr(0, at)).add(std::string(stated.size(), '0')).add(file.substr(at + stated.size()));
  std::string out;
  for (const uint8_t byte : sum.digest()) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::optional<int64_t> bytes_of(const ir::TensorType& type) {
  int64_t out = ir::dtype_bytes(type.dtype);
  for (const ir::Sym& size : type.sizes)
    if (size.hint() < 0 || __builtin_mul_overflow(out, size.hint(), &out)) return {};
  return out;
}

}  // namespace

std::optional<size_t> symbol_of(const ir::SymbolTable& table, const ir::Sym& size) {
  if (!size.symbolic()) return {};
  const ir::Polynomial& sum = size.expr()->sum;
  if (sum.constant != 0 || sum.terms.size() != 1 || sum.terms[0].factor != 1 ||
      sum.terms[0].atoms.size() != 1)
    return {};
  const ir::SymAtom& atom = table.atoms().at(sum.terms[0].atoms[0]);
  return atom.op == ir::SymOp::Symbol ? std::optional<size_t>(atom.symbol) : std::nullopt;
}

std::optional<int64_t> extent(const ir::TensorType& type) {
  int64_t last = 0;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const int64_t size = type.sizes[d].hint(), stride = type.strides[d].hint();
    if (size == 0) return 0;
    int64_t step = 0;
    if (size < 0 || stride < 0 || __builtin_mul_overflow(size - 1, stride, &step) ||
        __builtin_add_overflow(last, step, &last))
      return {};
  }
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, ir::dtype_bytes(type.dtype), &last))
    return {};
  return last;
}

std::string unsound_views(const codegen::Program& program) {
  for (const codegen::Buffer& buffer : program.buffers) {
    const bool is_input = buffer.input >= 0;
    const std::optional<int64_t> own = extent(buffer.type);
    if (!own) return "the buffer " + buffer.name + " has no end";
    if (is_input) {  // its memory is as large as the argument reaches
      const int32_t argument = program.input_buffer[static_cast<size_t>(buffer.input)];
      const std::optional<int64_t> whole = extent(program.buffers[static_cast<size_t>(argument)].type);
      if (!whole || *own > *whole) return "the buffer " + buffer.name + " is larger than what is given";
      continue;
    }
    if (buffer.view_of < 0) {
      const std::optional<int64_t> bytes = bytes_of(buffer.type);
      const bool in_arena = buffer.arena_offset.hint() >= 0;
      if (!bytes || (in_arena && *own > *bytes))
        return "the buffer " + buffer.name + " is larger than its memory";
      continue;
    }
    const codegen::Buffer& base = program.buffers[static_cast<size_t>(buffer.view_of)];
    int64_t begin = 0, end = 0;
    const std::optional<int64_t> whole = extent(base.type);
    if (__builtin_sub_overflow(buffer.type.offset.hint(), base.type.offset.hint(), &begin) || begin < 0 ||
        __builtin_mul_overflow(begin, ir::dtype_bytes(buffer.type.dtype), &begin) ||
        __builtin_add_overflow(begin, *own, &end) || !whole || end > *whole)
      return "the buffer " + buffer.name + " is a view of more than there is";
  }
  return "";
}

Result<std::unique_ptr<Package>> Package::open(const std::string& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return Error{"the package cannot be opened: " + mapped.error().what, "", path};
  std::unique_ptr<Package> out(new Package(mapped.take()));
  try {
    out->read();
  } catch (const BadPackage& refused) {
    return Error{"this is no package that Vitrine runs: " + std::string(refused.what()),
                 "Write it anew by vitrine.export.", path};
  } catch (const std::exception& error) {
    return Error{"this is no package that Vitrine runs: " + std::string(error.what()), "", path};
  }
  return out;
}

std::string Package::required(const char* key) const {
  const auto at = file_.metadata.find(key);
  require(at != file_.metadata.end(), std::string("it does not say its ") + key);
  return at->second;
}

std::string_view Package::kernel(size_t number) const {
  return file_.tensors.at(kKernel + std::to_string(number)).bytes;
}

void Package::read() {
  auto file = read_safetensors(mapped_.bytes());
  require(file.ok(), file.ok() ? "" : file.error().what);
  file_ = file.take();
  const auto format = file_.metadata.find("format");
  require(format != file_.metadata.end(), "it holds tensors alone");
  require(format->second == kFormat, "it is of the format \"" + format->second.substr(0, 60) +
                                         "\", and this program reads \"" + kFormat + "\"");
  const std::string stated = required("checksum");
  require(stated.size() == 64, "its checksum is none");
  require(sum_of(mapped_.bytes(), stated) == stated, "it is damaged: its checksum is another one");
  cpu_ = required("cpu");
  gpu_ = required("gpu");
  made_by_ = required("made_by");
  schemas_ = lines_of(required("schemas"));
  read_symbols(required("symbols"));
  read_program();
  read_arguments(required("arguments"));
  read_returned(required("returned"));
}

// "2 9223372036854775807 8 L['x'].size(0)": range, first value, where a call has it.
void Package::read_symbols(const std::string& lines) {
  for (std::string line : lines_of(lines)) {
    const int64_t lo = take_number(line), hi = take_number(line), hint = take_number(line);
    require(lo <= hint && hint <= hi, "a size is not in its range");
    symbols_.integer(line, hint, {lo, hi});
  }
}

void Package::read_program() {
  const StoredTensor* plan = file_.find(kPlan);
  require(plan, "it has no plan");
  auto read = codegen::unpacked_program(plan->bytes, symbols_.symbols().empty() ? nullptr : &symbols_);
  require(read.ok(), read.ok() ? "" : "its plan is none: " + read.error().what);
  program_ = std::move(read.value().program);
  for (ir::SymGuard& guard : read.value().guards) {
    require(symbols_.holds_at_hints(guard), "its sizes contradict what it asks of them");
    symbols_.restore(std::move(guard));
  }
  const std::string views = unsound_views(program_);
  require(views.empty(), views);
  for (size_t k = 0; k < program_.kernels.size(); ++k) {
    const StoredTensor* code = file_.find(kKernel + std::to_string(k));
    require(code && !code->bytes.empty(), "a kernel has no code");
  }
}

// "weight fc.bias", "given x"
void Package::read_arguments(const std::string& lines) {
  for (std::string line : lines_of(lines)) {
    const std::string word = take_word(line);
    require(word == "weight" || word == "given", "an argument is neither given nor a weight");
    arguments_.push_back({word == "weight", line});
  }
  require(arguments_.size() == program_.input_buffer.size(), "its plan takes another number of arguments");
  std::vector<bool> told(symbols_.symbols().size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const codegen::Buffer& buffer = program_.buffers[static_cast<size_t>(program_.input_buffer[i])];
    for (const ir::Sym& size : buffer.type.sizes)
      if (const auto symbol = symbol_of(symbols_, size)) told[*symbol] = true;
    if (!arguments_[i].weight) continue;
    const StoredTensor* stored = file_.find(arguments_[i].name);
    require(stored, "the weight " + arguments_[i].name + " is missing");
    require(!ir::has_expression(buffer.type), "the weight " + arguments_[i].name + " has no fixed sizes");
    const auto same = [](const ir::Sym& a, int64_t b) { return a.hint() == b; };
    require(stored->dtype == buffer.type.dtype && std::ranges::equal(buffer.type.sizes, stored->shape, same),
            "the weight " + arguments_[i].name + " is of another type than the plan takes");
  }
  for (size_t s = 0; s < told.size(); ++s)
    require(told[s], "no input tells the size " + symbols_.symbols()[s].name);
}

// "result 0 logits", "given 1 mask"
void Package::read_returned(const std::string& lines) {
  for (std::string line : lines_of(lines)) {
    const std::string word = take_word(line);
    const int64_t number = take_number(line);
    require(word == "result" || word == "given", "what it returns is neither a result nor given");
    const size_t most = word == "given" ? arguments_.size() : program_.results.size();
    require(number >= 0 && static_cast<size_t>(number) < most, "it returns what is not there");
    const auto at = static_cast<size_t>(number);
    if (word == "given")
      require(!arguments_[at].weight, "it returns a weight");
    else
      require(program_.results[at].is<ir::Ref>(), "it returns what is no tensor");
    returned_.push_back({line, word == "given", at});
  }
}

}  // namespace vitrine::package
