#include "core/capture/interpreter/state/guard_set.h"

namespace vitrine::capture {

GuardSet::~GuardSet() {
  for (Guard& g : all_) Py_XDECREF(g.object);
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
