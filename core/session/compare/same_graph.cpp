#include "core/session/compare/same_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

namespace vitrine::session {

namespace {

// What one tool calls otherwise than another.
struct SameWord {
  std::string_view other, word;
};
constexpr SameWord kSameWords[] = {
    {"iadd", "add"},    {"isub", "sub"},         {"imul", "mul"},        {"itruediv", "div"},
    {"truediv", "div"}, {"unsafe_view", "view"}, {"matmul", "matmul"},   {"addmm", "product"},
    {"mm", "product"},  {"bmm", "product"},      {"baddbmm", "product"}, {"convolution", "conv"},
    {"python", ""},
};
// Of kernels' names: how they are made, not what they do.
constexpr std::string_view kNoOperators[] = {"cpp",   "fused",   "triton", "poi",  "red",     "per",
                                             "tem",   "native",  "view",   "aten", "default", "etc",
                                             "clone", "permute", "unsafe", "bias"};

std::string_view same_word(std::string_view word) {
  for (const SameWord& row : kSameWords)
    if (row.other == word) return row.word;
  return word;
}

std::string without_strides(std::string type) {
  if (type.find("],") != std::string::npos || type.find("},") != std::string::npos) return "";  // several
  return type.substr(0, type.find('{'));
}

std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> out;
  std::string word;
  auto close = [&] {
    const bool number =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
    const bool noise =
        std::find(std::begin(kNoOperators), std::end(kNoOperators), word) != std::end(kNoOperators);
    if (!word.empty() && !number && !noise) out.insert(std::string(same_word(word)));
    word.clear();
  };
  for (const char c : name)
    if (c == '_' || c == '.' || c == ' ')
      close();
    else
      word += c;
  close();
  return out;
}

}  // namespace

std::string call_word(const std::string& op) {
  std::string word = op;
  if (op.starts_with("aten.")) {
    word = op.substr(5);
    word = word.substr(0, word.find('.'));
  } else if (const size_t dot = op.rfind('.'); dot != std::string::npos) {
    word = op.substr(dot + 1);
  }
  while (word.starts_with('_')) word.erase(0, 1);
  while (word.ends_with('_')) word.pop_back();
  return std::string(same_word(word));
}

std::vector<ComparedCall> captured_calls(const Reader& session, Id compilation) {
  std::vector<ComparedCall> out;
  for (const GraphRow& graph : session.rows<GraphRow>("compilation = ?1 AND stage = 'captured'",
                                                      {compilation}, "ORDER BY ordinal LIMIT 1"))
    for (const NodeRow& node :
         session.rows<NodeRow>("graph = ?1 AND kind = 'op'", {graph.id}, "ORDER BY ordinal"))
      if (const std::string word = call_word(node.op); word != "getitem")
        out.push_back({word, without_strides(node.type)});
  return out;
}

bool same_calls(const std::vector<ComparedCall>& a, const std::vector<ComparedCall>& b) {
  auto same = [](const ComparedCall& x, const ComparedCall& y) {
    return (x.word == y.word || x.word.empty() || y.word.empty()) &&
           (x.type == y.type || x.type.empty() || y.type.empty());
  };
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

double kernel_likeness(const std::string& a, const std::string& b) {
  const std::set<std::string> some = words_of(a), others = words_of(b);
  size_t both = 0;
  for (const std::string& word : some) both += others.contains(word);
  const size_t all = some.size() + others.size() - both;
  return all ? static_cast<double>(both) / static_cast<double>(all) : 0;
}

}  // namespace vitrine::session
