// Operators: on tensors they are recorded, on constants folded, on containers done on the shadow, on user
// objects they are their special methods.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

struct OperatorRow {
  const char *name, *method, *reflected, *sign;
};
constexpr OperatorRow kOperators[] = {
    {"add", "__add__", "__radd__", "+"},
    {"sub", "__sub__", "__rsub__", "-"},
    {"mul", "__mul__", "__rmul__", "*"},
    {"truediv", "__truediv__", "__rtruediv__", "/"},
    {"floordiv", "__floordiv__", "__rfloordiv__", "//"},
    {"mod", "__mod__", "__rmod__", "%"},
    {"pow", "__pow__", "__rpow__", "** or pow()"},
    {"matmul", "__matmul__", "__rmatmul__", "@"},
    {"lshift", "__lshift__", "__rlshift__", "<<"},
    {"rshift", "__rshift__", "__rrshift__", ">>"},
    {"and_", "__and__", "__rand__", "&"},
    {"or_", "__or__", "__ror__", "|"},
    {"xor", "__xor__", "__rxor__", "^"},
};
constexpr std::array<const char*, 6> kCompare = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr std::array<const char*, 6> kCompareMethod = {"__lt__", "__le__", "__eq__",
                                                       "__ne__", "__gt__", "__ge__"};

// "iadd" -> the row of "add", "and_" -> its own.
const OperatorRow* row_of(const std::string& op, bool* in_place) {
  for (const OperatorRow& row : kOperators) {
    const std::string plain = row.name;
    std::string augmented = "i" + plain;
    if (augmented.back() == '_') augmented.pop_back();
    if (op == plain || op == augmented) {
      *in_place = op == augmented;
      return &row;
    }
  }
  return nullptr;
}

std::string sign_of(const OperatorRow& row, bool in_place) {
  const std::string sign = row.sign;
  return in_place ? sign.substr(0, sign.find(' ')) + "=" : sign;
}

}  // namespace

// A complex number beside a tensor of one or more dimensions and a floating or complex type: a 0-d tensor
// does the same there, and has a place in a graph. nullptr: other values.
Value* Tracer::complex_beside(Value* number, Value* tensor) {
  if (number->kind != Kind::Constant || !PyComplex_CheckExact(number->obj) || tensor->kind != Kind::Tensor)
    return nullptr;
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (type.sizes.empty() || !(ir::is_float(type.dtype) || ir::is_complex(type.dtype))) return nullptr;
  return literal(find_object("torch.tensor"),
                 {{number}, {{"dtype", pinned(find_object("torch.complex128"))}}});
}

