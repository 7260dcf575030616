// Bisect and reduce in the window: what they are asked, how they are cancelled, and what is shown of an
// answer.
#include <QFile>
#include <QProcess>
#include <QTest>

#include "app/bridge/engine_process.h"
#include "app/shell/main_window.h"
#include "core/session/writer.h"
#include "tests/gui/window/window_test.h"

using namespace vitrine;
using app::MainWindow;

namespace {

constexpr int kPatience = 60'000;  // ms, for a machine that does other work

const char* const kFound = R"json(printed by the file
{
 "name": "model.py: Block",
 "failure": "result 0 differs",
 "kernels": {
  "text": "K2 add_gelu (add, gelu at model.py:8)",
  "number": 3,
  "of": 6
 },
 "fusions": {
  "text": "vertical: gelu and sum at model.py:8",
  "number": 2,
  "of": 9
 },
 "rewrites": {
  "text": "",
  "number": 0,
  "of": 12
 },
 "pass": "",
 "runs": 14
}
)json";

const char* const kWrong = R"py(import torch
from vitrine import _engine


def model(x, y):
    a = torch.relu(x @ y)
    c = torch.nn.functional.gelu(a * x).sum(1, keepdim=True)
    return c + a


torch.manual_seed(1)
inputs = (torch.randn(96, 96), torch.randn(96, 96))
_engine.inject_fault("mul sum", "* 0.707106769f", "* 0.7f")
)py";

}  // namespace

