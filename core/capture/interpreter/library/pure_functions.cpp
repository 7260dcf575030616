// Functions that only read what they are given, and give the same for the same: called for real on constants.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/warning_watch.h"

namespace vitrine::capture {
namespace {

using T = Tracer;
using A = Arguments;

// Functions of a module written in C. names: separated by spaces; all of them where there are none.
struct PureModule {
  std::string_view module, names;
};
constexpr PureModule kPureModules[] = {
    {"math", ""},
    {"cmath", ""},
    {"posixpath", ""},
    {"posix", " fspath "},
    {"_bisect", " bisect_left bisect_right "},
    {"_operator", " abs inv length_hint countOf indexOf "},
    {"_struct", " pack unpack calcsize "},
};

bool is_pure(std::string_view module, const std::string& name) {
  return std::any_of(std::begin(kPureModules), std::end(kPureModules), [&](const PureModule& row) {
    return row.module == module && (row.names.empty() || row.names.find(" " + name + " ") != row.names.npos);
  });
}

// int.from_bytes, float.fromhex, bytes.fromhex
bool is_pure_constructor(PyObject* cls, const std::string& name) {
  const std::array<PyTypeObject*, 3> classes = {&PyLong_Type, &PyFloat_Type, &PyBytes_Type};
  return (name == "from_bytes" || name == "fromhex") &&
         std::any_of(classes.begin(), classes.end(),
                     [&](PyTypeObject* each) { return reinterpret_cast<PyObject*>(each) == cls; });
}

// A function among the arguments is the program's own.
bool is_given_function(T& t, const A& a) {
  const auto is_function = [&](Value* v) {
    v = resolve(v);
    return v->is(ValueKind::Function) || v->is(ValueKind::Method) || (v->obj && PyCallable_Check(v->obj));
  };
  return std::any_of(a.positional.begin(), a.positional.end(), is_function) ||
         std::any_of(a.keyword.begin(), a.keyword.end(),
                     [&](const auto& named) { return is_function(named.second); });
}

// Patterns and what they matched never change.
template <const char* const& Path>
Value* of_pattern(T& t, const A& a) {
  if (is_given_function(t, a)) stop("unsupported_builtin", std::string("call of ") + Path);
  return fold_call(t, find_object(Path), a);
}
#define VITRINE_PATTERNS(X) \
  X(match) X(fullmatch) X(search) X(sub) X(subn) X(split) X(findall) X(compile) X(escape)
#define X(name) constexpr const char* k_##name = "re." #name;
VITRINE_PATTERNS(X)
#undef X

constexpr BuiltinRow kRows[] = {
#define X(name) {k_##name, of_pattern<k_##name>},
    VITRINE_PATTERNS(X)
#undef X
};

}  // namespace

std::span<const BuiltinRow> pure_builtins() {
  return kRows;
}

bool is_of_regular_expressions(PyObject* o) {
  return Py_TYPE(o) == torch_names().expression_match || Py_TYPE(o) == torch_names().expression;
}

bool is_regular_expression(const Value* v) {
  return v->is(ValueKind::Object) && v->obj && is_of_regular_expressions(v->obj);
}

PyObject* known_object(Tracer& t, Value* v) {
  if (v->source && !v->pinned)
    t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + describe(t, v));
  return v->obj;
}

Value* call_pure_function(Tracer& t, PyObject* callable, const Arguments& a) {
  if (!PyCFunction_Check(callable)) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  const std::string name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  if (self && PyType_Check(self))
    return is_pure_constructor(self, name) ? fold_call(t, callable, a) : nullptr;
  const char* text = self && PyModule_Check(self) ? PyModule_GetName(self) : nullptr;
  if (!text) PyErr_Clear();
  const std::string module = text ? text : "";
  if (!is_pure(module, name) || is_given_function(t, a)) return nullptr;
  const auto is_walked = [&](Value* v) {
    v = t.look(v);
    return v->is(ValueKind::Iterator) || v->is(ValueKind::Generator);
  };
  if (name == "indexOf" && std::any_of(a.positional.begin(), a.positional.end(), is_walked))
    stop("unsupported_builtin", "operator.indexOf() of an iterator, which it leaves behind what it finds");
  if (module == "_operator" &&
      std::any_of(a.positional.begin(), a.positional.end(), [&](Value* v) { return has_tensor(t, v); }))
    return torch_call(t, "operator." + name, callable, a);
  Arguments known = a;
  for (Value*& v : known.positional) {
    if (!resolve(v)->is(ValueKind::Tensor)) continue;
    v = known_number(t, resolve(v), "__float__");
    if (!v)
      stop("scalar_read", module + "." + describe(t, t.pinned(callable)) + " reads the value of a tensor");
  }
  return fold_call(t, callable, known);
}

// A function of Python's own on sizes, and on floats that come of them.
static Value* of_sizes(Tracer& t, PyObject* callable, const Arguments& a) {
  if (!a.keyword.empty() || a.positional.empty()) return nullptr;
  const bool is_function = PyCFunction_Check(callable);
  if (!is_function && callable != reinterpret_cast<PyObject*>(&PyFloat_Type)) return nullptr;
  if (is_function && a.positional.size() == 1) {
    const char* name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
    if (Value* open = size_integer(t, name, a.positional[0])) return open;
  }
  if (Value* open = pythons_float(t, callable, a.positional)) return open;
  return is_function ? integer_of_sizes(t, callable, a.positional) : nullptr;
}

Value* fold_call(Tracer& t, PyObject* callable, const Arguments& a) {
  if (Value* open = of_sizes(t, callable, a)) return open;
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size())));
  for (size_t i = 0; i < a.positional.size(); ++i) {
    Value* v = t.look(a.positional[i]);
    if (v->is(ValueKind::Iterator) || v->is(ValueKind::Generator)) v = t.list(unpack(t, v));
    PyObject* o = constant_tree(t, v);
    if (!o) {
      PyErr_Clear();
      stop(has_tensor(t, v) ? "scalar_read" : "unsupported_builtin",
           describe(t, t.pinned(callable)) + "() of " + describe(t, v));
    }
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), o);
  }
  PyRef keyword(PyDict_New());
  for (const auto& [key, value] : a.keyword) {
    PyRef o(constant_tree(t, value));
    if (!o) {
      PyErr_Clear();
      stop("unsupported_builtin", describe(t, t.pinned(callable)) + "() of " + describe(t, value));
    }
    PyDict_SetItemString(keyword.get(), key.c_str(), o.get());
  }
  PyRef result;
  {
    const torch_api::WarningWatch watch(callable, torch_api::WarningWatch::Once::Again);
    result = PyRef(PyObject_Call(callable, positional.get(), keyword.get()));
    if (result && watch.seen())
      stop("warning",
           describe(t, t.pinned(callable)) + "() warns: " + torch_api::text_of_warning(watch.messages()));
  }
  if (result && is_of_regular_expressions(result.get())) return t.pinned(result.get());
  return t.fold(result.release());
}

}  // namespace vitrine::capture
