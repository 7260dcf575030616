#include "core/capture/guards/class_snapshot.h"

#include "core/capture/objects/class_dict.h"
#include "core/torch_api/python_versions.h"

namespace vitrine::capture {

namespace {

// Has no say in how an attribute of another name is found, and runs no code when it is.
bool is_plain(PyObject* o) {
  if (!o || o == Py_None) return true;
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type, &PyBytes_Type,
                             &PyTuple_Type, &PyList_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type})
    if (Py_TYPE(o) == type) return true;
  return false;
}

bool has_version(PyTypeObject* type) {
  if (!torch_api::class_version(type)) lookup(type, "__class__");  // gives it one
  return torch_api::class_version(type) != 0;
}

bool is_asked(PyObject* name, const AskedNames& asked) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) return PyErr_Clear(), true;
  return std::string_view(text).starts_with("__") || asked.contains(text);
}

bool is_descriptor(PyObject* o) {
  for (PyTypeObject* type : {&PyGetSetDescr_Type, &PyMemberDescr_Type, &PyWrapperDescr_Type,
                             &PyMethodDescr_Type, &PyClassMethodDescr_Type})
    if (Py_TYPE(o) == type) return true;
  return false;
}

// Borrowed from its owner, whose C code keeps it.
PyObject* part(PyObject* o, const char* name) {
  PyRef found(PyObject_GetAttrString(o, name));
  if (!found) PyErr_Clear();
  return found.get();
}

}  // namespace

ClassSnapshot::ClassSnapshot(PyTypeObject* type, const AskedNames& asked, Lifeline& lifeline)
    : type_(type), lifeline_(lifeline), members_(std::make_unique<Lifeline>(nullptr)) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type_->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type_->tp_mro, i));
    mro_.push_back(lifeline_.hold(PyTuple_GET_ITEM(type_->tp_mro, i)));
    if (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE)) bases_.push_back(taken(base, asked));
  }
}

// What is made anew with the same parts is the same to a program.
ClassSnapshot::Member ClassSnapshot::parts_of(PyObject* value) {
  if (Py_TYPE(value) == &PyProperty_Type)
    return {Member::Kind::Property,
            false,
            Py_TYPE(value),
            {part(value, "fget"), part(value, "fset"), part(value, "fdel")}};
  if (Py_TYPE(value) == &PyClassMethod_Type || Py_TYPE(value) == &PyStaticMethod_Type)
    return {Member::Kind::Wrapped, false, Py_TYPE(value), {part(value, "__func__")}};
  if (is_descriptor(value))
    return {Member::Kind::Descriptor,
            false,
            Py_TYPE(value),
            {reinterpret_cast<PyObject*>(PyDescr_TYPE(value)), PyDescr_NAME(value)}};
  return {Member::Kind::Object, is_plain(value), nullptr, {value}};
}

ClassSnapshot::Member ClassSnapshot::member(PyObject* name, PyObject* value, const AskedNames& asked,
                                            bool stays) {
  Member out = parts_of(value);
  if (out.plain && !is_asked(name, asked)) return {Member::Kind::Unasked, true};
  const bool held = out.kind != Member::Kind::Object || lifeline_.holds(value);
  if (!held && !stays && !PyType_SUPPORTS_WEAKREFS(Py_TYPE(value)) && !is_light(value) &&
      !lifeline_.is_apart(value))
    return {Member::Kind::Unknown, out.plain};
  for (PyObject* one : out.parts) members_->hold_weakly(one);
  return out;
}

bool ClassSnapshot::same(const Member& member, PyObject* value) {
  if (member.kind == Member::Kind::Unasked) return is_plain(value);
  if (member.kind == Member::Kind::Object) return member.parts[0] == value;
  if (member.kind == Member::Kind::Unknown || member.type != Py_TYPE(value)) return false;
  return member.parts == parts_of(value).parts;
}

ClassSnapshot::Base ClassSnapshot::taken(PyTypeObject* base, const AskedNames& asked) {
  Base out{base, {}, PyRef(PyDict_New()), 0};
  const bool stays = is_of_module(reinterpret_cast<PyObject*>(base));
  PyObject *name, *value;
  for (Py_ssize_t at = 0; out.places && PyDict_Next(class_dict(base), &at, &name, &value);) {
    const PyRef place(PyLong_FromSize_t(out.members.size()));
    if (!place || PyDict_SetItem(out.places.get(), name, place.get()) != 0) out.places = {};
    out.members.push_back(member(name, value, asked, stays));
  }
  if (!out.places) PyErr_Clear();
  if (out.places && has_version(base)) out.version = base->tp_version_tag;
  return out;
}

bool ClassSnapshot::unnoticed(const Base& base, const AskedNames& asked) {
  PyObject *places = base.places.get(), *now = class_dict(base.type);
  if (!places || !now) return false;
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(now, &at, &name, &value);) {
    PyObject* place = PyDict_GetItemWithError(places, name);
    const Member* before = place ? &base.members[PyLong_AsSize_t(place)] : nullptr;
    if (before && same(*before, value)) continue;
    if ((before && !before->plain) || !is_plain(value) || is_asked(name, asked)) return false;
  }
  for (Py_ssize_t at = 0; PyDict_Next(places, &at, &name, &value);)
    if (!PyDict_GetItemWithError(now, name) &&
        (!base.members[PyLong_AsSize_t(value)].plain || is_asked(name, asked)))
      return false;
  return true;
}

bool ClassSnapshot::has_same_bases() const {
  PyObject* now = type_->tp_mro;
  bool same = static_cast<size_t>(PyTuple_GET_SIZE(now)) == mro_.size();
  for (size_t i = 0; same && i < mro_.size(); ++i)
    same = PyTuple_GET_ITEM(now, static_cast<Py_ssize_t>(i)) == mro_[i];
  return same;
}

bool ClassSnapshot::still_serves(const AskedNames& asked) {
  if (members_->is_over() || !has_version(type_) || !has_same_bases()) return false;
  for (Base& base : bases_) {
    if (base.version != 0 && has_version(base.type) && base.type->tp_version_tag == base.version) continue;
    if (!unnoticed(base, asked)) return PyErr_Clear(), false;
    base = taken(base.type, asked);
  }
  return true;
}

void add_names(PyObject* code, AskedNames& to) {
  const auto add = [&](PyObject* names, auto&& self) -> void {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* o = PyTuple_GET_ITEM(names, i);
      if (PyTuple_CheckExact(o)) self(o, self);
      if (const char* text = PyUnicode_CheckExact(o) ? PyUnicode_AsUTF8(o) : nullptr) to.insert(text);
      PyErr_Clear();
    }
  };
  auto* c = reinterpret_cast<PyCodeObject*>(code);
  add(c->co_names, add);
  add(c->co_consts, add);
}

}  // namespace vitrine::capture
