// Bytecode and symbolic stack: what they say at a step, and how a click moves the film.
#include <QScrollBar>
#include <QSignalSpy>

#include "core/session/writer.h"
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/capture/bytecode_view.h"
#include "views/capture/stack_view.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;
using fixture::Rig;
using views::BytecodeView;
using views::StackView;

class TestCapture : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(false);
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void everyInstructionSaysWhatItCaused() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 700});
    const QStringList lines = rig.view.lines();
    QCOMPARE(
        lines.size(),
        static_cast<int>(
            session()->instructions.of(session()->instructions.find(ids().gelu_instruction)->code).size()));
    QVERIFY(lines.contains(" | 196 | CALL | 2 | gelu"));
    QVERIFY(lines.contains("32 | 88 | LOAD_GLOBAL | NULL + F | G['F']"));
    QVERIFY(lines.filter("(later)").isEmpty());  // without a step the film stands at the end
  }

  void instructionsInSightAreTold() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 300});
    const auto things = rig.view.things();
    QVERIFY(!things.empty() && things.size() < static_cast<size_t>(rig.view.lines().size()));
    for (const kit::Thing& thing : things) {
      QVERIFY(rig.view.rect().intersects(thing.box));
      QVERIFY(!rig.view.spoken(thing.id).isEmpty());
    }
  }

  void whatComesLaterIsToldApart() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 700});
    rig.film(at(ids().gelu_step));
    const QStringList lines = rig.view.lines();
    QVERIFY(lines.contains(" | 196 | CALL | 2 | gelu"));
    QVERIFY(lines.contains(" | 206 | STORE_FAST | h |  (later)"));
    QVERIFY(!lines.filter(" | 178 | CALL").first().endsWith("(later)"));
  }

  void inlinedFramesUnfoldUnderTheirCall() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 700});
    const int before = rig.view.lines().size();
    const int row = rig.view.lines().indexOf(rig.view.lines().filter("inlined").first());
    QVERIFY(rig.view.lines()[row].endsWith("inlined  Attention"));
    click(rig, row, 84);  // its chevron
    QVERIFY(rig.view.lines().size() > before);
    QVERIFY(rig.view.lines()[row + 1].startsWith("  "));  // one level in
    QVERIFY(!rig.view.lines().filter("scaled_dot_product_attention").isEmpty());
    click(rig, row, 84);
    QCOMPARE(rig.view.lines().size(), before);
  }

  void aStepOfAnInlinedFrameUnfoldsIt() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 700});
    auto steps = session()->steps.of(ids().compilation);
    auto inner = std::find_if(steps.begin(), steps.end(), [](const auto& step) { return step.depth == 1; });
    QVERIFY(inner != steps.end());
    const int folded = rig.view.lines().size();
    rig.film(at(inner->id));
    QVERIFY(rig.view.lines().size() > folded);
    QVERIFY(rig.view.pane()->rowOf(inner->instruction) >= 0);
  }

  void aClickActivatesWhatItCausedAndMovesTheFilm() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 1200});
    const int gelu = rig.view.lines().indexOf(" | 196 | CALL | 2 | gelu");
    click(rig, gelu, 140);
    QCOMPARE(rig.model.selection().active, ids().captured_gelu);
    QCOMPARE(rig.model.selection().film.step, ids().gelu_step);
    QCOMPARE(rig.view.pane()->markOf(gelu), kit::Emphasis::Ring);
    click(rig, gelu + 1, 140);  // STORE_FAST makes nothing: the instruction itself
    QCOMPARE(kind_of(rig.model.selection().active), Kind::Instruction);
  }

  void aNodeElsewhereMarksItsInstruction() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 300});
    rig.activate(ids().fused_gelu);
    const int gelu = rig.view.lines().indexOf(" | 196 | CALL | 2 | gelu");
    QVERIFY(rig.view.pane()->markOf(gelu) != kit::Emphasis::None);
    QVERIFY(rig.view.rect().contains(rig.view.pane()->boxOf(gelu)));  // scrolled to it
  }

  void theStackShowsWhatWasPutAndTaken() {
    Rig<StackView> rig(session(), "", {320, 700});
    rig.film(at(ids().gelu_step));
    const QStringList lines = rig.view.lines();
    QCOMPARE(lines[0], QStringLiteral("after 196 CALL"));
    QCOMPARE(lines[1], QStringLiteral("+ 0 gelu f32[8,128,3072]"));
    QCOMPARE(lines[2], QStringLiteral("taken from the stack"));
    QCOMPARE(lines[3], QStringLiteral("\u2212 3 'tanh' constant"));
    QCOMPARE(lines[4], QStringLiteral("\u2212 2 linear_2 f32[8,128,3072]"));
    QCOMPARE(rig.view.subtitle(), QStringLiteral("depth 4 → 1"));
    QVERIFY(!lines.filter("Block.forward").isEmpty());
    QVERIFY(lines.contains("x add f32[8,128,768]"));
    QVERIFY(lines.filter(QRegularExpression("^h ")).isEmpty());  // not stored yet
  }

  // A shape is read whole although the view is narrow, while the name beside it leaves room.
  void aTypeOfTheStackIsNotCut() {
    const QString type = "f32[8,128,768]";
    const int room = kit::theme().px(140);
    QCOMPARE(views::factWidth("add", type, room), kit::textWidth(kit::theme().mono(11), type));
    QCOMPARE(views::factWidth("a_name_that_needs_all_the_room_there_is", type, room), room / 2);
  }

  void theStackFollowsTheFilm() {
    Rig<StackView> rig(session(), "", {320, 700});
    auto steps = session()->steps.of(ids().compilation);
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (steps[i].depth != steps[i + 1].depth) continue;
      rig.model.setFilm(at(steps[i].id));
      rig.model.flush();
      const int after = rig.view.state().after;
      rig.model.setFilm(at(steps[i + 1].id));
      rig.model.flush();
      QCOMPARE(rig.view.state().before, after);
    }
    rig.settle();
  }

  void aValueOfTheStackIsItsNode() {
    Rig<StackView> rig(session(), "", {320, 700});
    rig.film(at(ids().gelu_step));
    QTest::mouseClick(rig.view.pane()->viewport(), Qt::LeftButton, {}, rig.view.pane()->boxOf(1).center());
    QCOMPARE(rig.model.selection().active, ids().captured_gelu);
  }

  // Recordings that say only how the stack stood before each instruction.
  void depthsAloneGiveTheSameChanges() {
    auto data = std::make_shared<kit::SessionData>();
    using namespace session;
    const Id c = make_id(Kind::Compilation, 1), code = make_id(Kind::Code, 1);
    struct In {
      const char *op, *name;
      int arg;
      const char* effect;
    };
    const In body[] = {{"LOAD_FAST", "x", 0, R"({"stack": 0, "top": ""})"},
                       {"LOAD_FAST", "y", 0, R"({"stack": 1, "top": "f32[2]"})"},
                       {"BINARY_OP", "+", 0, R"({"stack": 2, "top": "f32[2]"})"},
                       {"STORE_FAST", "z", 0, R"({"stack": 1, "top": "f32[2]"})"},
                       {"LOAD_FAST", "z", 0, R"({"stack": 0, "top": ""})"},
                       {"RETURN_VALUE", "", 0, R"({"stack": 1, "top": "f32[2]"})"}};
    std::vector<InstructionRow> instructions;
    std::vector<StepRow> steps;
    for (int i = 0; i < 6; ++i) {
      instructions.push_back(
          {make_id(Kind::Instruction, i + 1), code, 2 * i, body[i].op, body[i].arg, body[i].name});
      steps.push_back({make_id(Kind::Step, i + 1), c, i, instructions.back().id, 0, "instruction", body[i].op,
                       body[i].effect, 0});
    }
    data->instructions = kit::Table<InstructionRow>(instructions, &InstructionRow::code);
    data->steps = kit::Table<StepRow>(steps, &StepRow::compilation);
    const views::StackState add = views::stack_after(*data, c, 2);
    QCOMPARE(add.before, 2);
    QCOMPARE(add.after, 1);
    QCOMPARE(add.taken.size(), size_t(2));
    QCOMPARE(add.put.size(), size_t(1));
    const views::StackState store = views::stack_after(*data, c, 3);
    QCOMPARE(store.taken.size(), size_t(1));
    QCOMPARE(store.locals.size(), size_t(3));
    QCOMPARE(store.locals.back().first, QStringLiteral("z"));
    QCOMPARE(views::stack_after(*data, c, 5).after, 0);
  }

  // Where the view has the room, the name of an instruction is read whole.
  void theColumnOfInstructionsIsAsWideAsTheLongest() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("jump.vitrine").toStdString();
    auto w = Writer::create(path).take();
    const Id run = w->next(Kind::Run), code = w->next(Kind::Code), frame = w->next(Kind::Frame),
             segment = w->next(Kind::Segment), compilation = w->next(Kind::Compilation);
    w->put(RunRow{run, "model.py", "model(*inputs)", "", "cpu", "default", "finished"});
    w->put(CodeRow{code, 0, "forward"});
    w->put(FrameRow{frame, run, code, "captured", ""});
    w->put(SegmentRow{segment, frame});
    w->put(CompilationRow{compilation, segment, 0, "0/0", "ok", "return"});
    w->put(InstructionRow{w->next(Kind::Instruction), code, 0, "POP_JUMP_IF_FALSE", 0, "to 8"});
    w->finish("finished");
    w.reset();
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    const int whole = kit::textWidth(kit::theme().mono(12, 600), "POP_JUMP_IF_FALSE");
    Rig<BytecodeView> wide(data, "bytecode", {800, 300}), narrow(data, "bytecode", {300, 300});
    QCOMPARE(wide.view.lines().size(), 1);
    QVERIFY(wide.view.nameWidth() > whole);
    QVERIFY(narrow.view.nameWidth() < whole);
  }

  // F.linear and the node that it makes are called the same.
  void aFunctionIsNoNodeOfItsName() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("linear.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id c = fixture::bareCompilation(*w, run);
    const Id graph = w->next(Kind::Graph), code = w->next(Kind::Code), node = w->next(Kind::Node);
    w->put(GraphRow{graph, c, "captured"});
    w->put(NodeRow{node, graph, 0, 0, "linear", "op", "torch.linear", "matmul", "f32[4,8]"});
    w->put(CodeRow{code, 0, "forward"});
    const char* const pushed[] = {
        R"({"kind":"function","text":"linear","type":"builtin_function_or_method","source":"F.linear"})",
        R"({"kind":"tensor","text":"linear","type":"f32[4,8]","source":""})"};
    for (int i = 0; i < 2; ++i) {
      const Id instruction = w->next(Kind::Instruction);
      w->put(InstructionRow{instruction, code, 2 * i, "LOAD_FAST", 0, "x"});
      w->put(StepRow{w->next(Kind::Step), c, i, instruction, 0, "instruction", "LOAD_FAST",
                     std::string(R"({"pop":0,"push":[)") + pushed[i] + R"(],"store":{}})"});
    }
    w->finish("finished");
    w.reset();
    const kit::SessionPtr data = kit::SessionData::load(path).value();
    const views::StackState state = views::stack_after(*data, c, 1);
    QCOMPARE(state.put.at(0).from, node);
    QCOMPARE(state.put.at(0).type, QStringLiteral("f32[4,8]"));
    QVERIFY(state.below.at(0).from != node);
    QCOMPARE(state.below.at(0).family, kit::NodeFamily::None);
    QCOMPARE(state.below.at(0).type, QStringLiteral("builtin_function_or_method"));
  }

  void longCodeIsPaintedByTheScreen() {
    Rig<BytecodeView> rig(session(), "bytecode", {420, 180});
    QVERIFY(rig.view.lines().size() > 24);
    QVERIFY(rig.view.pane()->painted() <= 12);
  }

  void withoutASessionItSaysSo() {
    Rig<StackView> stack(nullptr, "", {320, 200});
    QVERIFY(stack.view.lines().isEmpty());
    Rig<BytecodeView> code(nullptr, "bytecode", {320, 200});
    QVERIFY(code.view.lines().isEmpty());
  }

 private:
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  kit::Film at(Id step) const {
    kit::Film film;
    film.run = ids().run;
    film.compilation = ids().compilation;
    film.step = step;
    return film;
  }
  static void click(Rig<BytecodeView>& rig, int row, int x) {
    rig.view.pane()->revealRow(row);
    QTest::mouseClick(rig.view.pane()->viewport(), Qt::LeftButton, {},
                      QPoint(x, rig.view.pane()->boxOf(row).center().y()));
    rig.settle();
  }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestCapture)
#include "tst_capture.moc"
