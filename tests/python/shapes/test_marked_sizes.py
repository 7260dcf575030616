"""Marks on tensors: vitrine's functions and torch._dynamo's of the same names, and what contradicts them."""

import pickle
import subprocess
import sys

import pytest
import torch
import torch._dynamo
import vitrine
from tests.python.support.recorded import recorded
from torch._dynamo.decorators import mark_unbacked as torch_mark_unbacked

MARK_DYNAMIC = [vitrine.mark_dynamic, torch._dynamo.mark_dynamic]
MAYBE = [vitrine.maybe_mark_dynamic, torch._dynamo.maybe_mark_dynamic, vitrine.mark_unbacked, torch_mark_unbacked]


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def name(function):
    return f"{function.__module__.split('.')[0]}.{function.__name__}"


def compilations(function, tensors, folder, **how):
    compiled = vitrine.compile(function, **how)
    with recorded(folder) as session:
        for x in tensors:
            torch.testing.assert_close(compiled(x), function(x))
    return len(session.rows("compilation", status="ok"))


def tensors(*sizes):
    return [torch.randn(n, 3) for n in sizes]


def plus(x):
    return x.exp() + 1


def one_for_each(x):
    for _ in range(x.shape[0]):  # needs the number
        x = x + 1
    return x


def divides(x):
    if x.shape[0] > 4:  # tells sizes apart
        return x + 1
    return x - 1


def only_four(x):
    return x + 1 if x.shape[0] == 4 else x - 1


