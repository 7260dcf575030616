"""The first calls of a compiled function inside a profiler, which looks at the memory of operators' arguments."""

import pytest
import torch
from torch.autograd import profiler

import vitrine

NET = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.LayerNorm(5))


@pytest.fixture(autouse=True)
def fresh():
    vitrine.reset()


def with_break(x):
    y = torch.cat([x, x])
    print("", end="")
    return torch.stack([y, y]).sum()


def assigned(x):
    y = x.clone()
    y[[0, 1], [1, 2]] = 3
    return y[y.argmax(0)]


PROGRAMS = {
    "cat": lambda x: torch.cat([x, x]) + 1,
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "split": lambda x: torch.split(x, 2)[0] + torch.chunk(x, 2)[1],
    "foreach": lambda x: torch._foreach_add([x, x], 1)[0],
    "constant": lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]),
    "svd": lambda x: torch.linalg.svd(x)[1],
    "vmap": lambda x: torch.vmap(lambda row: torch.cat([row, row]).sum())(x),
    "break": with_break,
    "index": assigned,
    "training": lambda x: NET(x).sum(),
}
WATCHED = {
    "shapes": lambda path: torch.profiler.profile(record_shapes=True),
    "memory, flops": lambda path: torch.profiler.profile(record_shapes=True, profile_memory=True, with_flops=True),
    "stack, modules": lambda path: torch.profiler.profile(record_shapes=True, with_stack=True, with_modules=True),
    "autograd": lambda path: profiler.profile(record_shapes=True),
    "execution trace": lambda path: torch.profiler.profile(execution_trace_observer=torch.profiler.ExecutionTraceObserver().register_callback(path)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
@pytest.mark.parametrize("watched", WATCHED.values(), ids=list(WATCHED))
def test_capture_inside_a_profiler(watched, program, tmp_path):
    x = torch.arange(16.0).reshape(4, 4)
    compiled = vitrine.compile(program, dynamic=True)
    with watched(str(tmp_path / "trace.json")) as profile:
        result = compiled(x)
        torch.testing.assert_close(compiled(x), program(x))
        if result.requires_grad:
            result.backward()
    assert len(profile.key_averages(group_by_input_shape=True)) > 0


def test_a_profiler_sees_what_is_called_and_not_what_is_captured():
    compiled = vitrine.compile(lambda x: torch.cat([x, x]) + 1, backend="eager")
    x = torch.ones(2, 3)
    with torch.profiler.profile(record_shapes=True) as profile:
        compiled(x)
    assert [e.count for e in profile.key_averages() if e.key == "aten::cat"] == [1]
    with torch.profiler.profile() as profile:
        x.sin()
    assert any(e.key == "aten::sin" for e in profile.key_averages())


def test_a_profiler_sees_what_a_backend_does():
    def backend(graph_module, example_inputs):
        torch.ones(2).cos()
        return graph_module.forward

    with torch.profiler.profile() as profile:
        vitrine.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert any(e.key == "aten::cos" for e in profile.key_averages())
