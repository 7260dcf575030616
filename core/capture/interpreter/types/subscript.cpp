// v[key], v[key] = x, del v[key], and f-strings.
#include <string_view>

#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/arrays.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

struct SliceRange {
  Py_ssize_t start, stop, step, count;
};

}  // namespace

static SliceRange slice_range(Tracer& t, Value* key, size_t size) {
  Owned slice(t.constant_tree(key));
  if (!slice) {
    PyErr_Clear();
    stop("scalar_read", "a slice bound that is not a constant",
         "Use a mask of fixed size instead of the slice.");
  }
  SliceRange r{};
  if (PySlice_Unpack(slice.get(), &r.start, &r.stop, &r.step) < 0) t.raise_python();
  r.count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &r.start, &r.stop, r.step);
  return r;
}

static bool is_slice(Value* key) {
  return key->kind == Kind::Slice || (key->kind == Kind::Constant && PySlice_Check(key->obj));
}

Value* Tracer::get_item(Value* v, Value* key) {
  v = look(v);
  if (Value* read = v->kind == Kind::Tensor && at_places_ ? get_item_at_places(v, key) : nullptr) return read;
  if (v->kind == Kind::Tensor)
    return torch_call("operator.getitem", torch_names().operator_function("getitem"),
                      {{v, indices_of_arrays(*this, key)}, {}});
  if (v->kind != Kind::Constant && v->cls)
    if (PyObject* method = python_method(type_of(v), "__getitem__")) return call_special(v, method, {key});
  return get_held_item(v, key);
}

Value* Tracer::get_held_item(Value* v, Value* key) {
  switch (v->kind) {
    case Kind::Tuple:
    case Kind::List: {
      key = look(key);
      guard_length(v);
      if (is_slice(key) && v->cls == torch_names().deque) stop("exception", "a slice of a deque");
      if (is_slice(key)) {
        const SliceRange r = slice_range(*this, key, v->items.size());
        if (is_plain_tuple(v) && r.step == 1 && r.count == static_cast<Py_ssize_t>(v->items.size())) return v;
        Values items;
        for (Py_ssize_t i = 0; i < r.count; ++i)
          items.push_back(v->items[static_cast<size_t>(r.start + i * r.step)]);
        return sequence(v->kind, std::move(items), v->cls == torch_names().size ? v->cls : nullptr);
      }
      if (key->kind == Kind::Constant && !PyIndex_Check(key->obj))
        raise(PyExc_TypeError, "sequence indices must be integers or slices");
      int64_t i = int_of(key, "a sequence index");
      const auto n = static_cast<int64_t>(v->items.size());
      if (i < 0) i += n;
      if (i < 0 || i >= n)
        raise(PyExc_IndexError,
              v->cls == torch_names().deque ? "deque index out of range"
              : v->kind == Kind::List       ? "list index out of range"
                                            : "tuple index out of range",
              true);
      return v->items[static_cast<size_t>(i)];
    }
    case Kind::Dict: {
      if (Value* found = dict_get(v, key)) return found;
      if (PyObject* missing = python_method(v->cls, "__missing__")) return call_special(v, missing, {key});
      if (PyType_IsSubtype(v->cls, torch_names().default_dict)) {
        Value* factory = get_attr(v, "default_factory");
        if (factory && !is_none(factory)) {
          Value* made = call(factory, {});
          dict_set(v, key, made);
          return made;
        }
      }
      RaiseSignal signal;
      signal.exception = construct(reinterpret_cast<PyTypeObject*>(PyExc_KeyError), {{key}, {}});
      signal.text = "KeyError: " + describe(key);
      throw signal;
    }
    case Kind::Constant: {
      if (PyType_Check(v->obj)) {  // list[int], Generic[T]
        Owned k(constant_tree(key));
        if (!k) stop("unsupported_value", "subscript of a class");
        return fold(PyObject_GetItem(v->obj, k.get()));
      }
      Owned k(constant_tree(key));
      PyErr_Clear();
      if (!k) stop("unsupported_value", "subscript of " + describe(v) + " by " + describe(key));
      return fold(PyObject_GetItem(v->obj, k.get()));
    }
    default:
      if (v->obj && Py_TYPE(v->obj) == torch_names().expression_match)
        return call_method(v, "group", {{key}, {}});
      stop("unsupported_value", "subscript of " + describe(v));
  }
}

void Tracer::set_item(Value* v, Value* key, Value* value) {
  v = look(v);
  if (v->kind == Kind::Tensor) {
    torch_call("operator.setitem", torch_names().operator_function("setitem"),
               {{v, indices_of_arrays(*this, key), value}, {}});
    return;
  }
  if (v->cls && v->kind != Kind::Constant)
    if (PyObject* method = python_method(type_of(v), "__setitem__")) {
      call_special(v, method, {key, value});
      return;
    }
  if (v->kind == Kind::Dict && v->cls == &PyDictProxy_Type)
    raise(PyExc_TypeError, "'mappingproxy' object does not support item assignment", true);
  if (v->kind == Kind::Dict) return dict_set(v, key, value);
  if (v->kind != Kind::List) {
    if (v->kind == Kind::Tuple)
      raise(PyExc_TypeError, "'tuple' object does not support item assignment", true);
    stop("custom_setter", "item assignment on " + describe(v));
  }
  key = look(key);
  guard_length(v);
  if (is_slice(key) && v->cls == torch_names().deque) stop("exception", "a slice of a deque");
  if (is_slice(key)) {
    const SliceRange r = slice_range(*this, key, v->items.size());
    Values items = listed(value);
    touch(v);
    if (r.step != 1) {
      if (static_cast<size_t>(r.count) != items.size())
        raise(PyExc_ValueError,
              "attempt to assign sequence of size " + std::to_string(items.size()) +
                  " to extended slice of size " + std::to_string(r.count),
              true);
      for (size_t i = 0; i < items.size(); ++i)
        v->items[static_cast<size_t>(r.start + static_cast<int64_t>(i) * r.step)] = items[i];
      return;
    }
    v->items.erase(v->items.begin() + r.start, v->items.begin() + r.start + r.count);
    v->items.insert(v->items.begin() + r.start, items.begin(), items.end());
    return;
  }
  int64_t i = int_of(key, "a list index");
  const auto n = static_cast<int64_t>(v->items.size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) raise(PyExc_IndexError, "list assignment index out of range");
  touch(v);
  v->items[static_cast<size_t>(i)] = value;
}

