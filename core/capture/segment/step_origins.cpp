#include "core/capture/segment/step_origins.h"

namespace vitrine::capture {

namespace {

// The instruction whose bytes hold `at`: a call is one instruction from its keyword names on.
UserPlace place_at(const CodeIds& code, int at) {
  for (int pc = at; pc >= 0; pc -= 2)
    if (code.instructions.contains(pc)) return {code.span(pc), code.instruction(pc)};
  return {};
}

// The nearest frame of the user's behind the one that is captured.
UserPlace user_caller(CodeRows& codes) {
  PyFrameObject* current = PyEval_GetFrame();
  PyRef frame(current ? reinterpret_cast<PyObject*>(PyFrame_GetBack(current)) : nullptr);
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    if (is_user_file(text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_filename)))
      return place_at(codes.of(code.get()), PyFrame_GetLasti(f));
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return {};
}

}  // namespace

StepOrigins::StepOrigins(const Trace& trace, CodeRows& codes)
    : trace_(trace),
      codes_(codes),
      nodes_(trace.steps.size()),
      guards_(trace.steps.size(), -1),
      callers_(trace.steps.size(), -1) {
  if (trace.graphs.captured)
    for (const ir::Node& node : trace.graphs.captured->nodes())
      if (node.origin.step >= 0 && static_cast<size_t>(node.origin.step) < nodes_.size())
        nodes_[node.origin.step].push_back(node.id);
  for (size_t i = trace.guards.size(); i-- > 0;)
    if (const int32_t step = trace.guards[i].step; step >= 0 && static_cast<size_t>(step) < guards_.size())
      guards_[step] = static_cast<int32_t>(i);
  std::vector<int32_t> open;  // by depth: the frame's newest step
  bool user_inside = false;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const auto depth = static_cast<size_t>(std::max(trace.steps[i].depth, 0));
    open.resize(depth + 1, -1);
    open[depth] = static_cast<int32_t>(i);
    if (depth > 0) callers_[i] = open[depth - 1];
    user_inside = user_inside || (depth == 0 && trace.steps[i].code && codes.is_user(trace.steps[i].code));
  }
  if (!user_inside) outside_ = user_caller(codes);
}

UserPlace StepOrigins::user_place(size_t step) const {
  for (int32_t at = static_cast<int32_t>(step); at >= 0; at = callers_[at]) {
    const StepRecord& s = trace_.steps[at];
    if (!s.code || !codes_.is_user(s.code)) continue;
    const CodeIds& code = codes_.of(s.code);
    return {code.span(s.pc), code.instruction(s.pc)};
  }
  // A package's model says more in its own words than the line that calls all of it.
  for (int32_t at = static_cast<int32_t>(step); at >= 0; at = callers_[at]) {
    const StepRecord& s = trace_.steps[at];
    if (!s.code || !is_package_file(text_of(reinterpret_cast<PyCodeObject*>(s.code)->co_filename))) continue;
    const CodeIds& code = codes_.of(s.code);
    return {code.span(s.pc), code.instruction(s.pc)};
  }
  return outside_;
}

const char* StepOrigins::event(size_t step) const {
  if (!nodes_[step].empty()) return "node";
  const bool last = step + 1 == trace_.steps.size();
  if (last && trace_.broke && trace_.end == Trace::End::Nothing) return "break";
  if (!last && trace_.steps[step + 1].depth > trace_.steps[step].depth) return "inline";
  if (guards_[step] >= 0) return "guard";
  const bool leaves =
      last ? trace_.end == Trace::End::Return : trace_.steps[step + 1].depth < trace_.steps[step].depth;
  return leaves ? "return" : "";
}

}  // namespace vitrine::capture
