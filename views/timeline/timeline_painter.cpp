#include "views/timeline/timeline_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;

namespace {

constexpr double kRuler = 22, kModule = 17, kTop = 6, kLaneGap = 2;
constexpr double kLeastLane = 14, kLane = 24, kMostLane = 44;
constexpr double kThinLane = 5;    // of what faces nothing, where there is no room for its names
constexpr double kNamedLane = 11;  // and from here on it has them
constexpr double kLeastRibbon = 28, kMostRibbon = 150;
constexpr double kLeastMemory = 64, kMostMemory = 200;
constexpr double kRibbonTint = 0.04;
constexpr size_t kFewRibbons = 120;                  // in view, whose edges are smoothed
constexpr double kTouching = 1;                      // pixels between ribbons that are painted as one
constexpr double kMissing = 24, kLeastMissing = 16;  // the line that says why there is no eager half
constexpr size_t kMostArrows = 200;                  // in view, of which all are drawn
constexpr double kLabelFrom = 5;                     // slices narrower than this are a solid base colour
constexpr double kNameFrom = 20;                     // and below this have no room for a name
constexpr size_t kReachBack = 256;                   // slices before a time that may reach over it
constexpr size_t kMostInside = 2000;                 // slices asked for what they cover of their holder

// Where a search for what reaches over a time begins: slices that began earlier may, and nesting keeps their
// number small.
size_t from_before(const TimelineLane& lane, int64_t ns) {
  auto it = std::lower_bound(lane.slices.begin(), lane.slices.end(), ns,
                             [](const Slice& s, int64_t at) { return s.start < at; });
  const auto i = static_cast<size_t>(it - lane.slices.begin());
  return i > kReachBack ? i - kReachBack : 0;
}

class TimelinePainter {
 public:
  TimelinePainter(QPainter& p, const QRectF& area, const SessionData& data, const Timeline& timeline,
                  const TimeWindow& window, const Selection& selection,
                  const std::vector<std::pair<int, size_t>>& matches, const LaunchesBeside& beside)
      : p_(p),
        area_(area),
        data_(data),
        timeline_(timeline),
        window_(window),
        selection_(selection),
        matches_(matches),
        beside_(beside),
        t_(theme()),
        places_(place_lanes(timeline, area)) {}

  void paint() {
    p_.fillRect(area_, t_.bg1);
    QRectF right(window_.left, area_.top(), area_.right() - window_.left, area_.height());
    p_.save();
    p_.setClipRect(right);
    ribbons();  // opaque, as memory is: blending what is as wide as the window would take most of a frame
    memory();
    range_ground();
    arrows();  // below the slices: an arrow that passes a lane crosses none of its names
    for (const LanePlace& place : places_.lanes) lane(place);
    inserted();
    end_marks();
    p_.restore();
    labels();
    ruler();
    range_lines();
  }

 private:
  const TimelineLane& lane_of(int i) const { return timeline_.lanes[static_cast<size_t>(i)]; }
  const LanePlace* place_of(int lane) const {
    for (const LanePlace& place : places_.lanes)
      if (place.lane == lane) return &place;
    return nullptr;
  }

  // Unit at zero, or at the first number where zero is out of view; steps 1-2-5 about 90 px apart.
  void ruler() {
    QRectF row(area_.left(), area_.top(), area_.width(), kRuler);
    p_.fillRect(row, t_.bg1);
    hairline(p_, row.bottomLeft(), row.bottomRight(), t_.line);
    const double step = kit::roundStep(70 / window_.scale);
    MeasureUnit unit = timeUnit(std::max<double>(step, static_cast<double>(timeline_.end_ns)));
    int decimals = std::max(0, static_cast<int>(std::ceil(std::log10(unit.size / step) - 1e-9)));
    bool named = false;
    p_.save();
    p_.setClipRect(QRectF(window_.left, row.top(), area_.right() - window_.left, row.height()));
    for (double at = std::floor(static_cast<double>(window_.from) / step) * step;
         window_.x(static_cast<int64_t>(at)) < area_.right(); at += step) {
      double x = window_.x(static_cast<int64_t>(at));
      hairline(p_, {x, row.bottom() - 5}, {x, row.bottom()}, t_.ctl);
      const bool zero = std::abs(at) < step / 2;
      const bool names = zero || (!named && window_.from > 0 && x + 4 >= window_.left);
      named = named || names;
      QString text = zero ? QStringLiteral("0") : fixed(at / unit.size, decimals);
      if (names) text += " " + unit.name;
      // A number that would be cut is left out; its tick says where it is.
      const int wide = textWidth(t_.mono(11), text);
      if (x + 4 < window_.left || x + 4 + wide > area_.right() - 4) continue;
      drawText(
          p_,
          QRect(static_cast<int>(x) + 4, static_cast<int>(row.top()), wide + 1, static_cast<int>(kRuler) - 2),
          text, t_.mono(11), t_.text2);
    }
    p_.restore();
  }

