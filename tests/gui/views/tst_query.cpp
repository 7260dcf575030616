// SQL over the session: rows that select in all views, and questions that must not be answered.
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/paint.h"
#include "views/query/query_view.h"

using namespace vitrine;
using fixture::Rig;
using views::QueryView;

class TestQuery : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void everyExampleIsAnswered() {
    Rig<QueryView> rig(loaded_->session, "", {1100, 300});
    for (const auto& example : session::query_examples()) {
      rig.view.ask(example.sql);
      wait(rig);
      QVERIFY2(rig.view.problem().isEmpty(), qPrintable(rig.view.problem() + '\n' + example.sql));
      QVERIFY2(rig.view.subtitle().contains("row"), example.title);
    }
  }

  void aRowWithTheIdOfAThingSelectsIt() {
    Rig<QueryView> rig(loaded_->session, "", {1100, 300});
    rig.view.ask("SELECT name, id FROM kernels ORDER BY id");
    wait(rig);
    const auto shown = rig.view.shown();
    QVERIFY(!shown.empty());
    QCOMPARE(kind_of(shown[0]), Kind::Kernel);
    Q_EMIT rig.view.rows()->activate(shown[0]);
    rig.settle();
    QCOMPARE(rig.model.selection().active, shown[0]);
    QCOMPARE(rig.view.canShow(shown[0]), shown[0]);
    rig.view.ask("SELECT 1 AS id, 'no thing' AS what");
    wait(rig);
    QVERIFY(rig.view.shown().empty() || rig.view.shown()[0] == 0);
  }

  // The label that an id has is read whole before other texts.
  void aThingIsNamedWhole() {
    Rig<QueryView> rig(loaded_->session, "", {420, 200});
    rig.view.ask("SELECT id, label, name, source, kind, family, 1 AS a, 2 AS b FROM kernels ORDER BY id");
    wait(rig);
    auto* table = rig.view.findChild<kit::ItemView*>();
    for (int row = 0; row < table->items()->rowCount(); ++row) {
      const QString text = table->items()->cell(table->items()->index(row, 0))->text;
      QVERIFY2(kit::textWidth(kit::theme().mono(12), text) + 16 <= table->columnWidth(0), qPrintable(text));
    }
  }

  void controlEnterAsks() {
    Rig<QueryView> rig(loaded_->session, "", {1100, 300});
    rig.view.field()->setPlainText("SELECT 40 + 2 AS answer");
    QTest::keyClick(rig.view.field(), Qt::Key_Return, Qt::ControlModifier);
    wait(rig);
    QCOMPARE(rig.view.rows()->items()->lines(), QStringList{"42"});
    QCOMPARE(rig.view.copy(kit::CopyAs::Csv), QString("answer\n42\n"));
  }

  void whatIsNoSelectIsRefused_data() {
    QTest::addColumn<QString>("sql");
    for (const char* sql :
         {"DELETE FROM kernel", "DROP TABLE kernel", "UPDATE meta SET value = ''",
          "ATTACH '/tmp/other.db' AS o", "PRAGMA query_only=0", "CREATE TABLE t (x)",
          "SELECT load_extension('x')", "SELECT 1; DELETE FROM kernel", "SELECT * FROM pragma_database_list",
          "VACUUM INTO '/tmp/copy.db'", "", "SELECT nonsense FROM nowhere"})
      QTest::newRow(*sql ? sql : "nothing") << QString(sql);
  }
  void whatIsNoSelectIsRefused() {
    QFETCH(QString, sql);
    Rig<QueryView> rig(loaded_->session, "", {1100, 300});
    rig.view.ask(sql);
    wait(rig);
    QVERIFY(!rig.view.problem().isEmpty());
    QVERIFY(!QFile::exists("/tmp/copy.db"));
  }

  void whatNeverEndsIsEnded() {
    session::QueryLimits limits;
    limits.milliseconds = 100;
    const auto endless = session::query(
        loaded_->session->path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", limits);
    QVERIFY(!endless);
    QVERIFY(endless.error().what.find("longer") != std::string::npos);
    limits.rows = 3;
    limits.text_bytes = 4;
    const auto some = session::query(
        loaded_->session->path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'äöüß' FROM n", limits);
    QVERIFY(some);
    QCOMPARE(some.value().rows.size(), size_t{3});
    QVERIFY(!some.value().cut.empty());
    QCOMPARE(some.value().rows[0][1].text, std::string("äö…"));
    limits.milliseconds = 20'000;
    limits.memory = 20 << 20;
    const auto large = session::query(loaded_->session->path,
                                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                                      "SELECT hex(randomblob(100000)) AS x FROM n ORDER BY x",
                                      limits);
    QVERIFY(!large);
    QVERIFY(large.error().what.find("memory") != std::string::npos);
  }

 private:
  static void wait(Rig<QueryView>& rig) {
    QTRY_VERIFY(!rig.view.asking());
    rig.settle();
  }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestQuery)
#include "tst_query.moc"
