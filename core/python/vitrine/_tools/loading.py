"""Finds what to run in a Python file: a model with inputs, a named function or class, or the script itself."""

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import tokenize
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import torch

from vitrine._errors import CompileError, text_of
from vitrine._tools.entries import defines_inputs, module_names

DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b1": torch.bool,
    "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
TENSOR_SPEC = re.compile(r"(\w+)\[([\d,\s]*)\](?:<(\d+))?")
OWN_FOLDER = str(Path(__file__).parents[1])


class LoadError(Exception):
    """The file cannot be used. what: one sentence; hint: what to do; detail: the user's own traceback, or ""."""

    def __init__(self, what: str, hint: str = "", detail: str = ""):
        super().__init__(what)
        self.what, self.hint, self.detail = what, hint, detail
        self.status = 1  # of the process that ends by it; a script chooses its own


class UsageError(LoadError):
    """The arguments do not fit the file or each other."""


@dataclass
class Entry:
    """Something to call: `calls` are the argument tuples of successive calls, the first of which is measured."""

    label: str
    text: str
    function: Callable
    calls: list[tuple]
    kwargs: dict = field(default_factory=dict)

    @property
    def args(self) -> tuple:
        return self.calls[0]


def _is_ours(filename: str) -> bool:
    return filename.startswith((OWN_FOLDER, "<frozen ")) or filename.endswith(("/runpy.py", "/importlib/__init__.py"))


def user_traceback(error: BaseException) -> str:
    """The traceback without the frames of Vitrine and of the import system, as the user would see it in eager."""
    whole = traceback.TracebackException.from_exception(error)
    chain, seen = [whole], set()
    while chain:
        one = chain.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack = traceback.StackSummary.from_list([f for f in one.stack if not _is_ours(f.filename)])
        chain += [one.__cause__, one.__context__]
    text = "".join(whole.format())
    return text if whole.stack else text.replace("Traceback (most recent call last):\n", "", 1)


# What PyTorch says where it has no GPU to work with, whether it was built for one or not.
WITHOUT_GPU = ("not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available", "no CUDA-capable device", "CUDA driver initialization failed")


def mend(error: BaseException, hint: str = "Mend that error.") -> str:
    """What to do about an error of the user's code: `hint`, unless it is that a GPU is asked for and there is none."""
    if not torch.cuda.is_available() and any(text in text_of(error) for text in WITHOUT_GPU):
        return "There is no GPU here. Run it on the CPU, or give --target sm_90, say: it compiles what model and inputs, or --entry, name for such a GPU and runs nothing on it."
    return hint


def raised(error: BaseException, where: str = "", by_eager: bool = False) -> LoadError:
    """An error of the user's code, which is its cause. by_eager: it was raised without Vitrine; otherwise nobody has tried."""
    failure = _told(error, where, by_eager)
    failure.__cause__ = error
    return failure


def _told(error: BaseException, where: str, by_eager: bool) -> LoadError:
    place = f" in {where}" if where else ""
    if isinstance(error, CompileError):
        text = f"vitrine.compile raised {type(error).__name__}{place}: {text_of(error)}"
        return LoadError(text, f"Eager does not raise this. {error.remedy}", user_traceback(error))
    hint = "Mend that error. If your code does not raise it without Vitrine, please report it."
    if by_eager:
        missing = isinstance(error, TypeError) and "required positional argument" in text_of(error)
        hint = "Eager raises this too: " + ("give each argument an --input." if missing else "check the inputs and their shapes.")
    return LoadError(f"Your code raised {type(error).__name__}{place}: {text_of(error)}", mend(error, hint), user_traceback(error))


def read_source(path: str) -> str:
    if not os.path.exists(path):
        raise LoadError(f"{path} does not exist.", "Check the path.")
    if os.path.isdir(path):
        raise LoadError(f"{path} is a folder.", "Name a Python file in it.")
    try:
        with tokenize.open(path) as file:  # in the encoding that the file declares
            return file.read()
    except SyntaxError as error:  # it declares one that does not exist, or another beside its byte order mark
        raise LoadError(f"{path} cannot be read: {error.msg}", "Mend its coding line.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} cannot be read: {error}", "Name a Python file.") from error