def line_of(function, text):
    code = function.__code__
    with open(code.co_filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(i for i in range(code.co_firstlineno, len(lines) + 1) if text in lines[i - 1])


@pytest.mark.parametrize("mark", MARK_DYNAMIC + MAYBE, ids=name)
def test_a_marked_size_is_a_symbol_from_the_first_call(mark, tmp_path):
    calls = tensors(4, 5, 6)
    mark(calls[0], 0)
    assert compilations(plus, calls, tmp_path) == 1


@pytest.mark.parametrize("mark", MARK_DYNAMIC + MAYBE, ids=name)
def test_several_dimensions(mark, tmp_path):
    calls = [torch.randn(n, n + 1, 2) for n in (4, 7, 3)]
    mark(calls[0], [0, 1])
    assert compilations(plus, calls, tmp_path) == 1


@pytest.mark.parametrize("mark", MARK_DYNAMIC, ids=name)
def test_a_mark_wins_over_dynamic_false_and_over_mark_static(mark, tmp_path):
    calls = tensors(4, 5, 6)
    for x in calls:
        vitrine.mark_static(x, 0)
        mark(x, 0)
    assert compilations(plus, calls, tmp_path, dynamic=False) == 1


@pytest.mark.parametrize("mark", [vitrine.mark_static, torch._dynamo.mark_static], ids=name)
def test_marked_static(mark, tmp_path):
    calls = tensors(4, 5, 6)
    for x in calls:
        mark(x, 0)
    assert compilations(plus, calls, tmp_path, dynamic=True) == 3


def test_a_mark_is_heeded_by_a_call_after_others(tmp_path):
    """A compilation for fixed sizes does not serve a tensor whose size is marked, nor one with symbols a static one."""
    calls = tensors(4, 4, 5, 5)
    vitrine.mark_dynamic(calls[1], 0)
    vitrine.mark_static(calls[3], 0)
    assert compilations(plus, calls, tmp_path) == 3


def test_zero_and_one_may_be_marked(tmp_path):
    calls = tensors(1, 0, 5, 6, 1)
    for x in calls:
        vitrine.mark_dynamic(x, 0)
    assert compilations(plus, calls, tmp_path) == 3


@pytest.mark.parametrize("mark", MARK_DYNAMIC, ids=name)
@pytest.mark.parametrize("program, text", [(one_for_each, "range("), (only_four, "== 4")])
def test_a_program_that_fixes_a_marked_size(mark, program, text):
    x = torch.randn(4, 3)
    mark(x, 0)
    with pytest.raises(vitrine.ConstraintViolationError) as caught:
        vitrine.compile(program)(x)
    message = str(caught.value)
    assert "You marked L['x'].size(0) as dynamic but your code specialized it to be a constant (4)" in message
    line = line_of(program, text)
    assert f'File "{__file__}", line {line}' in message and text in message.splitlines()[-1]
    assert isinstance(caught.value, RuntimeError)  # as torch.compile's
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == message and again.place == f"{__file__}:{line}"


def reshaped(x):
    return x.reshape(4, 3) * 2


def beside_constants(x):
    return x + torch.ones(4, 3)


def multiplied(x):
    return torch.ones(2, 4) @ x


def unpacked(x):
    a, _, _, d = x
    return a + d


def sixth(x):
    return x[5] * 2


@pytest.mark.parametrize("program, says", [
    (reshaped, "Tensor.reshape raises: RuntimeError: shape '[4, 3]' is invalid"),
    (beside_constants, "operator.add raises: RuntimeError: The size of tensor a"),
    (multiplied, "operator.matmul raises: RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
    (unpacked, "Tensor.unbind has other results"),
])  # fmt: skip
def test_an_operator_that_fixes_a_marked_size(program, says):
    x = torch.randn(4, 3)
    vitrine.mark_dynamic(x, 0)
    with pytest.raises(vitrine.ConstraintViolationError) as caught:
        vitrine.compile(program)(x)
    message = str(caught.value)
    assert f"L['x'].size(0) as dynamic but your code specialized it to be a constant (4): at other sizes {says}" in message
    assert f'File "{__file__}", line {program.__code__.co_firstlineno + 1}' in message


@pytest.mark.parametrize("program", [reshaped, beside_constants, multiplied, unpacked])
def test_an_operator_may_fix_what_is_marked_weakly(program):
    x = torch.randn(4, 3)
    vitrine.maybe_mark_dynamic(x, 0)
    assert torch.equal(vitrine.compile(program)(x), program(x))


def test_an_operator_that_does_not_take_all_of_a_marked_range():
    x = torch.randn(6, 3)
    vitrine.mark_dynamic(x, 0, min=2, max=8)
    with pytest.raises(vitrine.ConstraintViolationError) as caught:
        vitrine.compile(sixth)(x)
    assert "Not all values of L['x'].size(0) in the specified range [2, 8] are possible: at 2 " in str(caught.value)


KEPT = {
    "equal": (lambda x, y: x + y, (4, 3), (4, 3), [0], [0]),
    "twice": (lambda x, y: x.repeat(2, 1) + y, (4, 3), (8, 3), [0], [0]),
    "one more": (lambda x, y: torch.cat([x, torch.ones(1, 3)]) + y, (4, 3), (5, 3), [0], [0]),
    "multiplied": (lambda x, y: x @ y, (4, 6), (6, 4), [0, 1], [0, 1]),
    "in pairs": (lambda x, y: x.view(-1, 2, 3).sum() + y, (4, 3), (1,), [0], []),
    "at least": (lambda x, y: x[3] + y, (4, 3), (1,), [0], []),
    "at most": (lambda x, y: y[: x.shape[0]] + x, (4, 3), (6, 3), [0], []),
    "lying otherwise": (lambda x, y: x.t() @ y.t(), (4, 6), (3, 4), [0], [1]),
}


@pytest.mark.parametrize("what", KEPT)
def test_operators_that_need_something_of_a_marked_size(what):
    program, one, other, of_one, of_other = KEPT[what]
    x, y = torch.randn(*one), torch.randn(*other)
    vitrine.mark_dynamic(x, of_one)
    vitrine.mark_dynamic(y, of_other)
    torch.testing.assert_close(vitrine.compile(program)(x, y), program(x, y))


@pytest.mark.parametrize("mark", MAYBE, ids=name)
@pytest.mark.parametrize("program", [one_for_each, only_four])
def test_who_may_be_fixed_is(mark, program, tmp_path):
    calls = tensors(4, 5, 4)
    for x in calls:
        mark(x, 0)
    assert compilations(program, calls, tmp_path) == 2


def test_strict_marks_may_not():
    x = torch.randn(4, 3)
    torch_mark_unbacked(x, 0, strict=True)
    with pytest.raises(vitrine.ConstraintViolationError, match="specialized it to be a constant"):
        vitrine.compile(only_four)(x)


def test_a_branch_divides_a_marked_size_without_a_range(tmp_path):
    calls = tensors(3, 6, 4, 9)
    for x in calls:
        vitrine.mark_dynamic(x, 0)
    assert compilations(divides, calls, tmp_path) == 2


@pytest.mark.parametrize("mark", MARK_DYNAMIC, ids=name)
def test_a_branch_that_divides_a_marked_range(mark):
    x = torch.randn(6, 3)
    mark(x, 0, min=2, max=8)
    with pytest.raises(vitrine.ConstraintViolationError) as caught:
        vitrine.compile(divides)(x)
    message = str(caught.value)
    assert "Not all values of L['x'].size(0) in the specified range [2, 8] satisfy the generated guard s0 >= 5" in message
    assert f"line {line_of(divides, '> 4')}" in message


def test_a_range_that_a_branch_does_not_divide(tmp_path):
    calls = tensors(6, 5, 9)
    for x in calls:
        vitrine.mark_dynamic(x, 0, min=5, max=10)
    assert compilations(divides, calls, tmp_path) == 1


@pytest.mark.parametrize("mark", MARK_DYNAMIC, ids=name)
def test_a_size_outside_of_its_range(mark):
    compiled = vitrine.compile(plus)
    fits, large = torch.randn(4, 3), torch.randn(8, 3)
    for x in (fits, large):
        mark(x, 0, min=2, max=8)
    large.resize_(20, 3).zero_()
    torch.testing.assert_close(compiled(fits), plus(fits))
    for _ in range(2):
        with pytest.raises(vitrine.ConstraintViolationError, match=r"20 not in range \[2, 8\]") as caught:
            compiled(large)
        assert f'File "{__file__}", line {line_of(plus, "exp")}' in str(caught.value)
    torch.testing.assert_close(compiled(fits), plus(fits))
    # Also when a compilation without marks is there that would serve it.
    vitrine.reset()
    compiled = vitrine.compile(plus, dynamic=True)
    compiled(torch.randn(7, 3))
    with pytest.raises(vitrine.ConstraintViolationError, match=r"not in range"):
        compiled(large)


def test_bounds_of_mark_unbacked():
    x = torch.randn(4, 3)
    vitrine.mark_unbacked(x, 0, min=2, max=8)
    compiled = vitrine.compile(plus)
    torch.testing.assert_close(compiled(x), plus(x))
    x.resize_(9, 3).zero_()
    with pytest.raises(vitrine.ConstraintViolationError, match=r"9 not in range \[2, 8\]"):
        compiled(x)


def test_sizes_of_one_shape_id_are_equal(tmp_path):
    def both(pair):
        return pair[0].sum(1) + pair[1].sum(1)

    pairs = [(torch.randn(n, 3), torch.randn(m, 4)) for n, m in [(4, 4), (5, 5), (5, 6)]]
    for pair in pairs:
        for x in pair:
            vitrine.mark_unbacked(x, 0, shape_id="rows")
    assert compilations(both, pairs[:2], tmp_path) == 1
    with pytest.raises(vitrine.ConstraintViolationError, match="shape_id 'rows'"):
        vitrine.compile(both)(pairs[2])


def test_static_inside_of_the_program(tmp_path):
    def program(x):
        vitrine.mark_static(x, 0)
        return x + 1

    assert compilations(program, tensors(4, 5, 6), tmp_path, dynamic=True, fullgraph=True) == 3


def test_marked_inside_of_the_program(tmp_path):
    def program(x):
        y = x * 2
        vitrine.mark_dynamic(y, 0)
        return y + 1

    compiled = vitrine.compile(program)
    for x in tensors(4, 5, 6):
        assert torch.equal(compiled(x), program(x))


@vitrine.mark_static
class Static(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.power = 1

    def forward(self, x):
        return x * self.power


def test_ints_of_a_static_module_stay_constants(tmp_path):
    module = Static()
    compiled = vitrine.compile(module)
    x = torch.randn(3)
    with recorded(tmp_path) as session:
        for module.power in (2, 3, 4, 5):
            assert torch.equal(compiled(x), x * module.power)
    assert len(session.rows("compilation", status="ok")) == 4 and not session.rows("symbol")


def test_what_marks_refuse():
    x = torch.randn(4, 3)
    with pytest.raises(vitrine.ConstraintViolationError, match=r"4 not in range \[5, inf\]"):
        vitrine.mark_dynamic(x, 0, min=5)
    with pytest.raises(IndexError):
        vitrine.mark_dynamic(x, 2)
    with pytest.raises(TypeError):
        vitrine.maybe_mark_dynamic(x, "rows")
    with pytest.raises(TypeError):
        vitrine.mark_dynamic([1, 2], 0)
    with pytest.raises(TypeError):
        vitrine.mark_static(Static())


MARKED_FOR_DYNAMO = """
import torch, vitrine
x = torch.randn(4, 3)
vitrine.mark_dynamic(x, 0)
vitrine.mark_dynamic(x, -1, min=2, max=5)
try:
    torch.compile(lambda x: x * 2 if x.shape[0] == 4 else x, backend="eager")(x)
except RuntimeError as error:
    print(error)
"""


def test_marks_of_vitrine_hold_for_torch_compile():
    """The attributes are torch._dynamo's, which leaves its frame hook behind after a failure: in another process."""
    done = subprocess.run([sys.executable, "-c", MARKED_FOR_DYNAMO], capture_output=True, text=True)
    assert done.returncode == 0 and "specialized it to be a constant" in done.stdout, done.stderr


def test_the_error_is_in_the_session(tmp_path):
    x = torch.randn(4, 3)
    vitrine.mark_dynamic(x, 0)
    with recorded(tmp_path) as session, pytest.raises(vitrine.ConstraintViolationError):
        vitrine.compile(only_four)(x)
    (row,) = session.rows("compilation")
    assert row["status"] == "failed" and "You marked L['x'].size(0) as dynamic" in row["message"]
