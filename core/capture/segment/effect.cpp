// Replaying effects: the changes that a traced piece of program makes to objects that others can see.
#include "core/capture/cpython/frame.h"
#include "core/capture/objects/values.h"
#include "core/capture/segment/recipe.h"

namespace vitrine::capture {

namespace {

using EffectKind = Effect::Kind;

bool error(const char* what) {
  PyErr_Format(PyExc_SystemError, "an effect on %s", what);
  return false;
}

bool replace_list(PyObject* list, PyObject* items) {
  if (is_deque(list)) {
    const PyRef cleared(PyObject_CallMethod(list, "clear", nullptr));
    const PyRef filled(cleared ? PyObject_CallMethod(list, "extend", "O", items) : nullptr);
    return static_cast<bool>(filled);
  }
  return PyList_Check(list) ? PyList_SetSlice(list, 0, PyList_GET_SIZE(list), items) == 0
                            : error("something that is no list");
}

bool extend_list(PyObject* list, PyObject* items) {
  if (!PyList_Check(list)) return error("something that is no list");
  const Py_ssize_t end = PyList_GET_SIZE(list);
  return PyList_SetSlice(list, end, end, items) == 0;
}

// Lets go of all that is not among the first `kept` of `items`, then sets all of them.
bool change_dict(PyObject* dict, PyObject* items, Py_ssize_t kept) {
  PyRef before(PyDict_Keys(dict)), stay(PySet_New(nullptr));
  PyObject *key, *value;
  for (Py_ssize_t at = 0, n = 0; stay && n < kept && PyDict_Next(items, &at, &key, &value); ++n)
    if (PySet_Add(stay.get(), key) != 0) return false;
  for (Py_ssize_t i = 0; before && stay && i < PyList_GET_SIZE(before.get()); ++i) {
    key = PyList_GET_ITEM(before.get(), i);
    const int stays = PySet_Contains(stay.get(), key);
    if (stays < 0 || (!stays && PyDict_DelItem(dict, key) != 0)) return false;
  }
  // One by one: an empty dict would take over the other one's table.
  for (Py_ssize_t at = 0; PyDict_Next(items, &at, &key, &value);)
    if (PyDict_SetItem(dict, key, value) != 0) return false;
  return before && stay;
}

// `kept`: how many of the first entries keep their place; -1: it was emptied.
bool replace_dict(PyObject* dict, PyObject* items, int32_t kept) {
  if (!PyDict_Check(dict)) return error("something that is no dict");
  PyRef copy(PyDict_Copy(items));  // clearing may drop the last reference to what `items` holds
  if (!copy) return false;
  if (!PyODict_Check(dict) && kept >= 0) return change_dict(dict, copy.get(), kept);
  if (!PyODict_Check(dict)) {
    PyDict_Clear(dict);
    return PyDict_Update(dict, copy.get()) == 0;
  }
  // It keeps an order of its own.
  PyRef cleared(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyODict_Type), "clear", "O", dict));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; cleared && PyDict_Next(copy.get(), &at, &key, &value);)
    if (PyODict_SetItem(dict, key, value) != 0) return false;
  return static_cast<bool>(cleared);
}

bool replace_set(PyObject* set, PyObject* items) {
  if (!PySet_Check(set)) return error("something that is no set");
  PyRef copy(PySet_New(items));
  if (!copy || PySet_Clear(set) != 0) return false;
  PyRef iterator(PyObject_GetIter(copy.get()));
  while (iterator) {
    PyRef item(PyIter_Next(iterator.get()));
    if (!item) break;
    if (PySet_Add(set, item.get()) != 0) return false;
  }
  return !PyErr_Occurred();
}

bool set_global(const ReadyEffect& ready, const Frame& frame, PyObject* name) {
  PyObject* globals = frame.globals();
  if (PyObject* target = ready.target.get()) {
    if (PyFunction_Check(target))
      globals = PyFunction_GET_GLOBALS(target);
    else if (PyModule_Check(target))
      globals = PyModule_GetDict(target);
    else if (PyDict_Check(target))
      globals = target;
    else
      return error("globals of something that has none");
  }
  return ready.value ? PyDict_SetItem(globals, name, ready.value.get()) == 0
                     : PyDict_DelItem(globals, name) == 0;
}

}  // namespace

bool make_ready(const Effect& effect, Ingredients& from, ReadyEffect& out) {
  out.effect = &effect;
  if (!make_value(effect.target, from, out.target) || !make_value(effect.key, from, out.key)) return false;
  // A call is the effect itself, and an iterator's value is only a count.
  return effect.kind == EffectKind::Call || effect.kind == EffectKind::AdvanceIterator ||
         make_value(effect.value, from, out.value);
}

bool apply(const ReadyEffect& ready, const Frame& frame, Ingredients& from) {
  const Effect& effect = *ready.effect;
  PyObject *target = ready.target.get(), *key = ready.key.get(), *value = ready.value.get();
  PyRef name(effect.name.empty() ? nullptr : PyUnicode_InternFromString(effect.name.c_str()));
  if (!target && effect.kind != EffectKind::SetGlobal && effect.kind != EffectKind::Call)
    return error("nothing");
  switch (effect.kind) {
    case EffectKind::SetAttr:
      return PyObject_SetAttr(target, name.get(), value) == 0;
    case EffectKind::DelAttr:
      return PyObject_DelAttr(target, name.get()) == 0;
    case EffectKind::SetItem:
      return PyObject_SetItem(target, key, value) == 0;
    case EffectKind::DelItem:
      return PyObject_DelItem(target, key) == 0;
    case EffectKind::ListReplace:
      return replace_list(target, value);
    case EffectKind::ListExtend:
      return extend_list(target, value);
    case EffectKind::DictReplace:
      return replace_dict(target, value, effect.value.index);
    case EffectKind::SetReplace:
      return replace_set(target, value);
    case EffectKind::SetCell:
      return PyCell_Check(target) ? PyCell_Set(target, value) == 0 : error("something that is no cell");
    case EffectKind::SetGlobal:
      return set_global(ready, frame, name.get());
    case EffectKind::AdvanceIterator:
      return advance_iterator(target, effect.value.index);
    case EffectKind::Call: {
      PyRef dropped;
      return make_value(effect.value, from, dropped);
    }
  }
  return error("an unknown kind");
}

}  // namespace vitrine::capture
