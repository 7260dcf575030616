// str, range and frozenset: constants whose items are asked for.
#include "core/capture/interpreter/types/containers/str_format.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/constants.h"

namespace vitrine::capture {
namespace {

Value* format_values(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  return name == "format" ? format_text(t, self->obj, a) : nullptr;
}

void enter_range(Tracer& t, Value* v) {
  become(v, ValueKind::Constant);
  v->identified = true;
  for (const char* field : {"start", "stop", "step"}) {
    PyRef part(PyObject_GetAttrString(v->obj, field));
    t.look(t.lazy(part.get(), t.sources().attr(v->source, field)));
  }
}

// A constant of the code is this very object; of another one only the contents are guarded, not the order.
Value* iter_frozen_set(Tracer& t, Value* v) {
  if (v->source && PySet_GET_SIZE(v->obj) > 1) return iter_constant(t, v);
  PyRef items(PySequence_List(v->obj));
  if (!items) t.raise_python();
  return iter(t, t.fold(items.release()));
}

}  // namespace

const TypeOps str_type = [] {
  TypeOps ops = constant_ops("str");
  ops.method_of_values = format_values;
  ops.iter = iter_by_place;
  return ops;
}();
const TypeOps range_type = [] {
  TypeOps ops = constant_ops("range");
  ops.enter = enter_range;
  ops.iter = iter_by_place;
  return ops;
}();
const TypeOps frozen_set_type = [] {
  TypeOps ops = constant_ops("frozenset");
  ops.iter = iter_frozen_set;
  return ops;
}();

}  // namespace vitrine::capture
