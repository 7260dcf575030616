#include "core/torch_api/replaced.h"

#include <Python.h>

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <vector>

#include "core/torch_api/python_ref.h"
#include "core/torch_api/python_versions.h"

namespace vitrine::torch_api {

namespace {

// Where PyTorch's functions find one another.
constexpr const char* kModules[] = {
    "torch",
    "torch._C",
    "torch._C._nn",
    "torch.nn.functional",
    "torch.functional",
    "torch._tensor",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "torch._C._linalg",
    "torch._C._special",
    "torch._C._fft",
    "torch.overrides",
};
constexpr struct {
  const char *module, *name;
} kClasses[] = {{"torch", "Tensor"}, {"torch.nn", "Parameter"}};
// Python writes these of its own accord.
constexpr const char* kBookkeeping[] = {"__slotnames__", "__doc__", "__annotations__", "__abstractmethods__",
                                        "__annotations_cache__"};

struct Replacement {
  size_t owner;
  PyRef name, value;  // value: null where the name was taken away
  bool operator==(const Replacement& other) const {
    return owner == other.owner && name.get() == other.name.get() && value.get() == other.value.get();
  }
};
using Replacements = std::vector<Replacement>;

struct WatchedNames {
  std::string path;
  PyTypeObject* type = nullptr;               // nullptr: a module
  PyObject *names = nullptr, *own = nullptr;  // its dict, and a copy
  uint64_t version = 0;
  Replacements replaced;  // at that version
};

struct Known {
  int32_t number;
  Replacements what;
};

struct ReplacedState {
  std::vector<WatchedNames> owners;
  std::unordered_set<PyObject*> functions;  // kept by the copies
  std::deque<Known> known;                  // the newest last
  int32_t now = 0, numbers = 0;
};
constexpr size_t kKnownKept = 32;

// What was replaced is a fact of the process, as PyTorch's modules are. It is never destroyed: Python ends
// before static objects do.
ReplacedState& state() {
  static auto* s = new ReplacedState;
  return *s;
}

// 0: a class that was changed and not looked at since.
uint64_t version_of(const WatchedNames& o) {
  return o.type ? class_version(o.type) : *dict_version(o.names);
}

void note_version(WatchedNames& o) {
  static PyObject* const any = PyUnicode_InternFromString("__dict__");
  if (o.type) (void)_PyType_Lookup(o.type, any);  // gives the class a version
  o.version = version_of(o);
}

const char* text_of(PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return text ? text : "";
}

bool is_watched(const WatchedNames& o, PyObject* name, PyObject* value) {
  if (!o.type) return PyCallable_Check(value);
  return std::none_of(std::begin(kBookkeeping), std::end(kBookkeeping),
                      [&](const char* each) { return std::string_view(each) == text_of(name); });
}

// PyTorch puts wrappers around functions of its own as parts of it are imported (torch._dynamo around
// torch.manual_seed): they are the same functions.
bool is_wrapper_of(PyObject* now, PyObject* before) {
  if (!now || !PyFunction_Check(now)) return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(now), "__name__");
  if (!module || !std::string_view(text_of(module)).starts_with("torch.")) return false;
  PyRef wrapped = PyRef::steal(PyObject_GetAttrString(now, "__wrapped__"));
  PyErr_Clear();
  return wrapped.get() == before;
}

// Of a module only what was there: a new name stands in no function's way.
void compare(size_t index, const WatchedNames& o, Replacements& out) {
  Py_ssize_t at = 0;
  PyObject *name = nullptr, *value = nullptr;
  while (PyDict_Next(o.own, &at, &name, &value)) {
    PyObject* now = PyDict_GetItemWithError(o.names, name);
    if (now == value || !is_watched(o, name, value) || is_wrapper_of(now, value)) continue;
    out.push_back({index, PyRef::borrow(name), PyRef::borrow(now)});
  }
  at = 0;
  while (o.type && PyDict_Next(o.names, &at, &name, &value))
    if (is_watched(o, name, value) && !PyDict_Contains(o.own, name))
      out.push_back({index, PyRef::borrow(name), PyRef::borrow(value)});
}

int32_t number_of(Replacements what) {
  ReplacedState& s = state();
  if (what.empty()) return 0;
  for (const Known& known : s.known)
    if (known.what == what) return known.number;
  if (s.known.size() == kKnownKept) s.known.pop_front();
  s.known.push_back({++s.numbers, std::move(what)});
  return s.numbers;
}

// Recording calls of PyTorch's changes some module again and again: only what has changed is compared.
int32_t look_again() {
  ReplacedState& s = state();
  Replacements what;
  for (size_t i = 0; i < s.owners.size(); ++i) {
    WatchedNames& o = s.owners[i];
    if (version_of(o) != o.version) {
      note_version(o);
      o.replaced.clear();
      compare(i, o, o.replaced);
    }
    what.insert(what.end(), o.replaced.begin(), o.replaced.end());
  }
  return s.now = number_of(std::move(what));
}

const Replacements& replacements_now() {
  static const Replacements none;
  const int32_t now = replaced();
  for (const Known& known : state().known)
    if (known.number == now) return known.what;
  return none;
}

std::string full_name(const Replacement& r) {
  return state().owners[r.owner].path + "." + text_of(r.name.get());
}

void add_owner(const char* module, const char* name) {
  PyRef found = PyRef::steal(PyImport_ImportModule(module));
  if (found && name) found = PyRef::steal(PyObject_GetAttrString(found.get(), name));
  PyErr_Clear();
  WatchedNames o;
  if (!found) return;
  if (PyType_Check(found.get())) {
    o.type = reinterpret_cast<PyTypeObject*>(found.get());
    o.names = o.type->tp_dict;
  } else if (PyModule_Check(found.get())) {
    o.names = PyModule_GetDict(found.get());
  }
  if (!o.names) return;
  found.release();  // for the life of the process
  o.path = name ? std::string(module) + "." + name : module;
  o.own = PyDict_Copy(o.names);
  note_version(o);
  state().owners.push_back(std::move(o));
}

bool reads_one_of(PyObject* names, const Replacements& what) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    for (const Replacement& r : what)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), r.name.get()) == 0) return true;
  return false;
}

