// Equal things stand as one row with their count and totals, and open to each of them: kernels and saved
// tensors of equal layers, in tables and in the tree of runs.
#include <QAbstractItemModelTester>

#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/memory/memory_items.h"
#include "views/runs/runs_view.h"
#include "views/tables/saved_view.h"
#include "views/tables/tables.h"

using namespace vitrine;
using fixture::Rig;
using views::TableView;

class TestTogether : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    const std::string path = folder_.filePath("layers.vitrine").toStdString();
    ids_ = fixture::writeLayers(path, kLayers);
    session_ = kit::SessionData::load(path).value();
  }

  void kernelsOfEqualLayersAreOneRowWithTheirTotal() {
    Rig<TableView> rig(session_, "", {1200, 400}, views::kKernelsTable);
    auto* view = rig.view.items();
    QAbstractItemModelTester contract(view->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
    QCOMPARE(view->model()->rowCount(), 4);
    // By their totals: 48 of 3 µs, 48 of some 2 µs, 48 of 1 µs, and the one before the layers.
    const QStringList rows = top(*view);
    QVERIFY2(rows[0].startsWith("L2 +47 | mm × 48, layers.*.down | library | 64 × 16 | 48 | 144.0 | "),
             qPrintable(rows.join('\n')));
    QVERIFY2(rows[1].startsWith("L1 +47 | mm × 48, layers.*.up | library | 64 × 16 | 48 | 97.1 | "),
             qPrintable(rows.join('\n')));
    QVERIFY2(rows[2].startsWith("K0 +47 | gelu × 48 | generated | 64 × 16 | 48 | 48.0 | "),
             qPrintable(rows.join('\n')));
    QVERIFY2(rows[2].endsWith(" | 21.0"), qPrintable(rows[2]));  // compiled once
    QVERIFY2(rows[3].startsWith("L0 | mm | library | 64 × 16 | 1 | 0.5 | "), qPrintable(rows.join('\n')));
    QVERIFY2(rig.view.subtitle().contains("48 generated, 97 library"), qPrintable(rig.view.subtitle()));
    view->sortBy(5, Qt::AscendingOrder);
    QVERIFY(top(*view)[0].startsWith("L0 |") && top(*view)[3].startsWith("L2 +47"));
    // Its members by the same column.
    const QModelIndex up = view->model()->index(2, 0);
    QCOMPARE(view->model()->rowCount(up), kLayers);
    QCOMPARE(view->model()->index(0, 0, up).data().toString(), QStringLiteral("L1"));
  }

  // What a plan holds for each of three equal layers, and what their operators became.
  void buffersAndWhatBecameWhatOfEqualLayersAreOneRow() {
    using namespace session;
    const std::string path = folder_.filePath("plan.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "layers.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id c = fixture::bareCompilation(*w, run), graph = w->next(Kind::Graph);
    w->put(GraphRow{graph, c, "aten"});
    for (int i = 0; i < 3; ++i) {
      const std::string n = std::to_string(i);
      NodeRow node{w->next(Kind::Node), graph, i, i, i ? "mm_" + n : "mm", "op", "aten.mm.default", "matmul"};
      node.module = "layers." + n + ".up";
      w->put(node);
      KernelRow kernel{w->next(Kind::Kernel), c, i, "L" + n, "mm", "library", "matmul"};
      w->put(kernel);
      w->link(node.id, kernel.id);
      LaunchRow launch{w->next(Kind::Launch), c, i, "library", "L" + n + " mm", "", kernel.id};
      launch.median_ns = 1'000;
      w->put(launch);
      w->link(kernel.id, launch.id);
      BufferRow weight{w->next(Kind::Buffer),        c,           2 * i,
                       "layers_" + n + "_up_weight", "parameter", "f32[4,4]"};
      weight.bytes = 64, weight.first = weight.last = i, weight.offset = -1;
      w->put(weight);
      BufferRow made{w->next(Kind::Buffer), c, 2 * i + 1, "buf" + n, "temporary", "f32[8,4]"};
      made.bytes = 128, made.first = i, made.last = i + 1, made.offset = 128 * i, made.node = node.id;
      w->put(made);
    }
    w->finish("finished");
    w.reset();
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    Rig<TableView> memory(data, "", {1200, 400}, views::kMemoryTable);
    QCOMPARE(top(*memory.view.items()),
             QStringList({"buf0 +2, layers.*.up | temporary | f32[8,4] | 384 | 1 | 3 | –",
                          "layers_*_up_weight × 3 | parameter | f32[4,4] | 192 | 1 | 3 | –"}));
    Rig<TableView> became(data, "", {1200, 400}, views::kBecameTable);
    QCOMPARE(top(*became.view.items()), QStringList("L0 mm +2 | mm × 3 | 3 | 3.00"));
    QCOMPARE(became.view.copy(kit::CopyAs::Csv).split('\n').size(), 1 + 3);
  }

  // A stranger's session may say 2^53 of each: their sum fits into no 64 bits.
  void totalsOfTheLargestNumbersAreSums() {
    constexpr int kMany = 2100;
    constexpr int64_t kBytes = int64_t{1} << 52;
    const std::string path = folder_.filePath("large.vitrine").toStdString();
    fixture::writeLayers(path, kMany, kBytes);
    const kit::SessionPtr large = kit::SessionData::load(path).value();
    const double all = static_cast<double>(kMany) * static_cast<double>(kBytes);
    Rig<TableView> kernels(large, "", {1200, 400}, views::kKernelsTable);
    QCOMPARE(largest(*kernels.view.items(), "traffic"), 2 * all);
    Rig<views::SavedView> saved(large, "", {1200, 400});
    QCOMPARE(largest(*saved.view.items(), "B"), all);
  }

  void aRowOfEqualKernelsSelectsAllAndAMemberItself() {
    Rig<TableView> rig(session_, "", {1200, 700}, views::kKernelsTable);
    auto* view = rig.view.items();
    const QModelIndex row = view->model()->index(2, 0);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {},
                      view->visualRect(row.siblingAtColumn(1)).center());
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids_.gelu[0]);
    QCOMPARE(rig.model.selection().selected, ids_.gelu);
    QVERIFY(!view->isExpanded(row));
    view->setExpanded(row, true);
    const QModelIndex third = view->model()->index(2, 1, row);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(third).center());
    rig.settle();
    QCOMPARE(rig.model.selection().selected, std::vector<Id>{ids_.gelu[2]});
    // Of the first, which has the id of the row, the cursor stays at the member.
    const QModelIndex first = view->model()->index(0, 1, row);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(first).center());
    rig.settle();
    QCOMPARE(rig.model.selection().selected, std::vector<Id>{ids_.gelu[0]});
    QCOMPARE(view->currentIndex().parent(), row);
  }

  void whatIsActiveElsewhereIsFoundInItsRow() {
    Rig<TableView> rig(session_, "", {1200, 700}, views::kKernelsTable);
    auto* view = rig.view.items();
    rig.activate(ids_.up[7]);
    const QModelIndex row = view->model()->index(1, 0);
    QVERIFY(view->isExpanded(row));
    QCOMPARE(view->currentIndex().data(kit::IdRole).toLongLong(), ids_.up[7]);
    const std::vector<Id> all = rig.view.shown();  // what Ctrl+A selects
    QCOMPARE(all.size(), static_cast<size_t>(3 * kLayers + 1));
  }

  void theKeyboardOpensAndWalksThem() {
    Rig<TableView> rig(session_, "", {1200, 700}, views::kKernelsTable);
    auto* view = rig.view.items();
    const QModelIndex row = view->model()->index(2, 0);
    view->setCurrentIndex(row);
    QTest::keyClick(view, Qt::Key_Return);
    rig.settle();
    QCOMPARE(rig.model.selection().selected, ids_.gelu);
    QTest::keyClick(view, Qt::Key_Right);
    QVERIFY(view->isExpanded(row));
    QTest::keyClick(view, Qt::Key_Down);
    QTest::keyClick(view, Qt::Key_Down);
    QTest::keyClick(view, Qt::Key_Return);
    rig.settle();
    QCOMPARE(rig.model.selection().selected, std::vector<Id>{ids_.gelu[1]});
    view->setCurrentIndex(row);
    QTest::keyClick(view, Qt::Key_Left);
    QVERIFY(!view->isExpanded(row));
    QTest::keyClick(view, Qt::Key_Return);
    rig.settle();
    rig.view.findNext(true);  // the row behind, and not the members of a closed one
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids_.first);
  }

  void aFilterOpensTheRowOfWhatItFinds() {
    Rig<TableView> rig(session_, "", {1200, 700}, views::kKernelsTable);
    auto* view = rig.view.items();
    QCOMPARE(rig.view.find("/^K17$/"), 1);
    QCOMPARE(view->shown(), std::vector<Id>{ids_.gelu[17]});
    QVERIFY(view->isExpanded(view->model()->index(0, 0)));
    QCOMPARE(rig.view.find("gelu × 48"), 1);  // the row itself
    rig.view.find("");
    for (int i = 0; i < view->model()->rowCount(); ++i)
      QVERIFY(!view->isExpanded(view->model()->index(i, 0)));
  }

  // A sheet adds up what it is given: each kernel is a line, and no total.
  void csvHasEachKernelAndNoTotal() {
    Rig<TableView> rig(session_, "", {1200, 400}, views::kKernelsTable);
    const QStringList csv = rig.view.copy(kit::CopyAs::Csv).split('\n');
    QCOMPARE(csv.size(), 1 + 3 * kLayers + 1);
    QCOMPARE(csv.filter(",gelu,").size(), kLayers);
    rig.view.items()->setExpanded(rig.view.items()->model()->index(0, 0), true);
    QCOMPARE(rig.view.copy(kit::CopyAs::Csv).split('\n').size(), csv.size());
    QCOMPARE(rig.view.copyPython().count("\"gelu\""), kLayers);
    const QString text = rig.view.copy(kit::CopyAs::Text);  // as it is seen
    QVERIFY(text.contains("gelu × 48\t") && text.contains("\nL4\tmm\t"));
  }

  void savedTensorsOfEqualLayersAreOneRow() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kSavedTable);
    const QStringList rows = top(*rig.view.items());
    QCOMPARE(rows.size(), 3);
    QVERIFY2(rows[0].startsWith("gelu × 48 | saved | f32[64,16] | 196.6 | "), qPrintable(rows.join('\n')));
    QVERIFY2(rows[1].startsWith("embed | saved | f32[64,16] | 4.1 | "), qPrintable(rows.join('\n')));
    QVERIFY2(rows[2].startsWith("layers_*_bias × 48 | input | f32[16] | – | "), qPrintable(rows.join('\n')));
    QCOMPARE(rig.view.items()->model()->rowCount(rig.view.items()->model()->index(0, 0)), kLayers);
  }

  // Whether it is saved or computed again is what the table is for.
  void whatBecomesOfAValueIsNotCut() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("training.vitrine").toStdString();
    fixture::writeTraining(path);
    Rig<TableView> rig(kit::SessionData::load(path).value(), "", {400, 300}, views::kSavedTable);
    kit::ItemView* table = rig.view.items();
    QVERIFY(table->items()->lines().join('\n').contains("recomputed"));
    QVERIFY(table->columnWidth(1) >= kit::textWidth(kit::theme().ui(12), "recomputed") + kit::theme().px(16));
  }

  void aPinOfTheirRowPinsAllOfThem() {
    Rig<views::SavedView> rig(session_, "", {900, 400});
    rig.model.setActive(ids_.kept[0]);
    rig.model.setSelected(ids_.kept);
    rig.settle();
    rig.view.act("partition.pin");
    QCOMPARE(rig.view.pins().size(), static_cast<size_t>(kLayers));
    QVERIFY2(rig.view.strip().startsWith("What if gelu × 48 recomputed: estimated"),
             qPrintable(rig.view.strip()));
    rig.view.act("partition.pin");  // the same again: no longer
    QVERIFY(rig.view.pins().empty());
  }

  void whatEqualLayersHoldOfMemoryIsOneRow() {
    const views::MemoryUsePtr use = views::memory_use(*session_, session_->runs[0].id);
    const std::vector<kit::Item> sides = views::memory_items(*session_, *use, -1);
    QCOMPARE(sides.size(), size_t(2));
    QCOMPARE(sides[1].children.size(), size_t(1));
    const kit::Item& held = sides[1].children[0];
    QCOMPARE(held.cells[0].text, QStringLiteral("gelu × 48"));
    QCOMPARE(held.cells[1].sort.toDouble(), 48 * 4096.0);
    QVERIFY(held.together && held.cells.back().text == "held");
    QCOMPARE(held.children.size(), size_t(kLayers));
    QCOMPARE(held.children[3].id, ids_.kept[3]);
  }

  void theTreeOfRunsHasThemOnce() {
    Rig<views::RunsView> rig(session_, "", {268, 600});
    QStringList lines = rig.view.findChild<kit::ItemView*>()->items()->lines();
    lines.replaceInStrings(QRegularExpression("[\u00a0\u2009\u202f]"), " ");
    QCOMPARE(lines.filter("gelu × 48").size(), 1);
    QVERIFY2(lines.filter("gelu × 48")[0].endsWith("gelu × 48 | 48.00 µs"), qPrintable(lines.join('\n')));
    QCOMPARE(lines.filter("mm × 48").size(), 2);
    QCOMPARE(lines.filter(QRegularExpression("^ +K\\d+ gelu \\|")).size(), kLayers);
  }

 private:
  static constexpr int kLayers = 48;
  // The rows of the top, in the order in which they stand.
  static QStringList top(kit::ItemView& view) {
    QStringList out;
    for (int row = 0; row < view.model()->rowCount(); ++row) {
      QStringList cells;
      for (int column = 0; column < view.model()->columnCount(); ++column)
        cells << view.model()->index(row, column).data().toString();
      out << cells.join(" | ").replace(QRegularExpression("[\u00a0\u2009\u202f]"), " ");
    }
    return out;
  }
  // The largest number of the column whose title has this word.
  static double largest(kit::ItemView& view, const char* title) {
    double out = -1;
    for (int column = 0; column < view.model()->columnCount(); ++column)
      for (int row = 0; row < view.model()->rowCount(); ++row)
        if (view.items()->columns()[static_cast<size_t>(column)].title.contains(title))
          out = std::max(out, view.model()->index(row, column).data(kit::SortRole).toDouble());
    return out;
  }
  QTemporaryDir folder_;
  fixture::LayersIds ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestTogether)
#include "tst_together.moc"
