// Making values, looking at them (which guards), and the guards themselves.
#include "core/capture/segment/source_reader.h"
#include "core/capture/trace/signals.h"
#include "core/capture/trace/torch_names.h"
#include "core/capture/trace/tracer.h"
#include "core/torch_bridge/bridge.h"

namespace vitrine::capture {
namespace {

// Types whose values are compared by value: an equal object of the same type behaves the same everywhere.
bool is_plain_constant(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o)) return true;
  if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o) || PyUnicode_CheckExact(o) ||
      PyBytes_CheckExact(o))
    return true;
  if (is_numpy_number(o)) return true;
  const TorchNames& torch = torch_names();
  return Py_TYPE(o) == torch.dtype || Py_TYPE(o) == torch.device || Py_TYPE(o) == torch.layout ||
         Py_TYPE(o) == torch.memory_format;
}

bool is_frozen_set_of_constants(PyObject* o) {
  if (!PyFrozenSet_CheckExact(o)) return false;
  Owned iterator(PyObject_GetIter(o));
  while (Owned item = Owned(PyIter_Next(iterator.get())))
    if (!is_plain_constant(item.get())) return false;
  return !PyErr_Occurred();
}

// Objects that are compared by identity: what they are does not change while they live.
bool is_identity_constant(PyObject* o) {
  if (PyType_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) || PyModule_Check(o) ||
      PyCode_Check(o) || is_numpy_function(o))
    return true;
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type ||
      type == &PyMemberDescr_Type || type == &PyClassMethodDescr_Type || type == &PyProperty_Type ||
      type == &PyStaticMethod_Type || type == &PyClassMethod_Type || type == &_PyMethodWrapper_Type)
    return true;
  const TorchNames& torch = torch_names();
  return type == torch.op_overload || type == torch.op_packet || PyObject_TypeCheck(o, torch.enum_base) ||
         type == torch.finfo || type == torch.iinfo || type == torch.lru_cache_wrapper ||
         type == torch.version || type == torch.attention_backend || type == torch.type_variable ||
         PyType_IsSubtype(type, torch.generic_alias) || type == torch.union_type;
}

// nullptr: it depends on what it walks.
PyTypeObject* iterator_class(IteratorKind kind) {
  switch (kind) {
    case IteratorKind::Enumerate:
      return &PyEnum_Type;
    case IteratorKind::Zip:
      return &PyZip_Type;
    case IteratorKind::Map:
      return &PyMap_Type;
    case IteratorKind::Filter:
      return &PyFilter_Type;
    case IteratorKind::Generator:
      return &PyGen_Type;
    default:
      return nullptr;
  }
}

}  // namespace

bool is_constant_object(PyObject* o) {
  return is_plain_constant(o) || is_frozen_set_of_constants(o) || is_identity_constant(o);
}

void stop(const char* kind, const std::string& reason, const std::string& hint) {
  BreakSignal signal;
  signal.info.kind = kind;
  signal.info.reason = reason;
  signal.info.hint = hint;
  throw signal;
}

PyObject* Tracer::keep(PyObject* owned) {
  if (owned) alive_.push_back(owned);
  return owned;
}

Value* Tracer::make(Kind kind) {
  values_.push_back(std::make_unique<Value>());
  values_.back()->kind = kind;
  return values_.back().get();
}

Value* Tracer::constant(PyObject* borrowed) {
  Value* v = make(Kind::Constant);
  Py_INCREF(borrowed);
  v->obj = keep(borrowed);
  v->cls = Py_TYPE(borrowed);
  v->pinned = v->identified = v->typed = true;
  return v;
}

