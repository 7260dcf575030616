"""``vitrine.export``: a model and its weights as one file, which ``vitrine-run`` executes without Python.

The file is one of safetensors. Weights have their names; the plan and the machine code of kernels are tensors of bytes.
``core/package/package.h`` reads it.
"""

import ctypes
import hashlib
import json
import os
import re
import struct

import torch
from torch.utils import _pytree as pytree

from vitrine import _engine

FORMAT = "vitrine package 1"
PLAN, KERNEL = "vitrine/plan", "vitrine/kernel/"
TYPES = {
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.bool: "BOOL",
    torch.bfloat16: "BF16",
}
# The runner has these without a schema.
PRODUCTS = {"aten.mm.default", "aten.bmm.default", "aten.addmm.default", "aten.baddbmm.default"}
KINDS = {"Tensor": "T", "int": "i", "float": "f", "bool": "b", "str": "s", "Device": "i"}
ALIGNMENT = 64
PROCESSORS = ("x86-64-v3", "x86-64-v4")


def export(model, inputs, path, *, dynamic: bool | None = None, options: dict | None = None, processor: str | None = None) -> None:
    """Writes a model as a package: its compiled program, the machine code of its kernels, and its weights.

    ``vitrine-run PACKAGE INPUTS.safetensors -o OUTPUTS.safetensors`` executes it without Python, and without PyTorch where the
    program calls none of its kernels. Results are those of the compiled model in ``torch.no_grad()``.

    Args:
        model: a module, or a function of tensors. The call has to be one graph. It may not write to its inputs or buffers,
            nor draw random numbers: call ``model.eval()`` before.
        inputs: an example of what the model is called with: a tensor, a tuple of arguments, or a dict of keyword arguments.
            What is no tensor among them becomes a constant of the package.
        path: the file to write, ``"m.vpkg"``.
        dynamic: ``True``: all sizes of inputs may be others than the example's. Left out, those that :func:`mark_dynamic` has
            marked. The package says what it asks of them.
        options: as :func:`compile` takes them. ``{"products": "generated"}`` computes matrix products by Vitrine's own
            kernels, which need no PyTorch. ``freezing`` is on unless it is given.
        processor: ``"x86-64-v3"`` for any with AVX2, ``"x86-64-v4"`` for any with AVX-512. Left out, what this one has.
    """
    from vitrine._api import _explained, _innermost, original, own_settings
    from vitrine._graphs.stages import Call, _state_as_before, captured

    if processor is not None and processor not in PROCESSORS:
        raise ValueError(f"vitrine.export: processor takes {' or '.join(map(repr, PROCESSORS))}, not {processor!r}")
    target = _innermost(original(model))
    if not callable(target):
        raise TypeError(f"vitrine.export takes a function or a module, not {model!r}")
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"vitrine.export takes a model, its inputs and the file to write, in this order; the file is a {type(path).__name__}")
    if not os.path.isdir(folder := os.path.dirname(os.path.abspath(path))):
        raise FileNotFoundError(f"vitrine.export: the folder {folder} does not exist")
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {})
    if dynamic:
        (args, kwargs), dynamic = pytree.tree_map_only(torch.Tensor, _with_open_sizes, (args, kwargs)), None
    call = Call(target, args, kwargs)
    taken: list[dict] = []
    with torch.no_grad(), _state_as_before(target):
        _, _, structure = captured(call, "vitrine.export")
        _engine.take_programs(taken.append)
        try:
            settings = {**own_settings(None, {"freezing": True, **(options or {})}), "fullgraph": True, "dynamic": dynamic}
            _explained(call.model, call.args, call.kwargs, **settings)
        finally:
            _engine.take_programs(None)
    if not taken:
        raise ValueError("vitrine.export: the model's graph is not compiled, so there is nothing to write: vitrine.explain says why")
    facts = taken[-1] if processor is None else {**taken[-1], "cpu": processor}
    _write(path, *_contents(facts, call, structure))


def _with_open_sizes(tensor: torch.Tensor) -> torch.Tensor:
    """Under dynamic=True ints of the program would be left open, too: they are constants of a package."""
    from vitrine._sizes import maybe_mark_dynamic

    alias = tensor.detach()
    maybe_mark_dynamic(alias, list(range(alias.dim())))
    return alias


def _refuse(what: str):
    raise ValueError(f"vitrine.export: {what}")


def _check(facts: dict) -> None:
    if facts["why"]:
        _refuse(f"sizes of the inputs cannot be left open: {facts['why']}")
    if facts["random"]:
        _refuse("the model draws random numbers, which a package does not; model.eval() turns dropout off")
    if facts["written"]:
        _refuse("the model writes to its inputs or buffers, which a package does not; model.eval() keeps a batch norm from it")


