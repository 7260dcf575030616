#include "core/codegen/record.h"

#include <algorithm>
#include <set>

#include "core/ops/flops.h"
#include "core/ops/table.h"

namespace vitrine::codegen {

namespace {

std::string counted(int64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

class ProgramRecorder {
 public:
  ProgramRecorder(const fusion::LoopProgram& loops, const fusion::FusedProgram& fused,
                  const std::vector<std::vector<int>>& units_of_step, const CodegenOptions& options,
                  Program& program, ir::Recorder& recorder)
      : loops_(loops),
        readers_(loops),
        fused_(fused),
        units_of_step_(units_of_step),
        options_(options),
        program_(program),
        rec_(recorder) {}

  void run(const BuildTimes& t) {
    find_writers();
    graphs(t);
    kernels(t);
    decisions();
    buffers(t);
    launches(t);
  }

 private:
  ir::GraphPtr graph_for(const char* stage) const { return fusion::loops_graph(loops_, stage); }

  void graphs(const BuildTimes& t) {
    using LoopKind = fusion::Loop::Kind;
    int64_t nests = 0, others = 0, views = 0, inlined = 0;
    for (const fusion::Loop& l : loops_.loops) {
      const bool nest = l.kind == LoopKind::pointwise || l.kind == LoopKind::reduction;
      (nest ? nests : l.kind == LoopKind::view ? views : l.kind == LoopKind::inlined ? inlined : others) += 1;
    }
    std::string said = counted(views, "view is", "views are") + " folded into the places that loops read";
    if (inlined)
      said += ", " + counted(inlined, "small nest", "small nests") + " into the loops that read them";
    rec_.graph(graph_for("loops"), "", said, true, t.start, t.loops - t.start, {}, loops_.graph.get());
    rec_.stage("loops", "ok", nests, t.start, t.loops - t.start);
    std::unordered_map<ir::NodeId, std::string> labels;
    std::set<std::string> groups;
    const std::vector<std::string> launches = labels_of_launches();
    for (size_t u = 0; u < fused_.units.size(); ++u) {
      if (!fused_.units[u].group.members.empty()) groups.insert(launches[u]);
      for (ir::NodeId n : fusion::nodes_of(loops_, fused_.units[u])) labels.try_emplace(n, launches[u]);
    }
    rec_.graph(graph_for("fused"), "",
               counted(nests, "loop nest", "loop nests") +
                   (others ? " and " + counted(others, "other operator", "other operators") : "") +
                   (nests + others == 1 ? " becomes " : " become ") +
                   counted(launched(), "launch", "launches"),
               true, t.loops, t.fused - t.loops, labels, loops_.graph.get());
    rec_.stage("fused", "ok", static_cast<int64_t>(groups.size()), t.loops, t.fused - t.loops);
  }

  // What several operators do together, or nothing has to do any more, is launched once or not at all.
  int64_t launched() const {
    return std::count_if(program_.steps.begin(), program_.steps.end(),
                         [](const Step& step) { return step.kind != Step::Kind::view; });
  }

  // By unit: the one that does its work. A copy to an input is none of its own where the kernel of what is
  // copied writes it there at once.
  void find_writers() {
    std::set<int> run;
    for (const std::vector<int>& units : units_of_step_) run.insert(units.begin(), units.end());
    for (int u = 0; u < static_cast<int>(fused_.units.size()); ++u) {
      writer_.push_back(u);
      if (run.contains(u) || fused_.units[static_cast<size_t>(u)].loops.empty()) continue;
      const ir::Node& n =
          loops_.graph->node(loops_.loops[fused_.units[static_cast<size_t>(u)].loops.front()].node);
      if (n.op != "aten.copy_.default" || !n.args.at(1).is<ir::Ref>()) continue;
      const ir::Ref from = loops_.placement(n.args[1].as<ir::Ref>()).root;
      const auto loop = loops_.loop_of.find(from.node);
      const int unit = loop == loops_.loop_of.end() ? -1 : fused_.unit_of[loop->second];
      if (unit >= 0) writer_.back() = unit;
    }
  }
  bool is_written_at_once(int unit) const { return unit >= 0 && writer_[static_cast<size_t>(unit)] != unit; }

  // By unit: its label, or that of the launch that it shares.
  std::vector<std::string> labels_of_launches() const {
    std::vector<std::string> out;
    for (const fusion::Unit& u : fused_.units) out.push_back(u.label);
    for (size_t s = 0; s < program_.steps.size(); ++s)
      if (units_of_step_[s].size() > 1)
        for (int u : units_of_step_[s]) out[static_cast<size_t>(u)] = program_.steps[s].label;
    for (size_t u = 0; u < out.size(); ++u)
      if (is_written_at_once(static_cast<int>(u))) out[u] = out[static_cast<size_t>(writer_[u])];
    return out;
  }

  // One row a generated kernel, library call or opaque operator.
  void kernels(const BuildTimes& t) {
    unit_entity_.assign(fused_.units.size(), 0);
    step_entity_.assign(program_.steps.size(), 0);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const Step& step = program_.steps[s];
      if (step.kind == Step::Kind::view) continue;
      session::KernelRow row;
      row.id = rec_.writer.next(vitrine::Kind::Kernel);
      row.compilation = rec_.compilation;
      row.ordinal = ordinal_++;
      row.label = step.label;
      if (step.kind == Step::Kind::kernel)
        generated(step, row);
      else
        called(step, row, fused_.units[static_cast<size_t>(units_of_step_[s].front())]);
      rec_.writer.put(row);
      step_entity_[s] = row.id;
      choice(step, row);
      for (int u : units_of_step_[s]) {
        unit_entity_[static_cast<size_t>(u)] = row.id;
        for (ir::NodeId n : fusion::nodes_of(loops_, fused_.units[static_cast<size_t>(u)]))
          rec_.writer.link(rec_.entity(n), row.id);
      }
    }
    for (size_t u = 0; u < writer_.size(); ++u) {
      const Id entity = unit_entity_[static_cast<size_t>(writer_[u])];
      if (!is_written_at_once(static_cast<int>(u)) || !entity) continue;
      unit_entity_[u] = entity;
      for (ir::NodeId n : fusion::nodes_of(loops_, fused_.units[u])) rec_.writer.link(rec_.entity(n), entity);
    }
    rec_.stage("kernels", "ok", static_cast<int64_t>(program_.kernels.size()), t.fused, t.program - t.fused);
  }
  void generated(const Step& step, session::KernelRow& row) {
    Kernel& k = program_.kernels[static_cast<size_t>(step.kernel)];
    k.entity = row.id;
    row.name = k.name;
    row.kind = "generated";
    row.family = k.family;
    row.language = "c++";
    row.space = k.space;
    row.isa = options_.lanes == 16 ? "avx512" : "avx2";
    row.source = rec_.writer.blob(k.text);
    row.bytes = k.bytes.hint();
    row.flops = k.flops.hint();
    for (const LineOrigin& o : k.lines) {
      session::KernelRangeRow range;
      range.id = rec_.writer.next(vitrine::Kind::KernelRange);
      range.kernel = row.id;
      range.text = "source";
      range.line = o.line;
      range.end_line = o.end_line;
      range.col = o.col;
      range.end_col = o.end_col;
      range.node = rec_.entity(o.node);
      rec_.writer.put(range);
      rec_.writer.link(range.node, range.id);
    }
  }
  void called(const Step& step, session::KernelRow& row, const fusion::Unit& unit) const {
    for (ir::NodeId n : fusion::nodes_of(loops_, unit))
      row.flops += ops::flops(*loops_.graph, loops_.graph->node(n));
    row.name = ir::short_op(step.node.op);
    row.kind = step.kind == Step::Kind::library ? "library" : "opaque";
    const ops::OpRow* op = ops::find(step.node.op);
    row.family = std::string(ops::family_name(op ? op->family : ops::Family::opaque));
    row.language = "pytorch";
    for (int32_t b : step.buffers) row.bytes += program_.buffers[static_cast<size_t>(b)].type.bytes().hint();
    for (int32_t b : step.outs) row.bytes += program_.buffers[static_cast<size_t>(b)].type.bytes().hint();
    if (!step.node.outputs.empty()) {
      for (const ir::Sym& d : step.node.type().sizes)
        row.space += (row.space.empty() ? "" : " × ") + ir::text(d);
    }
  }

  // Who computes a product, or which shape a kernel has, and how long each took.
  void choice(const Step& step, const session::KernelRow& row) {
    auto found = options_.products.choices.find(step.shaped >= 0 ? step.shaped : step.node.id);
    if (found == options_.products.choices.end() || (step.shaped < 0 && step.node.op.empty())) return;
    const ProductChoice& c = found->second;
    const ProductCandidate& chosen = product_candidates()[static_cast<size_t>(c.candidate)];
    std::string said = step.shaped >= 0       ? "this shape"
                       : chosen.algorithm > 0 ? "cuBLASLt's algorithm"
                       : c.candidate          ? "our kernel"
                                              : "PyTorch's";
    std::string separator = ": ";
    int64_t ordinal = 0;
    auto put = [&](const ProductTime& time) {
      const bool is_chosen = time.candidate == c.candidate && time.fused == c.fused;
      std::string who(product_candidates()[static_cast<size_t>(time.candidate)].name);
      if (!time.shape.empty()) who = time.shape;
      if (time.fused) who += ", one kernel with what follows";
      rec_.writer.put(session::ChoiceRow{row.id, ordinal++, who, time.ns, is_chosen, c.threads, c.source});
      return who;
    };
    for (const ProductTime& time : c.times) {
      said += separator + put(time) + " " + milliseconds(time.ns);
      separator = ", ";
    }
    if (c.times.empty()) {
      put({c.candidate, 0, c.fused, ""});
      said += ", without measuring";
    } else {
      if (c.threads) said += " on " + std::to_string(c.threads) + (c.threads == 1 ? " thread" : " threads");
      if (c.source == "kept") said += ", measured before";
    }
    rec_.writer.put(session::RemarkRow{row.id, 1, 0, "choice", "analysis", said});
  }
  static std::string milliseconds(int64_t ns) {
    std::string us = std::to_string(ns / 1000);
    if (us.size() < 4) us.insert(0, 4 - us.size(), '0');
    return us.insert(us.size() - 3, ".") + " ms";
  }

  struct Saving {
    int64_t bytes = 0, launches = 0;
  };
  // What a pair would save that stays apart: what one reads of the other is neither read nor, where nobody
  // else reads it, written; what both read is read once.
  Saving missed(const fusion::Decision& d) const {
    const size_t a = loops_.loop_of.at(d.a), b = loops_.loop_of.at(d.b);
    if (fused_.unit_of[a] == fused_.unit_of[b] || fused_.unit_of[a] < 0 || fused_.unit_of[b] < 0) return {};
    Saving out{0, 1};
    std::set<ir::Ref> of_a, seen;
    fusion::each_read(loops_, loops_.loops[a], [&](ir::Ref root) { of_a.insert(root); });
    fusion::each_read(loops_, loops_.loops[b], [&](ir::Ref root) {
      const bool between = root.node == d.a;
      if ((d.kind == "horizontal" ? !of_a.contains(root) : !between) || !seen.insert(root).second) return;
      const int64_t bytes =
          loops_.graph->node(root.node).outputs[static_cast<size_t>(root.output)].bytes().hint();
      out.bytes += between && is_read_by_unit_alone(root, b) ? 2 * bytes : bytes;
    });
    return out;
  }
  bool is_read_by_unit_alone(ir::Ref root, size_t loop) const {
    const std::vector<size_t>& readers = readers_.of(root);
    return !readers_.is_result(root) && std::all_of(readers.begin(), readers.end(), [&](size_t r) {
      return fused_.unit_of[r] == fused_.unit_of[loop];
    });
  }

  // Of a copy that its kernel makes superfluous: what it would copy is neither written elsewhere nor read
  // again.
  static constexpr const char* kWrittenAtOnce = "the kernel writes its result there at once";
  int64_t bytes_of(ir::NodeId n) const { return loops_.graph->node(n).type().bytes().hint(); }

  void decisions() {
    int64_t ordinal = 0;
    for (const fusion::Decision& d : fused_.decisions) {
      session::DecisionRow row;
      row.id = rec_.writer.next(vitrine::Kind::Decision);
      row.compilation = rec_.compilation;
      row.ordinal = ordinal++;
      row.a = rec_.entity(d.a);
      row.b = rec_.entity(d.b);
      row.kind = d.kind;
      const int unit = fused_.unit_of[loops_.loop_of.at(d.b)], first = fused_.unit_of[loops_.loop_of.at(d.a)];
      const bool at_once = is_written_at_once(unit) && writer_[static_cast<size_t>(unit)] == first;
      row.verdict = d.fused || at_once ? "fused" : "rejected";
      row.reason = at_once ? kWrittenAtOnce : d.reason;
      const Saving saving = at_once   ? Saving{2 * bytes_of(d.a), 1}
                            : d.fused ? Saving{d.bytes_saved, 1}
                                      : missed(d);
      row.bytes_saved = saving.bytes;
      row.launches_saved = saving.launches;
      if ((d.fused || at_once) && unit >= 0) row.kernel = unit_entity_[static_cast<size_t>(unit)];
      rec_.writer.put(row);
    }
  }

  void buffers(const BuildTimes& t) {
    std::vector<Id> ids;
    for (size_t i = 0; i < program_.buffers.size(); ++i)
      ids.push_back(rec_.writer.next(vitrine::Kind::Buffer));
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      session::BufferRow row;
      row.id = ids[i];
      row.compilation = rec_.compilation;
      row.ordinal = static_cast<int64_t>(i);
      row.name = b.name;
      row.kind = kind_of(b);
      row.type = b.type.text();
      row.bytes = b.view_of >= 0 ? 0 : b.type.bytes().hint();
      row.first = b.first_step;
      row.last = b.last_step;
      row.offset = b.arena_offset.hint();
      if (b.reuses >= 0) row.reuses = ids[static_cast<size_t>(b.reuses)];
      row.node = rec_.entity(b.value.node);
      rec_.writer.put(row);
    }
    rec_.stage("memory", "ok", most_temporaries(), t.planning, t.planned - t.planning);
  }
  // The result of a call lives until its end. What is allocated as a result is, because an operator may keep
  // it, is a temporary all the same.
  bool leaves(const Buffer& b) const {
    const bool made = b.kind != Buffer::Kind::input && b.kind != Buffer::Kind::constant;
    return made && b.last_step >= static_cast<int32_t>(program_.steps.size());
  }
  std::string kind_of(const Buffer& b) const {
    if (b.view_of >= 0) return "view";
    if (loops_.graph->node(b.value.node).kind == ir::NodeKind::parameter) return "parameter";
    if (b.kind == Buffer::Kind::input) return "input";
    if (b.kind == Buffer::Kind::constant) return "parameter";
    return leaves(b) ? "output" : "temporary";
  }

