// Exports and imports by the window's menus.
#include <QDir>
#include <QFile>
#include <QMenuBar>
#include <QTest>

#include "app/importing/importing.h"
#include "app/shell/compare/compare_window.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/view_host.h"
#include "core/session/writer.h"
#include "tests/gui/window/window_test.h"

using namespace vitrine;
using app::MainWindow;

namespace {

QString readAll(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace

class TestExchange : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    begin();
    qputenv("VITRINE_CACHE_DIR", folder_.filePath("cache").toUtf8());
  }

  void everyFormatIsInTheFileMenuAndWritesItsFile_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("begins");
    QTest::newRow("html") << "html" << "<!DOCTYPE html>";
    QTest::newRow("perfetto") << "perfetto" << "{\"displayTimeUnit\"";
    QTest::newRow("dot") << "dot" << "digraph";
    QTest::newRow("kernels") << "kernels" << "";
  }
  void everyFormatIsInTheFileMenuAndWritesItsFile() {
    QFETCH(QString, format);
    QFETCH(QString, begins);
    MainWindow window;
    QVERIFY(!window.openSync(path_));
    QStringList titles;
    for (QAction* menu : window.findChild<QMenuBar*>()->actions())
      for (QAction* action : menu->menu()->actions())
        if (action->menu() && action->text() == "Export")
          for (QAction* each : action->menu()->actions())
            titles << each->text() + (each->isEnabled() ? "" : " off");
    QCOMPARE(titles.size(), 9);
    QVERIFY(titles.filter(" off").isEmpty());
    const QString to = folder_.filePath("out." + format);
    window.exportTo(format, to);
    QTRY_VERIFY_WITH_TIMEOUT(window.banner()->text().startsWith("Written "), 20'000);
    if (begins.isEmpty())
      QVERIFY(!QDir(to).entryList(QDir::Files).isEmpty());
    else
      QVERIFY(readAll(to).startsWith(begins));
  }

  void whatCannotBeWrittenIsSaid() {
    MainWindow window;
    QVERIFY(!window.openSync(path_));
    window.exportTo("html", "/nowhere/a.html");
    QTRY_VERIFY_WITH_TIMEOUT(window.banner()->text().contains("could not be written"), 20'000);
  }

  void rowsOfATableAreCsv() {
    MainWindow window;
    window.show();
    QVERIFY(!window.openSync(path_));
    window.docks()->raise("kernels");
    window.docks()->dock("kernels")->host()->view()->setFocus();
    window.settle();
    const QString to = folder_.filePath("rows.csv");
    window.exportRows(to);
    QVERIFY2(readAll(to).startsWith("kernel,name"), qPrintable(window.banner()->text()));
  }

  void aTraceOfTheProfilerIsImportedAndShown() {
    const QString trace = folder_.filePath("trace.json");
    QFile file(trace);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"schemaVersion": 1, "traceEvents": [
      {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
      {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 10.5, "dur": 4},
      {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 2, "ts": 15, "dur": 1}]})");
    file.close();
    MainWindow window;
    window.show();
    window.openFile(trace);
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session(), 10'000);
    QCOMPARE(window.document()->session()->lanes.size(), size_t{1});
    QVERIFY(!window.runs()->canRun());
    window.importPath(path_ + ".nothing");
    QTRY_VERIFY(window.banner()->text().contains("nothing that can be imported"));
  }

  // A record may name any file as the user's own, also one that is called as the import is.
  void whatARecordNamesIsNeverRun() {
    const QString debug = folder_.filePath("named");
    const QString graphs = debug + "/run_1/torchinductor/model__0_inference_0.0";
    QVERIFY(QDir().mkpath(graphs));
    QFile named(folder_.filePath("import of named"));
    QVERIFY(named.open(QIODevice::WriteOnly));
    QFile file(graphs + "/fx_graph_readable.py");
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        QStringLiteral("class G(torch.nn.Module):\n    def forward(self, a: \"f32[4]\"):\n"
                       "        # File: %1:1 in f, code: a.exp()\n"
                       "        exp: \"f32[4]\" = torch.ops.aten.exp.default(a)\n        return (exp,)\n")
            .arg(named.fileName())
            .toUtf8());
    file.close();
    MainWindow window;
    window.importPath(debug);
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session(), 10'000);
    QVERIFY(!window.document()->session()->files.empty());
    QVERIFY(!window.runs()->canRun());
  }

  void aRecordOfTimesAloneOpensOnTheTimeline() {
    QFile file(folder_.filePath("trace.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "{\"schemaVersion\": 1, \"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 10, "
        "\"dur\": 5},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 1, \"ts\": 20, "
        "\"dur\": 5}"
        "]}");
    file.close();
    MainWindow window;
    window.importPath(file.fileName());
    QTRY_VERIFY_WITH_TIMEOUT(window.document()->session(), 10'000);
    QCOMPARE(window.layoutName(), QStringLiteral("Timeline"));
    // And below it on what a timeline has, not on a table of nothing.
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
    window.settle();
    QVERIFY(window.docks()->dock("kernels")->isBehind());
    QVERIFY(!window.docks()->dock("range")->isBehind());
  }

  // As a package is: kernels without graphs, source, machine code and times.
  void anImportOpensWithoutPanesThatHaveNothing() {
    const std::string path = folder_.filePath("package.vitrine").toStdString();
    {
      auto w = session::Writer::create(path).take();
      w->meta("imported", "a package");
      const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
      w->put(session::RunRow{.id = run, .label = "import of m.vpkg", .status = "finished"});
      w->put(session::FrameRow{.id = frame, .run = run, .state = "captured"});
      w->put(session::SegmentRow{.id = segment, .frame = frame});
      const Id compilation = w->next(Kind::Compilation);
      w->put(session::CompilationRow{.id = compilation, .segment = segment, .label = "0/0", .status = "ok"});
      session::KernelRow kernel;
      kernel.id = w->next(Kind::Kernel), kernel.compilation = compilation;
      kernel.label = "K0", kernel.name = "add", kernel.kind = "generated";
      kernel.source = w->blob("void kernel() {}\n");
      w->put(kernel);
      w->finish("finished");
    }
    MainWindow window;
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
    QVERIFY(!window.openSync(QString::fromStdString(path)));
    window.settle();
    QCOMPARE(window.layoutName(), QStringLiteral("Explore"));
    QCOMPARE(window.centre()->panes().size(), size_t(1));
    QVERIFY(window.centre()->pane('A'));
    QCOMPARE(window.centre()->pane('A')->stage(), std::string("kernels"));
    QVERIFY(!window.docks()->dock("kernels")->isBehind());
    QVERIFY(window.docks()->dock("timeline")->isBehind());
    QVERIFY(!window.openSync(path_));  // of ours every pane stands again
    window.settle();
    QCOMPARE(window.centre()->panes().size(), size_t(4));
  }

  // What another tool recorded has no fusion: both sides show the last stage that both have.
  void anImportIsComparedWithOneOfOurs() {
    const QString graphs = folder_.filePath("debug/run_1/torchinductor/model__0_inference_0.0");
    QVERIFY(QDir().mkpath(graphs));
    QFile file(graphs + "/fx_graph_readable.py");
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "class <lambda>(torch.nn.Module):\n"
        "    def forward(self, arg0_1: \"f32[4, 8]\"):\n"
        "        exp: \"f32[4, 8]\" = torch.ops.aten.exp.default(arg0_1);  arg0_1 = None\n"
        "        return (exp,)\n");
    file.close();
    const QString session = folder_.filePath("debug.vitrine");
    QVERIFY(!importing::import_into(folder_.filePath("debug").toStdString(), session.toStdString()));
    app::CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.open(session, path_);
    window.settle();
    QVERIFY(window.comparison());
    QCOMPARE(window.panes()[0]->stage(), std::string("aten"));
    QCOMPARE(window.panes()[1]->stage(), std::string("aten"));
  }
};

QTEST_MAIN(TestExchange)
#include "tst_exchange.moc"
