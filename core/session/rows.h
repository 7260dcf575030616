// The session's schema, as plain rows: one struct a table, in one visible list at the end of the file.
// The writer derives CREATE TABLE and INSERT from it, the reader SELECT; nothing else names a column.
// docs/SESSION.md is the page for people. Field order is column order; `id` is an entity id
// (core/base/ids.h).
//
// Types: Id and int64_t -> INTEGER, double -> REAL, std::string and SharedText (of tables with many rows) ->
// TEXT, BlobRef -> INTEGER (row of `blob`), Bytes -> BLOB. Times are nanoseconds since the run's start unless
// a name says otherwise; sizes are bytes. Places: lines from 1, columns from 0 in UTF-8 bytes, as CPython's
// co_positions() gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/shared_text.h"

namespace vitrine::session {

constexpr int kSchemaVersion = 3;
constexpr int kApplicationId = 0x56545231;  // "VTR1" in the SQLite header: a foreign file is refused by it

struct BlobRef {
  int64_t row = 0;
};  // 0 = no text was recorded
using Bytes = std::vector<uint8_t>;

// clang-format off
#define VITRINE_ROW(name)                    \
  static constexpr const char* table = name; \
  template <class Self, class F>             \
  static void each(Self& s, F&& f)

// Key and value pairs of the whole session: vitrine, torch, python, cpu, isa, threads, created_unix_ns,
// status ...
struct MetaRow {
  std::string key, value;
  VITRINE_ROW("meta") {
    f("key", s.key); f("value", s.value);
  }
};

// Large text and bulk columns: encoding "zstd" or "raw".
struct BlobRow {
  int64_t id = 0;
  std::string encoding;
  int64_t raw_bytes = 0;
  Bytes data;
  VITRINE_ROW("blob") {
    f("id", s.id); f("encoding", s.encoding); f("raw_bytes", s.raw_bytes); f("data", s.data);
  }
};

// One recorded execution of an entry (model and inputs, or a script).
struct RunRow {
  Id id = 0;
  std::string label, entry, inputs, device,
      mode;            // "transformer_block.py", "model(inputs)", "f32[8,128,768]", "cpu", "default"
  std::string status;  // running | finished | failed | cancelled | died
  int64_t started_unix_ns = 0, import_ns = 0,
          first_call_ns = 0;             // first_call_ns: whole first call, imports apart
  double eager_ns = 0, compiled_ns = 0;  // medians of interleaved, unprofiled runs; 0 = not measured
  VITRINE_ROW("run") {
    f("id", s.id); f("label", s.label); f("entry", s.entry); f("inputs", s.inputs); f("device", s.device);
    f("mode", s.mode); f("status", s.status); f("started_unix_ns", s.started_unix_ns);
    f("import_ns", s.import_ns); f("first_call_ns", s.first_call_ns); f("eager_ns", s.eager_ns);
    f("compiled_ns", s.compiled_ns);
  }
};

struct FileRow {
  Id id = 0;
  std::string path, sha256;
  BlobRef text;
  int64_t user = 0;  // user: 1 = the user's own file, 0 = a library's
  VITRINE_ROW("file") {
    f("id", s.id); f("path", s.path); f("sha256", s.sha256); f("text", s.text); f("user", s.user);
  }
};

// A Python expression's place.
struct SpanRow {
  Id id = 0, file = 0;
  int64_t line = 0, col = 0, end_line = 0, end_col = 0;
  VITRINE_ROW("span") {
    f("id", s.id); f("file", s.file); f("line", s.line); f("col", s.col); f("end_line", s.end_line);
    f("end_col", s.end_col);
  }
};

struct CodeRow {
  Id id = 0, file = 0;
  std::string qualname;
  int64_t first_line = 0, last_line = 0;
  VITRINE_ROW("code") {
    f("id", s.id); f("file", s.file); f("qualname", s.qualname); f("first_line", s.first_line);
    f("last_line", s.last_line);
  }
};

struct InstructionRow {
  Id id = 0, code = 0;
  int64_t pc = 0;  // pc in bytes, as `dis` prints it
  std::string op;
  int64_t arg = 0;
  std::string argrepr;
  Id span = 0;
  int64_t target = -1;  // jump target pc, or -1
  VITRINE_ROW("instruction") {
    f("id", s.id); f("code", s.code); f("pc", s.pc); f("op", s.op); f("arg", s.arg);
    f("argrepr", s.argrepr); f("span", s.span); f("target", s.target);
  }
};

// A code object that was captured or looked at in a run. state: captured | skipped | eager; reason says why.
struct FrameRow {
  Id id = 0, run = 0, code = 0;
  std::string state, reason;
  VITRINE_ROW("frame") {
    f("id", s.id); f("run", s.run); f("code", s.code); f("state", s.state); f("reason", s.reason);
  }
};

// A resume point (code, pc, stack depth) of a frame.
struct SegmentRow {
  Id id = 0, frame = 0;
  int64_t ordinal = 0, pc = 0, depth = 0;
  Id instruction = 0;
  VITRINE_ROW("segment") {
    f("id", s.id); f("frame", s.frame); f("ordinal", s.ordinal); f("pc", s.pc); f("depth", s.depth);
    f("instruction", s.instruction);
  }
};

// One capture and compilation of a segment. status: ok | no_graph | eager | failed | cancelled; end: return |
// break | exit.
struct CompilationRow {
  Id id = 0, segment = 0;
  int64_t ordinal = 0;
  std::string label;  // "0/1": segment ordinal / compilation ordinal
  std::string status, end, message;
  int64_t end_pc = 0, start_ns = 0, duration_ns = 0, calls = 0;
  int64_t autograd = 0;  // 1 = replayed through PyTorch under its autograd
  int64_t checked = 0;   // calls whose results were compared with those of the captured graph through PyTorch
  VITRINE_ROW("compilation") {
    f("id", s.id); f("segment", s.segment); f("ordinal", s.ordinal); f("label", s.label);
    f("status", s.status); f("end", s.end); f("message", s.message); f("end_pc", s.end_pc);
    f("start_ns", s.start_ns); f("duration_ns", s.duration_ns); f("calls", s.calls);
    f("autograd", s.autograd); f("checked", s.checked);
  }
};

// One interpreted instruction of a capture. depth: 0 = the frame itself, n = inlined n deep. event: "" | node
// | guard | inline | return | break | const. effect: JSON {"pop": n, "push":
// [{"kind","text","type","source"}...], "store": {"name": value}}, from which a view rebuilds stack and
// locals.
struct StepRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  Id instruction = 0;
  int64_t depth = 0;
  SharedText event, text, effect;
  Id entity = 0;  // entity: the node, guard or break it made
  VITRINE_ROW("step") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal);
    f("instruction", s.instruction); f("depth", s.depth); f("event", s.event); f("text", s.text);
    f("effect", s.effect); f("entity", s.entity);
  }
};

