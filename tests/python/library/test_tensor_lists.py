"""Operators that take lists of tensors run through PyTorch's own entry points, with eager's results and errors."""

import pytest
import torch
import vitrine
from vitrine import _engine

COUNT = 20  # more than a kernel of our own joins


@pytest.fixture(scope="module", autouse=True)
def ready():
    assert _engine.bridge_init()["ready"]


def vectors(n=COUNT, dtype=torch.float32, size=5):
    return [torch.randn(size).mul(3).to(dtype) for _ in range(n)]


CALLS = {
    "cat": lambda ts: torch.cat(ts),
    "cat of rows": lambda ts: torch.cat([t.view(1, -1) for t in ts], dim=1),
    "cat along the last dim": lambda ts: torch.cat([t.view(1, -1) for t in ts], -1),
    "cat of types": lambda ts: torch.cat([t.to(torch.float16) if i % 3 else t for i, t in enumerate(ts)]),
    "cat with an empty one": lambda ts: torch.cat([torch.empty(0), *[t.view(1, -1) for t in ts]]),
    "cat of transposes": lambda ts: torch.cat([t.view(5, 1).expand(5, 4).t() for t in ts], 1),
    "stack": lambda ts: torch.stack(ts),
    "stack behind": lambda ts: torch.stack(ts, dim=-1),
    "stack of numbers": lambda ts: torch.stack([t.sum() for t in ts]),
    "one of them often": lambda ts: torch.stack([ts[0]] * COUNT, 1),
    "and what follows": lambda ts: torch.stack(ts).softmax(0) * 2,
    "norms": lambda ts: torch._foreach_norm(ts),
    "norms of order one": lambda ts: torch._foreach_norm(ts, 1),
    "norms of order 1.5": lambda ts: torch._foreach_norm(ts, 1.5),
    "norms of order inf": lambda ts: torch._foreach_norm(ts, float("inf")),
    "norms in another type": lambda ts: torch._foreach_norm(ts, 2, dtype=torch.float64),
    "the norm of norms": lambda ts: torch.linalg.vector_norm(torch.stack(torch._foreach_norm(ts))),
}


@pytest.mark.parametrize("grad", [False, True], ids=["inference", "parameters"])
@pytest.mark.parametrize("name", CALLS)
def test_as_eager(name, grad):
    torch.manual_seed(0)
    vitrine.reset()
    compiled = vitrine.compile(CALLS[name])
    for _ in range(3):
        ts = [t.requires_grad_(grad) for t in vectors()]
        with torch.no_grad():
            want, got = CALLS[name](ts), compiled(ts)
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)
        for g, w in zip([got], [want]) if isinstance(want, torch.Tensor) else zip(got, want):
            assert g.stride() == w.stride() and not g.requires_grad and g._version == w._version


def graph(op, arguments, out):
    names = [f"%x{i}" for i in range(COUNT)]
    inputs = "\n".join(f"  {n} = placeholder() : f32[5]" for n in names)
    return f"graph aten {{\n{inputs}\n  %out = {op}([{', '.join(names)}]{arguments}) : {out}\n  return %out\n}}"


@pytest.mark.parametrize("op, arguments, out", [
    ("aten.cat.default", ", 0", f"f32[{5 * COUNT}]"),
    ("aten.stack.default", ", dim=1", f"f32[5,{COUNT}]"),
])
def test_nothing_goes_through_python(op, arguments, out):
    plan = _engine.plan_compile(graph(op, arguments, out), False)
    facts = _engine.plan_facts(plan)
    assert facts["python_calls"] == 0 and facts["launches"] == 1, facts
    ts = vectors()
    want = torch.cat(ts) if "cat" in op else torch.stack(ts, 1)
    assert torch.equal(_engine.plan_run(plan, ts)[0], want)


def test_what_pytorch_refuses_is_an_error_that_says_why():
    plan = _engine.plan_compile(graph("aten.stack.default", "", f"f32[{COUNT},5]"), False)
    with pytest.raises(RuntimeError, match="equal size"):
        _engine.plan_run(plan, [*vectors(COUNT - 1), torch.randn(4)])


def test_nothing_is_kept():
    compiled = vitrine.compile(CALLS["norms"])
    ts = vectors()
    count = torch._C._storage_Use_Count
    with torch.no_grad():
        for _ in range(4):
            norms, eager = compiled(ts), torch._foreach_norm(ts)
        assert [count(n.untyped_storage()._cdata) for n in norms] == [count(n.untyped_storage()._cdata) for n in eager]
        assert [count(t.untyped_storage()._cdata) for t in ts] == [count(eager[0].untyped_storage()._cdata)] * COUNT