// Functions that a function's code names, and those of its cells.
void add_named(PyFunctionObject* f, PyObject* names, std::vector<PyObject*>& out) {
  const auto add = [&](PyObject* o) {
    if (o && PyFunction_Check(o)) out.push_back(o);
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    add(PyDict_GetItemWithError(f->func_globals, PyTuple_GET_ITEM(names, i)));
    for (const WatchedNames& o : state().owners)
      add(PyDict_GetItemWithError(o.own, PyTuple_GET_ITEM(names, i)));
  }
  for (Py_ssize_t i = 0; f->func_closure && i < PyTuple_GET_SIZE(f->func_closure); ++i)
    add(PyCell_GET(PyTuple_GET_ITEM(f->func_closure, i)));
}

}  // namespace

void keep_own_functions() {
  ReplacedState& s = state();
  if (!s.owners.empty()) return;
  for (const char* module : kModules) add_owner(module, nullptr);
  for (const auto& row : kClasses) add_owner(row.module, row.name);
  for (const WatchedNames& o : s.owners) {
    Py_ssize_t at = 0;
    PyObject* value = nullptr;
    while (PyDict_Next(o.own, &at, nullptr, &value)) s.functions.insert(value);
  }
}

int32_t replaced() {
  ReplacedState& s = state();
  for (const WatchedNames& o : s.owners)
    if (version_of(o) != o.version) return look_again();
  return s.now;
}

std::string replaced_name(int32_t number) {
  for (const Known& known : state().known)
    if (known.number == number) return full_name(known.what.front());
  return "";
}

std::string replaced_operator() {
  if (replaced() == 0) return "";
  for (const Replacement& r : replacements_now())
    if (state().owners[r.owner].type && std::string_view(text_of(r.name.get())).starts_with("__"))
      return full_name(r);
  return "";
}

bool is_replaced_in_tensor(const std::string& name) {
  if (replaced() == 0) return false;
  const Replacements& what = replacements_now();
  return std::any_of(what.begin(), what.end(), [&](const Replacement& r) {
    return state().owners[r.owner].type && name == text_of(r.name.get());
  });
}

bool is_own_function(PyObject* function) {
  return state().functions.contains(function);
}

bool may_call_replaced(PyObject* function) {
  if (replaced() == 0 || !PyFunction_Check(function)) return false;
  const Replacements what = replacements_now();
  std::vector<PyObject*> left = {function};
  std::unordered_set<PyObject*> seen;
  while (!left.empty()) {
    PyObject* each = left.back();
    left.pop_back();
    if (!seen.insert(each).second) continue;
    auto* f = reinterpret_cast<PyFunctionObject*>(each);
    PyObject* names = reinterpret_cast<PyCodeObject*>(f->func_code)->co_names;
    if (reads_one_of(names, what)) return true;
    add_named(f, names, left);
  }
  return false;
}

}  // namespace vitrine::torch_api
