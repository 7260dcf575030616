"""How long each function of the tree is, in lines from its opening brace to its closing one; tables do not count.

A table is a list in braces (in Python: a literal) of more than one line; a lambda inside it is measured on its own. A
class or function within a Python function is measured on its own, too.
"""

import ast
import re
from collections import defaultdict

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*",
    re.S | re.M,
)
DIGIT_SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
SCOPE = re.compile(r"^(?:inline\s+)?namespace\b|\b(?:class|struct|union|enum)\b(?!.*\))|^extern\s*$", re.S)
CONTROL = re.compile(r"(?:^|[\s)])(?:if|for|while|switch|else|do|try|catch)\b|^(?:case\b.*|default\s*|\w+\s*):$", re.S)
LAMBDA = re.compile(r"\]\s*(?:<[^{}]*>\s*)?(?:\([^{}]*\)\s*)?(?:mutable\s*|noexcept\s*|constexpr\s*)*(?:->[^{};]*)?$", re.S)
TEMPLATE = re.compile(r"\btemplate\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>", re.S)
INITIALISER = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)[^;]*\w$", re.S)  # of a member, in a constructor
NAME = re.compile(r"((?:[\w~]+(?:<[^()]*>)?::)*(?:operator\s*(?:\(\)|\[\]|[^\s\w(]+|[\w:<> ]+)|~?\w+))\s*\(", re.S)


def blanked(text: str) -> str:
    """The text without comments, strings and preprocessor lines; lines stay where they are."""
    text = DIGIT_SEPARATOR.sub("_", text)
    return BLANKED.sub(lambda m: "\n" * m.group(0).count("\n") or " ", text)


def without_parentheses(head: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "", head)) != head:
        head = shorter
    return head


def kind_of(head: str, within: str, in_parentheses: bool) -> str:
    """What a brace opens, from what stands before it since the last statement: scope, function, block, lambda or list."""
    if LAMBDA.search(head):
        return "lambda"
    if in_parentheses:
        return "list"
    head = TEMPLATE.sub("", head)
    if within in ("scope", "file"):
        if SCOPE.search(without_parentheses(head)) and not re.search(r"\)\s*(?:const|noexcept|override|final|\s)*$", head):
            return "scope"
        if INITIALISER.search(head):
            return "list"
        if "(" in head and "=" not in without_parentheses(re.sub(r"operator\s*[^\w\s(]+", "", head)):
            return "function"
        return "list"
    if not head or CONTROL.search(head.strip()):
        return "block" if within in ("function", "block", "lambda") else "list"
    if re.match(r"\s*(?:class|struct|union|enum)\b", head):
        return "scope"
    return "list"


def name_of(head: str, scopes: list[str]) -> str:
    found = NAME.search(head)
    return "::".join([*scopes, re.sub(r"\s+", " ", found.group(1)) if found else "?"])


def scope_name(head: str) -> str:
    found = re.search(r"\b(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*)?(\w+)(?!.*\b(?:class|struct|union)\b)", head, re.S)
    return found.group(1) if found else ""


class Brace:
    """An open one: what it is of, where it and the statement that it is part of begin, lines of tables within."""

    def __init__(self, kind: str, line: int, name: str, start: int):
        self.kind, self.line, self.name, self.start, self.tables = kind, line, name, start, 0


def cpp_functions(text: str):
    """(name, lines) of every function and of every lambda in a table."""
    text = blanked(text)
    out, open_braces, start, depth = [], [Brace("file", 0, "", 0)], 0, [0]
    line, counted = 1, 0
    for found in re.finditer(r"[(){};,:]", text):
        at, char = found.start(), found.group(0)
        line += text.count("\n", counted, at)
        counted = at
        if char in "()":
            depth[-1] += 1 if char == "(" else -1
        elif char == "{":
            head = text[start:at].strip()
            kind = kind_of(head, open_braces[-1].kind, depth[-1] > 0)
            scopes = [b.name for b in open_braces if b.kind == "scope" and b.name]
            name = scope_name(head) if kind == "scope" else name_of(head, scopes) if kind == "function" else ""
            open_braces.append(Brace(kind, line, name, start))
            depth.append(0)
            start = at + 1
        elif char == "}" and len(open_braces) > 1:
            closed = open_braces.pop()
            depth.pop()
            lines = line - closed.line + 1
            parent = open_braces[-1]
            if closed.kind == "function" or (closed.kind == "lambda" and parent.kind in ("list", "scope", "file")):
                owner = next((b.name for b in reversed(open_braces) if b.kind == "function"), "")
                out.append((closed.name or f"{owner}[]".lstrip(), lines - closed.tables))
            elif closed.kind == "list" and parent.kind != "list":
                parent.tables += max(lines - 2, 0)
            elif closed.kind in ("block", "lambda"):
                parent.tables += closed.tables
            # A statement goes on behind a list or a lambda.
            start = closed.start if closed.kind in ("list", "lambda") else at + 1
        elif char == ";" and depth[-1] == 0:
            start = at + 1
        elif char == "," and open_braces[-1].kind == "list" and depth[-1] == 0:
            start = at + 1
        elif char == ":" and depth[-1] == 0 and re.search(r"(?:^|\s)(?:public|private|protected|Q_SIGNALS)\s*$", text[max(start, at - 20) : at]):
            start = at + 1
    return out


def python_functions(text: str):
    out = []
    tree = ast.parse(text)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (*functions, ast.ClassDef))
            name = f"{prefix}.{child.name}".lstrip(".") if named else prefix
            if isinstance(child, functions):
                out.append((name, child.end_lineno - child.body[0].lineno + 2 - lines_apart(child)))
            visit(child, name)

    visit(tree, "")
    return out


def lines_apart(node) -> int:
    """Lines of the tables and of the named functions within."""
    lines = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            lines += child.end_lineno - child.lineno + 1
        elif isinstance(child, (ast.List, ast.Tuple, ast.Dict, ast.Set)):
            lines += max(child.end_lineno - child.lineno - 1, 0)
        else:
            lines += lines_apart(child)
    return lines


def long_functions(files: dict[str, str], most: int) -> dict[str, tuple[int, ...]]:
    """Functions over `most` lines, by name: the lengths of all that have it, longest first."""
    out = defaultdict(list)
    for path, text in files.items():
        for name, lines in (python_functions if path.endswith(".py") else cpp_functions)(text):
            if lines > most:
                out[name].append(lines)
    return {name: tuple(sorted(lengths, reverse=True)) for name, lengths in sorted(out.items())}
