// Handlers: tuples, lists, dicts, strings, slices, and taking them apart.
#include <set>

#include "core/base/words.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/machine/builtin_calls.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/symbolic/symbolic_text.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Py_TPFLAGS_MATCH_SELF: bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple.
constexpr unsigned long kMatchesItself = 1UL << 22;

// What a container is made of.
Values taken(Tracer& t, VirtualFrame& f, int count) {
  Values items = pop_many(f, count);
  check_taken(t, items);
  return items;
}

}  // namespace

Flow runBuildTuple(Tracer& t, VirtualFrame& f, const Instruction& in) {
  push(f, t.tuple(taken(t, f, in.arg)));
  return Flow::Next;
}

Flow runBuildList(Tracer& t, VirtualFrame& f, const Instruction& in) {
  push(f, t.list(taken(t, f, in.arg)));
  return Flow::Next;
}

Flow runBuildSet(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* set = t.sequence(ValueKind::Set, {});
  for (Value* item : pop_many(f, in.arg)) set_insert(t, set, item);
  push(f, set);
  return Flow::Next;
}

Flow runBuildMap(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values items = taken(t, f, in.arg * 2);
  Value* dict = new_dict(t);
  for (size_t i = 0; i + 1 < items.size(); i += 2) dict_set(t, dict, items[i], items[i + 1]);
  push(f, dict);
  return Flow::Next;
}

Flow runBuildConstKeyMap(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values keys = unpack(t, pop(f));
  Values items = taken(t, f, in.arg);
  Value* dict = new_dict(t);
  for (size_t i = 0; i < items.size(); ++i) dict_set(t, dict, keys[i], items[i]);
  push(f, dict);
  return Flow::Next;
}

Flow runBuildString(Tracer& t, VirtualFrame& f, const Instruction& in) {
  push(f, joined_text(t, pop_many(f, in.arg)));
  return Flow::Next;
}

Flow runBuildSlice(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values parts = pop_many(f, in.arg);
  if (parts.size() == 2) parts.push_back(t.none());
  push(f, t.sequence(ValueKind::Slice, std::move(parts)));
  return Flow::Next;
}

Flow runListAppend(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* item = pop(f);
  Value* list = t.look(peek(f, in.arg));
  touch(t, list);
  list->items().push_back(item);
  return Flow::Next;
}

Flow runSetAdd(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* item = pop(f);
  set_insert(t, t.look(peek(f, in.arg)), item);
  return Flow::Next;
}

Flow runMapAdd(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* value = pop(f);
  Value* key = pop(f);
  dict_set(t, peek(f, in.arg), key, value);
  return Flow::Next;
}

Flow runListExtend(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values items = listed(t, pop(f));
  Value* list = t.look(peek(f, in.arg));
  touch(t, list);
  list->items().insert(list->items().end(), items.begin(), items.end());
  return Flow::Next;
}

Flow runSetUpdate(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* more = t.look(pop(f));
  set_insert_all(t, t.look(peek(f, in.arg)), more);
  return Flow::Next;
}

// `**` takes mappings alone, where dict.update() takes pairs too.
void need_mapping(Tracer& t, Value* more) {
  if (!more->is(ValueKind::Dict) && !lookup(type_of(t, more), "keys"))
    stop("unsupported_value", "** of " + describe(t, more));
}

Flow runDictUpdate(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* more = t.look(pop(f));
  need_mapping(t, more);
  dict_update(t, peek(f, in.arg), more);
  return Flow::Next;
}

Flow runDictMerge(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* more = t.look(pop(f));
  Value* dict = t.look(peek(f, in.arg));
  Value* extra = more;
  need_mapping(t, more);
  if (!more->is(ValueKind::Dict) || python_method(t, type_of(t, more), "__iter__")) {
    extra = new_dict(t);
    dict_update(t, extra, more);
  }
  for (auto [key, value] : dict_entries(t, extra)) {
    if (dict_get(t, dict, key)) t.raise(PyExc_TypeError, "got multiple values for a keyword argument");
    dict_set(t, dict, key, value);
  }
  return Flow::Next;
}

Flow runListToTuple(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value* list = t.look(pop(f));
  push(f, t.tuple(list->items()));
  return Flow::Next;
}

Flow runUnpackSequence(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values items = unpack(t, pop(f));
  if (items.size() != static_cast<size_t>(in.arg))
    t.raise(PyExc_ValueError,
            "expected " + std::to_string(in.arg) + " values to unpack, got " + std::to_string(items.size()));
  for (size_t i = items.size(); i-- > 0;) push(f, items[i]);
  return Flow::Next;
}

Flow runUnpackEx(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Values items = unpack(t, pop(f));
  const auto before = static_cast<size_t>(in.arg & 0xff), after = static_cast<size_t>(in.arg >> 8);
  if (items.size() < before + after) t.raise(PyExc_ValueError, "not enough values to unpack");
  for (size_t i = 0; i < after; ++i) push(f, items[items.size() - 1 - i]);
  push(f, t.list(Values(items.begin() + static_cast<long>(before), items.end() - static_cast<long>(after))));
  for (size_t i = before; i-- > 0;) push(f, items[i]);
  return Flow::Next;
}

Flow runFormat(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* spec = in.flag ? pop(f) : nullptr;
  push(f, format(t, pop(f), spec, in.arg));
  return Flow::Next;
}

