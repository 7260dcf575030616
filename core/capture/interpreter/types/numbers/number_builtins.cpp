// int, float, complex, bool, and the builtins that compute with numbers.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/data_sizes.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// What __int__ or __float__ gave has to be of that very type.
Value* exactly(Tracer& t, Value* v, const char* type) {
  if (reinterpret_cast<PyObject*>(type_of(t, v)) != find_object(std::string("builtins.") + type))
    stop("exception", std::string("__") + type + "__ gives " + describe(t, v));
  return v;
}

// int(x), float(x), bool(x), ...: of a tensor they read its value.
Value* number(Tracer& t, const Arguments& a, const char* type) {
  const bool is_int = std::string(type) == "int" && a.positional.size() == 1 && a.keyword.empty();
  if (Value* open = is_int ? symbolic(t, a.positional[0]) : nullptr) return open;
  if (Value* open = is_int ? size_integer(t, type, a.positional[0]) : nullptr) return open;
  const bool is_float = std::string(type) == "float" && a.positional.size() == 1 && a.keyword.empty();
  if (Value* open = is_float ? symbolic_float(t, a.positional[0]) : nullptr) return open;
  if (is_float)
    if (Value* open = pythons_float(t, reinterpret_cast<PyObject*>(&PyFloat_Type), a.positional)) return open;
  if (!a.positional.empty()) {
    Value* v = t.look(a.positional[0]);
    if (v->is(ValueKind::Tensor) && a.positional.size() == 1 && a.keyword.empty())
      if (Value* read = read_number(t, v, (std::string("__") + type + "__").c_str())) return read;
    if (v->is(ValueKind::Tensor))
      stop("scalar_read", std::string(type) + "() reads the value of a tensor (" + describe(t, v) + ")");
    if (v->is(ValueKind::Object) && std::string(type) != "complex")
      if (PyObject* m = python_method(t, type_of(t, v), (std::string("__") + type + "__").c_str()))
        return exactly(t, call_special(t, v, m, {}), type);
  }
  return fold_call(t, find_object(std::string("builtins.") + type), a);
}

Value* builtin_abs(Tracer& t, const Arguments& a) {
  if (Value* open = symbolic(t, need(t, a, 0)))
    return truth(t, compare(t, Py_GE, open, t.integer(0))) ? open : unary(t, "neg", open);
  if (Value* open = pythons_float(t, find_object("builtins.abs"), {a.positional[0]})) return open;
  Value* v = t.look(need(t, a, 0));
  if (v->is(ValueKind::Tensor)) return unary(t, "abs", v);
  if (Value* own = own_method(t, v, "__abs__")) return own;
  return fold_call(t, find_object("builtins.abs"), a);
}

Value* builtin_pow(Tracer& t, const Arguments& a) {
  if (a.positional.size() != 2 || !a.keyword.empty()) return fold_call(t, find_object("builtins.pow"), a);
  return binary(t, "pow", a.positional[0], a.positional[1]);
}

Value* builtin_divmod(Tracer& t, const Arguments& a) {
  for (Value* v : a.positional)
    if (peek(t, v)->is(ValueKind::Object)) {
      Value* own = v == a.positional[0] ? own_method(t, v, "__divmod__", {need(t, a, 1)}) : nullptr;
      if (own && const_object(t, own) != Py_NotImplemented) return own;
      stop("unsupported_builtin", "divmod() of " + describe(t, v));
    }
  bool known = true;
  for (Value* v : {need(t, a, 0), need(t, a, 1)}) {
    const bool constant = peek(t, v)->is(ValueKind::Constant);
    known &= constant;
    if (!constant && !symbolic(t, v) && !symbolic_float(t, v))
      stop("unsupported_builtin", "divmod() of " + describe(t, v));
  }
  if (known) return fold_call(t, find_object("builtins.divmod"), a);
  return t.tuple({binary(t, "floordiv", a.positional[0], a.positional[1]),
                  binary(t, "mod", a.positional[0], a.positional[1])});
}

Value* builtin_round(Tracer& t, const Arguments& a) {
  if (a.keyword.empty() && a.positional.size() == 2)
    if (Value* open = pythons_float(t, find_object("builtins.round"), a.positional)) return open;
  if (a.keyword.empty() && a.positional.size() == 1)
    if (Value* open = size_integer(t, "round", a.positional[0])) return open;
  if (Value* v = t.look(need(t, a, 0)); is_tensor(v)) {
    if (!lookup(type_of(t, v), "__round__"))
      t.raise(PyExc_TypeError,
              std::string("type ") + type_of(t, v)->tp_name + " doesn't define __round__ method", true);
    Arguments rest = a;
    rest.positional.erase(rest.positional.begin());
    if (!rest.positional.empty()) rest = {{}, {{"decimals", rest.positional[0]}}};
    return tensor_method(t, t.look(a.positional[0]), "round", nullptr, rest);
  }
  if (Value* own =
          own_method(t, a.positional[0], "__round__", {a.positional.begin() + 1, a.positional.end()}))
    return own;
  return fold_call(t, find_object("builtins.round"), a);
}

using T = Tracer;
using A = Arguments;
constexpr BuiltinRow kRows[] = {
    {"builtins.abs", builtin_abs},
    {"builtins.int", [](T& t, const A& a) { return number(t, a, "int"); }},
    {"builtins.float", [](T& t, const A& a) { return number(t, a, "float"); }},
    {"builtins.complex", [](T& t, const A& a) { return number(t, a, "complex"); }},
    {"builtins.bool",
     [](T& t, const A& a) {
       return t.boolean(!a.positional.empty() && truth(t, a.positional[0], "scalar_read"));
     }},
    {"builtins.round", builtin_round},
    {"builtins.pow", builtin_pow},
    {"builtins.divmod", builtin_divmod},
    {"builtins.bin", [](T& t, const A& a) { return fold_call(t, find_object("builtins.bin"), a); }},
    {"builtins.oct", [](T& t, const A& a) { return fold_call(t, find_object("builtins.oct"), a); }},
    {"builtins.hex", [](T& t, const A& a) { return fold_call(t, find_object("builtins.hex"), a); }},
};

}  // namespace

std::span<const BuiltinRow> number_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
