#include "core/codegen/cuda/joined_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/cuda/prelude.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr std::string_view kEndOfPrelude = "// end of prelude\n\n", kKernel = "extern \"C\" __global__ void ",
                           kName = "vitrine_kernel(";

// A kernel's text behind its prelude: [functions, ) head, [parameters, ) and the rest.
struct Pieces {
  std::string_view functions, parameters, rest;
  int64_t first_line = 0;  // of `functions`, in the kernel's text
};

int64_t lines_of(std::string_view text) {
  return std::ranges::count(text, '\n');
}

Pieces pieces_of(std::string_view text) {
  const size_t begin = text.find(kEndOfPrelude) + kEndOfPrelude.size(), kernel = text.find(kKernel, begin),
               name = text.find(kName, kernel), end = text.find(") {", name);
  VITRINE_CHECK(begin <= kernel && kernel < name && name < end && end != std::string_view::npos,
                "the text of a kernel has no head");
  return {text.substr(begin, kernel - begin), text.substr(name + kName.size(), end - name - kName.size()),
          text.substr(end), lines_of(text.substr(0, begin))};
}

// "const f32* in_x" by parameter.
std::vector<std::string_view> split(std::string_view parameters) {
  std::vector<std::string_view> out;
  for (size_t from = 0; from < parameters.size();) {
    const size_t comma = std::min(parameters.find(", ", from), parameters.size());
    out.push_back(parameters.substr(from, comma - from));
    from = comma + 2;
  }
  return out;
}

// Blocks are counted from the first of its own; each of several takes `blocks` of them.
std::string counted_from(std::string_view text, int64_t first, int64_t blocks, size_t several) {
  constexpr std::string_view kBlock = "blockIdx.x";
  if (first == 0 && several == 1) return std::string(text);
  std::string own = first == 0 ? "blockIdx.x" : "(blockIdx.x - " + std::to_string(first) + ")";
  if (several > 1) own = "(" + own + " % " + std::to_string(blocks) + ")";
  std::string out;
  for (size_t from = 0;;) {
    const size_t at = text.find(kBlock, from);
    out += text.substr(from, at - from);
    if (at == std::string_view::npos) return out;
    out += own;
    from = at + kBlock.size();
  }
}

int64_t number_at(std::string_view text, size_t& at) {
  int64_t n = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) n = 10 * n + (text[at] - '0');
  return n;
}

// "[4][32]" from `at` on: 128.
int64_t cells_at(std::string_view text, size_t& at) {
  int64_t cells = 1;
  while (at < text.size() && text[at] == '[') {
    cells *= number_at(text, ++at);
    at += at < text.size() && text[at] == ']';
  }
  return cells;
}

int64_t lane_bytes(std::string_view type) {
  return type.ends_with("64") ? 8 : 4;
}

// Of `__shared__ f32 a[4][32], b;`, behind the word.
int64_t declared_bytes(std::string_view line) {
  const size_t space = line.find(' ');
  int64_t cells = 0;
  for (size_t at = space; at < line.size() && line[at] != ';'; ++at) {
    at = std::min(line.find_first_of("[,;", at), line.size());
    cells += cells_at(line, at);
  }
  return cells * lane_bytes(line.substr(0, space));
}

// What `fold_across<64, 8>(acc_x, Sum())` needs of the prelude's; line: behind its name. Calls that are alike
// in `kind` use the same memory.
struct Across {
  std::string kind;
  int64_t bytes = 0;
};
Across across_at(std::string_view text, std::string_view line) {
  size_t at = 1;
  int64_t cells = number_at(line, at);
  at += 2;
  cells *= number_at(line, at);
  const size_t from = line.find('(', at) + 1, end = line.find_first_of(",[", from);
  const std::string declared = " " + std::string(line.substr(from, end - from)) + "[";
  const size_t place = text.find(declared);
  std::string kind(line.substr(0, at));
  kind += line.substr(end, line.find(';', end) - end);
  if (place == std::string_view::npos) return {kind, 8 * cells};
  const size_t type = text.find_last_of(" \n(", place - 1) + 1;
  at = place + declared.size() - 1;
  const size_t length = at;
  const int64_t bytes = cells * cells_at(text, at) * lane_bytes(text.substr(type, place - type));
  kind += std::string(text.substr(type, place - type)) + std::string(text.substr(length, at - length));
  return {kind, bytes};
}

class JoinedText {
 public:
  explicit JoinedText(std::span<const Joining> kernels) : kernels_(kernels) {}

