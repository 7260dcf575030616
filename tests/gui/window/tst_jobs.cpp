// Jobs off the UI thread: stale results are dropped, owners may go, errors are told, the engine's end is
// noticed.
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <atomic>
#include <csignal>

#include "app/bridge/engine_process.h"
#include "app/jobs/job_runner.h"
#include "app/shell/run/run_controller.h"
#include "core/session/writer.h"

using namespace vitrine;
using app::EngineEnd;

class TestJobs : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void aJobTellsThatItIsUnderWay() {
    app::JobRunner jobs;
    std::atomic<bool> go = false;
    jobs.run<int>(
        this, "slow",
        [&go](const kit::Cancel&) {
          while (!go) QThread::msleep(1);
          return 1;
        },
        [](int) {});
    QVERIFY(jobs.running(this, "slow"));
    QVERIFY(!jobs.running(this, "other"));
    go = true;
    QVERIFY(jobs.settle());
    QVERIFY(!jobs.running(this, "slow"));
  }

  void onlyTheNewestResultArrives() {
    app::JobRunner jobs;
    QList<int> got;
    for (int i = 0; i < 20; ++i)
      jobs.run<int>(
          this, "same",
          [i](const kit::Cancel&) {
            QThread::msleep(2);
            return i;
          },
          [&got](int value) { got << value; });
    QVERIFY(jobs.settle());
    QCOMPARE(got, QList<int>{19});
  }

  void differentTagsAndOwnersDoNotReplaceEachOther() {
    app::JobRunner jobs;
    QObject other;
    int got = 0;
    auto one = [](const kit::Cancel&) { return 1; };
    auto add = [&got](int value) { got += value; };
    jobs.run<int>(this, "a", one, add);
    jobs.run<int>(this, "b", one, add);
    jobs.run<int>(&other, "a", one, add);
    QVERIFY(jobs.settle());
    QCOMPARE(got, 3);
  }

  void cancelledAndOrphanedResultsAreDropped() {
    app::JobRunner jobs;
    int got = 0;
    auto slow = [](const kit::Cancel& cancel) {
      for (int i = 0; i < 200 && !cancel.requested(); ++i) QThread::msleep(1);
      return 1;
    };
    auto add = [&got](int value) { got += value; };
    jobs.run<int>(this, "cancelled", slow, add);
    jobs.cancel("cancelled", this);
    auto* owner = new QObject;
    jobs.run<int>(owner, "orphan", slow, add);
    delete owner;
    QVERIFY(jobs.settle());
    QCOMPARE(got, 0);
  }

  void aThrowingJobIsOurError() {
    app::JobRunner jobs;
    QSignalSpy failed(&jobs, &app::JobRunner::failed);
    jobs.run<int>(
        this, "layout", [](const kit::Cancel&) -> int { throw std::runtime_error("no rank"); },
        [](int) { QFAIL("delivered"); });
    QVERIFY(jobs.settle());
    QCOMPARE(failed.size(), 1);
    QCOMPARE(failed[0][1].toString(), QStringLiteral("no rank"));
  }

  void engineEventsAndOutputAreToldApart() {
    const EngineEnd end = engine(
        "printf "
        "'hello\\n\\036{\"event\":\"progress\",\"text\":\"Clang\",\"stage\":\"kernels\",\"done\":3,\"total\":"
        "6}\\n'; exit 0");
    QCOMPARE(end.kind, EngineEnd::Finished);
    QCOMPARE(output_, QStringList{"hello"});
    QCOMPARE(progress_, QStringList{"Clang kernels 3/6"});
    QCOMPARE(end.during, QStringLiteral("kernels"));
  }

  void engineDeathNamesItsSignal() {
    const EngineEnd end = engine("kill -SEGV $$");
    QCOMPARE(end.kind, EngineEnd::Died);
    QCOMPARE(end.signal, SIGSEGV);
  }

  void failureWithoutAnEventShowsTheEnginesWords() {
    const EngineEnd end = engine("echo 'No module named vitrine' >&2; exit 1");
    QCOMPARE(end.kind, EngineEnd::Failed);
    QVERIFY(error_.detail.contains("No module named vitrine"));
  }

  // os._exit() leaves the session as it is, whatever the status.
  void anEngineThatLeavesWithoutAWordIsNoFinishedRun() {
    for (const int status : {0, 7}) {
      const EngineEnd end = engine(
          "printf '\\036{\"event\":\"recording\",\"session\":\"s.vitrine\"}\\n'; echo 'on its output'; "
          "echo 'on its errors' >&2; exit " +
          QByteArray::number(status));
      QCOMPARE(end.kind, EngineEnd::Failed);
      QVERIFY(end.open);
      QVERIFY2(
          error_.text.contains(QStringLiteral("without closing the session (exit status %1)").arg(status)),
          qPrintable(error_.text));
      QVERIFY(error_.hint.contains("os._exit"));
      QVERIFY2(error_.detail.contains("on its output") && error_.detail.contains("on its errors"),
               qPrintable(error_.detail));
    }
  }

  // Its session is closed for it, so that nothing says that it runs.
  void aRunThatLeftWithoutAWordIsShownAsEnded() {
    const QString left = folder_.filePath("left.vitrine");
    writeUnfinished(left);
    script("cp \"" + left.toUtf8() +
           "\" \"$6\"; printf '\\036{\"event\":\"recording\",\"session\":\"'\"$6\"'\"}\\n'; exit 7");
    qputenv("VITRINE_PYTHON", folder_.filePath("python").toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
    app::JobRunner jobs;
    app::Document document(&jobs);
    app::RunController run(&document, nullptr);
    QSignalSpy said(&run, &app::RunController::message);
    run.start(folder_.filePath("model.py"));
    QTRY_VERIFY(!run.running());
    QTRY_VERIFY(document.session());
    QTRY_COMPARE(document.session()->runs[0].status, std::string("died"));
    QCOMPARE(said.size(), 1);
  }

  void whatPythonSaysOfACrashIsItsLastWords() {
    const EngineEnd end = engine(
        "printf 'a warning\\nFatal Python error: Segmentation fault\\n\\nThread 0x1:\\n  File "
        "\"other.py\"\\n\\nCurrent thread 0x2 (most recent call first):\\n  File \"m.py\", line 3 in "
        "f\\nExtension "
        "modules: numpy (total: 1)\\n' >&2; kill -SEGV $$");
    QCOMPARE(end.kind, EngineEnd::Died);
    QCOMPARE(
        end.words,
        QStringLiteral("a warning\nFatal Python error: Segmentation fault\n  File \"m.py\", line 3 in f"));
  }

  void missingInterpreterIsToldAndEnds() {
    app::EngineProcess process;
    QSignalSpy ended(&process, &app::EngineProcess::ended), failed(&process, &app::EngineProcess::failed);
    process.start("/nonexistent/python", "/tmp/x.py", "/tmp/x.vitrine");
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(failed.size(), 1);
  }

  void cancelEndsEvenAStubbornEngine() {
    const EngineEnd end = engine("trap '' INT TERM; while :; do sleep 0.05; done", true);
    QCOMPARE(end.kind, EngineEnd::Cancelled);
  }

  // The window tells how far a run is and that it goes on; what the engine left open is closed for it.
  void aRunTellsHowFarItIsAndLeavesAReadableSession() {
    const QString left = folder_.filePath("left.vitrine");
    writeUnfinished(left);
    script("cp \"" + left.toUtf8() +
           "\" \"$6\"; printf '\\036{\"event\":\"progress\",\"text\":\"Clang, kernel\",\"stage\":\"kernels\","
           "\"done\":3,\"total\":6}\\n'; sleep 0.6; kill -SEGV $$");
    qputenv("VITRINE_PYTHON", folder_.filePath("python").toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
    app::JobRunner jobs;
    app::Document document(&jobs);
    app::RunController run(&document, nullptr);
    QStringList told;
    double part = -1;
    connect(&run, &app::RunController::busy, this,
            [&](const QString& text, const QString& stage, double done) {
              if (stage == "kernels") part = done;
              told << text;
            });
    QSignalSpy said(&run, &app::RunController::message);
    run.start(folder_.filePath("model.py"));
    QTRY_VERIFY(!said.isEmpty());
    QCOMPARE(part, 0.5);
    told.removeDuplicates();
    QVERIFY2(told.filter("Clang, kernel, 3 of 6, 0.").size() > 1,
             qPrintable(told.join('\n')));  // time goes on
    QCOMPARE(told.last(), QString());
    QVERIFY(said[0][1].toString().contains("The engine stopped (signal 11) during kernels"));
    QTRY_VERIFY(document.session());
    QTRY_COMPARE(document.session()->runs[0].status, std::string("died"));
  }

  void aCancelledRunSaysSoAtOnceAndOnce() {
    script(
        "read line; case \"$line\" in *cancel*) printf "
        "'\\036{\"event\":\"error\",\"text\":\"Cancelled.\"}\\n'; exit "
        "130;; esac");
    qputenv("VITRINE_PYTHON", folder_.filePath("python").toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
    app::JobRunner jobs;
    app::Document document(&jobs);
    app::RunController run(&document, nullptr);
    QStringList told;
    connect(&run, &app::RunController::busy, this,
            [&](const QString& text, const QString&, double) { told << text; });
    QSignalSpy said(&run, &app::RunController::message);
    run.start(folder_.filePath("model.py"));
    QTRY_VERIFY(run.running());
    run.cancel();
    QVERIFY(told.last().startsWith("Cancelling"));
    QTRY_VERIFY(!run.running());
    QTRY_COMPARE(said.size(), 1);  // not the engine's own word for it
    QCOMPARE(said[0][1].toString(), QStringLiteral("Cancelled."));
  }

  // Nothing says that it runs, nor that it stopped by itself; a second word comes too late.
  void aCancelledRunThatHadToBeKilledIsCancelled() {
    const QString left = folder_.filePath("left.vitrine");
    writeUnfinished(left);
    script(
        "cp \"" + left.toUtf8() +
        "\" \"$6\"; printf '\\036{\"event\":\"recording\",\"session\":\"'\"$6\"'\"}\\n'; trap '' INT TERM; "
        "while :; do sleep 0.05; done");
    qputenv("VITRINE_PYTHON", folder_.filePath("python").toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
    app::JobRunner jobs;
    app::Document document(&jobs);
    app::RunController run(&document, nullptr);
    QString told;
    connect(&run, &app::RunController::busy, this, [&](const QString& text) { told = text; });
    run.start(folder_.filePath("model.py"));
    QTRY_VERIFY(document.session());
    QCOMPARE(document.session()->runs[0].status, std::string("running"));
    run.cancel();
    QTRY_VERIFY_WITH_TIMEOUT(!run.running(), 10'000);
    QTRY_COMPARE(document.session()->runs[0].status, std::string("cancelled"));
    QVERIFY(told.isEmpty());
    run.cancel();
    QVERIFY(told.isEmpty());
  }

 private:
  void script(const QByteArray& text) {
    QFile file(folder_.filePath("python"));
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write("#!/bin/sh\n" + text + "\n");
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  // A session whose engine was killed while it ran.
  static void writeUnfinished(const QString& path) {
    auto writer = session::Writer::create(path.toStdString());
    QVERIFY(writer.ok());
    session::RunRow run{writer.value()->next(Kind::Run), "model.py"};
    run.status = "running";
    writer.value()->put(run);
    writer.value()->meta("status", "running");
    writer.value()->commit();
  }
  // Runs a script in place of Python and returns how it ended.
  EngineEnd engine(const QByteArray& script, bool cancel = false) {
    this->script(script);
    app::EngineProcess process;
    EngineEnd end;
    bool done = false;
    output_.clear();
    progress_.clear();
    error_ = {};
    connect(&process, &app::EngineProcess::ended, this, [&](const EngineEnd& e) {
      end = e;
      done = true;
    });
    connect(&process, &app::EngineProcess::output, this, [this](const QString& line) { output_ << line; });
    connect(&process, &app::EngineProcess::failed, this, [this](const app::EngineError& e) { error_ = e; });
    connect(&process, &app::EngineProcess::progress, this,
            [this](const QString& text, const QString& stage, int n, int of) {
              progress_ << QStringLiteral("%1 %2 %3/%4").arg(text, stage).arg(n).arg(of);
            });
    process.start(folder_.filePath("python"), "/tmp/model.py", folder_.filePath("s.vitrine"));
    if (cancel) {
      QTest::qWait(100);
      process.cancel();
    }
    QElapsedTimer clock;
    clock.start();
    while (!done && clock.elapsed() < 15'000) QTest::qWait(10);
    return end;
  }
  QTemporaryDir folder_;
  QStringList output_, progress_;
  app::EngineError error_;
};

QTEST_MAIN(TestJobs)
#include "tst_jobs.moc"
