// Numerics: what differs first and what makes a NaN are marked and one click away; errors colour the graph.
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>

#include "tests/gui/views/view_rig.h"
#include "views/graph/colouring.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector_content.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/values.h"
#include "views/numerics/numerics_rows.h"
#include "views/numerics/numerics_view.h"

using namespace vitrine;
using fixture::Rig;
using views::NumericsView;

namespace {

QStringList cells(NumericsView& view, int row) {
  QStringList out;
  const auto& items = *view.table()->items();
  for (int column = 0; column < items.columnCount(); ++column) {
    const auto* cell = items.cell(items.index(row, column));
    out << (cell ? cell->text : QString());
  }
  return out;
}

}  // namespace

class TestNumerics : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    const QString path = folder_.filePath("numerics.vitrine");
    ids_ = fixture::writeSession(path.toStdString(), 1, true);
    session_ = kit::SessionData::load(path.toStdString()).value();
  }

  void aRowSaysHowFarBothAreFromFloat64AndHowItWasGot() {
    Rig<NumericsView> rig(session_, "", {1300, 300});
    QCOMPARE(rig.view.shown().size(), size_t(3));
    const QStringList norm = cells(rig.view, 0);
    QCOMPARE(norm[1], QString("native_layer_norm"));
    QCOMPARE(norm[3], QString("close"));
    QCOMPARE(norm[4], QString("5.9e\u221207"));
    QCOMPARE(norm[5], QString("6.1e\u221207"));
    QCOMPARE(norm[11], QString("K0"));
    QCOMPARE(cells(rig.view, 1)[11], QString("alone"));
    QVERIFY2(rig.view.subtitle() == "3 values, 1 differs; compiled, eager: off float64",
             qPrintable(rig.view.subtitle()));
  }

  void inAPaneOfAThousandTypesAreWholeAndNothingIsScrolledTo() {
    Rig<NumericsView> rig(session_, "", {1000, 300});
    const auto& table = *rig.view.table();
    QCOMPARE(table.horizontalScrollBar()->maximum(), 0);
    const int type = kit::textWidth(kit::theme().mono(12), cells(rig.view, 0)[2]);
    QVERIFY2(table.columnWidth(2) >= type + 8, qPrintable(QString::number(table.columnWidth(2))));
    const int name = kit::textWidth(kit::theme().mono(12), cells(rig.view, 0)[1]);
    QVERIFY2(table.columnWidth(1) >= name + 20 + 8, qPrintable(QString::number(table.columnWidth(1))));
    QVERIFY2(table.columnWidth(9) >= 40, qPrintable(QString::number(table.columnWidth(9))));
  }

  void theFirstThatDiffersIsMarkedAndAButtonGoesThere() {
    Rig<NumericsView> rig(session_, "", {1300, 300});
    QCOMPARE(cells(rig.view, 1)[3], QString("differs first"));
    auto buttons = rig.view.headerControls();
    auto* first = qobject_cast<QToolButton*>(buttons[0]);
    QVERIFY(first && first->isEnabled());
    QTest::mouseClick(first, Qt::LeftButton);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids_.aten_gelu);
  }

  void theSourceOfANanIsMarkedAndAButtonGoesThere() {
    Rig<NumericsView> rig(session_, "", {1300, 300});
    QCOMPARE(cells(rig.view, 2)[10], QString("makes 3 NaN"));
    auto* nan = qobject_cast<QToolButton*>(rig.view.headerControls()[1]);
    QVERIFY(nan && nan->isEnabled());
    QTest::mouseClick(nan, Qt::LeftButton);
    rig.settle();
    QCOMPARE(rig.model.selection().active, views::sourceOfNan(*session_, ids_.compilation));
  }

  // What a value is stands in its row's detail and in the Inspector, for what it became, too.
  void theElementsOfAValueAreTold() {
    const auto items = views::numericsItems(*session_, ids_.compilation);
    QVERIFY2(
        items[0].detail.contains(QString::fromUtf8("Values: −3.25 to 4.5, mean 0.0125, deviation 0.98.")),
        qPrintable(items[0].detail));
    session::NumericsRow row;
    QVERIFY(kit::valuesText(row).isEmpty());
    row.distribution = "0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1000";
    QCOMPARE(kit::distributionText(row), QString::fromUtf8("______________▁█"));
    kit::Selection selection;
    selection.active = ids_.aten_gelu;
    QStringList said;
    for (const auto& section : views::inspect(*session_, selection).sections)
      for (const auto& each : section.rows) said << section.title + ": " + each.key + " " + each.value;
    QVERIFY2(said.contains(QString::fromUtf8("Elements: least −3.25")), qPrintable(said.join('\n')));
  }

  void aHistogramThatIsNoneIsADash() {
    const auto items = views::numericsItems(*session_, ids_.compilation);
    QCOMPARE(items[0].cells[9].histogram.size(), size_t(12));
    QVERIFY(items[2].cells[9].histogram.empty());
    QCOMPARE(items[2].cells[9].text, kit::unknown());
    QVERIFY(items[0].cells[9].tooltip.startsWith("0 ulp: 700000"));
  }

  void aWorseErrorHasALongerBarOnOneScale() {
    const auto items = views::numericsItems(*session_, ids_.compilation);
    QVERIFY(items[1].cells[4].bar > items[0].cells[4].bar);
    QVERIFY(items[1].cells[4].bar <= 1 && items[1].cells[5].bar >= 0);
    QVERIFY(items[1].cells[5].bar < items[0].cells[5].bar);  // eager is nearer there
  }

  void aNodeOfALaterGraphShowsTheValueItComesFrom() {
    Rig<NumericsView> rig(session_, "", {1300, 300});
    rig.activate(ids_.fused_gelu);
    QCOMPARE(rig.view.canShow(ids_.fused_gelu), ids_.aten_gelu);
  }

  void withoutThemItOffersToRecordAgain() {
    fixture::Loaded plain;
    Rig<NumericsView> rig(plain.session, "", {700, 200});
    QVERIFY2(rig.view.why_empty().startsWith("Not recorded"), qPrintable(rig.view.why_empty()));
    for (QWidget* button : rig.view.headerControls()) QVERIFY(!button->isEnabled());
    QSignalSpy wanted(&rig.view, &kit::View::commandRequested);
    Q_EMIT rig.view.findChild<kit::EmptyState*>()->commandRequested("run.numerics");
    QCOMPARE(wanted.size(), 1);
    QCOMPARE(wanted[0][0].toString(), QString("run.numerics"));
  }

  void withoutASessionNothingIsSaidToDiffer() {
    Rig<NumericsView> rig(nullptr, "", {400, 200});
    QVERIFY(rig.view.subtitle().isEmpty() && rig.view.shown().empty());
    for (QWidget* button : rig.view.headerControls()) QVERIFY(!button->isEnabled());
  }

  void theGraphIsColouredByErrorAtEachStage() {
    QVERIFY(views::colour_names().contains("error"));
    for (const char* stage : {"aten", "optimised"}) {
      Rig<views::GraphView> rig(session_, stage, {700, 700});
      rig.view.colourBy(views::Colour::Error);
      rig.settle();
      const auto* graph = session_->lastGraph(ids_.compilation, stage);
      views::Scene scene;
      views::SceneItem item;
      item.kind = views::SceneItem::Kind::Node;
      for (const auto& node : session_->nodes.of(session_->withNodes(*graph)->id))
        if (node.name == "gelu") item.members.push_back(node.id);
      QCOMPARE(item.members.size(), size_t(1));
      scene.items.push_back(item);
      item.members.clear();  // of what was not compared nothing is said, no time either
      item.right = "3 ms";
      scene.items.push_back(item);
      views::colour_scene(scene, *session_, graph->id, views::Colour::Error);
      QCOMPARE(scene.items[0].right, QString("0.0031"));
      QCOMPARE(scene.items[0].shade, kit::Theme::mix(kit::theme().node, kit::theme().err, 0.38));
      QVERIFY(scene.items[1].right.isEmpty() && !scene.items[1].shade.isValid());
      QCOMPARE(scene.keys.back().second, QString("differs"));
    }
  }

 private:
  QTemporaryDir folder_;
  fixture::Ids ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestNumerics)
#include "tst_numerics.moc"
