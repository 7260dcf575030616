// The user's Python: which file and function are shown, what an expression became, where the graph broke.
#include <QHelpEvent>
#include <QScrollBar>
#include <QToolTip>
#include <set>

#include "core/session/writer.h"
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/selection/relatives.h"
#include "views/kit/session/frames.h"
#include "views/source/source_view.h"

using namespace vitrine;
using fixture::Rig;
using views::SourceView;

class TestSource : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(false);
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void itOpensAtTheFunctionThatDidTheWork() {
    Rig<SourceView> rig(session(), "source", {500, 200});
    QTRY_COMPARE(rig.view.title(), QStringLiteral("transformer_block.py"));
    QCOMPARE(rig.view.subtitle(), QStringLiteral("Block.forward"));
    QVERIFY(rig.view.pane()->verticalScrollBar()->value() > 0);
    QVERIFY(rig.view.pane()->lineCount() > 30);
  }

  // A record of another tool holds single lines: the first of them is in sight, and the header says so.
  void ofAnImportTheLinesThatAreKnownAreInSight() {
    const std::string path = loaded_->folder.filePath("import.vitrine").toStdString();
    {
      auto w = session::Writer::create(path).take();
      w->meta("imported", "a log");
      const Id run = w->next(Kind::Run), file = w->next(Kind::File);
      w->put(session::RunRow{.id = run, .label = "import of a", .status = "finished"});
      session::FileRow row{file, "m.py", "", {}, 1};
      row.text = w->blob(std::string(80, '\n') + "y = x.sin()\n" + std::string(80, '\n') + "z = 1\n");
      w->put(row);
      w->finish("finished");
    }
    Rig<SourceView> rig(kit::SessionData::load(path).value(), "source", {500, 200});
    QTRY_COMPARE(rig.view.title(), QStringLiteral("m.py"));
    QVERIFY2(rig.view.subtitle().contains("only the lines"), qPrintable(rig.view.subtitle()));
    QVERIFY(rig.view.pane()->verticalScrollBar()->value() > 0);
    QVERIFY(std::abs(rig.view.pane()->middleLine() - 80) < 12);
    Rig<SourceView> ours(session(), "source", {500, 200});
    QVERIFY(!ours.view.subtitle().contains("only the lines"));
  }

  // Though its files have the numbers of those before.
  // Sequential calls two blocks: neither is what it does alone, and a person wants to read theirs.
  void ofALibrarysContainerTheUsersFunctionIsShown() {
    const auto id = [](Kind kind, int64_t number) { return make_id(kind, number); };
    kit::SessionData data;
    data.files = kit::Table<session::FileRow>(
        {{id(Kind::File, 1), "container.py", "", {}, 0}, {id(Kind::File, 2), "model.py", "", {}, 1}});
    data.codes = kit::Table<session::CodeRow>({{id(Kind::Code, 1), id(Kind::File, 1), "Sequential.forward"},
                                               {id(Kind::Code, 2), id(Kind::File, 2), "Small.forward"},
                                               {id(Kind::Code, 3), id(Kind::File, 2), "Large.forward"}});
    std::vector<session::InstructionRow> instructions;
    for (int64_t code = 1; code <= 3; ++code)
      instructions.push_back({id(Kind::Instruction, code), id(Kind::Code, code), 0, "CALL"});
    data.instructions = kit::Table<session::InstructionRow>(instructions);
    data.frames = kit::Table<session::FrameRow>({{id(Kind::Frame, 1), 0, id(Kind::Code, 1)}});
    data.segments = kit::Table<session::SegmentRow>({{id(Kind::Segment, 1), id(Kind::Frame, 1)}});
    const Id compilation = id(Kind::Compilation, 1);
    data.compilations = kit::Table<session::CompilationRow>({{compilation, id(Kind::Segment, 1)}});
    std::vector<session::StepRow> steps;
    for (int64_t code : {1, 2, 2, 1, 3, 3, 3, 1}) {
      session::StepRow step{id(Kind::Step, static_cast<int64_t>(steps.size()) + 1), compilation,
                            static_cast<int64_t>(steps.size()), id(Kind::Instruction, code), code > 1};
      step.event = code > 1 ? "node" : "";
      steps.push_back(step);
    }
    data.steps = kit::Table<session::StepRow>(steps, &session::StepRow::compilation);
    QCOMPARE(kit::workCode(data, compilation), id(Kind::Code, 1));
    QCOMPARE(kit::readCode(data, compilation), id(Kind::Code, 3));
  }

  void anotherSessionOpensAtItsOwnFunction() {
    Rig<SourceView> rig(session(), "source", {500, 200});
    QScrollBar* scroll = rig.view.pane()->verticalScrollBar();
    QTRY_VERIFY(scroll->value() > 0);
    const int begin = scroll->value();
    const fixture::Loaded other;
    scroll->setValue(0);
    rig.model.setSession(other.session);
    rig.view.setSession(other.session);
    rig.settle();
    QTRY_COMPARE(scroll->value(), begin);
    scroll->setValue(0);  // the same one, loaded again while it is being written
    rig.view.setSession(kit::SessionData::load(other.session->path).value());
    rig.settle();
    QCOMPARE(scroll->value(), 0);
  }

  void anOperatorElsewhereIsItsExpressionHere() {
    Rig<SourceView> rig(session(), "source", {500, 160});
    for (const Id id : {ids().captured_gelu, ids().fused_gelu, ids().k2_gelu_lines}) {
      rig.view.pane()->scrollToLine(0);
      rig.activate(id);
      QTRY_COMPARE(rig.view.canShow(id), ids().gelu_span);
      QVERIFY(boxOf(rig, ids().gelu_span).isValid());  // scrolled to it
    }
    QCOMPARE(rig.view.pane()->lineOf(ids().gelu_span), 31);
  }

  void aClickOnAnExpressionActivatesIt() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    rig.view.reveal(ids().gelu_span);
    rig.settle();
    const QRect box = boxOf(rig, ids().gelu_span);
    QVERIFY(box.isValid());
    clickAt(rig, QPoint(box.right() - 3, box.center().y()));
    QCOMPARE(rig.model.selection().active, ids().gelu_span);
  }

  // Of `F.gelu(h)` the F and the h are no more than loaded: a click anywhere in it is about the call.
  void aClickOnAPartIsAboutWhatBecameANode() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    rig.view.reveal(ids().gelu_span);
    rig.settle();
    const QRect box = boxOf(rig, ids().gelu_span);
    QVERIFY(box.isValid());
    std::set<Id> hit;
    for (int x = box.left() + 3; x < box.right() - 2; x += 4) {
      clickAt(rig, QPoint(x, box.center().y()));
      hit.insert(rig.model.selection().active);
    }
    for (const Id id : hit) {
      const auto derived = kit::relativesOf(*session(), id).derived;
      QVERIFY2(
          std::any_of(derived.begin(), derived.end(), [](Id each) { return kind_of(each) == Kind::Node; }),
          qPrintable(session()->label(id)));
    }
    QVERIFY(hit.contains(ids().gelu_span));
  }

  // Only what became something can be clicked: a comment or an import is text.
  void everyLinkLeadsSomewhere() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    QVERIFY(!rig.view.shown().empty());
    for (const Id id : rig.view.shown()) QVERIFY(!session()->links.derived(id).empty());
  }

  void theFilmLeadsToTheFileOfItsRun() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    QCOMPARE(rig.view.title(), QStringLiteral("transformer_block.py"));
    kit::Film film;
    film.run = ids().gated_run;
    film.compilation = ids().gated_compilation;
    rig.film(film);
    QTRY_COMPARE(rig.view.title(), QStringLiteral("gated_block.py"));
  }

  void aBreakIsMarkedAtItsLineWithItsReason() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    rig.activate(ids().break_item);
    kit::Film film;
    film.run = ids().gated_run;
    film.compilation = ids().gated_compilation;
    rig.film(film);
    QTRY_COMPARE(rig.view.title(), QStringLiteral("gated_block.py"));
    QVERIFY2(tipOfMarks(rig).contains("Python must know which way to go"), qPrintable(tipOfMarks(rig)));
  }

  void whatIsSoughtIsFound() {
    Rig<SourceView> rig(session(), "source", {700, 500});
    QCOMPARE(rig.view.find("F.gelu"), 1);
    QCOMPARE(rig.view.find("no line says this"), 0);
  }

  // A library's module that the user's script calls: its file is none of theirs, the script is.
  void ofALibrarysModuleTheCallingFileIsShown_data() {
    QTest::addColumn<bool>("script");
    QTest::newRow("a script calls it") << true;
    QTest::newRow("the record has no text") << false;
  }
  void ofALibrarysModuleTheCallingFileIsShown() {
    QFETCH(bool, script);
    const std::string path =
        loaded_->folder.filePath(script ? "called.vitrine" : "bare.vitrine").toStdString();
    auto made = session::Writer::create(path);
    QVERIFY(made);
    session::Writer& w = *made.value();
    const Id run = w.next(Kind::Run), library = w.next(Kind::File), own = w.next(Kind::File),
             code = w.next(Kind::Code), frame = w.next(Kind::Frame), segment = w.next(Kind::Segment),
             compilation = w.next(Kind::Compilation), graph = w.next(Kind::Graph), span = w.next(Kind::Span);
    w.put(session::RunRow{run, "script.py", "script", "", "cpu", "default", "finished"});
    w.put(session::FileRow{library, "/lib/container.py", "",
                           script ? w.blob("def forward(self):\n    pass\n") : session::BlobRef()});
    w.put(session::FileRow{own, "/home/user/script.py", "",
                           script ? w.blob("model(x)\n") : session::BlobRef(), script ? 1 : 0});
    w.put(session::CodeRow{code, library, "Sequential.forward", 1, 2});
    w.put(session::FrameRow{frame, run, code, "captured", ""});
    w.put(session::SegmentRow{segment, frame});
    session::CompilationRow row{compilation, segment};
    row.label = "0/0", row.status = "ok";
    w.put(row);
    w.put(session::SpanRow{span, own, 1, 0, 1, 8});
    w.put(session::GraphRow{graph, compilation, "captured"});
    session::NodeRow node;
    node.id = w.next(Kind::Node), node.graph = graph, node.name = "linear", node.kind = "op",
    node.span = span;
    w.put(node);
    const Id within = w.next(Kind::Span), instruction = w.next(Kind::Instruction), step = w.next(Kind::Step);
    w.put(session::SpanRow{within, library, 2, 4, 2, 8});
    w.put(session::InstructionRow{instruction, code, 2, "LOAD_FAST", 0, "self", within});
    w.put(session::StepRow{step, compilation, 0, instruction});
    w.finish("finished");
    auto read = kit::SessionData::load(path);
    QVERIFY(read);
    Rig<SourceView> rig(read.value(), "source", {500, 200});
    QTRY_COMPARE(rig.view.title(), script ? QStringLiteral("script.py") : QStringLiteral("Source"));
    QCOMPARE(rig.view.pane()->isVisible(), script);
    if (!script) return;
    // Where the capture stands is marked in the file that it leads to.
    kit::Film film;
    film.run = run, film.compilation = compilation, film.step = step;
    rig.film(film);
    QTRY_COMPARE(rig.view.title(), QStringLiteral("container.py"));
    QCOMPARE(rig.view.pane()->running(), 1);
  }

  void withoutASessionNoTextIsShown() {
    Rig<SourceView> rig(nullptr, "source", {400, 200});
    QCOMPARE(rig.view.title(), QStringLiteral("Source"));
    QVERIFY(!rig.view.pane()->isVisible());
  }

 private:
  static QRect boxOf(Rig<SourceView>& rig, Id id) {
    for (const kit::Thing& thing : rig.view.things())
      if (thing.id == id && rig.view.rect().intersects(thing.box)) return thing.box;
    return {};
  }
  // place: in the view.
  static void clickAt(Rig<SourceView>& rig, const QPoint& place) {
    QWidget* viewport = rig.view.pane()->viewport();
    QTest::mouseClick(viewport, Qt::LeftButton, {}, viewport->mapFrom(&rig.view, place));
    rig.settle();
  }
  // What the marks beside the lines in sight say when the pointer rests on them.
  static QString tipOfMarks(Rig<SourceView>& rig) {
    QString out;
    QWidget* viewport = rig.view.pane()->viewport();
    for (int y = 4; y < viewport->height(); y += 8) {
      QToolTip::hideText();
      QHelpEvent event(QEvent::ToolTip, QPoint(4, y), viewport->mapToGlobal(QPoint(4, y)));
      QCoreApplication::sendEvent(viewport, &event);
      out += QToolTip::text();
    }
    return out;
  }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestSource)
#include "tst_source.moc"