class TestBisect : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    qputenv("XDG_STATE_HOME", folder_.filePath("mine").toUtf8());
    session_ = folder_.filePath("model.vitrine");
    QFile program(folder_.filePath("model.py"));
    QVERIFY(program.open(QIODevice::WriteOnly));
    auto w = session::Writer::create(session_.toStdString()).take();
    const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment),
             compilation = w->next(Kind::Compilation);
    kernel_ = w->next(Kind::Kernel);
    w->put(session::RunRow{run, "model.py"});
    w->put(session::FrameRow{.id = frame, .run = run});
    w->put(session::SegmentRow{.id = segment, .frame = frame});
    w->put(session::CompilationRow{.id = compilation, .segment = segment, .label = "0/0"});
    w->put(session::KernelRow{
        .id = kernel_, .compilation = compilation, .label = "K2", .name = "add_gelu", .kind = "generated"});
    w->meta("file", program.fileName().toStdString());
    w->meta("arguments", R"(["--entry=Block","--repeats=1","--grad","--","7"])");
    w->finish("finished");
  }

  void whatIsFoundIsToldAndItsKernelIsActive() {
    engine(kFound, 0);
    MainWindow window;
    open(window);
    (*window.actions())["run.bisect"]->trigger();
    QVERIFY(window.bisection()->running());
    QVERIFY((*window.actions())["run.cancel"]->isEnabled());
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    QCOMPARE(window.banner()->text(),
             QStringLiteral("K2 add_gelu (add, gelu at model.py:8), 3 of 6, is the kernel "
                            "at which a result turns wrong."));
    QCOMPARE(window.document()->selection().active, kernel_);
    // What a run takes and bisect does not stays away, as do the script's words: behind -- it takes a
    // command.
    QCOMPARE(asked(), (QByteArrayList{"--json", "--entry=Block", "--grad"}));
  }

  void whereNothingDiffersItSaysSo() {
    engine("null\n", 1);
    MainWindow window;
    open(window);
    (*window.actions())["run.bisect"]->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    QCOMPARE(window.banner()->text(), QStringLiteral("Nothing differs from eager."));
  }

  void aFileThatCannotRunIsToldWithItsWords() {
    engine("", 2);
    MainWindow window;
    open(window);
    (*window.actions())["run.bisect"]->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    QVERIFY2(window.banner()->text().endsWith("it could not run."), qPrintable(window.banner()->text()));
  }

  void reduceWritesWhereItIsAsked() {
    engine("11 operators became 2 after 40 runs: small.py\n", 0);
    MainWindow window;
    open(window);
    window.bisection()->reduce("small.py");
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    QVERIFY2(window.banner()->text().startsWith("11 operators became 2"),
             qPrintable(window.banner()->text()));
    QCOMPARE(asked(), (QByteArrayList{"-o", "small.py", "--entry=Block", "--grad", "--", "7"}));
  }

  void aSearchCanBeCancelled() {
    engine(nullptr, 0);
    MainWindow window;
    open(window);
    (*window.actions())["run.bisect"]->trigger();
    QVERIFY(!(*window.actions())["run.bisect"]->isEnabled());
    (*window.actions())["run.cancel"]->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    QCOMPARE(window.banner()->text(), QStringLiteral("Cancelled."));
    QVERIFY((*window.actions())["run.bisect"]->isEnabled());
  }

  // Once with the engine itself, where it is there: a file whose kernel was made wrong is recorded in the
  // window and bisected there.
  void theEngineItselfFindsAWrongKernel() {
    QProcess probe;
    probe.setProcessEnvironment(app::engineEnvironment());
    probe.start(real_, {"-c", "import vitrine"});
    if (!probe.waitForFinished(kPatience) || probe.exitCode() != 0) QSKIP("There is no Python with vitrine.");
    qputenv("VITRINE_PYTHON", real_.toUtf8());
    QFile program(folder_.filePath("wrong.py"));
    QVERIFY(program.open(QIODevice::WriteOnly));
    program.write(kWrong);
    program.close();
    MainWindow window;
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.show();
    app::RunRequest request;
    request.file = program.fileName();
    request.python = real_;
    request.repeats = 0;
    window.runs()->start(request);
    QTRY_VERIFY_WITH_TIMEOUT(!window.runs()->running(), kPatience);
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session() && !window.document()->session()->runs.empty() &&
                                 window.document()->session()->runs[0].status == "finished",
                             kPatience);
    (*window.actions())["run.bisect"]->trigger();
    QVERIFY(window.bisection()->running());
    QTRY_VERIFY_WITH_TIMEOUT(!window.bisection()->running(), kPatience);
    const QString said = window.banner()->text();
    QVERIFY2(said.startsWith("K0 ") && said.endsWith(", is the kernel at which a result turns wrong."),
             qPrintable(said));
    QVERIFY2(said.contains(" at wrong.py:"), qPrintable(said));
    const auto& kernels = window.document()->session()->kernels;
    const auto* active = kernels.find(window.document()->selection().active);
    QVERIFY(active && active->label == "K0");
  }

 private:
  void open(MainWindow& window) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.show();
    QVERIFY(!window.openSync(session_));
    window.settle();
    QVERIFY((*window.actions())["run.bisect"]->isEnabled());
  }
  // An engine that says this; null: it does not end.
  void engine(const char* says, int status) {
    const QString python = folder_.filePath("python"), answer = folder_.filePath("answer");
    QFile said(answer);
    QVERIFY(said.open(QIODevice::WriteOnly));
    said.write(says ? says : "");
    said.close();
    QFile file(python);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + folder_.filePath("told").toUtf8() + "'\n");
    file.write(says ? "cat '" + answer.toUtf8() + "'\nexit " + QByteArray::number(status) + "\n"
                    : QByteArray("exec sleep 600\n"));
    file.close();
    QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    qputenv("VITRINE_PYTHON", python.toUtf8());
  }
  // The words behind the file.
  QByteArrayList asked() {
    QFile told(folder_.filePath("told"));
    if (!told.open(QIODevice::ReadOnly)) return {};
    QByteArrayList words = told.readAll().trimmed().split('\n');
    const qsizetype file = words.indexOf(folder_.filePath("model.py").toUtf8());
    return words.mid(file + 1);
  }
  QString session_, real_ = app::AppSettings::python();
  Id kernel_ = 0;
};

QTEST_MAIN(TestBisect)
#include "tst_bisect.moc"
