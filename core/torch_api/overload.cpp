#include "core/torch_api/overload.h"

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include "core/ops/node.h"
#include "core/ops/unlisted.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

PyRef get(PyObject* owner, const char* name) {
  return PyRef::steal(PyObject_GetAttrString(owner, name));
}
std::string text(PyObject* o) {
  PyRef shown = PyRef::steal(PyObject_Str(o));
  const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
  return utf8 ? utf8 : "";
}
bool truth(PyObject* owner, const char* name) {
  PyRef value = get(owner, name);
  return value && PyObject_IsTrue(value.get()) == 1;
}

// Names of the alias sets of an argument or return: "a" of Tensor(a!).
std::set<std::string> alias_names(PyObject* info) {
  std::set<std::string> out;
  if (info == Py_None) return out;
  PyRef before = get(info, "before_set");
  PyRef iterator = PyRef::steal(before ? PyObject_GetIter(before.get()) : nullptr);
  while (iterator) {
    PyRef item = PyRef::steal(PyIter_Next(iterator.get()));
    if (!item) break;
    out.insert(text(item.get()));
  }
  return out;
}

class OverloadReader {
 public:
  explicit OverloadReader(PyObject* object) { out_.object = object; }

  // nullptr: a Python error is set.
  std::unique_ptr<Overload> read() {
    out_.name = text(out_.object);
    out_.aten = out_.name.starts_with("aten.");
    out_.lift_fresh = out_.name == "aten.lift_fresh.default";
    out_.row = ops::find(out_.name);
    PyRef schema = get(out_.object, "_schema");
    if (!schema || !read_params(schema.get()) || !read_returns(schema.get()) || !read_tags()) return nullptr;
    add_hidden();
    if (!find_composite()) return nullptr;
    return std::make_unique<Overload>(std::move(out_));
  }

 private:
  bool read_params(PyObject* schema) {
    PyRef arguments = get(schema, "arguments");
    for (Py_ssize_t i = 0; arguments && i < PyList_GET_SIZE(arguments.get()); ++i) {
      PyObject* a = PyList_GET_ITEM(arguments.get(), i);
      OverloadParam p;
      PyRef name = get(a, "name");
      p.name = text(name.get());
      p.py_name = PyUnicode_InternFromString(p.name.c_str());
      p.keyword_only = truth(a, "kwarg_only");
      if (!p.keyword_only) ++out_.positional;
      PyRef fallback = get(a, "default_value");
      PyRef has_default = PyRef::steal(PyObject_CallMethod(a, "has_default_value", nullptr));
      if (!has_default) return false;
      PyRef type = get(a, "type");
      const std::string type_text = type ? text(type.get()) : "";
      p.number = type_text == "number" || type_text == "Optional[number]";
      if (PyObject_IsTrue(has_default.get()) == 1) {
        set_default(p, fallback, type_text);
      }
      PyRef alias = get(a, "alias_info");
      if (!alias) return false;
      p.written = alias.get() != Py_None && truth(alias.get(), "is_write");
      out_.writes |= p.written;
      alias_of_param_.push_back(alias_names(alias.get()));
      out_.params.push_back(std::move(p));
    }
    return !PyErr_Occurred();
  }

  static void set_default(OverloadParam& p, const PyRef& value, const std::string& type) {
    p.default_value = PyRef(value).release();
    // A default of -1 for ScalarType? and the like never occurs; numbers, bools, lists and None do.
    std::optional<ir::Arg> arg = constant_arg(p.default_value);
    if (arg) p.default_arg = std::move(*arg);
  }

