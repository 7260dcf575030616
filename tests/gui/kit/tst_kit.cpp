// The kit's values and models: numbers, relatives, chain, labels, items, merged selection changes.
#include <QAbstractItemModelTester>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <functional>

#include "app/jobs/job_runner.h"
#include "app/shell/bars/run_status.h"
#include "core/session/writer.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector_content.h"
#include "views/kit/painting/facts.h"
#include "views/kit/painting/paint.h"
#include "views/kit/selection/chain.h"
#include "views/kit/selection/selection.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/types.h"
#include "views/kit/tables/item_delegate.h"
#include "views/kit/tables/item_view.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"
#include "views/problems/problems_items.h"
#include "views/runs/runs_items.h"

using namespace vitrine;

class TestKit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    const std::string path = folder_.filePath("a.vitrine").toStdString();
    ids_ = fixture::writeSession(path);
    auto loaded = kit::SessionData::load(path);
    QVERIFY(loaded.ok());
    session_ = loaded.take();
  }

  void numbersAreShortAndHonest() {
    const QString thin(QChar(0x202F));
    QCOMPARE(kit::timeText(13'190'000), "13.2" + thin + "ms");
    QCOMPARE(kit::timeText(350), "350" + thin + "ns");
    QCOMPARE(kit::timeText(999'700), "1.00" + thin + "ms");
    QCOMPARE(kit::bytesText(12'582'912), "12.6" + thin + "MB");
    QCOMPARE(kit::flopsText(818'198, 1e9), "818" + thin + "kFLOP/s");
    QCOMPARE(kit::rateText(25'165'824, 410'000), "61.4" + thin + "GB/s");
    QCOMPARE(kit::rateText(1, 0), kit::unknown());
    QCOMPARE(kit::ratioText(14.62 / 13.19), QStringLiteral("1.11×"));
    QCOMPARE(kit::percentText(0.005), "0.5" + thin + "%");
    QCOMPARE(kit::fixed(-0.001, 2), QStringLiteral("0.00"));
    QCOMPARE(kit::fixed(-1.43, 2), QChar(0x2212) + QStringLiteral("1.43"));
    const kit::MeasureUnit unit = kit::timeUnit(3'740'000);
    QCOMPARE(unit.name, QStringLiteral("ms"));
    QCOMPARE(unit.format(410'000), QStringLiteral("0.41"));
    QCOMPARE(unit.text(410'000), "0.41" + thin + "ms");
    QCOMPARE(unit.format(900), "900" + thin + "ns");  // something, and not nothing
    QCOMPARE(unit.text(900), "900" + thin + "ns");
    QCOMPARE(kit::rateUnit(61.4e9).format(12.3e6), "12.3" + thin + "MB/s");
    QCOMPARE(kit::rateUnit(61.4e9).format(1.23e9), QStringLiteral("1.2"));
    QCOMPARE(kit::bytesUnit(1.2e6).bound(1020), QStringLiteral("<0.01"));
    // Where it is known that a column has both, its unit serves both, as far as no number grows past four
    // digits before the point.
    kit::Extent rates;
    for (const double rate : {61.4e9, 0.0, 12.3e6, 636e3}) rates.add(rate);
    QCOMPARE(kit::rateUnit(rates).format(61.4e9), QStringLiteral("61.4"));
    QCOMPARE(kit::rateUnit(rates).format(636e3), "636" + thin + "kB/s");
    kit::Extent sizes;
    for (const double bytes : {50331.6e3, 0.4e3}) sizes.add(bytes);
    QCOMPARE(kit::bytesUnit(sizes).name, QStringLiteral("MB"));
    QCOMPARE(kit::bytesUnit(sizes).format(50331.6e3), QStringLiteral("50.3"));
    kit::Extent few;
    for (const double bytes : {9'400e3, 1.2e3}) few.add(bytes);
    QCOMPARE(kit::bytesUnit(few).name, QStringLiteral("kB"));
    kit::Extent close;
    for (const double rate : {104e9, 42.6e6}) close.add(rate);
    QCOMPARE(kit::rateUnit(close).format(104e9), QStringLiteral("104.000"));
    QCOMPARE(kit::rateUnit(close).format(42.6e6), QStringLiteral("0.043"));
    kit::Extent times;
    for (const double ns : {40.3e6, 24.3e3}) times.add(ns);
    QCOMPARE(kit::timeUnit(times).name, QStringLiteral("ms"));
    QCOMPARE(kit::timeUnit(times).format(24.3e3), QStringLiteral("0.024"));
    times.add(5.6e3);
    QCOMPARE(kit::timeUnit(times).name, QStringLiteral("ms"));  // 40300 µs would be too long a number
    QCOMPARE(kit::timeUnit(times).format(5.6e3), "5.60" + thin + "µs");
    times = {};
    for (const double ns : {4.03e6, 24.3e3, 5.6e3}) times.add(ns);
    QCOMPARE(kit::timeUnit(times).format(24.3e3), QStringLiteral("0.02"));
    QCOMPARE(kit::timeUnit(3'740'000).text(46'000), "46.0" + thin + "µs");  // not 0.04 ms
    QCOMPARE(kit::percentText(0.0002), "<0.1" + thin + "%");
    QCOMPARE(kit::percentText(0), "0" + thin + "%");
    QCOMPARE(unit.format(0), QStringLiteral("0.00"));
  }

  // Each with its unit: one unit for all, two digits of the smallest.
  void textsBelowEachOtherHaveOneUnit() {
    const QString thin(QChar(0x202F));
    kit::Extent runs;
    for (const double ns : {5.32e6, 90e3, 17.2e3}) runs.add(ns);
    QCOMPARE(kit::timeTextUnit(runs).text(5.32e6), "5.320" + thin + "ms");
    QCOMPARE(kit::timeTextUnit(runs).text(17.2e3), "0.017" + thin + "ms");
    runs.add(3.3e3);
    QCOMPARE(kit::timeTextUnit(runs).text(5.32e6), "5.320" + thin + "ms");
    QCOMPARE(kit::timeTextUnit(runs).text(3.3e3), "3.30" + thin + "µs");  // not four digits of the other
    kit::Extent
        kernels;  // far apart: what is one digit of milliseconds is told in its own unit, each of them
    for (const double ns : {15.684e6, 3.7e3}) kernels.add(ns);
    for (const auto& [ns, text] : {std::pair{6.2e3, "6.20"}, {8.5e3, "8.50"}})
      QCOMPARE(kit::timeTextUnit(kernels).text(ns), text + thin + "µs");
    QCOMPARE(kit::timeTextUnit(kernels).text(17.2e3), "0.017" + thin + "ms");
    QCOMPARE(kit::timeTextUnit(604e6).text(604e6), "604" + thin + "ms");
    QCOMPARE(kit::timeTextUnit({}).name, QStringLiteral("ms"));
  }

  void rowsOnTheClipboardAreReadAsTheyStand() {
    QCOMPARE(kit::separated({"a<b, c>", "2"}, false), QStringLiteral("a<b, c>\t2"));
    QCOMPARE(kit::separated({"a<b, c>", "x\ny", "\"k\"", "2"}, true),
             QStringLiteral("\"a<b, c>\",\"x\ny\",\"\"\"k\"\"\",2"));
    QCOMPARE(kit::pythonValue(QChar(0x2212) + QStringLiteral("1.5")), QStringLiteral("-1.5"));
    QCOMPARE(kit::pythonValue(kit::unknown()), QStringLiteral("None"));
    QCOMPARE(kit::pythonValue("07"), QStringLiteral("\"07\""));
    QCOMPARE(kit::pythonValue("a\\\"b"), QStringLiteral("\"a\\\\\\\"b\""));
  }

  // A number that is cut would be another number.
  void factsGoAsAWhole() {
    const QFont font = kit::theme().mono(11);
    const QString text = "K0 softmax  sm_90, 32 registers, 128 × 96 threads";
    auto width = [&](const QString& of) { return kit::textWidth(font, of); };
    QCOMPARE(kit::wholeFacts(text, font, width(text)), text);
    QCOMPARE(kit::wholeFacts(text, font, width(text) - 1), QString("K0 softmax  sm_90, 32 registers"));
    QCOMPARE(kit::wholeFacts(text, font, width("K0 softmax  sm")), QString("K0 softmax"));
    QCOMPARE(kit::wholeFacts("743 nodes", font, 10), QString("743 nodes"));
  }

  // An empty view offers the next act below its sentence, and only there.
  void anEmptyViewOffersTheNextAct() {
    fixture::Rig<views::GraphView> rig(kit::SessionPtr(), "captured", QSize(500, 300));
    QSignalSpy asked(&rig.view, &kit::View::commandRequested);
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(20, 18));  // the sentence
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(20, 200));
    QCOMPARE(asked.count(), 0);
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(20, 44));
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked[0][0].toString(), QStringLiteral("file.open"));
    // That a run which failed can be run again, the banner says, not each of the panes.
    kit::SessionData data;
    session::RunRow run;
    run.status = "failed";
    data.runs = kit::Table<session::RunRow>({run});
    QVERIFY(kit::nextAct(&data).command.isEmpty());
  }

  void anOptionIsNotCutAtItsHyphens() {
    QImage image(600, 200, QImage::Format_ARGB32_Premultiplied);
    QPainter painter(&image);
    const QString text = QStringLiteral("measured by --eager-too");
    const int width = kit::textWidth(kit::theme().ui(13), text) + 2 * kit::theme().padding() - 6;
    const QRect taken = kit::drawEmpty(painter, {0, 0, width, 200}, text);
    QVERIFY(taken.width() <= kit::textWidth(kit::theme().ui(13), QStringLiteral("measured by ")) + 2);
  }

  void timesBelowEachOtherHaveOneUnit() {
    QStringList times;
    std::function<void(const kit::Item&)> walk = [&](const kit::Item& item) {
      if (kind_of(item.id) == Kind::Kernel) times << item.cells[1].text;
      for (const kit::Item& child : item.children) walk(child);
    };
    for (const kit::Item& item : views::runItems(*session_)) walk(item);
    QVERIFY(times.size() >= 9);
    for (const QString& text : times) {
      QVERIFY2(text.endsWith("ms"), qPrintable(text));
      QCOMPARE(text.section('.', 1).size(), times[0].section('.', 1).size());
    }
  }

  void equalBreaksStandOnce() {
    using namespace session;
    kit::SessionData data;
    const Id run = make_id(Kind::Run, 1), frame = make_id(Kind::Frame, 1),
             place = make_id(Kind::Instruction, 7);
    std::vector<SegmentRow> segments;
    std::vector<CompilationRow> compilations;
    std::vector<BreakRow> breaks;
    for (int i = 1; i <= 2; ++i) segments.push_back({make_id(Kind::Segment, i), frame, i - 1});
    for (int i = 1; i <= 3; ++i) {
      compilations.push_back(
          {make_id(Kind::Compilation, i), segments[0].id, i - 1, "0/" + std::to_string(i - 1), "ok"});
      BreakRow row{make_id(Kind::Break, i), compilations.back().id, place};
      row.expression = "h.item()";
      breaks.push_back(row);
    }
    data.runs = kit::Table<RunRow>({RunRow{run, "a.py"}});
    data.frames = kit::Table<FrameRow>({FrameRow{frame, run, 0, "captured", ""}}, &FrameRow::run);
    data.segments = kit::Table<SegmentRow>(segments, &SegmentRow::frame);
    data.compilations = kit::Table<CompilationRow>(compilations, &CompilationRow::segment);
    data.breaks = kit::Table<BreakRow>(breaks, &BreakRow::compilation);
    kit::ItemModel model;
    model.setColumns({{"name"}, {"value"}});
    model.setItems(views::runItems(data));
    QCOMPARE(model.lines().filter("h.item()"), QStringList{"    h.item() × 3 | "});
  }

  // Relatives out of sight have a tick on the scroll bar.
  void aNumberBesideABarIsNotCut() {
    kit::ItemView view;
    view.resize(300, 120);
    view.setColumns({{"name", 80, false, true, true}, {"time, ms", 150, true, false, false, true}});
    auto row = [](Id id, const QString& number, double bar) {
      kit::Cell cell{number, bar};
      cell.bar = bar;
      return kit::Item{id, {{"K0"}, cell}, {}, {}, false, false};
    };
    view.setItems({row(1, "27.6", 1), row(2, "23.7 µs", 0.001)});
    QVERIFY(view.numberRoom(1) >= kit::textWidth(kit::theme().mono(12), "23.7 µs"));
    view.setItems({row(1, "27.6", 1)});
    QCOMPARE(view.numberRoom(1), kit::theme().px(44));  // short ones leave the bars their length
  }

  // A kernel that is twenty in one names all of them: it does not push the other columns out of the pane.
  void oneLongTextDoesNotTakeThePane() {
    kit::ItemView view;
    view.resize(700, 120);
    view.setColumns({{"kernel", 64, false, true, false, false, true}, {"name", 170, false, true, true}});
    auto row = [](Id id, const QString& label) { return kit::Item{id, {{label}, {"add"}}, {}, {}}; };
    view.setItems({row(1, "K1"), row(2, "K1+K12")});
    QVERIFY(view.columnWidth(0) > kit::textWidth(kit::theme().mono(12), "K1+K12"));
    view.setItems({row(1, "K1"), row(2, QString("K1+").repeated(20))});
    QCOMPARE(view.columnWidth(0), 2 * kit::theme().px(64));
  }

  // Rendered at the edge of a pane, a number and its title end 8 pixels before it.
  void theLastColumnKeepsItsDistance() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    kit::ItemView view;
    view.resize(300, 120);
    view.setColumns({{"name", 80, false, true, true}, {"B", 60, true}});
    view.setItems({kit::Item{1, {{"x"}, {"888"}}, {}, {}}});
    const QImage image = view.grab().toImage();
    const QColor ground = kit::theme().bg1;
    int last = 0;
    for (int y = 0; y < kit::theme().px(44); ++y)
      for (int x = image.width() / 2; x < image.width(); ++x)
        if (y != kit::theme().px(23) && image.pixelColor(x, y) != ground) last = std::max(last, x);
    QVERIFY2(last > 280 && last < image.width() - 7, qPrintable(QString::number(last)));
  }

  void aShapeIsWholeWhereStridesFindNoRoom() {
    QCOMPARE(kit::withoutStrides("f32[8,12,128,64]{294912,64,2304,1}@128"), QString("f32[8,12,128,64]"));
    QCOMPARE(kit::withoutStrides("f32[2]{2}, i64[3] cpu"), QString("f32[2], i64[3] cpu"));
  }

  void relativesAreTicksOnTheScrollBar() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    kit::ItemView view;
    view.setColumns({{"name", 200, false, true, true}});
    std::vector<kit::Item> rows;
    for (int i = 1; i <= 200; ++i) rows.push_back({make_id(Kind::Node, i), {{QString::number(i)}}});
    view.setItems(std::move(rows));
    kit::Selection selection;
    selection.active = make_id(Kind::Node, 150);
    auto relatives = std::make_shared<kit::Relatives>();
    relatives->of = selection.active;
    relatives->only = {make_id(Kind::Node, 20)};
    selection.relatives = relatives;
    view.setMarks(&selection);
    view.resize(300, 200);
    view.show();
    auto ticks = [&] {
      const QImage bar = view.verticalScrollBar()->grab().toImage();
      QList<int> out;
      for (int y = 0; y < bar.height(); ++y)
        if (bar.pixelColor(bar.width() / 2, y) == kit::theme().ring && (out.isEmpty() || y > out.last() + 2))
          out << y;
      return out;
    };
    const int height = view.verticalScrollBar()->height();
    const QList<int> at = ticks();
    QCOMPARE(at.size(), 2);
    QVERIFY(std::abs(at[0] - height / 10) <= 2 && std::abs(at[1] - height * 3 / 4) <= 3);
    selection.active = 0;
    selection.relatives = nullptr;
    QVERIFY(ticks().isEmpty());
  }

  void aModulesDictionariesAreItsAttributes() {
    QCOMPARE(
        kit::sourceText("L['self'].__dict__['_modules']['layer'].__dict__['_modules']['3'].__dict__['eps']"),
        QStringLiteral("L['self'].layer[3].eps"));
    QCOMPARE(kit::sourceText("L['self'].__dict__['_parameters']['weight']"),
             QStringLiteral("L['self'].weight"));
    QCOMPARE(kit::sourceText("L['self'].__dict__['_modules']"), QStringLiteral("L['self']._modules"));
    QCOMPARE(kit::sourceText("L['x'].__dict__['a b']"), QStringLiteral("L['x']['a b']"));
    QCOMPARE(kit::modulePart("L['self'].__dict__['_modules']['ln'].__dict__['eps']"),
             std::string("L['self'].__dict__['_modules']['ln']"));
  }

  void withoutAnActiveThingTheInspectorTellsOfTheRun() {
    kit::Selection none;
    none.film.compilation = ids_.compilation;
    const views::InspectorContent content = views::inspect(*session_, none);
    QCOMPARE(content.title, QStringLiteral("transformer_block.py"));
    QStringList titles;
    for (const auto& section : content.sections) titles << section.title;
    QVERIFY2(titles.contains("Result") && titles.contains("Where the time goes"),
             qPrintable(titles.join(';')));
    QCOMPARE(content.sections[0].rows[0].value, QStringLiteral("1.11×"));
    const auto& dearest = content.sections[1].rows;
    QVERIFY(!dearest.empty() && kind_of(dearest[0].id) == Kind::Kernel);
    QVERIFY2(dearest[0].value.contains("mm"), qPrintable(dearest[0].value));
  }

  void relativesReachFromPythonToLaunch() {
    const kit::Relatives r = kit::relativesOf(*session_, ids_.optimised_gelu);
    for (Id alone : {ids_.gelu_span, ids_.gelu_instruction, ids_.gelu_step, ids_.captured_gelu,
                     ids_.aten_gelu, ids_.loop_gelu, ids_.fused_gelu, ids_.k2_gelu_lines})
      QVERIFY2(r.only.contains(alone), qPrintable(session_->label(alone)));
    for (Id both : {ids_.k2, ids_.launch_k2})
      QVERIFY2(r.shared.contains(both), qPrintable(session_->label(both)));
    QVERIFY(!r.contains(ids_.optimised_add_2));
    QVERIFY(!r.contains(ids_.k2_add_lines));
  }

  void relativesReachFromKernelLineToPython() {
    const kit::Relatives r = kit::relativesOf(*session_, ids_.k2_gelu_lines);
    QVERIFY(r.contains(ids_.gelu_span));
    QVERIFY(r.contains(ids_.captured_gelu));
  }

  void decisionStandsForItsPair() {
    const kit::Relatives r = kit::relativesOf(*session_, ids_.fused_pair);
    const auto* pair = session_->decisions.find(ids_.fused_pair);
    QVERIFY(r.only.contains(pair->a) && r.only.contains(pair->b));
    QVERIFY(r.only.contains(ids_.k2));  // both of its loops are in the pair
  }

  void chainNamesEveryStage() {
    kit::Selection selection;
    selection.active = ids_.optimised_gelu;
    selection.relatives =
        std::make_shared<const kit::Relatives>(kit::relativesOf(*session_, selection.active));
    QStringList text;
    int rings = 0;
    for (const kit::ChainLink& link : kit::chainOf(*session_, selection)) {
      text << link.stage + " " + link.text;
      rings += link.ring;
    }
    QCOMPARE(rings, 1);
    QCOMPARE(text,
             (QStringList{"source 32:12 F.gelu(…)", "bytecode 196 CALL", "captured gelu", "ATen gelu",
                          "optimised gelu", "loop l7", "kernel " + session_->label(ids_.k2_gelu_lines),
                          "assembly 11 instr", "launch 7", "timeline 410" + QString(QChar(0x202F)) + "µs"}));
  }

  // Lines of which no instruction is known have their kernel and its launch in the chain all the same.
  // A run that is followed: what gets its first rows later opens then; what was closed by hand stays closed.
  void whatIsRecordedLaterOpensThen() {
    kit::ItemView view;
    view.setColumns({{"name"}});
    kit::Item frame{7, {{"forward"}}, {}, {}, false, true};
    view.setItems({frame});
    frame.children.push_back({8, {{"compile 0/0"}}, {}, {}, false, false});
    view.setItems({frame});
    QVERIFY(view.isExpanded(view.model()->index(0, 0)));
    view.setExpanded(view.model()->index(0, 0), false);
    frame.children.push_back({9, {{"compile 0/1"}}, {}, {}, false, false});
    view.setItems({frame});
    QVERIFY(!view.isExpanded(view.model()->index(0, 0)));
  }

  void everyKernelLineHasItsKernelInTheChain() {
    std::vector<session::KernelRangeRow> all;
    for (const session::KernelRow& kernel : session_->kernels)
      all.insert(all.end(), session_->ranges.of(kernel.id).begin(), session_->ranges.of(kernel.id).end());
    QVERIFY(!all.empty());
    for (const session::KernelRangeRow& lines : all) {
      kit::Selection selection;
      selection.active = lines.id;
      selection.relatives = std::make_shared<const kit::Relatives>(kit::relativesOf(*session_, lines.id));
      int rings = 0;
      QStringList stages;
      for (const kit::ChainLink& link : kit::chainOf(*session_, selection)) {
        rings += link.ring;
        stages << link.stage;
      }
      QCOMPARE(rings, 1);
      QVERIFY2(stages.contains("kernel") && stages.contains("launch"), qPrintable(stages.join(' ')));
    }
  }

  void runsTreeIsTheSession() {
    kit::ItemModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setColumns({{"name"}, {"value"}});
    model.setItems(views::runItems(*session_));
    const QStringList lines = model.lines();
    QCOMPARE(lines[0], QStringLiteral("transformer_block.py | 1.11×"));
    QVERIFY(lines.contains("      K2 add_gelu | " + kit::timeUnit(3.7e6).text(410e3)));
    QVERIFY(lines.filter("item()").size() == 1);
    QCOMPARE(model.idAt(model.indexOf(ids_.k2)), ids_.k2);
    model.setItems({});
    QCOMPARE(model.rowCount(), 0);
  }

  void problemsPutTheDearestFirst() {
    const auto items = views::problemItems(*session_);
    QVERIFY(items.size() >= 3);
    QCOMPARE(items[0].id, ids_.break_item);  // 0.34 ms a call
    QCOMPARE(items[1].id, ids_.break_branch);
    QVERIFY(items[1].detail.contains("clamp always"));
  }

  // What a loop says a hundred times is one problem; so is a value that is another one in each call.
  void equalProblemsStandOnce() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("many.vitrine").toStdString();
    {
      auto writer = session::Writer::create(path).take();
      for (int i = 0; i < 5; ++i)
        writer->put(session::MessageRow{writer->next(Kind::Message), 0, i, "warning", "vitrine",
                                        i == 3 ? "Another." : "New cases run eagerly."});
      for (int64_t i = 0; i < 3; ++i)
        writer->put(session::RecompilationRow{writer->next(Kind::Recompilation), 0, 0, 0, i + 2,
                                              "len(L['self'].__dict__['log']) == " + std::to_string(i),
                                              std::to_string(i), std::to_string(i + 1), "/a/train.py:9"});
      writer->finish("finished");
    }
    const auto items = views::problemItems(*kit::SessionData::load(path).value());
    QStringList texts;
    for (const kit::Item& item : items) texts << item.cells[1].text;
    QCOMPARE(texts, (QStringList{"New cases run eagerly. × 4", "Another.",
                                 "len(L['self'].log) changed 3 times, from 0 to 3 in the end"}));
    QCOMPARE(items[2].cells[2].text, QString("train.py:9"));
  }

  // Without problems a view says what was looked at; what nothing compared is not said to match.
  void noProblemsSaysWhatWasComparedAndMeasured() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("gpu.vitrine").toStdString();
    fixture::writeFusedCall(path);
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    // What makes its times doubtful is no problem of the program's, and all there is.
    const auto items = views::problemItems(*data);
    QCOMPARE(items.size(), size_t{1});
    QVERIFY2(items[0].cells[1].text.size() < 60, qPrintable(items[0].cells[1].text));
    QVERIFY2(items[0].detail.contains("of the call without a profile"), qPrintable(items[0].detail));
    const QString text = views::noProblems(*data);
    QVERIFY2(text.contains("Outputs were not compared") && text.contains("1 frame is"), qPrintable(text));
    QVERIFY2(!text.contains("match") && !text.contains("equal") && !text.contains("Times were not"),
             qPrintable(text));
    const views::InspectorContent about = views::inspect(*data, {});
    QStringList rows;
    for (const views::InspectorSection& section : about.sections)
      for (const views::InspectorRow& row : section.rows) rows << row.key + ' ' + row.value;
    QVERIFY2(rows.contains("outputs not compared"), qPrintable(rows.join('\n')));

    const std::string empty = folder.filePath("empty.vitrine").toStdString();
    {
      auto writer = session::Writer::create(empty).take();
      session::RunRow run;
      run.id = writer->next(Kind::Run);
      run.status = "died";
      writer->put(run);
      writer->finish("died");
    }
    const QString nothing = views::noProblems(*kit::SessionData::load(empty).value());
    QVERIFY2(nothing.contains("No frame was captured") && nothing.contains("the engine ended before it"),
             qPrintable(nothing));
  }

  // The film's line says so wherever there is room for one word.
  void aRunWhoseOutputsDifferIsNotJustFinished() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("differs.vitrine").toStdString();
    {
      auto w = session::Writer::create(path).take();
      const Id run = w->next(Kind::Run);
      w->put(session::RunRow{.id = run, .label = "a.py", .status = "finished"});
      w->put(session::AccuracyRow{.run = run, .output = "output[1]", .verdict = "differs"});
      w->finish("finished");
    }
    const app::RunStatus status = app::runStatus(*kit::SessionData::load(path).value(), 0);
    QCOMPARE(status.text, QStringLiteral("outputs differ"));
    QCOMPARE(status.tone, kit::Tone::Err);
    QVERIFY2(status.numbers.contains("output[1] differs from eager"), qPrintable(status.numbers));
    QCOMPARE(app::runStatus(*session_, session_->main).text, QStringLiteral("finished"));
  }

  // A run in which nothing was compiled has no times: none of them is doubtful.
  void whatWasNotTimedIsNotDoubted() {
    QTemporaryDir folder;
    for (const bool compiled : {false, true}) {
      const std::string path = folder.filePath(compiled ? "a.vitrine" : "b.vitrine").toStdString();
      {
        auto w = session::Writer::create(path).take();
        const Id run = w->next(Kind::Run), segment = w->next(Kind::Segment), frame = w->next(Kind::Frame);
        w->put(session::RunRow{.id = run, .label = "a.py", .status = "failed"});
        session::MeasurementRow busy;
        busy.run = run, busy.kind = "script", busy.side = "compiled", busy.calls = 1;
        busy.wall_ns = 4'000'000'000, busy.cores = 2, busy.others = 1.8, busy.waited = 0.9;
        w->put(busy);
        w->put(session::FrameRow{.id = frame, .run = run, .state = "captured"});
        w->put(session::SegmentRow{.id = segment, .frame = frame});
        if (compiled) w->put(session::CompilationRow{.id = w->next(Kind::Compilation), .segment = segment});
        w->finish("failed");
      }
      const auto items = views::problemItems(*kit::SessionData::load(path).value());
      bool doubted = false;
      for (const kit::Item& item : items) doubted = doubted || item.cells[0].text == "doubtful times";
      QCOMPARE(doubted, compiled);
    }
  }

  void aNumberAndItsUnitStandInOneLine() {
    const QString nbsp = QChar(QChar::Nbsp);
    QCOMPARE(kit::unitsKept("waited 59 % of the time, 1541 switches"),
             "waited 59" + nbsp + "% of the time, 1541 switches");
    QCOMPARE(kit::unitsKept("2 s, 1.5 GB/s and 3 ms-old"),
             "2" + nbsp + "s, 1.5" + nbsp + "GB/s and 3 ms-old");
    QCOMPARE(kit::unitsKept("<td width=\"5 %\">7 µs</td>"), "<td width=\"5 %\">7" + nbsp + "µs</td>");
    QCOMPARE(kit::wrappable("4 B by --eager-too"),
             "4" + nbsp + "B by -" + QChar(0x2060) + "-" + QChar(0x2060) + "eager-" + QChar(0x2060) + "too");
  }

  // What another tool did not write down did not happen for all that, and is no 0.
  void whatARecordLacksIsSaidAndIsNoNumber() {
    QTemporaryDir folder;
    auto recorded = [&](const char* name, bool compiled, int compilations = 1) {
      const std::string path = folder.filePath(name).toStdString();
      auto w = session::Writer::create(path).take();
      w->meta("imported", "a trace");
      const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
      w->put(session::RunRow{.id = run, .label = "import of a", .status = "finished"});
      if (compiled) {
        w->put(session::FrameRow{.id = frame, .run = run, .state = "captured"});
        w->put(session::SegmentRow{.id = segment, .frame = frame});
        for (int i = 0; i < compilations; ++i)
          w->put(session::CompilationRow{.id = w->next(Kind::Compilation),
                                         .segment = segment,
                                         .label = "0/" + std::to_string(i),
                                         .status = "ok"});
      }
      w->finish("finished");
      w.reset();
      return kit::SessionData::load(path).value();
    };
    QCOMPARE(kit::whyMissing(*recorded("times", false), 0, "optimised"),
             QStringLiteral("What was imported holds none."));
    kit::Selection selection;
    const kit::SessionPtr graphs = recorded("graphs", true);
    selection.film.compilation = graphs->compilations[0].id;
    QStringList rows;
    for (const views::InspectorSection& section : views::inspect(*graphs, selection).sections)
      for (const views::InspectorRow& row : section.rows) rows << row.key + ' ' + row.value;
    QVERIFY2(rows.contains("took " + kit::unknown()), qPrintable(rows.join('\n')));
    const kit::SessionPtr two = recorded("two", true, 2);
    const QString told = app::runStatus(*two, two->compilations[0].id).numbers;
    QVERIFY2(told.contains("2 compilations, ") && !told.contains("0 ns"), qPrintable(told));
    rows.clear();
    for (const views::InspectorSection& section : views::inspect(*two, {}).sections)
      for (const views::InspectorRow& row : section.rows) rows << row.key + ' ' + row.value;
    QVERIFY2(rows.contains("compiling " + kit::unknown()), qPrintable(rows.join('\n')));
  }

  void itemViewFiltersAndSorts() {
    kit::ItemView view;
    view.setColumns({{"name", 80, false, false, true}, {"n", 40, true}});
    QAbstractItemModelTester tester(view.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
    std::vector<kit::Item> items;
    for (int i : {3, 1, 2}) {
      kit::Item item;
      item.id = i;
      item.cells = {{"row " + QString::number(i)}, {QString::number(i), i}};
      item.detail = "why";
      items.push_back(item);
    }
    view.setItems(items);
    view.setSortingEnabled(true);
    view.sortBy(1, Qt::DescendingOrder);
    QCOMPARE(view.shown(), (std::vector<Id>{3, 2, 1}));
    view.setFilter("row 2");
    QCOMPARE(view.shown(), (std::vector<Id>{2}));
    view.setFilter("/row [13]/");
    QCOMPARE(view.shown(), (std::vector<Id>{3, 1}));
    QCOMPARE(view.text(true), QStringLiteral("name,n\nrow 3,3\nrow 1,1"));
  }

  void selectionChangesAreMerged() {
    app::JobRunner jobs;
    kit::SelectionModel model(&jobs);
    model.setSession(session_);
    jobs.settle();
    unsigned mask = 0;
    int told = 0;
    connect(&model, &kit::SelectionModel::changed, this, [&](const kit::Selection&, unsigned m) {
      mask = m;
      ++told;
    });
    model.setActive(ids_.captured_gelu);
    model.toggle(ids_.k2);
    model.setRange({1, 2});
    QCOMPARE(told, 0);
    QTRY_VERIFY(told >= 1);
    QCOMPARE(mask & (kit::ChangeActive | kit::ChangeSelected | kit::ChangeRange),
             unsigned(kit::ChangeActive | kit::ChangeSelected | kit::ChangeRange));
    QVERIFY(jobs.settle());
    QVERIFY(model.selection().relatives);
    QCOMPARE(model.selection().mark(ids_.gelu_span), kit::Emphasis::Ring);
    QCOMPARE(model.selection().mark(ids_.k2), kit::Emphasis::Outline);
    QCOMPARE(model.selection().mark(ids_.k2_add_lines), kit::Emphasis::None);
  }

  void placesCountLinesFromOneAndColumnsFromZero() {
    QCOMPARE(session_->place(ids_.gelu_span), QStringLiteral("32:12"));
    QCOMPARE(session_->label(ids_.gelu_span), QStringLiteral("32:12 F.gelu(…)"));
    QCOMPARE(session_->label(ids_.rejected_pair), QStringLiteral("mm_2 → l6"));
  }

  void aTitleThatIsTooLongKeepsItsUnit() {
    const QFont font = kit::theme().ui(11);
    const QString title = QStringLiteral("traffic saved, MB");
    QCOMPARE(kit::shownTitle(title, font, 400), title);
    const QString cut = kit::shownTitle(title, font, kit::textWidth(font, title) - 6);
    QVERIFY2(cut.endsWith(QStringLiteral("…, MB")), qPrintable(cut));
    QVERIFY(kit::textWidth(font, cut) <= kit::textWidth(font, title) - 6);
  }

  void ofALongTextALineHasTheEnds() {
    const QString lines = QStringLiteral("a\n").repeated(100'000);
    QVERIFY(kit::shownLine(lines).size() < 1100);
    QVERIFY(kit::shownLine(lines).contains(QStringLiteral("…")));
    QCOMPARE(kit::shownLine("begin" + lines + "end").first(5), QStringLiteral("begin"));
    QCOMPARE(kit::shownLine("begin" + lines + "end").last(3), QStringLiteral("end"));
    QCOMPARE(kit::shownLine("a\tb"), kit::shown("a\tb"));
    const QFont font = kit::theme().ui(12);
    QVERIFY(kit::textWidth(font, lines) < 100'000);
  }

 private:
  QTemporaryDir folder_;
  fixture::Ids ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestKit)
#include "tst_kit.moc"