  void labels() {
    p_.fillRect(
        QRectF(area_.left(), area_.top() + kRuler, window_.left - area_.left(), area_.height() - kRuler),
        t_.bg1);
    for (const LanePlace& place : places_.lanes) {
      const TimelineLane& lane = lane_of(place.lane);
      bool facing = place.lane == timeline_.facing_eager || place.lane == timeline_.facing_compiled;
      QRect row(static_cast<int>(area_.left()) + t_.padding(), static_cast<int>(place.top),
                static_cast<int>(window_.left - area_.left()) - 2 * t_.padding(),
                static_cast<int>(place.height));
      if (!facing) {
        if (place.height >= kNamedLane) drawText(p_, row, lane.label, t_.ui(12), t_.text2);
        continue;
      }
      bool eager = lane.side == TimelineLane::Side::Eager;
      double ns = eager ? timeline_.eager_ns : timeline_.compiled_ns;
      if (ns <= 0 && timeline_.script)
        ns = (eager ? timeline_.times.eager : timeline_.times.compiled).step.median_ns;
      if (ns <= 0 && !timeline_.script)  // of a script that would be how long it compiled and waited, too
        ns = static_cast<double>(
            end_of(lane) -
            (eager ? 0 : timeline_.inserted_ns));  // not measured apart: of the call that is shown
      const QString time = ns > 0 ? timeText(ns) : timeline_.script ? QString() : unknown();
      const int used = drawText(p_, row, time, t_.mono(11), t_.text2, Qt::AlignRight);
      row.setRight(row.right() - used - 8);
      drawText(p_, row, eager ? QStringLiteral("Eager") : QStringLiteral("Compiled"), t_.ui(12, 600),
               t_.text1);
    }
    missing_eager();
    memory_label();
    hairline(p_, {window_.left, area_.top()}, {window_.left, area_.bottom()}, t_.line);
  }

  void lane(const LanePlace& place) {
    const TimelineLane& lane = lane_of(place.lane);
    double last = -1e9;
    const int depths = lane.kind == TimelineLane::Kind::Module ? place.depths : lane.depths;
    for (int depth = 0; depth < depths; ++depth) {
      for (size_t i = first_visible(lane); i < lane.slices.size(); ++i) {
        const Slice& s = lane.slices[i];
        if (s.depth != depth || window_.x(s.end()) < window_.left) continue;
        double x = window_.x(s.start), w = static_cast<double>(s.duration) * window_.scale;
        if (x > area_.right()) break;
        if (w < 1 && x < last + 1) continue;  // one slice a pixel column
        if (s.inner && w < kLabelFrom) continue;
        last = x;
        slice(place, lane, i, x, w);
      }
      last = -1e9;
    }
    const bool device = lane.kind == TimelineLane::Kind::Stream && lane.side == TimelineLane::Side::Compiled;
    if (lane.kind == TimelineLane::Kind::Launch || device) gaps(place, lane);
  }

  // What another tool recorded has no nodes: its operators are known by their names.
  bool of_import(NodeFamily family) const {
    return data_.imported() && family != NodeFamily::None && family != NodeFamily::Opaque;
  }

  size_t first_visible(const TimelineLane& lane) const { return from_before(lane, window_.from); }

