// The run dialog on the real window: what a file offers, what is asked of the engine, and files that are
// watched. The engine is a script of this test, which writes down its words.
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "app/bridge/engine_process.h"
#include "app/shell/main_window.h"
#include "app/shell/run/run_dialog.h"
#include "app/shell/run/watched_files.h"
#include "tests/gui/window/window_test.h"

using namespace vitrine;
using app::MainWindow;
using app::RunDialog;
using app::RunRequest;

namespace {

constexpr const char* kProgram = R"(import torch

class Block(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: float = 0.5):
        return x * scale

class Needs(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
    def forward(self, x):
        return x

def f(x, n: int, *, flag=False):
    return x * n
)";

// Stands in for Python: reads files as Python does, and as the engine writes down what it was asked.
constexpr const char* kEngine = R"(#!/bin/sh
case "$2" in
*entries.py*) exec python3 "$@" ;;
esac
shift 3
printf '%s\n' "$@" > "FOLDER/asked"
echo run >> "FOLDER/runs"
file="$1"; out="$3"
if grep -q broken "$file"; then
  printf '\036{"event": "error", "text": "it is broken"}\n\036{"event": "read", "files": ["%s", "FOLDER/helper.py"]}\n\036{"event": "finished", "status": "failed", "session": "%s"}\n' "$file" "$out"
  exit 1
fi
cp "FOLDER/a.vitrine" "$out"
printf '\036{"event": "recording", "session": "%s"}\n' "$out"
printf '\036{"event": "read", "files": ["%s", "FOLDER/helper.py"]}\n\036{"event": "finished", "status": "finished", "session": "%s"}\n' "$file" "$out"
)";

bool write(const QString& path, const QString& text) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text.toUtf8()) >= 0;
}

