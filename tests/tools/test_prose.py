"""The documents are written in short sentences and short paragraphs."""

from pathlib import Path

import pytest

from tests.tools import prose, rules

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted({str(f.relative_to(ROOT)) for pattern in rules.PROSE for f in ROOT.glob(pattern)})


def problems_of(document: str) -> list[str]:
    return prose.too_long(document, (ROOT / document).read_text())


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if d not in rules.LONG_WINDED])
def test_sentences_and_paragraphs_are_short(document):
    problems = problems_of(document)
    assert not problems, "\n".join(problems)


def test_the_documents_are_found():
    assert {"README.md", "SECURITY.md", "docs/SESSION.md"} <= set(DOCUMENTS)


def test_no_exception_outlives_its_reason():
    assert not [d for d in rules.LONG_WINDED if not (ROOT / d).exists() or not problems_of(d)]


def exists(document: str, path: str) -> bool:
    begins = ["", rules.PATHS_BEGIN.get(document, "")]
    return any((ROOT / b / path).exists() for b in begins)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_lead_somewhere(document):
    text = (ROOT / document).read_text()
    missing = [p for p in prose.paths(text) if not exists(document, p)]
    for file, heading in prose.links(text):
        to = (ROOT / document).parent / file if file else ROOT / document
        if str(to.relative_to(ROOT)) in rules.MADE_PAGES:  # MkDocs sees to them
            continue
        if not to.exists() or (heading and heading not in prose.anchors(to.read_text())):
            missing.append(f"{file}#{heading}" if heading else file)
    assert not missing, f"{document} names {', '.join(missing)}"


def test_paths_are_told_from_other_code():
    text = "`core/ir/graph.h`, `views/kit`, `trace/sizes.h`, `tst_<name>.cpp`, `f32[8,128]`, `0/1`, `/proc/self/fd/N`, `a.b.c`"
    assert prose.paths(text) == ["core/ir/graph.h", "views/kit", "trace/sizes.h"]
    assert prose.links("[a](B.md#of-two) [c](https://d/e.md)") == [("B.md", "of-two")]
    assert prose.anchors("# One\n\n## An earlier session, `x`\n") == {"one", "an-earlier-session-x"}


LONG = " ".join(["word"] * 31)


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG}.",
        f"Short.\n\n- An item of a list. {LONG}.",
        f"The first line of\na paragraph. {LONG[:60]}\n{LONG[60:]}.",
        "`code` begins it. `code` goes on. " + "One more. " * 4,
        "[A link. With two](docs/X.md) sentences. " + "One more. " * 4,
    ],
)
def test_what_is_too_long_is_found(text):
    assert prose.too_long("document", text)


@pytest.mark.parametrize(
    "text",
    [
        f"Short.\n\n```\n{LONG}. {LONG}.\n```\n",
        f"| cell | {LONG} |",
        "One. Two. Three. Four. Five.\n\nSix. Seven.",
        "- One. Two. Three.\n- Four. Five. Six.",
        "A call of `" + LONG + "` is one word.",
        "Version 3.11 and core/ir/graph.h end no sentence, and 1.5 does not either. Two. Three. Four. Five.",
    ],
)
def test_what_is_short_passes(text):
    assert not prose.too_long("document", text)
