#include "core/ir/parse.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "core/ir/words.h"

namespace vitrine::ir {

namespace {

// What is wrong, thrown inside this file only; the public functions turn it into an Error.
struct Wrong {
  std::string what;
};

class GraphParser {
 public:
  explicit GraphParser(std::string_view text, SymbolTable* symbols = nullptr)
      : text_(text), symbols_(symbols) {}

  GraphPtr graph(std::shared_ptr<NodeIds> ids);
  Arg arg();
  bool at_end() {
    skip();
    return at_ >= text_.size();
  }
  // "3:14": line and column of where reading stopped.
  std::string place() const {
    size_t line = 1, col = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++col;
      if (text_[i] == '\n') ++line, col = 1;
    }
    return std::to_string(line) + ":" + std::to_string(col);
  }

 private:
  void node(Builder& builder);
  void attributes(Node& node);
  void place_of(const std::string& text, Origin& origin);
  Arg word_or_constant();
  Arg number();
  Ref ref();
  TensorType type();
  Dims dims(char close);
  std::string string();
  std::string word();
  std::string name();
  int64_t integer();
  std::optional<Sym> expression();
  Sym size();
  Sym offset();

  void skip();
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) throw Wrong{std::string("expected '") + c + "'"};
  }
  bool keyword(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string_view text_;
  SymbolTable* symbols_;  // nullptr: all numbers are plain
  size_t at_ = 0;
  std::unordered_map<std::string, std::pair<NodeId, size_t>> nodes_;  // name -> id, number of outputs
};

// Skips blanks and comments, which run from '#' to the line's end.
void GraphParser::skip() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

std::string GraphParser::name() {
  skip();
  size_t from = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  if (at_ == from) throw Wrong{"expected a name"};
  return std::string(text_.substr(from, at_ - from));
}

std::string GraphParser::word() {
  skip();
  size_t from = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  if (at_ == from) throw Wrong{"expected a word"};
  return std::string(text_.substr(from, at_ - from));
}

std::string GraphParser::string() {
  need('"');
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\\' && at_ < text_.size()) {
      c = text_[at_++];
      if (c == 'n') c = '\n';
    }
    out += c;
  }
  need('"');
  return out;
}

int64_t GraphParser::integer() {
  skip();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) throw Wrong{"expected a whole number"};
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

// Up to a comma or a bracket; nullopt: it is no expression over the symbols.
std::optional<Sym> GraphParser::expression() {
  if (!symbols_) return {};
  skip();
  size_t end = at_;
  for (int depth = 0; end < text_.size(); ++end) {
    const char c = text_[end];
    if (c == '(') ++depth;
    if (c == ']' || c == '}' || (c == ')' && depth-- == 0) || (c == ',' && depth == 0)) break;
    if (c == '\n' || c == '"') return {};
  }
  auto value = symbols_->parse(text_.substr(at_, end - at_));
  if (!value.ok()) return {};
  at_ = end;
  return value.take();
}

// Up to what ends a type.
Sym GraphParser::offset() {
  if (!symbols_) return integer();
  const size_t end = std::min({text_.find_first_of(" \n,", at_), text_.find("cuda", at_), text_.size()});
  auto value = symbols_->parse(text_.substr(at_, end - at_));
  if (!value.ok()) return integer();
  at_ = end;
  return value.take();
}

Sym GraphParser::size() {
  if (auto value = expression()) return *value;
  return integer();
}

// A number: a double if it has a point or an exponent, or is infinite.
Arg GraphParser::number() {
  skip();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (keyword("-inf")) return Arg(-kInf);
  size_t end = at_ + 1;
  while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '.' ||
                                ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e')))
    ++end;
  std::string_view digits = text_.substr(at_, end - at_);
  if (digits.find_first_of(".e") == std::string_view::npos) return Arg(integer());
  double value = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size()) throw Wrong{"expected a number"};
  at_ = end;
  return Arg(value);
}

Arg GraphParser::word_or_constant() {
  std::string text = word();
  if (text == "None") return Arg(None{});
  if (text == "True") return Arg(true);
  if (text == "False") return Arg(false);
  if (text == "nan") return Arg(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return Arg(std::numeric_limits<double>::infinity());
  if (text == "other") return Arg(DType::other);
  if (text == "word") {
    need('(');
    Word quoted{string()};
    need(')');
    return Arg(std::move(quoted));
  }
  if (DType t = dtype_from_name(text); t != DType::other) return Arg(t);
  return Arg(Word{std::move(text)});
}

Ref GraphParser::ref() {
  need('%');
  size_t start = at_ - 1;
  std::string wanted = name();
  auto found = nodes_.find(wanted);
  if (found == nodes_.end()) {
    at_ = start;
    throw Wrong{"%" + wanted + " is not defined above"};
  }
  int64_t output = 0;
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    output = integer();
  }
  if (output < 0 || static_cast<size_t>(output) >= found->second.second)
    throw Wrong{"%" + wanted + " has no output " + std::to_string(output)};
  return {found->second.first, static_cast<int32_t>(output)};
}

Arg GraphParser::arg() {
  char c = peek();
  if (c == '%') return Arg(ref());
  if (c == '"') return Arg(string());
  if (auto value = expression()) return Arg(*value);
  if (c == '-' || (c >= '0' && c <= '9')) return number();
  if (!take('[')) return word_or_constant();
  std::vector<Arg> list;
  while (!take(']')) {
    list.push_back(arg());
    if (peek() != ']') need(',');
  }
  return Arg(std::move(list));
}

