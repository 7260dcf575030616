#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <set>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/session/guard_groups.h"
#include "core/session/sized_memory.h"
#include "core/session/source_text.h"
#include "core/session/verdict.h"

namespace vitrine::cli {

using namespace session;

namespace {

// Why there is no break, where there is none: a session in which nothing was captured has looked for none.
std::string no_breaks(const Reader& s) {
  std::string out;
  for (const RunRow& run : s.all<RunRow>()) {
    const Verdict verdict = verdict_of(s, run);
    const std::string frames = verdict.frames();
    if (out.find(frames) == std::string::npos) out += (out.empty() ? "" : "; ") + frames;
  }
  return nothing("graph breaks", out.empty() ? "no run was recorded" : out);
}

std::string price_of(const BreakCause& cause) {
  std::string out = std::to_string(cause.calls) + (cause.calls == 1 ? " call" : " calls");
  if (cause.ns_per_call <= 0) return out + ", price not measured: no steady call was recorded";
  out += ", " + nanoseconds(cause.ns_per_call) + " each";
  if (cause.priced)
    out += " (median of " + std::to_string(cause.priced) +
           (cause.priced == 1 ? " steady call)" : " steady calls)");
  return out;
}

}  // namespace

std::string show_breaks(const Reader& s, const ShowOptions& options, std::string_view) {
  EntityNames names(s);
  auto breaks = s.all<BreakRow>();
  std::erase_if(breaks, [&](const BreakRow& b) { return !names.shown(b.compilation, options); });
  if (options.json) return json_table(s, breaks);
  std::string out;
  for (const BreakCause& cause : break_causes(s, breaks)) {
    const BreakRow& b = *cause.rows.front();
    std::string kind = b.kind;
    std::replace(kind.begin(), kind.end(), '_', ' ');
    out += names.place_of_instruction(place_of(cause)) + "  " + (b.expression.empty() ? kind : b.expression) +
           "  [" + kind + "]\n";
    out += "    " + b.reason + "\n";
    if (!b.hint.empty()) out += "    instead: " + b.hint + "\n";
    if (cause.calls) out += "    " + price_of(cause) + "\n";
  }
  return out.empty() ? no_breaks(s) : out;
}

namespace {

// Text of at most so many bytes: its ends, which tell most; --json has the whole.
std::string elided(const std::string& text) {
  constexpr size_t kMost = 60, kEnd = 20;
  if (text.size() <= kMost) return text;
  auto inside = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t head = kMost - kEnd, tail = text.size() - kEnd;
  while (inside(head)) --head;
  while (inside(tail)) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

// What the letters before the brackets mean, of those that occur.
std::string letters(const std::vector<GuardRow>& guards) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kLetters = {
      {{"L[", "L a local variable"},
       {"G", "G a global (of the function named)"},
       {"B[", "B a builtin"},
       {"S[", "S a value on the stack where the segment begins, from its bottom"}}};
  std::string out;
  for (const auto& [start, meaning] : kLetters)
    if (std::any_of(guards.begin(), guards.end(), [&](const GuardRow& g) {
          return g.source.starts_with(start) && g.source.find('[') != std::string::npos;
        }))
      out += (out.empty() ? "\n" : ", ") + std::string(meaning);
  return out.empty() ? "" : out + ".\n";
}

}  // namespace

namespace {

std::vector<const GuardRow*> pointers_to(const std::vector<GuardRow>& guards) {
  std::vector<const GuardRow*> out;
  for (const GuardRow& g : guards) out.push_back(&g);
  return out;
}

std::vector<GuardGroup> one_by_one(const std::vector<GuardRow>& guards) {
  std::vector<GuardGroup> out;
  for (const GuardRow& g : guards) out.push_back({GuardLikeness::None, {&g}, g.cost_ns, g.checks, g.fails});
  return out;
}

}  // namespace

std::string show_guards(const Reader& s, const ShowOptions& options, std::string_view) {
  EntityNames names(s);
  auto guards = s.all<GuardRow>("ORDER BY compilation, ordinal");
  std::erase_if(guards, [&](const GuardRow& g) { return !names.shown(g.compilation, options); });
  if (options.json) return json_table(s, guards);
  TextTable table({"compilation", "guard", "kind", "expected", "line", ">checks", ">fails"});
  for (const GuardGroup& group : options.wide ? one_by_one(guards) : guard_groups(pointers_to(guards))) {
    const GuardRow& g = *group.rows.front();
    const std::string title = group_title(group);
    table.row({names.compilation(g.compilation),
               source_text(g.source) + (title.empty() ? "" : " and others: " + title), g.kind,
               elided(group_expected(group)), title.empty() ? names.place_of_instruction(g.instruction) : "",
               std::to_string(group.checks), std::to_string(group.fails)});
  }
  return table.empty() ? nothing("guards", why_nothing(s, "captured", "what was compiled has none"))
                       : table.text(options.width) + letters(guards);
}

namespace {

// "2 or more", "any", "4", "2 to 64"
std::string range_text(int64_t lo, int64_t hi) {
  const bool open_below = lo == std::numeric_limits<int64_t>::min();
  const bool open_above = hi == std::numeric_limits<int64_t>::max();
  if (open_below && open_above) return "any";
  if (open_below) return std::to_string(hi) + " or less";
  if (open_above) return std::to_string(lo) + " or more";
  return lo == hi ? std::to_string(lo) : std::to_string(lo) + " to " + std::to_string(hi);
}

}  // namespace

namespace {

// "s1 + s2 <= 8" asks about s1, not about s.
bool asks_about(const std::string& text, const std::string& symbol) {
  auto inside = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at + 1))
    if (!(at && inside(at - 1)) && !inside(at + symbol.size())) return true;
  return false;
}

}  // namespace

