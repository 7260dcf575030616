#include "views/timeline/speedup.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "views/kit/session/became.h"
#include "views/kit/text/numbers.h"
#include "views/timeline/work.h"

namespace vitrine::views {

namespace {

constexpr size_t kMostGroups = 9;                      // the smallest others are one
constexpr qsizetype kMostNames = 3;                    // of a group's operators
constexpr double kMostNs = 9e15;                       // a file may claim any time
constexpr double kNothing = 0.5;                       // ns: what is less is no step
constexpr double kLeastScale = 0.4, kMostScale = 2.5;  // of a profiled call to the median one
constexpr double kAsItWas = 0.005;                     // by which a scale differs from none

using SpeedupKind = SpeedupStep::Kind;

// What is idle, and what the profiled call took beyond the median.
struct Side {
  std::vector<const Slice*> work;
  std::vector<bool> begins;  // an operator or launch
  TimeUse use;
  double idle = 0, profiling = 0;
  double scale = 1;
  bool timed = true;  // how long the profiled call took is known
};

void scale_side(Side& side, double by) {
  side.scale = by;
  for (double* part :
       {&side.use.busy, &side.use.together, &side.use.before, &side.use.between, &side.use.after})
    *part *= by;
  side.idle *= by;
  side.profiling = 0;
}

// A GPU's kernels take as long in a profiled call as in any other, and what launches them does not: what the
// call takes beyond them is idle time of the device. On the CPU operators, launches and what lies between
// them are longer while they are profiled.
Side side_of(const Timeline& t, TimelineLane::Side which) {
  const bool eager = which == TimelineLane::Side::Eager;
  const double median = eager ? t.eager_ns : t.compiled_ns;
  const double profiled = eager ? t.profiled_eager_ns : t.profiled_compiled_ns;
  const int64_t begin = eager ? 0 : t.inserted_ns;
  Side out;
  out.work = work_of(t, which);
  out.begins = beginnings(t, which, out.work);
  int64_t end = begin;
  for (const Slice* s : out.work) end = std::max(end, s->end());
  const int64_t whole = std::max(end, begin + static_cast<int64_t>(std::clamp(profiled, 0.0, kMostNs)));
  out.use = time_use(out.work, begin, whole);
  if (on_gpu(t, which)) {
    out.idle = std::max(0.0, median - out.use.busy);
    out.profiling = out.use.busy + out.idle - median;
  } else {
    out.idle = out.use.idle();
    out.profiling = static_cast<double>(whole - begin) - median;
    out.timed = profiled > 0;
    const double by = whole > begin ? median / static_cast<double>(whole - begin) : 0;
    if (out.timed && by >= kLeastScale && by <= kMostScale) scale_side(out, by);
  }
  return out;
}

// All groups of one name: the layers of a model.
struct LayerSum {
  double eager = 0, compiled = 0;
  int64_t groups = 0;
  Id first = 0;
};

class SpeedupGroups {
 public:
  SpeedupGroups(const kit::SessionData& data, const Side& eager, const Side& compiled)
      : data_(data),
        ran_(launches_of(compiled)),
        became_(kit::Became::of(data, compilations_of(data, compiled), &ran_)) {
    for (const Slice* s : eager.work) add_eager(*s, eager.scale);
    for (size_t i = 0; i < compiled.work.size(); ++i)
      add_compiled(*compiled.work[i], compiled.scale, compiled.begins[i]);
  }

  std::vector<SpeedupStep> steps() {
    std::map<QString, LayerSum> sums;
    for (const auto& [first, group] : groups_) {
      LayerSum& sum = sums[name_of(first, group)];
      sum.eager += group.eager_ns;
      sum.compiled += group.compiled_ns;
      sum.groups += std::max<int64_t>(1, group.times);
      if (!sum.first) sum.first = first;
    }
    std::vector<SpeedupStep> out;
    for (const auto& [name, sum] : sums)
      out.push_back({sum.groups > 1 ? name + QStringLiteral(" × %1").arg(sum.groups) : name,
                     sum.eager - sum.compiled, sum.first, both(sum.eager, sum.compiled)});
    if (unneeded_ > kNothing)
      out.push_back({QStringLiteral("not needed"), unneeded_, 0,
                     QStringLiteral("eager operators that nothing had to replace")});
    if (unknown_ > kNothing)
      out.push_back({QStringLiteral("of no node"), unknown_, 0,
                     QStringLiteral("what eager ran and no node of a graph stands for")});
    if (outside_ > kNothing)
      out.push_back({QStringLiteral("outside of launches"), -outside_, 0,
                     QStringLiteral("what the compiled call ran and no launch of a plan started")});
    return out;
  }

  static QString both(double eager, double compiled) {
    return QStringLiteral("eager %1, compiled %2").arg(kit::timeText(eager), kit::timeText(compiled));
  }

 private:
  struct Group {
    double eager_ns = 0, compiled_ns = 0;
    QStringList operators, launches;
    int64_t times = 0;  // how often its first launch ran
  };