  bool read_returns(PyObject* schema) {
    PyRef returns = get(schema, "returns");
    bool shares = false;
    for (Py_ssize_t i = 0; returns && i < PyList_GET_SIZE(returns.get()); ++i) {
      PyObject* r = PyList_GET_ITEM(returns.get(), i);
      PyRef type = get(r, "type"), alias = get(r, "alias_info");
      if (!type || !alias) return false;
      const std::string name = text(type.get());
      OverloadReturn item;
      if (name == "Tensor" || name == "Optional[Tensor]") item.kind = ReturnKind::tensor;
      if (name == "List[Tensor]") item.kind = ReturnKind::tensor_list;
      if (alias.get() != Py_None) {
        if (truth(alias.get(), "is_write"))
          item.same_as = written_param(alias_names(alias.get()));
        else
          shares = true;
      }
      out_.returns.push_back(item);
    }
    out_.view = shares && !out_.writes;
    return !PyErr_Occurred();
  }

  int written_param(const std::set<std::string>& names) const {
    for (size_t i = 0; i < out_.params.size(); ++i)
      if (out_.params[i].written && alias_of_param_[i] == names) return static_cast<int>(i);
    return -1;
  }

  bool read_tags() {
    PyRef tags = get(out_.object, "tags");
    if (!tags) return false;
    const std::string all = text(tags.get());
    auto has = [&](const char* tag) {
      return all.find("Tag." + std::string(tag) + ":") != std::string::npos;
    };
    out_.inplace_view = has("inplace_view");
    out_.data_dependent = has("data_dependent_output");
    out_.dynamic_shape = has("dynamic_output_shape");
    out_.random = has("nondeterministic_seeded");
    return true;
  }

  // What the schema does not say, though the operator does it.
  void add_hidden() {
    out_.view |= out_.row ? out_.row->family == ops::Family::view : ops::unlisted::is_view(out_.name);
    out_.dynamic_shape |= ops::unlisted::shape_follows_data(out_.name);
    if (!out_.row) return;
    const std::vector<ops::Param>& params = ops::params(*out_.row);
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].written_if.empty() || out_.params.at(i).written) continue;
      out_.hidden_writes.push_back(static_cast<int>(i));
      for (size_t flag = 0; flag < params.size(); ++flag)
        if (params[flag].name == params[i].written_if) out_.hidden_write_flag = static_cast<int>(flag);
    }
  }

  // false: a Python error is set.
  bool find_composite() {
    auto has_kernel = [&](const char* key) {
      const PyRef has = call(Name::dispatch_has_kernel, "ss", dispatcher_name().c_str(), key);
      return has && PyObject_IsTrue(has.get()) == 1;
    };
    if (!has_kernel("CompositeImplicitAutograd") || has_kernel("CPU")) return !PyErr_Occurred();
    const PyRef with_key = get(out_.object, "_op_dk"), key = find(Name::ImplicitAutograd);
    if (!with_key || !key) return false;
    out_.composite = call(Name::partial, "OO", with_key.get(), key.get()).release();
    return out_.composite != nullptr;
  }
  std::string dispatcher_name() const {
    PyRef name = PyRef::steal(PyObject_CallMethod(out_.object, "name", nullptr));
    return name ? text(name.get()) : "";
  }

  Overload out_;
  std::vector<std::set<std::string>> alias_of_param_;
};

}  // namespace

bool Overload::has_tensor_return() const {
  return std::any_of(returns.begin(), returns.end(),
                     [](const OverloadReturn& r) { return r.kind != ReturnKind::other; });
}

bool Overload::returns_other() const {
  return std::any_of(returns.begin(), returns.end(),
                     [](const OverloadReturn& r) { return r.kind == ReturnKind::other; });
}

const Overload* overload_of(PyObject* overload) {
  // Schemas never change; overload objects are kept for good, so an address names one overload.
  static std::unordered_map<PyObject*, std::unique_ptr<Overload>> cache;
  if (auto it = cache.find(overload); it != cache.end()) return it->second.get();
  std::unique_ptr<Overload> made = OverloadReader(overload).read();
  if (!made) return nullptr;
  Py_INCREF(overload);
  return cache.emplace(overload, std::move(made)).first->second.get();
}

}  // namespace vitrine::torch_api