namespace {

// Below each first symbol of a compilation: what its instances are.
nlohmann::ordered_json with_instances(const Reader& s, const std::vector<SymbolRow>& symbols,
                                      nlohmann::ordered_json json) {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].ordinal == 0)
      json[i]["instances"] =
          json_rows(s, s.rows<InstanceRow>("compilation = ?1", {symbols[i].compilation}, "ORDER BY ordinal"));
  return json;
}

// The sizes that calls had, and how each got its plan.
std::string instances_text(const Reader& s, const EntityNames& names, const ShowOptions& options) {
  std::map<std::pair<Id, int64_t>, int64_t> calls;
  for (const CallRow& c : s.all<CallRow>()) ++calls[{c.compilation, c.instance}];
  TextTable table({"compilation", "sizes", ">calls", ">temporaries", "plan", "why"});
  for (const InstanceRow& r : s.all<InstanceRow>("ORDER BY compilation, ordinal"))
    if (names.shown(r.compilation, options))
      table.row({names.compilation(r.compilation), r.sizes, std::to_string(calls[{r.compilation, r.ordinal}]),
                 bytes(r.arena_bytes), how_words(r), r.reason});
  return table.empty() ? "" : "\n" + table.text(options.width);
}

}  // namespace

std::string show_symbols(const Reader& s, const ShowOptions& options, std::string_view) {
  EntityNames names(s);
  auto symbols = s.all<SymbolRow>("ORDER BY compilation, ordinal");
  std::erase_if(symbols, [&](const SymbolRow& r) { return !names.shown(r.compilation, options); });
  auto guards = s.all<SymbolGuardRow>("ORDER BY compilation, ordinal");
  std::erase_if(guards, [&](const SymbolGuardRow& r) { return !names.shown(r.compilation, options); });
  if (options.json) {
    auto json = json_rows(s, symbols);
    for (size_t i = 0; i < symbols.size(); ++i) {
      auto held = nlohmann::ordered_json::array();
      for (const SymbolGuardRow& g : guards)
        if (g.compilation == symbols[i].compilation && asks_about(g.text, symbols[i].name))
          held.push_back({{"holds_while", g.text}, {"asked_at", g.place}});
      json[i]["guards"] = held;
    }
    return json_text(with_instances(s, symbols, std::move(json)));
  }
  TextTable table({"compilation", "symbol", "stands for", ">first", "range", "because", "fixed by"});
  for (const SymbolRow& r : symbols)
    table.row({names.compilation(r.compilation), r.name, source_text(r.source),
               r.hint == SymbolRow::kOfData ? "–" : std::to_string(r.hint), range_text(r.lo, r.hi), r.origin,
               r.fixed_by});
  if (table.empty())
    return nothing("symbols", why_nothing(s, "captured", "every size is fixed in what was compiled"));
  std::string out = table.text(options.width);
  if (!guards.empty()) {
    TextTable asked({"compilation", "holds while", "asked at", "for"});
    for (const SymbolGuardRow& g : guards)
      asked.row({names.compilation(g.compilation), g.text, g.place,
                 g.asked_by.empty() ? "" : "its program of expressions"});
    out += "\n" + asked.text(options.width);
  }
  return out + instances_text(s, names, options);
}

