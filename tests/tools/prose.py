"""Reads a Markdown document as prose: its paragraphs, their sentences, and what is too long among them."""

import re

from tests.tools import rules

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
APART = re.compile(r"^\s*(?:#|\|)|^\s*(?:-{3,}|={3,}|\*{3,})\s*$")  # headings, tables, rules
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9\u2588])")
CODE = "\u2588"  # stands for a piece of code, which is one word


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Each with the line it begins at. An item of a list is a paragraph; code blocks, tables and headings are none."""
    found: list[tuple[int, list[str]]] = []
    fenced, open_ = False, False
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced, open_ = not fenced, False
        elif fenced or not line.strip() or APART.match(line):
            open_ = False
        else:
            if not open_ or ITEM.match(line):
                found.append((number, []))
            found[-1][1].append(ITEM.sub("", line).strip().removeprefix("> "))
            open_ = True
    return [(number, " ".join(lines)) for number, lines in found]


def sentences(paragraph: str) -> list[str]:
    plain = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", paragraph)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    codes = re.findall(r"`+[^`]+`+", plain)
    plain = re.sub(r"`+[^`]+`+", CODE, plain)
    spelt = iter(codes)
    return [re.sub(CODE, lambda _: next(spelt), s) for s in SENTENCE_END.split(plain) if s.strip()]


def words(sentence: str) -> int:
    return len([w for w in re.sub(r"`+[^`]+`+", CODE, sentence).split() if re.search(rf"[\w{CODE}]", w)])


def too_long(name: str, text: str) -> list[str]:
    problems = []
    for line, paragraph in paragraphs(text):
        parts = sentences(paragraph)
        if len(parts) > rules.MAX_PARAGRAPH_SENTENCES:
            problems.append(f"{name}:{line}: a paragraph of {len(parts)} sentences: {parts[0]}")
        for s in parts:
            if words(s) > rules.MAX_SENTENCE_WORDS:
                problems.append(f"{name}:{line}: a sentence of {words(s)} words: {s}")
    return problems


def paths(text: str) -> list[str]:
    """What is written as code and is a path of the tree, as far as its form tells. Code blocks are left out."""
    plain = re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.M | re.S)
    codes = re.findall(r"`([\w./-]+)`", plain)
    return [c.rstrip("/") for c in codes if re.fullmatch(r"[a-z_][\w-]*(/[\w.-]+)+/?|[\w/-]+\.(h|cpp|py|md)", c)]


def links(text: str) -> list[tuple[str, str]]:
    """File and heading ("" each where there is none) of the links into the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [tuple(t.partition("#")[::2]) for t in targets if "://" not in t]


def anchors(text: str) -> set[str]:
    """The names by which headings are linked to."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
