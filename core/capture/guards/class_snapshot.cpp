#include "core/capture/guards/class_snapshot.h"

#include "core/capture/objects/class_dict.h"

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
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) lookup(type, "__class__");  // gives it one
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
}

bool may_change_unnoticed(PyObject* name, PyObject* before, PyObject* now, const AskedNames& asked) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) return PyErr_Clear(), false;
  return !std::string_view(text).starts_with("__") && is_plain(before) && is_plain(now) &&
         !asked.contains(text);
}

}  // namespace

ClassSnapshot::ClassSnapshot(PyTypeObject* type) : type_(type), mro_(share(type->tp_mro)) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type_->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type_->tp_mro, i));
    if (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE)) bases_.push_back(taken(base));
  }
}

ClassSnapshot::Base ClassSnapshot::taken(PyTypeObject* base) {
  Owned members(PyDict_Copy(class_dict(base)));
  if (!members) PyErr_Clear();
  const unsigned version = members && has_version(base) ? base->tp_version_tag : 0;
  return {share(reinterpret_cast<PyObject*>(base)), std::move(members), version};
}

bool ClassSnapshot::unnoticed(const Base& base, const AskedNames& asked) {
  PyObject *before = base.members.get(), *now = class_dict(reinterpret_cast<PyTypeObject*>(base.type.get()));
  if (!before || !now) return false;
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(now, &at, &name, &value);)
    if (PyObject* old = PyDict_GetItemWithError(before, name);
        old != value && !may_change_unnoticed(name, old, value, asked))
      return false;
  for (Py_ssize_t at = 0; PyDict_Next(before, &at, &name, &value);)
    if (!PyDict_GetItemWithError(now, name) && !may_change_unnoticed(name, value, nullptr, asked))
      return false;
  return true;
}

bool ClassSnapshot::still_serves(const AskedNames& asked) {
  if (!has_version(type_) || type_->tp_mro != mro_.get()) return false;
  for (Base& base : bases_) {
    auto* type = reinterpret_cast<PyTypeObject*>(base.type.get());
    if (base.version != 0 && has_version(type) && type->tp_version_tag == base.version) continue;
    if (!unnoticed(base, asked)) return PyErr_Clear(), false;
    base = taken(type);
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