// source: "L['x'].size(1)"; root: "L['x']", by which the tree is built; kind: tensor | value | identity |
// type | length | version | state ...
struct GuardRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  SharedText source, root, kind, expected;
  Id instruction = 0;
  double cost_ns = 0;
  int64_t checks = 0, fails = 0;
  // Of a guard on many sources: one a line, those that the program changes first, and how many these are.
  SharedText members;
  int64_t changed = 0;
  VITRINE_ROW("guard") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal); f("source", s.source);
    f("root", s.root); f("kind", s.kind); f("expected", s.expected); f("instruction", s.instruction);
    f("cost_ns", s.cost_ns); f("checks", s.checks); f("fails", s.fails); f("members", s.members);
    f("changed", s.changed);
  }
};

// A size or an int of a compilation that may be another one in the next call. origin: why it is a symbol; lo
// and hi: the smallest and largest value that the compilation serves (the ends of 64 bits: not bounded);
// fixed_by: the user's line that needed the number itself, "" while it is free. hint: what it was at first;
// kOfData: each run reads it from data.
struct SymbolRow {
  static constexpr int64_t kOfData = INT64_MIN;
  Id compilation = 0;
  int64_t ordinal = 0;
  std::string name, source, origin;
  int64_t hint = 0, lo = 0, hi = 0;
  std::string fixed_by;
  VITRINE_ROW("symbol") {
    f("compilation", s.compilation); f("ordinal", s.ordinal); f("name", s.name); f("source", s.source);
    f("origin", s.origin); f("hint", s.hint); f("lo", s.lo); f("hi", s.hi); f("fixed_by", s.fixed_by);
  }
};

// A question about symbols that the compilation relies on the answer of: "s0 <= 8", asked at a line of the
// user's. asked_by: "" = capture; expressions: the program of expressions did, which then serves no other sizes.
struct SymbolGuardRow {
  Id compilation = 0;
  int64_t ordinal = 0;
  std::string text, place, asked_by;
  VITRINE_ROW("symbol_guard") {
    f("compilation", s.compilation); f("ordinal", s.ordinal); f("text", s.text); f("place", s.place);
    f("asked_by", s.asked_by);
  }
};

// What a compilation with symbols runs for one set of sizes. ordinal: from 1; sizes: "s0 = 5, s1 = 64"; how: compiled
// (the sizes at capture) | instantiated (numbers were put into the program of expressions) | evaluated (into its graph,
// which was then compiled) | recorded (the program was recorded again for these sizes); reason: why it was not
// instantiated. buffer_bytes: by ordinal of `sized_buffer`, "512,2048"; arena_bytes: of the temporaries together.
struct InstanceRow {
  Id compilation = 0;
  int64_t ordinal = 0;
  std::string sizes, how, reason;
  int64_t arena_bytes = 0;
  std::string buffer_bytes;
  VITRINE_ROW("instance") {
    f("compilation", s.compilation); f("ordinal", s.ordinal); f("sizes", s.sizes); f("how", s.how);
    f("reason", s.reason); f("arena_bytes", s.arena_bytes); f("buffer_bytes", s.buffer_bytes);
  }
};

