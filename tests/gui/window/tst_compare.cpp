// The window that compares two sessions: verdict, what differs, counterparts, one axis.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "app/importing/importing.h"
#include "app/shell/commands/actions.h"
#include "app/shell/compare/compare_window.h"
#include "app/shell/compare/launches_beside.h"
#include "app/shell/main_window.h"
#include "core/session/compare/same_graph.h"
#include "core/session/writer.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/fixture/still_theme.h"
#include "views/timeline/timeline_view.h"

using namespace vitrine;
using app::CompareWindow;

class TestCompare : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(true);
    ids_ = fixture::writeSession(path("a"));
    fixture::writeSession(path("same"));
    fixture::writeSession(path("longer"), 3);
  }

  void theSameSessionHasNoDifferences() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "same");
    QVERIFY(window.comparison());
    QVERIFY2(app::differenceItems(*window.comparison()).empty(), qPrintable(lines(*window.differences())));
    QVERIFY(!window.banner()->text().isEmpty());
    for (const app::KernelPair& pair : window.comparison()->kernels)
      QVERIFY(pair.before && pair.after && pair.lines == 0);
    QCOMPARE(window.comparison()->compilations.size(), window.before()->session()->compilations.size());
  }

  // What differs stands by kind, with what it costs; the verdict is the command line's.
  void theVerdictComesFirst() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "longer");
    const app::TwoSessions& c = *window.comparison();
    QCOMPARE(window.banner()->text(), QString::fromStdString(c.difference.verdict));
    const QString rows = lines(*window.differences());
    QVERIFY2(rows.contains("Graphs, "), qPrintable(rows));
    QVERIFY2(rows.contains("operators: "), qPrintable(rows));
    QVERIFY(window.windowTitle().startsWith("a.vitrine → longer.vitrine"));
  }

  void aCounterpartIsActiveToo() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "same");
    window.before()->activate(ids_.optimised_gelu);
    window.settle();
    const Id there = window.after()->selection().active;
    QCOMPARE(window.after()->session()->label(there), window.before()->session()->label(ids_.optimised_gelu));
    QCOMPARE(window.before()->selection().active, ids_.optimised_gelu);
    window.after()->activate(there);
    window.after()->activate(0);
    window.settle();
    QCOMPARE(window.before()->selection().active, ids_.optimised_gelu);
  }

  // Dynamo's frame has another name, no class and no modules: the graphs are the same, so that it is ours.
  void whatDynamoCapturedIsPairedWithOurs() {
    const auto ours = kit::SessionData::load(path("a")).value();
    QVERIFY(!importing::import_into(written(dynamoLog(*ours, ids_.compilation)), path("dynamo")));
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "dynamo");
    const app::TwoSessions& c = *window.comparison();
    QCOMPARE(c.difference.paired.size(), size_t(1));
    QVERIFY(c.difference.paired[0].same_graph);
    QCOMPARE(c.difference.paired[0].before_id, ids_.compilation);
    QCOMPARE(c.compilations.size(), size_t(1));
    // A call of ours leads to Dynamo's.
    window.before()->activate(ids_.captured_gelu);
    window.settle();
    const Id there = window.after()->selection().active;
    QVERIFY2(window.after()->session()->label(there).contains("gelu"),
             qPrintable(window.after()->session()->label(there)));
    // What the other tool does not tell of itself is no difference.
    QVERIFY2(!lines(*window.differences()).contains("setting"), qPrintable(lines(*window.differences())));
  }

  // Of two programs that have nothing in common, words stand in the place of both sides' kernels.
  void whereNoKernelsBelongTogetherItSaysSo() {
    timed("alone", {{1e3, 1e3, 1e3}});
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "alone");
    QVERIFY(window.showPage("kernels"));
    QCOMPARE(window.comparison()->kernels.size(), size_t(0));
    QVERIFY(window.kernels()->isHidden());
    bool said = false;
    for (const QLabel* label : window.findChildren<QLabel*>())
      said = said || (label->isVisible() && label->text().startsWith("No kernel of one side"));
    QVERIFY(said);
  }

  // A click on a kernel shows the texts of both.
  void aKernelShowsBothTexts() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "same");
    QVERIFY(window.showPage("kernels"));
    QVERIFY(!window.showPage("nothing"));
    kit::ItemModel* model = window.kernels()->items();
    QCOMPARE(static_cast<size_t>(model->rowCount()), window.comparison()->kernels.size());
    for (int row = 0; row < model->rowCount(); ++row)
      if (model->cell(model->index(row, 0))->text == "K2 add_gelu")
        Q_EMIT window.kernels()->activate(model->idAt(model->index(row, 0)));
    window.settle();
    QCOMPARE(window.before()->selection().active, ids_.k2);
    QCOMPARE(window.after()->session()->label(window.after()->selection().active),
             QStringLiteral("K2 add_gelu"));
    QVERIFY(lines(*window.kernels()).contains("the same"));
    QVERIFY(window.kernels()->isVisible());
  }

  void timelinesHaveOneAxis() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "longer");
    QVERIFY(window.showPage("timelines"));
    window.settle();
    QList<views::TimelineView*> both = window.findChildren<views::TimelineView*>();
    QCOMPARE(both.size(), 2);
    QTRY_VERIFY(both[0]->timeline() && both[1]->timeline());
    window.settle();
    auto same = [&] {
      const auto &a = both[0]->window_of_time(), &b = both[1]->window_of_time();
      return a.from == b.from && a.scale == b.scale;
    };
    QVERIFY(same());
    both[1]->zoom(kit::Zoom::In);
    both[1]->act("time.right");
    QVERIFY(same() && both[0]->window_of_time().from != 0);
  }

  // Longer and shorter only where half of the calls of both lie apart; what has no counterpart is said to be
  // alone.
  void launchesSayWhatTheyTookInTheOtherSession() {
    app::TwoSessions c;
    const Timed before =
        timed("before", {{10'000, 9'000, 11'000}, {4'000, 3'000, 5'000}, {1'000, 900, 1'100}});
    const Timed after = timed("after", {{15'000, 14'000, 16'000}, {4'500, 3'500, 5'500}});
    c.before = before.session, c.after = after.session;
    c.to_after = {{before.compilation, after.compilation},
                  {before.kernels[0], after.kernels[0]},
                  {before.kernels[1], after.kernels[1]}};
    for (const auto& [from, to] : c.to_after) c.to_before[to] = from;
    const auto there = app::launchesAfter(c);
    QCOMPARE(there.at(after.launches[0]).by_ns, 5'000.0);
    QCOMPARE(there.at(after.launches[0]).of_ns, 10'000.0);
    QCOMPARE(there.at(after.launches[1]).by_ns, 0.0);
    QVERIFY(!there.at(after.launches[1]).alone);
    const auto here = app::launchesBefore(c);
    QCOMPARE(here.at(before.launches[0]).by_ns, -5'000.0);
    QVERIFY(here.at(before.launches[2]).alone && !here.at(before.launches[2]).later);
  }

  void timelinesOfACompareAreColouredByIt() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "same");
    window.showPage("timelines");
    window.settle();
    for (views::TimelineView* view : window.findChildren<views::TimelineView*>()) {
      QVERIFY(!view->beside().empty());
      for (const auto& [launch, other] : view->beside()) QVERIFY(!other.alone && other.by_ns == 0);
    }
  }

  void keysActOnTheViewThatHasTheFocus() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "longer");
    window.showPage("timelines");
    window.settle();
    QList<views::TimelineView*> both = window.findChildren<views::TimelineView*>();
    both[0]->zoom(kit::Zoom::In);
    const double near = both[0]->window_of_time().scale;
    both[0]->setFocus();
    for (QAction* each : window.actions())
      if (each->shortcut() == QKeySequence("Z")) each->trigger();
    QVERIFY(both[0]->window_of_time().scale < near);
    QCOMPARE(both[1]->window_of_time().scale, both[0]->window_of_time().scale);
  }

  // One row says what differs in each layer; the layers stand below it, and a click on it leads to the first.
  void equalLayersAreOneRow() {
    layered("narrow", "mm_gelu");
    layered("wide", "mm_silu");
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "narrow", "wide");
    const app::TwoSessions& c = *window.comparison();
    const std::vector<kit::Item> headings = app::differenceItems(c);
    QCOMPARE(headings.size(), size_t(1));
    QCOMPARE(headings[0].cells[0].text, QStringLiteral("Kernels, 12"));
    QCOMPARE(headings[0].children.size(), size_t(1));
    const kit::Item& row = headings[0].children[0];
    QCOMPARE(row.cells[0].text, QStringLiteral("×12 layers: K0…11 mm_silu"));
    QVERIFY2(row.cells[0].below.startsWith("layers.0…11.fc: was K0…11 mm_gelu"),
             qPrintable(row.cells[0].below));
    QCOMPARE(row.children.size(), size_t(12));
    QCOMPARE(row.children[3].cells[0].text, QStringLiteral("K3 mm_silu"));
    QCOMPARE(app::thingsOf(c, row.id), app::thingsOf(c, row.children[0].id));
    QVERIFY(app::thingsOf(c, row.id).second);
  }

  void whatCannotBeOpenedIsSaid() {
    CompareWindow window(nullptr, app::JobRunner::Mode::Inline);
    open(window, "a", "none");
    QVERIFY(!window.comparison());
    QVERIFY(!window.banner()->text().isEmpty());
  }

  void theFileMenuHasIt() {
    app::MainWindow window(nullptr, app::JobRunner::Mode::Inline);
    QVERIFY(!(*window.actions())["file.compare"]->isEnabled());
    QVERIFY(!window.openSync(QString::fromStdString(path("a"))));
    QVERIFY((*window.actions())["file.compare"]->isEnabled());
    std::unique_ptr<CompareWindow> compared(window.compareWith(QString::fromStdString(path("same"))));
    QVERIFY(compared);
    QTRY_VERIFY(compared->comparison());
  }

 private:
  // A session of one compilation, whose kernels are launched once and took so long.
  struct Timed {
    kit::SessionPtr session;
    Id compilation = 0;
    std::vector<Id> kernels, launches;
  };
  struct Took {
    double ns, lower, upper;
  };
  Timed timed(const char* name, const std::vector<Took>& all) {
    Timed out;
    auto w = session::Writer::create(path(name)).take();
    const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
    out.compilation = w->next(Kind::Compilation);
    w->put(session::RunRow{run, "a.py"});
    w->put(session::FrameRow{.id = frame, .run = run});
    w->put(session::SegmentRow{.id = segment, .frame = frame});
    w->put(session::CompilationRow{.id = out.compilation, .segment = segment, .label = "0/0"});
    for (const Took& took : all) {
      out.kernels.push_back(w->next(Kind::Kernel));
      out.launches.push_back(w->next(Kind::Launch));
      w->put(session::KernelRow{.id = out.kernels.back(), .compilation = out.compilation, .label = "K"});
      w->put(session::LaunchRow{.id = out.launches.back(),
                                .compilation = out.compilation,
                                .kernel = out.kernels.back(),
                                .median_ns = took.ns,
                                .calls = 25,
                                .lower_ns = took.lower,
                                .upper_ns = took.upper});
    }
    w->finish("finished");
    out.session = kit::SessionData::load(path(name)).value();
    return out;
  }
  // Twelve equal layers of one operator and one kernel each.
  void layered(const char* name, const std::string& kernel) {
    auto w = session::Writer::create(path(name)).take();
    const Id run = w->next(Kind::Run), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment),
             compilation = w->next(Kind::Compilation), graph = w->next(Kind::Graph);
    w->put(session::RunRow{run, "a.py"});
    w->put(session::FrameRow{.id = frame, .run = run});
    w->put(session::SegmentRow{.id = segment, .frame = frame});
    w->put(session::CompilationRow{.id = compilation, .segment = segment, .label = "0/0"});
    w->put(session::GraphRow{.id = graph, .compilation = compilation, .stage = "fused"});
    for (int i = 0; i < 12; ++i) {
      const std::string label = "K" + std::to_string(i);
      w->put(session::NodeRow{.id = w->next(Kind::Node),
                              .graph = graph,
                              .ordinal = i,
                              .stable = i,
                              .name = "mm_" + std::to_string(i),
                              .kind = "op",
                              .op = "aten.mm.default",
                              .module = "layers." + std::to_string(i) + ".fc",
                              .group_label = label});
      w->put(session::KernelRow{.id = w->next(Kind::Kernel),
                                .compilation = compilation,
                                .ordinal = i,
                                .label = label,
                                .name = kernel,
                                .source = w->blob(kernel)});
    }
    w->finish("finished");
  }
  // The calls of a captured graph as TORCH_TRACE writes them, one behind the other.
  static QString dynamoLog(const kit::SessionData& data, Id compilation) {
    QString out = QStringLiteral(
        "V1128 13:22:52.154000 1 torch/a.py:1] {\"str\": [\"/home/user/model.py\", 1]}\n"
        "V1128 13:22:52.154000 1 torch/a.py:1] {\"dynamo_start\": {\"stack\": [{\"line\": 7, \"name\": "
        "\"forward\", \"filename\": 1}]}, \"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0}\n"
        "V1128 13:22:52.395000 1 torch/a.py:1] {\"dynamo_output_graph\": {\"sizes\": {}}, \"frame_id\": 0, "
        "\"frame_compile_id\": 0, \"attempt\": 0, \"has_payload\": \"1\"}\n"
        "\tclass GraphModule(torch.nn.Module):\n"
        "\t    def forward(self, L_x_: \"f32[8, 128, 768][98304, 768, 1]cpu\"):\n");
    QString last = QStringLiteral("L_x_");
    for (const session::GraphRow& graph : data.graphs.of(compilation)) {
      if (graph.stage != "captured") continue;
      for (const session::NodeRow& node : data.nodes.of(graph.id)) {
        if (node.kind != "op") continue;
        const QString name = QString::fromStdString(node.name);
        const QString word = QString::fromStdString(session::call_word(node.op));
        out += QStringLiteral("\t        %1 = torch.%2(%3);  %3 = None\n").arg(name, word, last);
        last = name;
      }
    }
    return out + QStringLiteral("\t        return (%1,)\n").arg(last);
  }
  std::string written(const QString& log) {
    const QString path = folder_.filePath("dedicated_log_torch_trace_a.log");
    QFile file(path);
    if (file.open(QIODevice::WriteOnly)) file.write(log.toUtf8());
    return path.toStdString();
  }
  void open(CompareWindow& window, const char* before, const char* after) {
    window.resize(1440, 900);
    window.QWidget::show();
    window.open(QString::fromStdString(path(before)), QString::fromStdString(path(after)));
    window.settle();
  }
  static QString lines(kit::ItemView& table) { return table.items()->lines().join('\n'); }
  std::string path(const char* name) const {
    return folder_.filePath(QString::fromLatin1(name) + ".vitrine").toStdString();
  }
  QTemporaryDir folder_;
  fixture::Ids ids_;
};

QTEST_MAIN(TestCompare)
#include "tst_compare.moc"
