#include "core/capture/trace/source.h"

#include <utility>

#include "core/capture/objects/python.h"

namespace vitrine::capture {
namespace {

std::string indexed(const std::string& base, const std::string& field, int32_t index) {
  return base + "." + field + "[" + std::to_string(index) + "]";
}

}  // namespace

// The dicts in which nn.Module keeps its members say nothing to a person: ".__dict__['_modules']['fc']" ->
// ".fc".
std::string Source::path() const {
  std::string out = text();
  for (const char* dict : {"_modules", "_parameters", "_buffers"}) {
    const std::string hidden = std::string(".__dict__['") + dict + "']['";
    for (size_t at = out.find(hidden); at != std::string::npos; at = out.find(hidden, at)) {
      size_t end = out.find("']", at + hidden.size());
      if (end == std::string::npos) break;
      std::string name = out.substr(at + hidden.size(), end - at - hidden.size());
      out.replace(at, end + 2 - at, "." + name);
    }
  }
  return out;
}

std::string Source::text() const {
  const std::string b = base ? base->text() : "";
  switch (kind) {
    case SourceKind::Local:
      return "L['" + name + "']";
    case SourceKind::Stack:
      return "S[" + std::to_string(index) + "]";
    case SourceKind::Global:
      return "G['" + name + "']";
    case SourceKind::GlobalOf:
      return "G(" + b + ")['" + name + "']";
    case SourceKind::Builtin:
      return "B['" + name + "']";
    case SourceKind::Attr:
      return b + "." + name;
    case SourceKind::InstanceDict:
      return b + ".__dict__['" + name + "']";
    case SourceKind::Item:
    case SourceKind::ItemOf:
      return b + "[" + name + "]";
    case SourceKind::Cell:
      return b + ".cell_contents";
    case SourceKind::Closure:
      return indexed(b, "__closure__", index);
    case SourceKind::Default:
      return indexed(b, "__defaults__", index);
    case SourceKind::KwDefault:
      return b + ".__kwdefaults__['" + name + "']";
    case SourceKind::Type:
      return "type(" + b + ")";
    case SourceKind::BoundSelf:
      return b + ".__self__";
    case SourceKind::BoundFunc:
      return b + ".__func__";
    case SourceKind::TensorOver:
      return "tensor(" + b + ")";
    case SourceKind::WeakTarget:
      return b + "()";
    case SourceKind::Proxied:
      return "behind(" + b + ")";
    case SourceKind::DictKey:
      return "list(" + b + ")[" + std::to_string(index) + "]";
    case SourceKind::IterRest:
      return "rest(" + b + ")";
    case SourceKind::IterState:
      return index == 1 ? "parts(" + b + ")" : "state(" + b + ")";
    case SourceKind::Drawn:
    case SourceKind::Computed:
    case SourceKind::Derived:
    case SourceKind::Constant:
      return name;
  }
  return "?";
}

const Source* Source::root() const {
  const Source* s = this;
  while (s->base) s = s->base;
  return s;
}

SourcePool::~SourcePool() {
  for (PyObject* key : take_keys()) Py_DECREF(key);
}

std::vector<PyObject*> SourcePool::take_keys() {
  std::vector<PyObject*> keys;
  if (!std::exchange(has_keys_, false)) return keys;
  for (const auto& source : all_)
    if (source->key) keys.push_back(source->key);
  return keys;
}

const Source* SourcePool::make(SourceKind kind, const Source* base, int32_t index, const std::string& name,
                               _object* key) {
  // One bucket a path; keys compare by identity or, within one type, by value.
  const std::string path = std::to_string(static_cast<int>(kind)) + ":" +
                           std::to_string(reinterpret_cast<uintptr_t>(base)) + ":" + std::to_string(index) +
                           ":" + name;
  for (Source* candidate : by_path_[path]) {
    if (candidate->key == key) return candidate;
    if (kind == SourceKind::Constant || kind == SourceKind::ItemOf || !key || !candidate->key ||
        Py_TYPE(key) != Py_TYPE(candidate->key))
      continue;
    const int equal = PyObject_RichCompareBool(key, candidate->key, Py_EQ);
    if (equal < 0) PyErr_Clear();
    if (equal > 0) return candidate;
  }
  all_.push_back(std::make_unique<Source>(Source{kind, base, index, name, key}));
  Py_XINCREF(key);
  by_path_[path].push_back(all_.back().get());
  return all_.back().get();
}

}  // namespace vitrine::capture
