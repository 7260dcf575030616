#include "views/kit/code/highlight.h"

#include <QRegularExpression>
#include <QSet>

#include "views/kit/painting/theme.h"

namespace vitrine::kit {

namespace {

const QSet<QString>& keywords(Language language) {
  static const QSet<QString> python{
      "False",    "None",   "True",   "and",  "as",     "assert", "async",   "await",    "break", "class",
      "continue", "def",    "del",    "elif", "else",   "except", "finally", "for",      "from",  "global",
      "if",       "import", "in",     "is",   "lambda", "match",  "case",    "nonlocal", "not",   "or",
      "pass",     "raise",  "return", "try",  "while",  "with",   "yield"};
  static const QSet<QString> cpp{"__device__",   "__global__",   "__launch_bounds__",
                                 "__shared__",   "alignas",      "auto",
                                 "break",        "case",         "const",
                                 "constexpr",    "continue",     "do",
                                 "else",         "extern",       "for",
                                 "if",           "inline",       "namespace",
                                 "return",       "sizeof",       "static",
                                 "static_cast",  "struct",       "switch",
                                 "template",     "typedef",      "using",
                                 "void",         "while",        "__restrict",
                                 "__restrict__", "__attribute__"};
  static const QSet<QString> ir{"define",
                                "declare",
                                "ret",
                                "br",
                                "label",
                                "load",
                                "store",
                                "add",
                                "mul",
                                "sub",
                                "fadd",
                                "fmul",
                                "fsub",
                                "fdiv",
                                "fcmp",
                                "icmp",
                                "select",
                                "phi",
                                "getelementptr",
                                "inbounds",
                                "call",
                                "tail",
                                "bitcast",
                                "shl",
                                "and",
                                "or",
                                "xor",
                                "fast",
                                "nsw",
                                "nuw",
                                "noalias",
                                "nocapture",
                                "readonly",
                                "align",
                                "to",
                                "zext",
                                "sext",
                                "trunc",
                                "shufflevector",
                                "insertelement",
                                "extractelement",
                                "fptrunc",
                                "fpext",
                                "source_filename",
                                "target",
                                "attributes",
                                "private",
                                "constant",
                                "unnamed_addr"};
  static const QSet<QString> none;
  return language == Language::Python   ? python
         : language == Language::Cpp    ? cpp
         : language == Language::LlvmIr ? ir
                                        : none;
}

bool is_type(const QString& word, Language language) {
  static const QSet<QString> cpp{
      "bool",    "char",     "double",   "float",   "int", "long", "short", "unsigned", "signed", "int64_t",
      "int32_t", "uint32_t", "uint64_t", "uint8_t", "i64", "i32",  "u8",    "f32",      "f64",    "size_t"};
  static const QSet<QString> ir{"i1",     "i8",  "i16",  "i32",    "i64", "float",
                                "double", "ptr", "half", "bfloat", "void"};
  static const QSet<QString> python{"self", "cls",  "int",  "float", "str",
                                    "bool", "list", "dict", "tuple", "set"};
  if (language == Language::Cpp)
    return cpp.contains(word) || (word.size() > 1 && (word[0] == 'v' || word[0] == 'm') && word[1].isDigit());
  if (language == Language::LlvmIr) return ir.contains(word);
  return language == Language::Python && python.contains(word);
}

class Scanner {
 public:
  Scanner(const QString& line, Language language, int& state)
      : line_(line), language_(language), state_(state) {}

  std::vector<Token> scan() {
    if (state_) carry_on();
    while (at_ < line_.size()) step();
    return std::move(out_);
  }

 private:
  QChar peek(int by = 0) const { return at_ + by < line_.size() ? line_[at_ + by] : QChar(); }
  void add(int start, TokenKind kind) { out_.push_back({start, at_ - start, kind}); }

  // States: 1 and 2 = inside """ and ''', 3 = inside /* */.
  void carry_on() {
    const QString end = state_ == 1   ? QStringLiteral("\"\"\"")
                        : state_ == 2 ? QStringLiteral("'''")
                                      : QStringLiteral("*/");
    const TokenKind kind = state_ == 3 ? TokenKind::Comment : TokenKind::String;
    int found = static_cast<int>(line_.indexOf(end, at_));
    int start = at_;
    at_ = found < 0 ? static_cast<int>(line_.size()) : found + static_cast<int>(end.size());
    if (found >= 0) state_ = 0;
    add(start > 0 && kind == TokenKind::String ? start - 3 : start, kind);
  }

