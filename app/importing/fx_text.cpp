#include "app/importing/fx_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

#include "app/importing/input.h"

namespace vitrine::importing {

namespace {

constexpr size_t kMostNodes = 200'000;
constexpr size_t kMostNameOfNode = 400, kMostDetail = 20'000;

bool word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::string_view word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && word_letter(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out += c;
  return out;
}

std::vector<int64_t> numbers(std::string_view text) {
  std::vector<int64_t> out;
  size_t from = 0;
  while (from < text.size()) {
    const size_t end = std::min(text.find(',', from), text.size());
    const std::string_view one = trimmed(text.substr(from, end - from));
    if (one.empty() || one.size() > 15 || !std::all_of(one.begin(), one.end(), [](char c) {
          return std::isdigit(static_cast<unsigned char>(c));
        }))
      return {};
    out.push_back(std::stoll(std::string(one)));
    from = end + 1;
  }
  return out;
}

bool contiguous(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  if (sizes.size() != strides.size()) return false;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    if (sizes[i] > 0 && expected > (int64_t{1} << 60) / sizes[i]) return false;
    expected *= std::max<int64_t>(1, sizes[i]);
  }
  return true;
}

// Reads one graph.
class FxReader {
 public:
  explicit FxReader(FxGraph& out) : out_(out) {}

  void line(std::string_view raw) {
    const std::string_view text = trimmed(raw);
    if (out_.nodes.size() >= kMostNodes) return;
    if (signature_) return parameters(text);
    if (returning_) return results(text);
    if (text.starts_with("def forward(")) {
      signature_ = true;
      return parameters(text.substr(12));
    }
    if (text.starts_with("# File: ")) return place(text.substr(8));
    if (text.starts_with("#") || text.empty()) return;
    if (text.starts_with("return ") || text == "return") {
      returning_ = true;
      return results(text.substr(6));
    }
    statement(text);
  }

 private:
  // name: "type" as often as it stands there.
  void parameters(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t colon = text.find(": \"", at);
      if (colon == std::string_view::npos) break;
      const size_t end = text.find('"', colon + 3);
      if (end == std::string_view::npos) break;
      size_t from = colon;
      while (from > at && word_letter(text[from - 1])) --from;
      placeholder(text.substr(from, colon - from), text.substr(colon + 3, end - colon - 3));
      at = end + 1;
    }
    if (text.find("):") != std::string_view::npos) signature_ = false;
  }

  void placeholder(std::string_view name, std::string_view type) {
    if (name.empty()) return;
    FxNode node;
    node.name = name.substr(0, kMostNameOfNode);
    node.kind = node.op = "placeholder";
    node.type = our_type(std::string(type));
    add(std::move(node));
  }

  void place(std::string_view text) {
    const size_t code = text.find(", code: ");
    const std::string_view where = text.substr(0, std::min(text.find(" in "), code));
    code_ = code == std::string_view::npos ? "" : std::string(text.substr(code + 8)).substr(0, 2000);
    const size_t colon = where.rfind(':');
    if (colon == std::string_view::npos) return;
    const auto line = numbers(where.substr(colon + 1));
    file_ = where.substr(0, colon);
    line_ = line.size() == 1 ? std::min<int64_t>(line[0], 1'000'000) : 0;
  }

  void statement(std::string_view text) {
    if (const size_t freed = text.find(";  "); freed != std::string_view::npos) text = text.substr(0, freed);
    const std::string_view name = word_at(text, 0);
    if (name.empty()) return;
    std::string_view rest = text.substr(name.size()), type;
    if (rest.starts_with(": \"")) {
      const size_t end = rest.find('"', 3);
      if (end == std::string_view::npos) return;
      type = rest.substr(3, end - 3);
      rest = trimmed(rest.substr(end + 1));
      if (rest.empty() || rest.starts_with("#")) return placeholder(name, type);  // of a joint graph
    }
    rest = trimmed(rest);
    if (!rest.starts_with("= ")) return;
    rest = trimmed(rest.substr(2));
    const size_t open = rest.find('(');
    const std::string_view callee = rest.substr(0, open);
    const bool dotted = !callee.empty() && std::all_of(callee.begin(), callee.end(),
                                                       [](char c) { return word_letter(c) || c == '.'; });
    if (const auto alias = known_.find(std::string(rest)); alias != known_.end()) {
      known_[std::string(name)] = alias->second;
      return;
    }
    FxNode node;
    node.name = name.substr(0, kMostNameOfNode);
    node.kind = "op";
    node.type = our_type(std::string(type));
    if (open != std::string_view::npos && dotted && rest.ends_with(")")) {
      std::string_view op = callee;
      if (op.starts_with("torch.ops.")) op.remove_prefix(10);
      node.op = op.substr(0, kMostNameOfNode);
      node.detail = arguments(rest.substr(open + 1, rest.size() - open - 2), node);
    } else if (const std::string_view of = word_at(rest, 0);
               known_.contains(std::string(of)) && rest.size() > of.size() && rest[of.size()] == '[') {
      node.op = "operator.getitem";
      node.detail = arguments(
          std::string(of) + ", " + std::string(rest.substr(of.size() + 1, rest.size() - of.size() - 2)),
          node);
    } else {
      node.op = "python";
      node.detail = arguments(rest, node);
    }
    node.file = file_, node.line = line_, node.code = code_;
    add(std::move(node));
  }