  void slice(const LanePlace& place, const TimelineLane& lane, size_t index, double x, double w) {
    const Slice& s = lane.slices[index];
    bool module = lane.kind == TimelineLane::Kind::Module;
    double h = module ? kModule - 2 : place.height - 2;
    QRectF box(x, place.top + 1 + (module ? s.depth * kModule : 0), std::max(1.0, w - 1), h);
    NodeFamily family = module ? NodeFamily::None : slice_family(data_, s);
    // An eager range without a node of its own only holds others.
    bool holder = lane.kind == TimelineLane::Kind::Call || lane.kind == TimelineLane::Kind::Step ||
                  (lane.kind == TimelineLane::Kind::Rank && family == NodeFamily::None) ||
                  (lane.kind == TimelineLane::Kind::Range && !of_import(family)) ||
                  (!module && lane.side == TimelineLane::Side::Eager && !s.entity && !of_import(family));
    const LaunchBeside* other = beside_of(s.entity);
    if (w < kLabelFrom) {
      p_.fillRect(box, module || holder ? t_.bg3 : t_.family(family));
    } else {
      p_.fillRect(box, module || holder ? t_.bg3 : other ? beside_colour(*other) : t_.familySoft(family));
      if (!module && !holder) p_.fillRect(QRectF(box.left(), box.top(), 2, box.height()), t_.family(family));
      const QRectF room = module ? box : free_part(lane, index, box);
      QString name = module ? inside_parent(lane, index) : slice_name(data_, s);
      if (other) {
        const QString told = other->alone
                                 ? QString(other->later ? "+ " : "\u2212 ") + name
                                 : name + "  " + signedText(timeText(std::abs(other->by_ns)), other->by_ns);
        if (textWidth(t_.mono(11), told) + 10 <= room.width()) name = told;
      }
      if (h >= kNamedLane) label(room, name, holder || module ? t_.text3 : t_.text1, module);
    }
    Id id = s.entity;
    if (!id) return;
    bool found = std::find(matches_.begin(), matches_.end(), std::pair(place.lane, index)) != matches_.end();
    drawMark(p_, box, selection_.mark(id), selection_.isHovered(id) || found, 0);
  }

  // What is to be said of a launch beside its counterpart; nullptr: nothing.
  const LaunchBeside* beside_of(Id id) const {
    const auto at = id ? beside_.find(id) : beside_.end();
    return at == beside_.end() || (!at->second.alone && at->second.by_ns == 0) ? nullptr : &at->second;
  }

  // The more a launch differs the stronger; from half of its time on as strong as may be. What stands on one
  // side alone has its sign besides.
  QColor beside_colour(const LaunchBeside& other) const {
    constexpr double kMost = 0.38;
    const double part = other.of_ns > 0 ? std::min(1.0, 2 * std::abs(other.by_ns) / other.of_ns) : 1;
    const bool better = other.alone ? !other.later : other.by_ns < 0;
    return Theme::mix(t_.node, better ? t_.ok : t_.err, kMost * std::max(0.3, part));
  }

  // The widest part of a slice that nothing inside it covers: there its name stands.
  QRectF free_part(const TimelineLane& lane, size_t index, const QRectF& box) const {
    const Slice& s = lane.slices[index];
    if (box.width() < kNameFrom) return box;
    double from = box.left(), best = 0;
    QRectF out(box.left(), box.top(), 0, box.height());
    const size_t last = std::min(lane.slices.size(), index + 1 + kMostInside);
    auto free_until = [&](double to) {
      if (to - from > best) {
        best = to - from;
        out = QRectF(from, box.top(), best, box.height());
      }
    };
    size_t i = index + 1;
    for (; i < last && lane.slices[i].start < s.end(); ++i) {
      const Slice& inside = lane.slices[i];
      if (static_cast<double>(inside.duration) * window_.scale < kLabelFrom && inside.inner) continue;
      free_until(window_.x(inside.start) - 2);
      from = std::max(from, window_.x(inside.end()));
    }
    // Behind those that were looked at there may be more.
    if (i < last || last == lane.slices.size()) free_until(box.right());
    return out;
  }

  // Of a module's path what the slice that holds it does not say already: below "encoder", "layer.0".
  QString inside_parent(const TimelineLane& lane, size_t index) const {
    const Slice& s = lane.slices[index];
    const QString name = slice_name(data_, s);
    for (size_t i = index; i-- > 0 && s.depth > 0;) {
      const Slice& above = lane.slices[i];
      if (above.depth >= s.depth || above.end() <= s.start) continue;
      const QString parent = slice_name(data_, above);
      return name.startsWith(parent + '.') ? name.mid(parent.size() + 1) : name;
    }
    return name;
  }

