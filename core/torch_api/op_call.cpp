#include "core/torch_api/op_call.h"

#include <Python.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/ops/node.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/python_names.h"
#include "core/torch_api/sym_node.h"

namespace vitrine::torch_api {

namespace {

// Owns one reference.
struct Object {
  PyObject* p = nullptr;
  explicit Object(PyObject* o) : p(o) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { Py_XDECREF(p); }
  explicit operator bool() const { return p != nullptr; }
};

// Owns the GIL for a scope that a destructor may reach without it.
struct Gil {
  PyGILState_STATE state = PyGILState_Ensure();
  ~Gil() { PyGILState_Release(state); }
};

PyObject* torch_attribute(std::string_view dotted) {  // "torch.strided" -> object; new reference
  PyObject* at = Py_NewRef(kept(Name::torch));
  size_t pos = dotted.find('.');
  while (at && pos != std::string_view::npos) {
    size_t end = dotted.find('.', pos + 1);
    std::string part(dotted.substr(pos + 1, end == std::string_view::npos ? end : end - pos - 1));
    PyObject* next = PyObject_GetAttrString(at, part.c_str());
    Py_DECREF(at);
    at = next;
    pos = end;
  }
  return at;
}

PyObject* constant_object(const ir::Arg& arg) {  // new reference; nullptr with a Python error set
  if (arg.is_none()) Py_RETURN_NONE;
  if (arg.is<bool>()) return PyBool_FromLong(arg.as<bool>());
  if (arg.is<int64_t>()) return sym_int(arg.as<ir::Sym>());
  if (arg.is<double>()) return PyFloat_FromDouble(arg.as<double>());
  if (arg.is<std::string>()) return PyUnicode_FromString(arg.as<std::string>().c_str());
  if (arg.is<ir::DType>())
    return torch_attribute("torch." + std::string(ir::dtype_torch_name(arg.as<ir::DType>())));
  if (arg.is<ir::Word>()) {
    const std::string& text = arg.as<ir::Word>().text;
    if (PyObject* number = complex_of(text)) return number;
    return text.rfind("torch.", 0) == 0 ? torch_attribute(text) : PyUnicode_FromString(text.c_str());
  }
  if (arg.is<std::vector<ir::Arg>>()) {
    const auto& list = arg.as<std::vector<ir::Arg>>();
    PyObject* out = PyList_New(static_cast<Py_ssize_t>(list.size()));
    for (size_t i = 0; out && i < list.size(); ++i) {
      PyObject* item = constant_object(list[i]);
      if (!item) Py_CLEAR(out);
      if (out) PyList_SET_ITEM(out, static_cast<Py_ssize_t>(i), item);
    }
    return out;
  }
  PyErr_SetString(PyExc_TypeError, "a tensor where a constant belongs");
  return nullptr;
}

bool has_ref(const ir::Arg& arg) {
  bool found = false;
  ir::each_ref(arg, [&](ir::Ref) { found = true; });
  return found;
}

void collect(PyObject* value, std::vector<PyObject*>& outputs) {
  if (value == Py_None) {
    outputs.push_back(nullptr);
  } else if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      collect(PySequence_Fast_GET_ITEM(value, i), outputs);
  } else if (is_tensor(value)) {
    outputs.push_back(Py_NewRef(value));
  }  // numbers are no tensor output
}

void add_unique(std::vector<int32_t>& list, const std::vector<int32_t>& more) {
  for (int32_t s : more)
    if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(s);
}

}  // namespace

void retain(_object* o) {
  Py_XINCREF(o);
}
void drop(_object* o) {
  if (o && Py_IsInitialized()) Py_DECREF(o);  // a plan may outlive the interpreter
}

PendingError::PendingError() {
  PyErr_Fetch(&type_, &value_, &trace_);
}
PendingError::~PendingError() {
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(trace_);
}
void PendingError::restore() {
  PyErr_Restore(type_, value_, trace_);
  type_ = value_ = trace_ = nullptr;
}
std::string PendingError::text() const {
  if (!type_) return "";
  Object shown(value_ ? PyObject_Str(value_) : nullptr);
  const char* text = shown ? PyUnicode_AsUTF8(shown.p) : nullptr;
  PyErr_Clear();
  std::string name = PyExceptionClass_Name(type_);
  return text && *text ? name + ": " + text : name;
}

void set_python_error(const std::string& text) {
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}
void set_index_error(const std::string& text) {
  PyErr_SetString(PyExc_IndexError, text.c_str());
}

Result<_object*> to_python(const ir::Arg& arg) {
  PyObject* out = constant_object(arg);
  if (!out) return Error{"an argument has no Python form: " + PendingError().text()};
  return out;
}

