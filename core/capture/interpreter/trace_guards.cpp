// The guards of a trace: each is kept once, with what was seen.
#include "core/capture/interpreter/trace_guards.h"
#include "core/base/words.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/python_versions.h"

namespace vitrine::capture {

void pin_type(Tracer& t, PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !t.guards.pin(type)) return;
  static PyObject* probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);  // gives the class a version when it has none
  if (!torch_api::class_version(type))
    stop("unsupported_value", std::string("class ") + type->tp_name + " cannot be watched for changes");
  PyObject* object = reinterpret_cast<PyObject*>(type);
  t.guard(GuardKind::TypeVersion, constant_source(t, object), object, type->tp_version_tag, "", nullptr,
          "class is unchanged");
}

void Tracer::guard(GuardKind kind, const Source* source, PyObject* object, int64_t number,
                   const std::string& name, const Source* other, const std::string& expected) {
  if (kind == GuardKind::Identity && PyObject_TypeCheck(object, torch_names().tensor))
    return guard_weakly(*this, source, object, expected);
  const std::string key =
      std::to_string(static_cast<int>(kind)) + ":" + std::to_string(reinterpret_cast<uintptr_t>(source)) +
      ":" + std::to_string(reinterpret_cast<uintptr_t>(other)) + ":" +
      std::to_string(reinterpret_cast<uintptr_t>(object)) + ":" + std::to_string(number) + ":" + name;
  if (!guards.is_new(key)) return;
  Guard g;
  g.kind = kind;
  g.source = source;
  g.other = other;
  g.number = number;
  g.name = name;
  g.expected = expected;
  g.step = frames.current ? frame().step : -1;
  if (object) {
    Py_INCREF(object);
    g.object = object;
    Py_INCREF(object);
    keep(object);  // its address is part of the key
  }
  guards.add(std::move(g));
}

void guard_weakly(Tracer& t, const Source* source, PyObject* object, const std::string& expected) {
  const bool can = PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
  PyObject* weak = can ? t.keep(PyWeakref_NewRef(object, nullptr)) : nullptr;
  if (can && !weak) t.raise_python();
  t.guard(can ? GuardKind::WeakIdentity : GuardKind::Identity, source, can ? weak : object, 0, "", nullptr,
          expected);
}

void guard_length(Tracer& t, Value* v) {
  if (v->sized || !v->source) return;
  v->sized = true;
  if (!v->mutated) guard_length_before(t, v, v->items().size());
}

void guard_length_before(Tracer& t, const Value* v, size_t n) {
  t.guard(GuardKind::Length, v->source, nullptr, static_cast<int64_t>(n), "", nullptr,
          "length " + std::to_string(n));
}

void guard_type(Tracer& t, Value* v) {
  if (v->typed || !v->source || v->pinned) return;
  v->typed = true;
  t.guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->obj)), 0, "", nullptr,
          with_article(Py_TYPE(v->obj)->tp_name));
}

}  // namespace vitrine::capture