  // "void at::native::elementwise_kernel<128, 4, ...>(...)" as "elementwise_kernel".
  static QString bare_name(const QString& text) {
    if (!text.contains(QStringLiteral("::"))) return text;
    QString head = text;
    head = head.remove(QStringLiteral("(anonymous namespace)::")).section('<', 0, 0).section('(', 0, 0);
    const QString bare = head.section(QStringLiteral("::"), -1).trimmed();
    return bare.isEmpty() ? text : bare;
  }

  // "## Call CompiledFxGraph fq5v ##", as PyTorch writes it, without what says nothing.
  static QString without_marks(QString text) {
    while (text.startsWith('#') || text.startsWith(' ')) text.remove(0, 1);
    while (text.endsWith('#') || text.endsWith(' ')) text.chop(1);
    return text;
  }

  // Full, else its id ("K2" of "K2 add_gelu", "0/1" of "compile 0/1"), else cut with "…" from four
  // characters, else none. Of a module's path the last parts.
  void label(const QRectF& box, QString text, const QColor& colour, bool path) {
    QRectF inner =
        box.intersected(QRectF(window_.left, area_.top(), area_.right() - window_.left, area_.height()))
            .adjusted(7, 0, -3, 0);
    QFont font = t_.mono(11);
    for (int parts : {-2, -1})
      if (path && inner.width() < textWidth(font, text)) text = text.section('.', parts);
    if (text.startsWith(QStringLiteral("compile ")) && inner.width() < textWidth(font, text))
      text = text.section(' ', 1);
    if (inner.width() < textWidth(font, text)) text = without_marks(bare_name(text));
    const QString id = text.section(' ', 0, 0);
    if (inner.width() < textWidth(font, text) && id.size() <= 4 && inner.width() >= textWidth(font, id)) {
      drawText(p_, inner.toRect(), id, font, colour);
      return;
    }
    double four = textWidth(font, QStringLiteral("xxx…"));
    if (inner.width() < std::min<double>(four, textWidth(font, text))) return;
    drawText(p_, inner.toRect(), text, font, colour);
  }

  void gaps(const LanePlace& place, const TimelineLane& lane) {
    double least = (area_.right() - window_.left) / 100;
    for (size_t i = 1; i < lane.slices.size(); ++i) {
      double from = window_.x(lane.slices[i - 1].end()), to = window_.x(lane.slices[i].start);
      if (to - from < std::max(6.0, least) || to < window_.left || from > area_.right()) continue;
      QRectF box(from, place.top + 4, to - from, place.height - 8);
      const bool hides = timeline_.hides_calls(lane.slices[i].start);  // then it may be no gap
      if (!hides) p_.fillRect(box, QBrush(t_.line, Qt::BDiagPattern));
      const auto ns = static_cast<double>(lane.slices[i].start - lane.slices[i - 1].end());
      const QString text = hides ? QStringLiteral("calls may be missing") : timeText(ns);
      if (textWidth(t_.mono(11), text) + 4 <= to - from)
        drawText(p_, box.toRect(), text, t_.mono(11), t_.text3, Qt::AlignHCenter);
    }
  }

  // The upper ends of a compiled slice's ribbons, from left to right. Ends that touch are one: a kernel's
  // operators mostly follow each other, and filling hundreds of shapes would take most of a frame.
  using Ends = std::vector<std::pair<double, double>>;
  struct RibbonEnds {
    std::map<size_t, Ends> faint, lit;
  };
  RibbonEnds ribbon_ends(const std::vector<Slice>& eager, const std::vector<Slice>& compiled) const {
    RibbonEnds out;
    double last_from = -1e9, last_to = -1e9;  // of the ribbon before, a faint one
    for (const Ribbon& r : timeline_.ribbons) {
      const Slice &a = eager[r.eager], &b = compiled[r.compiled];
      const double from = window_.x(a.start), to = window_.x(a.end());
      const double b_from = window_.x(b.start), b_to = window_.x(b.end());
      if (std::max(to, b_to) < window_.left || std::min(from, b_from) > area_.right()) continue;
      const bool lit =
          selection_.active && (selection_.isRelative(a.entity) || selection_.isRelative(b.entity));
      // Of ribbons that begin and end in the same columns of pixels one is enough.
      if (!lit && to < last_from + kTouching && std::abs(b_to - last_to) < kTouching) continue;
      if (!lit) std::tie(last_from, last_to) = std::pair(from, b_to);
      Ends& ends = (lit ? out.lit : out.faint)[r.compiled];
      if (!ends.empty() && from <= ends.back().second + kTouching)
        ends.back().second = std::max(ends.back().second, to);
      else
        ends.emplace_back(from, to);
    }
    return out;
  }