Status PreparedOp::convert(const ir::Arg& arg, const std::function<int32_t(ir::Ref)>& slot_of, Item& item) {
  if (arg.is<ir::Ref>()) {
    item.slot = slot_of(arg.as<ir::Ref>());
    return {};
  }
  if (has_ref(arg)) {
    for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>())
      if (Status failed = convert(a, slot_of, item.list.emplace_back())) return failed;
    return {};
  }
  auto constant = to_python(arg);
  if (!constant) return constant.error();
  item.constant = constant.value();
  return {};
}

void PreparedOp::each_slot(const Item& item, std::vector<int32_t>& slots) {
  if (item.slot >= 0) slots.push_back(item.slot);
  for (const Item& i : item.list) each_slot(i, slots);
}

// What the schema says about writes and aliases. An operator whose schema cannot be read counts as writing
// and returning every tensor it is given: then nothing is assumed of it.
void PreparedOp::read_schema(_object* overload, const ir::Node& node) {
  Object schema(PyObject_GetAttrString(overload, "_schema"));
  Object arguments(schema ? PyObject_GetAttrString(schema.p, "arguments") : nullptr);
  Object returns(schema ? PyObject_GetAttrString(schema.p, "returns") : nullptr);
  Object args(arguments ? PySequence_Fast(arguments.p, "") : nullptr);
  Object rets(returns ? PySequence_Fast(returns.p, "") : nullptr);
  bool returns_alias = false, known = args && rets;
  for (Py_ssize_t i = 0; known && i < PySequence_Fast_GET_SIZE(rets.p); ++i) {
    Object alias(PyObject_GetAttrString(PySequence_Fast_GET_ITEM(rets.p, i), "alias_info"));
    known = static_cast<bool>(alias);
    returns_alias = returns_alias || (alias && alias.p != Py_None);
  }
  for (Py_ssize_t i = 0; known && i < PySequence_Fast_GET_SIZE(args.p); ++i) {
    PyObject* arg = PySequence_Fast_GET_ITEM(args.p, i);
    Object alias(PyObject_GetAttrString(arg, "alias_info"));
    Object name(PyObject_GetAttrString(arg, "name"));
    if (!alias || !name) {
      known = false;
      break;
    }
    if (alias.p == Py_None) continue;
    std::vector<int32_t> slots;
    if (static_cast<size_t>(i) < positional_) each_slot(items_[static_cast<size_t>(i)], slots);
    for (size_t k = 0; k < node.kwargs.size(); ++k)
      if (PyUnicode_CompareWithASCIIString(name.p, node.kwargs[k].first.c_str()) == 0)
        each_slot(items_[positional_ + k], slots);
    Object write(PyObject_GetAttrString(alias.p, "is_write"));
    if (!write || PyObject_IsTrue(write.p)) add_unique(mutates_, slots);
    if (returns_alias) add_unique(aliases_, slots);
  }
  if (!known) mutates_ = aliases_ = reads_;
  Object tags(PyObject_GetAttrString(overload, "tags"));
  Object seeded(torch_attribute("torch.Tag.nondeterministic_seeded"));
  random_ = tags && seeded && PySequence_Contains(tags.p, seeded.p) == 1;
  PyErr_Clear();
}

// What PyTorch's own functions call: they read their arguments faster than an overload, which looks at its
// schema each time. It has the overload's parameters and no other overload.
static PyObject* own_function(std::string_view op) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOwn = {{
      {"aten.scaled_dot_product_attention.default", "torch._C._nn.scaled_dot_product_attention"},
      {"aten.topk.default", "torch._C._VariableFunctions.topk"},
      {"aten.cumsum.default", "torch._C._VariableFunctions.cumsum"},
  }};
  for (const auto& [name, place] : kOwn)
    if (name == op) return torch_attribute(place);
  return nullptr;
}

Result<std::unique_ptr<PreparedOp>> PreparedOp::make(const ir::Node& node,
                                                     const std::function<int32_t(ir::Ref)>& slot_of) {
  auto found = find_op(node.op);
  if (!found) return found.error();
  std::unique_ptr<PreparedOp> op(new PreparedOp);
  // `_op` is the bound function below OpOverload.__call__: one Python frame less a call.
  op->callable_ = own_function(node.op);
  if (!op->callable_) {
    PyErr_Clear();
    op->callable_ = PyObject_GetAttrString(found.value().overload, "_op");
  }
  if (!op->callable_) {
    PyErr_Clear();
    op->callable_ = Py_NewRef(found.value().overload);
  }
  op->positional_ = node.args.size();
  for (const ir::Arg& arg : node.args)
    if (Status failed = op->convert(arg, slot_of, op->items_.emplace_back())) return *failed;
  if (!node.kwargs.empty()) {
    op->keyword_names_ = PyTuple_New(static_cast<Py_ssize_t>(node.kwargs.size()));
    for (size_t i = 0; i < node.kwargs.size(); ++i) {
      PyTuple_SET_ITEM(op->keyword_names_, static_cast<Py_ssize_t>(i),
                       PyUnicode_InternFromString(node.kwargs[i].first.c_str()));
      if (Status failed = op->convert(node.kwargs[i].second, slot_of, op->items_.emplace_back()))
        return *failed;
    }
  }
  for (const Item& item : op->items_) {
    std::vector<int32_t> slots;
    each_slot(item, slots);
    add_unique(op->reads_, slots);
  }
  op->read_schema(found.value().overload, node);
  const std::vector<ir::Ref> counted = ops::counted(node);
  for (ir::Ref r : ops::written(node))
    if (std::find(counted.begin(), counted.end(), r) == counted.end()) op->quiet_.push_back(slot_of(r));
  return op;
}

