// What a session opens on: the compilation that did the work, with the reasons of those that did none; types
// without the run's device.
#include <QApplication>
#include <QTest>

#include <sys/wait.h>
#include <unistd.h>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/windows.h"
#include "tests/gui/fixture/fixture_builder.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/kit/session/missing.h"
#include "views/problems/problems_items.h"
#include "views/source/source_view.h"
#include "views/tables/tables.h"

using namespace vitrine;
using namespace vitrine::session;
using app::MainWindow;
using fixture::Rig;

namespace {

struct Script {
  Id empty = 0, work = 0, eager = 0;
};

Id compilation(fixture::Builder& b, Id segment, const char* label, const char* status, const char* end,
               const char* message = "") {
  CompilationRow row{b.w.next(Kind::Compilation), segment, 0, label, status, end, message};
  b.w.put(row);
  return row.id;
}

// A script on a GPU: first a break, then a graph, then what runs through PyTorch's autograd.
Script writeScript(const std::string& path) {
  auto writer = Writer::create(path);
  VITRINE_CHECK(writer.ok(), writer.error().what);
  fixture::Builder b(writer.take());
  RunRow run{b.w.next(Kind::Run), "step.py", "script", "", "NVIDIA H200", "default", "finished"};
  b.w.put(run);
  const Id file = b.file("/home/user/step.py", "def step(x):\n    return x + 1\n");
  const Id code = b.code(file, "step", {{0, "RESUME", 0, "", 1, 0, 1, 0, -1}}, 2);
  const Id frame = b.w.next(Kind::Frame), segment = b.w.next(Kind::Segment);
  b.w.put(FrameRow{frame, run.id, code, "captured", ""});
  b.w.put(SegmentRow{segment, frame, 0, 0, 0, b.instruction(code, 0)});
  Script ids;
  ids.empty = compilation(b, segment, "0/0", "no_graph", "break");
  ids.work = compilation(b, segment, "0/1", "ok", "return");
  ids.eager =
      compilation(b, segment, "0/2", "ok", "return", "gradients are needed and an input is written to");
  b.stage(ids.eager, "kernels", 0, 0, "none", "gradients are needed and an input is written to");
  for (const char* stage : {"aten", "forward"}) {
    GraphRow graph{b.w.next(Kind::Graph), ids.work, stage};
    b.w.put(graph);
    int64_t n = 0;
    for (auto [name, kind, type] : {std::tuple{"x", "placeholder", "f32[8]cuda:0"},
                                    {"n", "placeholder", "i64[]"},
                                    {"add", "op", "f32[8]cuda:0, f32[8]{2}cuda:0"}}) {
      NodeRow node{b.w.next(Kind::Node), graph.id, n, n, name, kind, "aten.add", "pointwise", type};
      b.w.put(node);
      ++n;
    }
  }
  b.w.finish("finished");
  return ids;
}

}  // namespace

