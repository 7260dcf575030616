// A script that trains: its steps are found and numbered, and it opens at one like most of them.
#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/inspector/inspector_view.h"
#include "views/kit/painting/theme.h"
#include "views/timeline/steps.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using namespace vitrine::session;
using fixture::Rig;
using views::TimelineLane;

namespace {

constexpr int kSteps = 10;
constexpr size_t kShown = 6;
constexpr Id kNode = make_id(Kind::Node, 1), kLaunch = make_id(Kind::Launch, 1);
constexpr int64_t kStart = 5'000'000, kStep = 1'000'000, kCompile = 8'000'000;

// Forward, backward, an optimizer step and data loading, ten times; the first compiles, and so does the
// fifth.
// eager: it was run eagerly too, and the seventh step is shown.
struct Training {
  explicit Training(bool eager = false) {
    const std::string path = folder.filePath("train.vitrine").toStdString();
    w = Writer::create(path).take();
    run = w->next(Kind::Run);
    w->put(RunRow{run, "train.py", "script", "", "cpu", "default", "finished"});
    const Id code = w->next(Kind::Code), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
    w->put(CodeRow{code, 0, "Net.forward", 1, 4});
    w->put(FrameRow{frame, run, code, "captured", ""});
    w->put(SegmentRow{segment, frame});
    const Id first = compilation(segment, "0/0", kStart, kSteps - 6);
    const Id backward = compilation(segment, "0/0 backward", kStart + kCompile / 2, kSteps);
    int64_t at = kStart;
    Id forward = first;
    std::vector<int64_t> start, duration, entity, beside, beside_for;
    for (int i = 0; i < kSteps; ++i) {
      if (i == 4) forward = compilation(segment, "0/1", at, 6);
      const bool compiles = i == 0 || i == 4;
      const int64_t call = compiles ? kCompile : kStep / 5;
      for (const auto& [id, from, ns] :
           {std::tuple(forward, at, call), std::tuple(backward, at + call, kStep / 5)}) {
        w->put(CallRow{w->next(Kind::Call), run, ++calls, id, compiles ? "compile" : "hit", from, ns});
        start.push_back(from - kStart), duration.push_back(ns), entity.push_back(id);
      }
      beside.push_back(at - kStart + call + kStep / 5), beside_for.push_back(kStep / 4);
      at += call + 4 * kStep / 5;
    }
    lane(1, "call", start, duration, entity, "compile 0/0");
    lane(2, "range", beside, beside_for, {}, "optimizer step");
    if (eager) eager_side(start);
    w->finish("finished");
    w.reset();
    session = kit::SessionData::load(path).value();
  }

  // A launch in each call, and above the seventh step what it replaced: eager's takes twice as long.
  void eager_side(const std::vector<int64_t>& calls) {
    std::vector<int64_t> start;
    for (size_t i = 0; i < calls.size(); i += 2) start.push_back(calls[i]);
    lane(3, "launch", start, std::vector<int64_t>(start.size(), kStep / 10),
         std::vector<int64_t>(start.size(), kLaunch), "K0 gelu");
    lane(4, "range", {start[kShown] + kStep}, {kStep / 2}, {}, "optimizer step", "eager");
    lane(5, "thread", {start[kShown] + kStep / 10, start[kShown] + kStep}, {kStep / 5, kStep}, {kNode, 0},
         "gelu", "eager", {kLaunch, 0});
    for (const auto& [side, ns] : {std::pair("eager", 2.0 * kStep), std::pair("compiled", 1.0 * kStep)}) {
      MeasurementRow row;
      row.run = run, row.kind = "step", row.side = side, row.calls = 5;
      row.lower_ns = row.median_ns = row.upper_ns = ns;
      w->put(row);
    }
  }

