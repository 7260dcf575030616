// Sessions as an enemy would write them, in every view: whatever a file holds, it is painted or refused.
#include <QApplication>
#include <QDir>
#include <QTest>

#include "app/shell/document/settings.h"
#include "tests/fuzz/sessions/database.h"
#include "tests/fuzz/sessions/session_file.h"
#include "tests/fuzz/sessions/session_mutator.h"
#include "tests/fuzz/sessions/view_reading.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/fixture/still_theme.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;

namespace {
constexpr int kRows = 25;        // of a table
constexpr uint64_t kCases = 50;  // of each session, each in a part of the views; fuzz_views makes the others
constexpr uint64_t kFirstCase = 1000;  // not those of the unit test
constexpr uint64_t kParts = 16;
}  // namespace

class TestHostileSessions : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    app::AppSettings::ignoreStored();
    fixture::applyStillTheme(true);
    fixture::writeSession(file_.path());
    bases_.push_back(fuzz::small_session(fuzz::read_file(file_.path()), kRows));
    bases_.push_back(
        fuzz::small_session(fuzz::read_file("tests/sessions/v2/training_with_breaks.vitrine"), kRows));
    for (const std::string& base : bases_) QVERIFY(!base.empty());
  }

  void mutatedSessionsArePaintedOrRefused() {
    size_t painted = 0;
    for (const std::string& base : bases_) {
      for (uint64_t seed = kFirstCase; seed < kFirstCase + kCases; ++seed) {
        qInfo("seed %d", static_cast<int>(seed));
        file_.write(fuzz::mutate_session(base, seed));
        painted += fuzz::paint_part(file_.path(), seed, kParts) > 0;
      }
    }
    QVERIFY(painted > kCases / 2);  // most mutations leave a session that opens
  }

  void whatCrashedAReaderOnceIsPaintedOrRefused() {
    const QFileInfoList kept =
        QDir("tests/fuzz/kept/sessions").entryInfoList({"*.sql"}, QDir::Files, QDir::Name);
    QVERIFY(!kept.empty());
    for (const QFileInfo& sql : kept) {
      qInfo("%s", qPrintable(sql.fileName()));
      fuzz::Database db(bases_.back());
      QVERIFY(db.ok());
      db.run(fuzz::read_file(sql.filePath().toStdString()));
      file_.write(db.bytes());
      fuzz::paint_everything(file_.path());
    }
  }

 private:
  const fuzz::SessionFile file_;
  std::vector<std::string> bases_;
};

QTEST_MAIN(TestHostileSessions)
#include "tst_hostile_sessions.moc"