Value* Tracer::binary(const std::string& op, Value* a, Value* b) {
  bool in_place = false;
  const OperatorRow* row = row_of(op, &in_place);
  VITRINE_CHECK(row, "unknown operator " + op);
  if (Value* open = size_float(torch_names().operator_function(row->name), {a, b})) return open;
  if (Value* open = float_binary(row->name, in_place, a, b)) return open;
  if (Value* open = derived_float(torch_names().operator_function(row->name), {a, b})) return open;
  if (Value* list = op == "iadd" ? extend_symbolic_list(a, b) : nullptr) return list;
  a = peek(a);
  b = peek(b);
  const TorchNames& torch = torch_names();
  if (a->kind == Kind::Tensor || b->kind == Kind::Tensor) {
    const bool other_is_user = (a->kind == Kind::Object || b->kind == Kind::Object);
    // A number to PyTorch, whatever operators its class has.
    if (b->kind == Kind::Object &&
        (PyType_IsSubtype(b->cls, &PyLong_Type) || PyType_IsSubtype(b->cls, &PyFloat_Type)))
      stop("unsupported_value", op + " of a tensor and a " + describe(b));
    if (!other_is_user) {
      if (Value* number = complex_beside(b, a)) b = number;
      if (Value* number = complex_beside(a, b)) a = number;
      // x += y on something that is no tensor makes a new value, as Python does.
      const std::string name = in_place && a->kind != Kind::Tensor ? row->name : op;
      return torch_call("operator." + name, torch.operator_function(name), {{a, b}, {}});
    }
  }
  if (a->kind == Kind::Symbol || b->kind == Kind::Symbol) {
    if (Value* open = symbolic_binary(row->name, a, b)) return open;
    a = look(a);
    b = look(b);
  }
  if (a->kind == Kind::Constant && b->kind == Kind::Constant) {
    if (Value* result = numpy_operator(row->name, a->obj, b->obj)) return result;
    return fold(PyObject_CallFunctionObjArgs(torch.operator_function(row->name), a->obj, b->obj, nullptr));
  }
  if (Value* result = own_binary(row->method, row->reflected, in_place, a, b)) return result;
  if ((a->kind == Kind::List && a->cls == torch.deque) || (b->kind == Kind::List && b->cls == torch.deque)) {
    if (a->cls != torch.deque || op != "iadd")
      stop("unsupported_value", op + " of " + describe(a) + " and " + describe(b));
    call_method(a, "extend", {{b}, {}});
    return a;
  }
  if (a->kind == Kind::List && op == "iadd") {
    extend_list(a, b);
    return a;
  }
  const bool sequences =
      (a->kind == Kind::List && b->kind == Kind::List) || (a->kind == Kind::Tuple && b->kind == Kind::Tuple);
  const bool views = a->kind == Kind::Tuple && (a->owner || b->owner);  // of dicts: they have no order
  if (sequences && !views && std::string(row->name) == "add") {
    guard_length(a);
    guard_length(b);
    // torch.Size has its own rule for the type of the sum.
    PyTypeObject* type = nullptr;
    if (a->cls == torch.size || b->cls == torch.size) {
      Owned left(hints_of(a)), right(hints_of(b)), sum;
      if (left && right)
        sum = Owned(
            PyObject_CallFunctionObjArgs(torch.operator_function("add"), left.get(), right.get(), nullptr));
      if (left && right && !sum) raise_python();
      if (sum && Py_TYPE(sum.get()) == torch.size) type = torch.size;
    }
    if (is_plain_tuple(a) && is_plain_tuple(b) && (a->items.empty() || b->items.empty()))
      return a->items.empty() ? b : a;
    Values items = a->items;
    items.insert(items.end(), b->items.begin(), b->items.end());
    return sequence(a->kind, std::move(items), type);
  }
  if (std::string(row->name) == "mul") {
    Value* s = a->kind == Kind::List || a->kind == Kind::Tuple ? a : b;
    Value* n = s == a ? b : a;
    if ((s->kind == Kind::List || s->kind == Kind::Tuple) && !s->owner && n->kind == Kind::Constant) {
      guard_length(s);
      if (is_plain_tuple(s) && int_of(n, "a repeat count") == 1) return s;
      Values items;
      const int64_t times = int_of(n, "a repeat count");
      if (times > 0 && s->items.size() > kEndless / static_cast<size_t>(times))
        stop("limit", "a sequence of very many elements is made",
             "Make a tensor of them, with torch.full() or repeat().");
      for (int64_t i = times; i > 0; --i) items.insert(items.end(), s->items.begin(), s->items.end());
      if (in_place && s == a && s->kind == Kind::List) {
        touch(s);
        s->items = std::move(items);
        return s;
      }
      return sequence(s->kind, std::move(items));
    }
  }
  if (std::string(row->name) == "or_" && a->kind == Kind::Dict && b->kind == Kind::Dict) {
    Value* target = a;
    const auto native_or = [](const Value* v) { return v->cls->tp_as_number->nb_or; };
    if (!in_place && (PyType_IsSubtype(a->cls, torch.default_dict) ||
                      (native_or(a) != native_or(b) && native_or(b) != PyDict_Type.tp_as_number->nb_or)))
      stop("unsupported_value", "the union of " + describe(a) + " and " + describe(b));
    if (!in_place) {
      // dict's own operator gives a dict; OrderedDict's and defaultdict's, one of their class.
      const bool by_dict = a->cls->tp_as_number->nb_or == PyDict_Type.tp_as_number->nb_or;
      target = new_dict(by_dict ? nullptr : a->cls);
      dict_update(target, a);
    }
    dict_update(target, b);
    return target;
  }
  if (has_no_operators(a) && has_no_operators(b))
    raise(PyExc_TypeError,
          std::string("unsupported operand type(s) for ") + sign_of(*row, in_place) + ": '" +
              type_of(a)->tp_name + "' and '" + type_of(b)->tp_name + "'",
          true);
  Owned left(constant_tree(a)), right(constant_tree(b));
  PyErr_Clear();
  const bool set_changes = in_place && a->kind == Kind::Set && b->kind == Kind::Set && a->cls == &PySet_Type;
  if (left && right && (!in_place || set_changes)) {
    Value* result = fold(
        PyObject_CallFunctionObjArgs(torch.operator_function(row->name), left.get(), right.get(), nullptr));
    if (!set_changes) return result;
    const uint64_t before = a->version;
    touch(a);
    a->items = result->items;
    const std::string method = row->method;  // "__or__"
    const char* in_place_method = method == "__or__"    ? "__ior__"
                                  : method == "__and__" ? "__iand__"
                                  : method == "__sub__" ? "__isub__"
                                                        : "__ixor__";
    note_set_change(a, before, in_place_method, right.get());
    return a;
  }
  stop("unsupported_value", std::string(row->name) + " of " + describe(a) + " and " + describe(b));
}

