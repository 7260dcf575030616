// Problems: what to fix first, each with its place, and where there is none, why.
#include <QSignalSpy>

#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/tables/item_view.h"
#include "views/kit/text/numbers.h"
#include "views/kit/widgets/widgets.h"
#include "views/problems/problems_items.h"
#include "views/problems/problems_view.h"

using namespace vitrine;
using fixture::Rig;
using views::ProblemsView;

class TestProblems : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void theDearestBreakStandsFirst() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    const QStringList lines = items(rig)->lines().filter("graph break |");
    QCOMPARE(lines.size(), 2);
    QVERIFY2(lines[0].contains("h.mean().item()"), qPrintable(lines.join('\n')));
    QVERIFY2(lines[1].contains("if x.abs().max() > 6.0:"), qPrintable(lines.join('\n')));
    QCOMPARE(rig.view.shown().front(), ids().break_item);
  }

  void aBreakSaysWhereItIsAndWhatToDo() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    const QStringList lines = items(rig)->lines();
    QVERIFY2(!lines.filter("h.mean().item() | 13:53 | 340").isEmpty(), qPrintable(lines.join('\n')));
    const QModelIndex row = items(rig)->indexOf(ids().break_item);
    const QString detail = items(rig)->index(0, 0, row).data(kit::DetailRole).toString();
    QVERIFY2(detail.contains("keep the mean as a tensor"), qPrintable(detail));
  }

  void aRecompilationSaysWhatChanged() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    const QStringList lines = items(rig)->lines().filter("recompilation |");
    QCOMPARE(lines.size(), 1);
    QVERIFY2(lines[0].contains("L['x'].size(1) == 128, now 96"), qPrintable(lines[0]));
    QVERIFY2(lines[0].contains("train.py:22"), qPrintable(lines[0]));
    // As `vitrine show` does: what it took tells what to mend first.
    QVERIFY2(lines[0].contains(kit::timeText(61e6) + " to compile"), qPrintable(lines[0]));
  }

  // A break has a row of its own: the message about it would be a second.
  void nothingIsToldTwice() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    QVERIFY(items(rig)->lines().filter("2 graph breaks").isEmpty());
  }

  void theHeaderCountsWhatIsListed() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    QCOMPARE(rig.view.subtitle(), QString::number(items(rig)->rowCount()));
    QCOMPARE(rig.view.find("recompilation"), 1);
    QCOMPARE(rig.view.find(""), items(rig)->rowCount());
  }

  void aClickActivatesAndTwoOpenIt() {
    Rig<ProblemsView> rig(session(), "", {900, 400});
    auto* table = rig.view.findChild<kit::ItemView*>();
    QSignalSpy opened(&rig.view, &kit::View::openIn);
    const QPoint at = table->visualRect(table->model()->index(0, 1)).center();
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, at);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().break_item);
    QCOMPARE(opened.size(), 0);
    QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, at);
    QCOMPARE(opened.size(), 1);
    QCOMPARE(opened[0][0].value<Id>(), ids().break_item);
  }

  // As on the command line; each of three equal layers has such a kernel.
  void whatSpillsIsNamedOnce() {
    kit::SessionData data;
    std::vector<session::KernelRow> kernels;
    for (int i = 0; i < 4; ++i) {
      session::KernelRow row;
      row.id = make_id(Kind::Kernel, i + 1), row.compilation = make_id(Kind::Compilation, 1);
      row.label = "K" + std::to_string(i), row.name = "norm", row.spills = i ? 16 : 0;
      kernels.push_back(row);
    }
    data.kernels = kit::Table<session::KernelRow>(kernels, &session::KernelRow::compilation);
    // The line that it comes from, too.
    const session::FileRow file{make_id(Kind::File, 1), "/home/user/model.py", "", {}, 1};
    const session::SpanRow span{make_id(Kind::Span, 1), file.id, 12, 4, 12, 9};
    data.files = kit::Table<session::FileRow>({file});
    data.spans = kit::Table<session::SpanRow>({span}, &session::SpanRow::file);
    data.links = kit::LinkIndex({{span.id, kernels[1].id}});
    const std::vector<kit::Item> items = views::problemItems(data);
    QCOMPARE(items.size(), size_t(1));
    QCOMPARE(items[0].id, kernels[1].id);
    QCOMPARE(items[0].cells[2].text, QStringLiteral("12:4"));
    QCOMPARE(items[0].cells[1].text, QStringLiteral("K1 norm does not fit into registers × 3"));
    QVERIFY2(items[0].detail.contains("16 spills"), qPrintable(items[0].detail));
  }

  void withoutProblemsItSaysSo() {
    Rig<ProblemsView> none(nullptr, "", {400, 200});
    QCOMPARE(none.view.findChild<kit::EmptyState*>()->sentence(),
             QStringLiteral("Problems of a run stand here."));
    auto empty = std::make_shared<kit::SessionData>();
    Rig<ProblemsView> rig(empty, "", {400, 200});
    const auto* said = rig.view.findChild<kit::EmptyState*>();
    QVERIFY(said->isVisible());
    QCOMPARE(said->sentence(), QStringLiteral("No problems are known: no run was recorded."));
    QCOMPARE(rig.view.subtitle(), QStringLiteral("0"));
  }

 private:
  static kit::ItemModel* items(Rig<ProblemsView>& rig) {
    return rig.view.findChild<kit::ItemView*>()->items();
  }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestProblems)
#include "tst_problems.moc"
