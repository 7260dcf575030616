"""What PyTorch's library makes of gelu at infinity depends on the machine, and is asked of it: both answers are tested on each."""

import functools
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
import vitrine
from vitrine import _library_gelu

inf = float("inf")
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def ends(dtype):
    return torch.tensor([inf, -inf, torch.nan, 1.0, -1.0, 0.0, 20.0, -20.0], dtype=dtype).repeat(4)


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    yield
    vitrine.reset()


@pytest.mark.parametrize("loses", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_infinity_goes_as_the_library_answers(dtype, loses, monkeypatch):
    monkeypatch.setattr(_library_gelu, "loses_infinity", lambda name: loses if f"torch.{name}" == str(dtype) else not loses)
    found = vitrine.compile(lambda x: F.gelu(x))(ends(dtype))
    assert found[0].isnan() if loses else found[0] == inf
    torch.testing.assert_close(found[3:8], F.gelu(ends(dtype))[3:8], equal_nan=True)
    assert vitrine.compile(lambda x: F.gelu(x, approximate="tanh"))(ends(dtype))[0] == inf  # PyTorch's own loop
    assert vitrine.compile(lambda x: F.gelu(x))(ends(dtype)[::4])[0] == inf


def test_the_library_is_asked_only_of_what_the_graph_holds(monkeypatch):
    asked = []
    monkeypatch.setattr(_library_gelu, "loses_infinity", lambda name: asked.append(name) or False)
    vitrine.compile(lambda x: F.gelu(x, approximate="tanh") + F.silu(x) + F.gelu(x.double()))(torch.ones(8))
    assert asked == []
    vitrine.compile(lambda x: F.gelu(x.half()))(torch.ones(8))
    assert set(asked) == {"float16"}


def test_the_answer_is_what_the_library_gives(monkeypatch):
    monkeypatch.setattr(_library_gelu, "_answer", functools.cache(_library_gelu._answer.__wrapped__))
    monkeypatch.setattr(F, "gelu", lambda x: x * 0)
    assert _library_gelu.loses_infinity("float16")
    _library_gelu._answer.cache_clear()
    monkeypatch.setattr(F, "gelu", lambda x: x)
    assert not _library_gelu.loses_infinity("float16")


def test_modes_do_not_answer():
    """Of whoever compiles: what they make of the question is no answer."""

    class Refuses(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            raise AssertionError(function)

    ask = _library_gelu._answer.__wrapped__
    expected = [ask(dtype) for dtype in DTYPES]
    with Refuses(), torch._subclasses.FakeTensorMode():
        assert [ask(dtype) for dtype in DTYPES] == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_without_the_library(dtype):
    f = vitrine.compile(lambda x: F.gelu(x))
    f(ends(dtype))
    with torch.backends.mkldnn.flags(enabled=False):
        torch.testing.assert_close(f(ends(dtype)), F.gelu(ends(dtype)), equal_nan=True, rtol=2e-2, atol=1e-6)
    torch.testing.assert_close(f(ends(dtype)), F.gelu(ends(dtype)), equal_nan=True, rtol=2e-2, atol=1e-6)


AS_EAGER = """
import torch, vitrine
import torch.nn.functional as F
inf = float("inf")
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    x = torch.tensor([inf, -inf, torch.nan, 3e38, -3e38, 1e20, 20., -20., 1., -1.], dtype=torch.float64).to(dtype).repeat(4).requires_grad_()
    for f in (F.gelu, lambda x: F.gelu(x, approximate="tanh")):
        vitrine.reset()
        expected, found = f(x), vitrine.compile(f)(x)
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=2e-2, atol=1e-6)
        (e,), (o,) = (torch.autograd.grad(y, x, torch.ones_like(y)) for y in (expected, found))
        torch.testing.assert_close(o, e, equal_nan=True, rtol=2e-2, atol=1e-6)
print("same")
"""


@pytest.mark.parametrize("isa", ["AVX2", "AVX512_CORE"])
def test_a_library_for_older_processors(isa):
    """With AVX2 oneDNN keeps infinity and leaves half precision to PyTorch; AVX-512 without FP16 leaves float16."""
    done = subprocess.run([sys.executable, "-c", AS_EAGER], env={**os.environ, "ONEDNN_MAX_CPU_ISA": isa}, capture_output=True, text=True)
    assert done.stdout.strip() == "same", done.stdout + done.stderr