  static std::vector<Id> compilations_of(const kit::SessionData& data, const Side& compiled) {
    std::set<Id> out;
    for (const Slice* s : compiled.work)
      if (const auto* launch = data.launches.find(s->entity)) out.insert(launch->compilation);
    return {out.begin(), out.end()};
  }

  static std::unordered_set<Id> launches_of(const Side& compiled) {
    std::unordered_set<Id> out;
    for (const Slice* s : compiled.work)
      if (s->entity) out.insert(s->entity);
    return out;
  }

  // The first launch of its group, or itself.
  Id first_of(Id launch) const {
    const Id first = became_.firstOf(launch);
    return first ? first : launch;
  }

  // Where the launch that was recorded for it did not run, another one of what it became.
  Id launch_for(const Slice& eager) const {
    return ran_.contains(eager.relation) ? first_of(eager.relation) : became_.launchOf(eager.entity);
  }

  void add_eager(const Slice& s, double scale) {
    const double ns = static_cast<double>(s.duration) * scale;
    const Id launch = launch_for(s);
    if (!launch) {
      (s.entity ? unneeded_ : unknown_) += ns;
      return;
    }
    Group& group = groups_[launch];
    group.eager_ns += ns;
    const auto* node = data_.nodes.find(s.entity);
    const QString name = node ? kit::operatorName(*node) : slice_name(data_, s);
    if (!group.operators.contains(name)) group.operators << name;
  }

  void add_compiled(const Slice& s, double scale, bool begins) {
    const double ns = static_cast<double>(s.duration) * scale;
    if (!s.entity) {
      outside_ += ns;
      return;
    }
    const Id first = first_of(s.entity);
    Group& group = groups_[first];
    group.compiled_ns += ns;
    group.times += begins && s.entity == first;
    const auto* launch = data_.launches.find(s.entity);
    const QString text = launch ? QString::fromStdString(launch->text) : slice_name(data_, s);
    const QString name =
        text.contains(' ') ? text.section(' ', 1) : text;  // K2 of "K2 add_gelu" is one of many
    if (!group.launches.contains(name)) group.launches << name;
  }

  static QString listed(const QStringList& names) {
    if (names.size() <= kMostNames) return names.join(QStringLiteral(", "));
    return names.mid(0, kMostNames).join(QStringLiteral(", ")) +
           QStringLiteral(" +%1").arg(names.size() - kMostNames);
  }

  // What ran eagerly in the place of these launches is not always known: mostly of a backward pass.
  QString name_of(Id first, const Group& group) const {
    const QString from = listed(group.operators), to = listed(group.launches);
    if (from.isEmpty()) {
      const auto* launch = data_.launches.find(first);
      const bool backward = launch && data_.forwardOf(launch->compilation) != launch->compilation;
      return kit::unknown() + QStringLiteral(" → ") + to +
             (backward ? QStringLiteral(", backward") : QString());
    }
    return from == to ? to : from + QStringLiteral(" → ") + to;
  }

