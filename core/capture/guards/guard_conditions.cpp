// What each guard kind asks, and how its failure reads.
#include <cstdio>

#include "core/capture/guards/finalizers.h"
#include "core/capture/guards/guard_tree.h"
#include "core/capture/objects/extent.h"
#include "core/capture/objects/values.h"
#include "core/torch_api/python_versions.h"

namespace vitrine::capture {

namespace {

using torch_api::TensorView;

// Where hooks live: on the module, and for all modules in torch.nn.modules.module.
const char* const kOwnHooks[] = {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                                 "_backward_pre_hooks"};
constexpr Name kGlobalHooks[] = {Name::global_forward_hooks, Name::global_forward_pre_hooks,
                                 Name::global_backward_hooks, Name::global_backward_pre_hooks};

struct HookPlaces {
  PyRef own[4], global_dict[4];
  HookPlaces() {
    for (int i = 0; i < 4; ++i) {
      own[i] = PyRef(PyUnicode_InternFromString(kOwnHooks[i]));
      global_dict[i] = find(kGlobalHooks[i]);
    }
    PyErr_Clear();
  }
};

bool is_empty_dict(PyObject* o) {
  return o && PyDict_Check(o) && PyDict_GET_SIZE(o) == 0;
}

const HookPlaces& hook_places() {
  static const HookPlaces* places = new HookPlaces;  // never freed: outlives the interpreter's last guard
  return *places;
}

bool has_no_hooks(PyObject* module) {
  const HookPlaces* places = &hook_places();
  PyObject* dict = instance_dict(module);
  if (!dict) return false;
  for (int i = 0; i < 4; ++i)
    if (!is_empty_dict(dict_value(dict, places->own[i].get())) ||
        !is_empty_dict(places->global_dict[i].get()))
      return false;
  return true;
}

bool is_true(PyObject* o, PyObject* name) {
  PyRef value(PyObject_GetAttr(o, name));
  if (!value) PyErr_Clear();
  return value && PyObject_IsTrue(value.get()) == 1;
}

bool is_plain_leaf(PyObject* tensor) {
  static PyObject* const hooks[] = {PyUnicode_InternFromString("_backward_hooks"),
                                    PyUnicode_InternFromString("_post_accumulate_grad_hooks")};
  return torch_api::is_tensor(tensor) && torch_api::is_leaf(tensor) && !is_true(tensor, hooks[0]) &&
         !is_true(tensor, hooks[1]);
}

bool has_version(PyTypeObject* type, int64_t version) {
  return version != 0 && torch_api::class_version(type) == version;
}

std::string presence(bool present) {
  return present ? "present" : "absent";
}

std::string shown_scalar_type(int32_t scalar_type) {
  ir::DType t = ir::dtype_from_scalar_type(scalar_type);
  if (t == ir::DType::other) return "scalar type " + std::to_string(scalar_type);
  return "torch." + std::string(ir::dtype_torch_name(t));
}

std::string keys_text(const std::vector<PyObject*>& keys) {
  PyRef all(PyTuple_New(static_cast<Py_ssize_t>(keys.size())));
  for (size_t i = 0; all && i < keys.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keys[i]));
  if (!all) PyErr_Clear();
  return describe(all.get());
}

std::string shown_keys(uint64_t keys) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(keys));
  return text;
}

}  // namespace

std::span<const PyRef> hook_names() {
  return hook_places().own;
}

std::span<const PyRef> global_hooks() {
  return hook_places().global_dict;
}

bool GuardTree::tensor_matches(const TensorExpected& t, PyObject* o) const {
  if (Py_TYPE(o) != t.type) return false;
  torch_api::Handle handle = torch_api::handle_of(o);
  if (torch_api::dispatch_keys(handle) != t.keys) return false;
  TensorView v = torch_api::view(handle);
  if (v.scalar_type != t.scalar_type || v.ndim != t.ndim || v.device_type != t.device_type ||
      v.device_index != t.device_index)
    return false;
  const int64_t* dims = dims_.data() + t.dims;
  for (int32_t d = 0; d < t.ndim; ++d)
    if ((v.sizes[d] != dims[d] && dims[d] != kAny) ||
        (v.strides[d] != dims[t.ndim + d] && dims[t.ndim + d] != kAny))
      return false;
  return torch_api::requires_grad(o) == t.requires_grad && (!t.heeds_marks || heeds_marks(t, o));
}

