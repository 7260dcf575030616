// What failed and was compiled again, in the words of the program: functions, loops, calls.
#include "core/session/writer.h"
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/sources.h"
#include "views/tables/tables.h"

using namespace vitrine;
using namespace vitrine::session;
using fixture::Rig;
using views::TableView;

namespace {

constexpr const char* kProgram =
    "def forward(self, x):\n"
    "    for layer in self.layers:\n"
    "        x = layer(x)\n"
    "    return x\n";

// Two functions that were compiled twice each; the second compilation begins behind the call in the loop.
struct Program {
  explicit Program(bool second_file = false)
      : path(folder.filePath("loop.vitrine").toStdString()), w(Writer::create(path).take()) {
    w->put(RunRow{.id = run = w->next(Kind::Run), .label = "loop.py", .status = "running"});
    FileRow file;
    file.id = w->next(Kind::File), file.path = "/home/user/loop.py", file.text = w->blob(kProgram),
    file.user = 1;
    w->put(file);
    file_id = file.id;
    function("forward");
    if (second_file) {
      file.id = file_id = w->next(Kind::File), file.path = "/home/user/other.py";
      w->put(file);
    }
    function("second");
    w->finish("finished");
    data = kit::SessionData::load(path).value();
    for (const FileRow& row : data->files) data->texts->load(row.text);
  }

  Id span(int64_t line, int64_t from, int64_t to) {
    const Id id = w->next(Kind::Span);
    w->put(SpanRow{id, file_id, line, from, line, to});
    return id;
  }
  Id instruction(Id code, int64_t pc, const char* op, Id at, int64_t target = -1) {
    const Id id = w->next(Kind::Instruction);
    w->put(InstructionRow{id, code, pc, op, 0, "", at, target});
    return id;
  }

  void function(const char* name) {
    const Id code = w->next(Kind::Code), frame = w->next(Kind::Frame), segment = w->next(Kind::Segment);
    w->put(CodeRow{code, file_id, name, 1, 4});
    w->put(FrameRow{frame, run, code, "captured", ""});
    instruction(code, 2, "LOAD_ATTR", span(2, 17, 28));
    instruction(code, 4, "GET_ITER", span(2, 4, 28));
    instruction(code, 6, "FOR_ITER", span(2, 4, 28), 20);
    const Id call = instruction(code, 8, "CALL", span(3, 12, 20));
    const Id behind = instruction(code, 10, "STORE_FAST", span(3, 8, 9));
    instruction(code, 20, "RETURN_VALUE", span(4, 4, 12));
    w->put(SegmentRow{segment, frame, 1, 10, 2, behind});
    Id before = 0;
    for (int64_t i = 0; i < 2; ++i) {
      CompilationRow row;
      row.id = w->next(Kind::Compilation), row.segment = segment, row.ordinal = i;
      row.label = "1/" + std::to_string(i), row.status = "ok", row.calls = 1;
      w->put(row);
      LaunchRow launch;
      launch.id = w->next(Kind::Launch), launch.compilation = row.id, launch.median_ns = 1e6;
      w->put(launch);
      if (before) {
        RecompilationRow again;
        again.id = w->next(Kind::Recompilation), again.compilation = row.id, again.previous = before;
        again.failed = "len(rest(S[0])) == 1 or more", again.old_value = "1 or more", again.new_value = "0";
        w->put(again);
        compilation = row.id;
      }
      before = row.id;
    }
    BreakRow broke;
    broke.id = w->next(Kind::Break), broke.compilation = before, broke.instruction = call;
    broke.expression = "layer(x)", broke.next_segment = segment;
    w->put(broke);
  }

  QTemporaryDir folder;
  std::string path;
  std::unique_ptr<Writer> w;
  Id run = 0, file_id = 0, compilation = 0;
  kit::SessionPtr data;
};

}  // namespace

class TestRecompilations : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { kit::applyTheme(*qApp, kit::Theme::make(true)); }

  // A value that lies on the stack has no name of its own; the program says what it is.
  void valuesOnTheStackHaveTheProgramsWords() {
    const Program p;
    const auto text = [&](const char* source) { return kit::sourceText(*p.data, p.compilation, source); };
    QCOMPARE(text("len(rest(S[0])) == 1"), QStringLiteral("len(rest(iter(self.layers))) == 1"));
    QCOMPARE(text("S[1].size(0)"), QStringLiteral("layer(x).size(0)"));
    QCOMPARE(text("S[7]"), QStringLiteral("S[7]"));              // not known
    QCOMPARE(text("L['HS[0]']"), QStringLiteral("L['HS[0]']"));  // no value of the stack
  }

  // Compilations are numbered in each function, so that two of them have a "1/1".
  void ofSeveralFunctionsEachIsNamed() {
    const Program p;
    Rig<TableView> rig(p.data, "", {700, 300}, views::kRecompilationsTable);
    QStringList cells;
    auto* model = rig.view.items()->model();
    for (int row = 0; row < model->rowCount(); ++row) cells << model->index(row, 0).data().toString();
    cells.sort();
    QCOMPARE(cells, (QStringList{"forward 1/1", "second 1/1"}));
    QCOMPARE(model->index(0, 2).data().toString(),
             QStringLiteral("len(rest(iter(self.layers))) == 1 or more"));
  }

  // A line number alone does not say where a break is when there are several files.
  void breaksOfSeveralFilesNameThem() {
    for (const bool several : {false, true}) {
      const Program p(several);
      Rig<TableView> rig(p.data, "", {700, 300}, views::kBreaksTable);
      QStringList places;
      auto* model = rig.view.items()->model();
      for (int row = 0; row < model->rowCount(); ++row) places << model->index(row, 0).data().toString();
      places.sort();
      QCOMPARE(places,
               several ? (QStringList{"loop.py:3:12", "other.py:3:12"}) : (QStringList{"3:12", "3:12"}));
    }
  }

  // The first call of a compilation is no measure of the others: nothing is said of a call then.
  void oneCallIsNoMeasure() {
    const Program p;
    Rig<TableView> rig(p.data, "", {700, 300}, views::kRecompilationsTable);
    auto* model = rig.view.items()->items();
    QVERIFY(!model->index(0, 0, model->index(0, 0)).data(kit::DetailRole).toString().contains("a call"));
  }
};

QTEST_MAIN(TestRecompilations)
#include "tst_recompilations.moc"