// What the program's own classes say about an operator, also those that derive from list or tuple. nullptr:
// nothing.
Value* Tracer::own_binary(const std::string& method, const char* reflected, bool in_place, Value* a,
                          Value* b) {
  if (in_place && may_have_methods(a))
    if (PyObject* own = python_method(type_of(a), ("__i" + method.substr(2)).c_str()))
      if (Value* result = call_special(a, own, {b}); const_object(result) != Py_NotImplemented) return result;
  // A list has its own +=, which its class's + does not replace.
  const bool grows = in_place && (a->kind == Kind::List || a->kind == Kind::Dict || a->kind == Kind::Set);
  if (grows && lookup(type_of(a), "__i" + method.substr(2))) return nullptr;
  return user_binary(method.c_str(), reflected, a, b);
}

// The last word on an operator of which neither side knows anything: numbers, None, and objects of plain
// classes.
bool Tracer::has_no_operators(Value* v) {
  if (v->kind == Kind::Constant)
    return v->obj == Py_None || PyLong_Check(v->obj) || PyFloat_CheckExact(v->obj);
  if (v->kind != Kind::Object) return false;
  for (PyTypeObject* type = type_of(v); type; type = type->tp_base)
    if (type != &PyBaseObject_Type && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  return true;
}

// a.method(b), then b.reflected(a); the other way round when b's class derives from a's and has its own
// reflected method, and only the first when both are of one class. nullptr: neither knows.
Value* Tracer::user_binary(const char* method, const char* reflected, Value* a, Value* b) {
  PyObject* first = may_have_methods(a) ? python_method(type_of(a), method) : nullptr;
  PyObject* second = may_have_methods(b) ? python_method(type_of(b), reflected) : nullptr;
  if (may_have_methods(a) && may_have_methods(b) && a->cls == b->cls) second = nullptr;
  const bool swapped = second && may_have_methods(a) && PyType_IsSubtype(b->cls, a->cls) &&
                       python_method(a->cls, reflected) != second;
  for (const bool right : {swapped, !swapped}) {
    PyObject* function = right ? second : first;
    if (!function) continue;
    Value* result = call_special(right ? b : a, function, {right ? a : b});
    if (const_object(result) != Py_NotImplemented) return result;
  }
  return nullptr;
}

Value* Tracer::unary(const std::string& op, Value* a) {
  if (Value* open = size_float(torch_names().operator_function(op), {a})) return open;
  if (Value* open = op == "neg" ? float_negated(a) : nullptr) return open;
  if (Value* open = derived_float(torch_names().operator_function(op), {a})) return open;
  a = peek(a);
  if (a->kind == Kind::Symbol && op == "neg") return symbol_value(-a->sym);
  if (a->kind == Kind::Symbol && op == "invert") return symbol_value(-a->sym - ir::Sym(1));
  a = look(a);
  PyObject* function = torch_names().operator_function(op);
  if (a->kind == Kind::Tensor) return torch_call("operator." + op, function, {{a}, {}});
  if (a->kind == Kind::Constant) {
    if (Value* result = numpy_operator(op, a->obj, nullptr)) return result;
    return fold(PyObject_CallOneArg(function, a->obj));
  }
  if (PyObject* method =
          a->kind == Kind::Object ? python_method(type_of(a), ("__" + op + "__").c_str()) : nullptr)
    return call_special(a, method, {});
  stop("unsupported_value", op + " of " + describe(a));
}

// Of integers CPython keeps these.
static bool is_one_object(PyObject* number) {
  if (!PyLong_CheckExact(number)) return false;
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(number, &overflow);
  return overflow == 0 && value >= -5 && value <= 256;
}

bool Tracer::same(Value* a, Value* b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return true;
  // `x is None` needs only the type when x is something else.
  for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}})
    if (other->kind == Kind::Constant && other->obj == Py_None) return is_none(one);
  a = look(a);
  b = look(b);
  if (a == b) return true;
  // CPython keeps one reference an object.
  if (a->cls == &_PyWeakref_RefType && b->cls == &_PyWeakref_RefType && (!a->obj || !b->obj))
    stop("unsupported_value", "the identity of a weak reference made here");
  if (a->kind == Kind::Constant && b->kind == Kind::Constant) {
    if (a->obj == b->obj) return true;
    // Numbers and text made by folding have no certain identity.
    const bool fuzzy =
        Py_TYPE(a->obj) == Py_TYPE(b->obj) &&
        (PyLong_Check(a->obj) || PyFloat_Check(a->obj) || PyUnicode_Check(a->obj) || PyTuple_Check(a->obj) ||
         PyComplex_Check(a->obj) || PyBytes_Check(a->obj) || is_numpy_number(a->obj));
    if (fuzzy && !PyBool_Check(a->obj)) {
      const int equal = PyObject_RichCompareBool(a->obj, b->obj, Py_EQ);
      if (equal < 0) raise_python();
      if (!equal) return false;
      if (is_one_object(a->obj)) return true;
      stop("unsupported_value", "the identity of equal constants");
    }
    return false;
  }
  if (is_plain_tuple(a) && is_plain_tuple(b) && a->items.empty() && b->items.empty()) {  // there is but one
    guard_length(a);
    guard_length(b);
    return true;
  }
  // Two objects that existed before: they are different now, and must be next time.
  if (a->source && b->source && a->kind == b->kind && !(a->pinned && b->pinned))
    guard(GuardKind::DifferentObject, a->source, nullptr, 0, "", b->source, "is not " + b->source->text());
  // Of another type than what it is compared with, now and next time.
  if (a->kind != b->kind)
    for (Value* v : {a, b})
      if (v->source && !v->pinned) type_of(v);
  return false;
}

