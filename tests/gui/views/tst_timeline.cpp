// The timeline: what is under a point, ribbons, zoom at the pointer, ranges, keys.
#include <QFile>
#include <QWheelEvent>

#include "app/importing/importing.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/became.h"
#include "views/timeline/range.h"
#include "views/timeline/range_view.h"
#include "views/timeline/speedup_view.h"
#include "views/timeline/timeline_view.h"
#include "views/timeline/work.h"

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
    views::TimelineLane eager, compiled;
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
    const auto words = [&](views::TimelineLane::Side side, bool shorter = false) {
      return views::end_words(t, side, shorter).replace(QChar(0x202F), ' ');
    };
    QCOMPARE(words(views::TimelineLane::Side::Eager), QStringLiteral("profiled: 6.78 ms"));
    QCOMPARE(words(views::TimelineLane::Side::Compiled),
             QStringLiteral("−1.73 ms, 4.30×, profiled: 1.42 ms"));
    QCOMPARE(words(views::TimelineLane::Side::Compiled, true), QStringLiteral("−1.73 ms, 4.30×"));
    t.profiled_eager_ns = 0;
    QCOMPARE(words(views::TimelineLane::Side::Eager), QString());
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

  // Steps that lie within one column of pixels are drawn as one: behind them nothing of the ground shows.
  void memoryHasNoGapsWhereItsStepsAreNarrow() {
    const QRgb fill = kit::Theme::mix(kit::theme().bg1, kit::theme().accent, 0.22).rgb();
    for (int width = 380; width < 440; ++width) {
      Rig<TimelineView> rig(session(), "timeline", {width, 600});
      const QImage image = rig.view.grab().toImage();
      auto filled = [&](int y) {
        std::vector<int> out;
        for (int x = 0; x < image.width(); ++x)
          if (image.pixel(x, y) == fill) out.push_back(x);
        return out;
      };
      std::vector<int> row;  // the lowest is the longest
      for (int y = 0; y < image.height(); ++y)
        if (const auto found = filled(y); found.size() >= row.size()) row = found;
      QVERIFY(row.size() > 20);
      // Between two steps there is their line at most.
      for (size_t i = 1; i < row.size(); ++i)
        QVERIFY2(row[i] - row[i - 1] <= 2, qPrintable(QString::number(width)));
    }
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
    // How long the profiled calls took was not recorded.
    QCOMPARE(s.steps.back().text, QStringLiteral("not explained"));
    QVERIFY(s.steps.back().note.contains("not recorded"));
    bool gelu = false;
    for (const views::SpeedupStep& step : s.steps) gelu |= step.launch == ids().launch_k2;
    QCOMPARE(views::Speedup({10, 12, {{"gained", 5}, {"lost", -9}, {"rest", 2}}}).widest(), 14.0);
    QVERIFY(gelu);
    rig.activate(ids().aten_gelu);
    QCOMPARE(rig.view.canShow(ids().aten_gelu), ids().launch_k2);
  }

  // One row for a product and its activation that became one library call, another for a norm that became two
  // kernels; idle time of either side is a row, and nothing is left over.
  void theSpeedUpFollowsWhatBecameWhat() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    const fixture::FusedCallIds made = fixture::writeFusedCall(path);
    const kit::SessionPtr gpu = kit::SessionData::load(path).value();
    const views::TimelinePtr t = views::load_timeline(*gpu, gpu->runs[0].id);
    const views::Speedup s = views::speedup_of(*gpu, *t);
    std::map<QString, double> steps;
    double sum = 0;
    for (const views::SpeedupStep& step : s.steps) {
      steps[step.text] = step.ns;
      sum += step.ns;
    }
    QCOMPARE(sum, 301'000.0);
    const QStringList texts = texts_of(s);
    QVERIFY2(!texts.contains("not explained"), qPrintable(texts.join(", ")));
    QCOMPARE(steps.at("addmm, gelu → addmm_gelu"), 59'000.0 + 8'000 - 62'000);
    QCOMPARE(steps.at("layer_norm → mean, mul"), 10'000.0 - 9'000);
    QCOMPARE(steps.at("not needed"), 6'000.0);         // the copy
    QCOMPARE(steps.at("at the same time"), -4'000.0);  // 4 of its 6 µs ran beside the activation
    QCOMPARE(steps.at("eager: GPU idle"), 500'000.0 - 79'000);
    QCOMPARE(steps.at("compiled: GPU idle"), -(199'000.0 - 71'000));
    QCOMPARE(s.steps.size(), size_t(6));
    // The Range view has the same times, and What became what the same groups.
    const views::RangeTotals totals = views::totals_of(*gpu, *t, {});
    QCOMPARE(totals.eager.busy_ns, 79'000.0);
    QCOMPARE(totals.compiled.busy_ns, 71'000.0);
    QCOMPARE(totals.eager.slices, int64_t(4));
    const std::unordered_set<Id> ran = {made.call, made.mean, made.normal};
    const kit::Became became = kit::Became::of(*gpu, {made.compilation}, &ran);
    QCOMPARE(became.groups().size(), size_t(2));
    QCOMPARE(became.groups()[0].nodes.size(), size_t(2));
    QCOMPARE(became.groups()[1].launches, std::vector<Id>({made.normal, made.mean}));
    QCOMPARE(became.firstOf(made.mean), made.normal);
  }

  // A library clears memory before its kernel: two slices of the device, one launch. Its traffic is the
  // kernel's, which the launch does not repeat.
  void whatAGpuDoesInTwoPartsIsOneLaunch() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    fixture::writeGpu(path);
    const kit::SessionPtr gpu = kit::SessionData::load(path).value();
    views::Timeline t = *views::load_timeline(*gpu, gpu->runs[0].id);
    for (const int lane : {t.facing_eager, t.facing_compiled}) {
      auto& slices = t.lanes[size_t(lane)].slices;
      views::Slice memset = slices.back();
      memset.start -= 1'000, memset.duration = 500;
      slices.insert(slices.end() - 1, memset);
    }
    const views::RangeTotals totals = views::totals_of(*gpu, t, {});
    QCOMPARE(totals.eager.slices, int64_t(2));
    QCOMPARE(totals.compiled.slices, int64_t(2));
    QCOMPARE(totals.compiled.bytes, 8e6);
    QCOMPARE(totals.compiled.flops, 2.001e9);
    const QStringList steps = texts_of(views::speedup_of(*gpu, t));
    QVERIFY2(steps.contains("mm") && steps.filter("×").isEmpty(), qPrintable(steps.join(", ")));
    // Where only the thread that launched is known, there is no rate of the device.
    const std::vector<views::Slice> launched = t.lanes[size_t(t.facing_compiled)].slices;
    t.lanes.push_back({views::TimelineLane::Side::Compiled, views::TimelineLane::Kind::Launch, {}, launched});
    t.facing_compiled = static_cast<int>(t.lanes.size()) - 1;
    const views::RangeTotals host = views::totals_of(*gpu, t, {});
    QVERIFY(host.compiled.busy_ns > 0);
    QCOMPARE(host.compiled.flops, 0.0);
  }

  // A loop around one launch is as many launches as its thread made.
  void aLoopsLaunchesAreCountedByTheirThread() {
    views::Timeline t;
    using Lane = views::TimelineLane;
    Lane launches{Lane::Side::Compiled, Lane::Kind::Launch, {}, {}};
    Lane stream{Lane::Side::Compiled, Lane::Kind::Stream, {}, {}};
    for (int64_t i = 0; i < 3; ++i) launches.slices.push_back({i * 10, 5, 0, 0, 7, 0});
    for (int64_t i = 0; i < 6; ++i) stream.slices.push_back({i * 10, 5, 0, 0, 7, 0});
    t.lanes = {launches, stream};
    t.facing_compiled = 1;
    const auto begins = [&] {
      return views::beginnings(t, Lane::Side::Compiled, views::work_of(t, Lane::Side::Compiled));
    };
    QCOMPARE(begins(), std::vector<bool>({true, false, true, false, true, false}));
    t.lanes[0].slices.pop_back();
    t.lanes[0].slices.pop_back();
    QCOMPARE(begins(), std::vector<bool>({true, false, false, false, false, false}));
    t.lanes[0].slices.clear();
    QCOMPARE(begins(), std::vector<bool>({true, false, false, false, false, false}));
  }

  // Operators on the CPU are longer while they are profiled: the parts are scaled to the median call, and the
  // header says by how much.
  void profiledPartsAreScaledToTheMedianCall() {
    const views::Speedup s = views::speedup_of(*session(), profiled(700, 1'000));
    const QStringList texts = texts_of(s);
    QVERIFY2(texts.filter("profiled call").isEmpty(), qPrintable(texts.join(", ")));
    QVERIFY2(!texts.contains("not explained"), qPrintable(texts.join(", ")));
    double sum = 0;
    std::map<QString, double> steps;
    for (const views::SpeedupStep& step : s.steps) sum += step.ns, steps[step.text] = step.ns;
    QVERIFY(std::abs(sum - 300) < 1e-6);
    QVERIFY(std::abs(steps.at("eager: between operators") - 0.7 * 20) < 1e-6);
    QVERIFY2(s.scaled_words().contains("× 0.70 (eager) and × 0.89 (compiled)"), qPrintable(s.scaled_words()));
  }

  // By more than a profiler explains nothing is scaled: what the profiled call took is a row of its own.
  void whatProfilingCostIsARow() {
    const views::Speedup s = views::speedup_of(*session(), profiled(700, 4'000));
    const QStringList texts = texts_of(s);
    QCOMPARE(texts.front(), QStringLiteral("eager: profiled call"));
    QCOMPARE(s.steps.front().ns, -3'300.0);
    for (const char* text : {"eager: between operators", "eager: host overhead", "compiled: launch gaps",
                             "compiled: host overhead"})
      QVERIFY2(texts.contains(text), qPrintable(texts.join(", ")));
    double sum = 0;
    for (const views::SpeedupStep& step : s.steps) sum += step.ns;
    QCOMPARE(sum, 300.0);
    QVERIFY(s.lowest() >= 0);
  }

  // Labels, bars and numbers share no pixel, however long a name, narrow a pane or negative a step is.
  // "## Call CompiledFxGraph …" in a box that has no room for it is not "##".
  void marksAroundANameAreNotItsBeginning() {
    auto shown = [&](const char* name) {
      const QString json = loaded_->folder.filePath("trace.json"), path = json + ".vitrine";
      QFile::remove(path);
      QFile file(json);
      if (!file.open(QIODevice::WriteOnly)) return QImage();
      file.write(
          QByteArray("{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"") + name +
          "\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 10}, {\"ph\": \"X\", \"cat\": " +
          "\"user_annotation\", \"name\": \"rest\", \"pid\": 1, \"tid\": 1, \"ts\": 10, \"dur\": 90}]}");
      file.close();
      if (importing::import_into(json.toStdString(), path.toStdString())) return QImage();
      Rig<TimelineView> rig(kit::SessionData::load(path.toStdString()).value(), "timeline", {900, 160});
      return rig.view.grab().toImage();
    };
    const QImage marked = shown("## Call CompiledFxGraph fq5v ##"),
                 plain = shown("Call CompiledFxGraph fq5v");
    QVERIFY(!marked.isNull());
    QCOMPARE(marked, plain);
    QVERIFY(marked != shown(""));
  }

  // What faces each other is in sight however low the pane is: other lanes become thin, and go at last.
  void theCompiledLaneIsInSightInALowPane() {
    for (const bool both : {false, true}) {
      views::Timeline t;
      using Lane = views::TimelineLane;
      auto add = [&](Lane::Side side, Lane::Kind kind) {
        Lane lane;
        lane.side = side, lane.kind = kind;
        lane.slices = {{0, 100, 0, 0, 1, 0}};
        t.lanes.push_back(lane);
        return static_cast<int>(t.lanes.size()) - 1;
      };
      add(Lane::Side::Eager, Lane::Kind::Module);
      if (both) t.facing_eager = add(Lane::Side::Eager, Lane::Kind::Thread);
      for (const Lane::Kind kind : {Lane::Kind::Step, Lane::Kind::Phase, Lane::Kind::Call, Lane::Kind::Range})
        add(Lane::Side::Compiled, kind);
      t.facing_compiled = add(Lane::Side::Compiled, Lane::Kind::Launch);
      t.script = true;
      for (int height = 76; height < 400; height += 4) {
        const QRectF area(0, 0, 800, height);
        const views::TimelinePlaces places = views::place_lanes(t, area);
        bool compiled = false;
        double until = places.ruler;
        for (const views::LanePlace& place : places.lanes) {
          QVERIFY2(
              place.top >= until && place.top + place.height <= area.bottom(),
              qPrintable(QStringLiteral("lane %1 at %2 of %3").arg(place.lane).arg(place.top).arg(height)));
          until = place.top + place.height;
          if (place.lane != t.facing_compiled) continue;
          compiled = true;
          QVERIFY2(place.height >= 14, qPrintable(QString::number(place.height)));
        }
        QVERIFY(compiled);
      }
    }
  }

  // Another tool's slices are linked to nothing; they are work for all that.
  void theRangeOfAnImportCountsItsOperators() {
    const QString json = loaded_->folder.filePath("times.json"), path = json + ".vitrine";
    QFile file(json);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "{\"schemaVersion\": 1, \"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 1, \"tid\": 1, \"ts\": 0, "
        "\"dur\": 50},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::addmm\", \"pid\": 1, \"tid\": 1, \"ts\": 10, "
        "\"dur\": 30},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 1, \"ts\": 80, "
        "\"dur\": 20}"
        "]}");
    file.close();
    QVERIFY(!importing::import_into(json.toStdString(), path.toStdString()));
    const kit::SessionPtr data = kit::SessionData::load(path.toStdString()).value();
    const views::TimelinePtr timeline = views::load_timeline(*data, data->runs[0].id);
    const views::RangeTotals totals = views::totals_of(*data, *timeline, {});
    QVERIFY(totals.eager.known);
    QCOMPARE(totals.eager.slices, int64_t{2});
    QCOMPARE(totals.eager.busy_ns, 70'000.0);
    QCOMPARE(totals.eager.idle_ns, 30'000.0);
  }

  void labelsNeverStandUnderBars() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    fixture::writeFusedCall(path);
    const kit::SessionPtr gpu = kit::SessionData::load(path).value();
    for (const kit::SessionPtr& data : {session(), gpu})
      for (const QSize size :
           {QSize(1200, 260), QSize(700, 300), QSize(360, 220), QSize(240, 120), QSize(140, 90)}) {
        Rig<views::SpeedupView> rig(data, "", size);
        const auto& shown = rig.view.shown_steps();
        QVERIFY(!shown.empty());
        double sum = 0;
        for (const views::SpeedupStep& step : shown.steps) sum += step.ns;
        QVERIFY(std::abs(sum - (shown.eager_ns - shown.compiled_ns)) < 1);  // what is merged still adds up
        QVERIFY(QStringList({"ns", "µs", "ms", "s"}).contains(rig.view.unit_text()));
        QVERIFY(rig.view.unit_place().bottom() <= rig.view.row_place(0).number.top());
        for (size_t i = 0; i < shown.steps.size() + 2; ++i) {
          const auto place = rig.view.row_place(i);
          const QByteArray at =
              QStringLiteral("%1 at %2: %3").arg(rig.view.row_text(i)).arg(size.width()).arg(i).toUtf8();
          QVERIFY2(place.label.left() >= 0 && place.number.right() <= size.width(), at);
          QVERIFY2(!place.label.intersects(place.number), at);
          if (place.bar.isEmpty()) continue;
          QVERIFY2(place.label.right() < place.bar.left() && place.bar.right() < place.number.left(), at);
        }
      }
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
    const auto calls = std::find_if(t.lanes.begin(), t.lanes.end(), [](const views::TimelineLane& lane) {
      return lane.kind == views::TimelineLane::Kind::Call;
    });
    QVERIFY(calls != t.lanes.end());
    QCOMPARE(calls->slices.size(), session()->calls.of(ids().gated_run).size());
    const views::Slice& first = calls->slices.front();
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
  // Two operators of 400 and 300 ns, 20 apart, against two launches.
  static views::Timeline profiled(double eager_ns, double profiled_eager_ns) {
    views::Timeline t;
    views::TimelineLane eager, compiled;
    compiled.side = views::TimelineLane::Side::Compiled, compiled.kind = views::TimelineLane::Kind::Launch;
    eager.slices = {{100, 400, 0, 0, 1, 7}, {520, 300, 0, 0, 2, 7}};
    compiled.slices = {{50, 200, 0, 0, 7, 0}, {300, 100, 0, 0, 8, 0}};
    t.lanes = {eager, compiled};
    t.facing_eager = 0, t.facing_compiled = 1;
    t.eager_ns = eager_ns, t.compiled_ns = 400;
    t.profiled_eager_ns = profiled_eager_ns, t.profiled_compiled_ns = 450;
    return t;
  }
  static QStringList texts_of(const views::Speedup& s) {
    QStringList out;
    for (const views::SpeedupStep& step : s.steps) out << step.text;
    return out;
  }
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
