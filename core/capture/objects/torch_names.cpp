#include "core/capture/objects/torch_names.h"

#include "core/base/once.h"
#include "core/base/result.h"

namespace vitrine::capture {
namespace {

PyTypeObject* as_type(PyObject* o) {
  return reinterpret_cast<PyTypeObject*>(o);
}

PyTypeObject* type_of(Name name) {
  PyObject* o = kept(name);
  VITRINE_CHECK(PyType_Check(o), std::string("no class: ") + Py_TYPE(o)->tp_name);
  return as_type(o);
}

// Of what is loaded already; nullptr: it is not. Its module keeps it.
PyTypeObject* loaded_type(Name name) {
  return as_type(find_loaded(name).get());
}

PyTypeObject* iterator_type(const char* expression) {
  PyRef globals(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef value(PyRun_String(expression, Py_eval_input, globals.get(), globals.get()));
  VITRINE_CHECK(value, std::string("cannot make ") + expression);
  return Py_TYPE(value.get());
}

constexpr const char* kIterators[] = {
    "iter([])",         "iter(())",     "iter(range(0))", "iter({})",  "iter({}.values())",
    "iter({}.items())", "iter('')",     "iter('\u00e9')", "iter(b'')", "iter(set())",
    "reversed([])",     "reversed(())", "enumerate(())",  "zip()",     "map(id, ())",
    "filter(None, ())"};

void find_python(TorchNames& n) {
  n.operator_module = kept(Name::operators);  // a program may put other functions into `operator`
  n.builtins = kept(Name::builtins);
  n.signature = type_of(Name::Signature);
  n.item_getter = type_of(Name::itemgetter);
  n.attribute_getter = type_of(Name::attrgetter);
  n.method_caller = type_of(Name::methodcaller);
  n.expression_match = type_of(Name::expression_match);
  n.expression = type_of(Name::expression);
  n.enum_base = type_of(Name::Enum);
  n.type_variable = type_of(Name::TypeVar);
  const PyRef bound(PyObject_GetAttrString(Py_None, "__repr__"));
  n.method_wrapper = Py_TYPE(bound.get());
  n.lru_cache_wrapper = type_of(Name::lru_cache_wrapper);
  n.generic_alias = type_of(Name::GenericAlias);
  n.union_type = type_of(Name::UnionType);
  n.partial = type_of(Name::partial);
  n.deque = type_of(Name::deque);
  n.ordered_dict = type_of(Name::OrderedDict);
  n.default_dict = type_of(Name::defaultdict);
  n.count = type_of(Name::count);
  n.repeat = type_of(Name::repeat);
  n.chain = type_of(Name::chain);
  n.islice = type_of(Name::islice);
#if PY_VERSION_HEX < 0x030C0000  // later ones warn when they are asked for their state
  n.iterators = {n.count, n.repeat, n.chain, n.islice};
#endif
  n.dict_of_sys_modules = PyImport_GetModuleDict();
  for (const char* expression : kIterators) n.iterators.insert(iterator_type(expression));
}

void find_numpy(TorchNames& n) {
  n.numpy_number = as_type(kept(Name::numpy_number));
  n.numpy_bool = as_type(kept(Name::numpy_bool));
  n.numpy_ufunc = as_type(kept(Name::numpy_ufunc));
  n.numpy_array = as_type(kept(Name::numpy_ndarray));
  n.numpy_dtype = as_type(kept(Name::numpy_dtype));
  if (n.numpy_ufunc && !kept(Name::array_polyfills))
    n.numpy_ufunc = nullptr;                      // the engine is used without its module
  PyObject* dispatched = kept(Name::numpy_prod);  // an ordinary function before NumPy 1.25
  n.numpy_dispatcher = dispatched && !PyFunction_Check(dispatched) ? Py_TYPE(dispatched) : nullptr;
}

TorchNames load() {
  TorchNames n{};
  n.torch = kept(Name::torch);
  n.functional = kept(Name::functional);
  n.tensor = type_of(Name::Tensor);
  n.tensor_base = type_of(Name::TensorBase);
  n.parameter = type_of(Name::Parameter);
  n.size = type_of(Name::Size);
  n.dtype = type_of(Name::dtype);
  n.device = type_of(Name::device);
  n.layout = type_of(Name::layout);
  n.memory_format = type_of(Name::memory_format);
  n.finfo = type_of(Name::finfo);
  n.iinfo = type_of(Name::iinfo);
  n.module = type_of(Name::Module);
  n.op_overload = type_of(Name::OpOverload);
  n.op_packet = type_of(Name::OpOverloadPacket);
  n.op_namespace = type_of(Name::OpNamespace);
  n.ops = type_of(Name::Ops);
  n.custom_op = type_of(Name::custom_op);
  n.flex_attention = loaded_type(Name::FlexAttention);
  n.script_function = type_of(Name::ScriptFunction);
  n.version = type_of(Name::TorchVersion);
  n.attention_backend = type_of(Name::SDPBackend);
  n.inference_context = type_of(Name::InferenceMode);
  n.removable_handle = type_of(Name::RemovableHandle);
  n.disabled_function = loaded_type(Name::DisabledFunction);
  n.compiled_function = loaded_type(Name::CompiledFunction);
  n.module_call = kept(Name::module_call);  // a program may have replaced __call__
  n.module_call_impl = kept(Name::module_call_impl);
  n.module_getattr = kept(Name::module_getattr);
  n.module_setattr = kept(Name::module_setattr);
  n.module_delattr = kept(Name::module_delattr);
  n.module_forward = kept(Name::module_forward);
  find_python(n);
  find_numpy(n);
  return n;
}

}  // namespace

PyObject* TorchNames::operator_function(const std::string& name) const {
  PyRef function(PyObject_GetAttrString(operator_module, name.c_str()));
  VITRINE_CHECK(function, "operator." + name + " is missing");
  return function.get();  // the module keeps it
}

PyObject* find_object(const std::string& path) {
  // The longest prefix that is an imported module, then attributes.
  size_t end = path.size();
  PyObject* at = nullptr;
  while (true) {
    PyRef name(PyUnicode_FromString(path.substr(0, end).c_str()));
    PyRef module(PyImport_GetModule(name.get()));
    if (!module && end == path.find('.')) module = PyRef(PyImport_Import(name.get()));
    if (!module && path.find('.') == std::string::npos) module = PyRef(PyImport_Import(name.get()));
    PyErr_Clear();
    if (module) {
      at = module.get();  // sys.modules keeps it
      break;
    }
    end = path.rfind('.', end - 1);
    if (end == std::string::npos) return nullptr;
  }
  while (at && end < path.size()) {
    const size_t next = path.find('.', end + 1);
    const std::string part = path.substr(end + 1, (next == std::string::npos ? path.size() : next) - end - 1);
    // Not the module's own __getattr__: torch's imports torch._dynamo and all that comes with it.
    PyRef value(PyModule_Check(at) ? Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(at), part.c_str()))
                                   : PyObject_GetAttrString(at, part.c_str()));
    PyErr_Clear();
    if (value && Py_REFCNT(value.get()) == 1) return nullptr;  // made on the spot: nothing keeps it
    at = value.get();
    end = next == std::string::npos ? path.size() : next;
  }
  return at;
}

const TorchNames& torch_names() {
  static constinit Once<TorchNames> names;
  return names.get(load);
}

}  // namespace vitrine::capture
