#include "core/session/compare/equal_changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace vitrine::session {

namespace {

constexpr char kNumber = '\1';  // in a pattern, where a number was

bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

enum class NumberKind { None, Layer, Label };

// Of the digits [from, to): whether they tell one layer, kernel or entry of a list from another.
NumberKind kind_of_number(std::string_view text, size_t from, size_t to) {
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  const char before = from ? text[from - 1] : '\0', earlier = from > 1 ? text[from - 2] : '\0';
  const char after = at(to);
  const bool ends = after == '\0' || after == ' ' || after == ',' || after == ')';
  if ((before == 'K' || before == 'L') && !letter(earlier) && !digit(earlier) && ends)
    return NumberKind::Label;
  if (before == '_' && letter(earlier) && ends) return NumberKind::Label;
  if (before == '[' && after == ']' && (earlier == ']' || letter(earlier))) return NumberKind::Label;
  // ".3.", ".3 aten.add", "['3']"; not of "1.5" and "2.13.0".
  const bool begins = before == '\0' || before == '(' || before == ' ';
  const bool path = after == '.' && letter(at(to + 1));
  if (before == '.' && !digit(earlier) && earlier != '\0' && (path || ends || after == '\''))
    return NumberKind::Layer;
  // A module that has nothing but a number, as those of nn.Sequential.
  const bool whole = (before == '(' && after == ' ') || (before == '\0' && after == '\0');
  return begins && (path || whole) ? NumberKind::Layer : NumberKind::None;
}

// "0…11"; "0, 4, 9" of a few that leave gaps.
std::string range_text(const std::set<long>& numbers) {
  constexpr size_t kFew = 3;
  const long first = *numbers.begin(), last = *numbers.rbegin();
  if (first == last) return std::to_string(first);
  const bool gaps = static_cast<size_t>(last - first) + 1 != numbers.size();
  if (!gaps || numbers.size() > kFew) return std::to_string(first) + "…" + std::to_string(last);
  std::string out;
  for (const long n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

}  // namespace

LayerText::LayerText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && digit(text[end])) ++end;
    const NumberKind kind = end > at && end - at < 9 ? kind_of_number(text, at, end) : NumberKind::None;
    if (kind == NumberKind::None) {
      end = std::max(end, at + 1);
      pattern_ += text.substr(at, end - at);
    } else {
      pattern_ += kNumber;
      numbers_.push_back(std::strtol(std::string(text.substr(at, end - at)).c_str(), nullptr, 10));
      of_layer_ = of_layer_ || kind == NumberKind::Layer;
    }
    at = end;
  }
}

std::string LayerText::merged(const std::vector<LayerText>& texts) {
  std::string out;
  size_t number = 0;
  for (const char c : texts.front().pattern_) {
    if (c != kNumber) {
      out += c;
      continue;
    }
    std::set<long> all;
    for (const LayerText& text : texts) all.insert(text.numbers_[number]);
    out += range_text(all);
    ++number;
  }
  return out;
}

std::string EqualChanges::times() const {
  if (changes.size() < 2) return "";
  return "×" + std::to_string(changes.size()) + (layers ? " layers: " : ": ");
}

namespace {

bool has_times(const SessionChange& c) {
  return c.before_ns > 0 || c.after_ns > 0;
}

std::string time_or_nothing(double ns) {
  return ns > 0 ? time_text(ns) : "";
}

// All texts of a change, in the order in which merge() puts them back. Times are no part: they add up.
std::vector<std::string> texts_of(const SessionChange& c) {
  const bool timed = has_times(c);
  return {c.text, c.module, c.reason, timed ? "" : c.before, timed ? "" : c.after};
}

EqualChanges merge(const SessionDifference& d, const std::vector<size_t>& places) {
  EqualChanges out{d.changes[places.front()], places};
  if (places.size() == 1) return out;
  std::vector<std::vector<LayerText>> texts(texts_of(out.change).size());
  out.change.ns = out.change.before_ns = out.change.after_ns = 0;
  for (const size_t place : places) {
    const SessionChange& c = d.changes[place];
    out.change.ns += c.ns, out.change.before_ns += c.before_ns, out.change.after_ns += c.after_ns;
    const auto parts = texts_of(c);
    for (size_t i = 0; i < parts.size(); ++i) texts[i].emplace_back(parts[i]);
  }
  out.layers = texts[0].front().of_layer() || texts[1].front().of_layer();
  out.change.text = LayerText::merged(texts[0]);
  out.change.module = LayerText::merged(texts[1]);
  out.change.reason = LayerText::merged(texts[2]);
  if (has_times(out.change)) {
    out.change.before = time_or_nothing(out.change.before_ns);
    out.change.after = time_or_nothing(out.change.after_ns);
  } else {
    out.change.before = LayerText::merged(texts[3]);
    out.change.after = LayerText::merged(texts[4]);
  }
  return out;
}

}  // namespace

std::vector<EqualChanges> equal_changes(const SessionDifference& d) {
  using Key =
      std::tuple<SessionChange::What, SessionChange::Sign, std::string, std::vector<std::string>, bool>;
  std::map<Key, size_t> known;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < d.changes.size(); ++i) {
    const SessionChange& c = d.changes[i];
    std::vector<std::string> patterns;
    for (const std::string& text : texts_of(c)) patterns.push_back(LayerText(text).pattern());
    const auto [at, is_new] =
        known.try_emplace(Key{c.what, c.sign, c.where, std::move(patterns), has_times(c)}, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  std::vector<EqualChanges> out;
  for (const auto& places : groups) out.push_back(merge(d, places));
  std::stable_sort(out.begin(), out.end(), [](const EqualChanges& a, const EqualChanges& b) {
    return a.change.what != b.change.what ? a.change.what < b.change.what
                                          : std::abs(a.change.ns) > std::abs(b.change.ns);
  });
  return out;
}

// "gelu" of "gelu_3": the first of a name has no number.
static std::string name_without_number(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && digit(name[end - 1])) --end;
  return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
}

std::vector<std::string> equal_entries(const std::vector<std::string>& entries) {
  struct Group {
    std::string first, name;
    std::vector<LayerText> rests;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const std::string& entry : entries) {
    const size_t space = std::min(entry.find(' '), entry.size());
    const std::string name = name_without_number(entry.substr(0, space));
    LayerText rest(std::string_view(entry).substr(space));
    const auto [at, is_new] = known.try_emplace(name + rest.pattern(), groups.size());
    if (is_new) groups.push_back({entry, name, {}});
    groups[at->second].rests.push_back(std::move(rest));
  }
  std::vector<std::string> out;
  for (const Group& g : groups)
    out.push_back(g.rests.size() == 1
                      ? g.first
                      : g.name + " ×" + std::to_string(g.rests.size()) + LayerText::merged(g.rests));
  return out;
}

}  // namespace vitrine::session
