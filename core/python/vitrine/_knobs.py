"""What PyTorch's own settings of its compiler mean for Vitrine: a row each. ``print(vitrine.knobs())`` shows the table.

What somebody has set, and does not hold here, is said once by name, with the text of its row.
"""

from typing import NamedTuple

# How a setting is met.
KINDS = {
    "obeyed": "it means here what it means for torch.compile",
    "always": "what is named here holds always",
    "instead": "not followed: Vitrine has something else for it",
    "without": "without meaning here",
}


class Knob(NamedTuple):
    name: str  # an ending * stands for all that begin so
    kind: str  # of KINDS
    here: str  # what holds here, what stands for it, or why it has no meaning


_DYNAMO, _INDUCTOR, _FUNCTORCH = "torch._dynamo.config.", "torch._inductor.config.", "torch._functorch.config."
_SHAPES, _COMPILER = "torch.fx.experimental._config.", "torch.compiler.config."

# Settings that vitrine.config has under the same name.
SAME_NAME = (
    ("recompile_limit", "how often one place of a function is compiled (also cache_size_limit)"),
    ("accumulated_recompile_limit", "how often all places of one function are (also accumulated_cache_size_limit)"),
    ("fail_on_recompile_limit_hit", "the limit is an error (also fail_on_cache_limit_hit)"),
    ("error_on_recompile", "a second compilation of a place is an error"),
    ("suppress_errors", "where a backend fails, eager runs the graph, with a warning"),
    ("disable", "nothing is compiled"),
    ("capture_scalar_outputs", "True: other backends are given floats that are read, too; for Vitrine numbers that are read are always in the graph, but where vitrine.config has False"),
    ("capture_dynamic_output_shape_ops", "nonzero, unique and masks are always part of the graph, but where vitrine.config has False"),
    ("assume_static_by_default", "False: all sizes are symbols from the start, as by dynamic=True"),
    ("automatic_dynamic_shapes", "False: a size that changes is compiled anew, as by dynamic=False"),
    ("specialize_int", "ints are never symbols"),
    ("specialize_float", "floats are never symbols"),
    ("allow_ignore_mark_dynamic", "a mark that the program contradicts is no error"),
)