// a.method(b), then b's reflected; the other way round when b's class derives from a's. nullptr: neither
// knows.
Value* Tracer::user_compare(int op, Value* a, Value* b) {
  const auto row = static_cast<size_t>(op), reflected = std::array<size_t, 6>{4, 5, 2, 3, 0, 1}[row];
  const bool swapped =
      may_have_methods(a) && may_have_methods(b) && a->cls != b->cls && PyType_IsSubtype(b->cls, a->cls);
  for (const bool right : {swapped, !swapped}) {
    Value *self = right ? b : a, *other = right ? a : b;
    if (!may_have_methods(self)) continue;
    PyObject* method = python_method(type_of(self), kCompareMethod[right ? reflected : row]);
    // object.__ne__ asks __eq__.
    PyObject* inverse = !method && op == Py_NE ? python_method(self->cls, "__eq__") : nullptr;
    if (!method && !inverse) continue;
    Value* result = call_special(self, method ? method : inverse, {other});
    if (const_object(result) != Py_NotImplemented) return method ? result : boolean(!truth(result));
  }
  return nullptr;
}

Value* Tracer::compare(int op, Value* a, Value* b) {
  if (Value* answer = float_compare(op, a, b)) return answer;
  if (Value* answer = float_beside_tensor(kCompare[static_cast<size_t>(op)], a, b)) return answer;
  a = peek(a);
  b = peek(b);
  if (a->kind == Kind::Symbol || b->kind == Kind::Symbol) {
    if (Value* answer = symbolic_compare(op, a, b)) return answer;
    if (a->kind != Kind::Tensor) a = b->kind == Kind::Tensor ? a : look(a);
    if (b->kind != Kind::Tensor) b = a->kind == Kind::Tensor ? b : look(b);
  }
  const auto row = static_cast<size_t>(op);
  PyObject* function = torch_names().operator_function(kCompare[row]);
  if (a->kind == Kind::Tensor || b->kind == Kind::Tensor) {
    Value* other = a->kind == Kind::Tensor ? b : a;
    const bool number =
        other->kind == Kind::Tensor || other->kind == Kind::Symbol ||
        (other->kind == Kind::Constant && PyNumber_Check(other->obj) && !PyType_Check(other->obj));
    if (number) return torch_call(std::string("operator.") + kCompare[row], function, {{a, b}, {}});
    // Tensor.__eq__ gives up on None, text, lists: identity is left.
    if (other->kind == Kind::Constant && (op == Py_EQ || op == Py_NE)) return boolean(op == Py_NE);
    stop("unsupported_value", "comparison of a tensor with " + describe(other));
  }
  if (a->kind == Kind::Constant && b->kind == Kind::Constant)
    return fold(PyObject_RichCompare(a->obj, b->obj, op));
  if (Value* result = user_compare(op, a, b)) return result;
  if (op == Py_EQ || op == Py_NE) return boolean(equal(a, b) == (op == Py_EQ));
  Owned left(constant_tree(a)), right(constant_tree(b));
  PyErr_Clear();
  if (left && right) return fold(PyObject_RichCompare(left.get(), right.get(), op));
  const bool one_deque = (a->cls == torch_names().deque) != (b->cls == torch_names().deque);
  if ((a->kind == Kind::Tuple || a->kind == Kind::List) && a->kind == b->kind && !a->owner && !b->owner &&
      !one_deque) {
    guard_length(a);
    guard_length(b);
    const size_t shorter = std::min(a->items.size(), b->items.size());
    for (size_t i = 0; i < shorter; ++i)  // the first two that differ decide
      if (look(a->items[i]) != look(b->items[i]) && !equal(a->items[i], b->items[i]))
        return compare(op, a->items[i], b->items[i]);
    return compare(op, integer(static_cast<int64_t>(a->items.size())),
                   integer(static_cast<int64_t>(b->items.size())));
  }
  stop("unsupported_value", "comparison of " + describe(a) + " with " + describe(b));
}

