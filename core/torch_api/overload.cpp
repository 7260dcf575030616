#include "core/torch_api/overload.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <unordered_map>

#include "core/torch_api/convert.h"

namespace vitrine::torch_api {

namespace {

// Writes that PyTorch's schema does not annotate: operator, the boolean parameter that switches them on, the
// written parameters.
struct HiddenWrite {
  std::string_view op;
  int flag;
  std::array<int, 2> written;
};
constexpr HiddenWrite kHiddenWrites[] = {
    {"aten.native_batch_norm.default", 5, {3, 4}},
    {"aten.cudnn_batch_norm.default", 5, {3, 4}},
};

// Views by what they do, though the schema does not say so: they promise that nobody writes to both.
constexpr std::string_view kHiddenViews[] = {
    "aten._unsafe_view.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
};

// Shapes that depend on data, though no tag says so.
constexpr std::string_view kHiddenShapes[] = {"aten._pack_padded_sequence.default"};

Py get(PyObject* owner, const char* name) {
  return Py::steal(PyObject_GetAttrString(owner, name));
}
std::string text(PyObject* o) {
  Py shown = Py::steal(PyObject_Str(o));
  const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
  return utf8 ? utf8 : "";
}
bool truth(PyObject* owner, const char* name) {
  Py value = get(owner, name);
  return value && PyObject_IsTrue(value.get()) == 1;
}

// Names of the alias sets of an argument or return: "a" of Tensor(a!).
std::set<std::string> alias_names(PyObject* info) {
  std::set<std::string> out;
  if (info == Py_None) return out;
  Py before = get(info, "before_set");
  Py iterator = Py::steal(before ? PyObject_GetIter(before.get()) : nullptr);
  while (iterator) {
    Py item = Py::steal(PyIter_Next(iterator.get()));
    if (!item) break;
    out.insert(text(item.get()));
  }
  return out;
}

class Reader {
 public:
  explicit Reader(PyObject* object) { out_.object = object; }

  // nullptr: a Python error is set.
  std::unique_ptr<Overload> read() {
    out_.name = text(out_.object);
    out_.aten = out_.name.starts_with("aten.");
    out_.lift_fresh = out_.name == "aten.lift_fresh.default";
    out_.row = ops::find(out_.name);
    Py schema = get(out_.object, "_schema");
    if (!schema || !read_params(schema.get()) || !read_returns(schema.get()) || !read_tags()) return nullptr;
    add_hidden();
    if (!find_composite()) return nullptr;
    return std::make_unique<Overload>(std::move(out_));
  }

 private:
  bool read_params(PyObject* schema) {
    Py arguments = get(schema, "arguments");
    for (Py_ssize_t i = 0; arguments && i < PyList_GET_SIZE(arguments.get()); ++i) {
      PyObject* a = PyList_GET_ITEM(arguments.get(), i);
      OverloadParam p;
      Py name = get(a, "name");
      p.name = text(name.get());
      p.py_name = PyUnicode_InternFromString(p.name.c_str());
      p.keyword_only = truth(a, "kwarg_only");
      if (!p.keyword_only) ++out_.positional;
      Py fallback = get(a, "default_value");
      Py has_default = Py::steal(PyObject_CallMethod(a, "has_default_value", nullptr));
      if (!has_default) return false;
      Py type = get(a, "type");
      const std::string type_text = type ? text(type.get()) : "";
      p.number = type_text == "number" || type_text == "Optional[number]";
      if (PyObject_IsTrue(has_default.get()) == 1) {
        set_default(p, fallback, type_text);
      }
      Py alias = get(a, "alias_info");
      if (!alias) return false;
      p.written = alias.get() != Py_None && truth(alias.get(), "is_write");
      out_.writes |= p.written;
      alias_of_param_.push_back(alias_names(alias.get()));
      out_.params.push_back(std::move(p));
    }
    return !PyErr_Occurred();
  }

  static void set_default(OverloadParam& p, const Py& value, const std::string& type) {
    p.default_value = Py(value).release();
    // A default of -1 for ScalarType? and the like never occurs; numbers, bools, lists and None do.
    std::optional<ir::Arg> arg = constant_arg(p.default_value);
    if (arg) p.default_arg = std::move(*arg);
  }

  bool read_returns(PyObject* schema) {
    Py returns = get(schema, "returns");
    bool shares = false;
    for (Py_ssize_t i = 0; returns && i < PyList_GET_SIZE(returns.get()); ++i) {
      PyObject* r = PyList_GET_ITEM(returns.get(), i);
      Py type = get(r, "type"), alias = get(r, "alias_info");
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
    Py tags = get(out_.object, "tags");
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

  void add_hidden() {
    for (std::string_view name : kHiddenViews) out_.view |= name == out_.name;
    for (std::string_view name : kHiddenShapes) out_.dynamic_shape |= name == out_.name;
    for (const HiddenWrite& hidden : kHiddenWrites) {
      if (hidden.op != out_.name) continue;
      out_.hidden_write_flag = hidden.flag;
      out_.hidden_writes.assign(hidden.written.begin(), hidden.written.end());
    }
  }

  // false: a Python error is set.
  bool find_composite() {
    Py c = Py::steal(PyImport_ImportModule("torch._C"));
    if (!c) return false;
    auto has_kernel = [&](const char* key) {
      Py has = Py::steal(PyObject_CallMethod(c.get(), "_dispatch_has_kernel_for_dispatch_key", "ss",
                                             dispatcher_name().c_str(), key));
      return has && PyObject_IsTrue(has.get()) == 1;
    };
    if (!has_kernel("CompositeImplicitAutograd") || has_kernel("CPU")) return !PyErr_Occurred();
    Py functools = Py::steal(PyImport_ImportModule("functools"));
    Py keys = get(c.get(), "DispatchKey"), call = get(out_.object, "_op_dk");
    Py key = keys ? get(keys.get(), "CompositeImplicitAutograd") : Py();
    if (!functools || !call || !key) return false;
    out_.composite = PyObject_CallMethod(functools.get(), "partial", "OO", call.get(), key.get());
    return out_.composite != nullptr;
  }
  std::string dispatcher_name() const {
    Py name = Py::steal(PyObject_CallMethod(out_.object, "name", nullptr));
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
  std::unique_ptr<Overload> made = Reader(overload).read();
  if (!made) return nullptr;
  Py_INCREF(overload);
  return cache.emplace(overload, std::move(made)).first->second.get();
}

}  // namespace vitrine::torch_api
