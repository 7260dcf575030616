#include "views/kit/session/frames.h"

#include <algorithm>
#include <memory>

#include "views/kit/session/session_data.h"

namespace vitrine::kit {

using namespace session;

namespace {

// One activation of a function while it was captured, with those it called.
struct Activation {
  Id code = 0;
  int64_t nodes = 0;  // made in it and in what it called
  std::vector<std::unique_ptr<Activation>> calls;
};

std::unique_ptr<Activation> callTree(const SessionData& data, Id compilation) {
  auto root = std::make_unique<Activation>();
  root->code = data.codeOf(compilation);
  std::vector<Activation*> path{root.get()};
  for (const StepRow& step : data.steps.of(compilation)) {
    const InstructionRow* ins = data.instructions.find(step.instruction);
    const auto depth = static_cast<size_t>(std::max<int64_t>(0, step.depth));
    if (!ins) continue;
    if (path.size() > depth + 1) path.resize(depth + 1);
    while (path.size() < depth + 1 || path.back()->code != ins->code) {
      if (path.size() == depth + 1) path.pop_back();
      if (path.empty()) return root;  // another function where the frame itself should stand
      path.back()->calls.push_back(std::make_unique<Activation>());
      path.push_back(path.back()->calls.back().get());
      path.back()->code = ins->code;
    }
    if (step.event == "node")
      for (Activation* frame : path) ++frame->nodes;
  }
  return root;
}

bool isUsers(const SessionData& data, Id code) {
  const CodeRow* row = data.codes.find(code);
  const FileRow* file = row ? data.files.find(row->file) : nullptr;
  return file && file->user;
}

// Of the user's outermost functions below, the one that made most nodes; null where there is none.
const Activation* usersBelow(const SessionData& data, const Activation& at) {
  const Activation* out = nullptr;
  for (const auto& call : at.calls) {
    const Activation* found = isUsers(data, call->code) ? call.get() : usersBelow(data, *call);
    if (found && found->nodes > (out ? out->nodes : 0)) out = found;
  }
  return out;
}

}  // namespace

std::vector<Id> instructionsAt(const SessionData& data, const StepRow& step) {
  const auto steps = data.steps.of(step.compilation);
  std::vector<Id> out{step.instruction};
  int64_t depth = step.depth;
  auto at = std::lower_bound(steps.begin(), steps.end(), step.ordinal,
                             [](const StepRow& row, int64_t ordinal) { return row.ordinal < ordinal; });
  while (depth > 0 && at != steps.begin()) {
    --at;
    if (at->depth >= depth) continue;
    depth = at->depth;
    out.push_back(at->instruction);
  }
  return out;
}

Id workCode(const SessionData& data, Id compilation) {
  const std::unique_ptr<Activation> root = callTree(data, compilation);
  const Activation* at = root.get();
  while (at->nodes > 1 && !isUsers(data, at->code)) {
    const Activation* next = nullptr;
    for (const auto& call : at->calls)
      if (call->nodes >= at->nodes - 1) next = call.get();
    if (!next) break;
    at = next;
  }
  return at->code;
}

Id readCode(const SessionData& data, Id compilation) {
  const Id work = data.workCodeOf(compilation);
  if (isUsers(data, work)) return work;
  const std::unique_ptr<Activation> root = callTree(data, compilation);
  const Activation* own = usersBelow(data, *root);
  return own ? own->code : work;
}

}  // namespace vitrine::kit
