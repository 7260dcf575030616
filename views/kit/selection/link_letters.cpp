#include "views/kit/selection/link_letters.h"

#include <set>
#include <tuple>

namespace vitrine::kit {

Id nearestSpan(const SessionData& data, Id id) {
  std::set<Id> seen{id};
  std::vector<Id> frontier{id};
  while (!frontier.empty()) {
    std::vector<Id> next;
    for (Id at : frontier)
      for (Id origin : data.links.origins(at)) {
        if (kind_of(origin) == Kind::Span) return origin;
        if (seen.insert(origin).second) next.push_back(origin);
      }
    frontier = std::move(next);
  }
  return 0;
}

Id kernelInFocus(const SessionData& data, const Selection& selection, Id compilation) {
  auto of_compilation = [&](Id id) {
    const session::KernelRow* kernel = data.kernels.find(id);
    return kernel && kernel->compilation == compilation;
  };
  if (of_compilation(selection.active)) return selection.active;
  if (const session::KernelRangeRow* range = data.ranges.find(selection.active)) return range->kernel;
  if (selection.relatives && selection.relatives->of == selection.active)
    for (const auto* list : {&selection.relatives->derived, &selection.relatives->origins})
      for (Id id : *list)
        if (of_compilation(id)) return id;
  if (const session::LaunchRow* launch = data.launches.find(selection.film.launch);
      launch && of_compilation(launch->kernel))
    return launch->kernel;
  for (const session::KernelRow& kernel : data.kernels.of(compilation))
    if (kernel.source.row) return kernel.id;
  return 0;
}

LinkLetters lettersOf(const SessionData& data, Id kernel) {
  LinkLetters out;
  std::map<Id, Id> span_of_range;
  std::set<std::tuple<int64_t, int64_t, Id>> order;  // by place in the source
  for (const session::KernelRangeRow& range : data.ranges.of(kernel)) {
    const Id id = nearestSpan(data, range.node);
    const session::SpanRow* span = data.spans.find(id);
    if (!span) continue;
    span_of_range[range.id] = id;
    order.emplace(span->line, span->col, id);
  }
  for (const auto& [line, col, id] : order) out.by_span.emplace(id, static_cast<int>(out.by_span.size()));
  for (const auto& [range, span] : span_of_range) out.by_range[range] = out.by_span[span];
  return out;
}

}  // namespace vitrine::kit
