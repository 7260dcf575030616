"""Which types each file of the tree defines in a namespace: classes, structs, unions, enums and aliases."""

import re

from tests.tools.function_lengths import TEMPLATE, blanked

PIECE = re.compile(r"[{};]|[^{};]+")
DEFINED = re.compile(r"^(?:typedef\s+)?(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\s*\([^()]*\)\s*)?(\w+)\s*(?:final\b|:(?!:)|$)")
ALIAS = re.compile(r"^using\s+(\w+)\s*=\s*(.*)$", re.S)
NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b")


def type_names(text: str) -> list[tuple[str, str]]:
    """Name and meaning of each: "" of a definition of its own, else what an alias stands for."""
    found, within, head = [], [], ""
    for piece in PIECE.findall(blanked(text)):
        if piece not in "{};":
            head = " ".join(TEMPLATE.sub("", piece).split())
            continue
        outside = all(within)
        if piece == "{":
            defined = DEFINED.match(head)
            if outside and defined:
                found.append((defined[1], ""))
            within.append(bool(NAMESPACE.match(head)))
        elif piece == "}":
            within = within[:-1]
        elif outside and (alias := ALIAS.match(head)):
            found.append((alias[1], meaning_of(alias[2])))
        head = ""
    return found


def meaning_of(alias: str) -> str:
    """The same however far its namespace is written out: "Buffer::Kind" and "codegen::Buffer::Kind"."""
    return re.sub(r"\b(?:[a-z_]\w*::)+(?=[A-Z])", "", alias)
