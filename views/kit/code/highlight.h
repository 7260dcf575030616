// Colours for code: tokens of one line, by small scanners for Python, C++, LLVM IR and assembly. Multi-line
// strings and comments carry over in `state`.
#pragma once

#include <QColor>
#include <QString>
#include <vector>

namespace vitrine::kit {

enum class Language { Python, Cpp, LlvmIr, Assembly, Ptx, Plain };  // Ptx: also SASS
enum class TokenKind { Text, Keyword, Type, Number, String, Comment, Called };

struct Token {
  int start = 0, length = 0;
  TokenKind kind = TokenKind::Text;
};

// Scans one line. state: 0 at the top of a text; pass on what came back for the next line.
std::vector<Token> scanLine(const QString& line, Language language, int& state);
QColor tokenColour(TokenKind kind);

}  // namespace vitrine::kit
