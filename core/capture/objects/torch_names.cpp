#include "core/capture/objects/torch_names.h"

#include "core/base/once.h"
#include "core/base/result.h"

namespace vitrine::capture {
namespace {

PyObject* must(const std::string& path) {
  PyObject* o = find_object(path);
  VITRINE_CHECK(o, "PyTorch or Python has no " + path);
  return o;
}

PyTypeObject* must_type(const std::string& path) {
  PyObject* o = must(path);
  VITRINE_CHECK(PyType_Check(o), path + " is not a class");
  return reinterpret_cast<PyTypeObject*>(o);
}

PyTypeObject* iterator_type(const char* expression) {
  PyRef globals(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef value(PyRun_String(expression, Py_eval_input, globals.get(), globals.get()));
  VITRINE_CHECK(value, std::string("cannot make ") + expression);
  return Py_TYPE(value.get());
}

// The member, and where the object is found.
template <class T>
struct Named {
  T* TorchNames::* member;
  const char* path;
};
constexpr Named<PyObject> kObjects[] = {
    {&TorchNames::torch, "torch"},
    {&TorchNames::functional, "torch.nn.functional"},
    {&TorchNames::operator_module, "_operator"},  // a program may put other functions into `operator`
    {&TorchNames::builtins, "builtins"},
    {&TorchNames::module_call, "torch.nn.Module._wrapped_call_impl"},  // a program may have replaced __call__
    {&TorchNames::module_call_impl, "torch.nn.Module._call_impl"},
    {&TorchNames::module_getattr, "torch.nn.Module.__getattr__"},
    {&TorchNames::module_setattr, "torch.nn.Module.__setattr__"},
    {&TorchNames::module_delattr, "torch.nn.Module.__delattr__"},
    {&TorchNames::module_forward, "torch.nn.Module.forward"},
};
constexpr Named<PyTypeObject> kTypes[] = {
    {&TorchNames::tensor, "torch.Tensor"},
    {&TorchNames::tensor_base, "torch._C.TensorBase"},
    {&TorchNames::parameter, "torch.nn.Parameter"},
    {&TorchNames::size, "torch.Size"},
    {&TorchNames::dtype, "torch.dtype"},
    {&TorchNames::device, "torch.device"},
    {&TorchNames::layout, "torch.layout"},
    {&TorchNames::memory_format, "torch.memory_format"},
    {&TorchNames::finfo, "torch.finfo"},
    {&TorchNames::iinfo, "torch.iinfo"},
    {&TorchNames::module, "torch.nn.Module"},
    {&TorchNames::op_overload, "torch._ops.OpOverload"},
    {&TorchNames::op_packet, "torch._ops.OpOverloadPacket"},
    {&TorchNames::op_namespace, "torch._ops._OpNamespace"},
    {&TorchNames::ops, "torch._ops._Ops"},
    {&TorchNames::signature, "inspect.Signature"},
    {&TorchNames::item_getter, "_operator.itemgetter"},
    {&TorchNames::attribute_getter, "_operator.attrgetter"},
    {&TorchNames::method_caller, "_operator.methodcaller"},
    {&TorchNames::expression_match, "re.Match"},
    {&TorchNames::expression, "re.Pattern"},
    {&TorchNames::custom_op, "torch._library.custom_ops.CustomOpDef"},
    {&TorchNames::script_function, "torch.jit.ScriptFunction"},
    {&TorchNames::enum_base, "enum.Enum"},
    {&TorchNames::version, "torch.torch_version.TorchVersion"},
    {&TorchNames::attention_backend, "torch._C._SDPBackend"},
    {&TorchNames::type_variable, "typing.TypeVar"},
    {&TorchNames::lru_cache_wrapper, "functools._lru_cache_wrapper"},
    {&TorchNames::generic_alias, "types.GenericAlias"},
    {&TorchNames::union_type, "types.UnionType"},
    {&TorchNames::inference_context, "torch._C._InferenceMode"},
    {&TorchNames::removable_handle, "torch.utils.hooks.RemovableHandle"},
    {&TorchNames::partial, "functools.partial"},
    {&TorchNames::deque, "collections.deque"},
    {&TorchNames::ordered_dict, "collections.OrderedDict"},
    {&TorchNames::default_dict, "collections.defaultdict"},
    {&TorchNames::count, "itertools.count"},
    {&TorchNames::repeat, "itertools.repeat"},
    {&TorchNames::chain, "itertools.chain"},
    {&TorchNames::islice, "itertools.islice"},
};
// Those that may be absent: NumPy's, the module's own, what a version of PyTorch lacks.
constexpr Named<PyTypeObject> kOptionalTypes[] = {
    {&TorchNames::flex_attention, "torch._higher_order_ops.flex_attention.FlexAttentionHOP"},
    {&TorchNames::numpy_number, "numpy.number"},
    {&TorchNames::numpy_bool, "numpy.bool_"},
    {&TorchNames::numpy_ufunc, "numpy.ufunc"},
    {&TorchNames::numpy_array, "numpy.ndarray"},
    {&TorchNames::numpy_dtype, "numpy.dtype"},
    {&TorchNames::disabled_function, "vitrine._engine.DisabledFunction"},
    {&TorchNames::compiled_function, "vitrine._engine.CompiledFunction"},
};
constexpr const char* kIterators[] = {
    "iter([])",         "iter(())",     "iter(range(0))", "iter({})",  "iter({}.values())",
    "iter({}.items())", "iter('')",     "iter('\u00e9')", "iter(b'')", "iter(set())",
    "reversed([])",     "reversed(())", "enumerate(())",  "zip()",     "map(id, ())",
    "filter(None, ())"};

TorchNames load() {
  TorchNames n{};
  for (const auto& [member, path] : kObjects) n.*member = must(path);
  for (const auto& [member, path] : kTypes) n.*member = must_type(path);
  for (const auto& [member, path] : kOptionalTypes)
    n.*member = reinterpret_cast<PyTypeObject*>(find_object(path));
#if PY_VERSION_HEX < 0x030C0000  // later ones warn when they are asked for their state
  n.iterators = {n.count, n.repeat, n.chain, n.islice};
#endif
  if (n.numpy_ufunc && !PyRef(PyImport_ImportModule("vitrine._polyfills.arrays"))) {
    PyErr_Clear();  // the engine is used without its module
    n.numpy_ufunc = nullptr;
  }
  PyObject* dispatched = find_object("numpy.prod");  // an ordinary function before NumPy 1.25
  n.numpy_dispatcher = dispatched && !PyFunction_Check(dispatched) ? Py_TYPE(dispatched) : nullptr;
  n.dict_of_sys_modules = PyImport_GetModuleDict();
  for (const char* expression : kIterators) n.iterators.insert(iterator_type(expression));
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