// Whether a comparison of the items may be noticed. CPython compares tuples of different lengths item by
// item.
static bool any_is_asked(const Value& sequence) {
  return std::any_of(sequence.items.begin(), sequence.items.end(), [](const Value* item) {
    while (item->forward) item = item->forward;
    return item->kind == Kind::Lazy || item->kind == Kind::Tensor || may_have_methods(item);
  });
}

bool Tracer::equal(Value* a, Value* b) {
  const Nested nested(nesting_);
  a = look(a);
  b = look(b);
  if (a == b && a->kind != Kind::Tensor) {
    if (a->kind != Kind::Constant || !PyFloat_Check(a->obj)) return true;
  }
  if (a->kind == Kind::Constant && b->kind == Kind::Constant) {
    Owned result(PyObject_RichCompare(a->obj, b->obj, Py_EQ));
    if (!result) raise_python();
    const int yes = PyObject_IsTrue(result.get());
    if (yes < 0) raise_python();
    return yes;
  }
  // Views of a dict: keys compare as sets do.
  const auto is_view = [](Value* v) { return v->kind == Kind::Tuple && v->owner; };
  const auto is_keys = [&](Value* v) { return is_view(v) && v->cls == &PyDictKeys_Type; };
  if (is_view(a) || is_view(b)) {
    if (!((is_keys(a) || a->kind == Kind::Set) && (is_keys(b) || b->kind == Kind::Set)))
      stop("unsupported_value", "comparison of " + describe(a) + " with " + describe(b));
    if (length(a) != length(b)) return false;
    for (Value* item : a->items)
      if (is_keys(b) ? !dict_get(b->owner, item) : !contains(b, item)) return false;
    return true;
  }
  const bool sequences =
      (a->kind == Kind::List && b->kind == Kind::List) || (a->kind == Kind::Tuple && b->kind == Kind::Tuple);
  if (sequences && (a->cls == torch_names().deque) != (b->cls == torch_names().deque)) return false;
  if (sequences) {
    const bool longer = length(a) != length(b);
    if (longer && (a->kind == Kind::List || !(any_is_asked(*a) || any_is_asked(*b)))) return false;
    for (size_t i = 0; i < std::min(a->items.size(), b->items.size()); ++i)
      if (!same_or_equal(a->items[i], b->items[i])) return false;
    return !longer;
  }
  if (a->kind == Kind::Dict && b->kind == Kind::Dict) {
    if (length(a) != length(b)) return false;
    const auto ordered = [](Value* v) { return PyType_IsSubtype(v->cls, torch_names().ordered_dict); };
    if (ordered(a) && ordered(b)) {  // their order counts
      const auto in_b = dict_entries(b);
      size_t at = 0;
      for (const auto& entry : dict_entries(a))
        if (!truth(compare(Py_EQ, entry.first, in_b[at++].first))) return false;
    }
    for (auto [key, value] : dict_entries(a)) {
      Value* other = dict_get(b, key);
      if (!other) return false;
      if (!same_or_equal(value, other)) return false;
    }
    return true;
  }
  Owned left(constant_tree(a)), right(constant_tree(b));
  PyErr_Clear();
  if (left && right) {
    const int yes = PyObject_RichCompareBool(left.get(), right.get(), Py_EQ);
    if (yes < 0) raise_python();
    return yes;
  }
  const auto by_identity = [](Value* v) {
    return v->kind == Kind::Function ||
           (v->kind == Kind::Object && v->cls->tp_richcompare == PyBaseObject_Type.tp_richcompare);
  };
  if (by_identity(a) && by_identity(b)) return same(a, b);
  const auto builtin = [](Value* v) {
    return v->kind == Kind::List || v->kind == Kind::Tuple || v->kind == Kind::Dict ||
           v->kind == Kind::Constant || v->kind == Kind::Set;
  };
  if (is_regular_expression(a) && is_regular_expression(b))
    return PyObject_RichCompareBool(known_object(a), known_object(b), Py_EQ) == 1;
  const auto by_itself = [&](Value* v) { return by_identity(v) || is_regular_expression(v); };
  if ((by_itself(a) && builtin(b)) || (builtin(a) && by_itself(b))) return false;
  if (builtin(a) && builtin(b) && a->kind != b->kind) return false;
  stop("unsupported_value", "comparison of " + describe(a) + " with " + describe(b));
}