class TestOpening : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    app::AppSettings::ignoreStored();
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("a.vitrine");
    ids_ = writeScript(path_.toStdString());
    session_ = kit::SessionData::load(path_.toStdString()).value();
  }

  void theCompilationThatDidTheWorkIsShownFirst() {
    QCOMPARE(session_->main, ids_.work);
    MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.show();
    QVERIFY(!window.openSync(path_));
    QCOMPARE(window.document()->compilation(), ids_.work);
  }

  void severalSessionsHaveAWindowEach() {
    const QString other = folder_.filePath("b.vitrine");
    writeScript(other.toStdString());
    const auto windows = app::openWindows({path_, other});
    QCOMPARE(windows.size(), size_t(2));
    for (size_t i = 0; i < 2; ++i) {
      QTRY_VERIFY(windows[i]->document()->session());
      QCOMPARE(windows[i]->document()->session()->path, (i ? other : path_).toStdString());
      QVERIFY(windows[i]->isVisible());
    }
    (*windows[0]->actions())["file.quit"]->trigger();
    for (const auto& window : windows) QVERIFY(!window->isVisible());
    QCOMPARE(app::openWindows({}).size(), size_t(1));
  }

  // What another process records shows up by itself, up to its end.
  void aSessionThatIsBeingWrittenIsFollowed() {
    const QString path = folder_.filePath("live.vitrine");
    session::RunRow run;
    auto writer = session::Writer::create(path.toStdString()).take();
    run.id = writer->next(Kind::Run);
    run.label = "first.py";
    run.status = "running";
    writer->put(run);
    writer->commit();
    MainWindow window;
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.show();
    window.openFile(path);
    const auto label = [&] {
      const kit::SessionPtr& session = window.document()->session();
      return session && !session->runs.empty() ? QString::fromStdString(session->runs[0].label) : QString();
    };
    QTRY_COMPARE(label(), QStringLiteral("first.py"));
    run.label = "second.py";
    run.status = "finished";
    writer->put(run);
    writer->finish("finished");
    QTRY_COMPARE(label(), QStringLiteral("second.py"));
  }

  void aLayoutGoesToACompilationThatHasItsStage() {
    app::JobRunner jobs(nullptr, app::JobRunner::Mode::Inline);
    app::Document document(&jobs);
    QVERIFY(!document.openNow(path_));
    document.activate(ids_.empty);
    QCOMPARE(document.compilation(), ids_.empty);
    document.wantStage("aten");
    QCOMPARE(document.compilation(), ids_.work);
    document.wantStage("optimised");  // none has it
    QCOMPARE(document.compilation(), ids_.work);
  }

  // A step compiled as one function has its gradients in the same graph: that is said, not that none was
  // wanted.
  void aWholeTrainingStepSaysWhereItsBackwardIs() {
    kit::SessionData step;
    CompilationRow row;
    row.id = make_id(Kind::Compilation, 1), row.status = "ok";
    GraphRow graph;
    graph.id = make_id(Kind::Graph, 1), graph.compilation = row.id, graph.stage = "captured";
    NodeRow node;
    node.id = make_id(Kind::Node, 1), node.graph = graph.id, node.op = "Tensor.backward";
    step.compilations = kit::Table<CompilationRow>({row}, &CompilationRow::segment);
    step.graphs = kit::Table<GraphRow>({graph}, &GraphRow::compilation);
    step.nodes = kit::Table<NodeRow>({node}, &NodeRow::graph);
    const QString why = kit::whyMissing(step, row.id, "backward");
    QVERIFY2(why.contains("whole training step"), qPrintable(why));
  }

  void whatIsMissingSaysWhy() {
    auto why = [this](Id id, const char* stage) { return kit::whyMissing(*session_, id, stage); };
    QCOMPARE(why(ids_.empty, "aten"),
             QStringLiteral(
                 "Compile 0/0 holds no tensor operation: it ends with a graph break before the first one."));
    QCOMPARE(why(ids_.eager, "kernels"), QStringLiteral("Gradients are needed and an input is written to."));
    QCOMPARE(why(ids_.work, "joint"), QStringLiteral("No gradient was asked for."));
    Rig<views::TableView> kernels(session_, "", {500, 300}, views::kKernelsTable);
    kit::Film film;
    film.compilation = ids_.eager;
    kernels.film(film);
    QCOMPARE(kernels.view.why_empty(),
             QStringLiteral("No kernels. Gradients are needed and an input is written to."));
  }

  void aRunThatDiedBeforeItsFirstCompilationSaysSo() {
    const std::string path = folder_.filePath("died.vitrine").toStdString();
    auto writer = Writer::create(path).take();
    writer->put(
        RunRow{writer->next(Kind::Run), "a.py", "model(*inputs)", "f32[8]", "cpu", "default", "died"});
    writer->finish("died");
    const kit::SessionPtr session = kit::SessionData::load(path).value();
    QCOMPARE(session->main, Id(0));
    QCOMPARE(kit::whyMissing(*session, 0, "kernels"), QStringLiteral("The engine ended before it."));
    const auto problems = views::problemItems(*session);
    QCOMPARE(problems.size(), size_t{1});
    QCOMPARE(problems[0].cells[1].text, QStringLiteral("a.py: the engine stopped before the run ended"));
  }

  // Killed with whoever had started it: nobody marked the session then.
  void aKilledEnginesSessionIsNoRunningOne() {
    const std::string path = folder_.filePath("killed.vitrine").toStdString();
    const pid_t child = fork();
    if (child == 0) {
      auto writer = Writer::create(path).take();
      writer->put(
          RunRow{writer->next(Kind::Run), "a.py", "model(*inputs)", "f32[8]", "cpu", "default", "running"});
      writer->commit();
      _exit(0);
    }
    int status = 0;
    QCOMPARE(waitpid(child, &status, 0), child);
    MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    QVERIFY(!window.openSync(QString::fromStdString(path)));
    QCOMPARE(kit::SessionData::load(path).value()->runs[0].status, std::string("died"));

    const std::string going_on = folder_.filePath("running.vitrine").toStdString();
    auto writer = Writer::create(going_on).take();
    writer->put(
        RunRow{writer->next(Kind::Run), "a.py", "model(*inputs)", "f32[8]", "cpu", "default", "running"});
    writer->commit();
    QVERIFY(!window.openSync(QString::fromStdString(going_on)));
    QCOMPARE(kit::SessionData::load(going_on).value()->runs[0].status, std::string("running"));
  }

  void typesLeaveOutTheRunsDevice() {
    QCOMPARE(session_->device, std::string("cuda:0"));
    QCOMPARE(session_->type("f32[8,128]{1,8}cuda:0"), QStringLiteral("f32[8,128]{1,8}"));
    QCOMPARE(session_->type("i64[]"), QStringLiteral("i64[] cpu"));
    QCOMPARE(session_->type("f16[2,3]cuda:0, f16[2]{4}cuda:1"), QStringLiteral("f16[2,3], f16[2]{4} cuda:1"));
    QCOMPARE(session_->type("bool"), QStringLiteral("bool"));
  }

  // An engine that was killed tells nothing: the window does, and shows what was recorded until then.
  void aDeadEngineIsSaid() {
    using namespace session;
    const std::string path = folder_.filePath("dead.vitrine").toStdString();
    {
      fixture::Builder b(Writer::create(path).take());
      b.w.put(RunRow{b.w.next(Kind::Run), "m.py", "f", "", "cpu", "default", "died"});
    }
    MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.show();
    QVERIFY(!window.openSync(QString::fromStdString(path)));
    QVERIFY(window.banner()->text().contains("The engine stopped"));
  }

  // What the user's code raised stands on top of the window, with their own frames; every empty place says
  // why.
  void aFailedRunSaysWhatWentWrong() {
    const std::string path = folder_.filePath("failed.vitrine").toStdString();
    {
      auto writer = Writer::create(path);
      VITRINE_CHECK(writer.ok(), writer.error().what);
      fixture::Builder b(writer.take());
      b.w.put(RunRow{b.w.next(Kind::Run), "m.py", "f", "", "cpu", "default", "failed"});
      const FileRow file{b.w.next(Kind::File), "/home/user/m.py", "",
                         b.w.blob("import torch\n\ndef f(x):\n    raise ValueError(x)\n"), 1};
      b.w.put(file);
      const SpanRow raise{b.w.next(Kind::Span), file.id, 4, 4, 4, 23};
      b.w.put(raise);
      b.w.put(
          MessageRow{b.w.next(Kind::Message), 0, 1, "error", "user", "Your code raised ValueError in f",
                     "Eager raises this too.",
                     "Traceback (most recent call last):\n"
                     "  File \"/usr/lib/site-packages/torch/m.py\", line 8, in call\n    return f(x)\n"
                     "  File \"/home/user/m.py\", line 3, in f\n    raise ValueError(x)\n          ^^^^^^\n"
                     "ValueError: 3\n",
                     raise.id});
    }
    MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    window.show();
    QVERIFY(!window.openSync(QString::fromStdString(path)));
    QVERIFY(window.banner()->text().contains("raised ValueError"));
    window.banner()->clear();
    window.settle();
    QVERIFY2(window.banner()->text().isEmpty(), "what was dismissed stays away");
    const auto session = kit::SessionData::load(path).value();
    const MessageRow* error = kit::errorOf(*session, session->runs[0]);
    QVERIFY(error);
    QCOMPARE(kit::ownFrames(error->detail),
             QString("File \"/home/user/m.py\", line 3, in f\n  raise ValueError(x)\nValueError: 3"));
    QVERIFY(kit::whyMissing(*session, 0, "optimised").contains("failed"));
    // The source stands at the line, and the problem leads to it.
    Rig<views::SourceView> source(session, "source", {500, 200});
    QCOMPARE(source.view.title(), QString("m.py"));
    QCOMPARE(source.view.pane()->lineOf(error->entity), 3);
    QCOMPARE(views::problemItems(*session)[0].id, error->entity);
    QCOMPARE(views::problemItems(*session)[0].cells[2].text, QString("4:4"));
  }

  // What takes long is told meanwhile, and no longer.
  void whileASessionIsReadTheFilmSaysSo() {
    MainWindow window;
    app::JobRunner& jobs = *static_cast<app::JobRunner*>(window.document()->jobs());
    QStringList told;
    connect(window.document(), &app::Document::opening, &window, [&](const QString& text) { told << text; });
    for (int i = 0; i < app::processorCount() + 2; ++i)  // no thread is free
      jobs.run<int>(
          &window, QString::number(i),
          [](const kit::Cancel&) {
            QThread::msleep(400);
            return 0;
          },
          [](int) {});
    window.openFile(path_);
    QTRY_VERIFY(!told.isEmpty());
    QVERIFY2(told[0].startsWith("Opening a.vitrine"), qPrintable(told[0]));
    QTRY_VERIFY(window.document()->session());
    QCOMPARE(told.back(), QString());
  }

  // More rows than one connection is asked for: another one reads the graphs at the same time.
  void aLargeSessionIsReadByTwoAndIsTheSame() {
    const QString path = folder_.filePath("large.vitrine");
    auto w = Writer::create(path.toStdString()).take();
    std::vector<Id> nodes;
    const Id graph = w->next(Kind::Graph);
    w->put(GraphRow{graph, 0, "aten"});
    for (int i = 0; i < 60'000; ++i) {
      NodeRow node;
      node.id = w->next(Kind::Node), node.graph = graph, node.ordinal = i,
      node.name = "n" + std::to_string(i), node.op = "aten.mm";
      w->put(node);
      if (!nodes.empty()) w->put(EdgeRow{graph, nodes.back(), node.id, 0, 8});
      if (!nodes.empty()) w->link(nodes.back(), node.id);
      nodes.push_back(node.id);
    }
    const Id kernel = w->next(Kind::Kernel);
    w->put(KernelRow{.id = kernel, .label = "K0", .kind = "generated"});
    w->link(nodes[7], kernel);
    std::vector<Id> lines;
    for (int i = 0; i < 20'000; ++i) {
      lines.push_back(w->next(Kind::KernelRange));
      w->put(KernelRangeRow{lines.back(), kernel, "assembly", 20'000 - i, 20'000 - i, 0, 0, nodes[7]});
      w->link(nodes[7], lines.back());
    }
    w->finish("finished");
    kit::Loading loading;
    const auto session = kit::SessionData::load(path.toStdString(), Whose::Found, &loading).value();
    QVERIFY(session->trusted);
    // So are a kernel's lines, which the provenance knows all the same.
    const auto ranges = session->ranges.of(kernel);
    QCOMPARE(ranges.size(), lines.size());
    QCOMPARE(ranges.front().id, lines.back());
    QCOMPARE(session->ranges.find(lines[5])->line, int64_t{19'995});
    QCOMPARE(session->compilationOf(lines[5]), Id(0));
    const kit::Relatives of_node = kit::relativesOf(*session, nodes[7]);
    QVERIFY(of_node.only.contains(lines[5]) && of_node.only.contains(kernel));
    const kit::Relatives of_line = kit::relativesOf(*session, lines[5]);
    QCOMPARE(of_line.origins.front(), nodes[7]);
    QCOMPARE(session->nodes.size(), nodes.size());
    QCOMPARE(session->edges.of(graph).size(), nodes.size() - 1);
    QCOMPARE(session->nodes.find(nodes[4321])->name.str(), std::string("n4321"));
    QVERIFY(session->nodes[0].op.data() == session->nodes[59'999].op.data());
    QCOMPARE(session->links.derived(nodes[7]).size(), size_t{2});
    // Edges are read when they are asked for.
    QVERIFY(loading.all >= 120'000 - 1 && loading.rows <= loading.all && loading.rows > 100'000);
  }

 private:
  QTemporaryDir folder_;
  QString path_;
  Script ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestOpening)
#include "tst_opening.moc"
