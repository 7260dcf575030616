"""Functions of Python and PyTorch that a program has replaced before anything was compiled: the replacement is what runs."""

import subprocess
import sys

import pytest

PROGRAM = """
import builtins, contextlib, copy, functools, io, random
from unittest import mock

import torch
import vitrine


def seen(function):
    torch.manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = function(torch.ones(2))
    return value.tolist(), printed.getvalue()


linear = torch.nn.Linear(2, 2)
call = torch.nn.Module.__call__


@functools.wraps(call)
def counted(self, *args, **kwargs):
    return call(self, *args, **kwargs) + 7


{replaced}
program = {program}
with torch.no_grad():
    assert seen(vitrine.compile(program, fullgraph={full})) == seen(program), seen(vitrine.compile(program))
"""
REPLACED = {
    "nothing": ("", "lambda x: linear(x) + isinstance(3, int) + len([1])", True),
    "module_call": ("torch.nn.Module.__call__ = counted", "lambda x: linear(x)", True),
    "print": ("say = print\nbuiltins.print = lambda *a, **k: say('[rank 0]', *a, **k)", "lambda x: (print('here'), x + 1)[1]", False),
    "isinstance": (
        "known = isinstance\nbuiltins.isinstance = lambda o, c: False if c is int else known(o, c)",
        "lambda x: x + 1 if isinstance(3, int) else x - 1",
        True,
    ),
    "random": ("random.random = lambda: 0.5", "lambda x: x + random.random()", True),
    "mocked": ("mock.patch('random.random', return_value=0.25).start()", "lambda x: x + random.random()", False),
    "is_tensor": ("torch.is_tensor = lambda o: False", "lambda x: x + torch.is_tensor(x)", True),
    "deepcopy": ("copy.deepcopy = lambda o: o + 7", "lambda x: copy.deepcopy(x)", True),
}


@pytest.mark.parametrize("name", REPLACED)
def test_the_replacement_runs(name):
    replaced, program, full = REPLACED[name]
    text = PROGRAM.format(replaced=replaced, program=program, full=full)
    end = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert end.returncode == 0, end.stderr
