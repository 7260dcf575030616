// ATen graphs as Python that runs: torch alone, with inputs of the recorded types.
#include <algorithm>
#include <cctype>
#include <set>

#include "app/cli/exports/exports.h"
#include "app/cli/exports/page.h"
#include "core/base/visible.h"

namespace vitrine::cli {

using namespace session;

namespace {

bool word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// A name as Python takes it: a stranger's may hold anything.
std::string python_name(const std::string& name) {
  static const std::set<std::string> taken = {
      "False",    "None",     "True",  "and",     "as",     "assert", "async",  "await",    "break",
      "class",    "continue", "def",   "del",     "elif",   "else",   "except", "finally",  "for",
      "from",     "global",   "if",    "import",  "in",     "is",     "lambda", "nonlocal", "not",
      "or",       "pass",     "raise", "return",  "try",    "while",  "with",   "yield",    "torch",
      "operator", "slice",    "float", "forward", "inputs", "given",  "made"};
  std::string out;
  for (const char c : name.substr(0, 200)) out += word_letter(c) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "_" + out;
  return taken.contains(out) ? out + "_" : out;
}

const std::map<std::string, std::string>& dtypes() {
  static const std::map<std::string, std::string> rows = {
      {"f64", "float64"}, {"f32", "float32"}, {"f16", "float16"},   {"bf16", "bfloat16"},
      {"i64", "int64"},   {"i32", "int32"},   {"i16", "int16"},     {"i8", "int8"},
      {"u8", "uint8"},    {"b1", "bool"},     {"c64", "complex64"}, {"c128", "complex128"}};
  return rows;
}

// "f32[2], i64[3]" are two results.
bool several(const std::string& types) {
  int depth = 0;
  for (const char c : types) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) return true;
  }
  return false;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : visible(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The recorded arguments as Python's. Letter by letter: what is no literal, name, number or bracket is left
// out, so that a stranger's session writes no Python of its own.
class PythonArguments {
 public:
  explicit PythonArguments(const std::set<std::string>& several_results, std::set<std::string>& symbols)
      : several_(several_results), symbols_(symbols) {}

  std::string python(std::string_view text) {
    std::string out;
    std::vector<bool> slices;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c == '"') {
        out += string(text, i);
      } else if (c == '%') {
        out += value(text, ++i);
      } else if (text.substr(i).starts_with("[slice, ")) {
        slices.push_back(true), out += "slice(", i += 8;
      } else if (c == '[' || c == '(') {
        slices.push_back(false), out += c, ++i;
      } else if (c == ']' || c == ')') {
        const bool slice = !slices.empty() && slices.back();
        if (!slices.empty()) slices.pop_back();
        out += slice ? ')' : c, ++i;
      } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
        out += word(text, i);
      } else {
        if (std::isdigit(static_cast<unsigned char>(c)) ||
            std::string_view(" ,.+-*/=").find(c) != std::string_view::npos)
          out += c;
        ++i;
      }
    }
    return out;
  }

 private:
  static std::string string(std::string_view text, size_t& i) {
    std::string inner;
    for (++i; i < text.size() && text[i] != '"'; ++i)
      if (text[i] == '\\' && i + 1 < text.size())
        inner += text[++i];
      else
        inner += text[i];
    ++i;
    return in_quotes(inner);
  }
  static std::string name(std::string_view text, size_t& i) {
    const size_t from = i;
    while (i < text.size() && word_letter(text[i])) ++i;
    return std::string(text.substr(from, i - from));
  }
  std::string value(std::string_view text, size_t& i) {
    const std::string of = name(text, i);
    std::string which = "0";
    if (i + 1 < text.size() && text[i] == '.' && std::isdigit(static_cast<unsigned char>(text[i + 1]))) {
      which.clear();
      for (++i; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i) which += text[i];
    }
    return python_name(of) + (several_.contains(of) ? "[" + which + "]" : "");
  }
  std::string word(std::string_view text, size_t& i) {
    std::string of = name(text, i);
    if (of == "torch" && i < text.size() && text[i] == '.') return ++i, "torch." + python_name(name(text, i));
    if (i < text.size() && text[i] == '=') return of;  // a keyword
    if (of == "None" || of == "True" || of == "False") return of;
    if (of == "inf" || of == "nan") return "float(\"" + of + "\")";
    if (of == "cuda" || of == "cpu" || of == "meta") {
      while (i < text.size() && (text[i] == ':' || std::isdigit(static_cast<unsigned char>(text[i])))) ++i;
      return "torch.device(DEVICE)";
    }
    if (const auto found = dtypes().find(of); found != dtypes().end()) return "torch." + found->second;
    symbols_.insert(of);
    return python_name(of);
  }
  const std::set<std::string>& several_;
  std::set<std::string>& symbols_;
};

// "aten.gelu.default" -> "torch.ops.aten.gelu.default"; "" for what is no dotted name.
std::string callee(const std::string& op) {
  for (const char c : op)
    if (!word_letter(c) && c != '.') return "";
  if (op.empty() || op.find("..") != std::string::npos) return "";
  if (op.starts_with("Tensor.")) return "torch." + op;
  return op.starts_with("torch.") || op.starts_with("operator.") ? op : "torch.ops." + op;
}