QString readAll(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace

class TestRunDialog : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    real_ = app::AppSettings::python();
    app::AppSettings::keepIn(folder_.filePath("settings.ini"));
    qputenv("VITRINE_CACHE_DIR", folder_.filePath("cache").toUtf8());
    program_ = folder_.filePath("model.py");
    QVERIFY(write(program_, kProgram));
    QVERIFY(write(folder_.filePath("helper.py"), "x = 1\n"));
    const QString engine = folder_.filePath("engine");
    QVERIFY(write(engine, QString(kEngine).replace("FOLDER", folder_.path())));
    QVERIFY(QFile::setPermissions(engine, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    qputenv("VITRINE_PYTHON", engine.toUtf8());
  }

  void wordsAndFieldsAreTheSame() {
    const QStringList words{"--entry=f",
                            "--mode=max-autotune",
                            "--dynamic=yes",
                            "--target=sm_90",
                            "--input=f32[8,128]",
                            "--input=3",
                            "--eager-too",
                            "--fullgraph",
                            "--check",
                            "--repeats=3",
                            "--counters=5",
                            "--",
                            "a b"};
    const RunRequest request = RunRequest::of("m.py", words);
    QCOMPARE(request.arguments(), words);
    QCOMPARE(request.others, QStringList{"--counters=5"});
    QVERIFY(request.commandLine().endsWith("-- 'a b'"));
  }

  void aWrongShapeIsSaidBeforeAnythingRuns() {
    QCOMPARE(app::inputProblem("f32[8,128]"), QString());
    QCOMPARE(app::inputProblem("i64[2,16]<1000"), QString());
    QCOMPARE(app::inputProblem("f32[]"), QString());
    QCOMPARE(app::inputProblem("(1, 2)"), QString());
    QVERIFY(app::inputProblem("f33[8]").contains("no element type f33"));
    QVERIFY(app::inputProblem("f32[8;128]").contains("commas"));
  }

  void theChipOpensItAndTheFilesEntriesStandInIt() {
    MainWindow window;
    window.show();
    RunDialog* dialog = window.openRunDialog(program_);
    read(*dialog);
    auto* entries = field<QComboBox>(*dialog, "Entry");
    QStringList names;
    for (int i = 0; i < entries->count(); ++i) names << entries->itemText(i);
    QCOMPARE(names, (QStringList{"the script itself", "Block()()", "Needs()()", "f()"}));
    entries->setCurrentIndex(2);
    QVERIFY(dialog->problem().contains("it needs width"));
    entries->setCurrentIndex(1);
    QCOMPARE(dialog->problem(), QString("x has no value yet."));
    field<QLineEdit>(*dialog, "x")->setText("f32[2,8]");
    QCOMPARE(dialog->problem(), QString());
    field<QLineEdit>(*dialog, "x")->setText("f33[2,8]");
    QVERIFY(dialog->problem().startsWith("x: There is no element type"));
    QVERIFY(!runButton(*dialog)->isEnabled());
    dialog->reject();
    auto* chip = window.findChild<app::RunButton*>();
    QTest::mouseClick(chip, Qt::LeftButton, {}, QPoint(chip->width() - 8, 10));
    QTRY_VERIFY(window.findChild<RunDialog*>());
  }

  void whatIsAskedReachesTheEngine() {
    MainWindow window;
    window.show();
    RunDialog* dialog = withInput(window);
    field<QComboBox>(*dialog, "Mode")->setCurrentIndex(1);
    box(*dialog, "Train")->setChecked(true);
    runButton(*dialog)->click();
    QTRY_VERIFY(!window.runs()->running() && window.document()->session());
    const QStringList asked = readAll(folder_.filePath("asked")).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(asked.mid(3), (QStringList{"--events", "--entry=Block", "--mode=reduce-overhead",
                                        "--dynamic=yes", "--input=f32[2,8]", "--train"}));
    // The next dialog is as the last run was, also of another window.
    MainWindow another;
    RunDialog* again = another.openRunDialog();
    read(*again);
    QCOMPARE(again->request().arguments(), asked.mid(4));
    QCOMPARE(field<QLineEdit>(*again, "x")->text(), QString("f32[2,8]"));
    again->reject();
    QVERIFY(write(folder_.filePath("asked"), ""));
    (*another.actions())["run.repeat"]->trigger();
    QTRY_VERIFY(!another.runs()->running());
    QVERIFY(readAll(folder_.filePath("asked")).contains("--entry=Block"));
  }

  void notebooksAndExportedProgramsRunWhole() {
    for (const auto& [name, text] : {std::pair("book.ipynb", "the cells of the notebook"),
                                     std::pair("model.pt2", "the exported program and its example inputs")}) {
      const QString path = folder_.filePath(name);
      QVERIFY(write(path, "{}"));
      MainWindow window;
      window.show();
      drop(window, path);
      RunDialog* dialog = window.findChild<RunDialog*>();
      QVERIFY(dialog);
      read(*dialog);
      auto* entries = field<QComboBox>(*dialog, "Entry");
      QCOMPARE(entries->count(), 1);
      QVERIFY2(entries->itemText(0).startsWith(text), qPrintable(entries->itemText(0)));
      QCOMPARE(dialog->problem(), QString());
      dialog->reject();
      window.openFile(path);
      QTRY_VERIFY(!window.runs()->running() && window.document()->session());
      QVERIFY(readAll(folder_.filePath("asked")).startsWith(path));
    }
  }

  void aDroppedPythonFileOpensTheDialogAndASessionItsWindow() {
    MainWindow window;
    window.show();
    drop(window, program_);
    QVERIFY(window.findChild<RunDialog*>());
    QVERIFY(!window.runs()->running());
    window.findChild<RunDialog*>()->reject();
    drop(window, path_);
    QTRY_VERIFY(window.document()->session());
  }

  void aWatchedFileIsRecordedAgainAndAFailureLeavesTheLastGoodRun() {
    MainWindow window;
    window.show();
    RunRequest request = RunRequest::of(program_, {});
    request.watch = true;
    window.runs()->start(request);
    QTRY_VERIFY(!window.runs()->running() && window.document()->session());
    QCOMPARE(window.runs()->watched().size(), 2);
    const std::string first = window.document()->session()->path;
    QFile::remove(folder_.filePath("runs"));
    for (int i = 0; i < 3; ++i) {  // a burst is one change
      QVERIFY(write(folder_.filePath("helper.py"), QString("x = %1\n").arg(10 + i)));
      QTest::qWait(30);
    }
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session()->path != first, 10'000);
    QTest::qWait(500);
    QCOMPARE(readAll(folder_.filePath("runs")), QString("run\n"));
    const std::string good = window.document()->session()->path;
    QVERIFY(write(program_, QString(kProgram) + "# broken\n"));
    QTRY_COMPARE_WITH_TIMEOUT(window.banner()->text(), QString("it is broken"), 10'000);
    QTRY_VERIFY(!window.runs()->running());
    QTest::qWait(400);
    QCOMPARE(window.document()->session()->path, good);
    QVERIFY(write(program_, QString(kProgram) + "# mended\n"));
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session()->path != good, 10'000);
    QTRY_COMPARE(window.banner()->text(), QString());
    (*window.actions())["run.watch"]->trigger();
    QVERIFY(!window.runs()->watching() && window.runs()->watched().isEmpty());
  }

  // Once with the engine itself, where it is there.
  void theEngineTakesWhatTheDialogSays() {
    QProcess probe;
    probe.setProcessEnvironment(app::engineEnvironment());
    probe.start(real_, {"-c", "import vitrine"});
    if (!probe.waitForFinished(60'000) || probe.exitCode() != 0) QSKIP("There is no Python with vitrine.");
    MainWindow window;
    window.show();
    RunDialog* dialog = withInput(window);
    field<QLineEdit>(*dialog, "Measured calls")->setText("0");
    RunRequest request = dialog->request();
    request.python = real_;
    dialog->reject();
    window.runs()->start(request);
    QTRY_VERIFY_WITH_TIMEOUT(!window.runs()->running(), 100'000);
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session() && !window.document()->session()->runs.empty() &&
                                 window.document()->session()->runs[0].status == "finished",
                             10'000);
    QCOMPARE(window.document()->session()->runs[0].inputs, std::string("f32[2,8]"));
    QVERIFY(window.document()->session()->symbols.size() > 0);
  }

  void everyWayToRunIsInAMenu() {
    MainWindow window;
    QStringList menus;
    for (QAction* menu : window.findChild<QMenuBar*>()->actions())
      for (QAction* action : menu->menu()->actions())
        if (action->text().startsWith("Run…")) menus << menu->text();
    QCOMPARE(menus, (QStringList{"File", "Run"}));
  }

 private:
  static void read(RunDialog& dialog) {
    if (!dialog.contents().entries.isEmpty()) return;
    QSignalSpy spy(&dialog, &RunDialog::contentsRead);
    QVERIFY(spy.wait(10'000));
  }
  template <class W>
  static W* field(RunDialog& dialog, const char* name) {
    for (W* each : dialog.findChildren<W*>())
      if (each->accessibleName() == QLatin1String(name)) return each;
    qFatal("the dialog has no field %s", name);
  }
  static QCheckBox* box(RunDialog& dialog, const char* title) {
    for (auto* each : dialog.findChildren<QCheckBox*>())
      if (each->text().startsWith(QLatin1String(title))) return each;
    qFatal("the dialog has no switch %s", title);
  }
  static QPushButton* runButton(RunDialog& dialog) {
    for (auto* each : dialog.findChildren<QPushButton*>())
      if (each->isDefault()) return each;
    qFatal("the dialog has no default button");
  }
  // The dialog of the program, for its function with an input of its own and symbols for sizes.
  RunDialog* withInput(MainWindow& window) const {
    RunDialog* dialog = window.openRunDialog(program_);
    read(*dialog);
    field<QComboBox>(*dialog, "Entry")->setCurrentIndex(1);
    field<QLineEdit>(*dialog, "x")->setText("f32[2,8]");
    field<QComboBox>(*dialog, "Sizes")->setCurrentIndex(1);
    return dialog;
  }
  static void drop(MainWindow& window, const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&window, &enter);
    QDropEvent event({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QCoreApplication::sendEvent(&window, &event);
  }
  QString program_, real_;
};

QTEST_MAIN(TestRunDialog)
#include "tst_run_dialog.moc"