Flow runConvert(Tracer& t, VirtualFrame& f, const Instruction& in) {
  push(f, converted(t, pop(f), in.arg));
  return Flow::Next;
}

Flow runGetLen(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, len(t, peek(f, 1)));
  return Flow::Next;
}

Flow runMatchMapping(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.boolean(PyType_HasFeature(type_of(t, peek(f, 1)), Py_TPFLAGS_MAPPING)));
  return Flow::Next;
}

Flow runMatchSequence(Tracer& t, VirtualFrame& f, const Instruction&) {
  push(f, t.boolean(PyType_HasFeature(type_of(t, peek(f, 1)), Py_TPFLAGS_SEQUENCE)));
  return Flow::Next;
}

// Pushes the values of all the keys, or None when one is missing.
Flow runMatchKeys(Tracer& t, VirtualFrame& f, const Instruction&) {
  Value *keys = t.look(peek(f, 1)), *subject = t.look(peek(f, 2));
  if (!subject->is(ValueKind::Dict) || subject->cls != &PyDict_Type || !keys->is(ValueKind::Tuple))
    stop("unsupported_value", with_article(describe(t, subject)) + " is matched by its keys");
  Values found;
  std::set<PyObject*> asked;
  for (Value* key : keys->items()) {
    for (PyObject* other : asked)
      if (same_key(t, other, key_object(t, key))) stop("exception", "a match that asks for one key twice");
    asked.insert(key_object(t, key));
    Value* value = dict_get(t, subject, key);
    if (!value) {
      push(f, t.none());
      return Flow::Next;
    }
    found.push_back(value);
  }
  push(f, t.tuple(std::move(found)));
  return Flow::Next;
}

// subject, class, names of keywords -> the attributes that the pattern binds, or None. See PEP 634 for which
// builtin classes give themselves for one positional pattern.
Flow runMatchClass(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value *names = t.look(pop(f)), *cls = t.look(pop(f)), *subject = pop(f);
  PyObject* type = const_object(t, cls);
  if (!type || !PyType_Check(type) || !names->is(ValueKind::Tuple))
    stop("unsupported_value", "a match with " + describe(t, cls));
  bool known = false;
  Arguments test{{subject, cls}, {}};
  if (!truth(t, call_builtin(t, find_object("builtins.isinstance"), test, &known))) {
    push(f, t.none());
    return Flow::Next;
  }
  Values found;
  std::set<std::string> bound;
  const auto bind = [&](const std::string& name) {
    if (!bound.insert(name).second) stop("exception", "a match that binds ." + name + " twice");
    Value* value = get_attr(t, subject, name);
    if (value) found.push_back(value);
    return value != nullptr;
  };
  bool matched = true;
  if (in.arg > 0) {
    Value* positional = get_attr(t, cls, "__match_args__");
    if (positional) {
      if (!t.look(positional)->is(ValueKind::Tuple)) stop("exception", "a __match_args__ that is no tuple");
      const Values args = unpack(t, positional);
      if (static_cast<int>(args.size()) < in.arg)
        stop("exception", "a match with too many positional patterns");
      for (Value* name : args)
        if (PyObject* o = const_object(t, name); !o || !PyUnicode_CheckExact(o))
          stop("exception", "a __match_args__ with something else than names");
      for (int i = 0; i < in.arg && matched; ++i)
        matched = bind(str_of(t, args[static_cast<size_t>(i)], false));
    } else if (in.arg == 1 && PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), kMatchesItself)) {
      found.push_back(subject);
    } else {
      stop("exception", "a match with positional patterns of " + describe(t, cls));
    }
  }
  for (Value* name : names->items())
    if (matched) matched = bind(str_of(t, name, false));
  push(f, matched ? t.tuple(std::move(found)) : t.none());
  return Flow::Next;
}

Flow runMakeFunction(Tracer& t, VirtualFrame& f, const Instruction& in) {
  PyObject* code = const_object(t, pop(f));
  Value* closure = in.arg & 8 ? pop(f) : nullptr;
  Value* annotations = in.arg & 4 ? pop(f) : nullptr;
  Value* kwdefaults = in.arg & 2 ? pop(f) : nullptr;
  Value* defaults = in.arg & 1 ? pop(f) : nullptr;
  Value* v = t.make(ValueKind::Function);
  v->cls = &PyFunction_Type;
  FunctionState& state = v->function();
  state.code = reinterpret_cast<PyCodeObject*>(code);
  state.globals = f.globals;
  state.globals_owner = f.globals_owner;
  if (closure)
    for (Value* cell : unpack(t, closure)) state.closure.push_back(cell);
  state.defaults = defaults;
  state.kwdefaults = kwdefaults;
  state.annotations = annotations;
  push(f, v);
  return Flow::Next;
}

Flow runSetFunctionAttribute(Tracer& t, VirtualFrame& f, const Instruction& in) {
  Value* v = pop(f);
  Value* part = pop(f);
  if (!v->is(ValueKind::Function) || v->source)
    stop("unsupported_instruction", "a function that was made before the graph is completed");
  FunctionState& state = v->function();
  if (in.arg == 8)
    for (Value* cell : unpack(t, part)) state.closure.push_back(cell);
  if (in.arg == 4) state.annotations = part;
  if (in.arg == 2) state.kwdefaults = part;
  if (in.arg == 1) state.defaults = part;
  push(f, v);
  return Flow::Next;
}

}  // namespace vitrine::capture
