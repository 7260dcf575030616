#include "core/capture/guards/guard_fast_path.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/capture/guards/guard_tree.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/trace/sizes.h"
#include "core/torch_api/python_versions.h"

namespace vitrine::capture {

namespace {

using torch_api::class_version;
using torch_api::dict_version;
using torch_api::keeps_version;

const char* const kMembers[] = {"_parameters", "_buffers", "_modules"};

}  // namespace

bool WatchedType::holds() const {
  return class_version(type) == version;
}

void Watches::word(const void* at, uint64_t expected, int32_t node) {
  all_.words.push_back({at, expected});
  all_.word_nodes.push_back(node);
}

// Its version, where CPython does not tell of changes.
void Watches::content(PyObject* dict, int32_t node) {
  if (!all_.dicts->add(dict, node)) word(dict_version(dict), *dict_version(dict), node);
}

bool Watches::object(PyObject* base, int32_t node) {
  if (objects_.contains(base)) return true;
  if (is_thread_local(Py_TYPE(base))) return false;
  if (Py_TYPE(base)->tp_itemsize != 0) return false;  // where its dict lies depends on more than its type
  PyObject** slot = _PyObject_GetDictPtr(base);
  if (!slot || !*slot || !PyDict_CheckExact(*slot) || !keeps_version(*slot)) return false;
  word(&base->ob_type, reinterpret_cast<uintptr_t>(Py_TYPE(base)), node);
  all_.classes.insert(Py_TYPE(base));
  word(slot, reinterpret_cast<uintptr_t>(*slot), node);
  if (dicts_.insert(*slot).second) content(*slot, node);
  objects_.insert(base);
  return true;
}

bool Watches::dict(PyObject* base, int32_t node) {
  if (!base || !PyDict_Check(base) || !keeps_version(base)) return false;
  if (dicts_.insert(base).second) content(base, node);
  return true;
}

bool Watches::type(PyTypeObject* base, int32_t node) {
  static PyObject* const any = PyUnicode_InternFromString("__dict__");
  if (!class_version(base)) (void)_PyType_Lookup(base, any);  // gives it one
  if (!class_version(base)) return false;
  if (!types_.insert(base).second) return true;
  all_.classes.insert(base);
  all_.types.push_back({base, class_version(base)});
  all_.type_nodes.push_back(node);
  return true;
}

bool Watches::members(PyObject* base, PyObject* name, int32_t node) {
  PyObject* own = instance_dict(base);
  for (const char* container : kMembers) {
    PyObject* members = own ? PyDict_GetItemString(own, container) : nullptr;
    if (!members || !PyDict_Check(members)) continue;
    if (!dict(members, node)) return false;
    if (name && dict_value(members, name)) break;
  }
  return true;
}

// What the object itself has, then what an nn.Module has.
bool Watches::own_dict(PyObject* base, PyObject* name, int32_t node) {
  if (!object(base, node)) return false;
  PyObject* own = instance_dict(base);
  return dict_value(own, name) || (type(Py_TYPE(base), node) && members(base, name, node));
}

bool Watches::attribute(PyObject* base, PyObject* name, int32_t node) {
  if (PyType_Check(base)) {
    auto* cls = reinterpret_cast<PyTypeObject*>(base);
    return type(cls, node) && type(Py_TYPE(cls), node);
  }
  if (!type(Py_TYPE(base), node)) return false;
  // What lies in a slot changes without a trace.
  PyObject* member = _PyType_Lookup(Py_TYPE(base), name);
  if (member && Py_TYPE(member) == &PyMemberDescr_Type) return false;
  if (PyModule_Check(base)) return dict(PyModule_GetDict(base), node);
  return object(base, node) && members(base, name, node);
}

bool Watches::step(const SourceStep& step, PyObject* base, int32_t node) {
  switch (step.kind) {
    case SourceKind::InstanceDict:
      if (PyModule_Check(base)) return dict(PyModule_GetDict(base), node);
      if (PyType_Check(base)) return type(reinterpret_cast<PyTypeObject*>(base), node);
      return own_dict(base, step.key, node);
    case SourceKind::Attr:
      return attribute(base, step.key, node);
    case SourceKind::Item:
    case SourceKind::ItemOf:
      return PyTuple_CheckExact(base) || dict(base, node);
    case SourceKind::Closure:
      return PyFunction_Check(base);
    case SourceKind::BoundSelf:
    case SourceKind::BoundFunc:
      return PyMethod_Check(base);
    default:
      return false;
  }
}

bool Watches::hooks(PyObject* module, int32_t node) {
  if (!object(module, node)) return false;
  PyObject* own = instance_dict(module);
  for (const PyRef& name : hook_names())
    if (!dict(dict_value(own, name.get()), node)) return false;
  for (const PyRef& global : global_hooks())
    if (!dict(global.get(), node)) return false;
  return true;
}

// Its class is asked for with all else of it, at each check.
bool GuardTree::is_matched_tensor(int32_t node) const {
  const auto all = std::span(conditions_).subspan(nodes_[node].first, nodes_[node].last - nodes_[node].first);
  return std::any_of(all.begin(), all.end(),
                     [](const Condition& c) { return c.kind == GuardKind::TensorMatch; });
}

// Whether a condition that holds goes on holding while the watches do. The node's value is known to be the
// same.
bool GuardTree::stays(const Condition& c, const std::vector<bool>& same, Watches& watches) const {
  PyObject* o = values_[c.node];
  switch (c.kind) {
    case GuardKind::ConstEquals:
    case GuardKind::Identity:
    case GuardKind::WeakIdentity:
      return true;
    case GuardKind::Compares:
      return c.other < 0 || same[c.other];
    case GuardKind::Bound:
      return o != nullptr;
    case GuardKind::TypeIs:
      return !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) || is_matched_tensor(c.node) ||
             watches.object(o, c.node);
    case GuardKind::Length:
    case GuardKind::LengthAtLeast:
    case GuardKind::LengthBelow:
      return PyTuple_CheckExact(o) || watches.dict(o, c.node);
    case GuardKind::DictKeys:
      return PyDict_CheckExact(o) && watches.dict(o, c.node);  // another one may order its keys anew
    case GuardKind::DictContains:
      return watches.dict(o, c.node);
    case GuardKind::InstanceHas:
      return watches.object(o, c.node);
    case GuardKind::HasAttr:
      return watches.attribute(o, c.name.get(), c.node);
    case GuardKind::TypeVersion:
      return watches.type(reinterpret_cast<PyTypeObject*>(o), c.node);
    case GuardKind::NoHooks:
      return watches.hooks(o, c.node);
    case GuardKind::SameObject:
    case GuardKind::DifferentObject:
      return same[c.other];
    case GuardKind::Apart:
      return c.apart->stays(same);
    default:
      return false;
  }
}