// What became of a compilation's program among those that earlier processes kept. state: found | missed | refused (the
// entry is not what was written) | left out (such a program is not kept). reason: in which parts of its key the nearest
// entry differs; why it was refused or left out. saved_ns: what running the one that was found would save.
struct CacheRow {
  Id compilation = 0;
  std::string state, reason;
  int64_t bytes = 0, saved_ns = 0;
  VITRINE_ROW("cache") {
    f("compilation", s.compilation); f("state", s.state); f("reason", s.reason); f("bytes", s.bytes);
    f("saved_ns", s.saved_ns);
  }
};

// A buffer of the program of expressions from which a compilation's instances are made: as `buffer`, with sizes as
// expressions over the compilation's symbols. place: its offset in the arena, "" = it is not in it.
struct SizedBufferRow {
  Id compilation = 0;
  int64_t ordinal = 0;
  std::string name, kind, type, size, place;
  int64_t first = 0, last = 0;
  VITRINE_ROW("sized_buffer") {
    f("compilation", s.compilation); f("ordinal", s.ordinal); f("name", s.name); f("kind", s.kind);
    f("type", s.type); f("size", s.size); f("place", s.place); f("first", s.first); f("last", s.last);
  }
};

// kind: a row of the break kinds table; stack: JSON [{"file","line","function"}...], outermost last. instruction:
// where the segment ends; cause: what ends it, the instruction of the user's that is deepest in the calls (0: not
// recorded). ns_per_call: the median of `priced` steady calls, those that compiled nothing; priced 0: there was none.
struct BreakRow {
  Id id = 0, compilation = 0, instruction = 0;
  std::string kind, expression, reason, hint, stack;
  int64_t calls = 0;
  double ns_per_call = 0;
  Id next_segment = 0, cause = 0;
  int64_t priced = 0;
  VITRINE_ROW("graph_break") {
    f("id", s.id); f("compilation", s.compilation); f("instruction", s.instruction); f("kind", s.kind);
    f("expression", s.expression); f("reason", s.reason); f("hint", s.hint); f("stack", s.stack);
    f("calls", s.calls); f("ns_per_call", s.ns_per_call); f("next_segment", s.next_segment);
    f("cause", s.cause); f("priced", s.priced);
  }
};

// call: how many calls of what was compiled there had been; call_of_place: the number of the call at its place,
// from 1; 0 = not recorded.
struct RecompilationRow {
  Id id = 0, compilation = 0, previous = 0, guard = 0;
  int64_t call = 0;
  std::string failed, old_value, new_value, call_site, hint;
  int64_t call_of_place = 0;
  VITRINE_ROW("recompilation") {
    f("id", s.id); f("compilation", s.compilation); f("previous", s.previous); f("guard", s.guard);
    f("call", s.call); f("failed", s.failed); f("old_value", s.old_value); f("new_value", s.new_value);
    f("call_site", s.call_site); f("hint", s.hint); f("call_of_place", s.call_of_place);
  }
};

// One entry into a segment; the first calls of each compilation have rows, compilation.calls counts all. kind: hit | compile | sizes (it was made ready for sizes that it met for the first
// time) | eager. instance: of the compilation, from 1; 0: it has no symbols, or it was not recorded.
struct CallRow {
  Id id = 0, run = 0;
  int64_t ordinal = 0;
  Id compilation = 0;
  std::string kind;
  int64_t start_ns = 0, duration_ns = 0, instance = 0;
  VITRINE_ROW("call") {
    f("id", s.id); f("run", s.run); f("ordinal", s.ordinal); f("compilation", s.compilation);
    f("kind", s.kind); f("start_ns", s.start_ns); f("duration_ns", s.duration_ns); f("instance", s.instance);
  }
};

// What each stage of the pipeline did for one compilation. name: a row of session/stages.h; state: ok | none
// | failed | cancelled | running.
// Of a stage whose parts are made side by side: work_ns, what they took together; workers, how many at once
// at most. Both 0: one after the other, or not known.
struct StageRow {
  Id compilation = 0;
  std::string name, state, note;
  int64_t count = 0, start_ns = 0, duration_ns = 0, work_ns = 0, workers = 0;
  VITRINE_ROW("stage") {
    f("compilation", s.compilation); f("name", s.name); f("state", s.state); f("note", s.note);
    f("count", s.count); f("start_ns", s.start_ns); f("duration_ns", s.duration_ns);
    f("work_ns", s.work_ns); f("workers", s.workers);
  }
};