PreparedOp::Item PreparedOp::copy(const Item& from) {
  Item item{Py_XNewRef(from.constant), from.slot, {}};
  for (const Item& each : from.list) item.list.push_back(copy(each));
  return item;
}

Result<std::unique_ptr<PreparedOp>> PreparedOp::with_numbers(const ir::Node& node) const {
  std::unique_ptr<PreparedOp> op(new PreparedOp);
  op->callable_ = Py_NewRef(callable_);
  op->keyword_names_ = Py_XNewRef(keyword_names_);
  op->positional_ = positional_;
  op->reads_ = reads_, op->mutates_ = mutates_, op->quiet_ = quiet_, op->aliases_ = aliases_;
  op->random_ = random_;
  op->items_.reserve(items_.size());
  for (const Item& item : items_) op->items_.push_back(copy(item));
  if (Status failed = op->renumber(node)) return *failed;
  return op;
}

Status PreparedOp::renumber(Item& item, const ir::Arg& arg) {
  for (size_t i = 0; i < item.list.size(); ++i)
    if (Status failed = renumber(item.list[i], arg.as<std::vector<ir::Arg>>().at(i))) return failed;
  const bool numbers = arg.is<int64_t>() || arg.is<double>() || arg.is<std::vector<ir::Arg>>();
  if (!item.constant || !numbers) return {};
  auto constant = to_python(arg);
  if (!constant) return constant.error();
  Py_SETREF(item.constant, constant.value());
  return {};
}

Status PreparedOp::renumber(const ir::Node& node) {
  if (node.args.size() != positional_ || positional_ + node.kwargs.size() != items_.size())
    return Error{"another call of " + node.op};
  for (size_t i = 0; i < items_.size(); ++i)
    if (Status failed =
            renumber(items_[i], i < positional_ ? node.args[i] : node.kwargs[i - positional_].second))
      return failed;
  return {};
}

void PreparedOp::release(Item& item) {
  Py_CLEAR(item.constant);
  for (Item& i : item.list) release(i);
}

PreparedOp::~PreparedOp() {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the objects with it
  Gil gil;
  Py_XDECREF(callable_);
  Py_XDECREF(keyword_names_);
  for (Item& item : items_) release(item);
}

_object* PreparedOp::build(const Item& item, _object* const* values) {
  if (item.slot >= 0) return Py_NewRef(values[item.slot]);
  if (item.constant) return Py_NewRef(item.constant);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(item.list.size()));
  for (size_t i = 0; list && i < item.list.size(); ++i) {
    PyObject* element = build(item.list[i], values);
    if (!element) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), element);
  }
  return list;
}

bool PreparedOp::call(_object* const* values, std::vector<_object*>& outputs) const {
  constexpr size_t kInline = 16;
  std::array<PyObject*, kInline + 1> fixed;
  std::vector<PyObject*> heap;
  if (items_.size() > kInline) heap.resize(items_.size() + 1);
  PyObject** stack =
      (heap.empty() ? fixed.data() : heap.data()) + 1;  // one spare word, as vectorcall likes it
  size_t lists = 0;                                     // built lists are ours; everything else is borrowed
  bool ok = true;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    stack[i] = item.slot >= 0 ? values[item.slot] : item.constant;
    if (stack[i]) continue;
    stack[i] = build(item, values);
    ok = ok && stack[i];
    ++lists;
  }
  PyObject* value = nullptr;
  if (ok)
    value =
        PyObject_Vectorcall(callable_, stack, positional_ | PY_VECTORCALL_ARGUMENTS_OFFSET, keyword_names_);
  for (size_t i = 0; lists && i < items_.size(); ++i)
    if (items_[i].slot < 0 && !items_[i].constant) Py_XDECREF(stack[i]);
  if (!value) return false;
  collect(value, outputs);
  Py_DECREF(value);
  return true;
}

}  // namespace vitrine::torch_api