  Id compilation(Id segment, const char* label, int64_t start, int64_t times) {
    CompilationRow row;
    row.id = w->next(Kind::Compilation), row.segment = segment, row.label = label, row.status = "ok";
    row.start_ns = start, row.duration_ns = kCompile / 2, row.calls = times;
    w->put(row);
    w->put(StageRow{row.id, "captured", "ok", "", 4, start, kCompile / 4});
    w->put(StageRow{row.id, "optimised", "ok", "", 4, start + kCompile / 4, kCompile / 8});
    return row.id;
  }
  template <class V>
  BlobRef blob(const V& values) {
    return w->blob({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  }
  void lane(int64_t id, const char* kind, const std::vector<int64_t>& start,
            const std::vector<int64_t>& duration, const std::vector<int64_t>& entity, const char* name,
            const char* side = "compiled", const std::vector<int64_t>& relation = {}) {
    LaneRow row;
    row.id = id, row.run = run, row.side = side, row.kind = kind, row.label = kind, row.ordinal = id;
    row.count = static_cast<int64_t>(start.size()), row.start = blob(start), row.duration = blob(duration);
    row.name = blob(std::vector<int32_t>(start.size(), static_cast<int32_t>(w->name(name, "opaque"))));
    if (!entity.empty()) row.entity = blob(entity);
    if (!relation.empty()) row.relation = blob(relation);
    w->put(row);
  }

  QTemporaryDir folder;
  std::unique_ptr<Writer> w;
  kit::SessionPtr session;
  Id run = 0;
  int64_t calls = 0;
};

}  // namespace

class TestScripts : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    training_ = std::make_unique<Training>();
    timeline_ = views::load_timeline(*training_->session, training_->run);
  }

  void stepsAreFoundAndNumbered() {
    QCOMPARE(timeline_->steps.size(), size_t{kSteps});
    for (size_t i = 0; i < kSteps; ++i) QCOMPARE(timeline_->steps[i].compiles, i == 0 || i == 4);
    const TimelineLane& lane = timeline_->lanes.front();
    QCOMPARE(lane.label, QStringLiteral("steps"));
    QCOMPARE(views::slice_name(*training_->session, lane.slices[6]), QStringLiteral("7"));
    QCOMPARE(views::steps_text(*timeline_).section(';', 0, 0), QStringLiteral("10 steps, 2 of them compile"));
  }

  // What was compiled, and when, has a lane: a stage is a slice of its compilation.
  void compilingIsALane() {
    const TimelineLane& lane = timeline_->lanes[1];
    QCOMPARE(lane.label, QStringLiteral("compiling"));
    QCOMPARE(lane.slices.size(), size_t{6});
    QCOMPARE(views::slice_name(*training_->session, lane.slices[0]), QStringLiteral("Captured"));
    QCOMPARE(kind_of(lane.slices[0].entity), Kind::Compilation);
  }

  void aStepTellsWhatItWasSpentOn() {
    const QString text = views::step_text(*training_->session, *timeline_, 6);
    for (const char* words : {"compiled code", "optimizer step", "else"})
      QVERIFY2(text.contains(words), qPrintable(text));
    QVERIFY(!text.contains("compiles"));
    QVERIFY(views::step_text(*training_->session, *timeline_, 0).contains("it compiles"));
  }

  // A range around all of it is told of what is not compiled code: the parts add up.
  void aRangeAroundCompiledCodeIsNotCountedTwice() {
    views::Timeline wide = *timeline_;
    const views::ScriptStep step = wide.steps[6];
    for (TimelineLane& lane : wide.lanes)
      if (lane.kind == TimelineLane::Kind::Range) {
        lane.slices.resize(1);
        lane.slices[0].start = step.start, lane.slices[0].duration = step.end - step.start;
      }
    const QString text = views::step_text(*training_->session, wide, 6).replace(QChar(0x202f), ' ');
    QCOMPARE(text, QStringLiteral("1.00 ms: 600 µs optimizer step, 400 µs compiled code"));
  }

  void itOpensAtASteadyStepAndZShowsAll() {
    const int steady = views::steady_step(*timeline_);
    QVERIFY(steady > 0 && steady != 4 && steady != kSteps - 1);
    Rig<views::TimelineView> rig(training_->session, "timeline", {900, 300});
    rig.settle();
    const views::ScriptStep& step = timeline_->steps[static_cast<size_t>(steady)];
    const views::TimeWindow seen = rig.view.window_of_time();
    QVERIFY(seen.x(step.start) > seen.left && seen.x(step.end) < 900);
    QVERIFY(seen.x(timeline_->end_ns) > 900);
    rig.view.resize(700, 300);
    rig.settle();
    QVERIFY(rig.view.window_of_time().x(step.end) < 700);  // it still is that step
    rig.view.zoom(kit::Zoom::Fit);
    QVERIFY(rig.view.window_of_time().x(timeline_->end_ns) < 700);
  }

