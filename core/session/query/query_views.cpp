// The views that a question may name, one row each: docs/SESSION.md lists them.
#include <array>

#include "core/session/query/query.h"

namespace vitrine::session {

namespace {

#define PLACE_OF(span) " LEFT JOIN span ON span.id = " span " LEFT JOIN file ON file.id = span.file"

constexpr std::array<SqlView, 22> kViews = {{
    {"runs", "what was run, and how long a call takes",
     "id, label, entry, inputs, device, mode, status, eager_us, compiled_us, speedup, first_call_ms",
     "id, label, entry, inputs, device, mode, status, NULLIF(eager_ns, 0) / 1e3, "
     "NULLIF(compiled_ns, 0) / 1e3, CASE WHEN compiled_ns > 0 AND eager_ns > 0 THEN eager_ns / compiled_ns "
     "END, "
     "NULLIF(first_call_ns, 0) / 1e6 FROM run"},
    {"compilations", "captures and what became of them",
     "id, label, function, file, line, run_id, status, ends_by, calls, compile_ms, message",
     "c.id, c.label, code.qualname, file.path, code.first_line, frame.run, c.status, c.\"end\", c.calls, "
     "c.duration_ns / 1e6, c.message FROM compilation c LEFT JOIN segment ON segment.id = c.segment "
     "LEFT JOIN frame ON frame.id = segment.frame LEFT JOIN code ON code.id = frame.code "
     "LEFT JOIN file ON file.id = code.file"},
    {"stages", "time and size of each stage of each compilation",
     "compilation_id, compilation, name, state, note, count, ms",
     "s.compilation, c.label, s.name, s.state, s.note, s.count, s.duration_ns / 1e6 FROM stage s "
     "LEFT JOIN compilation c ON c.id = s.compilation"},
    {"frames", "functions that were captured or left to Python, and why",
     "id, run_id, function, file, line, state, reason",
     "f.id, f.run, code.qualname, file.path, code.first_line, f.state, f.reason FROM frame f "
     "LEFT JOIN code ON code.id = f.code LEFT JOIN file ON file.id = code.file"},
    {"guards", "what is checked at each call, and what that costs",
     "id, compilation_id, compilation, number, kind, source, expected, cost_ns, checks, fails, file, line",
     "g.id, g.compilation, c.label, g.ordinal, g.kind, g.source, g.expected, g.cost_ns, g.checks, g.fails, "
     "file.path, span.line FROM guard g LEFT JOIN compilation c ON c.id = g.compilation "
     "LEFT JOIN instruction i ON i.id = g.instruction" PLACE_OF("i.span")},
    {"breaks", "where a graph ends before its function does",
     "id, compilation_id, compilation, kind, expression, reason, hint, calls, us_per_call, file, line",
     "b.id, b.compilation, c.label, b.kind, b.expression, b.reason, b.hint, b.calls, b.ns_per_call / 1e3, "
     "file.path, span.line FROM graph_break b LEFT JOIN compilation c ON c.id = b.compilation "
     "LEFT JOIN instruction i ON i.id = b.instruction" PLACE_OF("i.span")},
    {"recompilations", "which guard failed, by which value",
     "id, compilation_id, compilation, previous_id, guard_id, call, failed, old_value, new_value, call_site, "
     "hint",
     "r.id, r.compilation, c.label, r.previous, r.guard, r.call, r.failed, r.old_value, r.new_value, "
     "r.call_site, r.hint FROM recompilation r LEFT JOIN compilation c ON c.id = r.compilation"},
    {"calls", "the first calls of each compilation",
     "id, run_id, number, compilation_id, compilation, kind, start_us, us",
     "k.id, k.run, k.ordinal, k.compilation, c.label, k.kind, k.start_ns / 1e3, k.duration_ns / 1e3 "
     "FROM \"call\" k LEFT JOIN compilation c ON c.id = k.compilation"},
    {"symbols", "sizes that may change", "compilation_id, name, source, origin, hint, low, high, fixed_by",
     "compilation, name, source, origin, hint, lo, hi, fixed_by FROM symbol"},
    {"graphs", "snapshots after each pass",
     "id, compilation_id, compilation, stage, pass, sentence, number, changed, ms, nodes",
     "g.id, g.compilation, c.label, g.stage, g.pass, g.sentence, g.ordinal, g.changed, g.duration_ns / 1e6, "
     "(SELECT count(*) FROM node WHERE node.graph = g.id) FROM graph g "
     "LEFT JOIN compilation c ON c.id = g.compilation"},
    {"nodes", "operators and values of every snapshot",
     "id, graph_id, compilation_id, stage, pass, name, kind, op, family, type, shape, module, bytes, flops, "
     "kernel, file, line",
     "n.id, n.graph, g.compilation, g.stage, g.pass, n.name, n.kind, n.op, n.family, n.type, n.shape, "
     "n.module, "
     "n.bytes, n.flops, n.group_label, file.path, span.line FROM node n "
     "LEFT JOIN graph g ON g.id = n.graph" PLACE_OF("n.span")},
    {"decisions", "pairs that fusion looked at",
     "id, compilation_id, kind, verdict, reason, first_id, first, second_id, second, kernel_id, kernel, "
     "bytes_saved, launches_saved, estimated_us",
     "d.id, d.compilation, d.kind, d.verdict, d.reason, d.a, a.name, d.b, b.name, d.kernel, k.label, "
     "d.bytes_saved, d.launches_saved, d.est_ns / 1e3 FROM fusion_decision d LEFT JOIN node a ON a.id = d.a "
     "LEFT JOIN node b ON b.id = d.b LEFT JOIN kernel k ON k.id = d.kernel"},
    {"kernels", "generated kernels, library calls and PyTorch's own",
     "id, compilation_id, compilation, label, name, kind, family, language, space, launches, us, bytes, "
     "flops, "
     "gb_per_s, compile_ms, cached, spills, error, source, ir, assembly",
     "k.id, k.compilation, c.label, k.label, k.name, k.kind, k.family, k.language, k.space, t.launches, "
     "t.us, "
     "k.bytes, k.flops, CASE WHEN t.us > 0 AND k.bytes > 0 THEN k.bytes * t.launches / t.us / 1e3 END, "
     "k.compile_ns / 1e6, "
     "k.cached, k.spills, k.error, blob_text(k.source), blob_text(k.ir), blob_text(k.assembly) FROM kernel k "
     "LEFT JOIN compilation c ON c.id = k.compilation LEFT JOIN (SELECT kernel, count(*) AS launches, "
     "NULLIF(sum(median_ns), 0) / 1e3 AS us FROM launch GROUP BY kernel) t ON t.kernel = k.id"},
    {"kernel_lines", "which lines of a kernel came from which line of the user's",
     "kernel_id, kernel, text, line, end_line, node_id, node, file, user_line",
     "r.kernel, k.label, r.text, r.line, r.end_line, r.node, n.name, file.path, span.line FROM kernel_range "
     "r "
     "LEFT JOIN kernel k ON k.id = r.kernel LEFT JOIN node n ON n.id = r.node" PLACE_OF("n.span")},
    {"launches", "what one call executes, in order",
     "id, compilation_id, compilation, number, kind, text, arguments, kernel_id, kernel, bytes, us, "
     "lower_us, "
     "upper_us",
     "l.id, l.compilation, c.label, l.ordinal, l.kind, l.text, l.args, l.kernel, k.label, l.bytes, "
     "NULLIF(l.median_ns, 0) / 1e3, NULLIF(l.lower_ns, 0) / 1e3, NULLIF(l.upper_ns, 0) / 1e3 FROM launch l "
     "LEFT JOIN compilation c ON c.id = l.compilation LEFT JOIN kernel k ON k.id = l.kernel"},
    {"buffers", "the memory plan",
     "id, compilation_id, name, kind, type, bytes, first_launch, last_launch, place, node_id",
     "id, compilation, name, kind, type, bytes, \"first\", \"last\", \"offset\", node FROM buffer"},
    {"slices", "the timeline, slice by slice",
     "run_id, side, lane_kind, lane, name, family, start_us, us, entity_id, replaced_by_id",
     "run, side, lane_kind, lane, name, family, start_us, us, entity, relation FROM all_slices"},
    {"outputs", "compiled against eager, output by output",
     "run_id, output, type, verdict, message, max_abs, max_rel, max_ulp, mismatched, count",
     "run, output, type, verdict, message, max_abs, max_rel, max_ulp, mismatched, count FROM accuracy"},
    {"timings", "interleaved calls of both sides", "run_id, side, number, us",
     "run, side, ordinal, ns / 1e3 FROM timing"},
    {"messages", "errors, warnings and what the engine told",
     "id, run_id, ms, severity, origin, text, hint, detail, entity_id",
     "id, run, time_ns / 1e6, severity, origin, text, hint, detail, entity FROM message"},
    {"sources", "files of the program, and of the libraries that were captured", "id, path, own, text",
     "id, path, user, blob_text(text) FROM file"},
    {"links", "one thing came from another", "origin_id, derived_id", "origin, derived FROM link"},
}};

#undef PLACE_OF

constexpr std::array<QueryExample, 12> kExamples = {{
    {"Kernels by time",
     "SELECT id, label, name, launches, us, bytes, gb_per_s\nFROM kernels ORDER BY us DESC"},
    {"Graph breaks by price",
     "SELECT id, expression, reason, calls, us_per_call, file, line\nFROM breaks ORDER BY calls * "
     "us_per_call DESC"},
    {"Guards by cost",
     "SELECT id, compilation, source, kind, expected, cost_ns, checks, fails\nFROM guards ORDER BY cost_ns * "
     "checks "
     "DESC LIMIT 100"},
    {"Operators of the last graph, by kind",
     "SELECT op, count(*) AS nodes, sum(bytes) AS bytes, sum(flops) AS flops\nFROM nodes\nWHERE stage = "
     "'optimised' "
     "AND kind = 'op'\n  AND graph_id IN (SELECT max(id) FROM graph WHERE stage = 'optimised' GROUP BY "
     "compilation)\nGROUP BY op ORDER BY nodes DESC"},
    {"Lines of the user's and the kernels they became",
     "SELECT DISTINCT kernel_id, kernel, file, user_line\nFROM kernel_lines WHERE user_line > 0\nORDER BY "
     "file, "
     "user_line"},
    {"Where compiling took its time",
     "SELECT compilation_id, compilation, name, ms, note\nFROM stages ORDER BY ms DESC"},
    {"What was not fused, and why",
     "SELECT id, first, second, reason, bytes_saved, estimated_us\nFROM decisions WHERE verdict = "
     "'rejected'\nORDER "
     "BY bytes_saved DESC"},
    {"Why it was compiled again",
     "SELECT id, compilation_id, call, failed, old_value, new_value, hint\nFROM recompilations ORDER BY "
     "call"},
    {"Launches by time",
     "SELECT id, number, text, kernel, us, bytes\nFROM launches ORDER BY us DESC LIMIT 50"},
    {"The longest slices of the timeline",
     "SELECT entity_id, side, lane, name, start_us, us\nFROM slices ORDER BY us DESC LIMIT 50"},
    {"The largest buffers",
     "SELECT id, name, kind, type, bytes, first_launch, last_launch\nFROM buffers ORDER BY bytes DESC LIMIT "
     "50"},
    {"Outputs that differ from eager",
     "SELECT output, type, verdict, max_abs, max_rel, max_ulp, message\nFROM outputs WHERE verdict <> "
     "'equal'"},
}};

}  // namespace

std::span<const SqlView> query_views() {
  return kViews;
}

std::span<const QueryExample> query_examples() {
  return kExamples;
}

}  // namespace vitrine::session
