// Runs: the tree of what was run, compiled and launched.
#include <QSignalSpy>

#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/tables/item_view.h"
#include "views/runs/runs_view.h"

using namespace vitrine;
using fixture::Rig;
using views::RunsView;

class TestRuns : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void runsHoldFramesAndFramesTheirCompilations() {
    Rig<RunsView> rig(session(), "", {320, 700});
    const kit::ItemModel* m = tree(rig)->items();
    QCOMPARE(m->rowCount(), static_cast<int>(session()->runs.size()));
    QCOMPARE(chain(m, m->indexOf(ids().k2)),
             (QStringList{"transformer_block.py", "Block.forward", "compile 0/0", "K2 add_gelu"}));
    QVERIFY(m->cell(m->index(0, 0))->below.contains("cpu"));
  }

  // What is written beside a number is short: which half it is must be legible.
  void aBackwardCompilationIsNamedByItsLabel() {
    const std::string path = loaded_->folder.filePath("training.vitrine").toStdString();
    fixture::writeTraining(path);
    auto training = kit::SessionData::load(path);
    QVERIFY(training);
    Rig<RunsView> rig(training.value(), "", {320, 700});
    const QStringList lines = tree(rig)->items()->lines();
    QVERIFY2(!lines.filter("compile 0/0").isEmpty() && !lines.filter("0/0 backward").isEmpty(),
             qPrintable(lines.join('\n')));
    QVERIFY2(lines.filter("compile 0/0 backward").isEmpty(), qPrintable(lines.join('\n')));
  }

  void aRunSaysHowMuchFasterItWas() {
    Rig<RunsView> rig(session(), "", {320, 700});
    const QStringList lines = tree(rig)->items()->lines();
    QVERIFY2(lines[0].startsWith("transformer_block.py | 1.1"), qPrintable(lines[0]));
    QVERIFY2(!lines.filter("K2 add_gelu | ").isEmpty(), qPrintable(lines.join('\n')));
    QVERIFY2(!lines.filter(QRegularExpression("compile 0/0 \\| a call [\\d.]+.[nµm]?s$")).isEmpty(),
             qPrintable(lines.join('\n')));
  }

  // The right column is compared down: a count, a place or a word is not among its numbers.
  void theRightColumnHoldsTimes() {
    Rig<RunsView> rig(session(), "", {320, 700});
    static const QRegularExpression time("^((compile |a call )?[\\d.]+.[nµm]?s|[\\d.]+×|–|)$");
    const QStringList lines = tree(rig)->items()->lines();
    for (const QString& line : lines.filter(QRegularExpression("^ ")))  // a run's row says what came of it
      QVERIFY2(time.match(line.section(" | ", 1)).hasMatch(), qPrintable(line));
    QVERIFY2(!lines.filter(QRegularExpression("\\d+ guards \\|")).isEmpty(), qPrintable(lines.join('\n')));
    QVERIFY2(!lines.filter(QRegularExpression("segment 0, pc \\d+ \\|")).isEmpty(),
             qPrintable(lines.join('\n')));
    QVERIFY2(!lines.filter(QRegularExpression("\\d+:\\d+ if x.abs")).isEmpty(), qPrintable(lines.join('\n')));
  }

  // Compilations of a segment that end at one break are told of it once.
  void aBreakStandsBetweenItsSegments() {
    Rig<RunsView> rig(session(), "", {320, 700});
    const QStringList lines = tree(rig)->items()->lines();
    QCOMPARE(lines.filter("if x.abs().max() > 6.0:").size(), 1);
    const kit::ItemModel* m = tree(rig)->items();
    const QModelIndex gap = m->indexOf(ids().break_branch);
    QCOMPARE(m->cell(gap)->tone, kit::Tone::Warn);
    QCOMPARE(m->idAt(gap.parent()), session()->frames.of(ids().gated_run).front().id);
  }

  // There is less room below a segment: the word goes, not the number that tells one from the next.
  void belowASegmentACompilationIsItsNumber() {
    Rig<RunsView> rig(session(), "", {268, 700});
    const kit::ItemModel* m = tree(rig)->items();
    const QModelIndex at = m->indexOf(ids().recompiled);
    QVERIFY2(m->cell(at.parent())->text.startsWith("segment"), qPrintable(m->cell(at.parent())->text));
    QVERIFY2(m->cell(at)->text.startsWith("0/1"), qPrintable(m->cell(at)->text));
  }

  void whatIsActiveElsewhereIsUnfolded() {
    Rig<RunsView> rig(session(), "", {320, 260});
    rig.activate(ids().recompiled);
    QVERIFY(row(rig, ids().recompiled).isValid());
    QVERIFY(rig.view.rect().intersects(tree(rig)->visualRect(row(rig, ids().recompiled))));
    QCOMPARE(rig.view.canShow(ids().k2), ids().k2);
    QCOMPARE(rig.view.canShow(ids().captured_gelu), Id(0));  // a node has no row
  }

  void aClickActivatesAndTwoOpenIt() {
    Rig<RunsView> rig(session(), "", {320, 700});
    rig.view.reveal(ids().k2);
    const QPoint at = tree(rig)->visualRect(row(rig, ids().k2)).center();
    QSignalSpy opened(&rig.view, &kit::View::openIn);
    QTest::mouseClick(tree(rig)->viewport(), Qt::LeftButton, {}, at);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().k2);
    QTest::mouseDClick(tree(rig)->viewport(), Qt::LeftButton, {}, at);
    QCOMPARE(opened.size(), 1);
    QCOMPARE(opened[0][0].value<Id>(), ids().k2);
  }

  void whatIsFoundIsUnfolded() {
    Rig<RunsView> rig(session(), "", {320, 700});
    QVERIFY(rig.view.find("add_gelu") >= 1);
    QVERIFY(!tree(rig)->visualRect(row(rig, ids().k2)).isEmpty());
    QVERIFY(!row(rig, ids().recompiled).isValid());
    rig.view.find("");
    QVERIFY(row(rig, ids().recompiled).isValid());
  }

  void withoutASessionItIsEmpty() {
    Rig<RunsView> rig(nullptr, "", {320, 200});
    QCOMPARE(tree(rig)->items()->rowCount(), 0);
    QVERIFY(rig.view.shown().empty());
  }

 private:
  static kit::ItemView* tree(Rig<RunsView>& rig) { return rig.view.findChild<kit::ItemView*>(); }
  // As the filter leaves it; invalid where it is filtered out.
  static QModelIndex row(Rig<RunsView>& rig, Id id) {
    const auto found =
        tree(rig)->model()->match(tree(rig)->model()->index(0, 0), kit::IdRole, QVariant::fromValue(id), 1,
                                  Qt::MatchExactly | Qt::MatchRecursive);
    return found.isEmpty() ? QModelIndex() : found.first();
  }
  static QStringList chain(const kit::ItemModel* m, QModelIndex at) {
    QStringList out;
    for (; at.isValid(); at = at.parent()) out.prepend(m->cell(at.siblingAtColumn(0))->text);
    return out;
  }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestRuns)
#include "tst_runs.moc"
