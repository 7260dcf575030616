// The run as a whole: totals over all compilations and calls, and the kernels of all of them in one table.
#include "app/shell/bars/run_status.h"
#include "app/shell/document/find_entity.h"
#include "core/session/built_kernels.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/numbers.h"
#include "views/tables/tables.h"

using namespace vitrine;
using fixture::Rig;
using views::TableView;

namespace {

QStringList plain(const TableView& view) {
  QStringList lines = const_cast<TableView&>(view).items()->items()->lines();
  lines.replaceInStrings(QRegularExpression("[\u00a0\u2009\u202f]"), " ");
  return lines;
}

}  // namespace

class TestTotals : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
    ids_ = fixture::writeTraining(path());
    training_ = kit::SessionData::load(path()).take();
  }

  // Stages, passes and kernels stand below the compilation that they are of; what no stage covers has a row.
  void compilingGoesDownToThePasses() {
    Rig<TableView> rig(session(), "", {900, 500}, views::kTotalsTable);
    const QStringList lines = plain(rig.view);
    QVERIFY2(lines[0].startsWith("Compiling | "), qPrintable(lines.join('\n')));
    double ns = 0;
    for (const auto& row : session()->compilations)
      if (session()->runOf(row.id) == ids().run) ns += static_cast<double>(row.duration_ns);
    QVERIFY2(lines[0].contains(kit::timeText(ns).replace(QChar(0x202f), ' ').replace(QChar(0x2009), ' ')),
             qPrintable(lines[0]));
    QVERIFY(!lines.filter(QRegularExpression("^    0/0 \\| \\d+ calls? ")).isEmpty());
    QVERIFY2(!lines.filter(QRegularExpression("^      Optimised \\| ")).isEmpty(),
             qPrintable(lines.join('\n')));
    QVERIFY2(!lines.filter(QRegularExpression("^        K2 add_gelu \\| ")).isEmpty(),
             qPrintable(lines.join('\n')));
  }

  // Equal layers have one text, which is compiled once; what only computes scalars is not compiled.
  void onlyWhatWasCompiledIsCounted() {
    using session::KernelRow;
    std::vector<KernelRow> rows(6);
    for (KernelRow& row : rows) row.compilation = 1, row.kind = "generated", row.source.row = 1;
    rows[0].compile_ns = 5;                                              // of equal layers the first
    rows[2].source.row = 2, rows[3].source.row = 3, rows[3].cached = 1;  // [2]: scalars
    rows[4].kind = "library";
    rows[5].source.row = 4, rows[5].compile_ns = 7;
    const session::BuiltKernels built = session::built_of(rows);
    QCOMPARE(built.compiled, int64_t(2));
    QCOMPARE(built.cached, int64_t(1));
  }

  // A guard is checked at each call, a launch runs at each: the totals are of all of them.
  void guardsAndLaunchesCountAllCalls() {
    Rig<TableView> rig(session(), "", {900, 500}, views::kTotalsTable);
    const auto* compilation = session()->compilations.find(ids().compilation);
    int64_t launches = 0;
    for (const auto& row : session()->launches.of(ids().compilation)) launches += row.kernel != 0;
    const QString all = QStringLiteral("Launches | %1 launches | ").arg(launches * compilation->calls);
    const QStringList lines = plain(rig.view);
    QVERIFY2(!lines.filter(all).isEmpty(), qPrintable(all + '\n' + lines.join('\n')));
    QVERIFY(!lines.filter(QRegularExpression("^Checking guards \\| \\d+ guards \\| .*\\| 100 %")).isEmpty());
    QVERIFY(!lines.filter("Memory of temporaries | ").isEmpty());
  }

  void kernelsOfAllCompilationsStandInOneTable() {
    Rig<TableView> rig(training_, "", {1100, 300}, views::kKernelsTable);
    const auto one = plain(rig.view);
    auto* choice = qobject_cast<kit::SwitchBar*>(rig.view.headerControls().value(0));
    QVERIFY(choice);
    QCOMPARE(choice->choices().value(1), QStringLiteral("Whole run"));
    QVERIFY(rig.view.subtitle().contains("compilation"));
    choice->setCurrent(1);
    Q_EMIT choice->chosen(1);
    rig.settle();
    QVERIFY(rig.view.subtitle().contains("whole run"));
    size_t kernels = 0;
    for (Id each : {ids_.forward, ids_.backward}) kernels += training_->kernels.of(each).size();
    const auto lines = plain(rig.view);
    QCOMPARE(static_cast<size_t>(lines.size()), kernels);
    QVERIFY2(lines.size() > one.size() || training_->kernels.of(ids_.forward).empty(),
             qPrintable(lines.join('\n')));
    for (const QString& line : lines) QVERIFY2(line.startsWith("0/0"), qPrintable(line));
    // The film goes on to the other compilation: the rows stay those of the run.
    kit::Film film;
    film.compilation = ids_.backward;
    rig.film(film);
    QCOMPARE(plain(rig.view), lines);
  }

  // What one compilation has is never told as the run's, and the one that is shown is named.
  void theFilmTellsOfTheRunAndOfWhatIsShown() {
    const app::RunStatus status = app::runStatus(*training_, ids_.backward);
    QVERIFY2(status.numbers.startsWith("2 compilations "), qPrintable(status.numbers));
    QVERIFY2(status.numbers.endsWith("0/0 backward is shown"), qPrintable(status.numbers));
  }

  // Each compilation counts its kernels from 0: what is found says whose it is.
  void whatIsFoundSaysOfWhichCompilation() {
    QStringList contexts;
    for (const auto& row : training_->kernels)
      for (const app::FoundEntity& each : app::findEntities(*training_, training_->label(row.id), "", 50))
        if (each.id == row.id) contexts << each.context;
    QVERIFY(!contexts.isEmpty());
    for (const QString& each : contexts) QVERIFY2(each.startsWith("kernel of 0/0"), qPrintable(each));
  }

  void aSessionWithoutCompilationsSaysSo() {
    Rig<TableView> rig(nullptr, "", {600, 200}, views::kTotalsTable);
    QVERIFY(plain(rig.view).isEmpty());
  }

 private:
  std::string path() { return loaded_->folder.filePath("t.vitrine").toStdString(); }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
  kit::SessionPtr training_;
  fixture::TrainingIds ids_;
};

QTEST_MAIN(TestTotals)
#include "tst_totals.moc"