  // One shape for each compiled slice: where its ribbons lie over each other, they are no darker than one.
  QPainterPath ribbon_shape(const Ends& ends, const Slice& compiled, double y0, double y1) const {
    QPainterPath path;
    path.setFillRule(Qt::WindingFill);
    const double from = window_.x(compiled.start), to = window_.x(compiled.end());
    for (const auto& [left, right] : ends) {
      path.addPolygon(QPolygonF({{left, y0}, {right, y0}, {to, y1}, {from, y1}}));
      path.closeSubpath();
    }
    return path;
  }

  void ribbons() {
    const LanePlace *above = place_of(timeline_.facing_eager), *below = place_of(timeline_.facing_compiled);
    if (!above || !below) return;
    p_.setPen(Qt::NoPen);
    const auto& eager = lane_of(above->lane).slices;
    const auto& compiled = lane_of(below->lane).slices;
    double y0 = above->top + above->height, y1 = below->top;
    const RibbonEnds all = ribbon_ends(eager, compiled);
    for (bool lit : {false, true}) {
      // Of many the edges are too faint to show; few and thin ones would fall apart into dots.
      p_.setRenderHint(QPainter::Antialiasing, lit || all.faint.size() < kFewRibbons);
      bool dark =
          false;  // of two neighbours that can be told apart one is darker, so that both can be followed
      for (const auto& [of, ends] : lit ? all.lit : all.faint) {
        const Slice& to = compiled[of];
        if (std::max(ends.back().second - ends.front().first, window_.x(to.end()) - window_.x(to.start)) > 2)
          dark = !dark;
        const double strength = lit ? 0.25 : dark ? 2 * kRibbonTint : kRibbonTint;
        p_.setBrush(Theme::mix(t_.bg1, lit ? t_.accent : t_.text1, strength));
        p_.drawPath(ribbon_shape(ends, to, y0, y1));
      }
    }
    QColor wedge = t_.text3;
    wedge.setAlphaF(0.35f);
    p_.setBrush(wedge);
    for (size_t i : timeline_.unneeded) {
      double x0 = window_.x(eager[i].start), x1 = window_.x(eager[i].end());
      if (x1 - x0 < 3 || x1 < window_.left || x0 > area_.right()) continue;
      p_.drawPolygon(QPolygonF({{x0, y0 + 1}, {x1, y0 + 1}, {(x0 + x1) / 2, y0 + 6}}));
    }
    p_.setRenderHint(QPainter::Antialiasing, false);
  }

  // From each call of the API to what it made the device do: all of them while few are in view, else those of
  // what is active or hovered.
  void arrows() {
    size_t in_view = 0;
    for (const Arrow& a : timeline_.arrows) in_view += arrow_seen(a);
    p_.setRenderHint(QPainter::Antialiasing);
    p_.setBrush(Qt::NoBrush);
    for (bool lit : {false, true})
      for (const Arrow& a : timeline_.arrows) {
        const Id id = slice_of(a.lane, a.slice).entity;
        const bool hovered = selection_.isHovered(id), active = selection_.isRelative(id);
        if (lit != (active || hovered) || !arrow_seen(a) || (!lit && in_view > kMostArrows)) continue;
        arrow(a, active ? t_.ring : hovered ? t_.text2 : t_.edge, lit ? 1.5 : 1);
      }
    p_.setRenderHint(QPainter::Antialiasing, false);
  }

  const Slice& slice_of(int lane, size_t index) const { return lane_of(lane).slices[index]; }
  bool arrow_seen(const Arrow& a) const {
    return window_.x(slice_of(a.lane, a.slice).end()) > window_.left &&
           window_.x(slice_of(a.api_lane, a.api).start) < area_.right();
  }

