#include "tests/gui/fixture_builder.h"

#include <sstream>

namespace vitrine::fixture {

using namespace session;

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

int64_t bytesOf(std::string_view shape) {
  int64_t bytes = 4;
  std::istringstream in{std::string(shape)};
  for (std::string size; std::getline(in, size, ',');) bytes *= std::stoll(size);
  return bytes;
}

Id Builder::span(Id file, const Place& p) {
  if (!p.line) return 0;
  Id& id = spans_[{file, p.line, p.col, p.end_line, p.end_col}];
  if (!id) {
    id = w.next(Kind::Span);
    w.put(SpanRow{id, file, p.line, p.col, p.end_line ? p.end_line : p.line, p.end_col});
  }
  return id;
}

Id Builder::file(const std::string& path, std::string_view text, bool user) {
  FileRow row{w.next(Kind::File), path, std::string(64, '0'), w.blob(text), user};
  w.put(row);
  return row.id;
}

Id Builder::code(Id file, const char* name, const std::vector<Ins>& body, int last_line) {
  CodeRow row{w.next(Kind::Code), file, name, body.front().line, last_line};
  w.put(row);
  for (const Ins& ins : body) {
    const Id id = w.next(Kind::Instruction);
    const Id at = span(file, {ins.line, ins.col, ins.end_line, ins.end_col});
    w.put(InstructionRow{id, row.id, ins.pc, ins.op, ins.arg, ins.argrepr, at, ins.target});
    instructions_[{row.id, ins.pc}] = id;
  }
  return row.id;
}

Names Builder::graph(Id compilation, const char* stage, const char* pass, const char* sentence, bool changed,
                     Id file, const std::vector<NodeSpec>& nodes, const Names& before) {
  const int64_t duration = 120'000 + static_cast<int64_t>(nodes.size()) * 9'000;
  GraphRow graph{w.next(Kind::Graph),       compilation, stage,     pass,    sentence,
                 ++snapshots_[compilation], changed,     clock_ns_, duration};
  clock_ns_ += duration;
  Names out;
  std::ostringstream text;
  int64_t ordinal = 0;
  for (const NodeSpec& spec : nodes) {
    NodeRow row;
    row.id = out[spec.name] = w.next(Kind::Node);
    row.graph = graph.id;
    row.ordinal = ordinal++;
    row.stable = spec.stable;
    row.name = spec.name;
    row.kind = spec.kind;
    row.op = spec.op;
    row.family = spec.family;
    row.type = std::string("f32[") + spec.shape + "]";
    row.shape = spec.shape;
    row.detail = spec.detail;
    row.module = spec.module;
    row.bytes = bytesOf(spec.shape);
    row.flops = std::string_view(spec.family) == "matmul" ? 1'207'959'552 : 0;
    row.span = span(file, spec.place);
    row.group_label = spec.group;
    w.put(row);
    text << spec.name << ": " << row.type << " = " << spec.op << "(" << spec.in << ")\n";
    int64_t slot = 0;
    for (const std::string& input : words(spec.in)) {
      const Id src = out.at(input);
      w.put(EdgeRow{graph.id, src, row.id, slot++, bytesOf(spec.shape)});
    }
    for (const std::string& origin : words(spec.from)) w.link(before.at(origin), row.id);
  }
  graph.text = w.blob(text.str());
  w.put(graph);
  return out;
}

void Builder::stage(Id compilation, const char* name, int64_t count, double ms, const char* state,
                    const char* note) {
  const auto duration = static_cast<int64_t>(ms * 1e6);
  w.put(StageRow{compilation, name, state, note, count, clock_ns_, duration});
  clock_ns_ += duration;
}

Ids writeSession(const std::string& path, int copies) {
  auto writer = Writer::create(path);
  VITRINE_CHECK(writer.ok(), writer.error().what);
  Builder b(writer.take());
  for (auto [key, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"vitrine", "0.1.0"},
                                                                  {"torch", "2.13.0"},
                                                                  {"python", "3.11.7"},
                                                                  {"cpu", "Xeon"},
                                                                  {"isa", "AVX-512"},
                                                                  {"threads", "16"},
                                                                  {"created_unix_ns", "1790000000000000000"}})
    b.w.meta(key, value);
  writeCapture(b);
  writeKernels(b, writeGraphs(b, copies));
  writeGatedRun(b);
  b.w.finish("finished");
  return b.ids;
}

}  // namespace vitrine::fixture