  // Names of values as %name, and which nodes they are.
  std::string arguments(std::string_view text, FxNode& node) {
    std::string out;
    for (size_t i = 0; i < text.size() && out.size() < kMostDetail;) {
      if (text[i] == '\'' || text[i] == '"') {
        const size_t end = std::min(text.find(text[i], i + 1), text.size() - 1);
        out += '"' + std::string(text.substr(i + 1, end > i ? end - i - 1 : 0)) + '"';
        i = end + 1;
      } else if (word_letter(text[i])) {
        const std::string_view word = word_at(text, i);
        const auto found = known_.find(std::string(word));
        const bool keyword = i + word.size() < text.size() && text[i + word.size()] == '=';
        const bool part = i > 0 && (text[i - 1] == '.' || text[i - 1] == '%');
        if (found != known_.end() && !keyword && !part) {
          node.inputs.push_back(found->second);
          out += '%' + out_.nodes[found->second].name;
        } else {
          out += word;
        }
        i += word.size();
      } else {
        out += text[i++];
      }
    }
    return out;
  }

  void results(std::string_view text) {
    if (const size_t note = text.find("  #"); note != std::string_view::npos) text = text.substr(0, note);
    returned_ += std::string(trimmed(text)) + ' ';
    const auto count = [&](char c) { return std::count(returned_.begin(), returned_.end(), c); };
    if (count('(') > count(')') || count('[') > count(']')) return;
    FxNode node;
    node.name = node.kind = node.op = "output";
    node.detail = arguments(trimmed(returned_), node);
    returning_ = false;
    returned_.clear();
    add(std::move(node));
  }

  void add(FxNode node) {
    known_[node.name] = out_.nodes.size();
    out_.nodes.push_back(std::move(node));
  }

  FxGraph& out_;
  std::unordered_map<std::string, size_t> known_;
  bool signature_ = false, returning_ = false;
  std::string file_, code_, returned_;
  int64_t line_ = 0;
};

}  // namespace

std::string our_type(const std::string& theirs) {
  const size_t open = theirs.find('['), close = theirs.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open || theirs.size() > 2000)
    return theirs.substr(0, 200);
  const std::string sizes = theirs.substr(open + 1, close - open - 1);
  std::string out = theirs.substr(0, open) + "[" + without_spaces(sizes) + "]",
              rest = theirs.substr(close + 1);
  if (rest.starts_with('['))
    if (const size_t end = rest.find(']'); end != std::string::npos) {
      const std::string strides = rest.substr(1, end - 1);
      if (!contiguous(numbers(sizes), numbers(strides))) out += "{" + without_spaces(strides) + "}";
      rest = rest.substr(end + 1);
    }
  return rest == "cpu" ? out : out + rest;
}

std::string shape_of(const std::string& type) {
  const size_t open = type.find('['), close = type.find(']');
  return open == std::string::npos || close == std::string::npos || close < open
             ? ""
             : type.substr(open + 1, close - open - 1);
}

int64_t bytes_of(const std::string& type) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 12> kSizes = {{{"f64", 8},
                                                                                   {"f32", 4},
                                                                                   {"f16", 2},
                                                                                   {"bf16", 2},
                                                                                   {"i64", 8},
                                                                                   {"i32", 4},
                                                                                   {"i16", 2},
                                                                                   {"i8", 1},
                                                                                   {"u8", 1},
                                                                                   {"b8", 1},
                                                                                   {"c64", 8},
                                                                                   {"c128", 16}}};
  const std::string name = type.substr(0, type.find('['));
  int64_t bytes = 0;
  for (const auto& [known, size] : kSizes)
    if (name == known) bytes = size;
  const std::string shape = shape_of(type);
  const auto sizes = numbers(shape);
  if (!shape.empty() && sizes.empty()) return 0;  // of symbols
  for (const int64_t size : sizes) {
    if (size > 0 && bytes > (int64_t{1} << 50) / size) return 0;
    bytes *= size;
  }
  return bytes;
}