Value* Tracer::fold(PyObject* owned) {
  if (!owned) raise_python();
  Owned hold(owned);
  if (is_constant_object(owned) || PySlice_Check(owned) || PyRange_Check(owned)) {
    Value* v = constant(owned);
    return v;
  }
  const bool is_size = Py_TYPE(owned) == torch_names().size;
  if (PyTuple_CheckExact(owned) || PyList_CheckExact(owned) || is_size) {
    const bool is_tuple = !PyList_CheckExact(owned);
    Values items;
    for (Py_ssize_t i = 0; i < Py_SIZE(owned); ++i) {
      PyObject* item = is_tuple ? PyTuple_GET_ITEM(owned, i) : PyList_GET_ITEM(owned, i);
      Py_INCREF(item);
      items.push_back(fold(item));
    }
    return sequence(is_tuple ? Kind::Tuple : Kind::List, std::move(items), Py_TYPE(owned));
  }
  if (PyDict_CheckExact(owned)) {
    Value* dict = new_dict();
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(owned, &at, &key, &value)) {
      Py_INCREF(key);
      Py_INCREF(value);
      Value* k = fold(key);
      dict_set(dict, k, fold(value));
    }
    return dict;
  }
  if (PySet_Check(owned)) {
    Value* set = make(Kind::Set);
    set->cls = Py_TYPE(owned);
    Owned iterator(PyObject_GetIter(owned));
    while (PyObject* item = PyIter_Next(iterator.get())) set->items.push_back(fold(item));
    set->changes_version = ~uint64_t{0};
    if (sets_in_order_ && PySet_CheckExact(owned) && Py_REFCNT(owned) == 1) set->twin = Owned(hold.release());
    return set;
  }
  stop("unsupported_value", std::string("a ") + Py_TYPE(owned)->tp_name + " made by a builtin");
}

Value* Tracer::integer(int64_t n) {
  Owned o(PyLong_FromLongLong(n));
  return constant(o.get());
}