  // A step whose sizes are the first that are put into the program of expressions waits for its compilation.
  void aStepThatCompilesForItsSizesIsNotSteady() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("sizes.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "sizes.py", "script", "", "cpu", "default", "finished"};
    const Id compilation = fixture::bareCompilation(*w, run);
    for (int i = 0; i < 3; ++i)
      w->put(InstanceRow{compilation, i + 1, "s0 = " + std::to_string(i), i ? "instantiated" : "compiled"});
    std::vector<int64_t> start, duration, entity;
    for (int i = 0; i < 3; ++i) {
      start.push_back(i * kStep), duration.push_back(kStep / 2), entity.push_back(compilation);
      w->put(CallRow{w->next(Kind::Call), run.id, i, compilation, i ? "sizes" : "compile",
                     kStart + start.back(), kStep / 2, i + 1});
    }
    LaneRow row;
    auto blob = [&](const std::vector<int64_t>& values) {
      return w->blob({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
    };
    row.id = 1, row.run = run.id, row.side = "compiled", row.kind = row.label = "call", row.count = 3;
    row.start = blob(start), row.duration = blob(duration), row.entity = blob(entity);
    w->put(row);
    w->finish("finished");
    w.reset();
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    const views::TimelinePtr t = views::load_timeline(*data, run.id);
    QCOMPARE(t->steps.size(), size_t(3));
    QVERIFY(t->steps[1].compiles && !t->steps[2].compiles);
    QCOMPARE(views::steady_step(*t), 2);  // there is no other
    QCOMPARE(views::steps_text(*t), QStringLiteral("3 steps, 2 of them compile"));
  }

  // The launch of a kernel is in every call: what is made active leads to none but a steady one.
  void whatIsActiveStaysAtTheSteadyStep() {
    const Training both(true);
    const views::TimelinePtr t = views::load_timeline(*both.session, both.run);
    const views::ScriptStep& step = t->steps[static_cast<size_t>(views::steady_step(*t))];
    Rig<views::TimelineView> rig(both.session, "timeline", {900, 300});
    rig.settle();
    const int64_t from = rig.view.window_of_time().from;
    rig.view.reveal(kLaunch);
    QCOMPARE(rig.view.window_of_time().from, from);            // it is in sight
    for (int i = 0; i < 200; ++i) rig.view.act("time.right");  // past all of them
    rig.view.reveal(kLaunch);
    const views::TimeWindow seen = rig.view.window_of_time();
    QVERIFY(seen.x(step.start) < 900 && seen.x(step.end) > seen.left);
  }

  // Eager's lanes are one step's: they face the compiled step of the same number, at which the view opens.
  void theEagerStepStandsAboveTheCompiledOneOfItsNumber() {
    const Training both(true);
    const views::TimelinePtr t = views::load_timeline(*both.session, both.run);
    QVERIFY(t->script && !t->misses_eager() && timeline_->misses_eager());
    QStringList labels;
    for (const TimelineLane& lane : t->lanes) labels << lane.label;
    QCOMPARE(labels, QStringList({"steps", "compiling", "range", "thread", "launch", "call", "range"}));
    QCOMPARE(t->facing_eager, 3);
    QCOMPARE(t->facing_compiled, 4);
    QCOMPARE(views::steady_step(*t), static_cast<int>(kShown));
    QCOMPARE(t->ribbons.size(), size_t{1});
    QCOMPARE(t->ribbons[0].compiled, kShown);
    QCOMPARE(views::both_text(*t).replace(QChar(0x202f), ' '),
             QStringLiteral("a step: eager 2.00 ms, compiled 1.00 ms, 2.00×"));
    QVERIFY(views::both_text(*timeline_).isEmpty());
    Rig<views::TimelineView> rig(both.session, "timeline", {900, 300});
    rig.settle();
    const views::TimeWindow seen = rig.view.window_of_time();
    QVERIFY(seen.x(t->steps[kShown].start) > seen.left && seen.x(views::eager_step(*t).end) < 900);
    QVERIFY2(rig.view.subtitle().contains("a step: eager"), qPrintable(rig.view.subtitle()));
  }

  // What a step takes on both sides is the run's result, as a call's time is that of a model.
  void theInspectorHasTheStepsOfBothSides() {
    const Training both(true);
    Rig<views::InspectorView> rig(both.session, "", {320, 700});
    const QString text = rig.view.copy(kit::CopyAs::Text).replace(QChar(0x202f), ' ');
    for (const char* row : {"a step 2.00×", "eager 2.00 ms", "compiled 1.00 ms", "steps 5 a side"})
      QVERIFY2(text.contains(QString::fromUtf8(row)), qPrintable(text));
    Rig<views::InspectorView> alone(training_->session, "", {320, 700});
    QVERIFY(!alone.view.copy(kit::CopyAs::Text).contains("a step"));
  }

 private:
  std::unique_ptr<Training> training_;
  views::TimelinePtr timeline_;
};

QTEST_MAIN(TestScripts)
#include "tst_scripts.moc"
