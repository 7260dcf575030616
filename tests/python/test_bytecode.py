"""The normalised instructions of a code object against `dis`."""

import argparse
import ast
import dis
import inspect
import textwrap
import types

import pytest
from vitrine import _engine

FIELDS = ("op", "pc", "at", "next_pc", "arg", "aux", "flag", "target", "handler", "line", "column")


def decode(code):
    return [dict(zip(FIELDS, row)) for row in _engine.instructions(code)]


def all_codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)


def module_codes(module):
    return all_codes(compile(inspect.getsource(module), module.__file__, "exec"))


def test_every_instruction_stands_where_dis_sees_it():
    jumps = 0
    for module in (argparse, ast, textwrap, inspect, dis):
        for code in module_codes(module):
            expected = {i.offset: i for i in dis.get_instructions(code)}
            handlers = {}
            for entry in dis._parse_exception_table(code):
                handlers.update({pc: entry.target for pc in range(entry.start, entry.end, 2)})
            at = 0
            for row in decode(code):
                assert row["pc"] == at
                at = row["next_pc"]
                instruction = expected[row["at"]]
                line = instruction.positions.lineno
                assert row["line"] == (-1 if line is None else line)
                assert row["handler"] == handlers.get(row["at"], -1)
                if row["op"] == "CALL":
                    assert instruction.opname == "CALL" and row["arg"] == instruction.arg
                elif instruction.opcode in dis.hasjrel and "NO_INTERRUPT" not in instruction.opname:
                    if row["target"] != -1:
                        jumps += 1
                        assert row["target"] == instruction.argval, instruction
                elif instruction.opcode in dis.hasname and row["op"] != "NAME":
                    assert code.co_names[row["arg"]] == instruction.argval
            assert at == len(code.co_code)
    assert jumps > 1000


def test_call_is_one_instruction_with_its_keyword_names():
    def f(g, x):
        return g(x, key=1, other=x)

    [call] = [row for row in decode(f.__code__) if row["op"] == "CALL"]
    assert call["arg"] == 3 and f.__code__.co_consts[call["aux"]] == ("key", "other")
    names = {i.offset: i.opname for i in dis.get_instructions(f)}
    assert names[call["pc"]] == "KW_NAMES" and names[call["at"]] == "CALL"


def test_extended_arguments_are_folded():
    body = "\n".join(f"    x{i} = {i}.5" for i in range(400))
    space = {}
    exec(f"def f(a):\n{body}\n    return x399\n", space)
    rows = decode(space["f"].__code__)
    assert max(row["arg"] for row in rows if row["op"] == "STORE_FAST") == 400
    wide = next(row for row in rows if row["op"] == "STORE_FAST" and row["arg"] == 300)
    assert wide["at"] == wide["pc"] + 2


def test_quickened_code_looks_like_fresh_code():
    def f(n):
        total = 0
        for i in range(n):
            total += i
        return total

    before = decode(f.__code__)
    for _ in range(100):
        f(50)
    assert decode(f.__code__) == before
    assert "BINARY_OP" in {row["op"] for row in before}


def test_only_a_code_object_is_taken():
    with pytest.raises(TypeError):
        _engine.instructions(3)
