// Paints a timeline for a window of time, and answers what is under a point.
#pragma once

#include <QPainter>
#include <unordered_map>
#include <vector>

#include "views/kit/selection/selection.h"
#include "views/timeline/timeline_data.h"

namespace vitrine::views {

// Time to pixels: x = left + (ns - from) * scale.
struct TimeWindow {
  int64_t from = 0;
  double scale = 1;  // pixels a nanosecond
  double left = 0;   // where the lanes begin, after the labels
  double x(int64_t ns) const { return left + static_cast<double>(ns - from) * scale; }
  int64_t ns(double x) const { return from + static_cast<int64_t>((x - left) / scale); }
};

struct LanePlace {
  int lane = 0;
  double top = 0, height = 0;
  int depths = 1;  // rows of nested modules there is room for
};
struct TimelinePlaces {
  double ruler = 0;  // bottom of the ruler
  std::vector<LanePlace> lanes;
  double missing_top = 0, missing_height = 0;  // of a script the line in place of eager's lanes
  double ribbon_top = 0, ribbon_bottom = 0;
  double memory_top = 0, memory_height = 0;  // 0 = no room, or nothing known
};
// What faces each other comes first: when it is low nested modules go, other lanes become thin; when it is
// high the lanes grow and memory stands below them.
TimelinePlaces place_lanes(const Timeline& timeline, const QRectF& area);

struct TimelineHit {
  int lane = -1;
  size_t slice = 0;
  bool ruler = false;
};
TimelineHit hit_timeline(const Timeline& timeline, const TimelinePlaces& places, const TimeWindow& window,
                         QPointF at);

// What a launch is beside its counterpart in another session.
struct LaunchBeside {
  double by_ns = 0;  // longer than there; 0: as long, as far as the calls of both tell
  double of_ns = 0;  // that it takes there
  bool alone = false;
  bool later = false;  // its session is the later of the two
};
using LaunchesBeside = std::unordered_map<Id, LaunchBeside>;

void paint_timeline(QPainter& painter, const QRectF& area, const kit::SessionData& data,
                    const Timeline& timeline, const TimeWindow& window, const kit::Selection& selection,
                    const std::vector<std::pair<int, size_t>>& matches, const LaunchesBeside& beside = {});

}  // namespace vitrine::views
