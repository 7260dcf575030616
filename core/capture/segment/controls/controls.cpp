#include "core/capture/segment/controls/controls.h"

#include <algorithm>
#include <limits>

#include "core/capture/hook.h"
#include "core/capture/objects/values.h"
#include "core/capture/signals_aside.h"

namespace vitrine::capture {
namespace {

// Of a function of vitrine._controls, asked in Python; nothing when it fails. An error that is set afterwards
// is a signal handler's.
template <class... Arguments>
PyRef ask(Name function, const char* format, Arguments... arguments) {
  const SignalsAside signals;
  const PauseCapture pause;
  const ErrorAside aside;
  PyRef answer = call(function, format, arguments...);
  PyErr_Clear();
  return answer;
}

// How each of Settings is read.
#define VITRINE_SETTINGS_OF_COMPILERS(X) \
  X(number, recompile_limit)             \
  X(number, accumulated_recompile_limit) \
  X(flag, disable)                       \
  X(flag, error_on_recompile)            \
  X(flag, fail_on_recompile_limit_hit)   \
  X(flag, suppress_errors)               \
  X(flag, assume_static_by_default)      \
  X(flag, automatic_dynamic_shapes)      \
  X(flag, specialize_int)                \
  X(flag, specialize_float)              \
  X(flag, allow_ignore_mark_dynamic)     \
  X(flag, capture_scalar_outputs)        \
  X(flag, capture_dynamic_output_shape_ops)

// A str that is made once: a name of a dict's key.
PyObject* interned(PyObject*& kept, const char* text) {
  if (!kept) kept = PyUnicode_InternFromString(text);
  return kept;
}

}  // namespace

Stance Controls::stance() {
  if (!module_) {
    static PyObject* name = nullptr;
    PyObject* found =
        PyDict_GetItemWithError(PyImport_GetModuleDict(), interned(name, "torch._dynamo.eval_frame"));
    if (!found || !PyModule_Check(found)) return Stance::Default;
    module_ = PyRef(Py_NewRef(found));
  }
  static PyObject* name = nullptr;
  PyObject* now = PyDict_GetItemWithError(PyModule_GetDict(module_.get()), interned(name, "_stance"));
  if (now == seen_.get()) return stance_;
  seen_ = PyRef(Py_XNewRef(now));
  stance_ = Stance::Default;
  const PyRef number = ask(Name::stance, "O", now);
  if (number && PyLong_Check(number.get())) stance_ = static_cast<Stance>(PyLong_AsLong(number.get()));
  return stance_;
}

CompilerSettings Controls::settings() const {
  CompilerSettings out;
  const PyRef given = ask(Name::settings, nullptr);
  if (!given || !PyDict_Check(given.get())) return out;
  const auto find = [&](const char* name) { return PyDict_GetItemString(given.get(), name); };
  const auto number = [&](const char* name, std::optional<int64_t>& into) {
    PyObject* value = find(name);
    if (!value || !PyLong_Check(value)) return;
    int overflow = 0;
    const int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
    into = overflow ? std::numeric_limits<int64_t>::max() : n;
  };
  const auto flag = [&](const char* name, auto& into) {
    PyObject* value = find(name);
    if (value && PyBool_Check(value)) into = value == Py_True;
  };
#define X(kind, name) kind(#name, out.name);
  VITRINE_SETTINGS_OF_COMPILERS(X)
#undef X
  return out;
}

void Controls::compilation_begins() const {
  if (find_loaded(Name::compilation_begins)) ask(Name::compilation_begins, nullptr);
}

void Controls::compilation_ends(const Trace* trace) const {
  const ErrorAside aside;
  if (!find_loaded(Name::compilation_ends)) return;
  Py_ssize_t calls = -1;
  if (trace && trace->graphs.captured) {
    const auto& nodes = trace->graphs.captured->nodes();
    calls = std::count_if(nodes.begin(), nodes.end(),
                          [](const ir::Node& node) { return node.kind == ir::NodeKind::op; });
  }
  const bool broke = trace && trace->broke;
  const std::string reason = broke ? trace->broke->reason + " [" + trace->broke->kind + "]" : "";
  ask(Name::compilation_ends, "ns", calls, reason.c_str());
}

std::vector<std::string> Controls::not_followed() const {
  std::vector<std::string> sentences;
  const PyRef found = ask(Name::not_followed, nullptr);
  for (Py_ssize_t i = 0; found && PyList_Check(found.get()) && i < PyList_GET_SIZE(found.get()); ++i)
    sentences.push_back(text_of(PyList_GET_ITEM(found.get(), i)));
  return sentences;
}

}  // namespace vitrine::capture
