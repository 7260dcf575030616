"""torch.inference_mode inside compiled functions: captured whole, and what it makes are inference tensors."""

import pytest
import torch
import vitrine
from tests.python.support.same_as_eager import assert_same, run


@torch.inference_mode()
def decorated(x):
    return x.sin() + 1, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def managers(x):
    with torch.inference_mode():
        y = x * 2
        v = y.view(2, 2)
        inside = torch.is_inference_mode_enabled(), torch.is_grad_enabled(), y.is_inference(), torch.is_inference(x)
    return y, v, inside, torch.is_inference_mode_enabled(), torch.is_grad_enabled(), x + 1


def decorators(x):
    return decorated(x)


def nested(x):
    with torch.no_grad():
        with torch.inference_mode():
            y = x + 1
            with torch.enable_grad():
                y, g = y * 2, torch.is_grad_enabled()
            with torch.inference_mode(False):
                a, states = x * 3, (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        z = x * 2
    return y, z, a, g, states, torch.is_grad_enabled()


def left_by_exception(x):
    try:
        with torch.inference_mode():
            y = x * 2
            raise ValueError("left")
    except ValueError:
        return y, torch.is_inference_mode_enabled()


def by_hand(x):
    mode = torch.inference_mode()
    mode.__enter__()
    y = x + 1
    mode.__exit__(None, None, None)
    return y, torch.is_grad_enabled()


def written(x):
    with torch.inference_mode():
        y = x * 2
        y += 1
        x.add_(1)
    return y, x * 2


WHOLE = [managers, decorators, nested, left_by_exception, by_hand, written]


def broken(x):
    with torch.no_grad(), torch.inference_mode():
        y = x * 2
        print(torch.is_inference_mode_enabled(), torch.is_grad_enabled())
        z = y + 1
    return y, z, x * 3, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def views(x):
    with torch.inference_mode():
        v = x.view(2, 2)
        total = v.sum()
    return v.is_inference(), v + 1, total


def left_open(x):
    mode = torch.inference_mode()
    mode.__enter__()
    return mode, x * 2


def written_outside(x):
    with torch.inference_mode():
        y = x * 2
    y += 1
    return y


def saved(x):
    w = torch.nn.functional.softplus(x)
    with torch.inference_mode():
        y = x.detach() * 2 + 1
    return w * y


PROGRAMS = [*WHOLE, broken, views, written_outside, saved]


def kinds(value):
    if isinstance(value, torch.Tensor):
        return value.is_inference()
    return [kinds(v) for v in value] if isinstance(value, (tuple, list)) else None


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_eager(program, grad, needs_grad):
    vitrine.reset()
    compiled = vitrine.compile(program)
    with torch.set_grad_enabled(grad):
        for call in range(3):
            one, other = (torch.arange(4.0).add(call).requires_grad_(needs_grad) for _ in range(2))
            expected, expected_error, expected_text = run(program, (one,))
            got, error, text = run(compiled, (other,))
            assert (type(error), str(error)) == (type(expected_error), str(expected_error))
            assert text == expected_text
            assert_same(expected, got)
            assert kinds(expected) == kinds(got)
            assert torch.is_grad_enabled() is grad and not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_one_graph(program):
    vitrine.reset()
    assert vitrine.explain(program)(torch.ones(4)).graph_break_count == 0


def test_a_mode_left_open_is_open_afterwards():
    vitrine.reset()
    mode, y = vitrine.compile(left_open)(torch.ones(2))
    assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled() and y.is_inference()
    mode.__exit__(None, None, None)
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.bfloat16)], ids=["inference", "no_grad", "autocast"])
def test_modes_around_a_break_behind_a_write_under_autograd_are_left_as_they_were(mode):
    """What is written from outside under autograd runs through PyTorch, which sets the modes itself."""

    def f(average, weight, x, seen):
        average.lerp_(weight, 0.1)
        with mode():
            told(seen)
            y = x @ weight
        told(seen)
        return y

    @vitrine.disable
    def told(seen):
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), nesting_now()))

    def nesting_now():
        depth = torch.autocast_increment_nesting()
        torch.autocast_decrement_nesting()
        return depth

    def outcome(function):
        seen = []
        for _ in range(3):
            function(torch.zeros(2, 2), torch.ones(2, 2, requires_grad=True), torch.ones(2, 2), seen)
        return seen, torch.is_grad_enabled()

    try:
        assert outcome(vitrine.compile(f)) == outcome(f)
    finally:
        torch.set_grad_enabled(True)


def composites(x):
    h = torch.nn.functional.linear(x, x)
    rows = h.float().type_as(x).to(x.dtype).contiguous() * 2
    turned = h.transpose(0, 1).contiguous().reshape(-1).float()
    return rows, turned, h.softmax(-1).flatten(), torch.hstack([rows, h]), torch.einsum("ij,kj->ik", x, h)


def rotated(x):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    angles = torch.polar(torch.ones_like(pairs.real), pairs.real)
    return torch.view_as_real(pairs * angles).flatten(1).type_as(x)


def into_a_cache(x):
    cache = torch.zeros(2 * x.shape[0], x.shape[1])
    cache[x.shape[0] :] = x.type_as(cache)
    return cache[1:].float() + 1, x.to(torch.bfloat16).float()


@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("program", [composites, rotated, into_a_cache], ids=lambda f: f.__name__)
def test_operators_that_may_return_their_argument_do_not_break_in_a_mode_that_began_outside(program, made_inside):
    vitrine.reset()
    given = torch.linspace(-2, 2, 16).reshape(4, 4)
    compiled = vitrine.compile(program, fullgraph=True)
    with torch.inference_mode():
        for n in (4, 3, 2):
            x = given[:n].clone() if made_inside else given[:n]
            x = x if program is not composites else x[:, :n]
            expected, got = program(x), compiled(x)
            assert_same(expected, got)
            assert kinds(expected) == kinds(got)


def decorated_inside(x):
    y = decorated(x)
    with torch.enable_grad(), torch.inference_mode():
        inner = torch.is_grad_enabled(), x.float() * 2
    return y, inner, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def entered_around_a_print(x):
    with torch.inference_mode():
        y = x + 1
        print("inside")
        z = y * 2, torch.is_grad_enabled()
    return y, z, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def left_for_a_while(x):
    with torch.inference_mode(False):
        y = x + 1
        states = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), y.is_inference()
    return y, states, torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("program", [decorated, decorated_inside, entered_around_a_print, left_for_a_while], ids=lambda f: f.__name__)
def test_a_mode_in_another_that_began_outside(program, grad):
    vitrine.reset()
    compiled = vitrine.compile(program, fullgraph=program in (decorated, decorated_inside))
    with torch.inference_mode(), torch.set_grad_enabled(grad):
        for n in (4, 3, 2):
            (expected, _, printed), (got, _, text) = (run(f, (torch.arange(float(n)),)) for f in (program, compiled))
            assert text == printed
            assert_same(expected, got)
            assert kinds(expected) == kinds(got)
            assert torch.is_grad_enabled() is grad and torch.is_inference_mode_enabled()