  Kernel make() {
    const Kernel& first = kernel(0);
    out_.grid = first.grid;
    out_.grid.blocks = 0;
    out_.packed = true;
    for (size_t i = 0, many = 1; i < kernels_.size(); i += many, many = 1) {
      while (i + many < kernels_.size() && kernels_[i + many].text == kernels_[i].text) ++many;
      add(i, many);
    }
    out_.name = first.name + "_and_" + std::to_string(kernels_.size() - 1) + "_more";
    const std::string head = "// " + out_.space + "\n// prelude: types, loads and stores, functions\n" +
                             prelude_text(bodies_) + std::string(kEndOfPrelude);
    const auto lines = static_cast<int32_t>(lines_of(head));
    for (LineOrigin& o : out_.lines) o.line += lines, o.end_line += lines;
    out_.text = head + bodies_ +
                "// What all of them take, one after the other.\nstruct Joined { void* own[" +
                std::to_string(arguments_so_far_) + "]; };\n\n" +
                "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(out_.grid.threads) +
                ") vitrine_kernel(const __grid_constant__ Joined joined) {\n" + calls_ + "}\n";
    return std::move(out_);
  }

 private:
  const Kernel& kernel(size_t i) const { return *kernels_[i].kernel; }
  // `many` kernels from i on, which one text serves.
  void add(size_t i, size_t many) {
    const Kernel& k = kernel(i);
    const Pieces text = pieces_of(k.text);
    const std::string space = "body" + std::to_string(bodies_so_far_++);
    bodies_ += "namespace " + space + " {  // " + k.name + ": " + k.space +
               (many > 1 ? ", " + std::to_string(many) + " times" : "") + "\n";
    const int64_t begin = lines_of(bodies_), before = out_.grid.blocks.hint();
    bodies_ += counted_from(std::string(text.functions) + "__device__ void run(" +
                                std::string(text.parameters) + std::string(text.rest),
                            before, k.grid.blocks.hint(), many);
    bodies_ += "}  // namespace " + space + "\n\n";
    call(space, i, many, split(text.parameters));
    for (size_t m = i; m < i + many; ++m) {
      const auto moved = static_cast<int32_t>(begin - pieces_of(kernel(m).text).first_line);
      for (LineOrigin o : kernel(m).lines) {
        o.line += moved, o.end_line += moved;
        out_.lines.push_back(o);
      }
      add_costs(m);
    }
  }
  void call(const std::string& space, size_t i, size_t many,
            const std::vector<std::string_view>& parameters) {
    VITRINE_CHECK(parameters.size() == kernels_[i].arguments,
                  "a kernel that is joined takes other arguments");
    const int64_t first = out_.grid.blocks.hint(), blocks = kernel(i).grid.blocks.hint();
    const std::string from = first ? "(blockIdx.x - " + std::to_string(first) + ")" : "blockIdx.x";
    std::string given;
    for (size_t p = 0; p < parameters.size(); ++p) {
      const std::string_view type = parameters[p].substr(0, parameters[p].rfind(' '));
      const std::string own =
          "joined.own[" + (many > 1 ? "at + " + std::to_string(p) : std::to_string(arguments_so_far_ + p)) +
          "]";
      given += p ? ", " : "";
      given += type.ends_with('*') ? "(" + std::string(type) + ")" + own
                                   : "*(const " + std::string(type) + "*)&" + own;
    }
    const bool last = i + many == kernels_.size();
    const std::string test = "if (blockIdx.x < " +
                             std::to_string(first + static_cast<int64_t>(many) * blocks) + ") ",
                      run = space + "::run(" + given + ");\n";
    if (many == 1) {
      calls_ += "  " + (last ? "" : test + "return ") + run;
      return;
    }
    calls_ += "  " + (last ? "" : test) + "{\n    const int at = " + std::to_string(arguments_so_far_) +
              " + " + from + " / " + std::to_string(blocks) + " * " + std::to_string(parameters.size()) +
              ";\n    return " + run + "  }\n";
  }
  void add_costs(size_t i) {
    const Kernel& k = kernel(i);
    out_.grid.blocks += k.grid.blocks;
    out_.space += (i ? "; " : "") + k.space;
    out_.family = i && out_.family != k.family ? "reduction" : k.family;
    out_.nodes.insert(out_.nodes.end(), k.nodes.begin(), k.nodes.end());
    out_.checks |= k.checks;
    out_.work = i ? out_.work + k.work : k.work;
    out_.bytes += k.bytes, out_.flops += k.flops;
    out_.by_value.insert(out_.by_value.end(), k.by_value.begin(), k.by_value.end());
    arguments_so_far_ += kernels_[i].arguments;
    out_.by_value.resize(arguments_so_far_, 0);
    if (i + 1 == kernels_.size() && std::ranges::count(out_.by_value, 0) == std::ssize(out_.by_value))
      out_.by_value.clear();
  }