def parse(path: str) -> ast.Module:
    try:
        return ast.parse(read_source(path), path)
    except (SyntaxError, ValueError) as error:
        where = "".join(traceback.format_exception_only(error))  # the frames above it are of Python's parser
        raise LoadError(f"{path} is not valid Python.", "Mend that line.", where) from error


def module_name(path: Path) -> str:
    """The file's own name; "package.sub.name" where it imports relatively, with the package's parent on sys.path."""
    relative = any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(parse(str(path))))
    if relative and (path.parent / "__init__.py").exists():
        names, folder = [path.stem], path.parent
        while (folder / "__init__.py").exists():
            names.insert(0, folder.name)
            folder = folder.parent
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        return ".".join(names)
    # Never in the place of a module that others import by this name.
    return path.stem if path.stem.isidentifier() and path.stem not in sys.modules else "vitrine_entry"


def import_file(path: str):
    """Imports the file as a module, with its folder on sys.path, as `python FILE` has it."""
    file = Path(path).resolve()
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    name = module_name(file)
    try:
        if "." in name:
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise LoadError(f"{path} calls sys.exit() while it is imported.", "Put it behind if __name__ == '__main__'.") from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise LoadError(
            f"{path} does not import: {type(error).__name__}: {text_of(error)}", mend(error), user_traceback(error)
        ) from error
    return module


def make_input(spec: str, generator: torch.Generator) -> Any:
    """ "f32[8,128]": a tensor (normal; integers below 2, or below N with "i64[8]<N"); anything else a Python literal."""
    match = TENSOR_SPEC.fullmatch(spec.strip())
    if not match:
        try:
            return ast.literal_eval(spec)
        except (ValueError, SyntaxError) as error:
            raise UsageError(
                f"--input {spec!r} is neither a shape nor a Python literal.",
                'Write --input "f32[8,128]", --input "i64[2,16]<1000" or --input 3.',
            ) from error
    name, dims, below = match.groups()
    if name not in DTYPES:
        raise UsageError(f"--input {spec!r}: there is no dtype {name}.", f"Known: {', '.join(DTYPES)}.")
    dtype = DTYPES[name]
    shape = [int(d) for d in dims.replace(" ", "").split(",") if d]
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    return torch.randint(0, int(below) if below else 2, shape, generator=generator).to(dtype)


def as_calls(inputs: Any) -> tuple:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def takes_names(function: Callable, names: Mapping) -> bool:
    """Whether each of the names is one that the function or module takes by keyword."""
    if not names or not all(isinstance(name, str) for name in names):
        return False
    try:
        known = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function).parameters.values()
    except (TypeError, ValueError):  # one of C's
        return True
    by_keyword = {p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return any(p.kind == p.VAR_KEYWORD for p in known) or by_keyword.issuperset(names)


def split_inputs(model: Callable, inputs: Any) -> tuple[tuple, dict]:
    """One call's (args, kwargs): a tuple or list is positional, a mapping (also a tokenizer's) goes by keyword, and a
    tuple and a mapping are both, where the model takes these names. Anything else is the only argument."""
    if isinstance(inputs, Mapping) and takes_names(model, inputs):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)) and len(inputs) == 2:
        args, kwargs = inputs
        if isinstance(args, (tuple, list)) and isinstance(kwargs, Mapping) and takes_names(model, kwargs):
            return tuple(args), dict(kwargs)
    return as_calls(inputs), {}


def guarded(what: str, function: Callable, *args):
    """Runs the user's own code while loading; its error becomes a LoadError with its traceback."""
    try:
        return function(*args)
    except (Exception, SystemExit) as error:
        raise LoadError(f"{what} raised {type(error).__name__}: {text_of(error)}", mend(error), user_traceback(error)) from error


def defined_names(module) -> str:
    own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
    return f"It defines: {', '.join(own)}." if own else "It defines nothing that can be called."


def parameters(cls: type) -> list[inspect.Parameter]:
    """What making one takes; nothing where Python cannot tell."""
    try:
        return list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return []


