"""The normalised instructions of code objects against `dis`, over the standard library.

    python -m tests.fuzz.decoding    every module's source that compiles; exit status 1 at the first difference
"""

import dis
import sys
import sysconfig
import types
import warnings
from collections import Counter
from pathlib import Path

from tests.fuzz.engine import _engine

FIELDS = ("op", "pc", "at", "next_pc", "arg", "aux", "flag", "target", "handler", "line", "column")
# From 3.12 on these are followed by instructions that only drop what they are done with.
STEPPED_OVER = {"FOR_ITER": ["END_FOR"], "SEND": ["END_SEND"]} if sys.version_info >= (3, 12) else {}
if sys.version_info >= (3, 13):
    STEPPED_OVER["FOR_ITER"].append("POP_TOP")
LOCALS = {"LOAD_FAST", "LOAD_FAST_AND_CLEAR", "STORE_FAST", "DELETE_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_DEREF", "MAKE_CELL"}
PAIRS_OF_LOCALS = {"LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}


def decode(code):
    return [dict(zip(FIELDS, row)) for row in _engine.instructions(code)]


def all_codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)


def jump_of(row, instruction, expected):
    """Where dis sees the jump land, or None when it is no jump for us."""
    if row["target"] == -1:
        assert row["op"] in ("unsupported", "GENERATOR"), instruction
        return None
    target = instruction.argval
    for follower in STEPPED_OVER.get(instruction.opname, ()):
        assert expected[target].opname == follower
        target += 2
    return target


def local_names(code):
    """By slot: locals, then cells that are no arguments, then free variables."""
    return [*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames), *code.co_freevars]


def compare(code, seen):
    """Asserts that each instruction stands where dis sees it, and means the same; counts them in `seen`."""
    expected = {i.offset: i for i in dis.get_instructions(code)}
    handlers = {}
    for entry in dis._parse_exception_table(code):
        handlers.update({pc: entry.target for pc in range(entry.start, entry.end, 2)})
    at, locals_ = 0, local_names(code)
    for row in decode(code):
        assert row["pc"] == at
        at = row["next_pc"]
        instruction = expected[row["at"]]
        seen[row["op"]] += 1
        line = instruction.positions.lineno
        assert row["line"] == (-1 if line is None else line)
        assert row["handler"] == handlers.get(row["at"], -1)
        if row["op"] == "CALL":
            assert instruction.opname == "CALL" and row["arg"] == instruction.arg
            names = [i for pc, i in expected.items() if row["pc"] <= pc < row["at"] and i.opname == "KW_NAMES"]
            assert row["aux"] == (names[0].arg if names else -1)
        elif instruction.opcode in dis.hasjrel:
            if (target := jump_of(row, instruction, expected)) is not None:
                seen["jumps"] += 1
                assert row["target"] == target, instruction
        elif instruction.opcode in dis.hasname and row["op"] != "NAME":
            assert code.co_names[row["arg"]] == instruction.argval
            assert (row["op"] == "LOAD_METHOD") == ("NULL|self" in instruction.argrepr or instruction.opname == "LOAD_METHOD") or row["op"] == "LOAD_SUPER_ATTR"
        elif row["pc"] > row["at"]:  # the truth of a comparison, which is one instruction of CPython's with it
            assert row["op"] == "TO_BOOL" and instruction.argrepr.startswith("bool(")
        elif row["op"] == "COMPARE_OP":
            assert dis.cmp_op[row["arg"]] == instruction.argval
            assert (row["next_pc"] == row["at"] + 2) == instruction.argrepr.startswith("bool(")
        elif row["op"] in PAIRS_OF_LOCALS:
            assert (locals_[row["arg"]], locals_[row["aux"]]) == instruction.argval
        elif row["op"] in LOCALS:
            assert locals_[row["arg"]] == instruction.argval
        elif row["op"] in ("LOAD_CONST", "RETURN_CONST"):
            assert code.co_consts[row["arg"]] is instruction.argval
    assert at == len(code.co_code)


def library_sources():
    folder = Path(sysconfig.get_path("stdlib"))
    return [p for p in sorted(folder.rglob("*.py")) if "site-packages" not in p.parts and "bad" not in p.name]


def main():
    seen, files = Counter(), 0
    warnings.simplefilter("ignore")
    for path in library_sources():
        try:
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            continue  # tests of the compiler itself
        files += 1
        for one in all_codes(code):
            compare(one, seen)
    print(files, "files,", sum(seen.values()) - seen["jumps"], "instructions,", seen["jumps"], "jumps;", "not decoded:", seen["unsupported"])
    return 0 if files > 500 and seen["unsupported"] < 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