  const kit::SessionData& data_;
  std::unordered_set<Id> ran_;
  kit::Became became_;
  std::map<Id, Group> groups_;  // by the first launch
  double unneeded_ = 0, unknown_ = 0, outside_ = 0;
};

// Idle time of one side: on the CPU what lies between and around, on a GPU what its kernels leave of the
// call.
std::vector<SpeedupStep> idle_steps(const Timeline& t, const Side& side, TimelineLane::Side which) {
  const bool eager = which == TimelineLane::Side::Eager;
  const QString who = eager ? QStringLiteral("eager: ") : QStringLiteral("compiled: ");
  const double sign = eager ? 1 : -1;
  const QString split =
      QStringLiteral("in the profiled call %1 before the first, %2 between, %3 after the last")
          .arg(kit::timeText(side.use.before), kit::timeText(side.use.between),
               kit::timeText(side.use.after));
  std::vector<SpeedupStep> out;
  auto add = [&](const QString& text, double ns, const QString& note) {
    if (ns > kNothing) out.push_back({who + text, sign * ns, 0, note, SpeedupKind::Idle});
  };
  if (on_gpu(t, which)) {
    add(QStringLiteral("GPU idle"), side.idle,
        QStringLiteral(
            "the median call less what its kernels take: waiting for launches, and for the end; ") +
            split);
    return out;
  }
  add(eager ? QStringLiteral("between operators") : QStringLiteral("launch gaps"), side.use.between,
      eager ? QStringLiteral("dispatch and Python between operators")
            : QStringLiteral("between launches: what runs in Python, as at a graph break, and allocations"));
  add(QStringLiteral("host overhead"), side.use.before + side.use.after,
      (eager ? QStringLiteral("Python before the first operator and behind the last; ")
             : QStringLiteral("guards before the first launch, results behind the last; ")) +
          split);
  return out;
}

std::vector<SpeedupStep> profiling_steps(const Side& side, TimelineLane::Side which) {
  if (std::abs(side.profiling) <= kNothing || !side.timed) return {};
  const bool eager = which == TimelineLane::Side::Eager;
  return {{eager ? QStringLiteral("eager: profiled call") : QStringLiteral("compiled: profiled call"),
           (eager ? -1 : 1) * side.profiling, 0,
           QStringLiteral("the profiled call took %1 than the median of the others")
               .arg(kit::timeText(std::abs(side.profiling)) +
                    (side.profiling > 0 ? QStringLiteral(" longer") : QStringLiteral(" less"))),
           SpeedupKind::Profiling}};
}

void append(std::vector<SpeedupStep>& to, std::vector<SpeedupStep> from) {
  to.insert(to.end(), from.begin(), from.end());
}

double total_of(const std::vector<SpeedupStep>& steps) {
  double out = 0;
  for (const SpeedupStep& step : steps) out += step.ns;
  return out;
}

bool is_middle(const SpeedupStep& step) {
  return step.kind == SpeedupKind::Group || step.kind == SpeedupKind::Idle;
}

}  // namespace

Speedup speedup_of(const kit::SessionData& data, const Timeline& t) {
  Speedup out{t.eager_ns, t.compiled_ns, {}};
  if (t.eager_ns <= 0 || t.compiled_ns <= 0 || t.facing_eager < 0 || t.facing_compiled < 0) return out;
  const Side eager = side_of(t, TimelineLane::Side::Eager),
             compiled = side_of(t, TimelineLane::Side::Compiled);
  out.eager_scale = eager.scale, out.compiled_scale = compiled.scale;
  std::vector<SpeedupStep> middle = SpeedupGroups(data, eager, compiled).steps();
  if (const double together = compiled.use.together - eager.use.together; std::abs(together) > kNothing)
    middle.push_back({QStringLiteral("at the same time"), together, 0,
                      SpeedupGroups::both(eager.use.together, compiled.use.together) +
                          QStringLiteral(" that several streams ran at once")});
  append(middle, idle_steps(t, eager, TimelineLane::Side::Eager));
  append(middle, idle_steps(t, compiled, TimelineLane::Side::Compiled));
  std::stable_sort(middle.begin(), middle.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  append(out.steps, profiling_steps(eager, TimelineLane::Side::Eager));
  append(out.steps, std::move(middle));
  append(out.steps, profiling_steps(compiled, TimelineLane::Side::Compiled));
  const double rest = t.eager_ns - t.compiled_ns - total_of(out.steps);
  if (std::abs(rest) > kNothing)
    out.steps.push_back({QStringLiteral("not explained"), rest, 0,
                         QStringLiteral("how long the profiled calls took was not recorded"),
                         SpeedupKind::Rest});
  else if (!out.steps.empty())
    out.steps.back().ns += rest;  // rounding: the sum is exact
  return out.fitted(out.steps.size());
}

QString Speedup::scaled_words() const {
  QStringList sides;
  for (const auto& [scale, who] : {std::pair(eager_scale, "eager"), std::pair(compiled_scale, "compiled")})
    if (std::abs(scale - 1) > kAsItWas)
      sides << QStringLiteral("× %1 (%2)").arg(QString::number(scale, 'f', 2), QLatin1String(who));
  if (sides.isEmpty()) return {};
  return QStringLiteral("profiled parts %1, to the median calls").arg(sides.join(QStringLiteral(" and ")));
}

double Speedup::widest() const {
  double level = eager_ns, out = std::max(eager_ns, compiled_ns);
  for (const SpeedupStep& step : steps) out = std::max(out, level -= step.ns);
  return out;
}

double Speedup::lowest() const {
  double level = eager_ns, out = 0;
  for (const SpeedupStep& step : steps) out = std::min(out, level -= step.ns);
  return out;
}

Speedup Speedup::fitted(size_t most) const {
  std::vector<size_t> groups;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].kind == SpeedupKind::Group) groups.push_back(i);
  const size_t fixed = steps.size() - groups.size();
  const size_t room = std::clamp<size_t>(most > fixed ? most - fixed : 1, 1, kMostGroups + 1);
  if (groups.size() <= room) return *this;
  std::stable_sort(groups.begin(), groups.end(),
                   [&](size_t a, size_t b) { return std::abs(steps[a].ns) > std::abs(steps[b].ns); });
  const std::set<size_t> merged(groups.begin() + static_cast<std::ptrdiff_t>(room) - 1, groups.end());
  SpeedupStep others{QStringLiteral("%1 others").arg(merged.size()), 0, 0, {}, SpeedupKind::Group};
  Speedup out = *this;
  out.steps.clear();
  for (size_t i = 0; i < steps.size(); ++i)
    if (merged.contains(i))
      others.ns += steps[i].ns;
    else
      out.steps.push_back(steps[i]);
  // Among gains and losses, by size as they are.
  auto at = std::find_if(out.steps.begin(), out.steps.end(), is_middle);
  while (at != out.steps.end() && is_middle(*at) && at->ns >= others.ns) ++at;
  out.steps.insert(at, others);
  return out;
}

}  // namespace vitrine::views
