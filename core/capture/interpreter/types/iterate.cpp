// Iteration: what any value gives when it is walked. Iterators are walked symbolically, those made here and
// those found on the frame's stack (iterators/).
#include "core/capture/interpreter/types/methods.h"

namespace vitrine::capture {

// What a class's own __iter__ gives is the iterator itself, very often the object: it is not asked again.
static Value* made_iterator(Tracer& t, Value* of, PyObject* method) {
  Value* made = t.look(t.call_special(of, method, {}));
  if (made->kind == Kind::Iterator || made->kind == Kind::Generator) return t.iter(made);
  if (made->kind == Kind::Object && (t.python_method(t.type_of(made), "__next__") || made->cls->tp_iternext))
    return made;
  t.raise(PyExc_TypeError,
          "iter() returned non-iterator of type '" + std::string(t.type_of(made)->tp_name) + "'");
}

Value* Tracer::iter(Value* v) {
  v = look(v);
  const TypeOps& type = ops_of(v);
  if (v->cls && !type.iter_first && v->kind != Kind::Constant && v->kind != Kind::Slice)
    if (PyObject* method = python_method(type_of(v), "__iter__")) return made_iterator(*this, v, method);
  if (!type.iter) stop("unsupported_value", "iteration over " + describe(v));
  return type.iter(*this, v);
}

Value* Tracer::next(Value* v, Value** returned) {
  v = look(v);
  const TypeOps& type = ops_of(v);
  if (covered_ > 0 && !type.repeatable)
    stop("unsupported_value",
         "iteration over an enumerate() of a " + describe(v) + " from before this point");
  if (!type.next) raise(PyExc_TypeError, describe(v) + " is not an iterator");
  if (v->kind == Kind::Iterator) {
    if (v->iterator->done) return nullptr;
    check_unchanged(*this, v);
  }
  return type.next(*this, v, returned);
}

Values Tracer::rest_of(Value* iterator) {
  Values items;
  for_rest_of(iterator, [&](Value* item) { items.push_back(item); });
  return items;
}

// iter(v), for all that it gives: like CPython, it asks how much that will be.
Value* Tracer::begin_listing(Value* v) {
  v = look(v);
  Value* iterator = iter(v);
  PyTypeObject* type = may_have_methods(v) ? type_of(v) : nullptr;
  for (const char* name : {"__len__", "__length_hint__"})
    if (PyObject* method = type ? python_method(type, name) : nullptr) {
      checked_length(v, method);
      break;
    }
  return iterator;
}

// What list(v) holds.
Values Tracer::listed(Value* v) {
  v = look(v);
  const bool native = v->kind == Kind::Tuple || v->kind == Kind::List;
  return native && !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE) ? unpack(v) : rest_of(begin_listing(v));
}

void Tracer::extend_list(Value* list, Value* by) {
  guard_length(list);
  by = look(by);
  if (by->kind != Kind::Iterator && by->kind != Kind::Generator && by->kind != Kind::Object) {
    const Values more = listed(by);
    touch(list);
    list->items.insert(list->items.end(), more.begin(), more.end());
    return;
  }
  Value* iterator = begin_listing(by);
  touch(list);
  for_rest_of(iterator, [&](Value* item) {
    touch(list);
    list->items.push_back(item);
  });
}

Values Tracer::unpack(Value* v) {
  v = look(v);
  const bool native = v->kind == Kind::Tuple || v->kind == Kind::List;
  if (native && !python_method(v->cls, "__iter__")) {
    guard_length(v);
    return v->items;
  }
  return rest_of(iter(v));
}

}  // namespace vitrine::capture
