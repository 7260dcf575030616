#include "profiler/analysis/loop_words.h"

#include <charconv>
#include <utility>

namespace vitrine::profiler {

using session::NodeRow;

namespace {

// Whether the text is a number, which then is in `out`.
bool read_number(const std::string& text, uint64_t& out) {
  const char* end = text.data() + text.size();
  const auto [at, bad] = std::from_chars(text.data(), end, out);
  return bad == std::errc() && at == end;
}

}  // namespace

std::vector<std::string> sizes(const std::string& text, size_t from) {
  std::vector<std::string> out;
  std::string word;
  for (size_t i = from; i < text.size() && text[i] != ']'; ++i) {
    if (text[i] == ',')
      out.push_back(std::exchange(word, {}));
    else if (text[i] != ' ')
      word += text[i];
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

LoopWords words_of(const NodeRow& node) {
  LoopWords out;
  const std::string& detail = node.detail;
  const std::string mark = "loop=\"" + node.name + ": ";
  const size_t at = detail.find(mark);
  if (at == std::string::npos) return out;
  const std::string text = detail.substr(at + mark.size());
  out.kind = text.substr(0, text.find_first_of(" \";"));
  const size_t open = text.find(" ("), close = text.rfind(')');
  if (open == out.kind.size() && close != std::string::npos && close > open)
    out.why = text.substr(open + 2, close - open - 2);
  const std::string head = text.substr(0, text.find(';'));
  if (const size_t nest = head.find(" for ["); nest != std::string::npos) out.dims = sizes(head, nest + 6);
  if (const size_t reduced = head.find(" over ["); reduced != std::string::npos)
    out.over = sizes(head, reduced + 7);
  if (const size_t where = text.find(" where "); where != std::string::npos)
    out.reads = text.substr(where + 7);
  return out;
}

NestSize nest_size(const std::vector<std::string>& dims) {
  NestSize out;
  for (const std::string& dim : dims) {
    if (uint64_t size = 0; read_number(dim, size))
      out.number *= size;
    else
      out.symbols.insert(dim);
  }
  return out;
}

}  // namespace vitrine::profiler
