"""The normalised instructions of a code object against `dis`."""

import argparse
import ast
import dis
import inspect
import textwrap
from collections import Counter

import pytest
from tests.fuzz.decoding import all_codes, compare, decode
from vitrine import _engine

def module_codes(module):
    return all_codes(compile(inspect.getsource(module), module.__file__, "exec"))


def test_every_instruction_stands_where_dis_sees_it():
    seen = Counter()
    for module in (argparse, ast, textwrap, inspect, dis):
        for code in module_codes(module):
            compare(code, seen)
    assert seen["jumps"] > 1000


def test_call_is_one_instruction_with_its_keyword_names():
    def f(g, x):
        return g(x, key=1, other=x)

    names = {i.offset: i.opname for i in dis.get_instructions(f)}
    [call] = [row for row in decode(f.__code__) if row["op"] in ("CALL", "CALL_KW")]
    assert call["arg"] == 3
    if call["op"] == "CALL_KW":  # from 3.13 on the names are on the stack
        assert call["aux"] == -1 and names[call["at"]] == "CALL_KW"
        return
    assert f.__code__.co_consts[call["aux"]] == ("key", "other")
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
