// The verdict of a comparison: how much, how sure, and what of the changes explains it.
#include <array>
#include <cmath>
#include <cstdio>

#include "core/session/compare/difference.h"
#include "core/session/speed_up.h"

namespace vitrine::session {

namespace {

using What = SessionChange::What;
using Sign = SessionChange::Sign;

// "1.11", "12.3", "0.0045": what is far below 1 has two digits that say something.
std::string factor(double value) {
  std::array<char, 32> out{};
  const bool small = value > 0 && value < 0.0995;
  std::snprintf(out.data(), out.size(), small ? "%.2g" : value >= 9.995 ? "%.1f" : "%.2f", value);
  return out.data();
}

std::string range_of(const TimeComparison& t) {
  return factor(t.low) + " to " + factor(t.high) + "×";
}

std::string sentence(const SessionChange& c) {
  const std::string because = c.reason.empty() ? "" : ", because " + c.reason;
  switch (c.what) {
    case What::Fusion:
      if (c.sign == Sign::Removed) return "kernel " + c.before + " is now " + c.after + because;
      return "what was " + c.before + " is now one kernel, " + c.after;
    case What::Break:
      return (c.sign == Sign::Added ? "a graph break was added at " : "a graph break is gone at ") + c.where +
             ", " + c.text + (c.reason.empty() ? "" : ": " + c.reason);
    case What::Failure:
    case What::Frame:
      return c.sign == Sign::Changed ? c.text + " was " + c.before + ", now " + c.after : c.text + because;
    case What::Kernel:
      if (c.sign == Sign::Changed && c.ns != 0)
        return "kernel " + c.text + " took " + c.before + ", now " + c.after +
               (c.reason.empty() ? "" : " (" + c.reason + ")");
      return "kernel " + c.text +
             (c.sign == Sign::Added     ? " is new"
              : c.sign == Sign::Removed ? " is gone"
                                        : " differs");
    case What::Setting:
    case What::Environment:
      return c.text + " was " + (c.before.empty() ? "not set" : c.before) + ", now " +
             (c.after.empty() ? "not set" : c.after);
    default:
      return c.text;
  }
}

// How likely it is that this is the cause, from 1: the first wins. 0: it explains no time.
int rank(const SessionChange& c, bool slower) {
  const bool worse = c.sign == Sign::Added;
  switch (c.what) {
    case What::Failure:
      return 1;
    case What::Break:
      return worse == slower ? 2 : 0;
    case What::Fusion:
      return (c.sign == Sign::Removed) == slower ? 3 : 6;
    case What::Frame:
      return c.sign == Sign::Changed ? 4 : 0;
    case What::Kernel:
      return c.ns != 0 && (c.ns > 0) == slower ? 5 : 0;
    case What::Setting:
      return c.text == "arguments" ? 9 : 7;
    case What::Environment:
      return 8;
    default:
      return 0;
  }
}

const SessionChange* cause_of(const SessionDifference& d, bool slower) {
  const SessionChange* best = nullptr;
  for (const SessionChange& c : d.changes) {
    const int r = rank(c, slower);
    if (r && (!best || r < rank(*best, slower))) best = &c;
  }
  return best;
}

std::string of_times(const SessionDifference& d) {
  const TimeComparison& t = d.call;
  if (!t.known && d.imported) return "Times cannot be compared: what was imported has no measured calls.";
  if (!t.known && d.unlike)
    return "The sessions are of different programs: nothing that was compiled is in both.";
  if (!t.known)
    return "Times cannot be compared: that needs " + std::to_string(kFewestCalls) +
           " measured calls of the same on each side, and there are " + std::to_string(d.calls_before) +
           " and " + std::to_string(d.calls_after) + ".";
  const std::string sure = d.busy ? "what most calls took" : "95 % interval";
  if (!t.differs) {
    const SessionChange* cause = cause_of(d, true);
    return "No difference in time beyond the noise: " + t.of + " takes " + time_text(t.before_ns) + " and " +
           time_text(t.after_ns) + " (" + range_of(t) + ", " + sure + ")." +
           (cause ? " What differs most: " + sentence(*cause) + "." : "");
  }
  const bool slower = t.low > 1;
  std::string out = time_text(t.ns()) + (slower ? " slower" : " faster") + ": " + t.of + " took " +
                    time_text(t.before_ns) + ", now " + time_text(t.after_ns) + " (" + factor(t.ratio()) +
                    "×, " + range_of(t) + ", " + sure + ").";
  if (const SessionChange* cause = cause_of(d, slower)) {
    std::string text = sentence(*cause);
    const bool named = cause->what == What::Failure || cause->what == What::Frame ||
                       cause->what == What::Setting || cause->what == What::Environment;
    if (!named && !text.empty() && text[0] >= 'a' && text[0] <= 'z')
      text[0] = static_cast<char>(text[0] - 'a' + 'A');
    out += " " + text + ".";
  } else {
    out += " Nothing that was recorded explains it.";
  }
  return out;
}

}  // namespace

std::string_view word_of(SessionChange::What what) {
  static constexpr std::array<std::string_view, 12> kWords = {
      "setting", "environment", "frame",  "graph break", "recompilation", "failure",
      "graph",   "guard",       "fusion", "kernel",      "memory",        "output"};
  return kWords[static_cast<size_t>(what)];
}

std::string verdict_text(const SessionDifference& d) {
  std::string out = of_times(d);
  if (d.eager.known && d.eager.differs)
    out += " Eager itself is " + std::string(d.eager.low > 1 ? "slower" : "faster") + " there (" +
           factor(d.eager.ratio()) + "×): the machine was not the same, or not as free.";
  if (d.busy && d.call.known)
    out += " The machine did other work meanwhile: record again where it is free, to be sure.";
  if (d.changes.empty()) out += " What was compiled is the same.";
  return out;
}

}  // namespace vitrine::session
