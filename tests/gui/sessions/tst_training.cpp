// A training step: what crosses from forward to backward, in the table and in the graphs; symbols.
#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/kit/painting/theme.h"
#include "views/tables/tables.h"

using namespace vitrine;
using fixture::Rig;
using views::GraphView;
using views::TableView;

class TestTraining : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    app::AppSettings::ignoreStored();
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("train.vitrine");
    ids_ = fixture::writeTraining(path_.toStdString());
    session_ = kit::SessionData::load(path_.toStdString()).value();
  }

  void whatCrossesIsListedWithItsCost() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kSavedTable);
    const QStringList rows = lines(rig);
    QCOMPARE(rows.size(), 4);
    QVERIFY2(rows.contains("mm | saved | f32[64,16] | 4.10 | 5.00 | 6:8"), qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("exp | recomputed | f32[64,16] | 4.10 | 1.00 | 7:11"),
             qPrintable(rows.join('\n')));
    QCOMPARE(plain(rig.view.subtitle()), QStringLiteral("4.10 kB kept of 12.3 kB, 2 computed again"));
    auto* model = rig.view.items()->items();
    QString why;
    for (int row = 0; row < model->rowCount(); ++row)
      if (model->index(row, 0).data().toString() == "mm")
        why = model->index(0, 0, model->index(row, 0)).data(kit::DetailRole).toString();
    QVERIFY2(why.contains("which is not run twice"), qPrintable(why));
  }

  // The backward compilation is the other half of the same joint graph.
  void theBackwardCompilationShowsTheSame() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kSavedTable);
    rig.film(filmAt(ids_.backward));
    QCOMPARE(lines(rig).size(), 4);
    Rig<GraphView> joint(session_, "joint", {700, 900});
    const size_t items = joint.view.picture().scene.items.size();
    QVERIFY(items > 0);
    joint.film(filmAt(ids_.backward));
    QCOMPARE(joint.view.picture().scene.items.size(), items);
    QCOMPARE(session_->countOf(ids_.backward, "joint"), session_->countOf(ids_.forward, "joint"));
    QCOMPARE(session_->countOf(ids_.backward, "optimised"), 7);  // its own
    QCOMPARE(session_->countOf(ids_.forward, "optimised"), -1);
  }

  // An operator leads to launches of both halves: each half's table has its own.
  void whatBecameWhatIsToldOfEachHalf() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kBecameTable);
    rig.film(filmAt(ids_.forward));
    QCOMPARE(lines(rig), QStringList{"L0 mm | mm | 1 | 5.00"});
  }

  void aSavedTensorIsMarkedInBothHalves() {
    Rig<TableView> table(session_, "", {900, 400}, views::kSavedTable);
    Rig<GraphView> forward(session_, "forward", {600, 700}), backward(session_, "backward", {600, 700});
    const QModelIndex row = table.view.items()->items()->indexOf(ids_.saved_joint);
    QVERIFY(row.isValid());
    for (auto* rig : {&forward, &backward}) rig->activate(ids_.saved_joint);
    QCOMPARE(forward.view.canShow(ids_.saved_joint), ids_.saved_forward);
    QCOMPARE(backward.view.canShow(ids_.saved_joint), ids_.saved_backward);
    table.activate(ids_.saved_backward);  // and back
    QCOMPARE(table.view.canShow(ids_.saved_backward), ids_.saved_joint);
  }

  void theGraphsSayWhatIsKeptAndWhatIsDoneAgain() {
    Rig<GraphView> forward(session_, "forward", {600, 700}), backward(session_, "backward", {600, 700});
    QCOMPARE(badge(forward, ids_.saved_forward), views::Badge::Saved);
    QCOMPARE(badge(backward, ids_.again_backward), views::Badge::Again);
    const auto& scene = backward.view.picture().scene;
    int saved = 0, inputs = 0;  // what forward left stands beside what reads it, not at the top
    for (const auto& item : scene.items) {
      inputs += item.kind == views::SceneItem::Kind::Input;
      for (const auto& pill : item.pills) {
        saved += pill.saved;
        if (pill.saved) QCOMPARE(pill.id, ids_.saved_backward);
      }
    }
    QCOMPARE(saved, 1);
    QCOMPARE(inputs, 1);  // the tangent
    QCOMPARE(backward.view.canShow(ids_.saved_backward), ids_.saved_backward);
    int marked = 0;
    for (const auto& item : forward.view.picture().scene.items) marked += item.badge != views::Badge::None;
    QCOMPARE(marked, 1);
  }

  void theLayoutPutsThemSideBySide() {
    app::MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
    QVERIFY(!window.openSync(path_));
    QVERIFY(window.chooseLayout("Training"));
    window.settle();
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("forward"));
    QCOMPARE(window.centre()->pane('B')->stage(), std::string("backward"));
    std::vector<std::string> shown;
    for (app::Pane* pane : window.centre()->panes()) shown.push_back(pane->what());
    QCOMPARE(shown, (std::vector<std::string>{"forward", "view:saved", "backward"}));
    QCOMPARE(window.strip()->count("joint"), QStringLiteral("9"));
  }

  // Panes of halves that there are not would be empty.
  void aRunWithoutGradientsHasNoEmptyPanes() {
    const QString inference = folder_.filePath("inference.vitrine");
    fixture::writeSession(inference.toStdString());
    app::MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.show();
    QVERIFY(!window.openSync(inference));
    QVERIFY(window.chooseLayout("Training"));
    window.settle();
    const auto stages = [&] {
      QStringList out;
      for (const app::Pane* pane : window.centre()->panes()) out << QString::fromStdString(pane->what());
      return out;
    };
    for (const QString& what : stages()) {
      QVERIFY2(what != "forward" && what != "backward" && what != "view:saved", qPrintable(what));
      if (!what.startsWith("view:"))
        QVERIFY(window.document()->session()->countOf(window.document()->compilation(), what.toStdString()) >
                0);
    }
    QVERIFY(!window.openSync(path_));  // in the same layout
    QVERIFY(stages().contains("forward") && stages().contains("backward"));
    QVERIFY(!window.openSync(inference));
    QVERIFY(!stages().contains("backward"));
  }

  void symbolsSayWhereTheyComeFromAndWhoFixedThem() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kSymbolsTable);
    const QStringList rows = lines(rig);
    QVERIFY2(rows.contains("s0 | L['x'].size(0) | 64 | 2 or more | changed: it was 32 | –"),
             qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("s1 | L['n'] | 4 | 4 | mark_dynamic | train.py:7"), qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("  s0 <= 4096 | train.py:6"), qPrintable(rows.join('\n')));
    QCOMPARE(rig.view.subtitle(), QStringLiteral("compilation 0/0 backward of 2; 2 symbols, 1 fixed"));
    QVERIFY(rig.view.items()->items()->indexOf(ids_.line_6).isValid());  // a click goes to the expression
  }

  void symbolsSayHowTheCallsOfEachSizeGotTheirPlan() {
    Rig<TableView> rig(session_, "", {900, 400}, views::kSymbolsTable);
    const QStringList rows = lines(rig);
    const auto has = [&](const QString& line) {
      return std::any_of(rows.begin(), rows.end(), [&](const QString& row) { return row.startsWith(line); });
    };
    QVERIFY2(has("its program holds while") && has("  s0 <= 65536"), qPrintable(rows.join('\n')));
    QVERIFY2(has("sizes met") && has("  s0 = 64, s1 = 4 | compiled for these sizes"),
             qPrintable(rows.join('\n')));
    QVERIFY(has("  s0 = 96, s1 = 4 | numbers put into the program of expressions"));
    const QStringList again = rows.filter("s0 = 1, s1 = 4");
    QCOMPARE(again.size(), 1);
    QVERIFY2(again[0].endsWith("what it asks of sizes does not hold for these"), qPrintable(again[0]));
  }

  void memoryHasExpressionsAndWhatTheyGave() {
    Rig<TableView> rig(session_, "", {1000, 400}, views::kMemoryTable);
    rig.film(filmAt(ids_.forward));
    const QStringList rows = lines(rig);
    QVERIFY2(rows.contains("for any size"), qPrintable(rows.join('\n')));
    QVERIFY2(rows.filter("  x | input | f32[s0,64] | 256*s0 B").size() == 1, qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("  buf0 | temporary | f32[s0,32] | 128*s0 B | 1 | 1 | 0 |  | 12.3"),
             qPrintable(rows.join('\n')));
    QCOMPARE(plain(rig.view.items()->items()->columns().back().title),
             QStringLiteral("at s0 = 96, s1 = 4, kB"));
  }

 private:
  template <class R>
  static QStringList lines(R& rig) {
    QStringList out;
    for (const QString& line : rig.view.items()->items()->lines()) out << plain(line);
    return out;
  }
  static QString plain(QString text) { return text.replace(QRegularExpression("[\u00a0\u2009\u202f]"), " "); }
  kit::Film filmAt(Id compilation) const {
    kit::Film film;
    film.compilation = compilation;
    return film;
  }
  static views::Badge badge(Rig<GraphView>& rig, Id node) {
    const auto& scene = rig.view.picture().scene;
    auto it = scene.item_of.find(node);
    return it == scene.item_of.end() ? views::Badge::None : scene.items[size_t(it->second)].badge;
  }
  QTemporaryDir folder_;
  QString path_;
  fixture::TrainingIds ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestTraining)
#include "tst_training.moc"