namespace {

constexpr int kMissesForgiven = 1;

// Objects whose members are worth watching; a tensor is another one in the next call.
bool may_anchor(PyObject* o) {
  return o && !torch_api::is_tensor(o) && !PyFunction_Check(o) && !PyExceptionInstance_Check(o);
}

}  // namespace

// The address of what the fast_path looks at means what it is while that lives. Without it the check is
// walked.
void GuardTree::keep_for_shortcut(PyObject* o) {
  if (!lifeline_->holds(o)) fast_path_.kept->hold_weakly(o);
}

// The address of an object says that it is the same while that lives. One that is not may have gone,
// and another one lie there: it is as good as the same when it is of the same class and has the same
// attributes.
bool GuardTree::anchored(PyObject* o, int32_t node, Watches& watches) {
  if (!PyType_Check(o) && !PyModule_Check(o)) return watches.object(o, node);
  keep_for_shortcut(o);
  return true;
}

// As the tensor of a condition that holds is now; -1: it must be asked.
int32_t GuardTree::fields_of(const Condition& c, FieldRows& rows) {
  torch_api::TensorFields now;
  if (has_any_dim(tensors_[c.tensor]) || !fast_path_.reader.read(values_[c.node], now)) return -1;
  const auto [row, is_new] = rows.try_emplace(now, static_cast<int32_t>(fast_path_.fields.size()));
  if (is_new) fast_path_.fields.push_back(now);
  return row->second;
}

bool GuardTree::has_any_dim(const TensorExpected& t) const {
  const auto dims = std::span(dims_).subspan(t.dims, 2 * static_cast<size_t>(t.ndim));
  return std::find(dims.begin(), dims.end(), kAny) != dims.end();
}