// A snapshot of the program after one pass. ordinal runs over all snapshots of a compilation; pass "" = the
// stage's first graph. sentence: one line for the film, "3 rewrites: the bias moves out of the library call,
// so that it can fuse".
struct GraphRow {
  Id id = 0, compilation = 0;
  std::string stage, pass, sentence;
  int64_t ordinal = 0, changed = 0, start_ns = 0, duration_ns = 0;
  BlobRef text;
  VITRINE_ROW("graph") {
    f("id", s.id); f("compilation", s.compilation); f("stage", s.stage); f("pass", s.pass);
    f("sentence", s.sentence); f("ordinal", s.ordinal); f("changed", s.changed); f("start_ns", s.start_ns);
    f("duration_ns", s.duration_ns); f("text", s.text);
  }
};

// kind: placeholder | parameter | buffer | constant | op | output. family: pointwise | reduction | matmul |
// view | memory | random | opaque | collective. stable: the same number for the same node in every snapshot
// of the compilation, so that positions and highlights survive a pass.
struct NodeRow {
  Id id = 0, graph = 0;
  int64_t ordinal = 0, stable = 0;
  SharedText name, kind, op, family, type, shape, strides, detail, module;
  int64_t bytes = 0, flops = 0;
  Id span = 0;
  SharedText group_label;  // group_label: "K2" once fused, else ""
  VITRINE_ROW("node") {
    f("id", s.id); f("graph", s.graph); f("ordinal", s.ordinal); f("stable", s.stable); f("name", s.name);
    f("kind", s.kind); f("op", s.op); f("family", s.family); f("type", s.type); f("shape", s.shape);
    f("strides", s.strides); f("detail", s.detail); f("module", s.module); f("bytes", s.bytes);
    f("flops", s.flops); f("span", s.span); f("group_label", s.group_label);
  }
};

// One application of a rule by the pass that led to a snapshot. node: what it was applied to, in the snapshot before; rule:
// the pass, or the rewrite within it; text: "gelu → mul, erf, add, mul_1", "view_3 removed". time_ns: when it was done,
// -1 where the pass does not tell; duration_ns: since the one before it, or since the pass began.
struct RewriteRow {
  Id graph = 0;
  int64_t ordinal = 0;
  Id node = 0;
  std::string rule, text;
  int64_t time_ns = -1, duration_ns = 0;
  VITRINE_ROW("rewrite") {
    f("graph", s.graph); f("ordinal", s.ordinal); f("node", s.node); f("rule", s.rule); f("text", s.text);
    f("time_ns", s.time_ns); f("duration_ns", s.duration_ns);
  }
};

struct EdgeRow {
  Id graph = 0, src = 0, dst = 0;
  int64_t slot = 0, bytes = 0;
  VITRINE_ROW("edge") {
    f("graph", s.graph); f("src", s.src); f("dst", s.dst); f("slot", s.slot); f("bytes", s.bytes);
  }
};

// How one joint graph was divided. saved_bytes: kept for backward beside inputs and results; eager_bytes: what
// keeping everything would take; recomputed: operators that backward does again, views apart.
struct PartitionRow {
  Id compilation = 0;
  int64_t saved = 0, saved_bytes = 0, eager_bytes = 0, recomputed = 0;
  VITRINE_ROW("partition") {
    f("compilation", s.compilation); f("saved", s.saved); f("saved_bytes", s.saved_bytes);
    f("eager_bytes", s.eager_bytes); f("recomputed", s.recomputed);
  }
};

// A value of forward that backward reads. kind: input | viewed (an input whose views are read) | result | saved
// | recomputed; bytes: kept (saved) or not kept (recomputed) for it; node: of the joint graph; backward_node: what
// stands for it in the backward graph; reason: one sentence.
struct CrossingRow {
  Id compilation = 0;
  int64_t ordinal = 0;
  std::string name, kind, type;
  int64_t bytes = 0;
  Id node = 0, backward_node = 0;
  std::string reason;
  VITRINE_ROW("crossing") {
    f("compilation", s.compilation); f("ordinal", s.ordinal); f("name", s.name); f("kind", s.kind);
    f("type", s.type); f("bytes", s.bytes); f("node", s.node); f("backward_node", s.backward_node);
    f("reason", s.reason);
  }
};

// A backward graph is compiled when a gradient is first asked for, as a compilation of its own (`backward`, of
// the same segment, label "0/0 backward"): one for each set of results whose gradients are defined.
struct BackwardRow {
  Id compilation = 0, backward = 0;
  std::string tangents;  // "all", or the results that have a gradient: "0, 2"; "2, a piece": up to other results
  VITRINE_ROW("backward") {
    f("compilation", s.compilation); f("backward", s.backward); f("tangents", s.tangents);
  }
};

