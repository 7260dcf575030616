// collections.deque: a list that may have a greatest length. It has no slices.
#include <algorithm>

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// It has grown at one end: what is too much goes at the other.
void limit_deque(Value* v, bool at_the_end) {
  if (v->as<ListValue>().limit < 0 || static_cast<int64_t>(v->items().size()) <= v->as<ListValue>().limit)
    return;
  const auto most = v->as<ListValue>().limit;
  if (at_the_end)
    v->items().erase(v->items().begin(), v->items().end() - most);
  else
    v->items().resize(static_cast<size_t>(most));
}

Value* extend_deque(Tracer& t, Value* self, Value* by, bool at_the_end) {
  if (t.look(by) == self) by = t.tuple(self->items());
  for_rest_of(t, iter(t, by), [&](Value* item) {
    touch(t, self);
    self->items().insert(at_the_end ? self->items().end() : self->items().begin(), item);
    limit_deque(self, at_the_end);
  });
  return t.none();
}

Value* deque_append(Tracer& t, Value* self, const Arguments& a) {
  touch(t, self);
  self->items().push_back(argument(t, a, 0));
  limit_deque(self, true);
  return t.none();
}

Value* deque_append_left(Tracer& t, Value* self, const Arguments& a) {
  touch(t, self);
  self->items().insert(self->items().begin(), argument(t, a, 0));
  limit_deque(self, false);
  return t.none();
}

Value* deque_extend(Tracer& t, Value* self, const Arguments& a) {
  return extend_deque(t, self, argument(t, a, 0), true);
}

Value* deque_extend_left(Tracer& t, Value* self, const Arguments& a) {
  return extend_deque(t, self, argument(t, a, 0), false);
}

Value* deque_insert(Tracer& t, Value* self, const Arguments& a) {
  guard_length(t, self);
  if (self->as<ListValue>().limit >= 0 &&
      static_cast<int64_t>(self->items().size()) >= self->as<ListValue>().limit)
    t.raise(PyExc_IndexError, "deque already at its maximum size", true);
  return list_insert(t, self, a);
}

void check_not_empty(Tracer& t, const Value* self) {
  if (self->items().empty()) t.raise(PyExc_IndexError, "pop from an empty deque", true);
}

Value* deque_pop_left(Tracer& t, Value* self, const Arguments&) {
  check_not_empty(t, self);
  touch(t, self);
  Value* item = self->items().front();
  self->items().erase(self->items().begin());
  return item;
}

Value* deque_pop(Tracer& t, Value* self, const Arguments&) {
  check_not_empty(t, self);
  touch(t, self);
  Value* item = self->items().back();
  self->items().pop_back();
  return item;
}

Value* deque_rotate(Tracer& t, Value* self, const Arguments& a) {
  const auto n = static_cast<int64_t>(self->items().size());
  const int64_t by = int_of(t, argument(t, a, 0, "", t.integer(1)), "how far to rotate");
  touch(t, self);
  if (n > 0)
    std::rotate(self->items().begin(), self->items().end() - ((by % n + n) % n), self->items().end());
  return t.none();
}

Value* deque_copy(Tracer& t, Value* self, const Arguments&) {
  guard_length(t, self);
  Value* copy = t.sequence(ValueKind::List, self->items(), torch_names().deque);
  copy->as<ListValue>().limit = self->as<ListValue>().limit;
  return copy;
}

// Says otherwise than a list what it does not find.
template <Method of_list>
Value* found_in_deque(Tracer& t, Value* self, const Arguments& a) {
  if (a.positional.size() != 1 || place_of(t, self, a.positional[0]) == self->items().size())
    stop("exception", "a deque does not hold what is looked for");
  return of_list(t, self, a);
}

Value* deque_sort(Tracer&, Value*, const Arguments&) {
  stop("exception", "a deque is sorted");
}

Value* deque_init(Tracer&, Value*, const Arguments&) {
  stop("unsupported_builtin", "__init__() of a deque that exists already");
}