Value* Tracer::text(const std::string& s) {
  Owned o(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
  if (!o) raise_python();
  PyObject* interned = o.release();
  PyUnicode_InternInPlace(&interned);
  Owned hold(interned);
  return constant(interned);
}

Value* Tracer::sequence(Kind kind, Values items, PyTypeObject* cls) {
  Value* v = make(kind);
  v->items = std::move(items);
  v->cls = cls                   ? cls
           : kind == Kind::Tuple ? &PyTuple_Type
           : kind == Kind::List  ? &PyList_Type
           : kind == Kind::Set   ? &PySet_Type
                                 : nullptr;
  v->typed = v->sized = true;
  return v;
}

// Names of objects and globals: a program may ask whether they are there, or fail where they are not, and
// make no use of their value.
static bool may_be_absent(SourceKind kind) {
  return kind == SourceKind::InstanceDict || kind == SourceKind::Attr || kind == SourceKind::Global ||
         kind == SourceKind::GlobalOf;
}

Value* Tracer::lazy(PyObject* borrowed, const Source* source, bool pinned) {
  Value* v = make(Kind::Lazy);
  Py_INCREF(borrowed);
  v->obj = keep(borrowed);
  v->cls = Py_TYPE(borrowed);
  v->source = source;
  v->pinned = pinned;
  if (source && !pinned && may_be_absent(source->kind))
    guard(GuardKind::Bound, source, nullptr, 1, "", nullptr, "is there");
  return v;
}

const Source* Tracer::constant_source(PyObject* object) {
  std::string name;
  if (PyModule_Check(object)) {
    const char* text = PyModule_GetName(object);
    if (!text) PyErr_Clear();
    name = text ? text : "module";
  } else {
    Owned qualname(PyObject_GetAttrString(object, "__qualname__"));
    if (!qualname) PyErr_Clear();
    name = qualname ? text_of(qualname.get()) : std::string(Py_TYPE(object)->tp_name) + " object";
  }
  return sources_->make(SourceKind::Constant, nullptr, -1, name, object);
}

Value* Tracer::pinned(PyObject* borrowed) {
  return lazy(borrowed, constant_source(borrowed), true);
}

Value* Tracer::resolve(Value* v) {
  while (v->forward) v = v->forward;
  return v;
}

Value* Tracer::look(Value* v) {
  v = resolve(v);
  if (v->kind == Kind::Lazy) {
    realise(v);
    v = resolve(v);
  }
  if (pure_since_ >= 0) check_pure_read(v);
  if (v->kind == Kind::Tuple && v->owner && v->version != v->owner->version) {
    // A view of a dict that has changed since.
    const auto entries = dict_entries(v->owner);
    v->items.clear();
    for (auto [key, value] : entries)
      v->items.push_back(v->cls == &PyDictKeys_Type     ? key
                         : v->cls == &PyDictValues_Type ? value
                                                        : tuple({key, value}));
    v->version = v->owner->version;
  }
  if (v->kind == Kind::Symbol) {
    const ir::SymPlace place(symbolic_->table, asked_at());
    (void)static_cast<int64_t>(v->sym);
    v->kind = Kind::Constant;
    v->identified = true;
  }
  if (v->kind == Kind::Float) close_float(v);
  if (v->kind == Kind::Text) stop("side_effect", kTensorInText);
  if (v->kind == Kind::Constant && !v->identified) {
    v->identified = true;
    if (v->source && !v->pinned) {
      const bool by_value = is_plain_constant(v->obj) || is_frozen_set_of_constants(v->obj);
      const std::string seen = by_value ? "== " + repr_of(v->obj) : "is " + repr_of(v->obj);
      guard(by_value ? GuardKind::ConstEquals : GuardKind::Identity, v->source, v->obj, 0, "", nullptr, seen);
    }
  }
  return v;
}

// Two ways led to one object, and the trace relies on it. A way that is not pinned by other guards may lead
// elsewhere at the next call.
void Tracer::same_object(Value* v, Value* first) {
  const bool loose = v->source && !v->pinned, first_loose = first->source && !first->pinned;
  if (loose && first->source) {
    if (v->source != first->source)
      guard(GuardKind::SameObject, v->source, nullptr, 0, "", first->source, "is " + first->source->text());
  } else if (loose) {
    guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  } else if (first_loose) {
    guard(GuardKind::Identity, first->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  }
}

void Tracer::realise(Value* v) {
  PyObject* o = v->obj;
  if (is_constant_object(o)) {
    if (v->source && symbolic(v)) return;
    v->kind = Kind::Constant;
    return;
  }
  // One value an object: changes through one name are seen through the other.
  if (auto found = by_object_.find(o); found != by_object_.end() && found->second != v) {
    Value* first = resolve(found->second);
    same_object(v, first);
    v->forward = first;
    return;
  }
  by_object_[o] = v;
  if (torch_bridge::is_tensor(o)) {
    enter_tensor(v);
  } else if (PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) || PyAnySet_Check(o) ||
             PySlice_Check(o) || PyRange_Check(o) || Py_TYPE(o) == torch_names().deque) {
    realise_container(v);
  } else if (Py_TYPE(o) == &PyDictProxy_Type && (v->pinned || (v->source && proxied_dict(o)))) {
    realise_mapping_proxy(v);
  } else if (PyMethod_Check(o)) {
    v->kind = Kind::Method;
    guard_type(v);
    v->items = {
        lazy(PyMethod_GET_FUNCTION(o), sources_->make(SourceKind::BoundFunc, v->source, -1, ""), v->pinned),
        lazy(PyMethod_GET_SELF(o), sources_->make(SourceKind::BoundSelf, v->source, -1, ""), v->pinned)};
  } else if (PyCell_Check(o)) {
    v->kind = Kind::Cell;
  } else if (torch_names().is_iterator(Py_TYPE(o))) {
    realise_iterator(v);
  } else {
    v->kind = Kind::Object;
  }
}

// What is pinned hangs on an object that is as it was (a signature): a dict that is never written. Else it
// shows a dict that may be another one at the next call.
void Tracer::realise_mapping_proxy(Value* v) {
  auto shown = std::make_unique<DictState>();
  shown->index = Owned(PyDict_New());
  const auto put = [&](PyObject* key, Value* k, Value* value) {
    Owned at(PyLong_FromSize_t(shown->entries.size()));
    PyDict_SetItem(shown->index.get(), key, at.get());
    shown->entries.emplace_back(k, value);
  };
  if (v->pinned) {
    Owned items(PyMapping_Items(v->obj));
    if (!items) raise_python();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* pair = PyList_GET_ITEM(items.get(), i);
      put(PyTuple_GET_ITEM(pair, 0), constant(PyTuple_GET_ITEM(pair, 0)), pinned(PyTuple_GET_ITEM(pair, 1)));
    }
  } else {
    guard_type(v);
    Value* behind = look(lazy(proxied_dict(v->obj), sources_->make(SourceKind::Proxied, v->source, -1, "")));
    for (auto& [key, value] : dict_entries(behind)) put(key->obj, key, value);
    behind->dict->shown = true;
  }
  v->kind = Kind::Dict;
  v->cls = &PyDictProxy_Type;
  v->dict = std::move(shown);
}

