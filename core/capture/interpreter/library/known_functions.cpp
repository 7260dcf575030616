// Functions of the standard library that are written in Python, but ask what no recording can answer (whether
// a weak dict holds something yet, at which address an object lies, which number comes next). They are
// known by their code, and by the module whose names it reads.
#include <algorithm>
#include <string_view>

#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/rng.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Borrowed contents of a closure's cell; nullptr: no such name, or it is empty.
PyObject* closed_over(PyObject* function, const char* name) {
  PyRef names(PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))));
  PyObject* cells = PyFunction_GET_CLOSURE(function);
  for (Py_ssize_t i = 0; names && cells && i < PyTuple_GET_SIZE(names.get()); ++i)
    if (text_of(PyTuple_GET_ITEM(names.get(), i)) == name) return PyCell_GET(PyTuple_GET_ITEM(cells, i));
  return nullptr;
}

// dispatch(cls) of functools.singledispatch: the implementation for a class. Registering another one empties
// its cache, where the answer stands from now on.
Value* implementation(Tracer& t, PyObject* dispatch, const Arguments& a) {
  PyObject* cls = a.positional.size() == 1 && a.keyword.empty() ? const_object(t, a.positional[0]) : nullptr;
  PyObject* cache = closed_over(dispatch, "dispatch_cache");
  // With abstract classes among the registered, any register() anywhere may change the answer.
  if (!cls || !PyType_Check(cls) || !cache || closed_over(dispatch, "cache_token") != Py_None) return nullptr;
  PyRef chosen(PyObject_CallOneArg(dispatch, cls)), data(PyObject_GetAttrString(cache, "data"));
  if (!chosen || !data) t.raise_python();
  PyObject* key = t.keep(PyWeakref_NewRef(cls, nullptr));
  if (PyDict_GetItem(data.get(), key) != chosen.get()) return nullptr;
  const Source* held = t.sources().make(SourceKind::Constant, nullptr, -1, "dispatch_cache", data.get());
  t.keep(data.release());
  const std::string name = static_cast<PyTypeObject*>(static_cast<void*>(cls))->tp_name;
  t.guard(GuardKind::Identity, t.sources().make(SourceKind::Item, held, -1, name, key), chosen.get(), 0, "",
          nullptr, "is still chosen for " + name);
  return t.pinned(chosen.get());
}

// What reprlib.recursive_repr wraps, a data class's __repr__ say, notes meanwhile, by address and thread,
// whose text is being made.
Value* guarded_repr(Tracer& t, PyObject* wrapper, const Arguments& a) {
  PyObject* inner = closed_over(wrapper, "user_function");
  PyObject* filler = closed_over(wrapper, "fillvalue");
  if (!inner || !PyFunction_Check(inner) || a.positional.size() != 1) return nullptr;
  for (const VirtualFrame* f = &t.frame(); f; f = f->caller)
    if (f->code == reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(inner)) && !f->locals.empty() &&
        f->locals[0] && t.look(f->locals[0]) == t.look(a.positional[0]))
      return filler ? t.pinned(filler) : t.text("...");
  return call(t, t.pinned(inner), a);
}

// Once torch._dynamo was used in the process, nn.Module.__init__ notes there when each module was made. Only
// Dynamo's own cache reads that, and a module made inside a segment is not Dynamo's.
Value* noted_by_dynamo(Tracer& t, PyObject*, const Arguments&) {
  return t.none();
}

// A method of random.Random that gives a float.
Value* drawn(Tracer& t, PyObject* function, const Arguments& a) {
  static constinit Once<PyObject*> kept_random;
  PyObject* const random = kept_random.get([] { return find_object("random.Random"); });
  Value* generator = a.positional.empty() ? nullptr : t.look(a.positional[0]);
  // One of a class of the program's own may draw in another way.
  if (!generator || !generator->obj || reinterpret_cast<PyObject*>(generator->cls) != random) return nullptr;
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin());
  return draw(t, generator, text_of(reinterpret_cast<PyFunctionObject*>(function)->func_name), rest);
}

// torch.distributions' lazy_property, asked of its class: gives a new object, which only tells that it is
// one.
Value* lazy_property_of_class(Tracer& t, PyObject* function, const Arguments& a) {
  if (a.positional.size() < 2 || !a.keyword.empty() || !is_none(t, a.positional[1])) return nullptr;
  PyObject* property = const_object(t, a.positional[0]);
  Value* v = t.look(a.positional[0]);
  if (!property) property = v->is(ValueKind::Object) && v->pinned && !v->mutated ? v->obj : nullptr;
  PyRef made(property ? PyObject_CallFunctionObjArgs(function, property, Py_None, nullptr) : nullptr);
  if (!made) return PyErr_Clear(), nullptr;
  return t.pinned(made.get());
}