// As containers compare: an object is found without being asked.
bool Tracer::same_or_equal(Value* candidate, Value* item) {
  if (resolve(candidate) == resolve(item)) return true;
  Value *a = peek(candidate), *b = peek(item);
  const auto is_nan = [](const Value* v) {
    return v->kind == Kind::Constant && PyFloat_Check(v->obj) && std::isnan(PyFloat_AS_DOUBLE(v->obj));
  };
  if (a != b && is_nan(a) && is_nan(b)) stop("unsupported_value", "whether a nan is the same object");
  return a == b || truth(compare(Py_EQ, a, b));
}

bool Tracer::contains(Value* container, Value* item) {
  container = look(container);
  if (container->kind == Kind::Tensor)
    stop("data_dependent_branch", "`in` a tensor reads its elements",
         "Use (a == b).any() as a tensor, in torch.where.");
  if (container->cls && container->kind != Kind::Constant)
    if (PyObject* method = python_method(type_of(container), "__contains__"))
      return truth(call_special(container, method, {item}));
  switch (container->kind) {
    case Kind::Dict:
      return dict_get(container, item) != nullptr;
    case Kind::Tuple:
    case Kind::List:
      guard_length(container);
      return std::any_of(container->items.begin(), container->items.end(),
                         [&](Value* candidate) { return same_or_equal(candidate, item); });
    case Kind::Set: {
      PyObject* key = key_object(item);
      check_own_keys(container->obj != nullptr, container->items, item);
      return std::any_of(container->items.begin(), container->items.end(),
                         [&](Value* candidate) { return same_key(key_object(candidate), key); });
    }
    case Kind::Constant: {
      Owned key(constant_tree(item));
      PyErr_Clear();
      if (!key) stop("unsupported_value", "`in` with " + describe(item));
      const int yes = PySequence_Contains(container->obj, key.get());
      if (yes < 0) raise_python();
      return yes;
    }
    case Kind::Object:
    case Kind::Iterator:
    case Kind::Generator: {
      Value* iterator = iter(container);
      while (Value* candidate = next(iterator))
        if (same_or_equal(candidate, item)) return true;
      return false;
    }
    default:
      stop("unsupported_value", "`in` " + describe(container));
  }
}

