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
  Owned globals(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  Owned value(PyRun_String(expression, Py_eval_input, globals.get(), globals.get()));
  VITRINE_CHECK(value, std::string("cannot make ") + expression);
  return Py_TYPE(value.get());
}

TorchNames load() {
  TorchNames n{};
  n.torch = must("torch");
  n.functional = must("torch.nn.functional");
  n.operator_module = must("_operator");  // a program may put other functions into `operator`
  n.builtins = must("builtins");
  n.tensor = must_type("torch.Tensor");
  n.tensor_base = must_type("torch._C.TensorBase");
  n.parameter = must_type("torch.nn.Parameter");
  n.size = must_type("torch.Size");
  n.dtype = must_type("torch.dtype");
  n.device = must_type("torch.device");
  n.layout = must_type("torch.layout");
  n.memory_format = must_type("torch.memory_format");
  n.finfo = must_type("torch.finfo");
  n.iinfo = must_type("torch.iinfo");
  n.module = must_type("torch.nn.Module");
  n.op_overload = must_type("torch._ops.OpOverload");
  n.op_packet = must_type("torch._ops.OpOverloadPacket");
  n.op_namespace = must_type("torch._ops._OpNamespace");
  n.ops = must_type("torch._ops._Ops");
  n.signature = must_type("inspect.Signature");
  n.item_getter = must_type("_operator.itemgetter");
  n.attribute_getter = must_type("_operator.attrgetter");
  n.method_caller = must_type("_operator.methodcaller");
  n.expression_match = must_type("re.Match");
  n.expression = must_type("re.Pattern");
  n.custom_op = must_type("torch._library.custom_ops.CustomOpDef");
  n.flex_attention =
      reinterpret_cast<PyTypeObject*>(find_object("torch._higher_order_ops.flex_attention.FlexAttentionHOP"));
  n.script_function = must_type("torch.jit.ScriptFunction");
  n.enum_base = must_type("enum.Enum");
  n.version = must_type("torch.torch_version.TorchVersion");
  n.attention_backend = must_type("torch._C._SDPBackend");
  n.type_variable = must_type("typing.TypeVar");
  n.lru_cache_wrapper = must_type("functools._lru_cache_wrapper");
  n.generic_alias = must_type("types.GenericAlias");
  n.union_type = must_type("types.UnionType");
  n.inference_context = must_type("torch._C._InferenceMode");
  n.removable_handle = must_type("torch.utils.hooks.RemovableHandle");
  n.partial = must_type("functools.partial");
  n.deque = must_type("collections.deque");
  n.ordered_dict = must_type("collections.OrderedDict");
  n.default_dict = must_type("collections.defaultdict");
  n.count = must_type("itertools.count");
  n.repeat = must_type("itertools.repeat");
  n.chain = must_type("itertools.chain");
  n.islice = must_type("itertools.islice");
#if PY_VERSION_HEX < 0x030C0000  // later ones warn when they are asked for their state
  n.iterators = {n.count, n.repeat, n.chain, n.islice};
#endif
  const auto of_numpy = [](const char* path) { return reinterpret_cast<PyTypeObject*>(find_object(path)); };
  n.numpy_number = of_numpy("numpy.number");
  n.numpy_bool = of_numpy("numpy.bool_");
  n.numpy_ufunc = of_numpy("numpy.ufunc");
  n.numpy_array = of_numpy("numpy.ndarray");
  n.numpy_dtype = of_numpy("numpy.dtype");
  if (n.numpy_ufunc && !Owned(PyImport_ImportModule("vitrine._polyfills.arrays"))) {
    PyErr_Clear();  // the engine is used without its module
    n.numpy_ufunc = nullptr;
  }
  PyObject* dispatched = find_object("numpy.prod");  // an ordinary function before NumPy 1.25
  n.numpy_dispatcher = dispatched && !PyFunction_Check(dispatched) ? Py_TYPE(dispatched) : nullptr;
  n.disabled_function = reinterpret_cast<PyTypeObject*>(find_object("vitrine._engine.DisabledFunction"));
  n.compiled_function = reinterpret_cast<PyTypeObject*>(find_object("vitrine._engine.CompiledFunction"));
  n.module_call = must("torch.nn.Module._wrapped_call_impl");  // a program may have replaced __call__
  n.module_call_impl = must("torch.nn.Module._call_impl");
  n.module_getattr = must("torch.nn.Module.__getattr__");
  n.module_setattr = must("torch.nn.Module.__setattr__");
  n.module_delattr = must("torch.nn.Module.__delattr__");
  n.module_forward = must("torch.nn.Module.forward");
  n.dict_of_sys_modules = PyImport_GetModuleDict();
  for (const char* expression :
       {"iter([])", "iter(())", "iter(range(0))", "iter({})", "iter({}.values())", "iter({}.items())",
        "iter('')", "iter('\u00e9')", "iter(b'')", "iter(set())", "reversed([])", "reversed(())",
        "enumerate(())", "zip()", "map(id, ())", "filter(None, ())"})
    n.iterators.insert(iterator_type(expression));
  return n;
}

}  // namespace

PyObject* TorchNames::operator_function(const std::string& name) const {
  Owned function(PyObject_GetAttrString(operator_module, name.c_str()));
  VITRINE_CHECK(function, "operator." + name + " is missing");
  return function.get();  // the module keeps it
}

PyObject* find_object(const std::string& path) {
  // The longest prefix that is an imported module, then attributes.
  size_t end = path.size();
  PyObject* at = nullptr;
  while (true) {
    Owned name(PyUnicode_FromString(path.substr(0, end).c_str()));
    Owned module(PyImport_GetModule(name.get()));
    if (!module && end == path.find('.')) module = Owned(PyImport_Import(name.get()));
    if (!module && path.find('.') == std::string::npos) module = Owned(PyImport_Import(name.get()));
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
    Owned value(PyModule_Check(at) ? Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(at), part.c_str()))
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
