// Lists from before the segment that a program only adds to (the losses so far): what stands in them, and how
// much, stays open, so that a list that grows needs no other compilation. look() closes one.
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/enter.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/objects/class_dict.h"

namespace vitrine::capture {

Value* symbolic_list(Tracer& t, Value* v) {
  v = resolve(v);
  if (v->is(ValueKind::Lazy) && v->obj && v->source && PyList_CheckExact(v->obj)) {
    materialise(t, v);
    v = resolve(v);
  }
  return is_open(v) ? v : nullptr;
}

void specialise_list(Tracer& t, Value* v) {
  const Values added = std::move(v->items());
  v->items() = items_before(t, v);
  guard_length_before(t, v, v->items().size());
  v->as<ListValue>().open = false;
  v->sized = true;
  v->items().insert(v->items().end(), added.begin(), added.end());
}

Value* method_of_symbolic_list(Tracer& t, Value* v, const std::string& name) {
  if (name != "append" && name != "extend") return nullptr;
  Value* list = symbolic_list(t, v);
  return list ? bind_descriptor(t, lookup(&PyList_Type, name), list, &PyList_Type, name) : nullptr;
}

Value* add_to_symbolic_list(Tracer& t, PyObject* method, const Arguments& a) {
  if (a.positional.size() != 2 || !a.keyword.empty()) return nullptr;
  if (method == lookup(&PyList_Type, "extend"))
    return extend_symbolic_list(t, a.positional[0], a.positional[1]) ? t.none() : nullptr;
  Value* list = method == lookup(&PyList_Type, "append") ? symbolic_list(t, a.positional[0]) : nullptr;
  if (!list) return nullptr;
  touch(t, list);
  list->items().push_back(a.positional[1]);
  return t.none();
}

// Only by what is sure not to look at the list meanwhile.
Value* extend_symbolic_list(Tracer& t, Value* list, Value* by) {
  list = symbolic_list(t, list);
  if (!list) return nullptr;
  by = t.look(by);
  const bool plain = (by->is(ValueKind::List) && by->cls == &PyList_Type) || is_plain_tuple(by);
  if (!plain || !is_open(list)) return nullptr;
  touch(t, list);
  list->items().insert(list->items().end(), by->items().begin(), by->items().end());
  return list;
}

}  // namespace vitrine::capture