  void arrow(const Arrow& a, QColor colour, double width) {
    const LanePlace *from = place_of(a.api_lane), *to = place_of(a.lane);
    if (!from || !to) return;
    const bool down = to->top > from->top;
    const Slice &call = slice_of(a.api_lane, a.api), &work = slice_of(a.lane, a.slice);
    const QPointF start(window_.x(call.start + call.duration / 2),
                        down ? from->top + from->height : from->top);
    const QPointF end(window_.x(work.start) + 1, down ? to->top : to->top + to->height);
    const double middle = (start.y() + end.y()) / 2, head = down ? -4 : 4;
    if (colour == t_.edge) colour.setAlphaF(0.6f);
    QPainterPath path(start);
    path.cubicTo({start.x(), middle}, {end.x(), middle}, end);
    p_.setPen(QPen(colour, width));
    p_.drawPath(path);
    p_.drawPolyline(QPolygonF({end + QPointF(-3, head), end, end + QPointF(3, head)}));
  }

  static int64_t end_of(const TimelineLane& lane) {
    int64_t end = 0;
    for (const Slice& s : lane.slices) end = std::max(end, s.end());
    return end;
  }

  // What was inserted before the compiled half, so that it faces eager where it is asked to, is no time.
  void inserted() {
    const LanePlace* place = place_of(timeline_.facing_compiled);
    const double x = window_.x(timeline_.inserted_ns);
    if (!place || timeline_.inserted_ns <= 0 || x < window_.left) return;
    const double y = place->top + place->height / 2;
    p_.setPen(QPen(t_.edge, 1, Qt::DotLine));
    p_.drawLine(QPointF(window_.x(0), y), QPointF(x, y));
  }

  void end_marks() {
    for (int i : {timeline_.facing_eager, timeline_.facing_compiled}) {
      const LanePlace* place = place_of(i);
      if (!place) continue;
      double x = window_.x(end_of(lane_of(i)));
      hairline(p_, {x, place->top - 2}, {x, place->top + place->height + 2}, t_.text2);
      const TimelineLane::Side side = lane_of(i).side;
      const QFont font = t_.mono(11);
      const QRect room(static_cast<int>(x) + 8, static_cast<int>(place->top),
                       static_cast<int>(area_.right() - x) - 12, static_cast<int>(place->height));
      QString text = end_words(timeline_, side);
      if (textWidth(font, text) > room.width()) text = end_words(timeline_, side, true);
      drawText(p_, room, text, font, t_.text2);
    }
  }

  // A filled step line, from the floor of its row to the peak.
  void memory() {
    if (places_.memory_height <= 0) return;
    const double floor = places_.memory_top + places_.memory_height;
    const double unit = (places_.memory_height - 16) / timeline_.memory_peak;
    const QColor fill = Theme::mix(t_.bg1, t_.accent, 0.22);
    const auto& steps = timeline_.memory;
    double before = floor, most = 0;
    std::optional<double> begun;  // of the steps that are one line
    for (size_t i = 0; i < steps.size(); ++i) {
      const double at = window_.x(steps[i].first);
      const double x1 = i + 1 < steps.size() ? window_.x(steps[i + 1].first) : at + 1;
      if (x1 < window_.left) continue;
      const double x0 = begun.value_or(at);
      begun = x0;
      if (x0 > area_.right()) break;
      // Steps within one column of pixels are one line, as high as the highest of them.
      most = std::max(most, steps[i].second);
      if (std::floor(x1) == std::floor(x0) && i + 1 < steps.size()) continue;
      const double y = floor - steps[i].second * unit, peak = floor - std::exchange(most, 0) * unit;
      p_.fillRect(QRectF(x0, y, x1 - x0, floor - y), fill);
      hairline(p_, {x0, y}, {x1, y}, t_.accent);
      hairline(p_, {x0, std::min(peak, before)}, {x0, std::max(y, before)}, t_.accent);
      before = y;
      begun.reset();
    }
    hairline(p_, {window_.left, floor}, {area_.right(), floor}, t_.line);
  }

  // A script has no eager half to face; where it would be, that is said.
  void missing_eager() {
    if (!timeline_.misses_eager()) return;
    const QRect row(static_cast<int>(area_.left()) + t_.padding(), static_cast<int>(places_.missing_top),
                    static_cast<int>(area_.width()) - 2 * t_.padding(),
                    static_cast<int>(places_.missing_height));
    const int used = drawText(p_, row, QStringLiteral("Eager"), t_.ui(12, 600), t_.text1);
    QRect label = row;
    label.setRight(static_cast<int>(window_.left) - t_.padding());
    label.setLeft(row.left() + used);
    drawText(p_, label, timeline_.eager_ns > 0 ? timeText(timeline_.eager_ns) : unknown(), t_.mono(11),
             t_.text2, Qt::AlignRight);
    QRect text = row;
    text.setLeft(static_cast<int>(window_.left) + t_.padding());
    drawText(p_, text, timeline_.why_no_eager, t_.ui(12), t_.text2);
  }

