"""Settings of torch._dynamo.config that have a meaning here, and their twins of vitrine.config."""

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter

import vitrine

patches = pytest.mark.parametrize("patch", [torch._dynamo.config.patch, vitrine.config.patch], ids=["torch._dynamo.config", "vitrine.config"])
pytestmark = pytest.mark.filterwarnings("ignore::vitrine.VitrineWarning")


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()
    vitrine.reset()


def add(x):
    return x + 1


def graphs(function, calls, **how):
    """How many graphs these calls make."""
    counter = CompileCounter()
    compiled = vitrine.compile(function, backend=counter, **how)
    for arguments in calls:
        torch.testing.assert_close(compiled(*arguments), function(*arguments))
    return counter.frame_count


SIZES = [(torch.ones(n),) for n in range(2, 9)]


@patches
@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, 2),
        ({"assume_static_by_default": False}, 1),
        ({"automatic_dynamic_shapes": False}, 7),
        ({"automatic_dynamic_shapes": False, "recompile_limit": 3}, 3),
        ({"automatic_dynamic_shapes": False, "cache_size_limit": 4}, 4),
        ({"automatic_dynamic_shapes": False, "accumulated_recompile_limit": 5}, 5),
    ],
    ids=str,
)
def test_settings_of_sizes_and_limits(patch, settings, expected):
    with patch(**settings):
        assert graphs(add, SIZES) == expected


@patches
@pytest.mark.parametrize("setting, calls", [("specialize_int", [2, 3, 4, 5]), ("specialize_float", [0.2, 0.3, 0.4, 0.5])])
def test_numbers_that_are_not_to_be_symbols(patch, setting, calls):
    def scale(x, n):
        return x * n

    arguments = [(torch.ones(3), n) for n in calls]
    assert graphs(scale, arguments) == 2
    vitrine.reset()
    with patch(**{setting: True}):
        assert graphs(scale, arguments) == 4


@patches
@pytest.mark.parametrize("name", ["fail_on_recompile_limit_hit", "fail_on_cache_limit_hit"])
def test_a_limit_is_an_error_where_it_is_asked_for(patch, name):
    with patch(**{"recompile_limit": 2, name: True}), pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit, match="under fail_on_recompile_limit_hit"):
        graphs(add, SIZES, dynamic=False)


@patches
def test_a_second_compilation_is_an_error_where_it_is_asked_for(patch):
    with patch(error_on_recompile=True), pytest.raises(torch._dynamo.exc.RecompileError, match="== 2, got 3") as caught:
        graphs(add, SIZES)
    assert isinstance(caught.value, vitrine.RecompileError) and "test_settings_of_compilers.py" in str(caught.value)


def scaled_by_its_sum(x):
    return x * x.sum().item() + 1


@patches
def test_another_backend_is_given_floats_that_are_read_where_that_is_asked_for(patch):
    calls = [(torch.ones(3),), (torch.arange(3.0),), (torch.ones(3) / 3,)]
    assert graphs(scaled_by_its_sum, calls) > 1
    vitrine.reset()
    with patch(capture_scalar_outputs=True):
        assert graphs(scaled_by_its_sum, calls) == 1


def test_a_float_that_is_read_is_a_break_where_that_is_asked_for():
    x = torch.arange(3.0)
    assert torch.equal(vitrine.compile(scaled_by_its_sum, fullgraph=True)(x), scaled_by_its_sum(x))
    vitrine.reset()
    with vitrine.config.patch(capture_scalar_outputs=False), pytest.raises(vitrine.GraphBreakError):
        vitrine.compile(scaled_by_its_sum, fullgraph=True)(x)


def test_a_float_that_is_read_compiled_by_vitrine():
    def leaves(x):
        number = x.sum().item()
        return x * number, number, number + 1

    def in_place(x):
        total = x.double().sum()
        number = total.item()
        total.add_(5)
        return x.double() * number + total

    def looked_at(x):
        number = x.sum().item()
        return x + 1 if number > 2 else x - 1

    def gradient(x):
        return (x * x.max().item()).sum()

    with vitrine.config.patch(capture_scalar_outputs=True):
        for function in (leaves, in_place):
            compiled = vitrine.compile(function, fullgraph=True)
            for x in (torch.ones(3), torch.arange(3.0), torch.tensor([float("inf"), 1.0, 2.0])):
                torch.testing.assert_close(compiled(x), function(x))
        compiled = vitrine.compile(looked_at)
        for x in (torch.ones(3), torch.ones(3) / 9):
            torch.testing.assert_close(compiled(x), looked_at(x))
        x, y = (torch.arange(4.0, requires_grad=True) for _ in range(2))
        vitrine.compile(gradient)(x).backward()
        gradient(y).backward()
        torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize(
    "setting, function",
    [("capture_scalar_outputs", lambda x: x * x.sum().int().item()), ("capture_dynamic_output_shape_ops", lambda x: x.nonzero() + 1)],
    ids=["capture_scalar_outputs", "capture_dynamic_output_shape_ops"],
)
def test_what_depends_on_data_is_a_break_where_it_is_not_to_be_captured(setting, function):
    x = torch.tensor([1.0, 0.0, 2.0])
    assert torch.equal(vitrine.compile(function, fullgraph=True)(x), function(x))
    vitrine.reset()
    with vitrine.config.patch(**{setting: False}), pytest.raises(vitrine.GraphBreakError):
        vitrine.compile(function, fullgraph=True)(x)


