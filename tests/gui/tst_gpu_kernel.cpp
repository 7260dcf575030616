// A kernel of a GPU: CUDA C++, PTX and SASS are the three forms of its pane, linked line by line.
#include "app/shell/stage_strip.h"
#include "core/session/writer.h"
#include "tests/gui/view_rig.h"
#include "views/kernel/kernel_view.h"
#include "views/kit/highlight.h"
#include "views/kit/theme.h"

using namespace vitrine;
using fixture::Rig;
using session::KernelRow;
using views::KernelView;

namespace {

constexpr const char* kSource =
    "__global__ void vitrine_kernel(const f32* x, f32* y) {\n"
    "  f32 a = x[threadIdx.x];\n  f32 b = expf(a);\n  y[threadIdx.x] = b;\n}\n";
constexpr const char* kPtx =
    ".visible .entry vitrine_kernel(\n\tld.global.f32 \t%f1, [%rd1];\n\tex2.approx.f32 \t%f2, %f1;\n";
constexpr const char* kSass =
    "vitrine_kernel:\n  /*0000*/  LDG.E R7, desc[UR8][R8.64] ;\n  /*0010*/  @!P0 MUFU.EX2 R3, R7 ;\n";

struct Ids {
  Id compilation = 0, load = 0, exp = 0, kernel = 0;
  std::map<std::string, std::pair<Id, Id>> ranges;  // text -> range of load and of exp
};

// What `vitrine run --target` leaves of a kernel of two operators.
Ids write_session(const std::string& path) {
  auto writer = session::Writer::create(path).take();
  session::Writer& w = *writer;
  Ids ids;
  session::RunRow run{
      w.next(Kind::Run), "model.py", "model(*inputs)", "f32[64]", "cuda (sm_90, compiled only)", "default"};
  run.status = "finished";
  w.put(run);
  session::CodeRow code{w.next(Kind::Code), 0, "f", 1, 3};
  w.put(code);
  session::FrameRow frame{w.next(Kind::Frame), run.id, code.id, "captured", ""};
  w.put(frame);
  session::SegmentRow segment{w.next(Kind::Segment), frame.id};
  w.put(segment);
  session::CompilationRow compilation{w.next(Kind::Compilation), segment.id, 0, "0/0", "ok", "return"};
  w.put(compilation);
  ids.compilation = compilation.id;
  session::GraphRow graph{w.next(Kind::Graph), compilation.id, "aten"};
  w.put(graph);
  auto node = [&](const char* op, int64_t ordinal) {
    session::NodeRow row{
        w.next(Kind::Node), graph.id, ordinal, ordinal, op, "op", std::string("aten.") + op + ".default"};
    row.family = "pointwise";
    w.put(row);
    return row.id;
  };
  ids.load = node("mul", 0);
  ids.exp = node("exp", 1);
  KernelRow kernel;
  kernel.id = ids.kernel = w.next(Kind::Kernel);
  kernel.compilation = compilation.id;
  kernel.label = "K0";
  kernel.name = "mul_exp";
  kernel.kind = "generated";
  kernel.language = "cuda c++";
  kernel.isa = "sm_90";
  kernel.source = w.blob(kSource);
  kernel.ir = w.blob(kPtx);
  kernel.assembly = w.blob(kSass);
  w.put(kernel);
  w.put(session::GpuKernelRow{kernel.id, "sm_90", 32, 0, 16, 128, 96, 1.0, 16, "threads", ""});
  for (const char* text : {"source", "ir", "assembly"}) {
    auto range = [&](int64_t line, Id of) {
      session::KernelRangeRow row{w.next(Kind::KernelRange), kernel.id, text, line, line, 0, 0, of};
      w.put(row);
      w.link(of, row.id);
      return row.id;
    };
    const Id load = range(2, ids.load);
    ids.ranges[text] = {load, range(3, ids.exp)};
  }
  for (const char* stage : {"aten", "kernels", "ir", "assembly"})
    w.put(session::StageRow{compilation.id, stage, "ok", "", 1});
  w.finish("finished");
  return ids;
}

}  // namespace

class TestGpuKernel : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("gpu.vitrine");
    ids_ = write_session(path_.toStdString());
    session_ = kit::SessionData::load(path_.toStdString()).value();
  }

  void theStagesHaveTheirNames() {
    app::StageStrip strip;
    strip.resize(1800, 36);
    strip.setSession(session_, ids_.compilation);
    const QStringList words = strip.words();
    for (const char* word : {"CUDA C++", "PTX", "SASS"})
      QVERIFY2(words.contains(word), qPrintable(words.join(' ')));
    QVERIFY(!words.contains("LLVM IR"));
  }

  void theHeaderSaysWhatTheKernelTakes() {
    Rig<KernelView> rig(session_, "kernels", {800, 500});
    QCOMPARE(rig.view.title(), QStringLiteral("CUDA C++"));
    const QString text = rig.view.subtitle();
    QVERIFY2(text.contains("K0 mul_exp") && text.contains("sm_90") && text.contains("32 registers") &&
                 text.contains("96 × 128 threads") && text.contains("occupancy 100 %"),
             qPrintable(text));
  }

  // The operator that is active in one of the forms is active in the others.
  void theFormsAreLinkedLineByLine() {
    Rig<KernelView> source(session_, "kernels", {800, 500}), ptx(session_, "ir", {800, 500}),
        sass(session_, "assembly", {800, 500});
    QCOMPARE(ptx.view.title(), QStringLiteral("PTX"));
    QCOMPARE(sass.view.title(), QStringLiteral("SASS"));
    for (auto* rig : {&source, &ptx, &sass}) {
      rig->activate(ids_.exp);
      const std::string form = rig == &source ? "source" : rig == &ptx ? "ir" : "assembly";
      QTRY_COMPARE(rig->view.canShow(ids_.exp), ids_.ranges[form].second);
      rig->activate(ids_.load);
      QTRY_COMPARE(rig->view.canShow(ids_.load), ids_.ranges[form].first);
    }
  }

  void instructionsAndRegistersAreTold() {
    int state = 0;
    auto kinds = [&](const QString& line) {
      QStringList out;
      for (const kit::Token& t : kit::scanLine(line, kit::Language::Ptx, state))
        if (t.kind == kit::TokenKind::Keyword) out << line.mid(t.start, t.length);
      return out.join(' ');
    };
    QCOMPARE(kinds("\tld.global.f32 \t%f1, [%rd1];"), QStringLiteral("ld.global.f32"));
    QCOMPARE(kinds("  /*0010*/  @!P0 MUFU.EX2 R3, R7 ;"), QStringLiteral("MUFU.EX2"));
    QCOMPARE(state, 0);
  }

 private:
  QTemporaryDir folder_;
  QString path_;
  Ids ids_;
  kit::SessionPtr session_;
};

QTEST_MAIN(TestGpuKernel)
#include "tst_gpu_kernel.moc"
