#include "core/capture/segment/controls/controls.h"

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

bool Controls::switched_off() const {
  return ask(Name::switched_off, nullptr).get() == Py_True;
}

std::vector<std::string> Controls::not_followed() const {
  std::vector<std::string> sentences;
  const PyRef found = ask(Name::not_followed, nullptr);
  for (Py_ssize_t i = 0; found && PyList_Check(found.get()) && i < PyList_GET_SIZE(found.get()); ++i)
    sentences.push_back(text_of(PyList_GET_ITEM(found.get(), i)));
  return sentences;
}

}  // namespace vitrine::capture
