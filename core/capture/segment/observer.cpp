#include "core/capture/segment/observer.h"

#include <algorithm>

#include "core/capture/objects/values.h"
#include "core/capture/segment/code_rows.h"

#include "core/ir/print.h"

namespace vitrine::capture {

namespace {

PyRef text_object(const std::string& text) {
  return PyRef(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

PyRef list_of(const std::vector<std::string>& texts) {
  PyRef list(PyList_New(0));
  for (const std::string& text : texts) {
    PyRef item = text_object(text);
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0) break;
  }
  return list;
}

std::vector<std::string> guard_texts(const Trace& trace) {
  std::vector<std::string> out;
  for (const Guard& g : trace.guards)
    out.push_back(g.source         ? g.source->path() + " " + g.expected
                  : g.name.empty() ? "PyTorch's global state (grad mode, autocast, ...) is unchanged"
                                   : g.expected);
  return out;
}

std::vector<std::string> ops_of(const Trace& trace) {
  std::vector<std::string> out;
  if (!trace.graphs.captured) return out;
  for (const ir::Node& node : trace.graphs.captured->nodes())
    if (node.kind == ir::NodeKind::op) out.push_back(node.op);
  return out;
}

// "file:line:pc function" of what causes a break, "" where it is not known.
std::string cause_text(const BreakInfo& broke) {
  const BreakInfo::At* cause = cause_of(broke);
  if (!cause) return "";
  const auto* code = reinterpret_cast<PyCodeObject*>(cause->code.get());
  return text_of(code->co_filename) + ":" + std::to_string(code->co_firstlineno) + ":" +
         std::to_string(cause->pc) + " " + text_of(code->co_qualname);
}

// "file:line function" of the function that was captured.
std::string begin_text(const Trace& trace) {
  if (trace.codes.empty()) return "";
  const auto* code = reinterpret_cast<PyCodeObject*>(trace.codes.front());
  return text_of(code->co_filename) + ":" + std::to_string(code->co_firstlineno) + " " +
         text_of(code->co_qualname);
}

// Whoever listens: a list keeps what it hears, a function is called with it. What that raises is nobody's.
void hand_over(PyObject* observer, const PyRef& facts) {
  if (facts && PyList_Check(observer))
    PyList_Append(observer, facts.get());
  else if (facts)
    PyRef(PyObject_CallOneArg(observer, facts.get()));
  PyErr_Clear();
}

bool listens(PyObject* observer) {
  return observer && (PyList_Check(observer) || PyCallable_Check(observer));
}

PyRef break_dict(const Trace& trace) {
  if (!trace.broke) return share(Py_None);
  const BreakInfo& b = *trace.broke;
  std::vector<std::string> places;
  for (const auto& [text, line] : b.stack) places.push_back(text);
  PyRef stack = list_of(places);
  return PyRef(Py_BuildValue("{ss,ss,ss,sO,ss}", "kind", b.kind.c_str(), "reason", b.reason.c_str(), "hint",
                             b.hint.c_str(), "stack", stack.get(), "cause", cause_text(b).c_str()));
}

}  // namespace

const BreakInfo::At* cause_of(const BreakInfo& broke) {
  const auto is_users = [](const BreakInfo::At& at) {
    return at.code && is_user_file(text_of(reinterpret_cast<PyCodeObject*>(at.code.get())->co_filename));
  };
  const auto found = std::find_if(broke.at.begin(), broke.at.end(), is_users);
  if (found != broke.at.end()) return &*found;
  return broke.at.empty() || !broke.at.front().code ? nullptr : &broke.at.front();
}

std::string gradients_sentence(const torch_api::Joint& joint) {
  if (joint.borrowed.empty()) {
    std::string text = "the derivative is written by our own rules", sign = ", but for ";
    for (const std::string& op : joint.borrowed_operators) text += std::exchange(sign, ", ") + op;
    return joint.borrowed_operators.empty() ? text : text + ": PyTorch's own backward";
  }
  return "the derivative is PyTorch's own backward: " + joint.borrowed;
}

void observe(const CallSettings& settings, const Trace& trace, const std::string& message, int64_t ns,
             Id compilation) {
  PyObject* observer = settings.observer.get();
  if (!listens(observer)) return;
  ErrorAside aside;
  PyRef facts(PyDict_New());
  auto set = [&](const char* name, const PyRef& value) {
    if (facts && value) PyDict_SetItemString(facts.get(), name, value.get());
  };
  set("graph", text_object(trace.graphs.captured ? ir::print(*trace.graphs.captured) : ""));
  set("ops", list_of(ops_of(trace)));
  set("guards", list_of(guard_texts(trace)));
  set("break", break_dict(trace));
  set("message", text_object(message));
  set("place", text_object(begin_text(trace)));
  set("seconds", PyRef(PyFloat_FromDouble(static_cast<double>(ns) / 1e9)));
  set("compilation", PyRef(PyLong_FromLongLong(compilation)));
  if (trace.joint) set("gradients", text_object(gradients_sentence(*trace.joint)));
  hand_over(observer, facts);
}

bool hears_recompilations(const CallSettings& settings) {
  return settings.observer && PyCallable_Check(settings.observer.get());
}

void observe_recompilation(const CallSettings& settings, PyCodeObject* code, int line,
                           const RecompilationCause& cause) {
  ErrorAside aside;
  const GuardFailure& failure = cause.failure;
  const std::string place =
      text_of(code->co_filename) + ":" + std::to_string(line) + " " + text_of(code->co_qualname);
  const PyRef facts(Py_BuildValue("{s{ss,ss,ss,ss,ss}}", "recompilation", "place", place.c_str(), "failed",
                                  failure.condition().c_str(), "old", failure.expected.c_str(), "new",
                                  failure.actual.c_str(), "hint", recompilation_hint(cause).c_str()));
  hand_over(settings.observer.get(), facts);
}

}  // namespace vitrine::capture