  // The most bytes that temporaries take at once: the arena, and what is allocated beside it.
  int64_t most_temporaries() const {
    std::vector<int64_t> change(program_.steps.size() + 2);
    for (const Buffer& b : program_.buffers) {
      if (kind_of(b) != "temporary" || b.arena_offset.hint() >= 0 || b.first_step < 0) continue;
      change[static_cast<size_t>(b.first_step)] += b.type.bytes().hint();
      change[static_cast<size_t>(b.last_step) + 1] -= b.type.bytes().hint();
    }
    int64_t now = program_.arena_bytes.hint(), most = now;
    for (int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  void launches(const BuildTimes& t) {
    static constexpr const char* kKinds[] = {"kernel", "library", "opaque", "view"};
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const Step& step = program_.steps[s];
      session::LaunchRow row;
      row.id = rec_.writer.next(vitrine::Kind::Launch);
      row.compilation = rec_.compilation;
      row.ordinal = static_cast<int64_t>(s);
      row.kind = kKinds[static_cast<size_t>(step.kind)];
      bool kernel = step.kind == Step::Kind::kernel;
      row.text =
          step.label + " " +
          (kernel ? program_.kernels[static_cast<size_t>(step.kernel)].name : ir::short_op(step.node.op));
      if (kernel) row.bytes = program_.kernels[static_cast<size_t>(step.kernel)].bytes.hint();
      auto add = [&](int32_t b) {
        row.args += (row.args.empty() ? "" : ", ") + program_.buffers[static_cast<size_t>(b)].name;
      };
      for (int32_t b : step.buffers) add(b);
      if (!kernel)
        for (int32_t b : step.outs) add(b);
      row.kernel = step_entity_[s];
      rec_.writer.put(row);
      rec_.writer.link(row.kernel, row.id);
      if (!row.kernel) rec_.writer.link(rec_.entity(step.node.id), row.id);  // a view needs no kernel
    }
    rec_.stage("launch", "ok", static_cast<int64_t>(program_.steps.size()), t.program, 0);
  }

  const fusion::LoopProgram& loops_;
  const fusion::Readers readers_;
  const fusion::FusedProgram& fused_;
  const std::vector<std::vector<int>>& units_of_step_;
  const CodegenOptions& options_;
  Program& program_;
  ir::Recorder& rec_;
  std::vector<Id> unit_entity_, step_entity_;
  std::vector<int> writer_;  // by unit
  int64_t ordinal_ = 0;
};

}  // namespace

void record_program(const fusion::LoopProgram& loops, const fusion::FusedProgram& fused,
                    const std::vector<std::vector<int>>& units_of_step, const BuildTimes& times,
                    const CodegenOptions& options, Program& program, ir::Recorder& recorder) {
  ProgramRecorder(loops, fused, units_of_step, options, program, recorder).run(times);
}

}  // namespace vitrine::codegen
