// What is said of a run follows from its rows: what was compared, how many frames are one graph, and breaks
// counted by cause.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

#include "core/session/reader.h"
#include "core/session/verdict.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;
namespace fs = std::filesystem;

namespace {

struct TempFile {
  std::string path =
      (fs::temp_directory_path() / ("vitrine_verdict_" + std::to_string(getpid()) + ".vitrine")).string();
  ~TempFile() {
    for (const char* s : {"", "-wal", "-shm"}) fs::remove(path + s);
  }
};

// A run with frames of given ends, in a file.
class Made {
 public:
  Made() : w_(Writer::create(file_.path).take()) {
    run.id = w_->next(Kind::Run);
    run.status = "finished";
    run.entry = "model(inputs)";
    run.device = "cpu";
  }
  Id frame(const std::string& state = "captured") {
    const FrameRow row{w_->next(Kind::Frame), run.id, 0, state, ""};
    w_->put(row);
    return row.id;
  }
  Id segment(Id frame) {
    const SegmentRow row{w_->next(Kind::Segment), frame};
    w_->put(row);
    return row.id;
  }
  Id compile(Id segment, const std::string& end, bool graph = true, const std::string& status = "ok",
             int64_t checked = 0) {
    CompilationRow row;
    row.id = w_->next(Kind::Compilation);
    row.segment = segment;
    row.status = status;
    row.end = end;
    row.checked = checked;
    w_->put(row);
    if (graph) {
      GraphRow captured;
      captured.id = w_->next(Kind::Graph);
      captured.compilation = row.id;
      captured.stage = "captured";
      w_->put(captured);
    }
    return row.id;
  }
  // An instruction on a line of its own.
  Id instruction(int64_t line) {
    const SpanRow span{w_->next(Kind::Span), 0, line, 0, line, 9};
    w_->put(span);
    InstructionRow row;
    row.id = w_->next(Kind::Instruction);
    row.code = 1;
    row.span = span.id;
    w_->put(row);
    return row.id;
  }
  void stops(Id compilation, Id instruction, Id cause, double ns = 0, int64_t calls = 4, int64_t priced = 0,
             Id next = 0, const std::string& kind = "side_effect") {
    BreakRow row;
    row.id = w_->next(Kind::Break);
    row.compilation = compilation;
    row.instruction = instruction;
    row.kind = kind;
    row.cause = cause;
    row.calls = calls;
    row.ns_per_call = ns;
    row.priced = priced;
    row.next_segment = next;
    w_->put(row);
  }
  void output(const std::string& name, const std::string& verdict) {
    AccuracyRow row;
    row.run = run.id;
    row.output = name;
    row.verdict = verdict;
    w_->put(row);
  }
  void step(const std::string& side) {
    MeasurementRow row;
    row.run = run.id, row.kind = "step", row.side = side, row.calls = 5;
    w_->put(row);
  }
  Verdict verdict() {
    finish();
    return verdict_of(*reader_, reader_->all<RunRow>().at(0));
  }
  std::vector<BreakCause> causes() {
    finish();
    rows_ = reader_->all<BreakRow>();
    return break_causes(*reader_, rows_);
  }
  RunRow run;