// One considered pair. kind: vertical | horizontal | epilogue | prologue; verdict: fused | rejected; kernel 0
// when none resulted.
struct DecisionRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  Id a = 0, b = 0;
  SharedText kind, verdict, reason;
  int64_t bytes_saved = 0, launches_saved = 0;
  double est_ns = 0;
  Id kernel = 0;
  VITRINE_ROW("fusion_decision") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal); f("a", s.a); f("b", s.b);
    f("kind", s.kind); f("verdict", s.verdict); f("reason", s.reason); f("bytes_saved", s.bytes_saved);
    f("launches_saved", s.launches_saved); f("est_ns", s.est_ns); f("kernel", s.kernel);
  }
};

// label "K2" (generated), "L3" (library call) or "O1" (opaque PyTorch operator); name "add_gelu". space:
// "1024 × 3072".
struct KernelRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  std::string label, name, kind, family, language, space, isa;
  BlobRef source, ir, assembly;
  int64_t compile_ns = 0, cached = 0, bytes = 0, flops = 0, spills = 0;
  std::string error;
  VITRINE_ROW("kernel") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal); f("label", s.label);
    f("name", s.name); f("kind", s.kind); f("family", s.family); f("language", s.language);
    f("space", s.space); f("isa", s.isa); f("source", s.source); f("ir", s.ir); f("assembly", s.assembly);
    f("compile_ns", s.compile_ns); f("cached", s.cached); f("bytes", s.bytes); f("flops", s.flops);
    f("spills", s.spills); f("error", s.error);
  }
};

// What a generated kernel takes of a GPU. arch: "sm_90"; registers of a thread; spill_bytes: what did not fit
// into them; shared_bytes and threads of a block; occupancy: of the warps that a multiprocessor can hold, how
// many this kernel lets it hold, 0 to 1, and 0 where it is not known; blocks_a_sm: blocks of it at once; limited_by:
// what allows no more (threads | blocks | registers | shared memory). Source is CUDA C++, ir PTX, assembly SASS.
struct GpuKernelRow {
  Id kernel = 0;
  std::string arch;
  int64_t registers = 0, spill_bytes = 0, shared_bytes = 0, threads = 0, blocks = 0;
  double occupancy = 0;
  int64_t blocks_a_sm = 0;
  std::string limited_by, note;  // note: why something of it is missing
  VITRINE_ROW("gpu_kernel") {
    f("kernel", s.kernel); f("arch", s.arch); f("registers", s.registers); f("spill_bytes", s.spill_bytes);
    f("shared_bytes", s.shared_bytes); f("threads", s.threads); f("blocks", s.blocks);
    f("occupancy", s.occupancy); f("blocks_a_sm", s.blocks_a_sm); f("limited_by", s.limited_by); f("note", s.note);
  }
};

// What the GPU's own counters told of one kernel that a launch started, ordinal 0 its first: function, its name on
// the device; metric, a row of profiler/analysis/metrics.h, which says its unit. Read in a call of its own, which is
// never part of a time.
struct CounterRow {
  Id kernel = 0, launch = 0;
  int64_t ordinal = 0;
  std::string function, metric;
  double value = 0;
  VITRINE_ROW("counter") {
    f("kernel", s.kernel); f("launch", s.launch); f("ordinal", s.ordinal); f("function", s.function);
    f("metric", s.metric); f("value", s.value);
  }
};

// How often a warp of a kernel was found at one instruction, waiting for one reason (profiler/analysis/stalls.h;
// "selected": it went on). offset: of the instruction in its function, in bytes; line: of the recorded SASS, source_line:
// of the generated source, 0 = not known; node: what that line computes. Of a library's kernel, whose instructions are
// not recorded, all stand together: offset -1.
struct SampleRow {
  Id kernel = 0;
  std::string function;
  int64_t offset = 0, line = 0, source_line = 0;
  Id node = 0;
  std::string reason;
  int64_t samples = 0;
  VITRINE_ROW("sample") {
    f("kernel", s.kernel); f("function", s.function); f("offset", s.offset); f("line", s.line);
    f("source_line", s.source_line); f("node", s.node); f("reason", s.reason); f("samples", s.samples);
  }
};

// A plan's calls as replays of a CUDA Graph, where the mode asks for one. state: recorded | watching (the first
// calls run as always) | none, and reason says why. What only generated kernels touch follows the call's
// tensors; of the rest, inputs are read in place while they stay where they were, or copied, and results are
// copied, but for those that only backward reads (lent): bytes_copied a call.
struct CudaGraphRow {
  Id compilation = 0;
  std::string state, reason;
  int64_t launches = 0, inputs_followed = 0, inputs_in_place = 0, inputs_copied = 0, results_followed = 0,
          results_copied = 0, results_lent = 0, bytes_copied = 0;
  VITRINE_ROW("cuda_graph") {
    f("compilation", s.compilation); f("state", s.state); f("reason", s.reason); f("launches", s.launches);
    f("inputs_followed", s.inputs_followed); f("inputs_in_place", s.inputs_in_place);
    f("inputs_copied", s.inputs_copied); f("results_followed", s.results_followed);
    f("results_copied", s.results_copied); f("results_lent", s.results_lent);
    f("bytes_copied", s.bytes_copied);
  }
};