void Tracer::realise_container(Value* v) {
  PyObject* o = v->obj;
  guard_type(v);
  if (PySlice_Check(o)) {
    auto* slice = reinterpret_cast<PySliceObject*>(o);
    v->kind = Kind::Slice;
    v->sized = true;  // always three parts
    v->items = {lazy(slice->start, sources_->attr(v->source, "start")),
                lazy(slice->stop, sources_->attr(v->source, "stop")),
                lazy(slice->step, sources_->attr(v->source, "step"))};
    return;
  }
  if (PyRange_Check(o)) {
    v->kind = Kind::Constant;
    v->identified = true;
    for (const char* field : {"start", "stop", "step"}) {
      Owned part(PyObject_GetAttrString(o, field));
      look(lazy(part.get(), sources_->attr(v->source, field)));
    }
    return;
  }
  if (PyDict_Check(o)) {
    for (Value* changed : mutated_)
      if (changed->kind == Kind::Object && known_own_dict(changed) == v)
        stop("unsupported_value", "the __dict__ of an object that was changed");
    v->kind = Kind::Dict;
    v->dict = std::make_unique<DictState>();
    v->dict->index = Owned(PyDict_New());
    v->dict->complete = false;
    return;
  }
  if (PyAnySet_Check(o)) {
    const PyTypeObject* type = Py_TYPE(o);
    if (type->tp_iter != PySet_Type.tp_iter || type->tp_richcompare != PySet_Type.tp_richcompare)
      stop("unsupported_value", std::string("a ") + type->tp_name + ", a set with its own order or equality");
    v->kind = Kind::Set;
    Owned copy(PyFrozenSet_New(o));
    Owned iterator(PyObject_GetIter(o));
    while (PyObject* item = PyIter_Next(iterator.get())) {
      keep(item);
      if (!is_plain_constant(item) && !is_identity_constant(item))
        stop("unsupported_value", "a set with elements that are not constants");
      v->items.push_back(constant(item));
    }
    if (v->source) guard(GuardKind::SetEquals, v->source, copy.get(), 0, "", nullptr, "== " + repr_of(o));
    v->sized = true;
    return;
  }
  const bool is_tuple = PyTuple_Check(o);
  v->kind = is_tuple ? Kind::Tuple : Kind::List;
  // Not by the class's own way to go through it.
  const Owned items(is_tuple          ? PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o))
                    : PyList_Check(o) ? PyList_GetSlice(o, 0, PyList_GET_SIZE(o))
                                      : PySequence_List(o));
  if (!items) raise_python();
  if (!is_tuple && !PyList_Check(o)) {  // a deque, which tells how much it holds at most
    Owned most(PyObject_GetAttrString(o, "maxlen"));
    Value* limit = most ? lazy(most.get(), sources_->attr(v->source, "maxlen")) : nullptr;
    if (limit && !is_none(limit)) v->limit = int_of(limit, "a deque's length");
    if (limit && most.get() == Py_None) look(limit);
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    Owned key(PyLong_FromSsize_t(i));
    v->items.push_back(lazy(item,
                            sources_->make(SourceKind::Item, v->source, -1, std::to_string(i), key.get()),
                            is_tuple && v->pinned));
  }
  // A tuple that hangs on a guarded class cannot change; every other sequence may have another length next
  // time.
  if (is_tuple && v->pinned) {
    v->sized = true;
  } else {
    guard_length(v);
  }
}

void Tracer::realise_cell(Value* v) {
  if (!v->items.empty()) return;
  PyObject* contents = PyCell_GET(v->obj);
  v->items = {contents ? lazy(contents, sources_->make(SourceKind::Cell, v->source, -1, "")) : nullptr};
}

Value* Tracer::cell_get(Value* cell) {
  cell = look(cell);
  if (cell->kind != Kind::Cell) stop("unsupported_value", "a closure cell of another kind");
  realise_cell(cell);
  if (cell->source) check_cached_read(PyCell_GET(cell->obj));
  if (cell->source && !cell->mutated)
    guard(GuardKind::Bound, sources_->make(SourceKind::Cell, cell->source, -1, ""), nullptr,
          cell->items[0] != nullptr, "", nullptr, cell->items[0] ? "has a value" : "has no value");
  return cell->items[0];
}

void Tracer::cell_set(Value* cell, Value* value) {
  cell = look(cell);
  if (cell->source) {
    // Whether a function of another call shares this cell: only of these very functions is that known.
    cells_written_ = true;
    for (Value* f : std::exchange(anew_, {})) look(f);
  }
  realise_cell(cell);
  touch(cell);
  cell->items[0] = value;
}