Dims GraphParser::dims(char close) {
  Dims out;
  while (!take(close)) {
    out.push_back(size());
    if (peek() != close) need(',');
  }
  return out;
}

TensorType GraphParser::type() {
  std::string element = name();
  DType dtype = dtype_from_name(element);
  if (dtype == DType::other && element != "other") throw Wrong{"no element type is called " + element};
  need('[');
  TensorType out = TensorType::contiguous(dtype, dims(']'));
  if (take('{')) out.strides = dims('}');
  if (out.strides.size() != out.sizes.size()) throw Wrong{"as many strides as sizes are needed"};
  if (take('@')) out.offset = offset();
  if (text_.substr(at_).starts_with("cuda")) {
    std::string device = name();
    if (take(':')) device += ":" + std::to_string(integer());
    auto known = device_from_text(device);
    if (!known) throw Wrong{"no device is called " + device};
    out.device = *known;
  }
  return out;
}

// "model.py:12:4-12:30"
void GraphParser::place_of(const std::string& text, Origin& origin) {
  size_t dash = text.rfind('-'), col = text.rfind(':', dash), line = text.rfind(':', col - 1);
  size_t end_col = text.rfind(':');
  if (dash == std::string::npos || line == std::string::npos || end_col < dash)
    throw Wrong{"expected file:line:col-line:col"};
  auto number = [&](size_t from) { return static_cast<int32_t>(std::atoi(text.c_str() + from)); };
  origin.file = text.substr(0, line);
  origin.line = number(line + 1), origin.col = number(col + 1);
  origin.end_line = number(dash + 1), origin.end_col = number(end_col + 1);
}

void GraphParser::attributes(Node& node) {
  while (!take(']')) {
    std::string key = name();
    need('=');
    std::string value = string();
    if (key == "source")
      node.source = value;
    else if (key == "module")
      node.origin.module = value;
    else if (key == "rule")
      node.origin.rule = value;
    else if (key == "at")
      place_of(value, node.origin);
    else
      throw Wrong{"no attribute is called " + key};
    if (peek() != ']') need(',');
  }
}

void GraphParser::node(Builder& builder) {
  Node node;
  need('%');
  node.name = name();
  if (nodes_.contains(node.name)) throw Wrong{"%" + node.name + " is defined twice"};
  need('=');
  node.op = word();
  constexpr std::pair<std::string_view, NodeKind> kKinds[] = {{"placeholder", NodeKind::placeholder},
                                                              {"parameter", NodeKind::parameter},
                                                              {"buffer", NodeKind::buffer},
                                                              {"constant", NodeKind::constant}};
  for (auto [word, kind] : kKinds) {
    if (node.op == word) node.kind = kind;
  }
  if (node.kind != NodeKind::op) node.op.clear();
  need('(');
  while (!take(')')) {
    size_t back = at_;
    skip();
    if (is_name_start(peek())) {  // key=value, or a bare constant
      std::string key = name();
      if (take('='))
        node.kwargs.emplace_back(key, arg());
      else
        at_ = back, node.args.push_back(arg());
    } else {
      node.args.push_back(arg());
    }
    if (peek() != ')') need(',');
  }
  if (take('[')) attributes(node);
  need(':');
  if (take('(')) {
    need(')');
  } else {
    do node.outputs.push_back(type());
    while (take(','));
  }
  if (node.origin.rule.empty() && node.origin.file.empty()) node.origin.rule = "text";
  std::string name = node.name;
  size_t outputs = node.outputs.size();
  nodes_[name] = {builder.add(std::move(node)).node, outputs};
}

GraphPtr GraphParser::graph(std::shared_ptr<NodeIds> ids) {
  nodes_.clear();
  if (!keyword("graph")) throw Wrong{"expected 'graph'"};
  Builder builder(word(), ids ? std::move(ids) : std::make_shared<NodeIds>());
  need('{');
  while (peek() == '%') node(builder);
  if (!keyword("return")) throw Wrong{"expected a node or 'return'"};
  std::vector<Arg> results;
  while (!take('}')) {
    results.push_back(arg());
    if (peek() != '}') need(',');
  }
  return builder.finish(std::move(results));
}

}  // namespace

Result<std::vector<GraphPtr>> parse_all(std::string_view text) {
  GraphParser parser(text);
  std::vector<GraphPtr> out;
  try {
    while (!parser.at_end()) out.push_back(parser.graph(nullptr));
  } catch (const Wrong& wrong) {
    return Error{"The graph's text does not parse: " + wrong.what, "", parser.place()};
  }
  return out;
}

Result<Arg> parse_constant(std::string_view text) {
  GraphParser parser(text);
  try {
    Arg out = parser.arg();
    if (!parser.at_end()) throw Wrong{"text after the constant"};
    return out;
  } catch (const Wrong& wrong) {
    return Error{"The constant does not parse: " + wrong.what, "", parser.place()};
  }
}

Result<GraphPtr> parse(std::string_view text, std::shared_ptr<NodeIds> ids, SymbolTable* symbols) {
  GraphParser parser(text, symbols);
  try {
    GraphPtr out = parser.graph(std::move(ids));
    if (!parser.at_end()) throw Wrong{"text after the graph"};
    return out;
  } catch (const Wrong& wrong) {
    return Error{"The graph's text does not parse: " + wrong.what, "", parser.place()};
  }
}

}  // namespace vitrine::ir