  void memory_label() {
    if (places_.memory_height <= 0) return;
    hairline(p_, {area_.left(), places_.memory_top - kTop}, {area_.right(), places_.memory_top - kTop},
             t_.line);
    QRect row(static_cast<int>(area_.left()) + t_.padding(), static_cast<int>(places_.memory_top),
              static_cast<int>(window_.left - area_.left()) - 2 * t_.padding(), t_.px(18));
    drawText(p_, row, QStringLiteral("Memory"), t_.ui(12, 600), t_.text1);
    row.translate(0, t_.px(20));
    drawText(p_, row, QStringLiteral("temporaries"), t_.ui(12), t_.text2);
    drawText(p_, row, bytesText(timeline_.memory_peak), t_.mono(11), t_.text2, Qt::AlignRight);
  }

  void range_ground() {
    if (selection_.range.from_ns == selection_.range.to_ns) return;
    QColor tint = t_.accent;
    tint.setAlphaF(0.075f);
    double x0 = window_.x(selection_.range.from_ns), x1 = window_.x(selection_.range.to_ns);
    p_.fillRect(QRectF(x0, area_.top() + kRuler, x1 - x0, area_.height()), tint);
  }

  void range_lines() {
    if (selection_.range.from_ns == selection_.range.to_ns) return;
    double x0 = window_.x(selection_.range.from_ns), x1 = window_.x(selection_.range.to_ns);
    for (double x : {x0, x1})
      if (x >= window_.left) hairline(p_, {x, area_.top()}, {x, area_.bottom()}, t_.accent);
    QString text = timeText(static_cast<double>(selection_.range.to_ns - selection_.range.from_ns));
    double w = textWidth(t_.mono(11), text) + 18;
    QRectF pill(std::max(window_.left, (x0 + x1 - w) / 2), area_.top() + 2, w, kRuler - 4);
    p_.setRenderHint(QPainter::Antialiasing);
    p_.setPen(Qt::NoPen);
    p_.setBrush(t_.accent);
    p_.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2);
    drawText(p_, pill.toRect(), text, t_.mono(11), t_.onAccent, Qt::AlignHCenter);
  }

  QPainter& p_;
  const QRectF area_;
  const SessionData& data_;
  const Timeline& timeline_;
  const TimeWindow& window_;
  const Selection& selection_;
  const std::vector<std::pair<int, size_t>>& matches_;
  const LaunchesBeside& beside_;
  const Theme& t_;
  const TimelinePlaces places_;
};

}  // namespace

namespace {

// How high the rows are, and what is left below them.
struct RowHeights {
  double lane = kLane,
         other = kLane;  // of the lanes that face each other; of the others, 0: there is no room
  double ribbon = 0, missing = 0;
  double rest = 0;
};

// Takes what is lacking from a height, as far as it can be missed.
void give_up(RowHeights& heights, double& height, double least, double rows) {
  if (heights.rest >= 0 || rows <= 0) return;
  const double by = std::min(-heights.rest / rows, std::max(0.0, height - least));
  height -= by;
  heights.rest += by * rows;
}

// In a low area all lanes become lower, then the ribbons between them; then the lanes beside those that face
// each other become thin, and at last go.
RowHeights row_heights(const Timeline& timeline, double room) {
  RowHeights out;
  double facing = 0, others = 0;
  for (size_t i = 0; i < timeline.lanes.size(); ++i) {
    const auto lane = static_cast<int>(i);
    if (lane == timeline.facing_eager || lane == timeline.facing_compiled)
      ++facing;
    else
      others += timeline.lanes[i].kind != TimelineLane::Kind::Module;
  }
  if (facing == 2) out.ribbon = kLeastRibbon;
  if (timeline.misses_eager()) out.missing = kMissing;
  out.rest = room - out.ribbon - (facing + others) * (kLane + kLaneGap);
  if (out.missing > 0) out.rest -= out.missing + kLaneGap;
  give_up(out, out.lane, kLeastLane, facing + others);
  out.other = out.lane;
  if (facing == 2) give_up(out, out.ribbon, kTop, 1);
  give_up(out, out.missing, kLeastMissing, out.missing > 0 ? 1 : 0);
  give_up(out, out.other, kThinLane, facing > 0 ? others : 0);
  if (out.rest < 0 && facing > 0 && others > 0) {
    out.rest += others * (out.other + kLaneGap);
    out.other = 0;
  }
  return out;
}

}  // namespace

