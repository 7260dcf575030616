#include "core/codegen/schedule/tensor_names.h"

#include <algorithm>

namespace vitrine::codegen {

namespace {

// Without the numbers that tell one layer's value from another's, so that layers share their kernels: "addmm"
// of "addmm_22", "h_ln_weight" of "h_1_ln_2_weight".
std::string unnumbered(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    const size_t end = std::min(name.find('_', i), name.size());
    const std::string part = name.substr(i, end - i);
    if (out.empty() || part.empty() || part.find_first_not_of("0123456789") != std::string::npos)
      out += (i ? "_" : "") + part;
    i = end + 1;
  }
  return out;
}

// "x" of "L['x']", "weight" of "L['self'].fc.weight", "weights" of "L['weights'][3]".
std::string last_word(std::string source) {
  while (true) {
    while (!source.empty() && (source.back() == ']' || source.back() == '\'' || source.back() == '"'))
      source.pop_back();
    const size_t cut = source.find_last_of(".'\"[");
    if (cut == std::string::npos) return source;
    const std::string word = source.substr(cut + 1);
    if (word.find_first_not_of("0123456789") != std::string::npos) return word;
    source.resize(cut);
  }
}

}  // namespace

std::string base_name(const ir::Node& node) {
  std::string raw = node.kind == ir::NodeKind::op ? ir::short_op(node.op)
                    : node.source.empty()         ? node.name
                                                  : node.source;
  if (node.kind != ir::NodeKind::op) {
    raw = last_word(raw);
    if (raw.starts_with("saved ")) raw = unnumbered(raw);
  }
  std::string out;
  for (char c : raw)
    out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out = "t" + out;
  // Prefixes, and letters with numbers, are the generated text's own.
  for (const char* prefix : {"p_",    "q_",     "in_",   "out_",   "row_",  "acc",   "inv_",  "at_",
                             "phase", "st",     "part_", "value_", "sub_",  "into_", "tile_", "more_",
                             "known", "settle", "n_",    "run_",   "added", "size",  "real",  "kept_"})
    if (out.starts_with(prefix)) return "t_" + out;
  if ((out[0] == 'i' || out[0] == 'c') && out.find_first_not_of("0123456789", 1) == std::string::npos)
    return "t_" + out;
  return out;
}

std::string UniqueNames::unique(const std::string& wanted) {
  const auto [used, fresh] = used_.try_emplace(wanted, 0);
  for (std::span<const std::string_view> words : reserved_)
    if (fresh) used->second += static_cast<int>(std::ranges::count(words, wanted));
  const int n = used->second++;
  if (n == 0) return wanted;
  return unique(wanted + "_" + std::to_string(n));
}

}  // namespace vitrine::codegen