KNOBS = (
    *(Knob(_DYNAMO + name, "obeyed", here) for name, here in SAME_NAME),
    # Calls
    Knob("torch.compiler.compile", "obeyed", "torch.compile: vitrine.compile, and under take-over it is that"),
    Knob("torch.compiler.disable", "obeyed", "also torch._dynamo.disable, torch._dynamo.skip, is_dynamo_disable_recursive; vitrine.disable"),
    Knob("torch.compiler.set_stance", "obeyed", "each stance and force_backend; skip_guard_eval_unsafe is not: guards are always checked"),
    Knob("torch.compiler.allow_in_graph", "obeyed", "the call is one node of the graph that a backend is given; compiled by Vitrine it is captured, as any function"),
    Knob("torch.compiler.assume_constant_result", "obeyed", "the function runs once, at capture"),
    Knob("torch.compiler.is_compiling", "obeyed", "also is_dynamo_compiling; vitrine.is_compiling"),
    Knob("torch.compiler.is_exporting", "obeyed", "False in a compiled function; vitrine.is_exporting"),
    Knob("torch.compiler.nested_compile_region", "without", "each region is captured where it is called"),
    Knob("torch.compiler.cudagraph_mark_step_begin", "always", "results of CUDA Graphs stay valid until they are freed: there is no step to mark"),
    Knob("torch.compiler.cudagraph_mark_warmup_incomplete", "without", "a CUDA Graph is recorded when its code first runs: there is no warm-up to mark"),
    Knob("torch.compiler.reset", "obeyed", "under take-over it forgets what Vitrine compiled, too; vitrine.reset"),
    Knob("torch.compiler.set_default_backend", "obeyed", "under take-over; also get_default_backend"),
    Knob("torch._dynamo.graph_break", "obeyed", "vitrine.graph_break"),
    Knob("torch._dynamo.error_on_graph_break", "obeyed", "as a block or decorator inside of what is compiled, or around its first call"),
    Knob("torch._dynamo.disallow_in_graph", "obeyed", "a call is a graph break"),
    Knob("torch._dynamo.mark_dynamic", "obeyed", "with min and max; vitrine.mark_dynamic"),
    Knob("torch._dynamo.maybe_mark_dynamic", "obeyed", "vitrine.maybe_mark_dynamic"),
    Knob("torch._dynamo.mark_static", "obeyed", "vitrine.mark_static"),
    Knob("torch._dynamo.decorators.mark_unbacked", "obeyed", "as maybe_mark_dynamic, with strict as mark_dynamic; sizes 0 and 1 are compiled apart; vitrine.mark_unbacked"),
    Knob("torch._dynamo.mark_static_address", "without", "addresses of inputs are read at each call"),
    Knob("torch._dynamo.forbid_in_graph", "obeyed", "a call of it in a compiled function is an AssertionError"),
    Knob("torch._dynamo.nonstrict_trace", "obeyed", "its graph breaks do not count; it is given and gives what torch.utils._pytree knows, and is given modules"),
    Knob("torch._dynamo.decorators.leaf_function", "instead", "torch.library.custom_op, whose call is captured; a call of a leaf function is a graph break"),
    Knob("torch.compiler.substitute_in_graph", "obeyed", "builtins that Vitrine knows stay its own"),
    Knob("torch._dynamo.patch_dynamo_config", "without", "what it may change is about how TorchDynamo captures; also dont_skip_tracing, disable_nested_graph_breaks"),
    Knob("torch._dynamo.run", "obeyed", 'under take-over: as torch.compiler.set_stance("eager_on_recompile")'),
    Knob("torch._dynamo.optimize", "obeyed", "under take-over, and optimize_assert"),
    Knob("torch._dynamo.explain", "obeyed", "under take-over; vitrine.explain"),
    Knob("torch.compiler.list_backends", "obeyed", "also lookup_backend and register_backend: what they know can be named here"),
    Knob("torch._dynamo.OptimizedModule", "obeyed", "under take-over Vitrine's modules are instances of it"),
    Knob("torch._dynamo.export", "without", "it is TorchDynamo's; vitrine.graph gives graphs"),
    Knob("torch._dynamo.replay", "without", "it reads what TorchDynamo recorded; vitrine reduce FILE"),
    Knob("torch._dynamo.allow_c_slot", "without", "slots of classes in C are captured or break the graph"),
    Knob("torch._dynamo.reset_recompile_user_contexts", "without", "it is about TorchDynamo's own hooks of recompilations"),
    Knob("torch._dynamo.skip_frame", "without", "it breaks the graph, and the rest is captured; torch.compiler.disable"),
    Knob("torch._dynamo.step_unsupported", "without", "it breaks the graph, and the rest is captured"),
    Knob("torch._dynamo.set_recursion_limit", "without", "capture has a limit of its own"),
    Knob("torch._dynamo.override_optimization_hint", "without", "each size has code of its own where that is better"),
    Knob("torch._dynamo.override_cudagraphs", "instead", 'mode="reduce-overhead" of the part that is to have them'),
    Knob("torch._dynamo.bytecode_debugger", "instead", "the film of a session: vitrine show S steps"),
    Knob("torch._dynamo.comptime.comptime", "instead", "the film of a session: vitrine show S steps; a call is a graph break, but for force_static"),
    Knob("torch._dynamo.utils.compile_times", "instead", "vitrine.explain(f)(x).compile_times; vitrine show S stages"),
    Knob("torch._dynamo.exc.TorchRuntimeError", "without", "an operator's error is the one that eager raises"),
    Knob("torch.compiler.wrap_numpy", "obeyed", "NumPy's functions are captured"),
    Knob("torch.compiler.save_cache_artifacts", "instead", "vitrine.config.cache_dir, a folder that may be copied; also load_cache_artifacts"),
    Knob("torch.compiler.load_compiled_function", "instead", "vitrine.export, and vitrine-run; also aot_compile, precompile and PrecompileError"),
    Knob("torch.compiler.set_enable_guard_collectives", "without", "each rank compiles by itself"),
    Knob("torch.compiler.skip_*unsafe", "without", "guards are always checked"),
    Knob("torch.compiler.keep_*unsafe", "without", "guards are always checked"),
    # The environment
    Knob("TORCH_COMPILE_DISABLE", "obeyed", "1: nothing is compiled"),
    Knob("TORCHDYNAMO_DISABLE", "obeyed", "1: nothing is compiled"),
    Knob("TORCHDYNAMO_SUPPRESS_ERRORS", "obeyed", "as torch._dynamo.config.suppress_errors"),
    Knob("TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS", "obeyed", "1: as torch._dynamo.config.capture_scalar_outputs = True"),
    Knob("TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS", "always", "sizes that depend on data are part of the graph"),
    Knob("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES", "obeyed", "0: as torch._dynamo.config.automatic_dynamic_shapes = False"),
    Knob("TORCHDYNAMO_VERBOSE", "always", "messages name place and reason"),
    Knob("TORCH_LOGS", "obeyed", "under take-over, by the names that VITRINE_LOGS has"),
    Knob("TORCH_LOGS_OUT", "obeyed", "under take-over: the file that logs go to; VITRINE_LOGS_OUT"),
    Knob("torch._logging.set_logs", "instead", "VITRINE_LOGS, which has the same names; under take-over it is followed"),
    Knob("TORCH_COMPILE_DEBUG", "instead", "VITRINE_TRACE=FILE.vitrine, then vitrine export FILE.vitrine --to debug-folder"),
    Knob("TORCH_COMPILE_DYNAMIC_SOURCES", "instead", "vitrine.mark_dynamic"),
    Knob("TORCH_TRACE", "instead", "VITRINE_TRACE=FILE.vitrine"),
    Knob("TORCHINDUCTOR_FREEZING", "instead", 'options={"freezing": True}'),
    Knob("TORCHINDUCTOR_MAX_AUTOTUNE*", "instead", 'mode="max-autotune"'),
    Knob("TORCHINDUCTOR_CUDAGRAPHS", "instead", 'mode="reduce-overhead"'),
    Knob("TORCHINDUCTOR_CACHE_DIR", "instead", "vitrine.config.cache_dir"),
    Knob("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "instead", 'vitrine.config.cache_dir = ""'),
    Knob("TORCHDYNAMO_REPRO_*", "instead", "vitrine bisect and vitrine reduce"),
    Knob("TORCHINDUCTOR_*", "without", "it tunes Inductor"),
    Knob("INDUCTOR_*", "without", "it tunes Inductor"),
    # torch._dynamo.config
    Knob(_DYNAMO + "verbose", "always", "messages name place and reason"),
    Knob(_DYNAMO + "log_file_name", "instead", "VITRINE_LOGS_OUT=FILE"),
    Knob(_DYNAMO + "verify_correctness", "instead", "vitrine.config.check"),
    Knob(_DYNAMO + "repro_*", "instead", "vitrine bisect and vitrine reduce"),
    Knob(_DYNAMO + "debug_dir_root", "instead", "vitrine export --to debug-folder names its folder"),
    Knob(_DYNAMO + "guard_nn_modules*", "always", "modules are guarded"),
    Knob(_DYNAMO + "skip_*guards*", "always", "what a graph relies on is guarded"),
    Knob(_DYNAMO + "force_parameter_static_shapes", "always", "sizes of parameters are numbers until they change"),
    Knob(_DYNAMO + "force_nn_module_property_static_shapes", "always", "sizes of a module's tensors are numbers until they change"),
    Knob(_DYNAMO + "allow_unspec_int_on_nn_module", "always", "an int of a module that changes becomes a symbol; @mark_static fixes it"),
    Knob(_DYNAMO + "rewrite_assert_with_torch_assert", "always", "an assert of a tensor is a check in the graph"),
    Knob(_DYNAMO + "trace_numpy", "always", "NumPy's arrays are captured"),
    Knob(_DYNAMO + "numpy_default_*", "always", "element types are NumPy's own"),
    Knob(_DYNAMO + "use_numpy_random_stream", "always", "NumPy's random numbers are NumPy's own"),
    Knob(_DYNAMO + "enable_trace_contextlib", "always", "context managers are captured"),
    Knob(_DYNAMO + "allow_rnn", "always", "recurrent layers are captured"),
    Knob(_DYNAMO + "capture_autograd_function", "always", "torch.autograd.Function is captured"),
    Knob(_DYNAMO + "capture_func_transforms", "always", "torch.func is captured where its page says so"),
    Knob(_DYNAMO + "inline_inbuilt_nn_modules", "always", "modules are captured by what they do"),
    Knob(_DYNAMO + "compiled_autograd", "without", "a backward pass is compiled with its forward pass"),
    Knob(_DYNAMO + "optimize_ddp*", "without", "a graph is not divided by DDP's buckets"),
    Knob(_DYNAMO + "caching_precompile", "instead", "compiled programs are kept in vitrine.config.cache_dir"),
    Knob(_DYNAMO + "side_effect_replay_policy", "without", "side effects are always replayed, without a word"),
    Knob(_DYNAMO + "replay_side_effects", "always", "side effects are replayed"),
    Knob(_DYNAMO + "reorderable_logging_functions", "obeyed", "calls of them wait for the end of their graph"),
    Knob(_DYNAMO + "ignore_logging_functions", "obeyed", "calls of them are left out"),
    Knob(_DYNAMO + "*", "without", "it is about how TorchDynamo works"),
    # The other modules
    Knob(_INDUCTOR + "freezing", "instead", 'options={"freezing": True}'),
    Knob(_INDUCTOR + "max_autotune*", "instead", 'mode="max-autotune"'),
    Knob(_INDUCTOR + "triton.cudagraphs", "instead", 'mode="reduce-overhead"'),
    Knob(_INDUCTOR + "fallback_random", "always", "random numbers are eager's"),
    Knob(_INDUCTOR + "fx_graph_cache", "instead", "vitrine.config.cache_dir"),
    Knob(_INDUCTOR + "force_disable_caches", "instead", 'vitrine.config.cache_dir = ""'),
    Knob(_INDUCTOR + "trace.enabled", "instead", "VITRINE_TRACE=FILE.vitrine, then vitrine export FILE.vitrine --to debug-folder"),
    Knob(_INDUCTOR + "*", "without", "it tunes Inductor"),
    Knob(_FUNCTORCH + "activation_memory_budget", "instead", 'options={"partition": {...}} pins single values'),
    Knob(_FUNCTORCH + "*", "without", "it is about how AOTAutograd works"),
    Knob(_SHAPES + "*", "without", "it is about PyTorch's symbolic shapes"),
    Knob(_COMPILER + "force_disable_caches", "instead", 'vitrine.config.cache_dir = ""'),
    Knob(_COMPILER + "dynamic_sources", "instead", "vitrine.mark_dynamic"),
    Knob(_COMPILER + "*", "without", "it is about torch.compile's own caches and logs"),
    Knob("TORCH*", "without", "it is about how torch.compile works"),
)


def knob_of(name: str) -> Knob | None:
    """The first row that a name fits."""
    return next((row for row in KNOBS if _fits(name, row.name)), None)


def _fits(name: str, pattern: str) -> bool:
    head, star, tail = pattern.partition("*")
    return name == pattern if not star else name.startswith(head) and (not tail or tail.strip("*") in name[len(head) :])


def knobs() -> str:
    """The table of PyTorch's settings and calls, and of what each means here, as text."""
    lines = []
    for kind, says in KINDS.items():
        rows = [row for row in KNOBS if row.kind == kind]
        width = max(len(row.name) for row in rows)
        lines += [f"{kind}: {says}", *(f"  {row.name:{width}}  {row.here}" for row in rows), ""]
    return "\n".join(lines).rstrip()