namespace {

// The calls of a place are numbered from 1, as the window does: the first that ran this compilation.
int64_t number_of_call(const std::vector<CompilationRow>& compilations, const std::vector<CallRow>& calls,
                       const RecompilationRow& row) {
  if (row.call_of_place > 0) return row.call_of_place;
  std::map<Id, Id> segments;
  for (const CompilationRow& each : compilations) segments[each.id] = each.segment;
  int64_t number = 0;
  for (const CallRow& call : calls) {
    if (segments[call.compilation] != segments[row.compilation]) continue;
    ++number;
    if (call.compilation == row.compilation) return number;
  }
  return row.call;
}

}  // namespace

std::string show_recompilations(const Reader& s, const ShowOptions& options, std::string_view) {
  EntityNames names(s);
  auto rows = s.all<RecompilationRow>();
  std::erase_if(rows, [&](const RecompilationRow& r) { return !names.shown(r.compilation, options); });
  if (options.json) return json_table(s, rows);
  const auto compilations = s.all<CompilationRow>();
  const auto calls = s.all<CallRow>();
  std::string out;
  for (const RecompilationRow& r : rows) {
    out += names.compilation(r.compilation) + " at call " +
           std::to_string(number_of_call(compilations, calls, r)) +
           (r.call_site.empty() ? "" : ", " + r.call_site) + "\n";
    out += "    failed:  " + source_text(r.failed) + "   " + r.old_value + " → " + r.new_value + "\n";
    if (!r.hint.empty()) out += "    instead: " + r.hint + "\n";
  }
  return out.empty()
             ? nothing("recompilations", why_nothing(s, "captured", "nothing was compiled a second time"))
             : out;
}

namespace {

// Equal messages stand once, where the first stood, with their number.
std::string messages_text(const std::vector<MessageRow>& rows, const std::string& before_detail) {
  std::vector<std::string> order;
  std::map<std::string, int> times;
  for (const MessageRow& m : rows) {
    std::string text = m.text + "\n";
    if (!m.hint.empty()) text += "    " + m.hint + "\n";
    if (!m.detail.empty()) text += before_detail + m.detail + "\n";
    if (++times[m.severity + ": " + text] == 1) order.push_back(m.severity + ": " + text);
  }
  std::string out;
  for (const std::string& text : order) {
    const size_t line = text.find('\n');
    const int n = times[text];
    out += text.substr(0, line) + (n > 1 ? " (" + std::to_string(n) + " times)" : "") + text.substr(line);
  }
  return out;
}

}  // namespace

std::string show_messages(const Reader& s, const ShowOptions& options, std::string_view) {
  const std::vector<MessageRow> rows = s.all<MessageRow>();
  if (options.json) return json_table(s, rows);
  const std::string out = messages_text(rows, "");
  return out.empty() ? nothing("messages", "none was recorded") : out;
}

std::string problem_summary(const Reader& s) {
  std::vector<MessageRow> rows = s.all<MessageRow>();
  std::erase_if(rows, [](const MessageRow& m) { return m.severity != "error" && m.severity != "warning"; });
  return messages_text(rows, "    ");
}

std::string explain(const Reader& s) {
  auto count = [](size_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  EntityNames names(s);
  size_t graphs = 0, nodes = 0;
  std::string list;
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    for (const GraphRow& g : s.rows<GraphRow>("compilation = ?1", {c.id}, "ORDER BY ordinal")) {
      if (g.stage != "captured") continue;
      auto ops = s.rows<NodeRow>("graph = ?1 AND kind = 'op'", {g.id}).size();
      list += "  " + names.compilation(c.id) + ": " + count(ops, "operator", "operators") + ", ends with " +
              c.end + (c.autograd ? ", runs through PyTorch's autograd" : "") + "\n";
      ++graphs;
      nodes += ops;
      break;
    }
  }
  const auto breaks = s.all<BreakRow>();
  std::string out = count(graphs, "graph", "graphs") + ", " +
                    count(break_causes(s, breaks).size(), "graph break", "graph breaks") + ", " +
                    count(nodes, "operator", "operators") + ", " +
                    count(s.all<GuardRow>().size(), "guard", "guards") + ", " +
                    count(s.all<RecompilationRow>().size(), "recompilation", "recompilations") + "\n" + list;
  if (!breaks.empty()) out += "\nGraph breaks\n" + show_breaks(s, {}, "breaks");
  if (!s.all<RecompilationRow>().empty())
    out += "\nRecompilations\n" + show_recompilations(s, {}, "recompilations");
  return out;
}

}  // namespace vitrine::cli
