#include "core/capture/interpreter/state/guard_set.h"

#include <algorithm>

namespace vitrine::capture {

GuardSet::~GuardSet() {
  for (Guard& g : all_) Py_XDECREF(g.object);
}

bool GuardSet::ask_about(const Source* owner, const std::string& attribute) const {
  const std::string key = "'" + attribute + "'";  // of the owner's __dict__
  const auto is_it = [&](const Source* s) {
    return s->base && (s->base == owner || s->base->base == owner) &&
           (s->name == attribute || s->name == key);
  };
  const auto leads_there = [&](const Source* s) {
    while (s && !is_it(s)) s = s->base;
    return s != nullptr;
  };
  return std::any_of(all_.begin(), all_.end(), [&](const Guard& g) {
    return leads_there(g.source) || leads_there(g.other) ||
           std::any_of(g.members.begin(), g.members.end(), leads_there);
  });
}

std::vector<Guard> GuardSet::take() {
  std::unordered_set<const Source*> read;
  for (const Guard& g : all_)
    if (g.kind != GuardKind::Bound) {
      for (const Source* s : {g.source, g.other})
        for (; s; s = s->base) read.insert(s);
      for (const Source* s : g.members)
        for (; s; s = s->base) read.insert(s);
    }
  std::erase_if(all_, [&](const Guard& g) {
    return g.kind == GuardKind::Bound && g.number == 1 && read.contains(g.source);
  });
  return std::exchange(all_, {});
}

}  // namespace vitrine::capture
