#include "views/kit/session/symbolic_types.h"

#include <algorithm>
#include <charconv>

#include "views/kit/session/session_data.h"
#include "views/kit/session/sources.h"

namespace vitrine::kit {

using namespace session;

namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// A text as its numbers that stand alone and what is between them: "f32[4,128]" is {"f32[", 4, ",", 128,
// "]"}.
struct TypePart {
  std::string words;   // before the number
  int64_t number = 0;  // -1: the end, no number follows
};
std::vector<TypePart> parts_of(const std::string& text) {
  std::vector<TypePart> out;
  std::string words;
  for (size_t i = 0; i < text.size();) {
    const bool begins = digit(text[i]) && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])));
    if (!begins) {
      words += text[i++];
      continue;
    }
    int64_t number = 0;
    const char* end = std::from_chars(text.data() + i, text.data() + text.size(), number).ptr;
    i = static_cast<size_t>(end - text.data());
    out.push_back({words, number});
    words.clear();
  }
  out.push_back({words, -1});
  return out;
}

// The number behind "changed: it was ".
int64_t was(const std::string& origin) {
  const size_t at = origin.find("it was ");
  int64_t out = 0;
  if (at != std::string::npos) std::from_chars(origin.data() + at + 7, origin.data() + origin.size(), out);
  return out;
}

// "L['x'].size(1)" -> 128, of the tensors that enter the graph.
std::unordered_map<std::string, int64_t> input_sizes(const SessionData& data, Id compilation) {
  std::unordered_map<std::string, int64_t> out;
  const GraphRow* graph = data.lastGraph(compilation, "captured");
  if (!graph) return out;
  for (const NodeRow& node : data.nodes.of(graph->id)) {
    if (node.kind == "op" || node.detail.empty()) continue;
    int dim = 0;
    for (const TypePart& part : parts_of(node.type.substr(0, node.type.find(']'))))
      if (part.number >= 0) out[node.detail + ".size(" + std::to_string(dim++) + ")"] = part.number;
  }
  return out;
}

}  // namespace

SymbolicTypes::SymbolicTypes(const SessionData& data, Id before, Id after) {
  std::unordered_map<std::string, int64_t> old = input_sizes(data, before);
  for (const SymbolRow& row : data.symbols.of(before)) old[row.source] = row.hint;
  for (const SymbolRow& row : data.symbols.of(after)) {
    auto it = old.find(row.source);
    symbols_.push_back({row.name, row.source, it == old.end() ? was(row.origin) : it->second, row.hint});
  }
}

// Of the only symbol that changed: "s0+1" for 129 -> 97 where s0 went from 128 to 96, "64*s0+64" for 64 times
// that.
std::optional<std::string> SymbolicTypes::explain_sum(int64_t before, int64_t now) const {
  const auto changed = [](const Symbol& s) { return s.before > 0 && s.before != s.now; };
  if (std::count_if(symbols_.begin(), symbols_.end(), changed) != 1) return std::nullopt;
  const Symbol& s = *std::find_if(symbols_.begin(), symbols_.end(), changed);
  if ((now - before) % (s.now - s.before)) return std::nullopt;
  const int64_t times = (now - before) / (s.now - s.before), more = now - times * s.now;
  if (times < 1) return std::nullopt;
  return (times == 1 ? s.name : std::to_string(times) + "*" + s.name) + (more < 0 ? "" : "+") +
         std::to_string(more);
}

// "s0" for 128 -> 96 where s0 went from 128 to 96, "4*s0" for 512 -> 384, "s0*s1" for a product. Nothing when
// several explain it.
std::optional<std::string> SymbolicTypes::explain(int64_t before, int64_t now) const {
  if (before == now) return std::nullopt;
  std::vector<std::string> found;
  auto try_one = [&](const std::string& name, int64_t was, int64_t is) {
    if (was <= 0 || is <= 0 || was == is || now % is || before % was) return;
    const int64_t times = now / is;
    if (times >= 1 && before / was == times)
      found.push_back(times == 1 ? name : std::to_string(times) + "*" + name);
  };
  for (const Symbol& s : symbols_) try_one(s.name, s.before, s.now);
  for (size_t i = 0; found.empty() && i < symbols_.size(); ++i)
    for (size_t j = i + 1; j < symbols_.size(); ++j) {
      const Symbol &a = symbols_[i], &b = symbols_[j];
      if (a.before != a.now && b.before != b.now)
        try_one(a.name + "*" + b.name, a.before * b.before, a.now * b.now);
    }
  if (found.empty()) return explain_sum(before, now);
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

std::string SymbolicTypes::text(const std::string& before, const std::string& now) const {
  const std::vector<TypePart> a = parts_of(before), b = parts_of(now);
  if (a.size() != b.size()) return now;
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i].words != b[i].words) return now;
    out += b[i].words;
    if (b[i].number < 0) continue;
    const auto symbol = explain(a[i].number, b[i].number);
    out += symbol ? *symbol : std::to_string(b[i].number);
  }
  return out;
}

