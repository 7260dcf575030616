// The log: all that the engine told of a run, in time.
#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/run_times.h"
#include "views/kit/tables/item_view.h"
#include "views/log/log_view.h"

using namespace vitrine;
using fixture::Rig;
using views::LogView;

class TestLog : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void whatWasToldStandsInTime() {
    Rig<LogView> rig(session(), "", {700, 400});
    double last = -1;
    for (int row = 0; row < items(rig)->rowCount(); ++row) {
      const double ms = items(rig)->cell(items(rig)->index(row, 0))->sort.toDouble();
      QVERIFY2(ms >= last, qPrintable(items(rig)->lines().join('\n')));
      last = ms;
    }
    QVERIFY(last > 0);
  }

  void messagesAndStagesSayWhoseTheyAre() {
    Rig<LogView> rig(session(), "", {700, 400});
    const QStringList lines = items(rig)->lines();
    QVERIFY2(lines.contains("1.0 | vitrine | capture took 4.2 ms, 157 instructions"),
             qPrintable(lines.join('\n')));
    const QString of = kit::compilationName(*session(), ids().compilation);
    QVERIFY2(!lines.filter(" | " + of + " | ").isEmpty(), qPrintable(lines.join('\n')));
    // As the strip of stages names them.
    QVERIFY2(!lines.filter("Bytecode: ok").isEmpty(), qPrintable(lines.join('\n')));
  }

  // Each of two functions has a first compilation: the number alone does not say which.
  void compilationsOfTwoFunctionsAreToldApart() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("two.vitrine").toStdString();
    auto w = Writer::create(path).take();
    const Id run = w->next(Kind::Run);
    w->put(RunRow{run, "train.py", "script", "", "cpu", "default", "finished"});
    for (const char* name : {"encode", "decode"}) {
      const Id code = w->next(Kind::Code), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment),
               compilation = w->next(Kind::Compilation);
      w->put(CodeRow{code, 0, name});
      w->put(FrameRow{frame, run, code, "captured", ""});
      w->put(SegmentRow{segment, frame});
      w->put(CompilationRow{compilation, segment, 0, "0/0", "ok", "return"});
      w->put(StageRow{compilation, "captured", "ok"});
    }
    w->finish("finished");
    w.reset();
    Rig<LogView> rig(kit::SessionData::load(path).value(), "", {700, 400});
    const QString lines = items(rig)->lines().join('\n');
    for (const char* from : {"encode 0/0 | ", "decode 0/0 | "})
      QVERIFY2(lines.contains(from), qPrintable(lines));
  }

  void aWarningIsToldApart() {
    Rig<LogView> rig(session(), "", {700, 400});
    int warnings = 0;
    for (int row = 0; row < items(rig)->rowCount(); ++row) {
      const kit::Cell* what = items(rig)->cell(items(rig)->index(row, 2));
      const bool warns = what->text == "2 graph breaks in GatedBlock.forward";
      QCOMPARE(what->tone == kit::Tone::Warn, warns);
      QCOMPARE(what->icon == "warning", warns);
      warnings += warns;
    }
    QCOMPARE(warnings, 1);
  }

  void theFilterLeavesWhatSaysIt() {
    Rig<LogView> rig(session(), "", {700, 400});
    const int all = rig.view.find("");
    QCOMPARE(rig.view.find("graph breaks"), 1);
    QCOMPARE(rig.view.find("no line says this"), 0);
    QCOMPARE(rig.view.find(""), all);
  }

  void aClickActivatesWhatALineIsOf() {
    Rig<LogView> rig(session(), "", {700, 400});
    rig.view.find("Bytecode: ok");
    auto* table = rig.view.findChild<kit::ItemView*>();
    const QModelIndex first = table->model()->index(0, 2);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(first).center());
    rig.settle();
    QCOMPARE(kind_of(rig.model.selection().active), Kind::Compilation);
    QCOMPARE(rig.model.selection().active, first.data(kit::IdRole).toLongLong());
  }

  // What was imported tells no time of its stages: they stand in the order of the pipeline, at no time.
  void whatHasNoTimeStandsInTheOrderOfThePipeline() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("a.vitrine").toStdString();
    auto w = Writer::create(path).take();
    w->meta("imported", "A log, imported.");
    for (const char* stage : {"backward", "captured", "kernels", "joint"})
      w->put(StageRow{make_id(Kind::Compilation, 1), stage, "ok", "", 1});
    w->finish("finished");
    w.reset();
    const kit::SessionPtr imported = kit::SessionData::load(path).value();
    Rig<LogView> rig(imported, "", {700, 400});
    QStringList told;
    for (const QString& line : items(rig)->lines())
      told << line.section('|', 0, 0).trimmed() + ' ' + line.section('|', 2).trimmed();
    QCOMPARE(told, QStringList({"– Captured: ok", "– Joint: ok", "– Backward: ok", "– C++: ok"}));
  }

  void withoutASessionItIsEmpty() {
    Rig<LogView> rig(nullptr, "", {400, 200});
    QCOMPARE(items(rig)->rowCount(), 0);
  }

 private:
  static kit::ItemModel* items(Rig<LogView>& rig) { return rig.view.findChild<kit::ItemView*>()->items(); }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestLog)
#include "tst_log.moc"
