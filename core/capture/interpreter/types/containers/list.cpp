// list, and classes of the program that derive from it.
#include <algorithm>

#include "core/base/words.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/machine/builtin_calls.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

Value* list_insert(Tracer& t, Value* self, const Arguments& a) {
  guard_length(t, self);
  const auto n = static_cast<int64_t>(self->items().size());
  int64_t i = int_of(t, argument(t, a, 0), "a list index");
  if (i < 0) i = std::max<int64_t>(0, i + n);
  i = std::min(i, n);
  touch(t, self);
  self->items().insert(self->items().begin() + i, argument(t, a, 1));
  return t.none();
}

Value* list_remove(Tracer& t, Value* self, const Arguments& a) {
  const size_t i = place_of(t, self, argument(t, a, 0));
  if (i == self->items().size()) t.raise(PyExc_ValueError, "list.remove(x): x not in list");
  touch(t, self);
  self->items().erase(self->items().begin() + static_cast<long>(i));
  return t.none();
}

namespace {

Value* list_append(Tracer& t, Value* self, const Arguments& a) {
  guard_length(t, self);
  touch(t, self);
  self->items().push_back(argument(t, a, 0));
  return t.none();
}

Value* list_pop(Tracer& t, Value* self, const Arguments& a) {
  guard_length(t, self);
  const auto n = static_cast<int64_t>(self->items().size());
  int64_t i = a.positional.empty() ? n - 1 : int_of(t, a.positional[0], "a list index");
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, "pop index out of range");
  touch(t, self);
  Value* item = self->items()[static_cast<size_t>(i)];
  self->items().erase(self->items().begin() + i);
  return item;
}

Value* list_extend(Tracer& t, Value* self, const Arguments& a) {
  if (a.positional.size() != 1 || !a.keyword.empty()) stop("exception", "arguments of extend()");
  extend_list(t, self, a.positional[0]);
  return t.none();
}

Value* list_sort(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty()) t.raise(PyExc_TypeError, "sort() takes no positional arguments");
  Arguments all = a;
  all.positional = {self};
  // Meanwhile the list is empty for whoever looks.
  guard_length(t, self);
  touch(t, self);
  all.positional = {t.list(std::exchange(self->items(), {}))};
  const uint64_t version = self->version;
  bool known = false;
  try {
    self->items() = call_builtin(t, find_object("builtins.sorted"), all, &known)->items();
  } catch (const RaiseSignal&) {
    stop("exception", "sort() is left by an exception");
  }
  if (self->version != version) t.raise(PyExc_ValueError, "list modified during sort", true);
  return t.none();
}

Value* list_copy(Tracer& t, Value* self, const Arguments&) {
  guard_length(t, self);
  return t.list(self->items());
}

Value* list_clear(Tracer& t, Value* self, const Arguments&) {
  touch(t, self);
  self->items().clear();
  return t.none();
}

Value* list_reverse(Tracer& t, Value* self, const Arguments&) {
  touch(t, self);
  self->items() = Values(self->items().rbegin(), self->items().rend());
  return t.none();
}

Value* list_init(Tracer& t, Value* self, const Arguments& a) {
  if (a.positional.size() > 1 || !a.keyword.empty())
    stop("exception", "list.__init__() with other arguments");
  const Values given = a.positional.empty() ? Values{} : unpack(t, a.positional[0]);
  guard_length(t, self);
  touch(t, self);
  self->items() = given;
  return t.none();
}

const MethodTable& list_methods() {
  static const MethodTable table = {
      {"append", list_append}, {"extend", list_extend},   {"insert", list_insert},   {"pop", list_pop},
      {"remove", list_remove}, {"sort", list_sort},       {"index", index_method},   {"count", count_method},
      {"copy", list_copy},     {"clear", list_clear},     {"reverse", list_reverse}, {"__init__", list_init},
      {"__len__", len_method}, {"__iter__", iter_method},
  };
  return table;
}

Value* list_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (!a->is(ValueKind::List) || op.name != "iadd") return binary_of_sequences(t, op, a, b);
  extend_list(t, a, b);
  return a;
}

Value* get_list_item(Tracer& t, Value* v, Value* key) {
  key = t.look(key);
  guard_length(t, v);
  return is_slice(key) ? get_slice(t, v, key) : get_at(t, v, key, "list index out of range");
}

