#include "views/capture/trace_rows.h"

#include <algorithm>
#include <map>

#include "views/kit/session/sources.h"

namespace vitrine::views {

using namespace session;

namespace {

class TraceRowBuilder {
 public:
  TraceRowBuilder(const kit::SessionData& data, Id compilation)
      : data_(data), compilation_(compilation), steps_(data.steps.of(compilation)) {
    for (const GuardRow& g : data.guards.of(compilation)) guards_[g.instruction].push_back(&g);
    for (const BreakRow& b : data.breaks.of(compilation)) breaks_[b.instruction] = &b;
  }

  std::vector<TraceRow> build() {
    std::vector<TraceRow> out;
    std::map<Id, size_t> row_of;
    for (const InstructionRow& ins : data_.instructions.of(data_.codeOf(compilation_))) {
      row_of[ins.id] = out.size();
      TraceRow row;
      row.instruction = ins.id;
      out.push_back(row);
    }
    for (size_t i = 0; i < steps_.size();) {
      const StepRow& step = steps_[i];
      auto at = row_of.find(step.instruction);
      if (step.depth > 0 || at == row_of.end()) {
        ++i;
        continue;
      }
      i = add(out[at->second], i);
    }
    finish(out);
    return out;
  }

 private:
  // Adds step i and what was inlined under it; returns the next step of the same depth or above.
  size_t add(TraceRow& row, size_t i) {
    const StepRow& step = steps_[i];
    if (row.first < 0) row.first = static_cast<int>(i);
    row.last = static_cast<int>(i);
    ++row.step_count;
    take(row, step);
    size_t next = i + 1;
    while (next < steps_.size() && steps_[next].depth > step.depth) {
      TraceRow inner;
      inner.instruction = steps_[next].instruction;
      inner.level = static_cast<int>(steps_[next].depth);
      const size_t from = next;
      next = add(inner, next);
      row.inlined_steps += static_cast<int>(next - from);
      if (row.inlined_name.isEmpty()) row.inlined_name = function_of(inner.instruction);
      row.inlined.push_back(std::move(inner));
    }
    return next;
  }

  QString function_of(Id instruction) const {
    const InstructionRow* ins = data_.instructions.find(instruction);
    const CodeRow* code = ins ? data_.codes.find(ins->code) : nullptr;
    if (!code) return {};
    const QString name = QString::fromStdString(code->qualname);  // a module is called by its class
    return name.endsWith(QStringLiteral(".forward")) ? name.chopped(8) : name;
  }

  void take(TraceRow& row, const StepRow& step) {
    const Id made = entity_of(data_, step);
    if (const NodeRow* node = data_.nodes.find(made))
      row.caused = {Caused::What::Node, made, QString::fromStdString(node->name),
                    kit::familyOf(node->family)};
  }

  void finish(std::vector<TraceRow>& rows) {
    int64_t line = -1;
    for (TraceRow& row : rows) {
      const InstructionRow* ins = data_.instructions.find(row.instruction);
      const SpanRow* span = ins ? data_.spans.find(ins->span) : nullptr;
      row.line_start = span && span->line != line;
      if (span) line = span->line;
      finish(row.inlined);
      if (row.caused.what == Caused::What::Nothing && !row.inlined.empty())
        row.caused = only_node(row.inlined);
      add_facts(row);
    }
  }

  // The node that an inlined call made, when it is the only one.
  static Caused only_node(const std::vector<TraceRow>& rows) {
    Caused found;
    for (const TraceRow& row : rows) {
      if (row.caused.what != Caused::What::Node) continue;
      if (found.id && found.id != row.caused.id) return {};
      found = row.caused;
    }
    return found;
  }

  void add_facts(TraceRow& row) const {
    if (row.first < 0) return;
    if (auto b = breaks_.find(row.instruction); b != breaks_.end()) {
      row.caused = {Caused::What::Break, b->second->id,
                    QString::fromStdString(b->second->kind).replace('_', ' '), kit::NodeFamily::None};
      return;
    }
    auto g = guards_.find(row.instruction);
    if (g == guards_.end() || row.caused.what != Caused::What::Nothing || !row.inlined.empty()) return;
    const GuardRow& guard = *g->second.front();
    const bool tail = guard.source.size() > guard.root.size() && guard.source.starts_with(guard.root);
    QString text = kit::sourceText(tail ? guard.source.substr(guard.root.size()) : guard.source.str());
    if (tail && text.contains('.')) text = '.' + text.section('.', -1);  // the attribute that is read here
    if (g->second.size() > 1) text = QStringLiteral("%1 guards").arg(g->second.size());
    row.caused = {Caused::What::Guard, guard.id, text.trimmed(), kit::NodeFamily::None};
  }

  const kit::SessionData& data_;
  const Id compilation_;
  std::span<const StepRow> steps_;
  std::map<Id, std::vector<const GuardRow*>> guards_;
  std::map<Id, const BreakRow*> breaks_;
};

}  // namespace

std::vector<TraceRow> trace_rows(const kit::SessionData& data, Id compilation) {
  return TraceRowBuilder(data, compilation).build();
}

int step_index(const kit::SessionData& data, Id compilation, Id step) {
  auto steps = data.steps.of(compilation);
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].id == step) return static_cast<int>(i);
  return static_cast<int>(steps.size()) - 1;
}

Id entity_of(const kit::SessionData& data, const StepRow& step) {
  if (step.entity) return step.entity;
  for (Id id : data.links.derived(step.id))
    if (kind_of(id) == Kind::Node || kind_of(id) == Kind::Break) return id;
  return step.instruction;
}

}  // namespace vitrine::views
