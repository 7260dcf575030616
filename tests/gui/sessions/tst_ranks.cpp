// Ranks of one program: their sessions become one, in which each rank has a lane, and a lane says how far
// apart they are; what was compiled otherwise stands among the problems.
#include "core/session/ranks/ranks.h"
#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/problems/problems_view.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using namespace session;
using fixture::Rig;
using views::TimelineLane;

namespace {

constexpr int kCalls = 5;
constexpr int64_t kBegin = 1'000'000, kCall = 2'000'000, kStep = 10'000'000, kLate = 3'000'000;

// A process of rank `number`, which begins each call so much later; `guard` is what it was compiled for.
QString record(const QTemporaryDir& folder, int number, int64_t late, const std::string& guard) {
  const QString path = folder.filePath(QStringLiteral("run.r%1.vitrine").arg(number));
  auto w = Writer::create(path.toStdString()).take();
  w->meta("rank", std::to_string(number));
  w->meta("world_size", "2"), w->meta("file", "train.py"), w->meta("clock", "of this machine");
  w->meta("started_monotonic_ns", std::to_string(50'000'000 + late));
  const Id run = w->next(Kind::Run), code = w->next(Kind::Code), frame = w->next(Kind::Frame);
  const Id segment = w->next(Kind::Segment), compilation = w->next(Kind::Compilation);
  w->put(RunRow{run, "train.py", "script", "", "cpu", "default", "finished"});
  w->put(CodeRow{code, 0, "Net.forward", 1, 4});
  w->put(FrameRow{frame, run, code, "captured", ""});
  w->put(SegmentRow{segment, frame});
  CompilationRow row;
  row.id = compilation, row.segment = segment, row.label = "0/0", row.status = "ok", row.calls = kCalls;
  w->put(row);
  GuardRow g;
  g.id = w->next(Kind::Guard), g.compilation = compilation, g.source = "G['rank']", g.root = "G['rank']";
  g.kind = "is", g.expected = guard;
  w->put(g);
  if (number > 0) {
    BreakRow b;
    b.id = w->next(Kind::Break), b.compilation = compilation, b.kind = "print", b.expression = "print(x)";
    w->put(b);
  }
  std::vector<int64_t> start, duration(kCalls, kCall), entity(kCalls, compilation);
  for (int i = 0; i < kCalls; ++i) {
    start.push_back(i * kStep);
    w->put(
        CallRow{w->next(Kind::Call), run, i, compilation, i ? "hit" : "compile", kBegin + i * kStep, kCall});
  }
  LaneRow lane;
  lane.id = 1, lane.run = run, lane.side = "compiled", lane.kind = "call", lane.label = "calls";
  lane.count = kCalls, lane.start = w->column(start), lane.duration = w->column(duration);
  lane.name = w->column(std::vector<int32_t>(kCalls, static_cast<int32_t>(w->name("0/0", "opaque"))));
  lane.entity = w->column(entity);
  w->put(lane);
  w->finish("finished");
  return path;
}

}  // namespace

class TestRanks : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    paths_ = {record(folder_, 1, kLate, "1").toStdString(), record(folder_, 0, 0, "0").toStdString()};
    merged_ = folder_.filePath("run.ranks.vitrine").toStdString();
    QCOMPARE(merged_name(paths_[1]), merged_);
    const Status failed = write_merged(paths_, merged_);
    QVERIFY2(!failed, failed ? failed->what.c_str() : "");
    session_ = kit::SessionData::load(merged_).value();
  }

  void sessionsOfOneProgramBelongTogether() {
    QVERIFY(are_ranks(paths_));
    QVERIFY(!are_ranks({paths_[0]}));
    QVERIFY(!are_ranks({paths_[0], paths_[0]}));
  }

  void eachRankHasALaneOnOneClock() {
    Rig<views::TimelineView> rig(session_, "timeline", {1100, 320});
    std::vector<const TimelineLane*> lanes;
    for (const TimelineLane& lane : rig.view.timeline()->lanes)
      if (lane.kind == TimelineLane::Kind::Rank) lanes.push_back(&lane);
    QCOMPARE(lanes.size(), size_t(3));
    QCOMPARE(lanes[0]->label, QStringLiteral("rank 0"));
    QCOMPARE(lanes[1]->label, QStringLiteral("rank 1"));
    QCOMPARE(lanes[2]->label, QStringLiteral("skew"));
    for (size_t i = 0; i < kCalls; ++i) {
      QCOMPARE(lanes[0]->slices[i].start, int64_t(i) * kStep);
      QCOMPARE(lanes[1]->slices[i].start, int64_t(i) * kStep + kLate);
      QCOMPARE(lanes[2]->slices[i].start, int64_t(i) * kStep);
      QCOMPARE(lanes[2]->slices[i].duration, kLate);
    }
    QCOMPARE(views::slice_name(*session_, lanes[2]->slices[1]), QStringLiteral("rank 1 is last"));
    QCOMPARE(views::slice_name(*session_, lanes[1]->slices[1]), QStringLiteral("Net.forward 0/0"));
    // What rank 1 called is what rank 0 has of it: it can be selected.
    QVERIFY(lanes[1]->slices[1].entity != 0);
    QCOMPARE(lanes[1]->slices[1].entity, lanes[0]->slices[1].entity);
  }

  void whatWasCompiledOtherwiseIsAProblem() {
    Rig<views::ProblemsView> rig(session_, "", {900, 300});
    QCOMPARE(rig.view.find("rank 1 was compiled otherwise than rank 0: it has guard"), 1);
    QCOMPARE(rig.view.find("rank 1 was compiled otherwise than rank 0: it lacks guard"), 1);
    QCOMPARE(rig.view.find("rank 1 was compiled otherwise than rank 0: it has graph break print(x)"), 1);
  }

  void aTerminalIsToldTheSame() {
    const auto ranks = read_ranks(paths_);
    QVERIFY(ranks.ok() && ranks.value().one_clock);
    QCOMPARE(ranks.value().skews.size(), size_t(kCalls));
    const QString text = QString::fromStdString(ranks.value().text());
    QVERIFY2(text.contains("apart in the median of 4") && text.contains("rank 1 is last"), qPrintable(text));
    QVERIFY2(text.contains("rank 1 against rank 0: ") && text.contains("guard"), qPrintable(text));
  }

  void aPartIsNotOverwritten() {
    const Status failed = write_merged(paths_, paths_[0]);
    QVERIFY(failed && failed->what.find("one of its parts") != std::string::npos);
  }

 private:
  QTemporaryDir folder_;
  std::vector<std::string> paths_;
  std::string merged_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestRanks)
#include "tst_ranks.moc"