@patches
def test_a_mark_that_is_contradicted_may_be_ignored(patch):
    def fixed(x):
        return x + 1 if x.shape[0] == 5 else x

    x = torch.ones(5)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(vitrine.ConstraintViolationError):
        vitrine.compile(fixed)(x)
    vitrine.reset()
    with patch(allow_ignore_mark_dynamic=True):
        assert torch.equal(vitrine.compile(fixed)(x), x + 1)


def duck(graph, inputs):
    raise RuntimeError("duck!")


@patches
def test_a_backend_that_fails_may_be_left_to_eager(patch):
    with patch(suppress_errors=True), pytest.warns(vitrine.VitrineWarning, match="a backend failed.*duck!"):
        assert torch.equal(vitrine.compile(add, backend=duck)(torch.ones(2)), torch.full((2,), 2.0))


@patches
def test_nothing_is_compiled_where_it_is_switched_off(patch):
    with patch(disable=True):
        assert not vitrine.compile(lambda x: torch.compiler.is_compiling())(torch.ones(2))
        with pytest.raises(RuntimeError, match=r"found no compiled frames. Skipped frames:\n  - add .*: Dynamo tracing is disabled"):
            vitrine.compile(add, fullgraph=True)(torch.ones(2))


def test_vitrines_own_setting_comes_first():
    with torch._dynamo.config.patch(recompile_limit=2), vitrine.config.patch(recompile_limit=5):
        assert graphs(add, SIZES, dynamic=False) == 5


def test_patch_and_del_go_back():
    assert vitrine.config.recompile_limit == vitrine.config.cache_size_limit == 8
    with vitrine.config.patch("cache_size_limit", 3):
        assert vitrine.config.recompile_limit == 3
    vitrine.config.recompile_limit = 4
    with vitrine.config.patch({"recompile_limit": 3}):
        pass
    assert vitrine.config.recompile_limit == 4
    del vitrine.config.recompile_limit
    assert vitrine.config.recompile_limit == 8 and vitrine.config.given() == {}
    with pytest.raises(TypeError, match="takes a bool"):
        vitrine.config.error_on_recompile = 1
    with pytest.raises(AttributeError, match="no setting 'no_such'"):
        vitrine.config.no_such = 1


@pytest.mark.parametrize("stance", ["eager_then_compile", "aot_eager_then_compile"])
def test_the_first_call_is_eagers_and_shows_what_changes(stance):
    counter = CompileCounter()
    compiled = vitrine.compile(lambda x, n: (x * n, torch.compiler.is_compiling()), backend=counter)
    with torch.compiler.set_stance(stance):
        told = [compiled(torch.ones(n), n)[1] for n in (3, 4, 5, 6)]
    assert told == [False, True, True, True] and counter.frame_count == 1


def test_a_stance_forces_another_backend():
    counter = CompileCounter()
    compiled = vitrine.compile(add)
    with torch.compiler.set_stance(force_backend=counter):
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert counter.frame_count == 1
    compiled(torch.ones(2))
    assert counter.frame_count == 1


def test_every_setting_has_a_row():
    text = vitrine.knobs()
    for name in ("torch._dynamo.config.recompile_limit", "torch.compiler.set_stance", "TORCH_COMPILE_DISABLE", "torch._inductor.config.freezing"):
        assert name in text
    from vitrine._knobs import KINDS, KNOBS, knob_of

    assert {row.kind for row in KNOBS} == set(KINDS) and len({row.name for row in KNOBS}) == len(KNOBS)
    for name in dir(torch._dynamo.config):
        if name in torch._dynamo.config._config:
            assert knob_of(f"torch._dynamo.config.{name}"), name
