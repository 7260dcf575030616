// Jobs off the UI thread: stale results are dropped, owners may go, errors are told, the engine's end is
// noticed.
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <csignal>

#include "app/bridge/engine_process.h"
#include "app/jobs/job_runner.h"

using namespace vitrine;
using app::EngineEnd;

class TestJobs : public QObject {
  Q_OBJECT
 private Q_SLOTS:
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

 private:
  // Runs a script in place of Python and returns how it ended.
  EngineEnd engine(const QByteArray& script, bool cancel = false) {
    QFile file(folder_.filePath("python"));
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate)) return {};
    file.write("#!/bin/sh\n" + script + "\n");
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
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
    process.start(file.fileName(), "/tmp/model.py", folder_.filePath("s.vitrine"));
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
