"""What PyTorch lets a program say inside of compiled code, and around it: settings of capture, errors of its own, numbers that are
read, calls that may wait."""

import functools
import re
import warnings

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter

import vitrine
from vitrine import take_over
from vitrine._knobs import knob_of
from vitrine.take_over import torch_compile_taken_over

pytestmark = pytest.mark.filterwarnings("ignore::vitrine.VitrineWarning")
ONE = torch.ones(2)


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()
    vitrine.reset()


def whole(function, backend="eager"):
    return vitrine.compile(function, fullgraph=True, backend=backend)


def add_one(x):
    return x + 1


def in_a_block(x):
    with torch._dynamo.patch_dynamo_config(verbose=True):
        return x + 1


def in_a_block_that_is_skipped_otherwise(x):
    with torch._dynamo.dont_skip_tracing():
        return x + 1


@pytest.mark.skipif(not hasattr(torch._dynamo, "patch_dynamo_config"), reason="newer than this PyTorch")
@pytest.mark.parametrize("backend", ["eager", "vitrine"])
def test_settings_of_capture_inside_break_nothing(backend):
    decorated = torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)(add_one)
    skipped = torch._dynamo.dont_skip_tracing(add_one)
    for function in (in_a_block, in_a_block_that_is_skipped_otherwise, decorated, skipped, lambda x: decorated(x) + skipped(x) - x - 1):
        before = torch._dynamo.config.verbose
        assert whole(function, backend)(ONE).tolist() == [2, 2]
        assert torch._dynamo.config.verbose == before


@pytest.mark.parametrize("name", ["dont_skip_tracing", "disable_nested_graph_breaks"])
def test_a_function_that_is_decorated_inside_is_called(name):
    decorate = getattr(torch._dynamo, name, None) or pytest.skip("newer than this PyTorch")
    spelled = [lambda x: decorate(add_one)(x), lambda x: decorate(fn=add_one)(x), lambda x: decorate()(add_one)(x), lambda x: decorate(None)(add_one)(x)]
    for function in spelled:
        assert whole(function)(ONE).tolist() == [2, 2]


@pytest.mark.skipif(not hasattr(torch._dynamo, "patch_dynamo_config"), reason="newer than this PyTorch")
def test_a_break_inside_of_such_a_block_leaves_it_in_order():
    def broken(x):
        with torch._dynamo.patch_dynamo_config(verbose=True):
            x = x + 1
            torch._dynamo.graph_break()
            x = x * 2
        return x - 1

    explanation = vitrine.explain(broken)(ONE)
    assert explanation.result.tolist() == [3, 3] and explanation.graph_break_count == 1
    assert torch._dynamo.config.verbose is False


@pytest.mark.skipif(not hasattr(torch._dynamo, "patch_dynamo_config"), reason="newer than this PyTorch")
def test_what_may_not_be_set_there_is_refused():
    def wrong(x):
        with torch._dynamo.patch_dynamo_config(recompile_limit=3):
            return x + 1

    with pytest.raises(ValueError, match="recompile_limit"):
        whole(wrong)(ONE)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "vitrine"])
def test_a_float_that_is_read_is_in_the_one_graph_of_any_backend(backend):
    f = whole(lambda x, y: y * x.item(), backend)
    assert f(torch.tensor(3.0), ONE).tolist() == [3, 3]
    assert f(torch.tensor(4.0), ONE).tolist() == [4, 4]


def raises_its_own(x, flag):
    if flag:
        raise KeyError("mine")
    return x + 1


def fails_in_an_operator(x):
    return (x + 1).reshape(7)


def test_what_a_program_raises_is_no_break_under_fullgraph():
    f = whole(raises_its_own, "vitrine")
    with pytest.raises(KeyError, match="mine"):
        f(ONE, True)
    assert f(ONE, False).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"shape '\[7\]' is invalid") as caught:
        whole(fails_in_an_operator, "vitrine")(ONE)
    assert not isinstance(caught.value, vitrine.GraphBreakError)


def test_what_is_done_before_an_error_is_done_once():
    seen = []

    def f(x):
        seen.append(1)
        raise ValueError("mine")

    compiled = whole(f, "vitrine")
    for _ in range(2):
        with pytest.raises(ValueError, match="mine"):
            compiled(ONE)
    assert seen == [1, 1]