std::string family_of(const std::string& op) {
  struct Row {
    const char *family, *words;
  };
  static constexpr std::array<Row, 7> kRows = {
      {{"collective", " all_reduce all_gather_into_tensor reduce_scatter_tensor wait_tensor "},
       {"matmul",
        " mm addmm bmm baddbmm linear matmul convolution conv2d conv1d convolution_backward einsum "},
       {"opaque",
        " scaled_dot_product_attention _scaled_dot_product_flash_attention "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention_for_cpu "},
       {"view",
        " view permute t transpose expand unsqueeze squeeze select slice reshape unbind split alias detach "
        "_unsafe_view as_strided getitem diagonal "},
       {"reduction",
        " sum mean amax amin max min var var_mean prod argmax argmin softmax _softmax log_softmax "
        "_log_softmax layer_norm native_layer_norm native_group_norm any all cumsum norm logsumexp "},
       {"memory",
        " clone copy copy_ cat index gather scatter scatter_add index_put embedding index_select full zeros "
        "ones empty arange constant_pad_nd _to_copy stack "},
       {"random",
        " rand randn randint bernoulli dropout native_dropout inductor_random inductor_seeds "
        "inductor_lookup_seed "}}};
  std::string base = op;
  if (base.starts_with("aten.") || base.starts_with("prims.") || base.starts_with("_c10d_functional.")) {
    base = base.substr(base.find('.') + 1);
    base = base.substr(0, base.find('.'));
  } else {
    base = base.substr(base.rfind('.') + 1);
  }
  for (const Row& row : kRows)
    if (std::string_view(row.words).find(" " + base + " ") != std::string_view::npos) return row.family;
  return op == "placeholder" || op == "output" ? "" : op == "python" ? "opaque" : "pointwise";
}

FxGraph read_fx(std::string_view text, const std::string& stage) {
  FxGraph out;
  FxReader reader(out);
  for (const std::string_view line : lines_of(text)) reader.line(line);
  out.text = "graph " + stage + " {\n";
  for (const FxNode& node : out.nodes)
    out.text += node.kind == "output" ? "  return " + node.detail + "\n"
                                      : "  %" + node.name + " = " + node.op + "(" + node.detail + ")" +
                                            (node.type.empty() ? "" : " : " + node.type) + "\n";
  out.text += "}\n";
  return out;
}

namespace {

// name = async_compile.KIND('...', '''source''': the name, its language, and where the source begins.
bool begins_kernel(std::string_view line, OutputKernel& out) {
  const size_t at = line.find(" = async_compile.");
  if (at == std::string_view::npos || line.substr(0, at).find(' ') != std::string_view::npos) return false;
  const size_t quotes = line.find("'''");
  if (quotes == std::string_view::npos) return false;
  out.name = line.substr(0, std::min(at, kMostNameOfNode));
  const std::string_view kind = word_at(line, at + 17);
  out.language = kind.starts_with("cpp") ? "c++" : kind == "triton" ? "python" : "cuda c++";
  out.source = std::string(line.substr(quotes + 3));
  return true;
}

}  // namespace

OutputCode read_output_code(std::string_view text) {
  OutputCode out;
  std::unordered_map<std::string, int> known;
  bool inside = false, calling = false;
  for (const std::string_view raw : lines_of(text)) {
    if (inside) {
      const size_t end = raw.find("'''");
      inside = end == std::string_view::npos;
      std::string& source = out.kernels.back().source;
      if (!source.empty() || !raw.empty()) source += std::string(raw.substr(0, end)) + (inside ? "\n" : "");
      continue;
    }
    if (raw.starts_with("# AOT ID: ")) out.backward = raw.find("_backward") != std::string_view::npos;
    const std::string_view line = trimmed(raw);
    if (OutputKernel kernel; out.kernels.size() < 20'000 && begins_kernel(line, kernel)) {
      known[kernel.name] = static_cast<int>(out.kernels.size());
      inside = kernel.source.find("'''") == std::string::npos;
      out.kernels.push_back(std::move(kernel));
      continue;
    }
    if (line.starts_with("def call(")) calling = true;
    if (calling && line.starts_with("return ")) calling = false;
    if (!calling || out.launches.size() > 100'000) continue;
    const size_t open = line.find('(');
    if (open == std::string_view::npos || !line.ends_with(")")) continue;
    std::string_view callee = line.substr(0, open);
    if (const size_t equals = callee.find(" = "); equals != std::string_view::npos)
      callee = callee.substr(equals + 3);
    if (callee.ends_with(".run")) callee.remove_suffix(4);
    OutputLaunch launch;
    launch.args = std::string(line.substr(open + 1, line.size() - open - 2)).substr(0, 4000);
    if (const auto found = known.find(std::string(callee)); found != known.end())
      launch.kernel = found->second;
    else if (callee.starts_with("extern_kernels."))
      launch.library = callee.substr(15);
    else if (callee.starts_with("torch.ops."))
      launch.library = callee.substr(10);
    else
      continue;
    launch.text = launch.kernel >= 0 ? std::string(callee) : launch.library;
    out.launches.push_back(std::move(launch));
  }
  return out;
}

}  // namespace vitrine::importing
