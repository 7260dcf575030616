// Every table on the fixture: its rows as lines, the model's contract, sorting, filter, details, the strip of
// calls.
#include <QAbstractItemModelTester>
#include <QHeaderView>
#include <QScrollBar>

#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/range_work.h"
#include "views/kit/session/symbolic_types.h"
#include "views/kit/tables/column_fit.h"
#include "views/tables/tables.h"
#include "views/tables/time_cells.h"

using namespace vitrine;
using fixture::Rig;
using views::TableSpec;
using views::TableView;

class TestTables : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  // Columns that end before the pane does: the title row goes on.
  void theTitleRowIsOneColour() {
    Rig<TableView> rig(session(), "", {2400, 400}, views::kMemoryTable);
    auto* header = rig.view.findChild<QHeaderView*>();
    header->setStretchLastSection(false);
    header->resizeSection(header->count() - 1, 40);
    QVERIFY(header->length() < header->viewport()->width() - 40);
    const QImage image = header->grab().toImage();
    const auto at = [&](int x) { return image.pixelColor(qRound(x * image.devicePixelRatio()), 2).rgb(); };
    QCOMPARE(at(header->viewport()->width() - 10), at(header->length() - 3));
  }

  void rows_data() {
    QTest::addColumn<const void*>("spec");
    QTest::addColumn<bool>("gated");
    QTest::addColumn<int>("rows");
    QTest::addColumn<QString>("line");
    auto row = [](const TableSpec& spec, bool gated, int rows, const char* line) {
      QTest::newRow(spec.id) << static_cast<const void*>(&spec) << gated << rows << QString::fromUtf8(line);
    };
    row(views::kBreaksTable, true, 2, "13:53 | h.mean().item() | scalar read from a tensor | 40 | 340");
    row(views::kGuardsTable, false, 15, "  .size() | 8, 128, 768 | 31:26 | 40 | 50 | 0");
    row(views::kRecompilationsTable, true, 1, "0/1 | 13 | L['x'].size(1) == 128 | 128 | 96 | 61.0");
    row(views::kDecisionsTable, false, 13,
        "2 | l6 → l7 | vertical | fused | same iteration space, one reader | K2 | 32:12 | 25.2 | 1 | −380");
    row(views::kMissedTable, false, 7, "");
    row(views::kKernelsTable, false, 9, "");
    row(views::kLaunchesTable, false, 9, "");
    row(views::kMemoryTable, false, -1, "");
    row(views::kBecameTable, false, 9, "");
  }
  void rows() {
    QFETCH(const void*, spec);
    QFETCH(bool, gated);
    QFETCH(int, rows);
    QFETCH(QString, line);
    Rig<TableView> rig(session(), "", {900, 400}, *static_cast<const TableSpec*>(spec));
    if (gated) rig.film(gatedFilm(ids().recompiled));
    QAbstractItemModelTester contract(rig.view.items()->items(),
                                      QAbstractItemModelTester::FailureReportingMode::QtTest);
    QAbstractItemModelTester filtered(rig.view.items()->model(),
                                      QAbstractItemModelTester::FailureReportingMode::QtTest);
    QStringList lines = rig.view.items()->items()->lines();
    lines.replaceInStrings(QRegularExpression("[\u00a0\u2009\u202f]"), " ");  // numbers keep their unit
    if (rows >= 0) QVERIFY2(lines.size() == rows, qPrintable(lines.join('\n')));
    QVERIFY(!lines.isEmpty());
    if (!line.isEmpty()) QVERIFY2(lines.contains(line), qPrintable(lines.join('\n')));
    // Every cell has a column, every row an id or a heading.
    const auto columns = rig.view.items()->items()->columns().size();
    for (const QString& text : lines) QVERIFY(text.split(" | ").size() <= static_cast<int>(columns));
    rig.view.items()->setFilter("no row says this");
    QVERIFY(rig.view.items()->shown().empty());
    rig.view.items()->setFilter("");
    for (int column = 0; column < static_cast<int>(columns); ++column)
      rig.view.items()->sortBy(column, Qt::AscendingOrder);
  }

  // What the stretching column does not need goes to the texts that would be cut.
  void aColumnIsAsWideAsItsTextWhenThereIsRoom() {
    Rig<TableView> rig(session(), "", {1400, 300}, views::kKernelsTable);
    auto* view = rig.view.items();
    const auto& columns = view->items()->columns();
    for (int c = 0; c < static_cast<int>(columns.size()); ++c)
      for (int row = 0; row < view->model()->rowCount() && columns[size_t(c)].mono; ++row) {
        const QString text = view->model()->index(row, c).data().toString();
        QVERIFY2(kit::textWidth(kit::theme().mono(12), text) + 12 <= view->columnWidth(c), qPrintable(text));
      }
  }

  // Eager's time of the operators stands beside that of the launch which does their work.
  void whatBecameWhatHasBothSides() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kBecameTable);
    QStringList titles;
    for (const kit::Column& column : rig.view.items()->items()->columns()) titles << column.title;
    QVERIFY2(titles.size() == 6 && titles[4].startsWith("eager, ") && titles[5].startsWith("gain, "),
             qPrintable(titles.join(" | ")));
    const QString gelu = rig.view.items()->items()->lines().filter("K2 add_gelu").value(0);
    QVERIFY2(gelu.section(" | ", 5).startsWith(QChar(0x2212)), qPrintable(gelu));  // it became shorter
  }

  // In a narrow pane short texts stay whole, long ones share what is left, and no number leaves the pane.
  void aNarrowTableCutsTextsFairlyAndNoNumbers() {
    const std::vector<kit::ColumnNeed> needs = {
        {110, 60, true}, {260, 400, true}, {190, 160, true}, {64, 50, false}, {96, 80, false}};
    QCOMPARE(kit::sharedWidths(needs, 500, 44), std::vector<int>({60, 155, 155, 50, 80}));
    QCOMPARE(kit::sharedWidths(needs, 230, 44), std::vector<int>({44, 44, 44, 50, 80}));
    QCOMPARE(kit::sharedWidths(needs, 750, 44), std::vector<int>({60, 400, 160, 50, 80}));
    // A name that is cut to nothing is worth a scroll bar.
    // A name stays whole while the others have their least, and where one has to scroll anyway.
    const std::vector<kit::ColumnNeed> named{{60, 240, true, 96, 320}, {60, 200, true}, {64, 50}};
    QCOMPARE(kit::sharedWidths(named, 370, 76), std::vector<int>({240, 80, 50}));
    QCOMPARE(kit::sharedWidths(named, 300, 76), std::vector<int>({125, 125, 50}));
    QCOMPARE(kit::sharedWidths(named, 200, 76), std::vector<int>({240, 76, 50}));
    QCOMPARE(kit::sharedWidths({{170, 150, true, 112}, {190, 160, true}, {64, 50}}, 150, 44),
             std::vector<int>({112, 44, 50}));
    // What a name keeps is taken from the other texts, not from what is in sight.
    QCOMPARE(
        kit::sharedWidths({{98, 183, true, 128, 392}, {81, 221, true}, {66, 53, true}, {100, 162}}, 450, 76),
        std::vector<int>({128, 107, 53, 162}));

    Rig<TableView> rig(session(), "", {480, 300}, views::kBreaksTable);
    rig.film(gatedFilm(ids().recompiled));
    auto* view = rig.view.items();
    const auto& columns = view->items()->columns();
    int all = 0;
    for (int c = 0; c < static_cast<int>(columns.size()); ++c) all += view->columnWidth(c);
    QVERIFY2(all <= view->viewport()->width(), qPrintable(QString::number(all)));
    const QString expression = view->model()->index(0, 1).data().toString();
    QVERIFY2(view->columnWidth(1) >= kit::textWidth(kit::theme().mono(12), expression) + 12,
             qPrintable(expression + " in " + QString::number(view->columnWidth(1))));
  }

  // The second column that stretches names no row: in a narrow pane it gives way before one has to scroll.
  void guardsFitAPaneOfHalfTheWindow() {
    Rig<TableView> rig(session(), "", {460, 300}, views::kGuardsTable);
    auto* view = rig.view.items();
    QVERIFY(view->model()->rowCount() > 0);
    QStringList widths;
    for (int c = 0; c < view->model()->columnCount(); ++c) widths << QString::number(view->columnWidth(c));
    QVERIFY2(view->horizontalScrollBar()->maximum() == 0, qPrintable(widths.join(' ')));
    QVERIFY2(view->columnWidth(0) >= 100, qPrintable(QString::number(view->columnWidth(0))));
    QVERIFY2(view->columnWidth(1) >= 70, qPrintable(QString::number(view->columnWidth(1))));
  }

  void whatWasImportedWithoutGuardsMayHaveCheckedSome() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    {
      auto w = session::Writer::create(path).take();
      w->meta("imported", "a log");
      const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
      w->put(session::RunRow{.id = run, .label = "a", .status = "finished"});
      w->put(session::FrameRow{.id = frame, .run = run, .state = "captured"});
      w->put(session::SegmentRow{.id = segment, .frame = frame});
      w->put(session::CompilationRow{.id = w->next(Kind::Compilation), .segment = segment, .label = "0/0"});
      w->finish("finished");
    }
    const kit::SessionPtr imported = kit::SessionData::load(path).value();
    for (const TableSpec* spec : {&views::kGuardsTable, &views::kSymbolsTable, &views::kChoicesTable}) {
      Rig<TableView> rig(imported, "", {460, 300}, *spec);
      QVERIFY2(rig.view.why_empty().contains("imported"), qPrintable(rig.view.why_empty()));
    }
  }

  // Where the numbers alone are wider than the pane it scrolls, and a row can still be told by its name.
  void aTableThatScrollsStillNamesItsRows() {
    Rig<TableView> rig(session(), "", {480, 300}, views::kKernelsTable);
    auto* view = rig.view.items();
    QVERIFY(view->model()->rowCount() > 0);
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      const QString kernel = view->model()->index(row, 0).data().toString();
      const int icon = 20;
      QVERIFY2(kit::textWidth(kit::theme().mono(12), kernel) + icon + 12 <= view->columnWidth(0),
               qPrintable(kernel + " in " + QString::number(view->columnWidth(0))));
    }
  }

  // Sizes are named where the input's source or one symbol alone explains them, and stay numbers elsewhere.
  void sizesAreSymbolsWhereThatIsCertain() {
    const Id before = make_id(Kind::Compilation, 1), after = make_id(Kind::Compilation, 2);
    auto symbol = [&](const char* name, const char* source, int64_t hint, const char* origin) {
      session::SymbolRow row;
      row.compilation = after, row.name = name, row.source = source, row.hint = hint, row.origin = origin;
      return row;
    };
    kit::SessionData one, two;
    one.symbols = kit::Table<session::SymbolRow>({symbol("s0", "L['x'].size(1)", 96, "changed: it was 128")},
                                                 &session::SymbolRow::compilation);
    const kit::SymbolicTypes sizes(one, before, after);
    QCOMPARE(sizes.input("L['x']", "f32[4,96,256]"), std::string("f32[4,s0,256]"));
    QCOMPARE(sizes.input("L['y']", "f32[4,96,256]"), std::string("f32[4,96,256]"));
    QCOMPARE(sizes.text("f32[4,128,256]", "f32[4,96,256]"), std::string("f32[4,s0,256]"));
    QCOMPARE(sizes.text("512 × 256", "384 × 256"), std::string("4*s0 × 256"));
    QCOMPARE(sizes.text("f32[129]", "f32[97]"), std::string("f32[s0+1]"));
    QCOMPARE(sizes.text("2 × 8256", "2 × 6208"), std::string("2 × 64*s0+64"));
    QCOMPARE(sizes.text("f32[126]", "f32[94]"), std::string("f32[s0-2]"));
    QCOMPARE(sizes.text("f32[128]", "f32[100]"), std::string("f32[100]"));  // it did something else
    two.symbols = kit::Table<session::SymbolRow>({symbol("s0", "L['x'].size(1)", 96, "changed: it was 128"),
                                                  symbol("s1", "L['h'].size(1)", 96, "changed: it was 128")},
                                                 &session::SymbolRow::compilation);
    QCOMPARE(kit::SymbolicTypes(two, before, after).text("f32[128]", "f32[96]"), std::string("f32[96]"));
  }

  // Two compilations of a place, for [4,16,8] and [5,24,8]: what is computed from these sizes says so in
  // every graph.
  void typesInGraphsNameTheSymbols() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("sizes.vitrine").toStdString();
    auto writer = Writer::create(path).take();
    const Id segment = writer->next(Kind::Segment);
    std::vector<Id> last;
    for (int64_t i = 0; i < 2; ++i) {
      CompilationRow compilation;
      compilation.id = writer->next(Kind::Compilation), compilation.segment = segment,
      compilation.ordinal = i;
      writer->put(compilation);
      GraphRow graph;
      graph.id = writer->next(Kind::Graph), graph.compilation = compilation.id, graph.stage = "captured";
      writer->put(graph);
      const int64_t b = i ? 5 : 4, t = i ? 24 : 16;
      auto size = [](int64_t n) { return std::to_string(n); };
      const std::vector<std::tuple<const char*, const char*, std::string>> nodes{
          {"input", "x", "f32[" + size(b) + "," + size(t) + ",8]"},
          {"op", "reshape", "f32[" + size(b * t) + ",8]"},
          {"op", "mean", "f32[" + size(2 * t) + "," + size(i ? 7 : 5) + "]"}};
      for (const auto& [kind, name, type] : nodes) {
        NodeRow node;
        node.id = writer->next(Kind::Node), node.graph = graph.id, node.kind = kind, node.name = name;
        node.ordinal = node.stable = static_cast<int64_t>(last.size());
        node.op = node.kind == "op" ? name : "", node.type = type,
        node.detail = node.kind == "op" ? "" : "L['x']";
        writer->put(node);
        last.push_back(node.id);
      }
      for (int dim = 0; i == 1 && dim < 2; ++dim) {
        SymbolRow row;
        row.compilation = compilation.id, row.ordinal = dim, row.name = "s" + std::to_string(dim);
        row.source = "L['x'].size(" + std::to_string(dim) + ")", row.hint = dim ? t : b,
        row.origin = "marked dynamic";
        writer->put(row);
      }
    }
    writer->finish("finished");
    const auto data = kit::SessionData::load(path).value();
    auto row = [&](size_t node) { return *data->nodes.find(last[node]); };
    auto type = [&](size_t node) {
      return kit::typeText(*data, row(node), kit::symbolicTypes(*data, row(node).graph));
    };
    QCOMPARE(type(0), QString("f32[4,16,8]"));
    QCOMPARE(type(3), QString("f32[s0,s1,8]"));
    QCOMPARE(type(4), QString("f32[s0*s1,8]"));
    QCOMPARE(type(5), QString("f32[2*s1,7]"));  // what changed with no symbol stays a number
    QCOMPARE(kit::symbolsOf(*data, row(5), kit::symbolicTypes(*data, row(5).graph)),
             QStringList{"s1 = 24: L['x'].size(1), marked dynamic"});
  }

  void aSwitchShowsOnlyWhatWasFused() {
    Rig<TableView> rig(session(), "", {1200, 400}, views::kDecisionsTable);
    const QList<QWidget*> controls = rig.view.headerControls();
    auto* bar = qobject_cast<kit::SwitchBar*>(controls.value(0));
    QVERIFY(bar);
    const auto all = rig.view.items()->shown().size();
    QCOMPARE(bar->choices(), (QStringList{"All 13", "Fused 6", "Not fused 7"}));
    QTest::keyClick(bar, Qt::Key_Right);
    QCOMPARE(rig.view.items()->shown().size(), size_t(6));
    QTest::keyClick(bar, Qt::Key_Right);
    QCOMPARE(rig.view.items()->shown().size(), size_t(7));
    QTest::keyClick(bar, Qt::Key_Left);
    QTest::keyClick(bar, Qt::Key_Left);
    QCOMPARE(rig.view.items()->shown().size(), all);
    // The header that showed them may have dropped them: the next one gets its own.
    qDeleteAll(controls);
    QCOMPARE(rig.view.headerControls().size(), 3);
  }

  // Of the launches in the selected time, whose own part of it stands in a column and orders the rows.
  void theTablesFollowTheSelectedTime() {
    const auto plan = session()->launches.of(ids().compilation);
    const auto work = [&](int64_t from, int64_t to) {
      return kit::rangeWork(*session(), ids().run, from, to);
    };
    const kit::RangeWork all = work(0, INT64_MAX);
    QVERIFY(all.contains(ids().launch_k2) && all.contains(ids().aten_gelu) && all.contains(ids().k2));
    // K2 is the seventh launch: the time from its middle on has half of it, and none of what ran before.
    int64_t begin = 12'000;
    for (const auto& launch : plan) {
      if (launch.id == ids().launch_k2) break;
      begin += static_cast<int64_t>(all.at(launch.id).ns) + 1'000;
    }
    const auto half = static_cast<int64_t>(all.at(ids().k2).ns / 2);
    const kit::TimeRange range{begin + half, begin + static_cast<int64_t>(all.at(ids().k2).ns)};
    QCOMPARE(work(range.from_ns, range.to_ns).at(ids().k2).ns,
             static_cast<double>(range.to_ns - range.from_ns));

    Rig<TableView> rig(session(), "", {1200, 300}, views::kKernelsTable);
    auto* items = rig.view.items();
    const auto rows = items->shown().size();
    const auto columns = items->items()->columns().size();
    rig.model.setRange(range);
    rig.settle();
    QCOMPARE(items->shown(), std::vector<Id>{ids().k2});
    QVERIFY2(rig.view.subtitle().contains("rows in "), qPrintable(rig.view.subtitle()));
    QVERIFY(items->items()->columns()[2].title.startsWith("in range, "));
    QCOMPARE(items->items()->columns().size(), columns + 1);

    auto* when = qobject_cast<kit::SwitchBar*>(rig.view.headerControls().value(1));
    QVERIFY(when && when->choices().value(0) == "In range");
    QTest::keyClick(when, Qt::Key_Right);
    rig.settle();
    QCOMPARE(items->shown().size(), rows);
    QTest::keyClick(when, Qt::Key_Left);
    rig.model.setRange({});
    rig.settle();
    QCOMPARE(items->shown().size(), rows);
    QVERIFY(!when->isVisibleTo(&rig.view));
  }

  // A pair by its kernels, a buffer by the launches that it lives through; where nothing is, a way back is
  // offered.
  void pairsAndBuffersFollowTheSelectedTime() {
    const kit::RangeWork all = kit::rangeWork(*session(), ids().run, 0, INT64_MAX);
    QVERIFY(all.contains(ids().fused_pair));
    QCOMPARE(all.at(ids().fused_pair).ns, all.at(ids().k2).ns);
    Rig<TableView> rig(session(), "", {1200, 300}, views::kDecisionsTable);
    const auto rows = rig.view.items()->shown().size();
    rig.model.setRange({1'000'000'000'000, 1'000'000'001'000});
    rig.settle();
    QVERIFY(rig.view.items()->shown().empty());
    QVERIFY2(rig.view.why_empty().contains("selected time"), qPrintable(rig.view.why_empty()));
    rig.model.setRange({0, INT64_MAX / 2});
    rig.settle();
    QVERIFY(!rig.view.items()->shown().empty() && rig.view.items()->shown().size() <= rows);
  }

  // The time of the call that is shown is called so, and marked where half of the calls took far less or
  // more.
  void aTimeFarFromHalfOfTheCallsIsMarked() {
    QCOMPARE(session::far_from_half(2000, 1000, 1500, 25), std::string("1.33× of their upper end"));
    QCOMPARE(session::far_from_half(500, 1000, 1500, 25), std::string("0.50× of their lower end"));
    QCOMPARE(session::far_from_half(1600, 1000, 1500, 25), std::string());
    QCOMPARE(session::far_from_half(9000, 1000, 1500, 2), std::string());
    const kit::Cell far = views::spread_cell(2000, 1000, 1500, 25),
                    near = views::spread_cell(1200, 1000, 1500, 25);
    QCOMPARE(far.icon, QStringLiteral("warning"));
    QVERIFY2(far.tooltip.contains("1.33× of their upper end"), qPrintable(far.tooltip));
    QVERIFY(near.icon.isEmpty());
  }

  void theFirstOrderIsByPrice() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kKernelsTable);
    const auto shown = rig.view.items()->shown();
    double last = 1e18;
    for (Id id : shown) {
      double ns = 0;
      for (const auto& launch : session()->launches.of(ids().compilation))
        if (launch.kernel == id) ns += launch.median_ns;
      QVERIFY(ns <= last);
      last = ns;
    }
  }

  void theDearestBreakIsOpenAtFirst() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kBreaksTable);
    rig.film(gatedFilm(ids().gated_compilation));
    auto* view = rig.view.items();
    for (int row = 0; row < view->model()->rowCount(); ++row)
      QCOMPARE(view->isExpanded(view->model()->index(row, 0)), row == 0);
  }

  void aClickedBreakOpensInPlace() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kBreaksTable);
    rig.film(gatedFilm(ids().gated_compilation));
    auto* view = rig.view.items();
    const QModelIndex first = view->model()->index(0, 0);
    view->openDetail(ids().break_item, false);
    QVERIFY(!view->isExpanded(first));
    const int before = view->visualRect(view->model()->index(1, 0)).top();
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(first).center());
    rig.settle();
    QVERIFY(view->isExpanded(first));
    QCOMPARE(rig.model.selection().active, ids().break_item);
    QVERIFY(view->visualRect(view->model()->index(1, 0)).top() > before + 40);  // prose, stack and advice
    const QString prose = view->model()->index(0, 0, first).data(kit::DetailRole).toString();
    QVERIFY(prose.contains("item() hands Python a number"));
    QVERIFY(prose.contains("train.py:22"));
    QVERIFY(prose.contains("keep the mean as a tensor"));
  }

  void whatIsActiveElsewhereOpensAndIsMarked() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kBreaksTable);
    rig.film(gatedFilm(ids().gated_compilation));
    rig.activate(ids().break_branch);
    auto* view = rig.view.items();
    QVERIFY(view->isExpanded(view->model()->index(1, 0)));
    QCOMPARE(rig.view.canShow(ids().break_branch), ids().break_branch);
  }

  void theRowOfARelativeIsFound() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kKernelsTable);
    rig.activate(ids().optimised_gelu);
    QCOMPARE(rig.view.canShow(ids().optimised_gelu), ids().k2);
  }

  void callsAreColouredByTheirCompilation() {
    Rig<TableView> rig(session(), "", {700, 400}, views::kRecompilationsTable);
    rig.film(gatedFilm(ids().recompiled));
    views::CallStrip* strip = rig.view.calls();
    QVERIFY(strip && strip->isVisible());
    QCOMPARE(strip->calls(), size_t(40));
    QCOMPARE(strip->blocks().size(), size_t(2));
    QCOMPARE(strip->blocks()[0].words(), QStringLiteral("calls 1–12"));
    QCOMPARE(strip->blocks()[1].label, QStringLiteral("0/1"));
    QCOMPARE(strip->blocks()[1].words(), QStringLiteral("calls 13–40"));
    QVERIFY(strip->cellOf(12).height() > strip->cellOf(13).height());  // the call that compiled
    QCOMPARE(colourAt(*strip, strip->cellOf(12)), kit::theme().accent);
    QVERIFY(colourAt(*strip, strip->cellOf(0)) != kit::theme().accent);
    QTest::mouseClick(strip, Qt::LeftButton, {}, strip->cellOf(3).center().toPoint());
    rig.settle();
    QCOMPARE(rig.model.selection().film.compilation, ids().gated_compilation);
    QCOMPARE(rig.model.selection().active, ids().gated_compilation);
    QCOMPARE(colourAt(*strip, strip->cellOf(0)), kit::theme().accent);
    QVERIFY(!rig.view.items()->geometry().intersects(strip->geometry()));
  }

  void aRecompilationSaysWhatItChanged() {
    Rig<TableView> rig(session(), "", {700, 400}, views::kRecompilationsTable);
    rig.film(gatedFilm(ids().recompiled));
    auto* model = rig.view.items()->items();
    QString text = model->index(0, 0, model->index(0, 0)).data(kit::DetailRole).toString();
    text = text.remove(QRegularExpression("<[^>]*>")).replace("&nbsp;", " ").simplified();
    for (const char* part :
         {"L['x'].size(1) == 128", "L['x'].size(1) == 96", "3 guards the same",
          "x f32[8,128,768] → f32[8,96,768]", "2 nodes the same", "compile 118 ms → 61.0 ms"})
      QVERIFY2(text.replace(QChar(0x202F), ' ').contains(QString::fromUtf8(part)), qPrintable(text));
  }

  void whyTheShownCompilationWasMadeIsOpen() {
    Rig<TableView> rig(session(), "", {700, 400}, views::kRecompilationsTable);
    rig.film(gatedFilm(ids().recompiled));
    QVERIFY(rig.view.items()->isExpanded(rig.view.items()->model()->index(0, 0)));
  }

  void notesAndBookmarksAreListedWithTheirThing() {
    const fixture::Loaded own;
    const auto noted = std::const_pointer_cast<kit::SessionData>(own.session);
    noted->meta["note:" + std::to_string(ids().k2)] =
        "why not fused?\nAsk about the second reader of the bias.";
    noted->meta["note:" + std::to_string(ids().captured_gelu)] = "";
    noted->meta["note:" + std::to_string(make_id(Kind::Node, 9'999'999))] = "of another session";
    Rig<TableView> rig(noted, "", {500, 300}, views::kNotesTable);
    const QStringList lines = rig.view.items()->items()->lines();
    QVERIFY2(lines.contains("gelu | bookmark"), qPrintable(lines.join('\n')));
    QVERIFY2(!lines.filter("K2 add_gelu | why not fused?").isEmpty(), qPrintable(lines.join('\n')));
    QCOMPARE(rig.view.items()->items()->rowCount(), 2);
    const QModelIndex note = rig.view.items()->items()->indexOf(ids().k2);
    QVERIFY(rig.view.items()->items()->rowCount(note) == 1);  // the whole text opens below it
    Rig<TableView> none(session(), "", {500, 300}, views::kNotesTable);
    QVERIFY(!none.view.items()->isVisible());
  }

  void anEmptyTableSaysWhy() {
    Rig<TableView> rig(session(), "", {600, 200}, views::kBreaksTable);  // the block has no break
    QVERIFY(!rig.view.items()->isVisible());
    Rig<TableView> none(nullptr, "", {600, 200}, views::kBreaksTable);
    QVERIFY(!none.view.items()->isVisible());
  }

  // What is decided of equal layers is one row; "Not fused 3" counts each, and each is found below it.
  void decisionsOfEqualLayersStandOnce() {
    using namespace session;
    kit::SessionData data;
    const Id compilation = make_id(Kind::Compilation, 1);
    std::vector<NodeRow> nodes;
    std::vector<DecisionRow> decisions;
    auto node = [&](const std::string& name, const char* op) {
      NodeRow row;
      row.id = make_id(Kind::Node, static_cast<int64_t>(nodes.size()) + 1);
      row.name = name, row.op = op, row.type = "f32[4,8]";
      nodes.push_back(row);
      return row.id;
    };
    for (int i = 0; i < 3; ++i) {
      const std::string tail = i ? "_" + std::to_string(i) : "";
      DecisionRow row{make_id(Kind::Decision, i + 1), compilation, i};
      row.a = node("add" + tail, "aten.add.Tensor"), row.b = node("sum" + tail, "aten.sum.dim_IntList");
      row.kind = "vertical", row.verdict = "rejected";
      row.reason = "mm" + tail + " must run between them";
      row.bytes_saved = 1000 * 1000, row.launches_saved = 1;
      decisions.push_back(row);
    }
    DecisionRow other = decisions[0];
    other.id = make_id(Kind::Decision, 9), other.ordinal = 9, other.bytes_saved = 1;
    decisions.push_back(other);
    std::vector<KernelRow> kernels;
    for (int i = 0; i < 3; ++i) {
      KernelRow kernel;
      kernel.id = decisions[static_cast<size_t>(i)].kernel = make_id(Kind::Kernel, i + 1);
      kernel.label = "K" + std::to_string(i);
      kernels.push_back(kernel);
    }
    data.kernels = kit::Table<KernelRow>(kernels, &KernelRow::compilation);
    data.nodes = kit::Table<NodeRow>(nodes, &NodeRow::graph);
    data.decisions = kit::Table<DecisionRow>(decisions, &DecisionRow::compilation);
    const auto rows = views::kDecisionsTable.rows({data, 0, compilation});
    QCOMPARE(rows.size(), 2U);
    QCOMPARE(rows[0].cells[1].text, QStringLiteral("add → sum × 3"));
    QCOMPARE(rows[0].cells[4].text, QStringLiteral("mm must run between them"));
    QCOMPARE(rows[0].cells[5].text, QStringLiteral("K0 +2"));
    QCOMPARE(rows[0].cells[8].text, QStringLiteral("3"));
    QCOMPARE(rows[0].children.size(), 3U);
    QCOMPARE(rows[0].children[2].id, decisions[2].id);
    QCOMPARE(rows[0].children[2].cells[4].text, QStringLiteral("mm_2 must run between them"));
    QVERIFY(rows[1].children.empty());
  }

  // The compilation that is shown has no symbols, another one of the run has: the link goes there.
  void anEmptyTableLeadsToWhereRowsAre() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("two.vitrine").toStdString();
    auto writer = Writer::create(path).take();
    const auto [run, compilations] = writeCompilations(*writer, 2);
    SymbolRow symbol;
    symbol.compilation = compilations[1], symbol.name = "s0", symbol.source = "L['x'].size(0)";
    writer->put(symbol);
    writer->finish("finished");
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    kit::Film film;
    film.run = run, film.compilation = compilations[0];
    Rig<TableView> rig(data, "", {600, 200}, views::kSymbolsTable);
    rig.film(film);
    QVERIFY(!rig.view.items()->isVisible());
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(30, 44));
    rig.settle();
    QCOMPARE(rig.model.selection().film.compilation, compilations[1]);
    QVERIFY(rig.view.items()->isVisible());
  }

  void guardsOnParametersAreOneRowWithEachOfThemBelow() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("layers.vitrine").toStdString();
    auto writer = Writer::create(path).take();
    const auto [run, compilations] = writeCompilations(*writer, 1);
    for (int64_t i = 0; i < 4; ++i) {
      GuardRow guard;
      guard.id = writer->next(Kind::Guard), guard.compilation = compilations[0], guard.ordinal = i;
      guard.root = "L['self']", guard.kind = "tensor", guard.expected = "f32[" + std::to_string(i) + "]";
      guard.source = "L['self'].__dict__['_parameters']['w" + std::to_string(i) + "']";
      guard.checks = 7;
      writer->put(guard);
    }
    writer->finish("finished");
    kit::Film film;
    film.run = run, film.compilation = compilations[0];
    Rig<TableView> rig(kit::SessionData::load(path).value(), "", {900, 300}, views::kGuardsTable);
    rig.film(film);
    const QStringList lines = rig.view.items()->items()->lines();
    const QStringList group = lines.filter("4 parameters");
    QVERIFY2(group.size() == 1 && group[0].contains("each its own type | ") && group[0].contains(" | 7 | 0"),
             qPrintable(lines.join('\n')));
    QCOMPARE(lines.filter("w2").size(), 1);
    QVERIFY(lines.indexOf(group[0]) < lines.indexOf(lines.filter("w2")[0]));
  }

  // A view costs nothing: it is not computed again, though nothing of it is kept.
  void viewsAreToldApartFromWhatIsComputedAgain() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("views.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id c = fixture::bareCompilation(*w, run);
    w->put(PartitionRow{c, 1, 4096, 4096, 0});
    w->put(CrossingRow{c, 0, "gelu", "saved", "f32[64,16]", 4096});
    for (int i = 1; i < 3; ++i)
      w->put(CrossingRow{c, i, "t", "recomputed", "f32[16,64]", 0, 0, 0, "a view: no work"});
    w->finish("finished");
    w.reset();
    Rig<TableView> rig(kit::SessionData::load(path).value(), "", {900, 300}, views::kSavedTable);
    QVERIFY2(rig.view.subtitle().endsWith(", 0 computed again besides 2 views"),
             qPrintable(rig.view.subtitle()));
  }

  // A line number alone is of the code that was compiled; a module's name is not always known.
  void aGuardOfAnotherFileNamesTheFile() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("files.vitrine").toStdString();
    auto w = Writer::create(path).take();
    const Id run = w->next(Kind::Run), segment = w->next(Kind::Segment), frame = w->next(Kind::Frame),
             compilation = w->next(Kind::Compilation);
    w->put(RunRow{run, "model.py", "model(*inputs)", "", "cpu", "default", "finished"});
    Id codes[2] = {};
    for (int i = 0; i < 2; ++i) {
      const Id file = w->next(Kind::File), span = w->next(Kind::Span),
               instruction = w->next(Kind::Instruction);
      codes[i] = w->next(Kind::Code);
      w->put(FileRow{file, i ? "/torch/linear.py" : "/home/user/model.py"});
      w->put(CodeRow{codes[i], file, "forward"});
      w->put(SpanRow{span, file, 12, 4, 12, 9});
      w->put(InstructionRow{instruction, codes[i], 2, "LOAD_ATTR", 0, "w", span});
      GuardRow guard{w->next(Kind::Guard), compilation,         i, "G['F']", "G['F']",
                     "identity",           "is <module object>"};
      guard.instruction = instruction;
      w->put(guard);
    }
    w->put(FrameRow{frame, run, codes[0], "captured", ""});
    w->put(SegmentRow{segment, frame});
    w->put(CompilationRow{compilation, segment, 0, "0/0", "ok", "return"});
    w->finish("finished");
    w.reset();
    kit::Film film;
    film.run = run, film.compilation = compilation;
    Rig<TableView> rig(kit::SessionData::load(path).value(), "", {900, 300}, views::kGuardsTable);
    rig.film(film);
    const QString lines = rig.view.items()->items()->lines().join('\n');
    for (const char* told : {" | is the same module | 12:4 | ", " | is the same module | linear.py:12:4 | "})
      QVERIFY2(lines.contains(told), qPrintable(lines));
  }

  // A column of which nothing is known takes no room from the names.
  void columnsWithoutAValueAreLeftOut() {
    using namespace session;
    const std::string path = loaded_->folder.filePath("bare.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "train.py", "script", "", "cpu", "default", "finished"};
    const Id compilation = fixture::bareCompilation(*w, run);
    for (int64_t i : {0, 1})
      w->put(
          BufferRow{w->next(Kind::Buffer), compilation, i, "buf", "temporary", "f32[8]", 32, i, i + 1, -1});
    w->put(StageRow{compilation, "memory", "ok", "", 48});
    w->put(LaunchRow{w->next(Kind::Launch), compilation, 0, "library", "mm", "buf0"});
    DecisionRow pair;
    pair.id = w->next(Kind::Decision), pair.compilation = compilation;
    pair.kind = "vertical", pair.verdict = "not fused", pair.reason = "a library call", pair.bytes_saved = 64;
    w->put(pair);
    w->finish("finished");
    w.reset();
    const kit::SessionPtr bare = kit::SessionData::load(path).value();
    auto columns = [](const kit::SessionPtr& data, const TableSpec& spec) {
      Rig<TableView> rig(data, "", {900, 300}, spec);
      QStringList out;
      for (const kit::Column& column : rig.view.items()->items()->columns()) out << column.title;
      for (const QString& line : rig.view.items()->items()->lines())
        if (!line.startsWith(' ') && line.count('|') + 1 != out.size()) out << line;
      return out;
    };
    QCOMPARE(columns(bare, views::kMemoryTable).last(), QString("last launch"));
    QCOMPARE(columns(session(), views::kMemoryTable).last(), QString("reuses"));
    // What PyTorch places has no offset, and is counted with the plan.
    QCOMPARE(views::kMemoryTable.subtitle({*bare, 0, compilation}).replace(QChar(0x202f), ' '),
             QString("64 B of temporaries take up to 48 B"));
    QCOMPARE(columns(bare, views::kLaunchesTable).last(), QString("arguments"));
    QVERIFY(columns(session(), views::kLaunchesTable).last().startsWith("half of "));
    QCOMPARE(columns(bare, views::kBecameTable).last(), QString("operators"));
    QCOMPARE(columns(bare, views::kMissedTable).last(), QString("launches"));
    QVERIFY(columns(session(), views::kMissedTable).last().startsWith("would save, est., "));
  }

  void sizesAreNeverCut() {
    Rig<TableView> narrow(session(), "", {500, 300}, views::kKernelsTable);
    const auto& model = *narrow.view.items()->model();
    int space = 0;
    while (model.headerData(space, Qt::Horizontal).toString() != "space") ++space;
    for (int row = 0; row < model.rowCount(); ++row) {
      const QString text = model.index(row, space).data().toString();
      QVERIFY2(kit::textWidth(kit::theme().mono(12), text) < narrow.view.items()->columnWidth(space),
               qPrintable(text));
    }
  }

  // Columns that do not fit at their least are reached by a bar that is seen.
  void aNarrowTableHasAScrollBar() {
    Rig<TableView> narrow(session(), "", {300, 300}, views::kKernelsTable);
    QVERIFY(narrow.view.items()->horizontalScrollBar()->isVisible());
    Rig<TableView> wide(session(), "", {1600, 300}, views::kKernelsTable);
    QVERIFY(!wide.view.items()->horizontalScrollBar()->isVisible());
  }

  void copiesAsPython() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kDecisionsTable);
    const QString text = rig.view.copyPython();
    QVERIFY2(text.startsWith("rows = [\n    {\"#\": 2, \"pair\": \"l6 → l7\", "), qPrintable(text));
    QVERIFY2(text.contains(": -380"), qPrintable(text));
  }

  void copiesAsTextAndCsv() {
    Rig<TableView> rig(session(), "", {900, 400}, views::kDecisionsTable);
    const QString text = rig.view.copy(kit::CopyAs::Text), csv = rig.view.copy(kit::CopyAs::Csv);
    QCOMPARE(text.count('\n'), 13);
    QVERIFY(text.contains("l6 → l7\tvertical\tfused"));
    QVERIFY(csv.contains("\"same iteration space, one reader\""));
  }

  void tenThousandRowsScroll() {
    kit::ItemView view;
    view.setColumns({{"n", 80, true}, {"name", 200, false, true, true}});
    std::vector<kit::Item> rows;
    for (int i = 0; i < 10'000; ++i)
      rows.push_back(
          {make_id(Kind::Node, i + 1), {{QString::number(i), i}, {QStringLiteral("node_%1").arg(i)}}});
    view.setItems(std::move(rows));
    view.resize(500, 300);
    view.show();
    view.sortBy(0, Qt::DescendingOrder);
    QCOMPARE(view.shown().front(), make_id(Kind::Node, 10'000));
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    view.reveal(make_id(Kind::Node, 1));
    QVERIFY(view.viewport()->rect().contains(view.visualRect(view.currentIndex()).center()));
  }

 private:
  struct Compilations {
    Id run;
    std::vector<Id> ids;
  };
  // So many of one segment: "0/0", "0/1", ...
  static Compilations writeCompilations(session::Writer& writer, int64_t many) {
    using namespace session;
    FrameRow frame;
    frame.id = writer.next(Kind::Frame), frame.run = writer.next(Kind::Run);
    writer.put(frame);
    const SegmentRow segment{writer.next(Kind::Segment), frame.id};
    writer.put(segment);
    Compilations out{frame.run, {}};
    for (int64_t i = 0; i < many; ++i) {
      out.ids.push_back(writer.next(Kind::Compilation));
      writer.put(CompilationRow{out.ids.back(), segment.id, i, "0/" + std::to_string(i), "ok"});
    }
    return out;
  }

  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  kit::Film gatedFilm(Id compilation) const {
    kit::Film film;
    film.run = ids().gated_run;
    film.compilation = compilation;
    return film;
  }
  static QColor colourAt(QWidget& widget, const QRectF& box) {
    return widget.grab().toImage().pixelColor(box.center().toPoint());
  }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestTables)
#include "tst_tables.moc"
