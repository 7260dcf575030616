// The guards of a trace: each is kept once, with what was seen.
#include "core/base/words.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

void Tracer::pin_type(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !pinned_types_.insert(type).second) return;
  static PyObject* probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);  // gives the class a version when it has none
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG))
    stop("unsupported_value", std::string("class ") + type->tp_name + " cannot be watched for changes");
  PyObject* object = reinterpret_cast<PyObject*>(type);
  guard(GuardKind::TypeVersion, constant_source(object), object, type->tp_version_tag, "", nullptr,
        "class is unchanged");
}

void Tracer::guard(GuardKind kind, const Source* source, PyObject* object, int64_t number,
                   const std::string& name, const Source* other, const std::string& expected) {
  if (kind == GuardKind::Identity && PyObject_TypeCheck(object, torch_names().tensor))
    return guard_weakly(source, object, expected);
  const std::string key =
      std::to_string(static_cast<int>(kind)) + ":" + std::to_string(reinterpret_cast<uintptr_t>(source)) +
      ":" + std::to_string(reinterpret_cast<uintptr_t>(other)) + ":" +
      std::to_string(reinterpret_cast<uintptr_t>(object)) + ":" + std::to_string(number) + ":" + name;
  if (!guard_keys_.insert(key).second) return;
  Guard g;
  g.kind = kind;
  g.source = source;
  g.other = other;
  g.number = number;
  g.name = name;
  g.expected = expected;
  g.step = current_ ? current_->step : -1;
  if (object) {
    Py_INCREF(object);
    g.object = object;
    Py_INCREF(object);
    keep(object);  // its address is part of the key
  }
  guards_.push_back(std::move(g));
}

void Tracer::guard_weakly(const Source* source, PyObject* object, const std::string& expected) {
  const bool can = PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
  PyObject* weak = can ? keep(PyWeakref_NewRef(object, nullptr)) : nullptr;
  if (can && !weak) raise_python();
  guard(can ? GuardKind::WeakIdentity : GuardKind::Identity, source, can ? weak : object, 0, "", nullptr,
        expected);
}

void Tracer::guard_length(Value* v) {
  if (v->sized || !v->source) return;
  v->sized = true;
  if (!v->mutated) guard_length_before(v, v->items.size());
}

void Tracer::guard_length_before(const Value* v, size_t n) {
  guard(GuardKind::Length, v->source, nullptr, static_cast<int64_t>(n), "", nullptr,
        "length " + std::to_string(n));
}

void Tracer::guard_type(Value* v) {
  if (v->typed || !v->source || v->pinned) return;
  v->typed = true;
  guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->obj)), 0, "", nullptr,
        with_article(Py_TYPE(v->obj)->tp_name));
}

}  // namespace vitrine::capture
