#include "core/capture/segment/recipe.h"

#include <algorithm>

#include "core/capture/objects/values.h"

namespace vitrine::capture {

namespace {

using RecipeKind = Recipe::Kind;

// Remembers a shared value before its contents are made, so that it may contain itself.
void remember(const Recipe& recipe, Ingredients& from, PyObject* made) {
  if (recipe.shared < 0) return;
  if (from.shared.size() <= static_cast<size_t>(recipe.shared)) from.shared.resize(recipe.shared + 1);
  from.shared[recipe.shared] = share(made);
}

PyObject* remembered(const Recipe& recipe, Ingredients& from) {
  const auto i = static_cast<size_t>(recipe.shared);
  return recipe.shared >= 0 && i < from.shared.size() ? from.shared[i].get() : nullptr;
}

bool make_all(const Recipe& recipe, Ingredients& from, std::vector<PyRef>& out) {
  out.resize(recipe.children.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (!make_value(recipe.children[i], from, out[i])) return false;
  return true;
}

bool missing(const char* what) {
  PyErr_Format(PyExc_SystemError, "a recipe lacks %s", what);
  return false;
}

PyObject* make_tuple(const Recipe& recipe, Ingredients& from) {
  std::vector<PyRef> items;
  if (!make_all(recipe, from, items)) return nullptr;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(items.size()));
  for (size_t i = 0; tuple && i < items.size(); ++i) PyTuple_SET_ITEM(tuple, i, items[i].release());
  return tuple;
}

bool fill_list(const Recipe& recipe, Ingredients& from, PyObject* list) {
  for (const Recipe& child : recipe.children) {
    PyRef item;
    if (!make_value(child, from, item) || PyList_Append(list, item.get()) != 0) return false;
  }
  return true;
}

bool fill_set(const Recipe& recipe, Ingredients& from, PyObject* set) {
  for (const Recipe& child : recipe.children) {
    PyRef item;
    if (!make_value(child, from, item) || PySet_Add(set, item.get()) != 0) return false;
  }
  return true;
}

bool fill_dict(const Recipe& recipe, Ingredients& from, PyObject* dict) {
  for (size_t i = 0; i + 1 < recipe.children.size(); i += 2) {
    PyRef key, value;
    if (!make_value(recipe.children[i], from, key) || !make_value(recipe.children[i + 1], from, value))
      return false;
    if (PyDict_SetItem(dict, key.get(), value.get()) != 0) return false;
  }
  return true;
}

PyObject* make_slice(const Recipe& recipe, Ingredients& from) {
  std::vector<PyRef> parts;
  if (!make_all(recipe, from, parts)) return nullptr;
  parts.resize(3);
  return PySlice_New(parts[0].get(), parts[1].get(), parts[2].get());
}

PyObject* make_call(const Recipe& recipe, Ingredients& from) {
  std::vector<PyRef> parts;
  if (!make_all(recipe, from, parts)) return nullptr;
  std::vector<PyObject*> values;
  for (const PyRef& part : parts) values.push_back(part.get());
  if (values.empty() || !values[0]) return missing("a callable"), nullptr;
  return PyObject_Vectorcall(values[0], values.data() + 1, values.size() - 1, nullptr);
}

// children: code, globals, name, defaults, kwdefaults, closure, annotations. The closure may hold the
// function itself, so it is made last.
bool make_function(const Recipe& recipe, Ingredients& from, PyRef& out) {
  std::vector<PyRef> parts(7);
  const std::vector<Recipe>& children = recipe.children;
  auto part = [&](size_t i) { return i >= children.size() || make_value(children[i], from, parts[i]); };
  if (!part(0) || !part(1) || !part(2)) return false;
  if (!parts[0] || !parts[1]) return missing("code or globals");
  out = PyRef(PyFunction_NewWithQualName(parts[0].get(), parts[1].get(), parts[2].get()));
  if (!out) return false;
  remember(recipe, from, out.get());
  if (!part(3) || !part(4) || !part(5) || !part(6)) return false;
  if (parts[3] && PyFunction_SetDefaults(out.get(), parts[3].get()) != 0) return false;
  if (parts[4] && PyFunction_SetKwDefaults(out.get(), parts[4].get()) != 0) return false;
  if (parts[5] && PyFunction_SetClosure(out.get(), parts[5].get()) != 0) return false;
  return !parts[6] || PyFunction_SetAnnotations(out.get(), parts[6].get()) == 0;
}

bool make_cell(const Recipe& recipe, Ingredients& from, PyRef& out) {
  out = PyRef(PyCell_New(nullptr));
  if (!out) return false;
  remember(recipe, from, out.get());
  PyRef contents;
  if (!recipe.children.empty() && !make_value(recipe.children[0], from, contents)) return false;
  return PyCell_Set(out.get(), contents.get()) == 0;
}

PyObject* make_method(const Recipe& recipe, Ingredients& from) {
  std::vector<PyRef> parts;
  if (!make_all(recipe, from, parts)) return nullptr;
  if (parts.size() != 2 || !parts[0] || !parts[1]) return missing("a function or its self"), nullptr;
  return PyMethod_New(parts[0].get(), parts[1].get());
}

PyObject* make_iterator(const Recipe& recipe, Ingredients& from) {
  PyRef sequence;
  if (recipe.children.empty() || !make_value(recipe.children[0], from, sequence)) return nullptr;
  if (!sequence) return missing("a sequence"), nullptr;
  PyRef iterator(PyObject_GetIter(sequence.get()));
  for (int32_t i = 0; iterator && i < recipe.index; ++i) {
    PyRef item(PyIter_Next(iterator.get()));
    if (!item) break;
  }
  return PyErr_Occurred() ? nullptr : iterator.release();
}

// Containers are remembered empty, then filled.
bool make_container(const Recipe& recipe, Ingredients& from, PyRef& out, PyObject* empty,
                    bool (*fill)(const Recipe&, Ingredients&, PyObject*)) {
  out = PyRef(empty);
  if (!out) return false;
  remember(recipe, from, out.get());
  return fill(recipe, from, out.get());
}

bool make_frozenset(const Recipe& recipe, Ingredients& from, PyRef& out) {
  PyRef set(PySet_New(nullptr));
  if (!set || !fill_set(recipe, from, set.get())) return false;
  out = PyRef(PyFrozenSet_New(set.get()));
  return static_cast<bool>(out);
}

bool make_new(const Recipe& recipe, Ingredients& from, PyRef& out) {
  switch (recipe.kind) {
    case RecipeKind::List:
      return make_container(recipe, from, out, PyList_New(0), fill_list);
    case RecipeKind::Set:
      return make_container(recipe, from, out, PySet_New(nullptr), fill_set);
    case RecipeKind::Dict:
      return make_container(recipe, from, out, PyDict_New(), fill_dict);
    case RecipeKind::FrozenSet:
      return make_frozenset(recipe, from, out);
    case RecipeKind::Function:
      return make_function(recipe, from, out);
    case RecipeKind::Cell:
      return make_cell(recipe, from, out);
    case RecipeKind::Tuple:
      out = PyRef(make_tuple(recipe, from));
      break;
    case RecipeKind::Slice:
      out = PyRef(make_slice(recipe, from));
      break;
    case RecipeKind::Call:
      out = PyRef(make_call(recipe, from));
      break;
    case RecipeKind::BoundMethod:
      out = PyRef(make_method(recipe, from));
      break;
    case RecipeKind::Iterator:
      out = PyRef(make_iterator(recipe, from));
      break;
    default:
      return missing("a kind");
  }
  return static_cast<bool>(out);
}

}  // namespace

int32_t RecipeSources::add(const Source* source) {
  auto [it, added] = ordinals_.try_emplace(source, static_cast<int32_t>(all_.size()));
  if (added) all_.push_back(source);
  return it->second;
}

void RecipeSources::add(Recipe& recipe) {
  if (recipe.kind == RecipeKind::Source) recipe.index = add(recipe.source);
  for (Recipe& child : recipe.children) add(child);
}

bool makes_iterator(const Recipe& recipe) {
  return recipe.kind == RecipeKind::Iterator ||
         std::any_of(recipe.children.begin(), recipe.children.end(), makes_iterator);
}

bool make_value(const Recipe& recipe, Ingredients& from, PyRef& out) {
  switch (recipe.kind) {
    case RecipeKind::Null:
      out = {};
      return true;
    case RecipeKind::Graph:
      if (recipe.index < 0 || static_cast<size_t>(recipe.index) >= from.graph.size())
        return missing("a result of the graph");
      out = share(from.graph[recipe.index]);
      return true;
    case RecipeKind::Source:
      out = share(from.sources[recipe.index].get());
      return true;
    case RecipeKind::Constant:
      out = share(recipe.object);
      return true;
    case RecipeKind::Integer:
      out = share(from.integers[recipe.index].get());
      return true;
    default:
      break;
  }
  if (PyObject* known = remembered(recipe, from)) {
    out = share(known);
    return true;
  }
  if (!make_new(recipe, from, out)) return false;
  if (!remembered(recipe, from)) remember(recipe, from, out.get());
  return true;
}

}  // namespace vitrine::capture