// Lines of a kernel's text that come from one node. text: source | ir | assembly.
struct KernelRangeRow {
  Id id = 0, kernel = 0;
  SharedText text;
  int64_t line = 0, end_line = 0, col = 0, end_col = 0;
  Id node = 0;
  VITRINE_ROW("kernel_range") {
    f("id", s.id); f("kernel", s.kernel); f("text", s.text); f("line", s.line); f("end_line", s.end_line);
    f("col", s.col); f("end_col", s.end_col); f("node", s.node);
  }
};

// Neighbouring lines of a GPU kernel's SASS that came from one line of its source; source_line 0: from none. offset: of
// the first line's instruction in its function, in bytes; bytes: of an instruction.
struct SassLinesRow {
  Id kernel = 0;
  int64_t line = 0, end_line = 0, source_line = 0, offset = 0, bytes = 0;
  VITRINE_ROW("sass_lines") {
    f("kernel", s.kernel); f("line", s.line); f("end_line", s.end_line); f("source_line", s.source_line);
    f("offset", s.offset); f("bytes", s.bytes);
  }
};

// A remark of the kernel compiler about a source line. kind: passed | missed | analysis.
struct RemarkRow {
  Id kernel = 0;
  int64_t line = 0, col = 0;
  std::string pass, kind, text;
  VITRINE_ROW("remark") {
    f("kernel", s.kernel); f("line", s.line); f("col", s.col); f("pass", s.pass); f("kind", s.kind);
    f("text", s.text);
  }
};

// Who could compute a kernel's product, and how long each took: the best of several calls on `threads`; 0: not
// measured. source: measured | kept (by an earlier measurement on this machine) | dictated.
struct ChoiceRow {
  Id kernel = 0;
  int64_t ordinal = 0;
  std::string candidate;
  int64_t ns = 0, chosen = 0, threads = 0;
  std::string source;
  VITRINE_ROW("choice") {
    f("kernel", s.kernel); f("ordinal", s.ordinal); f("candidate", s.candidate); f("ns", s.ns);
    f("chosen", s.chosen); f("threads", s.threads); f("source", s.source);
  }
};

// Memory plan. first/last: launch ordinals between which it is live; offset within its pool; reuses: buffer
// whose place it takes. kind: input | output | temporary | parameter | view (no bytes of its own).
struct BufferRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  std::string name, kind, type;
  int64_t bytes = 0, first = 0, last = 0, offset = 0;
  Id reuses = 0, node = 0;
  VITRINE_ROW("buffer") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal); f("name", s.name);
    f("kind", s.kind); f("type", s.type); f("bytes", s.bytes); f("first", s.first); f("last", s.last);
    f("offset", s.offset); f("reuses", s.reuses); f("node", s.node);
  }
};

// One entry of the launch plan. kind: kernel | library | opaque | view | alloc | free; args: "buf6, buf2,
// fc.bias". median_ns: its time in the profiled call that is kept (of a script the median of its calls); calls: in
// how many profiled calls it was timed, of which the middle half took lower_ns to upper_ns.
struct LaunchRow {
  Id id = 0, compilation = 0;
  int64_t ordinal = 0;
  std::string kind, text, args;
  Id kernel = 0;
  int64_t bytes = 0;
  double median_ns = 0;
  int64_t calls = 0;
  double lower_ns = 0, upper_ns = 0;
  VITRINE_ROW("launch") {
    f("id", s.id); f("compilation", s.compilation); f("ordinal", s.ordinal); f("kind", s.kind);
    f("text", s.text); f("args", s.args); f("kernel", s.kernel); f("bytes", s.bytes);
    f("median_ns", s.median_ns); f("calls", s.calls); f("lower_ns", s.lower_ns); f("upper_ns", s.upper_ns);
  }
};

// A row of the timeline. side: eager | compiled; kind: module | thread | launch, and of a GPU stream | api (calls of
// CUDA's API by thread) | wait | overhead (of profiler and driver), and of a script call. Slices are columns, sorted
// by start: start int64 ns, duration int64 ns, name int32 (row of `name`), entity int64 (launch, node or 0),
// depth int8, relation int64 (eager slice: the launch that replaced it), each a blob of `count` little-endian
// values.
struct LaneRow {
  int64_t id = 0;
  Id run = 0;
  std::string side, kind, label;
  int64_t ordinal = 0, count = 0;
  BlobRef start, duration, name, entity, depth, relation;
  VITRINE_ROW("lane") {
    f("id", s.id); f("run", s.run); f("side", s.side); f("kind", s.kind); f("label", s.label);
    f("ordinal", s.ordinal); f("count", s.count); f("start", s.start); f("duration", s.duration);
    f("name", s.name); f("entity", s.entity); f("depth", s.depth); f("relation", s.relation);
  }
};

