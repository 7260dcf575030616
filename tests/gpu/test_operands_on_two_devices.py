"""Element-wise operators of tensors on a GPU and on the CPU: eager takes a 0-d tensor of the CPU in some places and refuses
all else. Compiled, each row of the operator table does the same in each place."""

import itertools

import pytest
import torch
import vitrine
from vitrine import _engine

pytestmark = pytest.mark.gpu

ROWS = [row["name"] for row in _engine.op_table() if row["family"] == "pointwise"]


def operator(name):
    _, packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def is_tensor(argument):
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


def places(name):
    return [i for i, a in enumerate(operator(name)._schema.arguments) if is_tensor(a)]


def sample(name, on_cpu, dims, dtype, device):
    """Arguments by position and by keyword: all tensors but one on the device."""
    by_place, by_keyword = [], {}
    for i, a in enumerate(operator(name)._schema.arguments):
        if is_tensor(a):
            size, kind = ((3,) * dims if i == on_cpu else (3,)), torch.bool if a.name in ("mask", "condition") else dtype
            value = (torch.rand(size) * 3 + 1).to(kind).to("cpu" if i == on_cpu else device)
        elif a.has_default_value():
            continue
        else:
            value = {"int": 1, "bool": False, "str": "trunc"}.get(str(a.type), 1.5)
        if a.kwarg_only:
            by_keyword[a.name] = value
        else:
            by_place.append(value)
    return by_place, by_keyword


def answer(run, by_place, by_keyword):
    given = [v.clone() if isinstance(v, torch.Tensor) else v for v in by_place]
    try:
        return run(*given, **by_keyword), given
    except Exception as error:  # whatever eager raises
        return type(error), str(error)


def differs(name, on_cpu, dims, dtype, device):
    by_place, by_keyword = sample(name, on_cpu, dims, dtype, device)
    call = operator(name)
    vitrine.reset()
    run = vitrine.compile(lambda *args, **kwargs: call(*args, **kwargs))
    wanted, got = answer(call, by_place, by_keyword), answer(run, by_place, by_keyword)
    try:
        if isinstance(wanted[0], type) or isinstance(got[0], type):
            return "" if wanted == got else f"{wanted} {got}"
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5, check_stride=True)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", [name for name in ROWS if len(places(name)) > 1])
def test_a_tensor_of_the_cpu_among_those_of_a_gpu(name):
    dtype = torch.int64 if "bitwise" in name else torch.float32
    wrong = {f"argument {i}, {dims}-d": differs(name, i, dims, dtype, "cuda") for i, dims in itertools.product(places(name), (0, 1))}
    assert not any(wrong.values()), {case: text for case, text in wrong.items() if text}


def test_a_bound_on_the_cpu():
    def limited(x, bound):
        return (x * 2).clamp(max=bound) + 1

    run, x = vitrine.compile(limited), torch.randn(4, 5, device="cuda")
    for bound in (torch.tensor(0.5), torch.ones(5)):
        for call in (limited, run, run):
            with pytest.raises(RuntimeError, match="same device"):
                call(x, bound)
    torch.testing.assert_close(run(x, torch.ones(5, device="cuda")), limited(x, torch.ones(5, device="cuda")))
