"""NumPy's arrays in compiled functions: captured whole, computed as NumPy does, element types and warnings included."""

import math
import warnings

import numpy as np
import pytest
import torch
import vitrine

SLOPE = np.linspace(0, 1, 4)


def f8(*shape):
    return np.arange(float(math.prod(shape))).reshape(shape) / 7 - 1


def f4(*shape):
    return f8(*shape).astype(np.float32)


def matrix(*shape):
    return torch.from_numpy(f4(*shape))


def nearest(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


def pairwise(a, b):
    return np.sum(a[:, None] * b[None], axis=(-2, -1)), a.T @ b[:3, :1], np.outer(a[0], b[0])


def there_and_back(x):
    a = x.numpy()
    return torch.from_numpy(np.sin(a) * 2 + a.mean()), torch.as_tensor(np.exp(a)).sum(), torch.tensor(a + 1)


def constants(x):
    ones = np.ones(4, dtype=np.float32)
    return x * torch.tensor(np.array([1.0, 2.0, 3.0, 4.0])), x + torch.from_numpy(np.linspace(0, 1, 4)), x * torch.from_numpy(ones)


def of_the_module(x):
    return x * torch.from_numpy(SLOPE), torch.tensor(SLOPE)


def positions(n):
    angles = np.arange(n)[:, None] / np.power(10000, 2 * (np.arange(4) // 2) / 4)
    return torch.tensor(np.sin(angles) + np.zeros((n, 4)), dtype=torch.float32)


def facts(a):
    return a.shape, a.dtype, len(a), a.ndim, a.size, isinstance(a, np.ndarray), type(a + 1) is np.ndarray, a.astype("f4").dtype, a[0, 0], a[0]


UPPER = np.triu_indices(3, 1)
COLUMNS = np.array([2, 0, 2, -1])


def of_tensors(x, places):
    triangle = torch.zeros(3, 4)
    triangle[UPPER] = x[UPPER] * 2
    triangle[places, 0] = 5.0
    return triangle, x[places], x[:, COLUMNS], x[places[:, None], COLUMNS], x[..., np.arange(3)]


def operators(a):
    return a * 2, a * np.float64(2), a + np.arange(4), a / 3, a // 2, a % 2, a**2, -a, abs(a), a > 0, (a > 0) & (a < 1), ~(a > 0), 1 - a


def of_integers(a):
    return a / 2, a * 2, a.mean(), a.sum(), np.sqrt(a + 1), a % 4, a + 0.5, np.exp(a), a.max(), a.astype(float), a // 4, np.prod(a + 1)


def shapes(a):
    return (
        np.concatenate([a, a + 1]), np.stack([a, a * 2], axis=1), np.vstack([a, a]), np.where(a > 0, a, 0), np.clip(a, -0.5, 0.5),
        np.expand_dims(a, 0), np.reshape(a, (4, 3)), a.reshape(-1), a.flatten(), a.transpose(1, 0), np.squeeze(a[:, None]), a[::2, 1:],
    )  # fmt: skip


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def rows(x):
    doubled = [row * 2 for row in x.numpy()]
    return np.stack(doubled), [torch.from_numpy(row) for row in doubled]


def detached(x):
    return x * torch.from_numpy(x.detach().numpy() * 2)


WHOLE = {
    nearest: lambda: (f4(6, 2), f4(3, 2)),
    pairwise: lambda: (f8(3, 4), f8(3, 4)),
    there_and_back: lambda: (matrix(3, 4),),
    constants: lambda: (matrix(3, 4),),
    of_the_module: lambda: (matrix(3, 4),),
    positions: lambda: (5,),
    facts: lambda: (f8(3, 4),),
    of_tensors: lambda: (matrix(3, 4), np.array([2, 1])),
    operators: lambda: (f4(3, 4),),
    of_integers: lambda: (np.arange(6).reshape(2, 3),),
    shapes: lambda: (f4(3, 4),),
    softmax: lambda: (f4(3, 4),),
    rows: lambda: (matrix(3, 4),),
    detached: lambda: (matrix(3, 4).requires_grad_(),),
}


def assert_alike(ours, eager):
    assert type(ours) is type(eager), (type(ours), type(eager))
    if isinstance(eager, (list, tuple)):
        assert len(ours) == len(eager)
        for one, other in zip(ours, eager):
            assert_alike(one, other)
    elif isinstance(eager, (np.ndarray, np.generic)):
        assert ours.dtype == eager.dtype and ours.shape == eager.shape
        np.testing.assert_allclose(ours, eager, rtol=1e-5 if eager.dtype == np.float32 else 1e-12, atol=1e-6 if eager.dtype == np.float32 else 1e-12)
    elif isinstance(eager, torch.Tensor):
        torch.testing.assert_close(ours, eager)
    else:
        assert ours == eager


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_one_graph_and_numpys_results(program):
    vitrine.reset()
    explained = vitrine.explain(program)(*WHOLE[program]())
    assert not explained.graph_break_reasons, explained
    compiled = vitrine.compile(program)
    for _ in range(3):
        assert_alike(compiled(*WHOLE[program]()), program(*WHOLE[program]()))


def grows(a):
    a += 1
    return a * 2


def is_set(a):
    b = a * 2
    b[0] = 7
    return b


def beside_a_tensor(a):
    return torch.ones(3, 4) + a, np.add(a, 1, dtype="f8")


def is_looked_at(a):
    return a * 2 if a.sum() > 0 else str(a), float(a[0, 0]), a[a > 0], isinstance(np.sum(a), float)


def backwards(a):
    return a[::-1] + 1


@pytest.mark.parametrize("program", [grows, is_set, beside_a_tensor, is_looked_at, backwards])
@pytest.mark.parametrize("make", [lambda: f4(3, 4), lambda: f8(3, 4)[:, ::-1], lambda: np.broadcast_to(np.float64(2), (3, 4))])
def test_what_is_no_graph_is_numpys(program, make):
    vitrine.reset()
    compiled = vitrine.compile(program)
    outcomes = []
    for call in (program, compiled):
        for _ in range(2):
            a = make()
            try:
                outcomes.append((call(a), a))
            except ValueError as error:  # read-only
                outcomes.append(str(error))
    assert_alike(outcomes[2:], outcomes[:2])


def test_memory_is_shared_as_in_eager():
    def program(x):
        return x.numpy(), torch.from_numpy(x.numpy() * 2)

    vitrine.reset()
    x = torch.ones(3)
    array, other = vitrine.compile(program)(x)
    array[0] = 5
    assert x.tolist() == [5, 1, 1] and other.tolist() == [2, 2, 2]


def test_what_an_array_holds_now_is_read():
    program = vitrine.compile(lambda a: a + 1)
    a = np.zeros(3)
    program(a)
    a[:] = 4
    assert program(a).tolist() == [5, 5, 5]


def test_a_tensor_that_is_written_to_is_seen_by_an_array_over_it():
    def program(x, a):
        x.add_(1)
        return a * 2

    vitrine.reset()
    x = torch.zeros(3)
    assert vitrine.compile(program)(x, x.numpy()).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "program, values, message",
    [
        (np.log, [1.0, 0.0], "divide by zero"),
        (np.sqrt, [1.0, -1.0], "invalid value"),
        (lambda a: a * 1e308 * 10, [1.0, 2.0], "overflow"),
        (lambda a: np.arange(2) // a.astype(np.int64) if a.dtype == np.int64 else 1 / a, [1.0, 0.0], "divide by zero"),
        (np.exp, [1.0, np.inf], None),
        (np.log, [1.0, np.nan], None),
    ],
)
def test_numpys_warnings_are_given(program, values, message):
    vitrine.reset()
    compiled = vitrine.compile(lambda a: program(a))
    for given in ([1.0, 1.0], values, values):
        a, seen = np.array(given), []
        for call in (program, compiled):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                seen.append((call(a), [str(w.message) for w in told]))
        np.testing.assert_allclose(seen[1][0], seen[0][0])
        assert [m.split(" encountered")[0] for m in seen[1][1]] == [m.split(" encountered")[0] for m in seen[0][1]]
    assert [m.split(" encountered")[0] for m in seen[0][1]][:1] == ([message] if message else [])
