// A kernel's text in the user's hand: the editor, the compiler's words at their lines, the run with it, keep
// and discard.
#include <QApplication>
#include <QFile>
#include <QTest>

#include "app/shell/main_window.h"
#include "app/shell/run/kernel_outcome.h"
#include "tests/gui/window/window_test.h"
#include "views/kernel/kernel_view.h"

using namespace vitrine;
using app::MainWindow;

namespace {

constexpr const char* kGood = "extern \"C\" void vitrine_kernel(void* const*, long, long) {}\n";
constexpr const char* kBad =
    "extern \"C\" void vitrine_kernel(void* const* args, long, long) {\n"
    "  float* out = (float*)args[0];\n"
    "  out[0] = scale;\n"
    "}\n";

}  // namespace

class TestKernelEdit : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    // An engine that records the fixture, whatever it is asked for, and keeps what it was asked.
    QFile engine(folder_.filePath("python"));
    QVERIFY(engine.open(QIODevice::WriteOnly));
    engine.write("#!/bin/sh\necho \"$@\" > " + folder_.filePath("asked").toUtf8() + "\ncp " + path_.toUtf8() +
                 " \"$6\"\n");
    engine.close();
    QVERIFY(engine.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    qputenv("VITRINE_PYTHON", engine.fileName().toUtf8());
    qputenv("VITRINE_CACHE_DIR", folder_.path().toUtf8());
  }

  void compilersWordsAreReadWithTheirLines() {
    const auto clang =
        app::compilerErrors("/a b/k.cpp:12:5: error: use of 'x'\n/a b/k.cpp:13:1: warning: w\n");
    QCOMPARE(clang.size(), 1U);
    QCOMPARE(clang[0].line, 11);
    QCOMPARE(clang[0].text, QStringLiteral("use of 'x'"));
    const auto nvrtc =
        app::compilerErrors("kernel.cu(7): error: identifier \"x\" is undefined\n\n1 error detected");
    QCOMPARE(nvrtc.size(), 1U);
    QCOMPARE(nvrtc[0].line, 6);
  }

  void anErrorStandsAtItsLineAndNothingRuns() {
    MainWindow window;
    views::KernelView* view = edited(window, kBad);
    QVERIFY(view->subtitle().contains("edited"));
    rebuild(window);
    const kit::KernelEdit* edit = view->edit();
    QVERIFY(edit);
    QCOMPARE(edit->errors.size(), 1U);
    QCOMPARE(edit->errors[0].line, 2);
    QVERIFY2(edit->said.startsWith("1 error, the first in line 3: "), qPrintable(edit->said));
    QCOMPARE(view->editor()->extraSelections().size(), 1);
    QVERIFY(edit->recording.isEmpty());
    QVERIFY(!action(window, "kernel.keep")->isEnabled());
  }

  // The file is known here from a run of this window; its engine does not use the text, which is said.
  void theFileRunsAgainWithTheText() {
    MainWindow window;
    show(window);
    QFile program(folder_.filePath("block.py"));
    QVERIFY(program.open(QIODevice::WriteOnly));
    program.close();
    window.openFile(program.fileName());
    QTRY_VERIFY(!window.runs()->running() && window.document()->session());
    QTRY_VERIFY(window.document()->jobs()->idle());
    views::KernelView* view = edited(window, kGood, false);
    rebuild(window);
    QTRY_VERIFY(view->edit() && !view->edit()->recording.isEmpty());
    QFile asked(folder_.filePath("asked"));
    QVERIFY(asked.open(QIODevice::ReadOnly));
    QVERIFY(asked.readAll().contains("--edited="));
    QCOMPARE(view->edit()->said, QStringLiteral("The run did not use the edited text."));
    // Typing takes back what was said of the text before; discarding brings the generated text.
    view->editor()->setPlainText(QString::fromLatin1(kGood) + "\n");
    QVERIFY(view->edit()->said.isEmpty());
    action(window, "kernel.discard")->trigger();
    QVERIFY(!view->editor() && !view->edit());
    QVERIFY(view->pane()->isVisible());
  }

  void theOutcomeStandsBesideTheRecordedRun() {
    const kit::SessionPtr session = kit::SessionData::load(path_.toStdString()).value();
    const session::KernelRow* k2 = session->kernels.find(ids_.k2);
    const QString text = QString::fromStdString(*session->texts->load(k2->source));
    const kit::KernelEdit same = app::kernelOutcome(*session, ids_.k2, *session, text);
    QVERIFY2(same.said.startsWith("K2 ") && same.said.contains("; outputs "), qPrintable(same.said));
    QVERIFY2(!same.said.contains("×"), qPrintable(same.said));  // how its calls scatter was not recorded
    QVERIFY2(same.detail.contains(", was ") && same.detail.contains("(no difference seen)"),
             qPrintable(same.detail));
    QCOMPARE(same.recording, path_);
  }

  void aTextStaysWhileAnotherKernelIsLookedAt() {
    MainWindow window;
    views::KernelView* view = edited(window, kGood);
    Id other = 0;
    for (const session::KernelRow& row : window.document()->session()->kernels)
      if (row.kind == "generated" && row.id != ids_.k2) other = row.id;
    window.document()->activate(other);
    window.settle();
    QVERIFY(!view->editor());
    window.document()->activate(ids_.k2);
    window.settle();
    QVERIFY(view->editor());
    QCOMPARE(view->editor()->toPlainText(), QString::fromLatin1(kGood));
  }

 private:
  static void show(MainWindow& window) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
  }
  static QAction* action(MainWindow& window, const char* id) { return (*window.actions())[id]; }
  // The pane of K2 with that text in its editor.
  views::KernelView* edited(MainWindow& window, const char* text, bool open = true) {
    if (open) {
      show(window);
      if (window.openSync(path_)) qFatal("not opened");
    }
    window.document()->activate(ids_.k2);
    window.settle();
    action(window, "kernel.edit")->trigger();
    window.settle();
    for (views::KernelView* view : window.findChildren<views::KernelView*>())
      if (view->editor()) {
        view->editor()->setPlainText(QString::fromLatin1(text));
        return view;
      }
    qFatal("no editor");
  }
  static void rebuild(MainWindow& window) {
    action(window, "kernel.rebuild")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!window.rebuild()->running(), 20'000);
  }
};

QTEST_MAIN(TestKernelEdit)
#include "tst_kernel_edit.moc"