// Compilers are told by it that a size is not to be a symbol.
Value* size_is_static(Tracer& t, PyObject*, const Arguments& a) {
  for (Value* v : a.positional) settle(t, v);
  return t.none();
}

// Blocks of torch._dynamo.error_on_graph_break keep what they put back when they end. None: nothing, which is
// true of those that are entered here.
Value* kept_by_block(Tracer& t, const Arguments& a) {
  return a.positional.empty() ? nullptr : load_attr(t, a.positional[0], "prev_error_on_graph_break");
}

Value* enter_block_of_breaks(Tracer& t, PyObject*, const Arguments& a) {
  Value* kept = kept_by_block(t, a);
  if (!kept) return nullptr;
  t.modes.breaks_are_errors.push_back(truth(t, load_attr(t, a.positional[0], "error_on_graph_break")));
  return call(t, load_attr(t, kept, "append"), Arguments{{t.none()}, {}});
}

Value* leave_block_of_breaks(Tracer& t, PyObject*, const Arguments& a) {
  Value* kept = kept_by_block(t, a);
  if (!kept || !truth(t, kept) || !is_none(t, get_item(t, kept, t.integer(-1)))) return nullptr;
  if (!t.modes.breaks_are_errors.empty()) t.modes.breaks_are_errors.pop_back();
  return call(t, load_attr(t, kept, "pop"), {});
}

// Blocks of torch._dynamo.patch_dynamo_config, and dont_skip_tracing, set how Dynamo captures what is inside.
// None of that is a setting here. What they refuse is refused.
Value* patched_capture(Tracer& t, PyObject* function, const Arguments& a) {
  PyRef positional(PyTuple_New(static_cast<Py_ssize_t>(a.positional.size()))), keyword(PyDict_New());
  for (size_t i = 0; i < a.positional.size(); ++i) {
    PyRef known(constant_tree(t, a.positional[i]));
    if (!known) return nullptr;
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), known.release());
  }
  for (const auto& [key, value] : a.keyword) {
    PyRef known(constant_tree(t, value));
    if (!known) return nullptr;
    PyDict_SetItemString(keyword.get(), key.c_str(), known.get());
  }
  if (!PyRef(PyObject_Call(function, positional.get(), keyword.get()))) t.raise_python();
  static constinit Once<PyObject*> kept;
  return t.pinned(kept.get([] { return find_object("vitrine._polyfills.library.PATCHED"); }));
}

// dont_skip_tracing and its like are such a block, or decorate the function that they are given.
Value* patched_or_decorated(Tracer& t, PyObject* function, const Arguments& a) {
  if (a.positional.size() + a.keyword.size() != 1) return patched_capture(t, function, a);
  if (a.positional.empty() && a.keyword.front().first != "fn") return patched_capture(t, function, a);
  Value* given = a.positional.empty() ? a.keyword.front().second : a.positional[0];
  return is_none(t, given) ? patched_capture(t, function, {}) : given;
}

// The same as decorators.
Value* within_patch(Tracer& t, PyObject* wrapper, const Arguments& a) {
  PyObject *context = closed_over(wrapper, "self"), *inner = closed_over(wrapper, "func");
  const bool patches =
      context && std::string_view(Py_TYPE(context)->tp_name).ends_with("DynamoConfigPatchProxy");
  return patches && inner ? call(t, t.pinned(inner), a) : nullptr;
}

// PyTorch switches autocast of a GPU off where it sees none; --target compiles for one that is elsewhere.
Value* gpu_lacks_autocast(Tracer& t, PyObject*, const Arguments&) {
  return t.for_absent_gpu() ? t.boolean(false) : nullptr;
}
// What a GPU is does not change while a process runs. Of several GPUs another one may be current at the next
// call.
Value* asked_of_gpu(Tracer& t, PyObject* function, const Arguments& a) {
  if (t.for_absent_gpu()) return nullptr;
  PyRef count(PyObject_CallNoArgs(find_object("torch.cuda.device_count")));
  const bool several = !count || PyLong_AsLong(count.get()) > 1;
  PyErr_Clear();
  return several && a.positional.empty() ? nullptr : fold_call(t, function, a);
}
Value* gpu_has_bfloat16(Tracer& t, PyObject* function, const Arguments& a) {
  return t.for_absent_gpu() ? t.boolean(true) : asked_of_gpu(t, function, a);
}