def test_a_forbidden_function_is_refused():
    @torch._dynamo.forbid_in_graph
    def never(x):
        return x + 1

    assert never(ONE).tolist() == [2, 2]
    for fullgraph in (False, True):
        with pytest.raises(AssertionError, match="forbidden callable"):
            vitrine.compile(lambda x: never(x) * 2, fullgraph=fullgraph, backend="eager")(ONE)


def test_at_the_limit_a_function_runs_eagerly_to_its_end():
    counter = CompileCounter()
    f = vitrine.compile(lambda x, text: x + len(text), backend=counter, recompile_limit=2)
    for i in range(5):
        assert f(ONE, "a" * i).tolist() == [1 + i] * 2
    assert counter.frame_count == 2


def said(capsys):
    return capsys.readouterr().out.splitlines()


def test_a_call_that_may_wait_breaks_no_graph(capsys):
    def f(x):
        y = x + 1
        print("sum", y.sum(), sep=" = ")
        return y * 2

    compiled = whole(f)
    with pytest.raises(vitrine.GraphBreakError):
        compiled(ONE)
    vitrine.reset()
    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        assert [compiled(ONE).tolist(), compiled(ONE * 2).tolist()] == [[4, 4], [6, 6]]
    assert said(capsys) == ["sum = tensor(4.)", "sum = tensor(6.)"]


def test_such_a_call_in_front_of_a_break_is_made_once(capsys):
    def told(x):
        print("told")
        torch._dynamo.graph_break()
        return x + 1

    with torch._dynamo.config.patch(reorderable_logging_functions={print}):
        f = vitrine.compile(lambda x: told(x * 2) + 1, backend="eager")
        assert [f(ONE).tolist(), f(ONE).tolist()] == [[4, 4], [4, 4]]
    assert said(capsys) == ["told", "told"]


def test_a_call_that_is_ignored_is_left_out():
    def f(x):
        warnings.warn("never given", stacklevel=1)
        return x + 1

    with torch._dynamo.config.patch(ignore_logging_functions={warnings.warn}), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whole(f)(ONE).tolist() == [2, 2]


def test_take_over_from_here_to_there():
    original = torch.compile
    take_over.start()
    take_over.start()
    try:
        compiled = torch.compile(add_one)
        assert type(compiled).__module__.startswith("vitrine") and compiled(ONE).tolist() == [2, 2]
    finally:
        take_over.stop()
    assert torch.compile is original
    take_over.stop()


def test_calls_that_compiled_code_has_beside():
    with torch_compile_taken_over():
        for what in (torch.compile(add_one), torch.compile(torch.nn.Linear(2, 2))):
            assert what.get_compiler_config()["mode"] == "default"
            with pytest.raises(NotImplementedError, match="vitrine.export"):
                what.aot_compile(((ONE,), {}))
        assert torch.compile(add_one, backend="eager").get_compiler_config()["mode"] == "default"
        assert torch.compile(add_one, backend=CompileCounter()).get_compiler_config() is None


def test_run_compiles_nothing_new():
    def f(x):
        return x + (1 if torch.compiler.is_compiling() else 2)

    with torch_compile_taken_over():
        compiled = torch.compile(f, backend="eager")
        run = torch._dynamo.run(compiled)
        assert run(ONE).tolist() == [3, 3]
        compiled(ONE)
        assert run(ONE).tolist() == [2, 2]


@pytest.mark.parametrize("module", [torch.compiler, torch._dynamo], ids=lambda module: module.__name__)
def test_each_public_name_of_pytorchs_is_in_the_table(module):
    text = vitrine.knobs()
    missing = [name for name in module.__all__ if not knob_of(f"{module.__name__}.{name}") and not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_settings_by_their_names_in_torch_compiler_are_followed():
    if "recompile_limit" not in torch.compiler.config._config:
        pytest.skip("newer than this PyTorch")
    counter = CompileCounter()
    with torch.compiler.config.patch(recompile_limit=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = vitrine.compile(lambda x, text: x + len(text), backend=counter)
        for text in ("", "a", "ab"):
            f(ONE, text)
    assert counter.frame_count == 1
    assert not any("does not follow" in str(w.message) for w in caught)


def test_a_wrapper_of_the_programs_own_is_no_setting():
    """Its name alone does not make it PyTorch's."""

    class DynamoConfigPatchProxy:
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *error):
            seen.append("out")

    seen = []

    def wrapped(function):
        @functools.wraps(function)
        def inner(x):
            with DynamoConfigPatchProxy():
                return function(x)

        return inner

    assert vitrine.compile(wrapped(add_one))(ONE).tolist() == [2, 2]
    assert seen == ["in", "out"]