def made(cls: type, name: str):
    """An object of a class that needs no arguments; a module in eval mode."""
    needed = [p.name for p in parameters(cls) if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if needed:
        hint = f"Define a function that makes one, such as get_model(), or `model = {name}(...)` and `inputs`."
        raise LoadError(f"{name} cannot be made without arguments: it needs {', '.join(needed)}.", hint)
    target = guarded(f"{name}()", cls)
    return target.eval() if isinstance(target, torch.nn.Module) else target


def named_entry(module, path: str, name: str, specs: list[str]) -> Entry:
    target: Any = module
    text = []
    for part in name.split("."):
        if isinstance(target, type) and not isinstance(inspect.getattr_static(target, part, None), (staticmethod, classmethod)):
            target = made(target, ".".join(text))
            text[-1] += "()"
        if not hasattr(target, part):
            raise LoadError(f"{path} has no {name}.", defined_names(module))
        target = getattr(target, part)
        text.append(part)
    if isinstance(target, type):
        target = made(target, name)
        text[-1] += "()"
    if not callable(target):
        raise LoadError(f"{name} in {path} cannot be called.", "Name a function, a class or a module.")
    generator = torch.Generator().manual_seed(0)
    args = tuple(make_input(s, generator) for s in specs)
    return Entry(Path(path).name, f"{'.'.join(text)}({', '.join(specs)})", target, [args])


def check_arguments(path: str, entry: str | None, specs: list[str]) -> None:
    """Before anything of the file runs. Raises UsageError if the arguments do not fit each other or the file, and
    LoadError if that is none."""
    from vitrine._tools.files import exported_program, notebook

    if exported_program.is_program(path):
        return exported_program.check_arguments(path, entry, specs)
    if notebook.is_notebook(path) and (entry or specs):
        raise UsageError(f"--entry and --input do not go with {path}: a notebook runs as a script.", "Leave them out.")
    if not specs or entry:
        return
    if defines_inputs(module_names(parse(path))):
        raise UsageError(f"--input does not go with the inputs that {path} defines.", "Add --entry NAME, or leave --input out.")
    raise UsageError("--input needs --entry, the function or class to call.", "Add --entry NAME.")


def defined(module, path: str, name: str):
    """What the module has by a name that its file defines. Raises LoadError: it may do so in a branch that was not taken."""
    if hasattr(module, name):
        return getattr(module, name)
    lines = [
        node.lineno
        for node in ast.walk(parse(path))
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        or name in (getattr(node, "name", None), getattr(node, "asname", None))
    ]
    line = f"line {min(lines)} defines it, and was not run" if lines else "nothing defined it"
    raise LoadError(f"{path} has no {name} once it is imported: {line}.", f"Define {name} in every case, or name a function with --entry.")


def load(path: str, entry: str | None, specs: list[str]) -> Entry | None:
    """The entry of a file; None: the file is a script, to be run as __main__. Raises LoadError."""
    from vitrine._tools.files import exported_program, notebook

    check_arguments(path, entry, specs)
    if exported_program.is_program(path):
        return exported_program.load(path)
    if notebook.is_notebook(path):
        return None
    names = module_names(parse(path))
    if entry:
        return named_entry(import_file(path), path, entry, specs)
    if {"get_model", "get_inputs"} <= names:
        module = import_file(path)
        model, inputs = (guarded(f"{name}()", defined(module, path, name)) for name in ("get_model", "get_inputs"))
        text = "get_model()(*get_inputs())"
    elif {"model", "inputs"} <= names:
        module = import_file(path)
        model, inputs, text = defined(module, path, "model"), defined(module, path, "inputs"), "model(*inputs)"
    else:
        return None
    if not callable(model):
        raise LoadError(f"model in {path} is a {type(model).__name__} and cannot be called.", "Set model to a module or function.")
    args, kwargs = split_inputs(model, inputs)
    calls = [as_calls(c) for c in getattr(module, "calls", [args])] or [args]
    return Entry(Path(path).name, text, model, calls, kwargs)
