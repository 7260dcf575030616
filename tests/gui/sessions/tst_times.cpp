// What every view says beside times: of how many calls they are, which call is shown, what makes them
// doubtful, and which compilation of a run they are of. The session is of one call that was profiled far from
// the median on a busy machine, and of a run with three compilations of which not every call is kept.
#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector_content.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/run_times.h"
#include "views/problems/problems_items.h"
#include "views/roofline/roofline_view.h"
#include "views/runs/runs_items.h"
#include "views/tables/tables.h"
#include "views/timeline/range_view.h"
#include "views/timeline/speedup_view.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using namespace vitrine::session;
using fixture::Rig;

namespace {

MeasurementRow measurement(Id run, const char* kind, const char* side, int64_t calls, double ns) {
  MeasurementRow row;
  row.run = run, row.kind = kind, row.side = side, row.calls = calls;
  row.least_ns = 0.5 * ns, row.lower_ns = 0.9 * ns, row.median_ns = ns, row.upper_ns = 1.6 * ns,
  row.most_ns = 3 * ns;
  row.cores = 2, row.threads = 2, row.wall_ns = 1'000'000'000;
  row.others = 1.8, row.waited = 0.3, row.steal = 0, row.load = 4, row.preempted = 300;
  return row;
}

struct Measured {
  explicit Measured(int rounds) {
    const std::string path = folder.filePath("times.vitrine").toStdString();
    w = Writer::create(path).take();
    RunRow run{w->next(Kind::Run), "model.py", "model(*inputs)", "f32[8]", "cpu", "default", "finished"};
    run.eager_ns = 2e6, run.compiled_ns = 1e6;
    id = run.id;
    w->put(run);
    for (int i = 0; i < rounds; ++i) {
      w->put(TimingRow{id, "eager", i, 2'000'000 + i});
      w->put(TimingRow{id, "compiled", i, 1'000'000 + i});
    }
    for (const char* side : {"eager", "compiled"}) {
      const double ns = std::string(side) == "eager" ? 2e6 : 1e6;
      w->put(measurement(id, "plain", side, rounds, ns));
      MeasurementRow shown = measurement(id, "profiled", side, 25, 2 * ns);
      shown.kept = 3, shown.kept_ns = 1.7 * ns;
      w->put(shown);
    }
    compilations();
    CeilingRow copy{id, "copy", "f32", 1e9, "128 MiB", 2, "measured", "", 0, 1'000'000};
    w->put(copy);
    w->put(CeilingRow{id, "product", "f32", 1e12, "768", 2, "measured", "", 0, 1'000'000});
    lane("eager", "thread", {{0, 1'500'000}});
    lane("compiled", "launch", {{0, 400'000}});
    w->finish("finished");
    w.reset();
    auto loaded = kit::SessionData::load(path);
    if (!loaded) qFatal("%s", loaded.error().what.c_str());
    session = loaded.value();
  }

  // Three of one place, the first with a kernel over data in cache and one over 100 MB.
  void compilations() {
    const Id file = w->next(Kind::File), code = w->next(Kind::Code), frame = w->next(Kind::Frame),
             segment = w->next(Kind::Segment);
    w->put(FileRow{file, "/home/user/model.py", "", {}, 1});
    w->put(CodeRow{code, file, "f", 1, 4});
    w->put(FrameRow{frame, id, code, "captured", ""});
    w->put(SegmentRow{segment, frame});
    for (int i = 0; i < 3; ++i) {
      CompilationRow row;
      row.id = w->next(Kind::Compilation), row.segment = segment, row.ordinal = i;
      row.label = "0/" + std::to_string(i), row.status = "ok", row.calls = i ? 1 : 20'000;
      row.duration_ns = 100'000'000;
      if (!i) first = row.id;
      w->put(row);
      for (int c = 0; c < (i ? 1 : 64); ++c)
        w->put(CallRow{w->next(Kind::Call), id, c, row.id, "hit", 0, 1000});
    }
    kernel("K0", "add", 400'000, 100'000);
    big = kernel("K1", "copy_all", 100'000'000, 20'000'000);
    const Id graph = w->next(Kind::Graph);
    w->put(GraphRow{graph, first, "fused", "", "", 0, 1});
    NodeRow node;
    node.id = w->next(Kind::Node), node.graph = graph, node.kind = "op", node.name = "add",
    node.family = "pointwise";
    node.group_label = "K0";
    w->put(node);
  }

  Id kernel(const char* label, const char* name, int64_t bytes, double ns) {
    KernelRow k;
    k.id = w->next(Kind::Kernel), k.compilation = first, k.label = label, k.name = name;
    k.kind = "generated", k.family = "pointwise", k.bytes = bytes, k.flops = bytes / 4;
    w->put(k);
    LaunchRow l;
    l.id = w->next(Kind::Launch), l.compilation = first, l.kind = "kernel", l.kernel = k.id;
    l.text = std::string(label) + " " + name;
    l.median_ns = ns, l.calls = 25, l.lower_ns = 0.8 * ns, l.upper_ns = 1.9 * ns;
    w->put(l);
    return k.id;
  }

  void lane(const char* side, const char* kind, std::vector<std::pair<int64_t, int64_t>> slices) {
    auto blob = [&](auto values) {
      return w->blob({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
    };
    std::vector<int64_t> start, duration;
    for (const auto& [at, ns] : slices) start.push_back(at), duration.push_back(ns);
    LaneRow row;
    row.id = ++lanes, row.run = id, row.side = side, row.kind = kind, row.ordinal = lanes;
    row.count = static_cast<int64_t>(slices.size());
    row.start = blob(start), row.duration = blob(duration);
    row.name = blob(std::vector<int32_t>(slices.size(), static_cast<int32_t>(w->name("add", "pointwise"))));
    w->put(row);
  }

  QTemporaryDir folder;
  std::unique_ptr<Writer> w;
  kit::SessionPtr session;
  Id id = 0, first = 0, big = 0;
  int64_t lanes = 0;
};

// A script whose first compilation had 20,000 calls, of which one is kept, and the second one call.
struct Scripted {
  Scripted() {
    const std::string path = folder.filePath("script.vitrine").toStdString();
    auto w = Writer::create(path).take();
    run = w->next(Kind::Run);
    w->put(RunRow{run, "a.py", "script", "", "cpu", "default", "finished"});
    const Id code = w->next(Kind::Code), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
    w->put(CodeRow{code, 0, "f", 1, 4});
    w->put(FrameRow{frame, run, code, "captured", ""});
    w->put(SegmentRow{segment, frame});
    std::vector<int64_t> entity;
    LaunchRow launch;
    launch.id = w->next(Kind::Launch), launch.kind = "kernel", launch.median_ns = 500, launch.calls = 1;
    for (int i = 0; i < 2; ++i) {
      CompilationRow row;
      row.id = w->next(Kind::Compilation), row.label = std::to_string(i) + "/0", row.status = "ok";
      row.segment = segment, row.calls = i ? 1 : 20'000;
      w->put(row);
      w->put(CallRow{w->next(Kind::Call), run, i, row.id, "hit", i * 9'000, 1'000});
      entity.push_back(row.id);
    }
    auto blob = [&](const auto& values) {
      return w->blob({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
    };
    const std::vector<int64_t> start{0, 9'000}, duration{1'000, 1'000};
    for (const char* kind : {"call", "launch"}) {
      LaneRow row;
      row.id = std::string(kind) == "call" ? 1 : 2, row.run = run, row.side = "compiled", row.kind = kind;
      row.ordinal = row.id, row.count = 2, row.start = blob(start), row.duration = blob(duration);
      row.name = blob(std::vector<int32_t>(2, static_cast<int32_t>(w->name("add", "pointwise"))));
      if (row.id == 1) row.entity = blob(entity);
      w->put(row);
    }
    launch.compilation = entity[0];
    w->put(launch);
    w->finish("finished");
    w.reset();
    session = kit::SessionData::load(path).value();
  }
  QTemporaryDir folder;
  kit::SessionPtr session;
  Id run = 0;
};

QString plain(QString text) {
  return text.replace(QChar(0x202F), ' ');
}

QString inspected(const Measured& of, Id active) {
  kit::Selection selection;
  selection.film.compilation = of.first;
  selection.active = active;
  QStringList out;
  for (const auto& section : views::inspect(*of.session, selection).sections) {
    out << section.title;
    for (const auto& row : section.rows) out << row.key + ' ' + row.value + ' ' + row.note;
  }
  return plain(out.join('\n'));
}

const char* const kBusy = "The machine was busy: other processes kept 1.8 of 2 CPUs";
const char* const kFar = "this call took 1.70× of the median of 20";

}  // namespace

#define SAYS(text, words) QVERIFY2(plain(text).contains(QString::fromUtf8(words)), qPrintable(plain(text)))

class TestTimes : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    many_ = std::make_unique<Measured>(20);
    few_ = std::make_unique<Measured>(3);
  }

  void aSpeedUpOfThreeCallsIsNotTold() {
    const Measured& few = *few_;
    QCOMPARE(few.session->damage, std::string());
    const auto items = views::runItems(*few.session);
    QCOMPARE(items[0].cells[1].text, QStringLiteral("not measured"));
    SAYS(inspected(few, 0), "speed-up not measured: 3 calls");
    SAYS(inspected(few, few.id), "speed-up not measured: 3 calls");
    QVERIFY(!inspected(few, 0).contains("2.00×"));
    Rig<views::SpeedupView> speed_up(few.session, "", {600, 300});
    SAYS(speed_up.view.subtitle(), "not measured: 3 calls");
    Rig<views::TimelineView> timeline(few.session, "timeline", {900, 300});
    SAYS(views::end_words(*timeline.view.timeline(), views::TimelineLane::Side::Compiled),
         "not measured: 3 calls");
  }

  void aSpeedUpHasItsIntervalAndCalls() {
    QCOMPARE(views::runItems(*many_->session)[0].cells[1].text, QStringLiteral("2.00×"));
    SAYS(inspected(*many_, 0), "speed-up 2.00× 2.00 to 2.00×");
    SAYS(inspected(*many_, 0), "eager 2.00 ms 1.80 to 3.20 ms");
    SAYS(inspected(*many_, 0), "calls 20 a side");
  }

  void everyViewOfTimesSaysThatTheMachineWasBusy() {
    const Measured& m = *many_;
    const auto run = views::runItems(*m.session)[0].cells[0];
    SAYS(run.below, "busy machine");
    SAYS(run.tooltip, kBusy);
    SAYS(inspected(m, 0), kBusy);
    SAYS(inspected(m, m.big), "busy machine");
    QString problems, details;
    for (const kit::Item& item : views::problemItems(*m.session)) {
      for (const kit::Cell& cell : item.cells) problems += cell.text + ' ';
      details += item.detail + ' ';
    }
    SAYS(problems, "busy machine");
    SAYS(details, kBusy);
    for (const views::TableSpec* spec :
         {&views::kKernelsTable, &views::kLaunchesTable, &views::kBecameTable}) {
      Rig<views::TableView> rig(m.session, "", {900, 300}, *spec);
      SAYS(rig.view.subtitle(), "busy machine");
      SAYS(rig.view.subtitle(), "one of 25 profiled calls");
      SAYS(rig.view.subtitle(), kFar);
      SAYS(rig.view.subtitle(), "compilation 0/0 of 3");
    }
    Rig<views::TimelineView> timeline(m.session, "timeline", {900, 300});
    SAYS(timeline.view.subtitle(), "busy machine");
    SAYS(timeline.view.subtitle(), kFar);
    SAYS(views::end_words(*timeline.view.timeline(), views::TimelineLane::Side::Eager),
         "profiled: 3.40 ms, 1.70× of the median");
    Rig<views::RooflineView> roofline(m.session, "", {600, 300});
    SAYS(roofline.view.subtitle(), "busy machine");
    Rig<views::SpeedupView> speed_up(m.session, "", {600, 300});
    SAYS(speed_up.view.subtitle(), "busy machine");
    Rig<views::RangeView> range(m.session, "", {600, 300});
    SAYS(range.view.subtitle(), "busy machine");
    Rig<views::GraphView> graph(m.session, "fused", {600, 300});
    SAYS(graph.view.subtitle(), "busy machine");  // beside the times of groups
    QVERIFY(!graph.view.subtitle().contains("profiled calls"));
    graph.view.colourBy(views::Colour::Time);
    SAYS(graph.view.subtitle(), "one of 25 profiled calls");
  }

  void launchesHaveWhatHalfOfTheirCallsTook() {
    Rig<views::TableView> launches(many_->session, "", {900, 300}, views::kLaunchesTable);
    SAYS(launches.view.items()->items()->lines().join('\n'), "80 to 190 µs");
    Rig<views::TableView> kernels(many_->session, "", {900, 300}, views::kKernelsTable);
    SAYS(kernels.view.items()->items()->lines().join('\n'), "16.0 to 38.0 ms");
  }

  // The tree has times of three kinds below each other, and the graph sums of launches: each says which.
  void addedTimesSayWhatTheyAre() {
    const kit::Item run = views::runItems(*many_->session)[0];
    const kit::Item& frame = run.children.at(0);
    QCOMPARE(plain(frame.cells[1].text), QStringLiteral("compile 300 ms"));
    const kit::Item& compilation = frame.children.at(0);
    QVERIFY2(plain(compilation.cells[1].text).endsWith(" ms"), qPrintable(compilation.cells[1].text));
    SAYS(compilation.cells[1].tooltip, "the launches of a call, added: one of 25 profiled calls");
    const kit::Item& kernel = compilation.children.at(0);
    SAYS(kernel.cells[1].tooltip, "half of 25 calls: 80 to 190 µs");
    Rig<views::GraphView> graph(many_->session, "fused", {600, 300});
    SAYS(graph.view.subtitle(), "times: launches of a call, added");
  }

  void ceilingsThatWereTooLowAndDataInCacheAreTold() {
    Rig<views::TableView> kernels(many_->session, "", {900, 300}, views::kKernelsTable);
    const QString lines = kernels.view.items()->items()->lines().join('\n');
    SAYS(lines, "in cache");  // 4 GB/s of a copy's 1
    SAYS(lines, "100 %");     // 5 GB/s over 100 MB: the ceiling was too low
    Rig<views::RooflineView> roofline(many_->session, "", {600, 300});
    SAYS(roofline.view.subtitle(), "copy was measured too low: K1 reaches 5.00× of it and stands for it.");
  }

  // 64 of the first compilation's 20,000 calls are kept: what comes behind them is no gap and has no number.
  void callsThatAreNotKeptAreNotClaimedAway() {
    views::CallStrip strip;
    strip.setScope(many_->session.get(), many_->id, many_->first);
    QVERIFY(!strip.blocks().empty());
    for (const auto& block : strip.blocks())
      QVERIFY2(block.words().startsWith("kept call"), qPrintable(block.words()));
    Scripted script;
    const views::TimelinePtr t = views::load_timeline(*script.session, script.run);
    QVERIFY(t->script && t->hides_calls(5'000) && !t->hides_calls(1'000));
    QCOMPARE(kit::launchTimesText(*script.session, script.session->launches.begin()->compilation),
             QStringLiteral("medians of 1 kept call"));
    const views::RangeTotals all = views::totals_of(*script.session, *t, {});
    QVERIFY(all.compiled.known && !all.compiled.all_kept);
    QVERIFY(views::totals_of(*script.session, *t, {0, 1'000}).compiled.all_kept);
    Rig<views::RangeView> range(script.session, "", {600, 300});
    SAYS(range.view.subtitle(), "2 of 20001 calls kept");
    for (const auto& row : range.view.rows())
      if (row.title.startsWith("idle") || row.title.startsWith("longest gap"))
        QCOMPARE(row.compiled, kit::unknown());
  }

  void whatIsOfOneCompilationSaysOfWhich() {
    const QString text = inspected(*many_, 0);
    SAYS(text, "Compilation 0/0 of 3");
    SAYS(text, "Where the time goes in 0/0 of 3");
    SAYS(text, "compiling 300 ms 3 compilations");
    SAYS(text, "66 of 20002 calls kept");
    SAYS(views::runItems(*many_->session)[0].cells[0].below, "66 of 20002 calls kept");
    QCOMPARE(kit::whichOf(*many_->session, many_->first), QStringLiteral("0/0 of 3"));
  }

 private:
  std::unique_ptr<Measured> many_, few_;
};

QTEST_MAIN(TestTimes)
#include "tst_times.moc"