TimelinePlaces place_lanes(const Timeline& timeline, const QRectF& area) {
  TimelinePlaces out;
  out.ruler = area.top() + kRuler;
  RowHeights heights = row_heights(timeline, area.height() - kRuler - 2 * kTop);
  double& rest = heights.rest;
  auto take = [&rest](double most) {
    const double part = std::clamp(rest, 0.0, most);
    rest -= part;
    return part;
  };
  std::vector<int> depths;
  double lanes = 0;
  for (const TimelineLane& lane : timeline.lanes) {
    const bool module = lane.kind == TimelineLane::Kind::Module;
    depths.push_back(module ? std::min(lane.depths, static_cast<int>(std::max(0.0, rest) / kModule)) : 1);
    if (module) rest -= depths.back() * kModule + kLaneGap;
    lanes += !module;
  }
  if (heights.ribbon > 0) heights.ribbon += take(kMostRibbon - kLeastRibbon);
  const double more = take(lanes * (kMostLane - kLane)) / std::max(1.0, lanes);
  heights.lane += more;
  if (heights.other > 0) heights.other += more;
  if (timeline.memory_peak > 0 && rest >= kLeastMemory) out.memory_height = take(kMostMemory);
  double y = out.ruler + kTop;
  out.missing_top = y, out.missing_height = heights.missing;
  if (heights.missing > 0) y += heights.missing + kLaneGap;
  for (size_t i = 0; i < timeline.lanes.size(); ++i) {
    const bool facing =
        static_cast<int>(i) == timeline.facing_eager || static_cast<int>(i) == timeline.facing_compiled;
    if (static_cast<int>(i) == timeline.facing_compiled && timeline.facing_eager >= 0) {
      out.ribbon_top = y;
      y += heights.ribbon;
      out.ribbon_bottom = y;
    }
    const bool module = timeline.lanes[i].kind == TimelineLane::Kind::Module;
    const double height = module ? kModule * depths[i] : facing ? heights.lane : heights.other;
    if (height <= 0) continue;
    out.lanes.push_back({static_cast<int>(i), y, height, depths[i]});
    y += height + kLaneGap;
  }
  out.memory_top = y + 2 * kTop;
  if (out.memory_height > 0)
    out.memory_height = std::min(out.memory_height, area.bottom() - kTop - out.memory_top);
  if (out.memory_height < kLeastMemory / 2) out.memory_height = 0;
  return out;
}

TimelineHit hit_timeline(const Timeline& timeline, const TimelinePlaces& places, const TimeWindow& window,
                         QPointF at) {
  if (at.y() < places.ruler) return {-1, 0, at.x() >= window.left};
  if (at.x() < window.left) return {};
  for (const LanePlace& place : places.lanes) {
    if (at.y() < place.top || at.y() >= place.top + place.height) continue;
    const TimelineLane& lane = timeline.lanes[static_cast<size_t>(place.lane)];
    int64_t ns = window.ns(at.x());
    int best = -1;
    for (size_t i = from_before(lane, ns); i < lane.slices.size(); ++i) {
      const Slice& s = lane.slices[i];
      if (s.start > ns) break;
      // A slice thinner than a pixel is hit by the pixel it stands in; the innermost linked slice wins.
      if (std::max(s.end(), s.start + static_cast<int64_t>(1 / window.scale)) <= ns) continue;
      if (best < 0 || s.entity || !lane.slices[static_cast<size_t>(best)].entity) best = static_cast<int>(i);
    }
    if (best >= 0) return {place.lane, static_cast<size_t>(best), false};
  }
  return {};
}

void paint_timeline(QPainter& painter, const QRectF& area, const SessionData& data, const Timeline& timeline,
                    const TimeWindow& window, const Selection& selection,
                    const std::vector<std::pair<int, size_t>>& matches, const LaunchesBeside& beside) {
  TimelinePainter(painter, area, data, timeline, window, selection, matches, beside).paint();
}

}  // namespace vitrine::views
