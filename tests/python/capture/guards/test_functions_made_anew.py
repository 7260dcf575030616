"""Functions that are made at each call and given to a compiled one: what they do is guarded, not which object they are."""

import pytest
import torch
import vitrine
from tests.python.support.recorded import recorded

X = torch.arange(4.0)


def scaled(by, plus=0.0, *, times=1):
    def f(x, more=plus):
        return (x * by + more) * times

    return f


def test_an_equal_function_needs_no_compilation(tmp_path):
    compiled = vitrine.compile(lambda f, x: f(x) + 1)
    with recorded(tmp_path) as session:
        for _ in range(4):
            torch.testing.assert_close(compiled(scaled(X, 2.0), X), X * X + 3)
    assert not session.rows("recompilation")


def test_whether_there_is_one_needs_no_compilation(tmp_path):
    def model(x, f=None, g=None):
        if f is not None and g is None and f and callable(f):
            return f(x) + 1
        return (x if g is None else g(x)) - 1

    compiled = vitrine.compile(model)
    with recorded(tmp_path) as session:
        for _ in range(3):
            torch.testing.assert_close(compiled(X, scaled(X, 2.0)), X * X + 3)
    assert not session.rows("recompilation")
    for arguments in ((None, None), (scaled(2), scaled(3)), (None, scaled(X)), (scaled(4), None)):
        torch.testing.assert_close(compiled(X, *arguments), model(X, *arguments))


def test_what_it_closes_over_is_read_anew():
    compiled = vitrine.compile(lambda f, x: f(x) + 1)
    for by in (X, X + 1, 2, 4.5, torch.ones(4, dtype=torch.float64)):
        torch.testing.assert_close(compiled(scaled(by), X), X * by + 1)
    for plus, times in ((1.0, 1), (2.0, 2)):
        torch.testing.assert_close(compiled(scaled(2, plus, times=times), X), (X * 2 + plus) * times + 1)
    torch.testing.assert_close(compiled(lambda x: x - 1, X), X)


def test_across_a_break(tmp_path):
    def model(x):
        weight = x.sin()
        f = lambda y: y * weight  # noqa: E731
        print(end="")
        x = f(x)
        print(end="")
        return f(x) + 1

    compiled = vitrine.compile(model)
    with recorded(tmp_path) as session:
        for i in range(4):
            torch.testing.assert_close(compiled(X + i), model(X + i))
    assert not session.rows("recompilation")


def test_which_object_it_is_counts_where_the_program_asks():
    compiled = vitrine.compile(lambda f, g, x: f(x) + (1 if f is g else 2))
    one, other = scaled(2), scaled(2)
    for f, g in ((one, one), (one, other), (other, other), (scaled(2), other)):
        torch.testing.assert_close(compiled(f, g, X), X * 2 + (1 if f is g else 2))


def counter():
    n = torch.zeros(())

    def add(x):
        nonlocal n
        n = n + x.sum()
        return n

    return add, lambda x: x + n


@pytest.mark.parametrize("first", ["apart", "together"])
def test_variables_that_functions_share_and_write(first):
    def run(f):
        out = []
        for how in (first, "apart", "together", "apart"):
            (add, read), (_, other) = counter(), counter()
            out += [f(add, read if how == "together" else other, X), add(X)]
        return out

    body = lambda add, read, x: add(x) + read(x)  # noqa: E731
    for a, b in zip(run(body), run(vitrine.compile(body))):
        torch.testing.assert_close(b, a)


def test_a_mark_on_a_later_one_is_seen(tmp_path):
    compiled = vitrine.compile(lambda f, x: f(x) + 1)
    marked = scaled(2)
    marked._torchdynamo_disable = True
    with recorded(tmp_path) as session:
        for f in (scaled(2), marked, scaled(2)):
            torch.testing.assert_close(compiled(f, X), X * 2 + 1)
    assert "_torchdynamo_disable" in session.one("recompilation")["failed"]