const MethodTable& deque_methods() {
  static const MethodTable table = {
      {"append", deque_append},
      {"appendleft", deque_append_left},
      {"extend", deque_extend},
      {"insert", deque_insert},
      {"extendleft", deque_extend_left},
      {"popleft", deque_pop_left},
      {"pop", deque_pop},
      {"rotate", deque_rotate},
      {"sort", deque_sort},
      {"__init__", deque_init},
      {"remove", found_in_deque<list_remove>},
      {"index", found_in_deque<index_method>},
      {"copy", deque_copy},
      {"__copy__", deque_copy},
  };
  return table;
}

// The rest is as a list's.
Method method_of_deque(const std::string& name) {
  const Method own = method_in<deque_methods>(name);
  return own ? own : method_of_list(name);
}

Value* deque_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (a->cls != torch_names().deque || op.name != "iadd")
    stop("unsupported_value", op.name + " of " + describe(t, a) + " and " + describe(t, b));
  call_method(t, a, "extend", {{b}, {}});
  return a;
}

void check_no_slice(Tracer& t, Value* v, Value* key) {
  key = t.look(key);
  guard_length(t, v);
  if (is_slice(key)) stop("exception", "a slice of a deque");
}

Value* get_deque_item(Tracer& t, Value* v, Value* key) {
  check_no_slice(t, v, key);
  return get_at(t, v, t.look(key), "deque index out of range");
}

void set_deque_item(Tracer& t, Value* v, Value* key, Value* value) {
  check_no_slice(t, v, key);
  set_list_item(t, v, key, value);
}

void del_deque_item(Tracer& t, Value* v, Value* key) {
  check_no_slice(t, v, key);
  del_list_item(t, v, key);
}

// It tells how much it holds at most.
void enter_deque(Tracer& t, Value* v) {
  become(v, ValueKind::List);
  PyRef most(PyObject_GetAttrString(v->obj, "maxlen"));
  Value* limit = most ? t.lazy(most.get(), t.sources().attr(v->source, "maxlen")) : nullptr;
  if (limit && !is_none(t, limit)) v->as<ListValue>().limit = int_of(t, limit, "a deque's length");
  if (limit && most.get() == Py_None) t.look(limit);
  enter_items(t, v);
}

Recipe recipe_of_deque(Tracer&, RecipeMaker& make, Value* v) {
  std::vector<Recipe> items;
  items.push_back(make.sequence(Recipe::Kind::List, v->items()));
  if (v->as<ListValue>().limit >= 0)
    items.push_back(make.constant(PyRef(PyLong_FromLongLong(v->as<ListValue>().limit)).get()));
  return make.call(reinterpret_cast<PyObject*>(v->cls), std::move(items));
}

}  // namespace

Value* new_deque(Tracer& t, const Arguments& a) {
  Value* limit = a.positional.size() > 1 ? a.positional[1] : a.find("maxlen");
  const size_t named = (a.find("maxlen") != nullptr) + (a.find("iterable") != nullptr);
  const bool known = a.positional.size() + a.keyword.size() <= 2 && a.keyword.size() == named;
  const bool limited = limit && !is_none(t, limit);
  const int64_t most = limited ? int_of(t, limit, "a deque's length") : -1;
  if (!known || (limited && most < 0)) stop("unsupported_builtin", "a deque is made of other arguments");
  Value* iterable = a.positional.empty() ? a.find("iterable") : a.positional[0];
  Value* v = t.sequence(ValueKind::List, iterable ? unpack(t, iterable) : Values{}, torch_names().deque);
  v->as<ListValue>().limit = most;
  limit_deque(v, true);
  return v;
}

const TypeOps deque_type = container_ops({
    .name = "collections.deque",
    .precedence = 1,  // beside a list, too
    .describe = describe_list,
    .method = method_of_deque,
    .binary = deque_binary,
    .compare = compare_sequences,
    .equal = equal_sequences,
    .length = length_of_items,
    .contains = contains_item,
    .get_item = get_deque_item,
    .set_item = set_deque_item,
    .del_item = del_deque_item,
    .iter = iter_items,
    .enter = enter_deque,
    .to_torch = list_to_torch,
    .effect = list_effect,
    .recipe = recipe_of_deque,
});

}  // namespace vitrine::capture
