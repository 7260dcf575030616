// What a session from elsewhere names is run only once the user has seen it; what its author wrote is shown
// as it is.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/run/run_controller.h"
#include "app/shell/run/trust_dialog.h"
#include "core/session/writer.h"
#include "views/kit/text/shown.h"

using namespace vitrine;
using app::TrustAnswer;
using app::WouldRun;

class TestTrust : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    qputenv("XDG_STATE_HOME", folder_.filePath("mine").toUtf8());
    path_ = folder_.filePath("x.vitrine");
    auto w = session::Writer::create(path_.toStdString()).take();
    w->put(session::RunRow{w->next(Kind::Run), "a.py"});
    program_ = folder_.filePath("model.py");
    QFile file(program_);
    QVERIFY(file.open(QIODevice::WriteOnly));
    w->meta("file", program_.toStdString());
    w->meta("arguments", "[\"--repeats=1\",\"--\",\"rm\\u001b[2J\"]");
    w->finish("finished");
  }

  void whatWasRecordedHereRunsWithoutAQuestion() {
    Opened o(path_);
    QVERIFY(o.document.session()->trusted);
    QVERIFY(o.run.mayRun());
    QVERIFY(o.asked.isEmpty());
  }

  void whatComesFromElsewhereAsksEachTimeAndShowsWhatWouldRun() {
    qputenv("XDG_STATE_HOME", folder_.filePath("another").toUtf8());
    Opened o(path_);
    QVERIFY(!o.document.session()->trusted);
    QVERIFY(!o.run.mayRun());
    QCOMPARE(o.asked.size(), 1);
    QCOMPARE(o.asked[0].file, program_);
    QCOMPARE(o.asked[0].arguments.size(), 3);
    o.run.again();
    QVERIFY(!o.run.running());
    o.answer = TrustAnswer::Once;
    QVERIFY(o.run.mayRun("void k() {}"));
    QCOMPARE(o.asked.last().kernel, QStringLiteral("void k() {}"));
    QCOMPARE(o.asked.size(), 3);
    o.answer = TrustAnswer::Always;
    QVERIFY(o.run.mayRun());
    QTRY_VERIFY(o.document.session()->trusted);
    QVERIFY(o.run.mayRun());
    QCOMPARE(o.asked.size(), 4);
  }

  // What stands behind -- is the script's own: what the window asks for besides comes before it.
  void moreArgumentsStandBeforeTheScripts() {
    qputenv("XDG_STATE_HOME", folder_.filePath("mine").toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
    const QString python = folder_.filePath("python"), told = folder_.filePath("told");
    QFile file(python);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + told.toUtf8() + "'\n");
    file.close();
    QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    qputenv("VITRINE_PYTHON", python.toUtf8());
    Opened o(path_);
    QVERIFY(o.document.session()->trusted);
    o.run.again({"--numerics", "--repeats=1"});
    QTRY_VERIFY(!o.run.running());
    QFile read(told);
    QVERIFY(read.open(QIODevice::ReadOnly));
    const QList<QByteArray> words = read.readAll().split('\n');
    QVERIFY(words.contains("--numerics"));
    QCOMPARE(words.count("--repeats=1"), 1);
    QVERIFY(words.indexOf("--numerics") < words.indexOf("--"));
  }

  void withNobodyToAskNothingRuns() {
    qputenv("XDG_STATE_HOME", folder_.filePath("third").toUtf8());
    Opened o(path_);
    o.run.setAsk({});
    QVERIFY(!o.run.mayRun());
  }

  void theQuestionHidesNothing() {
    app::TrustDialog dialog({path_, "/a/\u202emodel.py", {"--", "rm\x1b[2J"}, "line\n\x1b"}, nullptr);
    QVERIFY(dialog.shown().contains("/a/\\u202emodel.py"));
    QVERIFY(dialog.shown().contains("rm\\x1b[2J"));
    QVERIFY(dialog.shown().contains("line\n\\x1b"));
    QCOMPARE(dialog.answer(), TrustAnswer::No);
  }

  void aSessionsWordsAreNeverMarkupAndNeverHidden() {
    QCOMPARE(kit::shown("a\x1b[2J\n"), QString("a\u241b[2J\u240a"));
    QCOMPARE(kit::shown("a\n\tb", true), QString("a\n\tb"));
    QCOMPARE(kit::shown(QString("\u202eevil\u200b")), QString("\ufffdevil\ufffd"));
    QCOMPARE(kit::shown(QString::fromUtf8("\U000E0041")), QString("\ufffd\ufffd"));
    QCOMPARE(kit::shown(QString::fromUtf8("grüße \U0001F600")), QString::fromUtf8("grüße \U0001F600"));
    QCOMPARE(kit::tip("a < b"), QString("a < b"));
    QVERIFY(!kit::tip("<img src=\"file:///etc/passwd\">").contains("<img"));
  }

 private:
  struct Opened {
    explicit Opened(const QString& path) : document(&jobs), run(&document, nullptr) {
      run.setAsk([this](const WouldRun& what) { return asked << what, answer; });
      if (document.openNow(path)) qFatal("the session does not open");
    }
    app::JobRunner jobs{nullptr, app::JobRunner::Mode::Inline};
    app::Document document;
    app::RunController run;
    QList<WouldRun> asked;
    TrustAnswer answer = TrustAnswer::No;
  };

  QTemporaryDir folder_;
  QString path_, program_;
};

QTEST_MAIN(TestTrust)
#include "tst_trust.moc"
