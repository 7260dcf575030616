"""Runs a function eagerly and compiled on equal, fresh arguments and asserts that nothing observable differs."""

import contextlib
import copy
import dataclasses
import io
import types

import torch


def run(function, args):
    """(value, exception, what was printed) of one call."""
    out = io.StringIO()
    value = error = None
    with contextlib.redirect_stdout(out):
        try:
            value = function(*args)
        except Exception as e:
            error = e
    return value, error, out.getvalue()


# Compared by what they do, not by ==.
SAME_WHATEVER = (types.FunctionType, types.MethodType, memoryview)


def assert_same(a, b, where="result"):
    """Equal structure, types, dtypes, strides, values (default tolerances), and the same pattern of shared objects."""
    assert type(a) is type(b), f"{where}: {type(a).__name__} against {type(b).__name__}"
    if isinstance(a, torch.Tensor):
        assert a.requires_grad == b.requires_grad, f"{where}: requires_grad"
        assert a.stride() == b.stride() or a.numel() <= 1, f"{where}: strides {a.stride()} against {b.stride()}"
        torch.testing.assert_close(b, a, equal_nan=True, msg=lambda m: f"{where}: {m}")
    elif isinstance(a, dict):
        assert list(a) == list(b), f"{where}: keys {list(a)} against {list(b)}"
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b), f"{where}: {len(a)} against {len(b)} items"
        for i, (x, y) in enumerate(zip(a, b)):
            assert_same(x, y, f"{where}[{i}]")
        # Python may or may not make one object of equal texts and numbers.
        one, other = ([x for x in values if not isinstance(x, (str, bytes, int, float, complex))] for values in (a, b))
        assert [[x is y for y in one] for x in one] == [[x is y for y in other] for x in other], f"{where}: identities differ"
    elif isinstance(a, torch.nn.Module):
        assert_same(dict(a.state_dict()), dict(b.state_dict()), where + ".state_dict()")
    elif dataclasses.is_dataclass(a):
        assert_same(vars(a), vars(b), where)
    elif isinstance(a, float) and a != a:
        assert b != b, where
    elif hasattr(a, "__dict__") and not isinstance(a, type) and type(a).__module__ != "enum":
        if type(a).__eq__ is object.__eq__:
            assert_same(vars(a), vars(b), where)
    elif hasattr(type(a), "__slots__"):
        for name in type(a).__slots__:
            assert hasattr(a, name) == hasattr(b, name), f"{where}.{name}"
            assert_same(getattr(a, name, None), getattr(b, name, None), f"{where}.{name}")
    elif not hasattr(a, "__next__") and not isinstance(a, SAME_WHATEVER):
        assert a == b, f"{where}: {a!r} against {b!r}"


def shares_storage(values):
    """Which of the tensors in a nest share storage with which."""
    tensors = [t for t in flatten(values) if isinstance(t, torch.Tensor) and t.numel()]
    roots = [t.untyped_storage().data_ptr() for t in tensors]
    return [[a == b for b in roots] for a in roots]


def flatten(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from flatten(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from flatten(item)
    else:
        yield value


def check(function, compiled, make_args, calls=3, world=lambda: None, reset_world=lambda: None):
    """Calls both `calls` times on fresh arguments; after each call compares results, prints, exceptions and arguments."""
    for call in range(calls):
        eager_args = make_args()
        # An iterator has no copy, and a set's may have another order.
        anew = any(hasattr(a, "__next__") or isinstance(a, (set, frozenset)) for a in eager_args)
        compiled_args = make_args() if anew else copy.deepcopy(eager_args)
        rng = torch.get_rng_state()
        reset_world()
        expected, expected_error, expected_text = run(function, eager_args)
        expected_world = world()
        after = torch.get_rng_state()
        torch.set_rng_state(rng)
        reset_world()
        got, error, text = run(compiled, compiled_args)
        assert world() == expected_world, f"call {call}: globals {world()} against {expected_world}"
        where = f"call {call}"
        if (expected_error is None) != (error is None):
            raise AssertionError(f"{where}: eager raised {expected_error!r}, compiled {error!r}") from error
        assert type(expected_error) is type(error) and str(expected_error) == str(error), f"{where}: {expected_error!r} against {error!r}"
        assert text == expected_text, f"{where}: printed {text!r}, eager {expected_text!r}"
        assert_same(expected, got, where)
        assert_same(list(eager_args), list(compiled_args), f"{where}, arguments afterwards")
        assert shares_storage([expected, eager_args]) == shares_storage([got, compiled_args]), f"{where}: aliasing differs"
        assert torch.equal(torch.get_rng_state(), after), f"{where}: the random stream differs"