PyTypeObject* Tracer::type_of(Value* v) {
  v = resolve(v);
  if (v->kind == Kind::Symbol || v->kind == Kind::Float || v->kind == Kind::Text) return v->cls;
  if (v->kind == Kind::Lazy && v->obj && (is_plain_constant(v->obj) || is_identity_constant(v->obj))) {
    // The type of a number is enough for isinstance(): its value stays open.
    if (!v->typed && !v->pinned && v->source && (!is_identity_constant(v->obj) || made_anew(v))) {
      v->typed = true;
      guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->obj)), 0, "", nullptr,
            std::string("a ") + Py_TYPE(v->obj)->tp_name);
      return Py_TYPE(v->obj);
    }
    if (v->typed) return Py_TYPE(v->obj);
  }
  v = look(v);
  switch (v->kind) {
    case Kind::Function:
      return &PyFunction_Type;
    case Kind::Method:
      return v->cls ? v->cls : &PyMethod_Type;
    case Kind::Cell:
      return &PyCell_Type;
    case Kind::Slice:
      return &PySlice_Type;
    case Kind::Object:
      guard_type(v);
      return v->cls;
    case Kind::Generator:
      return &PyGen_Type;
    case Kind::Iterator:
      if (PyTypeObject* cls = v->cls ? v->cls : iterator_class(v->iterator->kind)) return cls;
      stop("unsupported_value", "the type of an iterator");
    default:
      return v->cls;
  }
}

PyObject* Tracer::const_object(Value* v) {
  v = look(v);
  return v->kind == Kind::Constant ? v->obj : nullptr;
}

int64_t Tracer::int_of(Value* v, const char* what) {
  if (look(v)->kind == Kind::Tensor)
    if (Value* known = known_number(look(v), "__index__")) v = known;
  if (Value* own = own_method(v, "__index__")) v = own;
  PyObject* o = const_object(v);
  if (!o) {
    if (resolve(v)->kind == Kind::Tensor) stop("scalar_read", std::string("a tensor used as ") + what);
    stop("unsupported_value", std::string("not an integer constant: ") + what);
  }
  if (!PyIndex_Check(o)) raise(PyExc_TypeError, std::string(what) + " must be an integer");
  Owned number(PyNumber_Index(o));
  if (!number) raise_python();
  const int64_t n = PyLong_AsLongLong(number.get());
  if (n == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    stop("exception", std::string("a number too large for ") + what);
  }
  return n;
}

bool Tracer::is_none(Value* v) {
  v = resolve(v);
  if (v->kind == Kind::Symbol || v->kind == Kind::Float || v->kind == Kind::Text) return false;
  if (v->kind == Kind::Lazy && v->obj && v->source &&
      torch_bridge::is_tensor(v->obj)) {  // nor does it become an input
    guard_type(v);
    return false;
  }
  if (v->kind == Kind::Lazy && v->obj != Py_None && !is_plain_constant(v->obj)) {
    if (!made_anew(v)) v = look(v);
    type_of(v);
    return false;
  }
  // Not None is less than a value: a number that is only compared with None keeps its value open.
  if (v->kind == Kind::Lazy && v->obj != Py_None) {
    type_of(v);
    return false;
  }
  return const_object(v) == Py_None;
}

namespace {

// A view of a new dict with these keys, or these items. New reference; nullptr: a Python error is set.
PyObject* view_of_dict(bool of_keys, PyObject* list) {
  Owned dict(PyDict_New());
  for (Py_ssize_t i = 0; of_keys && dict && i < PyList_GET_SIZE(list); ++i)
    if (PyDict_SetItem(dict.get(), PyList_GET_ITEM(list, i), Py_None) < 0) return nullptr;
  if (!dict || (!of_keys && PyDict_MergeFromSeq2(dict.get(), list, 1) < 0)) return nullptr;
  return PyObject_CallMethod(dict.get(), of_keys ? "keys" : "items", nullptr);
}

}  // namespace

PyObject* Tracer::constant_tree(Value* v) {
  v = look(v);
  switch (v->kind) {
    case Kind::Constant:
      Py_INCREF(v->obj);
      return v->obj;
    case Kind::Slice:
    case Kind::Tuple:
    case Kind::List:
    case Kind::Set:
      break;
    case Kind::Dict: {
      if (v->cls != &PyDict_Type) return nullptr;
      Owned dict(PyDict_New());
      for (auto [key, value] : dict_entries(v)) {
        Owned k(constant_tree(key)), o(constant_tree(value));
        if (!k || !o || PyDict_SetItem(dict.get(), k.get(), o.get()) < 0) return nullptr;
      }
      return dict.release();
    }
    default:
      return nullptr;
  }
  const bool view = v->kind == Kind::Tuple && v->owner && v->cls != &PyDictValues_Type;
  const bool builtin = view || v->kind == Kind::Slice || v->cls == &PyTuple_Type || v->cls == &PyList_Type ||
                       v->cls == &PySet_Type || v->cls == torch_names().size;
  if (!builtin || (v->kind == Kind::Set && v->cls != &PySet_Type)) return nullptr;
  guard_length(v);
  Owned list(PyList_New(0));
  for (Value* item : v->items) {
    Owned o(constant_tree(item));
    if (!o || PyList_Append(list.get(), o.get()) < 0) return nullptr;
  }
  if (view) return view_of_dict(v->cls == &PyDictKeys_Type, list.get());
  if (v->kind == Kind::List) return list.release();
  if (v->kind == Kind::Set) return real_set(v, list.get());
  if (v->kind == Kind::Slice)
    return PySlice_New(PyList_GET_ITEM(list.get(), 0), PyList_GET_ITEM(list.get(), 1),
                       PyList_GET_ITEM(list.get(), 2));
  Owned tuple(PyList_AsTuple(list.get()));
  if (v->cls == &PyTuple_Type) return tuple.release();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->cls), tuple.get());
}

