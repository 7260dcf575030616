// The timeline: what is under a point, ribbons, zoom at the pointer, ranges, keys.
#include <QWheelEvent>

#include "tests/gui/view_rig.h"
#include "views/kit/theme.h"
#include "views/timeline/range_view.h"
#include "views/timeline/speedup_view.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using fixture::Rig;
using views::TimelineView;

class TestTimeline : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void eagerStandsAboveCompiled() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    const views::Timeline& t = *rig.view.timeline();
    QCOMPARE(t.lanes.size(), size_t(3));
    QVERIFY(t.facing_eager >= 0 && t.facing_compiled > t.facing_eager);
    QCOMPARE(t.ribbons.size() + t.unneeded.size(), t.lanes[size_t(t.facing_eager)].slices.size());
    QCOMPARE(t.unneeded.size(), size_t(3));  // two views and a copy
    // The eager gelu is joined to the launch of the kernel that replaced it.
    bool joined = false;
    for (const views::Ribbon& r : t.ribbons)
      joined |= t.lanes[size_t(t.facing_eager)].slices[r.eager].entity == ids().aten_gelu &&
                t.lanes[size_t(t.facing_compiled)].slices[r.compiled].entity == ids().launch_k2;
    QVERIFY(joined);
  }

  // Code that runs three times in a call, as the layers of a model do, has three launches of each kernel:
  // what eager did in the second layer is joined to the second.
  void ribbonsOfRepeatedCodeGoToTheirOwnCall() {
    views::Timeline t;
    views::Lane eager, compiled;
    const Id node = 1, other = 2, launch = 7, once = 8;
    for (int64_t i = 0; i < 6; ++i) eager.slices.push_back({i * 10, 5, 0, 0, node, launch});
    eager.slices.push_back({60, 5, 0, 0, other, once});
    eager.slices.push_back({70, 5, 0, 0, other, 99});
    for (int64_t i = 0; i < 3; ++i) compiled.slices.push_back({i * 8, 5, 0, 0, launch, 0});
    compiled.slices.push_back({30, 5, 0, 0, once, 0});
    t.lanes = {eager, compiled};
    t.facing_eager = 0, t.facing_compiled = 1;
    views::relate(t);
    std::vector<size_t> joined;
    for (const views::Ribbon& r : t.ribbons) joined.push_back(r.compiled);
    QCOMPARE(joined, std::vector<size_t>({0, 0, 1, 1, 2, 2, 3}));
    QCOMPARE(t.unneeded, std::vector<size_t>({7}));
  }

  // The medians are not the length of the slices, which are of a profiled call: both are said where they end.
  void theProfiledCallIsToldFromTheMedians() {
    views::Timeline t;
    t.eager_ns = 2.25e6, t.compiled_ns = 523e3;
    t.profiled_eager_ns = 6.78e6, t.profiled_compiled_ns = 1.42e6;
    t.times.speed_up = session::speed_up(std::vector<double>(9, 2.25e6), std::vector<double>(9, 523e3));
    const auto words = [&](views::Lane::Side side, bool shorter = false) {
      return views::end_words(t, side, shorter).replace(QChar(0x202F), ' ');
    };
    QCOMPARE(words(views::Lane::Side::Eager), QStringLiteral("profiled: 6.78 ms"));
    QCOMPARE(words(views::Lane::Side::Compiled), QStringLiteral("−1.73 ms, 4.30×, profiled: 1.42 ms"));
    QCOMPARE(words(views::Lane::Side::Compiled, true), QStringLiteral("−1.73 ms, 4.30×"));
    t.profiled_eager_ns = 0;
    QCOMPARE(words(views::Lane::Side::Eager), QString());
  }

  // The peak is the number that the strip and the Inspector name; all of it is given back.
  void memoryIsTheMemoryStages() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 600});
    const views::Timeline& t = *rig.view.timeline();
    QCOMPARE(t.memory_peak, static_cast<double>(session()->countOf(ids().compilation, "memory")));
    double most = 0;
    for (const auto& [at, bytes] : t.memory) most = std::max(most, bytes);
    QVERIFY(most > 0 && most <= t.memory_peak);
    QCOMPARE(t.memory.back().second, 0.0);
  }

  void aClickHitsTheSliceUnderIt() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    for (Id id : {ids().launch_k2, ids().aten_gelu}) {
      QTest::mouseClick(&rig.view, Qt::LeftButton, {}, middle(rig.view, id));
      rig.settle();
      QCOMPARE(rig.model.selection().active, id);
    }
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(1190, 310));
    QCOMPARE(rig.model.selection().active, Id(0));
  }

  void zoomKeepsTheTimeUnderThePointer() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    const QPointF at(700, 150);
    const int64_t before = rig.view.window_of_time().ns(at.x());
    const double scale = rig.view.window_of_time().scale;
    QWheelEvent in(at, rig.view.mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::ControlModifier,
                   Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&rig.view, &in);
    QVERIFY(rig.view.window_of_time().scale > scale * 1.2);
    QVERIFY(std::abs(rig.view.window_of_time().ns(at.x()) - before) < 20'000);
    rig.view.zoom(kit::Zoom::Fit);
    QCOMPARE(rig.view.window_of_time().scale, scale);
  }

  // What is active stands below its eager partner, and both halves are at 0 again without one.
  void theCompiledHalfIsAlignedToWhatIsActive() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    const int64_t end = rig.view.timeline()->end_ns;
    rig.view.alignActive(true);
    rig.activate(ids().launch_k2);
    const views::Timeline& t = *rig.view.timeline();
    const auto starts = [&](int lane, Id id) {
      for (const views::Slice& s : t.lanes[size_t(lane)].slices)
        if (s.entity == id) return s.start;
      return int64_t(-1);
    };
    const int64_t compiled = starts(t.facing_compiled, ids().launch_k2);
    bool below = false;
    for (const views::Ribbon& r : t.ribbons)
      below |= t.lanes[size_t(t.facing_eager)].slices[r.eager].start == compiled &&
               t.lanes[size_t(t.facing_compiled)].slices[r.compiled].entity == ids().launch_k2;
    QVERIFY(below && t.inserted_ns != 0);
    rig.activate(0);
    QCOMPARE(rig.view.timeline()->inserted_ns, int64_t(0));
    QCOMPARE(rig.view.timeline()->end_ns, end);
  }

  // The steps of the waterfall add up, and what nothing explains is a step that is named so.
  void theSpeedUpAddsUp() {
    Rig<views::SpeedupView> rig(session(), "", {700, 300});
    const views::Speedup& s = rig.view.speedup();
    QVERIFY(s.steps.size() > 2);
    double sum = 0;
    for (const views::SpeedupStep& step : s.steps) sum += step.ns;
    QVERIFY(std::abs(sum - (s.eager_ns - s.compiled_ns)) < 1);
    QCOMPARE(s.steps.back().text, QStringLiteral("not explained"));
    bool gelu = false;
    for (const views::SpeedupStep& step : s.steps) gelu |= step.launch == ids().launch_k2;
    QCOMPARE(views::Speedup({10, 12, {{"gained", 5}, {"lost", -9}, {"rest", 2}}}).widest(), 14.0);
    QVERIFY(gelu);
    rig.activate(ids().aten_gelu);
    QCOMPARE(rig.view.canShow(ids().aten_gelu), ids().launch_k2);
  }

  // Busy and idle fill the selected time on both sides.
  void theRangeIsTotalledOnBothSides() {
    Rig<TimelineView> timeline(session(), "timeline", {1200, 320});
    const views::Timeline& t = *timeline.view.timeline();
    const kit::TimeRange range{t.end_ns / 4, t.end_ns / 2};
    const views::RangeTotals totals = views::totals_of(*session(), t, range);
    for (const views::RangeSide& side : {totals.eager, totals.compiled}) {
      QVERIFY(side.known && side.busy_ns > 0);
      QVERIFY(std::abs(side.busy_ns + side.idle_ns - totals.ns) < 1 ||
              side.busy_ns + side.idle_ns < totals.ns);
      QVERIFY(side.longest_gap_ns <= side.idle_ns + 1);
    }
    const views::RangeTotals all = views::totals_of(*session(), t, {});
    QCOMPARE(size_t(all.compiled.slices), t.lanes[size_t(t.facing_compiled)].slices.size());
    Rig<views::RangeView> rig(session(), "", {500, 300});
    QVERIFY(rig.view.rows().size() >= 4 && rig.view.rows()[0].title.startsWith("busy, "));
    QVERIFY(rig.view.subtitle().contains("all of the time"));
  }

  void aDragOnTheRulerIsARange() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    const auto& window = rig.view.window_of_time();
    QTest::mousePress(&rig.view, Qt::LeftButton, {}, {400, 8});
    QTest::mouseMove(&rig.view, {600, 8});
    QMouseEvent move(QEvent::MouseMove, QPointF(600, 8), rig.view.mapToGlobal(QPointF(600, 8)),
                     Qt::LeftButton, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&rig.view, &move);
    QTest::mouseRelease(&rig.view, Qt::LeftButton, {}, {600, 8});
    rig.settle();
    const kit::TimeRange range = rig.model.selection().range;
    QCOMPARE(range.from_ns, window.ns(400));
    QCOMPARE(range.to_ns, window.ns(600));
    QVERIFY(rig.model.selection().active == 0);
  }

  void keysGoAlongALaneAndAcross() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    rig.activate(ids().launch_k2);
    QTest::keyClick(&rig.view, Qt::Key_Up);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().aten_gelu);
    QTest::keyClick(&rig.view, Qt::Key_Down);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().launch_k2);
    QTest::keyClick(&rig.view, Qt::Key_Right);
    rig.settle();
    QVERIFY(rig.model.selection().active != ids().launch_k2);
    rig.view.act("time.range");
    rig.settle();
    QVERIFY(rig.model.selection().range.to_ns > rig.model.selection().range.from_ns);
  }

  void whatIsActiveElsewhereIsFoundHere() {
    Rig<TimelineView> rig(session(), "timeline", {1200, 320});
    rig.activate(ids().captured_gelu);
    const Id here = rig.view.canShow(ids().captured_gelu);
    QVERIFY(here == ids().launch_k2 || here == ids().aten_gelu);
    QCOMPARE(rig.view.find("gelu"), 2);
    QCOMPARE(rig.view.find("nothing"), 0);
  }

  // A script is not measured against eager: its calls stand there instead.
  void aScriptShowsItsCalls() {
    Rig<TimelineView> rig(session(), "timeline", {600, 200});
    kit::Film film;
    film.run = ids().gated_run;
    rig.film(film);
    const views::Timeline& t = *rig.view.timeline();
    QCOMPARE(t.lanes.size(), size_t(1));
    QVERIFY(t.lanes[0].kind == views::Lane::Kind::Call);
    QCOMPARE(t.lanes[0].slices.size(), session()->calls.of(ids().gated_run).size());
    const views::Slice& first = t.lanes[0].slices.front();
    QCOMPARE(first.start, int64_t(0));
    QVERIFY2(t.why_no_eager.contains("no operator"), qPrintable(t.why_no_eager));
    QCOMPARE(views::slice_name(*session(), first), session()->label(first.entity));
  }

  void withoutATimelineItSaysSo() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    fixture::writeTraining(path);
    Rig<TimelineView> rig(kit::SessionData::load(path).value(), "timeline", {600, 200});
    QVERIFY(rig.view.timeline()->empty());
    QVERIFY(rig.view.why_empty().contains("not measured"));
  }

 private:
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  static QPoint middle(const TimelineView& view, Id id) {
    const views::Timeline& t = *view.timeline();
    const views::TimelinePlaces places = views::place_lanes(t, view.rect());
    for (const views::LanePlace& place : places.lanes)
      for (const views::Slice& s : t.lanes[size_t(place.lane)].slices)
        if (s.entity == id)
          return QPointF(view.window_of_time().x(s.start + s.duration / 2), place.top + place.height / 2)
              .toPoint();
    return {-1, -1};
  }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestTimeline)
#include "tst_timeline.moc"