def _contents(facts: dict, call, structure) -> tuple[dict, dict]:
    """(metadata, tensors by name) of the file."""
    _check(facts)
    weights: dict[str, torch.Tensor] = {}
    arguments, told = [], set()
    for name, tensor, sizes in facts["inputs"]:
        place = call.place_of(tensor)
        if place is not None:
            arguments.append(f"given {call.names[place]}")
            told.update(sizes)
            continue
        name = call.attributes.get(id(tensor)) or name
        while name in weights and weights[name] is not tensor:
            name += "_"
        weights[name] = tensor
        arguments.append(f"weight {name}")
    for name, *_ in facts["symbols"]:
        if name not in told:
            _refuse(f"the size {name} of the program is no size of an input")
    metadata = {
        "checksum": "0" * 64,
        "format": FORMAT,
        "made_by": f"vitrine {_engine.__version__}, PyTorch {torch.__version__}",
        "arguments": _lines(arguments),
        "returned": _lines(_returned(facts, call, structure, arguments)),
        "symbols": _lines(f"{lo} {hi} {hint} {source}" for _, lo, hi, hint, source in facts["symbols"]),
        "schemas": _lines(_schemas(facts["calls"])),
        "cpu": "",
        "gpu": "",
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    for name, tensor in tensors.items():
        if tensor.dtype not in TYPES or name.startswith("vitrine/"):
            _refuse(f"the weight {name} of {tensor.dtype} has no place in a file of safetensors")
    blobs = {PLAN: facts["plan"], **_machine_code(facts, metadata)}
    ordered = sorted(tensors, key=lambda name: -tensors[name].element_size())
    return metadata, {**{name: tensors[name] for name in ordered}, **blobs}


def _lines(lines) -> str:
    lines = list(lines)
    for line in lines:
        if "\n" in line:
            _refuse(f"the name {line!r} has more than one line")
    return "\n".join(lines)


def _machine_code(facts: dict, metadata: dict) -> dict[str, bytes]:
    code = {}
    for on_gpu in (False, True):
        which = [(i, text) for i, (_, text, gpu) in enumerate(facts["kernels"]) if bool(gpu) is on_gpu]
        if not which:
            continue
        texts = [text for _, text in which]
        if on_gpu:
            metadata["gpu"], made = _engine.gpu_code(texts, facts["gpu"])
        else:
            metadata["cpu"], made = facts["cpu"], _engine.machine_code(texts, facts["cpu"])
        code.update((f"{KERNEL}{i}", object) for (i, _), object in zip(which, made))
    return code


def _returned(facts: dict, call, structure, arguments: list[str]):
    """A line for each tensor that the model returns."""
    if not structure.known:
        _refuse("the model returns something that its graph did not make")
    if structure.count != len(facts["results"]):
        _refuse("the model returns views of its inputs that its graph does not make")
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(len(structure.leaves))), structure.spec))
    for (path, _), (kind, what) in zip(paths, structure.leaves):
        name = re.sub(r"\W+", ".", pytree.keystr(path)).strip(".") or "output"
        if kind == "result" and facts["results"][what]:
            yield f"result {what} {name}"
        elif kind == "input" and f"given {call.names[what]}" in arguments:
            yield f"given {arguments.index(f'given {call.names[what]}')} {name}"
        elif kind != "value" or what is not None:
            _refuse(f"the model returns {name}, which is {'its unused input' if kind == 'input' else 'no tensor'}")


def _schemas(calls: list[str]):
    """What each operator of PyTorch's takes, for the runner: core/package/torch_schema.h has the form of a line."""
    for op in sorted(set(calls)):
        schema = getattr(getattr(getattr(torch.ops, op.split(".")[0]), op.split(".")[1]), op.split(".")[2])._schema
        words = [op, schema.name, schema.overload_name or "-", str(len(schema.returns))]
        wrong = next((r.type for r in schema.returns if str(r.type) != "Tensor"), None)
        for argument in schema.arguments:
            kind = _kind(str(argument.type), argument.N)
            wrong = wrong or (argument.type if kind is None else None)
            fallback = "=" + _default(argument.default_value) if argument.has_default_value() else ""
            words.append(f"{argument.name}:{kind}{fallback}")
        if wrong is None:
            yield " ".join(words)
        elif op not in PRODUCTS:
            _refuse(f"{op} runs through PyTorch, whose C interface cannot be given or give its {wrong}")


def _kind(text: str, repeats) -> str | None:
    optional = re.fullmatch(r"Optional\[(.*)\]", text)
    several = re.fullmatch(r"List\[(.*)\]", optional[1] if optional else text)
    kind = KINDS.get(several[1] if several else optional[1] if optional else text)
    return kind and f"{'?' if optional else ''}{'*' if several else ''}{kind}{repeats or ''}"


def _default(value) -> str:
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_default, value))
    if isinstance(value, str):
        return value.encode().hex()
    return repr(value) if isinstance(value, float) else str(int(value))


def _write(path, metadata: dict, tensors: dict) -> None:
    header, at = {"__metadata__": metadata}, 0
    for name, value in tensors.items():
        bytes_of = len(value) if isinstance(value, bytes) else value.numel() * value.element_size()
        dtype, shape = ("U8", [bytes_of]) if isinstance(value, bytes) else (TYPES[value.dtype], list(value.shape))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + bytes_of]}
        at += bytes_of
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    sum_at = 8 + text.index(b"0" * 64)
    unfinished = f"{os.fspath(path)}.part"
    digest = hashlib.sha256()
    try:
        with open(unfinished, "wb") as file:
            for part in (struct.pack("<Q", len(text)), text, *map(_bytes, tensors.values())):
                digest.update(part)
                file.write(part)
            file.seek(sum_at)
            file.write(digest.hexdigest().encode())
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def _bytes(value) -> bytes:
    return value if isinstance(value, bytes) else ctypes.string_at(value.data_ptr(), value.numel() * value.element_size())