struct NameRow {
  int64_t id = 0;
  std::string text, family;
  VITRINE_ROW("name") {
    f("id", s.id); f("text", s.text); f("family", s.family);
  }
};

// Compiled against eager for one output of a run. verdict: equal | close | differs.
struct AccuracyRow {
  Id run = 0;
  std::string output, type, verdict, message;
  double max_abs = 0, max_rel = 0;
  int64_t max_ulp = 0, mismatched = 0, count = 0;
  VITRINE_ROW("accuracy") {
    f("run", s.run); f("output", s.output); f("type", s.type); f("verdict", s.verdict);
    f("message", s.message); f("max_abs", s.max_abs); f("max_rel", s.max_rel); f("max_ulp", s.max_ulp);
    f("mismatched", s.mismatched); f("count", s.count);
  }
};

// How far one value of a compiled graph is from eager's, and how far both are from the same graph in float64 (-1: not
// known). source, of the compiled value: buffer (of the program itself, behind `step`) | output (fused away: the graph
// compiled again, with this and others as results) | alone (likewise, with this one only). verdict: equal | close |
// differs | unknown. first: 1 = the first of its graph that is clearly worse than eager; makes: 1 = it makes a NaN or an
// infinity while what it reads has none. nan, inf: elements of the compiled value; eager_nan, eager_inf: of eager's.
// histogram: "120,3,0,...": elements by distance from eager in units in the last place, see kUlpSteps. least to
// deviation: of the finite elements of the compiled value; distribution: "0,4,90,...": these by kValueClasses equal parts
// of what lies between the least and the largest, "" where they are not known.
struct NumericsRow {
  Id compilation = 0, node = 0;
  int64_t ordinal = 0;
  std::string name, type, source, step, verdict, message;
  double max_abs = -1, mean_abs = -1;
  int64_t max_ulp = 0;
  double eager_error = -1, eager_mean = -1, compiled_error = -1, compiled_mean = -1;
  int64_t count = 0, nan = 0, inf = 0, eager_nan = 0, eager_inf = 0, first = 0, makes = 0;
  std::string histogram;
  double least = 0, largest = 0, average = 0, deviation = 0;
  std::string distribution;
  VITRINE_ROW("numerics") {
    f("compilation", s.compilation); f("node", s.node); f("ordinal", s.ordinal); f("name", s.name);
    f("type", s.type); f("source", s.source); f("step", s.step); f("verdict", s.verdict);
    f("message", s.message); f("max_abs", s.max_abs); f("mean_abs", s.mean_abs); f("max_ulp", s.max_ulp);
    f("eager_error", s.eager_error); f("eager_mean", s.eager_mean); f("compiled_error", s.compiled_error);
    f("compiled_mean", s.compiled_mean); f("count", s.count); f("nan", s.nan); f("inf", s.inf);
    f("eager_nan", s.eager_nan); f("eager_inf", s.eager_inf); f("first", s.first); f("makes", s.makes);
    f("histogram", s.histogram); f("least", s.least); f("largest", s.largest); f("average", s.average);
    f("deviation", s.deviation); f("distribution", s.distribution);
  }
};
inline constexpr int kValueClasses = 16;
// Upper ends of the histogram's classes, in units in the last place; two more hold what is further, and what is finite
// on one side only.
inline constexpr int64_t kUlpSteps[] = {0, 1, 2, 4, 8, 16, 64, 256, 4096, 65536};

// One steady-state measurement, interleaved: side eager | compiled.
struct TimingRow {
  Id run = 0;
  std::string side;
  int64_t ordinal = 0, ns = 0;
  VITRINE_ROW("timing") {
    f("run", s.run); f("side", s.side); f("ordinal", s.ordinal); f("ns", s.ns);
  }
};

