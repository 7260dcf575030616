"""What can be run in a Python file, read from its text: nothing of it is executed, and neither torch nor vitrine is needed.

`python entries.py FILE` prints one line of JSON for the window's run dialog.
"""

import ast
import json
import sys
import tokenize

MOST_ENTRIES, MOST_PARAMETERS, MOST_TEXT = 200, 64, 200


def module_names(tree: ast.Module) -> set[str]:
    """Names that importing the file defines: assignments and definitions outside functions and the __main__ block."""
    names: set[str] = set()

    def is_main_block(node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and any(
            isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test)
        )

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names.update((a.asname or a.name).split(".")[0] for a in node.names)
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            elif not is_main_block(node):
                for block in ("body", "orelse", "finalbody"):
                    visit(getattr(node, block, []))

    visit(tree.body)
    return names


def half_an_entry(names: set[str]) -> str:
    """ "It defines model, but no inputs." where a file names one half of an entry; "" otherwise."""
    for one, other in (("model", "inputs"), ("inputs", "model"), ("get_model", "get_inputs"), ("get_inputs", "get_model")):
        if one in names and other not in names:
            return f"it defines {one}, but no {other}"
    return ""


def defines_inputs(names: set[str]) -> bool:
    return {"get_model", "get_inputs"} <= names or {"model", "inputs"} <= names


def text_of(node: ast.AST | None) -> str:
    """The expression as one short line; "" for none."""
    if node is None:
        return ""
    text = ast.unparse(node)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def parameters_of(function: ast.FunctionDef, of_object: bool) -> list[dict]:
    """What a call takes by position, and by name alone; of_object: the first parameter is the object's."""
    given = function.args
    by_place = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(by_place) - len(given.defaults)) + list(given.defaults)
    rows = [(one, default, True) for one, default in zip(by_place, defaults)][1 if of_object else 0 :]
    if given.vararg:
        rows.append((given.vararg, ast.Tuple([], ast.Load()), True))
    rows += [(one, default, False) for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    return [
        {"name": one.arg, "annotation": text_of(one.annotation), "default": text_of(default), "needed": default is None, "by_place": by_place}
        for one, default, by_place in rows[:MOST_PARAMETERS]
    ]


def methods_of(cls: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}


def entry_of(node: ast.stmt) -> dict | None:
    """How a function or a class of the file is called; None: it is neither, or what it takes is not in the file."""
    if isinstance(node, ast.FunctionDef):
        return {"name": node.name, "text": f"{node.name}()", "parameters": parameters_of(node, False), "problem": ""}
    if not isinstance(node, ast.ClassDef):
        return None
    methods = methods_of(node)
    call = methods.get("forward") or methods.get("__call__")
    if call is None:
        return None
    made_of = [p["name"] for p in parameters_of(methods["__init__"], True) if p["needed"]] if "__init__" in methods else []
    problem = f"{node.name} cannot be made without arguments: it needs {', '.join(made_of)}." if made_of else ""
    return {"name": node.name, "text": f"{node.name}()()", "parameters": parameters_of(call, True), "problem": problem}


def calls_torch_compile(tree: ast.Module) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr == "compile" and isinstance(n.value, ast.Name) and n.value.id == "torch"
        for n in ast.walk(tree)
    )


def entries_of(tree: ast.Module) -> dict:
    """The entries of a file; the first is what runs when none is named."""
    names = module_names(tree)
    if {"get_model", "get_inputs"} <= names:
        text = "get_model()(*get_inputs())"
    elif {"model", "inputs"} <= names:
        text = "model(*inputs)"
    else:
        text = ""
    rows = [{"name": "", "text": text or "the script itself", "parameters": [], "problem": ""}]
    rows += [entry for entry in map(entry_of, tree.body) if entry]
    return {
        "entries": rows[:MOST_ENTRIES],
        "script": not text,
        "half": half_an_entry(names),
        "torch_compile": calls_torch_compile(tree),
        "problem": "",
    }


# What runs whole, by the file's ending: what that is called, and whether it runs as a script.
WHOLE = {".ipynb": ("the cells of the notebook", True), ".pt2": ("the exported program and its example inputs", False)}


def read(path: str) -> dict:
    for ending, (text, script) in WHOLE.items():
        if path.endswith(ending):
            row = {"name": "", "text": text, "parameters": [], "problem": ""}
            return {"entries": [row], "script": script, "half": "", "torch_compile": script, "problem": ""}
    try:
        with tokenize.open(path) as file:
            tree = ast.parse(file.read(), path)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        return {"entries": [], "problem": f"It is not valid Python{line}: {getattr(error, 'msg', error)}."}
    except OSError as error:
        return {"entries": [], "problem": f"It cannot be read: {error.strerror}."}
    except RecursionError:
        return {"entries": [], "problem": "Its expressions are nested too deeply."}
    return entries_of(tree)


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1])))