std::string SymbolicTypes::input(const std::string& source, const std::string& now) const {
  std::string out;
  int dim = 0;
  for (const TypePart& part : parts_of(now)) {
    out += part.words;
    if (part.number < 0) continue;
    const std::string size = source + ".size(" + std::to_string(dim++) + ")";
    std::string word = std::to_string(part.number);
    for (const Symbol& s : symbols_)
      if (s.source == size && s.now == part.number) word = s.name;
    out += word;
  }
  return out;
}

// What all earlier compilations of its place tell of the sizes in a compilation's graphs.
class SizesOf {
 public:
  SizesOf(const SessionData& data, const CompilationRow& row) : data_(data), row_(row) {
    const Id forward = data.forwardOf(row.id);
    const CompilationRow* first = data.compilations.find(forward);
    for (const CompilationRow& other : data.compilations.of(row.segment)) {
      const CompilationRow* its = data.compilations.find(data.forwardOf(other.id));
      const bool alike = (its->id == other.id) == (forward == row.id);
      if (first && alike && its->ordinal < first->ordinal)
        earlier_.push_back({other.id, SymbolicTypes(data, its->id, forward)});
    }
  }

  NodeTypes of(const GraphRow& graph) const {
    NodeTypes out;
    const auto nodes = data_.nodes.of(graph.id);
    std::vector<std::span<const NodeRow>> before;
    for (const Earlier& e : earlier_) before.push_back(same_graph(e.compilation, graph));
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string type =
          nodes[i].kind == "op" ? computed(nodes[i].type, before, i) : entering(nodes[i]);
      if (type != nodes[i].type) out.emplace(nodes[i].id, type);
    }
    return out;
  }

 private:
  struct Earlier {
    Id compilation;
    SymbolicTypes sizes;
  };

  std::string entering(const NodeRow& node) const {
    return earlier_.empty() ? SymbolicTypes(data_, 0, data_.forwardOf(row_.id)).input(node.detail, node.type)
                            : earlier_[0].sizes.input(node.detail, node.type);
  }

  // The nodes of that compilation's snapshot after the same pass; none where it is another program.
  std::span<const NodeRow> same_graph(Id compilation, const GraphRow& graph) const {
    for (const GraphRow& other : data_.graphs.of(compilation)) {
      if (other.stage != graph.stage || other.pass != graph.pass) continue;
      const auto now = data_.nodes.of(graph.id), was = data_.nodes.of(other.id);
      if (std::equal(now.begin(), now.end(), was.begin(), was.end(),
                     [](const NodeRow& a, const NodeRow& b) { return a.name == b.name && a.op == b.op; }))
        return was;
    }
    return {};
  }

  // A size that all earlier ones, as far as they had another one, explain alike.
  std::string computed(const std::string& type, const std::vector<std::span<const NodeRow>>& before,
                       size_t node) const {
    const std::vector<TypePart> parts = parts_of(type);
    std::string out;
    std::vector<std::pair<const SymbolicTypes*, std::vector<TypePart>>> known;
    for (size_t e = 0; e < before.size(); ++e) {
      if (node >= before[e].size()) continue;
      std::vector<TypePart> old = parts_of(before[e][node].type);
      const bool alike = std::equal(old.begin(), old.end(), parts.begin(), parts.end(),
                                    [](const TypePart& a, const TypePart& b) { return a.words == b.words; });
      if (alike) known.emplace_back(&earlier_[e].sizes, std::move(old));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      out += parts[i].words;
      if (parts[i].number < 0) continue;
      std::optional<std::string> name;
      bool agree = true;
      for (const auto& [sizes, old] : known) {
        if (old[i].number == parts[i].number) continue;
        const auto says = sizes->explain(old[i].number, parts[i].number);
        agree = agree && says && (!name || *name == *says);
        name = says;
      }
      out += agree && name ? *name : std::to_string(parts[i].number);
    }
    return out;
  }

  const SessionData& data_;
  const CompilationRow& row_;
  std::vector<Earlier> earlier_;
};

NodeTypes symbolicTypes(const SessionData& data, Id graph) {
  const GraphRow* row = data.graphs.find(graph);
  const CompilationRow* compilation = row ? data.compilations.find(row->compilation) : nullptr;
  if (!compilation || data.symbols.of(data.forwardOf(compilation->id)).empty()) return {};
  return SizesOf(data, *compilation).of(*row);
}

QString typeText(const SessionData& data, const NodeRow& node, const NodeTypes& symbolic) {
  const auto found = symbolic.find(node.id);
  return data.type(found == symbolic.end() ? node.type.str() : found->second);
}

QStringList symbolsOf(const SessionData& data, const NodeRow& node, const NodeTypes& symbolic) {
  QStringList out;
  const auto found = symbolic.find(node.id);
  if (found == symbolic.end()) return out;
  std::string words = found->second;
  for (char& c : words)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = ' ';
  words = " " + words + " ";
  for (const SymbolRow& row : data.symbols.of(data.forwardOf(data.compilationOf(node.id))))
    if (words.find(" " + row.name + " ") != std::string::npos)
      out << QStringLiteral("%1 = %2: %3, %4")
                 .arg(QString::fromStdString(row.name))
                 .arg(row.hint == SymbolRow::kOfData ? QStringLiteral("of data") : QString::number(row.hint))
                 .arg(sourceText(row.source), QString::fromStdString(row.origin));
  return out;
}

}  // namespace vitrine::kit