bool GuardTree::heeds_marks(const TensorExpected& t, PyObject* o) const {
  const TensorView v = torch_api::view(torch_api::handle_of(o));
  return marks_are_heeded(o, {v.sizes, static_cast<size_t>(v.ndim)},
                          [&](size_t d) { return dims_[t.dims + d] == kAny; });
}

// A class that has changed where nobody looked has a new version from now on.
bool GuardTree::class_serves(Condition& c, PyTypeObject* type) {
  if (has_version(type, c.number)) return true;
  if (lifeline_->is_over() || !c.snapshot->still_serves(asked_)) return false;
  c.number = type->tp_version_tag;
  return true;
}

bool GuardTree::compares(const Condition& c, PyObject* left) const {
  PyObject* right = c.other >= 0 ? values_[c.other] : c.object;
  if (!PyFloat_CheckExact(left) || (c.other >= 0 && !PyFloat_CheckExact(right))) return false;
  return numbers_compare(left, right, static_cast<int>(c.number / 2)) == static_cast<int>(c.number % 2);
}

namespace {

bool dict_contains(PyObject* dict, PyObject* key, bool there) {
  return PyDict_Check(dict) && (dict_value(dict, key) != nullptr) == there;
}

bool instance_has(PyObject* o, PyObject* name) {
  PyObject* dict = instance_dict(o);
  return dict && dict_value(dict, name);
}

PyObject* globals_of_object(PyObject* o) {
  if (PyFunction_Check(o)) return PyFunction_GET_GLOBALS(o);
  return PyModule_Check(o) ? PyModule_GetDict(o) : nullptr;
}

bool absent_from(PyObject* globals, PyObject* name) {
  return globals && !dict_value(globals, name);
}

// name: nullptr, or the attribute under which it is asked.
bool notices_its_end(PyObject* o, bool alone, PyObject* name) {
  if (alone) return has_finalizer(o);
  return name ? has_finalizer_under(o, name) : has_finalizer_inside(o);
}

// An iterator; over: the sequence, or nullptr for any.
bool stands_at(PyObject* o, int64_t position, PyObject* over) {
  PyObject* sequence = nullptr;
  if (iterator_position(o, &sequence) != position) return false;
  return !over || !sequence || sequence == over;
}

}  // namespace

bool GuardTree::holds(Condition& c) {
  PyObject* o = values_[c.node];
  switch (c.kind) {
    case GuardKind::TensorMatch:
      return tensor_matches(tensors_[c.tensor], o);
    case GuardKind::ConstEquals:
      return same_constant(c.object, o);
    case GuardKind::Compares:
      return compares(c, o);
    case GuardKind::Bound:
      return (o != nullptr) == (c.number != 0);
    case GuardKind::Identity:
    case GuardKind::WeakIdentity:
      return o == c.object;
    case GuardKind::TypeIs:
      return reinterpret_cast<PyObject*>(Py_TYPE(o)) == c.object;
    case GuardKind::Length:
      return builtin_length(o) == c.number;
    case GuardKind::LengthAtLeast:
      return builtin_length(o) >= c.number;
    case GuardKind::LengthBelow:
      return builtin_length(o) < c.number;
    case GuardKind::DictKeys:
      return same_keys(o, c.keys);
    case GuardKind::HasAttr:
      return has_attribute(o, c.name.get()) == (c.number != 0);
    case GuardKind::DictContains:
      return dict_contains(o, c.number & kWeakKey ? PyWeakref_GET_OBJECT(c.object) : c.object,
                           (c.number & 1) != 0);
    case GuardKind::SetEquals:
      return same_set(c.object, o);
    case GuardKind::InstanceHas:
      return instance_has(o, c.name.get()) == (c.number != 0);
    case GuardKind::TypeVersion:
      return PyType_Check(o) && class_serves(c, reinterpret_cast<PyTypeObject*>(o));
    case GuardKind::AbcRegistry:
      return abc_registrations() == c.number;
    case GuardKind::NotInGlobals:
      return absent_from(c.node == frame_node_ ? globals_ : globals_of_object(o), c.name.get());
    case GuardKind::FunctionCode:
      return PyFunction_Check(o) && PyFunction_GET_CODE(o) == c.object;
    case GuardKind::PlainLeaf:
      return is_plain_leaf(o);
    case GuardKind::NoFinalizer:
      return !notices_its_end(o, c.number != 0, c.name.get());
    case GuardKind::NoHooks:
      return has_no_hooks(o);
    case GuardKind::IterPosition:
      return stands_at(o, c.number, c.object);
    case GuardKind::DifferentObject:
      return o != values_[c.other];
    case GuardKind::Apart:
      return c.apart->holds(values_);
    case GuardKind::SameObject:
      return o == values_[c.other];
    case GuardKind::GlobalState:
      return true;  // compared before the walk
  }
  return false;
}