// v[a:b:c] = value
void set_list_slice(Tracer& t, Value* v, Value* key, Value* value) {
  const SliceRange r = slice_range(t, key, v->items().size());
  Values items = listed(t, value);
  touch(t, v);
  if (r.step != 1) {
    if (static_cast<size_t>(r.count) != items.size())
      t.raise(PyExc_ValueError,
              "attempt to assign sequence of size " + std::to_string(items.size()) +
                  " to extended slice of size " + std::to_string(r.count),
              true);
    for (size_t i = 0; i < items.size(); ++i)
      v->items()[static_cast<size_t>(r.start + static_cast<int64_t>(i) * r.step)] = items[i];
    return;
  }
  v->items().erase(v->items().begin() + r.start, v->items().begin() + r.start + r.count);
  v->items().insert(v->items().begin() + r.start, items.begin(), items.end());
}

void del_list_slice(Tracer& t, Value* v, Value* key) {
  const SliceRange r = slice_range(t, key, v->items().size());
  touch(t, v);
  if (r.step == 1) {
    v->items().erase(v->items().begin() + r.start, v->items().begin() + r.start + r.count);
    return;
  }
  std::vector<bool> gone(v->items().size());
  for (int64_t i = 0, at = r.start; i < r.count; ++i, at += r.step) gone[static_cast<size_t>(at)] = true;
  size_t kept = 0;
  for (size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) v->items()[kept++] = v->items()[i];
  v->items().resize(kept);
}

int64_t place_to_change(Tracer& t, const Value* v, Value* key) {
  int64_t i = int_of(t, key, "a list index");
  const auto n = static_cast<int64_t>(v->items().size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, "list assignment index out of range");
  return i;
}

// What stands in a plain one stays open until somebody asks (symbolic/symbolic_lists.cpp).
void enter_list(Tracer& t, Value* v) {
  become(v, ValueKind::List);
  if (PyList_CheckExact(v->obj) && v->source)
    v->as<ListValue>().open = true;
  else
    enter_items(t, v);
}

// An object of a class derived from list: made empty, then filled past every override.
Recipe recipe_of_class(RecipeMaker& make, Value* v) {
  auto* base = reinterpret_cast<PyObject*>(&PyList_Type);
  PyRef maker(PyObject_GetAttrString(base, "__new__")), adder(PyObject_GetAttrString(base, "append"));
  return make.made_empty(v, maker.get(), [&](const Recipe& target) {
    for (Value* item : v->items()) {
      Recipe added = make.call(adder.get(), {});
      added.children.push_back(copy_recipe(target));
      added.children.push_back(make.make(item));
      make.do_afterwards(std::move(added));
    }
    make.attributes(v, target);
  });
}

Recipe recipe_of_list(Tracer&, RecipeMaker& make, Value* v) {
  return v->cls == &PyList_Type ? make.sequence(Recipe::Kind::List, v->items()) : recipe_of_class(make, v);
}

PyObject* constant_list(Tracer& t, Value* v) {
  return v->cls == &PyList_Type ? constant_items(t, v).release() : nullptr;
}

}  // namespace

Method method_of_list(const std::string& name) {
  return method_in<list_methods>(name);
}

void set_list_item(Tracer& t, Value* v, Value* key, Value* value) {
  key = t.look(key);
  guard_length(t, v);
  if (is_slice(key)) return set_list_slice(t, v, key, value);
  const int64_t i = place_to_change(t, v, key);
  touch(t, v);
  v->items()[static_cast<size_t>(i)] = value;
}

void del_list_item(Tracer& t, Value* v, Value* key) {
  key = t.look(key);
  guard_length(t, v);
  if (is_slice(key)) return del_list_slice(t, v, key);
  const int64_t i = place_to_change(t, v, key);
  touch(t, v);
  v->items().erase(v->items().begin() + i);
}

std::string describe_list(Tracer&, Value* v) {
  return is_open(v) ? "list" : "list of " + std::to_string(v->items().size());
}

PyObject* list_to_torch(Tracer& t, Value* v) {
  PyRef list = items_to_torch(t, v);
  if (v->cls != &PyList_Type)
    stop("unsupported_value", with_article(describe(t, v)) + " is given to PyTorch");
  return list.release();
}

void list_effect(Tracer&, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  Effect e;
  e.target = make.make(v);
  e.kind = is_open(v) ? Effect::Kind::ListExtend : Effect::Kind::ListReplace;
  e.value = make.sequence(Recipe::Kind::List, v->items());
  out.push_back(std::move(e));
}

const TypeOps list_type = container_ops({
    .name = "list",
    .describe = describe_list,
    .constant = constant_list,
    .method = method_of_list,
    .binary = list_binary,
    .compare = compare_sequences,
    .equal = equal_sequences,
    .length = length_of_items,
    .contains = contains_item,
    .get_item = get_list_item,
    .set_item = set_list_item,
    .del_item = del_list_item,
    .iter = iter_items,
    .enter = enter_list,
    .to_torch = list_to_torch,
    .effect = list_effect,
    .recipe = recipe_of_list,
});

}  // namespace vitrine::capture