// What its class's __bool__ or __len__ says; -1: it has neither.
int Tracer::checked_truth(Value* v) {
  if (PyObject* method = python_method(type_of(v), "__bool__")) {
    Value* told = call_special(v, method, {});
    if (type_of(told) != &PyBool_Type) stop("exception", "__bool__ gives " + describe(told));
    return truth(told);
  }
  PyObject* method = python_method(v->cls, "__len__");
  return method ? checked_length(v, method) != 0 : -1;
}

int64_t Tracer::checked_length(Value* v, PyObject* method) {
  const int64_t n = int_of(call_special(v, method, {}), "len()");
  if (n < 0) raise(PyExc_ValueError, "__len__() should return >= 0", true);
  return n;
}

bool Tracer::truth(Value* v, const char* where) {
  v = resolve(v);
  if (Value* open = symbolic(v)) return symbolic_compare(Py_NE, open, integer(0))->obj == Py_True;
  if (Value* answer = float_compare(Py_NE, v, integer(0))) return answer->obj == Py_True;
  // A value whose type has no __bool__ or __len__ is true: the type is enough.
  if (made_anew(v) && type_of(v)) return true;
  v = look(v);
  switch (v->kind) {
    case Kind::Tensor:
      if (Value* known = known_number(v, "__bool__")) return known->obj == Py_True;
      stop(where, std::string(where) == std::string("data_dependent_branch")
                      ? "the branch depends on the value of a tensor (" + describe(v) + ")"
                      : "the value of a tensor is read (" + describe(v) + ")");
    case Kind::Constant: {
      const int yes = PyObject_IsTrue(v->obj);
      if (yes < 0) raise_python();
      return yes;
    }
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
      if (const int told = checked_truth(v); told >= 0) return told;
      return length(v) != 0;
    case Kind::Object: {
      PyTypeObject* type = type_of(v);
      if (const int told = checked_truth(v); told >= 0) return told;
      pin_type(type);
      const bool own = (type->tp_as_number && type->tp_as_number->nb_bool) ||
                       (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                       (type->tp_as_sequence && type->tp_as_sequence->sq_length);
      if (own) stop("unsupported_value", "the truth of a " + describe(v));
      return true;
    }
    default:
      return true;
  }
}

}  // namespace vitrine::capture