// The calls of one side that were timed together. kind: plain (interleaved, what the medians are of) | profiled (what
// timeline and launches show) | script (all of a script) | step (of a script that ran twice). kept: which of them is
// shown, from 0, -1 none; calls is 0 where only the evidence is known.
// Evidence that the machine did other work meanwhile, -1 where it cannot be told: load: average of a minute when it
// began; others: CPUs that other processes kept; steal: part of all CPUs' time that the host took; waited: part of
// the time that the thread which waited most was ready and did not run; preempted: involuntary context switches.
struct MeasurementRow {
  Id run = 0;
  std::string kind, side;
  int64_t calls = 0, kept = -1;
  double kept_ns = 0, least_ns = 0, lower_ns = 0, median_ns = 0, upper_ns = 0, most_ns = 0;
  int64_t wall_ns = 0, cores = 0, threads = 0;
  double load = -1, others = -1, steal = -1, waited = -1;
  int64_t preempted = -1;
  VITRINE_ROW("measurement") {
    f("run", s.run); f("kind", s.kind); f("side", s.side); f("calls", s.calls); f("kept", s.kept);
    f("kept_ns", s.kept_ns); f("least_ns", s.least_ns); f("lower_ns", s.lower_ns); f("median_ns", s.median_ns);
    f("upper_ns", s.upper_ns); f("most_ns", s.most_ns); f("wall_ns", s.wall_ns); f("cores", s.cores);
    f("threads", s.threads); f("load", s.load); f("others", s.others); f("steal", s.steal);
    f("waited", s.waited); f("preempted", s.preempted);
  }
};

// The fastest that the machine of a run was measured to do. kind: copy (rate in bytes a second, read and written
// together) | product (operations a second of a matrix product); type: of its elements; note: of what size. times: how often it was
// measured for this run; source: measured | kept (by an earlier run on this machine, when); cache_bytes: of the
// machine's last-level cache, 0 where it is not known.
struct CeilingRow {
  Id run = 0;
  std::string kind, type;
  double rate = 0;
  std::string note;
  int64_t times = 0;
  std::string source, machine;
  int64_t measured_unix_ns = 0, cache_bytes = 0;
  VITRINE_ROW("ceiling") {
    f("run", s.run); f("kind", s.kind); f("type", s.type); f("rate", s.rate); f("note", s.note);
    f("times", s.times); f("source", s.source); f("machine", s.machine);
    f("measured_unix_ns", s.measured_unix_ns); f("cache_bytes", s.cache_bytes);
  }
};

// Memory that a call held, one of either side (eager | compiled): taken of PyTorch's allocator, or of a plan's temporaries.
// start_ns, freed_ns: since the call began (-1: still held at its end); op: the operator or launch that took it, entity: its
// node of the ATen graph, its launch, or of a plan on the CPU its buffer. How long the call took: meta memory_eager_ns.
struct AllocationRow {
  Id run = 0;
  std::string side;
  int64_t ordinal = 0, start_ns = 0, freed_ns = -1, bytes = 0;
  std::string op;
  Id entity = 0;
  VITRINE_ROW("allocation") {
    f("run", s.run); f("side", s.side); f("ordinal", s.ordinal); f("start_ns", s.start_ns);
    f("freed_ns", s.freed_ns); f("bytes", s.bytes); f("op", s.op); f("entity", s.entity);
  }
};

// What Problems and Log show. severity: error | warning | info; origin: user | vitrine | environment; detail:
// traceback or reproducer path; about: memory = why it was not recorded what a step holds of it.
struct MessageRow {
  Id id = 0, run = 0;
  int64_t time_ns = 0;
  std::string severity, origin, text, hint, detail;
  Id entity = 0;
  std::string about;
  VITRINE_ROW("message") {
    f("id", s.id); f("run", s.run); f("time_ns", s.time_ns); f("severity", s.severity);
    f("origin", s.origin); f("text", s.text); f("hint", s.hint); f("detail", s.detail);
    f("entity", s.entity); f("about", s.about);
  }
};

// Provenance: `derived` came from `origin`. Neighbouring stages only; a chain is the transitive closure, both
// ways.
struct LinkRow {
  Id origin = 0, derived = 0;
  VITRINE_ROW("link") {
    f("origin", s.origin); f("derived", s.derived);
  }
};

#undef VITRINE_ROW
// clang-format on

// Every table, in the order in which they are created.
// clang-format off
#define VITRINE_TABLES(X) \
  X(MetaRow) X(BlobRow) X(RunRow) X(FileRow) X(SpanRow) X(CodeRow) X(InstructionRow) X(FrameRow) \
  X(SegmentRow) X(CompilationRow) X(StepRow) X(GuardRow) X(SymbolRow) X(SymbolGuardRow) X(InstanceRow) X(SizedBufferRow) X(CacheRow) X(BreakRow) X(RecompilationRow) X(CallRow) \
  X(StageRow) X(GraphRow) X(NodeRow) X(EdgeRow) X(RewriteRow) X(PartitionRow) X(CrossingRow) X(BackwardRow) X(DecisionRow) X(KernelRow) X(GpuKernelRow) X(CounterRow) X(SampleRow) X(CudaGraphRow) X(KernelRangeRow) X(SassLinesRow) \
  X(RemarkRow) X(ChoiceRow) X(BufferRow) X(LaunchRow) X(LaneRow) X(NameRow) X(AccuracyRow) X(NumericsRow) X(TimingRow) X(MeasurementRow) X(CeilingRow) X(AllocationRow) \
  X(MessageRow) X(LinkRow)
// clang-format on

}  // namespace vitrine::session