 private:
  void finish() {
    w_->put(run);
    w_->finish("finished");
    reader_ = Reader::open(file_.path).take();
  }
  TempFile file_;
  std::unique_ptr<Writer> w_;
  std::unique_ptr<Reader> reader_;
  std::vector<BreakRow> rows_;
};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("outputs that nothing compared match nothing") {
  struct Row {
    const char *entry, *device, *status, *why;
  };
  for (const Row& row : {Row{"script", "cpu", "finished", "a script runs once"},
                         Row{"model(inputs)", "cuda (sm_90, compiled only)", "finished",
                             "compiled for a GPU that is not here"},
                         Row{"model(inputs)", "cpu", "died", "the engine ended before it"},
                         Row{"model(inputs)", "cpu", "finished", "recorded no comparison"}}) {
    Made made;
    made.run.entry = row.entry;
    made.run.device = row.device;
    made.run.status = row.status;
    made.compile(made.segment(made.frame()), "return");
    const Verdict v = made.verdict();
    CHECK_FALSE(v.compared);
    CHECK_FALSE(v.good());
    CHECK_MESSAGE(says(v.text(), "Outputs were not compared: "), v.text());
    CHECK_MESSAGE(says(v.outputs(), row.why), v.text());
    CHECK_FALSE(says(v.text(), "equal"));
    CHECK_FALSE(says(v.text(), "close"));
    CHECK(says(v.text(), "Times were not measured"));
  }
}

TEST_CASE("a script whose steps were measured on both sides does not say that times are missing") {
  Made made;
  made.run.entry = "script";
  for (const char* side : {"eager", "compiled"}) made.step(side);
  const Verdict v = made.verdict();
  CHECK(v.steps);
  CHECK_FALSE(v.measured);
  CHECK(says(v.text(), "of a script that ran twice only printed losses are"));
  CHECK_FALSE(says(v.text(), "Times were not measured"));
}

TEST_CASE("calls whose outputs were compared are counted, and the worst is said") {
  Made made;
  made.compile(made.segment(made.frame()), "return");
  made.output("0", "equal");
  made.output("1", "close");
  made.output("call 1: 0", "equal");
  made.run.eager_ns = made.run.compiled_ns = 10;
  const Verdict v = made.verdict();
  CHECK(v.output_calls == 2);
  CHECK(v.good());
  CHECK(v.text() == "1 frame is one graph. Outputs of 2 calls close to eager.");
}

TEST_CASE("checked graphs are said with their number, and a difference is one") {
  Made made;
  made.run.entry = "script";
  const Id frame = made.frame();
  made.compile(made.segment(frame), "return", true, "ok", 12);
  made.compile(made.segment(frame), "return");
  CHECK(made.verdict().outputs() == "results of 1 of 2 graphs, compared in 12 calls, close to eager");
  Made differs;
  differs.compile(differs.segment(differs.frame()), "return");
  differs.output("graph of compilation 1", "differs");
  const Verdict v = differs.verdict();
  CHECK(v.differs);
  CHECK(v.output_calls == 0);
  CHECK_FALSE(v.good());
}

TEST_CASE("frames are counted by what became of them") {
  Made made;
  made.compile(made.segment(made.frame()), "return");
  const Id broken = made.frame();
  const Id first = made.segment(broken), second = made.segment(broken);
  made.stops(made.compile(first, "break"), made.instruction(3), 0);
  made.compile(second, "return");
  made.compile(made.segment(made.frame()), "return", true, "failed");
  made.compile(made.segment(made.frame()), "return", false, "no_graph");
  made.frame("skipped");
  made.frame("eager");
  const Verdict v = made.verdict();
  CHECK(v.whole == 1);
  CHECK(v.broken == 1);
  CHECK(v.eager == 2);
  CHECK(v.without_graph == 1);
  CHECK(v.skipped == 1);
  CHECK_MESSAGE(says(v.frames(), "with 1 graph break"), v.frames());
  CHECK(Made().verdict().frames() == "no frame was captured");
}

TEST_CASE("a break of a called function is one cause, and its price is of a steady call") {
  Made made;
  const Id caller = made.frame(), callee = made.frame();
  const Id call = made.instruction(10), print = made.instruction(3);
  made.stops(made.compile(made.segment(caller), "break"), call, print, 700, 4, 3);
  made.stops(made.compile(made.segment(callee), "break"), print, print, 300, 4, 3);
  const auto causes = made.causes();
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].rows.size() == 2);
  CHECK(causes[0].rows[0]->instruction == print);  // where it is mended
  CHECK(place_of(causes[0]) == print);
  CHECK(causes[0].calls == 4);
  CHECK(causes[0].priced == 3);
  CHECK(causes[0].ns_per_call == doctest::Approx(1000));
}

TEST_CASE("two lines are two causes, one line that stops twice is one") {
  Made made;
  const Id frame = made.frame();
  const Id first = made.segment(frame), second = made.segment(frame), third = made.segment(frame),
           last = made.segment(frame);
  const Id text = made.instruction(5), print = made.instruction(5), other = made.instruction(6);
  made.stops(made.compile(first, "break"), text, text, 10, 4, 3, second, "scalar_read");
  made.stops(made.compile(second, "break", false, "no_graph"), print, print, 20, 4, 3, third);
  made.stops(made.compile(third, "break", false, "no_graph"), other, other, 40, 4, 3, last);
  const auto causes = made.causes();
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].ns_per_call == doctest::Approx(30));
  CHECK(causes[1].ns_per_call == doctest::Approx(40));
}

TEST_CASE("compilations of one place are one cause, and one without a steady call has no price") {
  Made made;
  const Id segment = made.segment(made.frame()), at = made.instruction(3);
  made.stops(made.compile(segment, "break"), at, at, 100, 3, 2);
  made.stops(made.compile(segment, "break"), at, at, 0, 1, 0);
  const auto causes = made.causes();
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].calls == 4);
  CHECK(causes[0].ns_per_call == doctest::Approx(100));
  CHECK(causes[0].priced == 2);
}

TEST_CASE("a file of before causes were recorded counts them by the innermost line") {
  BreakRow outer, inner;
  outer.kind = inner.kind = "side_effect";
  outer.id = 1, inner.id = 2;
  outer.instruction = 11, inner.instruction = 12;
  outer.stack = R"([{"file":"a.py","line":3,"function":"g"},{"file":"a.py","line":9,"function":"f"}])";
  inner.stack = R"([{"file":"a.py","line":3,"function":"g"}])";
  const BreakContext nothing{[](Id) { return nullptr; }, [](Id) { return std::pair<Id, int64_t>{}; }};
  const auto causes = break_causes({&outer, &inner}, nothing);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].rows[0] == &inner);
}

// `if h.mean().item() > 0`: the frame ends at the call, but what stops it is the comparison.
TEST_CASE("the row of the frame that stops comes first where it ends before the cause") {
  BreakRow outer, inner;
  outer.kind = inner.kind = "scalar_read";
  outer.id = 1, inner.id = 2;
  outer.instruction = 11, inner.instruction = 12;
  outer.cause = inner.cause = 13;
  outer.calls = 2, inner.calls = 6;
  outer.ns_per_call = 90, inner.ns_per_call = 20;
  outer.stack = R"([{"file":"a.py","line":3,"function":"g"},{"file":"a.py","line":9,"function":"f"}])";
  inner.stack = R"([{"file":"a.py","line":3,"function":"g"}])";
  const BreakContext nothing{[](Id) { return nullptr; }, [](Id) { return std::pair<Id, int64_t>{}; }};
  const auto causes = break_causes({&outer, &inner}, nothing);
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].rows[0] == &inner);
  CHECK(causes[0].calls == 6);
  CHECK(causes[0].ns_per_call == doctest::Approx(20 + 90.0 * 2 / 6));
}