void Tracer::del_item(Value* v, Value* key) {
  v = look(v);
  if (v->cls && v->kind != Kind::Constant)
    if (PyObject* method = python_method(type_of(v), "__delitem__")) {
      call_special(v, method, {key});
      return;
    }
  if (v->kind == Kind::Dict && v->cls == &PyDictProxy_Type)
    raise(PyExc_TypeError, "'mappingproxy' object does not support item deletion");
  if (v->kind == Kind::Dict) {
    if (!dict_remove(v, key)) raise(PyExc_KeyError, describe(key));
    return;
  }
  if (v->kind != Kind::List) stop("custom_setter", "item deletion on " + describe(v));
  key = look(key);
  guard_length(v);
  int64_t first = 0, count = 1;
  if (is_slice(key) && v->cls == torch_names().deque) stop("exception", "a slice of a deque");
  if (is_slice(key)) {
    const SliceRange r = slice_range(*this, key, v->items.size());
    if (r.step != 1) {
      touch(v);
      std::vector<bool> gone(v->items.size());
      for (int64_t i = 0, at = r.start; i < r.count; ++i, at += r.step) gone[static_cast<size_t>(at)] = true;
      size_t kept = 0;
      for (size_t i = 0; i < gone.size(); ++i)
        if (!gone[i]) v->items[kept++] = v->items[i];
      v->items.resize(kept);
      return;
    }
    first = r.start;
    count = r.count;
  } else {
    first = int_of(key, "a list index");
    const auto n = static_cast<int64_t>(v->items.size());
    if (first < 0) first += n;
    if (first < 0 || first >= n) raise(PyExc_IndexError, "list assignment index out of range");
  }
  touch(v);
  v->items.erase(v->items.begin() + first, v->items.begin() + first + count);
}

// A real exception like one that was made here, to ask it for its text. nullptr: its arguments are no
// constants, or its class is the user's and may word it otherwise.
static PyObject* exception_tree(Tracer& t, Value* v) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  const bool builtin = !(v->cls->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (!builtin && (v->cls->tp_str != base->tp_str || v->cls->tp_repr != base->tp_repr)) return nullptr;
  Owned arguments(t.constant_tree(t.tuple(v->items)));
  if (!arguments) return nullptr;
  PyObject* cls = builtin ? reinterpret_cast<PyObject*>(v->cls) : PyExc_Exception;
  return PyObject_Call(cls, arguments.get(), nullptr);
}

// Text of a value whose str() or repr() reads nothing but constants.
// What __str__, __repr__ or __format__ gives.
Value* Tracer::checked_text(Value* v, PyObject* method, Values arguments) {
  Value* told = call_special(v, method, std::move(arguments));
  if (!PyType_IsSubtype(type_of(told), &PyUnicode_Type))
    stop("exception", "text of a " + describe(v) + " is " + describe(told));
  return told;
}

std::string Tracer::str_of(Value* v, bool repr) {
  v = look(v);
  if (v->kind == Kind::Tensor) stop("side_effect", kTensorInText);
  if (v->kind == Kind::Object && !repr) {
    if (PyObject* method = python_method(type_of(v), "__str__"))
      return str_of(checked_text(v, method, {}), false);
  }
  if (v->kind == Kind::Object)
    if (PyObject* method = python_method(type_of(v), "__repr__"))
      return str_of(checked_text(v, method, {}), false);
  Owned tree(v->worded ? exception_tree(*this, v) : constant_tree(v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "text of a " + describe(v));
  check_order_known();
  Owned text(repr ? PyObject_Repr(tree.get()) : PyObject_Str(tree.get()));
  if (!text) raise_python();
  if (!PyUnicode_AsUTF8(text.get())) {
    PyErr_Clear();
    stop("unsupported_value", "text that is no UTF-8");
  }
  return text_of(text.get());
}

Value* Tracer::format(Value* v, Value* spec, int conversion) {
  if (conversion == 0)
    if (Value* open = symbolic_text(v, spec)) return open;
  v = look(v);
  if (conversion == 3) {
    Owned tree(constant_tree(v));
    if (!tree) stop("unsupported_value", "ascii() of a " + describe(v));
    v = fold(PyObject_ASCII(tree.get()));
  } else if (conversion != 0) {
    v = text(str_of(v, conversion == 2));
  }
  std::string form = spec ? str_of(spec, false) : "";
  if (may_have_methods(v))
    if (PyObject* method = python_method(type_of(v), "__format__"))
      return checked_text(v, method, {text(form)});
  if (form.empty()) {
    if (v->kind == Kind::Constant && PyUnicode_CheckExact(v->obj)) return v;
    if (v->kind != Kind::Constant) return text(str_of(v, false));
  }
  Owned tree(constant_tree(v));
  PyErr_Clear();
  if (!tree) stop("unsupported_value", "format of a " + describe(v));
  Owned form_object(PyUnicode_FromStringAndSize(form.data(), static_cast<Py_ssize_t>(form.size())));
  return fold(PyObject_Format(tree.get(), form_object.get()));
}

}  // namespace vitrine::capture