GuardFailure GuardTree::explain_tensor(const Condition& c, PyObject* o) const {
  const TensorExpected& t = tensors_[c.tensor];
  GuardFailure f{c.guard, nodes_[c.node].source->text(), c.expected, describe(o)};
  auto differ = [&](const std::string& suffix, const std::string& expected, const std::string& actual) {
    f.source += suffix;
    f.expected = expected;
    f.actual = actual;
    return f;
  };
  if (Py_TYPE(o) != t.type) {
    f.source = "type(" + f.source + ")";
    f.expected = t.type->tp_name;
    f.actual = Py_TYPE(o)->tp_name;
    return f;
  }
  torch_api::Handle handle = torch_api::handle_of(o);
  TensorView v = torch_api::view(handle);
  const int64_t* dims = dims_.data() + t.dims;
  if (v.scalar_type != t.scalar_type)
    return differ(".dtype", shown_scalar_type(t.scalar_type), shown_scalar_type(v.scalar_type));
  if (v.device_type != t.device_type || v.device_index != t.device_index)
    return differ(".device", "device type " + std::to_string(t.device_type),
                  "device type " + std::to_string(v.device_type));
  if (v.ndim != t.ndim) return differ(".dim()", std::to_string(t.ndim), std::to_string(v.ndim));
  for (int32_t d = 0; d < t.ndim; ++d)
    if (v.sizes[d] != dims[d] && dims[d] != kAny)
      return differ(".size(" + std::to_string(d) + ")", std::to_string(dims[d]), std::to_string(v.sizes[d]));
  for (int32_t d = 0; d < t.ndim; ++d)
    if (v.strides[d] != dims[t.ndim + d] && dims[t.ndim + d] != kAny)
      return differ(".stride(" + std::to_string(d) + ")", std::to_string(dims[t.ndim + d]),
                    std::to_string(v.strides[d]));
  if (bool now = torch_api::requires_grad(o); now != t.requires_grad)
    return differ(".requires_grad", t.requires_grad ? "True" : "False", now ? "True" : "False");
  if (t.heeds_marks && !heeds_marks(t, o)) return differ(" marks", "as at capture", "other sizes are marked");
  return differ(" dispatch keys", shown_keys(t.keys), shown_keys(torch_api::dispatch_keys(handle)));
}

GuardFailure GuardTree::explain_apart(const Condition& c) const {
  const auto [changed, other] = c.apart->meeting(values_);
  const bool storages = c.apart->of_storages();
  return {c.guard, nodes_[changed].source->text(),
          (storages ? "no memory shared with " : "another object than ") + nodes_[other].source->text(),
          storages ? "shared memory" : "the same object"};
}

namespace {

// What is said of kinds that differ in one way only: behind the source's text, what was expected, what is.
struct Told {
  GuardKind kind;
  const char *suffix, *expected, *actual;
};
constexpr Told kTold[] = {
    {GuardKind::TypeVersion, " attributes", "unchanged", "changed"},
    {GuardKind::AbcRegistry, " registry", "unchanged", "a class was registered"},
    {GuardKind::FunctionCode, ".__code__", "the code of capture", "another code object"},
    {GuardKind::PlainLeaf, "", "a leaf without hooks", "computed, or with a hook"},
    {GuardKind::NoFinalizer, "", "nothing that notices its end", "something that does"},
    {GuardKind::NoHooks, " hooks", "none", "a hook is registered"},
};

void tell_keys(const PyRef& keys, GuardFailure& f) {
  if (!keys) PyErr_Clear();
  if (keys) f.actual = describe(keys.get());
}

}  // namespace

// What is there and should not be, or the other way round.
bool GuardTree::explain_presence(const Condition& c, GuardFailure& f) const {
  bool expected = c.number != 0;
  switch (c.kind) {
    case GuardKind::DictContains:
      f.source = f.expected + " in " + f.source;
      expected = (c.number & 1) != 0;
      break;
    case GuardKind::InstanceHas:
      f.source += ".__dict__['" + text_of(c.name.get()) + "']";
      break;
    case GuardKind::NotInGlobals:
      f.source = "G" + (f.source.empty() ? "" : "(" + f.source + ")") + "['" + text_of(c.name.get()) + "']";
      expected = false;
      break;
    case GuardKind::HasAttr:
      f.source += "." + text_of(c.name.get());
      break;
    case GuardKind::Bound:
      break;
    default:
      return false;
  }
  f.expected = presence(expected);
  f.actual = presence(!expected);
  return true;
}

