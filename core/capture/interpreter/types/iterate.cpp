// Iteration: what any value gives when it is walked. Iterators are walked symbolically, those made here and
// those found on the frame's stack (iterators/).
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/value_questions.h"

namespace vitrine::capture {

// What a class's own __iter__ gives is the iterator itself, very often the object: it is not asked again.
static Value* made_iterator(Tracer& t, Value* of, PyObject* method) {
  Value* made = t.look(call_special(t, of, method, {}));
  if (made->is(ValueKind::Iterator) || made->is(ValueKind::Generator)) return iter(t, made);
  if (made->is(ValueKind::Object) &&
      (python_method(t, type_of(t, made), "__next__") || made->cls->tp_iternext))
    return made;
  t.raise(PyExc_TypeError,
          "iter() returned non-iterator of type '" + std::string(type_of(t, made)->tp_name) + "'");
}

Value* iter(Tracer& t, Value* v) {
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (v->cls && !type.iter_first && !v->is(ValueKind::Constant) && !v->is(ValueKind::Slice))
    if (PyObject* method = python_method(t, type_of(t, v), "__iter__")) return made_iterator(t, v, method);
  if (!type.iter) stop("unsupported_value", "iteration over " + describe(t, v));
  return type.iter(t, v);
}

Value* next(Tracer& t, Value* v, Value** returned) {
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (t.effects.covered > 0 && !type.repeatable)
    stop("unsupported_value",
         "iteration over an enumerate() of a " + describe(t, v) + " from before this point");
  if (!type.next) t.raise(PyExc_TypeError, describe(t, v) + " is not an iterator");
  if (v->is(ValueKind::Iterator)) {
    if (v->iterator().done) return nullptr;
    check_unchanged(t, v);
  }
  return type.next(t, v, returned);
}

static Values rest_of(Tracer& t, Value* iterator) {
  Values items;
  for_rest_of(t, iterator, [&](Value* item) { items.push_back(item); });
  return items;
}

// iter(v), for all that it gives: like CPython, it asks how much that will be.
static Value* begin_listing(Tracer& t, Value* v) {
  v = t.look(v);
  Value* iterator = iter(t, v);
  PyTypeObject* type = may_have_methods(v) ? type_of(t, v) : nullptr;
  for (const char* name : {"__len__", "__length_hint__"})
    if (PyObject* method = type ? python_method(t, type, name) : nullptr) {
      checked_length(t, v, method);
      break;
    }
  return iterator;
}

// What list(v) holds.
Values listed(Tracer& t, Value* v) {
  v = t.look(v);
  const bool native = v->is(ValueKind::Tuple) || v->is(ValueKind::List);
  return native && !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE) ? unpack(t, v) : rest_of(t, begin_listing(t, v));
}

void extend_list(Tracer& t, Value* list, Value* by) {
  guard_length(t, list);
  by = t.look(by);
  if (!by->is(ValueKind::Iterator) && !by->is(ValueKind::Generator) && !by->is(ValueKind::Object)) {
    const Values more = listed(t, by);
    touch(t, list);
    list->items().insert(list->items().end(), more.begin(), more.end());
    return;
  }
  Value* iterator = begin_listing(t, by);
  touch(t, list);
  for_rest_of(t, iterator, [&](Value* item) {
    touch(t, list);
    list->items().push_back(item);
  });
}

Values unpack(Tracer& t, Value* v) {
  v = t.look(v);
  const bool native = v->is(ValueKind::Tuple) || v->is(ValueKind::List);
  if (native && !python_method(t, v->cls, "__iter__")) {
    guard_length(t, v);
    return v->items();
  }
  return rest_of(t, iter(t, v));
}

}  // namespace vitrine::capture