struct KnownFunctionRow {
  const char *module, *qualname;
  Value* (*handler)(Tracer&, PyObject* function, const Arguments&);  // nullptr: as any other function
  bool outermost = false;  // also where a compiled callable's own frame is one of it
};
constexpr KnownFunctionRow kRows[] = {
    {"functools", "singledispatch.<locals>.dispatch", implementation},
    {"dataclasses", "_recursive_repr.<locals>.wrapper", guarded_repr},  // before CPython 3.13
    {"reprlib", "recursive_repr.<locals>.decorating_function.<locals>.wrapper", guarded_repr},
    {"torch.distributions.utils", "lazy_property.__get__", lazy_property_of_class},
    {"torch._dynamo.decorators", "ErrorOnGraphBreakDecoratorContextManager.__enter__", enter_block_of_breaks},
    {"torch._dynamo.decorators", "ErrorOnGraphBreakDecoratorContextManager.__exit__", leave_block_of_breaks},
    {"torch._dynamo.decorators", "patch_dynamo_config", patched_capture},
    {"torch._dynamo.decorators", "dont_skip_tracing", patched_or_decorated},
    {"torch._dynamo.decorators", "disable_nested_graph_breaks", patched_or_decorated},
    {"torch._dynamo.external_utils", "wrap_dunder_call_ctx_manager.<locals>.inner", within_patch},
    {"torch.distributed.c10d_logger", "_exception_logger.<locals>.wrapper", collective_that_writes},
    {"vitrine._polyfills.collectives", "members_of", asked_of_group},
    {"vitrine._polyfills.collectives", "reduction_of", asked_of_group},
    {"vitrine._polyfills.collectives", "source_of", asked_of_group},
    {"torch.distributed._functional_collectives", "_group_or_group_name", asked_of_group},
    {"torch.distributed._functional_collectives", "_resolve_group_name",
     asked_of_group},  // before PyTorch 2.13
    {"torch.distributed._functional_collectives", "_are_we_tracing", collectives_are_traced},
    {"torch.distributed.distributed_c10d", "_get_group_size_by_name", asked_of_group},
    {"torch.distributed.distributed_c10d", "_get_group_size", asked_of_group},
    {"torch._dynamo.comptime", "_Comptime.force_static", size_is_static},
    {"torch.utils.checkpoint", "checkpoint", checkpoint_function},
    {"torch.nn.modules.transformer", "TransformerEncoder.forward", encoder_forward, true},
    {"torch.nn.modules.transformer", "_detect_is_causal_mask", detected_as_causal},
    {"torch.cuda.amp.common", "amp_definitely_not_available", gpu_lacks_autocast},
    {"torch.cuda", "is_bf16_supported", gpu_has_bfloat16},
    {"torch.cuda", "current_device", asked_of_gpu},
    {"torch.cuda", "get_device_capability", asked_of_gpu},
    {"torch.cuda", "get_device_name", asked_of_gpu},
#define VITRINE_DRAWS(X) \
  X(uniform)             \
  X(triangular)          \
  X(gauss)               \
  X(normalvariate)       \
  X(lognormvariate)      \
  X(expovariate) X(vonmisesvariate) X(gammavariate) X(betavariate) X(paretovariate) X(weibullvariate)
#define X(name) {"random", "Random." #name, drawn},
    VITRINE_DRAWS(X)
#undef X
        {"torch._dynamo.mutation_guard", "GenerationTracker.tag", noted_by_dynamo},
};

// A program's own functions of such a name are others, and so are those of its own random.py.
bool is_of_module(PyObject* function, const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  const bool is_ours = std::string_view(name).starts_with("vitrine.");
  return module && PyModule_Check(module) && PyModule_GetDict(module) == PyFunction_GET_GLOBALS(function) &&
         (is_ours || is_library_function(function));
}

const KnownFunctionRow* row_of(PyObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  for (const KnownFunctionRow& row : kRows)
    if (PyUnicode_CompareWithASCIIString(code->co_qualname, row.qualname) == 0 &&
        is_of_module(function, row.module))
      return &row;
  return nullptr;
}

}  // namespace

bool is_known_function(PyObject* function) {
  return row_of(function) != nullptr;
}

Value* call_known_function(Tracer& t, PyObject* function, const Arguments& a) {
  const KnownFunctionRow* row = row_of(function);
  return row ? row->handler(t, function, a) : nullptr;
}

// Nothing of its code has run but what begins each frame.
static bool has_just_begun(const VirtualFrame& f) {
  const auto& all = f.bytecode->instructions();
  return f.stack.empty() && f.position >= 0 &&
         std::all_of(all.begin(), all.begin() + f.position,
                     [](const Instruction& in) { return in.op == Op::Resume || in.op == Op::Nop; });
}

Value* run_known_frame(Tracer& t, const Frame& frame) {
  PyObject* function = has_just_begun(t.frame()) ? frame.function() : nullptr;
  const KnownFunctionRow* row = function && PyFunction_Check(function) ? row_of(function) : nullptr;
  if (!row || !row->outermost) return nullptr;
  const auto* code = reinterpret_cast<PyCodeObject*>(frame.code());
  const auto& locals = t.frame().locals;
  return row->handler(t, function, {{locals.begin(), locals.begin() + code->co_argcount}, {}});
}

}  // namespace vitrine::capture