  std::span<const Joining> kernels_;
  Kernel out_;
  std::string bodies_, calls_;
  size_t arguments_so_far_ = 0, bodies_so_far_ = 0;
};

constexpr std::string_view kKeywords[] = {
    "alignas",  "auto",     "bool",   "break",  "case",     "char",     "const",       "constexpr",
    "continue", "default",  "do",     "double", "else",     "extern",   "false",       "float",
    "for",      "goto",     "if",     "inline", "int",      "long",     "return",      "short",
    "signed",   "sizeof",   "static", "struct", "switch",   "template", "true",        "typename",
    "union",    "unsigned", "using",  "void",   "volatile", "while",    "__restrict__"};

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Replaces a kernel's own names by numbers, in the order of their first use. Whatever its prelude names is
// not its own: types, constants, functions.
class NamelessText {
 public:
  NamelessText(std::string_view text, std::string_view prelude) : text_(text) {
    others_.insert(reserved_words().begin(), reserved_words().end());
    others_.insert(std::begin(kKeywords), std::end(kKeywords));
    for (size_t at = 0; at < prelude.size();) {
      const size_t from = at;
      while (at < prelude.size() && is_of_word(prelude[at])) ++at;
      if (at > from) others_.insert(prelude.substr(from, at - from));
      at += at == from;
    }
  }

  std::string make() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        out_ += word(".");
      } else if (is_of_word(c)) {
        name();
      } else {
        out_ += c, ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view word(std::string_view besides) {
    const size_t from = at_;
    while (at_ < text_.size() && (is_of_word(text_[at_]) || besides.find(text_[at_]) != besides.npos)) ++at_;
    return text_.substr(from, at_ - from);
  }
  // Members, functions and what stands in every kernel keep their names.
  void name() {
    const bool member = out_.ends_with('.') || out_.ends_with("::") || out_.ends_with("->");
    const std::string_view own = word("");
    const char next = at_ < text_.size() ? text_[at_] : ' ';
    if (member || next == '(' || next == '<' || others_.contains(own)) {
      out_ += own;
      return;
    }
    const auto number = numbers_.try_emplace(own, numbers_.size()).first->second;
    out_ += "$" + std::to_string(number);
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
  std::unordered_set<std::string_view> others_;
  std::map<std::string_view, size_t> numbers_;
};

}  // namespace

std::string text_without_names(const Kernel& kernel) {
  const Pieces pieces = pieces_of(kernel.text);
  std::string text(pieces.functions);
  text += pieces.parameters;
  text += pieces.rest;
  return std::to_string(kernel.grid.blocks.hint()) + " of " + std::to_string(kernel.grid.threads) + ": " +
         NamelessText(text, std::string_view(kernel.text).substr(0, kernel.text.find(kEndOfPrelude))).make();
}

bool may_join(const Kernel& k) {
  const std::string_view text = k.text;
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return k.grid.threads > 0 && !k.grid.blocks.symbolic() && k.grid.shared.same(0) && k.numbers.empty() &&
         !k.packed && k.maps.empty() && k.draws < 0 && k.held.same(0) && k.scratch.same(0) && !k.edited &&
         has(kEndOfPrelude) && !has("__cluster_dims__") && !has("gridDim") && !has("extern __shared__");
}

int64_t named_shared_memory(const Kernel& kernel) {
  constexpr int64_t kOfFolds = 1024;  // of a block's rows: a number or two a warp
  constexpr std::string_view kShared = "__shared__ ", kFold = "fold_across<", kScan = "scan_across<";
  const std::string_view text =
      std::string_view(kernel.text).substr(kernel.text.find(kEndOfPrelude) + kEndOfPrelude.size());
  int64_t bytes = kOfFolds;
  for (size_t at = 0; (at = text.find(kShared, at)) != std::string_view::npos; at += kShared.size())
    bytes += declared_bytes(text.substr(at + kShared.size(), text.find('\n', at) - at - kShared.size()));
  std::map<std::string, int64_t> across;
  for (std::string_view call : {kFold, kScan})
    for (size_t at = 0; (at = text.find(call, at)) != std::string_view::npos; at += call.size()) {
      Across found = across_at(text, text.substr(at + call.size() - 1));
      across[std::string(call) + found.kind] = found.bytes;
    }
  for (const auto& [kind, more] : across) bytes += more;
  return bytes;
}

Kernel join_kernels(std::span<const Joining> kernels) {
  return JoinedText(kernels).make();
}

}  // namespace vitrine::codegen::cuda
