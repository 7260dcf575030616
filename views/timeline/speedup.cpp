#include "views/timeline/speedup.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "views/kit/numbers.h"

namespace vitrine::views {

namespace {

constexpr size_t kMostSteps = 9;  // of kernels; the smallest others are one

struct Kind {
  double eager = 0, compiled = 0;
  int launches = 0;
  Id first = 0;
};

int64_t end_of(const std::vector<Slice>& slices) {
  int64_t out = 0;
  for (const Slice& s : slices) out = std::max(out, s.end());
  return out;
}

// Linked slices that stand in no other linked slice: the operators themselves.
std::vector<size_t> outer(const std::vector<Slice>& slices) {
  std::vector<size_t> out;
  int64_t until = -1;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!slices[i].entity || slices[i].start < until) continue;
    until = slices[i].end();
    out.push_back(i);
  }
  return out;
}

void sort_and_merge(std::vector<SpeedupStep>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.ns) > std::abs(b.ns); });
  if (steps.size() > kMostSteps + 1) {
    SpeedupStep others;
    for (size_t i = kMostSteps; i < steps.size(); ++i) others.ns += steps[i].ns;
    others.text = QStringLiteral("%1 others").arg(steps.size() - kMostSteps);
    steps.resize(kMostSteps);
    steps.push_back(others);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
}

}  // namespace

Speedup speedup_of(const kit::SessionData& data, const Timeline& t) {
  Speedup out{t.eager_ns, t.compiled_ns, {}};
  if (t.eager_ns <= 0 || t.compiled_ns <= 0 || t.facing_eager < 0 || t.facing_compiled < 0) return out;
  const auto& eager = t.lanes[static_cast<size_t>(t.facing_eager)].slices;
  const auto& compiled = t.lanes[static_cast<size_t>(t.facing_compiled)].slices;
  std::map<size_t, size_t> replaced_by;
  for (const Ribbon& r : t.ribbons) replaced_by[r.eager] = r.compiled;
  std::map<QString, Kind> kinds;  // "product_add_gelu" of all launches of that name
  auto kind_of_slice = [&](const Slice& s) -> Kind& {
    const QString name = slice_name(data, s);
    return kinds[name.contains(' ') ? name.section(' ', 1) : name];
  };
  double unneeded = 0, eager_busy = 0, compiled_busy = 0;
  for (size_t i : outer(eager)) {
    const auto ns = static_cast<double>(eager[i].duration);
    eager_busy += ns;
    const auto by = replaced_by.find(i);
    (by == replaced_by.end() ? unneeded : kind_of_slice(compiled[by->second]).eager) += ns;
  }
  for (size_t i : outer(compiled)) {
    Kind& kind = kind_of_slice(compiled[i]);
    kind.compiled += static_cast<double>(compiled[i].duration);
    compiled_busy += static_cast<double>(compiled[i].duration);
    if (!kind.launches++) kind.first = compiled[i].entity;
  }
  for (const auto& [name, kind] : kinds)
    out.steps.push_back({kind.launches > 1 ? name + QStringLiteral(" × %1").arg(kind.launches) : name,
                         kind.eager - kind.compiled, kind.first,
                         QStringLiteral("eager %1, compiled %2")
                             .arg(kit::timeText(kind.eager), kit::timeText(kind.compiled))});
  if (unneeded > 0)
    out.steps.push_back({QStringLiteral("not needed"), unneeded, 0,
                         QStringLiteral("eager operators that nothing had to replace")});
  const double eager_gaps = static_cast<double>(end_of(eager)) - eager_busy;
  const double compiled_gaps =
      static_cast<double>(end_of(compiled)) - static_cast<double>(t.inserted_ns) - compiled_busy;
  out.steps.push_back({QStringLiteral("between operators"), eager_gaps - compiled_gaps, 0,
                       QStringLiteral("eager %1, compiled %2: dispatch, Python and waiting")
                           .arg(kit::timeText(eager_gaps), kit::timeText(compiled_gaps))});
  sort_and_merge(out.steps);
  double explained = 0;
  for (const SpeedupStep& step : out.steps) explained += step.ns;
  out.steps.push_back(
      {QStringLiteral("not explained"), t.eager_ns - t.compiled_ns - explained, 0,
       QStringLiteral("the calls that were profiled took another time than the median of the others")});
  return out;
}

double Speedup::widest() const {
  double level = eager_ns, out = std::max(eager_ns, compiled_ns);
  for (const SpeedupStep& step : steps) out = std::max(out, level -= step.ns);
  return out;
}

}  // namespace vitrine::views
