#include "app/cli/diff_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "app/cli/json_rows.h"
#include "app/cli/run_command.h"
#include "app/cli/text_table.h"
#include "core/base/closest.h"
#include "core/session/abandoned.h"
#include "core/session/compare/difference.h"
#include "core/session/compare/equal_changes.h"

namespace vitrine::cli {

using namespace session;

namespace {

using What = SessionChange::What;
using Sign = SessionChange::Sign;

constexpr size_t kMostOfAKind = 12;

// "5%", "5 %" or "0.05" as 0.05.
std::optional<double> limit_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  const bool percent = rest == "%" || rest == " %";
  if (end == text.c_str() || !(value >= 0) || value > 1e6 || !(rest.empty() || percent)) return std::nullopt;
  return percent ? value / 100 : value;
}

Result<ComparedSession> read(const std::string& path, const std::string& compilation) {
  close_if_abandoned(path);
  auto opened = Reader::open(path);
  if (!opened) return opened.error();
  std::vector<std::string> known;
  std::string list;
  for (const auto& c : opened.value()->all<CompilationRow>()) {
    if (std::find(known.begin(), known.end(), c.label) != known.end()) continue;
    known.push_back(c.label);
    list += (list.empty() ? "" : ", ") + c.label;
  }
  if (!compilation.empty() && std::find(known.begin(), known.end(), compilation) == known.end())
    return Error{
        "There is no compilation " + compilation + " in this session." + did_you_mean(compilation, known),
        list.empty() ? "Nothing was compiled." : "It has: " + list + ".", path};
  ComparedSession out = compared_session(*opened.value(), compilation);
  if (!opened.value()->damage().empty())
    return Error{"A part of the session is damaged: " + opened.value()->damage() + ".", "Record it again.",
                 path};
  return out;
}

std::string line_of(const EqualChanges& equal) {
  static constexpr const char* kSigns[] = {"+", "−", "~"};
  const SessionChange& c = equal.change;
  std::string out = std::string("  ") + kSigns[static_cast<size_t>(c.sign)] + " " + equal.times();
  if (c.what == What::Fusion)
    out += c.before + " → " + c.after;
  else if (!c.before.empty() || !c.after.empty())
    out += c.text + ": " + (c.before.empty() ? "–" : c.before) + " → " + (c.after.empty() ? "–" : c.after);
  else
    out += c.text;
  if (!c.module.empty()) out += "   in " + c.module;
  if (!c.where.empty()) out += "   " + c.where;
  if (c.ns != 0) out += "   " + std::string(c.ns > 0 ? "+" : "−") + time_text(c.ns);
  return out + "\n" + (c.reason.empty() ? "" : "      " + c.reason + "\n");
}

// Of what is called otherwise in the two: which is which.
std::string pairs_text(const SessionDifference& d) {
  std::string out;
  for (const PairedProgram& p : d.paired) {
    if (p.before == p.after) continue;
    out += p.before + " is " + p.after + " there";
    if (p.same_graph)
      out += ": the captured graphs are the same, " + std::to_string(p.calls) +
             (p.calls == 1 ? " call" : " calls");
    out += ".\n";
  }
  return out;
}

std::string as_text(const SessionDifference& d, const DiffArguments& a) {
  std::string out = d.verdict + "\n" + pairs_text(d);
  if (d.compile_before_ns && d.compile_after_ns)
    out += "Compiling took " + time_text(static_cast<double>(d.compile_before_ns)) + " and " +
           time_text(static_cast<double>(d.compile_after_ns)) + ".\n";
  std::optional<What> kind;
  size_t shown = 0, hidden = 0;
  auto close = [&] {
    if (hidden) out += "  and " + std::to_string(hidden) + " more: --wide prints all\n";
    shown = hidden = 0;
  };
  for (const EqualChanges& equal : equal_changes(d)) {
    if (equal.change.what != kind) {
      close();
      kind = equal.change.what;
      out += "\n" + std::string(word_of(*kind)) + "\n";
    }
    if (!a.wide && shown >= kMostOfAKind)
      hidden += equal.changes.size();
    else
      ++shown, out += line_of(equal);
  }
  close();
  return out;
}

nlohmann::ordered_json json_of(const TimeComparison& t) {
  if (!t.known) return nullptr;
  return {{"of", t.of},   {"before_ns", t.before_ns}, {"after_ns", t.after_ns}, {"ratio", t.ratio()},
          {"low", t.low}, {"high", t.high},           {"differs", t.differs}};
}

std::string as_json(const SessionDifference& d) {
  static constexpr const char* kSigns[] = {"added", "removed", "changed"};
  nlohmann::ordered_json out{{"verdict", d.verdict},
                             {"same", d.same()},
                             {"call", json_of(d.call)},
                             {"eager", json_of(d.eager)},
                             {"compile_ns", {d.compile_before_ns, d.compile_after_ns}}};
  auto& paired = out["paired"] = nlohmann::ordered_json::array();
  for (const PairedProgram& p : d.paired)
    paired.push_back(
        {{"before", p.before}, {"after", p.after}, {"same_graph", p.same_graph}, {"calls", p.calls}});
  auto& list = out["changes"] = nlohmann::ordered_json::array();
  for (const SessionChange& c : d.changes)
    list.push_back({{"what", word_of(c.what)},
                    {"sign", kSigns[static_cast<size_t>(c.sign)]},
                    {"where", c.where},
                    {"text", c.text},
                    {"before", c.before},
                    {"after", c.after},
                    {"reason", c.reason},
                    {"ns", c.ns}});
  return json_text(out);
}

int judge(const SessionDifference& d, const ComparedSession& before, const ComparedSession& after,
          std::optional<double> limit) {
  for (const ComparedSession* s : {&before, &after})
    if (s->status != "finished")
      return fail(
          Error{"The run " + std::string(s->status.empty() ? "was not recorded" : "is " + s->status) + ".",
                "Only runs that finished can be compared.", s->path});
  if (!limit) return 0;
  if (!d.call.known)
    return fail(Error{"Whether it became slower cannot be told: there are too few times.",
                      "Record both with `vitrine run --repeats 20`.", ""});
  return is_slower(d, *limit) ? 1 : 0;
}

}  // namespace

int diff_command(const DiffArguments& a) {
  const bool one_session = a.after.empty();
  if (one_session && a.compilations.size() != 2)
    return fail(Error{"A second session is missing.",
                      "Or name two compilations of this one: --compilation 0/0 0/1.", ""},
                2);
  std::optional<double> limit;
  if (!a.slower.empty() && !(limit = limit_of(a.slower)))
    return fail(Error{"\"" + a.slower + "\" is no limit.", "Such as: --fail-if-slower 5%.", ""}, 2);
  const std::string first = a.compilations.empty() ? "" : a.compilations.front();
  const std::string second = a.compilations.empty() ? "" : a.compilations.back();
  auto before = read(a.before, first);
  if (!before) return fail(before.error());
  auto after = read(one_session ? a.before : a.after, second);
  if (!after) return fail(after.error());
  const SessionDifference d = compare_sessions(before.value(), after.value());
  if (a.json) {
    const std::string text = as_json(d);
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    print_prose(as_text(d, a));
  }
  return judge(d, before.value(), after.value(), limit);
}

}  // namespace vitrine::cli
