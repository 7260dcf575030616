"""Pages of the guide that are made of the code: `configuration.md` and `api.md`. A hook of MkDocs; needs `import vitrine`."""

import inspect
import re

from mkdocs.structure.files import File

import vitrine
from vitrine import _api, _backends, _logs, _variables, config

KINDS = ("Functions", "Classes", "Errors and warnings")


def on_files(files, config):
    files.append(File.generated(config, "configuration.md", content=configuration()))
    files.append(File.generated(config, "api.md", content=interface()))
    return files


def configuration() -> str:
    """Settings, options, modes and variables, each from the table that the code itself reads."""
    settings = [(f"`vitrine.config.{name}`", f"`{kind.__name__}`", shown(name, default), told) for (name, (kind, default)), told in zip(config._SETTINGS.items(), setting_texts())]
    options = [(f"`{name}`", " or ".join(f"`{t.__name__}`" for t in (kind if isinstance(kind, tuple) else (kind,)))) for name, kind in _api.OPTIONS.items()]
    return "\n".join([
        "# Configuration",
        "This page is made from the tables that the code reads.",
        "## Settings of the process",
        "Assign to them at any time; what is compiled afterwards obeys. A wrong name or type is an error.",
        table(("Setting", "Type", "Default", "What it is"), settings),
        "## Options of a call",
        "`vitrine.compile(model, options={...})` takes these. [Its documentation](api.md#compile) says what each means.",
        table(("Option", "Type"), options),
        f"Modes: {', '.join(f'`{mode}`' for mode in _api.MODES)}.\n",
        f"Backends: {', '.join(f'`{name}`' for name in _backends.NAMES)}, any that PyTorch knows, or a callable.\n",
        "## Variables of the environment",
        table(("Variable", "What it is"), [(f"`{name}`", told) for name, told in _variables.VARIABLES.items()]),
        "## Names of VITRINE_LOGS",
        table(("Name", "What it tells"), [(f"`{name}`", told) for name, (told, *_) in _logs.KINDS.items()]),
    ])  # fmt: skip


def setting_texts() -> list[str]:
    """What the module's own documentation says of each setting, in the table's order."""
    told = dict(re.findall(r"^``(\w+)``\s+(.*)$", inspect.getdoc(config), re.M))
    missing = set(config._SETTINGS) - set(told)
    if missing:
        raise ValueError(f"vitrine.config documents no {', '.join(sorted(missing))}")
    return [prose(told[name]) for name in config._SETTINGS]


def shown(name: str, default) -> str:
    if name == "cache_dir":
        return "`~/.cache/vitrine`"
    if isinstance(default, str):  # a path of this machine
        return "what is found"
    return f"`{default!r}`"


def interface() -> str:
    parts = ["# Python interface", "This page is made from the documentation in the code."]
    for kind in KINDS:
        parts.append(f"## {kind}")
        parts += [entry(name, getattr(vitrine, name)) for name in sorted(vitrine.__all__) if kind_of(getattr(vitrine, name)) == kind]
    return "\n\n".join(parts) + "\n"


def kind_of(thing) -> str:
    if inspect.ismodule(thing):
        return ""
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return KINDS[2]
    return KINDS[1] if isinstance(thing, type) else KINDS[0]


def entry(name: str, thing) -> str:
    documented = inspect.getdoc(thing)
    if not documented:
        raise ValueError(f"vitrine.{name} has no documentation")
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        signature = "(...)"
    signature = re.sub(r"<[^>]*>", "...", signature)
    return f"### {name}\n\n```python\nvitrine.{name}{signature}\n```\n\n{body(documented)}"


def body(text: str) -> str:
    """A docstring as Markdown: sections of arguments become lists."""
    out, inside = [], False
    for line in text.splitlines():
        if re.fullmatch(r"(Args|Returns|Raises):", line):
            inside = line == "Args:"
            out += ["", f"**{'Arguments' if inside else line[:-1]}**", ""]
        elif inside and (found := re.match(r"    (\w[\w, *]*): (.*)", line)):
            out.append(f"- `{found[1]}`: {prose(found[2])}")
        elif inside and line.strip():
            out.append(f"  {prose(line.strip())}")
        else:
            inside = inside and not line.strip()
            out.append(prose(line[4:] if line.startswith("    ") and not line.startswith("     ") else line))
    return "\n".join(out)


def prose(line: str) -> str:
    line = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", line)
    return re.sub(r"``(.+?)``", r"`\1`", line)


def table(head, rows) -> str:
    def line(cells):
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join(["", line(head), line(["---"] * len(head)), *map(line, rows), ""])
