"""Which way PyTorch takes, chosen by the program while it runs."""

import torch
import torch.nn.functional as F
from tests.python.programs.registry import mat, program, scenario, vec
from torch.nn.attention import SDPBackend, sdpa_kernel


def heads():
    return torch.linspace(-1, 1, 64).reshape(1, 2, 4, 8)


def ways():
    return [getattr(torch.backends.cuda, f"{name}_sdp_enabled")() for name in ("cudnn", "flash", "mem_efficient", "math")]


@program(heads)
def attention_by_name(q):
    with sdpa_kernel(SDPBackend.MATH):
        inside = ways()
        a = F.scaled_dot_product_attention(q, q, q)
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            b = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return a, b, inside, ways()


@program(heads)
def attention_left_by_an_error(q):
    try:
        with sdpa_kernel(SDPBackend.MATH):
            raise KeyError("left")
    except KeyError:
        pass
    return F.scaled_dot_product_attention(q, q, q), ways()


@program(heads)
def attention_around_a_break(q):
    with sdpa_kernel(SDPBackend.MATH):
        a = q * 2
        print(ways())
        return F.scaled_dot_product_attention(a, q, q), ways()


@scenario
def attention_chosen_outside(compile):
    @compile
    def attend(q):
        return F.scaled_dot_product_attention(q, q, q), ways()

    seen = []
    for backends in (list(SDPBackend.__members__.values())[1:5], [SDPBackend.MATH], [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        with sdpa_kernel(backends):
            seen += [attend(heads()), attend(heads())]
    return seen, attend(heads())


@program(vec())
def cond_of_numbers(x):
    return torch.cond(x.shape[0] > 3, lambda a: a + 1, lambda a: a - 1, (x,)), torch.cond(False, torch.sin, torch.cos, (x,))


@scenario
def cond_of_tensors(compile):
    def program(x, offset):
        a, (b,) = torch.cond(x.sum() > 0, lambda v: (v.sin(), [v + offset]), lambda v: (v.cos(), [v - 2]), (x,))
        return a * 2, b

    compiled = compile(program)
    with torch.no_grad():
        return [compiled(torch.tensor(v), o) for v in ([1.0, 2.0], [-1.0, -2.0], [3.0, 4.0]) for o in (1, 2)]


@program(mat(3, 4), lambda: torch.linspace(0, 1, 4, dtype=torch.float64), lambda: torch.tensor([1 + 2j, 3 - 1j]))
def complex_operands(x, y, z):
    return x * 1j, 2j - x, x / (1 + 1j), (1j * y).exp(), z * (0.5 - 1j), z + 2j, abs(x + 1j), (x.half() * 1j).real, 3 + 4j


@program(lambda: torch.arange(6), lambda: torch.tensor(2.0))
def complex_beside_other_types(n, s):
    return n * 1j, s * 1j, (s.double() * 1j), n[0] + 1j