// "f32[8,128]{1,8}cuda:0" as what makes an input of it.
std::string input_of(const std::string& type, std::set<std::string>& symbols) {
  const size_t open = type.find('['), close = type.find(']');
  const auto dtype = dtypes().find(type.substr(0, open));
  if (open == std::string::npos || close == std::string::npos || dtype == dtypes().end()) return "0";
  std::set<std::string> none;
  PythonArguments sizes(none, symbols);
  std::string strides = "None";
  if (close + 1 < type.size() && type[close + 1] == '{')
    if (const size_t end = type.find('}', close); end != std::string::npos)
      strides = "(" + sizes.python(type.substr(close + 2, end - close - 2)) + ",)";
  const std::string inner = sizes.python(type.substr(open + 1, close - open - 1));
  return "made((" + inner + (inner.empty() ? "" : ",") + "), torch." + dtype->second + ", " + strides + ")";
}

constexpr const char* kMade = R"(
def made(size, dtype, strides):
    """Numbers of that type: indices are small, whatever they are indices of."""
    if dtype.is_floating_point or dtype.is_complex:
        out = torch.randn(size, dtype=torch.float32, device=DEVICE).to(dtype)
    else:
        out = torch.randint(0, 2, size, device=DEVICE).to(dtype)
    return out if strides is None else torch.empty_strided(size, strides, dtype=dtype, device=DEVICE).copy_(out)

)";

// What follows "return" in the graph's text.
std::string returned(const std::string& text) {
  const size_t at = text.rfind("\n  return ");
  if (at == std::string::npos) return "";
  const size_t from = at + 10;
  return text.substr(from, text.find('\n', from) - from);
}

// "(%a, %b,)" -> "%a, %b": one tuple, whoever wrote the graph.
std::string unwrapped(std::string text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;  // "(a), (b)"
  }
  text = text.substr(1, text.size() - 2);
  while (text.ends_with(',') || text.ends_with(' ')) text.pop_back();
  return text;
}

std::string python_of(const Reader& s, const GraphRow& graph, const std::string& title) {
  const auto nodes = s.rows<NodeRow>("graph = ?1", {graph.id}, "ORDER BY ordinal");
  std::set<std::string> several_results, symbols;
  for (const NodeRow& node : nodes)
    if (several(node.type)) several_results.insert(node.name);
  PythonArguments arguments(several_results, symbols);
  std::string parameters, inputs, lines;
  bool gpu = false, prims = false;
  for (const NodeRow& node : nodes) {
    const std::string name = python_name(node.name);
    const std::string note = "  # " + visible(node.type.substr(0, 200));
    gpu = gpu || node.type.find("cuda") != std::string::npos;
    if (node.kind == "output") continue;
    if (node.kind != "op") {
      parameters += (parameters.empty() ? "" : ", ") + name;
      inputs += "        " + input_of(node.type, symbols) + ",  # " + name + ": " +
                visible(node.detail.substr(0, 100)) + "\n";
      continue;
    }
    prims = prims || node.op.starts_with("prims.");
    const std::string called = callee(node.op);
    if (called.empty()) return "";  // no operator that Python could be told
    lines += "    " + name + " = " + called + "(" + arguments.python(node.detail) + ")" + note + "\n";
  }
  const std::string results = arguments.python(unwrapped(returned(s.text(graph.text))));
  std::string out = "\"\"\"" + in_quotes(title).substr(1, in_quotes(title).size() - 2) + ": the " +
                    graph.stage +
                    " graph, as Vitrine recorded it.\n\npython FILE runs it; graph_module() gives it as "
                    "torch.fx.\n\"\"\"\n\n"
                    "import operator  # noqa: F401\n\nimport torch\nimport torch.fx\n" +
                    (prims ? "import torch._inductor.inductor_prims  # noqa: F401\n" : "") + "\nDEVICE = \"" +
                    (gpu ? "cuda" : "cpu") + "\"\n";
  std::map<std::string, int64_t> hints;
  for (const SymbolRow& row : s.rows<SymbolRow>("compilation = ?1", {graph.compilation}))
    hints[row.name] = row.hint;
  for (const std::string& symbol : symbols)
    out += python_name(symbol) + " = " +
           std::to_string(hints.contains(symbol) && hints[symbol] > 0 ? hints[symbol] : 2) + "  # a size\n";
  out +=
      std::string("\n") + kMade + "\ndef forward(" + parameters + "):\n" + lines + "    return (" + results +
      (results.empty() ? ")" : ",)") + "\n\n\ndef inputs():\n    return (\n" + inputs +
      "    )\n\n\ndef graph_module():\n    return torch.fx.symbolic_trace(forward)\n\n\n"
      "if __name__ == \"__main__\":\n    with torch.no_grad():\n        for result in "
      "forward(*inputs()):\n"
      "            print(getattr(result, \"dtype\", type(result)), tuple(getattr(result, \"shape\", ())))\n";
  return out;
}

}  // namespace

std::string file_word(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += word_letter(c) || c == '-' ? c : '_';
  return out;
}

std::vector<std::pair<std::string, std::string>> fx_files(const Reader& s, const std::string& compilation) {
  const EntityNames names(s);
  std::vector<std::pair<std::string, std::string>> out;
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    if (!compilation.empty() && c.label != compilation) continue;
    // Of a backward compilation there is no ATen graph; another tool's log may have the halves alone.
    const bool whole = page::last_graph(s, c.id, "aten").id != 0;
    for (const char* stage : {"aten", "forward", "backward"}) {
      const GraphRow graph = page::last_graph(s, c.id, stage);
      if (!graph.id || (whole && std::string_view(stage) != "aten")) continue;
      std::string text = python_of(s, graph, names.compilation(c.id));
      if (text.empty()) continue;
      out.emplace_back(file_word(names.compilation(c.id)) + "_" + std::string(stage) + "_" +
                           std::to_string(seq_of(c.id)) + ".py",
                       std::move(text));
    }
  }
  return out;
}

}  // namespace vitrine::cli