// Lengths, keys and places.
bool GuardTree::explain_extent(const Condition& c, PyObject* o, GuardFailure& f) const {
  switch (c.kind) {
    case GuardKind::Length:
    case GuardKind::LengthAtLeast:
    case GuardKind::LengthBelow:
      f.source = "len(" + f.source + ")";
      f.expected = std::to_string(c.number) + (c.kind == GuardKind::Length        ? ""
                                               : c.kind == GuardKind::LengthBelow ? " not yet"
                                                                                  : " or more");
      if (int64_t n = builtin_length(o); n >= 0) f.actual = std::to_string(n);
      return true;
    case GuardKind::DictKeys:
      f.source = "list(" + f.source + ")";
      f.expected = keys_text(c.keys);
      tell_keys(PyRef(PyDict_Check(o) ? PySequence_Tuple(o) : nullptr), f);
      return true;
    case GuardKind::IterPosition: {
      PyObject* sequence = nullptr;
      int64_t at = iterator_position(o, &sequence);
      f.expected = "position " + std::to_string(c.number);
      f.actual = at == c.number ? "another sequence" : "position " + std::to_string(at);
      return true;
    }
    default:
      return false;
  }
}

GuardFailure GuardTree::explain_condition(const Condition& c, PyObject* o) const {
  const Source* source = nodes_[c.node].source;
  GuardFailure f{c.guard, source ? source->text() : "", describe(c.object), describe(o)};
  switch (c.kind) {
    case GuardKind::TensorMatch:
      return explain_tensor(c, o);
    case GuardKind::Apart:
      return explain_apart(c);
    case GuardKind::ConstEquals:
      f.other_type = c.object && o && Py_TYPE(c.object) != Py_TYPE(o);
      break;
    case GuardKind::TypeIs:
      f.source = "type(" + f.source + ")";
      f.actual = describe(reinterpret_cast<PyObject*>(Py_TYPE(o)));
      break;
    case GuardKind::Compares:
      f.is_relation = true;
      f.expected = comparison_text(static_cast<int>(c.number)) + " " +
                   (c.other >= 0 ? nodes_[c.other].source->text() : repr_of(c.object));
      break;
    case GuardKind::DifferentObject:
      f.expected = "another object than " + nodes_[c.other].source->text();
      f.actual = "the same object";
      break;
    case GuardKind::SameObject:
      f.expected = nodes_[c.other].source->text();
      f.actual = "another object";
      break;
    default:
      if (explain_presence(c, f) || explain_extent(c, o, f)) break;
      if (c.kind == GuardKind::NoFinalizer && c.name) f.source += "." + text_of(c.name.get());
      for (const Told& told : kTold) {
        if (told.kind != c.kind) continue;
        f.source += told.suffix;
        f.expected = told.expected;
        f.actual = told.actual;
      }
  }
  if (f.expected == f.actual) f.actual = "another object";  // identity: equal text, different object
  return f;
}

namespace {

const GuardFailure kGone = {-1, "an object that it was compiled for", "alive", "gone"};

}  // namespace

GuardFailure GuardTree::ending() const {
  for (const Condition& c : conditions_)
    if (c.object && c.object == lifeline_->ended_at() && nodes_[c.node].source)
      return {c.guard, nodes_[c.node].source->text(), c.expected, "another object: that one has ended"};
  return kGone;
}

GuardFailure GuardTree::explain(const Frame& frame, const torch_api::GlobalState& state) {
  if (!(state == state_)) {
    torch_api::StateChange change = torch_api::state_change(state_, state);
    return {state_guard_, std::move(change.question), std::move(change.was), std::move(change.now)};
  }
  temporaries_.clear();
  if (lifeline_->is_over()) return kGone;
  globals_ = frame.globals();
  fast_path_.has_values = false;
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i) {
    const Node& node = nodes_[i];
    PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
    PyObject* value = values_[i] = read_step(node.step, base, frame, temporaries_);
    if (lifeline_->is_over()) return kGone;
    if (!value && node.optional) continue;
    if (!value)
      return {node.last > node.first ? conditions_[node.first].guard : -1, node.source->text(), "present",
              "absent"};
    for (int32_t c = node.first; c < node.last; ++c)
      if (!holds(conditions_[c])) return explain_condition(conditions_[c], value);
  }
  return {};
}

}  // namespace vitrine::capture