  void step() {
    QChar c = peek();
    if (comment()) return;
    if (c == '"' || (c == '\'' && language_ != Language::LlvmIr)) return string(c);
    if (c.isDigit() || (c == '.' && peek(1).isDigit())) return number();
    if (c.isLetter() || c == '_' || (c == '.' && language_ == Language::Ptx)) return word();
    if ((c == '%' || (c == '@' && language_ != Language::Ptx)) && language_ != Language::Python) {
      int start = at_++;
      while (peek().isLetterOrNumber() || peek() == '_' || peek() == '.') ++at_;
      return add(start, c == '@' ? TokenKind::Called : TokenKind::Type);
    }
    ++at_;
  }

  bool comment() {
    QString rest = line_.mid(at_, 2);
    bool to_end = (language_ == Language::Python && rest[0] == '#') ||
                  ((language_ == Language::Cpp || language_ == Language::Ptx) && rest == "//") ||
                  (language_ == Language::LlvmIr && rest[0] == ';') ||
                  (language_ == Language::Assembly && rest[0] == '#');
    if (to_end) {
      int start = at_;
      at_ = static_cast<int>(line_.size());
      add(start, TokenKind::Comment);
      return true;
    }
    if ((language_ == Language::Cpp || language_ == Language::Ptx) && rest == "/*") {
      state_ = 3;
      carry_on();
      return true;
    }
    return false;
  }

  void string(QChar quote) {
    if (language_ == Language::Python && peek(1) == quote && peek(2) == quote) {
      state_ = quote == '"' ? 1 : 2;
      at_ += 3;
      return carry_on();
    }
    int start = at_++;
    while (at_ < line_.size() && peek() != quote) at_ += peek() == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, static_cast<int>(line_.size()));
    add(start, TokenKind::String);
  }

  void number() {
    int start = at_;
    while (peek().isLetterOrNumber() || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && (peek(-1) == 'e' || peek(-1) == 'p')))
      ++at_;
    add(start, TokenKind::Number);
  }

  // "@%p1 bra $L__BB0_2;", "LDG.E R7, desc[UR8][R8.64+0x4] ;": the instruction, then its registers.
  void gpu_word() {
    const int start = at_;
    while (peek().isLetterOrNumber() || peek() == '_' || peek() == '.' || peek() == ':') ++at_;
    const QString text = line_.mid(start, at_ - start);
    const bool predicate = start > 0 && (line_[start - 1] == '@' || line_[start - 1] == '!');
    static const QRegularExpression reg("^U?[RP](\\d+|Z|T)(\\..*)?$");
    if (reg.match(text).hasMatch())
      add(start, TokenKind::Type);
    else if (!instruction_ && !predicate && !text.endsWith(':'))
      add(start, TokenKind::Keyword);
    if (!predicate) instruction_ = true;
  }

  void word() {
    if (language_ == Language::Ptx) return gpu_word();
    int start = at_;
    while (peek().isLetterOrNumber() || peek() == '_' || (language_ == Language::LlvmIr && peek() == '.'))
      ++at_;
    QString text = line_.mid(start, at_ - start);
    if (language_ == Language::Assembly) {
      bool first = line_.left(start).trimmed().isEmpty() && peek() != ':';
      static const QSet<QString> sizes{"ptr", "dword", "qword", "zmmword", "ymmword", "xmmword", "byte"};
      if (first)
        add(start, TokenKind::Keyword);
      else if (sizes.contains(text))
        add(start, TokenKind::Type);
      return;
    }
    if (keywords(language_).contains(text))
      add(start, TokenKind::Keyword);
    else if (is_type(text, language_))
      add(start, TokenKind::Type);
    else if (peek() == '(')
      add(start, TokenKind::Called);
  }

  const QString& line_;
  const Language language_;
  int& state_;
  int at_ = 0;
  bool instruction_ = false;  // of this line was seen
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> scanLine(const QString& line, Language language, int& state) {
  if (language == Language::Plain || line.size() > 4000) return {};
  return Scanner(line, language, state).scan();
}

QColor tokenColour(TokenKind kind) {
  const Theme& t = theme();
  switch (kind) {
    case TokenKind::Keyword:
      return t.code.keyword;
    case TokenKind::Type:
      return t.code.type;
    case TokenKind::Number:
      return t.code.number;
    case TokenKind::String:
      return t.code.string;
    case TokenKind::Comment:
      return t.code.comment;
    case TokenKind::Called:
      return t.code.called;
    case TokenKind::Text:
      break;
  }
  return t.text1;
}

}  // namespace vitrine::kit