std::string Tracer::describe(Value* v) {
  v = resolve(v);
  switch (v->kind) {
    case Kind::Null:
      return "NULL";
    case Kind::Lazy:
      return v->source ? v->source->text() : "?";
    case Kind::Symbol:
      return symbolic_->table.text(v->sym);
    case Kind::Float:
      return v->source ? v->source->text() : "a computed float";
    case Kind::Text:
      return "text of a tensor";
    case Kind::Constant:
      return PyModule_Check(v->obj) || PyType_Check(v->obj) || PyCallable_Check(v->obj)
                 ? constant_source(v->obj)->text()
                 : repr_of(v->obj, 60);
    case Kind::Tensor:
      return torch_bridge::type_of(v->obj).text();
    case Kind::Tuple:
      return std::string(v->cls->tp_name) + " of " + std::to_string(v->items.size());
    case Kind::List:
      return "list of " + std::to_string(v->items.size());
    case Kind::Dict:
      return v->cls->tp_name;
    case Kind::Set:
      return "set of " + std::to_string(v->items.size());
    case Kind::Slice:
      return "slice";
    case Kind::Iterator:
      return "iterator";
    case Kind::Function:
      return text_of(v->function->code->co_qualname);
    case Kind::Cell:
      return "cell";
    case Kind::Method:
      return describe(v->items[0]);
    case Kind::Object:
      return std::string(v->cls->tp_name) + " object";
    case Kind::Super:
      return "super()";
    case Kind::Generator:
      return "generator";
  }
  return "?";
}

void Tracer::pin_type(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !pinned_types_.insert(type).second) return;
  static PyObject* probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);  // gives the class a version when it has none
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG))
    stop("unsupported_value", std::string("class ") + type->tp_name + " cannot be watched for changes");
  PyObject* object = reinterpret_cast<PyObject*>(type);
  guard(GuardKind::TypeVersion, constant_source(object), object, type->tp_version_tag, "", nullptr,
        "class is unchanged");
}

void Tracer::guard(GuardKind kind, const Source* source, PyObject* object, int64_t number,
                   const std::string& name, const Source* other, const std::string& expected) {
  const std::string key =
      std::to_string(static_cast<int>(kind)) + ":" + std::to_string(reinterpret_cast<uintptr_t>(source)) +
      ":" + std::to_string(reinterpret_cast<uintptr_t>(other)) + ":" +
      std::to_string(reinterpret_cast<uintptr_t>(object)) + ":" + std::to_string(number) + ":" + name;
  if (!guard_keys_.insert(key).second) return;
  Guard g;
  g.kind = kind;
  g.source = source;
  g.other = other;
  g.number = number;
  g.name = name;
  g.expected = expected;
  g.step = current_ ? current_->step : -1;
  if (object) {
    Py_INCREF(object);
    g.object = object;
    Py_INCREF(object);
    keep(object);  // its address is part of the key
  }
  guards_.push_back(std::move(g));
}

void Tracer::guard_length(Value* v) {
  if (v->sized || !v->source) return;
  v->sized = true;
  if (v->mutated) return;
  guard(GuardKind::Length, v->source, nullptr, static_cast<int64_t>(v->items.size()), "", nullptr,
        "length " + std::to_string(v->items.size()));
}

void Tracer::guard_type(Value* v) {
  if (v->typed || !v->source || v->pinned) return;
  v->typed = true;
  guard(GuardKind::TypeIs, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->obj)), 0, "", nullptr,
        std::string("a ") + Py_TYPE(v->obj)->tp_name);
}

}  // namespace vitrine::capture