// Right after a walk in which all held.
void GuardTree::build_fast_path() {
  GuardFastPath& s = fast_path_;
  s.ops.clear(), s.tensors.clear(), s.fields.clear(), s.apart.clear();
  s.watched = {};
  s.kept = std::make_unique<Lifeline>([&s] { s.ready = false; });
  s.misses.resize(nodes_.size());
  s.values = values_;
  s.has_values = true;
  ++s.built;
  s.walks = 0;
  Watches watches(s.watched);
  FieldRows rows;
  std::vector<bool> same(nodes_.size(), false);  // the value is known to be the same, once so much has held
  using Op = GuardFastPath::Op;
  auto emit = [&](Op::Kind kind, int32_t first, int32_t last) { s.ops.push_back({kind, first, last}); };
  size_t watched = 0;
  auto emit_watches = [&] {
    if (watched == s.watched.words.size()) return;
    const auto first = static_cast<int32_t>(watched), last = static_cast<int32_t>(s.watched.words.size());
    watched = s.watched.words.size();
    if (!s.ops.empty() && s.ops.back().kind == Op::Kind::Watch)
      s.ops.back().last = last;
    else
      emit(Op::Kind::Watch, first, last);
  };
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i) {
    const Node& node = nodes_[i];
    const int32_t owner = node.parent;
    const bool calm = owner >= 0 && same[owner] && s.misses[owner] <= kMissesForgiven;
    same[i] = node.step.kind == SourceKind::Constant || node.step.kind == SourceKind::Drawn ||
              node.step.kind == SourceKind::Computed ||
              (values_[i] && calm && !made_[i] && watches.step(node.step, values_[owner], owner));
    emit_watches();
    if (!same[i]) {
      const bool anchor = !made_[i] && s.misses[i] <= kMissesForgiven && may_anchor(values_[i]);
      same[i] = anchor && anchored(values_[i], i, watches);
      emit(same[i] ? Op::Kind::Anchor : Op::Kind::Read, i, i);
      emit_watches();
    }
    for (int32_t c = node.first; c < node.last; ++c) {
      const bool stay = same[i] && s.misses[i] <= kMissesForgiven && stays(conditions_[c], same, watches);
      emit_watches();
      if (stay) continue;
      if (conditions_[c].kind == GuardKind::TensorMatch)
        s.tensors.push_back(
            {i, c, fields_of(conditions_[c], rows), same[i], tensors_[conditions_[c].tensor].heeds_marks});
      else if (conditions_[c].kind == GuardKind::Apart)
        s.apart.push_back(c);
      else
        emit(Op::Kind::Condition, c, c);
    }
  }
  for (PyTypeObject* type : s.watched.classes) keep_for_shortcut(reinterpret_cast<PyObject*>(type));
  s.ready = !s.kept->is_over();
}

// Something has changed. Whether it matters, the walk finds out.
GuardTree::Shortened GuardTree::missed(int32_t node) {
  uint8_t& misses = fast_path_.misses[node];
  if (misses < 255) ++misses;
  fast_path_.ready = false;
  fast_path_.walks = 0;
  return Shortened::Unknown;
}

GuardTree::Shortened GuardTree::check_shortened(const Frame& frame) {
  GuardFastPath& s = fast_path_;
  using Kind = GuardFastPath::Op::Kind;
  if (!s.has_values) std::memcpy(values_.data(), s.values.data(), values_.size() * sizeof(PyObject*));
  s.has_values = true;
  if (const int32_t node = s.watched.dicts->changed(); node >= 0) return missed(node);
  for (size_t t = 0; t < s.watched.types.size(); ++t)
    if (!s.watched.types[t].holds()) return missed(s.watched.type_nodes[t]);
  for (const GuardFastPath::Op& op : s.ops) {
    switch (op.kind) {
      case Kind::Watch:
        for (int32_t w = op.first; w < op.last; ++w)
          if (!s.watched.words[w].holds()) return missed(s.watched.word_nodes[w]);
        break;
      case Kind::Read:
      case Kind::Anchor: {
        const Node& node = nodes_[op.first];
        PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
        PyObject* value = values_[op.first] = read_step(node.step, base, frame, temporaries_);
        if (lifeline_->is_over() || s.kept->is_over()) return Shortened::Unknown;  // reading made room
        if (op.kind == Kind::Anchor && value != s.values[op.first]) return missed(op.first);
        if (!value && !node.optional) return fail(op.first, -1), Shortened::Fails;
        break;
      }
      case Kind::Condition:
        // An empty slot has none: its conditions were never met.
        if (values_[conditions_[op.first].node] && !holds(conditions_[op.first]))
          return fail(conditions_[op.first].node, op.first), Shortened::Fails;
        break;
    }
  }
  return check_tensors() ? Shortened::Holds : Shortened::Fails;
}

// A tensor's fields lie where no other tensor's do: memory is asked for them while those before are compared.
bool GuardTree::check_tensors() {
  const GuardFastPath& s = fast_path_;
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < s.tensors.size(); ++i) {
    const WatchedTensor& t = s.tensors[i];
    if (i + 2 * kAhead < s.tensors.size()) {
      s.reader.prefetch(values_[s.tensors[i + 2 * kAhead].node]);
      const WatchedTensor& soon = s.tensors[i + kAhead];
      if (soon.is_same && soon.fields >= 0) s.reader.prefetch_fields(values_[soon.node]);
    }
    PyObject* o = values_[t.node];
    if (t.fields >= 0 && s.reader.equal(s.fields[t.fields], o) && (!t.heeds_marks || !has_marks(o))) continue;
    if (!holds(conditions_[t.condition])) return fail(t.node, t.condition);
  }
  return std::all_of(s.apart.begin(), s.apart.end(),
                     [&](int32_t c) { return holds(conditions_[c]) || fail(conditions_[c].node, c); });
}

}  // namespace vitrine::capture
